//! Every sample file is named in the samples' README.

use super::{TrackedFile, text_of};

pub fn check(files: &[TrackedFile]) -> Vec<String> {
    let folder = "crates/readers/samples/";
    let readme = format!("{folder}README.md");
    let told = text_of(files, &readme);
    let names = files.iter().filter_map(|file| file.path.strip_prefix(folder));
    names
        .filter(|name| *name != "README.md" && !told.contains(name))
        .map(|name| format!("{readme} does not say where {name} comes from"))
        .collect()
}
