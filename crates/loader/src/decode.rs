//! Undoes content codings, piece by piece.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};
use zstd::stream::write::Decoder as ZstdDecoder;

/// A receiver of decoded bytes; an error ends the decoding.
pub trait Sink {
    fn take(&mut self, decoded: &[u8]) -> io::Result<()>;
}

/// A `Sink` as a `Write`, which the libraries need.
pub struct Out<S>(pub S);

impl<S: Sink> Write for Out<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.take(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The decoder of one body.
pub enum Decoder<S: Sink> {
    Identity(Out<S>),
    Gzip(GzDecoder<Out<S>>),
    /// The coding `deflate`: zlib as RFC 9110 wants it, or raw deflate; the first byte shows which.
    Deflate(Out<S>),
    Zlib(ZlibDecoder<Out<S>>),
    RawDeflate(DeflateDecoder<Out<S>>),
    Brotli(Box<DecompressorWriter<Out<S>>>),
    Zstd(Box<ZstdDecoder<'static, Out<S>>>),
    /// A coding that the request did not allow.
    Unknown(String),
    Broken,
}

const BUFFER: usize = 16 * 1024;
/// The number of zlib's compression method, in the low bits of the first byte (RFC 1950).
const ZLIB_METHOD: u8 = 8;

impl<S: Sink> Decoder<S> {
    /// Makes a decoder for a value of `content-encoding`.
    pub fn new(coding: &str, sink: S) -> Self {
        let sink = Out(sink);
        match coding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Self::Identity(sink),
            "gzip" | "x-gzip" => Self::Gzip(GzDecoder::new(sink)),
            "deflate" => Self::Deflate(sink),
            "br" => Self::Brotli(Box::new(DecompressorWriter::new(sink, BUFFER))),
            "zstd" => zstd(sink),
            other => Self::Unknown(other.to_owned()),
        }
    }

    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Self::Deflate(_) = self
            && let Some(first) = bytes.first()
            && let Self::Deflate(sink) = std::mem::replace(self, Self::Broken)
        {
            *self = if first & 0x0f == ZLIB_METHOD {
                Self::Zlib(ZlibDecoder::new(sink))
            } else {
                Self::RawDeflate(DeflateDecoder::new(sink))
            };
        }
        match self {
            Self::Identity(sink) => sink.write_all(bytes),
            // Their `write` takes nothing more after the coding's end; what follows does not belong
            // to the body.
            Self::Gzip(decoder) => write_until_end(decoder, bytes),
            Self::Zlib(decoder) => write_until_end(decoder, bytes),
            Self::RawDeflate(decoder) => write_until_end(decoder, bytes),
            Self::Brotli(decoder) => decoder.write_all(bytes),
            Self::Zstd(decoder) => write_until_end(&mut **decoder, bytes),
            Self::Deflate(_) => Ok(()),
            Self::Unknown(coding) => Err(io::Error::other(format!("content-encoding {coding}"))),
            Self::Broken => Err(io::Error::other("decoder")),
        }?;
        // Whatever can be decoded is decoded now: the page reads while the body comes.
        match self {
            Self::Gzip(decoder) => decoder.flush(),
            Self::Zlib(decoder) => decoder.flush(),
            Self::RawDeflate(decoder) => decoder.flush(),
            Self::Brotli(decoder) => decoder.flush(),
            Self::Zstd(decoder) => decoder.flush(),
            _ => Ok(()),
        }
    }

    /// Ends the decoding because the body has ended; an error if its coding is incomplete.
    pub fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Zlib(decoder) => decoder.try_finish(),
            Self::RawDeflate(decoder) => decoder.try_finish(),
            Self::Brotli(decoder) => decoder.close(),
            Self::Zstd(decoder) => decoder.flush(),
            _ => Ok(()),
        }
    }
}

/// Chromium takes no larger window (RFC 8878 section 3.1.1.1.2 recommends 8 MB).
const ZSTD_WINDOW_LOG: u32 = 23;

fn zstd<S: Sink>(sink: Out<S>) -> Decoder<S> {
    match ZstdDecoder::new(sink) {
        Ok(mut decoder) => match decoder.window_log_max(ZSTD_WINDOW_LOG) {
            Ok(()) => Decoder::Zstd(Box::new(decoder)),
            Err(_) => Decoder::Broken,
        },
        Err(_) => Decoder::Broken,
    }
}

fn write_until_end(decoder: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match decoder.write(bytes)? {
            0 => return Ok(()),
            taken => bytes = &bytes[taken..],
        }
    }
    Ok(())
}
