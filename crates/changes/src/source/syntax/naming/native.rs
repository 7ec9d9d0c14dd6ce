//! Rust, C, C++ and Go: names as symbols spell them, without what only the linker knows.

use tree_sitter::Node;

use super::{Opened, Scope, ScopeKind, join, named, numbered, part, tidy};
use crate::source::FunctionKind;
use crate::source::names::without_generics;
use crate::source::syntax::walk::SyntaxWalk;

pub(super) fn rust_scope(walk: &mut SyntaxWalk, node: Node) -> Option<Scope> {
    let outer = walk.scopes.last()?;
    let (kind, simple) = match node.kind() {
        "impl_item" => {
            let of_type = part(walk, node.child_by_field_name("type")?);
            let simple = match node.child_by_field_name("trait") {
                Some(of_trait) => {
                    let of_trait = without_lifetimes(&part(walk, of_trait));
                    format!("<impl {of_trait} for {}>", without_lifetimes(&of_type))
                }
                None => without_generics(&of_type),
            };
            (ScopeKind::Type, simple)
        }
        kind => {
            node.child_by_field_name("body")?;
            let kind = if kind == "mod_item" { ScopeKind::Module } else { ScopeKind::Type };
            (kind, part(walk, node.child_by_field_name("name")?))
        }
    };
    let name = join(&outer.name, "::", &simple);
    let key = join(&outer.key, "::", &simple);
    Some(Scope::new(kind, name, key, &simple))
}

pub(super) fn rust_function(walk: &mut SyntaxWalk, node: Node) -> Option<Opened> {
    if node.kind() == "closure_expression" {
        let number = next_closure(walk, 0)?;
        return numbered(walk, "::", &format!("{{closure#{number}}}"), "{closure}");
    }
    let name = node.child_by_field_name("name")?;
    let mut opened = named(walk, "::", &part(walk, name))?;
    opened.skip = name.byte_range();
    Some(opened)
}

/// `Foo<'a, T>` as `Foo<T>`, `Foo<'_>` as `Foo`.
fn without_lifetimes(name: &str) -> String {
    if !name.contains('\'') {
        return name.to_owned();
    }
    let mut plain = String::with_capacity(name.len());
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\'' {
            plain.push(letter);
            continue;
        }
        while letters.next_if(|next| next.is_alphanumeric() || *next == '_').is_some() {}
        while letters.next_if(|next| *next == ',' || *next == ' ').is_some() {}
    }
    plain.replace(",>", ">").replace("<>", "")
}

fn next_closure(walk: &mut SyntaxWalk, first: u32) -> Option<u32> {
    let scope = walk.scopes.last_mut()?;
    scope.closures += 1;
    Some(scope.closures - 1 + first)
}

pub(super) fn cpp_scope(walk: &mut SyntaxWalk, node: Node) -> Option<Scope> {
    node.child_by_field_name("body")?;
    let namespace = node.kind() == "namespace_definition";
    let simple = match node.child_by_field_name("name") {
        Some(name) => without_generics(&part(walk, name)),
        None if namespace => "(anonymous namespace)".to_owned(),
        None => return None,
    };
    let kind = if namespace { ScopeKind::Module } else { ScopeKind::Type };
    let outer = walk.scopes.last()?;
    let name = join(&outer.name, "::", &simple);
    let key = join(&outer.key, "::", &simple);
    Some(Scope::new(kind, name, key, &simple))
}

