//! Execution timelines, definition 1 of `[zam]`, pruned: the calls of one run with their times.
//!
//! Runs share one tree, in which each has values at some contexts. A run's timeline holds those contexts and what calls
//! them, per thread role. Siblings stand in the order in which they were first called in that run where its times were
//! kept, and otherwise in the order of the shared tree, which is that of the first run that has them.

use hashbrown::HashMap;
use perfblame_cct::{Cct, FrameId, Layer, NodeId, Run, ThreadId};

use super::{Markers, Timelines};

/// No row.
const NONE: u32 = u32::MAX;

/// The calls of one run.
pub(super) struct Timeline {
    pub(super) tree: Cct,
    /// Time of each call, callees included.
    pub(super) time: Vec<f64>,
    /// Time of the root: of all top-level functions, those that were pruned too.
    pub(super) total: f64,
}

/// What becomes of the calls of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Treatment {
    Kept,
    /// Its callees are handed to its caller.
    Pruned,
    /// The same, and its own time is nobody's unless it was called by a function.
    Marker,
}

/// Makes the timelines of one side.
pub(super) struct Timeliner<'a> {
    side: &'a Timelines<'a>,
    /// By thread.
    roles: &'a [u32],
    /// By role, the frame of its node.
    frames: &'a [Option<FrameId>],
    /// By function.
    treatment: Vec<Treatment>,
    /// By node of the shared tree, the row in the timeline at hand.
    slot: Vec<u32>,
    /// How many calls were pruned so far.
    pub(super) pruned: usize,
}

/// Calls in pre-order, with the time at which each was first seen.
#[derive(Default)]
struct Rows {
    parent: Vec<Option<NodeId>>,
    frame: Vec<FrameId>,
    time: Vec<f64>,
    seen: Vec<i64>,
}

/// When a context was first seen on a role's threads.
type FirstSeen = HashMap<(u32, NodeId), i64>;

impl<'a> Timeliner<'a> {
    pub(super) fn new(
        side: &'a Timelines<'a>,
        roles: &'a [u32],
        frames: &'a [Option<FrameId>],
        markers: Markers,
    ) -> Self {
        let symbols = &side.runs.symbols;
        let functions = symbols.functions();
        Self {
            side,
            roles,
            frames,
            treatment: functions
                .map(|(id, function)| treatment(symbols.name(id), function.layer, markers))
                .collect(),
            slot: vec![NONE; side.runs.tree.len()],
            pruned: 0,
        }
    }

    /// Time of the root in a run.
    pub(super) fn total(&self, run: usize) -> f64 {
        let tree = &self.side.runs.tree;
        let Some(cells) = self.side.runs.runs.get(run).map(|run| &run.cells) else { return 0.0 };
        let counts = |node: &NodeId| {
            let mut path = tree.ancestors(*node).map(|node| self.treatment_of(node));
            path.next() != Some(Treatment::Marker) || path.any(|above| above == Treatment::Kept)
        };
        let values = cells.of(self.side.metric).filter(|(node, ..)| counts(node));
        let total = values.fold(0i64, |sum, (_, _, value)| sum.saturating_add(value));
        total as f64 * self.side.scale_of(run)
    }

    /// The timeline of a run.
    pub(super) fn timeline(&mut self, number: usize) -> Timeline {
        let mut rows = Rows::default();
        let mut total = 0.0;
        let side = self.side;
        if let Some(run) = side.runs.runs.get(number) {
            let scale = side.scale_of(number);
            let seen = self.first_seen(run);
            let mut cells: Vec<(u32, NodeId, i64)> = (run.cells.of(side.metric))
                .map(|(node, thread, value)| (self.role(thread), node, value))
                .collect();
            cells.sort_by_key(|(role, ..)| *role);
            for cells in cells.chunk_by(|one, next| one.0 == next.0) {
                total += self.add(cells, scale, seen.as_ref(), &mut rows);
            }
            if seen.is_some() {
                rows = rows.by_time();
            }
        }
        let tree = Cct::from_preorder(side.runs.tree.grain(), rows.parent, rows.frame);
        Timeline { tree, time: rows.time, total }
    }

