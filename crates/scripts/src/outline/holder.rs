//! What holds a function expression: told from the few tokens before it.

use std::ops::Range;

use super::Holder;
use crate::tokens::{TokenKind, Tokens};

/// A bracket that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bracket {
    /// Its token.
    pub row: u32,
    /// Commas in it so far.
    pub commas: u32,
}

/// Steps that are taken back at most: names with more parts are cut.
const PARTS: usize = 8;

/// What holds the function that begins with token `from` and, where that is known, ends before `end`.
pub(super) fn holder_of(
    tokens: &Tokens<'_>,
    from: usize,
    end: Option<usize>,
    around: Option<&Bracket>,
) -> Holder {
    if end.is_some_and(|end| is_called(tokens, end)) {
        return Holder::Immediate;
    }
    let Some(mut before) = from.checked_sub(1) else { return Holder::Unknown };
    let mut around = around.copied();
    // Brackets that only group.
    while tokens.is(before, b"(") && !is_call(tokens, before) {
        match before.checked_sub(1) {
            Some(outer) => before = outer,
            None => return Holder::Unknown,
        }
        around = None;
    }
    match tokens.kind(before) {
        Some(TokenKind::Arrow) => Holder::Returned,
        Some(TokenKind::Word) => match tokens.bytes(before) {
            b"return" => Holder::Returned,
            b"default" => range(tokens, before, before).map_or(Holder::Unknown, Holder::Declared),
            _ => Holder::Unknown,
        },
        Some(TokenKind::Open) if tokens.is(before, b"(") => argument(tokens, before, 1),
        Some(TokenKind::Open) if tokens.is(before, b"[") => Holder::Element,
        // An attribute of a tag: `<a onClick={() => …}>`.
        Some(TokenKind::Open) if before >= 2 && tokens.is(before - 1, b"=") => {
            assigned(tokens, before - 2)
        }
        Some(TokenKind::Sign) => match tokens.bytes(before) {
            b"=" | b"||=" | b"&&=" | b"??=" if before > 0 => assigned(tokens, before - 1),
            b":" if before > 0 => key(tokens, before - 1),
            b"," => match around {
                Some(open) if tokens.is(open.row as usize, b"[") => Holder::Element,
                Some(open) if is_call(tokens, open.row as usize) => {
                    argument(tokens, open.row as usize, open.commas + 1)
                }
                _ => Holder::Unknown,
            },
            _ => Holder::Unknown,
        },
        _ => Holder::Unknown,
    }
}

/// The name of a class: its own, or that of what it is assigned to.
pub(super) fn class_name(tokens: &Tokens<'_>, row: usize, around: Option<&Bracket>) -> Holder {
    let next = row + 1;
    if tokens.kind(next) == Some(TokenKind::Word) && !tokens.is(next, b"extends") {
        return range(tokens, next, next).map_or(Holder::Unknown, Holder::Declared);
    }
    holder_of(tokens, row, None, around)
}

/// A function that is called where it ends, with or without the bracket around it.
fn is_called(tokens: &Tokens<'_>, end: usize) -> bool {
    if tokens.is(end, b"(") {
        return true;
    }
    tokens.is(end, b")")
        && (tokens.is(end + 1, b"(")
            || tokens.is(end + 1, b".")
                && matches!(tokens.bytes(end + 2), b"call" | b"apply")
                && tokens.is(end + 3, b"("))
}

/// True when the bracket holds arguments.
fn is_call(tokens: &Tokens<'_>, open: usize) -> bool {
    if !tokens.is(open, b"(") {
        return false;
    }
    let Some(before) = open.checked_sub(1) else { return false };
    match tokens.kind(before) {
        Some(TokenKind::Word) => !matches!(
            tokens.bytes(before),
            b"return"
                | b"typeof"
                | b"case"
                | b"in"
                | b"of"
                | b"void"
                | b"throw"
                | b"if"
                | b"while"
                | b"for"
                | b"switch"
                | b"await"
                | b"yield"
                | b"else"
                | b"do"
                | b"delete"
                | b"with"
                | b"instanceof"
                | b"function"
                | b"catch"
                | b"default"
        ),
        Some(TokenKind::Close) => !tokens.is(before, b"}"),
        _ => tokens.is(before, b"?."),
    }
}

fn argument(tokens: &Tokens<'_>, open: usize, number: u32) -> Holder {
    let Some(mut last) = open.checked_sub(1) else { return Holder::Unknown };
    if tokens.is(last, b"?.") && last > 0 {
        last -= 1;
    }
    let Some(callee) = name_back(tokens, last) else { return Holder::Unknown };
    // `new` is part of it.
    Holder::Argument(callee, number)
}

fn assigned(tokens: &Tokens<'_>, last: usize) -> Holder {
    name_back(tokens, last).map_or(Holder::Unknown, Holder::Assigned)
}

fn key(tokens: &Tokens<'_>, row: usize) -> Holder {
    let first = if tokens.is(row, b"]") { tokens.mate(row).unwrap_or(row) } else { row };
    let is_key = first
        .checked_sub(1)
        .is_some_and(|before| tokens.is(before, b"{") || tokens.is(before, b","));
    let is_name = match tokens.kind(row) {
        Some(TokenKind::Word | TokenKind::Text | TokenKind::Number) => true,
        _ => tokens.is(row, b"]"),
    };
    let name = if is_key && is_name { range(tokens, first, row) } else { None };
    name.map_or(Holder::Unknown, Holder::Key)
}

/// The name with its owners that ends with token `last`: `a.b.c`. What is computed on the way cuts it.
fn name_back(tokens: &Tokens<'_>, last: usize) -> Option<Range<u32>> {
    let mut end = last;
    if tokens.is(last, b"]") {
        // `a[0]` and `a["b"]` are names, too; what is computed is none.
        let open = tokens.mate(last)?;
        if last - open != 2 || open == 0 {
            return None;
        }
        end = open - 1;
    }
    if tokens.kind(end)? != TokenKind::Word {
        return None;
    }
    let mut first = end;
    for _ in 0..PARTS {
        let is_part = first >= 2
            && (tokens.is(first - 1, b".") || tokens.is(first - 1, b"?."))
            && tokens.kind(first - 2) == Some(TokenKind::Word);
        if !is_part {
            break;
        }
        first -= 2;
    }
    if first >= 1 && tokens.is(first - 1, b"new") {
        first -= 1;
    }
    range(tokens, first, last)
}

fn range(tokens: &Tokens<'_>, first: usize, last: usize) -> Option<Range<u32>> {
    Some(tokens.get(first)?.start..tokens.get(last)?.end)
}
