//! The metrics of `[insitu]`, section 3.3, on a tree computed by hand.

use expect_test::{Expect, expect};
use perfblame_cct::{
    Grain, MetricId, Profile, Scope, TaskDefinition, callees, callers, function_totals,
    method_metrics, tasks,
};
use perfblame_fixtures::{DrawnSample, any_samples, profile_of};
use proptest::prelude::*;
use std::fmt::Write as _;

/// Each line: functions, thread, samples.
fn threaded(lines: &[(&str, u8, i64)]) -> Profile {
    let samples: Vec<_> = (lines.iter())
        .map(|(stack, thread, value)| DrawnSample {
            stack: stack.bytes().map(|name| (name - b'a', 0)).collect(),
            thread: *thread,
            value: *value,
        })
        .collect();
    profile_of(&samples, Grain::Functions)
}

/// The tree of the tests: `a` starts everything, `c` calls itself, `b` and `c` call each other.
///
/// ```text
/// a              10 self of 100
///   b            20 self of 70, worker-1
///     c           5 self of 50, worker-1
///       c        15 self of 15, worker-2
///       b        30 self of 30, worker-1
///   c            20 self of 20, worker-2
/// ```
fn by_hand() -> Profile {
    threaded(&[
        ("a", 1, 10),
        ("ab", 1, 20),
        ("abc", 1, 5),
        ("abcc", 2, 15),
        ("abcb", 1, 30),
        ("ac", 2, 20),
    ])
}

fn check_metrics(profile: &Profile, scope: &Scope, expected: &Expect) {
    let metrics = method_metrics(profile, MetricId::new(0), scope);
    let percent =
        |share: Option<f64>| share.map_or("-".to_owned(), |s| format!("{:.1}%", s * 100.0));
    let mut out = String::new();
    for method in metrics.methods() {
        let name = |id| profile.symbols.name(id);
        let _ = write!(
            out,
            "{}: {} samples, method {} self {}",
            name(method),
            metrics.method_samples(method),
            percent(metrics.method_time(method)),
            percent(metrics.self_time(method)),
        );
        for (callee, time) in metrics.callee_times(method) {
            let _ = write!(out, ", calls {} {}", name(callee), percent(time));
        }
        for (caller, time) in metrics.caller_times(method) {
            let _ = write!(out, ", called by {} {}", name(caller), percent(time));
        }
        for (thread, time) in metrics.thread_times(method) {
            let thread =
                thread.map_or("-", |id| profile.symbols.text(profile.threads[id.index()].name));
            let _ = write!(out, ", on {thread} {}", percent(time));
        }
        out.push('\n');
    }
    expected.assert_eq(&out);
}

