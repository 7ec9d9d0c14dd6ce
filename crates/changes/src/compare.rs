//! Two sets of source files compared: which function became which, and what that changed.
//!
//! Only files that differ are looked at. Functions pair up by name and body within their file first, then across
//! files, then by likeness of their tokens; every step is an index lookup, never all against all.

mod file_kind;
mod pairing;
mod shingles;

pub use file_kind::file_kind;

use perfblame_sides::{Side, Sides};

use crate::lines::{self, first_new, first_old};
use crate::parallel::map_in_order;
use crate::source::{
    FunctionKind, NO_SYNTAX_TREES, SYNTAX_TREES, SourceFile, SourceFunction, changed_parts,
    source_file,
};
use crate::{
    Addition, ChangeKind, ChangeSet, Definition, FileChange, FileKind, FunctionChange, Hunk,
    Language,
};

use pairing::{FunctionId, Pair, Pairing};

/// A file that differs; one side is missing when it is new or gone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangedFile {
    /// The file before.
    pub before: Option<FileVersion>,
    /// The file after.
    pub after: Option<FileVersion>,
}

impl ChangedFile {
    fn version(&self, side: Side) -> Option<&FileVersion> {
        match side {
            Side::Before => self.before.as_ref(),
            Side::After => self.after.as_ref(),
        }
    }

    /// The versions that there are, *before* first.
    fn versions(&self) -> impl Iterator<Item = &FileVersion> {
        Side::BOTH.into_iter().filter_map(|side| self.version(side))
    }
}

/// A file at one time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileVersion {
    /// Its path from the root.
    pub path: String,
    /// What is in it.
    pub text: Vec<u8>,
}

/// What a comparison of sources found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SourceComparison {
    /// What may behave differently.
    pub changes: ChangeSet,
    /// Functions whose text changed and whose behaviour did not: local names, layout of expressions, modifiers.
    pub refactored: Vec<FunctionChange>,
}

/// A file with both sides parsed.
struct Compared<'a> {
    file: &'a ChangedFile,
    parsed: Sides<Option<SourceFile>>,
    hunks: Vec<Hunk>,
}

impl Compared<'_> {
    fn of(file: &ChangedFile, parsing: Parsing) -> Compared<'_> {
        let binary = file.versions().any(is_binary);
        let parse = |version: Option<&FileVersion>| {
            let version = version.filter(|_| !binary)?;
            source_file(&version.path, &version.text)
        };
        let hunks = match (&file.before, &file.after) {
            (Some(before), Some(after)) if !binary => lines::hunks(&before.text, &after.text),
            _ => Vec::new(),
        };
        if parsing == Parsing::Changes
            && let (Some(before), Some(after)) = (&file.before, &file.after)
            && before.path == after.path
            && !binary
            && let Some((one, other)) =
                changed_parts(&before.path, &before.text, &after.text, &hunks)
        {
            return Compared { file, parsed: Sides::new(Some(one), Some(other)), hunks };
        }
        Compared { file, parsed: Sides::of(|side| parse(file.version(side))), hunks }
    }

    fn path(&self) -> &str {
        let version = self.file.after.as_ref().or(self.file.before.as_ref());
        version.map_or("", |version| version.path.as_str())
    }

    /// True for source that this build does not parse: nothing but its lines is known.
    fn is_unparsed_source(&self) -> bool {
        !SYNTAX_TREES
            && Language::of_path(self.path()).is_some()
            && !self.file.versions().any(is_binary)
    }

    fn language(&self) -> Option<Language> {
        self.side(Side::After).or(self.side(Side::Before)).map(|file| file.language)
    }

    fn side(&self, side: Side) -> Option<&SourceFile> {
        self.parsed[side].as_ref()
    }
}

/// How much of a file is parsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Parsing {
    /// Only what can matter to the comparison, where that can be told.
    Changes,
    /// All of it: the plain way, which tests hold the other one against.
    #[cfg(all(test, feature = "syntax-trees"))]
    Whole,
}

/// Compares files that differ; files that are the same on both sides may be left out.
///
/// A syntax error in the body of a function that did not change is not warned about: nothing near it can be missing.
pub fn compare_sources(files: &[ChangedFile]) -> SourceComparison {
    compare_parsed(files, Parsing::Changes)
}

