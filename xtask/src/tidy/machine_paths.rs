//! No file names a folder of the machine it was written on. Samples may: they are what tools wrote, and
//! what is fuzzed starts from them.

use super::TrackedFile;

pub fn check(files: &[TrackedFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for (file, text) in files.iter().filter_map(TrackedFile::as_text) {
        if file.starts_with("crates/readers/samples") || file.starts_with("fuzz/seeds") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            for folder in ["root", "work"].map(|folder| format!("/{folder}/")) {
                let starts_there = |at: usize| {
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_.".contains(c))
                };
                if line.match_indices(&folder).any(|(at, _)| starts_there(at)) {
                    findings
                        .push(format!("{file}:{}: a path of one machine: {folder}", number + 1));
                }
            }
        }
    }
    findings
}
