//! Drawn examples of function identity.

use expect_test::{Expect, expect};
use perfblame_cct::{
    Frame, Function, Grain, Layer, Metric, MetricId, Profile, ProfileBuilder, Times, Unit, position,
};
use proptest::prelude::*;
use std::fmt::Write as _;

use super::*;

/// Samples, one a line: a count, then frames from the outermost, each `component!name@line`, of which component and
/// line can be left out. Names in parentheses are the runtime's.
fn stacks(text: &str) -> Profile {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
    let metric = builder.metric(Metric::sampled("samples", Unit::Count));
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let count = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
        let mut stack = Vec::new();
        for word in words {
            let (component, rest) = word.split_once('!').unwrap_or(("", word));
            let (name, line) = rest.split_once('@').unwrap_or((rest, "0"));
            let mut function = Function::named(builder.string(name));
            function.line = position(line.parse().unwrap());
            if name.starts_with('(') {
                function.layer = Layer::Runtime;
            }
            if !component.is_empty() {
                function.component = Some(builder.string(component));
            }
            let function = builder.function(function);
            stack.push(builder.frame(Frame::of(function)));
        }
        builder.sample(&stack, None, metric, count);
    }
    builder.finish()
}

/// Classes that are not the same on both sides as `before = after`, several functions of one side joined by `|`; then
/// the reasons.
fn check(before: &str, after: &str, expected: &Expect) {
    let profiles = Sides { before: stacks(before), after: stacks(after) };
    let identity = identity_of(&profiles.before, &profiles.after);
    let mut members = vec![Sides::<Vec<String>>::default(); identity.classes()];
    for (side, profile) in profiles.each() {
        for (id, function) in profile.symbols.functions() {
            let class = identity.class(side, id);
            let line = function.line.map_or(String::new(), |line| format!("@{line}"));
            members[class as usize][side].push(format!("{}{line}", profile.symbols.name(id)));
        }
    }
    let mut lines: Vec<String> = (members.iter())
        .map(|sides| sides.as_ref().map(|names| names.join("|")))
        .filter(|names| names.before != names.after)
        .map(|names| match (&*names.before, &*names.after) {
            ("", is) => format!("{is} is new"),
            (was, "") => format!("{was} is gone"),
            (was, is) => format!("{was} = {is}"),
        })
        .collect();
    lines.sort();
    let mut text = lines.join("\n");
    for found in &identity.matches {
        let reason = found.reason(&profiles.before.symbols, &profiles.after.symbols);
        let _ = write!(text, "\n{}: {reason}", profiles.after.symbols.name(found.after));
    }
    expected.assert_eq(&text);
}

#[test]
fn names_and_components_are_enough() {
    check("5 main a.js!run b.js!run", "5 main a.js!run b.js!run", &expect![[""]]);
}

