//! How large the origin's UDP payloads are, and how it finds out what a path carries.

use std::sync::{Arc, Mutex};

use dragstrip_origin::Tuning;

use crate::path::client_behind;
use crate::support::{entry, serve};

/// Lengths of the datagrams that the origin sent for an answer of 2 MB, by a tuning. The path carries
/// payloads of up to `most` bytes and drops longer ones.
async fn lengths(most: usize, start: Option<u16>) -> Vec<usize> {
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    let (origin, _dir) = serve(&[answer], &[("x", &[7; 2_000_000])]);
    let mut tuning = Tuning::default();
    tuning.quic.udp_start_bytes = start;
    origin.tune(tuning).unwrap();
    let lengths = Arc::<Mutex<Vec<_>>>::default();
    let seen = lengths.clone();
    let client = client_behind(&origin, move |datagram| {
        seen.lock().unwrap().push(datagram.len);
        if datagram.len > most {
            datagram.len = 0;
        }
    });
    let mut connection = client.connect("a.test").await.unwrap();
    connection.get("https://a.test/").await.unwrap();
    origin.close().await;
    lengths.lock().unwrap().clone()
}

#[tokio::test]
async fn a_connection_begins_full_and_searches_nothing_by_default() {
    let came = lengths(1472, None).await;
    assert_eq!(came.iter().max(), Some(&1452));
    assert!(came.iter().filter(|&&length| length == 1452).count() > 200);
}

#[tokio::test]
async fn a_search_from_below_finds_what_a_wide_path_carries() {
    let came = lengths(1472, Some(1200)).await;
    assert_eq!(came[0], 1200);
    let most = *came.iter().max().unwrap();
    assert!((1433..=1452).contains(&most), "{most}");
    assert!(came.iter().filter(|&&length| length == most).count() > 50);
}

#[tokio::test]
async fn a_search_loses_probes_and_no_data_on_a_narrow_path() {
    let came = lengths(1252, Some(1200)).await;
    let lost = came.iter().filter(|&&length| length > 1252).count();
    assert!((1..=12).contains(&lost), "{lost} of {}", came.len());
}

#[test]
fn a_start_that_is_no_payload_is_refused() {
    for (start, full) in [(1199, 1452), (1453, 1452), (1300, 1250)] {
        let mut tuning = Tuning::default();
        tuning.quic.udp_start_bytes = Some(start);
        tuning.quic.udp_payload_bytes = full;
        let error = tuning.check().unwrap_err().to_string();
        assert!(error.contains("tune.quic.udp_start_bytes"), "{error}");
    }
}
