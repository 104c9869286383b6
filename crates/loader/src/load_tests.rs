//! A page over a network made of sentences: a round trip takes 100 ms, a connection two of them until it
//! takes requests, a body 10 ms per 1000 bytes. Time is tokio's, stopped, so it costs none.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::task::LocalSet;
use tokio::time::sleep;

use crate::body::Budget;
use crate::event::{
    Events, Failure, FailureKind, Finish, Head, Outgoing, Received, Target, Transport, What,
};
use crate::input::{Load, Protocol, ResourceId};
use crate::load::Browser;
use crate::memory::Memory;
use crate::net::clock::Clock;
use crate::outgoing;
use crate::pool::ConnectionId;
use crate::report::{Ended, Request};

const ROUND_TRIP: Duration = Duration::from_millis(100);
const PIECE: u64 = 1000;
const PIECE_TIME: Duration = Duration::from_millis(10);

struct Sentences {
    clock: Clock,
    events: Events,
    speaks: Protocol,
    alt_svc: bool,
    /// Links of an answer with status 103 that comes before the document's, which then takes
    /// `think` longer.
    hints: &'static str,
    think: Duration,
    /// Cache-control of all answers.
    cache: &'static str,
    /// Round trips until TCP's handshake is complete.
    syn: u32,
    sizes: BTreeMap<ResourceId, u64>,
    fails: Vec<ResourceId>,
    /// Hosts that share a certificate.
    covered: Vec<&'static str>,
    opened: Vec<String>,
    said: Rc<RefCell<Vec<String>>>,
}

impl Sentences {
    fn say(&self, what: String) {
        let ms = self.clock.now().as_millis();
        self.said.borrow_mut().push(format!("{ms} {what}"));
    }
}

impl Transport for Sentences {
    fn open(&mut self, connection: ConnectionId, target: &Target) {
        let over = if target.quic { "QUIC" } else { "TCP" };
        self.say(format!("opens {connection} over {over} to {}", target.host));
        self.opened.push(target.host.clone());
        let (events, syn) = (self.events.clone(), ROUND_TRIP * self.syn);
        let speaks = if target.quic {
            Protocol::H3
        } else {
            self.speaks
        };
        tokio::task::spawn_local(async move {
            sleep(syn).await;
            events.tell(What::Connected(connection));
            sleep(ROUND_TRIP).await;
            events.tell(What::Opened(connection, speaks));
        });
    }

    fn abandon(&mut self, connection: ConnectionId) {
        self.say(format!("breaks {connection} off"));
    }

    fn covers(&self, connection: ConnectionId, host: &str) -> bool {
        let owner = self.opened[connection as usize - 1].as_str();
        [owner, host].iter().all(|name| self.covered.contains(name))
    }

    fn send(&mut self, connection: ConnectionId, id: ResourceId, _: &Outgoing) {
        self.say(format!("asks for {id} on {connection}"));
        let (events, fails) = (self.events.clone(), self.fails.contains(&id));
        let size = self.sizes.get(&id).copied().unwrap_or(PIECE);
        let mut headers = HeaderMap::new();
        if self.alt_svc {
            headers.insert("alt-svc", HeaderValue::from_static("h3=\":443\"; ma=86400"));
        }
        headers.insert("cache-control", HeaderValue::from_static(self.cache));
        let (hints, think) = if id == 0 {
            (self.hints, self.think)
        } else {
            ("", Duration::ZERO)
        };
        let h1 = self.speaks == Protocol::H1;
        tokio::task::spawn_local(async move {
            events.tell(What::Sent(id));
            sleep(ROUND_TRIP).await;
            if !hints.is_empty() {
                let link = (http::header::LINK, HeaderValue::from_static(hints));
                events.tell(What::Ahead(id, HeaderMap::from_iter([link])));
            }
            sleep(think).await;
            if fails {
                let failure = Failure::new(FailureKind::Reset, "as asked");
                return events.tell(What::Ended(id, Err(failure)));
            }
            events.tell(What::Headers(
                id,
                Head {
                    status: 200,
                    headers,
                },
            ));
            for piece in 1..=size.div_ceil(PIECE) {
                sleep(PIECE_TIME).await;
                let bytes = (piece * PIECE).min(size);
                events.tell(What::Bytes(
                    id,
                    Received {
                        wire: bytes,
                        decoded: bytes * 4,
                    },
                ));
            }
            events.tell(What::Ended(
                id,
                Ok(Finish {
                    digest: String::new(),
                }),
            ));
            if h1 {
                events.tell(What::Free(connection));
            }
        });
    }
}

