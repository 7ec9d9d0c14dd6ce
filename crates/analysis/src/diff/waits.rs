//! Waiting beside work. A page whose timers run longer computes no more than before: its busy time is unchanged and
//! only the clock tells. Where both sides know what was waited for, and by whom, that is explained like any other cost.
//!
//! Waits run beside work and beside each other, so a longer one need not make anything later. One counts only if the
//! thread that asked had nothing else to do meanwhile, for at least half of what it is longer by, and the timeline can
//! have grown by as much: the idle time of the threads that wait, or the whole recording. Recordings idle for many
//! reasons and by hundreds of milliseconds more or less, so the longest after is held against the shortest before.
//!
//! Where something computes longer, or where profiles do not say what was done meanwhile, the typical recording must
//! have grown. What it grew by since there is more work does not count: a page that polls then polls more often, and
//! nobody waits for that.

use hashbrown::HashSet;
use perfblame_blame::{Evidence, Explanation, Finding, RunCosts, SuspectOptions, suspects};
use perfblame_cct::{Layer, Metric, MetricId, NodeId, RunSet, Side, Sides, Unit};
use perfblame_matching::Joint;

use super::suspect::{mean, rank, runtime_growth, suspect};
use super::{Diff, DiffQuery, Suspect, SuspectKind, Verdict};

/// The metric of waits that stand beside a profile of work.
const WAITS: &str = "waits";
/// The metric that counts what was waited for.
const COUNT: &str = "wait-count";
/// The metric of the part of waits in which the thread had nothing else to do.
const IDLE: &str = "wait-idle";
/// The part of a longer wait that must be found in the timeline.
const CORROBORATED: f64 = 0.5;

/// Work that waits are so many times as long as did not make them so.
const LITTLE: f64 = 4.0;

/// True for metrics whose values are time spent waiting.
pub fn is_waiting(metric: &Metric) -> bool {
    matches!(metric.name.as_str(), "blocked" | "parked" | "waiting" | "off-cpu" | WAITS)
}

/// True for metrics that leave waiting out: a function that waits longer is then not part of their totals.
pub fn is_busy(metric: &Metric) -> bool {
    !is_waiting(metric) && metric.name != perfblame_latency::LATENCY
}

/// Adds what waits longer to the suspects of an answer about busy time.
pub(super) fn explain(
    diff: &mut Diff,
    sets: Sides<&RunSet>,
    ids: Sides<MetricId>,
    joint: &Joint,
    factors: &Sides<Vec<f64>>,
    query: &DiffQuery,
) {
    let time = diff.metric.unit == Unit::Nanoseconds && !is_waiting(&diff.metric);
    let known = sets.map(|set| set.metric(WAITS));
    if query.metric.is_some() || !time || known.iter().all(Option::is_none) {
        return;
    }
    // A side that never waits has no values; a row beyond its metrics has none either.
    let waits =
        known.zip(sets).map(|(id, set)| id.unwrap_or_else(|| MetricId::new(set.metrics.len())));
    let runs = Sides::of(|side| {
        let of_run = sets[side].runs.iter().zip(&factors[side]);
        of_run
            .map(|(run, factor)| RunCosts {
                cells: &run.cells,
                metric: waits[side],
                calls: sets[side].metric(COUNT),
                samples: None,
                factor: *factor,
                quantum: 0.0,
            })
            .collect::<Vec<_>>()
    });
    let runs = runs.as_ref().map(Vec::as_slice);
    let evidence = Evidence { joint, runs, exact: false, waits: true };
    let min_delta = query.min_delta.map(|least| least.of(diff.before.total.median));
    let found = suspects(&evidence, SuspectOptions { min_delta });
    let certain = found.verdict == Verdict::Regressed;
    if !certain && (found.verdict, diff.verdict) != (Verdict::Inconclusive, Verdict::Inconclusive) {
        return;
    }
    let timeline = Timeline::of(sets, ids, waits, factors, diff.change.median.max(0.0));
    let idle = known.map_with_side(|side, known| match known {
        Some(_) => sets[side].metric(IDLE),
        None => Some(waits[side]),
    });
    let idled = |finding: &Finding| idled(finding, sets, idle, joint, factors);
    add(diff, joint, &found, timeline, &idled, certain);
}

