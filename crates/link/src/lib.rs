//! The emulated link: frames in at one interface, out at the other, late by what was asked.
//!
//! [`model`] decides, without I/O or clock, when each packet leaves; each of its effects says in
//! one file what it is asked, and [`config`] is all that was asked. [`forward`] runs one
//! direction in a thread: it takes frames with the kernel's arrival stamps from a ring ([`ring`]),
//! asks the model, waits ([`pace`]) and sends ([`socket`]). A [`meter`] counts what really
//! happened, and [`record`] writes it packet by packet if asked. [`control`] is the JSON-lines side
//! and [`program`] the command line of the program.

pub mod config;
pub mod far;
pub mod header;
pub mod meter;
pub mod model;
pub mod program;
pub mod trace;

mod busy;
mod check;
mod clock;
mod control;
mod drops;
mod early;
mod forward;
mod frame;
mod mss;
mod pace;
mod pool;
mod realtime;
mod record;
mod ring;
mod socket;
mod splitmix;
mod timeline;
mod too_big;
mod units;
