//! Answers leave in TLS records of the sizes that were asked for, and the log says so.

use crate::support::{Client, entry, serve};
use dragstrip_origin::{Protocol, Records, Sent, Tls, TlsVersion, Tuning};

const BODY: usize = 400_000;

async fn sent(protocol: Protocol, tls: Tls) -> Option<Sent> {
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    let body: Vec<u8> = (0..BODY).map(|i| i as u8).collect();
    let (origin, _dir) = serve(&[answer], &[("x", &body)]);
    let tuning = Tuning {
        tls,
        ..Tuning::default()
    };
    origin.tune(tuning).unwrap();
    let client = Client::new(protocol, &origin);
    let mut connection = client.connect("a.test").await.unwrap();
    let reply = connection.get("https://a.test/").await.unwrap();
    assert!(reply.body == body, "{protocol:?}, {tls:?}");
    let log = origin.log();
    log.connections[0].transport.as_ref().unwrap().tls_records
}

#[tokio::test]
async fn records_are_no_larger_than_asked_for_and_as_large_where_there_is_enough_to_send() {
    for protocol in [Protocol::H1, Protocol::H2] {
        for version in [TlsVersion::V1_3, TlsVersion::V1_2] {
            for early_data in [false, version == TlsVersion::V1_3] {
                for bytes in [1369, 4096, 16384] {
                    let tls = Tls {
                        version,
                        early_data,
                        records: Records::Fixed(bytes),
                        ..Tls::default()
                    };
                    let found = sent(protocol, tls).await.unwrap();
                    let least = BODY as u64 / u64::from(bytes);
                    assert_eq!(found.largest, u64::from(bytes), "{protocol:?}, {tls:?}");
                    assert!(found.count > least, "{protocol:?}, {tls:?}: {found:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn dynamic_records_begin_small_and_end_large() {
    for protocol in [Protocol::H1, Protocol::H2] {
        let tls = Tls {
            records: Records::Dynamic,
            ..Tls::default()
        };
        let found = sent(protocol, tls).await.unwrap();
        assert_eq!(found.early, 1369, "{protocol:?}");
        assert_eq!(found.largest, 16384, "{protocol:?}");
        let least = 40 + 40 + (BODY - 40 * (1369 + 4229)) / 16384;
        assert!(found.count > least as u64, "{protocol:?}: {found:?}");
    }
}

#[tokio::test]
async fn quic_has_no_records() {
    assert_eq!(sent(Protocol::H3, Tls::default()).await, None);
}

#[tokio::test]
async fn sizes_no_record_can_have_are_refused() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    for bytes in [0, 255, 16385] {
        let tls = Tls {
            records: Records::Fixed(bytes),
            ..Tls::default()
        };
        let wish = Tuning {
            tls,
            ..Tuning::default()
        };
        assert!(origin.tune(wish).is_err(), "{bytes}");
    }
}
