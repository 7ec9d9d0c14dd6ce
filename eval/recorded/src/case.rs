//! One case: the runs of a program split into two sides at random, and what is planted into one of them.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use perfblame_analysis::Loaded;
use perfblame_cct::{RunSet, Side, Sides};
use perfblame_eval_planted::plant::{Costs, Planted, PlantedKind, Wanted, plant};
use perfblame_eval_planted::random::Random;

use crate::pool::Pool;
use crate::splice::{self, Addition};

/// What a case is to be. Its text form is its name: `busy/lua/self-all/0.5/5+5/17`.
///
/// The runs take no part in what is drawn: the case with three runs a side is that with two and one more run each, so
/// that power by number of runs compares like with like.
#[derive(Clone, PartialEq, PartialOrd, Debug)]
pub struct Spec {
    pub condition: String,
    pub program: String,
    pub kind: PlantedKind,
    /// Planted effect, in thousandths of the whole before; 0 where none is planted.
    pub per_mille: u32,
    /// Runs on each side.
    pub runs: (usize, usize),
    pub index: usize,
}

impl Spec {
    /// The planted effect in percent.
    pub fn percent(&self) -> f64 {
        f64::from(self.per_mille) / 10.0
    }

    /// The name of what is drawn, without the number of runs.
    fn drawn(&self) -> String {
        let Self { condition, program, kind, index, .. } = self;
        format!("{condition}/{program}/{}/{}/{index}", kind.name(), self.percent())
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { condition, program, kind, runs, index, .. } = self;
        let (kind, percent) = (kind.name(), self.percent());
        write!(f, "{condition}/{program}/{kind}/{percent}/{}+{}/{index}", runs.0, runs.1)
    }
}

impl FromStr for Spec {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let [condition, program, kind, percent, runs, index] = parts.as_slice() else {
            bail!("a case is named like busy/lua/self-all/0.5/5+5/17, not {text}");
        };
        let kind =
            PlantedKind::from_name(kind).with_context(|| format!("no kind is called {kind}"))?;
        let (before, after) = runs.split_once('+').context("runs are written as 5+5")?;
        Ok(Self {
            condition: (*condition).to_owned(),
            program: (*program).to_owned(),
            kind,
            per_mille: (percent.parse::<f64>()? * 10.0).round() as u32,
            runs: (before.parse()?, after.parse()?),
            index: index.parse()?,
        })
    }
}

/// Contexts are planted in that have so many samples in this many runs: cheaper ones are `unseen`.
const SEEN_IN_RUNS: f64 = 3.0;

/// A case with everything decided.
pub struct Case<'a> {
    pub spec: Spec,
    pub pool: &'a Pool,
    pub planted: Planted,
    /// Runs of the pool, by side.
    pub runs: Sides<Vec<usize>>,
    /// Functions whose variation the planted cost has, as rows of the pool's functions.
    pub donors: Vec<usize>,
    seed: u64,
}

impl<'a> Case<'a> {
    /// Decides everything about a case; none when the program has no place for it, or too few runs.
    pub fn draw(spec: &Spec, seed: u64, pool: &'a Pool) -> Option<Self> {
        let mut random = Random::named(seed, &spec.drawn());
        let mut order: Vec<usize> = (0..pool.runs()).collect();
        random.shuffle(&mut order);
        let (before, after) = order.split_at(order.len() / 2);
        let wanted = Wanted {
            kind: spec.kind,
            costs: Costs::AsRecorded,
            size: f64::from(spec.per_mille) / 1000.0,
            places: false,
            one_sample: 1.0 / (pool.samples() * SEEN_IN_RUNS),
        };
        let planted = plant(&pool.tree, &wanted, &mut random)?;
        let donors = donors(pool, &planted, &mut random);
        let runs = Sides {
            before: before.get(..spec.runs.0)?.to_vec(),
            after: after.get(..spec.runs.1)?.to_vec(),
        };
        Some(Self { spec: spec.clone(), pool, planted, runs, donors, seed })
    }

    /// How much the total of a run changes, in the unit that users see.
    pub fn change(&self) -> f64 {
        let Planted { before, after, .. } = &self.planted;
        let metric = &self.pool.set.metrics[self.pool.metric.index()];
        (after.total() - before.total()) / self.pool.runs() as f64 * metric.shown(1)
    }

