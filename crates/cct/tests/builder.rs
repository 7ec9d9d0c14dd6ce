//! Building: two doors to one tree.

use expect_test::expect;
use perfblame_cct::{
    Frame, FrameId, Function, Grain, Layer, Metric, MetricId, Profile, ProfileBuilder, TRUNCATED,
    Thread, ThreadId, TimedCall, TimedSample, Times, Unit, dump,
};
use perfblame_fixtures::{DrawnSample, any_samples, draw, profile_of};
use proptest::prelude::*;

fn frame(builder: &mut ProfileBuilder, (name, line): (u8, u8)) -> FrameId {
    let name = builder.string(&char::from(b'a' + name).to_string());
    let function = builder.function(Function::named(name));
    builder.frame(Frame::of(function).at_line(line.into()))
}

fn on_thread(builder: &mut ProfileBuilder, number: u8) -> ThreadId {
    let name = builder.string(&format!("worker-{number}"));
    builder.thread(Thread { tid: Some(number.into()), ..Thread::named(name) })
}

/// Each sample becomes the time its stack runs: what the stack before had and this has not returns, the rest is called.
fn by_calls(samples: &[DrawnSample], grain: Grain) -> Profile {
    let mut builder = ProfileBuilder::new(grain, Times::Drop);
    let thread = Some(on_thread(&mut builder, 1));
    let wall = builder.metric(Metric::exact("wall", Unit::Nanoseconds));
    let calls = builder.metric(Metric::exact("calls", Unit::Count));
    builder.exact_metrics(wall, calls);
    let mut running: Vec<FrameId> = Vec::new();
    let mut now = 0;
    for sample in samples {
        let stack: Vec<_> = sample.stack.iter().map(|at| frame(&mut builder, *at)).collect();
        let shared = running.iter().zip(&stack).take_while(|(a, b)| a == b).count();
        for _ in shared..running.len() {
            builder.leave(thread, now);
        }
        for frame in &stack[shared..] {
            builder.enter(thread, *frame, now);
        }
        running = stack;
        now += sample.value;
    }
    while builder.leave(thread, now).is_some() {}
    builder.finish()
}

fn by_samples(samples: &[DrawnSample], grain: Grain) -> Profile {
    let mut builder = ProfileBuilder::new(grain, Times::Drop);
    let thread = Some(on_thread(&mut builder, 1));
    let wall = builder.metric(Metric::exact("wall", Unit::Nanoseconds));
    for sample in samples {
        let stack: Vec<_> = sample.stack.iter().map(|at| frame(&mut builder, *at)).collect();
        if let Some(at) = builder.stack(&stack) {
            builder.add(at, thread, wall, sample.value);
        }
    }
    builder.finish()
}

/// The first metric alone, so that profiles with and without calls compare.
fn times_of(profile: &Profile) -> Profile {
    let mut only = profile.clone();
    only.metrics.retain(|metric| metric.name == "wall");
    let keys: Vec<_> = profile.cells.rows().map(|cell| (cell.node, cell.thread)).collect();
    let values: Vec<_> = profile.cells.rows().map(|cell| cell.values[0]).collect();
    only.cells = perfblame_cct::Cells::from_columns(&keys, &[values]);
    only
}

#[test]
fn nested_calls_give_self_times_and_counts() {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Keep);
    let [main, parse, alloc] =
        ["main", "parse", "alloc"].map(|name| builder.named_frame(name, Layer::Application));
    builder.enter(None, main, 0);
    builder.enter(None, parse, 10);
    builder.enter(None, alloc, 20);
    builder.leave(None, 25);
    builder.leave(None, 30);
    builder.enter(None, parse, 40);
    builder.leave(None, 45);
    assert_eq!((builder.open_calls(None), builder.innermost(None)), (1, Some(main)));
    builder.leave(None, 50);
    assert_eq!(builder.leave(None, 60), None, "nothing is open");
    let profile = builder.finish();
    expect![[r"
        main 50 25
          parse 25 20
            alloc 5 5
    "]]
    .assert_eq(&draw(&profile));
    let calls = profile.metric("calls").unwrap();
    assert_eq!(profile.self_values(calls), [1, 2, 1]);
    let times = profile.timeline.unwrap();
    let calls: Vec<_> =
        times.calls.iter().map(|TimedCall { start, end, .. }| (*start, *end)).collect();
    assert_eq!(calls, [(0, 50), (10, 30), (20, 25), (40, 45)]);
}

#[test]
fn times_that_run_backwards_cost_nothing() {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
    let main = builder.named_frame("main", Layer::Application);
    builder.enter(None, main, 100);
    builder.leave(None, 50);
    builder.enter(None, main, i64::MIN);
    builder.leave(None, i64::MAX);
    let profile = builder.finish();
    assert_eq!(profile.self_values(MetricId::new(0)), [i64::MAX]);
}

#[test]
fn samples_keep_their_times_when_asked() {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Keep);
    let metric = builder.metric(Metric::sampled("samples", Unit::Count));
    let main = builder.named_frame("main", Layer::Application);
    let at = builder.root(main);
    for time in [7, 3] {
        builder.add(at, None, metric, 1);
        builder.time_sample(time, at, None, metric, 1);
    }
    let times = builder.finish().timeline.unwrap();
    let times: Vec<_> = times.samples.iter().map(|TimedSample { time, .. }| *time).collect();
    assert_eq!(times, [3, 7]);
}

