//! Which part of the runs a question is about: threads, tasks, a root, a metric.

use perfblame_cct::{
    Cells, MetricId, Profile, RunSet, Symbols, TaskDefinition, Thread, role, rooted_at, tasks,
    within,
};

use super::costs::Costs;
use super::{FunctionCost, MetricTotal, RunTotal, ShowError, ShowQuery, TaskCost};
use crate::find::find_function;
use crate::load::Loaded;
use crate::part::Part;
use crate::tree_view::share;

/// The part of the runs that a question is about, added up.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Only the threads and below the root that were asked for.
    pub profile: Profile,
    /// The metric asked for.
    pub metric: Option<MetricId>,
    /// The function chosen as root, with its share of everything.
    pub root: Option<FunctionCost>,
    /// The tasks asked for, with their shares of everything.
    pub tasks: Vec<TaskCost>,
    pub(crate) metrics: Vec<MetricTotal>,
    pub(super) runs: Vec<RunTotal>,
}

/// Finds what a question is about.
pub fn select(loaded: &Loaded, query: &ShowQuery) -> Result<Selection, ShowError> {
    let ShowQuery { thread, tasks, root, .. } = query.clone();
    select_part(loaded, query.metric.as_deref(), &Part { thread, tasks, root })
}

/// One metric of a part of the runs, added up.
pub(crate) fn select_part(
    loaded: &Loaded,
    metric: Option<&str>,
    part: &Part,
) -> Result<Selection, ShowError> {
    let mut profile = loaded.runs.sum();
    if let Some(wanted) = &part.thread {
        let chosen = threads_named(&profile.symbols, &profile.threads, wanted)?;
        profile.cells = cells_on_threads(&profile.cells, profile.metrics.len(), &chosen);
    }
    let metric = choose_metric(&loaded.runs, metric)?;
    let metrics = (profile.metrics())
        .map(|(id, row)| MetricTotal::of(row, profile.cells.total(id)))
        .collect();
    let runs = (loaded.names.iter().zip(&loaded.runs.runs))
        .map(|(name, run)| RunTotal {
            name: name.clone(),
            samples: run.samples,
            duration: run.info.duration,
            total: metric.map_or(0, |metric| run.cells.total(metric)),
        })
        .collect();
    let mut task_costs = Vec::new();
    if !part.tasks.is_empty() {
        (profile, task_costs) = of_tasks(&profile, metric, &part.tasks)?;
    }
    let mut root = None;
    if let Some(wanted) = &part.root {
        let costs = Costs::of(&profile, metric);
        let functions = find_function(&profile, &costs.totals, wanted)?;
        root = Some(costs.of_functions(&functions));
        profile = rooted_at(&profile, &functions);
    }
    Ok(Selection { profile, metric, root, tasks: task_costs, metrics, runs })
}

/// The part of a profile that belongs to tasks, and what each of them costs.
fn of_tasks(
    profile: &Profile,
    metric: Option<MetricId>,
    wanted: &[String],
) -> Result<(Profile, Vec<TaskCost>), ShowError> {
    let definitions = task_definitions(profile, wanted)?;
    let found = tasks(profile, &definitions);
    let own = metric.map_or_else(Vec::new, |metric| profile.self_values(metric));
    let whole = own.iter().fold(0i64, |sum, value| sum.saturating_add(*value));
    let mut costs = hashbrown::HashMap::<&str, i64>::new();
    for (node, own) in profile.tree.nodes().zip(&own).filter(|(_, own)| **own != 0) {
        for name in found.of(node) {
            *costs.entry(name).or_default() += own;
        }
    }
    let cost = |name: &String| {
        let cost = costs.get(name.as_str()).copied().unwrap_or(0);
        TaskCost { name: name.clone(), cost, share: share(cost, whole) }
    };
    let mut list: Vec<TaskCost> = found.names().iter().map(cost).collect();
    list.sort_by(|a, b| b.cost.cmp(&a.cost).then_with(|| a.name.cmp(&b.name)));
    let names: Vec<&str> = found.names().iter().map(String::as_str).collect();
    Ok((within(profile, &found.scope(&names)), list))
}

/// The metric asked for, by its name or the start of it; else the first that has values, else the first.
pub fn choose_metric(runs: &RunSet, wanted: Option<&str>) -> Result<Option<MetricId>, ShowError> {
    let ids = || (0..runs.metrics.len()).map(MetricId::new);
    let Some(wanted) = wanted else {
        let filled = |id: &MetricId| runs.runs.iter().any(|run| run.cells.of(*id).next().is_some());
        return Ok(ids().find(filled).or(ids().next()));
    };
    let named = |test: &dyn Fn(&str) -> bool| {
        let mut found = ids().filter(|id| test(&runs.metrics[id.index()].name));
        found.next().filter(|_| found.next().is_none())
    };
    let lower = wanted.to_lowercase();
    named(&|name| name == wanted)
        .or_else(|| named(&|name| name.to_lowercase().starts_with(&lower)))
        .map(Some)
        .ok_or_else(|| ShowError::Metric {
            wanted: wanted.to_owned(),
            known: runs.metrics.iter().map(|metric| metric.name.clone()).collect(),
        })
}

/// The definitions of tasks, each of which some function of the profile starts.
pub(crate) fn task_definitions(
    profile: &Profile,
    wanted: &[String],
) -> Result<Vec<TaskDefinition>, ShowError> {
    let mut definitions = Vec::new();
    for text in wanted {
        let parsed = TaskDefinition::parse(&text.replacen("=>", " as ", 1));
        let definition =
            parsed.map_err(|error| ShowError::Task { definition: text.clone(), error })?;
        if tasks(profile, std::slice::from_ref(&definition)).names().is_empty() {
            return Err(ShowError::NoTask(text.clone()));
        }
        definitions.push(definition);
    }
    Ok(definitions)
}

/// Whether each thread is one of those the user means, of which there is at least one.
pub(crate) fn threads_named(
    symbols: &Symbols,
    threads: &[Thread],
    wanted: &str,
) -> Result<Vec<bool>, ShowError> {
    let lower = wanted.to_lowercase();
    let chosen: Vec<bool> = (threads.iter())
        .map(|thread| {
            let name = symbols.text(thread.name);
            name.to_lowercase().contains(&lower)
                || role(name).to_lowercase() == lower
                || thread.tid.is_some_and(|tid| tid.to_string() == wanted)
        })
        .collect();
    if chosen.contains(&true) {
        return Ok(chosen);
    }
    let names = threads.iter().map(|thread| role(symbols.text(thread.name)));
    let mut known: Vec<String> = names.filter(|role| !role.is_empty()).collect();
    known.sort();
    known.dedup();
    Err(ShowError::Thread { wanted: wanted.to_owned(), known })
}

/// The cells of chosen threads.
pub(crate) fn cells_on_threads(cells: &Cells, metrics: usize, chosen: &[bool]) -> Cells {
    let mut keys = Vec::new();
    let mut columns = vec![Vec::new(); metrics];
    for cell in cells.rows() {
        if cell.thread.is_some_and(|thread| chosen.get(thread.index()) == Some(&true)) {
            keys.push((cell.node, cell.thread));
            for (column, value) in columns.iter_mut().zip(cell.values) {
                column.push(value);
            }
        }
    }
    Cells::from_columns(&keys, &columns)
}
