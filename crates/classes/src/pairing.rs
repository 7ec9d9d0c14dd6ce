//! Which class and which method before is which after.
//!
//! A name that a person gave and that both sides have is the same thing. The rest goes by what it does: first what is
//! equal, then what differs only in what it names, then what is nearest.

use std::collections::{BTreeMap, VecDeque};

use hashbrown::{HashMap, HashSet};
use perfblame_sides::{Side, Sides};

use super::body::{KnownNames, Shape};
use super::colors::{Colors, hash, own_shape};
use super::fingerprint::{class_key, fingerprint};
use super::numbered::numbered_class;
use super::program::{Class, Method};

/// A class on both sides.
pub struct ClassPair {
    pub before: usize,
    pub after: usize,
    pub certainty: f64,
}

/// A method on both sides.
pub struct MethodPair {
    pub before: usize,
    pub after: usize,
    pub certainty: f64,
}

/// All pairs.
pub struct Pairing<'a> {
    sides: Sides<&'a [Class]>,
    colors: Sides<Colors>,
    pub classes: Vec<ClassPair>,
    /// In the order of `classes`.
    pub methods: Vec<Vec<MethodPair>>,
    /// Keys of what was paired though its name or its body is another.
    same: HashMap<u128, u128>,
}

/// Below this share of common instructions two numbered methods are two things.
const LEAST_NEAR: f64 = 0.4;
/// Pairs of leftovers that are held against each other; more are paired in their order.
const MOST_NEAR: usize = 10_000;
/// The share of equal methods from which on a class of another name is the same, changed.
const LEAST_LIKE: f64 = 0.7;
/// Instructions from which on an equal body says something.
pub const LEAST_TELLING: usize = 3;
/// Instructions of a whole class from which on equal methods say that it was renamed.
const LEAST_TELLING_CLASS: usize = 12;

impl<'a> Pairing<'a> {
    pub fn new(sides: Sides<&'a [Class]>, known: &KnownNames) -> Self {
        let mut pairing = Self {
            sides,
            colors: sides.map(|classes| Colors::new(classes, known)),
            classes: Vec::new(),
            methods: Vec::new(),
            same: HashMap::new(),
        };
        let mut open = sides.map(|classes| vec![true; classes.len()]);
        pairing.named_classes(&mut open, known);
        pairing.renamed_classes(&mut open);
        pairing.numbered_classes(&mut open);
        pairing.classes.sort_by_key(|pair| (pair.after, pair.before));
        for index in 0..pairing.classes.len() {
            let pair = &pairing.classes[index];
            let pair = Sides::new(&sides.before[pair.before], &sides.after[pair.after]);
            let methods = pairing.pair_methods(pair);
            pairing.methods.push(methods);
        }
        pairing
    }

    /// Whether two shapes are one: alike, and naming the same things.
    pub fn is_same(&self, before: &Shape, after: &Shape) -> bool {
        before.shape == after.shape
            && before.names.len() == after.names.len()
            && before.names.iter().zip(&after.names).all(|(old, new)| {
                self.colors.before.of(*old) == self.colors.after.of(*new)
                    || self.same.get(old) == Some(new)
            })
    }

    fn pair_classes(
        &mut self,
        open: &mut OpenClasses,
        before: usize,
        after: usize,
        certainty: f64,
    ) {
        open.before[before] = false;
        open.after[after] = false;
        self.same.insert(self.sides.before[before].key, self.sides.after[after].key);
        self.classes.push(ClassPair { before, after, certainty });
    }

    fn named_classes(&mut self, open: &mut OpenClasses, known: &KnownNames) {
        let by_key: HashMap<u128, usize> =
            self.sides.after.iter().enumerate().map(|(index, class)| (class.key, index)).collect();
        for (index, class) in self.sides.before.iter().enumerate() {
            if !known.is_loose(&class.name)
                && let Some(other) = by_key.get(&class.key)
            {
                self.pair_classes(open, index, *other, 1.0);
            }
        }
    }

