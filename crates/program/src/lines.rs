//! The command protocol's lines: one JSON object per line in, one per line out
//! (docs/reference/processes.md).

use std::io::{self, BufRead, Write};

use anyhow::Result;
use serde::Serialize;
use tokio::sync::mpsc;

/// The lines of stdin. A separate thread reads, so that waiting for a command costs the servers
/// nothing.
pub fn stdin_lines() -> mpsc::Receiver<io::Result<String>> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Writes a reply to stdout.
pub fn answer(reply: &impl Serialize) -> Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, reply)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}
