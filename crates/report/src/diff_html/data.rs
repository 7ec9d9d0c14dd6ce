//! What the page is told: the answer with functions by number and the tree in packed columns.

use hashbrown::HashMap;
use perfblame_analysis::{
    CodeChange, CriticalGraph, Diff, DiffTree, Estimate, Fate, FunctionView, HeatScale, RankedPath,
    SideTotals, Suspect,
};
use perfblame_cct::{Layer, Warning};
use serde::Serialize;

use super::columns::{packed, packed_costs, packed_signed};
use super::fold::{FlameBox, Folded, What, fold};
use super::stages::{StagesData, stages_data};
use crate::diff_words::{Words, comes_first, short_commit, table_guess, table_rest};
use crate::headline::headline;
use crate::page::Metric;
use crate::show_text::place_of;

/// Contexts that are drawn by themselves; some 8 bytes each.
const CONTEXTS: usize = 300_000;

/// Contexts of a suspect that are marked in the graph.
const MARKED: usize = 1000;

/// Paths of the heat map, and calls on them all together.
const PATHS: usize = 500;
const PATH_CALLS: usize = 40_000;

#[derive(Serialize)]
pub struct Data<'a> {
    version: &'static str,
    headline: String,
    method: &'static str,
    verdict: &'static str,
    metric: Metric<'a>,
    before: SideData<'a>,
    after: SideData<'a>,
    change: Interval,
    p: Option<f64>,
    threshold: f64,
    normalised: Option<&'a str>,
    suspects: Vec<SuspectData<'a>>,
    improvements: Vec<SuspectData<'a>>,
    moved: Vec<SuspectData<'a>>,
    minor: (usize, f64),
    runtime: Vec<(usize, f64, f64)>,
    unexplained: f64,
    runs_needed: Option<u32>,
    /// What shares are of: of what grew, and of what shrank.
    wholes: (&'static str, &'static str),
    table: TableData,
    graph: Option<GraphData>,
    paths: PathsData,
    stages: Option<StagesData<'a>>,
    warnings: Vec<WarningData<'a>>,
    layers: [&'static str; Layer::ALL.len()],
    functions: Functions,
    tree: Tree,
}

#[derive(Serialize)]
struct SideData<'a> {
    inputs: &'a [String],
    totals: &'a [f64],
    total: Interval,
}

/// Median, low, high.
type Interval = (f64, f64, f64);

/// Functions as columns.
#[derive(Default, Serialize)]
struct Functions {
    name: Vec<String>,
    place: Vec<String>,
    layer: Vec<usize>,
}

#[derive(Serialize)]
struct SuspectData<'a> {
    rank: usize,
    function: usize,
    kind: &'static str,
    /// How it changed, in words.
    how: &'static str,
    path: Vec<usize>,
    /// Boxes of the heaviest contexts.
    boxes: Vec<u32>,
    contexts: usize,
    before: f64,
    after: f64,
    delta: Interval,
    runs: (&'a [f64], &'a [f64]),
    p: Option<f64>,
    share: f64,
    calls: Option<(f64, f64)>,
    was: Option<usize>,
    notes: &'a [String],
    changes: Vec<ChangeData<'a>>,
}

#[derive(Serialize)]
pub(super) struct ChangeData<'a> {
    kind: &'a str,
    function: &'a str,
    file: &'a str,
    lines: Option<(u32, u32)>,
    commit: Option<&'a str>,
    title: Option<&'a str>,
    why: Option<&'a str>,
    hunks: &'a [String],
}

/// Self costs by function.
#[derive(Serialize)]
struct TableData {
    title: String,
    /// Words above the table, where its rows are guesses.
    guess: Option<&'static str>,
    /// Function, cost before, cost after.
    rows: Vec<(usize, f64, f64)>,
    /// Words about what is left out.
    rest: Option<String>,
}

#[derive(Serialize)]
struct GraphData {
    threshold: f64,
    pruned: usize,
    /// Row of the caller or -1, function, cost before or none, cost after, cause.
    nodes: Vec<(i64, usize, Option<f64>, f64, bool)>,
}

#[derive(Default, Serialize)]
struct PathsData {
    rows: Vec<PathData>,
    /// Paths that are not on the page, and what they differ by together.
    left: (usize, f64),
    /// Least and greatest size of differences and of latencies.
    delta: (f64, f64),
    latency: (f64, f64),
}

#[derive(Serialize)]
struct PathData {
    rank: usize,
    cost: f64,
    new: bool,
    /// Function, latency, delta, rank; how hot the latency and the difference are, 0 to 100.
    functions: Vec<(usize, f64, f64, usize, u8, u8)>,
}

#[derive(Serialize)]
struct WarningData<'a> {
    code: &'a str,
    message: &'a str,
    count: u64,
    /// It has to be read before the answer.
    first: bool,
}

/// The flame graph's boxes as packed columns.
#[derive(Serialize)]
struct Tree {
    boxes: usize,
    /// How many rows above the caller is; 0 for a root.
    parent: String,
    /// Function, or -n for n contexts drawn together.
    function: String,
    /// Position in [`FATES`].
    fate: String,
    /// Own costs in multiples of `quantum`.
    before: String,
    after: String,
    quantum: f64,
    /// Contexts drawn together, with their own costs.
    folded: (usize, f64, f64),
}

