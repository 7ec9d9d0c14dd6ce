//! How changed functions stand to what got slower.

use hashbrown::HashMap;
use perfblame_changes::{Addition, ChangeKind, FunctionChange, Language};

use super::places::{Places, own_name};
use super::{Code, brought_in, last_part};
use crate::{DiffTree, Suspect, SuspectKind};

/// More contexts than this add nothing: the heaviest come first.
const MOST_CONTEXTS: usize = 1_000;
/// Callers up to this far may have inlined a changed function.
const INLINING_CALLERS: usize = 3;

/// A changed function and what it has to do with a suspect.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Relation {
    /// Row of the change.
    pub change: usize,
    pub how: How,
    /// The part of the suspect's growth that it covers, 0 to 1.
    pub overlap: f64,
    /// How well it explains the suspect, 0 to 1.
    pub score: f64,
}

/// Where a changed function stands.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum How {
    /// It is the suspect.
    Itself,
    /// So many calls above it; the call that leads down to it goes to this function.
    Above(usize, String),
    /// It is called below the suspect.
    Below,
    /// It is in no stack, and this function, so many calls above the suspect, calls it.
    Inlined(usize, String),
    /// It is in no stack, and neither is this function, which the suspect or a caller so many calls above it calls, and
    /// which leads to it.
    InlinedThrough(usize, String),
    /// The suspect calls it, and what a virtual machine inlines can count as the caller's own.
    Called,
    /// It holds the suspect or is held by it: a closure, a local function.
    Holds,
    /// It is in the same file or class.
    Beside,
}

impl Relation {
    /// In words.
    pub fn why(&self, change: &FunctionChange) -> String {
        let (place, callee) = match &self.how {
            How::Itself => ("the function itself".to_owned(), None),
            How::Above(1, callee) => ("calls it".to_owned(), Some(callee)),
            How::Above(calls, callee) => (format!("{calls} calls above it"), Some(callee)),
            How::Below => ("called below it".to_owned(), None),
            How::Inlined(0, _) => ("called by it and inlined".to_owned(), None),
            How::Inlined(_, caller) => (format!("inlined into its caller `{caller}`"), None),
            How::InlinedThrough(_, via) => (format!("inlined through `{via}`"), None),
            How::Called => ("called by it, where it may be inlined".to_owned(), None),
            How::Holds => ("one contains the other".to_owned(), None),
            How::Beside => ("in the same file".to_owned(), None),
        };
        match brought_in(&change.additions, callee.map(String::as_str)) {
            Some(what) => format!("{place}, {what}"),
            None => place,
        }
    }
}

/// All changes that have to do with a suspect, the likeliest first.
pub(super) fn relations(
    tree: &DiffTree,
    suspect: &Suspect,
    places: &Places,
    code: &Code<'_>,
) -> Vec<Relation> {
    let from_below = from_below(tree, suspect);
    let mut gathered = Gathered { code, places, suspect, from_below, by_change: HashMap::new() };
    let contexts = &suspect.contexts[..suspect.contexts.len().min(MOST_CONTEXTS)];
    let weights: Vec<f64> = contexts.iter().map(|row| own_growth(tree, *row)).collect();
    let total: f64 = weights.iter().sum();
    for (row, weight) in contexts.iter().zip(weights) {
        let share = if total > 0.0 { weight / total } else { 1.0 / contexts.len() as f64 };
        gathered.above(tree, *row, share);
        gathered.below(tree, *row, share);
    }
    gathered.around(tree);
    let mut found: Vec<Relation> = gathered.by_change.into_values().collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.change.cmp(&b.change)));
    found
}

/// The part of a suspect's growth that is not its own: what is called more often brings along all that it calls.
fn from_below(tree: &DiffTree, suspect: &Suspect) -> f64 {
    let growth = suspect.after - suspect.before;
    let rows = suspect.contexts.iter().filter_map(|row| tree.rows.get(*row));
    let own: f64 = rows.map(|row| row.after - row.before).sum();
    if growth > 0.0 { ((growth - own) / growth).clamp(0.0, 1.0) } else { 0.0 }
}

/// What a context and all below it grew by.
fn own_growth(tree: &DiffTree, row: usize) -> f64 {
    subtree(tree, row).map(|row| tree.rows[row].after - tree.rows[row].before).sum::<f64>().max(0.0)
}

/// A row and all below it.
fn subtree(tree: &DiffTree, row: usize) -> impl Iterator<Item = usize> + '_ {
    let below =
        move |next: &usize| tree.rows[*next].parent.is_some_and(|above| above as usize >= row);
    std::iter::once(row).chain((row + 1..tree.rows.len()).take_while(below))
}

struct Gathered<'a> {
    code: &'a Code<'a>,
    places: &'a Places,
    suspect: &'a Suspect,
    /// The part of the suspect's growth that is not its own.
    from_below: f64,
    by_change: HashMap<usize, Relation>,
}

