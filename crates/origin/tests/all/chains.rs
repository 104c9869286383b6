//! Certificate chains of a size that was asked for, as a client receives them.

use crate::support::{Client, PROTOCOLS, entry, serve};
use dragstrip_origin::{
    Chain, Compression, Connection as Logged, KeyShare, Kind, Origin, Protocol, Shown, Tls, Tuning,
};
use http::StatusCode;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Bytes by which a chain may be longer than asked: some names, and a signature of 70 to 72 bytes.
const ABOVE: usize = 40;

const KINDS: [Kind; 6] = [
    Kind::Ecdsa,
    Kind::Rsa,
    Kind::MlDsa44,
    Kind::MlDsa65,
    Kind::SizeOfMlDsa44,
    Kind::SizeOfMlDsa65,
];

fn tune(origin: &Origin, bytes: Option<u32>) {
    let chain = Chain {
        bytes,
        ..Chain::default()
    };
    shaken(origin, Tls::default(), chain);
}

fn shaken(origin: &Origin, tls: Tls, chain: Chain) {
    let tuning = Tuning {
        tls: Tls { chain, ..tls },
        ..Tuning::default()
    };
    origin.tune(tuning).unwrap();
}

/// What the log says of a new client's connection.
async fn logged(origin: &Origin, protocol: Protocol) -> Logged {
    let client = Client::new(protocol, origin);
    let (mut connection, chain) = client.connect_and_see("a.test").await.unwrap();
    let reply = connection.get("https://a.test/").await.unwrap();
    assert_eq!(reply.status, StatusCode::OK);
    let mut log = origin.log();
    assert_eq!(log.connections.len(), 1);
    let logged = log.connections.remove(0);
    let shown = logged.shown.as_ref().unwrap();
    assert_eq!(shown.chain_length, chain.len());
    let bytes: usize = chain.iter().map(|one| one.len()).sum();
    assert_eq!(shown.certificate_bytes, bytes);
    logged
}

async fn shown(origin: &Origin, protocol: Protocol) -> Shown {
    logged(origin, protocol).await.shown.unwrap()
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
    let told = log.connections.iter().filter_map(|one| one.shown.as_ref());
    assert!(
        told.clone().all(|one| one.certificate_bytes == length),
        "{log:?}"
    );
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
    let chain = |bytes| Chain {
        bytes: Some(bytes),
        ..Chain::default()
    };
    let made = origin.certificates(&hosts, &chain(4000)).unwrap();
    for pem in made.chains.values().chain([&made.shared]) {
        let chain = CertificateDer::pem_slice_iter(pem.as_bytes());
        let length: usize = chain.map(|one| one.unwrap().len()).sum();
        assert!((4000..4000 + ABOVE).contains(&length), "{length}");
    }
    let refused = format!(
        "{:#}",
        origin.certificates(&hosts, &chain(60_001)).unwrap_err()
    );
    assert!(refused.contains("60001 is more than 60000"), "{refused}");
    let mut tuning = Tuning::default();
    tuning.tls.chain = chain(60_001);
    let refused = format!("{:#}", origin.tune(tuning).unwrap_err());
    assert!(refused.contains("tune.tls: chain: bytes"), "{refused}");
}

#[tokio::test]
async fn a_chain_has_the_keys_the_length_and_the_extras_that_were_asked_for() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    for protocol in PROTOCOLS {
        for kind in KINDS {
            for length in [2, 4] {
                let chain = Chain {
                    kind,
                    length,
                    scts: 2,
                    staple_bytes: 900,
                    ..Chain::default()
                };
                shaken(&origin, Tls::default(), chain);
                let shown = shown(&origin, protocol).await;
                assert_eq!(
                    (shown.certificate, shown.chain_length, shown.scts),
                    (kind, usize::from(length), 2)
                );
                // A response is at least as long as the signature of its kind.
                let least = match kind {
                    Kind::MlDsa44 => 2420,
                    Kind::MlDsa65 => 3309,
                    _ => 850,
                };
                let expected = least + 50..least + 250;
                assert!(expected.contains(&shown.staple_bytes), "{shown:?}");
                assert_eq!(shown.compressed_bytes, None);
            }
        }
    }
}

