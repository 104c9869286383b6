//! Digests that identify bodies.

use std::fmt::Write;

const DIGITS: usize = 16;

/// First 16 hex digits of the SHA-256 of a body, as `dragstrip.model.page.digest_of`.
pub(crate) fn digest_of(body: &[u8]) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, body);
    let bytes = &hash.as_ref()[..DIGITS / 2];
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_beginning_of_sha_256() {
        assert_eq!(digest_of(b""), "e3b0c44298fc1c14");
        assert_eq!(digest_of(b"abc"), "ba7816bf8f01cfea"); // FIPS 180-2, appendix B.1
    }
}
