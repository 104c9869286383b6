use std::process::ExitCode;

fn main() -> ExitCode {
    dragstrip_origin::program::main()
}
