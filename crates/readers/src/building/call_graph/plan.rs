//! The contexts a call graph becomes, and their shares of each function's cost.

use std::cmp::Ordering;

use perfblame_cct::{Cursor, FrameId, ProfileBuilder, ThreadId};

use super::order::Order;
use super::{CallGraph, Outgoing, Site};

/// Contexts that one graph may become, times the places per function.
pub const MAX_CONTEXTS: usize = 200_000;

/// Calls from one context to the next that may be looked at in one attempt.
const MAX_STEPS: usize = 8 * MAX_CONTEXTS;

/// Frames on top of each other; deeper contexts start anew below the truncated root.
pub const MAX_DEPTH: u32 = 1_000;

/// Where a context hangs.
#[derive(Clone, Copy)]
enum Above {
    /// Below nothing.
    Outside,
    /// Below the root for truncated stacks.
    Truncated,
    /// Below this place of that context.
    Context(u32, Site),
}

/// All contexts, callers first, those of one function together.
pub struct TreePlan {
    pub threshold: f64,
    above: Vec<Above>,
    /// Weights by context and column.
    weights: Vec<f64>,
    /// First context of each function in the order's sequence, and one past the last.
    ranges: Vec<(u32, u32)>,
    pub merged: u64,
    pub cut_edges: u64,
}

/// The contexts of a function that its callers have found so far.
#[derive(Default)]
struct Waiting {
    above: Vec<(Above, u32)>,
    weights: Vec<f64>,
    /// Contexts below the threshold: their sum, how many, and the heaviest of them.
    light: Option<(Vec<f64>, u64)>,
    heaviest: Option<(Above, u32, Vec<f64>)>,
}

impl Waiting {
    fn push(&mut self, above: Above, depth: u32, weights: &[f64], is_light: bool) {
        if !is_light {
            self.above.push((above, depth));
            self.weights.extend_from_slice(weights);
            return;
        }
        if depth < MAX_DEPTH {
            let heavier = match &self.heaviest {
                Some((_, _, known)) => weights.partial_cmp(known) == Some(Ordering::Greater),
                None => true,
            };
            if heavier {
                let before = self.heaviest.replace((above, depth, weights.to_vec()));
                if let Some((_, _, weights)) = before {
                    self.add_light(&weights);
                }
                return;
            }
        }
        self.add_light(weights);
    }

    fn add_light(&mut self, weights: &[f64]) {
        match &mut self.light {
            None => self.light = Some((weights.to_vec(), 1)),
            Some((sum, count)) => {
                *count += 1;
                for (slot, weight) in sum.iter_mut().zip(weights) {
                    *slot += weight;
                }
            }
        }
    }
}

impl TreePlan {
    /// None when contexts heavier than `threshold` are too many.
    pub fn make(
        graph: &CallGraph,
        outgoing: &Outgoing,
        order: &Order,
        threshold: f64,
    ) -> Option<Self> {
        let width = graph.weights();
        let whole = totals(graph);
        let mut plan = Self {
            threshold,
            above: Vec::new(),
            weights: Vec::new(),
            ranges: Vec::with_capacity(order.functions.len()),
            merged: 0,
            cut_edges: order.cut.iter().filter(|cut| **cut).count() as u64,
        };
        let mut waiting: Vec<Waiting> = Vec::new();
        waiting.resize_with(graph.functions(), Waiting::default);
        let mut depths: Vec<u32> = Vec::new();
        let (mut size, mut steps) = (0usize, 0usize);
        let mut share = vec![0.0; width];
        let mut weights = vec![0.0; width];
        for function in &order.functions {
            let function = *function as usize;
            let first = plan.above.len();
            let mut found = std::mem::take(&mut waiting[function]);
            if order.outside[function] > 0.0 {
                let paid = order.outside[function];
                let rest = (1.0 - paid).max(f64::EPSILON);
                let weights: Vec<f64> = (0..width)
                    .map(|column| {
                        let known: f64 = found.weights.iter().skip(column).step_by(width).sum();
                        if paid >= 1.0 { 1.0 } else { known * paid / rest }
                    })
                    .collect();
                found.push(Above::Outside, 0, &weights, false);
            }
            if let Some((above, depth, weights)) = found.heaviest.take() {
                // A function keeps one true context, however light.
                if found.above.is_empty() || found.light.is_none() {
                    found.push(above, depth, &weights, false);
                } else {
                    found.add_light(&weights);
                }
            }
            if let Some((weights, count)) = found.light.take() {
                plan.merged += count;
                found.push(Above::Truncated, 1, &weights, false);
            }
            for (above, depth) in &found.above {
                plan.above.push(*above);
                depths.push(*depth);
            }
            plan.weights.extend_from_slice(&found.weights);
            size += found.above.len() * outgoing.sites.of(function).len();
            plan.ranges.push((first as u32, plan.above.len() as u32));

            let sums = Sums::of(&plan.weights[first * width..], width);
            for (context, depth) in depths.iter().enumerate().skip(first) {
                sums.shares(&plan.weights[context * width..(context + 1) * width], &mut share);
                for edge in outgoing.edges.of(function) {
                    let edge = *edge as usize;
                    if order.cut[edge] {
                        continue;
                    }
                    steps += 1;
                    let mut is_light = true;
                    for column in 0..width {
                        weights[column] = graph.edge_weight(edge, column) * share[column];
                        is_light &=
                            weights[column] < threshold * whole[column] || whole[column] == 0.0;
                    }
                    is_light &= threshold > 0.0;
                    let depth = depth + 1;
                    let above = Above::Context(context as u32, graph.edges[edge].from);
                    is_light |= depth >= MAX_DEPTH;
                    waiting[graph.callee(edge)].push(above, depth, &weights, is_light);
                }
                // Beyond a threshold of 1 at most two contexts per function are left: that always fits.
                if (size > MAX_CONTEXTS || steps > MAX_STEPS) && threshold < 1.0 {
                    return None;
                }
            }
        }
        Some(plan)
    }

