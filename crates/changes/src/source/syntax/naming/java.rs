//! Java: names as the compiler gives them, `pkg.Outer$Inner.method`.
//!
//! Anonymous classes are numbered per class around them in the order of the text, local ones per name, lambdas per
//! class with inner lambdas first.

use tree_sitter::Node;

use super::{Opened, Scope, ScopeKind, part};
use crate::source::FunctionKind;
use crate::source::names::without_generics;
use crate::source::syntax::walk::SyntaxWalk;

pub(super) fn scope(walk: &mut SyntaxWalk, node: Node) -> Option<Scope> {
    match node.kind() {
        "package_declaration" => {
            let mut cursor = node.walk();
            let name = node
                .named_children(&mut cursor)
                .find(|child| ["identifier", "scoped_identifier"].contains(&child.kind()))?;
            let name = part(walk, name);
            let mut scope = Scope::new(ScopeKind::File, name.clone(), name, "");
            scope.to_the_end = true;
            Some(scope)
        }
        // The body of `new Foo() { … }` or of an enum constant is a class without a name.
        "class_body" => {
            let parent = walk.parent()?;
            if !["object_creation_expression", "enum_constant"].contains(&parent.kind()) {
                return None;
            }
            walk.numbered.anonymous = true;
            let holder = nearest_type(&mut walk.scopes)?;
            holder.anonymous += 1;
            let name = format!("{}${}", holder.name, holder.anonymous);
            let key = format!("{}$", holder.key);
            Some(Scope::new(ScopeKind::Type, name, key, ""))
        }
        _ => {
            let simple = part(walk, node.child_by_field_name("name")?);
            let local = walk.scopes.last().is_some_and(|scope| scope.kind == ScopeKind::Function);
            walk.numbered.local |= local;
            let holder = nearest_type(&mut walk.scopes);
            let (name, key) = match holder {
                Some(holder) if local => {
                    let number = holder.given.entry(simple.clone()).or_insert(0);
                    *number += 1;
                    let name = format!("{}${number}{simple}", holder.name);
                    (name, format!("{}$_{simple}", holder.key))
                }
                Some(holder) => {
                    (format!("{}${simple}", holder.name), format!("{}${simple}", holder.key))
                }
                None => {
                    let package = walk.scopes.last().map_or("", |scope| scope.name.as_str());
                    let name = super::join(package, ".", &simple);
                    (name.clone(), name)
                }
            };
            let mut scope = Scope::new(ScopeKind::Type, name, key, &simple);
            scope.variables = variables(walk, node);
            Some(scope)
        }
    }
}

fn nearest_type(scopes: &mut [Scope]) -> Option<&mut Scope> {
    scopes.iter_mut().rev().find(|scope| scope.kind == ScopeKind::Type)
}

pub(super) fn function(walk: &mut SyntaxWalk, node: Node) -> Option<Opened> {
    let kind = node.kind();
    let (simple, function_kind) = match kind {
        "method_declaration" => {
            // Without a body there is nothing to run.
            node.child_by_field_name("body")?;
            (part(walk, node.child_by_field_name("name")?), FunctionKind::Named)
        }
        "constructor_declaration" | "compact_constructor_declaration" => {
            ("<init>".to_owned(), FunctionKind::Named)
        }
        "static_initializer" => ("<clinit>".to_owned(), FunctionKind::Initialiser),
        "block" => {
            let parent = walk.parent()?.kind();
            if !["class_body", "enum_body_declarations"].contains(&parent) {
                return None;
            }
            ("<init>".to_owned(), FunctionKind::Initialiser)
        }
        "field_declaration" | "constant_declaration" => {
            if !computes(node) {
                return None;
            }
            let fixed = kind == "constant_declaration" || has_modifier(walk, node, b"static");
            (if fixed { "<clinit>" } else { "<init>" }.to_owned(), FunctionKind::Initialiser)
        }
        "lambda_expression" => ("lambda$".to_owned(), FunctionKind::Closure),
        _ => return None,
    };
    // A lambda is a method of its class, like all others.
    let around = lambda_holder(&walk.scopes);
    let holder = nearest_type(&mut walk.scopes)?;
    let (name, key) = match function_kind {
        FunctionKind::Closure => {
            let name = format!("{}.lambda${around}$", holder.name);
            (name, format!("{}.lambda${around}$", holder.key))
        }
        _ => (format!("{}.{simple}", holder.name), format!("{}.{simple}", holder.key)),
    };
    let mut opened = Opened::new(name, key, &simple, function_kind);
    if function_kind == FunctionKind::Closure {
        around.clone_into(&mut opened.scope.simple);
    }
    opened.scope.variables = variables(walk, node);
    if let Some(name) = node.child_by_field_name("name") {
        opened.skip = name.byte_range();
    }
    if let Some(parameters) = node.child_by_field_name("parameters")
        && parameters.kind() == "formal_parameters"
        && function_kind == FunctionKind::Named
    {
        opened.signature = Some(signature(walk, parameters, &opened.scope.variables));
    }
    Some(opened)
}

