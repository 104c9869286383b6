//! The two tables of a connection, and the streams of their instructions (RFC 9204 section 4.2).

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use quinn::SendStream;
use shiguredo_http3::qpack::{
    DecodeOutput, Decoder, DecoderStreamReceiver, DynamicDecoder, EncoderStreamReceiver, Header,
    estimate_encoded_size, integer,
};
use tokio::sync::watch;

use crate::encoder::Encoder;
use crate::offer::{LastOffer, Offer};

/// Types of the two streams (RFC 9204 section 4.2).
pub(crate) const ENCODER: u64 = 0x02;
pub(crate) const DECODER: u64 = 0x03;

/// Most bytes of decoded fields. h3 decides; this only bounds what it decides on.
const MOST_DECODED: u64 = 1 << 24;

/// The use of a connection's tables so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Entries that the peer put into its table for the sections it sends.
    pub peer_entries: u64,
    /// Entries that we put into our table for the sections we send.
    pub own_entries: u64,
}

/// The tables of one connection. Clones share them.
#[derive(Clone)]
pub struct Qpack {
    /// What we allow the peer: the size of its table for what it sends.
    pub(crate) offer: Offer,
    /// Most bytes that we use of the table that the peer offers.
    limit: u64,
    last_offer: LastOffer,
    /// Whether the peer's offer has arrived.
    heard: Arc<watch::Sender<bool>>,
    tables: Arc<Mutex<Tables>>,
}

struct Tables {
    encoder: Encoder,
    decoder: DynamicDecoder,
    /// Bytes from the peer's encoder that do not form a complete instruction yet.
    insertions: EncoderStreamReceiver,
    /// Bytes from the peer's decoder that do not form a complete instruction yet.
    acknowledgements: DecoderStreamReceiver,
    /// Number of insertions whose receipt we have acknowledged to the peer.
    told: u64,
    to_decoder: Writer,
    to_encoder: Writer,
    /// The tasks of streams whose section waits for insertions. They are woken when insertions
    /// arrive, or when no more will.
    blocked: HashMap<u64, Waker>,
}

/// A stream of instructions, and those that were not written to it yet.
#[derive(Default)]
struct Writer {
    stream: Option<SendStream>,
    pending: Vec<u8>,
    /// Whether the peer's flow control holds instructions back, and a task waits to send them.
    kept_back: bool,
}

/// The peer broke a rule of QPACK; the connection ends with this code (RFC 9204 sections 4.2 and 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    SecondStream = 0x103,
    ClosedStream = 0x104,
    Section = 0x200,
    EncoderStream = 0x201,
    DecoderStream = 0x202,
}

impl Qpack {
    /// Makes tables that offer `offer` to the peer and use at most `limit` bytes of the peer's
    /// table.
    pub fn new(offer: Offer, limit: u64) -> Self {
        Self::with(offer, limit, Offer::default(), LastOffer::default())
    }

    /// Tables that start with what the peer offered last, for a connection that begins with early
    /// data (RFC 9114 section 7.2.4.2).
    pub fn remembering(offer: Offer, limit: u64, last_offer: LastOffer, early: bool) -> Self {
        let begin = if early {
            last_offer.get()
        } else {
            Offer::default()
        };
        Self::with(offer, limit, begin, last_offer)
    }

    fn with(offer: Offer, limit: u64, begin: Offer, last_offer: LastOffer) -> Self {
        let mut encoder = Encoder::default();
        encoder.offered(begin, limit);
        let mut decoder = DynamicDecoder::new().max_field_section_size(MOST_DECODED);
        decoder.set_max_table_capacity(offer.table_bytes);
        let mut insertions = EncoderStreamReceiver::new();
        insertions.set_max_table_capacity(offer.table_bytes);
        Self {
            offer,
            limit,
            last_offer,
            heard: Arc::default(),
            tables: Arc::new(Mutex::new(Tables {
                encoder,
                decoder,
                insertions,
                acknowledgements: DecoderStreamReceiver::new(),
                told: 0,
                to_decoder: Writer::default(),
                to_encoder: Writer::default(),
                blocked: HashMap::new(),
            })),
        }
    }

