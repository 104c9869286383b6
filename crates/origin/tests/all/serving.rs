//! What real clients get over each protocol, and what the log says about it.

use crate::support::{Client, Connection, PROTOCOLS, entry, serve};
use dragstrip_origin::{Congestion, Match, Protocol, Quic, Tcp, Tls, TlsVersion, Tuning};
use http::StatusCode;
use rustls::RootCertStore;
use serde_json::json;

/// Takes far longer to send than a few small answers, on a busy machine too.
const LARGE: usize = 256 << 20;

#[tokio::test]
async fn every_protocol_gets_the_recorded_bytes() {
    let body: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
    let headers = [
        ("Content-Type", "x/y"),
        ("date", "then"),
        ("set-cookie", "a=1\nb=2"),
        ("alt-svc", "h3"),
    ];
    let (origin, _dir) = serve(
        &[entry(
            "GET",
            "https://a.test/x?q=1",
            203,
            &headers,
            Some("x"),
        )],
        &[("x", &body)],
    );
    for protocol in PROTOCOLS {
        let mut connection = Client::new(protocol, &origin)
            .connect("a.test")
            .await
            .unwrap();
        let reply = connection.get("https://a.test/x?q=1").await.unwrap();
        assert_eq!(reply.status, 203);
        assert_eq!(reply.body, body);
        let got: Vec<_> = reply
            .headers
            .iter()
            .map(|(k, v)| (k.as_str(), v.to_str().unwrap()))
            .collect();
        let mut expected = vec![
            ("content-type", "x/y"),
            ("date", "then"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("content-length", "200000"),
        ];
        // Not the recording's: the origin's own, and over QUIC only.
        if protocol == Protocol::H3 {
            expected.push(("alt-svc", "h3=\":443\"; ma=86400"));
        }
        assert_eq!(got, expected);

        let log = origin.log();
        let [served] = &log.requests[..] else {
            panic!("one request, one row: {log:?}")
        };
        let [opened] = &log.connections[..] else {
            panic!("one connection, one row: {log:?}")
        };
        assert_eq!(
            (served.protocol, opened.protocol),
            (protocol, Some(protocol))
        );
        assert_eq!(
            (served.connection, served.client_port),
            (opened.id, opened.client_port)
        );
        assert_eq!(
            (served.url.as_str(), served.host.as_str()),
            ("https://a.test/x?q=1", "a.test")
        );
        assert_eq!(
            (served.status, served.body_bytes, served.matched),
            (203, 200_000, Match::Exact)
        );
        assert!(opened.t_us < opened.handshake_end_us);
        assert!(served.t_us <= served.end_us);
        assert!(!served.resumed && !served.early && opened.error.is_none());
    }
}

#[tokio::test]
async fn an_upload_is_logged_once_it_is_complete() {
    let (origin, _dir) = serve(&[entry("POST", "https://a.test/", 200, &[], None)], &[]);
    for protocol in PROTOCOLS {
        let client = Client::new(protocol, &origin);
        let mut connection = client.connect("a.test").await.unwrap();
        for bytes in [0, 1, 3_000_000] {
            let body = vec![7; bytes].into();
            let reply = connection.upload("POST", "https://a.test/", &[], body);
            assert_eq!(reply.await.unwrap().status, StatusCode::OK);
            let served = &origin.log().requests[0];
            assert_eq!(served.received_bytes, bytes as u64, "{protocol:?}");
            let times = [
                served.t_us,
                served.received_us,
                served.ready_us,
                served.end_us,
            ];
            assert!(times.is_sorted() && times[0] > 0, "{protocol:?} {times:?}");
        }
    }
}

#[tokio::test]
async fn what_was_not_recorded_is_a_marked_miss() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    for protocol in PROTOCOLS {
        let mut connection = Client::new(protocol, &origin)
            .connect("a.test")
            .await
            .unwrap();
        for (method, url) in [("GET", "https://a.test/no"), ("POST", "https://a.test/")] {
            let reply = connection.request(method, url, &[]).await.unwrap();
            assert_eq!(reply.status, StatusCode::NOT_FOUND);
            assert_eq!(reply.headers["x-dragstrip"], "replay-miss");
            assert!(reply.body.is_empty());
        }
        assert!(
            origin
                .log()
                .requests
                .iter()
                .all(|served| served.matched == Match::Miss && served.end_us > 0)
        );
    }
}

