//! One case: its name decides everything about it, given the seed.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use perfblame_cct::Sides;

use crate::base::Base;
use crate::files::{self, FileFormat};
use crate::noise::{self, Noise, Ranges};
use crate::plant::{Costs, Planted, PlantedKind, Wanted, plant};
use crate::random::Random;

/// What a case is to be. Its text form is its name: `self-all/5/5+5/17`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Spec {
    pub kind: PlantedKind,
    /// Planted effect, in percent of the whole before; 0 where none is planted.
    pub percent: u32,
    /// Runs before and after.
    pub runs: (usize, usize),
    pub index: usize,
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, percent, runs, index } = self;
        write!(f, "{}/{percent}/{}+{}/{index}", kind.name(), runs.0, runs.1)
    }
}

impl FromStr for Spec {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let [kind, percent, runs, index] = parts.as_slice() else {
            bail!("a case is named like self-all/5/5+5/17, not {text}");
        };
        let kind =
            PlantedKind::from_name(kind).with_context(|| format!("no kind is called {kind}"))?;
        let (before, after) = runs.split_once('+').context("runs are written as 5+5")?;
        Ok(Self {
            kind,
            percent: percent.parse()?,
            runs: (before.parse()?, after.parse()?),
            index: index.parse()?,
        })
    }
}

/// A case with everything decided but the runs.
pub struct Case {
    pub spec: Spec,
    pub base: String,
    pub format: FileFormat,
    pub planted: Planted,
    pub noise: Noise,
    seed: u64,
}

/// How many trees and formats are tried until one has a place for what is to be planted.
const TRIES: usize = 300;

impl Case {
    /// Decides everything about a case.
    pub fn draw(spec: Spec, seed: u64, bases: &[Base], ranges: &Ranges) -> Result<Self> {
        let mut random = Random::named(seed, &format!("case {spec}"));
        for _ in 0..TRIES {
            let base = random.pick(bases).context("no base trees")?;
            let format = *random.pick(&FileFormat::ALL).context("no formats")?;
            let Some(program) = base.program(format) else { continue };
            let mut noise = ranges.draw(&mut random);
            let samples = noise.samples * spec.runs.0 as f64;
            let wanted = Wanted {
                kind: spec.kind,
                costs: Costs::Redrawn,
                size: f64::from(spec.percent) / 100.0,
                places: format.tells_columns(),
                one_sample: 1.0 / samples,
            };
            let Some(planted) = plant(program, &wanted, &mut random) else { continue };
            noise.stray = ranges.strays(&planted.before, &mut random);
            keep_sane(&mut noise, &planted);
            return Ok(Self { spec, base: base.name.clone(), format, planted, noise, seed });
        }
        bail!("no base tree has a place for {spec}")
    }

    /// By how many standard errors the least planted effect stands out for somebody who knows where to look and how runs
    /// scatter; none where nothing is planted. What stands out by less than about four cannot be told from chance
    /// among hundreds of places.
    pub fn standard_errors(&self) -> Option<f64> {
        let Planted { before, after, causes, .. } = &self.planted;
        let Noise { function, context, burst, samples, .. } = self.noise;
        let total = before.total();
        let changed = |node: usize| {
            let known = before.nodes.get(node).map_or(0.0, |node| node.weight);
            (after.nodes[node].weight - known).abs() > 1e-12 * total
        };
        let each = causes.iter().map(|contexts| {
            let below = contexts.iter().flat_map(|top| after.subtree(*top));
            let mut nodes: Vec<usize> = below.filter(|node| changed(*node)).collect();
            nodes.sort_unstable();
            nodes.dedup();
            let mut inside = vec![false; after.nodes.len()];
            let mut effect = 0.0;
            for node in nodes {
                inside[node] = true;
                let known = before.nodes.get(node).map_or(0.0, |node| node.weight);
                effect += (after.nodes[node].weight - known) / total;
            }
            // Cost and variance of what changed, and of the rest, by which the speed of the machine is known.
            let mut own = vec![[0.0; 2]; after.functions.len()];
            let (mut cost, mut variance) = ([0.0; 2], [0.0; 2]);
            for (row, node) in after.nodes.iter().enumerate() {
                let known = before.nodes.get(row).map_or(0.0, |node| node.weight);
                let weight = known.midpoint(node.weight) / total;
                if after.function_of(row).is_pseudo() {
                    continue;
                }
                let part = usize::from(!inside[row]);
                own[node.function][part] += weight;
                cost[part] += weight;
                variance[part] += (context * weight).powi(2) + burst * weight / samples;
            }
            for function_cost in own {
                for part in 0..2 {
                    variance[part] += (function * function_cost[part]).powi(2);
                }
            }
            let speed = variance[1] / cost[1].max(1e-9).powi(2);
            let run = variance[0] + cost[0].powi(2) * speed;
            let runs = 1.0 / self.spec.runs.0 as f64 + 1.0 / self.spec.runs.1 as f64;
            effect / (run * runs).sqrt()
        });
        each.reduce(f64::min)
    }

    /// Writes its runs: `before/01.…`, `after/01.…`.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let mut random = Random::named(self.seed, &format!("runs {}", self.spec));
        let typical = self.planted.before.total();
        let work = self.noise.work.unwrap_or(Sides::same(1.0));
        let unit = work.before;
        let sides = [
            ("before", &self.planted.before, self.spec.runs.0, work.before / unit),
            ("after", &self.planted.after, self.spec.runs.1, work.after / unit),
        ];
        for (name, program, count, work) in sides {
            let folder = folder.join(name);
            std::fs::create_dir_all(&folder)?;
            let how = (typical, self.format.tells_period());
            let runs = noise::runs(program, &self.noise, (count, work), how, &mut random);
            for (number, run) in (1..).zip(&runs) {
                let path = folder.join(format!("{number:02}.{}", self.format.extension()));
                files::write(&path, self.format, program, run, &mut random)?;
            }
        }
        Ok(())
    }
}

/// Leaves out subtrees that hang elsewhere now and then when they hold what is planted, or when what was planted
/// would make a ring of them.
fn keep_sane(noise: &mut Noise, planted: &Planted) {
    let after = &planted.after;
    let mut stray = std::mem::take(&mut noise.stray);
    stray.retain(|(top, caller, _)| {
        let function = after.nodes[*top].function;
        let mut causes = planted.causes.iter().flatten();
        let holds_cause = causes.any(|node| after.path(*node).contains(top));
        let taken =
            |node: &crate::program::Node| node.parent == Some(*caller) && node.function == function;
        !holds_cause && !after.path(*caller).contains(top) && !after.nodes.iter().any(taken)
    });
    let tops: Vec<usize> = stray.iter().map(|(top, _, _)| *top).collect();
    stray.retain(|(top, caller, _)| {
        let above = after.path(*caller);
        !tops.iter().any(|other| other != top && above.contains(other))
    });
    noise.stray = stray;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_all_about_a_case() {
        let spec = Spec { kind: PlantedKind::SelfAll, percent: 5, runs: (5, 3), index: 17 };
        assert_eq!(spec.to_string(), "self-all/5/5+3/17");
        assert_eq!("self-all/5/5+3/17".parse::<Spec>().unwrap(), spec);
        assert!("self-all/5".parse::<Spec>().is_err());
    }
}
