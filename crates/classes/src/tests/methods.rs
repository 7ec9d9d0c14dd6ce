//! What counts as a change of a method, and what does not.

use expect_test::{Expect, expect};

use super::maker::{Maker, RETURN, changes, drawn};

fn check(before: &[Maker], after: &[Maker], expected: &Expect) {
    expected.assert_eq(&drawn(&changes(before, after)));
    // Nothing ever differs from itself, and what is added one way is deleted the other way.
    assert_eq!(drawn(&changes(before, before)), "");
    let count = |changes: perfblame_changes::ChangeSet, kind| {
        changes.functions.iter().filter(|change| change.kind == kind).count()
    };
    assert_eq!(
        count(changes(before, after), perfblame_changes::ChangeKind::Added),
        count(changes(after, before), perfblame_changes::ChangeKind::Deleted),
    );
}

/// A class with one method of this code, `ldc` of a text in front.
fn with_code(class: Maker, wide: bool, rest: &[u8], line: u16) -> Maker {
    let mut class = class;
    let text = class.string("text");
    let mut code =
        if wide { [&[0x13][..], &text.to_be_bytes()].concat() } else { vec![0x12, text as u8] };
    code.extend(rest);
    class.method_with(9, "run", "()V", &code, &[line, line + 3], &[]);
    class
}

#[test]
fn constants_and_lines_may_be_elsewhere() {
    // pop, goto or goto_w to the return.
    let short = with_code(Maker::new("A"), false, &[0x57, 0xa7, 0, 3, RETURN], 7);
    let long = with_code(Maker::new("A").shifted(300), true, &[0x57, 0xc8, 0, 0, 0, 5, RETURN], 70);
    check(&[short], &[long], &expect![""]);
}

#[test]
fn forms_that_save_bytes_are_one() {
    let mut before = Maker::new("A");
    // iconst_1, istore_1, iload_1, tableswitch 0 to 1 with a filling, return.
    let table = [0, 0, 0, 0, 21, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 21, 0, 0, 0, 21];
    before.method("run", &[&[0x04, 0x3c, 0x1b, 0xaa][..], &table[1..], &[RETURN]].concat());
    let mut after = Maker::new("A");
    // bipush 1, wide istore 1, wide iload 1, lookupswitch of nothing, return.
    let head = [0x10, 1, 0xc4, 0x36, 0, 1, 0xc4, 0x15, 0, 1, 0xab, 0];
    let lookup = [0, 0, 0, 10, 0, 0, 0, 0];
    after.method("run", &[&head[..], &lookup, &[RETURN]].concat());
    check(&[before], &[after], &expect![""]);
}

