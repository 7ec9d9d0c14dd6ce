//! Comparing: the answer to `perfblame diff` in this process, after reading, on made-up runs of large programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Context, Result};
use perfblame_analysis::{
    Ask, ChangedFunction, ChangedKind, CodePlace, DiffQuery, Loaded, Method, diff, diff_with_tree,
};
use perfblame_cct::{MetricId, Profile, RunSet, Side, Sides, merge_runs};
use perfblame_fixtures::{SyntheticProgram, synthetic_stacks};
use perfblame_matching::{Identity, SideTree, join, match_by_key, match_relaxed};

use crate::in_process::{DEPTH, fastest, row};
use crate::measure;
use crate::table::BenchRow;

type Compares = fn() -> Result<Vec<BenchRow>>;

/// Every bench of this kind.
pub const BENCHES: &[(&str, Compares)] = &[
    ("diff: timelines", timelines),
    ("diff: 1.5 million nodes", large_trees),
    ("diff: stages", stages),
    ("diff: memory of suspects", memory_of_suspects),
    ("diff: folded stacks", folded),
    ("diff: hatchet", hatchet),
    ("diff: growth", growth),
    ("changes: a commit of 1,000 files", crate::changes::change_set),
    ("changes: history of a function", crate::changes::history),
];

/// The made-up program; slow, the function in which most stacks end takes three times as long.
fn program(nodes: usize, depth: usize, slow: bool) -> SyntheticProgram {
    const SEED: u64 = 1;
    let mut ends: BTreeMap<u32, usize> = BTreeMap::new();
    let mut stacks = synthetic_stacks(1_000, depth, SEED);
    while let Some(last) = stacks.next_stack().and_then(<[u32]>::last) {
        *ends.entry(*last).or_default() += 1;
    }
    let most = ends.into_iter().max_by_key(|(_, count)| *count).map(|(function, _)| function);
    SyntheticProgram { nodes, depth, seed: SEED, slow: most.filter(|_| slow) }
}

/// Runs as loading gives them.
fn loaded(profiles: Vec<Profile>) -> Loaded {
    let names = (1..=profiles.len()).map(|run| format!("run {run}")).collect();
    Loaded { names, runs: merge_runs(profiles) }
}

/// Both sides of a comparison; the runs of the second are other runs than those of the first.
fn sides(runs: u64, run: impl Fn(u64, bool) -> Profile) -> Sides<Loaded> {
    Sides::of(|side| {
        let slow = side == Side::After;
        let first = if slow { runs } else { 0 };
        loaded((first..first + runs).map(|number| run(number, slow)).collect())
    })
}

/// How much there is in an answer: suspects, nodes of the graph, or paths.
fn answer(sides: &Sides<Loaded>, method: Method) -> Result<usize> {
    let query = DiffQuery { method, changes: changes(method), ..DiffQuery::default() };
    let Sides { before, after } = sides;
    // As the command line asks when no page is drawn, and otherwise with the page's tree.
    let answer = match method {
        Method::Stages => diff(before, after, &query, &Ask::default()),
        _ => diff_with_tree(before, after, &query, &Ask::default()).map(|(diff, _)| diff),
    };
    let answer = answer.context("the sides cannot be compared")?;
    Ok(match method {
        Method::Suspects => answer.suspects.len(),
        Method::CriticalGraph => answer.graph.map_or(0, |graph| graph.nodes.len()),
        Method::Paths => answer.paths.len(),
        Method::Stages => answer.stages.map_or(0, |stages| stages.common.nodes),
    })
}

/// What changed in the made-up program, for the method that asks: every hundredth function.
fn changes(method: Method) -> Option<Vec<ChangedFunction>> {
    let changed = |number: u32| {
        let name = format!("program::module{}::function{number}", number % 97);
        let place = Some(CodePlace { name, ..CodePlace::default() });
        let kind = [ChangedKind::Modified, ChangedKind::Deleted, ChangedKind::Added];
        let kind = kind[(number / 100 % 3) as usize];
        let before = place.clone().filter(|_| kind != ChangedKind::Added);
        let after = place.filter(|_| kind != ChangedKind::Deleted);
        ChangedFunction { kind, before, after, ..ChangedFunction::default() }
    };
    (method == Method::Stages).then(|| (0..20_000).step_by(100).map(changed).collect())
}

