//! The critical graph of `[zam]`: the calls that got slower, from the root down to the lowest ones, the *causes*.
//!
//! | the paper | here |
//! |---|---|
//! | execution timeline *T*, definition 1 | a tree of calls with times, one for each run, in `timeline.rs` |
//! | µ | [`LeastDelta`] |
//! | performance regression-cause, definition 2 | a node with `cause` |
//! | critical graph, definition 3 | [`CriticalGraph`] |
//! | algorithm 1, `compareTimelinePairs`, `pruneTree` | [`critical_graph`], `timeline.rs` |
//! | algorithm 2, `findCriticalGraph` | `compare` |
//! | algorithm 3, `findMatchingNodes` | [`match_levels`] and `compare` |
//! | aggregation, section 3.2 | `aggregate.rs` |
//!
//! Where we depart, and why:
//! - Algorithm 3 gives up on order after ten seconds; here the amount of work decides, so that the answer is the same on
//!   every machine.
//! - Definition 2 wants the root slower by µ as well, algorithm 2 never looks at it. We do as the algorithm: a regression
//!   that something else made up for is still found.
//! - The tool kept the engine's markers `(program)`, `(idle)` and `(garbage collector)` as if they were functions, which
//!   gave most of its false alarms; here they are left out unless asked for, see [`Markers`].
//! - The tool wants as many runs before as after; here as many are paired as there are, and what is left over is counted.
//! - Threads other than the main one are roots of their own, below a node named by their role: the paper mentions that
//!   its tool has such a thing and does not say how.

mod aggregate;
mod roles;
mod timeline;

use std::borrow::Cow;

use perfblame_cct::{Cct, FrameId, FunctionId, MetricId, NodeId, RunSet, Sides, Symbols};
use perfblame_matching::{Identity, Level, SideTree, Wanted, match_by_key, match_levels};

use aggregate::SlowCalls;
use roles::Roles;
use timeline::Timeliner;

/// The runs of one side.
#[derive(Clone, Copy, Debug)]
pub struct Timelines<'a> {
    /// The runs over one tree.
    pub runs: &'a RunSet,
    /// Which of their metrics is compared.
    pub metric: MetricId,
    /// What the values of each run are multiplied with; 1 for runs beyond its end.
    pub scale: &'a [f64],
}

impl Timelines<'_> {
    fn scale_of(&self, run: usize) -> f64 {
        self.scale.get(run).copied().unwrap_or(1.0)
    }
}

/// The least difference that counts, µ in the paper. Nothing at or below zero does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LeastDelta {
    /// In the metric's unit.
    Absolute(f64),
    /// A part of the mean total before: 0.02 is 2 %.
    Share(f64),
}

/// What becomes of the engine's markers `(program)`, `(idle)` and `(garbage collector)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Markers {
    /// They are no functions: outside of all functions their time does not count, inside of one it is the function's.
    #[default]
    LeftOut,
    /// They are calls like any other, as the paper's tool has it.
    Kept,
}

/// How to compare.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CriticalOptions {
    /// The least difference that counts.
    pub least: LeastDelta,
    /// What becomes of markers.
    pub markers: Markers,
}

/// The calls that got slower in every pair of runs: a tree whose leaves are the causes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CriticalGraph {
    /// Parents first; the first is the root.
    pub nodes: Vec<CriticalNode>,
    /// The least difference that counted.
    pub least: f64,
    /// How many pairs of runs were compared.
    pub pairs: usize,
    /// Calls without a name or with one letter that were handed to their callers, all runs together.
    pub pruned: usize,
    /// Levels of all pairs whose calls were matched in order.
    pub ordered: usize,
    /// Levels whose calls differed too much for that and were matched by key.
    pub too_different: usize,
    /// Thread roles that stand together in one node, as there are too many of them.
    pub roles_together: usize,
}

/// A call that got slower, with means over the pairs of runs.
#[derive(Clone, PartialEq, Debug)]
pub struct CriticalNode {
    /// The caller's row.
    pub parent: Option<usize>,
    /// What was called.
    pub call: Call,
    /// Mean time before, a run where it was not called counting as none; absent when no run has a partner for it.
    pub before: Option<f64>,
    /// Mean time after.
    pub after: f64,
    /// Nothing below it explains it.
    pub cause: bool,
}

/// What a node of the graph stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// Everything.
    Root,
    /// All threads of a role.
    Thread(String),
    /// A function of the after side.
    Function(FunctionId),
}

