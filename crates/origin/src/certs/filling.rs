//! What makes certificates larger: made-up names, and bytes that mean nothing.

use rcgen::CustomExtension;
use ring::digest::{SHA256, digest};

/// The end of made-up names, which is reserved (RFC 2606), so that no host has them.
const NOWHERE: &str = ".invalid";
/// Bytes of a made-up name in a certificate, as long as most real ones.
const NAME_BYTES: usize = 32;
/// Tag and length of a name (X.690 section 8.1).
const NAME_HEAD: usize = 2;
/// Encoded bytes of a name with a single letter before its end.
pub(super) const SHORTEST_NAME: usize = NAME_HEAD + 1 + NOWHERE.len();
/// An object identifier below the enterprise number that is reserved for examples (RFC 5612).
pub(super) const NOTHING: &[u64] = &[1, 3, 6, 1, 4, 1, 32473, 1];

/// Random-looking host names that add about this many bytes to a certificate.
pub(super) fn made_up(bytes: usize) -> impl Iterator<Item = String> {
    let count = (bytes / NAME_BYTES).max(1);
    (0..count).map(move |index| {
        let last = index + 1 == count;
        let length = if last {
            bytes - index * NAME_BYTES
        } else {
            NAME_BYTES
        };
        letters(index, length - NAME_HEAD - NOWHERE.len()) + NOWHERE
    })
}

/// Random letters, the same ones for the same place.
fn letters(index: usize, length: usize) -> String {
    let letter = |byte: u8| char::from(b'a' + byte % 26);
    random(&index.to_string(), length)
        .into_iter()
        .map(letter)
        .collect()
}

/// Random bytes, the same ones for the same place. They do not compress, as keys and signatures do not.
pub(super) fn random(place: &str, length: usize) -> Vec<u8> {
    let random = (0..).flat_map(|part: usize| {
        let hash = digest(&SHA256, format!("{place} {part}").as_bytes());
        hash.as_ref().to_vec()
    });
    random.take(length).collect()
}

/// An extension with `length` random bytes. Clients skip it, because it is not critical.
pub(super) fn extension(place: &str, length: usize) -> CustomExtension {
    CustomExtension::from_oid_content(NOTHING, random(place, length))
}
