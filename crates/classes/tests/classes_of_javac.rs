//! Changes that a person makes, compiled by the real compiler for every release of Java that it knows.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use perfblame_classes::{ClassOptions, class_changes, compare_classes};

/// Compiles both sources and draws what changed, which must not depend on the release.
fn check(name: &str, before: &str, after: &str, expected: &Expect) {
    let drawn = ["8", "11", "17"].map(|release| draw(name, before, after, release));
    expected.assert_eq(&drawn[0]);
    assert_eq!(drawn[0], drawn[1]);
    assert_eq!(drawn[0], drawn[2]);
}

fn draw(name: &str, before: &str, after: &str, release: &str) -> String {
    let compile =
        |side: &str, source: &str| compile(&format!("{name}-{release}-{side}"), source, release);
    let (old, new) = (compile("before", before), compile("after", after));
    let changes = class_changes(&[old], &[new]).unwrap();
    let mut drawn = String::new();
    for change in &changes.functions {
        let name = |side: &Option<perfblame_changes::Definition>| {
            side.as_ref().map_or("-".to_owned(), |method| method.name.clone())
        };
        let (was, is) = (name(&change.before), name(&change.after));
        // What reaches private members through a method of its own differs between releases of Java.
        if was.contains("access$") || is.contains("access$") {
            continue;
        }
        let names = if was == is { is } else { format!("{was} → {is}") };
        let _ = writeln!(drawn, "{:?} {names} {:?}", change.kind, change.additions);
    }
    drawn += &changes.warnings.concat();
    drawn
}

fn compile(name: &str, source: &str, release: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("classes-of-javac").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("classes")).unwrap();
    std::fs::write(folder.join("A.java"), source).unwrap();
    let mut javac = Command::new("javac");
    javac.args(["-nowarn", "-g", "--release", release, "-d", "classes", "A.java"]);
    let output = javac.current_dir(&folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("classes")
}

const PLAIN: &str = "
import java.util.*;
import java.util.function.*;
class A {
    enum Kind { ONE, TWO, THREE }
    private int count;
    int run(List<String> words) {
        Function<String, Integer> length = word -> word.length() + count;
        Runnable quiet = new Runnable() { public void run() { count++; } };
        quiet.run();
        return words.stream().map(length).reduce(0, (a, b) -> a + b);
    }
    String name(Kind kind) {
        switch (kind) { case ONE: return \"one\"; case TWO: return \"two\" + count; default: return \"\"; }
    }
    class Inner { int twice() { return count * 2; } }
}
";

#[test]
fn comments_and_lines_are_nothing() {
    let other = PLAIN.replace("int run(", "// A comment.\n\n    /** More. */\n    int run(");
    check("lines", PLAIN, &other, &expect![""]);
}

#[test]
fn a_method_in_front_with_a_lambda_and_an_anonymous_class() {
    let early = "
    void early(List<String> words) {
        words.forEach(word -> System.out.println(word));
        new Thread() { public void run() { System.exit(1); } }.start();
    }
    int run(";
    check(
        "early",
        PLAIN,
        &PLAIN.replace("int run(", early),
        &expect![[r#"
        Added - → A.lambda$early$0 []
        Added - → A.early []
        Added - → A$1.<init> []
        Added - → A$1.run []
        Renamed A.lambda$run$0 → A.lambda$run$1 []
        Moved A$1.<init> → A$2.<init> []
        Moved A$1.run → A$2.run []
        Renamed A.lambda$run$1 → A.lambda$run$2 []
        Moved A$2.<clinit> → A$3.<clinit> []
    "#]],
    );
}

#[test]
fn a_loop_in_a_lambda() {
    let slow =
        "word -> { int sum = 0; for (char c : word.toCharArray()) sum += count; return sum; };";
    let other = PLAIN.replace("word -> word.length() + count;", slow);
    check(
        "loop",
        PLAIN,
        &other,
        &expect![[r#"
        Modified A.lambda$run$0 [Call("java.lang.String.toCharArray"), Loop]
    "#]],
    );
}

#[test]
fn a_renamed_method_and_a_sleep() {
    let other = PLAIN
        .replace("int twice() { return count * 2; }", "int doubled() { return count * 2; }")
        .replace(
            "quiet.run();",
            "try { Thread.sleep(1); } catch (InterruptedException e) {} quiet.run();",
        );
    check(
        "sleep",
        PLAIN,
        &other,
        &expect![[r#"
        Modified A.run [Call("java.lang.Thread.sleep"), Wait]
        Renamed A$Inner.twice → A$Inner.doubled []
    "#]],
    );
}

#[test]
fn a_renamed_class() {
    let other = PLAIN.replace("class A {", "class Better {").replace("A.this", "Better.this");
    check(
        "renamed",
        PLAIN,
        &other,
        &expect![[r#"
        Moved A.<init> → Better.<init> []
        Moved A$Kind.$values → Better$Kind.$values []
        Moved A$Kind.<clinit> → Better$Kind.<clinit> []
        Moved A$Kind.<init> → Better$Kind.<init> []
        Moved A$Kind.valueOf → Better$Kind.valueOf []
        Moved A$Kind.values → Better$Kind.values []
        Moved A.lambda$run$0 → Better.lambda$run$0 []
        Moved A.run → Better.run []
        Moved A$1.<init> → Better$1.<init> []
        Moved A$1.run → Better$1.run []
        Moved A.lambda$run$1 → Better.lambda$run$1 []
        Moved A$2.<clinit> → Better$2.<clinit> []
        Moved A.name → Better.name []
        Moved A$Inner.<init> → Better$Inner.<init> []
        Moved A$Inner.twice → Better$Inner.twice []
    "#]],
    );
}

#[test]
fn the_jdk_itself_can_be_read() {
    // Every class of the JDK's own archives, held against none: whatever compiler made them.
    let javac =
        Command::new("sh").args(["-c", "readlink -f \"$(command -v javac)\""]).output().unwrap();
    let path = PathBuf::from(String::from_utf8(javac.stdout).unwrap().trim());
    let modules = path.parent().and_then(Path::parent).unwrap().join("jmods/java.base.jmod");
    assert!(modules.is_file(), "{}", modules.display());
    let nothing = compile("nothing", "class A {}", "17");
    let found = compare_classes(&[nothing], &[modules], ClassOptions::default()).unwrap();
    assert_eq!(found.changes.warnings, Vec::<String>::new());
    assert!(found.changes.functions.len() > 50_000, "{}", found.changes.functions.len());
}
