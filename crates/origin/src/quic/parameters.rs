//! Reads offers from transport parameters. quinn keeps these to itself, except for their encoding.

use dragstrip_http3::Reader;
use quinn::Side;
use quinn_proto::transport_parameters::TransportParameters;

use crate::offers::Offer;

// RFC 9000 section 18.2.
const MAX_IDLE_TIMEOUT: u64 = 0x01;
const MAX_DATA: u64 = 0x04;
const MAX_STREAM_DATA_BIDI_LOCAL: u64 = 0x05;
const MAX_STREAM_DATA_BIDI_REMOTE: u64 = 0x06;
const MAX_STREAMS_BIDI: u64 = 0x08;
const DISABLE_ACTIVE_MIGRATION: u64 = 0x0c;

/// Returns what this side offers for requests, whose streams the client opens.
pub(super) fn offer(parameters: &TransportParameters, side: Side) -> Offer {
    let mut bytes = Vec::new();
    parameters.write(&mut bytes);
    read(&bytes, side)
}

fn read(bytes: &[u8], side: Side) -> Offer {
    let of_streams = match side {
        Side::Client => MAX_STREAM_DATA_BIDI_LOCAL,
        Side::Server => MAX_STREAM_DATA_BIDI_REMOTE,
    };
    let mut offer = Offer {
        window_bytes: 0,
        stream_window_bytes: 0,
        streams: Some(0),
        migration: Some(true),
        idle_ms: Some(0),
    };
    let mut reader = Reader::new(bytes);
    while let (Some(id), Some(length)) = (reader.varint(), reader.varint()) {
        let start = reader.at();
        if id == MAX_DATA {
            offer.window_bytes = reader.varint().unwrap_or_default();
        } else if id == of_streams {
            offer.stream_window_bytes = reader.varint().unwrap_or_default();
        } else if id == MAX_STREAMS_BIDI {
            offer.streams = reader.varint();
        } else if id == MAX_IDLE_TIMEOUT {
            offer.idle_ms = reader.varint();
        } else if id == DISABLE_ACTIVE_MIGRATION {
            offer.migration = Some(false);
        }
        let read = (reader.at() - start) as u64;
        if reader.skip(length.saturating_sub(read)).is_none() {
            break;
        }
    }
    offer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_is_that_of_its_side() {
        // max_idle_timeout 30 s, max_udp_payload_size, an unknown one of 3 bytes, then ours.
        let bytes = [
            &[
                0x01, 4, 0x80, 0, 0x75, 0x30, 0x03, 2, 0x45, 0xac, 0x40, 0x7f, 3, 9, 9, 9,
            ][..],
            &[0x04, 4, 0x80, 0xf0, 0, 0],
            &[0x05, 2, 0x41, 0x00],
            &[0x06, 1, 0x07],
            &[0x08, 2, 0x40, 0x64],
            &[0x0c, 0],
        ]
        .concat();
        let client = read(&bytes, Side::Client);
        assert_eq!(client.stream_window_bytes, 256);
        let server = Offer {
            window_bytes: 15 << 20,
            stream_window_bytes: 7,
            streams: Some(100),
            migration: Some(false),
            idle_ms: Some(30_000),
        };
        assert_eq!(read(&bytes, Side::Server), server);
        assert_eq!(read(&bytes[..19], Side::Server).window_bytes, 0);
        assert_eq!(read(&bytes[..19], Side::Server).migration, Some(true));
    }
}
