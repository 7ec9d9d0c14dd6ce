//! The table of cases: each with its sentence.

use expect_test::{Expect, expect};
use perfblame_analysis::{
    Diff, Estimate, FunctionChange, FunctionTable, FunctionView, Method, RuntimeCost, SideTotals,
    Sides, Suspect, SuspectKind, Verdict,
};
use perfblame_cct::{Layer, Metric, Unit};

use super::*;

pub(super) const MS: f64 = 1e6;

fn side(totals: &[f64]) -> SideTotals {
    let totals: Vec<f64> = totals.iter().map(|total| total * MS).collect();
    let median = totals[totals.len() / 2];
    let total = Estimate { median, low: totals[0], high: totals[totals.len() - 1] };
    SideTotals { inputs: Vec::new(), totals, total }
}

/// Three runs on each side with these typical totals, and what the change lies between, in milliseconds.
pub(super) fn answer(verdict: Verdict, totals: [f64; 2], between: [f64; 2]) -> Diff {
    let [before, after] = totals;
    let [low, high] = between;
    Diff {
        method: Method::Suspects,
        metric: Metric::sampled("wall", Unit::Nanoseconds),
        verdict,
        before: side(&[before * 0.99, before, before * 1.01]),
        after: side(&[after * 0.99, after, after * 1.01]),
        change: Estimate { median: (after - before) * MS, low: low * MS, high: high * MS },
        p_value: Some(0.01),
        threshold: MS,
        normalised: None,
        suspects: Vec::new(),
        improvements: Vec::new(),
        moved: Vec::new(),
        minor: (0, 0.0),
        runtime: Vec::new(),
        unexplained: 0.0,
        noticed: None,
        functions: FunctionTable::default(),
        runs_needed: None,
        graph: None,
        paths: Vec::new(),
        stages: None,
        warnings: Vec::new(),
    }
}

pub(super) fn function(name: &str) -> FunctionView {
    FunctionView { name: name.to_owned(), ..FunctionView::default() }
}

/// The last function of a path, with its costs in milliseconds and its share.
pub(super) fn suspect(kind: SuspectKind, path: &str, costs: [f64; 2], share: f64) -> Suspect {
    let path = path.split(' ').map(function).collect();
    let costs = Sides::new(costs[0], costs[1]).map(|cost| cost * MS);
    Suspect { share, contexts: vec![1], p_value: Some(0.001), ..Suspect::new(kind, path, costs) }
}

pub(super) fn runtime(name: &str, layer: Layer, costs: [f64; 2]) -> RuntimeCost {
    let function = FunctionView { layer, ..function(name) };
    RuntimeCost { function, before: costs[0] * MS, after: costs[1] * MS }
}

fn row(name: &str, before: f64, after: f64) -> FunctionChange {
    FunctionChange { function: function(name), before: before * MS, after: after * MS }
}

/// The title and the sentence.
fn check(diff: &Diff, expected: &Expect) {
    let said = Headline::of(diff, Words::of(diff, true));
    expected.assert_eq(&format!("[{}] {}", said.title, said.text()));
}

#[test]
fn the_total_grew_as_its_functions_did() {
    let mut diff = answer(Verdict::Regressed, [4100.0, 6300.0], [2070.0, 2330.0]);
    diff.suspects = vec![suspect(SuspectKind::New, "main layer utf", [0.0, 1920.0], 0.873)];
    diff.suspects[0].contexts = vec![1, 2];
    check(
        &diff,
        &expect![
            "[Slower] 4.10 s → 6.30 s (+54 %): 87 % of the slowdown is utf under layer (new, 2 paths)"
        ],
    );
    diff.suspects.push(suspect(SuspectKind::MoreCalls, "main tick", [110.0, 290.0], 0.08));
    diff.suspects.push(suspect(SuspectKind::Slower, "main parse", [400.0, 466.0], 0.03));
    check(
        &diff,
        &expect![
            "[Slower] 4.10 s → 6.30 s (+54 %): 87 % of the slowdown is utf under layer (new, 2 paths); 8.0 % is tick (called more often); 3.0 % in 1 more function"
        ],
    );
}

#[test]
fn the_total_fell_as_its_functions_did() {
    let mut diff = answer(Verdict::Improved, [6310.0, 4100.0], [-2340.0, -2080.0]);
    diff.improvements = vec![suspect(SuspectKind::Faster, "main blit", [2600.0, 450.0], 0.97)];
    check(
        &diff,
        &expect![
            "[Faster] 6.31 s → 4.10 s (−35 %): 97 % of the speedup is blit under main (faster)"
        ],
    );
}

