//! Functions that are one by their names.
//!
//! Only names that somebody chose count here. Namesakes within a component are left for later: their places and
//! neighbours tell them apart.

use hashbrown::HashMap;
use perfblame_cct::{NameKind, NameKinds, Side, Sides, normalise_name};

use super::Why;
use super::functions::{Facts, Naming};
use super::places::match_unmoved;
use super::work::{FunctionRow, NONE, Work};

/// Two functions of equal names make a file a moved one; a single one can be an accident.
const LEAST_VOTES: u32 = 2;

/// From this length a name is no accident in another component. `initialise` is one that many files have.
const DISTINCTIVE: usize = 12;

pub(super) fn match_names(work: &mut Work<'_>) {
    let chosen = |work: &Work<'_>, side, row| {
        let fact = work.fact(side, row);
        (fact.naming == Naming::Chosen).then_some(*fact)
    };
    work.pair_unique(Why::Name, 1.0, |work, side, row| {
        let fact = chosen(work, side, row)?;
        Some((fact.name, fact.component, fact.signature, fact.layers))
    });
    work.pair_unique(Why::Component, 0.98, |work, side, row| {
        let fact = chosen(work, side, row)?;
        Some((fact.name, fact.home, fact.signature, fact.layers))
    });
    // Where a file did not change, places are as good as names, and all its functions have one.
    match_unmoved(work);
    // Of namesakes, one can be without a place: the engine lost it on inlining. Anonymous functions without places are
    // one function for each component already.
    work.pair_unique(Why::Name, 1.0, |work, side, row| {
        let fact = *work.fact(side, row);
        let fact =
            Some(fact).filter(|fact| fact.place.is_none() && fact.naming != Naming::MadeUp)?;
        Some((fact.name, fact.component, fact.signature, fact.layers))
    });
    let namesakes = namesakes(work);
    let alone = |work: &Work<'_>, side: Side, row: FunctionRow| {
        chosen(work, side, row).filter(|_| !namesakes[side][row as usize])
    };
    work.pair_unique(Why::Component, 0.9, |work, side, row| {
        let fact = alone(work, side, row)?;
        Some((fact.name, fact.home, fact.layers))
    });
    work.pair_unique(Why::Suffix, 0.95, |work, side, row| {
        let fact = alone(work, side, row)?;
        Some((work.functions.base(&fact), fact.home, fact.layers))
    });
    join_copies(work);
    if !work.is_anything_open() {
        return;
    }
    find_moved_files(work);
    work.pair_unique(Why::OtherComponent, 0.9, |work, side, row| {
        let fact = alone(work, side, row)?;
        Some((work.functions.base(&fact), work.home[side][row as usize], fact.layers))
    });
    work.pair_unique(Why::Template, 0.85, |work, side, row| {
        let fact = alone(work, side, row)?;
        let name = work.functions.base_name(&fact);
        // Only names that have arguments get here, so that most are not copied.
        let folded = normalise_name(&name, NameKinds::none().with(NameKind::TemplateArguments));
        (name.contains(['<', '[']))
            .then(|| (folded.into_owned(), work.home[side][row as usize], fact.layers))
    });
    work.pair_unique(Why::OtherComponent, 0.85, |work, side, row| {
        let fact = alone(work, side, row)?;
        let name = work.functions.base_name(&fact);
        (name.len() >= DISTINCTIVE).then_some((work.functions.base(&fact), fact.layers))
    });
}

/// Open functions that have namesakes in their component, by side. When some of them were matched, those that are left
/// over need not be one: a name is not enough for them.
fn namesakes(work: &Work<'_>) -> Sides<Vec<bool>> {
    Sides::of(|side| {
        let facts = &work.functions.facts[side];
        let key = |fact: &Facts| (fact.name, fact.home, fact.signature, fact.layers);
        let mut counts: HashMap<_, u32> =
            work.open(side).map(|row| (key(work.fact(side, row)), 0)).collect();
        for fact in facts.iter().filter(|fact| fact.is_used) {
            if let Some(count) = counts.get_mut(&key(fact)) {
                *count += 1;
            }
        }
        let mut several = vec![false; facts.len()];
        for row in work.open(side) {
            several[row as usize] = counts.get(&key(work.fact(side, row))) > Some(&1);
        }
        several
    })
}

