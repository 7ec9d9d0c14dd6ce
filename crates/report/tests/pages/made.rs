//! Answers made by hand: one with everything a page can show, one with hostile names, one with very many contexts.

use perfblame_analysis::{
    CodeChange, CriticalGraph, CriticalNode, Diff, DiffRow, DiffTree, Estimate, Fate,
    FunctionChange, FunctionTable, FunctionView, Method, PathFunction, RankedPath, RuntimeCost,
    SideTotals, Sides, Suspect, SuspectKind, Verdict,
};
use perfblame_cct::{Layer, Metric, Unit, Warning};

pub fn function(name: &str, component: &str, line: u32) -> FunctionView {
    FunctionView {
        name: name.to_owned(),
        component: Some(component.to_owned()).filter(|component| !component.is_empty()),
        line: Some(line).filter(|line| *line > 0),
        ..FunctionView::default()
    }
}

/// A tree from lines of depth, name, own cost before and after in ms, and fate.
pub fn tree(lines: &[(usize, &str, f64, f64, Fate)]) -> DiffTree {
    let mut tree = DiffTree::default();
    let mut above: Vec<u32> = Vec::new();
    for (depth, name, before, after, fate) in lines {
        above.truncate(*depth);
        let known = tree.functions.iter().position(|function| function.name == *name);
        let number = known.unwrap_or_else(|| {
            let mut view = function(name, "map.js", 10 * tree.functions.len() as u32 + 7);
            if name.starts_with('(') {
                let layer = if *name == "(idle)" { Layer::Idle } else { Layer::GarbageCollection };
                view = FunctionView { layer, ..function(name, "", 0) };
            }
            tree.functions.push(view);
            tree.functions.len() - 1
        });
        let parent = above.last().copied();
        above.push(tree.rows.len() as u32);
        tree.rows.push(DiffRow {
            parent,
            function: number as u32,
            before: before * 1e6,
            after: after * 1e6,
            fate: *fate,
        });
    }
    tree
}

pub fn estimate(median: f64, spread: f64) -> Estimate {
    Estimate { median: median * 1e6, low: (median - spread) * 1e6, high: (median + spread) * 1e6 }
}

pub fn side(name: &str, totals: &[f64]) -> SideTotals {
    let total = estimate(totals[totals.len() / 2], 6.0);
    let inputs = (1..=totals.len()).map(|run| format!("{name}/{run}.json.gz")).collect();
    SideTotals { inputs, totals: totals.iter().map(|total| total * 1e6).collect(), total }
}

/// Nothing found.
pub fn bare() -> Diff {
    Diff {
        method: Method::Suspects,
        metric: Metric::sampled("wall", Unit::Nanoseconds),
        verdict: Verdict::Unchanged,
        before: side("before", &[100.0, 101.0, 102.0]),
        after: side("after", &[100.0, 101.0, 102.0]),
        change: estimate(0.0, 2.0),
        p_value: None,
        threshold: 1e6,
        normalised: None,
        suspects: Vec::new(),
        improvements: Vec::new(),
        moved: Vec::new(),
        minor: (0, 0.0),
        runtime: Vec::new(),
        unexplained: 0.0,
        runs_needed: None,
        noticed: None,
        functions: FunctionTable::default(),
        graph: None,
        paths: Vec::new(),
        stages: None,
        warnings: Vec::new(),
    }
}

/// A suspect in some rows of a tree.
pub fn suspect(
    tree: &DiffTree,
    rank: usize,
    kind: SuspectKind,
    contexts: &[usize],
    share: f64,
) -> Suspect {
    let view = |row: usize| tree.functions[tree.rows[row].function as usize].clone();
    let mut path = Vec::new();
    let mut at = contexts.first().copied();
    while let Some(row) = at {
        path.insert(0, view(row));
        at = tree.rows[row].parent.map(|parent| parent as usize);
    }
    let sum = |cost: fn(&DiffRow) -> f64| contexts.iter().map(|row| cost(&tree.rows[*row])).sum();
    let (before, after): (f64, f64) = (sum(|row| row.before), sum(|row| row.after));
    let delta = (after - before) / 1e6;
    Suspect {
        rank,
        contexts: contexts.to_vec(),
        delta: estimate(delta, delta.abs() / 14.0),
        runs: Sides {
            before: [0.93, 1.0, 1.1].map(|f| before * f).to_vec(),
            after: [0.95, 1.0, 1.03].map(|f| after * f).to_vec(),
        },
        p_value: Some(0.0008),
        share,
        ..Suspect::new(kind, path, Sides { before, after })
    }
}

