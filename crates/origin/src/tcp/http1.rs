//! HTTP/1.1, by hyper.

use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex};

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::lock::unpoisoned;
use crate::log::Connection;
use crate::shared::{MAX_HEADER_BYTES, MAX_HEADERS, Shared, think};
use crate::sockets::{self, Opening};
use crate::tcp::body::Body;
use crate::tcp::tls_stream::Early;

/// Serves one connection until its end, also if the connection becomes a WebSocket.
pub(crate) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    early: Early,
    connection: Connection,
    shared: Arc<Shared>,
) -> hyper::Result<()> {
    let becoming = Arc::<Mutex<Option<(OnUpgrade, Opening)>>>::default();
    let service = service_fn(|mut request: Request<Incoming>| {
        let (shared, connection, early) = (shared.clone(), connection.clone(), early.now());
        let becoming = becoming.clone();
        async move {
            let upgrade = hyper::upgrade::on(&mut request);
            let (request, upload) = request.into_parts();
            if let Some(key) = sockets::asked(&request) {
                let status = StatusCode::SWITCHING_PROTOCOLS;
                let mut opening = shared.socket(&request, &connection, status);
                let mut response = Response::new(Body::none());
                *response.status_mut() = status;
                *response.headers_mut() = sockets::upgraded(key);
                response.headers_mut().extend(opening.headers.drain());
                think(opening.hold).await;
                *unpoisoned(&becoming) = Some((upgrade, opening));
                return Ok::<_, Infallible>(response);
            }
            let (answer, mut in_flight) = shared.answer(&request, &connection, early);
            match receive(upload).await {
                Ok(bytes) => in_flight.received(bytes),
                // The client gave up in the middle of its request: there is no one to answer.
                Err(_) => pending().await,
            }
            think(answer.hold + answer.think).await;
            in_flight.ready();
            let mut response = Response::new(Body::new(answer.body, answer.open, in_flight));
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            Ok(response)
        }
    });
    http1::Builder::new()
        .auto_date_header(false)
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEADER_BYTES as usize)
        .max_buf_size(MAX_HEADER_BYTES as usize)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await?;
    let became = unpoisoned(&becoming).take();
    if let Some((upgrade, opening)) = became {
        sockets::play(TokioIo::new(upgrade.await?), opening).await;
    }
    Ok(())
}

/// Reads an upload to its end; returns its length in bytes.
async fn receive(mut upload: Incoming) -> hyper::Result<u64> {
    let mut bytes = 0;
    while let Some(frame) = upload.frame().await {
        bytes += frame?.data_ref().map_or(0, |data| data.len() as u64);
    }
    Ok(bytes)
}
