//! Answers made by hand: every verdict, every kind, every method, and names that mean harm.

use perfblame_analysis::{
    Candidate, CodeChange, CriticalGraph, CriticalNode, Diff, Estimate, FunctionChange,
    FunctionTable, FunctionView, Method, PartTotal, PathFunction, RankedPath, RuntimeCost, Side,
    SideTotals, Sides, StagePart, StageReason, StagedSubtree, Stages, Suspect, SuspectKind,
    Threshold, Verdict, WeightChange,
};
use perfblame_cct::{CallSite, Layer, Metric, Unit, Warning};

const MS: f64 = 1e6;

/// `name@component:line`, where the last two may be left out.
pub fn function(text: &str) -> FunctionView {
    let (name, place) = text.split_once('@').unwrap_or((text, ""));
    let (component, line) = match place.rsplit_once(':') {
        Some((component, line)) if line.parse::<u32>().is_ok() => (component, line.parse().ok()),
        _ => (place, None),
    };
    FunctionView {
        name: name.to_owned(),
        component: (!component.is_empty()).then(|| component.to_owned()),
        line,
        ..FunctionView::default()
    }
}

pub fn estimate(median: f64, spread: f64) -> Estimate {
    Estimate { median, low: median - spread, high: median + spread }
}

fn side(folder: &str, totals: &[f64]) -> SideTotals {
    let mut sorted = totals.to_vec();
    sorted.sort_by(f64::total_cmp);
    let total = Estimate {
        median: sorted[sorted.len() / 2],
        low: sorted[0],
        high: sorted[sorted.len() - 1],
    };
    let inputs = (1..=totals.len()).map(|run| format!("{folder}/run-{run}.json")).collect();
    SideTotals { inputs, totals: totals.to_vec(), total }
}

