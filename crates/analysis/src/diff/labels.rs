//! Which functions of two profiles the changes of the code are about.
//!
//! Code and profiles spell functions differently: one has the class in the name, the other in the component; one has a
//! module path, the other a file. A function is the changed one when their last names are equal, what stands before
//! them does not contradict, and neither do files and signatures; of several candidates the one whose lines hold the
//! function, then the one with most of the name in common.

use hashbrown::HashMap;
use perfblame_blame::Label;
use perfblame_cct::{FunctionId, Side, Sides, Symbols};
use perfblame_matching::{Identity, SideTree};

use super::changed::{ChangedFunction, ChangedKind, CodePlace};

/// What the code says about the functions of two profiles.
#[derive(Default)]
pub(super) struct Labels {
    /// By side and row of the function.
    pub(super) of: Sides<Vec<Label>>,
    /// By side and row of the function: the row of its change.
    pub(super) change: Sides<Vec<Option<u32>>>,
    /// How many changes are about a function of either profile.
    pub(super) met: usize,
    /// Functions that are said to be added or deleted and are in both profiles.
    pub(super) contradicted: usize,
}

/// Without a word about the code: what is in one profile only counts as added or deleted.
pub(super) fn inferred(sides: &Sides<SideTree<'_>>) -> Labels {
    let elsewhere = elsewhere(sides);
    let labels = Sides::of(|side| {
        let gone = if side == Side::Before { Label::Deleted } else { Label::Added };
        let label = |known: &bool| if *known { Label::Unchanged } else { gone };
        elsewhere[side].iter().map(label).collect()
    });
    let change = sides.as_ref().map(|side| vec![None; side.symbols.functions().len()]);
    Labels { of: labels, change, ..Labels::default() }
}

/// What changes of the code say.
pub(super) fn of_changes(sides: &Sides<SideTree<'_>>, changes: &[ChangedFunction]) -> Labels {
    let elsewhere = elsewhere(sides);
    let places = Sides::of(|side| -> Vec<Option<&CodePlace>> {
        changes
            .iter()
            .map(|change| {
                let own = match side {
                    Side::Before => change.before.as_ref(),
                    Side::After => change.after.as_ref(),
                };
                // A modified function is the same one on both sides, where only one is given.
                own.or(change.place().filter(|_| change.kind == ChangedKind::Modified))
            })
            .collect()
    });
    let change = Sides::of(|side| assigned(sides[side].symbols, &places[side]));
    let mut met = vec![false; changes.len()];
    for row in change.iter().flatten().flatten() {
        met[*row as usize] = true;
    }
    // The first function of each change before and after, for those with two names.
    let first = Sides::of(|side| {
        let mut first: Vec<Option<FunctionId>> = vec![None; changes.len()];
        for (row, change) in change[side].iter().enumerate() {
            if let Some(change) = change {
                first[*change as usize].get_or_insert(FunctionId::new(row));
            }
        }
        first
    });
    let mut contradicted = 0;
    let labels = Sides::of(|side| -> Vec<Label> {
        let label = |(row, change): (usize, &Option<u32>)| {
            let Some(number) = change.map(|change| change as usize) else {
                return Label::Unchanged;
            };
            let known = elsewhere[side][row];
            match (changes[number].kind, side) {
                (ChangedKind::Modified, _) => Label::Modified,
                (ChangedKind::Added, Side::After) | (ChangedKind::Deleted, Side::Before)
                    if known =>
                {
                    contradicted += 1;
                    Label::Modified
                }
                (ChangedKind::Added, Side::After) => Label::Added,
                (ChangedKind::Deleted, Side::Before) => Label::Deleted,
                (ChangedKind::Added | ChangedKind::Deleted, _) => Label::Unchanged,
                // Modified, too; the other side says what it was called.
                (ChangedKind::Renamed, Side::After) if !changes[number].hunks.is_empty() => {
                    Label::Modified
                }
                (ChangedKind::Renamed, _) => {
                    first[side.other()][number].map_or(Label::Unchanged, Label::Renamed)
                }
            }
        };
        change[side].iter().enumerate().map(label).collect()
    });
    let met = met.into_iter().filter(|met| *met).count();
    Labels { of: labels, change, met, contradicted }
}

/// By side and row of the function: whether the other side has it, too.
fn elsewhere(sides: &Sides<SideTree<'_>>) -> Sides<Vec<bool>> {
    let identity = Identity::by_signature(&sides.before, &sides.after, &[]);
    let mut present = Sides::same(vec![false; identity.classes()]);
    for (side, present) in present.each_mut() {
        for (id, _) in sides[side].symbols.functions() {
            present[identity.class(side, id) as usize] = true;
        }
    }
    Sides::of(|side| {
        let functions = sides[side].symbols.functions();
        functions.map(|(id, _)| present[side.other()][identity.class(side, id) as usize]).collect()
    })
}