#[tokio::test]
async fn a_stand_in_makes_the_handshake_as_long_as_the_real_one() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    for (real, stand_in, signature) in [
        (Kind::MlDsa44, Kind::SizeOfMlDsa44, 2420),
        (Kind::MlDsa65, Kind::SizeOfMlDsa65, 3309),
    ] {
        let mut sent = Vec::new();
        for (kind, signed) in [(real, signature), (stand_in, 71)] {
            let chain = Chain {
                kind,
                length: 3,
                bytes: Some(16_000),
                ..Chain::default()
            };
            shaken(&origin, Tls::default(), chain);
            sent.push(shown(&origin, Protocol::H2).await.certificate_bytes + signed);
        }
        assert!(sent[0].abs_diff(sent[1]) <= 3 * 2, "{sent:?}");
    }
}

#[tokio::test]
async fn keys_are_exchanged_in_the_group_that_was_asked_for() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    for protocol in PROTOCOLS {
        for (key_share, name) in [
            (KeyShare::X25519, "X25519"),
            (KeyShare::X25519MLKEM768, "X25519MLKEM768"),
            (KeyShare::P256, "P-256"),
        ] {
            if (protocol, key_share) == (Protocol::H3, KeyShare::P256) {
                continue; // quinn reports the handshake before it has keys
            }
            let tls = Tls {
                key_share,
                ..Tls::default()
            };
            shaken(&origin, tls, Chain::default());
            let logged = logged(&origin, protocol).await;
            assert_eq!(logged.key_share.as_deref(), Some(name));
        }
    }
}

#[tokio::test]
async fn certificates_are_compressed_as_asked() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    for protocol in PROTOCOLS {
        for certificate_compression in [Compression::Brotli, Compression::Zlib] {
            let tls = Tls {
                certificate_compression,
                ..Tls::default()
            };
            let chain = Chain {
                bytes: Some(8000),
                ..Chain::default()
            };
            shaken(&origin, tls, chain);
            let shown = shown(&origin, protocol).await;
            assert_eq!(shown.certificate_compression, certificate_compression);
            let sent = shown.compressed_bytes.unwrap();
            assert!((1000..6000).contains(&sent), "{shown:?}");
        }
    }
}

#[tokio::test]
async fn a_client_without_a_token_gets_a_retry_packet_if_that_was_asked_for() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    for retry in [true, false] {
        let mut tuning = Tuning::default();
        tuning.quic.retry = retry;
        origin.tune(tuning).unwrap();
        assert_eq!(logged(&origin, Protocol::H3).await.retried, retry);
    }
}

#[tokio::test]
async fn what_no_handshake_can_have_is_refused() {
    let origin = Origin::bind(0, None).unwrap();
    let mut old = Tuning::default();
    old.tls.version = dragstrip_origin::TlsVersion::V1_2;
    let mut hybrid = old.clone();
    hybrid.tls.key_share = KeyShare::X25519MLKEM768;
    let mut compressed = old.clone();
    compressed.tls.certificate_compression = Compression::Brotli;
    let mut lattice = old;
    lattice.tls.chain.kind = Kind::MlDsa44;
    let with = |chain| Tuning {
        tls: Tls {
            chain,
            ..Tls::default()
        },
        ..Tuning::default()
    };
    let usual = Chain::default();
    for (tuning, place) in [
        (hybrid, "tls: key_share"),
        (compressed, "tls: certificate_compression"),
        (lattice, "tls: chain.kind"),
        (with(Chain { length: 1, ..usual }), "chain: length: 1"),
        (with(Chain { length: 9, ..usual }), "chain: length: 9"),
        (with(Chain { scts: 21, ..usual }), "chain: scts: 21"),
        (
            with(Chain {
                staple_bytes: 20_001,
                ..usual
            }),
            "chain: staple_bytes: 20001",
        ),
    ] {
        let refused = format!("{:#}", origin.tune(tuning).unwrap_err());
        assert!(refused.contains(place), "{refused}");
    }
}