#[test]
fn partial_stacks_stand_apart() {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
    let metric = builder.metric(Metric::sampled("samples", Unit::Count));
    let parse = builder.named_frame("parse", Layer::Application);
    let at = builder.partial_stack(&[parse]);
    builder.add(at, None, metric, 1);
    builder.sample(&[parse], None, metric, 1);
    builder.sample(&[], None, metric, 1);
    let profile = builder.finish();
    assert_eq!(draw(&profile), format!("{TRUNCATED} 1 0\n  parse 1 1\nparse 1 1\n"));
    assert_eq!(profile.samples, 1, "an empty stack is no sample");
}

#[test]
fn warnings_are_counted_once() {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
    builder.warn("odd", || "first".to_owned());
    builder.warn_many("odd", 2, || "second".to_owned());
    let warnings = builder.finish().warnings;
    assert_eq!((warnings.len(), &*warnings[0].message, warnings[0].count), (1, "first", 3));
}

#[test]
fn a_metric_that_comes_late_is_zero_before() {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
    let first = builder.metric(Metric::sampled("samples", Unit::Count));
    let main = builder.named_frame("main", Layer::Application);
    let at = builder.root(main);
    builder.add(at, None, first, 1);
    let second = builder.metric(Metric::sampled("bytes", Unit::Bytes));
    let late = on_thread(&mut builder, 1);
    builder.add(at, Some(late), second, 8);
    let profile = builder.finish();
    let rows: Vec<_> = profile.cells.rows().map(|cell| (cell.thread, cell.values)).collect();
    assert_eq!(rows, [(None, vec![1, 0]), (Some(late), vec![0, 8])]);
}

#[test]
fn exact_frames_are_kept_only_where_they_label_nodes() {
    let stack = vec![(0, 1), (1, 2)];
    let samples = [DrawnSample { stack, thread: 0, value: 1 }];
    for (grain, frames) in [(Grain::Functions, 2), (Grain::CallSites, 2), (Grain::Frames, 2)] {
        assert_eq!(profile_of(&samples, grain).symbols.frames().len(), frames, "{grain:?}");
    }
}

proptest! {
    #[test]
    fn both_doors_lead_to_the_same_tree(samples in any_samples()) {
        for grain in [Grain::Functions, Grain::CallSites, Grain::Frames] {
            let calls = times_of(&by_calls(&samples, grain));
            prop_assert_eq!(dump(&calls), dump(&by_samples(&samples, grain)));
        }
    }

    #[test]
    fn stacks_and_steps_lead_to_the_same_node(samples in any_samples()) {
        for grain in [Grain::Functions, Grain::CallSites, Grain::Frames] {
            let mut builder = ProfileBuilder::new(grain, Times::Drop);
            for sample in &samples {
                let stack: Vec<_> = sample.stack.iter().map(|at| frame(&mut builder, *at)).collect();
                let at = builder.stack(&stack).unwrap();
                let mut steps = builder.root(stack[0]);
                for frame in &stack[1..] {
                    steps = builder.child(steps, *frame);
                }
                prop_assert_eq!(at, steps);
            }
        }
    }

    #[test]
    fn rows_are_in_preorder(samples in any_samples()) {
        let profile = profile_of(&samples, Grain::Frames);
        let tree = &profile.tree;
        let mut rows = 0;
        for root in tree.roots() {
            prop_assert_eq!(tree.subtree(root).start, rows);
            rows = tree.subtree(root).end;
        }
        prop_assert_eq!(rows, tree.len());
        for node in tree.nodes() {
            let below = tree.subtree(node);
            let mut next = below.start + 1;
            for child in tree.children(node) {
                prop_assert_eq!(child.index(), next);
                prop_assert_eq!(tree.parent(child), Some(node));
                next = tree.subtree(child).end;
            }
            prop_assert_eq!(next, below.end);
            let labels: std::collections::BTreeSet<_> = tree.children(node).map(|child| tree.frame(child)).collect();
            prop_assert_eq!(labels.len(), tree.children(node).count());
            prop_assert_eq!(tree.depths()[node.index()] as usize + 1, tree.path(node).len());
        }
    }

    #[test]
    fn every_sample_counts_where_its_stack_ends(samples in any_samples()) {
        let profile = profile_of(&samples, Grain::Functions);
        let metric = MetricId::new(0);
        prop_assert_eq!(profile.samples, samples.len() as u64);
        for node in profile.tree.nodes() {
            let path: String = profile.tree.path(node).iter().map(|node| profile.name_of(*node)).collect();
            let ends_here = |sample: &&DrawnSample| {
                sample.stack.iter().map(|(name, _)| char::from(b'a' + name)).eq(path.chars())
            };
            let expected: i64 = samples.iter().filter(ends_here).map(|sample| sample.value).sum();
            prop_assert_eq!(profile.self_values(metric)[node.index()], expected);
        }
    }
}
