//! The plain way: subtract mean self times per function, sort. What a person does with two flat profiles.

use hashbrown::HashMap;
use perfblame_analysis::{FunctionView, Loaded, Sides, Verdict};
use perfblame_cct::{MetricId, RunSet};

use super::{Answer, Blamed, ONE_PERCENT};
use crate::program::{Key, first_metric, is_pseudo_frame};

/// What of the ranking is listed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Listed {
    /// Functions that grew by less than this part of the total before are left out.
    pub least: f64,
    /// No more than this.
    pub most: usize,
}

/// Functions by how much their mean self time grew, the largest first, each with its heaviest context. Regressed when
/// the mean total grew by at least 1 %.
pub fn answer(sides: &Sides<Loaded>, work: Option<Sides<f64>>, listed: Listed) -> Answer {
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
        .filter(|(grown, _)| *grown > 0.0 && *grown >= listed.least * total_before)
        .collect();
    grown.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let blamed = grown.into_iter().take(listed.most).map(|(_, row)| Blamed {
        function: after.keys[row].0.clone(),
        path: after.heaviest(&sides.after.runs, row),
        p_value: None,
    });
    let verdict = match total_after - total_before {
        change if change >= ONE_PERCENT * total_before => Verdict::Regressed,
        change if change <= -ONE_PERCENT * total_before => Verdict::Improved,
        _ => Verdict::Unchanged,
    };
    Answer { verdict, blamed: blamed.collect(), change: None }
}

struct Means {
    /// By function: how answers name it, and whether it is idle time, garbage collection or unknown.
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
    let metric = first_metric(set).unwrap_or_else(|| MetricId::new(0));
    let keys: Vec<(Key, bool)> = (set.symbols.functions())
        .map(|(id, function)| {
            let pseudo = is_pseudo_frame(set.symbols.name(id), function.layer);
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
