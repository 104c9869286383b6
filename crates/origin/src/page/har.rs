//! The part of HAR 1.2 (with our `_dragstrip` fields) that the origin reads.

use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Har {
    pub log: Log,
}

#[derive(Deserialize)]
pub(crate) struct Log {
    pub entries: Vec<Entry>,
    #[serde(rename = "_dragstrip")]
    pub page: Page,
}

#[derive(Deserialize)]
pub(crate) struct Page {
    pub format: u64,
    pub name: String,
    pub url: String,
}

#[derive(Deserialize)]
pub(crate) struct Entry {
    pub request: Request,
    pub response: Response,
    #[serde(rename = "_dragstrip", default)]
    pub extra: EntryExtra,
    /// Messages of a WebSocket.
    #[serde(rename = "_webSocketMessages", default)]
    pub messages: Vec<Message>,
}

#[derive(Deserialize, Default)]
pub(crate) struct EntryExtra {
    pub think_ms: Option<f64>,
    /// When a WebSocket was open, in seconds of the Unix epoch.
    #[serde(default)]
    pub opened_s: f64,
}

/// A message as Chromium exports it: `time` in seconds of the Unix epoch, `data` as text, or as
/// base64 unless the opcode says text.
#[derive(Deserialize)]
pub(crate) struct Message {
    #[serde(rename = "type")]
    pub kind: String,
    pub time: f64,
    pub opcode: u8,
    pub data: String,
}

#[derive(Deserialize)]
pub(crate) struct Request {
    pub method: String,
    pub url: String,
}

#[derive(Deserialize)]
pub(crate) struct Response {
    pub status: u16,
    pub headers: Vec<Header>,
    pub content: Content,
    #[serde(rename = "_dragstrip", default)]
    pub extra: Extra,
}

#[derive(Deserialize)]
pub(crate) struct Header {
    pub name: String,
    pub value: String,
}

#[derive(Deserialize)]
pub(crate) struct Content {
    #[serde(rename = "_file")]
    pub file: Option<String>,
}

#[derive(Deserialize, Default)]
pub(crate) struct Extra {
    pub wire_file: Option<String>,
}
