//! Bodies of functions that did not change, found before anything is parsed.
//!
//! Parsing is what a comparison spends its time on, and most of a modified file is as it was. Where a stretch of equal
//! lines holds a function whose layout says where it ends (the closing brace stands below the line that opened the
//! body; in Python the next line begins further left), its body can be left out on both sides. The layout is only a
//! guess: a body counts as left out when the syntax tree has a function with exactly this body, and the guess is given
//! up otherwise.

use hashbrown::HashMap;
use memchr::{memchr_iter, memmem};
use perfblame_sides::Sides;
use tree_sitter::{InputEdit, Point, Range, Tree};

use super::walk::{Numbered, Parsed};
use crate::lines::{first_new, first_old};
use crate::source::SourceFile;
use crate::{Hunk, Language};

/// A body of fewer bytes is parsed sooner than left out.
const MIN_BODY: usize = 48;
/// How far above its brace a function can begin.
const MAX_HEADER: usize = 24;
/// Both parses must save at least one part in this many.
const MIN_SAVED: usize = 5;

/// What a body of one file holds and what is not parsed of it.
#[derive(Clone, Debug)]
pub(super) struct Inside {
    /// What is left out.
    pub range: Range,
    /// Where the body is in the syntax tree of what remains.
    pub body: std::ops::Range<usize>,
    /// First and last line, from 1, of the stretch that did not change.
    pub stretch: (u32, u32),
}

/// A body that is the same on both sides.
#[derive(Clone, Debug)]
pub(super) struct SameBody {
    pub before: Inside,
    pub after: Inside,
}

/// Lines of a text by where they begin.
struct Lines<'t> {
    text: &'t [u8],
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t [u8]) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr_iter(b'\n', text).map(|end| end + 1));
        if starts.last() == Some(&text.len()) {
            starts.pop();
        }
        Self { text, starts }
    }

    fn count(&self) -> usize {
        self.starts.len()
    }

    fn start(&self, row: usize) -> usize {
        self.starts.get(row).copied().unwrap_or(self.text.len())
    }

    /// A line without its end.
    fn line(&self, row: usize) -> &'t [u8] {
        let line = self.text.get(self.start(row)..self.start(row + 1)).unwrap_or_default();
        line.trim_ascii_end()
    }

    fn indent(&self, row: usize) -> usize {
        let line = self.line(row);
        line.len() - line.trim_ascii_start().len()
    }
}

/// A row and a column, both from 0.
type Spot = (usize, usize);

/// A body by its rows and columns, which are the same on both sides but for the first row.
#[derive(Clone, Copy)]
struct Guess {
    /// Where what is left out begins; it ends with the line before `to`, whose line end stays.
    from: Spot,
    to: usize,
    /// Where the body is in the syntax tree of what remains.
    body: (Spot, Spot),
}

/// A line that opened what may be a body, and whose end is not reached yet.
struct Waiting {
    row: usize,
    indent: usize,
    /// Whether the lines above say that it is a function.
    function: bool,
}

/// The bodies that can be left out of both texts, in their order; none when that would save too little.
pub(super) fn same_bodies(
    language: Language,
    before: &[u8],
    after: &[u8],
    hunks: &[Hunk],
) -> Vec<SameBody> {
    let (old, new) = (Lines::of(before), Lines::of(after));
    let mut found = Vec::new();
    let (mut from_old, mut from_new) = (0, 0);
    let end = Hunk {
        old_start: old.count() as u32 + 1,
        old_lines: 1,
        new_start: new.count() as u32 + 1,
        new_lines: 1,
    };
    for hunk in hunks.iter().chain([&end]) {
        let to_old = (first_old(hunk) as usize).saturating_sub(1);
        let to_new = (first_new(hunk) as usize).saturating_sub(1);
        // Equal lines are as many on both sides, or the hunks are not of these texts.
        let (Some(count), Some(other)) =
            (to_old.checked_sub(from_old), to_new.checked_sub(from_new))
        else {
            return Vec::new();
        };
        if count != other || to_old > old.count() {
            return Vec::new();
        }
        for guess in guesses(language, &old, from_old..to_old) {
            let one = inside(&old, &guess, (from_old, to_old));
            let other = inside(&new, &guess.moved(from_old, from_new), (from_new, to_new));
            let text = before.get(one.range.start_byte..one.range.end_byte);
            if text.is_some() && text == after.get(other.range.start_byte..other.range.end_byte) {
                found.push(SameBody { before: one, after: other });
            }
        }
        from_old = to_old + hunk.old_lines as usize;
        from_new = to_new + hunk.new_lines as usize;
    }
    let saved = found.iter().map(|it| it.before.range.end_byte - it.before.range.start_byte);
    if saved.sum::<usize>() < before.len().max(after.len()) / MIN_SAVED {
        found.clear();
    }
    found
}

impl Guess {
    /// The same on the other side, where the stretch begins in another row.
    fn moved(self, from: usize, to: usize) -> Self {
        let row = |row: usize| row - from + to;
        let spot = |spot: Spot| (row(spot.0), spot.1);
        let body = (spot(self.body.0), spot(self.body.1));
        Self { from: spot(self.from), to: row(self.to), body }
    }
}

