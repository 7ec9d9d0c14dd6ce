//! The union of several profiles' symbols, threads, metrics and trees: what [`merge`](crate::merge) and
//! [`RunSetBuilder`](crate::RunSetBuilder) have in common. Symbols, threads and metrics grow in a [`RunSet`]; here is what
//! finds them again, and the tree, which is open until the end.

use hashbrown::HashMap;

use crate::import::Import;
use crate::relabel::site_label;
use crate::{
    Cells, Frame, FrameId, Grain, Measure, Metric, MetricId, NodeId, OpenNode, OpenTree, Placement,
    Profile, RunSet, Symbols, Thread, ThreadId, TimedCall, TimedSample, Timeline, Unit,
};

/// What tells two threads of different profiles apart: two threads are one when it is equal.
pub(crate) type ThreadIdentity = (Thread, usize);

/// Grows as profiles are added.
#[derive(Debug, Default)]
pub(crate) struct Union {
    pub(crate) grain: Grain,
    pub(crate) thread_index: HashMap<ThreadIdentity, ThreadId>,
    pub(crate) tree: OpenTree,
}

/// Where the nodes, threads and metrics of one profile went.
#[derive(Debug, Default)]
pub(crate) struct PlacedPart {
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

    /// Adds a profile's symbols, threads and metrics to `set`, which must be the same in every call, and its nodes to
    /// the tree. `identity` is asked in the order of process and thread ids.
    pub(crate) fn add(
        &mut self,
        set: &mut RunSet,
        profile: &Profile,
        mut identity: impl FnMut(Thread) -> ThreadIdentity,
    ) -> PlacedPart {
        if self.tree.is_empty() {
            set.symbols.reserve_for(&profile.symbols);
        }
        let mut import = Import::new(&profile.symbols);
        let mut image: Vec<OpenNode> = Vec::with_capacity(profile.tree.len());
        // The node that was found last among those that other profiles had.
        let known = self.tree.len();
        let mut last = OpenNode::new(0);
        for node in profile.tree.nodes() {
            let above = profile.tree.parent(node).map(|parent| image[parent.index()]);
            let label = self.label(&mut set.symbols, profile, &mut import, node);
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
            let thread = import.thread(&mut set.symbols, profile.threads[row]);
            threads[row] = self.thread(&mut set.threads, identity(thread), thread);
        }
        let metrics =
            profile.metrics.iter().map(|metric| unite(&mut set.metrics, metric)).collect();
        PlacedPart { image, threads, metrics }
    }

    fn label(
        &self,
        symbols: &mut Symbols,
        profile: &Profile,
        import: &mut Import<'_>,
        node: NodeId,
    ) -> FrameId {
        let (tree, own) = (&profile.tree, profile.tree.grain());
        if self.grain == own {
            return import.frame(symbols, tree.frame(node));
        }
        let frame = |node| profile.symbols.frame(tree.frame(node));
        let label = site_label((own, self.grain), frame(node), tree.parent(node).map(frame));
        let function = import.function(symbols, label.function);
        symbols.intern_frame(Frame { function, ..label })
    }

    fn thread(
        &mut self,
        threads: &mut Vec<Thread>,
        identity: ThreadIdentity,
        thread: Thread,
    ) -> ThreadId {
        let id = *self.thread_index.entry(identity).or_insert_with(|| {
            threads.push(thread);
            ThreadId::new(threads.len() - 1)
        });
        // What differs between the runs is not a property of the thread they have in common.
        let known = &mut threads[id.index()];
        known.pid = known.pid.filter(|pid| thread.pid == Some(*pid));
        known.tid = known.tid.filter(|tid| thread.tid == Some(*tid));
        id
    }
}

/// Finds or adds a profile's metric: which it is among all, what one of its unit is in theirs, and its own decimals.
fn unite(metrics: &mut Vec<Metric>, metric: &Metric) -> (MetricId, i64, u8) {
    let (unit, factor) = match &metric.unit {
        Unit::Other(word) => Unit::of_file(word),
        known => (known.clone(), 1),
    };
    let period = metric.period.map(|period| period.saturating_mul(factor));
    let same = |known: &Metric| known.name == metric.name && known.unit == unit;
    let row = metrics.iter().position(same).unwrap_or_else(|| {
        metrics.push(Metric { unit, period, ..metric.clone() });
        metrics.len() - 1
    });
    let known = &mut metrics[row];
    known.decimals = known.decimals.max(metric.decimals);
    known.period = known.period.filter(|known| period == Some(*known));
    if metric.measure == Measure::Sampled {
        known.measure = Measure::Sampled;
    }
    (MetricId::new(row), factor, metric.decimals)
}

/// Finds the threads of a set of runs again: threads that differ only in their ids are told apart by their order.
pub(crate) fn thread_index(threads: &[Thread]) -> HashMap<ThreadIdentity, ThreadId> {
    let mut alike = NthAlike::default();
    (threads.iter().enumerate())
        .map(|(row, thread)| (alike.identity(*thread), ThreadId::new(row)))
        .collect()
}

/// Which thread of its process, group and name each is, as the threads of one run come by.
#[derive(Default)]
pub(crate) struct NthAlike(HashMap<Thread, usize>);

impl NthAlike {
    pub(crate) fn identity(&mut self, thread: Thread) -> ThreadIdentity {
        let thread = Thread { pid: None, tid: None, ..thread };
        let nth = self.0.entry(thread).or_default();
        *nth += 1;
        (thread, *nth)
    }
}

impl PlacedPart {
    /// That of the runs of a finished set, whose union starts with its rows.
    pub(crate) fn unmoved(set: &RunSet) -> Self {
        let metric = |(row, metric): (usize, &Metric)| (MetricId::new(row), 1, metric.decimals);
        Self {
            image: (0..set.tree.len()).map(OpenNode::new).collect(),
            threads: (0..set.threads.len()).map(ThreadId::new).collect(),
            metrics: set.metrics.iter().enumerate().map(metric).collect(),
        }
    }

    /// True when values of these metrics stay as they are.
    pub(crate) fn fits(&self, metrics: &[Metric]) -> bool {
        let same = |metric| self.factor(metric, metrics) == 1;
        self.metrics.len() == metrics.len() && (0..metrics.len()).all(same)
    }

    /// The union's nodes went where `image` says.
    pub(crate) fn follow(&mut self, image: &[OpenNode]) {
        for node in &mut self.image {
            *node = image[node.index()];
        }
    }

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
    pub(crate) fn cells(&self, own: &Cells, placement: &Placement, metrics: &[Metric]) -> Cells {
        let keys: Vec<_> = (own.keys())
            .map(|(node, thread)| (self.place(placement, node), self.thread(thread)))
            .collect();
        let mut columns = vec![vec![0i64; keys.len()]; metrics.len()];
        for (metric, (into, _, _)) in self.metrics.iter().enumerate() {
            let factor = self.factor(metric, metrics);
            let from = own.column(MetricId::new(metric));
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
