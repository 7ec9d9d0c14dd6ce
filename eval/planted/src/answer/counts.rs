//! Functions by their sample counts, without trees: the plain way of the field that compares three runs with three over
//! thousands of rows, as a method to measure against.
//!
//! Samples of a function in a run are overdispersed counts around the machine factor of the run times the rate of the
//! function. Factors are medians of ratios, kept within a side, so that they never explain a difference between the
//! sides. All functions share one dispersion, and each function's own variance is drawn towards it. The difference is a
//! ratio of logarithms with half a sample added: from nothing to 60 samples is much, from 1,000 to 1,060 is not.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use perfblame_analysis::{FunctionView, Loaded, Side, Sides, Verdict};
use perfblame_cct::{Measure, MetricId, Run, RunSet, Unit};

use super::{Answer, Blamed};
use crate::program::{Key, first_metric, is_pseudo_frame};

/// Degrees of freedom that the common dispersion counts for.
const PRIOR: usize = 8;

/// The dispersion where too few functions have replicates, and the least that is believed.
const USUAL_DISPERSION: f64 = 0.15;
const LEAST_DISPERSION: f64 = 0.02;

/// The false discovery rate.
const RATE: f64 = 0.05;

/// What is listed costs at least this part of the whole, and this much time.
const LEAST_PART: f64 = 0.003;
const LEAST_NANOSECONDS: f64 = 2e6;

/// An exact value has no samples; the whole of a typical run counts as so many.
const SAMPLES_OF_EXACT: f64 = 10_000.0;

/// Functions that grew beyond chance, the largest growth first.
pub fn answer(sides: &Sides<Loaded>) -> Answer {
    let counts = Counts::of(sides);
    let mut found = counts.test();
    found.sort_by(|one, other| other.grown.total_cmp(&one.grown).then(one.row.cmp(&other.row)));
    let blamed: Vec<Blamed> = (found.iter())
        .map(|found| {
            let (key, path) = &counts.functions[found.row];
            Blamed { function: key.clone(), path: path.clone(), p_value: Some(found.p) }
        })
        .collect();
    let verdict = if blamed.is_empty() { Verdict::Unchanged } else { Verdict::Regressed };
    Answer { verdict, blamed, change: None }
}

/// A function that grew.
struct Found {
    row: usize,
    p: f64,
    /// By how many samples.
    grown: f64,
}

/// Samples by function and run, before and after.
struct Counts {
    /// As answers name them, with the path of the heaviest context.
    functions: Vec<(Key, Vec<Key>)>,
    /// By function, then run: those before, then those after.
    samples: Vec<Vec<f64>>,
    before: usize,
    /// What a sample stands for, where that is time.
    nanoseconds: Option<f64>,
}

impl Counts {
    fn of(sides: &Sides<Loaded>) -> Self {
        let (before, after) = (sides.before.runs.runs.len(), sides.after.runs.runs.len());
        let mut rows: BTreeMap<Key, (f64, Vec<Key>, Vec<f64>)> = BTreeMap::new();
        let (mut value, mut count, mut is_time) = (0.0, 0.0, false);
        for side in Side::BOTH {
            let set = &sides[side].runs;
            let Some(metric) = first_metric(set) else { continue };
            is_time = set.metrics[metric.index()].unit == Unit::Nanoseconds;
            let first = if side == Side::Before { 0 } else { before };
            for (number, run) in set.runs.iter().enumerate() {
                let (counted, each) = counted(set, run, metric);
                for (node, _, own) in run.cells.of(counted) {
                    let function = set.symbols.frame(set.tree.frame(node)).function;
                    let layer = set.symbols.function(function).layer;
                    if is_pseudo_frame(set.symbols.name(function), layer) {
                        continue;
                    }
                    let key = Key::of(&FunctionView::of(&set.symbols, function));
                    let samples = own as f64 / each;
                    count += samples;
                    let known = rows
                        .entry(key)
                        .or_insert_with(|| (0.0, Vec::new(), vec![0.0; before + after]));
                    known.2[first + number] += samples;
                    if samples > known.0 {
                        let name = |node| {
                            let function = set.symbols.frame(set.tree.frame(node)).function;
                            Key::of(&FunctionView::of(&set.symbols, function))
                        };
                        known.0 = samples;
                        known.1 = set.tree.path(node).into_iter().map(name).collect();
                    }
                }
                value += run.cells.total(metric) as f64;
            }
        }
        let (functions, samples) =
            rows.into_iter().map(|(key, (_, path, samples))| ((key, path), samples)).unzip();
        let nanoseconds = (is_time && count > 0.0).then(|| value / count);
        Self { functions, samples, before, nanoseconds }
    }

