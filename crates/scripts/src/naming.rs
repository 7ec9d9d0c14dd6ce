//! What to call a function that has no name: by what holds it.

use crate::outline::{Holder, Outline};

/// Functions around it that are named along.
const OUTER: usize = 2;

/// Longer names are cut at the front, part by part.
const LONGEST: usize = 60;

/// What a function is called: its own name, what it was assigned to, or where it was handed over, with the function
/// around it: `load > fetch(callback)`.
pub fn name_of(text: &str, outline: &Outline, row: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut at = Some(row);
    while let Some(function) = at.and_then(|row| outline.functions.get(row)) {
        let is_itself = parts.is_empty();
        match &function.holder {
            Holder::TopLevel if is_itself => parts.push("(top level)".to_owned()),
            Holder::TopLevel => {}
            // What wraps a module says nothing about what is in it.
            Holder::Immediate | Holder::Unknown if !is_itself => {}
            holder => parts.push(own(text, holder)),
        }
        let is_named = matches!(
            function.holder,
            Holder::Declared(_) | Holder::Assigned(_) | Holder::Key(_) | Holder::TopLevel
        );
        if is_named || parts.len() > OUTER {
            break;
        }
        at = function.parent.map(|parent| parent as usize);
    }
    parts.reverse();
    parts.join(" > ")
}

fn own(text: &str, holder: &Holder) -> String {
    let said = |range: &std::ops::Range<u32>| {
        cleaned(text.get(range.start as usize..range.end as usize).unwrap_or_default())
    };
    match holder {
        Holder::TopLevel => "(top level)".to_owned(),
        Holder::Declared(name) | Holder::Assigned(name) | Holder::Key(name) => said(name),
        Holder::Argument(callee, 1) => format!("{}(callback)", said(callee)),
        Holder::Argument(callee, number) => format!("{}(callback {number})", said(callee)),
        Holder::Immediate => "(immediate)".to_owned(),
        Holder::Returned => "(returned)".to_owned(),
        Holder::Element => "(element)".to_owned(),
        Holder::Unknown => "(anonymous)".to_owned(),
    }
}

/// Without quotes and white space, and not too long.
fn cleaned(text: &str) -> String {
    let mut short: String = match text.strip_prefix(['"', '\'']) {
        Some(inner) => inner.trim_end_matches(['"', '\'']).to_owned(),
        None if text.starts_with("new ") => text.to_owned(),
        None => text.chars().filter(|char| !char.is_whitespace()).collect(),
    };
    while short.len() > LONGEST
        && let Some((_, rest)) = short.split_once('.')
    {
        short = rest.to_owned();
    }
    if short.chars().count() > LONGEST {
        short = short.chars().take(LONGEST - 1).chain(['…']).collect();
    }
    short
}