/// What the compiler calls the method around a lambda.
fn lambda_holder(scopes: &[Scope]) -> String {
    match scopes.last() {
        Some(scope) if scope.kind == ScopeKind::Function => match scope.simple.as_str() {
            "<init>" => "new".to_owned(),
            "<clinit>" => "static".to_owned(),
            simple => simple.to_owned(),
        },
        // In a field that seemed to compute nothing.
        _ => "new".to_owned(),
    }
}

/// The name of the lambda that ends; its scope is still on top.
pub(crate) fn java_lambda(scopes: &mut [Scope]) -> String {
    let around = scopes.last().map(|scope| scope.simple.clone()).unwrap_or_default();
    let Some(holder) = nearest_type(scopes) else { return String::new() };
    let name = format!("{}.lambda${around}${}", holder.name, holder.closures);
    holder.closures += 1;
    name
}

/// Whether a field's value is more than a constant.
fn computes(node: Node) -> bool {
    let mut cursor = node.walk();
    let mut declarators = node.children_by_field_name("declarator", &mut cursor);
    declarators.any(|declarator| {
        declarator.child_by_field_name("value").is_some_and(|value| {
            !value.kind().ends_with("_literal") && !["true", "false"].contains(&value.kind())
        })
    })
}

fn has_modifier(walk: &SyntaxWalk, node: Node, wanted: &[u8]) -> bool {
    let Some(modifiers) = node.named_child(0).filter(|child| child.kind() == "modifiers") else {
        return false;
    };
    let mut cursor = modifiers.walk();
    modifiers.children(&mut cursor).any(|child| walk.text(child) == wanted)
}

/// Type variables with what is left of them at run time.
fn variables(walk: &SyntaxWalk, node: Node) -> Vec<(String, String)> {
    let Some(list) = node.child_by_field_name("type_parameters") else { return Vec::new() };
    let mut cursor = list.walk();
    let mut found = Vec::new();
    for parameter in list.named_children(&mut cursor).take(64) {
        let mut inner = parameter.walk();
        let mut name = None;
        let mut bound = "Object".to_owned();
        for child in parameter.named_children(&mut inner) {
            match child.kind() {
                "type_identifier" | "identifier" => name = Some(part(walk, child)),
                "type_bound" => {
                    if let Some(first) = child.named_child(0) {
                        bound = simple_type(walk, first);
                    }
                }
                _ => {}
            }
        }
        found.extend(name.map(|name| (name, bound)));
    }
    found
}

/// `(int,String,List)`: types without packages and arguments, variables as they are at run time.
fn signature(walk: &SyntaxWalk, parameters: Node, own: &[(String, String)]) -> String {
    let mut cursor = parameters.walk();
    let mut types = Vec::new();
    for parameter in parameters.named_children(&mut cursor).take(255) {
        let (mut name, array) = match parameter.kind() {
            "formal_parameter" => {
                let Some(found) = parameter.child_by_field_name("type") else { continue };
                let dimensions = parameter.child_by_field_name("dimensions");
                (simple_type(walk, found), dimensions.map_or(0, |it| walk.text(it).len() / 2))
            }
            "spread_parameter" => {
                let mut inner = parameter.walk();
                let found = parameter
                    .named_children(&mut inner)
                    .find(|child| !["modifiers", "annotation"].contains(&child.kind()));
                let Some(found) = found else { continue };
                (simple_type(walk, found), 1)
            }
            _ => continue,
        };
        let scopes = walk.scopes.iter().rev().map(|scope| scope.variables.as_slice());
        let plain = name.trim_end_matches("[]").to_owned();
        let variable =
            std::iter::once(own).chain(scopes).flatten().find(|(known, _)| *known == plain);
        if let Some((_, erased)) = variable {
            name = name.replacen(&plain, erased, 1);
        }
        name.push_str(&"[]".repeat(array.min(8)));
        types.push(name);
    }
    format!("({})", types.join(","))
}

pub(super) fn simple_type(walk: &SyntaxWalk, node: Node) -> String {
    let text = without_generics(&part(walk, node));
    let text = text.rsplit('.').next().unwrap_or(&text);
    // `@NonNull String` is a `String`.
    text.rsplit(' ').next().unwrap_or(text).to_owned()
}
