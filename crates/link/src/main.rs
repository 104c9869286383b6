use std::process::ExitCode;

fn main() -> ExitCode {
    dragstrip_link::program::main()
}
