//! Every file of the corpus: claimed by exactly one format, read, and its totals are sane. What the files hold is
//! checked format by format in the modules' own tests; this walk says that nothing is left out.

use perfblame_cct::MetricId;
use perfblame_fixtures::{corpus, corpus_files};
use perfblame_readers::{FORMATS, Input, ReadError, ReadOptions, read};
use std::fmt::Write as _;
use std::path::Path;

/// Files that must be refused, and a piece of the reason a person is given.
const REFUSED: &[(&str, &str)] = &[
    // Recordings of the format before JDK 9.
    ("jfr/jmc-7u40.jfr", "JDK 7"),
    ("jfr/jmc-8u60.jfr", "JDK 7"),
    // A folder of databases whose layout Apple does not publish.
    ("macos/instruments-10.0-simple-time-profile.trace.zip", "Instruments trace"),
];

/// Files that hold no profile: notes, and what other tools made of the profiles.
fn is_profile(path: &Path) -> bool {
    let text = path.to_string_lossy();
    !text.ends_with("MANIFEST.md") && !text.contains("speedscope-snapshots")
}

#[test]
fn every_file_is_claimed_once_and_read() {
    let Some(root) = corpus() else { return };
    let mut faults = String::new();
    let mut files = 0;
    for path in corpus_files("").into_iter().filter(|path| is_profile(path)) {
        files += 1;
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let input = match Input::open(&path) {
            Ok(input) => input,
            Err(error) => {
                refuse(&name, &error, &mut faults);
                continue;
            }
        };
        let claims: Vec<_> = FORMATS
            .iter()
            .filter(|format| (format.sniff)(&input))
            .map(|format| format.name)
            .collect();
        if claims.len() != 1 {
            let _ = writeln!(faults, "{name}: claimed by {claims:?}");
            continue;
        }
        match read(input, &ReadOptions::default()) {
            Err(error) => refuse(&name, &error, &mut faults),
            Ok(_) if reason(&name).is_some() => {
                let _ = writeln!(faults, "{name}: read, but should be refused");
            }
            Ok(profile) => {
                let inclusive = profile.inclusive_values(MetricId::new(0));
                let roots: i64 = profile.tree.roots().map(|root| inclusive[root.index()]).sum();
                if !profile.metrics.is_empty() && roots != profile.cells.total(MetricId::new(0)) {
                    let _ = writeln!(faults, "{name}: the roots do not add up to the total");
                }
            }
        }
    }
    assert!(files > 100, "only {files} files in {}", root.display());
    assert!(faults.is_empty(), "\n{faults}");
}

/// Why a file must be refused; none for one that must be read.
fn reason(name: &str) -> Option<&'static str> {
    REFUSED.iter().find(|(file, _)| *file == name).map(|(_, reason)| *reason)
}

/// A refused file is a fault unless it must be refused, for this reason and with a next step.
fn refuse(name: &str, error: &ReadError, faults: &mut String) {
    let right = reason(name).is_some_and(|reason| error.to_string().contains(reason));
    if !right || error.help.is_none() {
        let _ = writeln!(faults, "{name}: {error}");
    }
}
