//! Runs added one by one: the set is the one that all of them make at once.

use expect_test::expect;
use perfblame_cct::{
    Grain, Info, Metric, MetricId, NodeId, Profile, RunSet, RunSetBuilder, StringId, ThreadId,
    TimedCall, TimedSample, Timeline, Unit, Warning, dump, merge_runs,
};
use perfblame_fixtures::{DrawnSample, any_samples, draw, profile, profile_of};
use proptest::prelude::*;

/// Adds profiles one by one; the set is finished and taken up again before each of `looks`.
fn one_by_one(profiles: Vec<Profile>, looks: &[usize]) -> RunSet {
    let mut builder = RunSetBuilder::default();
    for (number, profile) in profiles.into_iter().enumerate() {
        if looks.contains(&number) {
            builder = builder.finish().into();
        }
        assert_eq!(builder.len(), number);
        builder.add(profile);
    }
    builder.finish()
}

/// All that a set holds, ids included.
fn told(set: &RunSet) -> String {
    let texts: Vec<_> =
        (0..set.symbols.strings.len()).map(|row| set.symbols.text(StringId::new(row))).collect();
    let functions: Vec<_> = set.symbols.functions().collect();
    let frames: Vec<_> = set.symbols.frames().collect();
    let rows: Vec<_> =
        set.tree.nodes().map(|node| (set.tree.parent(node), set.tree.frame(node))).collect();
    format!(
        "{texts:#?}\n{functions:#?}\n{frames:#?}\n{:?} {rows:?}\n{:#?}\n{:#?}\n{:#?}",
        set.tree.grain(),
        set.threads,
        set.metrics,
        set.runs
    )
}

/// All that a set holds but the order of siblings.
fn dumped(set: &RunSet) -> Vec<String> {
    (0..set.runs.len()).filter_map(|run| set.profile(run)).map(|run| dump(&run)).collect()
}

