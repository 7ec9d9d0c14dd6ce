//! Throughput and peak memory, beside the peers.
fn main() {}