/// The order of the page's signs.
const FATES: [Fate; 5] = [Fate::Kept, Fate::New, Fate::Gone, Fate::Moved, Fate::Renamed];

/// Everything the page shows; `paths` are the ranked paths.
pub fn page_data<'a>(diff: &'a Diff, drawn: &'a DiffTree, paths: &'a [RankedPath]) -> Data<'a> {
    let mut known = Known::default();
    let words = Words::of(diff, true);
    let all = || diff.suspects.iter().chain(&diff.improvements).chain(&diff.moved);
    let always: Vec<usize> =
        all().flat_map(|suspect| suspect.contexts.iter().take(MARKED).copied()).collect();
    let folded = fold(drawn, CONTEXTS, &always);
    let tree = tree(drawn, &folded, &mut known);
    Data {
        version: crate::VERSION,
        headline: headline(diff, words),
        method: diff.method.name(),
        verdict: diff.verdict.name(),
        metric: Metric::of(&diff.metric),
        before: side(&diff.before),
        after: side(&diff.after),
        change: interval(diff.change),
        p: diff.p_value,
        threshold: diff.threshold,
        normalised: diff.normalised.as_deref(),
        suspects: suspects(&diff.suspects, words, &folded.place, &mut known),
        improvements: suspects(&diff.improvements, words, &folded.place, &mut known),
        moved: suspects(&diff.moved, words, &folded.place, &mut known),
        minor: diff.minor,
        runtime: (diff.runtime.iter())
            .map(|cost| (known.number(&cost.function), cost.before, cost.after))
            .collect(),
        unexplained: diff.unexplained,
        runs_needed: diff.runs_needed,
        wholes: (words.whole(true), words.whole(false)),
        table: TableData {
            title: words.table_title(),
            guess: table_guess(diff),
            rows: (diff.functions.rows.iter())
                .map(|row| (known.number(&row.function), row.before, row.after))
                .collect(),
            rest: table_rest(&diff.functions, &[], words),
        },
        graph: diff.graph.as_ref().map(|graph| graph_data(graph, &mut known)),
        paths: paths_data(paths, &mut known),
        stages: (diff.stages.as_ref()).map(|stages| stages_data(stages, words, &mut known)),
        warnings: warnings(diff),
        layers: Layer::ALL.map(Layer::name),
        functions: known.functions,
        tree,
    }
}

/// Warnings, those that several runs gave once.
fn warnings(diff: &Diff) -> Vec<WarningData<'_>> {
    let mut warnings: Vec<WarningData<'_>> = Vec::new();
    let mut rows: HashMap<(&str, &str), usize> = HashMap::new();
    for warning in &diff.warnings {
        let Warning { code, message, count } = warning;
        let row = *rows.entry((code, message)).or_insert_with(|| {
            warnings.push(WarningData { code, message, count: 0, first: comes_first(warning) });
            warnings.len() - 1
        });
        warnings[row].count = warnings[row].count.saturating_add(*count);
    }
    warnings
}

/// The functions that the page speaks of, each once.
#[derive(Default)]
pub(super) struct Known<'a> {
    numbers: HashMap<(&'a str, String, Layer), usize>,
    functions: Functions,
}

impl<'a> Known<'a> {
    pub(super) fn number(&mut self, function: &'a FunctionView) -> usize {
        let place = place_of(function);
        let key = (function.name.as_str(), place, function.layer);
        *self.numbers.entry(key).or_insert_with_key(|(name, place, layer)| {
            let layer = Layer::ALL.iter().position(|known| known == layer).unwrap_or(0);
            self.functions.name.push((*name).to_owned());
            self.functions.place.push(place.clone());
            self.functions.layer.push(layer);
            self.functions.name.len() - 1
        })
    }
}

fn interval(estimate: Estimate) -> Interval {
    (estimate.median, estimate.low, estimate.high)
}

fn side(side: &SideTotals) -> SideData<'_> {
    SideData { inputs: &side.inputs, totals: &side.totals, total: interval(side.total) }
}

fn suspects<'a>(
    list: &'a [Suspect],
    words: Words<'_>,
    place: &[u32],
    known: &mut Known<'a>,
) -> Vec<SuspectData<'a>> {
    list.iter().map(|suspect| suspect_data(suspect, words, place, known)).collect()
}

fn suspect_data<'a>(
    suspect: &'a Suspect,
    words: Words<'_>,
    place: &[u32],
    known: &mut Known<'a>,
) -> SuspectData<'a> {
    let rows = suspect.contexts.iter().take(MARKED);
    SuspectData {
        rank: suspect.rank,
        function: known.number(&suspect.function),
        kind: suspect.kind.name(),
        how: words.kind(suspect.kind),
        path: suspect.path.iter().map(|function| known.number(function)).collect(),
        boxes: rows.filter_map(|row| place.get(*row).copied()).collect(),
        contexts: suspect.contexts.len(),
        before: suspect.before,
        after: suspect.after,
        delta: interval(suspect.delta),
        runs: (&suspect.runs.before, &suspect.runs.after),
        p: suspect.p_value,
        share: suspect.share,
        calls: suspect.calls.map(|calls| (calls.before, calls.after)),
        was: suspect.was.as_ref().map(|was| known.number(was)),
        notes: &suspect.notes,
        changes: suspect.changes.iter().map(change_data).collect(),
    }
}