fn compare_parsed(files: &[ChangedFile], parsing: Parsing) -> SourceComparison {
    let files = map_in_order(files, |file| Compared::of(file, parsing));
    let pairing = Pairing::of(&files);
    let mut found = SourceComparison::default();
    let mut placed: Vec<(ChangePlace, bool, FunctionChange)> = Vec::new();
    for pair in &pairing.pairs {
        let (change, refactored) = change_of_pair(&files, pair);
        if let Some(change) = change {
            placed.push((place(&files, Side::After, pair.after), refactored, change));
        }
    }
    for (side, rows) in pairing.single.each() {
        for single in rows {
            let change = change_of_single(&files, side, single);
            placed.push((place(&files, side, single.function), false, change));
        }
    }
    placed.sort_by_key(|(place, ..)| *place);
    for (_, refactored, change) in placed {
        let list = if refactored { &mut found.refactored } else { &mut found.changes.functions };
        list.push(change);
    }
    for file in &files {
        found.changes.files.extend(file_change(file));
        found.changes.warnings.extend(warnings(file));
    }
    if files.iter().any(|file| file.is_unparsed_source() && file_change(file).is_some()) {
        found.changes.warnings.push(NO_SYNTAX_TREES.to_owned());
    }
    found
}

/// Where a change stands in the answer: by file, line and side.
type ChangePlace = (usize, u32, bool, usize);

fn place(files: &[Compared], side: Side, function: FunctionId) -> ChangePlace {
    let line = get(files, side, function).map_or(0, |function| function.lines.0);
    (function.file, line, side == Side::Before, function.row)
}

fn get<'a>(files: &'a [Compared], side: Side, id: FunctionId) -> Option<&'a SourceFunction> {
    files.get(id.file)?.side(side)?.functions.get(id.row)
}

fn definition(files: &[Compared], side: Side, id: FunctionId) -> Option<Definition> {
    let file = files.get(id.file)?;
    let path = file.file.version(side).map(|version| version.path.as_str());
    Some(get(files, side, id)?.definition(path, file.side(side)?.language))
}

/// The change that a pair stands for, if any, and whether it is only a refactoring.
fn change_of_pair(files: &[Compared], pair: &Pair) -> (Option<FunctionChange>, bool) {
    let (Some(before), Some(after)) =
        (get(files, Side::Before, pair.before), get(files, Side::After, pair.after))
    else {
        return (None, false);
    };
    let names =
        (definition(files, Side::Before, pair.before), definition(files, Side::After, pair.after));
    let same_file = matches!(&names, (Some(one), Some(other)) if one.file == other.file);
    // Numbers that a compiler gives are no names.
    let same_name = before.key == after.key;
    let kind = if same_name && same_file {
        if before.exact == after.exact && before.signature == after.signature {
            return (None, false);
        }
        ChangeKind::Modified
    } else if before.simple == after.simple {
        ChangeKind::Moved
    } else {
        ChangeKind::Renamed
    };
    let refactored = kind == ChangeKind::Modified && before.loose == after.loose;
    let change = FunctionChange {
        kind,
        before: names.0,
        after: names.1,
        other: None,
        hunks: hunks_of_pair(files, pair, before, after),
        additions: additions(&before.costs, &after.costs),
        certainty: pair.certainty,
    };
    (Some(change), refactored)
}

fn change_of_single(files: &[Compared], side: Side, single: &pairing::Single) -> FunctionChange {
    let own = definition(files, side, single.function);
    let function = get(files, side, single.function);
    // One more part of what runs when a class is made is a change of the whole.
    let part = function
        .filter(|function| function.kind == FunctionKind::Initialiser)
        .and_then(|function| other_part(files, side, single.function, function));
    let (costs, mut kind) = match side {
        Side::Before => (&[][..], ChangeKind::Deleted),
        Side::After => (function.map_or(&[][..], |it| it.costs.as_slice()), ChangeKind::Added),
    };
    let mut change = FunctionChange {
        kind,
        before: None,
        after: None,
        other: None,
        hunks: function.map_or_else(Vec::new, |it| hunks_of_single(files, side, single, it)),
        additions: additions(&[], costs),
        certainty: 1.0,
    };
    if let Some((host, share)) = single.host {
        kind = if side == Side::After { ChangeKind::Extracted } else { ChangeKind::Inlined };
        change.other = definition(files, side.other(), host);
        change.certainty = share;
        if let Some(host) = get(files, Side::Before, host).filter(|_| side == Side::After) {
            // What came along with the body was there before.
            change.additions = additions(&host.costs, costs);
        }
    }
    if part.is_some() {
        kind = ChangeKind::Modified;
    }
    change.kind = kind;
    (change.before, change.after) = match side {
        Side::Before => (own, part),
        Side::After => (part, own),
    };
    change
}

