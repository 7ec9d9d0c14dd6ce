//! Profiles of earlier checks, in perfblame's own files.
//!
//! Runs made at different times differ by more than their code: the machine was warmer, another program ran. So stored
//! runs count only beside runs that they alternated with. Each series of alternating runs has a number; of a series
//! that both sides have, as many runs of each side are taken, and nothing else is. What such runs say is as good as on
//! the day they were made, and no fresh pair is needed: whatever was special about that day met both sides alike.

use std::path::{Path, PathBuf};

use perfblame_analysis::{Ask, LoadOptions, Names, Source, load};
use perfblame_cct::{Profile, Sides};
use serde::{Deserialize, Serialize};

use crate::home::{entries, modified, size, touch};
use crate::{Failure, Home, Repository};

/// The label under which the hash of what a run printed is kept.
const OUTPUT: &str = "perfblame.output";

/// Series that are looked at for one comparison, the newest first: reading thousands would take longer than new runs.
const SERIES: usize = 8;

/// Stored profiles of one side: same content, build, command, input, machine and profiler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shelf {
    folder: PathBuf,
}

/// Whose runs are on a shelf.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct About {
    /// The content of the revision.
    pub tree: String,
    /// The workload.
    pub workload: String,
    /// The input; empty when it takes none.
    pub input: String,
}

/// The file on a shelf that says whose runs are there.
const ABOUT: &str = "about.json";

/// A run, and the hash of what it printed.
#[derive(Debug)]
pub struct StoredRun {
    /// The profile.
    pub profile: Profile,
    /// Of its standard output.
    pub output: String,
}

impl Shelf {
    /// The shelf of a key.
    pub fn of(home: &Home, key: &str) -> Self {
        Self { folder: home.profiles().join(key) }
    }

    /// Notes whose runs these are, for whoever asks for a revision by name.
    pub fn label(&self, about: &About) {
        if let Ok(text) = serde_json::to_string(about) {
            let kept = std::fs::create_dir_all(&self.folder);
            let _ = kept.and_then(|()| {
                perfblame_disk::write_bytes(&self.folder.join(ABOUT), text.as_bytes())
            });
        }
    }

    /// Keeps a run of a series. What cannot be kept is made again: that is no failure.
    pub fn keep(&self, series: &str, number: u32, profile: &Profile, output: &str) {
        let mut profile = profile.clone();
        profile.info.labels.retain(|(name, _)| name != OUTPUT);
        profile.info.labels.push((OUTPUT.to_owned(), output.to_owned()));
        profile.info.labels.sort();
        let path = self.folder.join(format!("{series}-{number:04}.perfblame"));
        let _ = std::fs::create_dir_all(&self.folder).and_then(|()| {
            perfblame_disk::write(&path, |mut out| perfblame_file::write(&profile, &mut out))
        });
    }

    /// Names of series and their files, the oldest first.
    fn series(&self) -> Vec<(String, Vec<PathBuf>)> {
        let mut all: Vec<(String, Vec<PathBuf>)> = Vec::new();
        for path in entries(&self.folder) {
            let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
            let series = name.as_deref().and_then(|name| name.rsplit_once('-'));
            let Some((series, _)) = series else { continue };
            if path.extension().is_none_or(|end| end != "perfblame") {
                continue;
            }
            match all.last_mut() {
                Some((known, files)) if known == series => files.push(path.clone()),
                _ => all.push((series.to_owned(), vec![path.clone()])),
            }
        }
        all
    }
}

/// The newest runs that are kept of a revision: `HEAD~1`, or `HEAD~1/parse` for one of several workloads.
pub fn stored_runs(folder: &Path, reference: &str) -> Result<Vec<PathBuf>, Failure> {
    let git = Repository::with_working_tree(folder)?;
    let home = Home::of(&git)?;
    // Branches have slashes in their names, too.
    let (revision, workload) = match (git.snapshot(reference), reference.rsplit_once('/')) {
        (Ok(revision), _) => (revision, None),
        (Err(_), Some((name, workload))) => (git.snapshot(name)?, Some(workload)),
        (Err(error), None) => return Err(error.into()),
    };
    let mut shelves: Vec<(About, u128, Shelf)> = Vec::new();
    for folder in entries(&home.profiles()) {
        let about = std::fs::read(folder.join(ABOUT)).ok();
        let about = about.and_then(|text| serde_json::from_slice::<About>(&text).ok());
        let Some(about) = about else { continue };
        if about.tree == revision.tree && workload.is_none_or(|name| name == about.workload) {
            let shelf = Shelf { folder };
            let newest = shelf.series().pop();
            if let Some(file) = newest.and_then(|(_, files)| files.last().cloned()) {
                shelves.push((about, modified(&file), shelf));
            }
        }
    }
    let mut names: Vec<String> = shelves.iter().map(|(about, _, _)| about.title()).collect();
    names.sort();
    names.dedup();
    if names.len() > 1 {
        return Err(Failure::new(
            format!("`@{reference}` has several workloads"),
            format!("there are runs of {}", names.join(", ")),
        )
        .help(format!("choose one: `@{reference}/WORKLOAD`")));
    }
    let newest = shelves.into_iter().max_by_key(|(_, time, _)| *time);
    let files = newest.and_then(|(_, _, shelf)| shelf.series().pop()).map(|(_, files)| files);
    files.ok_or_else(|| {
        Failure::new(format!("there are no runs of `@{reference}`"), "")
            .help("`perfblame check` records them")
    })
}