#[test]
fn suspects_and_runtime_share_one_whole() {
    let mut diff = answer(Verdict::Regressed, [904.0, 1660.0], [700.0, 800.0]);
    diff.suspects = vec![suspect(SuspectKind::New, "main measure", [0.0, 60.0], 0.079)];
    diff.runtime = vec![
        runtime("(idle)", Layer::Idle, [100.0, 2000.0]),
        runtime("(program)", Layer::Runtime, [100.0, 780.0]),
    ];
    check(
        &diff,
        &expect![
            "[Slower] 904 ms → 1.66 s (+84 %): 90 % of the slowdown is the runtime's (program); 7.9 % is measure under main (new)"
        ],
    );
}

#[test]
fn more_was_added_than_the_total_grew_by() {
    let mut diff = answer(Verdict::Regressed, [4100.0, 4300.0], [100.0, 300.0]);
    diff.suspects = vec![
        suspect(SuspectKind::New, "main layer utf", [0.0, 1920.0], 0.9),
        suspect(SuspectKind::MoreCalls, "main tick", [110.0, 290.0], 0.08),
        suspect(SuspectKind::Slower, "main parse", [400.0, 440.0], 0.02),
    ];
    check(
        &diff,
        &expect![
            "[Slower] 4.10 s → 4.30 s (+4.9 %): utf under layer is new and costs 1.92 s; tick is called more often and costs 180 ms more; 1 more function costs 40.0 ms more; 1.94 s were saved elsewhere"
        ],
    );
}

#[test]
fn the_runtime_grew_by_more_than_any_function() {
    let mut diff = answer(Verdict::Regressed, [878.0, 931.0], [5.0, 120.0]);
    diff.p_value = Some(0.004);
    diff.suspects = vec![suspect(SuspectKind::MoreCalls, "main _create", [10.0, 23.0], 0.1)];
    diff.runtime = vec![runtime("(program)", Layer::Runtime, [168.0, 282.0])];
    check(
        &diff,
        &expect![
            "[Slower] 878 ms → 931 ms (+6.0 %): the runtime's (program) costs 114 ms more; _create under main is called more often and costs 13.0 ms more; 74.0 ms were saved elsewhere"
        ],
    );
}

#[test]
fn more_was_saved_than_the_total_fell_by() {
    let mut diff = answer(Verdict::Improved, [4300.0, 4100.0], [-300.0, -100.0]);
    diff.improvements = vec![suspect(SuspectKind::Gone, "main layer utf", [1920.0, 0.0], 1.0)];
    diff.suspects = vec![suspect(SuspectKind::Slower, "main draw", [100.0, 1300.0], 0.7)];
    check(
        &diff,
        &expect![
            "[Faster] 4.30 s → 4.10 s (−4.7 %): utf under layer is gone and saves 1.92 s; 1.72 s were added elsewhere, mostly in draw"
        ],
    );
}

#[test]
fn about_the_same_overall_but_something_is_new() {
    let mut diff = answer(Verdict::Regressed, [931.0, 878.0], [-160.0, 54.0]);
    diff.suspects =
        vec![suspect(SuspectKind::New, "main generateElement sleep", [0.0, 243.0], 1.0)];
    diff.runtime = vec![runtime("(program)", Layer::Runtime, [300.0, 208.0])];
    check(
        &diff,
        &expect![
            "[Slower in part] About the same overall (931 ms → 878 ms), but sleep under generateElement is new and costs 243 ms; 296 ms were saved elsewhere"
        ],
    );
    // Small beside what functions did, and not certain.
    diff.change.high = -4.0 * MS;
    diff.p_value = Some(0.04);
    diff.improvements = vec![suspect(SuspectKind::Faster, "main layout", [400.0, 200.0], 0.7)];
    check(
        &diff,
        &expect![
            "[Slower in part] About the same overall (931 ms → 878 ms), but sleep under generateElement is new and costs 243 ms; 296 ms were saved elsewhere, mostly in layout"
        ],
    );
}

#[test]
fn about_the_same_overall_but_something_is_faster() {
    let mut diff = answer(Verdict::Improved, [401.0, 404.0], [-20.0, 26.0]);
    diff.improvements = vec![suspect(SuspectKind::Faster, "main draw", [120.0, 70.0], 1.0)];
    check(
        &diff,
        &expect![
            "[Faster in part] About the same overall (401 ms → 404 ms), but draw under main is 50.0 ms faster; 53.0 ms were added elsewhere"
        ],
    );
}

