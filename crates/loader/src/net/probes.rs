//! Makes quinn repeat lost packets of a handshake as Chromium does.
//!
//! When nothing answers, quinn sends two Initial packets at each timeout and Chromium one: the other
//! follows once that is acknowledged, unless its ServerHello shows that the server has it all. In a
//! short queue, a second one takes the place of another host's, or of the Finished. Chromium fills
//! each datagram up to 1250 bytes, quinn to 1200. Chromium gives a handshake up after 4 s without an
//! answer, or 10 s in all; quinn goes on.

use std::fmt::{self, Debug};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::time::{Instant, sleep_until};

use crate::net::datagram::{INITIAL, MOST_OF_AN_ACK, packet};
use crate::net::first_flight::needed;

/// Chromium's `initial_max_packet_length` (net/quic/quic_context.h).
const UDP_PAYLOAD: usize = 1250;
/// Chromium's initial idle timeout of 5 s, less the second by which a client ends earlier.
const IDLE: Duration = Duration::from_secs(4);
/// Chromium's `max_time_before_crypto_handshake`.
const LONGEST: Duration = Duration::from_secs(10);
/// What quinn fills an Initial packet's datagram up to (RFC 9000 section 14.1), and the most that its
/// probes have: a ClientHello in larger ones would need more of them than Chromium's does.
pub(super) const PROBE_PAYLOAD: u16 = 1200;
/// Datagrams sent within that time belong together, and to an answer that came within it.
const TOGETHER: Duration = Duration::from_millis(5);

/// A socket for one connection, which sends handshake packets as Chromium does.
pub(super) struct HandshakeSocket {
    inner: Arc<dyn AsyncUdpSocket>,
    handshake: Arc<Handshake>,
}

/// The datagrams of the handshake so far.
pub(super) struct Handshake {
    began: Instant,
    state: Mutex<State>,
}

struct State {
    /// When the last answer came, or when the first datagram after it left.
    active: Instant,
    /// Whether a datagram left since the last answer.
    asked: bool,
    /// When the last answer came; before the first answer, when the first datagram left.
    answered: Option<Instant>,
    probed: Option<Instant>,
    /// A probe that waits until the one before it is acknowledged.
    held: Option<Held>,
}

struct Held {
    destination: SocketAddr,
    contents: Vec<u8>,
}

impl Handshake {
    pub fn new() -> Arc<Self> {
        let now = Instant::now();
        let state = State {
            active: now,
            asked: false,
            answered: None,
            probed: None,
            held: None,
        };
        Arc::new(Self {
            began: now,
            state: Mutex::new(state),
        })
    }

    /// Ends when Chromium would give up, with the name it has for that.
    pub async fn given_up(&self) -> &'static str {
        loop {
            let idle = self.state().active + IDLE;
            let end = self.began + LONGEST;
            sleep_until(idle.min(end)).await;
            let now = Instant::now();
            if now >= end {
                return "net::ERR_QUIC_PROTOCOL_ERROR.QUIC_HANDSHAKE_TIMEOUT";
            }
            if now >= self.state().active + IDLE {
                return "net::ERR_QUIC_PROTOCOL_ERROR.QUIC_NETWORK_IDLE_TIMEOUT";
            }
        }
    }

    /// Whether this datagram may be sent now.
    fn passes(&self, destination: SocketAddr, contents: &[u8]) -> bool {
        let now = Instant::now();
        let mut state = self.state();
        if !state.asked {
            state.asked = true;
            state.active = now;
        }
        let answered = *state.answered.get_or_insert(now);
        if !is_initial(contents) || now < answered + TOGETHER {
            return true;
        }
        if state.probed.is_some_and(|probed| now < probed + TOGETHER) {
            let contents = contents.to_vec();
            state.held = Some(Held {
                destination,
                contents,
            });
            return false;
        }
        state.probed = Some(now);
        state.held = None;
        true
    }

    /// Takes what waited for an answer that has come. `complete` if the answer has part of the
    /// ServerHello, or what follows that, because then the server has the whole ClientHello.
    fn answered(&self, complete: bool) -> Option<Held> {
        let now = Instant::now();
        let mut state = self.state();
        state.active = now;
        state.asked = false;
        state.answered = Some(now);
        state.held.take().filter(|_| !complete)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it is held")
    }
}

