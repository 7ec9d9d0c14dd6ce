//! How much speaks for two functions being one.

use hashbrown::HashMap;
use perfblame_cct::{Side, Sides};

use super::super::Why;
use super::super::call_graph::CallGraph;
use super::super::functions::Naming;
use super::super::places::{Fit, Places};
use super::super::work::{FunctionRow, Work};
use super::features::{Feature, Features, UNIT};

/// A candidate and what was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scored {
    pub before: FunctionRow,
    pub after: FunctionRow,
    /// From 0 to 1.
    pub score: f64,
    /// What it must reach at least, whatever the round asks for.
    pub bar: f64,
    pub why: Why,
}

/// What a feature weighs: the fewer open functions have it, the more it tells. Functions of one component are compared
/// among themselves, all others with everybody.
pub(super) struct Scale {
    at_home: HashMap<(Feature, u32), u32>,
    anywhere: HashMap<Feature, u32>,
}

impl Scale {
    pub fn of(features: &Sides<Features>) -> Self {
        let mut scale = Self { at_home: HashMap::new(), anywhere: HashMap::new() };
        for features in features {
            let mut sums: HashMap<Feature, u32> = HashMap::new();
            for ((feature, home), count) in features.counts() {
                let known = scale.at_home.entry((feature, home)).or_default();
                *known = count.max(*known);
                let sum = sums.entry(feature).or_default();
                *sum += count;
                let known = scale.anywhere.entry(feature).or_default();
                *known = (*sum).max(*known);
            }
        }
        scale
    }

    /// The worth of a feature among the functions of a component, or among all.
    fn of_feature(&self, feature: Feature, home: Option<u32>) -> u64 {
        let count = match home {
            Some(home) => self.at_home.get(&(feature, home)),
            None => self.anywhere.get(&feature),
        };
        let sharing = count.copied().unwrap_or(1).max(1);
        u64::from(UNIT) / (1 + u64::from(sharing.ilog2()))
    }
}

/// One caller that nobody else has in common is worth 1; with so much evidence a perfect likeness is half sure.
const HALF_SURE: f64 = 0.5;

/// Without a name or a place in common, one like neighbour is not enough.
const RENAMED_BAR: f64 = 0.6;

/// A part of all weight that nobody misses by chance.
const NOT_BY_CHANCE: f64 = 0.005;

/// The lighter of two has at least this part of the heavier.
const LIKE_WEIGHTS: f64 = 0.6;

/// What is known in one round.
pub(super) struct Evidence<'a> {
    pub graphs: &'a Sides<CallGraph>,
    pub features: Sides<Features>,
    pub scale: Scale,
    pub places: Places,
}

