//! Names for functions that did not exist: made of the words and in the manner of the program around them, so that
//! nothing but their cost tells them apart.

use perfblame_cct::{NameKinds, normalise_name};

use crate::program::Program;
use crate::random::Random;

const VERBS: &[&str] = &[
    "apply", "build", "check", "collect", "compute", "copy", "ensure", "fetch", "find", "flush",
    "handle", "init", "load", "make", "merge", "parse", "prepare", "process", "read", "resolve",
    "scan", "sort", "update", "validate", "visit", "walk", "write",
];

const NOUNS: &[&str] = &[
    "Buffer", "Cache", "Context", "Entry", "Index", "Item", "Key", "List", "Node", "State",
    "Table", "Value",
];

/// A name like that of `like`, in the same class or module, that no function of the program has.
pub fn fresh(program: &Program, like: usize, random: &mut Random) -> Option<String> {
    let model = &program.functions[like].name;
    (0..20).find_map(|_| {
        let noun = noun(program, random);
        let verb = random.pick(VERBS)?;
        let name = replaced(model, verb, &noun);
        let known = program.functions.iter().any(|function| function.name == name);
        let stable = normalise_name(&name, NameKinds::default()) == name;
        (!known && stable).then_some(name)
    })
}

/// The last word of some function's name.
fn noun(program: &Program, random: &mut Random) -> String {
    let function = random.below(program.functions.len());
    let word = identifier(&program.functions[function].name)
        .map(|(from, to)| last_word(&program.functions[function].name[from..to]).to_owned());
    match word {
        Some(word) if word.len() >= 3 && word.chars().all(|c| c.is_ascii_alphabetic()) => word,
        _ => random.pick(NOUNS).map_or_else(String::new, |noun| (*noun).to_owned()),
    }
}

/// `parseHeader` ends in `Header`, `parse_header` in `header`.
fn last_word(identifier: &str) -> &str {
    let tail = identifier.trim_end_matches('_').rsplit('_').next().unwrap_or(identifier);
    let start = tail.char_indices().rev().find(|(at, c)| {
        c.is_ascii_uppercase() && tail[at + 1..].starts_with(|c: char| c.is_ascii_lowercase())
    });
    start.map_or(tail, |(at, _)| &tail[at..])
}

/// Where the function's own name is in all that a profiler prints of it: the last word before the parameters that is
/// not inside template arguments. Go's receivers (`.(*T)`) are no parameters.
fn identifier(name: &str) -> Option<(usize, usize)> {
    let (mut depth, mut found, mut start, mut last) = (0usize, None, None, ' ');
    for (at, sign) in name.char_indices().chain([(name.len(), '(')]) {
        let is_part = sign.is_ascii_alphanumeric() || sign == '_';
        match (start, is_part) {
            (None, true) if depth == 0 => start = Some(at),
            (Some(from), false) => {
                if name[from..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                    found = Some((from, at));
                }
                start = None;
            }
            _ => {}
        }
        match sign {
            '(' if depth == 0 && (last.is_ascii_alphanumeric() || "_>".contains(last)) => break,
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        last = sign;
    }
    found
}

fn replaced(model: &str, verb: &str, noun: &str) -> String {
    let Some((from, to)) = identifier(model) else {
        return format!("{verb}{}", capitalised(noun));
    };
    let own = &model[from..to];
    let snake = own.contains('_') && own.to_lowercase() == own;
    let fresh = if snake {
        format!("{verb}_{}", noun.to_lowercase())
    } else if own.starts_with(|c: char| c.is_ascii_uppercase()) {
        format!("{}{}", capitalised(verb), capitalised(noun))
    } else {
        format!("{verb}{}", capitalised(noun))
    };
    format!("{}{fresh}{}", &model[..from], &model[to..])
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// The names a minifier gives: `a`, `b`, … `Z`, `aa`, …
pub fn minified(mut number: usize) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut name = String::new();
    loop {
        name.insert(0, char::from(LETTERS[number % LETTERS.len()]));
        match (number / LETTERS.len()).checked_sub(1) {
            Some(rest) => number = rest,
            None => return name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_names_are_in_the_manner_of_old_ones() {
        for (model, expected) in [
            ("parse", "loadHeader"),
            ("read_all", "load_header"),
            ("java.util.HashMap.getNode", "java.util.HashMap.loadHeader"),
            ("main.(*Server).Serve", "main.(*Server).LoadHeader"),
            ("nsTArray<int>::Append(int)", "nsTArray<int>::LoadHeader(int)"),
            ("void f<int>(char*)", "void loadHeader<int>(char*)"),
            ("[libc-2.15.so]", "loadHeader"),
            ("0x41dc0c", "loadHeader"),
        ] {
            assert_eq!(replaced(model, "load", "Header"), expected, "{model}");
        }
    }

    #[test]
    fn minifiers_count_in_letters() {
        assert_eq!([0, 25, 26, 51, 52, 53].map(minified), ["a", "z", "A", "Z", "aa", "ab"]);
    }
}
