//! The command protocol: one JSON object per line in, one per line out (docs/reference/processes.md).

use std::sync::Arc;

use anyhow::Result;
use dragstrip_program::lines::{answer, stdin_lines};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::names::{Entry, Known, Resolver};
use crate::serve::{Place, Servers};

#[derive(Deserialize)]
#[serde(tag = "cmd", rename_all = "lowercase", deny_unknown_fields)]
enum Command {
    Names {
        names: std::collections::BTreeMap<String, Entry>,
        ttl_s: u32,
        #[serde(default)]
        unknown_upstream_ms: f64,
        #[serde(default)]
        forget: bool,
    },
    Log {},
    Close {},
    Quit {},
}

/// Answers at `place`, and obeys stdin until it ends or says quit. One thread, like the origin's.
pub fn run(place: &Place) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(obey_stdin(place))
}

async fn obey_stdin(place: &Place) -> Result<()> {
    let resolver = Arc::new(Resolver::default());
    let mut servers = Servers::start(place, resolver.clone()).await?;
    answer(
        &json!({ "ok": true, "ready": "dragstrip-resolver", "version": env!("CARGO_PKG_VERSION") }),
    )?;
    let mut lines = stdin_lines();
    while let Some(line) = lines.recv().await {
        let reply = match serde_json::from_str(&line?) {
            Err(error) => {
                json!({ "ok": false, "error": format!("command not understood: {error}") })
            }
            Ok(Command::Quit {}) => return answer(&json!({ "ok": true })),
            Ok(Command::Close {}) => {
                servers.stop().await?;
                servers = Servers::start(place, resolver.clone()).await?;
                json!({ "ok": true })
            }
            Ok(command) => obey(command, &resolver),
        };
        answer(&reply)?;
    }
    Ok(())
}

fn obey(command: Command, resolver: &Resolver) -> Value {
    match command {
        Command::Names {
            names,
            ttl_s,
            unknown_upstream_ms,
            forget,
        } => {
            let known = Known {
                names,
                ttl_s,
                unknown_upstream_ms,
            };
            resolver.know(known, forget);
            json!({ "ok": true })
        }
        Command::Log {} => json!({ "ok": true, "lookups": resolver.log() }),
        Command::Close {} | Command::Quit {} => json!({ "ok": true }),
    }
}
