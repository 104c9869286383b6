//! The command line of `dragstrip-resolver`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use dragstrip_program::{Options, Program, Stop, ValueExt};

use crate::control;
use crate::serve::{Place, Secrets};

static PROGRAM: Program = Program {
    name: "dragstrip-resolver",
    help: "\
Answers DNS queries for the names of recorded pages.

Usage: dragstrip-resolver --address IP [--port PORT] [--certificate FILE --key FILE [--https PORT]]

  --address IP        answer at this address
  --port PORT         UDP and TCP port of DNS [53]
  --certificate FILE  answer DNS over HTTPS (/dns-query) as well, with this certificate chain, as PEM
  --key FILE          the certificate's private key, as PEM
  --https PORT        TCP port of DNS over HTTPS [443]

Reads JSON commands line by line on stdin and answers each on stdout: docs/reference/processes.md.",
};

/// Runs the program until quit or the end of input.
pub fn main() -> ExitCode {
    PROGRAM.main(parse, |place| control::run(&place))
}

fn parse(options: &mut Options) -> Result<Place, Stop> {
    let (mut address, mut port, mut https) = (None::<IpAddr>, 53, 443);
    let (mut certificate, mut key) = (None::<PathBuf>, None::<PathBuf>);
    while let Some(name) = options.next_name()? {
        match name.as_str() {
            "address" => address = Some(options.value()?.parse()?),
            "port" => port = options.value()?.parse()?,
            "certificate" => certificate = Some(options.value()?.into()),
            "key" => key = Some(options.value()?.into()),
            "https" => https = options.value()?.parse()?,
            _ => return Err(options.unknown(&name)),
        }
    }
    let secrets = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(Secrets { certificate, key }),
        (None, None) => None,
        _ => return Err("--certificate and --key need each other".into()),
    };
    Ok(Place {
        address: address.ok_or("--address IP is missing")?,
        port,
        https,
        secrets,
    })
}
