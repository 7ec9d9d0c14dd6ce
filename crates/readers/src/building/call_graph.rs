//! From a call graph to a calling context tree, for formats that know who called whom but not in which context:
//! callgrind, gprof, pstats.
//!
//! Such files hold the self cost of each function and the inclusive cost of each call from one function to another.
//! What a callee costs is shared out over its callers in proportion to the inclusive cost of their calls, as `[gprof]`
//! does, all the way down. Every number is shared out in whole units with nothing left over, so the tree's self costs
//! add up to the graph's.
//!
//! Two things forced the design. Graphs have cycles: calls back into a function further up are cut, and stay visible
//! as a leaf that carries the number of calls. And a graph stands for exponentially many contexts: those too light to
//! matter are merged below the root for truncated stacks, by a threshold that is raised until the rest fits.

mod order;
mod plan;

use std::cmp::Ordering;

use perfblame_cct::{FrameId, Grain, MetricId, ProfileBuilder, ThreadId};

use order::order;
use plan::TreePlan;

/// A function of a [`CallGraph`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GraphFunction(u32);

/// A place in a function, where cost arises or calls are made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Site(u32);

/// Functions, self costs and calls.
pub struct CallGraph {
    metrics: Vec<MetricId>,
    calls: Option<MetricId>,
    grain: Grain,
    /// First site of each function.
    entry: Vec<Site>,
    site_function: Vec<GraphFunction>,
    site_frame: Vec<FrameId>,
    /// Self costs by site and metric.
    self_cost: Vec<i64>,
    edges: Vec<Edge>,
    /// Inclusive costs by edge and metric.
    edge_cost: Vec<i64>,
}

#[derive(Clone, Copy)]
struct Edge {
    from: Site,
    to: GraphFunction,
    calls: i64,
}

impl CallGraph {
    /// An empty graph whose costs are of `metrics`, with the metric that counts calls where the file has them.
    pub fn new(grain: Grain, metrics: Vec<MetricId>, calls: Option<MetricId>) -> Self {
        Self {
            metrics,
            calls,
            grain,
            entry: Vec::new(),
            site_function: Vec::new(),
            site_frame: Vec::new(),
            self_cost: Vec::new(),
            edges: Vec::new(),
            edge_cost: Vec::new(),
        }
    }

    /// Adds a function; `frame` is where it is entered. The caller tells functions apart.
    pub fn function(&mut self, frame: FrameId) -> GraphFunction {
        let function = GraphFunction(self.entry.len() as u32);
        let site = self.push_site(function, frame);
        self.entry.push(site);
        function
    }

    /// Adds a place in a function. Trees that tell contexts apart by function alone need one place per function, and
    /// get it whatever is asked for here.
    pub fn site(&mut self, function: GraphFunction, frame: FrameId) -> Site {
        if self.grain == Grain::Functions {
            return self.entry_of(function);
        }
        self.push_site(function, frame)
    }

    fn push_site(&mut self, function: GraphFunction, frame: FrameId) -> Site {
        let site = Site(self.site_frame.len() as u32);
        self.site_function.push(function);
        self.site_frame.push(frame);
        self.self_cost.resize(self.self_cost.len() + self.metrics.len(), 0);
        site
    }

    /// The place where a function is entered.
    pub fn entry_of(&self, function: GraphFunction) -> Site {
        self.entry[function.0 as usize]
    }

    /// Adds self cost at a place, one value per metric; values left out are 0.
    pub fn add_self(&mut self, at: Site, costs: &[i64]) {
        let start = at.0 as usize * self.metrics.len();
        let slots = self.self_cost.iter_mut().skip(start).take(self.metrics.len());
        for (slot, cost) in slots.zip(costs) {
            *slot = slot.saturating_add(*cost);
        }
    }

    /// Adds calls from a place, with what they cost including everything below.
    pub fn add_calls(&mut self, from: Site, to: GraphFunction, calls: i64, inclusive: &[i64]) {
        self.edges.push(Edge { from, to, calls });
        let costs = inclusive.iter().copied().chain(std::iter::repeat(0));
        self.edge_cost.extend(costs.take(self.metrics.len()));
    }

    /// Adds the graph's contexts and costs to `builder`.
    pub fn expand(mut self, builder: &mut ProfileBuilder, thread: Option<ThreadId>) {
        self.merge_edges();
        let outgoing = Outgoing::of(&self);
        let order = order(&self, &outgoing);
        let mut threshold = 0.0;
        let plan = loop {
            match TreePlan::make(&self, &outgoing, &order, threshold) {
                Some(plan) => break plan,
                None if threshold == 0.0 => threshold = 1e-9,
                None => threshold *= 8.0,
            }
        };
        if plan.merged > 0 {
            builder.warn_many("call-graph-cut", plan.merged, || {
                format!(
                    "the call graph has too many contexts; those below {:.2e} of the total or deeper than {} frames are merged as truncated stacks",
                    plan.threshold, plan::MAX_DEPTH
                )
            });
        }
        if plan.cut_edges > 0 {
            builder.warn_many("call-graph-cycles", plan.cut_edges, || {
                "recursive calls are cut where they close a cycle; their cost counts for the outermost call".to_owned()
            });
        }
        plan.emit(&self, &order, builder, thread);
    }

