//! HTTP/2, by h2 and with the scheduler that h2 lacks.
//!
//! h2 sends frames in the order in which it gets them. So it gets one TLS record at a time, and
//! only after the kernel has taken all of the previous record. So the next frame is chosen as late
//! as TLS and TCP allow, among the answers that have bytes and that flow control allows.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::RecvStream;
use h2::ext::Protocol;
use h2::server::{self, SendResponse};
use http::{HeaderMap, Request, Response, StatusCode};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::connections::Generation;
use crate::log::{Connection, InFlight};
use crate::offers::Heard;
use crate::priority::{Gave, Priority, Queue, Rank};
use crate::reprioritise::{Open, Requests};
use crate::shared::{MAX_HEADER_BYTES, Shared, think};
use crate::tcp::corked::{Cork, Corked};
use crate::tcp::frame;
use crate::tcp::socket_stream;
use crate::tcp::tls_stream::{Early, Outlet, TlsStream};
use crate::tcp::updates::Updates;
use crate::tcp::watched::Watched;
use crate::tuning::Http;

/// A record with less room than this is full.
const LEAST_ROOM: usize = 256;

/// Requests that a client may cancel before we see them. h2 by default ends the connection beyond
/// 20; a browser that leaves a page can cancel all of them.
const MAX_CANCELLED: usize = 4096;

/// Serves one connection, until its end.
pub(super) async fn serve(
    stream: TlsStream,
    early: Early,
    heard: Heard,
    connection: Connection,
    shared: Arc<Shared>,
    generation: Generation,
) -> Result<(), h2::Error> {
    let tuning = shared.tuning().http;
    let (outlet, cork) = (stream.outlet(), Cork::default());
    let requests = Requests::new(tuning.streams_at_once);
    let updates = tuning.priorities.then(|| Updates::new(requests.clone()));
    let stream = Watched::new(Corked::new(stream, cork.clone()), heard, updates.clone());
    let mut builder = server::Builder::new();
    if tuning.extended_connect {
        builder.enable_connect_protocol();
    }
    let h2 = builder
        .initial_window_size(tuning.receive_window_bytes)
        .initial_connection_window_size(tuning.receive_window_bytes)
        .max_concurrent_streams(tuning.streams_at_once)
        .max_header_list_size(MAX_HEADER_BYTES)
        .max_pending_accept_reset_streams(MAX_CANCELLED)
        .handshake(stream)
        .await?;
    let (prepared, answers) = unbounded_channel();
    let mut serving = Serving {
        h2,
        outlet,
        cork,
        early,
        connection,
        shared,
        generation,
        tuning,
        requests,
        updates,
        prepared,
        answers,
        queue: Queue::default(),
        staying: Vec::new(),
    };
    std::future::poll_fn(|cx| serving.poll(cx)).await
}

struct Serving {
    h2: server::Connection<Watched<Corked<TlsStream>>, Bytes>,
    outlet: Outlet,
    cork: Cork,
    early: Early,
    connection: Connection,
    shared: Arc<Shared>,
    generation: Generation,
    tuning: Http,
    requests: Requests,
    /// The client's changes of priorities; None if priorities are not obeyed.
    updates: Option<Updates>,
    /// Where requests put their answers once these have bytes to send.
    prepared: UnboundedSender<Sending>,
    answers: UnboundedReceiver<Sending>,
    queue: Queue<Sending>,
    /// Streams whose body is sent and that stay open: the h2 library resets what is dropped before
    /// its end.
    staying: Vec<h2::SendStream<Bytes>>,
}

