//! The document: how it was made, then the tables.

use std::fmt::Write as _;

use crate::evaluate::Measured;
use crate::table::tables;

/// How it was made.
const HOW: &str = include_str!("how.md");

/// All of it.
pub fn document(measured: &Measured, seed: u64) -> String {
    let mut text = String::from("# The ZAM experiment, rerun\n\n");
    let _ = writeln!(
        text,
        "`cargo xtask eval zam --seed {seed}` makes the cases, records them and writes this file.\n"
    );
    text.push_str(HOW);
    text.push('\n');
    text.push_str(&tables(measured, seed));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_needs_no_cases() {
        let text = document(&Measured::default(), 1);
        assert!(text.starts_with("# The ZAM experiment"));
        assert!(text.contains("## Table 6"));
    }
}