fn inside(lines: &Lines, guess: &Guess, stretch: (usize, usize)) -> Inside {
    let byte = |spot: Spot| lines.start(spot.0) + spot.1;
    let start_byte = byte(guess.from);
    let end_byte = lines.start(guess.to).saturating_sub(1).max(start_byte);
    let last = guess.to.saturating_sub(1);
    let end_column = end_byte.saturating_sub(lines.start(last));
    Inside {
        range: Range {
            start_byte,
            end_byte,
            start_point: Point { row: guess.from.0, column: guess.from.1 },
            end_point: Point { row: last, column: end_column },
        },
        body: byte(guess.body.0)..byte(guess.body.1),
        stretch: (stretch.0 as u32 + 1, stretch.1 as u32),
    }
}

/// The outermost bodies in a stretch of lines, in their order.
fn guesses(language: Language, lines: &Lines, rows: std::ops::Range<usize>) -> Vec<Guess> {
    let opener: &[u8] = if language == Language::Python { b":" } else { b"{" };
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut found: Vec<(usize, Guess)> = Vec::new();
    let mut last = rows.start;
    for row in rows.clone() {
        let line = lines.line(row);
        if line.is_empty() {
            continue;
        }
        let indent = lines.indent(row);
        while let Some(open) = waiting.pop_if(|open| open.indent >= indent) {
            let guess = match language {
                _ if !open.function => None,
                Language::Python => python_body(lines, open.row, last),
                _ => braces(lines, &open, row, indent),
            };
            if let Some(guess) = guess {
                // What is inside of this one goes with it.
                let kept = found.partition_point(|(from, _)| *from < open.row);
                found.truncate(kept);
                found.push((open.row, guess));
            }
        }
        if line.ends_with(opener) {
            let function = is_function(language, lines, row, rows.start);
            waiting.push(Waiting { row, indent, function });
        }
        last = row;
    }
    found.into_iter().map(|(_, guess)| guess).collect()
}

/// What is between a brace at the end of a line and one that begins line `row`.
fn braces(lines: &Lines, open: &Waiting, row: usize, indent: usize) -> Option<Guess> {
    let closes = open.indent == indent && lines.line(row).get(indent) == Some(&b'}');
    let column = lines.line(open.row).len();
    (closes && has_even_braces(lines, open.row, row)).then_some(Guess {
        from: (open.row, column),
        to: row,
        body: ((open.row, column.saturating_sub(1)), (row, indent + 1)),
    })
}

/// All but the first statement of a body that ends with line `last`: without any, it would be none.
fn python_body(lines: &Lines, open: usize, last: usize) -> Option<Guess> {
    let mut full = (open + 1..=last).filter(|row| !lines.line(*row).is_empty());
    let (first, second) = (full.next()?, full.next()?);
    let indent = lines.indent(first);
    let line = lines.line(first);
    // The statement must be over with its line, and no string may begin or end where the cut is.
    let open_ended = line.last().is_none_or(|byte| b"\\:,([{".contains(byte));
    let odd = |quote: u8| !memchr_iter(quote, line).count().is_multiple_of(2);
    let triple = |quotes: &[u8]| memmem::find(line, quotes).is_some();
    let strings = line.iter().any(|byte| b"#\\".contains(byte))
        || odd(b'"')
        || odd(b'\'')
        || triple(b"\"\"\"")
        || triple(b"\'\'\'")
        || line.get(indent) == Some(&b'@');
    let body = lines.text.get(lines.start(second)..lines.start(last + 1))?;
    let even = |quotes: &[u8]| memmem::find_iter(body, quotes).count().is_multiple_of(2);
    let whole = lines.indent(second) == indent
        && balance(line, b"([{", b")]}") == Some(0)
        && even(b"\"\"\"")
        && even(b"'''");
    (!open_ended && !strings && whole && body.len() >= MIN_BODY).then_some(Guess {
        from: (first, line.len()),
        to: last + 1,
        body: ((first, indent), (first, line.len())),
    })
}

/// How many more brackets open than close; none when one closes that was not open.
fn balance(text: &[u8], open: &[u8], close: &[u8]) -> Option<usize> {
    text.iter().try_fold(0_usize, |depth, byte| match byte {
        _ if open.contains(byte) => Some(depth + 1),
        _ if close.contains(byte) => depth.checked_sub(1),
        _ => Some(depth),
    })
}

/// Whether a body is worth it and its braces come in pairs, those in strings and comments included.
fn has_even_braces(lines: &Lines, from: usize, to: usize) -> bool {
    let body = lines.text.get(lines.start(from + 1)..lines.start(to)).unwrap_or_default();
    body.len() >= MIN_BODY && balance(body, b"{", b"}") == Some(0)
}

