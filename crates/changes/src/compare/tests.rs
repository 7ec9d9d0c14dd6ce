//! Every kind of change, in drawn sources.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{ChangedFile, FileVersion, SourceComparison, compare_sources};
use crate::{Addition, ChangeKind, FunctionChange};

fn version(path: &str, text: &str) -> FileVersion {
    FileVersion { path: path.to_owned(), text: text.as_bytes().to_vec() }
}

fn changed(path: &str, before: &str, after: &str) -> ChangedFile {
    ChangedFile { before: Some(version(path, before)), after: Some(version(path, after)) }
}

fn draw(found: &SourceComparison) -> String {
    let mut out = String::new();
    let mut list = |title: &str, changes: &[FunctionChange]| {
        for change in changes {
            let name = |it: &Option<crate::Definition>| {
                it.as_ref().map_or("-".to_owned(), |it| {
                    let file = it.file.as_deref().unwrap_or("?");
                    let (first, last) = it.lines.unwrap_or((0, 0));
                    format!(
                        "{}{} {file}:{first}-{last}",
                        it.name,
                        it.signature.as_deref().unwrap_or("")
                    )
                })
            };
            let _ = write!(
                out,
                "{title}{:?} {} => {}",
                change.kind,
                name(&change.before),
                name(&change.after)
            );
            if change.other.is_some() {
                let _ = write!(out, " with {}", name(&change.other));
            }
            for hunk in &change.hunks {
                let _ = write!(out, " {hunk}");
            }
            for addition in &change.additions {
                let _ = match addition {
                    Addition::Call(name) => write!(out, " +{name}()"),
                    other => write!(out, " +{other:?}"),
                };
            }
            if change.certainty < 1.0 {
                let _ = write!(out, " {:.2}", change.certainty);
            }
            out.push('\n');
        }
    };
    list("", &found.changes.functions);
    list("refactored: ", &found.refactored);
    for file in &found.changes.files {
        let _ = write!(out, "{:?} {}", file.kind, file.path);
        for hunk in &file.hunks {
            let _ = write!(out, " {hunk}");
        }
        out.push('\n');
    }
    for warning in &found.changes.warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    out
}

/// The one place that compares: a line per change.
fn check_changes(files: &[ChangedFile], expected: &Expect) {
    expected.assert_eq(&draw(&compare_sources(files)));
}

