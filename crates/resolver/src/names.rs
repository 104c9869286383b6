//! What the resolver knows: names, their records, and which of them its cache lacks.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::prelude::{BASE64_STANDARD, Engine};
use hickory_proto::op::ResponseCode;
use hickory_proto::rr::rdata::svcb::{
    Alpn, EchConfigList, IpHint, SVCB, SvcParamKey, SvcParamValue,
};
use hickory_proto::rr::rdata::{A, AAAA, HTTPS};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use tokio::time::Instant;

/// Priority of an HTTPS record that names no other host (RFC 9460 section 2.4.1).
const SERVICE: u16 = 1;

/// Every name, and how long clients may keep an answer.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    pub names: BTreeMap<String, Entry>,
    /// Seconds that a client may keep an answer.
    pub ttl_s: u32,
    /// How long a recursive look-up takes for a name that does not exist.
    #[serde(default)]
    pub unknown_upstream_ms: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub addresses: Vec<IpAddr>,
    #[serde(default)]
    pub https: Option<Service>,
    /// How long the name's first look-up takes, because the cache lacks it.
    #[serde(default)]
    pub upstream_ms: f64,
}

/// An HTTPS record.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    pub alpn: Vec<String>,
    #[serde(default)]
    pub port: Option<u16>,
    /// The name whose addresses serve it; the root stands for the record's own.
    #[serde(default = "Name::root", deserialize_with = "absolute")]
    pub target: Name,
    /// Whether the record repeats the name's addresses as hints.
    #[serde(default)]
    pub hints: bool,
    /// Keys for Encrypted Client Hello, an ECHConfigList in base64 (RFC 9848); empty for none.
    #[serde(default, deserialize_with = "from_base64")]
    pub ech: Vec<u8>,
}

/// One query and its answer. Times are microseconds of the Unix epoch.
#[derive(Clone, Debug, Serialize)]
pub struct Lookup {
    pub t_us: u64,
    pub answered_us: u64,
    pub name: String,
    /// The record that was asked for.
    pub kind: String,
    pub transport: &'static str,
    /// Whether the answer waited for a recursive look-up.
    pub missed: bool,
    pub answers: usize,
}

/// Names, cache and log. All that the servers share.
#[derive(Default)]
pub struct Resolver {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: Known,
    /// When the answer to a question that the cache lacked arrives, or arrived.
    arrives: HashMap<(String, RecordType), Instant>,
    log: Vec<Lookup>,
}

impl Resolver {
    /// Answers for these names from now on. With `forget`, the cache keeps only names that take no
    /// look-up time.
    pub fn know(&self, known: Known, forget: bool) {
        let mut state = self.state();
        state.known = known;
        if forget {
            state.arrives.clear();
        }
    }

    /// The look-ups since the last call.
    pub fn log(&self) -> Vec<Lookup> {
        std::mem::take(&mut self.state().log)
    }

    /// When a question can be answered, and whether that takes a recursive look-up. A
    /// client that asks for the same meanwhile waits for the same answer.
    pub fn ready(&self, name: &str, kind: RecordType) -> Option<Instant> {
        let mut state = self.state();
        let known = &state.known;
        let upstream_ms = known
            .names
            .get(name)
            .map_or(known.unknown_upstream_ms, |entry| entry.upstream_ms);
        if upstream_ms <= 0.0 {
            return None;
        }
        let now = Instant::now();
        let after = Duration::from_secs_f64(upstream_ms / 1000.0);
        let asked = (name.to_owned(), kind);
        let ready = *state.arrives.entry(asked).or_insert(now + after);
        (ready > now).then_some(ready)
    }

    /// The records for a question, and the code of its answer.
    pub fn answer(
        &self,
        name: &Name,
        asked: &str,
        kind: RecordType,
    ) -> (ResponseCode, Vec<Record>) {
        let state = self.state();
        let Some(entry) = state.known.names.get(asked) else {
            return (ResponseCode::NXDomain, Vec::new());
        };
        let ttl_s = state.known.ttl_s;
        let records = entry.data(kind);
        let records = records.map(|data| Record::from_rdata(name.clone(), ttl_s, data));
        (ResponseCode::NoError, records.collect())
    }

    pub fn wrote(&self, lookup: Lookup) {
        self.state().log.push(lookup);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn data(&self, kind: RecordType) -> impl Iterator<Item = RData> {
        let addresses = self
            .addresses
            .iter()
            .filter_map(move |ip| match (ip, kind) {
                (IpAddr::V4(ip), RecordType::A) => Some(RData::A(A(*ip))),
                (IpAddr::V6(ip), RecordType::AAAA) => Some(RData::AAAA(AAAA(*ip))),
                _ => None,
            });
        let service = self.https.as_ref().filter(|_| kind == RecordType::HTTPS);
        addresses.chain(service.map(|service| service.data(&self.addresses)))
    }
}

impl Service {
    /// The parameters in the order of their numbers (RFC 9460 section 2.2).
    fn data(&self, addresses: &[IpAddr]) -> RData {
        let mut parameters = vec![(
            SvcParamKey::Alpn,
            SvcParamValue::Alpn(Alpn(self.alpn.clone())),
        )];
        if let Some(port) = self.port {
            parameters.push((SvcParamKey::Port, SvcParamValue::Port(port)));
        }
        let v4 = addresses.iter().filter_map(|ip| match ip {
            IpAddr::V4(ip) => Some(A(*ip)),
            IpAddr::V6(_) => None,
        });
        let v4: Vec<A> = v4.filter(|_| self.hints).collect();
        if !v4.is_empty() {
            let hint = SvcParamValue::Ipv4Hint(IpHint(v4));
            parameters.push((SvcParamKey::Ipv4Hint, hint));
        }
        if !self.ech.is_empty() {
            let keys = SvcParamValue::EchConfigList(EchConfigList(self.ech.clone()));
            parameters.push((SvcParamKey::EchConfigList, keys));
        }
        let v6 = addresses.iter().filter_map(|ip| match ip {
            IpAddr::V6(ip) => Some(AAAA(*ip)),
            IpAddr::V4(_) => None,
        });
        let v6: Vec<AAAA> = v6.filter(|_| self.hints).collect();
        if !v6.is_empty() {
            let hint = SvcParamValue::Ipv6Hint(IpHint(v6));
            parameters.push((SvcParamKey::Ipv6Hint, hint));
        }
        RData::HTTPS(HTTPS(SVCB::new(SERVICE, self.target.clone(), parameters)))
    }
}

fn absolute<'de, D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
    let text = String::deserialize(from)?;
    let mut name = Name::from_ascii(text).map_err(D::Error::custom)?;
    name.set_fqdn(true);
    Ok(name)
}

