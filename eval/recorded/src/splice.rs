//! Planted costs put into recorded runs.
//!
//! A run keeps every value that was recorded, except where the planted change says otherwise. What is added comes in
//! whole samples where the metric is sampled: their number is the planted cost times how the run fared in a real
//! function of about that cost, and chance decides in which of the planted contexts each falls. What is saved loses
//! whole samples, each with the same probability. Exact values are added and scaled as they are.

use hashbrown::HashMap;
use perfblame_cct::{
    Cct, Cells, Frame, FrameId, Function, Import, Info, Metric, MetricId, NodeId, OpenNode,
    OpenTree, Run, RunSet, Side, Symbols, ThreadId, Unit, position,
};
use perfblame_eval_planted::plant::Planted;
use perfblame_eval_planted::program::Program;
use perfblame_eval_planted::random::Random;

use crate::pool::Pool;

/// How a run gets what is added.
pub struct Addition {
    /// How much of the planted cost this run has: 1 is typical.
    pub relative: f64,
    /// Calls grow with the cost.
    pub calls: bool,
}

/// The values of a run after planting. Contexts are rows of the planted programs; stacks that belong to none of them
/// are kept by their node.
pub struct PlantedRun {
    row: usize,
    keys: Vec<(Place, Option<ThreadId>)>,
    /// By metric, then key.
    columns: Vec<Vec<i64>>,
    samples: u64,
    longer: i64,
}

/// Where a value belongs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Place {
    Context(usize),
    CutOff(NodeId),
}

/// What is added in which contexts of the program after, all runs together.
pub fn added(planted: &Planted) -> Vec<(usize, f64)> {
    let Planted { before, after, .. } = planted;
    let grown = after.nodes.iter().enumerate().map(|(row, node)| {
        (row, node.weight - before.nodes.get(row).map_or(0.0, |node| node.weight))
    });
    let noticeable = 1e-12 * before.total();
    grown.filter(|(_, grown)| *grown > noticeable).collect()
}

/// Plants into one run.
pub fn run(
    pool: &Pool,
    planted: &Planted,
    side: Side,
    row: usize,
    addition: &Addition,
    random: &mut Random,
) -> PlantedRun {
    let run = &pool.set.runs[row];
    let each = pool.sample_value(run);
    let mut made = PlantedRun {
        row,
        keys: Vec::with_capacity(run.cells.len()),
        columns: vec![Vec::with_capacity(run.cells.len()); pool.set.metrics.len()],
        samples: run.samples,
        longer: 0,
    };
    for cell in run.cells.rows() {
        let context = pool.contexts[cell.node.index()];
        let kept = context.map_or(1.0, |context| kept(pool, planted, side, context));
        let place = context.map_or(Place::CutOff(cell.node), Place::Context);
        if kept >= 1.0 {
            made.push((place, cell.thread), &cell.values);
            continue;
        }
        let value = cell.values[pool.metric.index()];
        let samples = if pool.is_sampled() { (value as f64 / each).round() } else { 0.0 };
        let part = if samples > 0.0 {
            let left = (0..samples as u64).filter(|_| random.chance(kept)).count() as f64;
            made.samples = made.samples.saturating_sub((samples - left) as u64);
            left / samples
        } else {
            kept
        };
        let scaled: Vec<i64> =
            cell.values.iter().map(|value| (*value as f64 * part).round() as i64).collect();
        made.longer += scaled[pool.metric.index()] - value;
        if scaled.iter().any(|value| *value != 0) {
            made.push((place, cell.thread), &scaled);
        }
    }
    if addition.relative > 0.0 {
        add(pool, planted, run, each, addition, &mut made, random);
    }
    made
}

/// The part of what was recorded in a context that a side still has.
pub fn kept(pool: &Pool, planted: &Planted, side: Side, context: usize) -> f64 {
    let recorded = pool.tree.nodes[context].weight;
    let before = planted.before.nodes[context].weight;
    let left = match side {
        Side::Before => before,
        Side::After => before.min(planted.after.nodes[context].weight),
    };
    if recorded > 0.0 && left < recorded * (1.0 - 1e-9) { left / recorded } else { 1.0 }
}

