//! Where the functions of a script are, and where in them something can be put: the start of the body, conditions, calls.
//!
//! Engines name a function by where its parameters begin, in lines and columns of UTF-16; so does this, and a function
//! of a time line is found in its text without comparing names.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Context, Result};
use tree_sitter::{Node, Parser, TreeCursor};

/// A place in a text, both counted from 1, the column in UTF-16 units.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// A script and its functions.
#[derive(Clone, Debug)]
pub struct Script {
    pub text: String,
    /// In the order in which they begin; one that holds another comes first.
    pub functions: Vec<Function>,
}

/// A function of a script.
#[derive(Clone, Debug)]
pub struct Function {
    /// Where its parameters begin.
    pub at: Position,
    /// All of it, in bytes.
    pub span: Range<usize>,
    /// Where statements can be put so that every call executes them first. None for bodies that are an expression.
    pub entry: Option<usize>,
    /// Calls in its own body, not in those of functions in it.
    pub calls: Vec<CallSite>,
    /// Conditions of `if` and loops in its own body, without parentheses.
    pub conditions: Vec<Range<usize>>,
}

/// A call that can be put into parentheses.
#[derive(Clone, Debug)]
pub struct CallSite {
    pub span: Range<usize>,
    /// The last part of what is called.
    pub callee: String,
}

const FUNCTIONS: &[&str] = &[
    "function_declaration",
    "function_expression",
    "arrow_function",
    "method_definition",
    "generator_function",
    "generator_function_declaration",
];

impl Script {
    /// Reads a script.
    pub fn parse(text: String) -> Result<Self> {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_javascript::LANGUAGE.into())?;
        let tree = parser.parse(&text, None).context("the script cannot be parsed")?;
        let positions = Positions::of(&text);
        let mut functions: Vec<Function> = Vec::new();
        let mut within: Vec<usize> = Vec::new();
        let mut cursor = tree.walk();
        loop {
            let node = cursor.node();
            while within.last().is_some_and(|row| functions[*row].span.end <= node.start_byte()) {
                within.pop();
            }
            if FUNCTIONS.contains(&node.kind()) {
                if let Some(function) = function(node, &text, &positions) {
                    within.push(functions.len());
                    functions.push(function);
                }
            } else if let Some(row) = within.last() {
                if let Some(condition) = condition(node) {
                    functions[*row].conditions.push(condition);
                }
                functions[*row].calls.extend(call_site(node, &text));
            }
            if !step(&mut cursor) {
                break;
            }
        }
        Ok(Self { text, functions })
    }

    /// The function whose parameters begin there.
    pub fn function_at(&self, at: Position) -> Option<usize> {
        // In the order of their texts, and so nearly in that of their parameters: a function's own can come behind those
        // of a function in a computed name, which nobody writes.
        let row = self.functions.partition_point(|function| function.at < at);
        self.functions.get(row).filter(|function| function.at == at).map(|_| row)
    }

    /// The innermost function around a byte.
    pub fn function_around(&self, byte: usize) -> Option<&Function> {
        self.functions.iter().rev().find(|function| function.span.contains(&byte))
    }

    /// The text with pieces put in, each before a byte. Of two at the same byte the first comes first.
    pub fn with(&self, mut pieces: Vec<(usize, String)>) -> String {
        pieces.sort_by_key(|(byte, _)| *byte);
        let mut text = String::with_capacity(self.text.len() + pieces.len() * 16);
        let mut from = 0;
        for (byte, piece) in pieces {
            text.push_str(&self.text[from..byte]);
            text.push_str(&piece);
            from = byte;
        }
        text.push_str(&self.text[from..]);
        text
    }

    /// How often each text of a function occurs: what is there once on both sides is the same function.
    pub fn texts(&self) -> BTreeMap<&str, usize> {
        let mut texts = BTreeMap::new();
        for function in &self.functions {
            *texts.entry(&self.text[function.span.clone()]).or_insert(0) += 1;
        }
        texts
    }
}

/// The next node in the order of the text.
fn step(cursor: &mut TreeCursor<'_>) -> bool {
    if cursor.goto_first_child() {
        return true;
    }
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
    }
    true
}

