//! In which order functions are expanded: callers first, which a graph with cycles only allows after cutting some calls.

use super::{CallGraph, Groups, Outgoing};

/// A function's cost that its callers do not account for is taken as that of an unknown caller beyond this share;
/// below, it is taken as rounding (gprof prints hundredths of a second).
const UNKNOWN_CALLER: f64 = 0.02;

/// Functions with every caller before its callees, and the edges that had to be cut for that.
pub struct Order {
    pub functions: Vec<u32>,
    pub cut: Vec<bool>,
    /// Functions that are entered from outside, with the part of their cost that no caller accounts for, 0 to 1.
    pub outside: Vec<f64>,
    pub sites: Groups,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum VisitState {
    Never,
    Open,
    Done,
}

pub fn order(graph: &CallGraph, outgoing: &Outgoing) -> Order {
    let functions = graph.functions();
    let mut called = vec![false; functions];
    for edge in 0..graph.edges.len() {
        if graph.callee(edge) != graph.caller(edge) {
            called[graph.callee(edge)] = true;
        }
    }
    let inclusive = inclusive_costs(graph, outgoing);
    let mut starts: Vec<usize> = (0..functions).filter(|function| !called[*function]).collect();
    // What only cycles lead to is entered where it costs most.
    let mut rest: Vec<usize> = (0..functions).filter(|function| called[*function]).collect();
    rest.sort_by(|a, b| inclusive[*b].total_cmp(&inclusive[*a]).then(a.cmp(b)));
    let roots = starts.len();
    starts.extend(rest);

    let mut seen = vec![VisitState::Never; functions];
    let mut cut = vec![false; graph.edges.len()];
    let mut outside = vec![0.0; functions];
    let mut finished: Vec<u32> = Vec::with_capacity(functions);
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut on_cycle = vec![false; functions];
    for (place, start) in starts.into_iter().enumerate() {
        if seen[start] != VisitState::Never {
            continue;
        }
        outside[start] = 1.0;
        if place >= roots {
            on_cycle[start] = true;
        }
        seen[start] = VisitState::Open;
        open.push((start, 0));
        while let Some((function, next)) = open.last_mut() {
            let (function, edge) = (*function, outgoing.edges.of(*function).get(*next).copied());
            *next += 1;
            let Some(edge) = edge else {
                seen[function] = VisitState::Done;
                finished.push(function as u32);
                open.pop();
                continue;
            };
            let callee = graph.callee(edge as usize);
            match seen[callee] {
                VisitState::Never => {
                    seen[callee] = VisitState::Open;
                    open.push((callee, 0));
                }
                VisitState::Open => {
                    cut[edge as usize] = true;
                    on_cycle[callee] = true;
                    on_cycle[function] = true;
                }
                VisitState::Done => {}
            }
        }
    }
    finished.reverse();
    // A cycle that a later start turned out to lead to is not entered from outside after all.
    for edge in (0..graph.edges.len()).filter(|edge| !cut[*edge]) {
        outside[graph.callee(edge)] = 0.0;
    }
    account_for_unknown_callers(graph, &inclusive, &on_cycle, &mut outside);
    let sites =
        Groups::new(functions, graph.site_frame.len(), |site| graph.site_function[site].0 as usize);
    Order { functions: finished, cut, outside, sites }
}

/// Self cost plus that of the calls made, of the first metric.
fn inclusive_costs(graph: &CallGraph, outgoing: &Outgoing) -> Vec<f64> {
    let width = graph.metrics.len();
    let inclusive = |function: usize| {
        let own = outgoing.sites.of(function).iter();
        let own = own.map(|site| graph.self_cost.get(*site as usize * width).copied().unwrap_or(0));
        let below = outgoing.edges.of(function).iter();
        let below = below.map(|edge| graph.edge_weight(*edge as usize, 0));
        own.map(|cost| cost.unsigned_abs() as f64).chain(below).sum()
    };
    (0..graph.functions()).map(inclusive).collect()
}

/// A function that costs more than its callers paid for was also entered from outside the graph. Functions on cycles
/// are left alone: recursion counts inclusive costs more than once.
fn account_for_unknown_callers(
    graph: &CallGraph,
    inclusive: &[f64],
    on_cycle: &[bool],
    outside: &mut [f64],
) {
    let mut paid = vec![0.0; graph.functions()];
    for edge in 0..graph.edges.len() {
        paid[graph.callee(edge)] += graph.edge_weight(edge, 0);
    }
    for function in 0..graph.functions() {
        let missing = inclusive[function] - paid[function];
        let known = outside[function] > 0.0 || on_cycle[function] || paid[function] == 0.0;
        if !known && missing > UNKNOWN_CALLER * inclusive[function] {
            outside[function] = missing / inclusive[function];
        }
    }
}
