//! Who has been matched so far.

use hashbrown::HashMap;
use perfblame_cct::{FunctionId, Side, Sides};
use std::hash::Hash;

use super::functions::{Facts, Functions, Naming};
use super::{FunctionMatch, Identity, Why};

/// A function of a side, by row.
pub(super) type FunctionRow = u32;

/// Stands for no row.
pub(super) const NONE: FunctionRow = FunctionRow::MAX;

/// Classes as far as they are settled, and the homes of functions as far as moved files are known.
pub(super) struct Work<'a> {
    pub functions: &'a Functions<'a>,
    /// The class of each function, by side; [`NONE`] while it is open.
    pub class: Sides<Vec<u32>>,
    /// The component of each function, by side, under one number where a file was moved.
    pub home: Sides<Vec<u32>>,
    /// How much the name of each function says, by side.
    pub naming: Sides<Vec<Naming>>,
    /// Pairs in the order they were found, with why and how sure.
    pub pairs: Vec<(FunctionRow, FunctionRow, Why, f64)>,
    classes: u32,
}

impl<'a> Work<'a> {
    pub fn new(functions: &'a Functions<'a>) -> Self {
        let facts = functions.facts.as_ref();
        let home = facts.map(|facts| facts.iter().map(|fact| fact.home).collect());
        let naming = facts.map(|facts| facts.iter().map(|fact| fact.naming).collect());
        let class = facts.map(|facts| vec![NONE; facts.len()]);
        Self { functions, class, home, naming, pairs: Vec::new(), classes: 0 }
    }

    pub fn fact(&self, side: Side, row: FunctionRow) -> &Facts {
        &self.functions.facts[side][row as usize]
    }

    pub fn is_open(&self, side: Side, row: FunctionRow) -> bool {
        self.class[side][row as usize] == NONE
    }

    /// Functions of the tree without a class, in order.
    pub fn open(&self, side: Side) -> impl Iterator<Item = FunctionRow> + '_ {
        let rows = self.class[side].iter().zip(&self.functions.facts[side]).enumerate();
        let open = rows.filter(|(_, (class, fact))| **class == NONE && fact.is_used);
        open.map(|(row, _)| row as FunctionRow)
    }

    pub fn is_anything_open(&self) -> bool {
        Side::BOTH.into_iter().all(|side| self.open(side).next().is_some())
    }

    /// Where a minifier went over a component between before and after, names that did not match say nothing.
    pub fn forget_minified_names(&mut self) {
        for side in Side::BOTH {
            for row in 0..self.class[side].len() {
                let home = self.functions.facts[side][row].home as usize;
                let naming = &mut self.naming[side][row];
                if *naming == Naming::Chosen && self.functions.minified[home] {
                    *naming = Naming::MadeUp;
                }
            }
        }
    }

    /// Makes two open functions one.
    pub fn pair(&mut self, before: FunctionRow, after: FunctionRow, why: Why, certainty: f64) {
        self.class.before[before as usize] = self.classes;
        self.class.after[after as usize] = self.classes;
        self.classes += 1;
        self.pairs.push((before, after, why, certainty));
    }

    /// Gives an open function the class of another, matched one of either side.
    pub fn join(&mut self, side: Side, row: FunctionRow, class: u32) {
        self.class[side][row as usize] = class;
    }

    /// A class for functions that are one class but no pair.
    pub fn new_class(&mut self) -> u32 {
        self.classes += 1;
        self.classes - 1
    }

    /// Pairs open functions that are alone with their key on both sides.
    pub fn pair_unique<K: Hash + Eq>(
        &mut self,
        why: Why,
        certainty: f64,
        key: impl Fn(&Self, Side, FunctionRow) -> Option<K>,
    ) {
        let mut buckets: HashMap<K, Sides<(FunctionRow, u32)>> =
            HashMap::with_capacity(self.open(Side::Before).count());
        for side in Side::BOTH {
            for row in self.open(side) {
                if let Some(key) = key(self, side, row) {
                    let (first, count) =
                        &mut buckets.entry(key).or_insert(Sides::same((NONE, 0)))[side];
                    *first = (*first).min(row);
                    *count += 1;
                }
            }
        }
        let alone = buckets.into_values().filter_map(|bucket| match bucket {
            Sides { before: (before, 1), after: (after, 1) } => Some((before, after)),
            _ => None,
        });
        let mut found: Vec<(FunctionRow, FunctionRow)> = alone.collect();
        found.sort_unstable();
        for (before, after) in found {
            self.pair(before, after, why, certainty);
        }
    }

    /// Everybody who is still open is a class of his own.
    pub fn finish(mut self) -> Identity {
        for side in Side::BOTH {
            for row in 0..self.class[side].len() {
                if self.class[side][row] == NONE {
                    self.class[side][row] = self.new_class();
                }
            }
        }
        let mut renamed = vec![false; self.classes as usize];
        let mut matches = Vec::new();
        for (before, after, why, certainty) in &self.pairs {
            let (was, is) = (self.fact(Side::Before, *before), self.fact(Side::After, *after));
            renamed[self.class.after[*after as usize] as usize] = was.name != is.name
                && self.functions.base(was) != self.functions.base(is)
                && (was.naming, is.naming) != (Naming::Anonymous, Naming::Anonymous);
            if *why != Why::Name {
                matches.push(FunctionMatch {
                    before: FunctionId::new(*before as usize),
                    after: FunctionId::new(*after as usize),
                    why: *why,
                    certainty: *certainty,
                });
            }
        }
        matches.sort_by_key(|found| (found.after, found.before));
        Identity { class: self.class, renamed, matches }
    }
}
