//! Every integration test of this crate, in one program: it links the crate once.

mod aqm;
mod change;
mod digest;
mod fuzz;
mod model;
mod stages;
mod time;
