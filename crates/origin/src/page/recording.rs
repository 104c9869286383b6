//! Reads a page file (`.har.zip`, see docs/reference/page-format.md) into memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::page::digest::digest_of;
use crate::page::har;
use crate::page::sockets::RecordedSocket;
use crate::page::url::{host_of, port_of, split_url};

/// No browser waits longer for an answer.
const LONGEST_THINK: Duration = Duration::from_mins(10);

const HAR_MEMBER: &str = "har.har";

/// Headers that describe the recorded connection and are never served.
const CONNECTION_HEADERS: [&str; 9] = [
    "alt-svc",
    "connection",
    "content-length",
    "keep-alive",
    "strict-transport-security",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A page as it was recorded: every answer, bodies included.
#[derive(Debug, Default)]
pub struct Recording {
    pub name: String,
    /// Where a visit starts.
    pub url: String,
    pub entries: Vec<Entry>,
    pub sockets: Vec<RecordedSocket>,
    /// Whether every answer takes as long as it did when recorded, and not only a long poll's.
    pub thinks: bool,
}

/// One recorded request and its answer.
#[derive(Debug, Clone)]
pub struct Entry {
    pub method: Method,
    /// False for http://.
    pub secure: bool,
    /// Host in lower case, and the port if it is not the scheme's default.
    pub authority: String,
    /// Path with query, as in the request line.
    pub target: String,
    pub status: StatusCode,
    /// The headers in recorded order, without those that describe the recorded connection.
    pub headers: HeaderMap,
    /// The body as it was sent, with its content encoding.
    pub wire: Bytes,
    /// The body without content encoding, if `wire` has one.
    pub decoded: Option<Bytes>,
    /// Digest of the body without content encoding, computed from the bytes and not read from the
    /// file.
    pub digest: String,
    /// How long the recorded server took to answer.
    pub think: Duration,
}

impl Recording {
    /// Reads a `.har.zip` whole. Errors name the file, the place in it and what is wrong there.
    pub fn open(path: &Path) -> Result<Self> {
        Self::read(path).with_context(|| path.display().to_string())
    }

    fn read(path: &Path) -> Result<Self> {
        let file = BufReader::new(File::open(path).context("cannot be opened")?);
        let mut archive = ZipArchive::new(file).context("is not a zip archive")?;
        let json = member(&mut archive, HAR_MEMBER)?;
        let mut parser = serde_json::Deserializer::from_slice(&json);
        let log = serde_path_to_error::deserialize::<_, har::Har>(&mut parser)
            .map_err(|e| anyhow!("{HAR_MEMBER}: {}: {}", e.path(), e.inner()))?
            .log;
        ensure!(
            log.page.format == 1,
            "{HAR_MEMBER}: log._dragstrip.format is {}, this version reads format 1",
            log.page.format
        );
        let mut bodies = Bodies {
            archive,
            read: HashMap::new(),
        };
        let (mut entries, mut sockets) = (Vec::new(), Vec::new());
        for (index, entry) in log.entries.into_iter().enumerate() {
            let place = || format!("{HAR_MEMBER}: log.entries[{index}]");
            if RecordedSocket::is(&entry) {
                sockets.push(RecordedSocket::new(entry).with_context(place)?);
            } else {
                entries.push(Entry::new(entry, &mut bodies).with_context(place)?);
            }
        }
        Ok(Self {
            entries,
            sockets,
            thinks: true,
            name: log.page.name,
            url: log.page.url,
        })
    }

    /// Additional ports of the recording, and whether they are used by TLS.
    pub(crate) fn ports(&self) -> BTreeMap<u16, BTreeSet<bool>> {
        let entries = self.entries.iter().map(|e| (e.secure, &e.authority));
        let sockets = self.sockets.iter().map(|s| (s.secure, &s.authority));
        let mut ports = BTreeMap::<_, BTreeSet<_>>::new();
        for (secure, authority) in entries.chain(sockets) {
            if let Some(port) = port_of(authority) {
                ports.entry(port).or_default().insert(secure);
            }
        }
        ports
    }

    /// Returns every host once, the document's own first.
    pub fn hosts(&self) -> Vec<String> {
        let document = split_url(&self.url).map(|(_, authority, _)| host_of(&authority));
        let mut hosts: Vec<String> = document.into_iter().collect();
        let entries = self.entries.iter().map(|entry| &entry.authority);
        let sockets = self.sockets.iter().map(|socket| &socket.authority);
        for host in entries.chain(sockets).map(|authority| host_of(authority)) {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        hosts
    }
}

impl Entry {
    fn new(entry: har::Entry, bodies: &mut Bodies) -> Result<Self> {
        let har::Entry {
            request,
            response,
            extra,
            ..
        } = entry;
        let think_ms = extra.think_ms.unwrap_or(0.0);
        let think = Duration::try_from_secs_f64(think_ms / 1000.0)
            .ok()
            .filter(|think| *think <= LONGEST_THINK)
            .with_context(|| format!("_dragstrip.think_ms: {think_ms} is no think time"))?;
        let (secure, authority, target) = split_url(&request.url).with_context(|| {
            format!(
                "request.url: {:?} is not an absolute http or https URL",
                request.url
            )
        })?;
        let method = Method::from_bytes(request.method.as_bytes())
            .with_context(|| format!("request.method: {:?} is not a method", request.method))?;
        let status = StatusCode::from_u16(response.status)
            .ok()
            .filter(|status| !status.is_informational())
            .with_context(|| format!("response.status: {} cannot be replayed", response.status))?;
        let mut body = |name: Option<String>, field: &str| {
            let found = name.map(|name| bodies.get(&name)).transpose();
            found.with_context(|| format!("response.{field}"))
        };
        let content = body(response.content.file, "content._file")?.unwrap_or_default();
        let encoded = body(response.extra.wire_file, "_dragstrip.wire_file")?;
        let mut headers = header_map(response.headers)?;
        // Without a wire body the decoded one crosses the wire, whatever the recorder noted.
        let (wire, decoded) = if let Some(wire) = encoded {
            (wire, Some(content))
        } else {
            headers.remove(CONTENT_ENCODING);
            (content, None)
        };
        Ok(Self {
            method,
            secure,
            authority,
            target,
            status,
            headers,
            digest: digest_of(decoded.as_ref().unwrap_or(&wire)),
            wire,
            decoded,
            think,
        })
    }
}

/// Zip members, each read once: equal bodies share their memory.
struct Bodies {
    archive: ZipArchive<BufReader<File>>,
    read: HashMap<String, Bytes>,
}

impl Bodies {
    fn get(&mut self, name: &str) -> Result<Bytes> {
        if let Some(body) = self.read.get(name) {
            return Ok(body.clone());
        }
        let body = Bytes::from(member(&mut self.archive, name)?);
        self.read.insert(name.to_owned(), body.clone());
        Ok(body)
    }
}

fn member(archive: &mut ZipArchive<BufReader<File>>, name: &str) -> Result<Vec<u8>> {
    let mut file = match archive.by_name(name) {
        Ok(file) => file,
        Err(ZipError::FileNotFound) => bail!("the archive has no member {name:?}"),
        Err(error) => return Err(error).with_context(|| format!("member {name:?}")),
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)
        .with_context(|| format!("member {name:?} cannot be unpacked"))?;
    Ok(bytes)
}

/// Removes pseudo-headers and connection headers. A value with line breaks is split, because
/// browsers' HAR exports join repeated headers that way.
fn header_map(recorded: Vec<har::Header>) -> Result<HeaderMap> {
    let mut headers = HeaderMap::with_capacity(recorded.len());
    for (index, har::Header { name, value }) in recorded.into_iter().enumerate() {
        let lower = name.to_ascii_lowercase();
        if lower.starts_with(':')
            || lower.starts_with("proxy-")
            || CONNECTION_HEADERS.contains(&lower.as_str())
        {
            continue;
        }
        let place = || format!("response.headers[{index}]: {name:?} is not a valid header");
        let key = HeaderName::from_bytes(lower.as_bytes()).with_context(place)?;
        for line in value.split('\n') {
            headers.append(
                &key,
                HeaderValue::from_bytes(line.as_bytes()).with_context(place)?,
            );
        }
    }
    Ok(headers)
}