#[test]
fn hunks_of_functions_within_are_their_own() {
    let before = "function outer() {\n  const inner = () => {\n    a();\n    b();\n  };\n  c();\n  return inner;\n}\n";
    let after = "function outer() {\n  const inner = () => {\n    a();\n    b(1);\n  };\n  c();\n  d();\n  return inner;\n}\n";
    check_changes(
        &[changed("a.js", before, after)],
        &expect![[r#"
        Modified outer a.js:1-8 => outer a.js:1-9 @@ -6,0 +7 @@ +d()
        Modified outer.inner a.js:2-5 => outer.inner a.js:2-5 @@ -4 +4 @@
    "#]],
    );
}

#[test]
fn a_modified_function_says_where_and_what_came_in() {
    let before = "class A {
    int f(int n) {
        int sum = 0;
        return sum;
    }

    int g() { return 1; }
}
";
    let after = "class A {
    int f(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += weigh(i, new Object());
        }
        return sum;
    }

    int g() { return 1; }

    int weigh(int i, Object o) { synchronized (o) { return i; } }
}
";
    check_changes(
        &[changed("A.java", before, after)],
        &expect![[r#"
        Modified A.f(int) A.java:2-5 => A.f(int) A.java:2-8 @@ -3,0 +4,3 @@ +Object.<init>() +weigh() +Loop +Allocation
        Added - => A.weigh(int,Object) A.java:12-12 @@ -7,0 +11,2 @@ +Lock
    "#]],
    );
}

#[test]
fn renamed_moved_and_deleted_functions() {
    let body = "(items) {\n  let total = 0;\n  for (const item of items) { total += item.price * item.count; }\n  return total;\n}\n";
    let before = format!(
        "function sum{body}function gone() {{ return 1; }}\nfunction same(a) {{ return a; }}\n"
    );
    let after = format!("function same(a) {{ return a; }}\nfunction total{body}");
    check_changes(
        &[changed("a.js", &before, &after)],
        &expect![[r#"
            Renamed sum a.js:1-5 => total a.js:2-6 @@ -1 +1,2 @@ 0.90
            Deleted gone a.js:6-6 => - @@ -6,2 +6,0 @@
        "#]],
    );
    let before = format!("export function sum{body}");
    let after = format!("import x from 'y';\nexport function sum{body}");
    check_changes(
        &[
            changed("a.js", &before, ""),
            ChangedFile { before: None, after: Some(version("lib/b.js", &after)) },
        ],
        &expect![[r#"
            Moved sum a.js:1-5 => sum lib/b.js:2-6
            Code a.js
            Code lib/b.js
        "#]],
    );
    // Nearly the same body under another name, with one call more.
    let edited = body.replace("return total;", "log(total);\n  return total;");
    check_changes(
        &[changed("a.js", &format!("function sum{body}"), &format!("function total{edited}"))],
        &expect![[r#"
            Renamed sum a.js:1-5 => total a.js:1-6 @@ -1 +1 @@ @@ -3,0 +4 @@ +log() 0.73
        "#]],
    );
}

const WHOLE: &str = "def report(rows):
    out = []
    for row in rows:
        name = row.name.strip().lower()
        size = int(row.size) * 1024
        out.append((name, size))
    header = '-' * 20
    print(header)
    return out
";

const SPLIT: &str = "def report(rows):
    out = clean(rows)
    header = '-' * 20
    print(header)
    return out

def clean(rows):
    out = []
    for row in rows:
        name = row.name.strip().lower()
        size = int(row.size) * 1024
        out.append((name, size))
    return out
";

#[test]
fn extracted_and_inlined_functions_name_their_hosts() {
    check_changes(
        &[changed("r.py", WHOLE, SPLIT)],
        &expect![[r#"
        Modified report r.py:1-9 => report r.py:1-5 @@ -1,0 +2,6 @@ @@ -7,2 +12,0 @@ +clean()
        Extracted - => clean r.py:7-13 with report r.py:1-9 @@ -1,0 +2,6 @@ 0.78
    "#]],
    );
    check_changes(
        &[changed("r.py", SPLIT, WHOLE)],
        &expect![[r#"
        Modified report r.py:1-5 => report r.py:1-9 @@ -2,6 +1,0 @@ @@ -12,0 +7,2 @@ +append() +int() +lower() +strip() +Loop +Allocation +Allocation
        Inlined clean r.py:7-13 => - with report r.py:1-9 @@ -2,6 +1,0 @@ 0.78
    "#]],
    );
}

#[test]
fn a_refactoring_is_no_change() {
    check_changes(
        &[changed(
            "a.rs",
            "fn f(a: u8) -> u8 { let b = a + 1; b }\nconst X: u8 = 1;\n",
            "fn f(value: u8) -> u8 { let sum = (value + 1); sum }\nconst X: u8 = 1; // one\n",
        )],
        &expect![[r#"
            refactored: Modified a::f a.rs:1-1 => a::f a.rs:1-1 @@ -1,2 +1,2 @@
        "#]],
    );
}

#[test]
fn one_more_lambda_renumbers_without_changing() {
    let before = "class A { void f() { a(() -> one(1)); a(() -> two(2)); } Object o = new Object() { void x() { y(); } }; }";
    let after = "class A { void f() { a(() -> zero(0)); a(() -> one(1)); a(() -> two(2)); } Object o = new Object() { void x() { y(); } }; }";
    check_changes(
        &[changed("A.java", before, after)],
        &expect![[r#"
        Modified A.f() A.java:1-1 => A.f() A.java:1-1 @@ -1 +1 @@ +a()
        Added - => A.lambda$f$0 A.java:1-1 @@ -1 +1 @@ +zero()
    "#]],
    );
}

#[test]
fn overloads_keep_apart_and_a_new_parameter_is_a_change() {
    check_changes(
        &[changed(
            "A.java",
            "class A { void f(int a) { x(a); } void f(String a) { y(a); } void g() { z(); } }",
            "class A { void f(String a) { y(a); } void f(int a) { x(a + 1); } void g(int n) { z(); } }",
        )],
        &expect![[r#"
            Modified A.f(int) A.java:1-1 => A.f(int) A.java:1-1 @@ -1 +1 @@
            Modified A.g() A.java:1-1 => A.g(int) A.java:1-1 @@ -1 +1 @@ 0.95
        "#]],
    );
}

#[test]
fn code_outside_of_functions_and_other_files() {
    check_changes(
        &[
            changed(
                "A.java",
                "import x.Y;\nclass A {\n  static final int N = 10;\n  void f() { g(); }\n}\n",
                "import x.Z;\nclass A {\n  static final int N = 1000;\n  void f() { g(); }\n}\n",
            ),
            changed(
                "B.java",
                "class B {\n  static Map<String, String> M = load();\n}\n",
                "class B {\n  static Map<String, String> M = load();\n  static int k = count(M);\n}\n",
            ),
            changed("Cargo.lock", "a\n", "b\n"),
            changed("app.yml", "a: 1\n", "a: 2\n"),
            ChangedFile {
                before: None,
                after: Some(FileVersion { path: "logo.png".into(), text: vec![0, 1, 2] }),
            },
            ChangedFile {
                before: None,
                after: Some(FileVersion { path: "odd.c".into(), text: vec![0, 1, 2] }),
            },
            changed(
                "broken.go",
                "package a\nfunc f() { g() }\n",
                "package a\nfunc f() { g( }\nfunc h() {}\n",
            ),
        ],
        &expect![[r#"
            Modified B.<clinit> B.java:2-2 => B.<clinit> B.java:3-3 @@ -2,0 +3 @@ +count()
            Modified a.f broken.go:2-2 => a.f broken.go:2-2 @@ -2 +2,2 @@
            Added - => a.h broken.go:3-3 @@ -2 +2,2 @@
            Code A.java @@ -1 +1 @@ @@ -3 +3 @@
            Dependency Cargo.lock @@ -1 +1 @@
            Config app.yml @@ -1 +1 @@
            Other logo.png
            Code odd.c
            warning: odd.c is not text and was skipped
            warning: broken.go (after) has a syntax error in line 2; functions near it may be missing
        "#]],
    );
}

#[test]
fn every_language_says_what_a_change_brought_in() {
    let cases = [
        (
            "a.java",
            "class A { void f(int a) { BODY } }",
            "x(a);",
            "while (a > 0) { lock.lock(); x(new B(a)); Thread.sleep(1); }",
        ),
        (
            "a.js",
            "function f(a) { BODY }",
            "x(a);",
            "for (const b of a) { x(new B(b)); fs.readFileSync(b); }",
        ),
        ("a.ts", "class A { f(a: number): void { BODY } }", "x(a);", "while (a) { x([a]); }"),
        (
            "a.rs",
            "impl A { fn f(&self, a: u8) { BODY } }",
            "x(a);",
            "loop { self.m.lock(); x(vec![a]); thread::sleep(a); }",
        ),
        ("a.c", "void f(int a) { BODY }", "x(a);", "while (a--) { x(malloc(a)); usleep(1); }"),
        (
            "a.cpp",
            "void A::f(int a) { BODY }",
            "x(a);",
            "std::lock_guard<std::mutex> g(m); for (auto b : c) { x(new B(a)); }",
        ),
        (
            "a.go",
            "package a\nfunc (t *T) f(a int) { BODY }",
            "x(a)",
            "t.mu.Lock(); for { x(make([]int, a)); time.Sleep(1) }",
        ),
        (
            "a.py",
            "class A:\n  def f(self, a):\n    BODY\n",
            "x(a)",
            "for b in a: x([b]); time.sleep(1)",
        ),
    ];
    let mut out = String::new();
    for (path, frame, before, after) in cases {
        let file = changed(path, &frame.replace("BODY", before), &frame.replace("BODY", after));
        out.push_str(&draw(&compare_sources(&[file])));
    }
    expect![[r#"
        Modified A.f(int) a.java:1-1 => A.f(int) a.java:1-1 @@ -1 +1 @@ +B.<init>() +Thread.sleep() +lock.lock() +Loop +Allocation +Lock +Wait
        Modified f a.js:1-1 => f a.js:1-1 @@ -1 +1 @@ +B() +fs.readFileSync() +Loop +Allocation +Wait
        Modified A.f a.ts:1-1 => A.f a.ts:1-1 @@ -1 +1 @@ +Loop +Allocation
        Modified a::A::f a.rs:1-1 => a::A::f a.rs:1-1 @@ -1 +1 @@ +lock() +thread::sleep() +vec!() +Loop +Allocation +Lock +Wait
        Modified f a.c:1-1 => f a.c:1-1 @@ -1 +1 @@ +malloc() +usleep() +Loop +Allocation +Wait
        Modified A::f(int) a.cpp:1-1 => A::f(int) a.cpp:1-1 @@ -1 +1 @@ +B() +Loop +Allocation +Lock
        Modified a.(*T).f a.go:2-2 => a.(*T).f a.go:2-2 @@ -2 +2 @@ +Lock() +make() +time.Sleep() +Loop +Allocation +Lock +Wait
        Modified A.f a.py:2-3 => A.f a.py:2-3 @@ -3 +3 @@ +time.sleep() +Loop +Allocation +Wait
    "#]].assert_eq(&out);
}

/// Functions with bodies of drawn statements.
fn drawn_file() -> impl Strategy<Value = String> {
    let statement = prop::sample::select(vec![
        "a = b + c;",
        "call(a);",
        "if (a > b) { other(b); }",
        "while (run()) { step(a, b); }",
        "int d = a * (b - c);",
        "return a;",
    ]);
    let function =
        (prop::sample::select(vec!["f", "g", "h", "k"]), prop::collection::vec(statement, 1..6));
    prop::collection::vec(function, 0..6).prop_map(|functions| {
        let mut text = String::new();
        for (name, body) in functions {
            let _ =
                writeln!(text, "void {name}(int a, int b) {{\n    {}\n}}\n", body.join("\n    "));
        }
        text
    })
}

proptest! {
    #[test]
    fn a_file_against_itself_changes_nothing(text in drawn_file()) {
        prop_assert_eq!(compare_sources(&[changed("a.c", &text, &text)]), SourceComparison::default());
    }

    #[test]
    fn reformatting_changes_nothing(text in drawn_file()) {
        let other = text.replace("    ", "\t").replace('(', " ( ").replace(';', " ; // so\n");
        let found = compare_sources(&[changed("a.c", &text, &other)]);
        prop_assert_eq!(found, SourceComparison::default());
    }

    #[test]
    fn swapped_sides_mirror(before in drawn_file(), after in drawn_file()) {
        let there = compare_sources(&[changed("a.c", &before, &after)]).changes;
        let back = compare_sources(&[changed("a.c", &after, &before)]).changes;
        let count = |changes: &crate::ChangeSet, kinds: &[ChangeKind]| {
            changes.functions.iter().filter(|it| kinds.contains(&it.kind)).count()
        };
        let new = [ChangeKind::Added, ChangeKind::Extracted];
        let gone = [ChangeKind::Deleted, ChangeKind::Inlined];
        prop_assert_eq!(count(&there, &new), count(&back, &gone));
        prop_assert_eq!(count(&there, &gone), count(&back, &new));
    }
}
