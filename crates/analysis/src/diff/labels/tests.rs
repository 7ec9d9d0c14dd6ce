//! Which functions of a profile a change is about.

use std::fmt::Write as _;

use super::*;
use expect_test::{Expect, expect};
use perfblame_cct::{Function, position};

/// `name`, `name component` or `name component line`, one a line.
fn symbols(text: &str) -> Symbols {
    let mut symbols = Symbols::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let name = symbols.string(words.next().unwrap());
        let mut function = Function::named(name);
        if let Some(component) = words.next() {
            function = function.in_component(symbols.string(component));
        }
        function.line = words.next().and_then(|line| position(line.parse().unwrap()));
        symbols.intern_function(function);
    }
    symbols
}

fn side(symbols: &Symbols) -> SideTree<'_> {
    static EMPTY: std::sync::OnceLock<perfblame_cct::Cct> = std::sync::OnceLock::new();
    SideTree { symbols, tree: EMPTY.get_or_init(Default::default), weights: &[] }
}

#[expect(clippy::unnecessary_wraps, reason = "changes hold it so")]
fn place(name: &str, file: &str, lines: (u32, u32)) -> Option<CodePlace> {
    Some(CodePlace {
        name: name.to_owned(),
        file: (!file.is_empty()).then(|| file.to_owned()),
        lines: Some(lines),
        ..CodePlace::default()
    })
}

fn changed(
    kind: ChangedKind,
    before: Option<CodePlace>,
    after: Option<CodePlace>,
) -> ChangedFunction {
    ChangedFunction { kind, before, after, ..ChangedFunction::default() }
}

#[track_caller]
fn check(before: &str, after: &str, changes: &[ChangedFunction], expected: &Expect) {
    let sides = Sides { before: symbols(before), after: symbols(after) };
    let found = of_changes(&sides.as_ref().map(side), changes);
    let mut out = String::new();
    for (side, symbols) in sides.each() {
        let sign = if side == Side::Before { '-' } else { '+' };
        for (id, _) in symbols.functions() {
            let label = found.of[side][id.index()];
            let _ = writeln!(out, "{sign} {} {label:?}", symbols.name(id));
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn functions_are_found_under_other_spellings() {
    let modified = |name: &str, file: &str| {
        let place = place(name, file, (10, 20));
        changed(ChangedKind::Modified, place.clone(), place)
    };
    let functions = "
        com.acme.Layer.utf com.acme.Layer
        com.acme.Other.utf com.acme.Other
        draw /app/src/layer.py 12
        draw /app/src/other.py 12
        app::tile::Tile::new app
        com.acme.Tile.<init> com.acme.Tile
        run https://host/js/main.js?v=2 3";
    check(
        functions,
        functions,
        &[
            modified("Layer.utf", "src/Layer.java"),
            modified("Layer.draw", "src/layer.py"),
            modified("tile::Tile::new", "src/tile.rs"),
            modified("Tile.Tile", "src/Tile.java"),
            modified("run", "js/other.js"),
        ],
        &expect![[r#"
            - com.acme.Layer.utf Modified
            - com.acme.Other.utf Unchanged
            - draw Modified
            - draw Unchanged
            - app::tile::Tile::new Modified
            - com.acme.Tile.<init> Modified
            - run Unchanged
            + com.acme.Layer.utf Modified
            + com.acme.Other.utf Unchanged
            + draw Modified
            + draw Unchanged
            + app::tile::Tile::new Modified
            + com.acme.Tile.<init> Modified
            + run Unchanged
        "#]],
    );
}

#[test]
fn each_kind_labels_its_side() {
    check(
        "a\nold\nkept\nboth",
        "a\nnew\nfresh\nboth",
        &[
            changed(ChangedKind::Deleted, place("kept", "", (1, 2)), None),
            changed(ChangedKind::Added, None, place("fresh", "", (1, 2))),
            changed(ChangedKind::Renamed, place("old", "", (1, 2)), place("new", "", (1, 2))),
            // An overload was added, and the profile does not tell overloads apart.
            changed(ChangedKind::Added, None, place("both", "", (1, 2))),
        ],
        &expect![[r#"
            - a Unchanged
            - old Renamed(FunctionId(2))
            - kept Deleted
            - both Unchanged
            + a Unchanged
            + new Renamed(FunctionId(2))
            + fresh Added
            + both Modified
        "#]],
    );
}

#[test]
fn without_changes_what_is_on_one_side_only_counts() {
    let (before, after) = (symbols("a\nb"), symbols("b\nc"));
    let found = inferred(&Sides { before: side(&before), after: side(&after) });
    assert_eq!(found.of.before, [Label::Deleted, Label::Unchanged]);
    assert_eq!(found.of.after, [Label::Unchanged, Label::Added]);
}

#[test]
fn names_are_taken_apart() {
    for (name, parts) in [
        ("com.acme.Layer$Tile.draw(int, List<String>)", "com acme Layer Tile draw"),
        ("a::b<c::d>::e", "a b e"),
        ("Foo.<init>", "Foo <init>"),
        ("(anonymous)", "(anonymous)"),
        ("", ""),
    ] {
        assert_eq!(segments(name).join(" "), parts, "{name}");
    }
}