#[test]
fn components_go_by_other_names() {
    check(
        "5 main http://one:1/app.3f2a1b9c.js!run libjq.so.1.0.4!parse lib/foo-1.2.jar!go",
        "5 main http://two:2/app.77ab01cd.js!run libjq.so.1.0.5!parse lib/foo-1.3.jar!go",
        &expect![[r#"

            run: was `run` in http://one:1/app.3f2a1b9c.js (same name except for host and version, 98 % sure)
            parse: was `parse` in libjq.so.1.0.4 (same name except for host and version, 98 % sure)
            go: was `go` in lib/foo-1.2.jar (same name except for host and version, 98 % sure)"#]],
    );
}

#[test]
fn a_file_was_moved() {
    check(
        "5 main src/a.js!load src/a.js!init@3
         5 main src/a.js!save src/a.js!init@9",
        "5 main lib/a.js!load lib/a.js!init@3
         5 main lib/a.js!save lib/a.js!init@9",
        &expect![[r#"

            load: was `load` in src/a.js (same name in another component, 90 % sure)
            init: was `init` in src/a.js (same callers, 86 % sure)
            save: was `save` in src/a.js (same name in another component, 90 % sure)
            init: was `init` in src/a.js (same callers, 86 % sure)"#]],
    );
}

#[test]
fn compilers_make_copies() {
    check(
        "5 main work parse
         5 main step<int> leaf",
        "3 main work parse.constprop.0
         2 main work parse
         5 main step<long> leaf",
        &expect![[r#"
            parse = parse.constprop.0|parse
            step<int> = step<long>
            step<long>: was `step<int>` (same name except for template arguments, 85 % sure)"#]],
    );
}

#[test]
fn a_function_was_renamed() {
    check(
        "9 main run parse read
         9 main run parse lex
         9 main run print
         9 other parse read",
        "9 main run scan read
         9 main run scan lex
         9 main run print
         9 other scan read",
        &expect![[r#"
            parse = scan
            scan: was `parse` (same callers and callees, 77 % sure)"#]],
    );
}

#[test]
fn two_that_are_equally_likely_are_left_alone() {
    check(
        "9 main one
         9 main two",
        "9 main three
         9 main four",
        &expect![[r#"
            four is new
            one is gone
            three is new
            two is gone"#]],
    );
}

#[test]
fn the_runtime_is_never_the_program() {
    check(
        "9 main work (idle) leaf",
        "9 main work spin leaf",
        &expect![[r#"
            (idle) is gone
            spin is new"#]],
    );
}

#[test]
fn namesakes_are_told_by_place_and_callers() {
    check(
        "9 main f.js!first@1 f.js!init@10 x
         9 main f.js!second@50 f.js!init@60 y
         9 main f.js!third@90",
        "9 main f.js!first@1 f.js!init@12 x
         9 main f.js!second@54 f.js!init@64 y
         9 main f.js!third@94",
        &expect![[r#"
            init@10 = init@12
            init@60 = init@64
            second@50 = second@54
            third@90 = third@94
            init: was `init` in line 10 (same callers and callees, 95 % sure)
            init: was `init` in line 60 (same place in the file, 95 % sure)"#]],
    );
}

#[test]
fn names_that_minifiers_made_up_say_nothing() {
    check(
        "9 main m.js!a@1 m.js!b@5 read
         9 main m.js!a@1 m.js!c@9 write
         9 main m.js!d@20 open",
        "9 main m.js!d@1 m.js!a@6 read
         9 main m.js!d@1 m.js!b@10 write
         9 main m.js!c@21 open",
        &expect![[r#"
            a@1 = d@1
            b@5 = a@6
            c@9 = b@10
            d@20 = c@21
            d: was `a` (same callers and callees, 85 % sure)
            a: was `b` (same callees, 72 % sure)
            b: was `c` (same callees, 72 % sure)
            c: was `d` (same callers and callees, 79 % sure)"#]],
    );
}

#[test]
fn names_of_methods_are_left_by_minifiers_and_short_ones_still_say_nothing() {
    let methods = "9 main m.js!addLayer@4 m.js!onAdd@4 m.js!reset@4
         9 main m.js!addLayer@4 m.js!project@4
         9 main m.js!redraw@4 m.js!bounds@4
         9 main m.js!redraw@4 m.js!toFeature@4";
    check(
        &format!(
            "{methods}
             9 main m.js!redraw@4 m.js!simplify@4 m.js!oe@5
             1 main m.js!redraw@4 m.js!toFeature@4 m.js!Ae@5"
        ),
        &format!(
            "{methods}
             9 main m.js!redraw@4 m.js!simplify@4 m.js!Ni@6
             1 main m.js!redraw@4 m.js!toFeature@4 m.js!oe@6"
        ),
        &expect![[r#"
            Ae@5 = oe@6
            oe@5 = Ni@6
            Ni: was `oe` (same callers, 72 % sure)
            oe: was `Ae` (same callers, 72 % sure)"#]],
    );
}

#[test]
fn made_up_names_of_one_build_are_believed() {
    check(
        "9 main m.js!a m.js!b read
         9 main m.js!a m.js!c
         9 main m.js!a m.js!d",
        "9 main m.js!a m.js!b read
         9 main m.js!a m.js!c
         9 main m.js!a m.js!d",
        &expect![[""]],
    );
}

/// Stacks of functions that are hard to tell apart.
fn any_stacks() -> impl Strategy<Value = String> {
    let name =
        prop_oneof![Just(""), Just("(anonymous)"), Just("a"), Just("b"), Just("run"), Just("load")];
    let component = prop_oneof![Just(""), Just("x.js!"), Just("y.js!")];
    let frame = (component, name, 0..4u8)
        .prop_map(|(component, name, line)| format!("{component}{name}@{line}"));
    let stack = prop::collection::vec(frame, 1..6);
    let sample = (1..20u8, stack).prop_map(|(count, stack)| format!("{count} {}", stack.join(" ")));
    prop::collection::vec(sample, 1..20).prop_map(|samples| samples.join("\n"))
}

fn identity_of(before: &Profile, after: &Profile) -> Identity {
    let profiles = Sides { before, after };
    let weights = profiles.map(|profile| profile.self_values(MetricId::new(0)));
    let trees = profiles.map_with_side(|side, Profile { symbols, tree, .. }| SideTree {
        symbols,
        tree,
        weights: &weights[side],
    });
    Identity::of(&trees.before, &trees.after)
}

proptest! {
    #[test]
    fn everybody_is_himself(text in any_stacks()) {
        let profile = stacks(&text);
        let count = profile.symbols.functions().len();
        let identity = identity_of(&profile, &profile);
        for row in (0..count).map(FunctionId::new) {
            prop_assert_eq!(identity.before(row), identity.after(row));
            prop_assert!(!identity.is_renamed(identity.after(row)));
        }
        // Nobody is somebody else, too.
        prop_assert_eq!(identity.classes(), count);
    }

    #[test]
    fn it_does_not_matter_which_side_is_which(before in any_stacks(), after in any_stacks()) {
        let (old, new) = (stacks(&before), stacks(&after));
        let there = identity_of(&old, &new);
        let back = identity_of(&new, &old);
        for (was, _) in old.symbols.functions() {
            for (is, _) in new.symbols.functions() {
                let one = there.before(was) == there.after(is);
                prop_assert_eq!(one, back.after(was) == back.before(is));
            }
        }
    }
}
