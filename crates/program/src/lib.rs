//! What the programs share: command line, help, errors, exit codes, and the lines of commands.

pub mod lines;

use std::ffi::OsString;
use std::panic::{self, PanicHookInfo};
use std::process::ExitCode;

use anyhow::Result;
use lexopt::Arg::{Long, Short};
pub use lexopt::ValueExt;
use lexopt::{Error, Parser};

/// A program of dragstrip.
pub struct Program {
    pub name: &'static str,
    /// The text that `--help` prints.
    pub help: &'static str,
}

/// Why the program does not start after its command line.
#[derive(Debug)]
pub enum Stop {
    /// The command line asked for this text, with `--help` or `--version`.
    Asked(String),
    Wrong(Error),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Wrong(error.into())
    }
}

impl Program {
    /// Parses the command line and runs the program to its end. The exit code is 0 if the run went
    /// well; 1 if it failed; 2 on a wrong command line.
    pub fn main<A>(
        &'static self,
        parse: impl FnOnce(&mut Options) -> Result<A, Stop>,
        run: impl FnOnce(A) -> Result<()>,
    ) -> ExitCode {
        let name = self.name;
        panic::set_hook(Box::new(move |info| eprintln!("{name}: {}", bug(info))));
        let arguments = match parse(&mut self.options(Parser::from_env())) {
            Ok(arguments) => arguments,
            Err(Stop::Asked(text)) => {
                println!("{text}");
                return ExitCode::SUCCESS;
            }
            Err(Stop::Wrong(error)) => {
                eprintln!("{name}: {error}; see {name} --help");
                return ExitCode::from(2);
            }
        };
        match run(arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{name}: {error:#}");
                ExitCode::FAILURE
            }
        }
    }

    fn options(&'static self, parser: Parser) -> Options {
        Options {
            program: self,
            parser,
        }
    }
}

/// A panic in one line.
fn bug(info: &PanicHookInfo<'_>) -> String {
    let said = info.payload_as_str().unwrap_or("no reason given");
    let place = info.location().map(|at| format!(" at {at}"));
    let place = place.unwrap_or_default();
    format!("a bug of dragstrip{place}: {said}; please report this line")
}

/// The options of a command line, one after the other. All are long ones (`--name`).
pub struct Options {
    program: &'static Program,
    parser: Parser,
}

impl Options {
    /// The next option's name, without dashes; None at the end.
    pub fn next_name(&mut self) -> Result<Option<String>, Stop> {
        let Program { name, help } = self.program;
        match self.parser.next()? {
            None => Ok(None),
            Some(Long("help") | Short('h')) => Err(Stop::Asked(help.to_string())),
            Some(Long("version") | Short('V')) => {
                Err(Stop::Asked(format!("{name} {}", env!("CARGO_PKG_VERSION"))))
            }
            Some(Long(option)) => Ok(Some(option.to_owned())),
            Some(other) => Err(other.unexpected().into()),
        }
    }

    /// The value of the option that came last.
    pub fn value(&mut self) -> Result<OsString, Error> {
        self.parser.value()
    }

    /// The error for a name that the program does not have.
    pub fn unknown(&self, name: &str) -> Stop {
        Error::UnexpectedOption(format!("--{name}")).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static PROGRAM: Program = Program {
        name: "dragstrip-some",
        help: "Usage: dragstrip-some [--port PORT]",
    };

    fn parse(arguments: &[&str]) -> Result<u16, String> {
        let mut options = PROGRAM.options(Parser::from_args(arguments));
        let mut port = || -> Result<u16, Stop> {
            let mut port = 443;
            while let Some(name) = options.next_name()? {
                match name.as_str() {
                    "port" => port = options.value()?.parse()?,
                    _ => return Err(options.unknown(&name)),
                }
            }
            Ok(port)
        };
        port().map_err(|stop| match stop {
            Stop::Asked(text) => text,
            Stop::Wrong(error) => error.to_string(),
        })
    }

    #[test]
    fn an_option_takes_its_value_with_and_without_equals() {
        assert_eq!(parse(&[]), Ok(443));
        assert_eq!(parse(&["--port", "80"]), Ok(80));
        assert_eq!(parse(&["--port=80"]), Ok(80));
    }

    #[test]
    fn help_and_version_stop_whatever_follows() {
        for asked in ["--help", "-h"] {
            assert_eq!(parse(&[asked, "--porf"]), Err(PROGRAM.help.to_owned()));
        }
        let version = format!("dragstrip-some {}", env!("CARGO_PKG_VERSION"));
        for asked in ["--version", "-V"] {
            assert_eq!(parse(&["--port", "80", asked]), Err(version.clone()));
        }
    }

    #[test]
    fn a_panic_says_in_one_line_what_failed_and_where() {
        let (send, said) = std::sync::mpsc::channel();
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| drop(send.send(bug(info)))));
        let failed = panic::catch_unwind(|| [0; 3][std::hint::black_box(3)]);
        panic::set_hook(before);
        assert!(failed.is_err());
        let said = said.recv().unwrap();
        let began = "a bug of dragstrip at crates/program/src/lib.rs:";
        assert!(said.starts_with(began), "{said}");
        let reason =
            ": index out of bounds: the len is 3 but the index is 3; please report this line";
        assert!(said.ends_with(reason), "{said}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (arguments, said) in [
            (&["--porf", "80"][..], "invalid option '--porf'"),
            (&["-p"], "invalid option '-p'"),
            (&["80"], "unexpected argument \"80\""),
            (&["--port"], "missing argument for option '--port'"),
            (&["--port", "many"], "cannot parse argument \"many\""),
        ] {
            let error = parse(arguments).unwrap_err();
            assert!(error.starts_with(said), "{arguments:?}: {error}");
        }
    }
}
