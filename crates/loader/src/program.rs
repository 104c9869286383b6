//! The command line of `dragstrip-loader`.

use std::process::ExitCode;

use lexopt::prelude::*;

use crate::control;

const HELP: &str = "\
Loads pages as Chromium would, from a graph of the page.

Usage: dragstrip-loader [--seed N]

  --seed N  seed of its random numbers [0]

Reads JSON commands line by line on stdin and answers each on stdout: docs/reference/processes.md.";

/// Runs the program to its end. Exit code 0 on quit or end of input; 1 if it failed; 2 on wrong
/// arguments.
pub fn main() -> ExitCode {
    let seed = match parse(lexopt::Parser::from_env()) {
        Ok(Some(seed)) => seed,
        Ok(None) => return ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dragstrip-loader: {error}; see dragstrip-loader --help");
            return ExitCode::from(2);
        }
    };
    match control::run(seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dragstrip-loader: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The seed; None if the question was only about help or version.
fn parse(mut parser: lexopt::Parser) -> Result<Option<u64>, lexopt::Error> {
    let mut seed = 0;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seed") => seed = parser.value()?.parse()?,
            Long("help") | Short('h') => {
                println!("{HELP}");
                return Ok(None);
            }
            Long("version") | Short('V') => {
                println!("dragstrip-loader {}", env!("CARGO_PKG_VERSION"));
                return Ok(None);
            }
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(Some(seed))
}
