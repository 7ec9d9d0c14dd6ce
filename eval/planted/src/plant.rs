//! What is planted, and what is true then.

mod causes;
mod disguises;

use crate::program::{Key, Program};
use crate::random::Random;

/// What becomes of the program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PlantedKind {
    /// A function is slower itself, in one context.
    SelfOne,
    /// A function is slower itself, in all its contexts.
    SelfAll,
    /// A function calls a new one.
    NewCallee,
    /// A function is called more often: it and everything below costs more.
    MoreCalls,
    /// A function is slower in at least 20 contexts, each of which has little of it.
    ThinSpread,
    /// A function is slower that was too cheap to be sampled before.
    Unseen,
    /// Two functions are slower.
    TwoCauses,
    /// A function is slower, others have other names.
    Renamed,
    /// The slower function has another name.
    CulpritRenamed,
    /// A function is slower, a subtree elsewhere has another caller.
    Moved,
    /// A function is slower, a function elsewhere is called through a new one that does nothing.
    Wrapped,
    /// A function is slower, and its bundle was minified anew.
    Minified,
    /// The slower function has no name, like others around it.
    Anonymous,
    /// A function is slower, and lines were added above.
    ShiftedLines,
    /// Nothing.
    Identical,
    /// Other names, nothing else.
    OnlyRenamed,
    /// A subtree has another caller, nothing else.
    OnlyMoved,
    /// A function is called through a new one, nothing else.
    OnlyWrapped,
    /// A bundle was minified anew, nothing else.
    OnlyMinified,
    /// Lines were added, nothing else.
    OnlyLines,
    /// What one function no longer costs, its neighbour does.
    CostShift,
    /// A function is faster.
    Improvement,
}

impl PlantedKind {
    /// Kinds with a slowdown to find.
    pub const SLOWER: [Self; 14] = [
        Self::SelfOne,
        Self::SelfAll,
        Self::NewCallee,
        Self::MoreCalls,
        Self::ThinSpread,
        Self::Unseen,
        Self::TwoCauses,
        Self::Renamed,
        Self::CulpritRenamed,
        Self::Moved,
        Self::Wrapped,
        Self::Minified,
        Self::Anonymous,
        Self::ShiftedLines,
    ];

    /// Kinds without.
    pub const QUIET: [Self; 8] = [
        Self::Identical,
        Self::OnlyRenamed,
        Self::OnlyMoved,
        Self::OnlyWrapped,
        Self::OnlyMinified,
        Self::OnlyLines,
        Self::CostShift,
        Self::Improvement,
    ];

    /// The word in case names and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::SelfOne => "self-one",
            Self::SelfAll => "self-all",
            Self::NewCallee => "new-callee",
            Self::MoreCalls => "more-calls",
            Self::ThinSpread => "thin-spread",
            Self::Unseen => "unseen",
            Self::TwoCauses => "two-causes",
            Self::Renamed => "renamed",
            Self::CulpritRenamed => "culprit-renamed",
            Self::Moved => "moved",
            Self::Wrapped => "wrapped",
            Self::Minified => "minified",
            Self::Anonymous => "anonymous",
            Self::ShiftedLines => "shifted-lines",
            Self::Identical => "identical",
            Self::OnlyRenamed => "only-renamed",
            Self::OnlyMoved => "only-moved",
            Self::OnlyWrapped => "only-wrapped",
            Self::OnlyMinified => "only-minified",
            Self::OnlyLines => "only-lines",
            Self::CostShift => "cost-shift",
            Self::Improvement => "improvement",
        }
    }

    /// The inverse of [`PlantedKind::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::SLOWER.into_iter().chain(Self::QUIET).find(|kind| kind.name() == name)
    }

    /// True when there is a slowdown to find.
    pub fn is_slower(self) -> bool {
        Self::SLOWER.contains(&self)
    }

    /// How much is shifted or saved, in percent of the whole, where nothing is slower.
    pub fn quiet_percents(self) -> &'static [u32] {
        match self {
            Self::CostShift => &[2, 5, 10],
            Self::Improvement => &[2, 5, 10, 20],
            _ => &[0],
        }
    }

    /// True when files must say where functions start.
    pub fn needs_places(self) -> bool {
        matches!(
            self,
            Self::Minified
                | Self::Anonymous
                | Self::ShiftedLines
                | Self::OnlyMinified
                | Self::OnlyLines
        )
    }
}

/// What the answer should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    Regressed,
    Improved,
    /// Neither regressed nor improved.
    Neither,
}

/// What is true of a case, in the words of its files.
#[derive(Clone, Debug)]
pub struct Truth {
    pub causes: Vec<Cause>,
    /// Functions that were moved, wrapped or renamed, or got what a neighbour lost: whoever blames them is wrong.
    pub decoys: Vec<Key>,
    pub expected: Expected,
    /// The planted effect of each cause, as part of the whole before.
    pub size: f64,
}

/// A planted slowdown.
#[derive(Clone, Debug)]
pub struct Cause {
    /// Functions whoever names is right, the most exact first.
    pub functions: Vec<Key>,
    /// From the root to the function, for each context that is slower.
    pub paths: Vec<Vec<Key>>,
}

/// The program before and after.
pub struct Planted {
    pub before: Program,
    pub after: Program,
    pub truth: Truth,
    /// Contexts that are slower, as rows of `after`, by cause.
    pub causes: Vec<Vec<usize>>,
}

/// A planted slowdown in rows, whose names and paths may still change.
struct Rows {
    functions: Vec<usize>,
    contexts: Vec<usize>,
}

