//! What the lines of a source file cost: what an editor shows beside the code.
//!
//! For each function of the file there are the metrics of `[insitu]`, section 3.3 (method, self, caller, callee and
//! thread time; see [`method_metrics`]). Lines have the same two sides as functions: what the code of the line costs
//! itself, and what the calls cost that are made there. A stack counts once per line, however often recursion brings it
//! through that line.
//!
//! Inlined functions need no rule of their own: their frames stand in the stack like others. Their code belongs to the
//! lines of their own file, and the line that they were inlined into made the call.

mod file_match;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FunctionId, Grain, Invocation, MethodMetrics, NodeId, Profile, Scope, StringId, Symbols,
    Warning, group_totals, method_metrics,
};

use crate::show::{FunctionView, MetricTotal, ShowError, ThreadView, select_part};
use crate::tree_view::share;
use crate::{LoadOptions, Loaded, Part};
use file_match::FilePath;

/// Which file, and what of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinesQuery {
    /// The file, as the user or the editor names it. The file of the profile is meant whose path ends alike.
    pub file: String,
    /// The metric; the first one that has values when not given.
    pub metric: Option<String>,
    /// Only this part of the runs.
    pub part: Part,
}

impl LinesQuery {
    /// What the question needs of its inputs: frames with their lines.
    pub fn load_options(&self) -> LoadOptions {
        LoadOptions { grain: Grain::Frames, ..LoadOptions::default() }
    }
}

/// A question about lines that has no answer.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// The metric or the part is not there.
    #[error("{0}")]
    Show(#[from] ShowError),
    /// No frame of the profile is in such a file: it did not run, or the profile does not know its files.
    #[error("the profile has no code of `{wanted}`")]
    NoFile {
        /// What was asked for.
        wanted: String,
    },
    /// Several files of the profile fit as well.
    #[error("`{wanted}` matches several files of the profile")]
    SeveralFiles {
        /// What was asked for.
        wanted: String,
        /// Those that fit, sorted.
        files: Vec<String>,
    },
}

/// What the lines and functions of a file cost, all runs added up.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FileCosts {
    /// What the profile calls the file, sorted; several where it knows classes and not files.
    pub files: Vec<String>,
    /// The metric that costs are of; none when the profile has none.
    pub metric: Option<MetricTotal>,
    /// What everything costs, in all files.
    pub whole: i64,
    /// How many runs were added up.
    pub runs: usize,
    /// What the file's own code costs.
    pub own: i64,
    /// What the file costs with everything that it calls, each stack counted once.
    pub inclusive: i64,
    /// Its functions that cost something, by line.
    pub functions: Vec<FunctionInFile>,
    /// The lines that cost something, in order.
    pub lines: Vec<LineCost>,
    /// What belongs to the file and to no known line.
    pub without_line: OwnAndCalls,
    /// What was wrong with the inputs, and what the profile does not know of lines.
    pub warnings: Vec<Warning>,
}

/// What code costs itself, and what the calls cost that it makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OwnAndCalls {
    /// Stacks that end here.
    pub own: i64,
    /// Stacks that pass through here and end elsewhere, each counted once.
    pub calls: i64,
}

/// A function of the file.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionInFile {
    /// The function.
    pub function: FunctionView,
    /// The first and the last of its lines in this file that a stack has.
    pub lines: Option<(u32, u32)>,
    /// Its cost with everything it calls, each stack counted once: *sample_method* (3.5).
    pub cost: i64,
    /// The same as a share of everything: *t_method* (3.6, 3.25).
    pub share: f64,
    /// Its own cost.
    pub own: i64,
    /// Own cost as a share of its cost: *t_self* (3.7).
    pub own_share: f64,
    /// Who calls it, with shares of its cost: *t_caller* (3.15), the largest first.
    pub callers: Vec<CallCost>,
    /// Whom it calls, with shares of its cost: *t_callee* (3.12), the largest first.
    pub callees: Vec<CallCost>,
    /// The threads it ran on, with shares of its cost: *t_thread* (3.22), the largest first.
    pub threads: Vec<ThreadShare>,
}

/// The calls between two functions.
#[derive(Clone, PartialEq, Debug)]
pub struct CallCost {
    /// The other function.
    pub function: FunctionView,
    /// What the calls cost: *sample_inv* (3.11).
    pub cost: i64,
    /// As a share of the cost of the function that was asked for.
    pub share: f64,
    /// The lines of the caller at which the calls stand, as far as they are known.
    pub lines: Vec<u32>,
}