/// The critical graph of two sides: run by run, each with the run of the same number, then what all pairs have in common.
/// Once nobody waits for the answer, it ends with one that is not complete.
pub fn critical_graph(
    before: &Timelines<'_>,
    after: &Timelines<'_>,
    options: &CriticalOptions,
    wanted: Wanted<'_>,
) -> CriticalGraph {
    let pairs = before.runs.runs.len().min(after.runs.runs.len());
    let roles = Roles::of(before, after, pairs);
    let (mut symbols_before, mut symbols_after) =
        (Cow::Borrowed(&before.runs.symbols), Cow::Borrowed(&after.runs.symbols));
    let frames_before = roles.frames(&roles.before, &mut symbols_before);
    let frames_after = roles.frames(&roles.after, &mut symbols_after);
    let mut old = Timeliner::new(before, &roles.before, &frames_before, options.markers);
    let mut new = Timeliner::new(after, &roles.after, &frames_after, options.markers);
    let mean = |sum: f64| sum / pairs.max(1) as f64;
    let least = match options.least {
        LeastDelta::Absolute(least) => least,
        LeastDelta::Share(share) => share * mean((0..pairs).map(|run| old.total(run)).sum()),
    };
    let mut graph = CriticalGraph {
        // Not a number, nothing and less count as the least there is: any slowdown.
        least: if least > 0.0 { least } else { f64::MIN_POSITIVE },
        pairs,
        roles_together: roles.together,
        ..CriticalGraph::default()
    };
    let nowhere = Cct::default();
    let identity =
        Identity::by_name(&side(&symbols_before, &nowhere), &side(&symbols_after, &nowhere));
    let own_side = side(&symbols_after, &nowhere);
    let mut among_after: Option<Identity> = None;
    let mut common: Option<SlowCalls> = None;
    let (mut total_before, mut total_after) = (0.0, 0.0);
    for run in (0..pairs).take_while(|_| wanted.goes_on()) {
        let (timeline_before, timeline_after) = (old.timeline(run), new.timeline(run));
        total_before += timeline_before.total;
        total_after += timeline_after.total;
        let slow = compare(
            &side(&symbols_before, &timeline_before.tree),
            &side(&symbols_after, &timeline_after.tree),
            Sides { before: &timeline_before.time, after: &timeline_after.time },
            &identity,
            after.runs.symbols.functions().len(),
            wanted,
            &mut graph,
        );
        common = Some(match common {
            None => slow,
            Some(common) => {
                let (sum, next) =
                    (side(&symbols_after, &common.tree), side(&symbols_after, &slow.tree));
                let identity =
                    among_after.get_or_insert_with(|| Identity::by_name(&own_side, &own_side));
                let matching = match_by_key(&sum, &next, identity);
                common.in_common(&slow, &matching)
            }
        });
    }
    graph.pruned = old.pruned + new.pruned;
    graph.nodes.push(CriticalNode {
        parent: None,
        call: Call::Root,
        before: Some(mean(total_before)),
        after: mean(total_after),
        cause: false,
    });
    let common = common.unwrap_or_default();
    for node in common.tree.nodes() {
        let function = symbols_after.frame(common.tree.frame(node)).function;
        let call = match after.runs.symbols.functions().len() {
            known if function.index() < known => Call::Function(function),
            _ => Call::Thread(symbols_after.name(function).to_owned()),
        };
        graph.nodes.push(CriticalNode {
            parent: Some(common.tree.parent(node).map_or(0, |parent| parent.index() + 1)),
            call,
            before: common.before[node.index()].map(mean),
            after: mean(common.after[node.index()]),
            cause: common.tree.subtree(node).len() == 1,
        });
    }
    graph
}

fn side<'a>(symbols: &'a Symbols, tree: &'a Cct) -> SideTree<'a> {
    SideTree { symbols, tree, weights: &[] }
}

/// Algorithm 2 for one pair of runs, without its recursion. Functions from `threads` on stand for threads.
fn compare(
    before: &SideTree<'_>,
    after: &SideTree<'_>,
    times: Sides<&[f64]>,
    identity: &Identity,
    threads: usize,
    wanted: Wanted<'_>,
    graph: &mut CriticalGraph,
) -> SlowCalls {
    let least = graph.least;
    let (mut step, mut ended) = (0, false);
    let mut ends = || {
        step += 1;
        ended |= wanted.ends_at(step);
        ended
    };
    let levels = match_levels(before, after, identity, |partners| match partners {
        _ if ends() => Level::Skipped,
        // Which event comes first is chance, and so is which message a worker gets first.
        None => Level::Keyed,
        Some((old, new)) if times.after[new.index()] - times.before[old.index()] < least => {
            Level::Skipped
        }
        Some((_, new)) if after.function_of(new).index() >= threads => Level::Keyed,
        Some(_) => Level::Ordered,
    });
    graph.ordered += levels.ordered;
    graph.too_different += levels.too_different;
    let mut slow = SlowCalls::default();
    let (mut parents, mut frames): (Vec<Option<NodeId>>, Vec<FrameId>) = (Vec::new(), Vec::new());
    // Slow calls above the row at hand: where they end and their own row.
    let mut above: Vec<(usize, NodeId)> = Vec::new();
    let mut row = 0;
    while row < after.tree.len() {
        let node = NodeId::new(row);
        let partner = levels.matching.before(node);
        let time = times.after[row];
        let time_before = partner.map(|partner| times.before[partner.index()]);
        let end = after.tree.subtree(node).end;
        if time - time_before.unwrap_or(0.0) < least {
            row = end;
            continue;
        }
        while above.last().is_some_and(|(end, _)| *end <= row) {
            above.pop();
        }
        parents.push(above.last().map(|(_, parent)| *parent));
        above.push((end, NodeId::new(frames.len())));
        frames.push(after.tree.frame(node));
        slow.before.push(time_before);
        slow.after.push(time);
        // A call without a partner is a cause, whatever it calls.
        row = if partner.is_some() { row + 1 } else { end };
    }
    slow.tree = Cct::from_preorder(after.tree.grain(), parents, frames);
    slow
}

#[cfg(test)]
mod tests;