    /// By how many standard errors the planted contexts differ for somebody who knows them and how all recorded runs
    /// vary there; none where nothing is added. Whoever knows the rest of a run, too, knows how fast the machine was in
    /// it: the better of both ways counts.
    pub fn standard_errors(&self) -> Option<f64> {
        let (pool, planted) = (self.pool, &self.planted);
        let added = splice::added(planted);
        let whole: f64 = added.iter().map(|(_, cost)| cost).sum();
        if whole <= 0.0 || self.donors.is_empty() {
            return None;
        }
        let mut is_planted = vec![false; planted.after.nodes.len()];
        for (row, _) in &added {
            is_planted[*row] = true;
        }
        let lent = self.lent();
        let (mut own, mut rest, mut grown) = (Vec::new(), Vec::new(), Vec::new());
        for (number, run) in pool.set.runs.iter().enumerate() {
            let (mut inside, mut outside) = (0.0, 0.0);
            for (node, _, value) in run.cells.of(pool.metric) {
                match pool.contexts[node.index()] {
                    Some(row) if is_planted[row] => {
                        inside += value as f64 * splice::kept(pool, planted, Side::Before, row);
                    }
                    _ => outside += value as f64,
                }
            }
            own.push(inside);
            rest.push(outside);
            grown.push(inside + whole / pool.runs() as f64 * relative(&lent, number));
        }
        let (before, after) = (self.spec.runs.0 as f64, self.spec.runs.1 as f64);
        let errors = |own: &[f64], grown: &[f64]| {
            let ((low, noise), (high, more)) = (moments(own), moments(grown));
            (high - low) / (noise / before + more / after).sqrt()
        };
        let typical = moments(&rest).0;
        let steady = |costs: &[f64]| -> Vec<f64> {
            let paired = costs.iter().zip(&rest);
            paired.map(|(cost, rest)| cost * typical / rest.max(1e-9)).collect()
        };
        Some(errors(&own, &grown).max(errors(&steady(&own), &steady(&grown))))
    }

    /// What the functions that lend their variation cost in each recorded run.
    fn lent(&self) -> Vec<f64> {
        let own = &self.pool.own;
        (0..self.pool.runs())
            .map(|run| self.donors.iter().map(|donor| own[*donor][run]).sum())
            .collect()
    }

    /// The runs of a side, as if they had been recorded so.
    pub fn side(&self, side: Side) -> RunSet {
        let pool = self.pool;
        let lent = self.lent();
        let added = |run: usize| {
            if side == Side::Before || self.donors.is_empty() {
                return Addition { relative: 0.0, calls: false };
            }
            let calls = self.spec.kind == PlantedKind::MoreCalls;
            Addition { relative: relative(&lent, run), calls }
        };
        let runs: Vec<splice::PlantedRun> = (self.runs[side].iter())
            .map(|run| {
                let name = format!("run {run} of {} {}", side.name(), self.spec.drawn());
                let mut random = Random::named(self.seed, &name);
                splice::run(pool, &self.planted, side, *run, &added(*run), &mut random)
            })
            .collect();
        splice::assemble(pool, &self.planted, side, runs)
    }

    /// Both sides, as files of them would be loaded.
    pub fn sides(&self) -> Sides<Loaded> {
        Sides::of(|side| {
            let name = |run: &usize| format!("{}/run-{}", side.name(), run + 1);
            Loaded { names: self.runs[side].iter().map(name).collect(), runs: self.side(side) }
        })
    }
}

/// The cost of a run relative to the mean of all runs.
fn relative(costs: &[f64], run: usize) -> f64 {
    let mean = costs.iter().sum::<f64>() / costs.len().max(1) as f64;
    if mean > 0.0 { costs[run] / mean } else { 1.0 }
}

/// Mean and variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (values.len().max(2) - 1) as f64)
}

/// How many times as much or as little as the planted cost a function may cost to lend its variation.
const ALIKE: f64 = 2.0;

/// Real functions of the program that together cost about what is planted: samples of what costs less vary more. Mostly
/// one function; several where none is as heavy. None where nothing is added.
fn donors(pool: &Pool, planted: &Planted, random: &mut Random) -> Vec<usize> {
    let amount = splice::added(planted).iter().map(|(_, cost)| cost).sum::<f64>();
    if amount <= 0.0 {
        return Vec::new();
    }
    let culprits: Vec<usize> =
        planted.causes.iter().flatten().map(|row| planted.after.nodes[*row].function).collect();
    let cost = |function: usize| pool.own[function].iter().sum::<f64>();
    let mut functions: Vec<usize> = (0..pool.tree.functions.len())
        .filter(|row| pool.tree.functions[*row].is_code() && cost(*row) > 0.0)
        .filter(|row| !culprits.contains(row))
        .collect();
    let far = |row: usize| (cost(row) / amount).ln().abs();
    let alike: Vec<usize> =
        functions.iter().copied().filter(|row| far(*row) <= ALIKE.ln()).collect();
    if let Some(one) = random.pick(&alike) {
        return vec![*one];
    }
    random.shuffle(&mut functions);
    let heavier = functions.iter().copied().filter(|row| cost(*row) > amount);
    let lightest = heavier.min_by(|one, other| cost(*one).total_cmp(&cost(*other)));
    let whole: f64 = functions.iter().map(|row| cost(*row)).sum();
    if let Some(lightest) = lightest.filter(|_| whole > amount) {
        return vec![lightest];
    }
    let mut sum = 0.0;
    let reaches = |row: &usize| {
        let goes_on = sum < amount;
        sum += cost(*row);
        goes_on
    };
    functions.into_iter().take_while(reaches).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_all_about_a_case() {
        let name = "busy/lua/self-all/0.5/5+3/17";
        let spec: Spec = name.parse().unwrap();
        assert_eq!(spec.to_string(), name);
        assert_eq!((spec.per_mille, spec.runs, spec.index), (5, (5, 3), 17));
        assert!("lua/self-all/5".parse::<Spec>().is_err());
    }
}
