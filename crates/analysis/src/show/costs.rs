//! One metric of a profile, worked out once and asked many things.

use hashbrown::HashMap;
use perfblame_cct::{
    Function, FunctionId, Layer, MetricId, NodeId, Profile, RoleTotal, Symbols, ThreadId, Total,
    callees, callers, callers_tree, fold_recursion, function_totals, hot_path, layer_totals,
    role_totals, rooted_at, thread_totals,
};

use super::{
    FunctionCost, FunctionView, LayerCost, Neighbours, RoleCost, ShowError, ShowQuery, SortBy,
    ThreadCost, ThreadView,
};
use crate::find::find_function;
use crate::names::function_name;
use crate::tree_view::{TreeLimits, TreeRow, TreeView, share};

/// The hot path goes on as long as a callee has this share of its caller's cost; below it the cost spreads out and no
/// single way down explains it.
const HOT_SHARE: f64 = 1.0 / 3.0;

/// True for a frame that stands for no code of anybody's: idle, `(program)`, `(garbage collector)` and the like.
fn stands_for_no_code(symbols: &Symbols, function: &Function) -> bool {
    match function.layer {
        Layer::Idle => true,
        Layer::Runtime | Layer::GarbageCollection => {
            let name = symbols.text(function.name);
            name.starts_with('(') && name.ends_with(')')
        }
        _ => false,
    }
}

/// Own values with those of frames that stand for no code left out; where there is nothing else, only idle ones are.
fn of_code(profile: &Profile, own: &[i64]) -> Vec<i64> {
    let without = |left_out: &dyn Fn(&Function) -> bool| {
        let functions = profile.symbols.functions();
        let left_out: Vec<bool> = functions.map(|(_, function)| left_out(function)).collect();
        let mut active = own.to_vec();
        // A profile without a metric has no values.
        for (node, value) in profile.tree.nodes().zip(&mut active) {
            if left_out[profile.function_of(node).index()] {
                *value = 0;
            }
        }
        active
    };
    let active = without(&|function| stands_for_no_code(&profile.symbols, function));
    if active.iter().any(|value| *value != 0) {
        return active;
    }
    without(&|function| function.layer == Layer::Idle)
}

/// One metric of a profile, worked out once.
pub(super) struct Costs<'a> {
    pub(super) profile: &'a Profile,
    pub(super) metric: Option<MetricId>,
    pub(super) own: Vec<i64>,
    pub(super) totals: Vec<Total>,
    pub(super) whole: i64,
    pub(super) hot: Vec<NodeId>,
}

impl<'a> Costs<'a> {
    pub(super) fn of(profile: &'a Profile, metric: Option<MetricId>) -> Self {
        let own = match metric {
            Some(metric) => profile.self_values(metric),
            None => vec![0; profile.tree.len()],
        };
        let whole = own.iter().fold(0i64, |sum, value| sum.saturating_add(*value));
        let totals = function_totals(profile, &own);
        let active = of_code(profile, &own);
        let hot = hot_path(&profile.tree, &profile.tree.inclusive(&active), HOT_SHARE);
        Self { profile, metric, own, totals, whole, hot }
    }

    pub(super) fn tree(&self, limits: TreeLimits) -> TreeView {
        TreeView::of(self.profile, &self.own, self.whole, &self.hot, |_| false, limits)
    }

    pub(super) fn overview(&self, limits: TreeLimits) -> TreeView {
        let mut calls_itself = vec![false; self.totals.len()];
        for node in self.profile.tree.nodes() {
            let function = self.profile.function_of(node);
            let above = self.profile.tree.parent(node).map(|node| self.profile.function_of(node));
            calls_itself[function.index()] |= above == Some(function);
        }
        let folded = fold_recursion(self.profile);
        let own = self.metric.map_or_else(Vec::new, |metric| folded.self_values(metric));
        let active = of_code(&folded, &own);
        let inclusive = folded.tree.inclusive(&active);
        let hot = hot_path(&folded.tree, &inclusive, HOT_SHARE);
        let recursive = |id: FunctionId| calls_itself.get(id.index()) == Some(&true);
        // A page that idles most of the time still did something in the rest.
        let busy = active.iter().fold(0i64, |sum, value| sum.saturating_add(*value));
        let min_share = limits.min_share * share(busy, self.whole).clamp(0.0, 1.0);
        let limits = TreeLimits { min_share, ..limits };
        let mut view = TreeView::of(&folded, &active, self.whole, &hot, recursive, limits);
        // What stands for no code is told apart, and is not among the small ones.
        let told = own.iter().zip(&inclusive).filter(|(own, code)| **own != 0 && **code == 0);
        view.hidden = view.hidden.saturating_sub(told.count());
        view
    }

    pub(super) fn function(&self, id: FunctionId) -> FunctionView {
        FunctionView::of(&self.profile.symbols, id)
    }