    /// Samples by function and run as if all runs of a side had been equally fast.
    fn steady(&self) -> Vec<Vec<f64>> {
        let runs = self.samples.first().map_or(0, Vec::len);
        let common: Vec<&Vec<f64>> =
            self.samples.iter().filter(|row| row.iter().all(|count| *count >= 5.0)).collect();
        let mut factors = vec![0.0; runs];
        if common.len() >= 5 {
            for (run, factor) in factors.iter_mut().enumerate() {
                let middle =
                    |row: &[f64]| row.iter().map(|count| count.ln()).sum::<f64>() / runs as f64;
                let mut ratios: Vec<f64> =
                    common.iter().map(|row| row[run].ln() - middle(row)).collect();
                ratios.sort_by(f64::total_cmp);
                *factor = ratios[ratios.len() / 2];
            }
        }
        let (before, after) = factors.split_at_mut(self.before.min(runs));
        for side in [before, after] {
            let mean = side.iter().sum::<f64>() / side.len().max(1) as f64;
            for factor in side {
                *factor = (*factor - mean).exp();
            }
        }
        let steady =
            |row: &Vec<f64>| row.iter().zip(&factors).map(|(count, by)| count / by).collect();
        self.samples.iter().map(steady).collect()
    }

    fn test(&self) -> Vec<Found> {
        let rows = self.steady();
        let dispersion = self.dispersion(&rows);
        let mut found: Vec<Found> = (rows.iter().enumerate())
            .filter_map(|(row, counts)| self.tested(row, counts, dispersion))
            .collect();
        found.sort_by(|one, other| one.p.total_cmp(&other.p).then(one.row.cmp(&other.row)));
        let seen = |row: &&Vec<f64>| row.iter().any(|count| *count >= 3.0);
        let tested = self.samples.iter().filter(seen).count().max(1) as f64;
        let passes =
            |(place, found): (usize, &Found)| found.p <= RATE * (place + 1) as f64 / tested;
        let last = found.iter().enumerate().rposition(passes).map_or(0, |row| row + 1);
        found.truncate(last);
        let runs = rows.first().map_or(1, Vec::len).max(1) as f64;
        let whole = self.samples.iter().flatten().sum::<f64>() / runs;
        let least = match self.nanoseconds {
            Some(nanoseconds) => (LEAST_PART * whole).max(LEAST_NANOSECONDS / nanoseconds),
            None => LEAST_PART * whole,
        };
        found.retain(|found| found.grown >= least);
        found
    }

    /// The variance beyond that of counts, as a part of the squared mean, over all functions and both sides.
    fn dispersion(&self, rows: &[Vec<f64>]) -> f64 {
        let mut seen = Vec::new();
        for row in rows {
            let (before, after) = row.split_at(self.before);
            for side in [before, after] {
                let mean = mean(side);
                if side.len() > 1 && mean >= 4.0 {
                    let variance = squares(side, mean) / (side.len() - 1) as f64;
                    seen.push(((variance - mean) / (mean * mean)).max(0.0));
                }
            }
        }
        if seen.len() < 8 { USUAL_DISPERSION } else { mean(&seen).max(LEAST_DISPERSION) }
    }

