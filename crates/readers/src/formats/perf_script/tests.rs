//! Every way to print a sample, small enough to read.

use expect_test::{Expect, expect};
use perfblame_cct::{Times, role};
use std::fmt::Write as _;

use super::*;

fn profile(text: &str, grain: Grain) -> Profile {
    let input = Input::from_bytes(text.as_bytes().to_vec()).unwrap();
    assert!(sniff(&input), "not recognised: {text}");
    read(input, &ReadOptions { grain, times: Times::Keep, ..ReadOptions::default() }).unwrap()
}

/// One line per cell: thread, path with what is known of each frame, values; then metrics and warnings.
fn check(text: &str, expect: &Expect) {
    let profile = profile(text, Grain::Frames);
    let symbols = &profile.symbols;
    let mut out = String::new();
    for cell in profile.cells.rows() {
        let thread = cell.thread.map(|id| profile.threads[id.index()]);
        let thread = thread.map_or("-".to_owned(), |thread| {
            let id = |id: Option<u64>| id.map_or("?".to_owned(), |id| id.to_string());
            format!("{} {}/{}", symbols.text(thread.name), id(thread.pid), id(thread.tid))
        });
        let path = profile.tree.path(cell.node).into_iter().map(|node| {
            let frame = symbols.frame(profile.tree.frame(node));
            let mut text = symbols.name(frame.function).to_owned();
            if let Some(component) = symbols.component(frame.function) {
                let _ = write!(text, "@{component}");
            }
            if let Some(line) = frame.line {
                let _ = write!(text, ":{line}");
            }
            if frame.inlined {
                text.push_str("(i)");
            }
            text
        });
        let path: Vec<_> = path.collect();
        let _ = writeln!(out, "{thread}: {} {:?}", path.join(" "), cell.values);
    }
    for (id, metric) in profile.metrics() {
        let total = profile.cells.total(id);
        let _ = write!(out, "{} {} {total}", metric.name, metric.unit.name());
        let _ = writeln!(out, "{}", metric.period.map_or(String::new(), |p| format!(" of {p}")));
    }
    for warning in &profile.warnings {
        let _ = writeln!(out, "{} × {}: {}", warning.count, warning.code, warning.message);
    }
    expect.assert_eq(&out);
}

#[test]
fn kernel_user_inlined_and_jit_frames() {
    check(
        "java 12/34 [001] 1.5:    1000 cpu-clock:u: 
\tffffffff81000130 do_syscall_64+0x10 ([kernel.kallsyms])
\t    7f0000000010 inner (inlined)
\t    7f0000000010 outer+0x10 (/lib/libc.so.6)
\t    7f0000000020 LMain;::run->LMain;::step+0x3 (/tmp/perf-12.map)
\t          401000 main (/bin/app (deleted))

",
        &expect![[r"
            java 12/34: main@/bin/app Main.run@Main Main.step@Main(i) outer@/lib/libc.so.6 inner@/lib/libc.so.6(i) do_syscall_64@[kernel.kallsyms] [1000, 1]
            cpu ns 1000 of 1000
            samples count 1
        "]],
    );
}

#[test]
fn source_lines_below_frames() {
    check(
        "app 1 1.0: cycles:
\t 401000 f+0x1 (/bin/app)
  src/a.c:12
\t 401010 main+0x10 (/bin/app)
  app[401010]

",
        &expect![[r"
            app ?/1: main@/bin/app f@/bin/app:12 [1]
            samples count 1
        "]],
    );
}

#[test]
fn fields_left_out() {
    check(
        "app 1 cycles:\n\t 40 f\n\napp 1 cycles:\n\t 40 f\n",
        &expect![[r"
        app ?/1: f [2]
        samples count 2
    "]],
    );
    check(
        "app 1.5: cycles:\n\t 40 f\n\n1.6: cycles:\n\t 41 g\n",
        &expect![[r"
        app ?/?: f [1]
        -: g [1]
        samples count 2
    "]],
    );
    check(
        "\t 4010 f (x)\n\t 4020 main (x)\n\n\t 4010 f (x)\n",
        &expect![[r"
        -: main@x f@x [1]
        -: f@x [1]
        samples count 2
    "]],
    );
}

#[test]
fn several_events_have_a_metric_each() {
    check(
        "a 1/1 1.0: cycles:\n\t 40 f (x)\n\na 1/2 1.1: instructions:\n\t 40 f (x)\n\na 1/1 1.2: sched:sched_switch: prev_comm=a prev_pid=1\n\t 40 f (x)\n",
        &expect![[r"
            a 1/1: f@x [2, 1, 0, 1]
            a 1/2: f@x [1, 0, 1, 0]
            samples count 3
            cycles samples 1
            instructions samples 1
            sched:sched_switch count 1
        "]],
    );
}

#[test]
fn samples_without_stack_keep_their_place() {
    check(
        "a 1/1 1.0: cycles:\n\na 1/1 1.1: cycles: 55d0c0 f+0x1 (x)\na 1/1 1.2: block:rq: 1,2 R (f) [a]\n",
        &expect![[r"
            a 1/1: [unknown] [2, 1, 1]
            a 1/1: f@x [1, 1, 0]
            samples count 3
            cycles samples 2
            block:rq count 1
        "]],
    );
}

#[test]
fn lost_samples_and_damaged_lines_are_counted() {
    check(
        "a 1/1 1.0: cycles:\n\t 40 f (x)\n\na 1/1 [000] 1.1: PERF_RECORD_LOST lost 12\n\nb 2/2 1.2: cycles:\n\t !!\n\n\t 40 f (x)\n",
        &expect![[r#"
            a 1/1: f@x [1]
            b 2/2: f@x [1]
            samples count 2
            12 × lost-samples: the kernel lost samples; record at a lower rate or with larger buffers
            1 × damaged-lines: lines that do not belong to a sample were left out; the first is !!
        "#]],
    );
}

#[test]
fn times_and_processes_are_kept() {
    let text = "worker-1 7/8 1.0: cycles:\n\t 40 f (x)\n\nmain 7/7 0.5: cycles:\n\t 40 f (x)\n";
    let profile = profile(text, Grain::Functions);
    let timeline = profile.timeline.as_ref().unwrap();
    let times: Vec<_> = timeline.samples.iter().map(|sample| sample.time).collect();
    assert_eq!(times, [500_000_000, 1_000_000_000]);
    assert_eq!(profile.info.duration, Some(500_000_000));
    let names: Vec<_> = (profile.threads.iter())
        .map(|thread| {
            (profile.symbols.text(thread.name), thread.process.map(|id| profile.symbols.text(id)))
        })
        .collect();
    assert_eq!(names, [("worker-1", Some("main")), ("main", Some("main"))]);
    assert_eq!(role(names[0].0), "worker-#");
}

#[test]
fn other_text_is_left_alone() {
    for text in [
        "main;f 12\nmain;g 3\n",
        "CPU     ID                    FUNCTION:NAME\n  8  35077                        :tick-60s\n",
        "     0.000000 execve(\"/usr/bin/ls\", [\"ls\"], 0x7fff93c6e390 /* 27 vars */) = 0 <0.001195>\n",
        "# a comment\n\n",
        "12:30:01 error 7: nothing here\n",
    ] {
        assert!(!sniff(&Input::from_bytes(text.as_bytes().to_vec()).unwrap()), "{text}");
    }
}
