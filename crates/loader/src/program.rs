//! The command line of `dragstrip-loader`.

use std::process::ExitCode;

use dragstrip_program::{Options, Program, Stop, ValueExt};

use crate::control;

static PROGRAM: Program = Program {
    name: "dragstrip-loader",
    help: "\
Loads pages as Chromium would, from a graph of the page.

Usage: dragstrip-loader [--seed N]

  --seed N  seed of its random numbers [0]

Reads JSON commands line by line on stdin and answers each on stdout: docs/reference/processes.md.",
};

/// Runs the program until quit or the end of input.
pub fn main() -> ExitCode {
    PROGRAM.main(parse, control::run)
}

/// Reads the options; returns the seed.
fn parse(options: &mut Options) -> Result<u64, Stop> {
    let mut seed = 0;
    while let Some(name) = options.next_name()? {
        match name.as_str() {
            "seed" => seed = options.value()?.parse()?,
            _ => return Err(options.unknown(&name)),
        }
    }
    Ok(seed)
}
