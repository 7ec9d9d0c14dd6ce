//! What a profile adds up to: per function, component, layer, thread and role.
//!
//! Inclusive values count a function once per stack, however often it is on it: a node adds its inclusive value only
//! when no node above it is of the same function. The same holds for any other grouping of nodes.

use hashbrown::HashMap;

use crate::recursion::nearest_above;
use crate::{Cct, FunctionId, Layer, MetricId, NodeId, Profile, StringId, ThreadId, role};

/// Self and inclusive value of a function, or of another group of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Total {
    /// Value of the group's own nodes.
    pub self_value: i64,
    /// Value of the group's nodes and all that is below them, each stack counted once.
    pub inclusive: i64,
}

/// Self and inclusive value per group, recursion-free. `group` gives the group of each row, below `groups`.
pub fn group_totals(tree: &Cct, self_values: &[i64], group: &[u32], groups: usize) -> Vec<Total> {
    let above = nearest_above(tree, group, groups);
    let inclusive = tree.inclusive(self_values);
    let mut totals = vec![Total::default(); groups];
    for (row, group) in group.iter().enumerate() {
        let total = &mut totals[*group as usize];
        let own = self_values.get(row).copied().unwrap_or(0);
        total.self_value = total.self_value.saturating_add(own);
        if above[row].is_none() {
            total.inclusive = total.inclusive.saturating_add(inclusive[row]);
        }
    }
    totals
}

/// Self and inclusive value of every function, by [`FunctionId`] row, recursion-free.
pub fn function_totals(profile: &Profile, self_values: &[i64]) -> Vec<Total> {
    let functions = profile.symbols.functions().len();
    group_totals(&profile.tree, self_values, &profile.functions_of_rows(), functions)
}

/// Self and inclusive value of every component that has nodes, largest inclusive value first.
pub fn component_totals(profile: &Profile, self_values: &[i64]) -> Vec<(Option<StringId>, Total)> {
    let mut index: HashMap<Option<StringId>, u32> = HashMap::new();
    let mut components = Vec::new();
    let group: Vec<u32> = (profile.symbols.functions())
        .map(|(_, function)| {
            *index.entry(function.component).or_insert_with(|| {
                components.push(function.component);
                components.len() as u32 - 1
            })
        })
        .collect();
    let rows = profile.functions_of_rows();
    let rows: Vec<u32> = rows.iter().map(|function| group[*function as usize]).collect();
    let mut seen = vec![false; components.len()];
    for row in &rows {
        seen[*row as usize] = true;
    }
    let totals = group_totals(&profile.tree, self_values, &rows, components.len());
    let mut list: Vec<_> = (components.into_iter().zip(totals).zip(seen))
        .filter_map(|(total, seen)| seen.then_some(total))
        .collect();
    list.sort_by_key(|(component, total)| {
        let name = component.map(|id| profile.symbols.text(id));
        (std::cmp::Reverse((total.inclusive, total.self_value)), name)
    });
    list
}

/// Self and inclusive value of every layer that has nodes, in the order of [`Layer::ALL`]. Self values add up to the
/// whole; inclusive values overlap where one layer calls another.
pub fn layer_totals(profile: &Profile, self_values: &[i64]) -> Vec<(Layer, Total)> {
    let number = |layer: Layer| Layer::ALL.iter().position(|known| *known == layer).unwrap_or(0);
    let rows: Vec<u32> = (profile.tree.nodes())
        .map(|node| number(profile.symbols.function(profile.function_of(node)).layer) as u32)
        .collect();
    let totals = group_totals(&profile.tree, self_values, &rows, Layer::ALL.len());
    let mut seen = [false; Layer::ALL.len()];
    for row in rows {
        seen[row as usize] = true;
    }
    (Layer::ALL.into_iter().zip(totals).zip(seen))
        .filter_map(|(total, seen)| seen.then_some(total))
        .collect()
}

/// Value of every thread that has one, largest first; none where the profile does not tell threads apart.
pub fn thread_totals(profile: &Profile, metric: MetricId) -> Vec<(Option<ThreadId>, i64)> {
    let mut values = vec![0i64; profile.threads.len() + 1];
    let mut seen = vec![false; values.len()];
    for (_, thread, value) in profile.cells.of(metric) {
        let row = thread.map_or(0, |thread| thread.index() + 1);
        if let Some(slot) = values.get_mut(row) {
            *slot = slot.saturating_add(value);
            seen[row] = true;
        }
    }
    let mut list: Vec<_> = (values.into_iter().enumerate().zip(seen))
        .filter(|(_, seen)| *seen)
        .map(|((row, value), _)| (row.checked_sub(1).map(ThreadId::new), value))
        .collect();
    list.sort_by_key(|(thread, value)| (std::cmp::Reverse(*value), *thread));
    list
}

/// What the threads of one role add up to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoleTotal {
    /// Name of the process, where the profile has several.
    pub process: Option<StringId>,
    /// The role, see [`role`]; empty for threads without a name.
    pub role: String,
    /// The threads that play it and have a value, in order; empty where the profile does not tell threads apart.
    pub threads: Vec<ThreadId>,
    /// Their values together.
    pub value: i64,
}