    /// Adds the calls of one role; returns the time of its top-level functions.
    fn add(
        &mut self,
        cells: &[(u32, NodeId, i64)],
        scale: f64,
        seen: Option<&FirstSeen>,
        out: &mut Rows,
    ) -> f64 {
        let tree = &self.side.runs.tree;
        let role = cells.first().map_or(0, |cell| cell.0);
        let mut nodes: Vec<NodeId> = Vec::with_capacity(cells.len());
        for (_, node, _) in cells {
            let mut next = Some(*node);
            while let Some(node) = next.filter(|node| self.slot[node.index()] == NONE) {
                self.slot[node.index()] = 0;
                nodes.push(node);
                next = tree.parent(node);
            }
        }
        nodes.sort_unstable();
        for (row, node) in nodes.iter().enumerate() {
            self.slot[node.index()] = row as u32;
        }
        let mut own = vec![0i64; nodes.len()];
        for (_, node, value) in cells {
            let own = &mut own[self.slot[node.index()] as usize];
            *own = own.saturating_add(*value);
        }
        let mut time = own.clone();
        let first = |node: &NodeId| seen.and_then(|seen| seen.get(&(role, *node))).copied();
        let mut first: Vec<i64> =
            nodes.iter().map(|node| first(node).unwrap_or(i64::MAX)).collect();
        for row in (0..nodes.len()).rev() {
            if let Some(parent) = tree.parent(nodes[row]) {
                let parent = self.slot[parent.index()] as usize;
                time[parent] = time[parent].saturating_add(time[row]);
                first[parent] = first[parent].min(first[row]);
            }
        }
        let thread = self.frames.get(role as usize).copied().flatten();
        let thread = thread.map(|frame| out.push(None, frame, 0.0, i64::MAX));
        let mut total = 0i64;
        // The nearest call above or at each row that was kept.
        let mut place: Vec<Option<NodeId>> = Vec::with_capacity(nodes.len());
        for (row, node) in nodes.iter().enumerate() {
            let above = tree.parent(*node);
            let caller = above.map_or(thread, |above| place[self.slot[above.index()] as usize]);
            let treatment = self.treatment_of(*node);
            if treatment != Treatment::Marker || caller != thread {
                total = total.saturating_add(own[row]);
            }
            self.pruned += usize::from(treatment == Treatment::Pruned);
            place.push(if treatment == Treatment::Kept {
                Some(out.push(caller, tree.frame(*node), time[row] as f64 * scale, first[row]))
            } else {
                caller
            });
        }
        for node in nodes {
            self.slot[node.index()] = NONE;
        }
        let total = total as f64 * scale;
        if let Some(thread) = thread {
            out.time[thread.index()] = total;
        }
        total
    }

    fn treatment_of(&self, node: NodeId) -> Treatment {
        let runs = self.side.runs;
        self.treatment[runs.symbols.frame(runs.tree.frame(node)).function.index()]
    }

    fn role(&self, thread: Option<ThreadId>) -> u32 {
        thread.and_then(|thread| self.roles.get(thread.index())).copied().unwrap_or(0)
    }

    fn first_seen(&self, run: &Run) -> Option<FirstSeen> {
        let times = run.timeline.as_ref()?;
        let samples = times.samples.iter().map(|sample| (sample.thread, sample.node, sample.time));
        let calls = times.calls.iter().map(|call| (call.thread, call.node, call.start));
        let mut seen = FirstSeen::new();
        for (thread, node, time) in samples.chain(calls) {
            let first = seen.entry((self.role(thread), node)).or_insert(time);
            *first = time.min(*first);
        }
        Some(seen)
    }
}

impl Rows {
    fn push(&mut self, parent: Option<NodeId>, frame: FrameId, time: f64, seen: i64) -> NodeId {
        self.parent.push(parent);
        self.frame.push(frame);
        self.time.push(time);
        self.seen.push(seen);
        NodeId::new(self.frame.len() - 1)
    }

    /// The same calls, siblings in the order in which they were first seen.
    fn by_time(&self) -> Self {
        let mut rows: Vec<usize> = (0..self.frame.len()).collect();
        rows.sort_unstable_by_key(|row| (self.parent[*row], self.seen[*row], *row));
        // Where the callees of each call start in `rows`, those of none first.
        let slot = |parent: Option<NodeId>| parent.map_or(0, |parent| parent.index() + 1);
        let mut start = vec![0usize; self.frame.len() + 2];
        for parent in &self.parent {
            start[slot(*parent) + 1] += 1;
        }
        for row in 1..start.len() {
            start[row] += start[row - 1];
        }
        let callees = |parent: Option<NodeId>| &rows[start[slot(parent)]..start[slot(parent) + 1]];
        let mut out = Self::default();
        let mut todo: Vec<(Option<NodeId>, usize)> =
            callees(None).iter().rev().map(|row| (None, *row)).collect();
        while let Some((parent, row)) = todo.pop() {
            let new = out.push(parent, self.frame[row], self.time[row], self.seen[row]);
            todo.extend(callees(Some(NodeId::new(row))).iter().rev().map(|row| (Some(new), *row)));
        }
        out
    }
}

/// Names that are blank, `(anonymous)` or one character long say nothing about which function it is: they are shared by
/// many, and minifiers choose them anew for every version.
fn treatment(name: &str, layer: Layer, markers: Markers) -> Treatment {
    let is_marker =
        matches!(name, "(program)" | "(idle)" | "(garbage collector)") || layer == Layer::Idle;
    match name {
        _ if is_marker && markers == Markers::LeftOut => Treatment::Marker,
        "(anonymous)" | "(root)" => Treatment::Pruned,
        _ if name.trim().chars().nth(1).is_none() => Treatment::Pruned,
        _ => Treatment::Kept,
    }
}
