//! A part of the runs of one side, still kept apart: some threads, some tasks, what one function does.
//!
//! Each step makes a new set of runs, since cutting a tree makes new ids; what to cut is decided over all runs together,
//! so that every run is cut alike.

use perfblame_cct::{
    Profile, RunSet, RunSetBuilder, ThreadId, function_totals, rooted_at, tasks, within,
};

use crate::find::find_function;
use crate::load::Loaded;
use crate::show::{ShowError, cells_on_threads, choose_metric, task_definitions, threads_named};

/// What part of the runs a question is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// Only threads whose name contains this, or whose role or id it is.
    pub thread: Option<String>,
    /// Only what belongs to tasks defined like this; as in [`ShowQuery`](crate::ShowQuery).
    pub tasks: Vec<String>,
    /// Only what this function does.
    pub root: Option<String>,
}

/// The part of loaded runs that was asked for; all of them when nothing was.
pub fn part_of(mut loaded: Loaded, part: &Part) -> Result<Loaded, ShowError> {
    if let Some(wanted) = &part.thread {
        let chosen = threads_named(&loaded.runs.symbols, &loaded.runs.threads, wanted)?;
        let is_chosen = |thread: Option<ThreadId>| {
            thread.is_some_and(|thread| chosen.get(thread.index()) == Some(&true))
        };
        let metrics = loaded.runs.metrics.len();
        for run in &mut loaded.runs.runs {
            run.cells = cells_on_threads(&run.cells, metrics, &chosen);
            if let Some(times) = &mut run.timeline {
                times.samples.retain(|sample| is_chosen(sample.thread));
                times.calls.retain(|call| is_chosen(call.thread));
            }
        }
    }
    if !part.tasks.is_empty() {
        let definitions = task_definitions(&loaded.runs.sum(), &part.tasks)?;
        loaded.runs = each_run(&loaded.runs, |run| {
            let found = tasks(run, &definitions);
            let names: Vec<&str> = found.names().iter().map(String::as_str).collect();
            within(run, &found.scope(&names))
        });
    }
    if let Some(wanted) = &part.root {
        let whole = loaded.runs.sum();
        let metric = choose_metric(&loaded.runs, None)?;
        let own = match metric {
            Some(metric) => whole.self_values(metric),
            None => vec![0; whole.tree.len()],
        };
        let functions = find_function(&whole, &function_totals(&whole, &own), wanted)?;
        loaded.runs = each_run(&loaded.runs, |run| rooted_at(run, &functions));
    }
    Ok(loaded)
}

fn each_run(runs: &RunSet, cut: impl Fn(&Profile) -> Profile) -> RunSet {
    let mut parts = RunSetBuilder::default();
    for run in (0..runs.runs.len()).filter_map(|run| runs.profile(run)) {
        parts.add(cut(&run));
    }
    parts.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_cct::{MetricId, dump, merge_runs};
    use perfblame_fixtures::profile;

    fn sides() -> Loaded {
        let runs = [
            profile(
                "main  main  main
                 serve serve log
                 parse .     write",
            ),
            profile(
                "main  main
                 serve serve
                 parse parse",
            ),
        ];
        Loaded {
            names: vec!["1".to_owned(), "2".to_owned()],
            runs: merge_runs(runs.into_iter().collect()),
        }
    }

    fn totals(loaded: &Loaded) -> Vec<i64> {
        loaded.runs.runs.iter().map(|run| run.cells.total(MetricId::new(0))).collect()
    }

    #[test]
    fn runs_stay_apart_when_cut_at_a_root_or_a_task() {
        let whole = part_of(sides(), &Part::default()).unwrap();
        assert_eq!(totals(&whole), [3, 2]);
        for part in [
            Part { root: Some("serve".to_owned()), ..Part::default() },
            Part { tasks: vec!["serve".to_owned()], ..Part::default() },
        ] {
            let served = part_of(sides(), &part).unwrap();
            assert_eq!(totals(&served), [2, 2]);
            assert_eq!(served.names.len(), served.runs.runs.len());
            assert!(!dump(&served.runs.sum()).contains("log"));
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let part = Part { root: Some("nowhere".to_owned()), ..Part::default() };
        assert_eq!(
            part_of(sides(), &part).unwrap_err().to_string(),
            "no function matches `nowhere`"
        );
    }
}