    pub fn usage(&self) -> Usage {
        let tables = self.tables();
        Usage {
            peer_entries: tables.decoder.table().insert_count(),
            own_entries: tables.encoder.inserted(),
        }
    }

    pub(crate) fn offered(&self, peer: Offer) {
        self.last_offer.set(peer);
        self.tables().encoder.offered(peer, self.limit);
        self.heard.send_replace(true);
    }

    /// Returns once the peer's offer has arrived.
    pub async fn heard(&self) {
        let mut heard = self.heard.subscribe();
        let _ = heard.wait_for(|heard| *heard).await; // we hold the sender
    }

    /// Sets the stream for our insertions into the peer's table.
    pub(crate) fn write_insertions_to(&self, stream: SendStream) {
        let mut tables = self.tables();
        tables.to_decoder.open(stream, ENCODER);
        self.send_all(&mut tables);
    }

    /// Sets the stream for our acknowledgements of the peer's insertions.
    pub(crate) fn write_acknowledgements_to(&self, stream: SendStream) {
        let mut tables = self.tables();
        tables.to_encoder.open(stream, DECODER);
        self.send_all(&mut tables);
    }

    /// Encodes a section of h3 for the peer, on `stream`.
    pub(crate) fn encode(&self, stream: u64, section: &[u8]) -> Option<Vec<u8>> {
        let mut tables = self.tables();
        if !tables.encoder.is_on() || !tables.to_decoder.is_clear() {
            return None;
        }
        let decoder = Decoder::new().max_field_section_size(MOST_DECODED);
        let fields = decoder.decode(section).ok()?;
        let encoded = tables.encoder.encode(stream, &fields);
        let instructions = std::mem::take(&mut tables.encoder.instructions);
        tables.to_decoder.pending.extend(instructions);
        self.send_all(&mut tables);
        Some(encoded)
    }

    /// Decodes a section of the peer on `stream` for h3. The peer may not make more streams wait
    /// than we offered (RFC 9204 section 2.1.2).
    pub(crate) fn poll_decode(
        &self,
        cx: &mut Context<'_>,
        stream: u64,
        section: &[u8],
    ) -> Poll<Result<Vec<u8>, Broken>> {
        let mut tables = self.tables();
        let fields = match tables.decoder.decode(section) {
            Ok(DecodeOutput::Decoded(fields)) => fields,
            Ok(DecodeOutput::Blocked) => {
                tables.blocked.insert(stream, cx.waker().clone());
                if tables.blocked.len() as u64 > self.offer.blocked_streams {
                    return Poll::Ready(Err(Broken::Section));
                }
                return Poll::Pending;
            }
            Err(_) => return Poll::Ready(Err(Broken::Section)),
        };
        tables.blocked.remove(&stream);
        let required = tables.decoder.last_required_insert_count();
        let mut told = Vec::new();
        if required > 0 {
            integer::encode_integer_to_vec(&mut told, stream, 7, 0x80);
            tables.told = tables.told.max(required);
        }
        // As Chromium does, with the next section and not with each insertion.
        let new = tables.decoder.table().insert_count() - tables.told;
        if new > 0 {
            integer::encode_integer_to_vec(&mut told, new, 6, 0x00);
            tables.told += new;
        }
        tables.to_encoder.pending.extend(told);
        self.send_all(&mut tables);
        Poll::Ready(Ok(plain(&fields)))
    }

    /// Marks that the rest of `stream` stays undecoded (RFC 9204 section 2.2.2.2).
    pub(crate) fn cancel(&self, stream: u64) {
        let mut told = Vec::new();
        integer::encode_integer_to_vec(&mut told, stream, 6, 0x40);
        let mut tables = self.tables();
        tables.blocked.remove(&stream);
        tables.to_encoder.pending.extend(told);
        self.send_all(&mut tables);
    }