#[tokio::test]
async fn head_preflight_and_bodiless_answers() {
    let entries = [
        entry("GET", "https://a.test/", 200, &[], Some("x")),
        entry(
            "GET",
            "https://a.test/moved",
            301,
            &[("location", "/")],
            None,
        ),
        entry("GET", "https://a.test/none", 204, &[], None),
    ];
    let (origin, _dir) = serve(&entries, &[("x", b"12345")]);
    for protocol in PROTOCOLS {
        let mut connection = Client::new(protocol, &origin)
            .connect("a.test")
            .await
            .unwrap();
        let head = connection
            .request("HEAD", "https://a.test/", &[])
            .await
            .unwrap();
        assert_eq!(
            (head.headers["content-length"].as_bytes(), head.body.len()),
            (&b"5"[..], 0)
        );
        let moved = connection.get("https://a.test/moved").await.unwrap();
        assert_eq!(
            (moved.status.as_u16(), moved.headers["location"].as_bytes()),
            (301, &b"/"[..])
        );
        let none = connection.get("https://a.test/none").await.unwrap();
        let own = usize::from(protocol == Protocol::H3); // Alt-Svc
        assert_eq!((none.status.as_u16(), none.headers.len()), (204, own));
        let asks = [
            ("origin", "https://b.test"),
            ("access-control-request-method", "PUT"),
        ];
        let consent = connection
            .request("OPTIONS", "https://a.test/api", &asks)
            .await
            .unwrap();
        assert_eq!(consent.status, StatusCode::NO_CONTENT);
        assert_eq!(
            consent.headers["access-control-allow-origin"],
            "https://b.test"
        );
        assert_eq!(consent.headers["access-control-allow-methods"], "PUT");
        let matched: Vec<_> = origin
            .log()
            .requests
            .iter()
            .map(|served| served.matched)
            .collect();
        assert_eq!(
            matched,
            [Match::Exact, Match::Exact, Match::Exact, Match::Preflight]
        );
    }
}

#[tokio::test]
async fn the_wire_body_only_for_clients_that_decode_it() {
    let mut recorded = entry(
        "GET",
        "https://a.test/",
        200,
        &[("content-encoding", "br")],
        Some("plain"),
    );
    recorded["response"]["_dragstrip"] = json!({ "wire_file": "wire" });
    let (origin, _dir) = serve(&[recorded], &[("plain", b"plain"), ("wire", b"wire")]);
    let mut connection = Client::new(Protocol::H2, &origin)
        .connect("a.test")
        .await
        .unwrap();
    for (accept, body) in [
        ("gzip, br", "wire"),
        ("gzip", "plain"),
        ("br;q=0, gzip", "plain"),
        ("*", "wire"),
    ] {
        let reply = connection
            .request("GET", "https://a.test/", &[("accept-encoding", accept)])
            .await
            .unwrap();
        assert_eq!(reply.body, body, "accept-encoding: {accept}");
        assert_eq!(
            reply.headers.contains_key("content-encoding"),
            body == "wire"
        );
    }
}

#[tokio::test]
async fn repeated_entries_come_in_order_and_start_again_after_close() {
    let entries = ["1", "2"].map(|file| entry("GET", "https://a.test/", 200, &[], Some(file)));
    let (origin, _dir) = serve(&entries, &[("1", b"1"), ("2", b"2")]);
    for _ in 0..2 {
        let mut connection = Client::new(Protocol::H3, &origin)
            .connect("a.test")
            .await
            .unwrap();
        for expected in ["1", "2", "2"] {
            assert_eq!(
                connection.get("https://a.test/").await.unwrap().body,
                expected
            );
        }
        assert_eq!(origin.close().await, (0, 1));
    }
}

#[tokio::test]
async fn an_answer_takes_as_long_as_the_recorded_server_thought() {
    let mut slow = entry("GET", "https://a.test/", 200, &[], Some("x"));
    slow["_dragstrip"] = json!({ "think_ms": 30.0 });
    let (origin, _dir) = serve(&[slow], &[("x", b"x")]);
    for protocol in PROTOCOLS {
        let mut connection = Client::new(protocol, &origin)
            .connect("a.test")
            .await
            .unwrap();
        assert_eq!(connection.get("https://a.test/").await.unwrap().body, "x");
        let served = &origin.log().requests[0];
        assert!(served.end_us - served.t_us >= 30_000, "{served:?}");
    }
}

#[tokio::test]
async fn close_does_not_wait_for_an_answer_that_is_due_in_minutes() {
    let mut slow = entry("GET", "https://a.test/slow", 200, &[], None);
    slow["_dragstrip"] = json!({ "think_ms": 600_000.0 });
    let quick = entry("GET", "https://a.test/", 200, &[], None);
    let (origin, _dir) = serve(&[slow, quick], &[]);
    for protocol in PROTOCOLS {
        let client = Client::new(protocol, &origin);
        let mut waiting = client.connect("a.test").await.unwrap();
        let mut other = client.connect("a.test").await.unwrap();
        let asked = tokio::spawn(async move { waiting.get("https://a.test/slow").await.map(drop) });
        // The origin answers on this thread, so the slow request gets there meanwhile.
        for _ in 0..3 {
            other.get("https://a.test/").await.unwrap();
        }
        origin.close().await;
        assert!(asked.await.unwrap().is_err());
        let requests = origin.log().requests;
        let slow = requests.iter().find(|served| served.url.ends_with("slow"));
        assert_eq!(slow.map(|served| served.end_us), Some(0), "{protocol:?}");
    }
}