/// Seconds of the fastest of five answers.
fn seconds(sides: &Sides<Loaded>, method: Method) -> Result<f64> {
    answer(sides, method)?;
    Ok(fastest(|| answer(sides, method).unwrap_or(0)))
}

fn timelines() -> Result<Vec<BenchRow>> {
    let of = |number, slow| program(5_000, 12, slow).timeline(number);
    let sides = sides(3, of);
    let milliseconds = seconds(&sides, Method::CriticalGraph)? * 1e3;
    let nodes = answer(&sides, Method::CriticalGraph)?;
    let input = format!("3 + 3 runs of 5,000 calls, after reading; {nodes} nodes in the graph");
    Ok(vec![row("difference, `--method critical-graph`", &input, milliseconds, "ms", 20.0)])
}

fn large_trees() -> Result<Vec<BenchRow>> {
    let runs = |slow: bool| -> Vec<Profile> {
        (0..5)
            .map(|number| program(1_500_000, DEPTH, slow).run(number + 5 * u64::from(slow)))
            .collect()
    };
    let (before, after) = (runs(false), runs(true));
    let start = Instant::now();
    let sides = Sides { before, after }.map(loaded);
    let merging = start.elapsed().as_secs_f64();
    let nodes = sides.as_ref().map(|side| side.runs.tree.len());
    let input = format!("5 + 5 runs, {} and {} nodes, after reading", nodes.before, nodes.after);
    let mut rows = vec![row("10 runs aligned in one tree", &input, merging, "s", 3.0)];
    for method in [Method::Suspects, Method::Paths] {
        let what = format!("difference, `--method {}`", method.name());
        rows.push(row(&what, &input, seconds(&sides, method)?, "s", 3.0));
    }
    let relaxed = matched(&sides, Matcher::Relaxed);
    let what = "relaxed common tree, one pair of trees";
    rows.push(row(what, &input, relaxed, "s", 1.5));
    Ok(rows)
}

/// Two trees with call sites, one run each.
fn stages() -> Result<Vec<BenchRow>> {
    let sides =
        sides(1, |number, slow| program(1_500_000, DEPTH, slow).run_with_call_sites(number));
    let nodes = sides.as_ref().map(|side| side.runs.tree.len());
    let common = answer(&sides, Method::Stages)?;
    let input = format!(
        "{} and {} nodes with call sites, {common} common, 200 changed functions, after reading",
        nodes.before, nodes.after
    );
    let time = seconds(&sides, Method::Stages)?;
    let mut rows = vec![row("difference, `--method stages`", &input, time, "s", 1.5)];
    rows.extend(memory(&sides, Method::Stages, &input));
    Ok(rows)
}

/// One run each, as for stages.
fn memory_of_suspects() -> Result<Vec<BenchRow>> {
    let sides = sides(1, |number, slow| program(1_500_000, DEPTH, slow).run(number));
    let nodes = sides.as_ref().map(|side| side.runs.tree.len());
    let input = format!("{} and {} nodes, after reading", nodes.before, nodes.after);
    let row = memory(&sides, Method::Suspects, &input);
    Ok(vec![row.context("this system does not report how much memory a process uses")?])
}

/// Peak memory of one answer, both trees included.
fn memory(sides: &Sides<Loaded>, method: Method, input: &str) -> Option<BenchRow> {
    let peak = measure::peak_during(|| drop(answer(sides, method)))?;
    let what = format!("memory of a difference, `--method {}`", method.name());
    Some(row(&what, input, (peak as f64 / 1e6).round(), "MB", 600.0))
}

#[derive(Clone, Copy)]
enum Matcher {
    Keyed,
    Relaxed,
}

