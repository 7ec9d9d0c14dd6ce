//! Arguments of templates and generics, folded: `std::vector<int, std::allocator<int> >::push_back` is
//! `std::vector<…>::push_back`.
//!
//! An angle bracket opens arguments when a name stands before it. It does not in `operator<`, in Rust's
//! `<T as Trait>::f` and `<impl T>`, in Java's `<init>` and in names such as `<lambda>`: those stay, and what is inside
//! them is folded in turn.

use std::borrow::Cow;

/// What `operator` can be followed by that has an angle bracket, longest first.
const OPERATORS: &[&str] = &["<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"];

pub(super) fn folded(name: &str) -> Cow<'_, str> {
    if !name.contains('<') && !name.contains("[go.shape") {
        return Cow::Borrowed(name);
    }
    let angles = Pairs::of(name, '<', '>');
    let squares = Pairs::of(name, '[', ']');
    let mut out = String::with_capacity(name.len());
    let mut at = 0;
    while let Some(next) = name[at..].chars().next() {
        let rest = &name[at..];
        if let Some(operator) = operator_at(name, at) {
            out.push_str(operator);
            at += operator.len();
            // `operator<< <char>`: arguments of the operator itself.
            let blanks = name[at..].len() - name[at..].trim_start_matches(' ').len();
            if let Some(end) = angles.end(at + blanks) {
                out.push_str(&name[at..at + blanks]);
                out.push_str("<…>");
                at = end;
            }
            continue;
        }
        let closing = match next {
            '<' if opens_arguments(&out, rest) => angles.end(at),
            '[' if rest.starts_with("[go.shape") => squares.end(at),
            _ => None,
        };
        if let Some(end) = closing {
            out.push_str(if next == '<' { "<…>" } else { "[…]" });
            at = end;
            continue;
        }
        out.push(next);
        at += next.len_utf8();
    }
    if out == name { Cow::Borrowed(name) } else { Cow::Owned(out) }
}

/// The operator that ends the word `operator` just before `at`.
fn operator_at(name: &str, at: usize) -> Option<&'static str> {
    let before = name[..at].strip_suffix("operator")?;
    let word_before = before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
    let operator = OPERATORS.iter().find(|operator| name[at..].starts_with(**operator));
    operator.filter(|_| !word_before).copied()
}

/// True when the angle bracket at the start of `rest`, after `before`, opens template arguments.
fn opens_arguments(before: &str, rest: &str) -> bool {
    if let Some(path) = before.strip_suffix("::") {
        // `Vec::<T>::new` has arguments; `core::ptr::<impl *const T>::add` and `main::<lambda(int)>` have not.
        let inside = &rest[1..];
        let named = inside.starts_with("impl ")
            || inside.starts_with("lambda")
            || inside.starts_with("unnamed")
            || inside.starts_with('{');
        return !path.is_empty() && !named && !path.ends_with('>');
    }
    before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '}')
}

/// Brackets that belong together, found in one pass: a name of nothing but opening ones must not cost its square.
struct Pairs {
    /// Where each opening bracket stands and one past the one that closes it, sorted.
    pairs: Vec<(usize, usize)>,
}

impl Pairs {
    fn of(name: &str, opening: char, closing: char) -> Self {
        let mut pairs = Vec::new();
        let mut open = Vec::new();
        let mut before = ' ';
        let mut at = 0;
        while let Some(next) = name[at..].chars().next() {
            if let Some(operator) = operator_at(name, at) {
                at += operator.len();
                before = ' ';
                continue;
            }
            if next == opening {
                open.push(at);
            }
            at += next.len_utf8();
            // `->` is an arrow.
            if next == closing
                && before != '-'
                && let Some(open) = open.pop()
            {
                pairs.push((open, at));
            }
            before = next;
        }
        pairs.sort_unstable();
        Self { pairs }
    }

    /// One past the bracket that closes the one at `open`; none when there is none at `open` or nothing closes it.
    fn end(&self, open: usize) -> Option<usize> {
        let row = self.pairs.binary_search_by_key(&open, |(open, _)| *open).ok()?;
        self.pairs.get(row).map(|(_, end)| *end)
    }
}
