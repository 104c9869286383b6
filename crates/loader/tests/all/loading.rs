//! Loads from the real origin, over loopback.

use std::io::Write;
use std::time::Duration;

use crate::support::{PROTOCOLS, Site};
use dragstrip_loader::{EarlyData, Ended, Memory, Report};
use dragstrip_origin::{Http, Tls, TlsVersion, Tuning};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use serde_json::json;

const TEXT: &[u8] = b"<!doctype html><title>A page</title>";

fn tls(version: TlsVersion, early_data: bool) -> Tuning {
    let tls = Tls {
        version,
        early_data,
        ..Tls::default()
    };
    Tuning {
        tls,
        ..Tuning::default()
    }
}

fn errors(report: &Report) -> Vec<String> {
    let requests = report
        .requests
        .iter()
        .filter_map(|request| request.error.as_ref());
    requests.map(|error| error.message.clone()).collect()
}

#[tokio::test]
async fn every_protocol_loads_the_page_and_agrees_with_the_origins_log() {
    let big: Vec<u8> = (0..300_000_u32).map(|i| (i % 251) as u8).collect();
    let site = Site::new(&[("/", "", TEXT), ("/big", "", &big), ("/small", "", b"x")]);
    for protocol in PROTOCOLS {
        let page = Site::page(&["/big", "/small"]);
        let fields = json!({ "protocol": protocol });
        let report = site.load(page, fields, &mut Memory::default()).await;
        assert_eq!(errors(&report), [""; 0], "{protocol}");
        assert_eq!(report.ended, Ended::Complete);
        let sizes: Vec<u64> = report
            .requests
            .iter()
            .map(|request| request.wire_bytes)
            .collect();
        assert_eq!(sizes, [TEXT.len() as u64, 300_000, 1]);

        site.origin.close().await;
        let log = site.origin.log();
        assert_eq!(log.requests.len(), 3);
        for request in &report.requests {
            let path = request.url.rsplit('/').next().unwrap();
            let served = log
                .requests
                .iter()
                .find(|served| served.url.ends_with(&format!("/{path}")));
            let served = served.expect("the origin served it");
            assert_eq!(request.digest.as_deref(), Some(served.digest.as_str()));
            let connection = &report.connections[request.connection.unwrap() as usize - 1];
            assert_eq!(connection.local_port, Some(served.client_port));
            assert_eq!(format!("{:?}", served.protocol).to_lowercase(), protocol);
            assert_eq!(
                format!("{:?}", request.protocol.unwrap()).to_lowercase(),
                protocol
            );
        }
        let expected = if protocol == "h1" { 2 } else { 1 };
        assert_eq!(report.connections.len(), expected);
    }
}

#[tokio::test]
async fn early_hints_of_the_origin_are_followed() {
    let site = Site::new(&[("/", "", TEXT), ("/a.css", "", b"a")]);
    let links = vec!["</a.css>; rel=preload; as=style".to_owned()];
    let mut tuning = Tuning::default();
    tuning.http.early_hints = [(Site::url("/"), links)].into();
    let site = site.tuned(tuning);
    for protocol in PROTOCOLS {
        let (page, fields) = (Site::page(&["/a.css"]), json!({ "protocol": protocol }));
        let report = site.load(page, fields, &mut Memory::default()).await;
        assert_eq!(errors(&report), [""; 0], "{protocol}");
        assert_eq!(report.requests[1].hinted, protocol != "h1", "{protocol}");
        site.origin.close().await;
        // Nothing lets a cache keep it.
        let asked = if protocol == "h1" { 2 } else { 3 };
        assert_eq!(site.origin.log().requests.len(), asked, "{protocol}");
    }
}