impl HandshakeSocket {
    pub fn new(inner: Arc<dyn AsyncUdpSocket>, handshake: Arc<Handshake>) -> Self {
        Self { inner, handshake }
    }

    fn send(
        &self,
        destination: SocketAddr,
        contents: &[u8],
        like: Option<&Transmit<'_>>,
    ) -> io::Result<()> {
        let filled = filled(contents);
        self.inner.try_send(&Transmit {
            destination,
            ecn: None, // Chromium's packets are capable of none
            contents: filled.as_deref().unwrap_or(contents),
            segment_size: None,
            src_ip: like.and_then(|transmit| transmit.src_ip),
        })
    }
}

impl AsyncUdpSocket for HandshakeSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.inner.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let contents = needed(transmit.contents).unwrap_or(transmit.contents);
        if !self.handshake.passes(transmit.destination, contents) {
            return Ok(());
        }
        self.send(transmit.destination, contents, Some(transmit))
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let received = self.inner.poll_recv(cx, bufs, meta);
        if let Poll::Ready(Ok(count @ 1..)) = received
            && let complete = meta[..count]
                .iter()
                .any(|meta| meta.stride > MOST_OF_AN_ACK)
            && let Some(held) = self.handshake.answered(complete)
        {
            // If it cannot leave now, quinn sends it again at its next timeout.
            let _ = self.send(held.destination, &held.contents, None);
        }
        received
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    /// One, because a datagram that was made shorter or longer has its own length.
    fn max_transmit_segments(&self) -> usize {
        1
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

impl Debug for HandshakeSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandshakeSocket")
    }
}

/// Whether the datagram opens with an Initial packet and is as large as a client makes those.
fn is_initial(datagram: &[u8]) -> bool {
    datagram.len() >= PROBE_PAYLOAD.into()
        && packet(datagram).is_some_and(|(kind, _)| kind == INITIAL)
}