/// Value of every role, largest first. Threads of different processes are told apart.
pub fn role_totals(profile: &Profile, metric: MetricId) -> Vec<RoleTotal> {
    let mut roles: Vec<RoleTotal> = Vec::new();
    let mut index: HashMap<(Option<StringId>, String), usize> = HashMap::new();
    for (id, value) in thread_totals(profile, metric) {
        let thread = id.and_then(|id| profile.threads.get(id.index()));
        let process = thread.and_then(|thread| thread.process);
        let name = thread.map_or("", |thread| profile.symbols.text(thread.name));
        let at = *index.entry((process, role(name))).or_insert_with_key(|(process, role)| {
            let (process, role) = (*process, role.clone());
            roles.push(RoleTotal { process, role, threads: Vec::new(), value: 0 });
            roles.len() - 1
        });
        roles[at].value = roles[at].value.saturating_add(value);
        roles[at].threads.extend(id);
    }
    for role in &mut roles {
        role.threads.sort_unstable();
    }
    roles.sort_by(|a, b| {
        let process = |role: &RoleTotal| role.process.map(|id| profile.symbols.text(id));
        b.value
            .cmp(&a.value)
            .then_with(|| process(a).cmp(&process(b)))
            .then_with(|| a.role.cmp(&b.role))
    });
    roles
}

/// Value of every group the program put its threads in, largest first; none for threads without one.
pub fn thread_group_totals(profile: &Profile, metric: MetricId) -> Vec<(Option<StringId>, i64)> {
    let mut groups: Vec<(Option<StringId>, i64)> = Vec::new();
    for (thread, value) in thread_totals(profile, metric) {
        let thread = thread.and_then(|id| profile.threads.get(id.index()));
        let group = thread.and_then(|thread| thread.group);
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, sum)) => *sum = sum.saturating_add(value),
            None => groups.push((group, value)),
        }
    }
    groups.sort_by_key(|(group, value)| {
        (std::cmp::Reverse(*value), group.map(|id| profile.symbols.text(id)))
    });
    groups
}

/// A function's caller or callee, with the value of the calls between the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// The other function; none when nothing calls it, as it is the outermost of its stack.
    pub function: Option<FunctionId>,
    /// Inclusive value of the callee where it is called by this caller, each stack counted once.
    pub value: i64,
}

/// Who calls `functions` (taken as one), largest value first.
pub fn callers(profile: &Profile, self_values: &[i64], functions: &[FunctionId]) -> Vec<Neighbour> {
    let chosen = chosen(profile, functions);
    let rows = profile.functions_of_rows();
    neighbours(profile, self_values, |node| {
        chosen[rows[node.index()] as usize]
            .then(|| profile.tree.parent(node).map(|parent| rows[parent.index()]))
    })
}

/// Whom `functions` (taken as one) call, largest value first.
pub fn callees(profile: &Profile, self_values: &[i64], functions: &[FunctionId]) -> Vec<Neighbour> {
    let chosen = chosen(profile, functions);
    let rows = profile.functions_of_rows();
    neighbours(profile, self_values, |node| {
        let parent = profile.tree.parent(node)?;
        chosen[rows[parent.index()] as usize].then(|| Some(rows[node.index()]))
    })
}

/// Which functions, by row, are in a list.
pub(crate) fn chosen(profile: &Profile, functions: &[FunctionId]) -> Vec<bool> {
    let mut chosen = vec![false; profile.symbols.functions().len()];
    for function in functions {
        if let Some(slot) = chosen.get_mut(function.index()) {
            *slot = true;
        }
    }
    chosen
}

/// Adds up, per neighbour, the inclusive values of the nodes that `edge` assigns to it, once per stack.
fn neighbours(
    profile: &Profile,
    self_values: &[i64],
    edge: impl Fn(NodeId) -> Option<Option<u32>>,
) -> Vec<Neighbour> {
    // Group 0 holds the nodes that are no edge, group 1 those without a caller, then comes one per function.
    let group: Vec<u32> = (profile.tree.nodes())
        .map(|node| edge(node).map_or(0, |neighbour| neighbour.map_or(1, |row| row + 2)))
        .collect();
    let groups = profile.symbols.functions().len() + 2;
    let mut seen = vec![false; groups];
    for row in &group {
        seen[*row as usize] = true;
    }
    let totals = group_totals(&profile.tree, self_values, &group, groups);
    let mut list: Vec<_> = (totals.iter().enumerate().skip(1))
        .filter(|(row, _)| seen[*row])
        .map(|(row, total)| Neighbour {
            function: row.checked_sub(2).map(FunctionId::new),
            value: total.inclusive,
        })
        .collect();
    list.sort_by_key(|neighbour| (std::cmp::Reverse(neighbour.value), neighbour.function));
    list
}

/// The hot path: from the heaviest root to the heaviest child, again and again, while that child has at least
/// `share` of its parent's inclusive value. Of equals the first is taken.
pub fn hot_path(tree: &Cct, inclusive: &[i64], share: f64) -> Vec<NodeId> {
    let value = |node: NodeId| inclusive.get(node.index()).copied().unwrap_or(0);
    let heaviest = |nodes: crate::Siblings<'_>| {
        nodes
            .filter(|node| value(*node) > 0)
            .max_by_key(|node| (value(*node), std::cmp::Reverse(*node)))
    };
    let mut path = Vec::new();
    let mut next = heaviest(tree.roots());
    while let Some(node) = next {
        path.push(node);
        let enough = value(node) as f64 * share;
        next = heaviest(tree.children(node)).filter(|child| value(*child) as f64 >= enough);
    }
    path
}
