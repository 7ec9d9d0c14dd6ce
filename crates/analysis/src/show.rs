//! What is in a profile: where the time goes, by path, by function, by thread.

mod costs;
mod select;

use perfblame_cct::{
    FunctionId, Layer, Measure, Metric, MetricId, Profile, Symbols, TaskError, ThreadId, Unit,
    Warning, role,
};

pub use select::{Selection, choose_metric, select};
pub(crate) use select::{cells_on_threads, select_part, task_definitions, threads_named};

use crate::find::FindError;
use crate::names::function_name;
use crate::tree_view::{Chains, TreeLimits, TreeView};
use costs::Costs;

/// What to show.
#[derive(Clone, PartialEq, Debug)]
pub struct ShowQuery {
    /// The metric; the profile's first one that has values when not given.
    pub metric: Option<String>,
    /// Only what belongs to tasks defined like this; see [`TaskDefinition::parse`](perfblame_cct::TaskDefinition::parse). `=>` may stand for ` as `.
    pub tasks: Vec<String>,
    /// Only what this function does, with shares of its cost.
    pub root: Option<String>,
    /// Who calls this function.
    pub callers: Option<String>,
    /// Whom this function calls.
    pub callees: Option<String>,
    /// Only threads whose name or role contains this.
    pub thread: Option<String>,
    /// How to sort functions.
    pub sort: SortBy,
    /// Functions at most.
    pub functions: usize,
    /// How much of the trees.
    pub tree: TreeLimits,
    /// What the tree shows.
    pub detail: Detail,
}

impl Default for ShowQuery {
    /// What fits on a screen.
    fn default() -> Self {
        Self {
            metric: None,
            tasks: Vec::new(),
            root: None,
            callers: None,
            callees: None,
            thread: None,
            sort: SortBy::default(),
            functions: 10,
            tree: TreeLimits { min_share: 0.02, rows: 24, chains: Chains::Folded },
            detail: Detail::Overview,
        }
    }
}

impl ShowQuery {
    /// Longer lists, for whoever asked for one of them.
    pub fn long() -> Self {
        let tree = TreeLimits { min_share: 0.005, rows: 400, chains: Chains::Folded };
        Self { functions: 50, tree, ..Self::default() }
    }
}

/// What the tree shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detail {
    /// What matters: no idle time, recursion folded.
    #[default]
    Overview,
    /// Every call as recorded.
    Whole,
}

/// How to sort functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SortBy {
    /// By their own cost.
    #[default]
    SelfCost,
    /// By their cost with everything they call.
    Inclusive,
}

/// A question that has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// The function is not clear.
    #[error("{0}")]
    Function(#[from] FindError),
    /// The profile has no such metric.
    #[error("the profile has no metric `{wanted}`")]
    Metric {
        /// What was asked for.
        wanted: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The definition of a task makes no sense.
    #[error("invalid task `{definition}`")]
    Task {
        /// The definition.
        definition: String,
        /// Why not.
        error: TaskError,
    },
    /// No function belongs to a task of this definition.
    #[error("no function starts the task `{0}`")]
    NoTask(String),
    /// The profile has no such thread.
    #[error("no thread's name contains `{wanted}`")]
    Thread {
        /// What was asked for.
        wanted: String,
        /// What there is.
        known: Vec<String>,
    },
}

/// A function as users know it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionView {
    /// Its name; `(anonymous)` when it has none.
    pub name: String,
    /// File, class, module, jar, shared object or kernel.
    pub component: Option<String>,
    /// Whose code it is.
    pub layer: Layer,
    /// Source file, when it is not the component.
    pub file: Option<String>,
    /// Where it starts, counted from 1.
    pub line: Option<u32>,
    /// Where it starts, counted from 1.
    pub column: Option<u32>,
    /// The package that brought the component, with its version.
    pub package: Option<String>,
}

impl FunctionView {
    /// What the symbols say of a function.
    pub fn of(symbols: &Symbols, id: FunctionId) -> Self {
        let function = symbols.function(id);
        Self {
            name: function_name(symbols, id).to_owned(),
            component: function.component.map(|id| symbols.text(id).to_owned()),
            layer: function.layer,
            file: function.file.map(|id| symbols.text(id).to_owned()),
            line: function.line.map(std::num::NonZeroU32::get),
            column: function.column.map(std::num::NonZeroU32::get),
            package: symbols.package(id).map(str::to_owned),
        }
    }
}