fn matched(sides: &Sides<Loaded>, matcher: Matcher) -> f64 {
    let Sides { before, after } = sides.as_ref().map(|side| side_of(&side.runs));
    let matches = match matcher {
        Matcher::Keyed => match_by_key,
        Matcher::Relaxed => match_relaxed,
    };
    fastest(|| matches(&before, &after, &Identity::by_name(&before, &after)).pairs_count())
}

/// Whole processes on two files; the peer writes the stacks with both counts, we write the answer.
fn folded() -> Result<Vec<BenchRow>> {
    let (before, after) = (crate::inputs::distinct_folded()?, crate::inputs::folded_after()?);
    let sizes =
        [&before, &after].map(|file| std::fs::metadata(file).map_or(0, |about| about.len()));
    let files = format!("'{}' '{}'", before.display(), after.display());
    // A status of 1 says that it got slower.
    let ours = format!("{} diff --format json {files} || [ $? = 1 ]", crate::peers::perfblame()?);
    let (ours, peer) = measure::take_turns(&ours, &format!("inferno-diff-folded {files}"), 5)?;
    let shown = |usage: &measure::Usage| {
        format!("{:.2} s, {:.0} MB peak", usage.seconds, usage.peak as f64 / 1e6)
    };
    let ratio = peer.seconds / ours.seconds.max(0.001);
    Ok(vec![BenchRow {
        what: "difference of folded stacks".to_owned(),
        input: format!(
            "two files of {:.0} and {:.0} MB",
            sizes[0] as f64 / 1e6,
            sizes[1] as f64 / 1e6
        ),
        ours: shown(&ours),
        peer: format!("`inferno-diff-folded`: {}", shown(&peer)),
        result: format!("{ratio:.1} × as fast"),
        goal: "≥ 3 ×".to_owned(),
        met: ratio >= 3.0,
    }])
}

/// One tree minus the other, one run each. The peer matches contexts by name and subtracts; the first row is the same,
/// the second the whole answer, with functions followed and every context judged.
fn hatchet() -> Result<Vec<BenchRow>> {
    const TURNS: usize = 3;
    let sides = sides(1, |number, slow| program(30_000, DEPTH, slow).run(number));
    let path = crate::inputs::made("hatchet-difference.json", |out| {
        Ok(std::fs::write(
            out,
            format!("[{},{}]", json(&sides.before.runs), json(&sides.after.runs)),
        )?)
    })?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/hatchet_difference.py");
    let (mut plain, mut whole, mut staged, mut peer) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        plain.push(fastest(|| subtracted(&sides)));
        whole.push(seconds(&sides, Method::Suspects)?);
        staged.push(seconds(&sides, Method::Stages)?);
        peer.push(measure::printed("hatchet-python", &[script, &path.display().to_string(), "1"])?);
    }
    let peer = measure::median_of(peer);
    let nodes = sides.as_ref().map(|side| side.runs.tree.len());
    let row = |what: &str, ours: f64, goal: Option<f64>| {
        let ratio = peer / ours.max(1e-6);
        BenchRow {
            what: what.to_owned(),
            input: format!("{} and {} nodes, after reading", nodes.before, nodes.after),
            ours: format!("{:.1} ms", ours * 1e3),
            peer: format!("`hatchet`, `after - before`: {:.0} ms", peer * 1e3),
            result: format!("{ratio:.0} × as fast"),
            goal: goal.map_or("none".to_owned(), |goal| format!("≥ {goal} ×")),
            met: goal.is_none_or(|goal| ratio >= goal),
        }
    };
    Ok(vec![
        row("two trees matched by name and subtracted", measure::median_of(plain), Some(100.0)),
        row("the same two trees, whole answer", measure::median_of(whole), None),
        row("the same two trees by stages", measure::median_of(staged), None),
    ])
}