/// Totals in milliseconds, and nothing explained.
pub fn compared(verdict: Verdict, before: &[f64], after: &[f64]) -> Diff {
    let in_ns = |totals: &[f64]| totals.iter().map(|total| total * MS).collect::<Vec<_>>();
    let (before, after) = (side("old", &in_ns(before)), side("new", &in_ns(after)));
    let change = after.total.median - before.total.median;
    Diff {
        method: Method::Suspects,
        metric: Metric::sampled("wall", Unit::Nanoseconds),
        verdict,
        before,
        after,
        change: estimate(change, 130.0 * MS),
        p_value: Some(0.0042),
        threshold: 40.0 * MS,
        normalised: None,
        suspects: Vec::new(),
        moved: Vec::new(),
        minor: (0, 0.0),
        improvements: Vec::new(),
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

/// A suspect at the end of a path, with costs in milliseconds.
pub fn suspect(rank: usize, kind: SuspectKind, path: &str, before: f64, after: f64) -> Suspect {
    let path: Vec<FunctionView> = path.split(' ').map(function).collect();
    let delta = (after - before) * MS;
    let runs = |cost: f64| vec![cost * 0.98 * MS, cost * MS, cost * 1.03 * MS];
    Suspect {
        rank,
        contexts: vec![0],
        delta: estimate(delta, (delta * 0.04).abs()),
        runs: Sides { before: runs(before), after: runs(after) },
        p_value: Some(0.008),
        ..Suspect::new(kind, path, Sides { before, after }.map(|cost| cost * MS))
    }
}

/// A slowdown with all that can be said about one.
pub fn regressed() -> Diff {
    let mut diff =
        compared(Verdict::Regressed, &[4080.0, 4100.0, 4190.0], &[6310.0, 6290.0, 6300.0]);
    let path = "(root) queryRenderedFeatures@map.js:41 rendered@map.js:112 query@source.js:9 \
                layer@layer.js:77 utf@layer.js:120";
    diff.suspects = vec![
        Suspect {
            share: 0.87,
            contexts: vec![7, 12],
            changes: vec![CodeChange {
                kind: "modified".to_owned(),
                function: "utf".to_owned(),
                file: "src/layer.js".to_owned(),
                lines: Some((120, 141)),
                commit: Some("abc123".to_owned()),
                hunks: vec!["@@ -110,0 +120,22 @@".to_owned()],
                title: Some("Read names as UTF-8".to_owned()),
                why: Some("the function itself, with a new loop".to_owned()),
                score: Some(1.0),
            }],
            ..suspect(1, SuspectKind::New, path, 0.0, 1920.0)
        },
        Suspect {
            share: 0.09,
            calls: Some(Sides::new(12.0, 31.0)),
            ..suspect(
                2,
                SuspectKind::MoreCalls,
                "(root) tick@loop.js:5 (anonymous)@loop.js:19",
                110.0,
                310.0,
            )
        },
        Suspect {
            share: 0.03,
            p_value: None,
            was: Some(function("parseHeader@lib/parse.js:3")),
            notes: vec!["matched by its callees, 80 % sure".to_owned()],
            ..suspect(
                3,
                SuspectKind::Slower,
                "(root) load@io.js:1 parse@lib/parse.js:3",
                400.0,
                466.0,
            )
        },
    ];
    diff.improvements = vec![Suspect {
        share: 0.02,
        ..suspect(1, SuspectKind::Gone, "(root) tick@loop.js:5 poll@loop.js:44", 44.0, 0.0)
    }];
    diff.moved =
        vec![suspect(1, SuspectKind::Moved, "(root) load@io.js:1 read@io.js:30", 5.0, 61.0)];
    diff.minor = (4, 7.0 * MS);
    diff.runtime = vec![
        RuntimeCost {
            function: FunctionView {
                layer: Layer::GarbageCollection,
                ..function("(garbage collector)")
            },
            before: 210.0 * MS,
            after: 231.0 * MS,
        },
        RuntimeCost {
            function: FunctionView { layer: Layer::Idle, ..function("(idle)") },
            before: 900.0 * MS,
            after: 880.0 * MS,
        },
    ];
    diff.unexplained = 3.0 * MS;
    let row = |text: &str, layer: Layer, before: f64, after: f64| FunctionChange {
        function: FunctionView { layer, ..function(text) },
        before: before * MS,
        after: after * MS,
    };
    diff.functions = FunctionTable {
        rows: vec![
            row("utf@layer.js:120", Layer::Application, 0.0, 1920.0),
            row("(anonymous)@loop.js:19", Layer::Application, 110.0, 310.0),
            row("(garbage collector)", Layer::GarbageCollection, 210.0, 231.0),
            row("poll@loop.js:44", Layer::Application, 44.0, 0.0),
        ],
        more: 31,
        rest: 12.0 * MS,
    };
    diff.noticed = Some(0.031);
    diff.warnings = vec![Warning {
        code: "few-runs".to_owned(),
        message: "three runs on each side are few".to_owned(),
        count: 1,
    }];
    diff
}

pub fn unchanged() -> Diff {
    Diff {
        p_value: Some(0.41),
        ..compared(Verdict::Unchanged, &[4000.0, 4100.0, 4300.0], &[3900.0, 4200.0, 4250.0])
    }
}

pub fn improved() -> Diff {
    let mut diff = compared(Verdict::Improved, &[6310.0, 6290.0], &[4080.0, 4100.0, 4190.0]);
    diff.improvements = vec![Suspect {
        share: 0.96,
        ..suspect(
            1,
            SuspectKind::Faster,
            "main@app.c render@render.c:20 blit@render.c:88",
            2600.0,
            450.0,
        )
    }];
    diff
}

pub fn inconclusive() -> Diff {
    let mut diff = compared(Verdict::Inconclusive, &[4000.0, 4100.0], &[4300.0, 4080.0]);
    diff.p_value = Some(0.21);
    diff.runs_needed = Some(6);
    diff.suspects = vec![Suspect {
        share: 0.8,
        p_value: Some(0.3),
        ..suspect(1, SuspectKind::Slower, "main@app.c render@render.c:20", 900.0, 1060.0)
    }];
    diff
}

/// One run on each side.
pub fn one_run() -> Diff {
    let mut diff = compared(Verdict::Inconclusive, &[4000.0], &[4300.0]);
    diff.p_value = None;
    diff.change = estimate(300.0 * MS, 0.0);
    diff.threshold = 0.0;
    diff.runs_needed = Some(3);
    diff.functions.rows = vec![FunctionChange {
        function: function("render@render.c:20"),
        before: 900.0 * MS,
        after: 1160.0 * MS,
    }];
    diff
}

/// The total is about the same, but something is new and something else was saved.
pub fn same_overall() -> Diff {
    let mut diff = compared(Verdict::Regressed, &[929.0, 931.0, 950.0], &[860.0, 878.0, 900.0]);
    diff.suspects = vec![Suspect {
        share: 1.0,
        ..suspect(1, SuspectKind::New, "(root) generateElement@table.js:7 sleep", 0.0, 243.0)
    }];
    diff
}

/// Two profiles that should not be compared.
pub fn different() -> Diff {
    let mut diff = unchanged();
    diff.warnings = vec![
        Warning {
            code: "different-programs".to_owned(),
            message: "these look like profiles of two different programs".to_owned(),
            count: 1,
        },
        Warning { code: "late".to_owned(), message: "something else".to_owned(), count: 1 },
    ];
    diff
}

/// ZAM's running example: section 2.1 of `[zam]`.
pub fn critical_graph() -> Diff {
    let mut diff = compared(Verdict::Regressed, &[400.0], &[560.0]);
    diff.method = Method::CriticalGraph;
    diff.p_value = None;
    let node = |id, parent, name, before: Option<f64>, after: f64, cause| CriticalNode {
        id,
        parent,
        function: function(name),
        before: before.map(|before| before * MS),
        after: after * MS,
        cause,
    };
    diff.graph = Some(CriticalGraph {
        nodes: vec![
            node(0, None, "(root)", Some(400.0), 560.0, false),
            node(1, Some(0), "queryRenderedFeatures@map.js:41", Some(100.0), 250.0, false),
            node(2, Some(1), "layer@layer.js:77", Some(60.0), 205.0, false),
            node(3, Some(2), "utf@layer.js:120", None, 140.0, true),
            node(4, Some(0), "tick@loop.js:5", Some(10.0), 70.0, true),
        ],
        threshold: 50.0 * MS,
        pruned: 3,
    });
    diff
}

pub fn paths() -> Diff {
    let mut diff = compared(Verdict::Regressed, &[400.0], &[560.0]);
    diff.method = Method::Paths;
    let step = |name, latency: f64, delta: f64, rank| PathFunction {
        function: function(name),
        latency: latency * MS,
        delta: delta * MS,
        rank,
    };
    diff.paths = vec![
        RankedPath {
            rank: 1,
            cost: 140.0 * MS,
            new: true,
            functions: vec![
                step("main@app", 0.5, 0.0, 3),
                step("send@libnet.so", 10.0, 5.0, 2),
                step("fsync@libc.so.6", 130.0, 130.0, 1),
            ],
        },
        RankedPath {
            rank: 2,
            cost: 20.0 * MS,
            new: false,
            functions: vec![step("main@app", 0.5, 0.0, 2), step("read@libc.so.6", 30.0, 20.0, 1)],
        },
    ];
    diff
}

/// Counts of things, with decimals and a name that is markup, a table row and a terminal's escape.
pub fn evil() -> Diff {
    let name = "</script><img src=x onerror=alert(1)>|`*_[x](y)\u{1b}[31m\r\n\"&amp;";
    let mut diff = compared(Verdict::Regressed, &[1e-4, 2e-4], &[9e-4, 1e-3]);
    diff.metric = Metric { decimals: 1, ..Metric::sampled("samples", Unit::Count) };
    diff.change = Estimate { median: 800.0, low: f64::NEG_INFINITY, high: 900.0 };
    diff.threshold = 0.0;
    let function = FunctionView {
        name: name.to_owned(),
        component: Some(format!("dir with space/{name}")),
        file: Some("dir with space/<ü>|%\u{1b}\"^.js".to_owned()),
        line: Some(1),
        ..FunctionView::default()
    };
    diff.suspects = vec![Suspect {
        share: 1.0,
        function: function.clone(),
        path: vec![function; 300],
        notes: vec![name.to_owned()],
        ..suspect(1, SuspectKind::Slower, "x", 1e-4, 9e-4)
    }];
    diff.warnings = vec![Warning { code: "evil".to_owned(), message: name.to_owned(), count: 12 }];
    diff
}

/// More suspects than anybody reads, with long names and deep paths.
pub fn many() -> Diff {
    let mut diff = compared(Verdict::Regressed, &[4000.0; 5], &[6000.0; 5]);
    let deep: Vec<String> =
        (1..=30).map(|level| format!("level_{level}@deep.rs:{level}")).collect();
    let deep = deep.join(" ");
    diff.suspects = (1..=14)
        .map(|rank| Suspect {
            share: 0.3 / rank as f64,
            ..suspect(
                rank,
                SuspectKind::Slower,
                &format!("{deep} alloc::collections::btree::map::BTreeMap<K,V>::insert_{rank}@btree/map.rs:{rank}"),
                10.0,
                10.0 + 600.0 / rank as f64,
            )
        })
        .collect();
    diff.unexplained = 300.0 * MS;
    diff
}

/// Both trees taken apart, with a name that means harm.
pub fn stages() -> Diff {
    let mut diff = compared(Verdict::Regressed, &[400.0], &[560.0]);
    diff.method = Method::Stages;
    diff.p_value = None;
    let path = |names: &[&str]| names.iter().map(|name| function(name)).collect::<Vec<_>>();
    let change = |kind: &str, name: &str, lines| CodeChange {
        kind: kind.to_owned(),
        function: name.to_owned(),
        file: "src/layer.js".to_owned(),
        lines: Some(lines),
        commit: Some("abc123".to_owned()),
        hunks: vec!["@@ -110,0 +120,22 @@".to_owned()],
        ..CodeChange::default()
    };
    let layer = || Candidate {
        function: function("layer@layer.js:77"),
        changes: vec![change("modified", "layer", (77, 99))],
    };
    let subtree = |rank, side, names: &[&str], cost: f64, reason| StagedSubtree {
        rank,
        side,
        path: path(names),
        call_site: std::num::NonZeroU32::new(80).map(|line| CallSite::Line(line, None)),
        nodes: 3,
        cost: cost * MS,
        reason,
        candidates: Vec::new(),
        changes: Vec::new(),
    };
    let part = |subtrees: Vec<StagedSubtree>, before: f64, after: f64| StagePart {
        total: PartTotal {
            subtrees: subtrees.len(),
            nodes: 3 * subtrees.len(),
            before: before * MS,
            after: after * MS,
        },
        subtrees,
    };
    let utf = ["main@app.js:1", "layer@layer.js:77", "utf@layer.js:120"];
    let old = ["main@app.js:1", "layer@layer.js:77", "old<b>|`x`@layer.js:30"];
    let parse = ["main@app.js:1", "layer@layer.js:77", "parse@layer.js:140"];
    let (before, after) = (Side::Before, Side::After);
    let added = StagedSubtree {
        candidates: vec![layer()],
        changes: vec![change("added", "utf", (120, 141))],
        ..subtree(1, after, &utf, 140.0, StageReason::AddedMethod)
    };
    let modified = StagedSubtree {
        candidates: vec![layer()],
        ..subtree(1, after, &parse, 20.0, StageReason::DirectModification)
    };
    let side_effects = vec![
        subtree(1, after, &["main@app.js:1", "tick@loop.js:5"], 5.0, StageReason::SideEffect),
        subtree(2, before, &["main@app.js:1", "gc@vm"], 5.0, StageReason::NonDeterminism),
    ];
    let mut modified = part(vec![modified], 0.0, 20.0);
    modified.total.subtrees = 4;
    diff.stages = Some(Stages {
        added: part(vec![added], 0.0, 140.0),
        deleted: part(vec![subtree(1, before, &old, 30.0, StageReason::DeletedMethod)], 30.0, 0.0),
        modified,
        side_effects: part(side_effects, 5.0, 5.0),
        common: PartTotal { subtrees: 90, nodes: 90, before: 365.0 * MS, after: 395.0 * MS },
        share_before: 0.9,
        share_after: 0.75,
        overlaps: vec![("calls", 0.99), ("mean", 0.95), ("total", 0.9)],
        score: 57.1,
        threshold: Threshold { overlap: 0.95, runs: None },
        weights: vec![WeightChange {
            rank: 1,
            path: path(&utf[..2]),
            before: 30.0 * MS,
            after: 60.0 * MS,
            share_before: 0.08,
            share_after: 0.15,
            calls: Some(Sides::new(1000.0, 2000.0)),
            overlap: 0.97,
            candidates: vec![layer()],
        }],
        adjusted: Some(0.97),
        changed: Some(12),
        sampled: 3,
    });
    diff
}

/// All of them, for what must hold for every answer.
pub fn all() -> Vec<(&'static str, Diff)> {
    vec![
        ("regressed", regressed()),
        ("unchanged", unchanged()),
        ("improved", improved()),
        ("inconclusive", inconclusive()),
        ("one_run", one_run()),
        ("same_overall", same_overall()),
        ("different", different()),
        ("critical_graph", critical_graph()),
        ("paths", paths()),
        ("stages", stages()),
        ("evil", evil()),
        ("many", many()),
    ]
}
