//! Receives a body: counts, decodes and hashes the bytes, and limits their number.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use http::{HeaderMap, header};
use ring::digest::{self, SHA256};

use crate::decode::{Decoder, Sink};
use crate::event::{Failure, FailureKind, Finish, Received};

/// Bytes that may still come for all bodies of a load together.
#[derive(Clone)]
pub struct Budget {
    left: Rc<Cell<u64>>,
    exceeded: Rc<Cell<bool>>,
}

impl Budget {
    pub fn new(bytes: u64) -> Self {
        Self {
            left: Rc::new(Cell::new(bytes)),
            exceeded: Rc::default(),
        }
    }

    /// Takes bytes off the budget; false if that is more than is left.
    fn spend(&self, bytes: usize) -> bool {
        let left = self.left.get().checked_sub(bytes as u64);
        self.left.set(left.unwrap_or(0));
        self.exceeded.set(self.exceeded.get() || left.is_none());
        left.is_some()
    }

    /// Whether more bytes came than the budget allowed.
    pub fn exceeded(&self) -> bool {
        self.exceeded.get()
    }
}

/// The receiver of one answer's body.
pub struct Receiver {
    decoder: Decoder<Hashed>,
    state: Rc<RefCell<State>>,
    budget: Budget,
    wire: u64,
    /// What `content-length` promises, if a body is to come.
    expected: Option<u64>,
}

struct State {
    hash: digest::Context,
    decoded: u64,
}

/// Receives decoded bytes: hashes and counts them. A bomb of zeros uses up the budget like any
/// other data.
struct Hashed {
    state: Rc<RefCell<State>>,
    budget: Budget,
}

impl Sink for Hashed {
    fn take(&mut self, decoded: &[u8]) -> io::Result<()> {
        if !self.budget.spend(decoded.len()) {
            return Err(io::Error::other("too many bytes"));
        }
        let mut state = self.state.borrow_mut();
        state.hash.update(decoded);
        state.decoded += decoded.len() as u64;
        Ok(())
    }
}

impl Receiver {
    /// `bodiless` where the answer cannot have a body whatever its headers say (HEAD, 204, 304).
    pub fn new(headers: &HeaderMap, bodiless: bool, budget: &Budget) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let state = Rc::new(RefCell::new(State {
            hash: digest::Context::new(&SHA256),
            decoded: 0,
        }));
        let sink = Hashed {
            state: state.clone(),
            budget: budget.clone(),
        };
        let coding = if bodiless {
            None
        } else {
            text(header::CONTENT_ENCODING)
        };
        let length = text(header::CONTENT_LENGTH).and_then(|length| length.parse().ok());
        Self {
            decoder: Decoder::new(coding.unwrap_or_default(), sink),
            state,
            budget: budget.clone(),
            wire: 0,
            expected: if bodiless { None } else { length },
        }
    }

    /// Takes the next piece; returns how much there is by now.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Received, Failure> {
        self.wire += bytes.len() as u64;
        if !self.budget.spend(bytes.len()) {
            return Err(too_many());
        }
        let pushed = self.decoder.push(bytes);
        pushed.map_err(|error| self.undecodable(&error))?;
        Ok(self.received())
    }

    /// Ends the body; returns how many bytes came and their digest. An error if some are missing.
    pub fn finish(mut self) -> Result<(Received, Finish), Failure> {
        if let Some(expected) = self.expected.filter(|expected| *expected != self.wire) {
            let message = format!("{} of {expected} bytes came", self.wire);
            return Err(Failure::new(FailureKind::Truncated, message));
        }
        // If no byte came, the body is empty in any coding.
        let ended = if self.wire > 0 {
            self.decoder.finish()
        } else {
            Ok(())
        };
        ended.map_err(|error| self.undecodable(&error))?;
        let received = self.received();
        let hash = self.state.borrow().hash.clone().finish();
        let digest = hash.as_ref()[..8].iter().map(|byte| format!("{byte:02x}"));
        Ok((
            received,
            Finish {
                digest: digest.collect(),
            },
        ))
    }

    fn received(&self) -> Received {
        Received {
            wire: self.wire,
            decoded: self.state.borrow().decoded,
        }
    }

    fn undecodable(&self, error: &io::Error) -> Failure {
        if self.budget.exceeded() {
            return too_many();
        }
        Failure::new(FailureKind::Decode, error)
    }
}

fn too_many() -> Failure {
    Failure::new(FailureKind::Limit, "limits.bytes is used up")
}
