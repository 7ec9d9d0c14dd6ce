//! Every call of a program as uftrace saw it, and which of them the kernel's stacks know.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

/// The calls of a run.
#[derive(Clone, Debug, Default)]
pub struct Exact {
    pub calls: Vec<Call>,
    /// Caller's context and function, callers first.
    pub contexts: Vec<(Option<usize>, String)>,
}

/// A call from its entry to its exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    pub thread: u32,
    pub context: usize,
    pub start: u64,
    pub end: u64,
}

impl Exact {
    /// Reads what `uftrace dump` prints.
    pub fn parse(dump: impl Iterator<Item = String>) -> Self {
        let mut exact = Self::default();
        let mut index: HashMap<(Option<usize>, String), usize> = HashMap::new();
        // Per thread the calls that have not returned, by their place in the list.
        let mut open: HashMap<u32, Vec<usize>> = HashMap::new();
        let mut last = 0;
        for line in dump {
            let Some((time, thread, enters, function)) = record(&line) else { continue };
            last = time.max(last);
            let stack = open.entry(thread).or_default();
            if enters {
                let parent = stack.last().map(|call| exact.calls[*call].context);
                let next = exact.contexts.len();
                let context = *index.entry((parent, function.to_owned())).or_insert(next);
                if context == next {
                    exact.contexts.push((parent, function.to_owned()));
                }
                stack.push(exact.calls.len());
                exact.calls.push(Call { thread, context, start: time, end: u64::MAX });
            } else if let Some(call) = stack.pop() {
                exact.calls[call].end = time;
            }
        }
        for call in exact.calls.iter_mut().filter(|call| call.end == u64::MAX) {
            call.end = last;
        }
        exact
    }

    /// The calls with the greatest latency, one of a hundred.
    pub fn slowest(&self) -> Vec<usize> {
        let latency = |call: &usize| self.calls[*call].end - self.calls[*call].start;
        slowest((0..self.calls.len()).collect(), latency)
    }
}

/// One of a hundred with the greatest latency, rounded up.
fn slowest(mut items: Vec<usize>, latency: impl Fn(&usize) -> u64) -> Vec<usize> {
    items.sort_by_key(|item| (std::cmp::Reverse(latency(item)), *item));
    items.truncate(items.len().div_ceil(100));
    items
}

/// `12.000000005  77: [entry] main(55d0) depth: 0`
fn record(line: &str) -> Option<(u64, u32, bool, &str)> {
    let (head, rest) = line.split_once(": [")?;
    let mut words = head.split_whitespace();
    let (seconds, nanos) = words.next()?.split_once('.')?;
    let time = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?;
    let time = time.checked_add(nanos.parse().ok()?)?;
    let thread = words.next()?.parse().ok()?;
    let (kind, rest) = rest.split_once(']')?;
    let enters = match kind.trim() {
        "entry" => true,
        "exit" => false,
        _ => return None,
    };
    let function = rest.trim().rsplit_once(" depth:")?.0;
    Some((time, thread, enters, function.rsplit_once('(').map_or(function, |(name, _)| name)))
}

/// How much of what happened is on at least one stack, in percent.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Coverage {
    pub contexts: f64,
    pub slowest_contexts: f64,
    pub calls: f64,
    pub slowest_calls: f64,
    /// Contexts and calls from these percentiles of latency on, as figure 8 has them.
    pub contexts_from: [f64; PERCENTILES.len()],
    pub calls_from: [f64; PERCENTILES.len()],
}

/// The marks on the axis of figure 8.
pub const PERCENTILES: [usize; 6] = [0, 50, 80, 90, 95, 99];

/// Coverage by stacks taken at these times, which are sorted, of each thread.
pub fn coverage(exact: &Exact, times: &BTreeMap<u32, Vec<u64>>) -> Coverage {
    let seen_calls: Vec<bool> = exact.calls.iter().map(|call| is_seen(call, times)).collect();
    let call_latency = |call: &usize| exact.calls[*call].end - exact.calls[*call].start;
    let mut total = vec![0_u64; exact.contexts.len()];
    let mut seen_contexts = vec![false; exact.contexts.len()];
    for (number, call) in exact.calls.iter().enumerate() {
        total[call.context] += call.end - call.start;
        seen_contexts[call.context] |= seen_calls[number];
    }
    let calls = from_percentiles(&seen_calls, call_latency);
    let contexts = from_percentiles(&seen_contexts, |context| total[*context]);
    Coverage {
        contexts: contexts[0],
        slowest_contexts: contexts[PERCENTILES.len() - 1],
        calls: calls[0],
        slowest_calls: calls[PERCENTILES.len() - 1],
        contexts_from: contexts,
        calls_from: calls,
    }
}

/// True when a stack was taken during a call; the times of each thread are sorted.
pub fn is_seen(call: &Call, times: &BTreeMap<u32, Vec<u64>>) -> bool {
    let Some(times) = times.get(&call.thread) else { return false };
    let next = times.partition_point(|time| *time < call.start);
    times.get(next).is_some_and(|time| *time <= call.end)
}

fn from_percentiles(seen: &[bool], latency: impl Fn(&usize) -> u64) -> [f64; PERCENTILES.len()] {
    let mut order: Vec<usize> = (0..seen.len()).collect();
    order.sort_by_key(|item| (std::cmp::Reverse(latency(item)), *item));
    PERCENTILES.map(|percentile| {
        let kept = (order.len() * (100 - percentile)).div_ceil(100);
        let found = order.iter().take(kept).filter(|item| seen[**item]).count();
        100.0 * found as f64 / kept.max(1) as f64
    })
}

