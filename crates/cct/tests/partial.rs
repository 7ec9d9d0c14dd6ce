//! Partial stacks find their place: maximal common merging.

use expect_test::{Expect, expect};
use perfblame_cct::{
    Frame, FrameId, Function, Grain, Metric, MetricId, PartialReport, Profile, ProfileBuilder,
    Times, Unit, dump, merge, merge_partial_stacks,
};
use perfblame_fixtures::{DrawnSample, any_samples, draw};
use proptest::prelude::*;
use std::fmt::Write as _;

/// Whole and partial stacks, a letter per function; lines are known when a digit follows.
fn profile(whole: &[&str], partial: &[&str], grain: Grain) -> Profile {
    let mut builder = ProfileBuilder::new(grain, Times::Drop);
    let metric = builder.metric(Metric::sampled("samples", Unit::Count));
    for (stacks, is_partial) in [(whole, false), (partial, true)] {
        for stack in stacks {
            let stack = frames(&mut builder, stack);
            if is_partial {
                let at = builder.partial_stack(&stack);
                builder.add(at, None, metric, 1);
                builder.count_samples(1);
            } else {
                builder.sample(&stack, None, metric, 1);
            }
        }
    }
    builder.finish()
}

fn frames(builder: &mut ProfileBuilder, stack: &str) -> Vec<FrameId> {
    let mut frames: Vec<Frame> = Vec::new();
    for letter in stack.chars() {
        if let (Some(line), Some(frame)) = (letter.to_digit(10), frames.last_mut()) {
            *frame = frame.at_line(line.into());
            continue;
        }
        let name = builder.string(&letter.to_string());
        frames.push(Frame::of(builder.function(Function::named(name))));
    }
    frames.into_iter().map(|frame| builder.frame(frame)).collect()
}

fn outcome(report: &PartialReport) -> String {
    let mut out = String::new();
    for (word, stacks) in
        [("merged", &report.merged), ("waiting", &report.waiting), ("ambiguous", &report.ambiguous)]
    {
        let _ = write!(out, "{word} {} {:?} ", stacks.stacks, stacks.values);
    }
    out
}

fn check_partial(whole: &[&str], partial: &[&str], match_threshold: usize, expected: &Expect) {
    let before = profile(whole, partial, Grain::Functions);
    let (after, report) = merge_partial_stacks(&before, match_threshold);
    let mut out = format!("{}\n{}", outcome(&report).trim_end(), draw(&after));
    for warning in &after.warnings {
        let _ = writeln!(out, "{} x{}", warning.code, warning.count);
    }
    expected.assert_eq(&out);
}

