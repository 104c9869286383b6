//! The command line of `dragstrip-link`.

use std::io;
use std::process::ExitCode;
use std::{mem, ptr, thread};

use anyhow::{Context, Result};
use dragstrip_program::{Options, Program, Stop, ValueExt};

use crate::control::Link;

static PROGRAM: Program = Program {
    name: "dragstrip-link",
    help: "\
Forwards Ethernet frames between two interfaces through an emulated link.

Usage: dragstrip-link --client IFACE --origin IFACE [--mtu BYTES]

  --client IFACE  interface towards the client; `up` goes from here
  --origin IFACE  interface towards the origin; `down` goes from here
  --mtu BYTES     longest expected packet, without Ethernet header [1500]
  --exact-timers  timers fire when they are due, as in virtual time: never spin, look at nothing
                  that has not stirred

Reads JSON commands (configure, change, start, passthrough, stats, quit) line by line on stdin and answers each
on stdout: docs/reference/processes.md. Until it is configured it forwards without delay.",
};

struct Arguments {
    client: String,
    origin: String,
    mtu: usize,
    exact_timers: bool,
}

/// Runs the program until quit, the end of input, SIGTERM or SIGINT.
pub fn main() -> ExitCode {
    PROGRAM.main(parse, run)
}

fn run(arguments: Arguments) -> Result<()> {
    exit_on_signals()?;
    let Arguments {
        client,
        origin,
        mtu,
        exact_timers,
    } = arguments;
    let mut link = Link::start(&client, &origin, mtu, exact_timers)?;
    link.serve(io::stdin().lock(), io::stdout().lock())
}

fn parse(options: &mut Options) -> Result<Arguments, Stop> {
    let (mut client, mut origin, mut mtu, mut exact_timers) = (None, None, 1500, false);
    while let Some(name) = options.next_name()? {
        match name.as_str() {
            "client" => client = Some(options.value()?.string()?),
            "origin" => origin = Some(options.value()?.string()?),
            "mtu" => mtu = options.value()?.parse()?,
            "exact-timers" => exact_timers = true,
            _ => return Err(options.unknown(&name)),
        }
    }
    Ok(Arguments {
        client: client.ok_or("--client IFACE is missing")?,
        origin: origin.ok_or("--origin IFACE is missing")?,
        mtu,
        exact_timers,
    })
}

/// The kernel takes back all that the link holds, so a signal only has to end the process.
/// Call before any other thread starts: they inherit the mask.
fn exit_on_signals() -> Result<()> {
    // SAFETY: `signals` is initialised by sigemptyset before it is used.
    let signals = unsafe {
        let mut signals: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGTERM);
        libc::sigaddset(&raw mut signals, libc::SIGINT);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, ptr::null_mut());
        signals
    };
    let wait = move || {
        let mut signal = 0;
        // SAFETY: both pointers are valid for the whole call.
        unsafe { libc::sigwait(&raw const signals, &raw mut signal) };
        std::process::exit(0);
    };
    let thread = thread::Builder::new().name("signals".to_owned());
    thread.spawn(wait).context("cannot start a thread")?;
    Ok(())
}