#[test]
fn a_run_that_calls_something_new_moves_what_stands_behind_it() {
    let mut builder = RunSetBuilder::default();
    builder.add(profile(
        "main  main
         parse draw",
    ));
    builder.add(profile(
        "main
         draw",
    ));
    let two = builder.finish();
    let mut builder = RunSetBuilder::from(two);
    builder.add(profile(
        "main  main
         parse draw
         alloc .",
    ));
    let set = builder.finish();
    let names: Vec<_> = set.tree.nodes().map(|node| name(&set, node)).collect();
    assert_eq!(names, ["main", "parse", "alloc", "draw"]);
    expect![[r"
        main 2 0
          draw 1 1
          parse 1 1
            alloc 0 0
    "]]
    .assert_eq(&draw(&set.profile(0).unwrap()));
    expect![[r"
        main 2 0
          draw 1 1
          parse 1 0
            alloc 1 1
    "]]
    .assert_eq(&draw(&set.profile(2).unwrap()));
}

fn name(set: &RunSet, node: NodeId) -> &str {
    set.symbols.name(set.symbols.frame(set.tree.frame(node)).function)
}

#[test]
fn no_runs_are_an_empty_set_and_one_run_keeps_its_own_ids() {
    assert!(RunSetBuilder::default().is_empty());
    assert_eq!(told(&RunSetBuilder::default().finish()), told(&RunSet::default()));
    assert!(RunSetBuilder::from(RunSet::default()).is_empty());
    let run = profile(
        "main  main
         parse draw",
    );
    let set = one_by_one(vec![run.clone()], &[]);
    assert_eq!(told(&set), told(&merge_runs(vec![run])));
}

#[test]
fn values_with_more_decimals_and_other_metrics_can_come_late() {
    let with = |name: &str, unit: Unit, decimals: u8| {
        let mut profile = profile("main");
        profile.metrics = vec![Metric { decimals, ..Metric::sampled(name, unit).with_period(7) }];
        profile
    };
    let runs = vec![
        with("cpu", Unit::Nanoseconds, 0),
        with("cpu", Unit::Other("ms".to_owned()), 0),
        with("cpu", Unit::Nanoseconds, 1),
        with("allocated", Unit::Bytes, 0),
    ];
    for looks in [&[][..], &[2], &[2, 3], &[1, 2, 3]] {
        let set = one_by_one(runs.clone(), looks);
        let values: Vec<_> = set.runs.iter().map(|run| run.cells.total(MetricId::new(0))).collect();
        assert_eq!(values, [10, 10_000_000, 1, 0], "{looks:?}");
        let periods: Vec<_> = set.runs.iter().map(|run| run.periods.clone()).collect();
        assert_eq!(periods[1], [Some(7_000_000), None], "{looks:?}");
        assert_eq!(periods[3], [None, Some(7)], "{looks:?}");
    }
}

const GRAINS: [Grain; 3] = [Grain::Functions, Grain::CallSites, Grain::Frames];

/// What differs between runs besides their samples.
#[derive(Clone, Debug)]
struct Made {
    samples: Vec<DrawnSample>,
    unit: usize,
    decimals: u8,
    period: Option<i64>,
    same_names: bool,
    times: bool,
    warnings: u64,
    other_metric: bool,
}

fn any_run() -> impl Strategy<Value = Made> {
    let metric = (0usize..4, 0u8..3, prop::option::of(1i64..3));
    let flags = (any::<bool>(), any::<bool>(), 0u64..3, any::<bool>());
    (any_samples(), metric, flags).prop_map(
        |(samples, (unit, decimals, period), (same_names, times, warnings, other_metric))| Made {
            samples,
            unit,
            decimals,
            period,
            same_names,
            times,
            warnings,
            other_metric,
        },
    )
}

fn made(run: &Made, grain: Grain) -> Profile {
    let units =
        [Unit::Nanoseconds, Unit::Other("ms".to_owned()), Unit::Bytes, Unit::Other("x".to_owned())];
    let mut profile = profile_of(&run.samples, grain);
    let name = if run.other_metric { "other" } else { "cost" };
    profile.metrics = vec![Metric {
        period: run.period,
        decimals: run.decimals,
        ..Metric::sampled(name, units[run.unit].clone())
    }];
    if run.same_names {
        let name = profile.symbols.string("pool");
        profile.threads.iter_mut().for_each(|thread| thread.name = name);
    }
    if run.times {
        let cells = profile.cells.rows();
        let samples = cells.enumerate().map(|(time, cell)| TimedSample {
            time: time as i64 / 2,
            thread: cell.thread,
            node: cell.node,
            metric: MetricId::new(0),
            value: cell.values[0],
        });
        let calls = profile.tree.nodes().map(|node| TimedCall {
            start: 0,
            end: 5,
            thread: (!profile.threads.is_empty()).then(|| ThreadId::new(0)),
            node,
        });
        let mut times = Timeline { samples: samples.collect(), calls: calls.collect() };
        times.sort();
        profile.timeline = Some(times);
    }
    let warning = Warning { code: "cut".to_owned(), message: String::new(), count: run.warnings };
    profile.warnings = (0..run.warnings).map(|_| warning.clone()).collect();
    profile.info = Info { labels: vec![("run".to_owned(), name.to_owned())], ..Info::default() };
    profile
}

proptest! {
    #[test]
    fn runs_one_by_one_are_the_runs_at_once(
        runs in prop::collection::vec(any_run(), 0..6),
        grain in prop::sample::select(GRAINS.to_vec()),
        looks in prop::collection::vec(0usize..6, 0..4),
    ) {
        let profiles: Vec<_> = runs.iter().map(|run| made(run, grain)).collect();
        prop_assert_eq!(told(&one_by_one(profiles.clone(), &looks)), told(&merge_runs(profiles)));
    }

    #[test]
    fn a_coarser_run_can_come_late(
        runs in prop::collection::vec((any_run(), prop::sample::select(GRAINS.to_vec())), 0..6),
        looks in prop::collection::vec(0usize..6, 0..4),
    ) {
        let profiles: Vec<_> = runs.iter().map(|(run, grain)| made(run, *grain)).collect();
        let at_once = merge_runs(profiles.clone());
        let unlooked = one_by_one(profiles.clone(), &[]);
        prop_assert_eq!(dumped(&unlooked), dumped(&at_once));
        // The ids of texts can differ here; the rows cannot.
        let rows = |set: &RunSet| -> Vec<_> {
            let row = |node| (name(set, node).to_owned(), set.tree.parent(node));
            set.tree.nodes().map(row).collect()
        };
        prop_assert_eq!(rows(&unlooked), rows(&at_once));
        prop_assert_eq!(dumped(&one_by_one(profiles, &looks)), dumped(&at_once));
    }
}
