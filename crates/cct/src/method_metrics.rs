//! Method, self, callee, caller and thread time: `[insitu]`, section 3.3, equations 3.1 to 3.25, for all methods at once.
//!
//! | there | here |
//! |---|---|
//! | *n*.sample | self value of a node |
//! | *e*.sample, *sample_total(n)* (3.2) | inclusive value of a node |
//! | *N(m)*, *N_t(m)* (3.3, 3.23) | nodes of function *m* that are in the [`Scope`] |
//! | *r*, *R_t* (3.6, 3.24) | roots of the [`Scope`] |
//! | *sample_method* (3.5), *sample_inv* (3.11) | [`MethodMetrics::method_samples`], [`Invocation::samples`] |
//!
//! The thesis evaluates a method when it is asked for, by going through its nodes. Here three walks over the rows give
//! every method's, callee's and thread's samples: O(nodes), however many methods there are.
//!
//! Where we depart: 3.15 divides by the method's samples (3.5), as its own text says. And a set of nodes is made
//! recursion free (3.4) by leaving out the nodes that have *any* node of the set above them, not only those whose
//! nearest recursive parent is in it. For *N(m)* that is the same. For the calls of *m* from *p* it is not: on the
//! stack p m q m p m, the recursive parent of the last *m* is the one that *q* called, and the stack would count twice.

use hashbrown::HashMap;

use crate::recursion::nearest_above;
use crate::{FunctionId, MetricId, NodeId, Profile, ThreadId};

/// The nodes that count: all, or those of selected tasks.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Scope {
    /// The whole tree.
    #[default]
    Whole,
    /// Whether each node counts, by row; with a node all below it count.
    Nodes(Vec<bool>),
}

impl Scope {
    /// True when the node counts.
    pub fn contains(&self, node: NodeId) -> bool {
        match self {
            Self::Whole => true,
            Self::Nodes(rows) => rows.get(node.index()).copied().unwrap_or(false),
        }
    }

    /// The highest nodes that count: the tree's roots, or the task roots *R_t* (3.24).
    pub fn roots(&self, profile: &Profile) -> Vec<NodeId> {
        let above = |node| profile.tree.parent(node);
        (profile.tree.nodes())
            .filter(|node| self.contains(*node))
            .filter(|node| above(*node).is_none_or(|parent| !self.contains(parent)))
            .collect()
    }
}

/// Calls of one function by another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Invocation {
    /// *m*, who calls.
    pub caller: FunctionId,
    /// *c*, who is called.
    pub callee: FunctionId,
    /// *sample_inv(m, c)* (3.11).
    pub samples: i64,
}

/// The metrics of every method of a profile, in one scope.
#[derive(Clone, Debug, Default)]
pub struct MethodMetrics {
    /// *sample_total(r)*, or its sum over the task roots: what method times are shares of.
    whole: i64,
    /// Self samples and *sample_method(m)*, by function.
    methods: Vec<(i64, i64)>,
    /// Functions that have a node in the scope.
    present: Vec<bool>,
    /// By caller, then most samples first.
    calls: Vec<Invocation>,
    /// Rows of `calls`, by callee, then most samples first.
    calls_by_callee: Vec<u32>,
    /// *sample_method(m, t)* (3.20), by function, then most samples first.
    threads: Vec<(FunctionId, Option<ThreadId>, i64)>,
}