/// What a function costs, each stack counted once.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionCost {
    /// The function.
    pub function: FunctionView,
    /// Its own cost.
    pub self_cost: i64,
    /// Own cost as a share of the whole.
    pub self_share: f64,
    /// Its cost with everything it calls.
    pub inclusive: i64,
    /// Inclusive cost as a share of the whole.
    pub share: f64,
}

/// A metric and its sum over the whole profile.
#[derive(Clone, PartialEq, Debug)]
pub struct MetricTotal {
    /// Its name.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Sampled or exact.
    pub measure: Measure,
    /// What one sample stands for.
    pub period: Option<i64>,
    /// Values are times ten to this power.
    pub decimals: u8,
    /// Sum of all self values.
    pub total: i64,
}

impl MetricTotal {
    fn of(metric: &Metric, total: i64) -> Self {
        Self {
            name: metric.name.clone(),
            unit: metric.unit.clone(),
            measure: metric.measure,
            period: metric.period,
            decimals: metric.decimals,
            total,
        }
    }
}

/// One run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunTotal {
    /// The input it was read from.
    pub name: String,
    /// Samples taken.
    pub samples: u64,
    /// How long it lasted, in nanoseconds.
    pub duration: Option<i64>,
    /// Its sum of the metric shown.
    pub total: i64,
}

/// What a layer's own code costs.
#[derive(Clone, PartialEq, Debug)]
pub struct LayerCost {
    /// Whose code.
    pub layer: Layer,
    /// Its own cost.
    pub cost: i64,
    /// As a share of the whole.
    pub share: f64,
}

/// A thread as users know it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadView {
    /// Its name; empty when it has none.
    pub name: String,
    /// The role it plays.
    pub role: String,
    /// Name of its process.
    pub process: Option<String>,
    /// Process id.
    pub pid: Option<u64>,
    /// Thread id.
    pub tid: Option<u64>,
    /// The group the program put it in.
    pub group: Option<String>,
}

impl ThreadView {
    /// What a profile says of a thread; nothing of one that it does not have.
    pub(crate) fn of(profile: &Profile, id: ThreadId) -> Self {
        let symbols = &profile.symbols;
        let Some(thread) = profile.threads.get(id.index()) else { return Self::default() };
        let name = symbols.text(thread.name).to_owned();
        Self {
            role: role(&name),
            name,
            process: thread.process.map(|id| symbols.text(id).to_owned()),
            pid: thread.pid,
            tid: thread.tid,
            group: thread.group.map(|id| symbols.text(id).to_owned()),
        }
    }
}

/// What a thread costs.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadCost {
    /// The thread.
    pub thread: ThreadView,
    /// Its cost.
    pub cost: i64,
    /// As a share of the whole.
    pub share: f64,
    /// The function with the largest own cost on it, and that cost.
    pub busiest: Option<(FunctionView, i64)>,
}

/// What the threads of one role cost together.
#[derive(Clone, PartialEq, Debug)]
pub struct RoleCost {
    /// The role; empty for threads without a name.
    pub role: String,
    /// Name of the process, where the profile has several.
    pub process: Option<String>,
    /// How many threads play it.
    pub threads: usize,
    /// Their cost.
    pub cost: i64,
    /// As a share of the whole.
    pub share: f64,
    /// The function with the largest own cost on them, and that cost.
    pub busiest: Option<(FunctionView, i64)>,
}

/// What a task costs. Tasks can overlap.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskCost {
    /// Its name.
    pub name: String,
    /// Its cost.
    pub cost: i64,
    /// As a share of everything.
    pub share: f64,
}

/// Callers or callees of one function.
#[derive(Clone, PartialEq, Debug)]
pub struct Neighbours {
    /// The function.
    pub function: FunctionCost,
    /// Direct callers or callees with the cost of the calls between the two; none is the outside world.
    pub direct: Vec<(Option<FunctionView>, i64, f64)>,
    /// The function at the root, its callers or callees below it, and so on.
    pub tree: TreeView,
}

