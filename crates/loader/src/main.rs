use std::process::ExitCode;

fn main() -> ExitCode {
    dragstrip_loader::program::main()
}
