//! The positive control: a connection answers nothing until a while after its first request.

use crate::support::{Client, PROTOCOLS, entry, serve};
use dragstrip_origin::{Http, Origin, Protocol, Tuning};
use tempfile::TempDir;

const HOLD_MS: f64 = 700.0;

fn held() -> (Origin, TempDir) {
    let (origin, dir) = serve(
        &[entry("GET", "https://a.test/", 200, &[], Some("x"))],
        &[("x", b"12345")],
    );
    let http = Http {
        hold_ms: HOLD_MS,
        ..Http::default()
    };
    origin
        .tune(Tuning {
            http,
            ..Tuning::default()
        })
        .unwrap();
    (origin, dir)
}

#[tokio::test]
async fn only_the_first_answer_of_each_connection_is_held() {
    let (origin, _dir) = held();
    for protocol in PROTOCOLS {
        let client = Client::new(protocol, &origin);
        for _ in 0..2 {
            let mut connection = client.connect("a.test").await.unwrap();
            for _ in 0..2 {
                connection.get("https://a.test/").await.unwrap();
            }
            let log = origin.log();
            let took_ms = |i: usize| (log.requests[i].end_us - log.requests[i].t_us) / 1000;
            assert!(took_ms(0) as f64 >= HOLD_MS, "{protocol:?}: {log:?}");
            assert!(took_ms(1) < took_ms(0), "{protocol:?}: {log:?}");
        }
    }
}

#[tokio::test]
async fn requests_that_come_meanwhile_wait_for_the_same_moment() {
    let (origin, _dir) = held();
    let client = Client::new(Protocol::H2, &origin);
    let mut connection = client.connect("a.test").await.unwrap();
    let mut second = connection.twin().unwrap();
    let (first, second) = tokio::join!(
        connection.get("https://a.test/"),
        second.get("https://a.test/")
    );
    first.unwrap();
    second.unwrap();
    let log = origin.log();
    for request in &log.requests {
        let took_ms = (request.end_us - log.requests[0].t_us) as f64 / 1000.0;
        assert!(took_ms >= HOLD_MS, "{log:?}");
    }
}

#[tokio::test]
async fn nothing_is_held_for_longer_than_a_minute_or_less_than_no_time() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    for hold_ms in [-1.0, 60_001.0, f64::NAN] {
        let http = Http {
            hold_ms,
            ..Http::default()
        };
        let wish = Tuning {
            http,
            ..Tuning::default()
        };
        assert!(origin.tune(wish).is_err(), "{hold_ms}");
    }
}
