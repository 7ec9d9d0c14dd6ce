//! What is measured of two releases that were run with one input.
//!
//! The paper compares one run of each revision; so do all figures here that stand beside one of its. Overlaps of
//! two runs of the release after are its threshold (section 3.4).

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use perfblame_analysis::{
    Ask, DiffQuery, LoadOptions, Loaded, Method, Source, StageReason, Stages, diff, load,
};
use perfblame_blame::share_overlap;
use perfblame_cct::{Grain, NodeId, RunSet, Sides};
use perfblame_matching::{Identity, SideTree, common_tree, match_strict, matching_score};
use serde::{Deserialize, Serialize};

use crate::attribution::{Attribution, attribution};
use crate::code::Code;
use crate::stored_sides;

/// One input of one program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Sizes of the trees with call sites, before and after.
    #[serde(with = "stored_sides")]
    pub nodes: Sides<usize>,
    /// The same without call sites.
    #[serde(with = "stored_sides")]
    pub nodes_without_sites: Sides<usize>,
    /// Average depth of the stack, weighted by time.
    #[serde(with = "stored_sides")]
    pub depth: Sides<f64>,
    /// Time in the counted packages, in seconds.
    #[serde(with = "stored_sides")]
    pub time: Sides<f64>,
    /// Calls.
    #[serde(with = "stored_sides")]
    pub calls: Sides<f64>,
    /// The staged comparison of trees with call sites.
    pub staged: Taken,
    /// The same of trees without them.
    pub without_sites: Taken,
    /// The score of strict matching, without stages.
    pub strict: f64,
    /// The strict common tree's part of the nodes before.
    #[serde(default)]
    pub strict_share: f64,
    /// Two runs of the release after.
    pub same: Option<Taken>,
    /// What weight matching did, with the threshold from two runs of the release after.
    pub weights: Option<Weights>,
    /// How well section 3.5 finds the change, as far as the code tells.
    pub attribution: Attribution,
    /// Seconds to read both profiles, and to compare them with call sites.
    pub seconds: [f64; 2],
    /// Contexts that the profiler did not keep apart.
    pub not_kept: u64,
    pub warnings: Vec<String>,
}

/// A comparison by stages: a row of table 4, and what figures 7 and 8 show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    pub common: usize,
    /// The common tree's part of the nodes before and after.
    #[serde(with = "stored_sides")]
    pub shares: Sides<f64>,
    /// Subtrees and nodes.
    pub deleted: (usize, usize),
    pub added: (usize, usize),
    pub modified: (usize, usize),
    pub side_effects: (usize, usize),
    /// Overlaps of calls, mean time, total time.
    pub calls: Option<f64>,
    pub mean: Option<f64>,
    pub total: Option<f64>,
    pub score: f64,
}

impl Taken {
    /// The score without times, which say little on a busy machine: the overlap of calls and both shares.
    pub fn score_of_calls(&self) -> f64 {
        self.calls.unwrap_or(0.0) * self.shares.before * self.shares.after * 100.0
    }

    /// Nodes of both trees that are not in common.
    pub fn removed(&self) -> usize {
        self.deleted.1 + self.added.1 + self.modified.1 + self.side_effects.1
    }
}

/// Weight matching on the common tree, by total time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    pub threshold: f64,
    pub overlap: f64,
    pub adjusted: usize,
    /// The list is full: more pairs would be needed.
    pub full: bool,
    pub overlap_after: f64,
    /// The first pairs, as the method's name with the shares before and after.
    pub first: Vec<(String, f64, f64)>,
    /// Side effects that all runs of their side have, that only some have, and that one run cannot tell apart.
    pub side_effects: [usize; 3],
}

/// Compares runs of two releases. The first of each side is what the paper compares.
pub fn compare(before: &[PathBuf], after: &[PathBuf], code: &Code) -> Result<Compared> {
    let (Some(first_before), Some(first_after)) = (before.first(), after.first()) else {
        bail!("a side has no runs");
    };
    let started = Instant::now();
    let old = read(&[first_before], Grain::CallSites)?;
    let new = read(&[first_after], Grain::CallSites)?;
    let reading = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let stages = by_stages(&old, &new, code)?;
    let comparing = started.elapsed().as_secs_f64();
    let mut compared = measured(&old, &new);
    compared.seconds = [reading, comparing];
    compared.staged = Taken::of(&stages);
    compared.attribution = attribution(&stages, code);
    (compared.strict, compared.strict_share) = strict_score(&old.runs, &new.runs);
    let first = Sides::new(first_before, first_after);
    let bare = Sides::try_of(|side| read(&[first[side]], Grain::Functions))?;
    compared.nodes_without_sites = bare.as_ref().map(|side| side.runs.tree.len());
    compared.without_sites = Taken::of(&by_stages(&bare.before, &bare.after, code)?);
    drop(bare);
    if let [_, second, ..] = after {
        let again = read(&[second], Grain::CallSites)?;
        let unchanged = Code::default();
        compared.same = Some(Taken::of(&by_stages(&new, &again, &unchanged)?));
        drop((old, new, again));
        let old = read(&before.iter().collect::<Vec<_>>(), Grain::CallSites)?;
        let new = read(&after.iter().collect::<Vec<_>>(), Grain::CallSites)?;
        compared.weights = Some(Weights::of(&by_stages(&old, &new, code)?));
    }
    Ok(compared)
}

fn read(paths: &[&PathBuf], grain: Grain) -> Result<Loaded> {
    let sources: Vec<Source> = paths.iter().map(|path| Source::File((*path).clone())).collect();
    let options = LoadOptions { grain, ..LoadOptions::default() };
    Ok(load(&sources, options, &Ask::default())?)
}

