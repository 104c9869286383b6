//! qlog of connections (draft-ietf-quic-qlog-main-schema-02, "0.3"): QUIC's in quinn's words, of TCP
//! what the kernel reports of its windows.

use std::fs::File;
use std::future::pending;
use std::io::{LineWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use quinn::{QlogConfig, QlogStream};
use serde_json::{Value, json};
use socket2::Socket;

use crate::log::{Connection, now_us};
use crate::telemetry::{self, TcpWindow};

/// How often the origin asks the kernel for a connection's state: a fraction of most round trips.
const LOOK: Duration = Duration::from_millis(2);

/// Opens a stream into `FOLDER/ID.sqlog`, where ID is the connection's.
pub(crate) fn stream(folder: &Path, connection: &Connection) -> Result<QlogStream> {
    let file = create(folder, connection)?;
    let age = Duration::from_micros(now_us().saturating_sub(connection.t_us));
    let mut config = QlogConfig::default();
    config.writer(Box::new(file));
    let now = Instant::now();
    config.start_time(now.checked_sub(age).unwrap_or(now));
    config.into_stream().context("cannot write qlog")
}

/// Writes the windows of a TCP connection whenever they have changed, as `stream` does QUIC's.
/// Never ends, but does nothing more once the file cannot be written or the socket is gone.
pub(crate) async fn windows(folder: Option<&Path>, connection: &Connection, socket: &Socket) {
    if let Some(folder) = folder
        && let Err(error) = write_windows(folder, connection, socket).await
    {
        eprintln!("dragstrip-origin: {error:#}");
    }
    pending::<()>().await;
}

async fn write_windows(folder: &Path, connection: &Connection, socket: &Socket) -> Result<()> {
    let mut file = create(folder, connection)?;
    let head = json!({ "qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {} });
    record(&mut file, &head)?;
    let mut last = None;
    let mut looks = tokio::time::interval(LOOK);
    while let Ok(window) = telemetry::tcp_window(socket) {
        if last.as_ref() != Some(&window) {
            record(&mut file, &updated(connection, &window))?;
            last = Some(window);
        }
        looks.tick().await;
    }
    Ok(())
}

fn updated(connection: &Connection, window: &TcpWindow) -> Value {
    json!({
        "time": now_us().saturating_sub(connection.t_us) as f64 / 1000.0,
        "name": "recovery:metrics_updated",
        "group_id": "",
        "data": {
            "congestion_window": window.window_bytes,
            "bytes_in_flight": window.in_flight_bytes,
            "smoothed_rtt": window.rtt_s,
        },
    })
}

/// Writes one record of a JSON text sequence (RFC 7464).
fn record(file: &mut impl Write, value: &Value) -> Result<()> {
    writeln!(file, "\u{1e}{value}").context("cannot write qlog")
}

/// Flushed per line: quinn keeps the stream long after the connection's end, and readers come
/// earlier.
fn create(folder: &Path, connection: &Connection) -> Result<LineWriter<File>> {
    let path = folder.join(format!("{}.sqlog", connection.id));
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(LineWriter::new(file))
}