/// Computes the metrics of all methods. `scope` is the whole tree, or what the selected tasks cover.
pub fn method_metrics(profile: &Profile, metric: MetricId, scope: &Scope) -> MethodMetrics {
    let self_values = profile.self_values(metric);
    // Sample_total (3.1, 3.2).
    let total = profile.tree.inclusive(&self_values);
    let whole = (scope.roots(profile).iter())
        .fold(0i64, |sum, root| sum.saturating_add(total[root.index()]));
    let functions = profile.functions_of_rows();
    let count = profile.symbols.functions().len();
    let recursive_parent = nearest_above(&profile.tree, &functions, count);
    // R_free (3.4): in scope, and the recursive parent is not. As children inherit tasks, none further up is either.
    let free = |node: NodeId| {
        scope.contains(node)
            && recursive_parent[node.index()].is_none_or(|parent| !scope.contains(parent))
    };
    let mut methods = vec![(0i64, 0i64); count];
    let mut present = vec![false; count];
    for node in profile.tree.nodes().filter(|node| scope.contains(*node)) {
        let function = functions[node.index()] as usize;
        present[function] = true;
        let (own, method) = &mut methods[function];
        *own = own.saturating_add(self_values[node.index()]);
        if free(node) {
            *method = method.saturating_add(total[node.index()]);
        }
    }
    let calls = invocations(profile, scope, &functions, &total);
    let mut calls_by_callee: Vec<u32> = (0..calls.len() as u32).collect();
    calls_by_callee.sort_by_key(|row| {
        let call = &calls[*row as usize];
        (call.callee, std::cmp::Reverse(call.samples), call.caller)
    });
    let threads = thread_samples(profile, metric, &functions, free);
    MethodMetrics { whole, methods, present, calls, calls_by_callee, threads }
}

/// *sample_inv(m, c)* (3.11) for all pairs of C_method (3.8 to 3.10).
fn invocations(
    profile: &Profile,
    scope: &Scope,
    functions: &[u32],
    total: &[i64],
) -> Vec<Invocation> {
    let mut index: HashMap<(u32, u32), u32> = HashMap::new();
    let mut calls: Vec<Invocation> = Vec::new();
    // Group 0 holds the nodes that nobody in the scope calls.
    let group: Vec<u32> = (profile.tree.nodes())
        .map(|node| {
            let Some(parent) = profile.tree.parent(node).filter(|node| scope.contains(*node))
            else {
                return 0;
            };
            let (caller, callee) = (functions[parent.index()], functions[node.index()]);
            *index.entry((caller, callee)).or_insert_with(|| {
                calls.push(Invocation {
                    caller: FunctionId::new(caller as usize),
                    callee: FunctionId::new(callee as usize),
                    samples: 0,
                });
                calls.len() as u32
            })
        })
        .collect();
    let above = nearest_above(&profile.tree, &group, calls.len() + 1);
    for (row, group) in group.iter().enumerate() {
        if let Some(call) = (*group as usize).checked_sub(1)
            && above[row].is_none()
        {
            calls[call].samples = calls[call].samples.saturating_add(total[row]);
        }
    }
    calls.sort_by_key(|call| (call.caller, std::cmp::Reverse(call.samples), call.callee));
    calls
}

/// *sample_method(m, t)* (3.16 to 3.21) for all pairs. The rows that a thread touches are its cells' and those above
/// them, so the work is that of the threads' own trees, not threads times nodes.
fn thread_samples(
    profile: &Profile,
    metric: MetricId,
    functions: &[u32],
    free: impl Fn(NodeId) -> bool,
) -> Vec<(FunctionId, Option<ThreadId>, i64)> {
    let mut cells: Vec<_> = profile.cells.of(metric).collect();
    cells.sort_unstable_by_key(|(node, thread, _)| (*thread, *node));
    let mut total = vec![0i64; profile.tree.len()];
    let mut touched_by = vec![0u32; profile.tree.len()];
    let mut of_function: HashMap<u32, i64> = HashMap::new();
    let mut list = Vec::new();
    for (number, cells) in cells.chunk_by(|a, b| a.1 == b.1).enumerate() {
        let stamp = number as u32 + 1;
        let mut touched: Vec<NodeId> = Vec::new();
        for (node, _, value) in cells {
            for above in profile.tree.ancestors(*node) {
                if touched_by[above.index()] == stamp {
                    break;
                }
                touched_by[above.index()] = stamp;
                total[above.index()] = 0;
                touched.push(above);
            }
            total[node.index()] = total[node.index()].saturating_add(*value);
        }
        touched.sort_unstable();
        for node in touched.into_iter().rev() {
            let value = total[node.index()];
            if let Some(parent) = profile.tree.parent(node) {
                total[parent.index()] = total[parent.index()].saturating_add(value);
            }
            if free(node) {
                let sum = of_function.entry(functions[node.index()]).or_default();
                *sum = sum.saturating_add(value);
            }
        }
        let thread = cells.first().and_then(|(_, thread, _)| *thread);
        let sums = of_function.drain();
        list.extend(sums.map(|(row, sum)| (FunctionId::new(row as usize), thread, sum)));
    }
    list.sort_by_key(|(function, thread, sum)| (*function, std::cmp::Reverse(*sum), *thread));
    list
}

