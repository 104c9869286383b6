//! Signed certificate timestamps of logs that do not exist. No client of a private authority checks
//! them; they have the size of real ones.

use rcgen::CustomExtension;

use super::der::{OCTETS, value};
use super::filling::random;

/// RFC 6962 section 3.3.
const LIST: &[u64] = &[1, 3, 6, 1, 4, 1, 11129, 2, 4, 2];
/// RFC 6962 section 3.2.
const VERSION: u8 = 0;
const LOG_ID: usize = 32;
const TIMESTAMP: usize = 8;
/// SHA-256 and ECDSA (RFC 5246 section 7.4.1.4.1).
const ALGORITHM: [u8; 2] = [4, 3];
const SIGNATURE: usize = 71;

/// The extension with that many timestamps.
pub(super) fn extension(count: u8) -> CustomExtension {
    let list: Vec<u8> = (0..count)
        .flat_map(|index| with_length(&timestamp(index)))
        .collect();
    CustomExtension::from_oid_content(LIST, value(OCTETS, &[&with_length(&list)]))
}

fn timestamp(index: u8) -> Vec<u8> {
    let place = format!("log {index}");
    let mut one = vec![VERSION];
    one.extend(random(&place, LOG_ID + TIMESTAMP));
    one.extend([0, 0]); // no extensions
    one.extend(ALGORITHM);
    one.extend(with_length(&random(&format!("{place} signed"), SIGNATURE)));
    one
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_be_bytes(), bytes].concat()
}