    /// Classes that a person gave another name or another package.
    fn renamed_classes(&mut self, open: &mut OpenClasses) {
        // The surest first: it does the same and has the same short name; does the same; looks the same.
        let traits: [(Trait, f64); 4] = [
            (
                |this, side, index| {
                    hash(&[this.color(side, index), short_name(this.class(side, index))])
                },
                1.0,
            ),
            (|this, side, index| this.color(side, index), 0.95),
            (
                |this, side, index| {
                    hash(&[own_shape(this.class(side, index)), short_name(this.class(side, index))])
                },
                0.95,
            ),
            (|this, side, index| own_shape(this.class(side, index)), 0.9),
        ];
        for (number, (one_trait, certainty)) in traits.into_iter().enumerate() {
            let has_name = number % 2 == 0;
            let mut groups: BTreeMap<u128, Sides<Vec<usize>>> = BTreeMap::new();
            for side in Side::BOTH {
                for index in self.named(open, side) {
                    let tells = telling(self.class(side, index));
                    if has_name || tells >= LEAST_TELLING_CLASS {
                        groups.entry(one_trait(self, side, index)).or_default()[side].push(index);
                    }
                }
            }
            let mut pairs: Vec<_> = groups
                .into_values()
                .filter_map(|group| match (group.before.as_slice(), group.after.as_slice()) {
                    ([old], [new]) => Some((*old, *new)),
                    _ => None,
                })
                .collect();
            pairs.sort_unstable();
            for (old, new) in pairs {
                self.pair_classes(open, old, new, certainty);
            }
        }
        self.moved_classes(open);
        self.inner_classes(open);
        let mut left = Sides::of(|side| {
            let mut named = self.named(open, side);
            named.retain(|at| telling(self.class(side, *at)) >= LEAST_TELLING_CLASS);
            named
        });
        let mut pairs = Vec::new();
        if left.before.len().saturating_mul(left.after.len()) <= MOST_NEAR {
            let near =
                |old: usize, new: usize| likeness(&self.sides.before[old], &self.sides.after[new]);
            take_nearest(&mut left, &mut pairs, near, LEAST_LIKE);
        }
        for (old, new) in pairs {
            let share = likeness(&self.sides.before[old], &self.sides.after[new]);
            self.pair_classes(open, old, new, share);
        }
        self.inner_classes(open);
    }

    /// A class of the same short name elsewhere, with at least half of its methods as they were.
    fn moved_classes(&mut self, open: &mut OpenClasses) {
        let mut groups: BTreeMap<u128, Sides<Vec<usize>>> = BTreeMap::new();
        for side in Side::BOTH {
            for index in self.named(open, side) {
                groups.entry(short_name(self.class(side, index))).or_default()[side].push(index);
            }
        }
        let mut pairs = Vec::new();
        for group in groups.into_values() {
            if let ([old], [new]) = (group.before.as_slice(), group.after.as_slice()) {
                let share = likeness(&self.sides.before[*old], &self.sides.after[*new]);
                if share >= 0.5 {
                    pairs.push((*old, *new, share));
                }
            }
        }
        pairs.sort_by_key(|(old, new, _)| (*old, *new));
        for (old, new, share) in pairs {
            self.pair_classes(open, old, new, share);
        }
    }

    /// Classes in renamed classes keep their own names.
    fn inner_classes(&mut self, open: &mut OpenClasses) {
        let left = self.named(open, Side::After).into_iter();
        let by_key: HashMap<u128, usize> = left.map(|at| (self.sides.after[at].key, at)).collect();
        let names: HashMap<u128, &[u8]> =
            self.sides.after.iter().map(|class| (class.key, class.name.as_slice())).collect();
        // Outer classes come first in the order of names.
        for index in self.named(open, Side::Before) {
            let name = &self.sides.before[index].name;
            let Some(dollar) = name.iter().rposition(|byte| *byte == b'$') else { continue };
            let host = self.same.get(&class_key(&name[..dollar])).and_then(|key| names.get(key));
            let Some(host) = host else { continue };
            let wanted = class_key(&[host, &name[dollar..]].concat());
            if let Some(&other) = by_key.get(&wanted)
                && open.after[other]
            {
                self.pair_classes(open, index, other, 0.9);
            }
        }
    }

