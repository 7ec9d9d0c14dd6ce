//! Where classes are found.

use expect_test::{Expect, expect};

use super::maker::{Maker, drawn, jar};
use perfblame_changes::ChangeKind;
use perfblame_sides::Side;

use crate::{ClassOptions, MethodLabels, compare_jars};

type File = (String, Vec<u8>);

fn class_at(path: &str, name: &str, call: &str) -> File {
    (path.to_owned(), Maker::new(name).calls("run", &[("B", call)]).finish())
}

fn check(before: &[File], after: &[File], release: Option<u32>, expected: &Expect) {
    let options = ClassOptions { java_release: release };
    let found = compare_jars(jar(before, true), jar(after, false), options).unwrap();
    expected.assert_eq(&drawn(&found.changes));
}

#[test]
fn classes_in_jars_in_jars() {
    let nested = |call: &str| {
        let library = jar(&[class_at("L.class", "L", call)], true);
        vec![
            class_at("BOOT-INF/classes/A.class", "A", "one"),
            ("BOOT-INF/lib/l.jar".to_owned(), library),
        ]
    };
    check(
        &nested("one"),
        &nested("two"),
        None,
        &expect![[r#"
            Modified L.run [Call("B.two")]
        "#]],
    );
}

#[test]
fn the_jvm_chooses_among_versions() {
    let manifest = |value: &str| {
        let text = format!("Manifest-Version: 1.0\r\nMulti-Release: {value}\r\n\r\n");
        ("META-INF/MANIFEST.MF".to_owned(), text.into_bytes())
    };
    let files = |multi: &str, old: &str, new: &str| {
        vec![
            manifest(multi),
            class_at("META-INF/versions/11/A.class", "A", new),
            class_at("META-INF/versions/8/A.class", "A", "never"),
            class_at("A.class", "A", old),
            ("module-info.class".to_owned(), b"no matter".to_vec()),
        ]
    };
    let modified = expect![[r#"
        Modified A.run [Call("B.two")]
    "#]];
    check(&files("true", "old", "one"), &files("true", "old", "two"), None, &modified);
    check(&files("true", "old", "one"), &files("true", "old", "two"), Some(11), &modified);
    check(&files("true", "old", "one"), &files("true", "old", "two"), Some(10), &expect![""]);
    check(&files("false", "old", "one"), &files("false", "old", "two"), None, &expect![""]);
}

#[test]
fn names_that_are_there_twice_are_said() {
    let twice = vec![class_at("A.class", "A", "one"), class_at("A.class", "A", "two")];
    check(
        &[class_at("A.class", "A", "two")],
        &twice,
        None,
        &expect![[r#"
            ! after: 1 class is listed more than once; the last counts, as in the JVM
        "#]],
    );
    let nested = |call: &str| ("l.jar".to_owned(), jar(&[class_at("A.class", "A", call)], false));
    check(
        &[class_at("A.class", "A", "one")],
        &[class_at("A.class", "A", "one"), nested("two")],
        None,
        &expect![[r#"
            ! after: 1 class is in several places with different contents; the first counts, as in the JVM
        "#]],
    );
}

#[test]
fn a_damaged_class_is_said_and_not_called_deleted() {
    let (name, mut bytes) = class_at("A.class", "A", "two");
    bytes.truncate(60);
    check(
        &[class_at("A.class", "A", "one"), class_at("C.class", "C", "one")],
        &[(name, bytes), class_at("C.class", "C", "two")],
        None,
        &expect![[r#"
            Modified C.run [Call("B.two")]
            ! after!/A.class: the file ends too early at byte 60
        "#]],
    );
}

#[test]
fn labels_by_name_alone_stand_for_all_overloads() {
    let files = |is_after: bool| {
        let mut class = Maker::new("p/A").calls("run", &[("B", "one")]).calls("stop", &[]);
        if is_after {
            class.method_with(9, "run", "(I)V", &[0xb1], &[1], &[]);
            class = class.calls("start", &[]);
        }
        vec![class.file()]
    };
    let pack = |is_after| jar(&files(is_after), true);
    let compared = compare_jars(pack(false), pack(true), ClassOptions::default()).unwrap();
    let label = |method: &str, descriptor: Option<&str>| {
        compared.labels.label(Side::After, "p/A", method, descriptor)
    };
    assert_eq!(label("start", None), Some(ChangeKind::Added));
    assert_eq!(label("run", Some("(I)V")), Some(ChangeKind::Added));
    assert_eq!(label("run", Some("()V")), None);
    // Some calls of `run` were there before.
    assert_eq!(label("run", None), Some(ChangeKind::Modified));
    assert_eq!(label("stop", None), None);
    let before = |name| compared.labels.label_of(Side::Before, name, None);
    assert_eq!(before("p.A.run"), None);
    let plain = MethodLabels::new(&compared.changes);
    assert_eq!(plain.label_of(Side::After, "p.A.run", None), Some(ChangeKind::Added));
    assert_eq!(plain.changes_of(Side::After, "p.A.run", None).len(), 1);
}
