//! `perfblame bisect`: which commit made it slower.
//!
//! Each commit is compared with the good end and, where that does not tell, with the bad end, never with its neighbour:
//! a slowdown spread over ten commits is invisible between neighbours. git chooses the commits (`rev-list
//! --bisect-all`), so that merges are handled as `git bisect` handles them. A commit that cannot be built or told is
//! stepped around; one that changes nothing but documents is never run.

use std::path::Path;

use perfblame_analysis::{
    Ask, BisectState, BisectStep, Bisection, Check, Comparison, Diff, RevisionView, Verdict,
};
use perfblame_cct::{Sides, Warning};
use perfblame_words::counted;

use crate::check::{CheckOptions, Session, Times, view};
use crate::config::Workload;
use crate::sequential::Decided;
use crate::trees::described;
use crate::watch::Watch;
use crate::{Failure, Snapshot};

/// How a history is walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Walk {
    /// All commits.
    #[default]
    All,
    /// Only what the branch itself went through; a merge is one step.
    FirstParent,
}

/// A commit is bad when it has at least this part of the whole slowdown.
const MOST_OF_IT: f64 = 0.5;

/// A step that cannot be told is repeated with this many times the runs.
const MORE_RUNS: u32 = 2;

/// Finds the commit between two that made it slower.
pub fn bisect(
    folder: &Path,
    good: &str,
    bad: &str,
    walk: Walk,
    options: &CheckOptions,
    watch: &dyn Watch,
    ask: &Ask,
) -> Result<Bisection, Failure> {
    let mut session = Session::open(folder, options, watch, ask)?;
    let good = session.git.snapshot(good)?;
    let bad = session.git.snapshot(bad)?;
    if session.git.run(&["merge-base", "--is-ancestor", &good.commit, &bad.commit]).is_err() {
        let why = format!("{} is not an ancestor of {}", good.name, bad.name);
        return Err(Failure::new("no history leads from the good to the bad commit", why)
            .help("give an ancestor of the bad commit as the good one"));
    }
    let mut found = Bisection {
        good: view(&good),
        bad: view(&bad),
        steps: Vec::new(),
        suspects: Vec::new(),
        check: None,
        warnings: Vec::new(),
    };
    session.note(&format!("is {} slower than {}?", described(&bad), described(&good)));
    let ends = session.check(&good, &bad)?;
    let Some((workload, input, whole)) = slower(&session, &ends) else {
        let inconclusive = ends.verdict == Verdict::Inconclusive;
        if inconclusive || ends.failed().next().is_some() {
            let message = "cannot tell whether there is a slowdown".to_owned();
            found.warnings.push(Warning { code: "inconclusive".to_owned(), message, count: 1 });
        }
        found.check = Some(ends);
        return Ok(found);
    };
    // From here on only what got slower is run.
    session.config.workloads = vec![Workload { inputs: vec![input.clone()], ..workload.clone() }];
    let mut search = Search { session: &session, good, workload, input, whole, walk };
    search.run(bad, &mut found)?;
    if let [RevisionView { commit: Some(commit), .. }] = &*found.suspects {
        let culprit = session.git.snapshot(commit)?;
        let parent = session.git.snapshot(&format!("{commit}~1"))?;
        session.note(&format!("did {} make it slower?", described(&culprit)));
        found.check = Some(session.check(&parent, &culprit)?);
    }
    Ok(found)
}

/// The workload and input that got slower by the largest part, and by how much.
fn slower(session: &Session<'_>, ends: &Check) -> Option<(Workload, String, f64)> {
    let part = |comparison: &&Comparison| {
        let diff = &comparison.compared()?.diff;
        let grown = diff.after.total.median - diff.before.total.median;
        (diff.verdict == Verdict::Regressed).then(|| grown / diff.before.total.median.max(1.0))
    };
    let most = (ends.comparisons.iter())
        .filter_map(|comparison| Some((part(&comparison)?, comparison)))
        .max_by(|a, b| a.0.total_cmp(&b.0))?
        .1;
    let workload = session.config.workloads.iter().find(|it| it.name == most.workload)?;
    let whole = grown(&most.compared()?.diff);
    Some((workload.clone(), most.input.clone().unwrap_or_default(), whole))
}

