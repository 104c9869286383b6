//! The command line of `dragstrip-origin`.

use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::prelude::*;

use crate::control;

const HELP: &str = "\
Serves recorded pages over HTTP/1.1, HTTP/2 and HTTP/3, on every address.

Usage: dragstrip-origin --ca-out FILE [--port PORT] [--http PORT] [--log FILE] [--plain SOCKET]

  --ca-out FILE   write the authority that signs its certificates to FILE, as PEM
  --port PORT     TCP and UDP port of https [443]
  --http PORT     answer http:// URLs on this TCP port [none]
  --log FILE      write what was served to FILE, as JSON lines [none]
  --plain SOCKET  also answer HTTP/1.1 without TLS on this Unix socket, for a server in front [none]

Reads JSON commands line by line on stdin and answers each on stdout: docs/reference/processes.md.";

struct Arguments {
    ca_out: PathBuf,
    port: u16,
    http: Option<u16>,
    log: Option<PathBuf>,
    plain: Option<PathBuf>,
}

/// Runs the program to its end. Exit code 0 on quit or end of input; 1 if the origin failed; 2 on
/// wrong arguments.
pub fn main() -> ExitCode {
    let Arguments {
        ca_out,
        port,
        http,
        log,
        plain,
    } = match parse(lexopt::Parser::from_env()) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => return ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dragstrip-origin: {error}; see dragstrip-origin --help");
            return ExitCode::from(2);
        }
    };
    match control::run(port, &ca_out, log.as_deref(), http, plain.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dragstrip-origin: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// None if the question was only about help or version.
fn parse(mut parser: lexopt::Parser) -> Result<Option<Arguments>, lexopt::Error> {
    let (mut ca_out, mut port, mut http, mut log, mut plain) = (None, 443, None, None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("ca-out") => ca_out = Some(parser.value()?.into()),
            Long("port") => port = parser.value()?.parse()?,
            Long("http") => http = Some(parser.value()?.parse()?),
            Long("log") => log = Some(parser.value()?.into()),
            Long("plain") => plain = Some(parser.value()?.into()),
            Long("help") | Short('h') => {
                println!("{HELP}");
                return Ok(None);
            }
            Long("version") | Short('V') => {
                println!("dragstrip-origin {}", env!("CARGO_PKG_VERSION"));
                return Ok(None);
            }
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(Some(Arguments {
        ca_out: ca_out.ok_or("--ca-out FILE is missing")?,
        port,
        http,
        log,
        plain,
    }))
}