impl About {
    fn title(&self) -> String {
        match &*self.input {
            "" => self.workload.clone(),
            input => format!("{} with {input}", self.workload),
        }
    }
}

/// Runs that both shelves have of the same series, as many of each, at most `most` of each.
pub fn alternating(
    shelves: Sides<&Shelf>,
    most: usize,
    ask: &Ask,
) -> Result<Sides<Vec<StoredRun>>, Failure> {
    let mut runs: Sides<Vec<StoredRun>> = Sides::default();
    let Sides { before, after } = shelves.map(Shelf::series);
    for (series, files) in before.iter().rev().take(SERIES) {
        let Some((_, others)) = after.iter().find(|(other, _)| other == series) else { continue };
        for pair in files.iter().zip(others) {
            if runs.before.len() >= most {
                break;
            }
            // A file that is damaged costs its pair.
            match (read(pair.0, ask), read(pair.1, ask)) {
                (Ok(first), Ok(second)) => {
                    runs.before.push(first);
                    runs.after.push(second);
                }
                (Err(failure), _) | (_, Err(failure)) if failure.cancelled => return Err(failure),
                _ => {}
            }
        }
    }
    Ok(runs)
}

fn read(path: &Path, ask: &Ask) -> Result<StoredRun, Failure> {
    touch(path);
    let profile = read_profile(path, ask)?;
    let output = profile.info.labels.iter().find(|(name, _)| name == OUTPUT);
    let output = output.map_or(String::new(), |(_, value)| value.clone());
    Ok(StoredRun { profile, output })
}

/// Reads any profile as comparisons want it.
pub fn read_profile(path: &Path, ask: &Ask) -> Result<Profile, Failure> {
    // Whoever recorded it still has to take out where the checkout lay.
    let options = LoadOptions { names: Names::AsRecorded, ..LoadOptions::default() };
    let loaded = load(&[Source::File(path.to_owned())], options, ask);
    loaded?
        .runs
        .profile(0)
        .ok_or_else(|| Failure::io("read", path, &std::io::Error::other("empty")))
}

/// Removes the oldest profiles until the rest fits.
pub fn trim(home: &Home, limit: u64) {
    let mut files: Vec<(u128, PathBuf, u64)> = Vec::new();
    for shelf in entries(&home.profiles()) {
        for file in entries(&shelf) {
            files.push((modified(&file), file.clone(), size(&file)));
        }
    }
    files.sort();
    let mut sum: u64 = files.iter().map(|(_, _, bytes)| *bytes).sum();
    for (_, file, bytes) in files {
        if sum <= limit {
            break;
        }
        let _ = std::fs::remove_file(&file);
        // Goes only when it is empty.
        let _ = file.parent().map(std::fs::remove_dir);
        sum = sum.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use perfblame_fixtures::profile;

    use super::*;

    #[test]
    fn only_runs_that_alternated_are_put_beside_each_other() {
        let folder = std::env::temp_dir().join(format!("perfblame-shelf-{}", std::process::id()));
        let shelf = |name: &str| Shelf { folder: folder.join(name) };
        let (before, after) = (shelf("before"), shelf("after"));
        let run = profile("main main\nwork rest");
        for number in 0..3 {
            before.keep("1", number, &run, "out");
            before.keep("2", number, &run, "out");
        }
        after.keep("2", 0, &run, "out");
        after.keep("2", 1, &run, "other");
        after.keep("3", 0, &run, "out");
        let shelves = Sides { before: &before, after: &after };
        let ask = Ask::default();
        let Sides { before: first, after: second } = alternating(shelves, 10, &ask).unwrap();
        assert_eq!((first.len(), second.len()), (2, 2));
        assert_eq!(second[1].output, "other");
        assert_eq!(alternating(shelves, 1, &ask).unwrap().before.len(), 1);
        // Files that were not read to their ends, because somebody asked us to stop, do not count as damaged.
        ask.cancel();
        assert!(alternating(shelves, 1, &ask).unwrap_err().cancelled);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
