//! Checks that several effects use.

use anyhow::{Result, ensure};

/// Longest time in ms that is accepted: far beyond any network, and small enough that no sum of
/// times can overflow.
pub const MAX_MS: f64 = 3_600_000.0;

/// Checks a time in ms. `side` and `field` name the number in the error.
pub fn check_ms(side: &str, field: &str, ms: f64) -> Result<()> {
    ensure!(
        (0.0..=MAX_MS).contains(&ms),
        "{side}.{field} is {ms}: give 0 to {MAX_MS}"
    );
    Ok(())
}

pub fn check_share(side: &str, field: &str, share: f64) -> Result<()> {
    ensure!(
        (0.0..=1.0).contains(&share),
        "{side}.{field} is {share}: give a share from 0 to 1"
    );
    Ok(())
}

/// A time that must not be 0.
pub fn check_positive_ms(side: &str, field: &str, ms: f64) -> Result<()> {
    check_ms(side, field, ms)?;
    ensure!(ms > 0.0, "{side}.{field} is {ms}: give more than 0");
    Ok(())
}