impl MethodMetrics {
    /// What method times are shares of.
    pub fn whole(&self) -> i64 {
        self.whole
    }

    /// The functions that have a node in the scope, by id.
    pub fn methods(&self) -> impl Iterator<Item = FunctionId> {
        let rows = self.present.iter().enumerate();
        rows.filter(|(_, present)| **present).map(|(row, _)| FunctionId::new(row))
    }

    /// *sample_method(m)* (3.5).
    pub fn method_samples(&self, method: FunctionId) -> i64 {
        self.methods.get(method.index()).map_or(0, |(_, samples)| *samples)
    }

    /// The samples of the method's own statements.
    pub fn self_samples(&self, method: FunctionId) -> i64 {
        self.methods.get(method.index()).map_or(0, |(own, _)| *own)
    }

    /// *t_method* (3.6, 3.25): the share of all time that was spent in the method; none when there is no time at all.
    pub fn method_time(&self, method: FunctionId) -> Option<f64> {
        share(self.method_samples(method), self.whole)
    }

    /// *t_self* (3.7): the share of the method's time spent in its own statements.
    pub fn self_time(&self, method: FunctionId) -> Option<f64> {
        share(self.self_samples(method), self.method_samples(method))
    }

    /// *t_callee* (3.12): whom the method calls and the share of its time spent there, largest first.
    pub fn callee_times(&self, method: FunctionId) -> Vec<(FunctionId, Option<f64>)> {
        let whole = self.method_samples(method);
        self.callees(method).iter().map(|call| (call.callee, share(call.samples, whole))).collect()
    }

    /// *t_caller* (3.13 to 3.15, dividing by 3.5): who calls the method and the share of its time spent when called
    /// from there, largest first. A caller outside the scope has no samples (3.11, 3.23) and is left out.
    pub fn caller_times(&self, method: FunctionId) -> Vec<(FunctionId, Option<f64>)> {
        let whole = self.method_samples(method);
        self.callers(method).map(|call| (call.caller, share(call.samples, whole))).collect()
    }

    /// *t_thread* (3.22): the threads the method ran on (3.21) and the share of its time spent there, largest first.
    pub fn thread_times(&self, method: FunctionId) -> Vec<(Option<ThreadId>, Option<f64>)> {
        let whole = self.method_samples(method);
        let rows = self.thread_samples(method);
        rows.map(|(thread, samples)| (thread, share(samples, whole))).collect()
    }

    /// *sample_method(m, t)* (3.20): the threads the method ran on, most samples first.
    pub fn thread_samples(
        &self,
        method: FunctionId,
    ) -> impl Iterator<Item = (Option<ThreadId>, i64)> {
        let start = self.threads.partition_point(|(function, _, _)| *function < method);
        let end = self.threads.partition_point(|(function, _, _)| *function <= method);
        self.threads[start..end].iter().map(|(_, thread, samples)| (*thread, *samples))
    }

    /// The calls a method makes, most samples first.
    pub fn callees(&self, method: FunctionId) -> &[Invocation] {
        let start = self.calls.partition_point(|call| call.caller < method);
        let end = self.calls.partition_point(|call| call.caller <= method);
        &self.calls[start..end]
    }

    /// The calls of a method, most samples first.
    pub fn callers(&self, method: FunctionId) -> impl Iterator<Item = &Invocation> {
        let callee = |row: &u32| self.calls[*row as usize].callee;
        let start = self.calls_by_callee.partition_point(|row| callee(row) < method);
        let end = self.calls_by_callee.partition_point(|row| callee(row) <= method);
        self.calls_by_callee[start..end].iter().map(|row| &self.calls[*row as usize])
    }
}

/// A share; an empty whole has none.
fn share(part: i64, whole: i64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}
