//! What makes values of different runs comparable: work done, totals, calls, sampling periods.

use perfblame_cct::{Layer, Measure, Metric, MetricId, Run, RunSet, Side, Sides, Unit, Warning};

use super::{DiffError, DiffQuery, Normalize};
use crate::Loaded;

/// Recordings whose lengths differ by more than this factor were hardly meant to be as long.
const ANOTHER_LENGTH: f64 = 1.5;

/// What the values of each run are multiplied with, and why in words.
pub(super) struct Scaling {
    /// By side and run.
    pub(super) factors: Sides<Vec<f64>>,
    /// How values were made comparable; none when they are as recorded.
    pub(super) words: Option<String>,
}

impl Scaling {
    pub(super) fn of(
        sets: Sides<&RunSet>,
        metrics: Sides<MetricId>,
        query: &DiffQuery,
    ) -> Result<Self, DiffError> {
        let mut words = Vec::new();
        let mut factors = sets.map(|set| vec![1.0; set.runs.len()]);
        if let Some(work) = &query.work {
            by_work(&mut factors, work)?;
            words.push("by the work done");
        }
        let sizes: Option<Sides<Vec<f64>>> = match query.normalize {
            Normalize::None => None,
            Normalize::Total => {
                words.push("to equal totals");
                Some(sets.zip(metrics).map(|(set, metric)| busy_totals(set, metric)))
            }
            Normalize::Calls => {
                words.push("to equal numbers of calls");
                Some(Sides::try_of(|side| calls(sets[side], side))?)
            }
        };
        if let Some(sizes) = sizes {
            // As large as a mean run before, so that its costs stay what they are.
            let reference = sizes.before.iter().sum::<f64>() / sizes.before.len().max(1) as f64;
            for (factors, sizes) in factors.iter_mut().zip(&sizes) {
                for (factor, size) in factors.iter_mut().zip(sizes) {
                    if *size > 0.0 && reference > 0.0 {
                        *factor = reference / size;
                    }
                }
            }
        }
        let words = (!words.is_empty()).then(|| words.join(", "));
        Ok(Self { factors, words })
    }
}

fn by_work(factors: &mut Sides<Vec<f64>>, work: &Sides<Vec<f64>>) -> Result<(), DiffError> {
    let reference = work.before.iter().sum::<f64>() / work.before.len().max(1) as f64;
    for (side, factors) in factors.each_mut() {
        let work = &work[side];
        let runs = factors.len();
        if work.len() != 1 && work.len() != runs {
            return Err(DiffError::Work { side, runs, given: work.len() });
        }
        for (run, factor) in factors.iter_mut().enumerate() {
            let work = work.get(run).or(work.first()).copied().unwrap_or(1.0);
            if work > 0.0 {
                *factor = reference / work;
            }
        }
    }
    Ok(())
}

/// The total of each run, idle time left out.
fn busy_totals(set: &RunSet, metric: MetricId) -> Vec<f64> {
    let idle: Vec<bool> = (set.tree.nodes())
        .map(|node| {
            let function = set.symbols.frame(set.tree.frame(node)).function;
            set.symbols.function(function).layer == Layer::Idle
        })
        .collect();
    let total = |run: &Run| {
        let busy = run.cells.of(metric).filter(|(node, _, _)| !idle[node.index()]);
        busy.map(|(_, _, value)| value as f64).sum()
    };
    set.runs.iter().map(total).collect()
}

/// The calls of each run.
fn calls(set: &RunSet, side: Side) -> Result<Vec<f64>, DiffError> {
    let metric = set.metric("calls").ok_or_else(|| DiffError::Metric {
        side,
        wanted: "calls".to_owned(),
        known: set.metrics.iter().map(|metric| metric.name.clone()).collect(),
    })?;
    Ok(set.runs.iter().map(|run| run.cells.total(metric) as f64).collect())
}

/// A warning where one side was recorded for longer than the other, findings explain little of the difference
/// (`explained`, as a part of 1), and nothing was said about the work done.
pub(super) fn unequal_lengths(
    before: &Loaded,
    after: &Loaded,
    query: &DiffQuery,
    explained: f64,
) -> Option<Warning> {
    let longest_and_shortest = |side: &Loaded| {
        let lengths = side.runs.runs.iter().map(|run| run.info.duration.unwrap_or(0) as f64);
        lengths.fold((0.0f64, f64::INFINITY), |(most, least), length| {
            (most.max(length), least.min(length))
        })
    };
    let ((most_before, least_before), (most_after, least_after)) =
        (longest_and_shortest(before), longest_and_shortest(after));
    let apart =
        least_after > most_before * ANOTHER_LENGTH || least_before > most_after * ANOTHER_LENGTH;
    let known = least_before > 0.0 && least_after > 0.0;
    // A program that runs to its end takes longer because something in it does, not everything.
    let alike = explained < 0.5;
    let said = query.work.is_some() || query.normalize != Normalize::None;
    (known && apart && alike && !said).then(|| Warning {
        code: "unequal-lengths".to_owned(),
        message: format!(
            "the recordings differ in length ({:.3} s and {:.3} s); if they did different work, use `--normalize total` to compare shares, or `--work`",
            most_before / 1e9,
            most_after / 1e9
        ),
        count: 1,
    })
}

/// What one sample stands for in a run; 0 for exact values, unless they say how coarse they are.
pub(super) fn quantum(metric: &Metric, run: &Run, id: MetricId) -> f64 {
    match run.periods.get(id.index()).copied().flatten() {
        Some(period) if period > 0 => period as f64,
        _ if metric.measure == Measure::Exact => 0.0,
        _ if metric.unit == Unit::Count && metric.name == "samples" => {
            10f64.powi(metric.decimals.into())
        }
        _ => {
            // Files may keep samples added up: the least costly contexts tell what a single one stands for.
            let mut values: Vec<i64> = run.cells.of(id).map(|(_, _, value)| value.abs()).collect();
            if values.is_empty() {
                return 1.0;
            }
            let tenth = values.len() / 10;
            let least = *values.select_nth_unstable(tenth).1 as f64;
            let mean = run.cells.total(id).abs() as f64 / run.samples.max(1) as f64;
            if run.samples > 0 { least.min(mean) } else { least }
        }
    }
}