#[test]
fn the_total_fell_although_a_function_got_slower() {
    let mut diff = answer(Verdict::Regressed, [381.0, 329.0], [-80.0, -24.0]);
    diff.suspects = vec![suspect(SuspectKind::Slower, "main dispatchEvent", [20.0, 61.0], 1.0)];
    check(
        &diff,
        &expect![
            "[Slower in part] Faster overall (381 ms → 329 ms, −14 %), but dispatchEvent under main is 41.0 ms slower; 93.0 ms were saved elsewhere"
        ],
    );
    diff.verdict = Verdict::Improved;
    check(
        &diff,
        &expect![
            "[Faster] Faster overall (381 ms → 329 ms, −14 %), but dispatchEvent under main is 41.0 ms slower; 93.0 ms were saved elsewhere"
        ],
    );
    diff.change.high = MS;
    check(
        &diff,
        &expect![
            "[Faster] Possibly faster overall (381 ms → 329 ms, −14 %), but dispatchEvent under main is 41.0 ms slower; 93.0 ms were saved elsewhere"
        ],
    );
}

#[test]
fn the_total_rose_although_a_function_got_faster() {
    let mut diff = answer(Verdict::Improved, [401.0, 533.0], [100.0, 164.0]);
    diff.improvements = vec![suspect(SuspectKind::Faster, "main draw", [120.0, 70.0], 1.0)];
    check(
        &diff,
        &expect![
            "[Faster in part] Slower overall (401 ms → 533 ms, +33 %), although draw under main is 50.0 ms faster; 182 ms were added elsewhere"
        ],
    );
    diff.verdict = Verdict::Regressed;
    check(
        &diff,
        &expect![
            "[Slower] Slower overall (401 ms → 533 ms, +33 %), although draw under main is 50.0 ms faster; 182 ms were added elsewhere"
        ],
    );
}

#[test]
fn a_function_changed_for_sure_and_the_total_may_be_noise() {
    let mut diff = answer(Verdict::Regressed, [2640.0, 4400.0], [-6750.0, 10_270.0]);
    diff.suspects = vec![suspect(SuspectKind::New, "main load retry", [0.0, 900.0], 0.5)];
    check(
        &diff,
        &expect![
            "[Slower in part] retry under load is new and costs 900 ms; the total alone (2.64 s → 4.40 s, +67 %) may be noise"
        ],
    );
}

#[test]
fn only_the_runtime_changed() {
    let mut diff = answer(Verdict::Regressed, [400.0, 600.0], [150.0, 250.0]);
    diff.runtime = vec![
        runtime("(idle)", Layer::Idle, [0.0, 900.0]),
        runtime("(garbage collector)", Layer::GarbageCollection, [20.0, 200.0]),
    ];
    check(
        &diff,
        &expect![
            "[Slower] 400 ms → 600 ms (+50 %): 90 % of the slowdown is the runtime's (garbage collector); no function stands out"
        ],
    );
    // Idle time is no part of the total.
    diff.runtime.pop();
    check(&diff, &expect!["[Slower] 400 ms → 600 ms (+50 %): no function stands out"]);
}

#[test]
fn everything_got_slower_alike() {
    let mut diff = answer(Verdict::Regressed, [400.0, 600.0], [150.0, 250.0]);
    diff.functions.rows =
        vec![row("draw", 200.0, 290.0), row("parse", 150.0, 230.0), row("load", 50.0, 80.0)];
    check(
        &diff,
        &expect![
            "[Slower] 400 ms → 600 ms (+50 %): everything got slower alike; no function stands out"
        ],
    );
    diff.functions.rows[0].after = 210.0 * MS;
    check(&diff, &expect!["[Slower] 400 ms → 600 ms (+50 %): no function stands out"]);
    diff.change.low = -MS;
    check(
        &diff,
        &expect![
            "[Slower] Possibly slower overall (400 ms → 600 ms, +50 %): no function stands out"
        ],
    );
}

#[test]
fn no_change_says_what_would_show() {
    let mut diff = answer(Verdict::Unchanged, [4100.0, 4200.0], [-60.0, 260.0]);
    diff.noticed = Some(0.0395);
    check(
        &diff,
        &expect![
            "[No change] no change: 4.10 s → 4.20 s (+2.4 %); a slowdown of more than 4 % would show"
        ],
    );
    // Without a word from the model the interval tells.
    diff.noticed = None;
    check(
        &diff,
        &expect![
            "[No change] no change: 4.10 s → 4.20 s (+2.4 %); a slowdown of more than 4 % would show"
        ],
    );
    // Never less than what was seen and is called no change.
    diff.noticed = Some(0.01);
    check(
        &diff,
        &expect![
            "[No change] no change: 4.10 s → 4.20 s (+2.4 %); a slowdown of more than 2.5 % would show"
        ],
    );
    diff.threshold = 500.0 * MS;
    check(
        &diff,
        &expect![
            "[No change] no change: 4.10 s → 4.20 s (+2.4 %); changes under 500 ms are ignored"
        ],
    );
}

