//! quinn's errors, codes and stream ids in the form that h3 needs.

use std::sync::Arc;

use h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming, StreamId};
use quinn::{ConnectionError, ReadError, VarInt, WriteError};

pub(crate) fn varint(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

pub(crate) fn stream_id(id: quinn::StreamId) -> StreamId {
    StreamId::try_from(u64::from(id)).expect("QUIC stream ids fit")
}

pub(crate) fn lost(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => ConnectionErrorIncoming::ApplicationClose {
            error_code: close.error_code.into(),
        },
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

pub(crate) fn stream_lost(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: lost(error),
    }
}

pub(crate) fn write_error(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into(),
        },
        WriteError::ConnectionLost(error) => stream_lost(error),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

pub(crate) fn read_error(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into(),
        },
        ReadError::ConnectionLost(error) => stream_lost(error),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}
