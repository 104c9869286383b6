//! A page's own ports.

use std::net::{Ipv4Addr, TcpListener};

use dragstrip_origin::{Http, Origin, Protocol, Tuning};

use crate::support::{Client, PROTOCOLS, entry, har, serve, write_page};

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test]
async fn each_port_has_its_own_answers_and_announces_itself() {
    let port = free_port();
    let url = format!("https://a.test:{port}/");
    let (origin, _dir) = serve(
        &[
            entry("GET", "https://a.test/", 200, &[], Some("x")),
            entry("GET", &url, 200, &[], Some("y")),
        ],
        &[("x", b"443"), ("y", b"other")],
    );
    let http = Http {
        alt_svc: true,
        ..Http::default()
    };
    let tuning = Tuning {
        http,
        ..Tuning::default()
    };
    origin.tune(tuning).unwrap();
    for protocol in PROTOCOLS {
        let client = Client::new(protocol, &origin).at(port);
        let mut connection = client.connect("a.test").await.unwrap();
        let reply = connection.get(&url).await.unwrap();
        assert_eq!(reply.body, "other".as_bytes(), "{protocol:?}");
        let announced = format!("h3=\":{port}\"; ma=86400");
        assert_eq!(reply.headers["alt-svc"], announced, "{protocol:?}");
    }
    assert_eq!(origin.log().requests[0].url, url);
}

#[tokio::test]
async fn a_port_of_http_has_no_tls() {
    let port = free_port();
    let url = format!("http://a.test:{port}/");
    let page = entry("GET", &url, 200, &[], Some("x"));
    let (origin, _dir) = serve(&[page], &[("x", b"12345")]);
    let tls = Client::new(Protocol::H1, &origin).at(port);
    assert!(tls.connect("a.test").await.is_err());
}

#[test]
fn one_port_with_and_without_tls_is_refused_by_name() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let _inside = runtime.enter();
    let port = free_port();
    let dir = tempfile::tempdir().unwrap();
    let origin = Origin::bind(0, None).unwrap();
    let entries: Vec<_> = ["http", "https"]
        .iter()
        .map(|scheme| {
            entry(
                "GET",
                &format!("{scheme}://a.test:{port}/"),
                200,
                &[],
                Some("x"),
            )
        })
        .collect();
    let file = write_page(dir.path(), &har(&entries), &[("x", b"12345")]);
    let error = format!("{:#}", origin.page(&file, false).unwrap_err());
    assert!(
        error.contains(&format!("port {port} answers http and https")),
        "{error}"
    );
}
