//! `dragstrip-loader [--seed N]`: see docs/reference/processes.md.

use anyhow::{Context, Result, bail};
use dragstrip_loader::control;

const USAGE: &str = "usage: dragstrip-loader [--seed N]";

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let mut seed = 0;
    while let Some(flag) = args.next() {
        if flag != "--seed" {
            bail!("{flag} is not an option; {USAGE}");
        }
        let value = args
            .next()
            .with_context(|| format!("--seed needs a value; {USAGE}"))?;
        seed = value
            .parse()
            .with_context(|| format!("--seed {value}: not a whole number; {USAGE}"))?;
    }
    control::run(seed)
}