/// A part of a function's cost on one thread.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadShare {
    /// The thread; none where the profile does not tell threads apart.
    pub thread: Option<ThreadView>,
    /// The function's cost on it.
    pub cost: i64,
    /// As a share of the function's cost.
    pub share: f64,
}

/// One line.
#[derive(Clone, PartialEq, Debug)]
pub struct LineCost {
    /// Its number, counted from 1.
    pub line: u32,
    /// What it costs.
    pub cost: OwnAndCalls,
    /// Whom it calls, the most costly first. One stack can have calls of several functions from this line, if these call
    /// back; it counts once for each of them.
    pub callees: Vec<CalleeAtLine>,
}

/// A function that a line calls.
#[derive(Clone, PartialEq, Debug)]
pub struct CalleeAtLine {
    /// The function.
    pub function: FunctionView,
    /// What its calls from this line cost.
    pub cost: i64,
    /// The compiler put it into this line, in all contexts.
    pub inlined: bool,
}

/// Answers what the lines of a file cost.
pub fn lines(loaded: &Loaded, query: &LinesQuery) -> Result<FileCosts, LinesError> {
    let selection = select_part(loaded, query.metric.as_deref(), &query.part)?;
    let profile = &selection.profile;
    let (files, is_meant) = find_file(&profile.symbols, &query.file)?;
    let own = match selection.metric {
        Some(metric) => profile.self_values(metric),
        None => vec![0; profile.tree.len()],
    };
    let places = Places::of(profile, &is_meant);
    let (lines, without_line) = line_costs(profile, &own, &places);
    let in_file: Vec<u32> = places.group.iter().map(|group| u32::from(*group > 0)).collect();
    let total = group_totals(&profile.tree, &own, &in_file, 2)[1];
    let metrics = selection.metric.map(|metric| method_metrics(profile, metric, &Scope::Whole));
    let mut warnings = profile.warnings.clone();
    warnings.extend(what_is_unknown(&lines, without_line));
    Ok(FileCosts {
        files,
        metric: selection.metric.and_then(|id| selection.metrics.get(id.index()).cloned()),
        whole: own.iter().fold(0, |sum, value| sum.saturating_add(*value)),
        runs: loaded.runs.runs.len(),
        own: total.self_value,
        inclusive: total.inclusive,
        functions: functions(profile, &metrics.unwrap_or_default(), &is_meant, &places),
        lines,
        without_line,
        warnings,
    })
}

/// The file that a path means: what the profile calls it, and which texts of the profile that are.
fn find_file(symbols: &Symbols, wanted: &str) -> Result<(Vec<String>, Vec<bool>), LinesError> {
    let path = FilePath::of(wanted);
    let of_functions =
        symbols.functions().filter_map(|(_, function)| function.file.or(function.component));
    let of_frames = symbols.frames().filter_map(|(_, frame)| frame.file);
    let known: BTreeSet<StringId> = of_functions.chain(of_frames).collect();
    let fits: Vec<_> =
        known.into_iter().filter_map(|id| Some((path.fits(symbols.text(id))?, id))).collect();
    let Some(best) = fits.iter().map(|(fit, _)| *fit).max() else {
        return Err(LinesError::NoFile { wanted: wanted.to_owned() });
    };
    let mut is_meant = vec![false; symbols.strings.len()];
    let mut files: Vec<String> = Vec::new();
    let mut paths: BTreeSet<Vec<String>> = BTreeSet::new();
    for (_, id) in fits.iter().filter(|(fit, _)| *fit == best) {
        let text = symbols.text(*id);
        is_meant[id.index()] = true;
        files.push(text.to_owned());
        paths.insert(path.file_of(text));
    }
    files.sort();
    if paths.len() > 1 {
        return Err(LinesError::SeveralFiles { wanted: wanted.to_owned(), files });
    }
    Ok((files, is_meant))
}

/// The file of a frame: that of its line, its function's, or the component where that is a file.
fn file_of(symbols: &Symbols, frame: &Frame) -> Option<StringId> {
    let function = symbols.function(frame.function);
    frame.file.or(function.file).or(function.component)
}

/// Where in the file each node is.
struct Places {
    /// By row: 0 is outside, 1 in the file at no known line, and from 2 on at a line of `lines`.
    group: Vec<u32>,
    lines: Vec<u32>,
}