/// Everything a page can show.
pub fn everything() -> (Diff, DiffTree) {
    use Fate::{Gone, Kept, Moved, New, Renamed};
    let tree = tree(&[
        (0, "main", 2.0, 2.0, Kept),
        (1, "queryRenderedFeatures", 4.0, 4.5, Kept),
        (2, "rendered", 3.0, 3.0, Kept),
        (3, "query", 10.0, 11.0, Kept),
        (4, "layer", 0.0, 6.0, New),
        (5, "utf", 0.0, 140.0, New),
        (4, "serialize", 24.0, 25.0, Kept),
        (3, "decode", 30.0, 12.0, Kept),
        (4, "decodeTable", 14.0, 0.0, Gone),
        (2, "collide", 20.0, 20.0, Moved),
        (1, "paint", 18.0, 19.0, Kept),
        (2, "drawLine", 22.0, 22.0, Kept),
        (2, "drawFill", 30.0, 44.0, Kept),
        (3, "triangulate", 12.0, 13.0, Renamed),
        (2, "layer", 0.0, 2.0, New),
        (3, "utf", 0.0, 31.0, New),
        (0, "(idle)", 400.0, 380.0, Kept),
        (0, "(garbage collector)", 5.0, 11.0, Kept),
    ]);
    let mut first = suspect(&tree, 1, SuspectKind::New, &[5, 15], 0.83);
    first.calls = Some(Sides::new(0.0, 1204.0));
    first.changes.push(CodeChange {
        kind: "added".to_owned(),
        function: "utf".to_owned(),
        file: "src/layer.js".to_owned(),
        lines: Some((41, 58)),
        commit: Some("3f2c1aa".to_owned()),
        hunks: vec!["@@ -40,0 +41,18 @@ layer".to_owned()],
        ..CodeChange::default()
    });
    let mut second = suspect(&tree, 2, SuspectKind::Slower, &[12], 0.068);
    second.notes.push("Was matched by its callees, 80 % sure.".to_owned());
    second.was = Some(function("fillDraw", "map.js", 127));
    let gone = suspect(&tree, 1, SuspectKind::Gone, &[8], -0.07);
    let faster = suspect(&tree, 2, SuspectKind::Faster, &[7], -0.09);
    let moved = suspect(&tree, 1, SuspectKind::Moved, &[9], 0.0);
    let runtime =
        [(16, 400.0, 380.0), (17, 5.0, 11.0)].map(|(row, before, after): (usize, _, _)| {
            RuntimeCost {
                function: tree.functions[tree.rows[row].function as usize].clone(),
                before: before * 1e6,
                after: after * 1e6,
            }
        });
    let diff = Diff {
        verdict: Verdict::Regressed,
        before: side("before", &[187.0, 189.0, 196.0]),
        after: side("after", &[351.0, 355.0, 368.0]),
        change: estimate(166.0, 9.0),
        p_value: Some(0.0002),
        suspects: vec![first, second],
        improvements: vec![gone, faster],
        moved: vec![moved],
        minor: (3, 1.2e6),
        runtime: runtime.to_vec(),
        unexplained: 4e6,
        functions: FunctionTable {
            rows: (runtime.iter())
                .map(|cost| FunctionChange {
                    function: cost.function.clone(),
                    before: cost.before,
                    after: cost.after,
                })
                .collect(),
            more: 12,
            rest: 3e6,
        },
        paths: paths(&tree),
        warnings: vec![Warning {
            code: "lost-samples".to_owned(),
            message: "after/2.json.gz says that samples were lost".to_owned(),
            count: 37,
        }],
        ..bare()
    };
    (diff, tree)
}

/// Every path from a root to a leaf, by the cost it added.
pub fn paths(tree: &DiffTree) -> Vec<RankedPath> {
    let rows = &tree.rows;
    let mut costs: Vec<(f64, f64)> = rows.iter().map(|row| (row.before, row.after)).collect();
    let mut is_leaf = vec![true; rows.len()];
    for row in (0..rows.len()).rev() {
        if let Some(parent) = rows[row].parent {
            is_leaf[parent as usize] = false;
            let (before, after) = costs[row];
            costs[parent as usize].0 += before;
            costs[parent as usize].1 += after;
        }
    }
    let mut paths: Vec<RankedPath> = (0..rows.len())
        .filter(|row| is_leaf[*row])
        .map(|leaf| {
            let mut functions = Vec::new();
            let mut at = Some(leaf);
            while let Some(row) = at {
                let (before, after) = costs[row];
                functions.insert(
                    0,
                    PathFunction {
                        function: tree.functions[rows[row].function as usize].clone(),
                        latency: after,
                        delta: after - before,
                        rank: 0,
                    },
                );
                at = rows[row].parent.map(|parent| parent as usize);
            }
            let mut order: Vec<usize> = (0..functions.len()).collect();
            order.sort_by(|a, b| functions[*b].latency.total_cmp(&functions[*a].latency));
            for (rank, row) in order.into_iter().enumerate() {
                functions[row].rank = rank + 1;
            }
            let cost = functions.last().map_or(0.0, |leaf| leaf.delta);
            RankedPath { rank: 0, cost, new: rows[leaf].fate == Fate::New, functions }
        })
        .collect();
    paths.sort_by(|a, b| b.cost.total_cmp(&a.cost));
    for (row, path) in paths.iter_mut().enumerate() {
        path.rank = row + 1;
    }
    paths
}

