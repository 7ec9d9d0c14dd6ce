//! Runs added one by one to a set.
//!
//! A sequential test looks at its runs again and again, and a server gets one more every minute. Neither should merge
//! all of them anew each time. So the builder keeps the union of the trees open: adding a run looks up its nodes, which
//! costs in proportion to that run, and drops the run's own symbols and tree. [`RunSetBuilder::finish`] sorts the union
//! into pre-order. A finished set can grow further: [`RunSetBuilder::from`] takes its rows over as they are. Nothing is
//! copied on the way but the values of runs whose nodes got other rows.

use crate::relabel::site_label;
use crate::union::{NthAlike, PlacedPart, Union, thread_index};
use crate::{Frame, Grain, Import, Metric, OpenNode, OpenTree, Profile, Run, RunSet, Unit};

/// Grows a [`RunSet`].
///
/// The set equals what [`merge_runs`](crate::merge_runs) makes of the same profiles in the same order, however often it
/// was finished on the way. There is one exception: when a run with a coarser grain joins a set that was finished
/// before, siblings can stand in another order.
#[derive(Debug, Default)]
pub struct RunSetBuilder {
    /// Symbols, threads and metrics of all runs; tree and runs as of the last time it was finished.
    set: RunSet,
    union: Union,
    /// The coarsest grain so far.
    grain: Option<Grain>,
    /// The set has one run, whose symbols and tree are still its own.
    is_alone: bool,
    /// Where nodes, threads and metrics of the set's own runs went.
    placed: PlacedPart,
    /// Runs that came since, with values over their own nodes, threads and metrics.
    unplaced: Vec<(PlacedPart, Run)>,
}

impl RunSetBuilder {
    /// A builder that knows the coarsest grain of all runs to come.
    pub(crate) fn with_grain(grain: Option<Grain>) -> Self {
        Self { grain, ..Self::default() }
    }

    /// How many runs there are.
    pub fn len(&self) -> usize {
        self.set.runs.len() + self.unplaced.len()
    }

    /// True before the first run.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a run. Threads, metrics and grains are united as [`merge_runs`](crate::merge_runs) says.
    pub fn add(&mut self, profile: Profile) {
        let own = profile.tree.grain();
        let grain = self.grain.map_or(own, |coarsest| coarsest.min(own));
        self.grain = Some(grain);
        if self.is_empty() {
            // The usual case, one file: nothing to look up.
            if !profile.metrics.iter().any(is_convertible) {
                self.set = only_run(profile);
                self.is_alone = true;
                return;
            }
            self.union.grain = grain;
        } else if self.is_alone {
            self.is_alone = false;
            self.union.grain = grain;
            if let Some(first) = only_profile(std::mem::take(&mut self.set)) {
                self.unite(first);
            }
        } else if grain < self.union.grain {
            self.coarsen(grain);
        }
        self.unite(profile);
    }

    fn unite(&mut self, profile: Profile) {
        let mut alike = NthAlike::default();
        let part = self.union.add(&mut self.set, &profile, |thread| alike.identity(thread));
        let periods = part.periods(&profile, self.set.metrics.len());
        let Profile { cells, samples, timeline, info, warnings, .. } = profile;
        self.unplaced.push((part, Run { info, cells, samples, periods, timeline, warnings }));
    }

    /// Sorts into pre-order and hands out the set.
    pub fn finish(self) -> RunSet {
        let Self { mut set, union, placed, unplaced, .. } = self;
        if unplaced.is_empty() {
            return set;
        }
        let grew = union.tree.len() != set.tree.len() || union.grain != set.tree.grain();
        let (tree, placement) = union.tree.freeze(union.grain);
        set.tree = tree;
        let place = |part: &PlacedPart, run: Run| Run {
            cells: part.cells(&run.cells, &placement, &set.metrics),
            timeline: run.timeline.map(|times| part.times(&times, &placement, &set.metrics)),
            periods: {
                let mut periods = run.periods;
                periods.resize(set.metrics.len(), None);
                periods
            },
            ..run
        };
        let mut runs = std::mem::take(&mut set.runs);
        if grew || !placed.fits(&set.metrics) {
            runs = runs.into_iter().map(|run| place(&placed, run)).collect();
        }
        runs.extend(unplaced.into_iter().map(|(part, run)| place(&part, run)));
        set.runs = runs;
        set
    }

    /// Makes the union coarser, for a run that knows less of its frames. This is rare, as mostly one profiler records
    /// all runs.
    fn coarsen(&mut self, grain: Grain) {
        let Self { set, union, placed, unplaced, .. } = self;
        let open = std::mem::take(&mut union.tree);
        let symbols = std::mem::take(&mut set.symbols);
        let mut import = Import::new(&symbols);
        let frame = |node: OpenNode| symbols.frame(open.label(node));
        let mut image: Vec<OpenNode> = Vec::with_capacity(open.len());
        for row in 0..open.len() {
            let node = OpenNode::new(row);
            let caller = open.parent(node);
            let label = site_label((union.grain, grain), frame(node), caller.map(frame));
            let function = import.function(&mut set.symbols, label.function);
            let label = set.symbols.intern_frame(Frame { function, ..label });
            let above = caller.map(|caller| image[caller.index()]);
            image.push(union.tree.child(above, label));
        }
        for thread in &mut set.threads {
            *thread = import.thread(&mut set.symbols, *thread);
        }
        union.thread_index = thread_index(&set.threads);
        union.grain = grain;
        placed.follow(&image);
        for (part, _) in unplaced {
            part.follow(&image);
        }
    }
}

impl From<RunSet> for RunSetBuilder {
    /// Goes on with a finished set.
    fn from(set: RunSet) -> Self {
        let grain = set.tree.grain();
        let is_alone = set.runs.len() == 1;
        let mut builder = Self { grain: Some(grain), is_alone, ..Self::default() };
        if set.runs.is_empty() {
            return Self::default();
        }
        if !is_alone {
            builder.union = Union {
                grain,
                tree: OpenTree::from(&set.tree),
                thread_index: thread_index(&set.threads),
            };
            builder.placed = PlacedPart::unmoved(&set);
        }
        builder.set = set;
        builder
    }
}

fn is_convertible(metric: &Metric) -> bool {
    matches!(metric.unit, Unit::Other(_))
}

fn only_run(profile: Profile) -> RunSet {
    let run = Run {
        info: profile.info,
        cells: profile.cells,
        samples: profile.samples,
        periods: profile.metrics.iter().map(|metric| metric.period).collect(),
        timeline: profile.timeline,
        warnings: profile.warnings,
    };
    let Profile { symbols, threads, metrics, tree, .. } = profile;
    RunSet { symbols, threads, metrics, tree, runs: vec![run] }
}

/// The inverse of [`only_run`].
fn only_profile(set: RunSet) -> Option<Profile> {
    let RunSet { symbols, threads, mut metrics, tree, mut runs } = set;
    let Run { info, cells, samples, periods, timeline, warnings } = runs.pop()?;
    for (metric, period) in metrics.iter_mut().zip(periods) {
        metric.period = period;
    }
    Some(Profile { symbols, threads, metrics, tree, cells, samples, timeline, info, warnings })
}
