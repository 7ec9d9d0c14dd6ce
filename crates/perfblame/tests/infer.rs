//! `perfblame infer` as people call it.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use expect_test::expect;
use perfblame_fixtures::{Schema, invalid};
use run::Folder;

const TRACE: &str = "\
app  7/7  [000]  1.000000000: raw_syscalls:sys_enter: NR 230 (0, 0)
\t            1000 clock_nanosleep (/lib/x86_64-linux-gnu/libc.so.6)
\t            2000 nap (/usr/bin/app)
\t            3000 main (/usr/bin/app)

app  7/7  [000]  1.080000000: raw_syscalls:sys_exit: NR 230 = 0
\t            1000 clock_nanosleep (/lib/x86_64-linux-gnu/libc.so.6)
\t            2000 nap (/usr/bin/app)
\t            3000 main (/usr/bin/app)

app  7/7  [000]  1.100000000: cpu-clock: 
\t            4000 [unknown] (/usr/bin/app)
\t            3004 main (/usr/bin/app)

app  7/7  [000]  1.140000000: cpu-clock: 
\t            4000 [unknown] (/usr/bin/app)
\t            3004 main (/usr/bin/app)

";

fn text(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_first_lines_are_the_answer() {
    let folder = Folder::new();
    folder.file("trace.txt", TRACE);
    expect![""].assert_eq(&text(&folder, &["infer", "trace.txt"]));
}

#[test]
fn paths_come_with_a_heat_map() {
    let folder = Folder::new();
    folder.file("trace.txt", TRACE);
    expect![""].assert_eq(&text(&folder, &["infer", "trace.txt", "--paths"]));
}

#[test]
fn json_fits_its_schema() {
    let folder = Folder::new();
    folder.file("trace.txt", TRACE);
    text(
        &folder,
        &["infer", "trace.txt", "--format", "json", "--instances", "--paths", "--output", "a.json"],
    );
    text(&folder, &["infer", "trace.txt", "--format", "json", "--output", "b.json"]);
    let files = ["a.json", "b.json"].map(|name| folder.path().join(name));
    assert_eq!(invalid(&files, Schema::Latency), "");
}

#[test]
fn pictures_are_drawn() {
    let folder = Folder::new();
    folder.file("trace.txt", TRACE);
    let dot = text(&folder, &["infer", "trace.txt", "--format", "dot"]);
    assert!(dot.starts_with("digraph perfblame {") && dot.contains("color=red"), "{dot}");
    let html = text(&folder, &["infer", "trace.txt", "--format", "html"]);
    assert!(html.contains("class=heat") && html.contains("<svg"), "{html}");
}
