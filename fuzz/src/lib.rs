//! What every fuzz target does: hand bytes to one reader, whatever they look like.

use perfblame_readers::{FORMATS, Input, ReadOptions};

/// Reads `data` as the format called `name`, in the most demanding way: every grain, times kept.
pub fn read(name: &str, data: &[u8]) {
    let format = FORMATS.iter().find(|format| format.name == name).expect("a format of this name");
    let grain = match data.first().map(|byte| byte % 3) {
        Some(0) => perfblame_cct::Grain::Functions,
        Some(1) => perfblame_cct::Grain::CallSites,
        _ => perfblame_cct::Grain::Frames,
    };
    let options = ReadOptions { grain, times: perfblame_cct::Times::Keep };
    let Ok(input) = Input::from_bytes(data.to_vec()) else { return };
    let _ = (format.sniff)(&input);
    if let Ok(profile) = (format.read)(input, &options) {
        // What was read must be a tree whose values can be asked for.
        for (metric, _) in profile.metrics() {
            let _ = profile.inclusive_values(metric);
        }
    }
}

/// Reads `data` as source: the first byte chooses the language, and the rest is compared with its own first half.
pub fn parse_source(data: &[u8]) {
    const NAMES: [&str; 9] =
        ["a.java", "a.js", "a.ts", "a.tsx", "src/a.rs", "a.c", "a.cpp", "a.py", "a.go"];
    let Some((first, text)) = data.split_first() else { return };
    let path = NAMES[*first as usize % NAMES.len()];
    let version = |text: &[u8]| {
        Some(perfblame_changes::FileVersion { path: path.to_owned(), text: text.to_vec() })
    };
    let file = perfblame_changes::ChangedFile {
        before: version(&text[..text.len() / 2]),
        after: version(text),
    };
    let found = perfblame_changes::compare_sources(&[file]);
    for change in &found.changes.functions {
        let definition = change.after.as_ref().or(change.before.as_ref());
        let lines = definition.and_then(|it| it.lines).expect("a change is somewhere");
        assert!(0 < lines.0 && lines.0 <= lines.1);
    }
}