    pub(super) fn functions(&self) -> usize {
        let mut seen = vec![false; self.totals.len()];
        for row in self.profile.functions_of_rows() {
            seen[row as usize] = true;
        }
        seen.into_iter().filter(|seen| *seen).count()
    }

    pub(super) fn layers(&self) -> Vec<LayerCost> {
        let mut layers: Vec<_> = (layer_totals(self.profile, &self.own).into_iter())
            .filter(|(_, total)| total.self_value != 0)
            .map(|(layer, total)| LayerCost {
                layer,
                cost: total.self_value,
                share: share(total.self_value, self.whole),
            })
            .collect();
        layers.sort_by_key(|layer| (std::cmp::Reverse(layer.cost), layer.layer));
        layers
    }

    pub(super) fn hot_rows(&self) -> Vec<TreeRow> {
        let inclusive = self.profile.tree.inclusive(&self.own);
        (self.hot.iter().enumerate())
            .map(|(depth, node)| TreeRow {
                parent: depth.checked_sub(1),
                depth,
                function: self.function(self.profile.function_of(*node)),
                call_site: self.profile.symbols.frame(self.profile.tree.frame(*node)).call_site,
                self_cost: self.own[node.index()],
                inclusive: inclusive[node.index()],
                share: share(inclusive[node.index()], self.whole),
                hot: true,
                folded: false,
                recursive: false,
                hidden: 0,
                hidden_cost: 0,
            })
            .collect()
    }

    pub(super) fn cost(&self, function: FunctionId) -> FunctionCost {
        self.with_total(function, self.totals[function.index()])
    }

    pub(super) fn with_total(&self, function: FunctionId, total: Total) -> FunctionCost {
        FunctionCost {
            function: self.function(function),
            self_cost: total.self_value,
            self_share: share(total.self_value, self.whole),
            inclusive: total.inclusive,
            share: share(total.inclusive, self.whole),
        }
    }

    /// Several functions as one, each stack counted once.
    pub(super) fn of_functions(&self, functions: &[FunctionId]) -> FunctionCost {
        let Some(first) = functions.first() else {
            return FunctionCost {
                function: FunctionView::default(),
                self_cost: 0,
                self_share: 0.0,
                inclusive: 0,
                share: 0.0,
            };
        };
        let rooted = rooted_at(self.profile, functions);
        let inclusive = self.metric.map_or(0, |metric| rooted.cells.total(metric));
        let self_value = functions.iter().map(|id| self.totals[id.index()].self_value).sum();
        self.with_total(*first, Total { self_value, inclusive })
    }

    pub(super) fn top(&self, sort: SortBy, limit: usize) -> Vec<FunctionCost> {
        let mut rows: Vec<(FunctionId, Total)> = (self.profile.symbols.functions())
            .map(|(id, _)| (id, self.totals[id.index()]))
            .filter(|(_, total)| total.inclusive != 0 || total.self_value != 0)
            .collect();
        rows.sort_by_key(|(id, total)| {
            let keys = match sort {
                SortBy::SelfCost => (total.self_value, total.inclusive),
                SortBy::Inclusive => (total.inclusive, total.self_value),
            };
            (std::cmp::Reverse(keys), function_name(&self.profile.symbols, *id), *id)
        });
        rows.truncate(limit);
        rows.into_iter().map(|(id, _)| self.cost(id)).collect()
    }

    /// The function with the largest own cost; frames that stand for no code come last, idle ones not at all.
    pub(super) fn busiest(&self) -> Option<FunctionCost> {
        let symbols = &self.profile.symbols;
        self.largest(|row| !stands_for_no_code(symbols, row))
            .or_else(|| self.largest(|row| row.layer != Layer::Idle))
    }

    /// The same among the application's own functions.
    pub(super) fn busiest_own(&self) -> Option<FunctionCost> {
        self.largest(|row| row.layer == Layer::Application)
    }

    fn largest(&self, counts: impl Fn(&Function) -> bool) -> Option<FunctionCost> {
        let active = self.profile.symbols.functions().filter(|(_, row)| counts(row));
        let own = |id: FunctionId| self.totals[id.index()].self_value;
        let (id, _) = active.max_by_key(|(id, _)| (own(*id), std::cmp::Reverse(*id)))?;
        (own(id) > 0).then(|| self.cost(id))
    }

    /// What frames that stand for no code cost, the largest first.
    pub(super) fn runtime(&self) -> Vec<FunctionCost> {
        let symbols = &self.profile.symbols;
        let mut rows: Vec<FunctionId> = (symbols.functions())
            .filter(|(id, row)| {
                self.totals[id.index()].self_value > 0 && stands_for_no_code(symbols, row)
            })
            .map(|(id, _)| id)
            .collect();
        rows.sort_by_key(|id| (std::cmp::Reverse(self.totals[id.index()].self_value), *id));
        rows.into_iter().map(|id| self.cost(id)).collect()
    }