    /// Adds up edges between the same place and function: what is left is the real shape of the graph.
    fn merge_edges(&mut self) {
        let width = self.metrics.len();
        let mut rows: Vec<usize> = (0..self.edges.len()).collect();
        rows.sort_by_key(|row| (self.edges[*row].from, self.edges[*row].to, *row));
        let mut edges: Vec<Edge> = Vec::with_capacity(rows.len());
        let mut edge_cost: Vec<i64> = Vec::with_capacity(self.edge_cost.len());
        for row in rows {
            let edge = self.edges[row];
            let costs = &self.edge_cost[row * width..(row + 1) * width];
            match edges.last_mut() {
                Some(last) if last.from == edge.from && last.to == edge.to => {
                    last.calls = last.calls.saturating_add(edge.calls);
                    let start = edge_cost.len() - width;
                    for (slot, cost) in edge_cost[start..].iter_mut().zip(costs) {
                        *slot = slot.saturating_add(*cost);
                    }
                }
                _ => {
                    edges.push(edge);
                    edge_cost.extend_from_slice(costs);
                }
            }
        }
        self.edges = edges;
        self.edge_cost = edge_cost;
    }

    fn functions(&self) -> usize {
        self.entry.len()
    }

    /// Weights per context: one per metric and one for calls.
    fn weights(&self) -> usize {
        self.metrics.len() + 1
    }

    fn edge_weight(&self, edge: usize, column: usize) -> f64 {
        let width = self.metrics.len();
        if column == width {
            return self.edges[edge].calls.unsigned_abs() as f64;
        }
        self.edge_cost[edge * width + column].unsigned_abs() as f64
    }

    fn caller(&self, edge: usize) -> usize {
        self.site_function[self.edges[edge].from.0 as usize].0 as usize
    }

    fn callee(&self, edge: usize) -> usize {
        self.edges[edge].to.0 as usize
    }
}

/// The edges that leave each function, the most costly first, and its sites.
struct Outgoing {
    edges: Groups,
    sites: Groups,
}

impl Outgoing {
    fn of(graph: &CallGraph) -> Self {
        let mut edges =
            Groups::new(graph.functions(), graph.edges.len(), |edge| graph.caller(edge));
        for function in 0..graph.functions() {
            edges.of_mut(function).sort_by(|first, second| {
                let weight = |edge: u32| {
                    let columns = 0..graph.weights();
                    columns.map(move |column| graph.edge_weight(edge as usize, column))
                };
                let by_weight = weight(*second).partial_cmp(weight(*first));
                by_weight.unwrap_or(Ordering::Equal).then(first.cmp(second))
            });
        }
        let sites = Groups::new(graph.functions(), graph.site_frame.len(), |site| {
            graph.site_function[site].0 as usize
        });
        Self { edges, sites }
    }
}

/// Rows grouped by what they belong to.
struct Groups {
    start: Vec<u32>,
    rows: Vec<u32>,
}

impl Groups {
    fn new(groups: usize, rows: usize, group_of: impl Fn(usize) -> usize) -> Self {
        let mut start = vec![0u32; groups + 1];
        for row in 0..rows {
            start[group_of(row) + 1] += 1;
        }
        for group in 0..groups {
            start[group + 1] += start[group];
        }
        let mut next = start.clone();
        let mut sorted = vec![0u32; rows];
        for row in 0..rows {
            let slot = &mut next[group_of(row)];
            sorted[*slot as usize] = row as u32;
            *slot += 1;
        }
        Self { start, rows: sorted }
    }

    fn of(&self, group: usize) -> &[u32] {
        &self.rows[self.start[group] as usize..self.start[group + 1] as usize]
    }