pub(super) fn score(
    work: &Work<'_>,
    evidence: &Evidence<'_>,
    before: FunctionRow,
    after: FunctionRow,
) -> Scored {
    let Evidence { graphs, features, scale, places } = evidence;
    let home = work.home.before[before as usize];
    let same_home = home == work.home.after[after as usize];
    let home = (same_home && home != 0).then_some(home);
    // Callers and callees, each: what both have, and what either has, as weighted Jaccard sets.
    let mut shared = [0u64; 2];
    let mut either = [0u64; 2];
    for (feature, weights) in both(features.before.of_row(before), features.after.of_row(after)) {
        let kind = (feature & 1) as usize;
        let worth = scale.of_feature(feature, home);
        shared[kind] += u64::from(weights.before.min(weights.after)) * worth;
        either[kind] += u64::from(weights.before.max(weights.after)) * worth;
    }
    let (mut inside, mut outside) = (0.0, 0.0);
    for kind in 0..2 {
        let known = [features.before.known(before, kind), features.after.known(after, kind)];
        // Neighbours that have no class yet speak neither for nor against.
        let part = match known {
            [Some(0), _] | [_, Some(0)] => continue,
            [Some(one), Some(other)] => f64::from(one.min(other)) / f64::from(UNIT),
            _ => 1.0,
        };
        let unit = f64::from(UNIT) * f64::from(UNIT);
        inside += part * shared[kind] as f64 / unit;
        outside += part * either[kind] as f64 / unit;
    }
    let likeness = if outside > 0.0 { inside / outside } else { 0.0 };
    let neighbours = likeness * inside / (inside + HALF_SURE);
    let why = match shared {
        [_, 0] => Why::Callers,
        [0, _] => Why::Callees,
        _ => Why::Neighbours,
    };
    let fit = places.fit(work, before, after);
    let mut score = neighbours;
    // What is left of the doubt, or of the score.
    let sure =
        |score: f64, left: f64| if score > 0.05 { 1.0 - (1.0 - score) * left } else { score };
    score = match fit {
        Fit::Unknown => score,
        Fit::Exact => sure(score, 0.2),
        Fit::Likely => sure(score, 0.5),
        Fit::Between => sure(score, 0.85),
        Fit::Against => score * 0.3,
    };
    let (was, is) = (work.fact(Side::Before, before), work.fact(Side::After, after));
    let mut bar = if matches!(fit, Fit::Unknown | Fit::Against) { RENAMED_BAR } else { 0.0 };
    let naming = (work.naming.before[before as usize], work.naming.after[after as usize]);
    score = match naming {
        (Naming::Chosen, Naming::Chosen) if work.functions.base(was) == work.functions.base(is) => {
            bar = 0.0;
            sure(score, if same_home { 0.5 } else { 0.7 })
        }
        (Naming::Chosen, Naming::Chosen) => {
            bar = RENAMED_BAR;
            let like = alike(&work.functions.base_name(was), &work.functions.base_name(is));
            score * if like { 0.95 } else { 0.8 }
        }
        (Naming::MadeUp, Naming::MadeUp) if was.name == is.name => sure(score, 0.9),
        (one, other) if one == other => score,
        _ => score * 0.9,
    };
    if !same_home {
        score *= 0.85;
    }
    let (share, other) = (graphs.before.share(before), graphs.after.share(after));
    let ratio = share.min(other) / share.max(other).max(f64::MIN_POSITIVE);
    // Chance leaves out light functions on one side or the other, but none that would be as heavy as the other's.
    if fit == Fit::Unknown && ratio >= LIKE_WEIGHTS && share.min(other) >= NOT_BY_CHANCE {
        score = sure(score, 0.7);
    }
    // How heavy it is can change, and is what is asked in the end; it counts a little, more where names say nothing.
    let part = if naming.0 == Naming::Chosen && naming.1 == Naming::Chosen { 0.1 } else { 0.15 };
    score *= 1.0 - part * (1.0 - ratio);
    let why = if fit == Fit::Exact || fit == Fit::Likely && score < 0.8 { Why::Place } else { why };
    Scored { before, after, score, bar, why }
}

/// The features of two functions side by side, with 0 where one lacks it.
fn both<'a>(
    mut before: &'a [(Feature, u32)],
    mut after: &'a [(Feature, u32)],
) -> impl Iterator<Item = (Feature, Sides<u32>)> + 'a {
    std::iter::from_fn(move || {
        let first =
            |list: &[(Feature, u32)]| list.first().map_or(Feature::MAX, |(feature, _)| *feature);
        let feature = first(before).min(first(after));
        let mut weights = Sides::same(0);
        for (side, list) in [(Side::Before, &mut before), (Side::After, &mut after)] {
            if let Some(((_, weight), rest)) =
                list.split_first().filter(|(row, _)| row.0 == feature)
            {
                weights[side] = *weight;
                *list = rest;
            }
        }
        (feature != Feature::MAX).then_some((feature, weights))
    })
}

/// True for names that have most of their beginning and end in common: `parseHeader`, `parseHeaders`.
fn alike(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let shorter = one.len().min(other.len());
    let head = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let tail = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let common = head + tail.min(shorter - head);
    common * 10 >= one.len().max(other.len()) * 6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_alike() {
        assert!(alike("parseHeader", "parseHeaders"));
        assert!(alike("readAll", "readAllV2"));
        assert!(!alike("parseHeader", "writeBody"));
        assert!(alike("", ""));
    }

    #[test]
    fn features_stand_side_by_side() {
        let found: Vec<_> = both(&[(1, 10), (3, 30)], &[(2, 20), (3, 33)]).collect();
        assert_eq!(
            found,
            [(1, Sides::new(10, 0)), (2, Sides::new(0, 20)), (3, Sides::new(30, 33))]
        );
    }
}
