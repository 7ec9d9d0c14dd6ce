//! What is known of each function by itself, in numbers that mean the same on both sides.

use std::borrow::Cow;
use std::num::NonZeroU32;

use hashbrown::HashMap;
use perfblame_cct::{Layer, NameKind, NameKinds, normalise_name};

use super::home::home;
use crate::Side;

/// Where a function starts: line and column, 0 where unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Place {
    pub line: u32,
    pub column: u32,
}

/// One function. Equal numbers are equal texts on both sides; 0 is no text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub name: u32,
    /// The name without what compilers and linkers append.
    pub base: u32,
    /// The two differ: the compiler made a copy of the function.
    pub is_copy: bool,
    pub signature: u32,
    pub component: u32,
    /// The component without host, hashes and versions.
    pub home: u32,
    pub place: Option<Place>,
    pub layers: Layers,
    pub naming: Naming,
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
    pub facts: [Vec<Facts>; 2],
    /// The names behind [`Facts::base`].
    bases: Vec<Cow<'a, str>>,
}

impl<'a> Functions<'a> {
    pub fn of(before: &Side<'a>, after: &Side<'a>) -> Self {
        let (mut names, mut bases, mut homes) = (Texts::new(), Texts::new(), Texts::new());
        // Texts repeat: each is cleaned once.
        let (mut base_of, mut home_of) = (vec![0u32], vec![0u32]);
        let mut facts = [before, after].map(|side| {
            let mut facts = Vec::with_capacity(side.symbols.functions().len());
            for (id, function) in side.symbols.functions() {
                let name = names.number(Cow::Borrowed(side.symbols.name(id)));
                let component = side.symbols.component(id);
                let component = component.map_or(0, |text| names.number(Cow::Borrowed(text)));
                let signature = function.signature.map(|id| side.symbols.text(id));
                let signature = signature.map_or(0, |text| names.number(Cow::Borrowed(text)));
                base_of.resize(names.len(), 0);
                home_of.resize(names.len(), 0);
                if base_of[name as usize] == 0 {
                    let kinds = NameKinds::default().without(NameKind::Urls);
                    let base = normalise_name(side.symbols.name(id), kinds);
                    base_of[name as usize] = bases.number(base);
                }
                if let Some(text) = side.symbols.component(id)
                    && home_of[component as usize] == 0
                {
                    home_of[component as usize] = homes.number(home(text));
                }
                facts.push(Facts {
                    name,
                    base: base_of[name as usize],
                    is_copy: bases.text(base_of[name as usize]) != side.symbols.name(id),
                    signature,
                    component,
                    home: if component == 0 { 0 } else { home_of[component as usize] },
                    place: place(function.line, function.column),
                    layers: layers(function.layer),
                    naming: naming_of(side.symbols.name(id)),
                });
            }
            facts
        });
        let minified = minified_homes(&facts, &names, homes.len());
        for fact in facts.iter_mut().flatten() {
            if fact.naming == Naming::Chosen
                && minified[fact.home as usize]
                && is_short(names.text(fact.name), 3)
            {
                fact.naming = Naming::MadeUp;
            }
        }
        Self { facts, bases: bases.texts }
    }

    /// The name without what compilers and linkers append.
    pub fn base(&self, fact: &Facts) -> &str {
        self.bases.get(fact.base as usize).map_or("", |text| text)
    }
}

fn place(line: Option<NonZeroU32>, column: Option<NonZeroU32>) -> Option<Place> {
    let column = column.map_or(0, u32::from);
    line.map(|line| Place { line: line.get(), column })
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
        "" | "(anonymous)" | "<anonymous>" | "anonymous" | "(anonymous function)" => {
            Naming::Anonymous
        }
        _ => Naming::Chosen,
    }
}

/// Components in which most names have one or two letters.
fn minified_homes(facts: &[Vec<Facts>; 2], names: &Texts<'_>, homes: usize) -> Vec<bool> {
    let mut counts = vec![(0u32, 0u32); homes];
    for fact in facts.iter().flatten().filter(|fact| fact.naming == Naming::Chosen) {
        let (named, short) = &mut counts[fact.home as usize];
        *named += 1;
        *short += u32::from(is_short(names.text(fact.name), 2));
    }
    // Three are too few to tell; 0 is no component, where short names are somebody's choice.
    let is_minified = |(named, short): (u32, u32)| named >= 4 && short * 2 > named;
    (0..homes).map(|home| home > 0 && is_minified(counts[home])).collect()
}

/// True when no part of the name has more letters than that: `a`, `aB`, `a.b`, `t.e`.
fn is_short(name: &str, most: usize) -> bool {
    !name.is_empty()
        && name.split(['.', ' ']).all(|part| {
            part.len() <= most || matches!(part, "get" | "set" | "async" | "prototype" | "new")
        })
}

/// Texts numbered from 1 as they come.
struct Texts<'a> {
    numbers: HashMap<Cow<'a, str>, u32>,
    texts: Vec<Cow<'a, str>>,
}

impl<'a> Texts<'a> {
    fn new() -> Self {
        Self { numbers: HashMap::new(), texts: vec![Cow::Borrowed("")] }
    }

    fn number(&mut self, text: Cow<'a, str>) -> u32 {
        if let Some(number) = self.numbers.get(&text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }

    /// One past the highest number.
    fn len(&self) -> usize {
        self.texts.len()
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