    fn of_mut(&mut self, group: usize) -> &mut [u32] {
        &mut self.rows[self.start[group] as usize..self.start[group + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use perfblame_cct::{Layer, Metric, Times, Unit};
    use perfblame_fixtures::draw;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    /// `self: f 3, g 4` and `f>g calls inclusive` lines.
    fn graph(text: &str) -> perfblame_cct::Profile {
        let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
        let cost = builder.metric(Metric::exact("cost", Unit::Count));
        let calls = builder.metric(Metric::exact("calls", Unit::Count));
        let mut graph = CallGraph::new(Grain::Functions, vec![cost], Some(calls));
        let mut names: Vec<String> = Vec::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ends: Vec<GraphFunction> = words[0]
                .split('>')
                .map(|name| {
                    if let Some(row) = names.iter().position(|known| known == name) {
                        GraphFunction(row as u32)
                    } else {
                        names.push(name.to_owned());
                        graph.function(builder.named_frame(name, Layer::Application))
                    }
                })
                .collect();
            let numbers: Vec<i64> = words[1..].iter().map(|word| word.parse().unwrap()).collect();
            match ends[..] {
                [function] => graph.add_self(graph.entry_of(function), &numbers),
                [from, to] => graph.add_calls(graph.entry_of(from), to, numbers[0], &numbers[1..]),
                _ => panic!("{line}"),
            }
        }
        graph.expand(&mut builder, None);
        builder.finish()
    }

    fn check(text: &str, expected: &Expect) {
        let profile = graph(text);
        let warnings: Vec<_> =
            profile.warnings.iter().map(|w| format!("{} {}\n", w.code, w.count)).collect();
        expected.assert_eq(&format!("{}{}", draw(&profile), warnings.concat()));
    }

    #[test]
    fn a_callee_is_shared_by_its_callers() {
        check(
            "main 10\na 1\nb 2\nwork 90\nmain>a 1 31\nmain>b 1 62\na>work 5 30\nb>work 5 60",
            &expect![[r"
                main 103 10
                  a 31 1
                    work 30 30
                  b 62 2
                    work 60 60
            "]],
        );
    }

    #[test]
    fn shares_add_up_though_they_do_not_divide() {
        check(
            "main 0\nwork 10\nleaf 1\nmain>a 1 4\nmain>b 1 4\nmain>c 1 4\na>work 1 4\nb>work 1 4\nc>work 1 4\nwork>leaf 1 1",
            &expect![[r"
                main 11 0
                  a 3 0
                    work 3 3
                  b 5 0
                    work 5 4
                      leaf 1 1
                  c 3 0
                    work 3 3
            "]],
        );
    }

    #[test]
    fn cycles_are_cut_and_recursion_stays_visible() {
        check(
            "main 1\nf 10\ng 20\nmain>f 1 30\nf>g 4 25\ng>f 3 12\nf>f 2 5",
            &expect![[r"
                main 31 1
                  f 30 10
                    f 0 0
                    g 20 20
                      f 0 0
                call-graph-cycles 2
            "]],
        );
    }

    #[test]
    fn what_no_caller_paid_for_came_from_outside() {
        check(
            "main 0\nhandler 100\nmain>handler 1 40",
            &expect![[r"
                handler 60 60
                main 40 0
                  handler 40 40
            "]],
        );
    }

    #[test]
    fn a_graph_that_is_only_a_cycle_has_a_root() {
        check(
            "a 5\nb 7\na>b 1 12\nb>a 1 3",
            &expect![[r"
                a 12 5
                  b 7 7
                    a 0 0
                call-graph-cycles 1
            "]],
        );
    }

    /// 60 diamonds on top of each other: 2^60 contexts.
    #[test]
    fn exponentially_many_contexts_are_merged_and_nothing_is_lost() {
        let mut text = String::new();
        for level in 0..60 {
            for (side, share) in [("a", 3), ("b", 1)] {
                let below = level + 1;
                let _ = writeln!(text, "{side}{level} 7");
                let _ = writeln!(text, "{side}{level}>a{below} {share} {}", share * 1000);
                let _ = writeln!(text, "{side}{level}>b{below} {share} {}", 4000 - share * 1000);
            }
        }
        let profile = graph(&text);
        assert_eq!(profile.cells.total(MetricId::new(0)), 60 * 2 * 7);
        assert_eq!(profile.cells.total(MetricId::new(1)), 60 * 8);
        assert!(profile.tree.len() < 2 * plan::MAX_CONTEXTS, "{}", profile.tree.len());
        assert_eq!(profile.warnings[0].code, "call-graph-cut");
    }

    #[test]
    fn a_chain_deeper_than_the_limit_is_cut() {
        let mut text = String::new();
        for level in 0..3_000 {
            let _ = writeln!(text, "f{level} 1\nf{level}>f{} 1 {}", level + 1, 2_999 - level);
        }
        let profile = graph(&text);
        assert_eq!(profile.cells.total(MetricId::new(0)), 3_000);
        assert_eq!(profile.tree.roots().count(), 2);
    }

    proptest! {
        #[test]
        fn any_graph_keeps_its_totals(
            costs in prop::collection::vec(-1000i64..1_000_000, 1..12),
            edges in prop::collection::vec((0usize..12, 0usize..12, 0i64..100, -50i64..1_000_000), 0..40),
        ) {
            let mut text = String::new();
            for (function, cost) in costs.iter().enumerate() {
                let _ = writeln!(text, "f{function} {cost}");
            }
            let mut calls_sum = 0;
            for (from, to, calls, cost) in &edges {
                let _ = writeln!(text, "f{from}>f{to} {calls} {cost}");
                calls_sum += calls;
            }
            let profile = graph(&text);
            prop_assert_eq!(profile.cells.total(MetricId::new(0)), costs.iter().sum::<i64>());
            prop_assert_eq!(profile.cells.total(MetricId::new(1)), calls_sum);
        }
    }
}