    pub fn emit(
        &self,
        graph: &CallGraph,
        order: &Order,
        builder: &mut ProfileBuilder,
        thread: Option<ThreadId>,
    ) {
        let width = graph.weights();
        let metrics = graph.metrics.len();
        let mut cut_from: Vec<Vec<u32>> = vec![Vec::new(); graph.functions()];
        let mut calls_in = vec![0i64; graph.functions()];
        for edge in 0..graph.edges.len() {
            if order.cut[edge] {
                cut_from[graph.caller(edge)].push(edge as u32);
            } else {
                let slot = &mut calls_in[graph.callee(edge)];
                *slot = slot.saturating_add(graph.edges[edge].calls);
            }
        }
        let mut bases: Vec<Option<Cursor>> = Vec::with_capacity(self.above.len());
        for (function, (first, end)) in order.functions.iter().zip(&self.ranges) {
            let (function, first, end) = (*function as usize, *first as usize, *end as usize);
            for above in &self.above[first..end] {
                let base = match *above {
                    Above::Outside => None,
                    Above::Truncated => Some(builder.truncated_root()),
                    Above::Context(context, site) => {
                        let frame = graph.site_frame[site.0 as usize];
                        Some(below(builder, bases[context as usize], frame))
                    }
                };
                bases.push(base);
            }
            let weights = &self.weights[first * width..end * width];
            let sums = Sums::of(weights, width);
            let bases = &bases[first..end];
            for site in order.sites.of(function) {
                let site = *site as usize;
                let frame = graph.site_frame[site];
                for (column, metric) in graph.metrics.iter().enumerate() {
                    let cost = graph.self_cost[site * metrics + column];
                    sums.share_out(weights, column, cost, |context, part| {
                        let at = below(builder, bases[context], frame);
                        builder.add(at, thread, *metric, part);
                    });
                }
            }
            let Some(calls) = graph.calls else { continue };
            let entry = graph.site_frame[graph.entry[function].0 as usize];
            sums.share_out(weights, metrics, calls_in[function], |context, part| {
                let at = below(builder, bases[context], entry);
                builder.add(at, thread, calls, part);
            });
            for edge in &cut_from[function] {
                let edge = graph.edges[*edge as usize];
                let from = graph.site_frame[edge.from.0 as usize];
                let into = graph.site_frame[graph.entry[edge.to.0 as usize].0 as usize];
                sums.share_out(weights, metrics, edge.calls, |context, part| {
                    let at = below(builder, bases[context], from);
                    let at = builder.child(at, into);
                    builder.add(at, thread, calls, part);
                });
            }
        }
    }
}

fn below(builder: &mut ProfileBuilder, above: Option<Cursor>, frame: FrameId) -> Cursor {
    match above {
        Some(above) => builder.child(above, frame),
        None => builder.root(frame),
    }
}

/// What the whole graph weighs, by column.
fn totals(graph: &CallGraph) -> Vec<f64> {
    let metrics = graph.metrics.len();
    let mut whole = vec![0.0; graph.weights()];
    for (place, cost) in graph.self_cost.iter().enumerate() {
        whole[place % metrics] += cost.unsigned_abs() as f64;
    }
    whole[metrics] = graph.edges.iter().map(|edge| edge.calls.unsigned_abs() as f64).sum();
    whole
}

/// What the contexts of one function weigh together, by column.
struct Sums {
    width: usize,
    contexts: usize,
    by_column: Vec<f64>,
}

impl Sums {
    fn of(weights: &[f64], width: usize) -> Self {
        let mut by_column = vec![0.0; width];
        for (place, weight) in weights.iter().enumerate() {
            by_column[place % width] += weight;
        }
        Self { width, contexts: weights.len() / width, by_column }
    }

    /// The column to share out by: that of the metric itself where its callers paid in it, else calls, else whichever
    /// there is; none means equal parts.
    fn column(&self, wanted: usize) -> Option<usize> {
        let calls = self.width - 1;
        [wanted, calls].into_iter().chain(0..calls).find(|column| self.by_column[*column] > 0.0)
    }

    /// The part of the function that one context is, by column.
    fn shares(&self, weights: &[f64], share: &mut [f64]) {
        for (wanted, slot) in share.iter_mut().enumerate() {
            *slot = match self.column(wanted) {
                Some(column) => weights[column] / self.by_column[column],
                None => 1.0 / self.contexts as f64,
            };
        }
    }

    /// Shares `amount` out over the contexts: whole units, none lost. Parts of 0 are left out.
    fn share_out(
        &self,
        weights: &[f64],
        wanted: usize,
        amount: i64,
        mut give: impl FnMut(usize, i64),
    ) {
        if amount == 0 {
            return;
        }
        let column = self.column(wanted);
        let (mut so_far, mut given) = (0.0, 0i64);
        for context in 0..self.contexts {
            let last = context + 1 == self.contexts;
            so_far += match column {
                Some(column) => weights[context * self.width + column] / self.by_column[column],
                None => 1.0 / self.contexts as f64,
            };
            // Rounding the running sum, not each part, keeps the sum of the parts exact.
            let up_to =
                if last { amount } else { (amount as f64 * so_far.min(1.0)).round() as i64 };
            let part = up_to.saturating_sub(given);
            given = up_to;
            if part != 0 {
                give(context, part);
            }
        }
    }
}
