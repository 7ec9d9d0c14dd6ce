//! Formats and fuzz targets belong to each other: every format has a target named after its module, every target has a
//! format or stands in a list of others, and every target has stored inputs to start from.

use std::collections::BTreeSet;

use super::{TrackedFile, text_of};
use crate::fuzz;

/// Targets that fuzz something else than one format.
const OTHERS: &[&str] = &[
    "classes_never_panic",
    "script_never_panics",
    "source_map_never_panics",
    "source_never_panics",
    "traces_never_panic",
];

pub fn check(files: &[TrackedFile]) -> Vec<String> {
    let formats = formats(text_of(files, "crates/readers/src/formats.rs"));
    let targets = fuzz::names(text_of(files, "fuzz/src/lib.rs"));
    let seeds = files.iter().filter_map(|file| file.path.strip_prefix("fuzz/seeds/"));
    let seeds: BTreeSet<&str> = seeds.filter_map(|path| Some(path.split_once('/')?.0)).collect();
    disagreements(&formats, &targets, &seeds)
}

/// The modules of formats, from the rows of their table.
fn formats(table: &str) -> Vec<String> {
    let rows = table.lines().filter_map(|line| line.trim().strip_suffix("::FORMAT,"));
    rows.map(|row| row.rsplit("::").next().unwrap_or(row).to_owned()).collect()
}

fn disagreements(formats: &[String], targets: &[String], seeds: &BTreeSet<&str>) -> Vec<String> {
    let mut findings = Vec::new();
    if formats.is_empty() {
        findings.push("crates/readers/src/formats.rs: no row of a format was found".to_owned());
    }
    for format in formats {
        if !targets.contains(&format!("{format}_never_panics")) {
            findings.push(format!("fuzz/src/lib.rs has no target {format}_never_panics"));
        }
    }
    for target in targets {
        let format = target.strip_suffix("_never_panics");
        let known = format.is_some_and(|format| formats.iter().any(|known| known == format));
        if !known && !OTHERS.contains(&target.as_str()) {
            findings.push(format!("fuzz/src/lib.rs: {target} fuzzes no format"));
        }
        if !seeds.contains(target.as_str()) {
            findings.push(format!("fuzz/seeds/{target}: no stored inputs"));
        }
    }
    for seeds in seeds.iter().filter(|seeds| targets.iter().all(|target| target != *seeds)) {
        findings.push(format!("fuzz/seeds/{seeds}: there is no such target"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_are_checked() {
        let formats = formats("    pprof::FORMAT,\n    formats::jfr::FORMAT,\n");
        let targets = ["pprof_never_panics", "odd_never_panics", "traces_never_panic"];
        let targets = targets.map(str::to_owned);
        let seeds = BTreeSet::from(["pprof_never_panics", "traces_never_panic", "gone"]);
        assert_eq!(
            disagreements(&formats, &targets, &seeds),
            [
                "fuzz/src/lib.rs has no target jfr_never_panics",
                "fuzz/src/lib.rs: odd_never_panics fuzzes no format",
                "fuzz/seeds/odd_never_panics: no stored inputs",
                "fuzz/seeds/gone: there is no such target",
            ]
        );
        assert!(!disagreements(&[], &[], &BTreeSet::new()).is_empty());
    }
}
