//! Two revisions of a program: check out, build, run interleaved, stop when the answer is clear.
#![warn(missing_docs)]