/// How much longer the recordings are in what is no work.
#[derive(Clone, Copy, Debug)]
struct Timeline {
    /// Idle time of the threads that wait.
    idle: f64,
    /// From the first to the last event, without what is more work.
    duration: f64,
    /// The most that either can have grown by: the shortest before against the longest after.
    most: f64,
}

impl Timeline {
    fn of(
        sets: Sides<&RunSet>,
        ids: Sides<MetricId>,
        waits: Sides<MetricId>,
        factors: &Sides<Vec<f64>>,
        work: f64,
    ) -> Self {
        // Idle time and durations of each side: the typical one, and the furthest from the other side.
        let of_side = |side: Side| {
            let set = sets[side];
            let is_idle = |node: NodeId| {
                let function = set.symbols.frame(set.tree.frame(node)).function;
                set.symbols.function(function).layer == Layer::Idle
            };
            let mut idle = Vec::new();
            let mut durations = Vec::new();
            for (run, factor) in set.runs.iter().zip(&factors[side]) {
                let waiting: HashSet<_> =
                    run.cells.of(waits[side]).map(|(_, thread, _)| thread).collect();
                let sum: f64 = (run.cells.of(ids[side]))
                    .filter(|(node, thread, _)| waiting.contains(thread) && is_idle(*node))
                    .map(|(_, _, value)| value as f64)
                    .sum();
                idle.push(sum * factor);
                durations.extend(run.info.duration.map(|duration| duration as f64 * factor));
            }
            [idle, durations].map(|mut values| {
                let typical = median(&mut values);
                // They are in order now.
                let furthest = match side {
                    Side::Before => values.first(),
                    Side::After => values.last(),
                };
                (typical, furthest.copied().unwrap_or_default())
            })
        };
        let Sides { before, after } = Sides::of(of_side);
        let [idle, duration] =
            [0, 1].map(|what| (after[what].0 - before[what].0, after[what].1 - before[what].1));
        Self { idle: idle.0, duration: duration.0 - work, most: idle.1.max(duration.1 - work) }
    }

    /// True when a wait of this much more shows in it.
    fn corroborates(self, delta: f64) -> bool {
        self.idle.max(self.duration) >= delta * CORROBORATED
    }