impl Serving {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        loop {
            if let Poll::Ready(ended) = self.poll_h2(cx) {
                return Poll::Ready(ended);
            }
            if self.reprioritise() {
                continue; // so that the client learns why it ends
            }
            while let Poll::Ready(Some(answer)) = self.answers.poll_recv(cx) {
                self.queue.push(self.rank(&answer), answer);
            }
            if self.outlet.is_full() || !self.fill_record(cx) {
                return Poll::Pending;
            }
            self.cork.set(true);
            let ended = self.poll_h2(cx);
            self.cork.set(false);
            if ended.is_ready() {
                return ended;
            }
        }
    }

    /// Lets h2 read, takes the requests that came, and lets h2 write what it was given. Ready at
    /// the end of the connection.
    fn poll_h2(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        loop {
            match ready!(self.h2.poll_accept(cx)) {
                Some(Ok((request, respond))) => self.begin(request, respond),
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => return Poll::Ready(Ok(())),
            }
        }
    }

    /// Moves answers whose priority the client changed. True if the connection must end for that.
    fn reprioritise(&mut self) -> bool {
        let Some(news) = self.updates.as_ref().map(Updates::news) else {
            return false;
        };
        for nth in news.changed {
            self.queue
                .move_to(Sending::rank, |answer| answer.open.nth == nth);
        }
        if let Some(reason) = news.broken {
            self.h2.abrupt_shutdown(reason);
        }
        news.broken.is_some()
    }

    fn rank(&self, answer: &Sending) -> Rank {
        if self.updates.is_none() {
            return Rank::SHARED;
        }
        answer.rank()
    }

    /// Takes a request. Its answer joins the queue once the upload is complete and the think time over.
    fn begin(&self, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
        let (request, upload) = request.into_parts();
        let protocol = request.extensions.get::<Protocol>();
        if protocol.is_some_and(|protocol| protocol.as_str() == "websocket") {
            let status = StatusCode::OK;
            let mut opening = self.shared.socket(&request, &self.connection, status);
            let mut head = Response::new(());
            head.headers_mut().extend(opening.headers.drain());
            self.generation.answer(async move {
                think(opening.hold).await;
                if let Ok(down) = respond.send_response(head, false) {
                    socket_stream::play(down, upload, opening).await;
                }
            });
            return;
        }
        let (answer, in_flight) = self
            .shared
            .answer(&request, &self.connection, self.early.now());
        let nth = respond.stream_id().as_u32() / 2;
        let open = self
            .requests
            .begin(nth.into(), Priority::of(&request.headers));
        let ahead = answer.ahead();
        let own = Priority::of(&answer.headers);
        let mut head = Response::new(());
        *head.status_mut() = answer.status;
        *head.headers_mut() = answer.headers;
        let mut sending = Sending {
            respond,
            head,
            stream: None,
            rest: answer.body,
            stays: answer.open,
            in_flight,
            open,
            own,
        };
        let prepared = self.prepared.clone();
        self.generation.answer(async move {
            let Ok(bytes) = receive(upload).await else {
                return;
            };
            sending.in_flight.received(bytes);
            think(answer.hold).await;
            if let Some(ahead) = ahead
                && sending.respond.send_informational(ahead).is_ok()
            {
                sending.in_flight.hinted(&answer.hints);
            }
            think(answer.think).await;
            sending.in_flight.ready();
            // Fails if the connection is gone.
            let _ = prepared.send(sending);
        });
    }

    /// Gives h2 as much of the best answers as a record holds; false if none may send. All have one
    /// rank: a client reads nothing of a record before it has all of it, so no answer is to wait for
    /// the beginning of one that matters less.
    fn fill_record(&mut self, cx: &mut Context<'_>) -> bool {
        let turn = usize::from(self.tuning.interleave_bytes);
        let mut room = self.outlet.record();
        let mut rank = None;
        let staying = &mut self.staying;
        while room >= LEAST_ROOM {
            let gave = self.queue.next(rank, |answer, shared| {
                let most = if shared {
                    room.min(turn + frame::HEADER)
                } else {
                    room
                };
                match answer.give(cx, most) {
                    Ok(0) => Gave::Nothing,
                    Ok(given) => {
                        room = room.saturating_sub(given);
                        if answer.is_over() {
                            staying.extend(answer.stream.take().filter(|_| answer.stays));
                            Gave::Last
                        } else {
                            Gave::Frame
                        }
                    }
                    // The client no longer wants this answer.
                    Err(_) => Gave::Last,
                }
            });
            if gave.is_none() {
                break;
            }
            rank = gave;
        }
        rank.is_some()
    }
}

/// Reads an upload to its end, and lets the client send on; returns how long it is.
async fn receive(mut upload: RecvStream) -> Result<u64, h2::Error> {
    let mut bytes = 0;
    while let Some(data) = upload.data().await {
        let length = data?.len();
        bytes += length as u64;
        upload.flow_control().release_capacity(length)?;
    }
    Ok(bytes)
}

/// An answer on its way to the client.
struct Sending {
    respond: SendResponse<Bytes>,
    head: Response<()>,
    /// The answer's stream; None until the headers are sent.
    stream: Option<h2::SendStream<Bytes>>,
    rest: Bytes,
    /// Whether the stream stays open after the body.
    stays: bool,
    in_flight: InFlight,
    open: Open,
    /// The priority that the answer itself states.
    own: Priority,
}

impl Sending {
    /// Returns the answer's rank, from the client's last priority and the answer's own.
    fn rank(&self) -> Rank {
        self.open.asked().merged(self.own).rank(self.open.nth)
    }

    fn is_over(&self) -> bool {
        self.stream.is_some() && self.rest.is_empty()
    }

    /// Gives h2 the next frame, of at most `most` bytes. The headers go with the first. Returns its
    /// length, with the headers uncompressed. An error if the client cancelled the request.
    fn give(&mut self, cx: &mut Context<'_>, most: usize) -> Result<usize, h2::Error> {
        if let Some(stream) = &mut self.stream
            && let Poll::Ready(reason) = stream.poll_reset(cx)
        {
            return Err(reason?.into());
        }
        let mut given = 0;
        if self.stream.is_none() {
            let head = std::mem::take(&mut self.head);
            given = frame::HEADER + length(head.headers());
            self.stream = Some(
                self.respond
                    .send_response(head, self.rest.is_empty() && !self.stays)?,
            );
        }
        if !self.rest.is_empty() {
            given += self.give_data(most.saturating_sub(given))?;
        }
        if self.is_over() {
            self.in_flight.finish();
        }
        Ok(given)
    }

    /// 0 where flow control allows nothing.
    fn give_data(&mut self, most: usize) -> Result<usize, h2::Error> {
        let Some(stream) = &mut self.stream else {
            return Ok(0);
        };
        let wanted = most.saturating_sub(frame::HEADER).min(self.rest.len());
        stream.reserve_capacity(wanted);
        let length = stream.capacity().min(wanted);
        if length == 0 {
            // What the connection allows later is for whichever answer is best then.
            stream.reserve_capacity(0);
            return Ok(0);
        }
        let data = self.rest.split_to(length);
        stream.send_data(data, self.rest.is_empty() && !self.stays)?;
        Ok(frame::HEADER + length)
    }
}

fn length(headers: &HeaderMap) -> usize {
    let fields = headers.iter();
    fields
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum()
}
