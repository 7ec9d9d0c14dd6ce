//! A call path in a few lines: `main › serve › ⋮ 13 calls › layer › utf`.
//!
//! Both ends say the most: where the program was, and what was called in the end. What does not fit is folded in the
//! middle, and how much that is is said.

use std::fmt::Write as _;

use perfblame_analysis::FunctionView;

use crate::layout::{Look, clean, columns, shortened};
use crate::numbers::counted;
use crate::show_text::place_of;

/// A path in lines, and whether a part of it is folded.
pub struct PathLines {
    pub lines: Vec<String>,
    pub folded: bool,
}

/// The path in at most `lines` lines of `room` columns.
pub fn folded_path(path: &[FunctionView], room: usize, lines: usize, look: Look) -> PathLines {
    let names = names(path, (room * 2 / 3).max(12), look);
    let separator = if look.unicode { " › " } else { " > " };
    let width = |piece: &Piece| columns(&piece.text) + columns(separator);
    // A line may end early where the next name does not fit any more: names are short beside a line, mostly.
    let budget = if lines <= 1 { room } else { room * lines - room / 3 };
    // The last name has no separator after it.
    let budget = budget + columns(separator);
    let total: usize = names.iter().map(width).sum();
    let (pieces, folded) = if total <= budget || names.len() <= 3 {
        (names, false)
    } else {
        (fold(names, budget, width, look), true)
    };
    let mut out: Vec<String> = Vec::new();
    for (row, Piece { text, .. }) in pieces.into_iter().enumerate() {
        let piece = if row == 0 { text } else { format!("{}{text}", separator.trim_start()) };
        match out.last_mut() {
            Some(line) if columns(line) + 1 + columns(&piece) <= room => {
                line.push(' ');
                line.push_str(&piece);
            }
            _ => out.push(piece),
        }
    }
    PathLines { lines: out, folded }
}

/// A part of a path, and how many calls it stands for.
struct Piece {
    text: String,
    calls: usize,
}

/// Names from the root on; calls of a function by itself are one with their number.
fn names(path: &[FunctionView], most: usize, look: Look) -> Vec<Piece> {
    let mut names: Vec<Piece> = Vec::new();
    let mut caller = None;
    for function in path {
        // Two functions can have one name; only the same one calls itself.
        match names.last_mut() {
            Some(last) if caller == Some(function) => last.calls += 1,
            _ => names.push(Piece { text: name(function, most, look), calls: 1 }),
        }
        caller = Some(function);
    }
    let times = if look.unicode { "×" } else { "x" };
    for Piece { text, calls } in names.iter_mut().filter(|piece| piece.calls > 1) {
        let _ = write!(text, " {times}{calls}");
    }
    names
}

/// A name alone: a function without one is called by its place.
fn name(function: &FunctionView, most: usize, look: Look) -> String {
    if function.name != "(anonymous)" {
        return shortened(&function.name, most, look).into_owned();
    }
    let place = place_of(function);
    let file = place.rsplit(['/', '\\']).next().unwrap_or(&place);
    if file.is_empty() {
        return "(anonymous)".to_owned();
    }
    shortened(&format!("(anonymous {})", clean(file)), most, look).into_owned()
}

/// Both ends of the path as far as they fit, the inner end first.
fn fold(
    mut names: Vec<Piece>,
    budget: usize,
    width: impl Fn(&Piece) -> usize,
    look: Look,
) -> Vec<Piece> {
    let mark = |names: &[Piece]| {
        let calls = names.iter().map(|piece| piece.calls).sum();
        let dots = if look.unicode { "⋮" } else { ":" };
        Piece { text: format!("{dots} {}", counted(calls as u64, "call", "calls")), calls }
    };
    let mut used = width(&mark(&names));
    let (mut head, mut tail) = (0, 0);
    // One name folded would save nothing.
    while head + tail + 2 <= names.len() {
        let outer = head * 2 < tail;
        let row = if outer { head } else { names.len() - 1 - tail };
        let next = width(&names[row]);
        // The function itself and its caller are what it is all about.
        if tail >= 2 && used + next > budget {
            break;
        }
        used += next;
        if outer { head += 1 } else { tail += 1 }
    }
    let rest = names.split_off(names.len() - tail);
    let middle = mark(&names[head..]);
    names.truncate(head);
    names.push(middle);
    names.extend(rest);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, room: usize, lines: usize, expected: &str) {
        let look = Look { width: 80, unicode: true, colour: false };
        let function = |name: &str| match name {
            "walk'" => {
                FunctionView { name: "walk".to_owned(), line: Some(7), ..FunctionView::default() }
            }
            "?" => FunctionView {
                name: "(anonymous)".to_owned(),
                component: Some("https://a.example/js/map.js".to_owned()),
                line: Some(41),
                ..FunctionView::default()
            },
            name => FunctionView { name: name.to_owned(), ..FunctionView::default() },
        };
        let path: Vec<_> = path.split(' ').map(function).collect();
        let drawn = folded_path(&path, room, lines, look);
        assert_eq!(drawn.lines.join("\n"), expected);
        assert!(drawn.lines.iter().all(|line| columns(line) <= room));
        assert_eq!(drawn.folded, expected.contains('⋮'));
    }

    #[test]
    fn a_path_is_folded_in_the_middle() {
        check("main serve utf", 40, 1, "main › serve › utf");
        check("main walk walk walk utf", 40, 1, "main › walk ×3 › utf");
        check("main walk walk walk' utf", 40, 1, "main › walk ×2 › walk › utf");
        check("main ? utf", 40, 1, "main › (anonymous map.js:41) › utf");
        let deep = "main serve handle one two three four five six seven layer utf";
        check(deep, 200, 1, &deep.replace(' ', " › "));
        check(deep, 48, 1, "main › serve › ⋮ 7 calls › seven › layer › utf");
        check(deep, 42, 2, "main › serve › handle › ⋮ 4 calls › five\n› six › seven › layer › utf");
        check("main walk walk walk b c d layer utf", 30, 1, "main › ⋮ 6 calls › layer › utf");
    }
}
