//! Holds only its manifest.
