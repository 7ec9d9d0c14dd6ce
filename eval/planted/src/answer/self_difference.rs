//! The plain way: subtract mean self times per function, sort. What a person does with two flat profiles.

use hashbrown::HashMap;
use perfblame_analysis::{FunctionView, Loaded, Sides, Verdict};
use perfblame_cct::{MetricId, RunSet};

use super::{Answer, Blamed, ONE_PERCENT};
use crate::program::Key;

/// Functions whose mean self time grew by at least 1 % of the total before, the largest first, each with the context
/// that grew most. Regressed when the mean total grew by at least 1 %.
pub fn answer(sides: &Sides<Loaded>, work: Option<Sides<f64>>) -> Answer {
    let work = work.unwrap_or(Sides::same(1.0));
    let before = means(&sides.before.runs, 1.0);
    let after = means(&sides.after.runs, work.before / work.after);
    let total = |side: &Means| {
        let own = side.keys.iter().zip(&side.own);
        own.filter(|((_, pseudo), _)| !pseudo).map(|(_, own)| own).sum::<f64>()
    };
    let (total_before, total_after) = (total(&before), total(&after));
    let mut known: HashMap<Key, f64> = HashMap::new();
    for (row, own) in before.own.iter().enumerate() {
        *known.entry(before.keys[row].0.clone()).or_insert(0.0) += own;
    }
    let mut grown: Vec<(f64, usize)> = (after.own.iter().enumerate())
        .filter(|(row, _)| !after.keys[*row].1)
        .map(|(row, own)| (own - known.get(&after.keys[row].0).copied().unwrap_or(0.0), row))
        .filter(|(grown, _)| *grown >= ONE_PERCENT * total_before)
        .collect();
    grown.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let blamed = grown.into_iter().map(|(_, row)| Blamed {
        function: after.keys[row].0.clone(),
        path: after.heaviest(&sides.after.runs, row),
    });
    let verdict = match total_after - total_before {
        change if change >= ONE_PERCENT * total_before => Verdict::Regressed,
        change if change <= -ONE_PERCENT * total_before => Verdict::Improved,
        _ => Verdict::Unchanged,
    };
    Answer { verdict, blamed: blamed.collect() }
}

struct Means {
    /// By function: how answers name it, and whether it is idle time or garbage collection.
    keys: Vec<(Key, bool)>,
    /// Mean self cost, by function.
    own: Vec<f64>,
    /// Mean self cost, by context.
    contexts: Vec<f64>,
}

impl Means {
    fn heaviest(&self, set: &RunSet, function: usize) -> Vec<Key> {
        let of = |node: &perfblame_cct::NodeId| {
            set.symbols.frame(set.tree.frame(*node)).function.index() == function
        };
        let heaviest = (set.tree.nodes().filter(of)).max_by(|a, b| {
            self.contexts[a.index()].total_cmp(&self.contexts[b.index()]).then(b.cmp(a))
        });
        let path = heaviest.map_or_else(Vec::new, |node| set.tree.path(node));
        let function = |node| set.symbols.frame(set.tree.frame(node)).function.index();
        path.into_iter().map(|node| self.keys[function(node)].0.clone()).collect()
    }
}

fn means(set: &RunSet, factor: f64) -> Means {
    let metric = (0..set.metrics.len())
        .map(MetricId::new)
        .find(|metric| set.runs.iter().any(|run| run.cells.total(*metric) != 0))
        .unwrap_or_else(|| MetricId::new(0));
    let keys: Vec<(Key, bool)> = (set.symbols.functions())
        .map(|(id, function)| {
            let pseudo = matches!(
                function.layer,
                perfblame_cct::Layer::Idle | perfblame_cct::Layer::GarbageCollection
            );
            (Key::of(&FunctionView::of(&set.symbols, id)), pseudo)
        })
        .collect();
    let mut contexts = vec![0.0; set.tree.len()];
    let each = factor / set.runs.len().max(1) as f64;
    for run in &set.runs {
        for (node, _, value) in run.cells.of(metric) {
            contexts[node.index()] += value as f64 * each;
        }
    }
    let mut own = vec![0.0; keys.len()];
    for node in set.tree.nodes() {
        own[set.symbols.frame(set.tree.frame(node)).function.index()] += contexts[node.index()];
    }
    Means { keys, own, contexts }
}