    /// `Outer$1` and the like, within the class around them.
    fn numbered_classes(&mut self, open: &mut OpenClasses) {
        let mut levels: BTreeMap<usize, Sides<Vec<usize>>> = BTreeMap::new();
        for (side, classes) in self.sides.each() {
            for (index, class) in classes.iter().enumerate().filter(|(at, _)| open[side][*at]) {
                levels.entry(depth(&class.name)).or_default()[side].push(index);
            }
        }
        levels.remove(&0);
        for level in levels.into_values() {
            // By the class around them, as it is called after, and the name that they may have.
            let mut families = Families::new();
            for (side, indexes) in level.each() {
                for &index in indexes {
                    let name = &self.class(side, index).name;
                    let Some(numbered) = numbered_class(name) else { continue };
                    let mut host = class_key(numbered.host);
                    if side == Side::Before {
                        host = *self.same.get(&host).unwrap_or(&host);
                    }
                    families.entry((host, numbered.rest)).or_default()[side]
                        .push((numbered.number, index));
                }
            }
            for family in families.into_values() {
                let mut left = family.map(|mut side| {
                    side.sort_unstable();
                    side.into_iter().map(|(_, at)| at).collect::<Vec<_>>()
                });
                let mut pairs = Vec::new();
                take_equal(&mut left, &mut pairs, |side, at| self.color(side, at));
                take_equal(&mut left, &mut pairs, |side, at| own_shape(self.class(side, at)));
                let sure = pairs.len();
                let switch_map = left.as_mut().map_with_side(|side, left| {
                    let found = left.iter().position(|at| self.class(side, *at).is_switch_map);
                    found.map(|at| left.remove(at))
                });
                if let Sides { before: Some(old), after: Some(new) } = switch_map {
                    pairs.push((old, new));
                }
                take_nearest(
                    &mut left,
                    &mut pairs,
                    |old, new| {
                        let (old, new) = (&self.sides.before[old], &self.sides.after[new]);
                        // What it extends and captures says most of it.
                        let shape = if old.shape.shape == new.shape.shape { 0.3 } else { 0.0 };
                        0.7 * likeness(old, new) + shape
                    },
                    0.3,
                );
                // One is left on each side: it is that one, rewritten.
                if let ([old], [new]) = (left.before.as_slice(), left.after.as_slice()) {
                    pairs.push((*old, *new));
                }
                for (number, (old, new)) in pairs.into_iter().enumerate() {
                    self.pair_classes(open, old, new, if number < sure { 1.0 } else { 0.7 });
                }
            }
        }
    }

    /// Classes without a partner that a person named, in the order of their names.
    fn named(&self, open: &OpenClasses, side: Side) -> Vec<usize> {
        let (classes, open) = (self.sides[side], &open[side]);
        let mut left: Vec<usize> = (0..classes.len())
            .filter(|index| open[*index] && numbered_class(&classes[*index].name).is_none())
            .collect();
        left.sort_by(|a, b| classes[*a].name.cmp(&classes[*b].name));
        left
    }