    fn tested(&self, row: usize, counts: &[f64], dispersion: f64) -> Option<Found> {
        let (before, after) = counts.split_at(self.before);
        let (mean_before, mean_after) = (mean(before), mean(after));
        if mean_after <= mean_before || mean_after < 3.0 {
            return None;
        }
        let (mut variation, mut freedom) = (0.0, 0);
        for (side, mean) in [(before, mean_before), (after, mean_after)] {
            if side.len() > 1 && mean > 0.0 {
                variation += squares(side, mean) / (mean + dispersion * mean * mean);
                freedom += side.len() - 1;
            }
        }
        let of_side = |side: &[f64], mean: f64| {
            let runs = side.len() as f64;
            let over = if mean > 0.5 { dispersion } else { 0.0 };
            1.0 / ((mean + 0.5) * runs) + over / runs
        };
        let variance = of_side(before, mean_before) + of_side(after, mean_after);
        let degrees = PRIOR + freedom;
        let scale = (PRIOR as f64 + variation) / degrees as f64;
        let t = ((mean_after + 0.5) / (mean_before + 0.5)).ln() / (variance * scale).sqrt();
        Some(Found { row, p: two_sided(t, degrees), grown: mean_after - mean_before })
    }
}

/// Which metric counts samples, and what of it one sample is.
fn counted(set: &RunSet, run: &Run, metric: MetricId) -> (MetricId, f64) {
    let value = &set.metrics[metric.index()];
    let samples = set.metric("samples").filter(|samples| run.cells.total(*samples) > 0);
    if let Some(samples) = samples.filter(|_| value.measure == Measure::Sampled) {
        return (samples, 10f64.powi(set.metrics[samples.index()].decimals.into()));
    }
    let total = run.cells.total(metric) as f64;
    let period = run.periods.get(metric.index()).copied().flatten().filter(|period| *period > 0);
    let each = match (value.measure, period) {
        (Measure::Sampled, Some(period)) => period as f64,
        (Measure::Sampled, None) if run.samples > 0 => total / run.samples as f64,
        _ => total / SAMPLES_OF_EXACT,
    };
    (metric, if each > 0.0 { each } else { 1.0 })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn squares(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The chance of a Student's t at least this far from zero: the series for whole degrees of freedom, 26.7.3 and 26.7.4
/// of Abramowitz and Stegun.
fn two_sided(t: f64, degrees: usize) -> f64 {
    let angle = (t.abs() / (degrees as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = degrees % 2 == 1;
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = if degrees == 1 { 0.0 } else { term };
    let mut power = if odd { 3 } else { 2 };
    while power < degrees {
        term *= cosine * cosine * (power - 1) as f64 / power as f64;
        sum += term;
        power += 2;
    }
    let inside = if odd { 2.0 / PI * (angle + sine * sum) } else { sine * sum };
    (1.0 - inside).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_t_has_the_quantiles_of_tables() {
        for (t, degrees, p) in [
            (12.706, 1, 0.05),
            (4.303, 2, 0.05),
            (2.306, 8, 0.05),
            (3.055, 12, 0.01),
            (2.179, 12, 0.05),
            (3.250, 9, 0.01),
        ] {
            assert!((two_sided(t, degrees) - p).abs() < 2e-4 * p.max(0.1), "{t} {degrees}");
        }
    }

    fn counts(samples: &[[f64; 6]]) -> Counts {
        let key = |row: usize| Key { name: format!("f{row}"), component: None, line: None };
        let functions = (0..samples.len()).map(|row| (key(row), vec![key(row)])).collect();
        let samples = samples.iter().map(|row| row.to_vec()).collect();
        Counts { functions, samples, before: 3, nanoseconds: None }
    }

    #[test]
    fn what_is_new_is_found_and_what_varies_is_not() {
        let steady = |by: f64| [100.0, 110.0, 95.0, 104.0, 99.0, 107.0].map(|count| count * by);
        let mut rows: Vec<[f64; 6]> = (1..10).map(|by| steady(f64::from(by))).collect();
        rows.push([0.0, 0.0, 0.0, 59.0, 59.0, 66.0]);
        let found = counts(&rows).test();
        assert_eq!(found.iter().map(|found| found.row).collect::<Vec<_>>(), [9]);
    }

    #[test]
    fn a_slow_run_is_the_machine_and_a_slow_side_is_not() {
        let rows: Vec<[f64; 6]> = (1..10)
            .map(|by| [100.0, 150.0, 100.0, 100.0, 100.0, 150.0].map(|count| count * f64::from(by)))
            .collect();
        let counts = counts(&rows);
        for row in counts.steady() {
            let (before, after) = row.split_at(3);
            assert!((before[0] - before[1]).abs() < 1e-6 && (before[0] - after[0]).abs() < 1e-6);
        }
        assert!(counts.test().is_empty());
    }
}