fn add(
    pool: &Pool,
    planted: &Planted,
    run: &Run,
    each: f64,
    addition: &Addition,
    made: &mut PlantedRun,
    random: &mut Random,
) {
    let added = added(planted);
    let of_run = addition.relative / pool.runs() as f64;
    let whole: f64 = added.iter().map(|(_, cost)| cost).sum();
    let calls = pool.set.metric("calls").filter(|calls| *calls != pool.metric);
    // (samples, value) by place in `added`.
    let mut grown = vec![(0u64, 0i64); added.len()];
    if pool.is_sampled() {
        let samples = rounded(whole * of_run / each, random);
        for _ in 0..samples {
            let mut at = random.between(0.0, whole);
            let hit = added.iter().position(|(_, cost)| {
                at -= cost;
                at < 0.0
            });
            grown[hit.unwrap_or(added.len() - 1)].0 += 1;
        }
        for (samples, value) in &mut grown {
            *value = (*samples as f64 * each).round() as i64;
        }
        made.samples += samples;
    } else {
        for ((_, cost), (_, value)) in added.iter().zip(&mut grown) {
            *value = rounded(cost * of_run, random) as i64;
        }
    }
    let called = calls.map(|calls| by_context(pool, run, calls)).unwrap_or_default();
    let one = pool
        .sample_metric()
        .map(|samples| (samples, 10i64.pow(pool.set.metrics[samples.index()].decimals.into())));
    for ((context, _), (samples, value)) in added.iter().zip(grown) {
        if value == 0 {
            continue;
        }
        let mut values = vec![0; pool.set.metrics.len()];
        if let Some((metric, one)) = one {
            values[metric.index()] = samples as i64 * one;
        }
        values[pool.metric.index()] = value;
        if let Some(calls) = calls {
            let program = (&planted.before, &planted.after);
            values[calls.index()] = more_calls(program, *context, addition, &called);
        }
        made.longer += value;
        let thread = thread_of(pool, &planted.after, *context);
        made.push((Place::Context(*context), thread), &values);
    }
}

/// How many calls of a context come with what is added there: as many more as the cost says where it is called more
/// often, one for each call of its caller where it is new.
fn more_calls(
    (before, after): (&Program, &Program),
    context: usize,
    addition: &Addition,
    called: &HashMap<usize, i64>,
) -> i64 {
    let of = |context: usize| called.get(&context).copied().unwrap_or(0) as f64;
    let more = match before.nodes.get(context) {
        None => after.nodes[context].parent.map_or(1.0, of).max(1.0),
        Some(known) if addition.calls && known.weight > 0.0 => {
            of(context) * (after.nodes[context].weight / known.weight - 1.0)
        }
        Some(_) => 0.0,
    };
    more.round() as i64
}

fn by_context(pool: &Pool, run: &Run, metric: MetricId) -> HashMap<usize, i64> {
    let mut sums = HashMap::new();
    for (node, _, value) in run.cells.of(metric) {
        if let Some(context) = pool.contexts[node.index()] {
            *sums.entry(context).or_insert(0) += value;
        }
    }
    sums
}

/// Where a context runs; a new one where its caller does.
fn thread_of(pool: &Pool, after: &Program, context: usize) -> Option<ThreadId> {
    let known = std::iter::successors(Some(context), |context| after.nodes[*context].parent)
        .find(|context| *context < pool.nodes.len())?;
    pool.threads[pool.nodes[known].index()]
}

/// The whole number below or above, by chance: on average the value.
fn rounded(value: f64, random: &mut Random) -> u64 {
    value.floor() as u64 + u64::from(random.chance(value.fract()))
}

impl PlantedRun {
    fn push(&mut self, key: (Place, Option<ThreadId>), values: &[i64]) {
        self.keys.push(key);
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(*value);
        }
    }
}