/// How much slower, in the metric's unit: what the suspects add up to, as totals also hold what the machine did. Without
/// suspects the total is all there is.
fn grown(diff: &Diff) -> f64 {
    let of_suspects: f64 = diff.suspects.iter().map(|suspect| suspect.delta.median).sum();
    if of_suspects > 0.0 { of_suspects } else { diff.after.total.median - diff.before.total.median }
}

struct Search<'a> {
    session: &'a Session<'a>,
    good: Snapshot,
    workload: Workload,
    input: String,
    /// How much slower the bad end is.
    whole: f64,
    walk: Walk,
}

impl Search<'_> {
    fn run(&mut self, mut bad: Snapshot, found: &mut Bisection) -> Result<(), Failure> {
        let end = bad.clone();
        let mut good = vec![self.good.commit.clone()];
        let mut skipped: Vec<String> = Vec::new();
        let mut innocent: Vec<String> = Vec::new();
        loop {
            let candidates = self.candidates(&bad, &good)?;
            for commit in &candidates {
                if !innocent.contains(commit) && self.is_innocent(commit)? {
                    innocent.push(commit.clone());
                    let revision = self.session.git.snapshot(commit)?;
                    let why = "it changes only documents".to_owned();
                    self.log(found, &revision, BisectState::Innocent, why);
                }
            }
            let open: Vec<&String> =
                candidates.iter().filter(|commit| !innocent.contains(commit)).collect();
            let next =
                open.iter().find(|commit| ***commit != bad.commit && !skipped.contains(**commit));
            // Nothing between, or one that alone can have done it.
            let (Some(next), false) = (next, open.len() == 1) else {
                for commit in open {
                    found.suspects.push(view(&self.session.git.snapshot(commit)?));
                }
                if found.suspects.is_empty() {
                    found.suspects.push(view(&bad));
                }
                return Ok(());
            };
            let revision = self.session.git.snapshot(next)?;
            self.session.note(&format!(
                "{} left, trying {}",
                counted(open.len() as u64, "commit", "commits"),
                described(&revision)
            ));
            let (state, why) = self.judge(&revision, &end)?;
            self.log(found, &revision, state, why);
            match state {
                BisectState::Good => good.push(revision.commit),
                BisectState::Bad => bad = revision,
                BisectState::Skipped | BisectState::Innocent => skipped.push(revision.commit),
            }
        }
    }

    /// Commits that may have done it, the best to try first.
    fn candidates(&self, bad: &Snapshot, good: &[String]) -> Result<Vec<String>, Failure> {
        let excluded: Vec<String> = good.iter().map(|commit| format!("^{commit}")).collect();
        let mut arguments = vec!["rev-list", "--bisect-all"];
        if self.walk == Walk::FirstParent {
            arguments.push("--first-parent");
        }
        arguments.push(&bad.commit);
        arguments.extend(excluded.iter().map(String::as_str));
        let text = self.session.git.run(&arguments)?;
        let commits = text.lines().filter_map(|line| line.split_whitespace().next());
        Ok(commits.map(str::to_owned).collect())
    }

    /// Whether a commit cannot matter: it has one parent, and changes only documents that nothing here names.
    fn is_innocent(&self, commit: &str) -> Result<bool, Failure> {
        let parents = self.session.git.run(&["rev-list", "--parents", "-1", commit])?;
        let parents: Vec<&str> = parents.split_whitespace().skip(1).collect();
        let [parent] = &*parents else { return Ok(false) };
        let files = self.session.git.changed_paths(parent, commit)?;
        let mut commands = self.workload.run.shown();
        commands.push_str(self.workload.build.as_deref().unwrap_or(""));
        commands.push_str(&self.input);
        let named = |file: &str| commands.contains(file.rsplit('/').next().unwrap_or(file));
        Ok(files.iter().all(|file| is_document(file) && !named(file)))
    }

    /// Good, bad, or not to be told.
    fn judge(&self, revision: &Snapshot, end: &Snapshot) -> Result<(BisectState, String), Failure> {
        for factor in [1, MORE_RUNS] {
            let decided = match self.compare(Sides::new(&self.good, revision), factor) {
                Ok(decided) => decided,
                Err(failure) if failure.cancelled => return Err(failure),
                Err(failure) => return Ok((BisectState::Skipped, failure.what)),
            };
            let diff = &decided.diff;
            let part = if self.whole > 0.0 { grown(diff) / self.whole } else { 0.0 };
            let percent = (part * 100.0).round();
            match diff.verdict {
                Verdict::Regressed if part >= MOST_OF_IT => {
                    let why =
                        format!("slower than the good commit, with {percent} % of the slowdown");
                    return Ok((BisectState::Bad, why));
                }
                Verdict::Regressed => {
                    let why =
                        format!("slower, but with only {:.0} % of the slowdown", percent.max(0.0));
                    return Ok((BisectState::Good, why));
                }
                Verdict::Unchanged | Verdict::Improved => {
                    return Ok((BisectState::Good, "as fast as the good commit".to_owned()));
                }
                Verdict::Inconclusive => {}
            }
            self.session
                .note("inconclusive against the good commit; comparing with the bad commit");
            let against_bad = match self.compare(Sides::new(revision, end), factor) {
                Ok(decided) => decided.diff.verdict,
                Err(failure) if failure.cancelled => return Err(failure),
                Err(failure) => return Ok((BisectState::Skipped, failure.what)),
            };
            match against_bad {
                Verdict::Regressed => {
                    return Ok((BisectState::Good, "the bad commit is slower".to_owned()));
                }
                Verdict::Unchanged => {
                    return Ok((BisectState::Bad, "as slow as the bad commit".to_owned()));
                }
                Verdict::Improved | Verdict::Inconclusive => {}
            }
        }
        Ok((BisectState::Skipped, "too noisy, even with twice the runs".to_owned()))
    }

    fn compare(&self, revisions: Sides<&Snapshot>, factor: u32) -> Result<Decided, Failure> {
        let workload = Workload {
            max_runs: self.workload.max_runs.saturating_mul(factor),
            budget: self.workload.budget.saturating_mul(factor),
            ..self.workload.clone()
        };
        let mut times = Times::default();
        let compared =
            self.session.compare(revisions, &workload, &self.input, 1.0, None, &mut times)?;
        Ok(compared.0)
    }

    fn log(&self, found: &mut Bisection, revision: &Snapshot, state: BisectState, why: String) {
        self.session.note(&format!("{} is {}: {why}", described(revision), state.name()));
        found.steps.push(BisectStep { revision: view(revision), state, why });
    }
}