#[test]
fn a_large_change_below_the_threshold_is_ignored() {
    let mut diff = answer(Verdict::Unchanged, [100.0, 205.0], [95.0, 115.0]);
    diff.threshold = 200.0 * MS;
    check(
        &diff,
        &expect![
            "[Below the threshold] below the threshold: 100 ms → 205 ms (+105 %); changes under 200 ms are ignored"
        ],
    );
}

#[test]
fn no_change_in_much_noise_is_no_clear_change() {
    let mut diff = answer(Verdict::Unchanged, [2640.0, 4400.0], [-6750.0, 10_270.0]);
    diff.noticed = Some(3.2);
    check(
        &diff,
        &expect![
            "[No clear change] no clear change: 2.64 s → 4.40 s (+67 %); only a slowdown of more than 320 % would show"
        ],
    );
}

#[test]
fn no_change_of_something_counted() {
    let mut diff = answer(Verdict::Unchanged, [0.001, 0.001], [0.0, 0.0]);
    diff.metric = Metric::exact("calls", Unit::Count);
    diff.threshold = 0.0;
    check(&diff, &expect!["[No change] no change: 1,000 → 1,000 calls"]);
}

#[test]
fn one_run_on_each_side_is_a_guess() {
    let mut diff = answer(Verdict::Inconclusive, [4000.0, 4300.0], [300.0, 300.0]);
    (diff.before.totals, diff.after.totals) = (vec![4e9], vec![4.3e9]);
    (diff.p_value, diff.runs_needed) = (None, Some(3));
    check(
        &diff,
        &expect![
            "[Cannot tell] cannot tell: 4.00 s → 4.30 s (+7.5 %) with one run on each side may be noise; 3 runs on each side would tell"
        ],
    );
    diff.functions.rows = vec![row("draw", 200.0, 290.0)];
    check(
        &diff,
        &expect![
            "[Cannot tell] cannot tell: 4.00 s → 4.30 s (+7.5 %) with one run on each side may be noise; 3 runs on each side would tell; the largest change is in draw (+90.0 ms)"
        ],
    );
    diff.suspects = vec![suspect(SuspectKind::Slower, "main render", [900.0, 1060.0], 0.5)];
    check(
        &diff,
        &expect![
            "[Cannot tell] cannot tell: 4.00 s → 4.30 s (+7.5 %) with one run on each side may be noise; 3 runs on each side would tell; best guess: render under main (slower, +160 ms)"
        ],
    );
}

#[test]
fn the_noise_of_one_run_is_not_known() {
    let mut diff = answer(Verdict::Inconclusive, [926.0, 910.0], [-60.0, 30.0]);
    (diff.before.totals, diff.after.totals) = (vec![926e6], vec![910e6]);
    (diff.p_value, diff.runs_needed) = (None, Some(971));
    diff.suspects = vec![suspect(SuspectKind::New, "main sleep", [0.0, 233.0], 1.0)];
    diff.improvements = vec![suspect(SuspectKind::Faster, "main layout", [200.0, 100.0], 0.3)];
    check(
        &diff,
        &expect![
            "[Cannot tell] cannot tell: 926 ms → 910 ms (−1.7 %) with one run on each side may be noise; record at least 5 runs on each side; best guess: sleep under main (new, +233 ms)"
        ],
    );
}

#[test]
fn too_few_runs_and_too_much_noise() {
    let mut diff = answer(Verdict::Inconclusive, [4100.0, 4300.0], [-70.0, 470.0]);
    diff.runs_needed = Some(6);
    check(
        &diff,
        &expect![
            "[Cannot tell] cannot tell: 4.10 s → 4.30 s (+4.9 %), anything from −70.0 ms to +470 ms is possible; 6 runs on each side would tell"
        ],
    );
    // There are three already.
    diff.runs_needed = Some(3);
    diff.change.low = MS;
    diff.p_value = Some(0.03);
    check(
        &diff,
        &expect![
            "[Cannot tell] cannot tell: 4.10 s → 4.30 s (+4.9 %) may still be noise (p = 0.030)"
        ],
    );
    diff.after.totals.truncate(1);
    check(
        &diff,
        &expect![
            "[Cannot tell] cannot tell: 4.10 s → 4.30 s (+4.9 %) with only one run after may be noise; 3 runs on each side would tell"
        ],
    );
}

