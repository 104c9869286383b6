//! The load generator: loads a page as Chromium does, from a graph of the page.
//!
//! `Graph` is the page (what becomes known when), `admission` Chromium's scheduler, `Pool` its sockets
//! to a host; these are pure. `net` carries requests with kept libraries (hyper, h2, h3, quinn, rustls),
//! `load` joins all of it, `control` takes commands as JSON lines (docs/reference/processes.md).

mod admission;
mod body;
mod check;
mod control;
mod decode;
mod event;
mod graph;
mod hints;
mod input;
mod load;
#[cfg(test)]
mod load_tests;
mod memory;
mod net;
mod outgoing;
mod pool;
pub mod program;
mod report;

pub use input::{Load, Page, Resource};
pub use load::load;
pub use memory::Memory;
pub use report::{Connection, EarlyData, Ended, FastOpen, Report, Request};
