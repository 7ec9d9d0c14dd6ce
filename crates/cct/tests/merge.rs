//! Profiles added up and put beside each other.

use expect_test::expect;
use perfblame_cct::{
    Grain, Info, Metric, MetricId, Profile, Thread, Unit, coarsen, dump, merge, merge_runs,
};
use perfblame_fixtures::{DrawnSample, any_samples, draw, profile, profile_of};
use proptest::prelude::*;

#[test]
fn merging_adds_up_equal_contexts() {
    let before = profile(
        "main  main
         parse draw",
    );
    let after = profile(
        "main  main  other
         parse parse .
         .     alloc .",
    );
    expect![[r"
        main 4 0
          draw 1 1
          parse 3 2
            alloc 1 1
        other 1 1
    "]]
    .assert_eq(&draw(&merge(&before, &after)));
}

#[test]
fn runs_keep_their_values() {
    let set = merge_runs(vec![
        profile(
            "main  main
             parse draw",
        ),
        profile(
            "main
             parse",
        ),
    ]);
    let metric = set.metric("samples").unwrap();
    let parse = set.tree.nodes().find(|node| {
        set.symbols.name(set.symbols.frame(set.tree.frame(*node)).function) == "parse"
    });
    let of_parse =
        |run: usize| set.runs[run].cells.dense(metric, set.tree.len())[parse.unwrap().index()];
    assert_eq!((of_parse(0), of_parse(1)), (1, 1));
    assert_eq!((set.runs[0].cells.total(metric), set.runs[1].cells.total(metric)), (2, 1));
    assert_eq!((set.runs[0].samples, set.runs[1].samples), (2, 1));
    expect![[r"
        main 3 0
          draw 1 1
          parse 2 2
    "]]
    .assert_eq(&draw(&set.sum()));
}

/// One sample on one thread in each of two runs.
fn on_thread(name: &str, tid: u64) -> Profile {
    let mut profile =
        profile_of(&[DrawnSample { stack: vec![(0, 0)], thread: 1, value: 1 }], Grain::Functions);
    let name = profile.symbols.string(name);
    profile.threads = vec![Thread { tid: Some(tid), ..Thread::named(name) }];
    profile
}

#[test]
fn the_thread_of_one_name_is_one_thread_in_all_runs() {
    let set = merge_runs(vec![on_thread("main", 10), on_thread("main", 20), on_thread("io", 10)]);
    let names: Vec<_> = set.threads.iter().map(|thread| set.symbols.text(thread.name)).collect();
    assert_eq!(names, ["main", "io"]);
    assert_eq!((set.threads[0].tid, set.threads[1].tid), (None, Some(10)));
    let merged = merge(&on_thread("main", 10), &on_thread("main", 20));
    assert_eq!(merged.threads.len(), 2, "adding up loses no thread");
}

#[test]
fn units_are_converted_and_periods_kept_per_run() {
    let with = |unit: Unit, period: i64, decimals: u8| {
        let mut profile = profile("main");
        let metric = Metric { decimals, ..Metric::sampled("cpu", unit).with_period(period) };
        profile.metrics = vec![metric];
        profile
    };
    let set = merge_runs(vec![
        with(Unit::Nanoseconds, 10, 0),
        with(Unit::Other("ms".to_owned()), 20, 0),
        with(Unit::Bytes, 1, 0),
        with(Unit::Nanoseconds, 10, 1),
    ]);
    let metrics: Vec<_> = set
        .metrics
        .iter()
        .map(|metric| (&*metric.name, metric.unit.name(), metric.period))
        .collect();
    assert_eq!(metrics, [("cpu", "ns", None), ("cpu", "bytes", Some(1))]);
    let first = MetricId::new(0);
    // Values carry one decimal now, as the last run's do.
    let values: Vec<_> = set.runs.iter().map(|run| run.cells.total(first)).collect();
    assert_eq!(values, [10, 10_000_000, 0, 1]);
    let periods: Vec<_> = set.runs.iter().map(|run| run.periods[0]).collect();
    assert_eq!(periods, [Some(10), Some(20_000_000), None, Some(10)]);
}

#[test]
fn what_files_say_about_themselves_is_merged_too() {
    let with = |format: &str, duration: Option<i64>, label: &str| {
        let mut profile = profile("main");
        profile.info = Info {
            format: format.to_owned(),
            duration,
            labels: vec![("host".to_owned(), label.to_owned())],
            ..Info::default()
        };
        profile
    };
    let merged = merge(&with("pprof", Some(5), "b"), &with("folded", Some(7), "a"));
    assert_eq!(merged.info.format, "folded + pprof");
    assert_eq!(merged.info.duration, Some(12));
    assert_eq!(merged.info.labels.len(), 2);
    let again = merge(&merged, &with("pprof", None, "a"));
    assert_eq!((again.info.format, again.info.duration), ("folded + pprof".to_owned(), Some(12)));
}

proptest! {
    #[test]
    fn merge_is_associative_and_commutative(
        a in any_samples(), b in any_samples(), c in any_samples(),
        grains in prop::array::uniform3(prop::sample::select(vec![Grain::Functions, Grain::CallSites, Grain::Frames])),
    ) {
        let [a, b, c] = [(a, grains[0]), (b, grains[1]), (c, grains[2])].map(|(s, grain)| profile_of(&s, grain));
        prop_assert_eq!(dump(&merge(&a, &b)), dump(&merge(&b, &a)));
        prop_assert_eq!(dump(&merge(&merge(&a, &b), &c)), dump(&merge(&a, &merge(&b, &c))));
        let metric = MetricId::new(0);
        let total = |profile: &Profile| profile.cells.total(metric);
        prop_assert_eq!(total(&merge(&a, &b)), total(&a) + total(&b));
    }

    #[test]
    fn merged_profiles_are_the_profile_of_all_samples(a in any_samples(), b in any_samples()) {
        for grain in [Grain::Functions, Grain::CallSites, Grain::Frames] {
            let merged = merge(&profile_of(&a, grain), &profile_of(&b, grain));
            let together = [a.clone(), b.clone()].concat();
            prop_assert_eq!(dump(&merged), dump(&profile_of(&together, grain)));
        }
    }

    #[test]
    fn runs_add_up_to_their_sum(a in any_samples(), b in any_samples()) {
        let profiles = [&a, &b].map(|samples| profile_of(samples, Grain::Functions));
        let set = merge_runs(profiles.to_vec());
        // Thread ids are equal in both runs here, so the two ways of merging threads agree where names do.
        prop_assert_eq!(dump(&set.sum()), dump(&merge(&profiles[0], &profiles[1])));
        for (run, profile) in profiles.iter().enumerate() {
            let metric = MetricId::new(0);
            let kept = set.profile(run).unwrap();
            prop_assert_eq!(kept.cells.total(metric), profile.cells.total(metric));
            prop_assert_eq!(kept.samples, profile.samples);
        }
    }

    #[test]
    fn coarser_grains_are_what_reading_at_them_gives(samples in any_samples()) {
        let frames = profile_of(&samples, Grain::Frames);
        for grain in [Grain::CallSites, Grain::Functions] {
            prop_assert_eq!(dump(&coarsen(&frames, grain)), dump(&profile_of(&samples, grain)));
        }
        let sites = coarsen(&frames, Grain::CallSites);
        prop_assert_eq!(dump(&coarsen(&sites, Grain::Functions)), dump(&coarsen(&frames, Grain::Functions)));
    }
}
