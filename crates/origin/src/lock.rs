//! Locks that outlive a panic elsewhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nothing in this crate leaves shared data half changed, so such a panic does not spoil it.
pub(crate) fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
