//! Every section decodes to its original fields, in any order of arrival and after any loss.

use proptest::collection::vec;
use proptest::prelude::*;
use shiguredo_http3::qpack::{DecodeOutput, DynamicDecoder, EncoderStreamReceiver};

use super::*;

const OFFER: Offer = Offer {
    table_bytes: 4096,
    blocked_streams: 2,
};

type Fields = Vec<(String, String)>;

/// The peer: a decoder, sections that wait, and the instructions it would send.
struct Peer {
    decoder: DynamicDecoder,
    insertions: EncoderStreamReceiver,
    /// Instructions on their way, in the order in which they left.
    instructions: VecDeque<Vec<u8>>,
    waiting: VecDeque<(u64, Vec<u8>, Fields)>,
}

impl Peer {
    fn new(offer: Offer) -> Self {
        let mut decoder = DynamicDecoder::new();
        decoder.set_max_table_capacity(offer.table_bytes);
        let mut insertions = EncoderStreamReceiver::new();
        insertions.set_max_table_capacity(offer.table_bytes);
        Self {
            decoder,
            insertions,
            instructions: VecDeque::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Lets the next instructions arrive.
    fn hear(&mut self) {
        if let Some(bytes) = self.instructions.pop_front() {
            self.insertions.receive(&bytes);
            while self
                .insertions
                .process(self.decoder.table_mut())
                .unwrap()
                .is_some()
            {}
        }
    }

    /// Decodes what can be decoded; its acknowledgements.
    fn read(&mut self) -> Vec<DecoderInstruction> {
        let mut told = Vec::new();
        for (stream, section, fields) in std::mem::take(&mut self.waiting) {
            let DecodeOutput::Decoded(decoded) = self.decoder.decode(&section).unwrap() else {
                self.waiting.push_back((stream, section, fields));
                continue;
            };
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let decoded: Fields = decoded
                .iter()
                .map(|field| (text(field.name()), text(field.value())))
                .collect();
            assert_eq!(decoded, fields);
            if self.decoder.last_required_insert_count() > 0 {
                told.push(DecoderInstruction::SectionAcknowledgment { stream_id: stream });
            }
        }
        told
    }

    fn blocked(&self) -> u64 {
        self.waiting.len() as u64
    }
}

fn field() -> impl Strategy<Value = (String, String)> {
    let name = prop_oneof![
        Just(":path".to_owned()),
        Just("user-agent".to_owned()),
        "[a-c]{1,3}"
    ];
    (name, prop_oneof!["[a-z]{0,4}", "[ -~&&[^ ]]{100,900}"])
}

fn header((name, value): &(String, String)) -> Header {
    Header::new(name, value).unwrap()
}

proptest! {
    #[test]
    fn decodes_whatever_arrives_first(
        requests in vec((vec(field(), 0..9), 0_u8..4, any::<bool>()), 1..60),
    ) {
        let mut encoder = Encoder::default();
        let mut peer = Peer::new(OFFER);
        encoder.offered(OFFER, u64::MAX);
        for (number, (fields, heard, reads)) in requests.iter().enumerate() {
            let headers: Vec<_> = fields.iter().map(header).collect();
            let stream = number as u64 * 4;
            let section = encoder.encode(stream, &headers);
            peer.instructions.push_back(std::mem::take(&mut encoder.instructions));
            peer.waiting.push_back((stream, section, fields.clone()));
            for _ in 0..*heard {
                peer.hear();
            }
            if *reads {
                for told in peer.read() {
                    prop_assert!(encoder.told(told));
                }
                prop_assert!(peer.blocked() <= OFFER.blocked_streams);
            }
        }
        while !peer.instructions.is_empty() {
            peer.hear();
        }
        peer.read();
        prop_assert_eq!(peer.blocked(), 0);
    }
}

#[test]
fn a_second_request_refers_to_the_first() {
    let mut encoder = Encoder::default();
    encoder.offered(OFFER, u64::MAX);
    let fields = [
        ("user-agent", "a browser of today"),
        ("x-own", "0123456789"),
    ];
    let fields = fields.map(|(name, value)| Header::new(name, value).unwrap());
    encoder.encode(0, &fields);
    assert_eq!(encoder.inserted(), 2);
    let second = encoder.encode(4, &fields);
    assert_eq!(second.len(), 2 + 2, "a prefix and two indices");
    assert_eq!(encoder.inserted(), 2);
}

#[test]
fn a_table_of_another_size_than_ours_is_used_up_to_our_limit() {
    let mut encoder = Encoder::default();
    encoder.offered(OFFER, 100);
    let long = Header::new("x-long", "v".repeat(80)).unwrap();
    encoder.encode(0, std::slice::from_ref(&long));
    assert_eq!(encoder.inserted(), 0, "the entry takes 118 bytes");
}

#[test]
fn without_leave_to_block_nothing_is_inserted() {
    let mut encoder = Encoder::default();
    encoder.offered(
        Offer {
            blocked_streams: 0,
            ..OFFER
        },
        u64::MAX,
    );
    let fields = [Header::new("x-own", "0123456789").unwrap()];
    let section = encoder.encode(0, &fields);
    assert_eq!(encoder.inserted(), 0);
    assert_eq!(section[0], 0, "it requires no insertion");
}

#[test]
fn acknowledging_what_was_never_sent_is_a_lie() {
    let mut encoder = Encoder::default();
    encoder.offered(OFFER, u64::MAX);
    let told = DecoderInstruction::SectionAcknowledgment { stream_id: 0 };
    assert!(!encoder.told(told));
    let told = DecoderInstruction::InsertCountIncrement { increment: 1 };
    assert!(!encoder.told(told));
}

#[test]
fn a_cookie_travels_in_crumbs() {
    let mut encoder = Encoder::default();
    encoder.offered(OFFER, u64::MAX);
    encoder.encode(0, &[Header::new("cookie", "a=1; b=2").unwrap()]);
    assert_eq!(encoder.inserted(), 2);
}