#[test]
fn waits_come_with_busy_time() {
    let mut diff = answer(Verdict::Regressed, [100.0, 101.0], [-2.0, 4.0]);
    diff.suspects = vec![suspect(SuspectKind::Waits, "main load fetch", [20.0, 170.0], 0.98)];
    check(
        &diff,
        &expect![
            "[Slower] fetch under load waits longer: 20.0 ms → 170 ms; busy time 100 ms → 101 ms (+1.0 %)"
        ],
    );
}

#[test]
fn waits_are_part_of_latencies() {
    let mut diff = answer(Verdict::Regressed, [100.0, 260.0], [140.0, 180.0]);
    diff.metric = Metric::exact("latency", Unit::Nanoseconds);
    diff.suspects = vec![suspect(SuspectKind::Waits, "main load fsync", [20.0, 170.0], 0.94)];
    check(
        &diff,
        &expect![
            "[Slower] 100 ms → 260 ms (+160 %): 94 % of the slowdown is fsync under load (waits longer)"
        ],
    );
}

#[test]
fn what_is_counted_is_not_slow() {
    let mut diff = answer(Verdict::Regressed, [0.004, 0.006], [0.002, 0.002]);
    diff.metric = Metric::exact("allocated", Unit::Bytes);
    diff.threshold = 0.0;
    diff.suspects = vec![suspect(SuspectKind::Slower, "main read", [0.001, 0.0029], 0.95)];
    check(
        &diff,
        &expect![
            "[More] 3.91 KiB → 5.86 KiB (+50 %): 95 % of the increase is read under main (costs more)"
        ],
    );
    diff.verdict = Verdict::Improved;
    (diff.before, diff.after) = (diff.after.clone(), diff.before.clone());
    check(
        &diff,
        &expect![
            "[Less] Less overall (5.86 KiB → 3.91 KiB, −33 %), but read under main costs 1.86 KiB more; 3.81 KiB were saved elsewhere"
        ],
    );
    diff.metric = Metric::sampled("samples", Unit::Count);
    check(
        &diff,
        &expect![
            "[Faster] Faster overall (6,000 → 4,000 samples, −33 %), but read under main is slower and costs 1,900 samples more; 3,900 samples were saved elsewhere"
        ],
    );
}

#[test]
fn percentages_never_exceed_the_whole() {
    let shares = |shares: &[f64]| {
        let mut percents = Percents::default();
        shares.iter().map(|share| percents.next(*share)).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(shares(&[0.505, 0.495]), "51 %, 49 %");
    assert_eq!(shares(&[0.87, 0.09, 0.03]), "87 %, 9.0 %, 3.0 %");
    assert_eq!(shares(&[0.335, 0.335, 0.33]), "34 %, 34 %, 32 %");
    assert_eq!(shares(&[0.96, 0.0396]), "96 %, 4.0 %");
    assert_eq!(shares(&[0.955, 0.0449]), "96 %, 4.0 %");
    assert_eq!(shares(&[1.0, 0.3]), "100 %, 0 %");
}

#[test]
fn a_change_of_the_code_stands_for_its_function() {
    let cause = Cause {
        clause: "src/table.js:12-14 in generateElement, which caused new calls of sleep".to_owned(),
        place: Some("src/table.js:12-14 in generateElement".to_owned()),
    };
    let mut diff = answer(Verdict::Regressed, [931.0, 1174.0], [200.0, 290.0]);
    diff.suspects =
        vec![suspect(SuspectKind::New, "main generateElement sleep", [0.0, 243.0], 1.0)];
    let said = |diff: &Diff| Headline::with_cause(diff, Words::of(diff, true), &cause).text();
    expect!["931 ms → 1.17 s (+26 %): src/table.js:12-14 in generateElement, which caused new calls of sleep"].assert_eq(&said(&diff));
    let mut same = answer(Verdict::Regressed, [931.0, 878.0], [-160.0, 54.0]);
    same.suspects = diff.suspects;
    expect!["About the same overall (931 ms → 878 ms), but sleep under generateElement is new and costs 243 ms (src/table.js:12-14 in generateElement); 296 ms were saved elsewhere"].assert_eq(&said(&same));
}
