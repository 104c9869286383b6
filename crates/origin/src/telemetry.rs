//! The transport's state of a connection: TCP_INFO from the kernel, statistics from quinn.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::{fs, io};

use dragstrip_http3::Qpack;
use dragstrip_socket::TcpInfo;
use serde::Serialize;
use socket2::Socket;

use crate::algorithms::SlowStartExit;
use crate::lock::unpoisoned;
use crate::offers::{Both, Offer};
use crate::quic::ecn::Counts;
use crate::quic::flow::Flow;
use crate::tcp::records::Sent;

/// Evidence about a connection's sending side: its state when the connection ended, or when it was
/// asked for. A field is None where the transport does not tell it.
#[derive(Debug, Clone, Serialize)]
pub struct Transport {
    /// The congestion control that really ran.
    pub congestion: String,
    /// CUBIC's exit. For TCP it is the kernel's setting for all connections.
    pub slow_start_exit: Option<SlowStartExit>,
    /// Congestion window before anything was acknowledged, in full packets.
    pub initial_window_packets: u64,
    pub paced: bool,
    /// Pacing rate when the connection ended.
    pub pacing_mbps: Option<f64>,
    pub window_packets: u64,
    pub rtt_ms: Option<f64>,
    pub min_rtt_ms: Option<f64>,
    pub sent_bytes: u64,
    pub sent_packets: u64,
    pub delivered_packets: Option<u64>,
    pub retransmitted_packets: Option<u64>,
    pub lost_packets: u64,
    pub congestion_events: Option<u64>,
    /// What the client counted of ECN in its ACK_ECN frames; None over TCP and without ECN.
    pub ecn_counts: Option<Counts>,
    /// UDP payload of a full packet, or TCP's segment size.
    pub packet_bytes: u64,
    /// Frames that asked the client to acknowledge less often.
    pub ack_frequency_frames: Option<u64>,
    /// Entries that the client put into QPACK's dynamic table for its requests.
    pub qpack_request_entries: Option<u64>,
    /// Entries that the origin put into its own dynamic table of QPACK for its answers.
    pub qpack_answer_entries: Option<u64>,
    /// Whether data in the client's SYN was accepted (TCP Fast Open); QUIC has no SYN.
    pub syn_data: Option<bool>,
    /// Limit of unsent bytes in the kernel (TCP_NOTSENT_LOWAT as read back); QUIC has none.
    pub unsent_bytes: Option<u32>,
    /// TLS records that were sent; None for QUIC and http://.
    #[serde(flatten)]
    pub tls_records: Option<Sent>,
    /// Where the client was last seen; None over TCP, whose clients cannot move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_at: Option<SocketAddr>,
    /// Limits that the origin announced to the client; h1 announces none.
    pub offer: Option<Offer>,
    /// Limits that the client announced to the origin.
    pub client_offer: Option<Offer>,
}

/// The state of a connection's transport, which can be read while the connection lives and after.
#[derive(Clone, Default)]
pub(crate) struct Gauge(Arc<Mutex<Reading>>);

impl std::fmt::Debug for Gauge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gauge")
    }
}

#[derive(Default)]
enum Reading {
    #[default]
    Nothing,
    Live(Box<dyn Fn() -> Option<Transport> + Send>),
    Ended(Box<Option<Transport>>),
}

impl Gauge {
    pub fn watch(&self, read: impl Fn() -> Option<Transport> + Send + 'static) {
        *unpoisoned(&self.0) = Reading::Live(Box::new(read));
    }

    pub fn read(&self) -> Option<Transport> {
        match &*unpoisoned(&self.0) {
            Reading::Nothing => None,
            Reading::Live(read) => read(),
            Reading::Ended(last) => last.as_ref().clone(),
        }
    }

    /// Reads for the last time and releases the connection.
    pub fn end(&self) {
        let last = self.read();
        *unpoisoned(&self.0) = Reading::Ended(Box::new(last));
    }
}