/// The groups before those of lines.
const OUTSIDE: u32 = 0;
const NO_LINE: u32 = 1;
const FIRST_LINE: u32 = 2;

impl Places {
    fn of(profile: &Profile, is_meant: &[bool]) -> Self {
        let symbols = &profile.symbols;
        let at = |frame: &Frame| {
            let file = file_of(symbols, frame).filter(|file| is_meant[file.index()]);
            file.map(|_| frame.line.map_or(0, std::num::NonZeroU32::get))
        };
        let frames: Vec<Option<u32>> = symbols.frames().map(|(_, frame)| at(frame)).collect();
        let of_node = |node: NodeId| frames[profile.tree.frame(node).index()];
        let mut lines: Vec<u32> =
            profile.tree.nodes().filter_map(of_node).filter(|line| *line > 0).collect();
        lines.sort_unstable();
        lines.dedup();
        let group = |node: NodeId| match of_node(node) {
            None => OUTSIDE,
            Some(line) => lines.binary_search(&line).map_or(NO_LINE, |row| row as u32 + FIRST_LINE),
        };
        Self { group: profile.tree.nodes().map(group).collect(), lines }
    }

    fn is_in_file(&self, node: NodeId) -> bool {
        self.group[node.index()] != OUTSIDE
    }

    fn line(&self, node: NodeId) -> Option<u32> {
        let row = self.group[node.index()].checked_sub(FIRST_LINE)?;
        self.lines.get(row as usize).copied()
    }
}

/// Costs by line, and those at no line.
fn line_costs(profile: &Profile, own: &[i64], places: &Places) -> (Vec<LineCost>, OwnAndCalls) {
    let groups = places.lines.len() + FIRST_LINE as usize;
    let totals = group_totals(&profile.tree, own, &places.group, groups);
    let cost = |group: usize| OwnAndCalls {
        own: totals[group].self_value,
        calls: totals[group].inclusive.saturating_sub(totals[group].self_value),
    };
    let mut callees = callees_by_line(profile, own, places);
    let lines = (places.lines.iter().enumerate())
        .map(|(row, line)| LineCost {
            line: *line,
            cost: cost(row + FIRST_LINE as usize),
            callees: callees.remove(line).unwrap_or_default(),
        })
        .filter(|line| line.cost != OwnAndCalls::default() || !line.callees.is_empty())
        .collect();
    (lines, cost(NO_LINE as usize))
}

/// The calls that each line makes: 3.11 with a line in the place of the calling method.
fn callees_by_line(
    profile: &Profile,
    own: &[i64],
    places: &Places,
) -> BTreeMap<u32, Vec<CalleeAtLine>> {
    struct Call {
        line: u32,
        callee: FunctionId,
        inlined: bool,
    }
    let mut index: HashMap<(u32, FunctionId), u32> = HashMap::new();
    let mut calls: Vec<Call> = Vec::new();
    // Group 0 holds the nodes that no line of the file calls.
    let group: Vec<u32> = (profile.tree.nodes())
        .map(|node| {
            let caller = profile.tree.parent(node).and_then(|parent| places.line(parent));
            let Some(line) = caller else { return 0 };
            let frame = profile.symbols.frame(profile.tree.frame(node));
            let (callee, inlined) = (frame.function, frame.inlined);
            let row = *index.entry((line, callee)).or_insert_with(|| {
                calls.push(Call { line, callee, inlined });
                calls.len() as u32
            });
            calls[row as usize - 1].inlined &= inlined;
            row
        })
        .collect();
    let totals = group_totals(&profile.tree, own, &group, calls.len() + 1);
    let mut rows: Vec<(Call, i64)> =
        calls.into_iter().zip(totals.iter().skip(1).map(|total| total.inclusive)).collect();
    rows.sort_by_key(|(call, cost)| (call.line, std::cmp::Reverse(*cost), call.callee));
    let mut by_line: BTreeMap<u32, Vec<CalleeAtLine>> = BTreeMap::new();
    for (call, cost) in rows.into_iter().filter(|(_, cost)| *cost != 0) {
        let function = FunctionView::of(&profile.symbols, call.callee);
        let callee = CalleeAtLine { function, cost, inlined: call.inlined };
        by_line.entry(call.line).or_default().push(callee);
    }
    by_line
}