/// An inferred call, as wide as it is known to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guess {
    pub start: u64,
    /// From `start` on.
    pub width: u64,
    pub latency: u64,
}

/// For each of some calls, how far the latency of the guess for it is from the truth, as a share of the truth. A call
/// that nobody guessed has the guess 0.
pub fn errors(
    exact: &Exact,
    calls: &[usize],
    guesses: &BTreeMap<(u32, usize), Vec<Guess>>,
) -> Vec<f64> {
    let error = |number: &usize| {
        let call = exact.calls[*number];
        let truth = (call.end - call.start).max(1) as f64;
        let of_context = guesses.get(&(call.thread, call.context)).map_or(&[][..], Vec::as_slice);
        // Of one context and thread, guesses follow one another.
        let first = of_context.partition_point(|guess| guess.start + guess.width < call.start);
        let overlap = |guess: &Guess| {
            let (from, to) =
                (guess.start.max(call.start), (guess.start + guess.width).min(call.end));
            to.saturating_sub(from)
        };
        let near = of_context[first..].iter().take_while(|guess| guess.start <= call.end);
        let best = near.max_by_key(|guess| overlap(guess));
        (best.map_or(0.0, |guess| guess.latency as f64) - truth).abs() / truth
    };
    calls.iter().map(error).collect()
}

/// How far inferred calls are calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ToldApart {
    /// Each of them one call.
    pub right: usize,
    /// A further part of a call that there is one for already.
    pub split: usize,
    /// More than one call.
    pub joined: usize,
}

/// Which calls inferred ones are, by the first and the last stack that has them: here `latency` is the time between.
pub fn told_apart(exact: &Exact, guesses: &BTreeMap<(u32, usize), Vec<Guess>>) -> ToldApart {
    let mut ends: BTreeMap<(u32, usize), Vec<u64>> = BTreeMap::new();
    for call in &exact.calls {
        ends.entry((call.thread, call.context)).or_default().push(call.end);
    }
    let mut told = ToldApart::default();
    for (context, guesses) in guesses {
        let Some(ends) = ends.get(context) else { continue };
        let mut last = None;
        for guess in guesses {
            let [first, then] = [guess.start, guess.start + guess.latency]
                .map(|time| ends.partition_point(|end| *end < time));
            match (Some(first) == last, first == then) {
                (true, _) => told.split += 1,
                (false, true) => told.right += 1,
                (false, false) => told.joined += 1,
            }
            last = Some(then);
        }
    }
    told
}

/// The middle one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "\
reading 7.dat
 1.000000000  7: [entry] main(55) depth: 0
 1.000000010  7: [entry] f(66) depth: 1
 1.000000020  7: [exit ] f(66) depth: 1
 1.000000030  7: [entry] f(66) depth: 1
 1.000000090  7: [exit ] f(66) depth: 1
 1.000000100  7: [exit ] main(55) depth: 0
";

    fn exact() -> Exact {
        Exact::parse(DUMP.lines().map(str::to_owned))
    }

    #[test]
    fn calls_are_read_with_their_contexts() {
        let exact = exact();
        assert_eq!(exact.contexts, [(None, "main".to_owned()), (Some(0), "f".to_owned())]);
        let shown: Vec<_> =
            exact.calls.iter().map(|call| (call.context, call.end - call.start)).collect();
        assert_eq!(shown, [(0, 100), (1, 10), (1, 60)]);
        assert_eq!(exact.slowest(), [0]);
    }

    #[test]
    fn what_a_stack_was_taken_of_is_covered() {
        let times = BTreeMap::from([(7, vec![1_000_000_050])]);
        let coverage = coverage(&exact(), &times);
        assert!((coverage.contexts - 100.0).abs() < 1e-9);
        assert!((coverage.calls - 200.0 / 3.0).abs() < 1e-9, "{coverage:?}");
        assert!((coverage.slowest_calls - 100.0).abs() < 1e-9);
    }

    #[test]
    fn calls_are_told_apart() {
        let told = |guesses: &[(u64, u64)]| {
            let guess = |(start, latency): &(u64, u64)| {
                let start = 1_000_000_000 + start;
                Guess { start, width: *latency, latency: *latency }
            };
            let guesses = BTreeMap::from([((7, 1), guesses.iter().map(guess).collect())]);
            let told = told_apart(&exact(), &guesses);
            [told.right, told.split, told.joined]
        };
        assert_eq!(told(&[(12, 5), (40, 20)]), [2, 0, 0]);
        assert_eq!(told(&[(12, 40)]), [0, 0, 1]);
        assert_eq!(told(&[(12, 5), (40, 20), (80, 5)]), [2, 1, 0]);
    }

    #[test]
    fn errors_are_shares_of_the_truth() {
        let guess = Guess { start: 1_000_000_040, width: 30, latency: 30 };
        let guesses = BTreeMap::from([((7, 1), vec![guess])]);
        let errors = errors(&exact(), &[0, 1, 2], &guesses);
        assert_eq!(errors, [1.0, 1.0, 0.5]);
        assert!((median(errors) - 1.0).abs() < 1e-9);
    }
}