    pub(super) fn through(&self) -> Option<FunctionCost> {
        let inclusive = self.profile.tree.inclusive(&self.own);
        let half = |node: &&NodeId| inclusive[node.index()] >= self.whole / 2;
        let node = self.hot.iter().rev().find(half)?;
        Some(self.cost(self.profile.function_of(*node)))
    }

    pub(super) fn threads(&self) -> Vec<ThreadCost> {
        let Some(metric) = self.metric else { return Vec::new() };
        let mut seen = vec![false; self.profile.threads.len()];
        let totals = thread_totals(self.profile, metric);
        let busiest = self.busiest_by(self.profile.threads.len(), |thread| Some(thread.index()));
        let mut rows = Vec::new();
        for (id, cost) in totals {
            let Some(id) = id else { continue };
            seen[id.index()] = true;
            rows.push((id, cost));
        }
        let rest = (0..seen.len()).filter(|row| !seen[*row]).map(|row| (ThreadId::new(row), 0));
        rows.extend(rest);
        let thread = |(id, cost): (ThreadId, i64)| ThreadCost {
            thread: ThreadView::of(self.profile, id),
            cost,
            share: share(cost, self.whole),
            busiest: busiest[id.index()].map(|(id, cost)| (self.function(id), cost)),
        };
        rows.into_iter().map(thread).collect()
    }

    pub(super) fn roles(&self) -> Vec<RoleCost> {
        let Some(metric) = self.metric else { return Vec::new() };
        let roles = role_totals(self.profile, metric);
        let mut of_thread: Vec<Option<usize>> = vec![None; self.profile.threads.len()];
        for (row, role) in roles.iter().enumerate() {
            for thread in &role.threads {
                of_thread[thread.index()] = Some(row);
            }
        }
        let busiest = self.busiest_by(roles.len(), |thread| of_thread[thread.index()]);
        let role = |(role, busiest): (RoleTotal, Option<(FunctionId, i64)>)| RoleCost {
            process: role.process.map(|id| self.profile.symbols.text(id).to_owned()),
            role: role.role,
            threads: role.threads.len(),
            cost: role.value,
            share: share(role.value, self.whole),
            busiest: busiest.map(|(id, cost)| (self.function(id), cost)),
        };
        roles.into_iter().zip(busiest).map(role).filter(|role| role.threads > 0).collect()
    }

    /// The function with the largest own cost in each group of threads, in one walk over the cells.
    pub(super) fn busiest_by(
        &self,
        groups: usize,
        group: impl Fn(ThreadId) -> Option<usize>,
    ) -> Vec<Option<(FunctionId, i64)>> {
        let mut best = vec![None; groups];
        let Some(metric) = self.metric else { return best };
        let mut costs: HashMap<(usize, FunctionId), i64> = HashMap::new();
        for (node, thread, value) in self.profile.cells.of(metric) {
            let function = self.profile.function_of(node);
            if self.profile.symbols.function(function).layer == Layer::Idle {
                continue;
            }
            if let Some(group) = thread.and_then(&group) {
                *costs.entry((group, function)).or_default() += value;
            }
        }
        let mut costs: Vec<_> = costs.into_iter().collect();
        costs.sort_unstable_by_key(|((group, function), cost)| {
            (*group, std::cmp::Reverse(*cost), *function)
        });
        for ((group, function), cost) in costs {
            best[group].get_or_insert((function, cost));
        }
        best
    }

    pub(super) fn neighbours(
        &self,
        wanted: &str,
        up: bool,
        query: &ShowQuery,
    ) -> Result<Neighbours, ShowError> {
        let functions = find_function(self.profile, &self.totals, wanted)?;
        let (direct, view) = if up {
            (callers(self.profile, &self.own, &functions), callers_tree(self.profile, &functions))
        } else {
            (callees(self.profile, &self.own, &functions), rooted_at(self.profile, &functions))
        };
        let mut direct: Vec<_> = (direct.into_iter())
            .filter(|neighbour| neighbour.value != 0)
            .map(|neighbour| {
                let function = neighbour.function.map(|id| self.function(id));
                (function, neighbour.value, share(neighbour.value, self.whole))
            })
            .collect();
        direct.truncate(query.functions);
        let own = match self.metric {
            Some(metric) => view.self_values(metric),
            None => vec![0; view.tree.len()],
        };
        let hot = hot_path(&view.tree, &view.tree.inclusive(&own), HOT_SHARE);
        let tree = TreeView::of(&view, &own, self.whole, &hot, |_| false, query.tree);
        Ok(Neighbours { function: self.of_functions(&functions), direct, tree })
    }
}
