//! Real profiles: two versions of one library, and one profile under other names.

use std::path::{Path, PathBuf};

use perfblame_cct::{MetricId, NodeId, Profile, RunSet, map_labels, merge_runs};
use perfblame_fixtures::corpus;
use perfblame_matching::{Identity, Matching, Side, match_anchored, match_by_key};
use perfblame_readers::{Input, ReadOptions, read};

fn load(path: &Path) -> Profile {
    let input = Input::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    read(input, &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn folder(path: &Path) -> RunSet {
    let mut files: Vec<PathBuf> =
        path.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    merge_runs(files.iter().map(|path| load(path)).collect())
}

/// Self weights of the first metric that has any, all runs added up.
fn weights(set: &RunSet) -> Vec<i64> {
    let metrics = (0..set.metrics.len()).map(MetricId::new);
    let total = |metric| set.runs.iter().map(|run| run.cells.total(metric)).sum::<i64>();
    let metric = metrics.into_iter().find(|metric| total(*metric) != 0).unwrap();
    let mut weights = vec![0; set.tree.len()];
    for run in &set.runs {
        for (node, _, value) in run.cells.of(metric) {
            weights[node.index()] += value;
        }
    }
    weights
}

/// How much of the after side has a partner: contexts and weight, of those that `wanted` is true for.
fn matched(side: &Side<'_>, matching: &Matching, wanted: impl Fn(NodeId) -> bool) -> String {
    let nodes: Vec<NodeId> = side.tree.nodes().filter(|node| wanted(*node)).collect();
    let of = |nodes: &mut dyn Iterator<Item = &NodeId>| {
        nodes.fold((0, 0), |(count, sum), node| (count + 1, sum + side.weights[node.index()]))
    };
    let (all, whole) = of(&mut nodes.iter());
    let (found, weight) = of(&mut nodes.iter().filter(|node| matching.before(**node).is_some()));
    let percent = |part: i64, whole: i64| part as f64 * 100.0 / whole.max(1) as f64;
    format!(
        "{found} of {all} contexts ({:.1} %), {:.1} % of weight",
        percent(found, all),
        percent(weight, whole)
    )
}

#[test]
fn two_versions_of_a_library() {
    let Some(sample) = corpus().map(|corpus| corpus.with_file_name("corpus-web-sample")) else {
        return;
    };
    let (old, new) = (folder(&sample.join("old")), folder(&sample.join("new")));
    let (old_weights, new_weights) = (weights(&old), weights(&new));
    let before = Side { symbols: &old.symbols, tree: &old.tree, weights: &old_weights };
    let after = Side { symbols: &new.symbols, tree: &new.tree, weights: &new_weights };
    let by_name = Identity::by_name(&before, &after);
    let exact = match_by_key(&before, &after, &by_name);
    let identity = Identity::of(&before, &after);
    let anchored = match_anchored(&before, &after, &identity);
    let is_anonymous = |node| after.symbols.name(after.function_of(node)).is_empty();
    for (what, matching) in [("by name", &exact), ("anchored", &anchored)] {
        println!("{what}: {}", matched(&after, matching, |_| true));
        println!("{what}, anonymous: {}", matched(&after, matching, is_anonymous));
    }
    for found in &identity.matches {
        let (was, is) =
            (before.symbols.function(found.before), after.symbols.function(found.after));
        println!(
            "{} {:?}:{:?} -> {} {:?} {} [{:?}]",
            before.symbols.name(found.before),
            was.line,
            was.column,
            after.symbols.name(found.after),
            is.line,
            found.reason(before.symbols, after.symbols),
            after.symbols.component(found.after)
        );
    }
    for side in 0..2 {
        let s = [&before, &after][side];
        for (id, f) in s.symbols.functions() {
            let class = if side == 0 { identity.before(id) } else { identity.after(id) };
            let other = [&after, &before][side];
            let has = other.symbols.functions().any(|(o, _)| {
                class == if side == 0 { identity.after(o) } else { identity.before(o) }
            });
            if !has {
                println!(
                    "open {side}: {} {:?} {:?}",
                    s.symbols.name(id),
                    f.line,
                    s.symbols.component(id)
                );
            }
        }
    }
}