/// By hand: method samples (3.5) are a 100, b 70 (the inner `b` is below it), c 50 + 20 (the inner `c` is below one).
/// Self samples are a 10, b 20 + 30, c 5 + 15 + 20. Calls (3.11): a→b 70, a→c 20, b→c 50, c→c 15, c→b 30.
/// On worker-2 ran 15 + 20 samples, all of them below `a` and in `c`; 15 of them below `b`.
#[test]
fn the_whole_tree() {
    check_metrics(
        &by_hand(),
        &Scope::Whole,
        &expect![[r"
            a: 100 samples, method 100.0% self 10.0%, calls b 70.0%, calls c 20.0%, on worker-1 65.0%, on worker-2 35.0%
            b: 70 samples, method 70.0% self 71.4%, calls c 71.4%, called by a 100.0%, called by c 42.9%, on worker-1 78.6%, on worker-2 21.4%
            c: 70 samples, method 70.0% self 57.1%, calls b 42.9%, calls c 21.4%, called by b 71.4%, called by a 28.6%, called by c 21.4%, on worker-1 50.0%, on worker-2 50.0%
        "]],
    );
}

/// The task of `c`: its roots (3.24) are the outermost `c` nodes, 50 and 20 samples. `b` in it is the inner one alone.
#[test]
fn the_nodes_of_a_task() {
    let profile = by_hand();
    let task = TaskDefinition::prefix("C", "c", "task-c");
    let scope = tasks(&profile, &[task]).scope(&["task-c"]);
    let roots: Vec<_> =
        scope.roots(&profile).iter().map(|root| profile.tree.path(*root).len()).collect();
    assert_eq!(roots, [3, 2]);
    check_metrics(
        &profile,
        &scope,
        &expect![[r"
            b: 30 samples, method 42.9% self 100.0%, called by c 100.0%, on worker-1 100.0%
            c: 70 samples, method 100.0% self 57.1%, calls b 42.9%, calls c 21.4%, called by c 21.4%, on worker-1 50.0%, on worker-2 50.0%
        "]],
    );
}

/// p m q m p m: equation 3.4 taken by the letter counts the calls of m by p twice, 200 % of the method's time.
#[test]
fn calls_below_calls_count_once() {
    check_metrics(
        &threaded(&[("pmqmpm", 0, 1)]),
        &Scope::Whole,
        &expect![[r"
            p: 1 samples, method 100.0% self 0.0%, calls m 100.0%, called by m 100.0%, on - 100.0%
            m: 1 samples, method 100.0% self 100.0%, calls p 100.0%, calls q 100.0%, called by p 100.0%, called by q 100.0%, on - 100.0%
            q: 1 samples, method 100.0% self 0.0%, calls m 100.0%, called by m 100.0%, on - 100.0%
        "]],
    );
}

#[test]
fn nothing_has_no_shares() {
    let profile = threaded(&[("a", 0, 0)]);
    let metrics = method_metrics(&profile, MetricId::new(0), &Scope::Whole);
    let method = metrics.methods().next().unwrap();
    assert_eq!((metrics.method_time(method), metrics.self_time(method)), (None, None));
}

proptest! {
    #[test]
    fn all_methods_at_once_agree_with_each_alone(samples in any_samples()) {
        let profile = profile_of(&samples, Grain::Functions);
        let metric = MetricId::new(0);
        let values = profile.self_values(metric);
        let totals = function_totals(&profile, &values);
        let metrics = method_metrics(&profile, metric, &Scope::Whole);
        for (method, _) in profile.symbols.functions() {
            prop_assert_eq!(metrics.method_samples(method), totals[method.index()].inclusive);
            prop_assert_eq!(metrics.self_samples(method), totals[method.index()].self_value);
            let from: Vec<_> = metrics.callers(method).map(|call| (Some(call.caller), call.samples)).collect();
            let alone: Vec<_> = callers(&profile, &values, &[method]).iter()
                .filter(|caller| caller.function.is_some())
                .map(|caller| (caller.function, caller.value)).collect();
            prop_assert_eq!(from, alone);
            let to: Vec<_> = metrics.callees(method).iter().map(|call| (Some(call.callee), call.samples)).collect();
            let alone: Vec<_> = callees(&profile, &values, &[method]).iter()
                .map(|callee| (callee.function, callee.value)).collect();
            prop_assert_eq!(to, alone);
            // Threads share the method's time among them, and each agrees with a profile of that thread alone.
            let threads = metrics.thread_times(method);
            if totals[method.index()].inclusive > 0 {
                let sum: f64 = threads.iter().filter_map(|(_, time)| *time).sum();
                prop_assert!((sum - 1.0).abs() < 1e-9);
            }
            for (thread, time) in threads {
                let alone = profile.cells.dense_on(metric, thread, profile.tree.len());
                let alone = function_totals(&profile, &alone)[method.index()].inclusive;
                let expected = alone as f64 / totals[method.index()].inclusive as f64;
                prop_assert!(time.is_some_and(|time| (time - expected).abs() < 1e-9));
            }
        }
    }

    #[test]
    fn shares_stay_below_one(samples in any_samples()) {
        let profile = profile_of(&samples, Grain::Functions);
        let found = tasks(&profile, &[TaskDefinition::prefix("B", "b", "b"), TaskDefinition::prefix("C", "c", "c")]);
        for scope in [Scope::Whole, found.scope(&["b"]), found.scope(&["b", "c"])] {
            let metrics = method_metrics(&profile, MetricId::new(0), &scope);
            for method in metrics.methods() {
                let times = [metrics.method_time(method), metrics.self_time(method)];
                let called = metrics.callee_times(method).into_iter().chain(metrics.caller_times(method));
                for time in times.into_iter().chain(called.map(|(_, time)| time)).flatten() {
                    prop_assert!((0.0..=1.0).contains(&time), "{time}");
                }
            }
        }
    }
}