    fn class(&self, side: Side, index: usize) -> &'a Class {
        &self.sides[side][index]
    }

    fn color(&self, side: Side, index: usize) -> u128 {
        self.colors[side].of(self.class(side, index).key)
    }

    fn pair_methods(&mut self, classes: Sides<&Class>) -> Vec<MethodPair> {
        let mut pairs = Vec::new();
        self.numbered_methods(classes, &mut pairs);
        let ordinary = |class: &Class| -> Vec<usize> {
            (0..class.methods.len()).filter(|at| class.methods[*at].numbered().is_none()).collect()
        };
        let mut left = classes.map(ordinary);
        let mut found = Vec::new();
        take_equal(&mut left, &mut found, |side, at| {
            let method = &classes[side].methods[at];
            hash(&[fingerprint(&method.name), fingerprint(&method.descriptor)])
        });
        // A parameter's class may have another name or number.
        take_equal(&mut left, &mut found, |side, at| {
            let method = &classes[side].methods[at];
            let names = method.signature.names.iter().map(|name| {
                let after = match side {
                    Side::Before => self.same.get(name).unwrap_or(name),
                    Side::After => name,
                };
                self.colors.after.of(*after)
            });
            let mut parts = vec![fingerprint(&method.name), method.signature.shape];
            parts.extend(names);
            hash(&parts)
        });
        pairs.extend(found.into_iter().map(|(before, after)| MethodPair {
            before,
            after,
            certainty: 1.0,
        }));
        self.renamed_methods(&left, classes, &mut pairs);
        for pair in &pairs {
            let old = &classes.before.methods[pair.before];
            let new = &classes.after.methods[pair.after];
            self.same.insert(old.key, new.key);
        }
        pairs.sort_by_key(|pair| (pair.after, pair.before));
        pairs
    }

    /// Same parameters, same body, other name; and no other method is like it.
    fn renamed_methods(
        &self,
        left: &Sides<Vec<usize>>,
        classes: Sides<&Class>,
        pairs: &mut Vec<MethodPair>,
    ) {
        let mut groups: BTreeMap<(u128, u128), Sides<Vec<usize>>> = BTreeMap::new();
        for (side, left) in left.each() {
            for &at in left {
                let method = &classes[side].methods[at];
                let tells = method.instructions.is_some_and(|count| count >= LEAST_TELLING);
                if tells && !method.name.starts_with(b"<") {
                    let key = (method.signature.shape, method.body.shape);
                    groups.entry(key).or_default()[side].push(at);
                }
            }
        }
        for Sides { before, after } in groups.into_values() {
            let ([old], [new]) = (before.as_slice(), after.as_slice()) else { continue };
            let (was, is) = (&classes.before.methods[*old], &classes.after.methods[*new]);
            if self.is_same(&was.body, &is.body) && self.is_same(&was.signature, &is.signature) {
                let count = is.instructions.unwrap_or(1).max(1);
                let certainty = 1.0 - 1.0 / count as f64;
                pairs.push(MethodPair { before: *old, after: *new, certainty });
            }
        }
    }

    fn numbered_methods(&self, classes: Sides<&Class>, pairs: &mut Vec<MethodPair>) {
        let numbered = |class: &Class| -> Vec<usize> {
            let mut found: Vec<_> = (0..class.methods.len())
                .filter_map(|at| {
                    class.methods[at].numbered().map(|(stem, number)| (stem, number, at))
                })
                .collect();
            found.sort_unstable();
            found.into_iter().map(|(_, _, at)| at).collect()
        };
        let mut left = classes.map(numbered);
        if left.iter().any(Vec::is_empty) {
            return;
        }
        let method = |side: Side, at: usize| -> &Method { &classes[side].methods[at] };
        let stem = |method: &Method| fingerprint(method.numbered().map_or(b"", |(stem, _)| stem));
        let look = |method: &Method| hash(&[method.signature.shape, method.body.shape]);
        let color = |side: Side, at: usize| self.colors[side].of(method(side, at).key);
        let mut found = Vec::new();
        // Of one body and one enclosing method, then of one body; then likewise but for what they name.
        take_equal(&mut left, &mut found, |side, at| {
            hash(&[color(side, at), stem(method(side, at))])
        });
        take_equal(&mut left, &mut found, color);
        take_equal(&mut left, &mut found, |side, at| {
            hash(&[look(method(side, at)), stem(method(side, at))])
        });
        take_equal(&mut left, &mut found, |side, at| look(method(side, at)));
        let sure = found.len();
        let mut families: BTreeMap<&[u8], Sides<Vec<usize>>> = BTreeMap::new();
        for (side, left) in left.each() {
            for &at in left {
                if let Some((stem, _)) = method(side, at).numbered()
                    && stem != b"access$"
                {
                    families.entry(stem).or_default()[side].push(at);
                }
            }
        }
        for mut left in families.into_values() {
            take_nearest(
                &mut left,
                &mut found,
                |old, new| {
                    let (old, new) = (method(Side::Before, old), method(Side::After, new));
                    let signature =
                        if old.signature.shape == new.signature.shape { 0.1 } else { 0.0 };
                    shared(&old.words, &new.words) + signature
                },
                LEAST_NEAR,
            );
            // One is left on each side: it is that one, rewritten.
            if let ([old], [new]) = (left.before.as_slice(), left.after.as_slice())
                && method(Side::Before, *old).signature.shape
                    == method(Side::After, *new).signature.shape
            {
                found.push((*old, *new));
            }
        }
        for (number, (old, new)) in found.into_iter().enumerate() {
            let certainty = if number < sure { 1.0 } else { 0.7 };
            pairs.push(MethodPair { before: old, after: new, certainty });
        }
    }
}

/// Something to tell classes by: of one side's class.
type Trait = fn(&Pairing<'_>, Side, usize) -> u128;

/// Numbers and places of both sides, by the class around them and the name that they may have.
type Families<'a> = BTreeMap<(u128, &'a [u8]), Sides<Vec<(u64, usize)>>>;

/// Which classes have no partner yet.
type OpenClasses = Sides<Vec<bool>>;

