//! What is known of each function by itself, in numbers that mean the same on both sides.

use std::borrow::Cow;
use std::cell::RefCell;
use std::hash::BuildHasher;
use std::num::NonZeroU32;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashSet, HashTable};
use perfblame_cct::{Layer, NameKind, NameKinds, Side, Sides, StringId, normalise_name};

use super::home::home;
use crate::SideTree;

/// Where a function starts: line and column, 0 where unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SourcePlace {
    pub line: u32,
    pub column: u32,
}

/// One function. Equal numbers are equal texts on both sides; 0 is no text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub name: u32,
    pub signature: u32,
    pub component: u32,
    /// The component without host, hashes and versions.
    pub home: u32,
    pub place: Option<SourcePlace>,
    pub layers: Layers,
    pub naming: Naming,
    /// It is in the tree. Tables of symbols can hold what no context refers to.
    pub is_used: bool,
}

/// How much a name says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Naming {
    /// Somebody chose it.
    Chosen,
    /// A minifier made it up: equal names mean little.
    MadeUp,
    /// There is none.
    Anonymous,
}

/// Layers whose functions can be one. Whether code is the program's own or a library's can change with where it was
/// loaded from; pseudo-frames of the runtime are never the program's functions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Layers {
    Code,
    Runtime,
    Kernel,
    Idle,
    GarbageCollection,
}

/// The functions of both sides, by side and function.
pub(super) struct Functions<'a> {
    pub facts: Sides<Vec<Facts>>,
    names: Texts<'a>,
    bases: RefCell<Bases>,
    /// By home: a minifier went over it before, after or both.
    pub minified: Vec<bool>,
}

impl<'a> Functions<'a> {
    pub fn of(before: &SideTree<'a>, after: &SideTree<'a>) -> Self {
        let mut names = Texts::with_room_for(before, after);
        let mut facts = Sides { before, after }.map(|side| {
            let mut facts = Vec::with_capacity(side.symbols.functions().len());
            let used = used(side);
            for (id, function) in side.symbols.functions() {
                let text = side.symbols.name(id);
                let name = names.number(Cow::Borrowed(text));
                let mut number = |id: Option<StringId>| {
                    id.map_or(0, |id| names.number(Cow::Borrowed(side.symbols.text(id))))
                };
                facts.push(Facts {
                    name,
                    signature: number(function.signature),
                    component: number(function.component),
                    home: 0,
                    place: place(function.line, function.column),
                    layers: layers(function.layer),
                    naming: naming_of(text),
                    is_used: used[id.index()],
                });
            }
            facts
        });
        let homes = find_homes(&mut facts, &names);
        let minified = minified_homes(&facts, &names, homes);
        for fact in facts.iter_mut().flatten() {
            let text = names.text(fact.name);
            if fact.naming != Naming::Chosen || !minified[fact.home as usize] {
                continue;
            }
            if is_description(text) {
                fact.naming = Naming::Anonymous;
            } else if is_short(text, 3) {
                fact.naming = Naming::MadeUp;
            }
        }
        let bases = RefCell::new(Bases { of_name: vec![0; names.len()], others: Texts::new() });
        Self { facts, names, bases, minified }
    }

    /// The number of the name without what compilers and linkers append.
    pub fn base(&self, fact: &Facts) -> u32 {
        let mut bases = self.bases.borrow_mut();
        if bases.of_name[fact.name as usize] == 0 {
            let text = self.names.text(fact.name);
            bases.of_name[fact.name as usize] = match base_of(text) {
                base if base == text => fact.name,
                base => match self.names.find(&base) {
                    Some(name) => name,
                    None => bases.others.number(base.into_owned().into()) + self.names.len() as u32,
                },
            };
        }
        bases.of_name[fact.name as usize]
    }