/// Words that begin what has a body and is no function.
const NO_FUNCTION: &[&[u8]] = &[
    b"case",
    b"catch",
    b"class",
    b"default",
    b"do",
    b"else",
    b"enum",
    b"finally",
    b"for",
    b"foreach",
    b"if",
    b"let",
    b"loop",
    b"match",
    b"namespace",
    b"record",
    b"return",
    b"select",
    b"struct",
    b"switch",
    b"synchronized",
    b"throw",
    b"try",
    b"union",
    b"unsafe",
    b"when",
    b"while",
    b"with",
];

/// Whether the line that ends with a brace, and those above that belong to it, look like a function's first ones.
fn is_function(language: Language, lines: &Lines, row: usize, first: usize) -> bool {
    let indent = lines.indent(row);
    let line = lines.line(row);
    let head = line[indent..line.len() - 1].trim_ascii_end();
    let mut begin = row;
    if head.is_empty() || head.starts_with(b")") {
        let above = row.saturating_sub(MAX_HEADER).max(first)..row;
        let above =
            above.rev().find(|row| lines.indent(*row) <= indent && !lines.line(*row).is_empty());
        let Some(above) = above.filter(|above| lines.indent(*above) == indent) else {
            return false;
        };
        let ends =
            lines.line(row.saturating_sub(1)).ends_with(b")") && language != Language::Python;
        if head.is_empty() && !ends {
            return false;
        }
        begin = above;
    }
    // What did not change above it shows that nothing was put in front of its name.
    if begin <= first && first > 0 {
        return false;
    }
    let begins = lines.line(begin).trim_ascii_start();
    let letters = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'$';
    let word = begins.iter().position(|byte| !letters(byte)).unwrap_or(begins.len());
    let odd = begins.first().is_none_or(|byte| b"}*/#@\"'`".contains(byte));
    if odd || NO_FUNCTION.binary_search(&&begins[..word]).is_ok() {
        return false;
    }
    let has = |wanted: &[u8]| memmem::find(begins, wanted).is_some();
    match language {
        Language::Rust => has(b"fn "),
        Language::Go => has(b"func"),
        Language::Python => begins.starts_with(b"def ") || begins.starts_with(b"async def "),
        _ => (has(b"(") || head.ends_with(b"=>")) && !has(b"new "),
    }
}

/// Tells a tree of the text before what became of it.
pub(super) fn edit(tree: &mut Tree, before: &[u8], after: &[u8], hunks: &[Hunk]) {
    let (old, new) = (Lines::of(before), Lines::of(after));
    // From the last to the first, so that those to come are where they were.
    for hunk in hunks.iter().rev() {
        let from = (first_old(hunk) as usize).saturating_sub(1);
        let now = (first_new(hunk) as usize).saturating_sub(1);
        let (to, end) = (from + hunk.old_lines as usize, now + hunk.new_lines as usize);
        let start_byte = old.start(from);
        let line = |row| Point { row, column: 0 };
        tree.edit(&InputEdit {
            start_byte,
            old_end_byte: old.start(to),
            new_end_byte: start_byte + new.start(end) - new.start(now),
            start_position: line(from),
            old_end_position: line(to),
            new_end_position: line(from + hunk.new_lines as usize),
        });
    }
}

/// Which bodies belong to functions that are the same one on both sides, with a name that no other function there has:
/// nothing could pair them with anything else.
pub(super) fn sure(before: &Parsed, after: &Parsed) -> Vec<bool> {
    let (old, new) = (names(&before.file), names(&after.file));
    let functions = |row: (&Option<usize>, &Option<usize>)| {
        let old = before.file.functions.get((*row.0)?)?;
        Some((old, after.file.functions.get((*row.1)?)?))
    };
    let single = |row| {
        functions(row).is_some_and(|(one, other)| {
            let name = (one.key, one.signature.as_deref());
            name == (other.key, other.signature.as_deref())
                && one.kind == other.kind
                && old.get(&name) == Some(&1)
                && new.get(&name) == Some(&1)
        })
    };
    before.claimed.iter().zip(&after.claimed).map(single).collect()
}

type NameCounts<'a> = HashMap<(u64, Option<&'a str>), u32>;

fn names(file: &SourceFile) -> NameCounts<'_> {
    let mut names = NameCounts::new();
    for function in &file.functions {
        *names.entry((function.key, function.signature.as_deref())).or_insert(0) += 1;
    }
    names
}

/// Whether nothing that was left out of a Java class can have a number that comes before one that is in the answer.
pub(super) fn numbers_stay<'t>(
    seen: Sides<Numbered>,
    mut left_out: impl Iterator<Item = &'t [u8]>,
) -> bool {
    let any = |of: fn(&Numbered) -> bool| seen.iter().any(of);
    let mut words: Vec<&[u8]> = Vec::new();
    if any(|it| it.lambdas) {
        words.push(b"->");
    }
    if any(|it| it.anonymous) {
        words.push(b"new");
    }
    if any(|it| it.local) {
        words.extend([&b"class"[..], b"enum", b"interface", b"record"]);
    }
    let finders: Vec<_> = words.into_iter().map(memmem::Finder::new).collect();
    !left_out.any(|body| finders.iter().any(|finder| finder.find(body).is_some()))
}