/// A copy that the compiler made on one side only, such as `f.constprop.0`, is the function it was made of.
fn join_copies(work: &mut Work<'_>) {
    let is_copy = |work: &Work<'_>, side: Side, row: FunctionRow| {
        let fact = work.fact(side, row);
        fact.naming == Naming::Chosen && work.functions.is_copy(fact)
    };
    let copies: Vec<(Side, FunctionRow)> = (Side::BOTH.into_iter())
        .flat_map(|side| work.open(side).map(move |row| (side, row)))
        .filter(|(side, row)| is_copy(work, *side, *row))
        .collect();
    if copies.is_empty() {
        return;
    }
    let mut classes: HashMap<_, u32> = HashMap::new();
    for (before, after, _, _) in &work.pairs {
        for (side, row) in [(Side::Before, *before), (Side::After, *after)] {
            let fact = work.fact(side, row);
            let class = work.class[side][row as usize];
            let known =
                classes.entry((work.functions.base(fact), fact.home, fact.layers)).or_insert(class);
            // Several functions it could be a copy of.
            if *known != class {
                *known = NONE;
            }
        }
    }
    for (side, row) in copies {
        let fact = work.fact(side, row);
        let class = classes.get(&(work.functions.base(fact), fact.home, fact.layers)).copied();
        if let Some(class) = class.filter(|class| *class != NONE) {
            work.join(side, row, class);
        }
    }
}

/// A component that is gone and one that is new are one file in another place when functions of several names are in
/// both, and of no other two components as many.
fn find_moved_files(work: &mut Work<'_>) {
    let mut present: Sides<Vec<bool>> = Sides::default();
    let homes = work.home.iter().flatten().max().map_or(0, |most| *most as usize + 1);
    for (side, present) in present.each_mut() {
        present.resize(homes, false);
        work.home[side].iter().for_each(|home| present[*home as usize] = true);
    }
    let mut names: HashMap<_, Sides<(FunctionRow, u32)>> = HashMap::new();
    for side in Side::BOTH {
        for row in work.open(side) {
            let fact = work.fact(side, row);
            let home = fact.home as usize;
            if fact.naming == Naming::Chosen && home != 0 && !present[side.other()][home] {
                let key = (work.functions.base(fact), fact.layers);
                let (first, count) = &mut names.entry(key).or_insert(Sides::same((NONE, 0)))[side];
                *first = (*first).min(row);
                *count += 1;
            }
        }
    }
    let mut votes: HashMap<(u32, u32), u32> = HashMap::new();
    for row in work.open(Side::Before) {
        let fact = work.fact(Side::Before, row);
        if let Some(Sides { before: (before, 1), after: (after, 1) }) =
            names.get(&(work.functions.base(fact), fact.layers))
            && *before == row
        {
            *votes.entry((fact.home, work.fact(Side::After, *after).home)).or_default() += 1;
        }
    }
    let mut votes: Vec<((u32, u32), u32)> = votes.into_iter().collect();
    votes.sort_unstable();
    // The most votes of each component and how often: an equal second makes it nobody's.
    let mut best = Sides::same(vec![(0u32, 0u32); homes]);
    for ((from, to), count) in &votes {
        for (best, home) in best.iter_mut().zip([from, to]) {
            let (most, times) = &mut best[*home as usize];
            if count > most {
                (*most, *times) = (*count, 1);
            } else if count == most {
                *times += 1;
            }
        }
    }
    let mut now = vec![0u32; homes];
    for ((from, to), count) in votes {
        let only_best = [best.before[from as usize], best.after[to as usize]] == [(count, 1); 2];
        if only_best && count >= LEAST_VOTES {
            now[to as usize] = from;
        }
    }
    for home in &mut work.home.after {
        let from = now[*home as usize];
        if from != 0 {
            *home = from;
        }
    }
}
