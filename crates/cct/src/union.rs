//! The union of several profiles' symbols, threads, metrics and trees: what [`merge`](crate::merge) and
//! [`merge_runs`](crate::merge_runs) have in common.

use hashbrown::HashMap;

use crate::import::Import;
use crate::relabel::site_label;
use crate::{
    Cells, FrameId, Grain, Measure, Metric, MetricId, NodeId, OpenNode, OpenTree, Placement,
    Profile, Symbols, Thread, ThreadId, TimedCall, TimedSample, Timeline, Unit,
};

/// Grows as profiles are added.
#[derive(Default)]
pub(crate) struct Union {
    pub(crate) grain: Grain,
    pub(crate) symbols: Symbols,
    pub(crate) threads: Vec<Thread>,
    thread_index: HashMap<(Thread, usize), ThreadId>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) tree: OpenTree,
}

/// Where the nodes, threads and metrics of one profile went.
pub(crate) struct Part {
    image: Vec<OpenNode>,
    threads: Vec<ThreadId>,
    /// The union's metric, what one of the profile's unit is in the union's, and the profile's decimals.
    metrics: Vec<(MetricId, i64, u8)>,
}

impl Union {
    /// A union whose tree will have the coarsest of the grains.
    pub(crate) fn of<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Self {
        let grain = profiles.into_iter().map(|profile| profile.tree.grain()).min();
        Self { grain: grain.unwrap_or_default(), ..Self::default() }
    }

    /// Adds a profile. Two threads are one when `identity` is equal; it is asked in the order of process and thread
    /// ids.
    pub(crate) fn add(
        &mut self,
        profile: &Profile,
        mut identity: impl FnMut(Thread) -> (Thread, usize),
    ) -> Part {
        if self.tree.is_empty() {
            self.symbols.reserve_for(&profile.symbols);
        }
        let mut import = Import::new(&profile.symbols);
        let mut image: Vec<OpenNode> = Vec::with_capacity(profile.tree.len());
        // The node that was found last among those that other profiles had.
        let known = self.tree.len();
        let mut last = OpenNode::new(0);
        for node in profile.tree.nodes() {
            let above = profile.tree.parent(node).map(|parent| image[parent.index()]);
            let label = self.label(profile, &mut import, node);
            let place = self.tree.child_after(last, above, label);
            if place.index() < known {
                last = place;
            }
            image.push(place);
        }
        let mut order: Vec<usize> = (0..profile.threads.len()).collect();
        order.sort_by_key(|row| (profile.threads[*row].pid, profile.threads[*row].tid, *row));
        let mut threads = vec![ThreadId::new(0); profile.threads.len()];
        for row in order {
            let thread = import.thread(&mut self.symbols, profile.threads[row]);
            threads[row] = self.thread(identity(thread), thread);
        }
        let metrics = profile.metrics.iter().map(|metric| self.metric(metric)).collect();
        Part { image, threads, metrics }
    }

    fn label(&mut self, profile: &Profile, import: &mut Import<'_>, node: NodeId) -> FrameId {
        if self.grain == profile.tree.grain() {
            return import.frame(&mut self.symbols, profile.tree.frame(node));
        }
        let label = site_label(profile, self.grain, node);
        let function = import.function(&mut self.symbols, label.function);
        self.symbols.intern_frame(crate::Frame { function, ..label })
    }

    fn thread(&mut self, identity: (Thread, usize), thread: Thread) -> ThreadId {
        let Self { threads, thread_index, .. } = self;
        let id = *thread_index.entry(identity).or_insert_with(|| {
            threads.push(thread);
            ThreadId::new(threads.len() - 1)
        });
        // What differs between the runs is not a property of the thread they have in common.
        let known = &mut threads[id.index()];
        known.pid = known.pid.filter(|pid| thread.pid == Some(*pid));
        known.tid = known.tid.filter(|tid| thread.tid == Some(*tid));
        id
    }

