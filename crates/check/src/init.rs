//! Init.
