//! `dragstrip-origin --ca-out FILE [--port 443] [--http PORT] [--log FILE] [--plain SOCKET]`: see docs/reference/processes.md.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use dragstrip_origin::control;

const USAGE: &str = "usage: dragstrip-origin --ca-out FILE [--port 443] [--http PORT] [--log FILE] [--plain SOCKET]";

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (mut ca_out, mut port, mut http, mut log, mut plain) = (None, 443, None, None, None);
    let number = |flag: &str, value: &str| {
        let parsed = value.parse::<u16>();
        parsed.with_context(|| format!("{flag} {value}: not a port"))
    };
    while let Some(flag) = args.next() {
        let value = args
            .next()
            .with_context(|| format!("{flag} needs a value; {USAGE}"))?;
        match flag.as_str() {
            "--ca-out" => ca_out = Some(PathBuf::from(value)),
            "--port" => port = number(&flag, &value)?,
            "--http" => http = Some(number(&flag, &value)?),
            "--log" => log = Some(PathBuf::from(value)),
            "--plain" => plain = Some(PathBuf::from(value)),
            _ => bail!("{flag} is not an option; {USAGE}"),
        }
    }
    let ca_out = ca_out.with_context(|| format!("--ca-out is missing; {USAGE}"))?;
    control::run(port, &ca_out, log.as_deref(), http, plain.as_deref())
}