    /// True when a wait of this much more could be in it, for all that recordings of one side differ by.
    fn permits(self, delta: f64) -> bool {
        self.most >= delta * CORROBORATED
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// How much longer the threads that wait had nothing else to do meanwhile; none where nothing tells.
fn idled(
    finding: &Finding,
    sets: Sides<&RunSet>,
    idle: Sides<Option<MetricId>>,
    joint: &Joint,
    factors: &Sides<Vec<f64>>,
) -> Option<f64> {
    let rows: HashSet<NodeId> = finding.contexts.iter().copied().collect();
    let mut means = Sides::same(0.0);
    for side in Side::BOTH {
        let place = &joint.row_of[side];
        let idle = idle[side]?;
        let runs = &sets[side].runs;
        for (run, factor) in runs.iter().zip(&factors[side]) {
            let here = run.cells.of(idle).filter(|(node, ..)| rows.contains(&place[node.index()]));
            let sum: f64 = here.map(|(_, _, value)| value as f64).sum();
            means[side] += sum * factor / runs.len() as f64;
        }
    }
    Some(means.after - means.before)
}

/// Puts the waits that the timeline confirms among the suspects, and says again what share each has.
fn add(
    diff: &mut Diff,
    joint: &Joint,
    found: &Explanation,
    timeline: Timeline,
    idled: &impl Fn(&Finding) -> Option<f64>,
    certain: bool,
) {
    // All of them together: two waits side by side make the timeline longer once.
    let mut confirmed = Vec::new();
    let mut sum = 0.0;
    let works_more = diff.verdict == Verdict::Regressed && !diff.suspects.is_empty();
    for finding in &found.suspects {
        let whole = sum + finding.delta.value;
        let idled = idled(finding).map(|idled| idled >= finding.delta.value * CORROBORATED);
        let counts = match idled {
            Some(idled) if works_more => idled && timeline.corroborates(whole),
            Some(idled) => idled && timeline.permits(whole),
            None => timeline.corroborates(whole),
        };
        if counts {
            sum += finding.delta.value;
            confirmed.push(finding);
        }
    }
    let busy = diff.change.median;
    // Who computes longer asks for more timers meanwhile, seldom the other way round; unless it is little to the wait.
    let computed: f64 = diff.suspects.iter().map(|suspect| suspect.delta.median).sum();
    let busy_first = diff.verdict == Verdict::Regressed && computed * LITTLE >= sum;
    if busy_first {
        follow(diff, joint, &mut confirmed);
    }
    if confirmed.is_empty() {
        return;
    }
    sum = confirmed.iter().map(|finding| finding.delta.value).sum();
    diff.suspects.extend(confirmed.iter().filter_map(|finding| wait(joint, finding)));
    let size = |suspect: &Suspect| suspect.delta.median;
    diff.suspects.sort_by(|a, b| {
        let behind = |suspect: &Suspect| busy_first && suspect.kind == SuspectKind::Waits;
        let by_size = size(b).total_cmp(&size(a)).then(a.rank.cmp(&b.rank));
        behind(a).cmp(&behind(b)).then(by_size)
    });
    let all = diff.suspects.iter().map(size).sum::<f64>() + runtime_growth(&diff.runtime, 1.0);
    let grown =
        if timeline.idle >= sum * CORROBORATED { busy + timeline.idle } else { timeline.duration };
    rank(&mut diff.suspects, grown.max(all));
    let unsettled = matches!(diff.verdict, Verdict::Unchanged | Verdict::Inconclusive);
    if certain && unsettled {
        diff.verdict = Verdict::Regressed;
        diff.runs_needed = None;
        // Busy time did not change, so nothing of it is left to explain.
        diff.unexplained = 0.0;
    } else if certain && diff.verdict == Verdict::Improved && busy + sum > 0.0 {
        diff.verdict = Verdict::Regressed;
    }
}

/// Takes out waits that are no longer than they were and only more: they follow from what computes longer (a page that
/// does its work in slices needs more of them), which a note tells.
fn follow(diff: &mut Diff, joint: &Joint, confirmed: &mut Vec<&Finding>) {
    let Some(first) = diff.suspects.first_mut() else { return };
    confirmed.retain(|finding| {
        let is_more = finding.kind != SuspectKind::New && grew_in_number(finding);
        if let Some(row) = finding.contexts.first().filter(|_| is_more) {
            let function = joint.symbols.frame(joint.tree.frame(*row)).function;
            let name = joint.symbols.name(function);
            let Sides { before, after } = finding.calls.unwrap_or_default();
            let longer = finding.delta.value / 1e6;
            first.notes.push(format!(
                "at the same time, {name} waits more often: {before:.1} → {after:.1} times, +{longer:.0} ms in total"
            ));
        }
        !is_more
    });
}

/// True where more waits, not longer ones, are most of the growth.
fn grew_in_number(finding: &Finding) -> bool {
    let Some(Sides { before, after }) = finding.calls else { return false };
    let (cost, count) = (mean(&finding.after) / mean(&finding.before), after / before);
    before > 0.0 && count > 1.0 && count.ln() / cost.ln() > 0.5
}

/// A suspect that waits longer. Waits stand after what is busy, where both are of the same size.
fn wait(joint: &Joint, finding: &Finding) -> Option<Suspect> {
    let note = match finding.kind {
        SuspectKind::New => "it starts timers or requests that it did not start before",
        _ => "its timers or requests take longer, and so do the recordings",
    };
    let notes = vec![note.to_owned()];
    let suspect = suspect(joint, finding)?;
    Some(Suspect { rank: usize::MAX, kind: SuspectKind::Waits, calls: None, notes, ..suspect })
}

#[cfg(test)]
mod tests {
    use perfblame_cct::{Grain, Profile, ProfileBuilder, Thread, Times, merge_runs};

    use super::*;
    use crate::{Ask, Loaded, diff};

    /// A run of a page: milliseconds of work, idle time, and waits of two functions.
    fn run(work: i64, idle: i64, waits: [i64; 2]) -> Profile {
        run_with(work, idle, waits, 1, None)
    }

    /// The same; `draw` waits so many times, and so much of it, where that is known, with nothing else to do.
    fn run_with(
        work: i64,
        idle: i64,
        [load, draw]: [i64; 2],
        times: i64,
        idled: Option<i64>,
    ) -> Profile {
        let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
        let wall = builder.metric(Metric::exact("wall", Unit::Nanoseconds));
        let waits = builder.metric(Metric::exact(WAITS, Unit::Nanoseconds));
        let count = builder.metric(Metric::exact(COUNT, Unit::Count));
        let meanwhile = idled.map(|_| builder.metric(Metric::exact(IDLE, Unit::Nanoseconds)));
        let name = builder.string("page");
        let thread = Some(builder.thread(Thread::named(name)));
        let mut add = |name: &str, layer: Layer, metric: MetricId, value: i64| {
            let frame = builder.named_frame(name, layer);
            let at = builder.root(frame);
            builder.add(at, thread, metric, value);
        };
        add("work", Layer::Application, wall, work * 1_000_000);
        add("(idle)", Layer::Idle, wall, idle * 1_000_000);
        add("load", Layer::Application, waits, load * 1_000_000);
        add("load", Layer::Application, count, 1);
        add("draw", Layer::Application, waits, draw * 1_000_000);
        add("draw", Layer::Application, count, times);
        if let Some((meanwhile, idled)) = meanwhile.zip(idled) {
            add("draw", Layer::Application, meanwhile, idled * 1_000_000);
        }
        let mut run = builder.finish();
        run.info.duration = Some((work + idle) * 1_000_000);
        run
    }

    fn side(runs: [Profile; 3]) -> Loaded {
        Loaded { names: Vec::new(), runs: merge_runs(runs.into()) }
    }

    fn before() -> Loaded {
        side([run(100, 50, [20, 21]), run(101, 51, [21, 20]), run(99, 50, [20, 20])])
    }

    fn explained(after: &Loaded) -> (Verdict, Vec<(String, SuspectKind, i64)>) {
        let found = diff(&before(), after, &DiffQuery::default(), &Ask::default()).unwrap();
        let percent = |suspect: &Suspect| (suspect.share * 100.0).round() as i64;
        let shown =
            |suspect: &Suspect| (suspect.function.name.clone(), suspect.kind, percent(suspect));
        (found.verdict, found.suspects.iter().map(shown).collect())
    }

    #[test]
    fn a_wait_that_makes_the_page_late_is_a_suspect() {
        let after =
            side([run(100, 200, [20, 170]), run(99, 201, [21, 171]), run(101, 199, [20, 170])]);
        let (verdict, suspects) = explained(&after);
        assert_eq!(verdict, Verdict::Regressed);
        let [(name, kind, percent)] = &*suspects else { panic!("{suspects:?}") };
        assert_eq!((name.as_str(), *kind), ("draw", SuspectKind::Waits));
        assert!(*percent > 95, "{percent}");
    }

    #[test]
    fn a_wait_beside_work_delays_nobody() {
        let after =
            side([run(100, 50, [20, 170]), run(99, 51, [21, 171]), run(101, 50, [20, 170])]);
        assert_eq!(explained(&after), (Verdict::Unchanged, Vec::new()));
    }

    /// Waits of 20 ms before and 170 after, of which the thread idles through some; idle time in all of each run.
    fn idling(before: [i64; 3], after: [i64; 3], [less, more]: [i64; 2]) -> Vec<String> {
        let of = |idle: i64, wait: i64, idled: i64| run_with(100, idle, [20, wait], 1, Some(idled));
        let before = side(before.map(|idle| of(idle, 20 + idle % 2, less)));
        let after = side(after.map(|idle| of(idle, 170 + idle % 2, more)));
        let found = diff(&before, &after, &DiffQuery::default(), &Ask::default()).unwrap();
        let kinds = found.suspects.iter().all(|suspect| suspect.kind == SuspectKind::Waits);
        assert!(kinds, "{:?}", found.suspects);
        found.suspects.into_iter().map(|suspect| suspect.function.name).collect()
    }

    #[test]
    fn what_the_thread_idles_through_delays_the_page_however_much_it_idles_elsewhere() {
        let (before, after) = ([501, 310, 640], [405, 620, 502]);
        assert_eq!(idling(before, after, [18, 165]), ["draw"]);
        assert!(idling(before, after, [18, 19]).is_empty(), "there was other work to do");
    }

    #[test]
    fn what_the_thread_works_through_delays_nobody_though_it_idles_more_elsewhere() {
        let (before, after) = ([301, 300, 302], [451, 450, 452]);
        assert_eq!(idling(before, after, [18, 165]), ["draw"]);
        assert!(idling(before, after, [18, 19]).is_empty());
    }

    #[test]
    fn a_wait_while_nobody_waits_for_the_page_makes_nothing_later() {
        assert!(idling([301, 300, 302], [303, 300, 301], [18, 165]).is_empty());
    }

    #[test]
    fn a_longer_recording_alone_is_nobodys_fault() {
        let after =
            side([run(100, 200, [20, 21]), run(99, 201, [20, 20]), run(101, 199, [21, 20])]);
        assert_eq!(explained(&after), (Verdict::Unchanged, Vec::new()));
    }

    #[test]
    fn a_page_that_polls_for_longer_as_there_is_more_work_waits_for_nothing() {
        let after =
            side([run(250, 50, [20, 120]), run(251, 51, [21, 121]), run(249, 50, [20, 120])]);
        let (verdict, suspects) = explained(&after);
        assert_eq!(verdict, Verdict::Regressed);
        let [(name, kind, _)] = &*suspects else { panic!("{suspects:?}") };
        assert_eq!((name.as_str(), *kind), ("work", SuspectKind::Slower));
    }

    #[test]
    fn more_slices_of_longer_work_are_no_suspects() {
        let run = |more: i64| run_with(250 + more, 150 + more, [20, 120], 6, None);
        let after = side([run(0), run(1), run(2)]);
        let found = diff(&before(), &after, &DiffQuery::default(), &Ask::default()).unwrap();
        let [work] = &*found.suspects else { panic!("{:?}", found.suspects) };
        assert_eq!((&*work.function.name, work.kind), ("work", SuspectKind::Slower));
        assert_eq!(
            work.notes,
            ["at the same time, draw waits more often: 1.0 → 6.0 times, +100 ms in total"]
        );
        // As many of them as before, and each longer: that is another cause.
        let run = |more: i64| run_with(250 + more, 150 + more, [20, 120], 1, None);
        let after = side([run(0), run(1), run(2)]);
        let found = diff(&before(), &after, &DiffQuery::default(), &Ask::default()).unwrap();
        let names: Vec<&str> = found.suspects.iter().map(|one| &*one.function.name).collect();
        assert_eq!(names, ["work", "draw"]);
    }

    #[test]
    fn a_metric_that_was_asked_for_stands_alone() {
        let after =
            side([run(100, 200, [20, 170]), run(99, 201, [21, 171]), run(101, 199, [20, 170])]);
        let query = DiffQuery { metric: Some("wall".to_owned()), ..DiffQuery::default() };
        assert!(diff(&before(), &after, &query, &Ask::default()).unwrap().suspects.is_empty());
    }
}