#[tokio::test]
async fn close_ends_everything_at_once_and_keeps_tickets() {
    let large = vec![7; LARGE];
    let entries = [
        entry("GET", "https://a.test/", 200, &[], None),
        entry("GET", "https://a.test/large", 200, &[], Some("x")),
    ];
    let (origin, _dir) = serve(&entries, &[("x", &large)]);
    for protocol in PROTOCOLS {
        let client = Client::new(protocol, &origin);
        let mut idle = client.connect("a.test").await.unwrap();
        idle.get("https://a.test/").await.unwrap();
        let mut busy = client.connect("a.test").await.unwrap();
        let download =
            tokio::spawn(async move { busy.get("https://a.test/large").await.map(|_| ()) });
        // The origin answers on this thread, so it gets there while we wait for the small ones.
        for _ in 0..3 {
            idle.get("https://a.test/").await.unwrap();
        }

        let quic = usize::from(protocol == Protocol::H3) * 2;
        assert_eq!(origin.close().await, (2 - quic, quic));
        let requests = origin.log().requests;
        let large = requests.iter().find(|served| served.url.ends_with("large"));
        assert_eq!(
            large.map(|served| served.end_us),
            Some(0),
            "cut off: a row without an end"
        );
        assert!(download.await.unwrap().is_err());
        while !idle.is_closed() {
            tokio::task::yield_now().await;
        }
        assert_eq!(origin.close().await, (0, 0));

        let mut repeat = client.connect("a.test").await.unwrap();
        for _ in 0..2 {
            repeat.get("https://a.test/").await.unwrap();
        }
        let log = origin.log();
        assert!(
            log.connections[0].resumed && log.requests[0].resumed,
            "{protocol:?}: {log:?}"
        );
        origin.close().await;
    }
}

#[tokio::test]
async fn resumption_and_early_data_are_flagged_when_they_happen() {
    let (origin, _dir) = serve(
        &[entry("GET", "https://a.test/", 200, &[], Some("x"))],
        &[("x", b"x")],
    );
    origin.tune(early_data()).unwrap();
    for protocol in PROTOCOLS {
        let client = Client::new(protocol, &origin);
        for repeat in [false, true] {
            let mut connection = client.connect("a.test").await.unwrap();
            connection.get("https://a.test/").await.unwrap();
            // Once more: by then the handshake is through, and so the connection logged.
            connection.get("https://a.test/").await.unwrap();
            if protocol == Protocol::H3 {
                let zero_rtt = matches!(connection, Connection::H3 { early: true, .. });
                assert_eq!(zero_rtt, repeat);
            }
            let log = origin.log();
            assert_eq!(
                (log.requests[0].resumed, log.connections[0].resumed),
                (repeat, repeat)
            );
            assert_eq!(log.requests[0].early, repeat, "{protocol:?}");
            assert!(
                !log.requests[1].early,
                "{protocol:?}: the handshake was through"
            );
        }
        // Another client has no tickets.
        Client::new(protocol, &origin)
            .connect("a.test")
            .await
            .unwrap()
            .get("https://a.test/")
            .await
            .unwrap();
        assert!(!origin.log().connections[0].resumed);
    }
}

#[tokio::test]
async fn a_failed_handshake_is_a_connection_with_an_error() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    for protocol in PROTOCOLS {
        let distrustful = Client::trusting(protocol, &origin, RootCertStore::empty());
        assert!(distrustful.connect("a.test").await.is_err());
        let mut connections = Vec::new();
        while connections.is_empty() {
            tokio::task::yield_now().await;
            connections = origin.log().connections;
        }
        assert!(
            connections[0].error.is_some(),
            "{protocol:?}: {connections:?}"
        );
    }
}

fn early_data() -> Tuning {
    Tuning {
        tls: Tls {
            early_data: true,
            ..Tls::default()
        },
        ..Tuning::default()
    }
}