#[tokio::test]
async fn times_are_in_the_order_in_which_things_happen() {
    let site = Site::new(&[("/", "", TEXT), ("/a", "", b"a")]);
    for protocol in PROTOCOLS {
        let fields = json!({ "protocol": protocol });
        let report = site
            .load(Site::page(&["/a"]), fields, &mut Memory::default())
            .await;
        for request in &report.requests {
            let connection = &report.connections[request.connection.unwrap() as usize - 1];
            let times = [
                connection.tls_start_us,
                connection.tls_end_us,
                connection.ready_us,
                request.sent_us,
                request.first_byte_us,
                request.end_us,
                Some(report.end_us),
            ];
            assert!(times.iter().all(Option::is_some), "{protocol}: {times:?}");
            assert!(times.is_sorted(), "{protocol}: {times:?}");
        }
        assert!(report.requests[1].discovered_us >= report.requests[0].end_us.unwrap());
        assert!(report.load_event_us.unwrap() >= report.requests[1].end_us.unwrap());
    }
}

#[tokio::test]
async fn bodies_are_decoded_and_counted_both_ways() {
    let text = b"to be or not to be, ".repeat(5000);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&text).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
    zlib.write_all(&text).unwrap();
    let zlib = zlib.finish().unwrap();
    let zstd = zstd::encode_all(&text[..], 3).unwrap();
    let site = Site::new(&[
        ("/", "", TEXT),
        ("/gzip", "gzip", &gzip),
        ("/zlib", "deflate", &zlib),
        ("/zstd", "zstd", &zstd),
        ("/plain", "", &text),
    ]);
    let page = Site::page(&["/gzip", "/zlib", "/zstd", "/plain"]);
    let report = site.load(page, json!({}), &mut Memory::default()).await;
    assert_eq!(errors(&report), [""; 0]);
    let [_, gzipped, zlibbed, zstded, plain] = &report.requests[..] else {
        panic!("five resources")
    };
    for (request, wire) in [
        (gzipped, gzip.len()),
        (zlibbed, zlib.len()),
        (zstded, zstd.len()),
    ] {
        assert_eq!(
            (request.wire_bytes, request.decoded_bytes),
            (wire as u64, text.len() as u64)
        );
        assert_eq!(request.digest, plain.digest);
    }
}

#[tokio::test]
async fn repeat_visits_resume_until_everything_is_forgotten() {
    for (version, name) in [(TlsVersion::V1_2, "1.2"), (TlsVersion::V1_3, "1.3")] {
        let site = Site::new(&[("/", "", TEXT), ("/a", "", b"a")]).tuned(tls(version, false));
        for protocol in PROTOCOLS {
            if (protocol, name) == ("h3", "1.2") {
                continue;
            }
            let mut memory = Memory::default();
            let fields = json!({ "protocol": protocol, "tls": { "version": name } });
            let mut resumed = Vec::new();
            for forget in [false, false, true] {
                if forget {
                    memory.forget();
                }
                let report = site
                    .load(Site::page(&["/a"]), fields.clone(), &mut memory)
                    .await;
                assert_eq!(errors(&report), [""; 0]);
                assert_eq!(report.connections[0].tls_version, Some(name));
                resumed.push(report.connections[0].resumed.unwrap());
                site.origin.close().await;
                let log = site.origin.log();
                assert_eq!(log.connections[0].resumed, *resumed.last().unwrap());
            }
            assert_eq!(resumed, [false, true, false], "{protocol} over TLS {name}");
        }
    }
}

#[tokio::test]
async fn early_data_carries_the_document_where_the_ticket_allows() {
    let site = Site::new(&[("/", "", TEXT), ("/a", "", b"a")]).tuned(tls(TlsVersion::V1_3, true));
    for protocol in PROTOCOLS {
        let mut memory = Memory::default();
        let fields = json!({ "protocol": protocol, "tls": { "early_data": true } });
        let first = site
            .load(Site::page(&["/a"]), fields.clone(), &mut memory)
            .await;
        assert_eq!(first.connections[0].early_data, EarlyData::NotOffered);
        site.origin.close().await;
        site.origin.log();
        let repeat = site
            .load(Site::page(&["/a"]), fields.clone(), &mut memory)
            .await;
        assert_eq!(errors(&repeat), [""; 0], "{protocol}");
        assert_eq!(
            repeat.connections[0].early_data,
            EarlyData::Accepted,
            "{protocol}"
        );
        assert!(repeat.requests[0].early_data, "{protocol}: {repeat:?}");
        site.origin.close().await;
        let log = site.origin.log();
        let document = log
            .requests
            .iter()
            .find(|served| served.url.ends_with('/'))
            .unwrap();
        assert!(document.early, "{protocol}");
    }
}