/// How a page loaded.
struct Told {
    said: Vec<String>,
    requests: Vec<Request>,
    load_event_ms: Option<u128>,
    ended: Ended,
}

/// Loads `resources` with the further fields of the input in `fields`; `network` changes the
/// network.
async fn tell(resources: Value, fields: Value, network: impl FnOnce(&mut Sentences)) -> Told {
    let mut memory = Memory::default();
    tell_again(resources, fields, &mut memory, network).await
}

async fn tell_again(
    resources: Value,
    fields: Value,
    memory: &mut Memory,
    network: impl FnOnce(&mut Sentences),
) -> Told {
    let mut input = json!({
        "page": { "resources": resources },
        "hosts": {},
        "protocol": "h2",
        "ca": "",
        "limits": { "time_ms": 60_000 },
    });
    for (name, value) in fields.as_object().unwrap() {
        if name == "load_event" || name == "tight" {
            input["page"][name] = value.clone();
        } else {
            input[name] = value.clone();
        }
    }
    let load: Load = serde_json::from_value(input).unwrap();
    load.check().unwrap();
    let (events, mail) = Events::channel();
    let clock = Clock::start();
    let speaks = load.protocol.of("a.test");
    let mut sentences = Sentences {
        clock,
        events,
        speaks,
        alt_svc: false,
        hints: "",
        think: Duration::ZERO,
        cache: "",
        syn: 1,
        sizes: BTreeMap::new(),
        fails: Vec::new(),
        covered: Vec::new(),
        opened: Vec::new(),
        said: Rc::default(),
    };
    network(&mut sentences);
    let said = sentences.said.clone();
    let requests = outgoing::all(&load.page).unwrap();
    let mut browser = Browser::new(&load, requests, memory, clock);
    let budget = Budget::new(load.limits.bytes);
    let ended = LocalSet::new()
        .run_until(browser.run(mail, &mut sentences, &budget))
        .await;
    let (requests, load_event) = browser.finish();
    let said = said.borrow().clone();
    Told {
        said,
        requests,
        load_event_ms: load_event.map(|at| at.as_millis()),
        ended,
    }
}

fn document() -> Value {
    json!({ "url": "https://a.test/", "kind": "document", "priority": "highest" })
}

fn after(url: &str, parent: ResourceId, at: Value) -> Value {
    json!({ "url": url, "after": { "resource": parent, "at": at } })
}

fn with(mut resource: Value, fields: Value) -> Value {
    for (name, value) in fields.as_object().unwrap() {
        resource[name] = value.clone();
    }
    resource
}

