//! TCP Fast Open against the real origin, in a network namespace of the test's own thread.

use std::fs;
use std::io;
use std::process::Command;

use crate::support::Site;
use dragstrip_loader::{EarlyData, FastOpen, Memory};
use dragstrip_origin::{Tcp, Tls, Tuning};
use serde_json::json;

/// Moves this thread into a namespace in which both sides may use TCP Fast Open.
fn namespace() -> io::Result<()> {
    // SAFETY: takes flags only, and changes this thread alone.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status()?;
    assert!(up.success());
    fs::write("/proc/sys/net/ipv4/tcp_fastopen", "3")
}

fn tuning(fast_open: bool, early_data: bool) -> Tuning {
    Tuning {
        tcp: Tcp {
            fast_open,
            ..Tcp::default()
        },
        tls: Tls {
            early_data,
            ..Tls::default()
        },
        ..Tuning::default()
    }
}

#[test]
fn data_in_the_syn_is_proven_by_the_kernel_of_both_sides() {
    if let Err(error) = namespace() {
        eprintln!("skipped: no network namespace of our own here: {error}");
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let site = Site::new(&[("/", "", b"hello")]).tuned(tuning(true, true));
        for protocol in ["h1", "h2"] {
            let mut memory = Memory::default();
            let fields = json!({
                "protocol": protocol,
                "tcp": { "fast_open": true },
                "tls": { "early_data": true, "post_quantum": false },
            });
            let flushed = Command::new("ip")
                .args(["tcp_metrics", "flush"])
                .status()
                .unwrap();
            assert!(flushed.success());
            let mut seen = Vec::new();
            for fast_open in [true, true, false] {
                site.origin.tune(tuning(fast_open, true)).unwrap();
                let page = Site::page(&[]);
                let report = site.load(page, fields.clone(), &mut memory).await;
                assert!(report.requests[0].error.is_none(), "{report:?}");
                let [connection] = &report.connections[..] else {
                    panic!("one connection: {report:?}")
                };
                let log = site.origin.log();
                assert_eq!(log.requests[0].early, !seen.is_empty(), "{protocol}");
                let server = log.connections[0].transport.clone().unwrap();
                let accepted = connection.tcp_fast_open == Some(FastOpen::Accepted);
                assert_eq!(server.syn_data, Some(accepted), "{protocol}");
                seen.push((connection.tcp_fast_open.unwrap(), connection.early_data));
            }
            assert_eq!(
                seen,
                [
                    (FastOpen::NoCookie, EarlyData::NotOffered),
                    (FastOpen::Accepted, EarlyData::Accepted),
                    (FastOpen::Refused, EarlyData::Accepted),
                ],
                "{protocol}"
            );
        }
    });
}

#[test]
fn the_origin_says_what_the_kernel_lacks() {
    let Ok(()) = namespace() else { return };
    fs::write("/proc/sys/net/ipv4/tcp_fastopen", "1").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let site = Site::new(&[("/", "", b"hello")]);
        let error = site
            .origin
            .tune(tuning(true, false))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("net.ipv4.tcp_fastopen is 1 here and servers need 3"),
            "{error}"
        );
    });
}
