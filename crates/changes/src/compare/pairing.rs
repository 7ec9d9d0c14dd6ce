//! Which function before is which after.
//!
//! Passes from the surest to the least sure; each takes what the ones before it left. A pass is a key: functions with
//! equal keys pair up in their order. What then remains is held against each other by shared runs of tokens, looked
//! up in an index that leaves out runs that many bodies have.

use std::collections::VecDeque;
use std::hash::Hash;

use hashbrown::{HashMap, HashSet};
use perfblame_sides::{Side, Sides};

use super::Compared;
use super::shingles::{MIN_TOKENS, likeness, only_first, shared, shingles};
use crate::Addition;
use crate::source::{FunctionKind, SourceFunction, hash_text, mix};

/// A function by the row of its file and its row in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct FunctionId {
    pub file: usize,
    pub row: usize,
}

pub(super) struct Pair {
    pub before: FunctionId,
    pub after: FunctionId,
    pub certainty: f64,
}

/// A function without a partner.
pub(super) struct Single {
    pub function: FunctionId,
    /// The function on the other side that had or has the body, and which share of it.
    pub host: Option<(FunctionId, f64)>,
}

#[derive(Default)]
pub(super) struct Pairing {
    pub pairs: Vec<Pair>,
    /// Functions that are gone, and new ones.
    pub single: Sides<Vec<Single>>,
}

/// Bodies that are equal and this short are equal by chance, such as getters.
const CHANCE_TOKENS: usize = 12;
/// Likeness from which another name is a new name for the same; with the same name less is enough.
const ALIKE: f64 = 0.6;
const ALIKE_SAME_NAME: f64 = 0.4;
/// Share of a body that must have come from elsewhere; less when a call stands where it was.
const TAKEN: f64 = 0.6;
const TAKEN_AND_CALLED: f64 = 0.35;
/// A run of tokens that more bodies have says nothing.
const COMMON: usize = 16;
/// How many likely partners are looked at closely.
const CLOSELY: usize = 4;

/// Both sides' functions that have no partner yet.
struct Open<'a> {
    files: &'a [Compared<'a>],
    left: Sides<Vec<FunctionId>>,
    pairs: Vec<Pair>,
}

impl Pairing {
    pub fn of(files: &[Compared]) -> Self {
        let all = |side: Side| {
            let rows = files.iter().enumerate().flat_map(move |(file, compared)| {
                let count = compared.side(side).map_or(0, |side| side.functions.len());
                (0..count).map(move |row| FunctionId { file, row })
            });
            rows.collect()
        };
        let mut open = Open { files, left: Sides::of(all), pairs: Vec::new() };
        let overload = |function: &SourceFunction| {
            let signature = function.signature.as_deref().unwrap_or("");
            mix(function.key, hash_text(signature.as_bytes()))
        };
        // Within a file.
        open.pass(1.0, |id, it| Some((id.file, overload(it), it.exact)));
        open.pass(1.0, |id, it| Some((id.file, overload(it), it.loose)));
        let changed = open.counts(|id, it| (id.file, overload(it)));
        open.pass(1.0, |id, it| {
            let key = (id.file, overload(it));
            let numbered = it.kind != FunctionKind::Named;
            // Numbered ones in other numbers than before pair by likeness first.
            (!numbered || changed.get(&key).is_some_and(|count| count.before == count.after))
                .then_some(key)
        });
        let renamed = open.counts(|id, it| (id.file, it.key));
        open.pass(0.95, |id, it| {
            let key = (id.file, it.key);
            let single = renamed.get(&key) == Some(&Sides::same(1));
            (single && it.kind == FunctionKind::Named).then_some(key)
        });
        // Across files, by name and body.
        open.pass(1.0, |_, it| Some((overload(it), it.loose)));
        let long = |it: &SourceFunction| it.tokens.len() >= CHANCE_TOKENS;
        open.pass(0.98, |id, it| Some((id.file, it.simple, it.loose)));
        open.pass(0.95, |_, it| long(it).then_some((it.simple, it.loose)));
        open.pass(0.9, |id, it| long(it).then_some((id.file, it.loose)));
        open.pass(0.85, |_, it| long(it).then_some(it.loose));
        let moved = open.counts(|_, it| overload(it));
        open.by_likeness();
        open.pass(0.6, |_, it| {
            let key = overload(it);
            (it.kind == FunctionKind::Named && moved.get(&key) == Some(&Sides::same(1)))
                .then_some(key)
        });
        open.pass(0.5, |id, it| {
            (it.kind != FunctionKind::Named).then_some((id.file, overload(it)))
        });
        open.finish()
    }
}

