//! Changes of cost: slower, new, called more often, shifted, faster.

use super::{Rows, Site};
use crate::names;
use crate::program::{Function, Node, Program, subtree};

/// In how many contexts a function must be to be spread thinly.
const SPREAD: usize = 20;

/// So many samples of a context are expected before, so that files before know it: of a context that is new in the
/// files nobody can tell whether it is slower or its callers are new.
const SEEN: f64 = 5.0;

/// So many at most are expected of a context that files before do not know.
const UNSEEN: f64 = 0.05;

impl Site<'_> {
    /// Plantable contexts of which at least so many samples are expected before, by function, functions in order.
    fn places(&self, least: f64) -> Vec<(usize, Vec<usize>)> {
        let mut by_function: Vec<Vec<usize>> = vec![Vec::new(); self.after.functions.len()];
        let seen = |node: &usize| self.expected.get(*node).is_some_and(|count| *count >= least);
        for node in self.after.plantable().into_iter().filter(seen) {
            by_function[self.after.nodes[node].function].push(node);
        }
        by_function.into_iter().enumerate().filter(|(_, contexts)| !contexts.is_empty()).collect()
    }

    /// A function that the filter lets pass, each as likely as the next, with its contexts.
    fn pick_function(
        &mut self,
        wanted: &dyn Fn(usize, &[usize]) -> bool,
    ) -> Option<(usize, Vec<usize>)> {
        let mut places = self.places(SEEN);
        places.retain(|(function, contexts)| wanted(*function, contexts));
        self.random.pick(&places).cloned()
    }

    /// Adds the planted cost to contexts, by how much runs through them.
    fn add_self(&mut self, contexts: &[usize]) {
        let inclusive = self.after.inclusive();
        let share = |node: &usize| inclusive[*node] + 1e-6 * self.total;
        let sum: f64 = contexts.iter().map(share).sum();
        for node in contexts {
            self.after.nodes[*node].weight += self.amount * share(node) / sum;
        }
    }

    pub(super) fn slow_self(&mut self, all: bool, wanted: &dyn Fn(usize) -> bool) -> Option<()> {
        let (function, mut contexts) = self.pick_function(&|function, _| wanted(function))?;
        if !all {
            contexts = vec![*self.random.pick(&contexts)?];
        }
        self.add_self(&contexts);
        self.causes.push(Rows { functions: vec![function], contexts });
        Some(())
    }

    /// Like [`Site::slow_self`] in all contexts, which are many and get about the same each.
    pub(super) fn thin_spread(&mut self) -> Option<()> {
        let mut places = self.places(1.0);
        places.retain(|(_, contexts)| contexts.len() >= SPREAD);
        let (function, contexts) = self.random.pick(&places).cloned()?;
        let parts: Vec<f64> = contexts.iter().map(|_| self.random.between(0.5, 1.5)).collect();
        let sum: f64 = parts.iter().sum();
        for (node, part) in contexts.iter().zip(parts) {
            self.after.nodes[*node].weight += self.amount * part / sum;
        }
        self.causes.push(Rows { functions: vec![function], contexts });
        Some(())
    }

    /// A light context is made so cheap that files before do not know it, and then slow. They cannot tell it from a new
    /// call of whatever else is new above it, so naming any of that is right.
    pub(super) fn slow_unseen(&mut self) -> Option<()> {
        let inclusive = self.after.inclusive();
        let mut places = self.after.plantable();
        places.retain(|node| inclusive[*node] < 0.02 * self.total);
        let node = *self.random.pick(&places)?;
        for row in self.before.subtree(node) {
            self.before.nodes[row].weight *= UNSEEN / self.expected[node].max(UNSEEN);
            self.after.nodes[row].weight = self.before.nodes[row].weight;
        }
        let one_sample = inclusive[node] / self.expected[node].max(1e-12);
        let seen = self.before.inclusive();
        self.total = self.before.total();
        self.after.nodes[node].weight += self.amount;
        let mut functions = Vec::new();
        for above in self.after.path(node).into_iter().rev() {
            functions.push(self.after.nodes[above].function);
            if seen[above] >= SEEN * one_sample {
                break;
            }
        }
        self.causes.push(Rows { functions, contexts: vec![node] });
        Some(())
    }

    /// A new function below all or one of a function's contexts.
    pub(super) fn new_callee(&mut self) -> Option<()> {
        let (caller, mut contexts) = self.pick_function(&|_, _| true)?;
        if self.random.chance(0.5) {
            contexts = vec![*self.random.pick(&contexts)?];
        }
        let callee = self.new_function(caller)?;
        let inclusive = self.after.inclusive();
        let least = 1e-6 * self.total;
        let share = |node: &usize| inclusive[*node] + least;
        let sum: f64 = contexts.iter().map(share).sum();
        let mut new = Vec::new();
        for node in contexts {
            let weight = self.amount * share(&node) / sum;
            new.push(self.add_node(Some(node), callee, weight));
        }
        self.causes.push(Rows { functions: vec![callee, caller], contexts: new });
        Some(())
    }

    /// A function that did not exist, beside `beside`.
    pub(super) fn new_function(&mut self, beside: usize) -> Option<usize> {
        let name = names::fresh(&self.after, beside, self.random)?;
        let model = &self.after.functions[beside];
        let further = self.random.below(300) as u32;
        let function = Function {
            name,
            line: model.line.map(|line| line.saturating_add(1 + further)),
            column: model.column,
            signature: None,
            ..model.clone()
        };
        // Rows are shared: a side that does not have it has no context of it.
        self.before.functions.push(function.clone());
        self.after.functions.push(function);
        Some(self.after.functions.len() - 1)
    }

    pub(super) fn add_node(
        &mut self,
        parent: Option<usize>,
        function: usize,
        weight: f64,
    ) -> usize {
        let siblings: Vec<f64> =
            self.after.nodes.iter().filter(|node| node.parent == parent).map(|n| n.place).collect();
        let low = siblings.iter().copied().reduce(f64::min).unwrap_or(0.0);
        let high = siblings.iter().copied().reduce(f64::max).unwrap_or(0.0);
        let place = self.random.between(low - 1.0, high + 1.0);
        self.after.nodes.push(Node { parent, function, weight, place });
        self.after.nodes.len() - 1
    }

    /// One context of a function, or all, with everything below costs more. The function must branch, or the one
    /// below it would be as right an answer.
    pub(super) fn more_calls(&mut self) -> Option<()> {
        let inclusive = self.after.inclusive();
        let children = self.after.children();
        let program = &self.after;
        let least = (self.amount / 8.0).max(0.002 * self.total);
        let branches = |node: usize| {
            let mut parts: Vec<f64> =
                children[node].iter().map(|child| inclusive[*child]).collect();
            parts.push(program.nodes[node].weight);
            let largest = parts.iter().copied().fold(0.0, f64::max);
            children[node].len() >= 2 && largest <= 0.7 * inclusive[node]
        };
        let mut places = program.plantable();
        places.retain(|node| inclusive[*node] >= least && inclusive[*node] <= 0.6 * self.total);
        self.random.shuffle(&mut places);
        let top = *(places.iter())
            .find(|node| branches(**node) && heaviest_share(program, &children, **node) <= 0.6)?;
        let function = program.nodes[top].function;
        let mut tops = vec![top];
        if self.random.chance(0.5) {
            let inside = |node: &usize| {
                let path = program.path(*node);
                path[..path.len() - 1]
                    .iter()
                    .any(|above| program.nodes[*above].function == function)
            };
            tops = program.contexts(function).into_iter().filter(|node| !inside(node)).collect();
        }
        let sum: f64 = tops.iter().map(|node| inclusive[*node]).sum();
        let factor = 1.0 + self.amount / sum.max(1e-9);
        let mut functions = vec![function];
        functions.extend(
            tops.iter()
                .filter_map(|node| program.nodes[*node].parent)
                .map(|p| program.nodes[p].function),
        );
        let below: Vec<usize> = tops.iter().flat_map(|top| subtree(&children, *top)).collect();
        for node in below {
            self.after.nodes[node].weight *= factor;
        }
        self.causes.push(Rows { functions, contexts: tops });
        Some(())
    }

    /// What one context no longer costs, its caller, a callee or a sibling does.
    pub(super) fn shift_cost(&mut self) -> Option<()> {
        let plantable = self.after.plantable();
        let rich: Vec<usize> = (plantable.iter().copied())
            .filter(|node| self.after.nodes[*node].weight > 1.1 * self.amount)
            .collect();
        let from = *self.random.pick(&rich)?;
        let parent = self.after.nodes[from].parent;
        let near: Vec<usize> = (plantable.iter().copied())
            .filter(|node| *node != from)
            .filter(|node| {
                let above = self.after.nodes[*node].parent;
                Some(*node) == parent
                    || above == Some(from)
                    || (parent.is_some() && above == parent)
            })
            .collect();
        let into = *self.random.pick(&near)?;
        self.after.nodes[from].weight -= self.amount;
        self.after.nodes[into].weight += self.amount;
        self.decoys.push(self.after.nodes[into].function);
        Some(())
    }

    /// One context with everything below costs less.
    pub(super) fn improve(&mut self) -> Option<()> {
        let inclusive = self.after.inclusive();
        let rich: Vec<usize> = (self.after.plantable().into_iter())
            .filter(|node| inclusive[*node] > 1.2 * self.amount)
            .collect();
        let top = *self.random.pick(&rich)?;
        let factor = 1.0 - self.amount / inclusive[top];
        for node in self.after.subtree(top) {
            self.after.nodes[node].weight *= factor;
        }
        Some(())
    }
}

/// The part of a subtree's cost that its heaviest function has itself.
fn heaviest_share(program: &Program, children: &[Vec<usize>], top: usize) -> f64 {
    let mut own = hashbrown::HashMap::new();
    let mut total = 0.0;
    for node in subtree(children, top) {
        let node = &program.nodes[node];
        *own.entry(node.function).or_insert(0.0) += node.weight;
        total += node.weight;
    }
    let heaviest = own.into_values().fold(0.0, f64::max);
    if total > 0.0 { heaviest / total } else { 1.0 }
}
