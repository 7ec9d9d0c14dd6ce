//! Names without what changes from run to run: the same whether they are changed while a file is read or afterwards.

use perfblame_cct::{ContentId, Grain, NameKinds, Profile, content_ids, normalise};
use perfblame_fixtures::{corpus_files, samples};
use perfblame_readers::{Input, ReadOptions, read};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Self values by context and metric; contexts are known by their content.
fn contexts(profile: &Profile) -> BTreeMap<(ContentId, usize), i64> {
    let ids = content_ids(profile);
    let mut out = BTreeMap::new();
    for (metric, _) in profile.metrics() {
        for (id, value) in ids.iter().zip(profile.self_values(metric)) {
            *out.entry((*id, metric.index())).or_insert(0) += value;
        }
    }
    out
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            files_below(&entry, found);
        } else {
            found.push(entry);
        }
    }
}

#[test]
fn names_change_alike_while_reading_and_afterwards() {
    let mut files = Vec::new();
    files_below(&samples(), &mut files);
    for folder in ["collapsed", "perf-script", "pprof", "jfr", "cpuprofile"] {
        files.extend(corpus_files(folder));
    }
    files.retain(|file| std::fs::metadata(file).is_ok_and(|about| about.len() < 2_000_000));
    let mut changed = 0;
    for file in files {
        for grain in [Grain::Functions, Grain::CallSites, Grain::Frames] {
            let as_recorded = ReadOptions { grain, ..ReadOptions::default() };
            let at_once = ReadOptions { names: NameKinds::default(), ..as_recorded };
            let Ok(plain) = Input::open(&file).and_then(|input| read(input, &as_recorded)) else {
                continue;
            };
            let before = contexts(&plain).len();
            let afterwards = contexts(&normalise(plain, NameKinds::default()));
            let at_once = read(Input::open(&file).unwrap(), &at_once).unwrap();
            assert!(contexts(&at_once) == afterwards, "{} at {grain:?}", file.display());
            changed += usize::from(afterwards.len() != before);
        }
    }
    assert!(changed > 0, "no file has names that change");
}