#[tokio::test]
async fn early_data_and_resumption_stay_off_unless_asked_for() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    for (resumption, version) in [
        (true, TlsVersion::V1_3),
        (false, TlsVersion::V1_3),
        (true, TlsVersion::V1_2),
        (false, TlsVersion::V1_2),
    ] {
        let tls = Tls {
            version,
            resumption,
            early_data: false,
            ..Tls::default()
        };
        let tuning = Tuning {
            tls,
            ..Tuning::default()
        };
        origin.tune(tuning).unwrap();
        for protocol in PROTOCOLS {
            if protocol == Protocol::H3 && version == TlsVersion::V1_2 {
                continue; // there is no QUIC with TLS 1.2
            }
            let client = Client::new(protocol, &origin);
            for repeat in [false, true] {
                let mut connection = client.connect("a.test").await.unwrap();
                for _ in 0..2 {
                    connection.get("https://a.test/").await.unwrap();
                }
                let log = origin.log();
                let got = (log.connections[0].resumed, log.requests[0].early);
                assert_eq!(got, (repeat && resumption, false), "{protocol:?} {tls:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_connection_tells_what_its_transport_really_did() {
    use Congestion::{Bbr, Bbr3, Cubic, Prague, Reno};
    let (origin, _dir) = serve(
        &[entry("GET", "https://a.test/", 200, &[], Some("x"))],
        &[("x", &[7; 300_000])],
    );
    for congestion in [Cubic, Reno, Bbr, Bbr3, Prague] {
        let of_quic = matches!(congestion, Bbr3 | Prague);
        let protocols: &[_] = if of_quic { &[Protocol::H3] } else { &PROTOCOLS };
        for pacing in [false, true] {
            let tuning = Tuning {
                tcp: Tcp {
                    congestion: if of_quic { Cubic } else { congestion },
                    pacing,
                    ..Tcp::default()
                },
                quic: Quic {
                    congestion,
                    pacing,
                    initial_window_packets: 20,
                    udp_payload_bytes: 1300,
                    ecn: congestion == Prague,
                    l4s: congestion == Prague,
                    ..Quic::default()
                },
                ..Tuning::default()
            };
            if origin.tune(tuning).is_err() {
                continue; // this kernel lacks that congestion control
            }
            for &protocol in protocols {
                let client = Client::new(protocol, &origin);
                let mut connection = client.connect("a.test").await.unwrap();
                connection.get("https://a.test/").await.unwrap();
                origin.close().await;
                let log = origin.log();
                let told = log.connections[0].transport.as_ref().unwrap();
                assert_eq!(told.congestion, congestion.kernel_name());
                let own = congestion.paces();
                assert_eq!(told.paced, pacing || own, "{told:?}");
                let cubic = congestion == Cubic;
                assert_eq!(told.slow_start_exit.is_some(), cubic, "{told:?}");
                if protocol == Protocol::H3 {
                    assert_eq!(told.packet_bytes, 1300);
                    assert_eq!(told.initial_window_packets, 20);
                } else {
                    assert_eq!(told.initial_window_packets, 10);
                }
                assert!(told.sent_bytes >= 300_000, "{protocol:?}: {told:?}");
                assert!(told.rtt_ms.is_some() && told.sent_packets > 0);
            }
        }
    }
}

#[tokio::test]
async fn alt_svc_is_sent_over_quic_and_over_tcp_when_asked_for() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    for alt_svc in [false, true] {
        let mut tuning = Tuning::default();
        tuning.http.alt_svc = alt_svc;
        origin.tune(tuning).unwrap();
        for protocol in PROTOCOLS {
            let client = Client::new(protocol, &origin);
            let mut connection = client.connect("a.test").await.unwrap();
            let reply = connection.get("https://a.test/").await.unwrap();
            let told = reply.headers.contains_key("alt-svc");
            assert_eq!(told, alt_svc || protocol == Protocol::H3);
        }
    }
}

#[tokio::test]
async fn an_unavailable_tuning_is_refused() {
    let (origin, _dir) = serve(&[], &[]);
    let mut impossible = early_data();
    impossible.tls.version = TlsVersion::V1_2;
    assert!(origin.tune(impossible).is_err());
    let mut huge = Tuning::default();
    huge.quic.udp_payload_bytes = 9000;
    assert!(origin.tune(huge).is_err());
    for (congestion, ecn, l4s) in [
        (Congestion::Prague, true, false),
        (Congestion::Prague, false, true),
        (Congestion::Cubic, true, true),
        (Congestion::Dctcp, true, false),
    ] {
        let mut wrong = Tuning::default();
        (wrong.quic.congestion, wrong.quic.ecn, wrong.quic.l4s) = (congestion, ecn, l4s);
        assert!(origin.tune(wrong).is_err(), "{congestion:?} {ecn} {l4s}");
    }
}

#[tokio::test]
async fn quic_offers_no_connection_id_to_spare() {
    let (origin, _dir) = serve(
        &[entry("GET", "https://a.test/", 200, &[], Some("x"))],
        &[("x", &[7; 3000])],
    );
    let client = Client::new(Protocol::H3, &origin);
    let mut connection = client.connect("a.test").await.unwrap();
    connection.get("https://a.test/").await.unwrap();
    let Connection::H3 { quinn, .. } = connection else {
        unreachable!()
    };
    let came = quinn.stats().frame_rx;
    assert_eq!(came.new_connection_id, 0);
    assert!(came.ping > 0, "in its place: {came:?}");
}
