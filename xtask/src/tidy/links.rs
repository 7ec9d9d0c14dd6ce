//! Every relative link of a document leads somewhere, and every path it names in backticks exists.

use std::path::Path;

use super::{TrackedFile, texts};
use crate::shell;

pub fn check(files: &[TrackedFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for (file, text) in texts(files, "md") {
        links(file, text, &mut findings);
    }
    findings
}

fn links(file: &str, text: &str, findings: &mut Vec<String>) {
    let folder = shell::project().join(file).parent().map(Path::to_owned).unwrap_or_default();
    for piece in text.split("](").skip(1) {
        let target = piece.split([')', '#']).next().unwrap_or("");
        if !target.is_empty() && !target.contains("://") && !folder.join(target).exists() {
            findings.push(format!("{file}: links to {target}, which does not exist"));
        }
    }
    let in_code = text.split('`').skip(1).step_by(2);
    for path in in_code.filter(|code| names_a_file(code)) {
        if !shell::project().join(path).exists() {
            findings.push(format!("{file}: names `{path}`, which does not exist"));
        }
    }
}

fn names_a_file(code: &str) -> bool {
    let known = ["crates/", "docs/", "fuzz/", "benches/", "xtask/", "examples/", "eval/"];
    known.iter().any(|folder| code.starts_with(folder)) && !code.contains([' ', '*', '<', '…', '{'])
}