impl<'a> Open<'a> {
    fn get(&self, side: Side, id: FunctionId) -> Option<&'a SourceFunction> {
        super::get(self.files, side, id)
    }

    /// Pairs functions with equal keys in their order.
    fn pass<K: Hash + Eq>(
        &mut self,
        certainty: f64,
        key: impl Fn(FunctionId, &SourceFunction) -> Option<K>,
    ) {
        if self.left.before.is_empty() || self.left.after.is_empty() {
            return;
        }
        let mut waiting: HashMap<K, VecDeque<FunctionId>> = HashMap::new();
        for &id in &self.left.before {
            if let Some(key) = self.get(Side::Before, id).and_then(|it| key(id, it)) {
                waiting.entry(key).or_default().push_back(id);
            }
        }
        let mut taken = HashSet::new();
        let after = std::mem::take(&mut self.left.after);
        for id in after {
            let key = self.get(Side::After, id).and_then(|it| key(id, it));
            let partner = key.and_then(|key| waiting.get_mut(&key)?.pop_front());
            match partner {
                Some(before) if self.same_language(before, id) => {
                    taken.insert(before);
                    self.pairs.push(Pair { before, after: id, certainty });
                }
                _ => self.left.after.push(id),
            }
        }
        self.left.before.retain(|id| !taken.contains(id));
    }

    fn same_language(&self, before: FunctionId, after: FunctionId) -> bool {
        let language = |side, id: FunctionId| {
            self.files.get(id.file).and_then(|file| file.side(side)).map(|file| file.language)
        };
        language(Side::Before, before) == language(Side::After, after)
    }

    /// How many open functions have a key, before and after.
    fn counts<K: Hash + Eq>(
        &self,
        key: impl Fn(FunctionId, &SourceFunction) -> K,
    ) -> HashMap<K, Sides<u32>> {
        let mut counts: HashMap<K, Sides<u32>> = HashMap::new();
        for (side, left) in self.left.each() {
            for &id in left {
                if let Some(it) = self.get(side, id) {
                    counts.entry(key(id, it)).or_default()[side] += 1;
                }
            }
        }
        counts
    }

    fn runs(&self, side: Side) -> Vec<Vec<u64>> {
        let runs = |id: &FunctionId| {
            let tokens = self.get(side, *id).map_or(&[][..], |it| &it.tokens[..]);
            if tokens.len() < MIN_TOKENS { Vec::new() } else { shingles(tokens) }
        };
        self.left[side].iter().map(runs).collect()
    }

    fn by_likeness(&mut self) {
        if self.left.before.is_empty() || self.left.after.is_empty() {
            return;
        }
        let Sides { before, after } = Sides::of(|side| self.runs(side));
        let index = index(&before);
        let mut likely: Vec<(f64, bool, usize, usize)> = Vec::new();
        for (row, runs) in after.iter().enumerate() {
            let Some(new) = self.get(Side::After, self.left.after[row]) else { continue };
            for partner in candidates(&index, runs) {
                let Some(old) = self.get(Side::Before, self.left.before[partner]) else { continue };
                if !self.same_language(self.left.before[partner], self.left.after[row]) {
                    continue;
                }
                let same_name = old.simple == new.simple;
                let score = likeness(&before[partner], runs);
                if score >= if same_name { ALIKE_SAME_NAME } else { ALIKE } {
                    likely.push((score, same_name, partner, row));
                }
            }
        }
        likely.sort_by(|one, other| {
            let by_score = other.0.total_cmp(&one.0).then(other.1.cmp(&one.1));
            by_score.then((one.3, one.2).cmp(&(other.3, other.2)))
        });
        let mut old_taken = vec![false; before.len()];
        let mut new_taken = vec![false; after.len()];
        for (certainty, _, old, new) in likely {
            if old_taken[old] || new_taken[new] {
                continue;
            }
            (old_taken[old], new_taken[new]) = (true, true);
            self.pairs.push(Pair {
                before: self.left.before[old],
                after: self.left.after[new],
                certainty,
            });
        }
        keep(&mut self.left.before, &old_taken);
        keep(&mut self.left.after, &new_taken);
    }

    fn finish(self) -> Pairing {
        let single = Sides::of(|side| self.hosts(side));
        let mut pairs = self.pairs;
        pairs.sort_by_key(|pair| (pair.after, pair.before));
        Pairing { pairs, single }
    }

    /// For functions that are new or gone: whose body theirs was or became a part of.
    fn hosts(&self, side: Side) -> Vec<Single> {
        let (ids, other_side) = (&self.left[side], side.other());
        // Only what a host lost, or gained, can have gone elsewhere, or come from there.
        let mut hosts: Vec<(FunctionId, Option<FunctionId>)> = Vec::new();
        for pair in &self.pairs {
            let (own, there) = match side {
                Side::After => (pair.before, pair.after),
                Side::Before => (pair.after, pair.before),
            };
            let (one, other) = (self.get(other_side, own), self.get(side, there));
            if one.map(|it| it.loose) != other.map(|it| it.loose) {
                hosts.push((own, Some(there)));
            }
        }
        hosts.extend(self.left[other_side].iter().map(|id| (*id, None)));
        hosts.sort_unstable();
        let wanted = !ids.is_empty() && !hosts.is_empty();
        let lost: Vec<Vec<u64>> = hosts
            .iter()
            .filter(|_| wanted)
            .map(|(host, there)| {
                let tokens = |side, id| self.get(side, id).map_or(&[][..], |it| &it.tokens[..]);
                let own = shingles(tokens(other_side, *host));
                match there {
                    Some(there) => only_first(&own, &shingles(tokens(side, *there))),
                    None => own,
                }
            })
            .collect();
        let index = index(&lost);
        let single = |id: &FunctionId| {
            let function = self.get(side, *id)?;
            if function.tokens.len() < MIN_TOKENS || function.kind == FunctionKind::Closure {
                return None;
            }
            let runs = shingles(&function.tokens);
            let mut best: Option<(f64, usize)> = None;
            for row in candidates(&index, &runs) {
                let (host, there) = hosts[row];
                let share = shared(&runs, &lost[row]) as f64 / runs.len().max(1) as f64;
                // The host calls it in its place: after for a new one, before for one that is gone.
                let called = there.and_then(|there| self.get(side, there));
                let called = called.is_some_and(|host| calls(host, function));
                let enough = if called { TAKEN_AND_CALLED } else { TAKEN };
                let same_kind = match side {
                    Side::After => self.same_language(host, *id),
                    Side::Before => self.same_language(*id, host),
                };
                let better = best.is_none_or(|(found, _)| share > found);
                if share >= enough && same_kind && better {
                    best = Some((share, row));
                }
            }
            best.map(|(share, row)| (hosts[row].0, share))
        };
        ids.iter().map(|id| Single { function: *id, host: single(id) }).collect()
    }
}