#[tokio::test]
async fn early_data_that_is_refused_is_sent_again() {
    let site = Site::new(&[("/", "", TEXT), ("/a", "", b"a")]).tuned(tls(TlsVersion::V1_3, true));
    for protocol in PROTOCOLS {
        site.origin.tune(tls(TlsVersion::V1_3, true)).unwrap();
        let mut memory = Memory::default();
        let fields = json!({ "protocol": protocol, "tls": { "early_data": true } });
        site.load(Site::page(&["/a"]), fields.clone(), &mut memory)
            .await;
        site.origin.tune(tls(TlsVersion::V1_3, false)).unwrap();
        let repeat = site.load(Site::page(&["/a"]), fields, &mut memory).await;
        assert_eq!(errors(&repeat), [""; 0], "{protocol}");
        assert_eq!(repeat.ended, Ended::Complete);
        assert_eq!(
            repeat.connections[0].early_data,
            EarlyData::Rejected,
            "{protocol}: {repeat:?}"
        );
        assert!(!repeat.requests[0].early_data);
    }
}

#[tokio::test]
async fn a_page_moves_to_h3_by_alt_svc_and_remembers_it() {
    let http = Http {
        alt_svc: true,
        ..Http::default()
    };
    let site = Site::new(&[("/", "", TEXT), ("/a", "", b"a"), ("/b", "", b"b")]).tuned(Tuning {
        http,
        ..Tuning::default()
    });
    let mut memory = Memory::default();
    let mut page = Site::page(&["/a", "/b"]);
    page["resources"][2]["after"] = json!({ "resource": 1, "at": "complete" });
    page["resources"][2]["delay_ms"] = json!(300);
    let fields = json!({ "alt_svc": true });
    let spoken = |report: &Report| -> Vec<String> {
        let requests = report.requests.iter();
        requests
            .map(|request| format!("{:?}", request.protocol.unwrap()))
            .collect()
    };
    let first = site.load(page.clone(), fields.clone(), &mut memory).await;
    assert_eq!(spoken(&first), ["H2", "H2", "H3"]);
    let repeat = site.load(page, fields, &mut memory).await;
    assert_eq!(spoken(&repeat), ["H3", "H3", "H3"]);
}

#[tokio::test]
async fn a_request_without_an_answer_is_an_outcome() {
    let site = Site::new(&[("/", "", TEXT)]);
    let mut page = Site::page(&["/missing"]);
    page["resources"][1]["url"] = json!("https://nobody.test/");
    let report = site.load(page, json!({}), &mut Memory::default()).await;
    assert_eq!(report.ended, Ended::Complete);
    let error = report.requests[1].error.as_ref().unwrap();
    assert_eq!(error.message, "load.hosts has no nobody.test");

    let closed = json!({ "hosts": { "a.test": "127.0.0.77" }, "limits": { "time_ms": 3000 } });
    let mut page = Site::page(&[]);
    page["resources"][0]["url"] = json!("https://a.test:1/");
    let report = site.load(page, closed, &mut Memory::default()).await;
    assert_eq!(report.ended, Ended::Document);
}

#[tokio::test]
async fn a_host_may_answer_at_another_port_than_its_urls_say() {
    let site = Site::new(&[("/", "", TEXT), ("/more", "", TEXT)]);
    for protocol in PROTOCOLS {
        let mut page = Site::page(&["/more"]);
        for (at, url) in ["https://a.test/", "https://a.test/more"]
            .iter()
            .enumerate()
        {
            page["resources"][at]["url"] = json!(url);
        }
        let fields = json!({ "protocol": protocol, "hosts": { "a.test": site.place() } });
        let report = site.load(page, fields, &mut Memory::default()).await;
        assert!(
            report.requests.iter().all(|r| r.status == Some(200)),
            "{protocol}"
        );
        let places = report.connections.iter();
        let mut places = places.map(|c| format!("{}:{}", c.address, c.port));
        assert!(places.all(|place| place == site.place()), "{protocol}");
    }
}