/// The datagram padded to the length that Chromium sends; None for one that stays as it is. Servers
/// pass over what follows the packet.
fn filled(datagram: &[u8]) -> Option<Vec<u8>> {
    (datagram.len() < UDP_PAYLOAD && is_initial(datagram)).then(|| {
        let mut longer = datagram.to_vec();
        longer.resize(UDP_PAYLOAD, 0);
        longer
    })
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use quinn::udp::EcnCodepoint;
    use tokio::time::advance;

    use super::*;

    const ANSWERED: Duration = Duration::from_millis(20);
    const ACK: usize = 43;
    const SERVER_HELLO: usize = 1252;

    #[derive(Debug, Default)]
    struct Wire {
        sent: Mutex<Vec<Vec<u8>>>,
        marks: Mutex<Vec<Option<EcnCodepoint>>>,
        answer: Mutex<Option<usize>>,
    }

    impl AsyncUdpSocket for Wire {
        fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
            unreachable!()
        }
        fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
            self.sent.lock().unwrap().push(transmit.contents.to_vec());
            self.marks.lock().unwrap().push(transmit.ecn);
            Ok(())
        }
        fn poll_recv(
            &self,
            _: &mut Context<'_>,
            _: &mut [IoSliceMut<'_>],
            meta: &mut [RecvMeta],
        ) -> Poll<io::Result<usize>> {
            let Some(length) = self.answer.lock().unwrap().take() else {
                return Poll::Pending;
            };
            meta[0].len = length;
            meta[0].stride = length;
            Poll::Ready(Ok(1))
        }
        fn local_addr(&self) -> io::Result<SocketAddr> {
            unreachable!()
        }
    }

    struct Client {
        wire: Arc<Wire>,
        socket: HandshakeSocket,
    }

    impl Client {
        fn new() -> Self {
            let wire = Arc::<Wire>::default();
            let socket = HandshakeSocket::new(wire.clone(), Handshake::new());
            Self { wire, socket }
        }

        /// Sends an Initial packet of `filler` that quinn made 1200 bytes long.
        fn initial(&self, filler: u8) {
            let mut datagram = vec![0xc0, 0, 0, 0, 1, 1, 7, 0, 0, 0x44, 0x90]; // of 1168 bytes more
            datagram.resize(PROBE_PAYLOAD.into(), filler);
            self.datagram(&datagram);
        }

        fn datagram(&self, contents: &[u8]) {
            let transmit = Transmit {
                destination: SocketAddr::from(([127, 0, 0, 1], 443)),
                ecn: Some(EcnCodepoint::Ect0),
                contents,
                segment_size: None,
                src_ip: None,
            };
            self.socket.try_send(&transmit).unwrap();
        }

        /// A datagram of `length` bytes comes from the server.
        fn answer(&self, length: usize) {
            *self.wire.answer.lock().unwrap() = Some(length);
            let mut context = Context::from_waker(Waker::noop());
            let mut meta = [RecvMeta::default()];
            let received = self.socket.poll_recv(&mut context, &mut [], &mut meta);
            assert!(received.is_ready());
        }

        /// What has left since the last call: the filler of each.
        fn left(&self) -> Vec<u8> {
            let sent = std::mem::take(&mut *self.wire.sent.lock().unwrap());
            sent.iter().map(|datagram| datagram[20]).collect()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn of_two_probes_one_leaves_and_the_other_once_it_is_answered() {
        let client = Client::new();
        client.initial(1);
        client.initial(2);
        assert_eq!(client.left(), [1, 2]);
        advance(Duration::from_millis(300)).await;
        client.initial(3);
        client.initial(4);
        assert_eq!(client.left(), [3]);
        advance(ANSWERED).await;
        client.answer(ACK);
        assert_eq!(client.left(), [4]);
        client.initial(5); // what quinn finds lost by the answer
        client.initial(6);
        assert_eq!(client.left(), [5, 6]);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_of_the_client_hello_leaves_after_the_server_hello() {
        let client = Client::new();
        client.initial(1);
        client.initial(2);
        advance(Duration::from_millis(300)).await;
        client.initial(3);
        client.initial(4);
        assert_eq!(client.left(), [1, 2, 3]);
        advance(ANSWERED).await;
        client.answer(SERVER_HELLO);
        client.answer(ACK);
        assert_eq!(client.left(), [0; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_hello_that_took_long_to_make_leaves_whole() {
        let client = Client::new();
        advance(Duration::from_millis(50)).await;
        client.initial(1);
        client.initial(2);
        assert_eq!(client.left(), [1, 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_unanswered_probe_makes_way_for_the_next() {
        let client = Client::new();
        client.initial(1);
        for (probe, after_ms) in [(10, 300), (20, 600)] {
            advance(Duration::from_millis(after_ms)).await;
            client.initial(probe);
            client.initial(probe + 1);
        }
        assert_eq!(client.left(), [1, 10, 20]);
        client.answer(ACK);
        assert_eq!(client.left(), [21]);
        client.answer(ACK);
        assert_eq!(client.left(), [0; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn other_datagrams_leave_as_they_are() {
        let client = Client::new();
        advance(Duration::from_secs(1)).await;
        for _ in 0..3 {
            client.datagram(&[0x41; 1200]); // a short header
            client.datagram(&[0xc0; 80]);
        }
        let lengths = client
            .wire
            .sent
            .lock()
            .unwrap()
            .iter()
            .map(Vec::len)
            .collect::<Vec<_>>();
        assert_eq!(lengths, [1200, 80, 1200, 80, 1200, 80]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_packet_is_capable_of_ecn() {
        let client = Client::new();
        client.datagram(&[0x41; 1200]);
        assert_eq!(*client.wire.marks.lock().unwrap(), [None]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_initial_fills_a_datagram_of_chromiums() {
        let client = Client::new();
        client.initial(1);
        let sent = client.wire.sent.lock().unwrap();
        assert_eq!(sent[0].len(), UDP_PAYLOAD);
        assert_eq!(sent[0][1200..], [0; 50]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_ends_after_four_seconds_without_an_answer() {
        let client = Client::new();
        let began = Instant::now();
        client.initial(1);
        let why = client.socket.handshake.given_up().await;
        assert!(why.ends_with("QUIC_NETWORK_IDLE_TIMEOUT"), "{why}");
        assert_eq!(began.elapsed().as_secs(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_ends_after_ten_seconds_whatever_comes() {
        let client = Client::new();
        let began = Instant::now();
        let talking = async {
            loop {
                client.initial(1);
                tokio::time::sleep(Duration::from_secs(3)).await;
                client.answer(ACK);
            }
        };
        let why = tokio::select! {
            why = client.socket.handshake.given_up() => why,
            () = talking => unreachable!(),
        };
        assert!(why.ends_with("QUIC_HANDSHAKE_TIMEOUT"), "{why}");
        assert_eq!(began.elapsed().as_secs(), 10);
    }
}
