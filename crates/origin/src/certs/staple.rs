//! An OCSP response that says "good" (RFC 6960), signed by the leaf's issuer, as large as is asked.

use anyhow::Result;
use rcgen::{PublicKeyData, SigningKey};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use rustls::pki_types::AlgorithmIdentifier;
use time::{Duration, OffsetDateTime};

use super::der::{BITS, ENUMERATED, OCTETS, SEQUENCE, TIME, context, value};
use super::filling::random;
use super::key::Key;

/// Encoded object identifiers: id-pkix-ocsp-basic, SHA-1, and `filling::NOTHING`.
const BASIC: &[u8] = &[6, 9, 43, 6, 1, 5, 5, 7, 48, 1, 1];
const SHA1: &[u8] = &[6, 5, 43, 14, 3, 2, 26];
const NULL: &[u8] = &[5, 0];
const NOTHING: &[u8] = &[6, 9, 43, 6, 1, 4, 1, 129, 253, 89, 1];
const SUCCESSFUL: u8 = 0;
const GOOD: &[u8] = &[0x80, 0];
const VALID: Duration = Duration::days(7);

/// The certificate that the response is about, and the issuer that signs it.
pub(super) struct About<'a> {
    /// The issuer's name, encoded.
    pub issuer: &'a [u8],
    pub key: &'a Key,
    /// The algorithm of its signatures.
    pub algorithm: AlgorithmIdentifier,
    pub serial: u64,
}

/// A response of `least` bytes at least.
pub(super) fn response(about: &About, least: usize) -> Result<Vec<u8>> {
    let mut filler = 0;
    loop {
        let made = signed(about, filler)?;
        let lacking = least.saturating_sub(made.len());
        if lacking == 0 {
            return Ok(made);
        }
        filler += lacking;
    }
}

fn signed(about: &About, filler: usize) -> Result<Vec<u8>> {
    let data = data(about, filler);
    let signature = about.key.sign(&data)?;
    let basic = value(
        SEQUENCE,
        &[
            &data,
            &value(SEQUENCE, &[about.algorithm.as_ref()]),
            &value(BITS, &[&[0], &signature]),
        ],
    );
    let bytes = value(SEQUENCE, &[BASIC, &value(OCTETS, &[&basic])]);
    let status = value(ENUMERATED, &[&[SUCCESSFUL]]);
    Ok(value(SEQUENCE, &[&status, &value(context(0), &[&bytes])]))
}

fn data(about: &About, filler: usize) -> Vec<u8> {
    let now = OffsetDateTime::now_utc();
    let sha1 = |bytes: &[u8]| digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes);
    let key = sha1(about.key.der_bytes());
    let key = value(OCTETS, &[key.as_ref()]);
    let certificate = value(
        SEQUENCE,
        &[
            &value(SEQUENCE, &[SHA1, NULL]),
            &value(OCTETS, &[sha1(about.issuer).as_ref()]),
            &key,
            &integer(about.serial),
        ],
    );
    let until = value(context(0), &[&written(now + VALID)]);
    let single = value(SEQUENCE, &[&certificate, GOOD, &written(now), &until]);
    let mut parts = vec![
        value(context(2), &[&key]),
        written(now),
        value(SEQUENCE, &[&single]),
    ];
    if filler > 0 {
        let nothing = value(OCTETS, &[&random("staple", filler)]);
        let one = value(SEQUENCE, &[NOTHING, &nothing]);
        parts.push(value(context(1), &[&value(SEQUENCE, &[&one])]));
    }
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    value(SEQUENCE, &parts)
}

fn integer(number: u64) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let mut used = bytes[bytes.iter().take_while(|byte| **byte == 0).count()..].to_vec();
    if used.first().is_none_or(|first| *first >= 0x80) {
        used.insert(0, 0);
    }
    value(2, &[&used])
}

fn written(at: OffsetDateTime) -> Vec<u8> {
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second) = at.to_hms();
    let text = format!(
        "{year:04}{:02}{day:02}{hour:02}{minute:02}{second:02}Z",
        month as u8
    );
    value(TIME, &[text.as_bytes()])
}