/// Pairs what has one key on both sides, in order.
fn take_equal(
    left: &mut Sides<Vec<usize>>,
    pairs: &mut Vec<(usize, usize)>,
    key: impl Fn(Side, usize) -> u128,
) {
    let Sides { before: old, after: new } = left;
    if old.is_empty() || new.is_empty() {
        return;
    }
    let mut waiting: HashMap<u128, VecDeque<usize>> = HashMap::new();
    for &at in new.iter() {
        waiting.entry(key(Side::After, at)).or_default().push_back(at);
    }
    let mut taken = HashSet::new();
    old.retain(|&at| {
        let found = waiting.get_mut(&key(Side::Before, at)).and_then(VecDeque::pop_front);
        if let Some(other) = found {
            taken.insert(other);
            pairs.push((at, other));
        }
        found.is_none()
    });
    new.retain(|at| !taken.contains(at));
}

/// Pairs what is nearest first, down to `least`; what is too much to hold against each other, in order.
fn take_nearest(
    left: &mut Sides<Vec<usize>>,
    pairs: &mut Vec<(usize, usize)>,
    near: impl Fn(usize, usize) -> f64,
    least: f64,
) {
    let Sides { before: old, after: new } = left;
    let mut candidates = Vec::new();
    if old.len().saturating_mul(new.len()) <= MOST_NEAR {
        for (row, &before) in old.iter().enumerate() {
            for (column, &after) in new.iter().enumerate() {
                candidates.push((near(before, after), row, column));
            }
        }
    } else {
        candidates.extend(
            old.iter().zip(new.iter()).enumerate().map(|(at, (a, b))| (near(*a, *b), at, at)),
        );
    }
    candidates.retain(|(near, _, _)| *near >= least);
    candidates.sort_by(|a, b| {
        let apart = |row: usize, column: usize| row.abs_diff(column);
        b.0.total_cmp(&a.0)
            .then(apart(a.1, a.2).cmp(&apart(b.1, b.2)))
            .then((a.1, a.2).cmp(&(b.1, b.2)))
    });
    let (mut rows, mut columns) = (vec![false; old.len()], vec![false; new.len()]);
    for (_, row, column) in candidates {
        if !rows[row] && !columns[column] {
            (rows[row], columns[column]) = (true, true);
            pairs.push((old[row], new[column]));
        }
    }
    let mut rows = rows.into_iter();
    old.retain(|_| !rows.next().unwrap_or(false));
    let mut columns = columns.into_iter();
    new.retain(|_| !columns.next().unwrap_or(false));
}

/// The share of instructions that two bodies have in common.
fn shared(old: &[u32], new: &[u32]) -> f64 {
    let sorted = |words: &[u32]| {
        let mut words = words.to_vec();
        words.sort_unstable();
        words
    };
    common(&sorted(old), &sorted(new))
}

fn common<T: Ord>(old: &[T], new: &[T]) -> f64 {
    let (mut a, mut b, mut both) = (0, 0, 0usize);
    while let (Some(one), Some(other)) = (old.get(a), new.get(b)) {
        match one.cmp(other) {
            std::cmp::Ordering::Less => a += 1,
            std::cmp::Ordering::Greater => b += 1,
            std::cmp::Ordering::Equal => {
                (a, b, both) = (a + 1, b + 1, both + 1);
            }
        }
    }
    let all = old.len() + new.len();
    if all == 0 { 0.0 } else { 2.0 * both as f64 / all as f64 }
}

/// The share of methods that look the same in both classes.
fn likeness(old: &Class, new: &Class) -> f64 {
    let looks = |class: &Class| {
        let mut looks: Vec<_> = class
            .methods
            .iter()
            .filter(|method| method.instructions.is_some())
            .map(|method| {
                let name = if method.numbered().is_some() { b"#" } else { method.name.as_slice() };
                (fingerprint(name), method.body.shape)
            })
            .collect();
        looks.sort_unstable();
        looks
    };
    common(&looks(old), &looks(new))
}

/// How many instructions say what a class is.
fn telling(class: &Class) -> usize {
    class.methods.iter().filter_map(|method| method.instructions).sum()
}

/// The name without package and outer classes.
fn short_name(class: &Class) -> u128 {
    let start = class.name.iter().rposition(|byte| matches!(byte, b'/' | b'$'));
    fingerprint(&class.name[start.map_or(0, |at| at + 1)..])
}

/// How many numbered parts a name has.
fn depth(name: &[u8]) -> usize {
    name.windows(2).filter(|pair| pair[0] == b'$' && pair[1].is_ascii_digit()).count()
}
