//! The emulated link: frames come in at one interface and leave at the other after the configured
//! delay.
//!
//! [`model`] decides, without I/O or clock, when each packet leaves; each of its effects says in
//! one file what it is asked, and [`config`] is all that was asked. [`forward`] runs one
//! direction in a thread: it takes frames with the kernel's arrival stamps from a ring ([`ring`]),
//! asks the model, waits ([`pace`]) and sends ([`socket`]). At [`steps`] the model becomes another
//! one. A [`meter`] counts what really
//! happened, and [`record`] can write the fate of each packet. [`control`] answers commands in JSON
//! lines, and [`program`] is the command line.

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
mod flights;
mod forward;
mod frame;
mod ip;
mod mailbox;
mod mss;
mod nat;
mod pace;
mod pool;
mod ports;
mod realtime;
mod record;
mod ring;
mod socket;
mod splitmix;
mod steps;
mod timeline;
mod too_big;
mod units;