/// The program while it is changed.
struct Site<'a> {
    before: Program,
    after: Program,
    causes: Vec<Rows>,
    decoys: Vec<usize>,
    /// What a planted effect has to cost.
    amount: f64,
    total: f64,
    /// Samples at or below each context that are expected in all runs before.
    expected: Vec<f64>,
    random: &'a mut Random,
}

/// What the program costs before anything is planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Costs {
    /// Another program each time: the real tree, costs drawn around the real ones.
    Redrawn,
    /// What was recorded.
    AsRecorded,
}

/// What is to be planted.
pub struct Wanted {
    pub kind: PlantedKind,
    pub costs: Costs,
    /// The effect, as part of the whole before.
    pub size: f64,
    /// Files say where functions start.
    pub places: bool,
    /// The part of the whole of which one sample is expected on the side before.
    pub one_sample: f64,
}

/// Plants something into a program; none when this program has no place for it.
pub fn plant(base: &Program, wanted: &Wanted, random: &mut Random) -> Option<Planted> {
    let Wanted { kind, costs, size, places, one_sample } = *wanted;
    if kind.needs_places() && !places {
        return None;
    }
    let mut before = base.clone();
    if costs == Costs::Redrawn {
        for node in &mut before.nodes {
            node.weight *= random.factor(0.5);
        }
    }
    let total = before.total();
    let expected = before.inclusive().iter().map(|cost| cost / total / one_sample).collect();
    let after = before.clone();
    let mut site = Site {
        before,
        after,
        causes: Vec::new(),
        decoys: Vec::new(),
        amount: size * total,
        total,
        expected,
        random,
    };
    site.change(kind)?;
    Some(site.finish(kind, size))
}

impl Site<'_> {
    fn change(&mut self, kind: PlantedKind) -> Option<()> {
        match kind {
            PlantedKind::Identical => Some(()),
            PlantedKind::SelfOne => self.slow_self(false, &|_| true),
            PlantedKind::SelfAll => self.slow_self(true, &|_| true),
            PlantedKind::NewCallee => self.new_callee(),
            PlantedKind::MoreCalls => self.more_calls(),
            PlantedKind::ThinSpread => self.thin_spread(),
            PlantedKind::Unseen => self.slow_unseen(),
            PlantedKind::TwoCauses => {
                self.any_self_cause()?;
                self.any_self_cause()
            }
            PlantedKind::Renamed => {
                self.any_cause()?;
                self.rename_others()
            }
            PlantedKind::CulpritRenamed => {
                let all = self.random.chance(0.5);
                self.slow_self(all, &|_| true)?;
                self.rename_culprits()
            }
            PlantedKind::Moved => {
                self.any_cause()?;
                self.move_subtree()
            }
            PlantedKind::Wrapped => {
                self.any_cause()?;
                self.wrap()
            }
            PlantedKind::Minified => {
                let bundle = self.bundle(true)?;
                let all = self.random.chance(0.5);
                let inside = bundle.clone();
                self.slow_self(all, &move |function| inside.contains(&function))?;
                self.minify(&bundle)
            }
            PlantedKind::Anonymous => self.anonymous(),
            PlantedKind::ShiftedLines => {
                let bundle = self.bundle(false)?;
                let all = self.random.chance(0.5);
                let inside = bundle.clone();
                self.slow_self(all, &move |function| inside.contains(&function))?;
                self.shift_lines(&bundle)
            }
            PlantedKind::OnlyRenamed => self.rename_others(),
            PlantedKind::OnlyMoved => self.move_subtree(),
            PlantedKind::OnlyWrapped => self.wrap(),
            PlantedKind::OnlyMinified => {
                let bundle = self.bundle(true)?;
                self.minify(&bundle)
            }
            PlantedKind::OnlyLines => {
                let bundle = self.bundle(false)?;
                self.shift_lines(&bundle)
            }
            PlantedKind::CostShift => self.shift_cost(),
            PlantedKind::Improvement => self.improve(),
        }
    }

    fn any_cause(&mut self) -> Option<()> {
        match self.random.below(4) {
            0 => self.slow_self(false, &|_| true),
            1 => self.slow_self(true, &|_| true),
            2 => self.new_callee(),
            _ => self.more_calls(),
        }
    }

    fn any_self_cause(&mut self) -> Option<()> {
        let taken: Vec<usize> =
            self.causes.iter().flat_map(|cause| cause.functions.iter().copied()).collect();
        match self.random.below(3) {
            0 => self.slow_self(false, &|function| !taken.contains(&function)),
            1 => self.slow_self(true, &|function| !taken.contains(&function)),
            _ => self.new_callee(),
        }
    }

    fn finish(self, kind: PlantedKind, size: f64) -> Planted {
        let Self { before, after, causes, decoys, .. } = self;
        let key = |function: &usize| after.functions[*function].key();
        let contexts = causes.iter().map(|rows| rows.contexts.clone()).collect();
        let causes: Vec<Cause> = causes
            .iter()
            .map(|rows| Cause {
                functions: rows.functions.iter().map(key).collect(),
                paths: rows.contexts.iter().map(|node| after.path_keys(*node)).collect(),
            })
            .collect();
        let mut decoys: Vec<Key> = decoys.iter().map(key).collect();
        decoys.sort();
        decoys.dedup();
        decoys.retain(|decoy| !causes.iter().any(|cause| cause.functions.contains(decoy)));
        let expected = match kind {
            PlantedKind::Improvement => Expected::Improved,
            kind if kind.is_slower() => Expected::Regressed,
            _ => Expected::Neither,
        };
        Planted { before, after, truth: Truth { causes, decoys, expected, size }, causes: contexts }
    }
}
