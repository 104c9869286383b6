//! Hosts that share an address and a certificate, and those that do not.

use std::net::IpAddr;

use crate::support::{Client, PROTOCOLS, entry, serve};
use dragstrip_origin::{Chain, Match, Protocol, Servers, Tuning};
use http::StatusCode;

/// a, b and c share an address, and a and b a certificate.
fn servers() -> Servers {
    let host = |name: &&str| format!("{name}.test");
    let place = |name: &str| IpAddr::from([127, 0, 0, if name == "d" { 2 } else { 1 }]);
    let pair = ["a", "b"].iter().map(host).collect::<Vec<_>>();
    Servers {
        addresses: ["a", "b", "c", "d"]
            .map(|name| (host(&name), place(name)))
            .into(),
        certificates: ["a", "b"].map(|name| (host(&name), pair.clone())).into(),
    }
}

#[tokio::test]
async fn a_connection_answers_for_all_hosts_of_its_address_and_421_for_others() {
    let page = ["a", "b", "c", "d"]
        .map(|host| entry("GET", &format!("https://{host}.test/"), 200, &[], Some("x")));
    let (origin, _dir) = serve(&page, &[("x", b"body")]);
    origin.place(servers());
    for protocol in PROTOCOLS {
        let client = Client::new(protocol, &origin);
        let mut connection = client.connect("a.test").await.unwrap();
        for host in ["a", "b", "c"] {
            let reply = connection.get(&format!("https://{host}.test/")).await;
            assert_eq!(reply.unwrap().status, StatusCode::OK, "{protocol:?} {host}");
        }
        let reply = connection.get("https://d.test/").await.unwrap();
        assert_eq!(reply.status, StatusCode::MISDIRECTED_REQUEST);
        assert!(reply.body.is_empty());
        let log = origin.log();
        let found: Vec<_> = log.requests.iter().map(|served| served.matched).collect();
        let [first, second, third, last] = found[..] else {
            panic!("four requests: {log:?}")
        };
        assert_eq!([first, second, third], [Match::Exact; 3]);
        assert_eq!(last, Match::Misdirected);
        assert_eq!(log.connections[0].address, Some([127, 0, 0, 1].into()));
    }
}

#[tokio::test]
async fn hosts_have_their_own_certificates_again_once_no_servers_are_named() {
    let (origin, _dir) = serve(&[entry("GET", "https://a.test/", 200, &[], None)], &[]);
    let hosts = ["a", "b", "c", "d"].map(|host| format!("{host}.test"));
    origin.place(servers());
    let chains = origin
        .certificates(&hosts, &Chain::default())
        .unwrap()
        .chains;
    assert_eq!(chains["a.test"], chains["b.test"]);
    assert_ne!(chains["a.test"], chains["c.test"]);
    origin.place(Servers::default());
    let chains = origin
        .certificates(&hosts, &Chain::default())
        .unwrap()
        .chains;
    assert_ne!(chains["a.test"], chains["b.test"]);
    let mut connection = Client::new(Protocol::H2, &origin)
        .connect("a.test")
        .await
        .unwrap();
    let reply = connection.get("https://d.test/").await.unwrap();
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_host_that_speaks_h1_alone_shares_its_address_with_one_that_speaks_h2() {
    let page =
        ["a", "b"].map(|host| entry("GET", &format!("https://{host}.test/"), 200, &[], None));
    let (origin, _dir) = serve(&page, &[]);
    origin.place(servers());
    let mut tuning = Tuning::default();
    tuning.http.h1_only = vec!["b.test".to_owned()];
    origin.tune(tuning).unwrap();
    let client = Client::new(Protocol::H2, &origin);
    let mut connection = client.connect("a.test").await.unwrap();
    let reply = connection.get("https://a.test/").await.unwrap();
    assert_eq!(reply.status, StatusCode::OK);
    assert!(client.connect("b.test").await.is_err(), "it offers no h2");
    let mut connection = Client::new(Protocol::H1, &origin)
        .connect("b.test")
        .await
        .unwrap();
    let reply = connection.get("https://b.test/").await.unwrap();
    assert_eq!(reply.status, StatusCode::OK);
}