/// The functions of the file. A function is in the file that it was declared in; where that is unknown, in the files of
/// its lines.
fn functions(
    profile: &Profile,
    metrics: &MethodMetrics,
    is_meant: &[bool],
    places: &Places,
) -> Vec<FunctionInFile> {
    let symbols = &profile.symbols;
    let mut found: BTreeMap<FunctionId, Option<(u32, u32)>> = BTreeMap::new();
    for node in profile.tree.nodes() {
        let id = profile.function_of(node);
        let function = symbols.function(id);
        let declared = function.file.or(function.component);
        let is_declared_here = declared.is_some_and(|file| is_meant[file.index()]);
        let is_here = is_declared_here || (function.file.is_none() && places.is_in_file(node));
        if is_here {
            let known = found.entry(id).or_default();
            if let Some(line) = places.line(node) {
                let (first, last) = known.unwrap_or((line, line));
                *known = Some((first.min(line), last.max(line)));
            }
        }
    }
    let call_lines = call_lines(profile, &found);
    let costs =
        |id: &FunctionId| metrics.method_samples(*id) != 0 || metrics.self_samples(*id) != 0;
    let counts = |call: &&Invocation| call.samples != 0;
    let mut functions: Vec<(FunctionId, FunctionInFile)> = (found.iter())
        .filter(|(id, _)| costs(id))
        .map(|(id, lines)| {
            let cost = metrics.method_samples(*id);
            let call = |other: FunctionId, call: &Invocation| CallCost {
                function: FunctionView::of(symbols, other),
                cost: call.samples,
                share: share(call.samples, cost),
                lines: (call_lines.get(&(call.caller, call.callee)).into_iter().flatten())
                    .copied()
                    .collect(),
            };
            let thread = |(id, samples): (Option<_>, i64)| ThreadShare {
                thread: id.map(|id| ThreadView::of(profile, id)),
                cost: samples,
                share: share(samples, cost),
            };
            let own = metrics.self_samples(*id);
            let row = FunctionInFile {
                function: FunctionView::of(symbols, *id),
                lines: *lines,
                cost,
                share: share(cost, metrics.whole()),
                own,
                own_share: share(own, cost),
                callers: (metrics.callers(*id).filter(counts))
                    .map(|row| call(row.caller, row))
                    .collect(),
                callees: (metrics.callees(*id).iter().filter(counts))
                    .map(|row| call(row.callee, row))
                    .collect(),
                threads: metrics.thread_samples(*id).map(thread).collect(),
            };
            (*id, row)
        })
        .collect();
    let start = |row: &FunctionInFile| {
        let seen = row.lines.map(|(first, _)| first);
        row.function.line.or(seen).unwrap_or(u32::MAX)
    };
    functions.sort_by(|(a, x), (b, y)| {
        start(x).cmp(&start(y)).then_with(|| x.function.name.cmp(&y.function.name)).then(a.cmp(b))
    });
    functions.into_iter().map(|(_, row)| row).collect()
}

/// The lines at which one function calls another, where one of the two is in the file.
fn call_lines(
    profile: &Profile,
    found: &BTreeMap<FunctionId, Option<(u32, u32)>>,
) -> HashMap<(FunctionId, FunctionId), BTreeSet<u32>> {
    let mut lines: HashMap<_, BTreeSet<u32>> = HashMap::new();
    for node in profile.tree.nodes() {
        let Some(parent) = profile.tree.parent(node) else { continue };
        let site = profile.symbols.frame(profile.tree.frame(parent));
        let pair = (site.function, profile.function_of(node));
        let is_asked = found.contains_key(&pair.0) || found.contains_key(&pair.1);
        // A line that a macro brought is one of another file.
        let is_own = site.file.is_none() || profile.symbols.function(pair.0).file.is_none();
        if let Some(line) = site.line.filter(|_| is_asked && is_own) {
            lines.entry(pair).or_default().insert(line.get());
        }
    }
    lines
}

/// What the profile does not know of lines.
fn what_is_unknown(lines: &[LineCost], without_line: OwnAndCalls) -> Option<Warning> {
    let warning = |code: &str, message: &str| Warning {
        code: code.to_owned(),
        message: message.to_owned(),
        count: 1,
    };
    if lines.is_empty() {
        return Some(warning("no-lines", "the profile has no line numbers for this file"));
    }
    let is_call_known = lines.iter().any(|line| !line.callees.is_empty());
    (!is_call_known && without_line.calls > 0).then(|| {
        warning(
            "no-call-lines",
            "the profile has lines only for the code that was running, so calls have no line",
        )
    })
}
