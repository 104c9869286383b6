//! Requests as they are sent, and the parts of an answer that matter to later ones.

use anyhow::{Context, Result};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};

use crate::event::Outgoing;
use crate::input::{Page, Priority, Resource};
use crate::report::{Connection, EarlyData, Request};

/// The urgency of a request that states none (RFC 9218 section 4.1).
const DEFAULT_URGENCY: u8 = 3;

/// All requests of a page. An error names the one that cannot be sent.
pub(crate) fn all(page: &Page) -> Result<Vec<Outgoing>> {
    let one = |(id, resource)| one(resource).with_context(|| format!("load.page.resources[{id}]"));
    page.resources.iter().enumerate().map(one).collect()
}

fn one(resource: &Resource) -> Result<Outgoing> {
    let mut headers = Vec::new();
    let mut priority = Some(priority(resource)).filter(|value| !value.is_empty());
    for (name, value) in &resource.headers {
        if name.starts_with(':') {
            continue;
        }
        let place = || format!("headers: {name}");
        let name: HeaderName = name.parse().with_context(place)?;
        let ours = [header::HOST, header::CONNECTION, header::CONTENT_LENGTH];
        if ours.contains(&name) {
            continue;
        }
        if name == "priority" {
            priority = Some(value.clone());
            continue;
        }
        headers.push((name, value.parse().with_context(place)?));
    }
    let priority = priority.map(|value| HeaderValue::from_str(&value));
    let uri: Uri = resource.url.parse().context("url")?;
    Ok(Outgoing {
        method: resource.method.parse::<Method>().context("method")?,
        uri,
        headers,
        priority: priority.transpose().context("headers: priority")?,
        weight: weight(resource.priority),
        body_bytes: resource.body_bytes,
        credentials: resource.credentials(),
        safe: resource.safe(),
    })
}

fn urgency(priority: Priority) -> u8 {
    match priority {
        Priority::Highest => 0,
        Priority::Medium => 1,
        Priority::Low => 2,
        Priority::Lowest => 3,
        Priority::Idle => 4,
    }
}

/// The header's value; empty if everything has its default.
fn priority(resource: &Resource) -> String {
    let urgency = urgency(resource.priority);
    let urgency = (urgency != DEFAULT_URGENCY).then(|| format!("u={urgency}"));
    let incremental = resource.incremental().then(|| "i".to_owned());
    urgency
        .into_iter()
        .chain(incremental)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the weight of RFC 7540, as net/spdy computes it: 256 for the most urgent, 147 for
/// `Lowest`.
fn weight(priority: Priority) -> u16 {
    match priority {
        Priority::Highest => 256,
        Priority::Medium => 220,
        Priority::Low => 183,
        Priority::Lowest => 147,
        Priority::Idle => 110,
    }
}

/// A group of requests that may share connections: those to the same place, and all with or all
/// without credentials.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Host {
    pub name: String,
    pub port: u16,
    pub secure: bool,
    pub credentials: bool,
}

impl Host {
    pub fn of(request: &Outgoing) -> Self {
        let uri = &request.uri;
        let secure = uri.scheme_str() != Some("http");
        let name = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        Self {
            name: name.to_ascii_lowercase(),
            port: uri.port_u16().unwrap_or(if secure { 443 } else { 80 }),
            secure,
            credentials: request.credentials,
        }
    }

    /// Returns the part of this host that is remembered beyond a load.
    pub fn key(&self) -> (String, u16) {
        (self.name.clone(), self.port)
    }
}

/// Whether an answer says that its host speaks h3 on the same port (RFC 7838).
pub(crate) fn offers_h3(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ALT_SVC).iter();
    let offers = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    offers.map(str::trim).any(|offer| offer.starts_with("h3="))
}

pub(crate) fn readable(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers
        .iter()
        .map(|(name, value)| (name.to_string(), text(value)))
        .collect()
}

/// Notes in each request what its connection knows: the protocol, and whether the request left
/// before the handshake was through and was taken.
pub(crate) fn with_early_data(
    mut requests: Vec<Request>,
    connections: &[Connection],
) -> Vec<Request> {
    for request in &mut requests {
        let at = request
            .connection
            .and_then(|id| usize::try_from(id - 1).ok());
        let Some(connection) = at.and_then(|at| connections.get(at)) else {
            continue;
        };
        request.protocol = connection.protocol;
        let sent_early = match (request.sent_us, connection.tls_end_us) {
            (Some(sent), Some(through)) => sent < through,
            _ => false,
        };
        request.early_data = sent_early && connection.early_data == EarlyData::Accepted;
    }
    requests
}
