//! Which function before is which function after, settled once, before any tree is walked.
//!
//! Names come first, and mostly they are enough. What is left is gone on one side and new on the other, or has a name
//! that says nothing: anonymous functions, namesakes within one file, names that a minifier made up. Those are told by
//! where they stand in their file and by whom they call and who calls them, as compilers match stale profiles to
//! changed code. A wrong match hides a difference or makes one up, a missing match only leaves a function gone here and
//! new there: where two candidates are nearly equal, neither is taken.

mod builds;
mod call_graph;
mod functions;
mod home;
mod names;
mod neighbours;
mod places;
mod shapes;
mod signatures;
mod work;

use perfblame_cct::{FunctionId, Side, Sides, Symbols};

use crate::{SideTree, Wanted, component_key};
use functions::Functions;
pub(crate) use functions::are_of_like_layers;
use shapes::Which;
use work::Work;

/// Why two functions are taken for one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// Same name in the same component.
    Name,
    /// Same name in what is the same component but for host, hash or version.
    Component,
    /// Same name but for what compilers and linkers append.
    Suffix,
    /// Same name but for arguments of templates.
    Template,
    /// Same name in another component.
    OtherComponent,
    /// Same code, names aside.
    Code,
    /// Much of the same code except for names.
    LikeCode,
    /// Same place in the source file, by the functions around it.
    Place,
    /// Same callers.
    Callers,
    /// Same callees.
    Callees,
    /// Same callers and callees.
    Neighbours,
}

impl Why {
    /// What speaks for the match, as people read it.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Name => "same name",
            Self::Component => "same name except for host and version",
            Self::Suffix => "same name except for a suffix",
            Self::Template => "same name except for template arguments",
            Self::OtherComponent => "same name in another component",
            Self::Code => "same code except for names",
            Self::LikeCode => "similar code except for names",
            Self::Place => "same place in the file",
            Self::Callers => "same callers",
            Self::Callees => "same callees",
            Self::Neighbours => "same callers and callees",
        }
    }
}

/// Functions of both sides that are one, for another reason than their name.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionMatch {
    /// The function before.
    pub before: FunctionId,
    /// The function after.
    pub after: FunctionId,
    /// What speaks for it.
    pub why: Why,
    /// How sure that is, from 0 to 1.
    pub certainty: f64,
}

impl FunctionMatch {
    /// The match in a few words, for whoever sees the function after: "was `foo` (same callees, 87 % sure)".
    pub fn reason(&self, before: &Symbols, after: &Symbols) -> String {
        let name = |symbols: &Symbols, function| match symbols.name(function) {
            "" => "(anonymous)".to_owned(),
            name => format!("`{name}`"),
        };
        let (was, is) = (name(before, self.before), name(after, self.after));
        let (from, to) = (before.component(self.before), after.component(self.after));
        let (line, now) = (before.function(self.before).line, after.function(self.after).line);
        let what = match (from, line) {
            (Some(from), _) if Some(from) != to => format!("was {was} in {from}"),
            _ if was != is => format!("was {was}"),
            (_, Some(line)) if Some(line) != now => format!("was {was} in line {line}"),
            _ => format!("was {was}"),
        };
        format!("{what} ({}, {:.0} % sure)", self.why.phrase(), self.certainty * 100.0)
    }
}

/// Functions of both sides in classes: two functions are one when their classes are equal.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Identity {
    /// By function.
    class: Sides<Vec<u32>>,
    /// By class: it goes by another name after than before.
    renamed: Vec<bool>,
    /// What was matched for another reason than its name, in the order of the after side.
    pub matches: Vec<FunctionMatch>,
}

impl Identity {
    /// Functions of equal name and component are one, whatever host a script came from; see [`component_key`]. Nothing
    /// else is.
    pub fn by_name(before: &SideTree<'_>, after: &SideTree<'_>) -> Self {
        let mut known = hashbrown::HashMap::new();
        let class = Sides { before, after }.map(|side| {
            let mut classes = Vec::with_capacity(side.symbols.functions().len());
            for (id, _) in side.symbols.functions() {
                let next = known.len() as u32;
                let key = (side.symbols.name(id), side.symbols.component(id).map(component_key));
                classes.push(*known.entry(key).or_insert(next));
            }
            classes
        });
        Self { class, renamed: vec![false; known.len()], matches: Vec::new() }
    }

    /// Functions are one when name, component and signature are equal, and when they are known to have been renamed.
    /// Two checkouts of one program lie in two folders: what has no partner is matched by the rest of its path.
    pub fn by_signature(
        before: &SideTree<'_>,
        after: &SideTree<'_>,
        renamed: &[(FunctionId, FunctionId)],
    ) -> Self {
        let (mut class, count) = signatures::classes(before.symbols, after.symbols);
        let mut is_renamed = vec![false; count];
        for (old, new) in renamed {
            let (Some(known), Some(slot)) =
                (class.before.get(old.index()), class.after.get_mut(new.index()))
            else {
                continue;
            };
            *slot = *known;
            is_renamed[*known as usize] = true;
        }
        Self { class, renamed: is_renamed, matches: Vec::new() }
    }

    /// Functions are one by name, by their code, by place, by callers and callees, in this order.
    pub fn of(before: &SideTree<'_>, after: &SideTree<'_>) -> Self {
        Self::of_while(before, after, Wanted::default())
    }

    /// As [`of`](Self::of), and ends early once nobody waits for the answer: then functions stay apart that are one.
    pub fn of_while(before: &SideTree<'_>, after: &SideTree<'_>, wanted: Wanted<'_>) -> Self {
        let functions = Functions::of(before, after);
        let mut work = Work::new(&functions);
        let sides = Sides { before, after };
        // Where names were made up, the same name is somebody else's.
        shapes::match_shapes(&mut work, sides, Which::Minified);
        names::match_names(&mut work);
        if work.is_anything_open() && wanted.goes_on() {
            shapes::match_shapes(&mut work, sides, Which::All);
        }
        if work.is_anything_open() && wanted.goes_on() {
            work.forget_minified_names();
            neighbours::match_neighbours(&mut work, sides, wanted);
        }
        // What is alone with all that is known of it is still the likeliest partner, however little that is.
        work.pair_unique(Why::Name, 0.5, |work, side, row| {
            let fact = work.fact(side, row);
            Some((fact.name, fact.home, fact.place, fact.layers))
        });
        work.finish()
    }

    /// How many classes there are; their numbers start at 0.
    pub fn classes(&self) -> usize {
        self.renamed.len()
    }

    /// The class of a function of a side.
    #[inline]
    pub fn class(&self, side: Side, function: FunctionId) -> u32 {
        self.class[side][function.index()]
    }

    /// The class of a function of the before side.
    pub fn before(&self, function: FunctionId) -> u32 {
        self.class.before[function.index()]
    }

    /// The class of a function of the after side.
    pub fn after(&self, function: FunctionId) -> u32 {
        self.class.after[function.index()]
    }

    /// True when the functions of a class go by another name after than before.
    pub fn is_renamed(&self, class: u32) -> bool {
        self.renamed[class as usize]
    }

    /// Why the function is what it is taken for; none when its name says so, or it has no partner.
    pub fn match_of(&self, after: FunctionId) -> Option<&FunctionMatch> {
        let row = self.matches.binary_search_by_key(&after, |found| found.after).ok()?;
        self.matches.get(row)
    }
}

#[cfg(test)]
mod tests;