    fn metric(&mut self, metric: &Metric) -> (MetricId, i64, u8) {
        let (unit, factor) = match &metric.unit {
            Unit::Other(word) => Unit::of_file(word),
            known => (known.clone(), 1),
        };
        let period = metric.period.map(|period| period.saturating_mul(factor));
        let same = |known: &Metric| known.name == metric.name && known.unit == unit;
        let row = self.metrics.iter().position(same).unwrap_or_else(|| {
            self.metrics.push(Metric { unit, period, ..metric.clone() });
            self.metrics.len() - 1
        });
        let known = &mut self.metrics[row];
        known.decimals = known.decimals.max(metric.decimals);
        known.period = known.period.filter(|known| period == Some(*known));
        if metric.measure == Measure::Sampled {
            known.measure = Measure::Sampled;
        }
        (MetricId::new(row), factor, metric.decimals)
    }
}

impl Part {
    /// The node's place in the frozen union.
    fn place(&self, placement: &Placement, node: NodeId) -> NodeId {
        placement.of(self.image[node.index()])
    }

    fn thread(&self, thread: Option<ThreadId>) -> Option<ThreadId> {
        thread.and_then(|thread| self.threads.get(thread.index()).copied())
    }

    /// What a stored value of one of the profile's metrics is multiplied with.
    fn factor(&self, metric: usize, metrics: &[Metric]) -> i64 {
        let (into, factor, decimals) = self.metrics[metric];
        let more = metrics[into.index()].decimals.saturating_sub(decimals);
        factor.saturating_mul(10i64.saturating_pow(more.into()))
    }

    /// The profile's values over the union's nodes, threads and metrics.
    pub(crate) fn cells(
        &self,
        profile: &Profile,
        placement: &Placement,
        metrics: &[Metric],
    ) -> Cells {
        let keys: Vec<_> = (profile.cells.keys())
            .map(|(node, thread)| (self.place(placement, node), self.thread(thread)))
            .collect();
        let mut columns = vec![vec![0i64; keys.len()]; metrics.len()];
        for (metric, (into, _, _)) in self.metrics.iter().enumerate() {
            let factor = self.factor(metric, metrics);
            let from = profile.cells.column(MetricId::new(metric));
            for (into, from) in columns[into.index()].iter_mut().zip(from) {
                *into = into.saturating_add(from.saturating_mul(factor));
            }
        }
        Cells::from_columns(&keys, &columns)
    }

    /// The profile's periods in the union's units, by the union's metrics.
    pub(crate) fn periods(&self, profile: &Profile, metrics: usize) -> Vec<Option<i64>> {
        let mut periods = vec![None; metrics];
        for (metric, (into, factor, _)) in profile.metrics.iter().zip(&self.metrics) {
            periods[into.index()] = metric.period.map(|period| period.saturating_mul(*factor));
        }
        periods
    }

    /// The profile's times over the union's nodes, threads and metrics.
    pub(crate) fn times(
        &self,
        times: &Timeline,
        placement: &Placement,
        metrics: &[Metric],
    ) -> Timeline {
        let sample = |sample: &TimedSample| TimedSample {
            node: self.place(placement, sample.node),
            thread: self.thread(sample.thread),
            metric: self.metrics[sample.metric.index()].0,
            value: sample.value.saturating_mul(self.factor(sample.metric.index(), metrics)),
            ..*sample
        };
        let call = |call: &TimedCall| TimedCall {
            node: self.place(placement, call.node),
            thread: self.thread(call.thread),
            ..*call
        };
        let mut times = Timeline {
            samples: times.samples.iter().map(sample).collect(),
            calls: times.calls.iter().map(call).collect(),
        };
        times.sort();
        times
    }
}

/// Adds up the values of several profiles over one union.
pub(crate) fn sum<'a>(parts: impl IntoIterator<Item = &'a Cells>, metrics: usize) -> Cells {
    let mut keys = Vec::new();
    let mut columns = vec![Vec::new(); metrics];
    for part in parts {
        keys.extend(part.keys());
        for (metric, column) in columns.iter_mut().enumerate() {
            column.extend_from_slice(part.column(MetricId::new(metric)));
        }
    }
    Cells::from_columns(&keys, &columns)
}
