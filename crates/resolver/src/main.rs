use std::process::ExitCode;

fn main() -> ExitCode {
    dragstrip_resolver::program::main()
}