/// Files that no program reads, as far as their names say: better one run too many than a culprit that got away.
fn is_document(file: &str) -> bool {
    const ENDS: [&str; 6] = ["md", "markdown", "rst", "adoc", "org", "mdx"];
    const NAMES: [&str; 10] = [
        "LICENSE",
        "LICENCE",
        "COPYING",
        "AUTHORS",
        "CONTRIBUTORS",
        "CODEOWNERS",
        "NOTICE",
        ".gitignore",
        ".mailmap",
        ".editorconfig",
    ];
    let name = file.rsplit('/').next().unwrap_or(file);
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    let stem = name.split(['-', '.']).next().unwrap_or(name);
    ENDS.iter().any(|known| end.eq_ignore_ascii_case(known))
        || NAMES.contains(&name)
        || (NAMES.contains(&stem) && !stem.is_empty())
        || file.starts_with(".github/")
}

#[cfg(test)]
mod tests {
    use super::is_document;

    #[test]
    fn documents_are_known_by_their_names() {
        for file in
            ["README.md", "docs/a.rst", "LICENSE", "LICENSE-MIT", ".github/workflows/ci.yml"]
        {
            assert!(is_document(file), "{file}");
        }
        for file in ["src/md.rs", "data.txt", "Makefile", "a.json", "license.c", "docs/conf.py"] {
            assert!(!is_document(file), "{file}");
        }
    }
}
