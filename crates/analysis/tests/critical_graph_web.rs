//! The critical graph of a recorded web regression, where the samples are at hand.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use perfblame_analysis::{
    Ask, CriticalGraph, Diff, DiffQuery, LoadOptions, Loaded, Method, Source, diff, load,
};
use perfblame_cct::Times;

/// The time lines of one side, or some of them.
fn side(folder: &str, runs: &[u32]) -> Option<Loaded> {
    let folder = perfblame_fixtures::recordings("corpus-web-sample")?.join(folder);
    let file = |run: &u32| Source::File(folder.join(format!("{run}.json.gz")));
    let sources: Vec<Source> = runs.iter().map(file).collect();
    let options = LoadOptions { times: Times::Keep, ..LoadOptions::default() };
    Some(load(&sources, options, &Ask::default()).unwrap())
}

fn compared(before: &Loaded, after: &Loaded) -> Diff {
    let query = DiffQuery { method: Method::CriticalGraph, ..DiffQuery::default() };
    diff(before, after, &query, &Ask::default()).unwrap()
}

fn causes(graph: &CriticalGraph) -> Vec<&str> {
    graph.nodes.iter().filter(|node| node.cause).map(|node| node.function.name.as_str()).collect()
}

#[test]
fn the_slowed_down_function_is_the_cause_in_a_pair_of_runs() {
    for run in [2, 3] {
        let (Some(before), Some(after)) = (side("old", &[run]), side("new", &[run])) else {
            return;
        };
        let diff = compared(&before, &after);
        assert_eq!(causes(&diff.graph.unwrap()), ["dummyFn"]);
        assert_eq!(diff.verdict.name(), "regressed");
    }
}

/// Functions of one name below one parent are told apart by their order alone, and in the first pair that goes wrong:
/// what all pairs have in common is the first part of the path, which the paper calls a partial path.
#[test]
fn all_pairs_together_have_a_part_of_the_path_to_it() {
    let (Some(before), Some(after)) = (side("old", &[1, 2, 3]), side("new", &[1, 2, 3])) else {
        return;
    };
    let (Some(one_before), Some(one_after)) = (side("old", &[2]), side("new", &[2])) else {
        return;
    };
    let path = |diff: Diff| -> Vec<String> {
        let graph = diff.graph.unwrap();
        assert_eq!(causes(&graph).len(), 1);
        graph.nodes.into_iter().map(|node| node.function.name).collect()
    };
    let (common, whole) =
        (path(compared(&before, &after)), path(compared(&one_before, &one_after)));
    assert!(common.len() > 10, "{common:?}");
    assert!(whole.starts_with(&common), "{common:?}");
}

#[test]
fn the_same_code_has_no_cause() {
    let splits: [(&[u32], &[u32]); 3] = [(&[1], &[2]), (&[2], &[3]), (&[1, 2], &[3, 1])];
    for (one, other) in splits {
        let (Some(before), Some(after)) = (side("old", one), side("old", other)) else { return };
        let diff = compared(&before, &after);
        assert_eq!(causes(&diff.graph.unwrap()), Vec::<&str>::new());
        assert_eq!(diff.verdict.name(), "unchanged");
    }
}