#[tokio::test(start_paused = true)]
async fn a_style_is_asked_for_when_its_bytes_of_the_document_have_come() {
    let style = after("https://a.test/a.css", 0, json!({ "wire": 2500 }));
    let script = after("https://a.test/a.js", 0, json!({ "decoded": 2500 }));
    let told = tell(json!([document(), style, script]), json!({}), |network| {
        network.sizes.insert(0, 5000);
    })
    .await;
    assert_eq!(
        told.said,
        [
            "0 opens 1 over TCP to a.test",
            "200 asks for 0 on 1",
            "310 asks for 2 on 1", // 4000 decoded bytes are here
            "330 asks for 1 on 1", // 3000 bytes are here
        ]
    );
    assert_eq!(
        (told.ended, told.load_event_ms),
        (Ended::Complete, Some(440))
    );
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_script_waits_until_it_has_run() {
    let script = with(
        after("https://a.test/a.js", 0, json!("headers")),
        json!({ "process_ms": 50 }),
    );
    let image = with(
        after("https://a.test/a.png", 0, json!("complete")),
        json!({ "also": [1], "delay_ms": 7 }),
    );
    let told = tell(
        json!([document(), script, image]),
        json!({ "load_event": { "delay_ms": 3 } }),
        |_| {},
    )
    .await;
    assert_eq!(told.said[2], "300 asks for 1 on 1");
    assert_eq!(told.said[3], "467 asks for 2 on 1"); // 410 its last byte, 460 it has run
    assert_eq!(told.load_event_ms, Some(580));
}

#[tokio::test(start_paused = true)]
async fn the_load_event_waits_for_nothing_it_is_not_told_to_wait_for() {
    let beacon = with(
        after("https://a.test/beacon", 0, json!("complete")),
        json!({ "load_event": false }),
    );
    let late = json!({ "url": "https://a.test/late", "after": "load_event", "load_event": false });
    let told = tell(
        json!([document(), beacon, late]),
        json!({ "limits": { "time_ms": 60_000, "quiet_ms": 150 } }),
        |network| {
            network.sizes.insert(1, 1_000_000);
        },
    )
    .await;
    assert_eq!(told.load_event_ms, Some(310));
    assert_eq!(told.said[3], "310 asks for 2 on 1");
    assert_eq!(told.ended, Ended::Quiet);
    let unfinished = told.requests[1].error.as_ref().map(|error| error.kind);
    assert_eq!(unfinished, Some(FailureKind::Unfinished));
    assert!(told.requests[2].error.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_timer_holds_the_load_event_if_it_fires_before_everything_else_is_done() {
    let timer = with(
        after("https://a.test/late.js", 0, json!("complete")),
        json!({ "delay_ms": 50, "timer": true }),
    );
    let image = after("https://a.test/a.png", 0, json!("headers"));
    let slow_image = |network: &mut Sentences| {
        network.sizes.extend([(1, 10_000), (2, 10_000)]);
    };

    let told = tell(json!([document(), timer, image]), json!({}), slow_image).await;
    assert_eq!(told.said[2], "300 asks for 2 on 1"); // until 500
    assert_eq!(told.said[3], "360 asks for 1 on 1"); // until 560
    assert_eq!(told.load_event_ms, Some(560));

    let quiet = json!({ "limits": { "time_ms": 60_000, "quiet_ms": 1000 } });
    let told = tell(json!([document(), timer]), quiet, |_| {}).await;
    assert_eq!(told.load_event_ms, Some(310));
    assert_eq!(told.said[2], "360 asks for 1 on 1");
    assert_eq!(told.ended, Ended::Complete);
}

#[tokio::test(start_paused = true)]
async fn computing_before_a_request_holds_the_load_event() {
    let script = with(
        after("https://a.test/a.js", 0, json!("complete")),
        json!({ "delay_ms": 50 }),
    );
    let told = tell(json!([document(), script]), json!({}), |_| {}).await;
    assert_eq!(told.load_event_ms, Some(470));
}

#[tokio::test(start_paused = true)]
async fn what_follows_a_fetch_holds_the_load_event_only_once_it_is_asked_for() {
    let fetch = with(
        after("https://a.test/data", 0, json!("complete")),
        json!({ "load_event": false }),
    );
    let image = after("https://a.test/a.png", 1, json!("complete"));
    let quiet = json!({ "limits": { "time_ms": 60_000, "quiet_ms": 1000 } });
    let told = tell(json!([document(), fetch, image]), quiet, |_| {}).await;
    assert_eq!(told.said[3], "420 asks for 2 on 1");
    assert_eq!(told.load_event_ms, Some(310));
}

/// A document with this many images.
fn gallery(images: usize) -> Value {
    let image = |n| after(&format!("https://a.test/{n}.png"), 0, json!("complete"));
    let mut resources = vec![document()];
    resources.extend((0..images).map(image));
    json!(resources)
}

#[tokio::test(start_paused = true)]
async fn http_1_opens_six_connections_and_uses_the_idle_one_first() {
    let told = tell(gallery(8), json!({ "protocol": "h1" }), |_| {}).await;
    assert_eq!(
        told.said[2..],
        [
            "310 asks for 1 on 1",
            "310 opens 2 over TCP to a.test",
            "310 opens 3 over TCP to a.test",
            "310 opens 4 over TCP to a.test",
            "310 opens 5 over TCP to a.test",
            "310 opens 6 over TCP to a.test",
            // Only six delayable requests of a host may be under way, so 7 and 8 come later.
            "420 asks for 2 on 1",
            "510 asks for 3 on 2",
            "510 asks for 4 on 3",
            "510 asks for 5 on 4",
            "510 asks for 6 on 5",
            "510 asks for 7 on 6",
            "530 asks for 8 on 1",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn http_2_has_one_connection_and_an_unknown_host_gets_more_until_it_is_through() {
    let told = tell(gallery(20), json!({}), |_| {}).await;
    let opened = |host: &str| told.said.iter().filter(|said| said.ends_with(host)).count();
    assert_eq!(opened("to a.test"), 1);
    assert_eq!(
        told.said
            .iter()
            .filter(|said| said.starts_with("310 asks"))
            .count(),
        20
    );

    let other = |n| after(&format!("https://b.test/{n}"), 0, json!("complete"));
    let told = tell(
        json!([document(), other(1), other(2), other(3)]),
        json!({}),
        |_| {},
    )
    .await;
    assert_eq!(
        told.said[2..],
        [
            "310 opens 2 over TCP to b.test",
            "310 opens 3 over TCP to b.test",
            "310 opens 4 over TCP to b.test",
            "510 breaks 3 off",
            "510 breaks 4 off",
            "510 asks for 1 on 2",
            "510 asks for 2 on 2",
            "510 asks for 3 on 2",
        ]
    );
}

/// Objects on these hosts, asked for with the document's end.
fn spread(hosts: &[&str]) -> Value {
    let object = |host| after(&format!("https://{host}/x"), 0, json!("complete"));
    let objects = hosts.iter().map(object);
    std::iter::once(document()).chain(objects).collect()
}

/// Places for four hosts: a and b share an address, and c and d share another one.
fn places(protocol: &str) -> Value {
    let hosts = json!({ "a.test": "10.0.0.1", "b.test": "10.0.0.1", "c.test": "10.0.0.2", "d.test": "10.0.0.2" });
    json!({ "hosts": hosts, "protocol": protocol })
}

const EVERY: [&str; 4] = ["a.test", "b.test", "c.test", "d.test"];

#[tokio::test(start_paused = true)]
async fn a_host_of_the_same_address_and_certificate_is_asked_over_the_open_connection() {
    for protocol in ["h2", "h3"] {
        let load = |covered: Vec<&'static str>| {
            tell(spread(&["b.test"]), places(protocol), |network| {
                network.covered = covered;
            })
        };
        let told = load(EVERY.to_vec()).await;
        assert_eq!(told.said[2..], ["310 asks for 1 on 1"]);
        let told = load(vec!["a.test"]).await;
        assert!(told.said[2].ends_with("to b.test"), "{:?}", told.said);
        let image = json!([
            document(),
            with(
                spread(&["b.test"])[1].clone(),
                json!({ "credentials": false })
            )
        ]);
        let told = tell(image, places(protocol), |network| {
            network.covered = EVERY.to_vec();
        })
        .await;
        assert!(told.said[2].ends_with("to b.test"), "{:?}", told.said);
    }
    let covered = |network: &mut Sentences| network.covered = EVERY.to_vec();
    let told = tell(spread(&["b.test"]), places("h1"), covered).await;
    assert!(told.said[2].ends_with("to b.test"), "{:?}", told.said);
    let told = tell(spread(&["c.test"]), places("h2"), covered).await;
    assert!(told.said[2].ends_with("to c.test"), "{:?}", told.said);
}

#[tokio::test(start_paused = true)]
async fn of_two_connections_begun_at_once_tcp_keeps_both_and_quic_one() {
    let covered = |network: &mut Sentences| network.covered = EVERY.to_vec();
    let told = tell(spread(&["c.test", "d.test"]), places("h2"), covered).await;
    assert_eq!(
        told.said[2..],
        [
            "310 opens 2 over TCP to c.test",
            "310 opens 3 over TCP to d.test",
            "510 asks for 1 on 2",
            "510 asks for 2 on 3",
        ]
    );
    let told = tell(spread(&["c.test", "d.test"]), places("h3"), covered).await;
    assert_eq!(
        told.said[2..],
        [
            "310 opens 2 over QUIC to c.test",
            "310 opens 3 over QUIC to d.test",
            "510 breaks 3 off",
            "510 asks for 1 on 2",
            "510 asks for 2 on 2",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn fonts_and_whatever_goes_without_credentials_have_connections_of_their_own() {
    let font = with(
        after("https://a.test/a.woff2", 0, json!("complete")),
        json!({ "kind": "font", "priority": "highest" }),
    );
    let script = with(
        after("https://a.test/a.js", 0, json!("complete")),
        json!({ "credentials": false, "priority": "medium" }),
    );
    let style = after("https://a.test/a.css", 0, json!("complete"));
    let told = tell(json!([document(), font, script, style]), json!({}), |_| {}).await;
    assert_eq!(
        told.said[2..],
        [
            "310 opens 2 over TCP to a.test", // it is known for h2: one is enough
            "310 asks for 3 on 1",
            "510 asks for 1 on 2",
            "510 asks for 2 on 2",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn urgent_requests_overtake_what_waits_for_a_socket() {
    let mut resources = gallery(7);
    let script = with(
        after("https://a.test/a.js", 0, json!("complete")),
        json!({ "priority": "medium" }),
    );
    resources.as_array_mut().unwrap().push(script);
    let told = tell(resources, json!({ "protocol": "h1" }), |_| {}).await;
    assert_eq!(told.said[2], "310 asks for 8 on 1");
}

#[tokio::test(start_paused = true)]
async fn a_slow_syn_gets_a_second_one_beside_it() {
    let told = tell(json!([document()]), json!({}), |network| network.syn = 4).await;
    assert_eq!(
        told.said,
        [
            "0 opens 1 over TCP to a.test",
            "250 opens 2 over TCP to a.test",
            "500 breaks 2 off",
            "500 asks for 0 on 1",
        ]
    );
    let told = tell(
        json!([document()]),
        json!({ "sockets": { "backup_ms": 0 } }),
        |network| network.syn = 4,
    )
    .await;
    assert_eq!(told.said.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_page_moves_to_h3_once_it_is_announced() {
    let second = after("https://a.test/1", 0, json!("headers"));
    let third = with(
        after("https://a.test/2", 1, json!("complete")),
        json!({ "delay_ms": 200 }),
    );
    let page = json!([document(), second, third]);
    let mut memory = Memory::default();
    let fields = json!({ "alt_svc": true });
    let told = tell_again(page.clone(), fields.clone(), &mut memory, |network| {
        network.alt_svc = true;
    })
    .await;
    assert_eq!(
        told.said[1..],
        [
            "200 asks for 0 on 1",
            "300 opens 2 over QUIC to a.test",
            "300 asks for 1 on 1",
            "610 asks for 2 on 2",
        ]
    );
    // It is remembered, and TCP is not even tried.
    let told = tell_again(page, fields, &mut memory, |network| network.alt_svc = true).await;
    assert!(
        told.said.iter().all(|said| !said.contains("TCP")),
        "{:?}",
        told.said
    );
}

#[tokio::test(start_paused = true)]
async fn failures_are_outcomes_and_the_page_goes_on() {
    let image = after("https://a.test/a.png", 0, json!("complete"));
    let child = after("https://a.test/b.png", 1, json!({ "wire": 9_999_999 }));
    let told = tell(json!([document(), image, child]), json!({}), |network| {
        network.fails.push(1);
    })
    .await;
    assert_eq!(told.ended, Ended::Complete);
    assert_eq!(
        told.requests[1].error.as_ref().unwrap().kind,
        FailureKind::Reset
    );
    assert!(told.requests[2].error.is_none());

    let told = tell(json!([document()]), json!({}), |network| {
        network.fails.push(0);
    })
    .await;
    assert_eq!((told.ended, told.load_event_ms), (Ended::Document, None));
}

#[tokio::test(start_paused = true)]
async fn a_load_that_takes_too_long_ends_at_its_limit() {
    let told = tell(
        json!([document()]),
        json!({ "limits": { "time_ms": 705 } }),
        |network| {
            network.sizes.insert(0, 100_000_000);
        },
    )
    .await;
    assert_eq!(told.ended, Ended::Time);
    assert_eq!(told.requests[0].wire_bytes, 40_000); // in 405 ms, after 300
}

#[test]
fn a_page_that_waits_for_itself_is_refused() {
    let one = after("https://a.test/1", 2, json!("complete"));
    let two = with(
        after("https://a.test/2", 0, json!("headers")),
        json!({ "also": [1] }),
    );
    let load: Load = serde_json::from_value(json!({
        "page": { "resources": [document(), one, two] },
        "hosts": {}, "protocol": "h1", "ca": "", "limits": { "time_ms": 1 },
    }))
    .unwrap();
    let error = load.check().unwrap_err().to_string();
    assert!(error.starts_with("load.page.resources[1].after"), "{error}");
}

/// Pages of any shape: every resource hangs on an earlier one, some wait for a further one.
fn pages() -> impl Strategy<Value = Value> {
    let at = prop_oneof![
        Just(json!("headers")),
        Just(json!("complete")),
        (0..6000_u64).prop_map(|bytes| json!({ "wire": bytes })),
        (0..6000_u64).prop_map(|bytes| json!({ "decoded": bytes })),
    ];
    let priority = prop::sample::select(vec!["highest", "medium", "low", "lowest", "idle"]);
    let one = (
        any::<prop::sample::Index>(),
        at,
        any::<prop::sample::Index>(),
        priority,
        0..3_u8,
        0..40_u32,
        (any::<bool>(), any::<bool>()),
    );
    prop::collection::vec(one, 0..40).prop_map(|resources| {
        let mut page = vec![document()];
        for (n, (parent, at, other, priority, host, ms, (timer, holds))) in
            resources.into_iter().enumerate()
        {
            let url = format!("https://{host}.test/{n}");
            let mut also = vec![other.index(page.len())];
            also.retain(|other| *other > 0 && n % 3 == 0);
            page.push(with(
                after(&url, parent.index(page.len()), at),
                json!({
                    "priority": priority, "also": also, "delay_ms": ms, "process_ms": ms / 2,
                    "timer": timer, "load_event": holds,
                }),
            ));
        }
        json!(page)
    })
}

fn now<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(future)
}

proptest! {
    #[test]
    fn every_page_loads_to_its_end_and_twice_in_the_same_order(
        page in pages(),
        protocol in prop::sample::select(vec!["h1", "h2", "h3"]),
        tight in any::<bool>(),
    ) {
        let count = page.as_array().unwrap().len();
        let tight = tight.then(|| json!({ "until": [0], "limit": 2 }));
        let limits = json!({ "time_ms": 60_000, "quiet_ms": 60_000 });
        let fields = json!({ "protocol": protocol, "tight": tight, "limits": limits });
        let told = now(tell(page.clone(), fields.clone(), |_| {}));
        prop_assert_eq!(told.ended, Ended::Complete);
        prop_assert_eq!(told.requests.len(), count);
        prop_assert!(told.requests.iter().all(|request| request.digest.is_some()));
        let asked = told.said.iter().filter(|said| said.contains("asks"));
        prop_assert_eq!(asked.count(), count);
        let again = now(tell(page, fields, |_| {}));
        prop_assert_eq!(told.said, again.said);
    }

    #[test]
    fn the_load_event_comes_when_nothing_that_holds_it_is_under_way(page in pages()) {
        let limits = json!({ "time_ms": 60_000, "quiet_ms": 60_000 });
        let told = now(tell(page.clone(), json!({ "limits": limits }), |_| {}));
        let loaded = told.load_event_ms.unwrap() as u64 * 1000;
        let held = told.requests.iter().filter_map(|request| {
            let resource = &page[request.resource];
            let us = |field: &str| resource[field].as_u64().unwrap_or(0) * 1000;
            let computing = if resource["timer"] == true { 0 } else { us("delay_ms") };
            let from = request.discovered_us - computing;
            let holds = resource["load_event"] != false && from < loaded;
            holds.then_some(request.end_us.unwrap() + us("process_ms"))
        });
        prop_assert_eq!(held.max(), Some(loaded));
    }
}

/// A document that takes 500 ms and names its style ahead of that.
async fn hinted(cache: &'static str) -> Told {
    let style = after("https://a.test/a.css", 0, json!({ "wire": 500 }));
    tell(json!([document(), style]), json!({}), |network| {
        network.hints = "</a.css>; rel=preload; as=style, </other.css>; rel=preload; as=style";
        network.think = Duration::from_millis(500);
        network.cache = cache;
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn what_early_hints_name_is_there_when_the_page_asks() {
    let told = hinted("max-age=60").await;
    assert_eq!(
        told.said[1..],
        ["200 asks for 0 on 1", "300 asks for 3 on 1"]
    );
    assert_eq!(told.load_event_ms, Some(810), "when the document is here");
    let [document, style] = &told.requests[..] else {
        panic!("{:?}", told.requests);
    };
    assert_eq!(
        document.first_byte_us,
        Some(300_000),
        "of the answer with status 103"
    );
    assert!(style.hinted && !document.hinted);
    assert_eq!((style.resource, style.discovered_us), (1, 300_000));
    assert_eq!(style.end_us, Some(410_000));
}

#[tokio::test(start_paused = true)]
async fn what_no_cache_may_keep_is_fetched_twice() {
    let told = hinted("no-store").await;
    assert_eq!(
        told.said[2..],
        ["300 asks for 3 on 1", "810 asks for 1 on 1"]
    );
    assert_eq!(told.load_event_ms, Some(920));
    assert_eq!(told.requests.len(), 2, "the browser tells of one");
    assert!(told.requests[1].hinted);
}