impl Gathered<'_> {
    /// A relation that covers part of the growth. Parts of several contexts add up; of several ways to stand to the
    /// suspect the strongest is the one to tell.
    fn add(&mut self, change: usize, how: How, overlap: f64) {
        let strength = self.strength(change, &how);
        let known = self.by_change.entry(change).or_insert_with(|| Relation {
            change,
            how: how.clone(),
            overlap: 0.0,
            score: 0.0,
        });
        known.overlap = (known.overlap + overlap).min(1.0);
        known.score = (known.score + strength * overlap).min(1.0);
        if rank(&how) < rank(&known.how) {
            known.how = how;
        }
    }

    /// The changed functions on the way from a context to its root; what several calls of one function share counts
    /// once.
    fn above(&mut self, tree: &DiffTree, row: usize, share: f64) {
        let mut seen = Vec::new();
        let mut callee = &self.suspect.function.name;
        let mut at = Some(row);
        let mut calls = 0;
        while let Some(row) = at {
            let function = tree.rows[row].function as usize;
            if let Some(change) = self.places.change[function]
                && !seen.contains(&change)
            {
                seen.push(change);
                match calls {
                    0 => {
                        let others = self.from_below.min(self.explained_below(tree, row, change));
                        self.add(change, How::Itself, share * (1.0 - others));
                    }
                    _ => self.add(change, How::Above(calls, callee.clone()), share),
                }
            }
            if calls <= INLINING_CALLERS {
                self.inlined(function, calls, &tree.functions[function].name, share, &mut seen);
            }
            callee = &tree.functions[function].name;
            at = tree.rows[row].parent.map(|above| above as usize);
            calls += 1;
        }
    }

    /// Changed functions that a function on the path calls and that no stack shows: they became part of it.
    fn inlined(
        &mut self,
        function: usize,
        calls: usize,
        caller: &str,
        share: f64,
        seen: &mut Vec<usize>,
    ) {
        let Some(located) = &self.places.located[function] else { return };
        for inlined in &self.places.inlined[function] {
            if !seen.contains(&inlined.change) {
                seen.push(inlined.change);
                self.add(
                    inlined.change,
                    How::InlinedThrough(calls + inlined.between, inlined.via.clone()),
                    share,
                );
            }
        }
        for (row, change) in self.code.changes.functions.iter().enumerate() {
            if self.places.sampled[row] || seen.contains(&row) {
                continue;
            }
            let Some(now) = &change.after else { continue };
            let name = own_name(now);
            let is_called = located.definition.language == now.language
                && located.calls.iter().any(|call| last_part(call) == name);
            if is_called {
                seen.push(row);
                self.add(row, How::Inlined(calls, caller.to_owned()), share);
            }
        }
    }

    /// The changed functions that a context calls, each with the part of the growth that is below it.
    fn below(&mut self, tree: &DiffTree, row: usize, share: f64) {
        for (_, change, part) in self.changed_below(tree, row) {
            self.add(change, How::Below, share * part);
        }
        self.called(tree, row, share);
    }

    /// The changed functions that a context calls, for what grew in the context itself: profilers of virtual machines
    /// give samples in a function that was inlined to the caller where they do not know better. Stacks of native code
    /// are unwound with debug information, which does know.
    fn called(&mut self, tree: &DiffTree, row: usize, share: f64) {
        let mut seen = Vec::new();
        let own = share * (1.0 - self.from_below);
        for below in subtree(tree, row).skip(1).take_while(|_| own > 0.0) {
            if tree.rows[below].parent != u32::try_from(row).ok() {
                continue;
            }
            let Some(change) = self.places.change[tree.rows[below].function as usize] else {
                continue;
            };
            let now = self.code.changes.functions[change].after.as_ref();
            let inlines = now.is_some_and(|now| {
                matches!(now.language, Language::Java | Language::JavaScript | Language::TypeScript)
            });
            if inlines && !seen.contains(&change) {
                seen.push(change);
                self.add(change, How::Called, own);
            }
        }
    }

    /// Rows of the highest changed functions below a context, their changes, and the part of the growth that is there.
    fn changed_below(&self, tree: &DiffTree, row: usize) -> Vec<(usize, usize, f64)> {
        let growth = own_growth(tree, row);
        let mut found = Vec::new();
        if growth <= 0.0 {
            return found;
        }
        let mut skip_to = 0;
        for below in subtree(tree, row).skip(1) {
            let change = self.places.change[tree.rows[below].function as usize];
            let Some(change) = change.filter(|_| below >= skip_to) else { continue };
            skip_to = below + subtree(tree, below).count();
            found.push((below, change, (own_growth(tree, below) / growth).min(1.0)));
        }
        found
    }

    /// The part of a changed function's growth that other changed functions below it explain better: all that is in
    /// them, unless its own change adds the call that leads there. Nobody knows what is in a loop that it adds; a
    /// change below that brings nothing in yields to it, others get half.
    fn explained_below(&self, tree: &DiffTree, row: usize, change: usize) -> f64 {
        let functions = &self.code.changes.functions;
        let additions = &functions[change].additions;
        let adds_loop = additions.contains(&Addition::Loop);
        let adds_call = |callee: &str| {
            additions.iter().any(|addition| match addition {
                Addition::Call(name) => last_part(name) == last_part(callee),
                _ => false,
            })
        };
        let others = self.changed_below(tree, row).into_iter();
        let parts = others.filter(|(_, other, _)| *other != change).map(|(below, other, part)| {
            let mut called = below;
            while let Some(above) = tree.rows[called].parent.filter(|above| *above as usize > row) {
                called = above as usize;
            }
            let callee = &tree.functions[tree.rows[called].function as usize].name;
            match (adds_call(callee), adds_loop, functions[other].additions.is_empty()) {
                (true, ..) | (_, true, true) => 0.0,
                (_, true, false) => part * 0.5,
                _ => part,
            }
        });
        parts.sum::<f64>().min(1.0)
    }

    /// Changes that are near in the text: closures and their holders, the same file.
    fn around(&mut self, tree: &DiffTree) {
        let heaviest = self.suspect.contexts.first();
        let Some(row) = heaviest.and_then(|row| tree.rows.get(*row)) else { return };
        let Some(located) = &self.places.located[row.function as usize] else { return };
        let own = &located.definition;
        let within = |inner: Option<(u32, u32)>, outer: Option<(u32, u32)>| match (inner, outer) {
            (Some(inner), Some(outer)) => outer.0 <= inner.0 && inner.1 <= outer.1,
            _ => false,
        };
        for (row, change) in self.code.changes.functions.iter().enumerate() {
            if self.by_change.contains_key(&row) || !self.places.reached[row] {
                continue;
            }
            let Some(place) = change.after.as_ref().or(change.before.as_ref()) else { continue };
            if place.file.is_none() || place.file != own.file {
                continue;
            }
            let held = change.after.is_some()
                && (within(place.lines, own.lines) || within(own.lines, place.lines));
            let how = if held { How::Holds } else { How::Beside };
            self.add(row, how, 1.0);
        }
    }

    /// How well a change of this kind, standing there, explains that something costs more.
    fn strength(&self, change: usize, how: &How) -> f64 {
        let change = &self.code.changes.functions[change];
        let adds = |wanted: fn(&Addition) -> bool| change.additions.iter().any(wanted);
        let brings = !change.additions.is_empty();
        let waits = self.suspect.kind == SuspectKind::Waits
            && adds(|addition| matches!(addition, Addition::Wait | Addition::Lock));
        // Without counts, more calls are only what the growth looks like.
        let called_more = self.suspect.calls.is_some()
            && matches!(self.suspect.kind, SuspectKind::MoreCalls | SuspectKind::New);
        // A function that only has another name or place does what it did.
        let same_body = matches!(change.kind, ChangeKind::Renamed | ChangeKind::Moved)
            && change.hunks.is_empty();
        let place = match how {
            // Being called more often is its callers' doing, unless it is as new as the call.
            How::Itself if called_more && change.kind != ChangeKind::Added => 0.6,
            How::Itself => 1.0,
            How::Above(calls, callee) => {
                let calls_it = change.additions.iter().any(|addition| match addition {
                    Addition::Call(name) => last_part(name) == last_part(callee),
                    _ => false,
                });
                let above = *calls as f64 - 1.0;
                // Whoever makes the call that leads there is the cause, however long the way is. Without that, the
                // nearer the likelier.
                match (calls_it, adds(|addition| *addition == Addition::Loop)) {
                    (true, _) => 0.95 / (1.0 + 0.1 * above),
                    (_, true) => 0.85 / (1.0 + 0.35 * above),
                    _ if brings => 0.75 / (1.0 + 0.35 * above),
                    _ => 0.6 / (1.0 + 0.35 * above),
                }
            }
            // That it is called is known, not that this is where it went.
            How::Inlined(calls, _) | How::InlinedThrough(calls, _) if brings => {
                0.85 / (1.0 + 0.35 * *calls as f64)
            }
            How::Inlined(calls, _) | How::InlinedThrough(calls, _) => {
                0.6 / (1.0 + 0.35 * *calls as f64)
            }
            How::Called if brings => 0.8,
            How::Called => 0.5,
            How::Holds => 0.8,
            How::Below => 0.9,
            How::Beside => 0.1,
        };
        // Of a function that is new, all is.
        let is_new = matches!(change.kind, ChangeKind::Added | ChangeKind::Extracted);
        let evidence = if brings || waits || is_new { 1.0 } else { 0.9 };
        place * evidence * if same_body { 0.2 } else { 1.0 } * change.certainty.clamp(0.5, 1.0)
    }
}

/// Which of several ways to stand to a suspect is told.
fn rank(how: &How) -> usize {
    match how {
        How::Itself => 0,
        How::Above(calls, _) => *calls,
        How::Inlined(calls, _) | How::InlinedThrough(calls, _) => 100 + calls,
        How::Holds => 200,
        How::Below => 300,
        How::Called => 350,
        How::Beside => 400,
    }
}