/// Both trees as one, with the difference of every context; the number of contexts that differ.
fn subtracted(sides: &Sides<Loaded>) -> usize {
    let Sides { before, after } = sides.as_ref().map(|side| side_of(&side.runs));
    let identity = Identity::by_name(&before, &after);
    let matching = match_by_key(&before, &after, &identity);
    let joint = join(&before, &after, &identity, &matching);
    let mut differences = vec![0i64; joint.tree.len()];
    for (side, rows, sign) in
        [(&sides.before, &joint.row_of.before, -1), (&sides.after, &joint.row_of.after, 1)]
    {
        for (node, _, value) in side.runs.runs.iter().flat_map(|run| run.cells.of(MetricId::new(0)))
        {
            differences[rows[node.index()].index()] += sign * value;
        }
    }
    joint.tree.inclusive(&differences).iter().filter(|difference| **difference != 0).count()
}

fn side_of(runs: &RunSet) -> SideTree<'_> {
    SideTree { symbols: &runs.symbols, tree: &runs.tree, weights: &[] }
}

/// Every node with its caller's row, its name and its own value.
fn json(set: &RunSet) -> String {
    let mut values = vec![0i64; set.tree.len()];
    for (node, _, value) in set.runs.iter().flat_map(|run| run.cells.of(MetricId::new(0))) {
        values[node.index()] += value;
    }
    let mut out = String::from("[");
    for node in set.tree.nodes() {
        let comma = if node.index() == 0 { "" } else { "," };
        let parent =
            set.tree.parent(node).map_or("null".to_owned(), |above| above.index().to_string());
        let name = set.symbols.name(set.symbols.frame(set.tree.frame(node)).function);
        let _ = write!(out, "{comma}[{parent},\"{name}\",{}]", values[node.index()]);
    }
    out + "]"
}

/// Nanoseconds for each node of the two trees, from ten thousand to three million nodes.
fn growth() -> Result<Vec<BenchRow>> {
    const SIZES: [usize; 6] = [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000];
    type Work = fn(&Sides<Loaded>) -> Result<f64>;
    let works: [(&str, Work); 5] = [
        ("keyed matching", |sides| Ok(matched(sides, Matcher::Keyed))),
        ("relaxed matching", |sides| Ok(matched(sides, Matcher::Relaxed))),
        ("difference, `--method suspects`", |sides| seconds(sides, Method::Suspects)),
        ("difference, `--method paths`", |sides| seconds(sides, Method::Paths)),
        ("difference, `--method stages`", |sides| seconds(sides, Method::Stages)),
    ];
    let mut costs: Vec<Vec<(usize, f64)>> = vec![Vec::new(); works.len()];
    for size in SIZES {
        let sides = sides(1, |number, slow| program(size, DEPTH, slow).run(number));
        let nodes: usize = sides.iter().map(|side| side.runs.tree.len()).sum();
        for (cost, (_, work)) in costs.iter_mut().zip(works) {
            cost.push((nodes, work(&sides)? * 1e9 / nodes as f64));
        }
    }
    Ok(works
        .iter()
        .zip(costs)
        .map(|((what, _), costs)| {
            let each: Vec<_> = costs
                .iter()
                .map(|(nodes, cost)| format!("{}: {cost:.0}", short(*nodes / 2)))
                .collect();
            let ((few, first), (many, last)) = (costs[0], costs[costs.len() - 1]);
            let allowed = (many as f64).ln() / (few as f64).ln();
            BenchRow {
                what: format!("growth of {what}"),
                input: "two trees of 10 thousand to 3 million nodes".to_owned(),
                ours: format!("ns a node: {}", each.join(", ")),
                peer: "none".to_owned(),
                result: format!("{:.2} × a node", last / first),
                goal: format!("≤ {allowed:.2} × a node (n log n)"),
                met: last / first <= allowed,
            }
        })
        .collect())
}

fn short(nodes: usize) -> String {
    match nodes {
        0..1_000_000 => format!("{} k", nodes / 1000),
        _ => format!("{:.1} M", nodes as f64 / 1e6),
    }
}