fn from_base64<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(from)?;
    BASE64_STANDARD.decode(text).map_err(D::Error::custom)
}

pub fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver(upstream_ms: f64) -> Resolver {
        let resolver = Resolver::default();
        resolver.know(known(upstream_ms), true);
        resolver
    }

    fn known(upstream_ms: f64) -> Known {
        let text = serde_json::json!({
            "ttl_s": 300,
            "unknown_upstream_ms": upstream_ms,
            "names": {"www.a.test": {
                "addresses": ["10.64.1.1"],
                "https": {"alpn": ["h3", "h2"], "hints": true},
                "upstream_ms": upstream_ms,
            }, "plain.test": {"addresses": ["10.64.1.2"]}},
        });
        serde_json::from_value(text).unwrap()
    }

    fn answer(resolver: &Resolver, name: &str, kind: RecordType) -> (ResponseCode, Vec<String>) {
        let (code, records) = resolver.answer(&Name::from_ascii(name).unwrap(), name, kind);
        (code, records.iter().map(|r| r.data.to_string()).collect())
    }

    #[test]
    fn a_name_has_its_addresses_and_its_https_record() {
        let resolver = resolver(0.0);
        let said = answer(&resolver, "www.a.test", RecordType::A);
        assert_eq!(said, (ResponseCode::NoError, vec!["10.64.1.1".to_owned()]));
        let (code, said) = answer(&resolver, "www.a.test", RecordType::HTTPS);
        assert_eq!(code, ResponseCode::NoError);
        assert!(
            said[0].contains("alpn") && said[0].contains("h3,h2"),
            "{said:?}"
        );
        assert!(said[0].contains("10.64.1.1"), "{said:?}");
    }

    #[test]
    fn what_a_name_lacks_is_an_empty_answer_and_a_name_that_is_missing_does_not_exist() {
        let resolver = resolver(0.0);
        for (name, kind) in [
            ("www.a.test", RecordType::AAAA),
            ("plain.test", RecordType::HTTPS),
        ] {
            assert_eq!(
                answer(&resolver, name, kind),
                (ResponseCode::NoError, vec![])
            );
        }
        let nothing = answer(&resolver, "other.test", RecordType::A);
        assert_eq!(nothing, (ResponseCode::NXDomain, vec![]));
    }

    #[test]
    fn a_record_of_another_port_names_the_host_and_carries_keys() {
        let name = "_8443._https.a.test";
        let text = serde_json::json!({"ttl_s": 300, "names": {name: {
            "addresses": ["10.64.1.1"],
            "https": {"alpn": ["h2"], "target": "a.test", "ech": "AAEC"},
        }}});
        let resolver = Resolver::default();
        resolver.know(serde_json::from_value(text).unwrap(), true);
        let (_, said) = answer(&resolver, name, RecordType::HTTPS);
        assert!(said[0].starts_with("1 a.test. "), "{said:?}");
        assert!(
            said[0].contains("ech") && said[0].contains("AAEC"),
            "{said:?}"
        );
    }

    #[test]
    fn keys_that_are_no_base64_are_refused() {
        let text = serde_json::json!({"alpn": ["h2"], "ech": "?"});
        assert!(serde_json::from_value::<Service>(text).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_first_look_up_of_a_name_takes_the_time_of_a_recursive_one() {
        let resolver = resolver(80.0);
        let begun = Instant::now();
        let ready = resolver.ready("www.a.test", RecordType::A).unwrap();
        assert_eq!(ready - begun, Duration::from_millis(80));
        tokio::time::advance(Duration::from_millis(30)).await;
        assert_eq!(resolver.ready("www.a.test", RecordType::A), Some(ready));
        tokio::time::advance(Duration::from_millis(60)).await;
        assert_eq!(resolver.ready("www.a.test", RecordType::A), None);
        assert_eq!(resolver.ready("plain.test", RecordType::A), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_cache_outlives_new_names_unless_it_has_to_forget() {
        let resolver = resolver(80.0);
        resolver.ready("www.a.test", RecordType::A).unwrap();
        tokio::time::advance(Duration::from_millis(90)).await;
        resolver.know(known(80.0), false);
        assert_eq!(resolver.ready("www.a.test", RecordType::A), None);
        resolver.know(known(80.0), true);
        assert!(resolver.ready("www.a.test", RecordType::A).is_some());
    }
}
