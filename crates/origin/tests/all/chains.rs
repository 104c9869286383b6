//! Certificate chains of a size that was asked for, as a client receives them.

use crate::support::{Client, PROTOCOLS, entry, serve};
use dragstrip_origin::{Origin, Protocol, Tuning};
use http::StatusCode;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// A few names more or less, and a signature of 70 to 72 bytes.
const ABOVE: usize = 40;

fn tune(origin: &Origin, certificate_bytes: Option<u32>) {
    let mut tuning = Tuning::default();
    tuning.tls.certificate_bytes = certificate_bytes;
    origin.tune(tuning).unwrap();
}

/// What a new client receives for a.test, which must be one of our own.
async fn received(origin: &Origin, protocol: Protocol) -> usize {
    let client = Client::new(protocol, origin);
    let (mut connection, chain) = client.connect_and_see("a.test").await.unwrap();
    let reply = connection.get("https://a.test/").await.unwrap();
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(chain.len(), 2);
    let length = chain.iter().map(|one| one.len()).sum();
    let log = origin.log();
    let told = log.connections.iter().map(|one| one.certificate_bytes);
    assert!(told.clone().all(|one| one == Some(length)), "{log:?}");
    length
}

#[tokio::test]
async fn a_chain_has_the_size_that_was_asked_for_and_no_other_stack_gets_it() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    for protocol in PROTOCOLS {
        tune(&origin, None);
        let plain = received(&origin, protocol).await;
        assert!((700..1200).contains(&plain), "{plain}");
        for asked in [500, 1200, 4000, 10_000, 60_000] {
            tune(&origin, Some(asked));
            let least = plain.max(asked as usize);
            let found = received(&origin, protocol).await;
            assert!(
                (least - 2..least + ABOVE).contains(&found),
                "{found} for {asked}"
            );
        }
        tune(&origin, None);
        let again = received(&origin, protocol).await;
        assert!(again.abs_diff(plain) <= 2, "{again} after {plain}");
    }
}

#[tokio::test]
async fn other_servers_get_chains_of_that_size_and_none_beyond_what_clients_take() {
    let origin = Origin::bind(0, None).unwrap();
    let hosts = ["a.test".to_owned(), "b.test".to_owned()];
    let made = origin.certificates(&hosts, Some(4000)).unwrap();
    for pem in made.chains.values().chain([&made.shared]) {
        let chain = CertificateDer::pem_slice_iter(pem.as_bytes());
        let length: usize = chain.map(|one| one.unwrap().len()).sum();
        assert!((4000..4000 + ABOVE).contains(&length), "{length}");
    }
    let refused = origin.certificates(&hosts, Some(60_001)).unwrap_err();
    assert!(refused.to_string().contains("60001 is more than 60000"));
    let mut tuning = Tuning::default();
    tuning.tls.certificate_bytes = Some(60_001);
    let refused = format!("{:#}", origin.tune(tuning).unwrap_err());
    assert!(refused.contains("tune.tls: certificate_bytes"), "{refused}");
}