fn function(node: Node<'_>, text: &str, positions: &Positions<'_>) -> Option<Function> {
    let parameters =
        node.child_by_field_name("parameters").or_else(|| node.child_by_field_name("parameter"))?;
    let body = node.child_by_field_name("body")?;
    let entry = (body.kind() == "statement_block").then(|| {
        // Behind `"use strict"`, which is one only when it comes first.
        let mut cursor = body.walk();
        let mut entry = body.start_byte() + 1;
        for child in body.named_children(&mut cursor) {
            let is_directive = child.kind() == "expression_statement"
                && child.named_child(0).is_some_and(|inner| inner.kind() == "string");
            if !is_directive || !text[child.byte_range()].ends_with(';') {
                break;
            }
            entry = child.end_byte();
        }
        entry
    });
    Some(Function {
        at: positions.at(parameters.start_byte()),
        span: node.byte_range(),
        entry,
        calls: Vec::new(),
        conditions: Vec::new(),
    })
}

fn condition(node: Node<'_>) -> Option<Range<usize>> {
    let condition = match node.kind() {
        "if_statement" | "while_statement" | "do_statement" | "for_statement" => {
            node.child_by_field_name("condition")?
        }
        _ => return None,
    };
    let inner = match condition.kind() {
        "parenthesized_expression" | "expression_statement" => {
            let mut cursor = condition.walk();
            let mut children = condition.named_children(&mut cursor);
            children.find(|child| child.kind() != "comment")?
        }
        "empty_statement" => return None,
        _ => condition,
    };
    Some(inner.byte_range())
}

fn call_site(node: Node<'_>, text: &str) -> Option<CallSite> {
    if node.kind() != "call_expression" {
        return None;
    }
    let called = node.child_by_field_name("function")?;
    let callee = match called.kind() {
        "identifier" => called,
        "member_expression" => called.child_by_field_name("property")?,
        _ => return None,
    };
    // Half of an optional chain in parentheses means something else.
    if node.child_by_field_name("arguments")?.kind() != "arguments"
        || text[node.byte_range()].contains("?.")
    {
        return None;
    }
    // A parenthesis at the start of a line would call what the line before ends with, where that has no semicolon.
    let before = text[..node.start_byte()].trim_end();
    let follows =
        before.ends_with(|last| ";{(,=:?&|!+-*%<>[".contains(last)) || before.ends_with("return");
    follows
        .then(|| CallSite { span: node.byte_range(), callee: text[callee.byte_range()].to_owned() })
}

/// From bytes to lines and columns.
struct Positions<'t> {
    text: &'t str,
    lines: Vec<usize>,
}

impl<'t> Positions<'t> {
    fn of(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { text, lines }
    }

    fn at(&self, byte: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= byte);
        let start = self.lines.get(line.wrapping_sub(1)).copied().unwrap_or(0);
        let column = self.text[start..byte].encode_utf16().count();
        Position { line: line as u32, column: column as u32 + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
function outer(a) {
  'use strict';
  if ( /* big */ a > 1) { return inner(a); }
  var é = function (b) { for (var i = 0; i < b; i++) list.push(i); };
  return [1].map(x => é(x));
}
";

    #[test]
    fn functions_are_where_their_parameters_begin() {
        let script = Script::parse(TEXT.to_owned()).unwrap();
        let at = |row: usize| (script.functions[row].at.line, script.functions[row].at.column);
        assert_eq!([at(0), at(1), at(2)], [(1, 15), (4, 20), (5, 18)]);
        assert_eq!(script.function_at(Position { line: 4, column: 20 }), Some(1));
        let texts = |spans: &[Range<usize>]| -> Vec<&str> {
            spans.iter().map(|span| &TEXT[span.clone()]).collect()
        };
        assert_eq!(texts(&script.functions[0].conditions), ["a > 1"]);
        assert_eq!(texts(&script.functions[1].conditions), ["i < b"]);
        let calls: Vec<&str> = script.functions[0].calls.iter().map(|call| &*call.callee).collect();
        assert_eq!(calls, ["inner", "map"]);
        // It starts behind the condition of a loop, where no semicolon has to be.
        assert!(script.functions[1].calls.is_empty());
        assert!(TEXT[..script.functions[0].entry.unwrap()].ends_with("'use strict';"));
        assert_eq!(script.functions[2].entry, None);
    }

    #[test]
    fn pieces_are_put_in() {
        let script = Script::parse("f(1);".to_owned()).unwrap();
        let pieces = vec![(4, ")".to_owned()), (0, "(g(),".to_owned())];
        assert_eq!(script.with(pieces), "(g(),f(1));");
    }
}