fn calls(host: &SourceFunction, function: &SourceFunction) -> bool {
    host.costs.iter().any(|cost| match cost {
        Addition::Call(name) => {
            hash_text(crate::source::last_part(name).as_bytes()) == function.simple
        }
        _ => false,
    })
}

/// From a run of tokens to the bodies that have it; runs that many have are empty.
fn index(bodies: &[Vec<u64>]) -> HashMap<u64, Vec<usize>> {
    let mut index: HashMap<u64, Vec<usize>> = HashMap::new();
    for (row, runs) in bodies.iter().enumerate() {
        for &run in runs {
            let rows = index.entry(run).or_default();
            if rows.len() <= COMMON {
                rows.push(row);
            }
        }
    }
    index
}

/// The bodies that share most runs, best first.
fn candidates(index: &HashMap<u64, Vec<usize>>, runs: &[u64]) -> Vec<usize> {
    let mut hits: HashMap<usize, usize> = HashMap::new();
    for run in runs {
        for &row in index.get(run).into_iter().flatten().take(COMMON) {
            *hits.entry(row).or_insert(0) += 1;
        }
    }
    let mut rows: Vec<(usize, usize)> = hits.into_iter().collect();
    rows.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    rows.into_iter().take(CLOSELY).map(|(row, _)| row).collect()
}

fn keep(ids: &mut Vec<FunctionId>, taken: &[bool]) {
    let mut row = 0;
    ids.retain(|_| {
        row += 1;
        !taken[row - 1]
    });
}
