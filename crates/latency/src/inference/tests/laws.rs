//! What holds for every trace.

use proptest::prelude::*;

use super::*;

fn any_trace() -> impl Strategy<Value = Vec<(u8, u8, u8, Vec<u8>)>> {
    let stack = prop::collection::vec(0u8..4, 0..6);
    prop::collection::vec((0u8..20, 0u8..3, 0u8..9, stack), 0..60)
}

fn drawn(events: &[(u8, u8, u8, Vec<u8>)]) -> String {
    let mut text = String::new();
    let mut time = 0u32;
    for (gap, thread, kind, stack) in events {
        time += u32::from(*gap);
        let kind = match kind {
            0 => "+read",
            1 => "-read",
            2 => "out",
            3 => "in",
            4 => "preempted",
            5 => "woken:t0",
            6 => "tick",
            7 => "queued:9",
            _ => "*",
        };
        let words = ["a", "b/2", "c@libc", "vfs_read@k"];
        let stack: Vec<_> = stack.iter().map(|row| words[usize::from(*row)]).collect();
        let _ = writeln!(text, "{time} t{thread} {kind} {}", stack.join(" "));
    }
    text
}

proptest! {
    /// Conservative is least, longest most; what is expected lies between; callees take no longer than callers.
    #[test]
    fn latencies_are_ordered_and_nested(events in any_trace()) {
        let options = InferenceOptions { instances: true, ..InferenceOptions::default() };
        let (profile, place, inference) = infer(&drawn(&events), options);
        for call in inference.instances() {
            prop_assert!(0 <= call.conservative && call.conservative <= call.aggressive);
            prop_assert!(call.aggressive <= call.longest);
            prop_assert!(call.conservative <= call.estimate && call.estimate <= call.longest);
        }
        let totals = inference.totals(&place);
        let mut below = vec![[0i64; 3]; totals.len()];
        for node in profile.tree.nodes() {
            if let Some(parent) = profile.tree.parent(node) {
                let row = totals[node.index()];
                let modes = [row.conservative, row.aggressive, row.estimate].map(|mode| mode.total);
                for (sum, mode) in below[parent.index()].iter_mut().zip(modes) {
                    *sum += mode;
                }
            }
        }
        for (row, below) in totals.iter().zip(&below) {
            let modes = [row.conservative, row.aggressive, row.estimate].map(|mode| mode.total);
            prop_assert!(modes.iter().zip(below).all(|(own, below)| own >= below), "{:?} {:?}", modes, below);
        }
    }

    /// Own latencies of a thread add up to the time it was watched.
    #[test]
    fn no_time_is_lost(events in any_trace()) {
        let (profile, _, _) = infer(&drawn(&events), InferenceOptions::default());
        let sum: i64 = profile.self_values(MetricId::new(0)).iter().sum();
        let mut spans: HashMap<u8, (i64, i64)> = HashMap::new();
        let mut time = 0i64;
        for (gap, thread, _, _) in &events {
            time += i64::from(*gap);
            let span = spans.entry(*thread).or_insert((time, time));
            span.1 = time;
        }
        // A thread that blocks at the end waits on, so the sum may be more than to its last event, never beyond the end.
        let most: i64 = spans.values().map(|(first, _)| time - first).sum();
        prop_assert!(sum <= most, "{} {}", sum, most);
    }

    #[test]
    fn the_same_trace_gives_the_same_answer(events in any_trace()) {
        let text = drawn(&events);
        let (one, _, _) = infer(&text, InferenceOptions::default());
        let (other, _, _) = infer(&text, InferenceOptions::default());
        prop_assert_eq!(perfblame_cct::dump(&one), perfblame_cct::dump(&other));
    }
}