/// A part of the same initialiser on the other side.
fn other_part(
    files: &[Compared],
    side: Side,
    id: FunctionId,
    function: &SourceFunction,
) -> Option<Definition> {
    let other = side.other();
    let functions = &files.get(id.file)?.side(other)?.functions;
    let row = functions.iter().position(|it| it.key == function.key)?;
    definition(files, other, FunctionId { file: id.file, row })
}

/// The hunks that touch either side of a pair, without those of functions that lie within it: these are changes of
/// their own. Where nothing else changed, a function within it came or went, and its lines are all there is to show.
fn hunks_of_pair(
    files: &[Compared],
    pair: &Pair,
    before: &SourceFunction,
    after: &SourceFunction,
) -> Vec<Hunk> {
    let mut hunks = all_hunks_of_pair(files, pair, before, after);
    let within = |side, id: FunctionId, first: u32, count: u32| {
        count == 0
            || files.get(id.file).and_then(|file| file.side(side)).is_some_and(|file| {
                let last = first.saturating_add(count - 1);
                covering(&file.functions, first, last).is_some_and(|row| row > id.row)
            })
    };
    let is_own = |hunk: &Hunk| {
        !within(Side::Before, pair.before, first_old(hunk), hunk.old_lines)
            || !within(Side::After, pair.after, first_new(hunk), hunk.new_lines)
    };
    if hunks.iter().any(is_own) {
        hunks.retain(is_own);
    }
    hunks
}

fn all_hunks_of_pair(
    files: &[Compared],
    pair: &Pair,
    before: &SourceFunction,
    after: &SourceFunction,
) -> Vec<Hunk> {
    let old = (before.from_line, before.lines.1);
    let new = (after.from_line, after.lines.1);
    if pair.before.file == pair.after.file {
        let hunks = files.get(pair.after.file).map_or(&[][..], |file| &file.hunks);
        return touching(hunks, Some(old), Some(new));
    }
    // It moved to another file: its lines are compared as if they stood alone.
    let text = |side, id: FunctionId, lines: (u32, u32)| {
        let version = files.get(id.file)?.file.version(side)?;
        Some(line_range(&version.text, lines))
    };
    let (Some(one), Some(other)) =
        (text(Side::Before, pair.before, old), text(Side::After, pair.after, new))
    else {
        return Vec::new();
    };
    let shift = |hunk: Hunk| Hunk {
        old_start: hunk.old_start + old.0 - 1,
        new_start: hunk.new_start + new.0 - 1,
        ..hunk
    };
    lines::hunks(one, other).into_iter().map(shift).collect()
}

fn hunks_of_single(
    files: &[Compared],
    side: Side,
    single: &pairing::Single,
    function: &SourceFunction,
) -> Vec<Hunk> {
    let Some(file) = files.get(single.function.file) else { return Vec::new() };
    let lines = (function.from_line, function.lines.1);
    let count = lines.1 + 1 - lines.0.min(lines.1);
    match side {
        Side::After if file.file.before.is_none() => {
            vec![Hunk { old_start: 0, old_lines: 0, new_start: lines.0, new_lines: count }]
        }
        Side::Before if file.file.after.is_none() => {
            vec![Hunk { old_start: lines.0, old_lines: count, new_start: 0, new_lines: 0 }]
        }
        Side::After => touching(&file.hunks, None, Some(lines)),
        Side::Before => touching(&file.hunks, Some(lines), None),
    }
}

fn line_range(text: &[u8], (first, last): (u32, u32)) -> &[u8] {
    let mut from = text.len();
    let mut to = text.len();
    let mut at = 0;
    for (row, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if row + 1 == first as usize {
            from = at;
        }
        at += line.len();
        if row + 1 == last as usize {
            to = at;
            break;
        }
    }
    text.get(from..to).unwrap_or_default()
}

