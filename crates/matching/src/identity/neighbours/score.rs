//! How much speaks for two functions being one.

use hashbrown::HashMap;

use super::super::Why;
use super::super::call_graph::CallGraph;
use super::super::functions::Naming;
use super::super::places::{Fit, Places};
use super::super::work::{Row, Work};
use super::features::{Feature, Features, UNIT};

/// A candidate and what was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scored {
    pub before: Row,
    pub after: Row,
    /// From 0 to 1.
    pub score: f64,
    /// What it must reach at least, whatever the round asks for.
    pub bar: f64,
    pub why: Why,
}

/// What a feature weighs: the fewer open functions have it, the more it tells.
pub(super) struct Scale(HashMap<Feature, u32>);

impl Scale {
    pub fn of(features: &[Features; 2]) -> Self {
        let mut most: HashMap<Feature, u32> = HashMap::new();
        for (feature, count) in features.iter().flat_map(Features::counts) {
            let known = most.entry(feature).or_default();
            *known = count.max(*known);
        }
        Self(most)
    }

    fn of_feature(&self, feature: Feature) -> u64 {
        let sharing = self.0.get(&feature).copied().unwrap_or(1).max(1);
        u64::from(UNIT) / (1 + u64::from(sharing.ilog2()))
    }
}

/// One caller that nobody else has in common is worth 1; with so much evidence a perfect likeness is half sure.
const HALF_SURE: f64 = 0.5;

/// Two names that somebody chose and that differ need more than one like neighbour.
const RENAMED_BAR: f64 = 0.6;

pub(super) fn score(
    work: &Work<'_>,
    graphs: &[CallGraph; 2],
    features: &[Features; 2],
    scale: &Scale,
    places: &Places,
    before: Row,
    after: Row,
) -> Scored {
    // Callers and callees, each: what both have, and what either has, as weighted Jaccard sets.
    let mut shared = [0u64; 2];
    let mut either = [0u64; 2];
    for (feature, weights) in both(features[0].of_row(before), features[1].of_row(after)) {
        let kind = (feature & 1) as usize;
        let worth = scale.of_feature(feature);
        shared[kind] += u64::from(weights[0].min(weights[1])) * worth;
        either[kind] += u64::from(weights[0].max(weights[1])) * worth;
    }
    let (mut inside, mut outside, mut evidence) = (0.0, 0.0, 0.0);
    for kind in 0..2 {
        let known = [features[0].known(before, kind), features[1].known(after, kind)];
        // Neighbours that have no class yet speak neither for nor against.
        let part = match known {
            [Some(0), _] | [_, Some(0)] => continue,
            [Some(one), Some(other)] => f64::from(one.min(other)) / f64::from(UNIT),
            _ => 1.0,
        };
        let unit = f64::from(UNIT) * f64::from(UNIT);
        inside += part * shared[kind] as f64 / unit;
        outside += part * either[kind] as f64 / unit;
        evidence += part * shared[kind] as f64 / unit;
    }
    let likeness = if outside > 0.0 { inside / outside } else { 0.0 };
    let neighbours = likeness * evidence / (evidence + HALF_SURE);
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
    let (was, is) = (work.fact(0, before), work.fact(1, after));
    let same_home = work.home[0][before as usize] == work.home[1][after as usize];
    let mut bar = 0.0;
    score = match (was.naming, is.naming) {
        (Naming::Chosen, Naming::Chosen) if was.base == is.base => {
            sure(score, if same_home { 0.5 } else { 0.7 })
        }
        (Naming::Chosen, Naming::Chosen) => {
            bar = RENAMED_BAR;
            let like = alike(work.functions.base(was), work.functions.base(is));
            score * if like { 0.95 } else { 0.8 }
        }
        (Naming::MadeUp, Naming::MadeUp) if was.name == is.name => sure(score, 0.9),
        (one, other) if one == other => score,
        _ => score * 0.9,
    };
    if !same_home {
        score *= 0.85;
    }
    let shares = [graphs[0].share(before), graphs[1].share(after)];
    let ratio = shares[0].min(shares[1]) / shares[0].max(shares[1]).max(f64::MIN_POSITIVE);
    score *= 0.9 + 0.1 * ratio;
    let why = if fit == Fit::Exact || fit == Fit::Likely && score < 0.8 { Why::Place } else { why };
    Scored { before, after, score, bar, why }
}

/// The features of two functions side by side, with 0 where one lacks it.
fn both<'a>(
    mut one: &'a [(Feature, u32)],
    mut other: &'a [(Feature, u32)],
) -> impl Iterator<Item = (Feature, [u32; 2])> + 'a {
    std::iter::from_fn(move || {
        let next =
            [one.first(), other.first()].map(|first| first.map_or(Feature::MAX, |row| row.0));
        let feature = next[0].min(next[1]);
        let mut weights = [0; 2];
        for (side, list) in [&mut one, &mut other].into_iter().enumerate() {
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
        assert_eq!(found, [(1, [10, 0]), (2, [0, 20]), (3, [30, 33])]);
    }
}