#[test]
fn a_new_call_is_a_change() {
    let before = Maker::new("p/A").calls("run", &[("p/B", "one")]).calls("stay", &[]);
    let after = Maker::new("p/A")
        .calls("run", &[("p/B", "one"), ("p/B", "one"), ("java/lang/Thread", "sleep")])
        .calls("stay", &[])
        .calls("more", &[]);
    check(
        &[before],
        &[after],
        &expect![[r#"
            Added p.A.more
            Modified p.A.run [Call("java.lang.Thread.sleep"), Call("p.B.one"), Wait]
        "#]],
    );
}

#[test]
fn loops_allocations_and_locks_are_named() {
    let mut before = Maker::new("A");
    before.method("run", &[RETURN]);
    let mut after = Maker::new("A");
    // iconst_0, newarray int, dup, monitorenter, goto 0; unreachable return.
    after.method("run", &[0x03, 0xbc, 10, 0x59, 0xc2, 0xa7, 0xff, 0xfb, RETURN]);
    check(
        &[before],
        &[after],
        &expect![[r#"
            Modified A.run [Loop, Allocation, Lock]
        "#]],
    );
}

#[test]
fn handlers_count() {
    let code = [0x00, 0x00, 0x00, 0xbf, RETURN];
    let class = |handlers: &[[u16; 4]]| {
        let mut class = Maker::new("A");
        class.method_with(9, "run", "()V", &code, &[1], handlers);
        class
    };
    check(
        &[class(&[[0, 1, 3, 0]])],
        &[class(&[[0, 2, 3, 0]])],
        &expect![[r#"
            Modified A.run
        "#]],
    );
    check(&[class(&[[0, 5, 3, 0]])], &[class(&[[0, 5, 3, 0]]).shifted(2)], &expect![""]);
}

#[test]
fn synchronized_is_a_lock() {
    let class = |flags: u16| {
        let mut class = Maker::new("A");
        class.method_with(flags, "run", "()V", &[RETURN], &[1], &[]);
        class
    };
    check(
        &[class(0x01)],
        &[class(0x21)],
        &expect![[r#"
            Modified A.run [Lock]
        "#]],
    );
    // Who may call it does not change what it does.
    check(&[class(0x01)], &[class(0x02)], &expect![""]);
}

#[test]
fn a_lambda_in_front_of_others_leaves_them_alone() {
    let before = Maker::new("A")
        .makes("first", &["lambda$first$0"])
        .makes("second", &["lambda$second$1"])
        .calls("lambda$first$0", &[("B", "one")])
        .calls("lambda$second$1", &[("B", "two")]);
    let after = Maker::new("A")
        .makes("start", &["lambda$start$0"])
        .makes("first", &["lambda$first$1"])
        .makes("second", &["lambda$second$2"])
        .calls("lambda$start$0", &[("B", "zero")])
        .calls("lambda$first$1", &[("B", "one")])
        .calls("lambda$second$2", &[("B", "two")]);
    check(
        &[before],
        &[after],
        &expect![[r#"
            Renamed A.lambda$first$0 → A.lambda$first$1
            Renamed A.lambda$second$1 → A.lambda$second$2
            Added A.lambda$start$0
            Added A.start
        "#]],
    );
}

#[test]
fn a_changed_lambda_is_modified_and_who_makes_it_is_not() {
    let class = |call: &str| {
        Maker::new("A")
            .makes("run", &["lambda$run$1"])
            .makes("lambda$run$1", &["lambda$null$0"])
            .calls("lambda$null$0", &[("B", "one"), ("B", call)])
    };
    check(
        &[class("two")],
        &[class("three")],
        &expect![[r#"
            Modified A.lambda$null$0 [Call("B.three")]
        "#]],
    );
}

#[test]
fn another_lambda_in_place_of_one_is_a_change() {
    let class = |used: &str| {
        Maker::new("A")
            .makes("run", &[used])
            .makes("other", &["lambda$other$0", "lambda$other$1"])
            .calls("lambda$other$0", &[("B", "one")])
            .calls("lambda$other$1", &[("B", "two")])
    };
    check(
        &[class("lambda$other$0")],
        &[class("lambda$other$1")],
        &expect![[r#"
            Modified A.run
        "#]],
    );
}

#[test]
fn an_anonymous_class_moves_on_by_one() {
    let before = [
        Maker::new("A").calls("run", &[("A$1", "go"), ("A$2", "go")]),
        Maker::new("A$1").calls("go", &[("B", "one")]),
        Maker::new("A$2").calls("go", &[("B", "two")]),
    ];
    let after = [
        Maker::new("A")
            .calls("early", &[("A$1", "go")])
            .calls("run", &[("A$2", "go"), ("A$3", "go")]),
        Maker::new("A$1").calls("go", &[("B", "zero")]),
        Maker::new("A$2").calls("go", &[("B", "one")]),
        Maker::new("A$3").calls("go", &[("B", "two")]),
    ];
    check(
        &before,
        &after,
        &expect![[r#"
            Added A$1.go
            Moved A$1.go → A$2.go
            Moved A$2.go → A$3.go
            Added A.early
        "#]],
    );
}

#[test]
fn accessors_are_matched_by_what_they_reach() {
    let class = |numbers: [&str; 2]| {
        Maker::new("A").calls(numbers[0], &[("A", "one")]).calls(numbers[1], &[("A", "two")])
    };
    let inner = |number: &str| Maker::new("A$In").calls("run", &[("A", number)]);
    check(
        &[class(["access$000", "access$100"]), inner("access$000")],
        &[class(["access$100", "access$200"]), inner("access$100")],
        &expect![[r#"
            Renamed A.access$000 → A.access$100
            Renamed A.access$100 → A.access$200
        "#]],
    );
}

#[test]
fn a_switch_map_with_one_more_constant() {
    let class = |calls: &[(&str, &str)], field: bool| {
        let mut map = Maker::new("A$1").calls("<clinit>", calls);
        map.field("$SwitchMap$E", "[I");
        if field {
            map.field("$SwitchMap$F", "[I");
        }
        map
    };
    let outer = || Maker::new("A").shifted(1).calls("run", &[("A$1", "map")]);
    check(
        &[outer(), class(&[("E", "one")], false)],
        &[outer().shifted(9), class(&[("E", "one"), ("E", "two")], true)],
        &expect![[r#"
            Modified A$1.<clinit> [Call("E.two")]
        "#]],
    );
}

#[test]
fn a_renamed_method_does_not_touch_its_callers() {
    let class = |name: &str| {
        Maker::new("A")
            .calls(name, &[("B", "one"), ("B", "two"), ("A", name)])
            .calls("run", &[("A", name)])
    };
    check(
        &[class("slow"), Maker::new("C").calls("run", &[("A", "slow")])],
        &[class("fast"), Maker::new("C").calls("run", &[("A", "fast")])],
        &expect![[r#"
            Renamed A.slow → A.fast
        "#]],
    );
}

#[test]
fn a_renamed_class_takes_its_methods_along() {
    let classes = |name: &str| {
        let inner = format!("{name}$1");
        [
            Maker::new(name)
                .calls("run", &[("B", "one"), ("B", "two"), (name, "stop"), (&inner, "go")])
                .calls(
                    "stop",
                    &[("B", "three"), ("B", "four"), ("B", "five"), ("B", "six"), ("B", "seven")],
                )
                .calls("more", &[("B", "eight")]),
            Maker::new(&inner).calls("go", &[("B", "one"), (name, "stop")]),
            Maker::new("User").calls("use", &[(name, "run")]),
        ]
    };
    check(
        &classes("p/Old"),
        &classes("q/New"),
        &expect![[r#"
            Moved p.Old$1.go → q.New$1.go
            Moved p.Old.more → q.New.more
            Moved p.Old.run → q.New.run
            Moved p.Old.stop → q.New.stop
        "#]],
    );
}

#[test]
fn definitions_say_where_the_source_is() {
    let found = changes(
        &[Maker::new("p/q/A").calls("run", &[])],
        &[Maker::new("p/q/A").calls("run", &[("B", "one")])],
    );
    let after = found.functions[0].after.as_ref().unwrap();
    assert_eq!(after.file.as_deref(), Some("p/q/Made.java"));
    assert_eq!(after.lines, Some((7, 7)));
    assert_eq!(after.signature.as_deref(), Some("()V"));
}
