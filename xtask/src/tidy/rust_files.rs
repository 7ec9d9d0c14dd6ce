//! Rust files open with what they are for, and hold nothing unfinished.

use super::{TrackedFile, texts};

pub fn check(files: &[TrackedFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for (file, text) in texts(files, "rs") {
        let opens = text.starts_with("//! ") || text.contains("\n//! ");
        if !opens {
            findings
                .push(format!("{file}: opens without a `//!` paragraph that says what it is for"));
        }
        if file == "xtask/src/tidy/rust_files.rs" {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            for forbidden in ["todo!(", "unimplemented!(", "#[ignore", "FIXME", "XXX:"] {
                if line.contains(forbidden) {
                    findings.push(format!("{file}:{}: {forbidden}", number + 1));
                }
            }
        }
    }
    findings
}