#[tokio::test]
async fn a_certificate_of_a_stranger_is_refused() {
    let (site, other) = (Site::new(&[("/", "", TEXT)]), Site::new(&[("/", "", TEXT)]));
    for protocol in PROTOCOLS {
        let fields = json!({ "protocol": protocol, "hosts": { "a.test": other.place() } });
        let report = site
            .load(Site::page(&[]), fields, &mut Memory::default())
            .await;
        let error = report.requests[0].error.as_ref().unwrap();
        assert_eq!(
            serde_json::to_value(error).unwrap()["kind"],
            "tls",
            "{protocol}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_client_hello_is_as_long_on_repeat_visits() {
    const SHARE: u64 = 1216; // of X25519MLKEM768
    let site = Site::new(&[("/", "", TEXT)]);
    let mut sent = Vec::new();
    for post_quantum in [false, true] {
        let mut memory = Memory::default();
        let tls = json!({ "post_quantum": post_quantum });
        for _ in 0..2 {
            let fields = json!({ "protocol": "h1", "tls": tls });
            let report = site.load(Site::page(&[]), fields, &mut memory).await;
            sent.push(report.connections[0].sent_bytes);
        }
    }
    let [first, repeat, first_with, repeat_with] = sent[..] else {
        panic!("four visits")
    };
    assert!(first_with >= first + SHARE, "{sent:?}");
    assert!(repeat_with >= repeat + SHARE, "{sent:?}");
}

/// A socket that never answers, and a page that is asked of it.
fn nobody() -> (std::net::UdpSocket, serde_json::Value) {
    let nobody = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    nobody.set_nonblocking(true).unwrap();
    let url = format!("https://a.test:{}/", nobody.local_addr().unwrap().port());
    let page = json!({ "resources": [{ "url": url, "kind": "document", "priority": "highest" }] });
    (nobody, page)
}

/// Longer than a busy machine keeps a task waiting.
const FAREWELL: Duration = Duration::from_millis(200);

#[tokio::test]
async fn a_quic_server_that_never_answers_is_given_up_as_chromium_does() {
    let site = Site::new(&[("/", "", TEXT)]);
    let (nobody, page) = nobody();
    let fields = json!({ "protocol": "h3" });
    let report = site.load(page, fields, &mut Memory::default()).await;
    let error = "net::ERR_QUIC_PROTOCOL_ERROR.QUIC_NETWORK_IDLE_TIMEOUT";
    assert_eq!(errors(&report), [error]);
    // quinn's farewell may leave after the load has ended.
    tokio::time::sleep(FAREWELL).await;
    let mut sizes = Vec::new();
    while let Ok(size) = nobody.recv(&mut [0; 2000]) {
        sizes.push(size);
    }
    // A ClientHello of two datagrams; probes after 0.3, 0.9 and 2.1 s; the farewell.
    assert_eq!(sizes, [1250; 6]);
}

#[tokio::test]
async fn unanswered_early_data_ends_with_the_handshake() {
    let site = Site::new(&[("/", "", TEXT)]).tuned(tls(TlsVersion::V1_3, true));
    let mut memory = Memory::default();
    let fields = json!({ "protocol": "h3", "tls": { "early_data": true } });
    site.load(Site::page(&[]), fields.clone(), &mut memory)
        .await;
    let (_nobody, page) = nobody();
    let report = site.load(page, fields, &mut memory).await;
    assert_eq!(report.connections[0].early_data, EarlyData::Offered);
    assert!(
        report.requests[0].sent_us.is_some(),
        "before the handshake is through"
    );
    let error = "net::ERR_QUIC_PROTOCOL_ERROR.QUIC_NETWORK_IDLE_TIMEOUT";
    assert_eq!(errors(&report), [error]);
}
