//! A resolver for the names of recorded pages, by hickory-dns: over UDP, TCP and HTTPS (RFC 8484).
//!
//! It knows each name's addresses and, where a server announces HTTP/3 by DNS, its HTTPS record (RFC
//! 9460). A name that its cache lacks takes the time of a recursive look-up. Every look-up is logged.

mod control;
mod names;
mod serve;

pub mod program;