/// The hunks that take lines of the first stretch or bring lines of the second.
fn touching(hunks: &[Hunk], old: Option<(u32, u32)>, new: Option<(u32, u32)>) -> Vec<Hunk> {
    let meets = |first: u32, count: u32, lines: (u32, u32)| {
        count > 0 && first <= lines.1 && first.saturating_add(count) > lines.0
    };
    let wanted = |hunk: &&Hunk| {
        old.is_some_and(|lines| meets(first_old(hunk), hunk.old_lines, lines))
            || new.is_some_and(|lines| meets(first_new(hunk), hunk.new_lines, lines))
    };
    hunks.iter().filter(wanted).copied().collect()
}

/// What is in the second sorted list and not in the first, each as often as it is more.
fn additions(before: &[Addition], after: &[Addition]) -> Vec<Addition> {
    let mut old = before.iter().peekable();
    let mut added = Vec::new();
    for cost in after {
        while old.next_if(|there| *there < cost).is_some() {}
        if old.next_if_eq(&cost).is_none() {
            added.push(cost.clone());
        }
    }
    added
}

/// What changed in a file outside of its functions.
fn file_change(file: &Compared) -> Option<FileChange> {
    let change = |kind, hunks| Some(FileChange { path: file.path().to_owned(), kind, hunks });
    if file.language().is_none() {
        let same = matches!((&file.file.before, &file.file.after),
            (Some(before), Some(after)) if before.path == after.path
                && (before.text == after.text
                    // Other line ends are no change of a program.
                    || file.is_unparsed_source() && file.hunks.is_empty()));
        return if same { None } else { change(file_kind(file.path()), file.hunks.clone()) };
    }
    let empty = SourceFile::default().outside;
    let outside = Sides::of(|side| file.side(side).map_or(empty, |file| file.outside));
    if outside.before == outside.after {
        return None;
    }
    let inside = |side: Side, first: u32, count: u32| {
        count == 0
            || file.side(side).is_some_and(|side| {
                covering(&side.functions, first, first.saturating_add(count - 1)).is_some()
            })
    };
    let outside = file.hunks.iter().filter(|hunk| {
        !inside(Side::Before, hunk.old_start, hunk.old_lines)
            || !inside(Side::After, hunk.new_start, hunk.new_lines)
    });
    change(FileKind::Code, outside.copied().collect())
}

/// The innermost function that holds all of the lines. Functions begin in order and nest, so few have to be asked.
fn covering(functions: &[SourceFunction], first: u32, last: u32) -> Option<usize> {
    let begun = functions.partition_point(|function| function.from_line <= first);
    let mut row = begun.checked_sub(1);
    while let Some(at) = row {
        let function = &functions[at];
        if function.from_line <= first && last <= function.lines.1 {
            return row;
        }
        // One that holds the last one that began, or none.
        row = function.holder;
    }
    None
}

fn is_binary(version: &FileVersion) -> bool {
    version.text.iter().take(8000).any(|byte| *byte == 0)
}

fn warnings(file: &Compared) -> Vec<String> {
    let mut found = Vec::new();
    for side in Side::BOTH {
        let (Some(parsed), Some(version)) = (file.side(side), file.file.version(side)) else {
            continue;
        };
        let path = &version.path;
        if let Some(line) = parsed.first_error {
            found.push(format!(
                "{path} ({side}) has a syntax error in line {line}; functions near it may be missing"
            ));
        }
        if let Some(sentence) = &parsed.incomplete {
            found.push(format!("{path} ({side}) is incomplete: {sentence}"));
        }
    }
    let binary = file.file.versions().find(|it| is_binary(it));
    if let Some(version) = binary.filter(|it| Language::of_path(&it.path).is_some()) {
        found.push(format!("{} is not text and was skipped", version.path));
    }
    found
}

#[cfg(all(test, feature = "syntax-trees"))]
mod parts_against_whole;
#[cfg(all(test, feature = "syntax-trees"))]
mod tests;
#[cfg(all(test, not(feature = "syntax-trees")))]
mod without_syntax_trees;
