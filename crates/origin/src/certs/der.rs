//! DER, as far as rcgen does not write it (X.690).

pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
pub(super) const OCTETS: u8 = 0x04;
pub(super) const BITS: u8 = 0x03;
pub(super) const ENUMERATED: u8 = 0x0a;
pub(super) const TIME: u8 = 0x18;
pub(super) const UTF8: u8 = 0x0c;

/// The tag of a context, constructed.
pub(super) fn context(number: u8) -> u8 {
    0xa0 | number
}

/// A value with its tag and length.
pub(super) fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let mut whole = vec![tag];
    match content.len() {
        short @ 0..128 => whole.push(short as u8),
        length => {
            let bytes = length.to_be_bytes();
            let used = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
            whole.push(0x80 | used.len() as u8);
            whole.extend_from_slice(used);
        }
    }
    whole.extend(content);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_as_few_bytes_as_they_can() {
        assert_eq!(value(OCTETS, &[&[7]]), [4, 1, 7]);
        assert_eq!(value(OCTETS, &[&[0; 127]])[..2], [4, 127]);
        assert_eq!(value(OCTETS, &[&[0; 128]])[..3], [4, 0x81, 128]);
        assert_eq!(
            value(OCTETS, &[&[0; 200], &[0; 100]])[..4],
            [4, 0x82, 1, 44]
        );
    }
}