pub(super) fn change_data(change: &CodeChange) -> ChangeData<'_> {
    ChangeData {
        kind: &change.kind,
        function: &change.function,
        file: &change.file,
        lines: change.lines,
        commit: change.commit.as_deref().map(short_commit),
        title: change.title.as_deref(),
        why: change.why.as_deref(),
        hunks: &change.hunks,
    }
}

fn graph_data<'a>(graph: &'a CriticalGraph, known: &mut Known<'a>) -> GraphData {
    let rows: HashMap<usize, usize> =
        graph.nodes.iter().enumerate().map(|(row, node)| (node.id, row)).collect();
    let parent = |row: usize, parent: Option<usize>| {
        let parent = parent.and_then(|id| rows.get(&id)).filter(|parent| **parent < row);
        parent.map_or(-1, |parent| *parent as i64)
    };
    let nodes = graph.nodes.iter().enumerate().map(|(row, node)| {
        let function = known.number(&node.function);
        (parent(row, node.parent), function, node.before, node.after, node.cause)
    });
    GraphData { nodes: nodes.collect(), threshold: graph.threshold, pruned: graph.pruned }
}

fn paths_data<'a>(paths: &'a [RankedPath], known: &mut Known<'a>) -> PathsData {
    let mut calls = 0;
    let fits = |path: &&RankedPath| {
        calls += path.functions.len();
        calls <= PATH_CALLS
    };
    let shown = paths.iter().take(PATHS).take_while(fits).count();
    let (shown, left) = paths.split_at(shown);
    let all = || shown.iter().flat_map(|path| &path.functions);
    let heat = RankedPath::heat_scale(shown);
    let delta_heat = HeatScale::of(all().map(|function| function.delta.abs()));
    let rows = shown.iter().map(|path| {
        let functions = path.functions.iter().map(|function| {
            let (number, of_100) =
                (known.number(&function.function), |heat: f64| (heat * 100.0) as u8);
            let heats = (heat.heat(function.latency), delta_heat.heat(function.delta.abs()));
            let (latency, delta) = (of_100(heats.0), of_100(heats.1));
            (number, function.latency, function.delta, function.rank, latency, delta)
        });
        PathData { functions: functions.collect(), rank: path.rank, cost: path.cost, new: path.new }
    });
    PathsData {
        rows: rows.collect(),
        left: (left.len(), left.iter().map(|path| path.cost).sum()),
        delta: ends(all().map(|function| function.delta.abs())),
        latency: ends(all().map(|function| function.latency)),
    }
}

/// The least and the greatest value above zero.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let above = values.filter(|value| *value > 0.0);
    let (low, high) =
        above.fold((f64::INFINITY, 0f64), |(low, high), value| (low.min(value), high.max(value)));
    (low.min(high), high)
}

fn tree<'a>(drawn: &'a DiffTree, folded: &Folded, known: &mut Known<'a>) -> Tree {
    let DiffTree { functions, rows } = drawn;
    // The page's number of each function of the tree, once it is seen.
    let mut numbers: Vec<Option<usize>> = vec![None; functions.len()];
    let function = folded.boxes.iter().map(|place| match place.what {
        What::Contexts(contexts) => -i64::from(contexts),
        What::Row(row) => {
            let function = rows[row as usize].function as usize;
            let Some(view) = functions.get(function) else { return 0 };
            *numbers[function].get_or_insert_with(|| known.number(view)) as i64
        }
    });
    let function = packed_signed(function);
    let fate = folded.boxes.iter().map(|place| match place.what {
        What::Contexts(_) => 0,
        What::Row(row) => {
            let fate = rows[row as usize].fate;
            FATES.iter().position(|known| *known == fate).unwrap_or(0) as u64
        }
    });
    let above = |(row, parent): (usize, Option<u32>)| {
        parent.map_or(0, |parent| (row as u64).saturating_sub(u64::from(parent)))
    };
    let whole = |cost: fn(&FlameBox) -> f64| -> f64 {
        folded.boxes.iter().map(cost).filter(|cost| cost.is_finite()).map(f64::abs).sum()
    };
    let whole = whole(|place| place.before).max(whole(|place| place.after));
    let (before, quantum) = packed_costs(folded.boxes.iter().map(|place| place.before), whole);
    let (after, _) = packed_costs(folded.boxes.iter().map(|place| place.after), whole);
    Tree {
        boxes: folded.boxes.len(),
        parent: packed(folded.boxes.iter().map(|place| place.parent).enumerate().map(above)),
        function,
        fate: packed(fate),
        before,
        after,
        quantum,
        folded: (folded.contexts, folded.before, folded.after),
    }
}