    /// Handles bytes from the peer's encoder.
    pub(crate) fn insert(&self, bytes: &[u8]) -> Result<(), Broken> {
        let mut tables = self.tables();
        let tables = &mut *tables;
        tables.insertions.receive(bytes);
        loop {
            match tables.insertions.process(tables.decoder.table_mut()) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return Err(Broken::EncoderStream),
            }
        }
        tables.wake();
        Ok(())
    }

    /// Wakes the streams whose sections wait for insertions.
    pub(crate) fn wake(&self) {
        self.tables().wake();
    }

    /// Handles bytes from the peer's decoder.
    pub(crate) fn acknowledge(&self, bytes: &[u8]) -> Result<(), Broken> {
        let mut tables = self.tables();
        let tables = &mut *tables;
        tables.acknowledgements.receive(bytes);
        loop {
            let inserted = tables.encoder.inserted();
            match tables.acknowledgements.process(inserted) {
                Ok(Some(told)) if tables.encoder.told(told) => {}
                Ok(None) => return Ok(()),
                _ => return Err(Broken::DecoderStream),
            }
        }
    }

    /// Sends pending instructions. If the peer's flow control holds some back, they are sent as
    /// soon as it allows: a section may wait for them, and there may be no later reason to send
    /// (RFC 9204 section 2.1.3).
    fn send_all(&self, tables: &mut Tables) {
        for writer in [to_decoder, to_encoder] {
            if writer(tables).send() {
                let all = self.tables.clone();
                tokio::spawn(poll_fn(move |cx| writer(&mut lock(&all)).poll_send(cx)));
            }
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        lock(&self.tables)
    }
}

/// Nothing here leaves the tables half changed, so a panic elsewhere does not spoil them.
fn lock(tables: &Mutex<Tables>) -> MutexGuard<'_, Tables> {
    tables.lock().unwrap_or_else(PoisonError::into_inner)
}

fn to_decoder(tables: &mut Tables) -> &mut Writer {
    &mut tables.to_decoder
}

fn to_encoder(tables: &mut Tables) -> &mut Writer {
    &mut tables.to_encoder
}

impl Tables {
    fn wake(&mut self) {
        self.blocked.values().for_each(Waker::wake_by_ref);
    }
}

impl Writer {
    fn open(&mut self, stream: SendStream, kind: u64) {
        // Before the sections that need it. Fails only on a closed stream.
        let _ = stream.set_priority(i32::MAX);
        self.stream = Some(stream);
        self.pending.insert(0, kind as u8);
    }

    /// Whether everything written so far was passed to the transport.
    fn is_clear(&self) -> bool {
        self.stream.is_some() && self.pending.is_empty()
    }

    /// Sends what the peer's flow control allows now. Returns whether something is held back and no
    /// task waits for it yet.
    fn send(&mut self) -> bool {
        if self.kept_back {
            return false;
        }
        let mut nobody = Context::from_waker(Waker::noop());
        self.poll_send(&mut nobody).is_pending()
    }

    /// Ready once everything has gone to the transport.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(());
        };
        self.kept_back = false;
        while !self.pending.is_empty() {
            match Pin::new(&mut *stream).poll_write(cx, &self.pending) {
                Poll::Ready(Ok(written)) => drop(self.pending.drain(..written)),
                // Others report a lost connection.
                Poll::Ready(Err(_)) => break,
                Poll::Pending => {
                    self.kept_back = true;
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(())
    }
}

/// A section without a dynamic table, which h3 can read.
fn plain(fields: &[Header]) -> Vec<u8> {
    let mut encoder = shiguredo_http3::qpack::Encoder::new().use_huffman(false);
    let mut out = vec![0; estimate_encoded_size(fields)];
    let length = encoder.encode(&mut out, fields, 0);
    out.truncate(length.expect("estimated as an upper bound"));
    out
}
