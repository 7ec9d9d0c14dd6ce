//! Runs that come one after the other, with questions in between: a sequential test that looks at its runs again and
//! again, a server that gets one more every minute.

use perfblame_cct::{Profile, RunSetBuilder};

use crate::Loaded;

/// Runs over one tree that grows, with the names of their inputs.
///
/// ```
/// # use perfblame_analysis::GrowingRuns;
/// # use perfblame_cct::Profile;
/// let mut runs = GrowingRuns::default();
/// runs.add("first.pb.gz", Profile::default());
/// assert_eq!(runs.look(|loaded| loaded.runs.runs.len()), 1);
/// runs.add("second.pb.gz", Profile::default());
/// assert_eq!(runs.look(|loaded| loaded.names.join(" ")), "first.pb.gz second.pb.gz");
/// ```
#[derive(Debug, Default)]
pub struct GrowingRuns {
    names: Vec<String>,
    runs: RunSetBuilder,
}

impl GrowingRuns {
    /// Adds a run. Its cost is that of this run, however many there are.
    pub fn add(&mut self, name: impl Into<String>, profile: Profile) {
        self.names.push(name.into());
        self.runs.add(profile);
    }

    /// How many runs there are.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// True before the first run.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Asks something of the runs so far. Only what came since the last look is merged; nothing is copied.
    pub fn look<T>(&mut self, ask: impl FnOnce(&Loaded) -> T) -> T {
        let loaded = std::mem::take(self).finish();
        let answer = ask(&loaded);
        *self = loaded.into();
        answer
    }

    /// The runs, once no more come.
    pub fn finish(self) -> Loaded {
        Loaded { names: self.names, runs: self.runs.finish() }
    }
}

impl From<Loaded> for GrowingRuns {
    /// Goes on with runs that were loaded.
    fn from(loaded: Loaded) -> Self {
        Self { names: loaded.names, runs: loaded.runs.into() }
    }
}

impl Loaded {
    /// Some of the runs, with their names: a side of a comparison, when both sides were loaded together. Rows come from
    /// [`select`](perfblame_cct::RunSet::select) or [`group_by`](perfblame_cct::RunSet::group_by); those that there are
    /// not are left out.
    #[must_use]
    pub fn subset(&self, runs: &[usize]) -> Self {
        let known = |row: &&usize| **row < self.runs.runs.len();
        let name = |row: &usize| self.names.get(*row).cloned().unwrap_or_default();
        Self { names: runs.iter().filter(known).map(name).collect(), runs: self.runs.subset(runs) }
    }
}

#[cfg(test)]
mod tests {
    use perfblame_cct::merge_runs;
    use perfblame_fixtures::profile;

    use super::*;
    use crate::{Ask, DiffQuery, Verdict, diff};

    /// A run of a release; `alloc` is new in 1.1.
    fn run(release: &str, count: usize) -> Profile {
        let column = |row: &str| vec![row; count].join(" ");
        let drawing = match release {
            "1.0" => format!("{}\n{}", column("main"), column("parse")),
            _ => {
                format!("{}\n{}\n{}", column("main main"), column("parse parse"), column(". alloc"))
            }
        };
        let mut profile = profile(&drawing);
        profile.info.labels = vec![("release".to_owned(), release.to_owned())];
        profile
    }

    fn loaded(profiles: Vec<Profile>) -> Loaded {
        let names = (1..=profiles.len()).map(|run| format!("run {run}")).collect();
        Loaded { names, runs: merge_runs(profiles) }
    }

    #[test]
    fn releases_that_were_loaded_together_can_be_compared() {
        let counts = [100, 101, 99];
        let before = counts.map(|count| run("1.0", count));
        let after = counts.map(|count| run("1.1", count));
        let mixed = before.iter().zip(&after).flat_map(|(a, b)| [b.clone(), a.clone()]);
        let all = loaded(mixed.collect());
        let groups = all.runs.group_by("release");
        assert_eq!(
            groups.iter().map(|group| &*group.runs).collect::<Vec<_>>(),
            [[1, 3, 5], [0, 2, 4]]
        );
        let sides: Vec<_> = groups.iter().map(|group| all.subset(&group.runs)).collect();
        let found = diff(&sides[0], &sides[1], &DiffQuery::default(), &Ask::default()).unwrap();
        assert_eq!(found.verdict, Verdict::Regressed);
        assert_eq!(found.suspects[0].function.name, "alloc");
        assert_eq!(sides[0].names, ["run 2", "run 4", "run 6"]);
        // The same as if each side had been loaded on its own.
        let (before, after) = (loaded(before.to_vec()), loaded(after.to_vec()));
        let apart = diff(&before, &after, &DiffQuery::default(), &Ask::default()).unwrap();
        assert_eq!(found.suspects, apart.suspects);
        assert_eq!(all.subset(&[9]).names.len(), 0, "there is no such run");
    }

    #[test]
    fn looking_does_not_change_what_comes() {
        let mut runs = GrowingRuns::default();
        assert!(runs.is_empty());
        let total = |loaded: &Loaded| loaded.runs.sum().samples;
        runs.add("first", run("1.0", 2));
        assert_eq!(runs.look(total), 2);
        runs.add("second", run("1.1", 2));
        assert_eq!((runs.len(), runs.look(total), runs.look(total)), (2, 6, 6));
        let loaded = runs.finish();
        assert_eq!(loaded.names, ["first", "second"]);
        let mut again = GrowingRuns::from(loaded);
        again.add("third", run("1.0", 1));
        assert_eq!(again.look(total), 7);
    }
}
