//! What whole runs differ by: a busy machine or a colder cache makes every function slower alike.
//!
//! Such a factor hides a small regression and fakes a large one. It is taken out of each run before functions are
//! compared, as far as the runs of one side show that it varies; a factor between the sides that is larger than
//! anything seen within them is left in, since then it is a finding.

use perfblame_cct::Sides;

use super::costs::Costs;

/// What to multiply the costs of each run with.
pub(super) struct Scale {
    /// By run, the before side's first.
    pub(super) factors: Vec<f64>,
    /// The standard error of the factor between the sides, as a part of 1.
    pub(super) error: f64,
    /// After against before, as a factor, over all functions alike.
    pub(super) common: f64,
}

/// How much two runs of one function differ, whatever else is alike.
const OWN_SPREAD: f64 = 0.05;
/// A side's factor is believed up to so many standard deviations of the factors within sides.
const BELIEVED: f64 = 3.0;

/// Finds the factors.
pub(super) fn scale(costs: &Costs) -> Scale {
    let count = costs.count();
    let mut factors = vec![1.0; count];
    let none = |factors| Scale { factors, error: 0.0, common: 1.0 };
    if costs.runs.iter().any(|runs| *runs == 0) {
        return none(factors);
    }
    let sides = Sides { before: 0..costs.runs.before, after: costs.runs.before..count };
    let means: Vec<Sides<f64>> = (0..costs.classes)
        .map(|class| costs.sides(costs.of_class(class)).map(|side| side.mean))
        .collect();
    // Within the sides: each run against its side's mean.
    let (mut squares, mut freedom, mut logs) = (0.0, 0.0, vec![0.0; count]);
    for (side, runs) in sides.each() {
        if runs.len() < 2 {
            continue;
        }
        let mut errors = 0.0;
        for run in runs.clone() {
            let ratios =
                (0..costs.classes).map(|class| (costs.of_class(class)[run], means[class][side]));
            let (log, error) = common_ratio(costs.quantum, 1.0, ratios);
            logs[run] = log;
            errors += error * error;
        }
        let length = runs.len() as f64;
        let mean = runs.clone().map(|run| logs[run]).sum::<f64>() / length;
        let variance =
            runs.clone().map(|run| (logs[run] - mean).powi(2)).sum::<f64>() / (length - 1.0);
        // The part of their variance that is not error of measurement.
        let real = (1.0 - errors / length / variance.max(1e-300)).clamp(0.0, 1.0);
        for run in runs.clone() {
            logs[run] *= real;
        }
        squares += variance * real * (length - 1.0);
        freedom += length - 1.0;
    }
    for (factor, log) in factors.iter_mut().zip(&logs) {
        *factor = (-log).exp();
    }
    if freedom == 0.0 {
        return none(factors);
    }
    // Between the sides: never more than runs within a side make plausible.
    let between = squares / freedom * costs.runs.iter().map(|runs| 1.0 / *runs as f64).sum::<f64>();
    let fewest = *costs.runs.iter().min().unwrap_or(&1) as f64;
    let ratios = means.iter().map(|mean| (mean.after, mean.before));
    let (log, error) = common_ratio(costs.quantum, fewest, ratios);
    let believed = if between > 0.0 { log * between / (between + error * error) } else { 0.0 };
    let believed = believed.clamp(-BELIEVED * between.sqrt(), BELIEVED * between.sqrt());
    for run in sides.after.clone() {
        factors[run] *= (-believed).exp();
    }
    let error =
        if between > 0.0 { (1.0 / (1.0 / between + 1.0 / (error * error))).sqrt() } else { 0.0 };
    Scale { factors, error, common: log.exp() }
}

/// The logarithm of the ratio that most pairs (value, reference) have in common, and its standard error.
///
/// It is a median over functions, not over costs: one function that takes most of the time may be the very one that
/// changed. Functions count by how exactly their ratio is known, which sampling and their own spread limit.
fn common_ratio(quantum: f64, runs: f64, pairs: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let mut ratios: Vec<(f64, f64)> = Vec::new();
    for (value, reference) in pairs {
        // Too few samples have no logarithm worth the name.
        if value.min(reference) * runs <= 4.0 * quantum || value.min(reference) <= 0.0 {
            continue;
        }
        let variance =
            quantum / runs * (1.0 / value + 1.0 / reference) + 2.0 * OWN_SPREAD * OWN_SPREAD / runs;
        ratios.push(((value / reference).ln(), 1.0 / variance));
    }
    if ratios.len() < 5 {
        return (0.0, 1.0);
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = ratios.iter().map(|(_, weight)| weight).sum();
    let quantile = |share: f64| {
        let mut below = 0.0;
        for (log, weight) in &ratios {
            below += weight;
            if below >= share * total {
                return *log;
            }
        }
        ratios.last().map_or(0.0, |(log, _)| *log)
    };
    let median = quantile(0.5);
    // The error of a median, from the width of the middle half.
    let width = (quantile(0.75) - quantile(0.25)) / 1.349;
    let squares: f64 = ratios.iter().map(|(_, weight)| weight * weight).sum();
    let effective = total * total / squares;
    (median, (1.2533 * width / effective.sqrt()).max(1e-6))
}
