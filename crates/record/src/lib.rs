//! Makes profiles: finds the profiler that fits, runs the program under it, keeps what the program said and did.
//!
//! All code that is about one platform is here.
#![warn(missing_docs)]

pub mod java_exact;
