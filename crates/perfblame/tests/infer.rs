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
    expect![[r#"
        trace.txt  perf script, 4 events of 1 thread in 140 ms
        Thread time: running 60.0 ms (43 %), waiting during work 80.0 ms (57 %).
        Most of it: nap 86.7 ms [80.0 ms to 100 ms], 62 %, mostly waiting.
        Waited for: sleep 80.0 ms (1×).

        Functions by own latency, waiting included
             own  between                waiting   share  function
         86.7 ms  80.0 ms to 100 ms      80.0 ms    62 %  nap  app
         46.7 ms  40.0 ms to 60.0 ms                33 %  [app+0x4000]  app
         6.67 ms  0 s to 20.0 ms                   4.8 %  main  app

        Who waited
         80.0 ms  nap  app  sleep (1×)
    "#]]
    .assert_eq(&text(&folder, &["infer", "trace.txt"]));
}

#[test]
fn paths_come_with_a_heat_map() {
    let folder = Folder::new();
    folder.file("trace.txt", TRACE);
    expect![[r#"
        trace.txt  perf script, 4 events of 1 thread in 140 ms
        Thread time: running 60.0 ms (43 %), waiting during work 80.0 ms (57 %).
        Most of it: nap 86.7 ms [80.0 ms to 100 ms], 62 %, mostly waiting.
        Waited for: sleep 80.0 ms (1×).

        Call paths by cost
        1   93.3 ms  main › nap
        2   53.3 ms  main › [app+0x4000]

        Heat map of these paths
        1   1  0█
        2   1  0▓
        0 marks the hottest function of a path; other numbers are distances from it.

        Who waited
         80.0 ms  nap  app  sleep (1×)
    "#]]
    .assert_eq(&text(&folder, &["infer", "trace.txt", "--paths"]));
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

/// Code is looked up in the files that a trace names, and a trace names what it likes.
#[test]
fn a_pipe_that_a_trace_names_is_not_waited_for() {
    let folder = Folder::new();
    let pipe = folder.path().join("app").display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    folder.file("trace.txt", TRACE.replace("/usr/bin/app", &pipe));
    assert!(text(&folder, &["infer", "trace.txt"]).contains("nap"));
}