/// What is in a profile.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// The format of the inputs; of several, their names joined.
    pub format: String,
    /// The program that wrote them.
    pub producer: Option<String>,
    /// The profiled command or page.
    pub command: Option<String>,
    /// How long the recording lasted, in nanoseconds; of several runs, all together.
    pub duration: Option<i64>,
    /// When it started, in nanoseconds since 1970.
    pub started: Option<i64>,
    /// Whatever else it is labelled with.
    pub labels: Vec<(String, String)>,
    /// The runs, in the order given.
    pub runs: Vec<RunTotal>,
    /// Samples of all runs.
    pub samples: u64,
    /// Contexts in the tree.
    pub nodes: usize,
    /// Functions in the tree.
    pub functions: usize,
    /// Every metric.
    pub metrics: Vec<MetricTotal>,
    /// The metric all costs here are of, as a row of `metrics`; none when the profile has none.
    pub metric: Option<usize>,
    /// What shares are of: the cost of everything, or of the root that was chosen.
    pub whole: i64,
    /// The function chosen as root.
    pub root: Option<FunctionCost>,
    /// The tasks that were asked for, the most costly first.
    pub tasks: Vec<TaskCost>,
    /// Own cost per layer, largest first.
    pub layers: Vec<LayerCost>,
    /// The hot path, outermost first; what stands for no code (idle, program, garbage collector) does not count where
    /// there is code.
    pub hot: Vec<crate::TreeRow>,
    /// The heaviest contexts; in the overview without what stands for no code, and recursion folded.
    pub tree: TreeView,
    /// The most costly functions.
    pub top: Vec<FunctionCost>,
    /// Frames that stand for no code (idle, program, garbage collector) by own cost, largest first.
    pub runtime: Vec<FunctionCost>,
    /// The function with the largest own cost, of those that stand for code when there are any.
    pub busiest: Option<FunctionCost>,
    /// The same among the application's own functions.
    pub busiest_own: Option<FunctionCost>,
    /// The innermost function of the hot path that at least half of all cost passes through.
    pub through: Option<FunctionCost>,
    /// Threads, the most costly first; those without cost too.
    pub threads: Vec<ThreadCost>,
    /// Threads by role, the most costly first.
    pub roles: Vec<RoleCost>,
    /// Who calls the function that was asked for.
    pub callers: Option<Neighbours>,
    /// Whom the function that was asked for calls.
    pub callees: Option<Neighbours>,
    /// What was wrong with the inputs.
    pub warnings: Vec<Warning>,
}

/// Answers what is in a selection.
pub fn summarise(selection: &Selection, query: &ShowQuery) -> Result<Summary, ShowError> {
    let Selection { profile, metric, root, tasks, metrics, runs } = selection;
    let metric = *metric;
    let costs = Costs::of(profile, metric);
    let neighbours = |wanted: &Option<String>, up: bool| {
        wanted.as_ref().map(|wanted| costs.neighbours(wanted, up, query)).transpose()
    };
    Ok(Summary {
        format: profile.info.format.clone(),
        producer: profile.info.producer.clone(),
        command: profile.info.command.clone(),
        duration: profile.info.duration,
        started: profile.info.started,
        labels: profile.info.labels.clone(),
        runs: runs.clone(),
        samples: profile.samples,
        nodes: profile.tree.len(),
        functions: costs.functions(),
        metrics: metrics.clone(),
        metric: metric.map(MetricId::index),
        whole: costs.whole,
        root: root.clone(),
        tasks: tasks.clone(),
        layers: costs.layers(),
        hot: costs.hot_rows(),
        tree: match query.detail {
            Detail::Overview => costs.overview(query.tree),
            Detail::Whole => costs.tree(query.tree),
        },
        top: costs.top(query.sort, query.functions),
        runtime: costs.runtime(),
        busiest: costs.busiest(),
        busiest_own: costs.busiest_own(),
        through: costs.through(),
        threads: costs.threads(),
        roles: costs.roles(),
        callers: neighbours(&query.callers, true)?,
        callees: neighbours(&query.callees, false)?,
        warnings: profile.warnings.clone(),
    })
}