/// Puts planted runs beside each other as the runs of a side. As after reading files of them, symbols and tree hold what
/// these runs have and nothing of the others.
pub fn assemble(pool: &Pool, planted: &Planted, side: Side, runs: Vec<PlantedRun>) -> RunSet {
    let mut rows = Rows {
        pool,
        program: match side {
            Side::Before => &planted.before,
            Side::After => &planted.after,
        },
        import: Import::new(&pool.set.symbols),
        symbols: Symbols::default(),
        tree: OpenTree::default(),
        known: HashMap::new(),
    };
    let keys: Vec<Vec<(OpenNode, Option<ThreadId>)>> = (runs.iter())
        .map(|run| run.keys.iter().map(|(place, thread)| (rows.open(*place), *thread)).collect())
        .collect();
    let Rows { mut import, mut symbols, tree, .. } = rows;
    let threads =
        pool.set.threads.iter().map(|thread| import.thread(&mut symbols, *thread)).collect();
    let (tree, placement) = tree.freeze(pool.set.tree.grain());
    let metric = &pool.set.metrics[pool.metric.index()];
    let runs: Vec<Run> = runs
        .into_iter()
        .zip(keys)
        .map(|(run, keys)| {
            let keys: Vec<(NodeId, Option<ThreadId>)> =
                keys.into_iter().map(|(node, thread)| (placement.of(node), thread)).collect();
            let recorded = &pool.set.runs[run.row];
            let longer = if metric.unit == Unit::Nanoseconds { run.longer } else { 0 };
            let duration = recorded.info.duration.map(|known| known.saturating_add(longer));
            Run {
                info: Info { duration, ..recorded.info.clone() },
                cells: Cells::from_columns(&keys, &run.columns),
                samples: run.samples,
                periods: recorded.periods.clone(),
                timeline: None,
                warnings: recorded.warnings.clone(),
            }
        })
        .collect();
    RunSet { symbols, threads, metrics: metrics(pool, &runs), tree, runs }
}

/// The metrics, with the periods that these runs agree on.
fn metrics(pool: &Pool, runs: &[Run]) -> Vec<Metric> {
    let period = |row: usize| {
        let mut periods = runs.iter().map(|run| run.periods.get(row).copied().flatten());
        let first = periods.next().flatten();
        first.filter(|_| periods.all(|period| period == first))
    };
    let rows = pool.set.metrics.iter().enumerate();
    rows.map(|(row, metric)| Metric { period: period(row), ..metric.clone() }).collect()
}

/// The tree of a side while it grows.
struct Rows<'a> {
    pool: &'a Pool,
    program: &'a Program,
    import: Import<'a>,
    symbols: Symbols,
    tree: OpenTree,
    known: HashMap<Place, OpenNode>,
}

impl Rows<'_> {
    /// Finds or adds a context and what is above it.
    fn open(&mut self, place: Place) -> OpenNode {
        let mut above = Vec::new();
        let mut next = Some(place);
        let mut node = None;
        while let Some(place) = next {
            if let Some(known) = self.known.get(&place) {
                node = Some(*known);
                break;
            }
            above.push(place);
            next = self.parent(place);
        }
        while let Some(place) = above.pop() {
            let label = self.label(place);
            let opened = self.tree.child(node, label);
            self.known.insert(place, opened);
            node = Some(opened);
        }
        node.unwrap_or(OpenNode::new(0))
    }

    fn parent(&self, place: Place) -> Option<Place> {
        match place {
            Place::Context(row) => self.program.nodes[row].parent.map(Place::Context),
            Place::CutOff(node) => {
                let parent = self.pool.set.tree.parent(node)?;
                let context = self.pool.contexts[parent.index()];
                Some(context.map_or(Place::CutOff(parent), Place::Context))
            }
        }
    }

    fn label(&mut self, place: Place) -> FrameId {
        let tree: &Cct = &self.pool.set.tree;
        let row = match place {
            Place::CutOff(node) => return self.import.frame(&mut self.symbols, tree.frame(node)),
            Place::Context(row) => row,
        };
        let function = &self.program.functions[self.program.nodes[row].function];
        if let Some(node) = self.pool.nodes.get(row)
            && *self.pool.tree.function_of(row) == *function
        {
            return self.import.frame(&mut self.symbols, tree.frame(*node));
        }
        let symbols = &mut self.symbols;
        let name = symbols.string(&function.name);
        let mut text = |text: &Option<String>| text.as_ref().map(|text| symbols.string(text));
        let named = Function {
            component: text(&function.component),
            signature: text(&function.signature),
            file: text(&function.file),
            line: function.line.and_then(|line| position(line.into())),
            column: function.column.and_then(|column| position(column.into())),
            layer: function.layer,
            ..Function::named(name)
        };
        let id = symbols.intern_function(named);
        symbols.intern_frame(Frame::of(id))
    }
}