/// The product's own answer.
pub fn by_stages(before: &Loaded, after: &Loaded, code: &Code) -> Result<Stages> {
    let query = DiffQuery {
        method: Method::Stages,
        changes: Some(code.changes.clone()),
        ..DiffQuery::default()
    };
    let Some(stages) = diff(before, after, &query, &Ask::default())?.stages else {
        bail!("no stages in the answer")
    };
    Ok(stages)
}

/// Sizes and totals of the first runs.
pub fn measured(before: &Loaded, after: &Loaded) -> Compared {
    let sides = Sides::new(&before.runs, &after.runs);
    let warnings = sides.iter().flat_map(|set| &set.runs).flat_map(|run| &run.warnings);
    let texts = warnings.clone().map(|warning| format!("{} ({})", warning.message, warning.count));
    let not_kept = warnings.map(|warning| warning.count).sum();
    let total = |set: &RunSet, name: &str| {
        let id = set.metric(name);
        id.map_or(0.0, |id| set.runs.iter().map(|run| run.cells.total(id) as f64).sum())
    };
    Compared {
        nodes: sides.map(|set| set.tree.len()),
        depth: sides.map(average_depth),
        time: sides.map(|set| total(set, TIME) / 1e9),
        calls: sides.map(|set| total(set, CALLS)),
        not_kept,
        warnings: texts.collect(),
        ..Compared::default()
    }
}

/// The metrics that the profiler counts.
const TIME: &str = "wall";
const CALLS: &str = "calls";

/// How deep the stack is on average over time; a root is 1 deep.
fn average_depth(set: &RunSet) -> f64 {
    let own = weights(set, TIME);
    let depths = set.tree.depths();
    let (mut sum, mut all) = (0.0, 0.0);
    for (depth, own) in depths.iter().zip(&own) {
        sum += (f64::from(*depth) + 1.0) * *own as f64;
        all += *own as f64;
    }
    if all > 0.0 { sum / all } else { 0.0 }
}

/// Self values of all nodes, of all runs together.
fn weights(set: &RunSet, metric: &str) -> Vec<i64> {
    let mut weights = vec![0i64; set.tree.len()];
    let Some(id) = set.metric(metric) else { return weights };
    for run in &set.runs {
        for (node, _, value) in run.cells.of(id) {
            weights[node.index()] = weights[node.index()].saturating_add(value);
        }
    }
    weights
}

/// The score of definition 1, which figure 9 holds the relaxed one against, and the common tree's part of the nodes
/// before.
pub fn strict_score(before: &RunSet, after: &RunSet) -> (f64, f64) {
    let sets = Sides { before, after };
    let time = sets.map(|set| weights(set, TIME));
    let calls = sets.map(|set| weights(set, CALLS));
    let before = SideTree { symbols: &before.symbols, tree: &before.tree, weights: &time.before };
    let after = SideTree { symbols: &after.symbols, tree: &after.tree, weights: &time.after };
    let identity = Identity::by_signature(&before, &after, &[]);
    let matching = match_strict(&before, &after, &identity);
    let mut pairs: [Vec<(f64, f64)>; 3] = Default::default();
    for row in 0..after.tree.len() {
        let Some(old) = matching.before(NodeId::new(row)) else { continue };
        let of = |columns: &Sides<Vec<i64>>| {
            (columns.before[old.index()].max(0) as f64, columns.after[row].max(0) as f64)
        };
        let (count, total) = (of(&calls), of(&time));
        let mean = |total: f64, count: f64| if count > 0.0 { total / count } else { 0.0 };
        pairs[0].push(count);
        pairs[1].push((mean(total.0, count.0), mean(total.1, count.1)));
        pairs[2].push(total);
    }
    let overlaps: Vec<f64> = pairs.iter().filter_map(|pairs| share_overlap(pairs)).collect();
    let common = common_tree(&matching);
    (matching_score(&overlaps, &common), common.share_before)
}

impl Taken {
    fn of(stages: &Stages) -> Self {
        let overlap = |name: &str| {
            stages.overlaps.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
        };
        let size = |part: &perfblame_analysis::StagePart| (part.total.subtrees, part.total.nodes);
        Self {
            common: stages.common.nodes,
            shares: Sides::new(stages.share_before, stages.share_after),
            deleted: size(&stages.deleted),
            added: size(&stages.added),
            modified: size(&stages.modified),
            side_effects: size(&stages.side_effects),
            calls: overlap("calls"),
            mean: overlap("mean"),
            total: overlap("total"),
            score: stages.score,
        }
    }
}

impl Weights {
    fn of(stages: &Stages) -> Self {
        let total = stages.overlaps.iter().find(|(name, _)| *name == "total");
        let overlap = total.map_or(0.0, |(_, value)| *value);
        let overlap_after = stages.adjusted.unwrap_or(overlap);
        let name = |path: &[perfblame_analysis::FunctionView]| {
            path.last().map(|function| function.name.clone()).unwrap_or_default()
        };
        let first = stages.weights.iter().take(3);
        let mut side_effects = [0; 3];
        for subtree in &stages.side_effects.subtrees {
            match subtree.reason {
                StageReason::SideEffect => side_effects[0] += 1,
                StageReason::NonDeterminism => side_effects[1] += 1,
                _ => side_effects[2] += 1,
            }
        }
        Self {
            threshold: stages.threshold.overlap,
            overlap,
            adjusted: stages.weights.len(),
            full: overlap_after < stages.threshold.overlap,
            overlap_after,
            first: first.map(|row| (name(&row.path), row.share_before, row.share_after)).collect(),
            side_effects,
        }
    }
}