/// The change that each function of a profile is about.
fn assigned(symbols: &Symbols, places: &[Option<&CodePlace>]) -> Vec<Option<u32>> {
    let mut by_last: HashMap<String, Vec<(u32, Vec<String>)>> = HashMap::new();
    for (row, place) in (0u32..).zip(places) {
        let Some(place) = place else { continue };
        let mut segments = place.component.as_deref().map(segments).unwrap_or_default();
        segments.extend(self::segments(&place.name));
        constructor(&mut segments);
        if let Some(last) = segments.last() {
            by_last.entry(last.clone()).or_default().push((row, segments));
        }
    }
    let of = |(id, function): (FunctionId, &perfblame_cct::Function)| {
        let mut name = segments(symbols.name(id));
        constructor(&mut name);
        let candidates = by_last.get(name.last()?)?;
        let component = symbols.component(id);
        let whole = component.filter(|component| !is_path(component)).map(segments);
        let whole: Vec<String> =
            whole.unwrap_or_default().into_iter().chain(name.clone()).collect();
        let file = function.file.map(|file| symbols.text(file));
        let file = file.or(component.filter(|component| is_path(component)));
        let signature = function.signature.map(|text| symbols.text(text));
        let line = function.line.map(std::num::NonZeroU32::get);
        let judged = candidates.iter().filter_map(|(row, segments)| {
            let place = places[*row as usize]?;
            let signed = |text: &str| text.starts_with('(') && text.contains(')');
            if let (Some(one), Some(other)) = (signature, place.signature.as_deref())
                && signed(one)
                && signed(other)
                && one != other
            {
                return None;
            }
            let files = file.zip(place.file.as_deref()).filter(|(one, other)| {
                extension(one).is_some() && extension(one) == extension(other)
            });
            let same_file = files.map(|(one, other)| base(one) == base(other));
            if same_file == Some(false) {
                return None;
            }
            let within = place.lines.zip(line).is_some_and(|((from, to), line)| {
                same_file == Some(true) && (from..=to).contains(&line)
            });
            let shared = [&whole, &name].into_iter().map(|own| suffix(own, segments)).max()?;
            let shortest = segments.len().min(name.len());
            // A class path of the profile may hold what the name in the code does not, and the other way round.
            let agrees = shared >= shortest || whole.len() > shared && shared >= segments.len();
            (agrees || within).then_some((within, shared, std::cmp::Reverse(*row)))
        });
        judged.max().map(|(_, _, row)| row.0)
    };
    symbols.functions().map(of).collect()
}

/// The names that a full name is made of: `com.acme.Layer$Tile.draw(int)` has four, and arguments are none.
fn segments(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut depth = 0usize;
    for letter in name.chars() {
        let fresh = out.last().is_some_and(String::is_empty);
        match letter {
            '(' | '[' if !fresh || depth > 0 => depth += 1,
            ')' | ']' if depth > 0 => depth -= 1,
            // `<init>` is a name, `List<String>` has arguments.
            '<' if !fresh || depth > 0 => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            '.' | ':' | '/' | '\\' | '#' | '$' => {
                if !fresh {
                    out.push(String::new());
                }
            }
            letter => {
                if let Some(last) = out.last_mut() {
                    last.push(letter);
                }
            }
        }
    }
    out.retain(|segment| !segment.is_empty());
    out
}

/// Sources call a constructor by its class, class files `<init>`.
fn constructor(segments: &mut [String]) {
    if let [.., class, method] = segments
        && (class == method || method == "constructor")
    {
        "<init>".clone_into(method);
    }
}

/// How many names two full names have in common at their ends.
fn suffix(one: &[String], other: &[String]) -> usize {
    one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
}

fn is_path(text: &str) -> bool {
    text.contains(['/', '\\']) || extension(text).is_some_and(|ending| SOURCES.contains(&ending))
}

/// Endings of files that hold source; a class `a.b.c` ends in what is no ending.
const SOURCES: &[&str] = &[
    "java", "kt", "js", "mjs", "cjs", "jsx", "ts", "tsx", "rs", "c", "h", "cc", "cpp", "cxx",
    "hpp", "py", "go", "rb", "php",
];

fn extension(path: &str) -> Option<&str> {
    let name = base(path);
    let name = name.split(['?', '#']).next().unwrap_or(name);
    name.rsplit_once('.').map(|(_, ending)| ending)
}

fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
