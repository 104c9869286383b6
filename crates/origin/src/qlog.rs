//! qlog of QUIC connections, in quinn's words (draft-ietf-quic-qlog-main-schema-02, "0.3").

use std::fs::File;
use std::io::LineWriter;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use quinn::{QlogConfig, QlogStream};

use crate::log::{Connection, now_us};

/// A stream into `FOLDER/ID.sqlog`, where ID is the connection's. Times are ms after its `t_us`.
pub(crate) fn stream(folder: &Path, connection: &Connection) -> Result<QlogStream> {
    let path = folder.join(format!("{}.sqlog", connection.id));
    let place = || format!("cannot write {}", path.display());
    let file = File::create(&path).with_context(place)?;
    let age = Duration::from_micros(now_us().saturating_sub(connection.t_us));
    let mut config = QlogConfig::default();
    // By the line: quinn keeps the stream long after the connection's end, and somebody reads then.
    config.writer(Box::new(LineWriter::new(file)));
    config.start_time(Instant::now() - age);
    config.into_stream().with_context(place)
}