/// `[insitu]`, figure 3.5: d e f can only be below a b c.
#[test]
fn figure_3_5() {
    check_partial(
        &["abcde", "acd"],
        &["def"],
        0,
        &expect![[r"
            merged 1 [1] waiting 0 [0] ambiguous 0 [0]
            a 3 0
              b 2 0
                c 2 0
                  d 2 0
                    e 2 1
                      f 1 1
              c 1 0
                d 1 1
        "]],
    );
}

/// The text below figure 3.5: c d fits both places.
#[test]
fn a_stack_that_fits_two_places_is_ambiguous() {
    check_partial(
        &["abcde", "acd"],
        &["cd"],
        0,
        &expect![[r"
            merged 0 [0] waiting 0 [0] ambiguous 1 [1]
            (truncated) 1 0
              c 1 0
                d 1 1
            a 2 0
              b 1 0
                c 1 0
                  d 1 0
                    e 1 1
              c 1 0
                d 1 1
            partial-stacks-ambiguous x1
        "]],
    );
}

#[test]
fn a_stack_that_fits_nowhere_waits() {
    check_partial(
        &["ab"],
        &["xy", "by"],
        0,
        &expect![[r"
            merged 1 [1] waiting 1 [1] ambiguous 0 [0]
            (truncated) 1 0
              x 1 0
                y 1 1
            a 2 0
              b 2 1
                y 1 1
            partial-stacks-waiting x1
        "]],
    );
}

/// One matching frame is not more than a threshold of 1, two are.
#[test]
fn the_threshold_asks_for_more_frames() {
    check_partial(
        &["abc"],
        &["cx", "bcd", "b"],
        1,
        &expect![[r"
            merged 1 [1] waiting 1 [1] ambiguous 1 [1]
            (truncated) 2 0
              b 1 1
              c 1 0
                x 1 1
            a 2 0
              b 2 0
                c 2 1
                  d 1 1
            partial-stacks-waiting x1
            partial-stacks-ambiguous x1
        "]],
    );
}

/// x y has no place until b x was merged, and y z none until x y was.
#[test]
fn what_is_merged_makes_room_for_others() {
    check_partial(
        &["ab"],
        &["yz", "xy", "bx"],
        0,
        &expect![[r"
            merged 3 [3] waiting 0 [0] ambiguous 0 [0]
            a 4 0
              b 4 1
                x 3 1
                  y 2 1
                    z 1 1
        "]],
    );
}

#[test]
fn waiting_stacks_are_tried_again_after_a_merge() {
    let (waiting, report) = merge_partial_stacks(&profile(&["ab"], &["xy"], Grain::Functions), 0);
    assert_eq!(report.waiting.stacks, 1);
    let more = merge(&waiting, &profile(&["abx"], &[], Grain::Functions));
    let (after, report) = merge_partial_stacks(&more, 0);
    assert_eq!(outcome(&report).trim_end(), "merged 1 [1] waiting 0 [0] ambiguous 0 [0]");
    assert_eq!(draw(&after), "a 3 0\n  b 3 1\n    x 2 1\n      y 1 1\n");
    assert_eq!(after.warnings, [], "the warning is gone with its reason");
}

/// From where the first frame was called is unknown; from where it calls is not.
#[test]
fn call_sites_below_the_first_frame_must_match() {
    let before = profile(&["a1bc", "a2b5d"], &["b5d1e", "b6d1e"], Grain::CallSites);
    let (after, report) = merge_partial_stacks(&before, 0);
    assert_eq!(outcome(&report).trim_end(), "merged 1 [1] waiting 1 [1] ambiguous 0 [0]");
    assert_eq!(after.cells.total(MetricId::new(0)), 4);
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_left_undone(
        whole in any_samples(), partial in any_samples(), threshold in 0usize..3,
        grain in prop::sample::select(vec![Grain::Functions, Grain::CallSites, Grain::Frames]),
    ) {
        let text = |samples: &[DrawnSample]| -> Vec<String> {
            let frame = |(name, line): &(u8, u8)| {
                let line = if *line > 0 { line.to_string() } else { String::new() };
                format!("{}{line}", char::from(b'a' + name))
            };
            samples.iter().map(|sample| sample.stack.iter().map(frame).collect()).collect()
        };
        let (whole, partial) = (text(&whole), text(&partial));
        let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
        let partial: Vec<&str> = partial.iter().map(String::as_str).collect();
        let before = profile(&whole, &partial, grain);
        let (after, report) = merge_partial_stacks(&before, threshold);
        let metric = MetricId::new(0);
        prop_assert_eq!(before.cells.total(metric), after.cells.total(metric));
        let sum: i64 = [&report.merged, &report.waiting, &report.ambiguous]
            .iter().map(|stacks| stacks.values.first().copied().unwrap_or(0)).sum();
        prop_assert_eq!(sum, partial.len() as i64);
        // The order of samples does not matter.
        let mut reversed = partial.clone();
        reversed.reverse();
        let (other, _) = merge_partial_stacks(&profile(&whole, &reversed, grain), threshold);
        prop_assert_eq!(dump(&after), dump(&other));
        // A second call finds nothing that the first could have merged.
        let (again, second) = merge_partial_stacks(&after, threshold);
        prop_assert_eq!(second.merged.stacks, 0);
        prop_assert_eq!(dump(&again), dump(&after));
    }
}
