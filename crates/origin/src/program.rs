//! The command line of `dragstrip-origin`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use dragstrip_program::{Options, Program, Stop, ValueExt};

use crate::control;

static PROGRAM: Program = Program {
    name: "dragstrip-origin",
    help: "\
Serves recorded pages over HTTP/1.1, HTTP/2 and HTTP/3, on every address.

Usage: dragstrip-origin --ca-out FILE [--port PORT] [--http PORT] [--log FILE] [--plain SOCKET]

  --ca-out FILE   write the authority that signs its certificates to FILE, as PEM
  --port PORT     TCP and UDP port of https [443]
  --http PORT     answer http:// URLs on this TCP port [none]
  --log FILE      write what was served to FILE, as JSON lines [none]
  --plain SOCKET  also answer HTTP/1.1 without TLS on this Unix socket, for a server in front [none]

Reads JSON commands line by line on stdin and answers each on stdout: docs/reference/processes.md.",
};

struct Arguments {
    ca_out: PathBuf,
    port: u16,
    http: Option<u16>,
    log: Option<PathBuf>,
    plain: Option<PathBuf>,
}

/// Runs the program until quit or the end of input.
pub fn main() -> ExitCode {
    PROGRAM.main(parse, run)
}

fn run(arguments: Arguments) -> Result<()> {
    let Arguments {
        ca_out,
        port,
        http,
        log,
        plain,
    } = arguments;
    control::run(port, &ca_out, log.as_deref(), http, plain.as_deref())
}

fn parse(options: &mut Options) -> Result<Arguments, Stop> {
    let (mut ca_out, mut port, mut http, mut log, mut plain) = (None, 443, None, None, None);
    while let Some(name) = options.next_name()? {
        match name.as_str() {
            "ca-out" => ca_out = Some(options.value()?.into()),
            "port" => port = options.value()?.parse()?,
            "http" => http = Some(options.value()?.parse()?),
            "log" => log = Some(options.value()?.into()),
            "plain" => plain = Some(options.value()?.into()),
            _ => return Err(options.unknown(&name)),
        }
    }
    Ok(Arguments {
        ca_out: ca_out.ok_or("--ca-out FILE is missing")?,
        port,
        http,
        log,
        plain,
    })
}
