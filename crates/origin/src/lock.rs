//! Locks mutexes even after a panic of another thread that held them.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks the mutex, even after a panic of another thread that held it: nothing in this crate leaves
/// shared data half changed.
pub(crate) fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
