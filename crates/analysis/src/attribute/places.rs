//! Where the functions of a comparison stand in the code, and which changes the runs get to.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};
use perfblame_changes::{Addition, Definition, Language};

use super::{Code, Located, last_part};
use crate::{DiffTree, Fate, FunctionView};

/// The functions of a tree, by row of [`DiffTree::functions`].
pub(super) struct Places {
    /// What each is in the sources.
    pub located: Vec<Option<Located>>,
    /// The row of its change, when it changed.
    pub change: Vec<Option<usize>>,
    /// By change: the function is in a stack.
    pub sampled: Vec<bool>,
    /// By change: the runs get to it, or nobody can tell.
    pub reached: Vec<bool>,
    /// Changed functions that became part of each by way of others that are in no stack either.
    pub inlined: Vec<Vec<Inlined>>,
    /// For some change, stacks cannot tell whether it ran.
    pub is_blind: bool,
}

/// A changed function that became part of one in a stack.
pub(super) struct Inlined {
    /// Row of the change.
    pub change: usize,
    /// The function that the one in the stack calls on the way there.
    pub via: String,
    /// How many functions there are in between.
    pub between: usize,
}

/// Compilers inline through so many functions, and guesses beyond that are worth nothing.
const MOST_BETWEEN: usize = 3;
/// Calls that are followed from one function at most, so that large programs cost no more.
const MOST_CALLS: usize = 200;

impl Places {
    pub fn of(tree: &DiffTree, code: &Code<'_>) -> Self {
        let changes = &code.changes.functions;
        // Where a function is known from, by function: the side after, the side before.
        let mut sides = vec![(false, false); tree.functions.len()];
        for row in &tree.rows {
            let (after, before) = &mut sides[row.function as usize];
            *after |= row.fate != Fate::Gone;
            *before |= row.fate != Fate::New;
        }
        let located: Vec<Option<Located>> = (tree.functions.iter().zip(&sides))
            .map(|(function, sides)| locate(function, *sides, code))
            .collect();
        let mut by_place: HashMap<Key<'_>, usize> = HashMap::new();
        for (row, change) in changes.iter().enumerate() {
            for definition in [&change.before, &change.after].into_iter().flatten() {
                by_place.entry(key(definition)).or_insert(row);
            }
        }
        let change: Vec<Option<usize>> = located
            .iter()
            .map(|located| by_place.get(&key(&located.as_ref()?.definition)).copied())
            .collect();
        let mut sampled = vec![false; changes.len()];
        change.iter().flatten().for_each(|row| sampled[*row] = true);
        let mut reached = reached(code, &located, &sampled);
        let mut is_blind = false;
        for (change, reached) in changes.iter().zip(&mut reached).filter(|(_, reached)| !**reached)
        {
            let definition = change.after.as_ref().or(change.before.as_ref());
            if definition.is_none_or(|it| !shows_inlined(it.language, &tree.functions, &located)) {
                (*reached, is_blind) = (true, true);
            }
        }
        let inlined = inlined(code, tree, &located, &sampled);
        Self { located, change, sampled, reached, inlined, is_blind }
    }
}