    /// The name without what compilers and linkers append.
    pub fn base_name(&self, fact: &Facts) -> Cow<'_, str> {
        base_of(self.names.text(fact.name))
    }

    /// The compiler made a copy of the function.
    pub fn is_copy(&self, fact: &Facts) -> bool {
        self.base(fact) != fact.name
    }
}

/// Names without what compilers and linkers append, in numbers. Only names that are not on both sides are looked at so
/// closely, which mostly are few.
struct Bases {
    /// By the name's number; 0 where nobody asked.
    of_name: Vec<u32>,
    /// Texts that are nobody's name; their numbers follow those of names.
    others: Texts<'static>,
}

fn base_of(name: &str) -> Cow<'_, str> {
    normalise_name(name, NameKinds::default().without(NameKind::Urls))
}

/// Gives functions their homes and says how many numbers that took. A component that both sides have is a home of its
/// own, and only the others are known by what is left of their names: pages load several scripts that differ in nothing
/// but host or query.
fn find_homes(facts: &mut Sides<Vec<Facts>>, names: &Texts<'_>) -> usize {
    const BEFORE: u8 = 1;
    const AFTER: u8 = 2;
    let mut seen = vec![0u8; names.len()];
    for (side, facts) in facts.each() {
        let seen_here = if side == Side::Before { BEFORE } else { AFTER };
        for fact in facts.iter().filter(|fact| fact.is_used) {
            seen[fact.component as usize] |= seen_here;
        }
    }
    let mut keys = Texts::new();
    let mut home_of = vec![0u32; names.len()];
    for (component, seen) in seen.into_iter().enumerate().skip(1).filter(|(_, seen)| *seen != 0) {
        let text = names.text(component as u32);
        // No component is called like this: the number says which it is.
        let key = if seen == BEFORE | AFTER { format!("\0{component}").into() } else { home(text) };
        home_of[component] = keys.number(key);
    }
    for fact in facts.iter_mut().flatten() {
        fact.home = home_of[fact.component as usize];
    }
    keys.len()
}

fn used(side: &SideTree<'_>) -> Vec<bool> {
    let mut frames = vec![false; side.symbols.frames().len()];
    side.tree.nodes().for_each(|node| frames[side.tree.frame(node).index()] = true);
    let mut used = vec![false; side.symbols.functions().len()];
    for (id, frame) in side.symbols.frames() {
        used[frame.function.index()] |= frames[id.index()];
    }
    used
}

fn place(line: Option<NonZeroU32>, column: Option<NonZeroU32>) -> Option<SourcePlace> {
    let column = column.map_or(0, u32::from);
    line.map(|line| SourcePlace { line: line.get(), column })
}

fn layers(layer: Layer) -> Layers {
    match layer {
        Layer::Application | Layer::Library | Layer::Plugin => Layers::Code,
        Layer::Runtime => Layers::Runtime,
        Layer::Kernel => Layers::Kernel,
        Layer::Idle => Layers::Idle,
        Layer::GarbageCollection => Layers::GarbageCollection,
    }
}

/// True for layers whose functions can be one.
pub(crate) fn are_of_like_layers(one: Layer, other: Layer) -> bool {
    layers(one) == layers(other)
}

fn naming_of(name: &str) -> Naming {
    match name {
        ""
        | "(anonymous)"
        | "<anonymous>"
        | "anonymous"
        | "(anonymous function)"
        | "(immediate)"
        | "(returned)"
        | "(element)" => Naming::Anonymous,
        _ => Naming::Chosen,
    }
}

/// Names that readers made for functions without one: by what holds them, in words that a minifier may have made up.
fn is_description(name: &str) -> bool {
    name.ends_with(')') && (name.contains(" > ") || name.contains("(callback"))
}