/// A critical graph with causes on several levels.
pub fn critical() -> (Diff, DiffTree) {
    let nodes = [
        (None, "root", Some(200.0), 460.0, false),
        (Some(0), "queryRenderedFeatures", Some(120.0), 330.0, false),
        (Some(1), "rendered", Some(110.0), 320.0, false),
        (Some(2), "query", Some(100.0), 300.0, false),
        (Some(3), "layer", None, 190.0, false),
        (Some(4), "utf", None, 140.0, true),
        (Some(0), "paint", Some(60.0), 115.0, true),
    ];
    let node =
        |(id, (parent, name, before, after, cause)): (usize, (_, &str, Option<f64>, f64, _))| {
            CriticalNode {
                id,
                parent,
                function: function(name, "map.js", 12),
                before: before.map(|before| before * 1e6),
                after: after * 1e6,
                cause,
            }
        };
    let nodes = nodes.into_iter().enumerate().map(node).collect();
    let (diff, tree) = everything();
    let diff = Diff {
        method: Method::CriticalGraph,
        graph: Some(CriticalGraph { nodes, threshold: 50e6, pruned: 12 }),
        suspects: Vec::new(),
        ..diff
    };
    (diff, tree)
}

/// Names that would do harm if they were markup.
pub const HOSTILE: [&str; 5] = [
    "</script><script>window.harmed = 1</script>",
    "\"><img src=x onerror=\"window.harmed = 2\">",
    "<!-- <script>",
    "a\u{2028}b & c \u{202e}d",
    "${window.harmed = 3}`",
];

pub fn hostile() -> (Diff, DiffTree) {
    let rows: Vec<_> = HOSTILE
        .iter()
        .enumerate()
        .map(|(depth, name)| (depth, *name, 10.0, 20.0 + depth as f64, Fate::Kept))
        .collect();
    let mut tree = tree(&rows);
    for function in &mut tree.functions {
        function.component = Some("<b>file</b>.js".to_owned());
    }
    let mut first = suspect(&tree, 1, SuspectKind::Slower, &[0], 0.5);
    first.notes.push(HOSTILE[1].to_owned());
    let second = suspect(&tree, 2, SuspectKind::Slower, &[4], 0.2);
    let diff = Diff {
        verdict: Verdict::Regressed,
        suspects: vec![first, second],
        paths: paths(&tree),
        warnings: vec![Warning {
            code: "odd".to_owned(),
            message: HOSTILE[0].to_owned(),
            count: 1,
        }],
        ..bare()
    };
    (diff, tree)
}

/// A tree of many contexts, as wide and as deep as real ones: few heavy callees, many light ones.
pub fn large(contexts: usize) -> (Diff, DiffTree) {
    let functions: Vec<FunctionView> = (0..5000)
        .map(|n| {
            function(
                &format!("module{}::function_{n}", n % 97),
                &format!("src/part{}.rs", n % 211),
                n + 1,
            )
        })
        .collect();
    let mut state = 7u64;
    let mut next = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut rows: Vec<DiffRow> = Vec::with_capacity(contexts);
    let mut above: Vec<u32> = Vec::new();
    for row in 0..contexts {
        // Up by a few levels, then one down: depths wander around 40.
        let up = if above.len() > 70 { 30 } else { next() as usize % 3 };
        above.truncate(above.len().saturating_sub(up).max(usize::from(row > 0)));
        let cost = (next() % 1000) as f64 * 1e3 / (1 + next() % 50) as f64;
        let (fate, before, after) = match next() % 40 {
            0 => (Fate::New, 0.0, cost),
            1 => (Fate::Gone, cost, 0.0),
            2 => (Fate::Moved, cost, cost),
            _ => (Fate::Kept, cost, cost * (0.9 + (next() % 300) as f64 / 1000.0)),
        };
        let function = (next() % 5000) as u32;
        rows.push(DiffRow { parent: above.last().copied(), function, before, after, fate });
        above.push(row as u32);
    }
    let tree = DiffTree { functions, rows };
    let contexts: Vec<usize> =
        (0..tree.rows.len()).filter(|row| tree.rows[*row].function == 11).collect();
    let first = suspect(&tree, 1, SuspectKind::Slower, &contexts, 0.3);
    (Diff { verdict: Verdict::Regressed, suspects: vec![first], ..bare() }, tree)
}