/// Ends the gauge when it is dropped, however the connection ends.
pub(crate) struct Ending(pub Gauge);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Reads `socket`, whose congestion window was `initial_window` when it was accepted, which sent these
/// TLS records, and on which this was heard.
pub(crate) fn of_tcp(
    socket: &Socket,
    initial_window: u64,
    records: Sent,
    heard: Both,
) -> Option<Transport> {
    let info = TcpInfo::of(socket).ok()?;
    let name = socket.tcp_congestion().ok()?;
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name).into_owned();
    // u64::MAX is "never asked"; anything below turned pacing on. BBR paces by itself.
    let paced = info.tcpi_max_pacing_rate != u64::MAX || name == "bbr";
    let ms = |us: u32| (us != 0 && us != u32::MAX).then(|| f64::from(us) / 1000.0);
    Some(Transport {
        slow_start_exit: (name == "cubic").then(hystart_of_linux).flatten(),
        congestion: name,
        initial_window_packets: initial_window,
        paced,
        pacing_mbps: (paced && info.tcpi_pacing_rate != u64::MAX)
            .then_some(info.tcpi_pacing_rate as f64 * 8e-6),
        window_packets: info.tcpi_snd_cwnd.into(),
        rtt_ms: ms(info.tcpi_rtt),
        min_rtt_ms: ms(info.tcpi_min_rtt),
        sent_bytes: info.tcpi_bytes_sent,
        sent_packets: info.tcpi_segs_out.into(),
        delivered_packets: Some(info.tcpi_delivered.into()),
        retransmitted_packets: Some(info.tcpi_total_retrans.into()),
        // The kernel counts losses only as the retransmissions that repaired them.
        lost_packets: info.tcpi_total_retrans.into(),
        congestion_events: None,
        ecn_counts: None,
        packet_bytes: info.tcpi_snd_mss.into(),
        ack_frequency_frames: None,
        qpack_request_entries: None,
        qpack_answer_entries: None,
        syn_data: Some(info.syn_data()),
        unsent_bytes: socket.tcp_notsent_lowat().ok(),
        tls_records: (records.count > 0).then_some(records),
        client_at: None,
        offer: heard.ours,
        client_offer: heard.theirs,
    })
}

/// A parameter of the module, so not a namespace's to set. None where it cannot be read.
fn hystart_of_linux() -> Option<SlowStartExit> {
    match fs::read_to_string("/sys/module/tcp_cubic/parameters/hystart") {
        Ok(set) if set.trim() == "0" => Some(SlowStartExit::None),
        Ok(_) => Some(SlowStartExit::Hystart),
        Err(_) => None,
    }
}

pub(crate) fn of_quic(
    quinn: &quinn::Connection,
    flow: &Flow,
    qpack: &Qpack,
    heard: Both,
) -> Transport {
    let (stats, view, tables) = (quinn.stats(), flow.view(), qpack.usage());
    let packet_bytes = view.packet_bytes;
    let counted = flow.counted();
    Transport {
        congestion: view.congestion.kernel_name().to_owned(),
        slow_start_exit: view.slow_start_exit,
        initial_window_packets: view.initial_window_packets,
        paced: view.rate.is_some(),
        pacing_mbps: view.rate.map(|rate| rate * 8e-6),
        window_packets: view.window / packet_bytes,
        rtt_ms: Some(stats.path.rtt.as_secs_f64() * 1000.0),
        min_rtt_ms: Some(stats.path.min_rtt.as_secs_f64() * 1000.0),
        sent_bytes: stats.udp_tx.bytes,
        sent_packets: stats.path.sent_packets,
        delivered_packets: None,
        retransmitted_packets: None,
        lost_packets: stats.path.lost_packets,
        congestion_events: Some(stats.path.congestion_events),
        ecn_counts: (counted != Counts::default()).then_some(counted),
        packet_bytes: stats.path.current_mtu.into(),
        ack_frequency_frames: Some(stats.frame_tx.ack_frequency),
        qpack_request_entries: Some(tables.peer_entries),
        qpack_answer_entries: Some(tables.own_entries),
        syn_data: None,
        unsent_bytes: None,
        tls_records: None,
        client_at: Some(quinn.remote_address()),
        offer: heard.ours,
        client_offer: heard.theirs,
    }
}

/// The sending side of a TCP connection at one moment.
#[derive(Debug, PartialEq)]
pub(crate) struct TcpWindow {
    pub window_bytes: u64,
    pub in_flight_bytes: u64,
    pub rtt_s: f64,
}

pub(crate) fn tcp_window(socket: &Socket) -> io::Result<TcpWindow> {
    let info = TcpInfo::of(socket)?;
    let packet = u64::from(info.tcpi_snd_mss);
    // As the kernel counts its packets in flight (tcp_packets_in_flight).
    let gone = info.tcpi_sacked + info.tcpi_lost;
    let flying = (info.tcpi_unacked + info.tcpi_retrans).saturating_sub(gone);
    Ok(TcpWindow {
        window_bytes: u64::from(info.tcpi_snd_cwnd) * packet,
        in_flight_bytes: u64::from(flying) * packet,
        rtt_s: f64::from(info.tcpi_rtt) * 1e-6,
    })
}

/// Returns the window of an accepted socket that has sent nothing: the route's `initcwnd`, or the
/// kernel's 10.
pub(crate) fn window_packets(socket: &Socket) -> io::Result<u64> {
    Ok(TcpInfo::of(socket)?.tcpi_snd_cwnd.into())
}

/// Turns on the kernel's own pacing. Any limit but the highest does; this one limits nothing.
pub(crate) fn pace(socket: &Socket) -> io::Result<()> {
    let rate = u64::MAX - 1;
    dragstrip_socket::set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate)
}

/// Returns the CPU time of this process in seconds.
pub(crate) fn cpu_s() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
