//! The command protocol: one JSON object per line in, one per line out (docs/reference/processes.md).

use std::io::{self, BufRead};

use anyhow::{Context, Result, bail};
use dragstrip_program::lines::answer;
use serde_json::{Map, Value, json};
use tokio::task::LocalSet;

use crate::input::Load;
use crate::load::load;
use crate::memory::Memory;

/// Obeys stdin until it ends or says quit. `seed` seeds QUIC's own randomness.
///
/// One thread: nothing depends on which of two was faster.
pub fn run(seed: u64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut memory = Memory::seeded(seed);
    answer(
        &json!({ "ok": true, "ready": "dragstrip-loader", "version": env!("CARGO_PKG_VERSION") }),
    )?;
    for line in io::stdin().lock().lines() {
        let (name, fields) = match command(&line?) {
            Ok(command) => command,
            Err(error) => {
                refuse(&error)?;
                continue;
            }
        };
        let reply = match name.as_str() {
            "quit" => return answer(&json!({ "ok": true })),
            "forget" => {
                memory.forget();
                Ok(json!({}))
            }
            "load" => runtime.block_on(obey(fields, &mut memory)),
            _ => Err(anyhow::anyhow!("cmd: {name} is not load, forget or quit")),
        };
        match reply {
            Ok(mut reply) => {
                reply["ok"] = json!(true);
                answer(&reply)?;
            }
            Err(error) => refuse(&error)?,
        }
    }
    Ok(())
}

async fn obey(fields: Value, memory: &mut Memory) -> Result<Value> {
    let input: Load = serde_path_to_error::deserialize(fields).map_err(|error| {
        let path = error.path().to_string();
        anyhow::anyhow!("load.{path}: {}", error.into_inner())
    })?;
    // Tasks that still run at the end of the load end with this set.
    let tasks = LocalSet::new();
    let report = tasks.run_until(load(&input, memory)).await?;
    drop(tasks);
    Ok(serde_json::to_value(report)?)
}

/// Name and fields.
fn command(line: &str) -> Result<(String, Value)> {
    let mut fields: Map<String, Value> =
        serde_json::from_str(line).context("command not understood")?;
    let Some(Value::String(name)) = fields.remove("cmd") else {
        bail!("command not understood: no cmd");
    };
    Ok((name, Value::Object(fields)))
}

fn refuse(error: &anyhow::Error) -> Result<()> {
    answer(&json!({ "ok": false, "error": format!("{error:#}") }))
}
