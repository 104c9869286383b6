//! ECN over QUIC, as it is on the wire.

use std::sync::{Arc, Mutex};

use dragstrip_origin::{Congestion, Origin, Tuning};
use quinn::udp::EcnCodepoint;

use crate::path::client_behind;
use crate::support::{Client, entry, serve};

/// What a path does to the code points of packets to the client.
type Mangles = fn(Option<EcnCodepoint>) -> Option<EcnCodepoint>;

/// A client behind a path that mangles marks, and the marks that the origin sent.
fn client(origin: &Origin, mangles: Mangles) -> (Client, Arc<Mutex<Vec<Option<EcnCodepoint>>>>) {
    let sent = Arc::<Mutex<Vec<_>>>::default();
    let seen = sent.clone();
    let client = client_behind(origin, move |datagram| {
        seen.lock().unwrap().push(datagram.ecn);
        datagram.ecn = mangles(datagram.ecn);
    });
    (client, sent)
}

fn scalable() -> Tuning {
    let mut tuning = Tuning::default();
    tuning.quic.congestion = Congestion::Prague;
    (tuning.quic.ecn, tuning.quic.l4s) = (true, true);
    tuning
}

fn classic(ecn: bool) -> Tuning {
    let mut tuning = Tuning::default();
    tuning.quic.ecn = ecn;
    tuning
}

#[tokio::test]
async fn packets_have_the_code_point_of_the_stack_and_the_client_counts_them() {
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    // Beyond a thousand packets quinn updates its keys.
    let (origin, _dir) = serve(&[answer], &[("x", &[7; 2_000_000])]);
    for (tuning, mark) in [
        (classic(false), None),
        (classic(true), Some(EcnCodepoint::Ect0)),
        (scalable(), Some(EcnCodepoint::Ect1)),
        (classic(false), None),
    ] {
        origin.tune(tuning).unwrap();
        let (client, came) = client(&origin, |mark| mark);
        let mut connection = client.connect("a.test").await.unwrap();
        connection.get("https://a.test/").await.unwrap();
        origin.close().await;
        let came = came.lock().unwrap();
        assert!(
            came.len() > 1400 && came.iter().all(|seen| *seen == mark),
            "{mark:?}: {came:?}"
        );
        let log = origin.log();
        let told = log.connections[0].transport.as_ref().unwrap().ecn_counts;
        let counted = told.map(|counts| (counts.ect0 > 1300, counts.ect1 > 1300, counts.ce));
        let expected = match mark {
            Some(EcnCodepoint::Ect0) => Some((true, false, 0)),
            Some(_) => Some((false, true, 0)),
            None => None,
        };
        assert_eq!(counted, expected, "{told:?}");
    }
}

#[tokio::test]
async fn a_path_that_bleaches_or_mangles_ends_ecn() {
    // RFC 9000 section 13.4.2.1: too few counts, or counts of a code point that was not sent.
    let bleaches: Mangles = |_| None;
    let classic_to_scalable: Mangles = |mark| mark.map(|_| EcnCodepoint::Ect1);
    let scalable_to_classic: Mangles = |mark| mark.map(|_| EcnCodepoint::Ect0);
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    let (origin, _dir) = serve(&[answer], &[("x", &[7; 300_000])]);
    for (tuning, mangles) in [
        (classic(true), bleaches),
        (scalable(), bleaches),
        (classic(true), classic_to_scalable),
        (scalable(), scalable_to_classic),
    ] {
        let scalable = tuning.quic.l4s;
        origin.tune(tuning).unwrap();
        let (client, came) = client(&origin, mangles);
        let mut connection = client.connect("a.test").await.unwrap();
        connection.get("https://a.test/").await.unwrap();
        origin.close().await;
        let came = came.lock().unwrap();
        let sent = came.iter().filter(|mark| mark.is_some()).count();
        assert!(
            sent > 0 && sent < 60,
            "{scalable}: {sent} of {}",
            came.len()
        );
        assert!(came.len() > 180);
    }
}

#[tokio::test]
async fn marks_slow_a_scalable_sender_down() {
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    let (origin, _dir) = serve(&[answer], &[("x", &[7; 1_000_000])]);
    origin.tune(scalable()).unwrap();
    let all: Mangles = |mark| mark.map(|_| EcnCodepoint::Ce);
    let (client, _) = client(&origin, all);
    let mut connection = client.connect("a.test").await.unwrap();
    connection.get("https://a.test/").await.unwrap();
    origin.close().await;
    let log = origin.log();
    let told = log.connections[0].transport.as_ref().unwrap();
    assert!(told.ecn_counts.unwrap().ce > 600, "{told:?}");
    assert!(
        told.window_packets < told.initial_window_packets,
        "{told:?}"
    );
}
