//! `dragstrip-origin --ca-out FILE [--port 443] [--log FILE] [--plain SOCKET]`: see docs/reference/processes.md.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use dragstrip_origin::control;

const USAGE: &str =
    "usage: dragstrip-origin --ca-out FILE [--port 443] [--log FILE] [--plain SOCKET]";

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (mut ca_out, mut port, mut log, mut plain) = (None, 443, None, None);
    while let Some(flag) = args.next() {
        let value = args
            .next()
            .with_context(|| format!("{flag} needs a value; {USAGE}"))?;
        match flag.as_str() {
            "--ca-out" => ca_out = Some(PathBuf::from(value)),
            "--port" => {
                port = value
                    .parse()
                    .with_context(|| format!("--port {value}: not a port"))?
            }
            "--log" => log = Some(PathBuf::from(value)),
            "--plain" => plain = Some(PathBuf::from(value)),
            _ => bail!("{flag} is not an option; {USAGE}"),
        }
    }
    let ca_out = ca_out.with_context(|| format!("--ca-out is missing; {USAGE}"))?;
    control::run(port, &ca_out, log.as_deref(), plain.as_deref())
}
