//! The WebSockets of a recording, and which of them a client opens.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio_tungstenite::tungstenite::Message;

use crate::page::har;
use crate::page::url::split_url;

/// Opcode of a text frame (RFC 6455 section 11.8).
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const PING: u8 = 9;

/// One recorded WebSocket, with its server's frames.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedSocket {
    /// False for ws://.
    pub secure: bool,
    /// Host, and the port if it is not the scheme's default.
    pub authority: String,
    /// Path with query.
    pub target: String,
    /// The subprotocol that the server chose; empty for none.
    pub subprotocol: String,
    /// Frames in the order of their times.
    pub frames: Vec<Frame>,
}

/// A frame that the server sent, and the time from the socket's opening to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub at: Duration,
    pub message: Message,
}

impl RecordedSocket {
    /// Whether this entry of a HAR is a WebSocket.
    pub(crate) fn is(entry: &har::Entry) -> bool {
        entry.request.url.starts_with("wss://") || entry.request.url.starts_with("ws://")
    }

    pub(crate) fn new(entry: har::Entry) -> Result<Self> {
        let url = &entry.request.url;
        let (secure, authority, target) =
            split_url(url).with_context(|| format!("request.url: {url:?} is not absolute"))?;
        let opened_s = entry.extra.opened_s;
        let mut frames = Vec::new();
        for (index, said) in entry.messages.into_iter().enumerate() {
            if said.kind == "receive" {
                let frame = Frame::new(said, opened_s);
                frames.extend(frame.with_context(|| format!("_webSocketMessages[{index}]"))?);
            }
        }
        frames.sort_by_key(|frame| frame.at);
        let chosen = entry
            .response
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case("sec-websocket-protocol"));
        Ok(Self {
            secure,
            authority,
            target,
            subprotocol: chosen.map_or(String::new(), |header| header.value.clone()),
            frames,
        })
    }
}

impl Frame {
    /// Reads a recorded frame. None for frames that close the socket or answer a ping, which the
    /// origin sends by itself.
    fn new(said: har::Message, opened_s: f64) -> Result<Option<Self>> {
        let bytes = || {
            BASE64_STANDARD
                .decode(&said.data)
                .context("data is not base64")
        };
        let message = match said.opcode {
            TEXT => Message::text(said.data),
            BINARY => Message::binary(bytes()?),
            PING => Message::Ping(bytes()?.into()),
            _ => return Ok(None),
        };
        let Ok(at) = Duration::try_from_secs_f64((said.time - opened_s).max(0.0)) else {
            bail!("time {} is none", said.time);
        };
        Ok(Some(Self { at, message }))
    }
}

/// The sockets of a page, and which were opened.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    recorded: Vec<RecordedSocket>,
    opened: Vec<bool>,
}

impl Sockets {
    pub fn new(recorded: Vec<RecordedSocket>) -> Self {
        let opened = vec![false; recorded.len()];
        Self { recorded, opened }
    }

    /// Counts no socket as opened any more.
    pub fn rewind(&mut self) {
        self.opened.fill(false);
    }

    /// The next socket of this URL, in recorded order; else of this URL without its query; then the
    /// last one again. None if the recording has none.
    pub fn open(&mut self, secure: bool, authority: &str, target: &str) -> Option<RecordedSocket> {
        let path = |target: &str| target.split('?').next().map(str::to_owned);
        let here = |s: &RecordedSocket| s.secure == secure && s.authority == authority;
        let same = |s: &RecordedSocket| here(s) && s.target == target;
        let like = |s: &RecordedSocket| here(s) && path(&s.target) == path(target);
        let places = |suits: &dyn Fn(&RecordedSocket) -> bool| -> Vec<usize> {
            let all = 0..self.recorded.len();
            all.filter(|&i| suits(&self.recorded[i])).collect()
        };
        let mut found = places(&same);
        if found.is_empty() {
            found = places(&like);
        }
        let fresh = found.iter().copied().find(|&i| !self.opened[i]);
        let index = fresh.or(found.last().copied())?;
        self.opened[index] = true;
        Some(self.recorded[index].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(target: &str, subprotocol: &str) -> RecordedSocket {
        RecordedSocket {
            secure: true,
            authority: "a.test".to_owned(),
            target: target.to_owned(),
            subprotocol: subprotocol.to_owned(),
            frames: Vec::new(),
        }
    }

    #[test]
    fn sockets_of_one_url_are_opened_in_recorded_order_and_the_last_again() {
        let mut sockets = Sockets::new(vec![
            socket("/ws?id=1", "one"),
            socket("/other", ""),
            socket("/ws?id=1", "two"),
        ]);
        let mut open = |target: &str| {
            let found = sockets.open(true, "a.test", target);
            found.map(|socket| socket.subprotocol)
        };
        assert_eq!(open("/ws?id=1").as_deref(), Some("one"));
        assert_eq!(open("/ws?id=2").as_deref(), Some("two"));
        assert_eq!(open("/ws?id=1").as_deref(), Some("two"));
        assert_eq!(open("/none"), None);
        sockets.rewind();
        assert_eq!(
            sockets.open(true, "a.test", "/ws").unwrap().subprotocol,
            "one"
        );
        assert_eq!(sockets.open(false, "a.test", "/ws"), None);
    }
}
