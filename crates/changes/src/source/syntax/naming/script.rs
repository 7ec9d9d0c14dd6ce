//! JavaScript, TypeScript and Python.
//!
//! Engines name a JavaScript function after what it is assigned to; so do we, and go further where they say nothing:
//! a callback has the name of the function that it is given to.

use tree_sitter::Node;

use super::{Opened, Scope, ScopeKind, join, named, part};
use crate::source::FunctionKind;
use crate::source::syntax::walk::SyntaxWalk;

/// How far up to look for what holds a function.
const HOLDERS: usize = 12;

pub(super) fn scope(walk: &mut SyntaxWalk, node: Node) -> Option<Scope> {
    let simple = match node.child_by_field_name("name") {
        Some(name) => part(walk, name),
        None => holder(walk)?.0,
    };
    let kind = if node.kind() == "internal_module" { ScopeKind::Module } else { ScopeKind::Type };
    inner(walk, kind, ".", &simple)
}

fn inner(walk: &SyntaxWalk, kind: ScopeKind, separator: &str, simple: &str) -> Option<Scope> {
    let outer = walk.scopes.last()?;
    let name = join(&outer.name, separator, simple);
    let key = join(&outer.key, separator, simple);
    Some(Scope::new(kind, name, key, simple))
}

pub(super) fn function(walk: &mut SyntaxWalk, node: Node) -> Option<Opened> {
    if node.kind() == "class_static_block" {
        let mut opened = named(walk, ".", "<static_initializer>")?;
        opened.kind = FunctionKind::Initialiser;
        return Some(opened);
    }
    if node.kind() == "method_definition" {
        node.child_by_field_name("body")?;
    }
    if let Some(name) = node.child_by_field_name("name") {
        let simple = unquoted(&part(walk, name));
        // A method in an object literal: the object has a name by what holds it.
        let object = walk.parent().filter(|parent| parent.kind() == "object");
        let prefix = object.and_then(|_| holder(walk)).map(|(name, _)| name);
        let path = prefix.map_or(simple.clone(), |prefix| format!("{prefix}.{simple}"));
        let mut opened = named(walk, ".", &path)?;
        opened.own_name = simple;
        opened.skip = name.byte_range();
        return Some(opened);
    }
    let (simple, sure) = holder(walk).unwrap_or_else(|| ("(anonymous)".to_owned(), false));
    let mut opened = named(walk, ".", &simple)?;
    if !sure {
        opened.kind = FunctionKind::Closure;
        let scope = walk.scopes.last_mut()?;
        let count = scope.given.entry(simple).or_insert(0);
        *count += 1;
        if *count > 1 {
            opened.name = format!("{}#{count}", opened.name);
            opened.scope.name.clone_from(&opened.name);
        }
    }
    Some(opened)
}

/// What holds the node that is entered, and whether that is a name that engines would give, too.
fn holder(walk: &SyntaxWalk) -> Option<(String, bool)> {
    let mut inner: Vec<String> = Vec::new();
    let finish = |inner: &[String], outer: String| {
        let mut parts = vec![outer];
        parts.extend(inner.iter().rev().cloned());
        parts.retain(|part| !part.is_empty());
        Some((parts.join("."), true))
    };
    let mut below: Option<Node> = None;
    for node in walk.ancestors.iter().rev().take(HOLDERS) {
        let of = |field: &str| node.child_by_field_name(field);
        match node.kind() {
            "variable_declarator" => return finish(&inner, part(walk, of("name")?)),
            "assignment_expression" | "assignment_pattern" => {
                return finish(&inner, assigned(&part(walk, of("left")?)));
            }
            "field_definition" | "public_field_definition" => {
                let name = of("property").or_else(|| of("name"))?;
                return finish(&inner, unquoted(&part(walk, name)));
            }
            "pair" => inner.push(unquoted(&part(walk, of("key")?))),
            "object"
            | "parenthesized_expression"
            | "as_expression"
            | "satisfies_expression"
            | "sequence_expression"
            | "ternary_expression"
            | "binary_expression" => {}
            "jsx_expression" => {}
            "jsx_attribute" => return finish(&inner, part(walk, node.named_child(0)?)),
            "export_statement" => return finish(&inner, "default".to_owned()),
            "arguments" => {}
            "call_expression" | "new_expression" => {
                let called = of("function").or_else(|| of("constructor"))?;
                // `(function () { … })()` is called, not given.
                if below.is_some_and(|below| below.id() == called.id()) {
                    return if inner.is_empty() { None } else { finish(&inner, String::new()) };
                }
                let called = called.child_by_field_name("property").unwrap_or(called);
                let called = part(walk, called);
                let short = called.len() <= 40 && !called.contains(['(', '{', '=']);
                let called = if short { called.as_str() } else { "(call)" };
                if inner.is_empty() {
                    return Some((format!("{called}(callback)"), false));
                }
                let (name, _) = finish(&inner, format!("{called}(argument)"))?;
                return Some((name, true));
            }
            _ => return if inner.is_empty() { None } else { finish(&inner, String::new()) },
        }
        below = Some(*node);
    }
    if inner.is_empty() { None } else { finish(&inner, String::new()) }
}

/// `Foo.prototype.bar` as `Foo.bar`, `exports.bar` and `this.bar` as `bar`.
fn assigned(left: &str) -> String {
    let plain = left.replace(".prototype", "");
    let plain = plain.strip_prefix("module.").unwrap_or(&plain);
    let plain = ["exports.", "this.", "self."]
        .iter()
        .find_map(|prefix| plain.strip_prefix(prefix))
        .unwrap_or(plain);
    plain.to_owned()
}

fn unquoted(name: &str) -> String {
    name.trim_matches(['"', '\'', '`']).to_owned()
}

pub(super) fn python_scope(walk: &mut SyntaxWalk, node: Node) -> Option<Scope> {
    let simple = part(walk, node.child_by_field_name("name")?);
    inner(walk, ScopeKind::Type, python_separator(walk), &simple)
}

pub(super) fn python_function(walk: &mut SyntaxWalk, node: Node) -> Option<Opened> {
    let separator = python_separator(walk);
    let Some(name) = node.child_by_field_name("name") else {
        let mut opened = named(walk, separator, "<lambda>")?;
        opened.kind = FunctionKind::Closure;
        return Some(opened);
    };
    let mut opened = named(walk, separator, &part(walk, name))?;
    opened.skip = name.byte_range();
    Some(opened)
}

/// As in a function's `__qualname__`.
fn python_separator(walk: &SyntaxWalk) -> &'static str {
    match walk.scopes.last() {
        Some(scope) if scope.kind == ScopeKind::Function => ".<locals>.",
        _ => ".",
    }
}
