//! Every integration test of this crate, in one program: it links the crate once.

mod fast_open;
mod fuzzed;
mod loading;
mod support;
