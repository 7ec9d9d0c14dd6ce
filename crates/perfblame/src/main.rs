//! The command line: parse, ask, render.

fn main() {}