pub(super) fn cpp_function(walk: &mut SyntaxWalk, node: Node) -> Option<Opened> {
    // Without a body it is declared, defaulted or deleted.
    let body = node.child_by_field_name("body");
    if node.kind() == "lambda_expression" {
        let number = next_closure(walk, 1)?;
        return numbered(walk, "::", &format!("{{lambda#{number}}}"), "{lambda}");
    }
    let mut declarator = node.child_by_field_name("declarator")?;
    let mut parameters = None;
    // Pointers and references around, each a step.
    for _ in 0..64 {
        match declarator.kind() {
            "operator_cast" => {
                let to = part(walk, declarator.child_by_field_name("type")?);
                let simple = format!("operator {to}");
                body?;
                let mut opened = named(walk, "::", &simple)?;
                opened.skip = declarator.byte_range();
                return Some(opened);
            }
            "identifier"
            | "field_identifier"
            | "qualified_identifier"
            | "destructor_name"
            | "operator_name"
            | "template_function"
            | "type_identifier" => break,
            "function_declarator" => parameters = declarator.child_by_field_name("parameters"),
            _ => {}
        }
        let inner = declarator.child_by_field_name("declarator");
        declarator = inner.or_else(|| {
            declarator.named_child(declarator.named_child_count().checked_sub(1)? as u32)
        })?;
    }
    body?;
    let spelled = without_generics(&part(walk, declarator));
    let spelled = spelled.trim_start_matches("::");
    let mut opened = named(walk, "::", spelled)?;
    opened.skip = declarator.byte_range();
    spelled.rsplit("::").next().unwrap_or(spelled).clone_into(&mut opened.own_name);
    if walk.grammar.language == crate::Language::Cpp
        && let Some(parameters) = parameters
    {
        opened.signature = Some(cpp_signature(walk, parameters));
    }
    Some(opened)
}

/// Parameter types without names: `(int,const std::string&)`.
fn cpp_signature(walk: &SyntaxWalk, parameters: Node) -> String {
    let mut cursor = parameters.walk();
    let mut types = Vec::new();
    for parameter in parameters.named_children(&mut cursor).take(64) {
        if !parameter.kind().ends_with("parameter_declaration") {
            continue;
        }
        let mut end = parameter.end_byte();
        let mut tail = "";
        if let Some(mut declarator) = parameter.child_by_field_name("declarator") {
            end = declarator.start_byte();
            // What the declarator adds to the type stands before the name.
            for _ in 0..16 {
                match declarator.kind() {
                    "identifier" => break,
                    "array_declarator" => tail = "*",
                    kind if kind.starts_with("abstract") => {
                        end = declarator.end_byte();
                        break;
                    }
                    _ => {}
                }
                let inner = declarator.child_by_field_name("declarator");
                let Some(inner) = inner.or_else(|| declarator.named_child(0)) else { break };
                declarator = inner;
            }
            if declarator.kind() == "identifier" {
                end = declarator.start_byte();
            }
        } else if let Some(value) = parameter.child_by_field_name("default_value") {
            end = value.start_byte();
        }
        let text = walk.text.get(parameter.start_byte()..end).unwrap_or_default();
        types.push(format!("{}{tail}", tidy(text).trim_end_matches('=').trim_end()));
    }
    if types == ["void"] {
        types.clear();
    }
    format!("({})", types.join(","))
}

pub(super) fn go_package(walk: &mut SyntaxWalk, node: Node) -> Option<Scope> {
    let name = part(walk, node.named_child(0)?);
    let mut scope = Scope::new(ScopeKind::File, name.clone(), name, "");
    scope.to_the_end = true;
    Some(scope)
}

pub(super) fn go_function(walk: &mut SyntaxWalk, node: Node) -> Option<Opened> {
    if node.kind() == "func_literal" {
        let outside = walk.scopes.last().is_none_or(|scope| scope.kind != ScopeKind::Function);
        let in_closure = walk.scopes.last().is_some_and(|scope| scope.simple == "func");
        let number = next_closure(walk, 1)?;
        let (simple, plain) = match (outside, in_closure) {
            (true, _) => (format!("init.func{number}"), "init.func"),
            (_, true) => (number.to_string(), "func"),
            _ => (format!("func{number}"), "func"),
        };
        let mut opened = numbered(walk, ".", &simple, plain)?;
        "func".clone_into(&mut opened.scope.simple);
        return Some(opened);
    }
    node.child_by_field_name("body")?;
    let name = node.child_by_field_name("name")?;
    let simple = part(walk, name);
    let receiver = node.child_by_field_name("receiver").and_then(|receiver| {
        let of_type = receiver.named_child(0)?.child_by_field_name("type")?;
        let text = part(walk, of_type);
        let text = text.split('[').next().unwrap_or(&text).to_owned();
        Some(match text.strip_prefix('*') {
            Some(pointed) => format!("(*{pointed})"),
            None => text,
        })
    });
    let path = receiver.map_or(simple.clone(), |receiver| format!("{receiver}.{simple}"));
    let mut opened = named(walk, ".", &path)?;
    opened.own_name = simple;
    opened.kind = FunctionKind::Named;
    opened.skip = name.byte_range();
    Some(opened)
}