/// Components that a minifier went over, on either side: most names have one or two letters, or nearly all at most
/// three; or many functions share a line, and some have such names. Minifiers leave names of methods as they are.
fn minified_homes(facts: &Sides<Vec<Facts>>, names: &Texts<'_>, homes: usize) -> Vec<bool> {
    let mut minified = vec![false; homes];
    for facts in facts {
        let mut counts = vec![(0u32, [0u32; 2]); homes];
        let mut lines = vec![(0u32, HashSet::new()); homes];
        let is_name = |fact: &&Facts| {
            let text = names.text(fact.name);
            let is_chosen = fact.is_used && fact.naming == Naming::Chosen;
            is_chosen && !is_description(text) && text != "(top level)"
        };
        for fact in facts.iter().filter(is_name) {
            let (named, short) = &mut counts[fact.home as usize];
            *named += 1;
            short[0] += u32::from(is_short(names.text(fact.name), 2));
            short[1] += u32::from(is_short(names.text(fact.name), 3));
            if let Some(place) = fact.place {
                let (placed, lines) = &mut lines[fact.home as usize];
                *placed += 1;
                lines.insert(place.line);
            }
        }
        // Three are too few to tell; 0 is no component, where short names are somebody's choice.
        for (home, (named, [two, three])) in counts.into_iter().enumerate().skip(1) {
            let (placed, lines) = &lines[home];
            let dense = *placed >= 8 && lines.len() as u32 * 4 <= *placed && two >= 2;
            minified[home] |= named >= 4 && (two * 2 > named || three * 4 > named * 3) || dense;
        }
    }
    minified
}

/// True when no part of the name has more letters than that: `a`, `aB`, `a.b`, `t.e`.
fn is_short(name: &str, most: usize) -> bool {
    /// No part that counts as short is longer.
    const LONGEST: usize = "prototype".len();
    let is_separator = |byte: &u8| matches!(byte, b'.' | b' ');
    // Every function's name comes by here, and most are words: a look at the beginning will do.
    let name = name.as_bytes();
    if name.len() > LONGEST && !name[..=LONGEST].iter().any(is_separator) {
        return false;
    }
    !name.is_empty() && name.split(is_separator).all(|part| part.len() <= most || is_word(part))
}

/// Words that minifiers leave in names.
fn is_word(part: &[u8]) -> bool {
    matches!(part, b"get" | b"set" | b"async" | b"prototype" | b"new")
}

/// Texts numbered from 1 as they come.
struct Texts<'a> {
    /// Numbers by their all' hashes.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    all: Vec<Cow<'a, str>>,
}

impl<'a> Texts<'a> {
    fn new() -> Self {
        let (numbers, hasher) = (HashTable::new(), DefaultHashBuilder::default());
        Self { numbers, hasher, all: vec![Cow::Borrowed("")] }
    }

    /// Room for the names of one side and some more: mostly the other has the same.
    fn with_room_for(before: &SideTree<'_>, after: &SideTree<'_>) -> Self {
        let functions = before.symbols.functions().len().max(after.symbols.functions().len());
        let numbers = HashTable::with_capacity(functions + functions / 8);
        Self { numbers, ..Self::new() }
    }

    fn number(&mut self, text: Cow<'a, str>) -> u32 {
        let Self { numbers, hasher, all } = self;
        let same = |number: &u32| all[*number as usize] == text;
        let hash_of = |number: &u32| hasher.hash_one(&*all[*number as usize]);
        match numbers.entry(hasher.hash_one(&*text), same, hash_of) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let number = all.len() as u32;
                free.insert(number);
                all.push(text);
                number
            }
        }
    }

    fn find(&self, text: &str) -> Option<u32> {
        let same = |number: &u32| self.all[*number as usize] == text;
        self.numbers.find(self.hasher.hash_one(text), same).copied()
    }

    fn text(&self, number: u32) -> &str {
        &self.all[number as usize]
    }

    /// One past the highest number.
    fn len(&self) -> usize {
        self.all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_told_from_words() {
        for (name, short) in
            [("a", true), ("aB", true), ("a.b", true), ("get a", true), ("run", false), ("", false)]
        {
            assert_eq!(is_short(name, 2), short, "{name}");
        }
    }
}