/// What compilers may have made a part of each function that is in a stack: changed functions that it gets to through
/// others, none of which is in a stack. Where debug information shows inlined functions there are none.
fn inlined(
    code: &Code<'_>,
    tree: &DiffTree,
    located: &[Option<Located>],
    sampled: &[bool],
) -> Vec<Vec<Inlined>> {
    let mut wanted: HashMap<&str, usize> = HashMap::new();
    for (row, change) in code.changes.functions.iter().enumerate().rev() {
        if let Some(now) =
            change.after.as_ref().filter(|now| !sampled[row] && is_native(now.language))
        {
            wanted.insert(own_name(now), row);
        }
    }
    let in_stacks: HashSet<&str> = tree.functions.iter().map(|it| last_part(&it.name)).collect();
    let follow = |(function, located): (&FunctionView, &Option<Located>)| {
        let Some(located) = located else { return Vec::new() };
        if wanted.is_empty() || function.file.is_some() || !is_native(located.definition.language) {
            return Vec::new();
        }
        let hidden = |name: &&String| !in_stacks.contains(last_part(name));
        let first = located.calls.iter().filter(hidden);
        let mut todo: VecDeque<(String, String, usize)> =
            first.map(|name| (name.clone(), name.clone(), 1)).collect();
        let mut seen: HashSet<String> = todo.iter().map(|(name, ..)| name.clone()).collect();
        let mut found: Vec<Inlined> = Vec::new();
        while let Some((name, via, between)) = todo.pop_front() {
            let view = FunctionView { name, ..FunctionView::default() };
            let Some(next) = code.after.locate(&view) else { continue };
            for name in next.calls.iter().filter(hidden) {
                if seen.len() >= MOST_CALLS || !seen.insert(name.clone()) {
                    continue;
                }
                if let Some(change) = wanted.get(last_part(name)) {
                    found.push(Inlined { change: *change, via: via.clone(), between });
                } else if between < MOST_BETWEEN {
                    todo.push_back((name.clone(), via.clone(), between + 1));
                }
            }
        }
        found
    };
    tree.functions.iter().zip(located).map(follow).collect()
}

fn is_native(language: Language) -> bool {
    matches!(language, Language::C | Language::Cpp | Language::Rust | Language::Go)
}

type Key<'a> = (Option<&'a str>, &'a str, Option<u32>);

fn key(definition: &Definition) -> Key<'_> {
    let line = definition.lines.map(|(first, _)| first);
    (definition.file.as_deref(), &definition.name, line)
}

fn locate(
    function: &FunctionView,
    (after, before): (bool, bool),
    code: &Code<'_>,
) -> Option<Located> {
    let now = after.then(|| code.after.locate(function)).flatten();
    now.or_else(|| before.then(|| code.before.locate(function)).flatten())
}

/// Whether a function of this language that ran for long would be in a stack under its own name. At least one must be
/// found in the sources. Compilers of native code inline functions through several callers, and only debug information,
/// which brings files along, keeps them in stacks; virtual machines always do.
fn shows_inlined(
    language: Language,
    functions: &[FunctionView],
    located: &[Option<Located>],
) -> bool {
    let native = is_native(language);
    let mut found = functions.iter().zip(located).filter(|(_, located)| {
        located.as_ref().is_some_and(|located| located.definition.language == language)
    });
    let mut any = false;
    found.all(|(function, _)| {
        any = true;
        !native || function.file.is_some()
    }) && any
}

/// Changes that were sampled, and those that something sampled calls: a function that is inlined or too fast to be seen
/// runs all the same. Names are all that is known of callees, so that one too many is reached rather than one too few.
fn reached(code: &Code<'_>, located: &[Option<Located>], sampled: &[bool]) -> Vec<bool> {
    let changes = &code.changes.functions;
    let mut called: HashSet<&str> = HashSet::new();
    for place in located.iter().flatten() {
        called.extend(place.calls.iter().map(|call| last_part(call)));
    }
    let mut reached = sampled.to_vec();
    // What a reached change calls anew is reached as well, and so on.
    let mut todo: Vec<usize> = (0..changes.len()).filter(|row| reached[*row]).collect();
    loop {
        for row in todo.drain(..) {
            called.extend(changes[row].additions.iter().filter_map(|addition| match addition {
                Addition::Call(name) => Some(last_part(name)),
                _ => None,
            }));
        }
        todo.extend((0..changes.len()).filter(|row| {
            let mut sides = [&changes[*row].before, &changes[*row].after].into_iter().flatten();
            !reached[*row] && sides.any(|definition| called.contains(own_name(definition)))
        }));
        if todo.is_empty() {
            return reached;
        }
        for row in &todo {
            reached[*row] = true;
        }
    }
}

/// The name by which a function is called; a constructor by its class's.
pub(super) fn own_name(definition: &Definition) -> &str {
    match last_part(&definition.name) {
        "" | "<init>" | "new" | "__init__" | "constructor" => {
            let class = definition.name.rsplit_once(['.', ':']).map_or("", |(class, _)| class);
            last_part(class.trim_end_matches(':'))
        }
        name => name,
    }
}
