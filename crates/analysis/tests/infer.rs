//! Traces of the operating system, from text to answer: whole, cut, mixed up and with events missing.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use perfblame_analysis::{
    Ask, Diff, DiffQuery, Hint, InferQuery, Inferred, LoadOptions, Loaded, Method, Source,
    SuspectKind, Traces, Verdict, WaitOn, diff, infer, load,
};
use perfblame_fixtures::recordings;

/// A file with this text, which stays for as long as the test.
struct Trace(PathBuf);

impl Trace {
    fn new(text: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("perfblame-infer-{}-{number}.txt", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn source(&self) -> Source {
        Source::File(self.0.clone())
    }

    fn infer(&self) -> Inferred {
        infer(
            &[self.source()],
            InferQuery { paths: true, ..InferQuery::default() },
            &Ask::default(),
        )
        .unwrap()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const KERNEL: [&str; 2] = ["do_syscall_64", "entry_SYSCALL_64_after_hwframe"];

/// An event as `perf script` prints it; the stack is innermost first, `name@object`.
fn event(time: u64, tid: u32, event: &str, fields: &str, stack: &[&str]) -> String {
    let (seconds, nanos) = (time / 1_000_000_000, time % 1_000_000_000);
    let mut text = format!("app  7/{tid}  [000]  {seconds}.{nanos:09}: {event}: {fields}\n");
    for (row, frame) in stack.iter().enumerate() {
        let (name, object) = frame.split_once('@').unwrap_or((frame, "/usr/bin/app"));
        let object = if object == "k" { "[kernel.kallsyms]" } else { object };
        let _ = writeln!(text, "\t{:>16x} {name} ({object})", 0x1000 + row);
    }
    text.push('\n');
    text
}

/// A program that computes and naps: `nap` milliseconds each time.
fn program(nap: u64) -> Vec<String> {
    let mut events = Vec::new();
    let mut time = 1_000_000_000;
    let in_kernel = |user: &[&'static str], inside: &[&'static str]| -> Vec<String> {
        let kernel = inside.iter().chain(&KERNEL).map(|name| format!("{name}@k"));
        kernel.chain(user.iter().map(|name| (*name).to_owned())).collect()
    };
    for _ in 0..20 {
        let user =
            ["clock_nanosleep@/lib/libc.so.6", "plugin_poll@/opt/plugin.so", "serve", "main"];
        let mut push = |time: u64, what: &str, fields: &str, stack: &[String]| {
            let stack: Vec<&str> = stack.iter().map(String::as_str).collect();
            events.push(event(time, 7, what, fields, &stack));
        };
        push(
            time,
            "raw_syscalls:sys_enter",
            "NR 230 (0, 0, 0)",
            &in_kernel(&user, &["syscall_trace_enter"]),
        );
        push(
            time + 1_000,
            "sched:sched_switch",
            "prev_comm=app prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=other next_pid=9 next_prio=120",
            &in_kernel(
                &user,
                &["__schedule", "schedule", "do_nanosleep", "__x64_sys_clock_nanosleep"],
            ),
        );
        time += nap * 1_000_000;
        push(
            time,
            "raw_syscalls:sys_exit",
            "NR 230 = 0",
            &in_kernel(&user, &["syscall_exit_work"]),
        );
        for _ in 0..3 {
            time += 1_000_000;
            push(
                time,
                "cpu-clock",
                "",
                &["parse".to_owned(), "serve".to_owned(), "main".to_owned()],
            );
        }
        time += 500_000;
    }
    events
}

fn milliseconds(nanos: i64) -> i64 {
    (nanos + 500_000) / 1_000_000
}

#[test]
fn waiting_belongs_to_the_function_that_waits() {
    let answer = Trace::new(&program(5).concat()).infer();
    assert_eq!((answer.events, answer.threads), (120, 1));
    assert_eq!(milliseconds(answer.waiting), 100);
    let [sleep] = &*answer.waits else { panic!("{:?}", answer.waits) };
    assert_eq!((sleep.on, sleep.count), (WaitOn::Sleep, 20));
    let first = &answer.functions[0];
    assert_eq!(first.function.name, "plugin_poll");
    assert!(first.interval.0 <= first.own && first.own <= first.interval.1);
    assert!(milliseconds(first.own) >= 100);
    assert_eq!(answer.warnings, []);
    let hottest = answer.paths[0].hottest().unwrap();
    assert_eq!(answer.paths[0].functions[hottest].function.name, "plugin_poll");
}

fn total(answer: &Inferred) -> i64 {
    answer.running + answer.waiting + answer.queued + answer.idle
}

#[test]
fn events_that_are_mixed_up_are_put_in_order() {
    let events = program(5);
    let right = Trace::new(&events.concat()).infer();
    let mut mixed = events.clone();
    for pair in mixed.chunks_mut(7) {
        pair.reverse();
    }
    let answer = Trace::new(&mixed.concat()).infer();
    assert_eq!(answer.functions, right.functions);
    assert_eq!(answer.warnings, []);
}

#[test]
fn threads_in_turns_do_not_disturb_each_other() {
    let one = program(5);
    let other = one.iter().map(|event| event.replace("7/7", "7/8"));
    let both: String =
        one.iter().cloned().zip(other).flat_map(|(one, other)| [one, other]).collect();
    let (single, answer) = (Trace::new(&one.concat()).infer(), Trace::new(&both).infer());
    assert_eq!(answer.threads, 2);
    assert_eq!(total(&answer), 2 * total(&single));
    assert_eq!(answer.waiting, 2 * single.waiting);
    // How gaps are divided is learnt from both, so that twice as much is known of them.
    let (twice, once) = (answer.functions[0].own, 2 * single.functions[0].own);
    assert!((twice - once).abs() * 100 < once, "{twice} {once}");
}

#[test]
fn a_trace_that_is_cut_off_counts_as_far_as_it_goes() {
    let text = program(5).concat();
    for cut in [text.len() / 2, text.len() - 40] {
        let answer = Trace::new(&text[..cut]).infer();
        assert_eq!(answer.functions[0].function.name, "plugin_poll");
        assert!(total(&answer) > 0 && total(&answer) <= answer.duration);
    }
}

#[test]
fn lost_events_are_counted_and_nothing_is_made_up() {
    let mut events = program(5);
    let whole = Trace::new(&events.concat()).infer();
    // Half a second of silence after the loss belongs to nobody.
    let lost = "app  7/7  [000]  1.080000000: PERF_RECORD_LOST lost 12\n\n".to_owned();
    let later = program(5).into_iter().map(|event| event.replace("  1.", "  9."));
    events.push(lost);
    events.extend(later);
    let answer = Trace::new(&events.concat()).infer();
    let [warning] = &*answer.warnings else { panic!("{:?}", answer.warnings) };
    assert_eq!((warning.code.as_str(), warning.count), ("lost-events", 12));
    assert_eq!(total(&answer), 2 * total(&whole));
}

#[test]
fn threads_are_counted_by_role() {
    let named = |name: &str, tid: u32| -> Vec<String> {
        let renamed = |event: String| event.replacen("app  7/7", &format!("{name}  7/{tid}"), 1);
        program(5).into_iter().map(renamed).collect()
    };
    // One of them is renamed half-way: still one thread, of the role that it has for longer.
    let mut late = named("worker-3", 13);
    for event in late.iter_mut().take(30) {
        *event = event.replacen("worker-3", "starting", 1);
    }
    let events = [named("app", 7), named("worker-1", 11), named("worker-2", 12), late].concat();
    let answer = Trace::new(&events.concat()).infer();
    let mut roles: Vec<_> =
        answer.roles.iter().map(|row| (row.role.as_str(), row.threads)).collect();
    roles.sort_unstable();
    assert_eq!(answer.threads, 4, "{:?}", answer.roles);
    let workers = roles.iter().find(|(role, _)| role.starts_with("worker")).unwrap();
    assert_eq!(workers.1, 3, "{roles:?}");
    assert!(roles.contains(&("app", 1)), "{roles:?}");
}

/// The naps of [`program`] as other tracers print them: when each begins and ends, in nanoseconds.
fn naps(nap: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..20).map(move |round| {
        let start = 1_000_000_000 + round * (nap * 1_000_000 + 3_000_000);
        (start, start + nap * 1_000_000)
    })
}

fn perf_trace_text(nap: u64) -> String {
    let mut text = String::new();
    for (start, end) in naps(nap) {
        let at = |time: u64| time as f64 / 1e6;
        let stack = "                                       plugin_poll (/opt/plugin.so)\n\
            \x20                                      serve (/usr/bin/app)\n\
            \x20                                      main (/usr/bin/app)\n";
        let _ = write!(
            text,
            "{:10.3} ({:6.3} ms): app/7 clock_nanosleep(rqtp: 0x7ffef5614c80)                     = 0\n{stack}",
            at(start),
            at(end - start)
        );
        let _ = write!(
            text,
            "{:10.3} ( 0.002 ms): app/7 getpid()                     = 7\n{}",
            at(end + 2_000_000),
            stack.replace("plugin_poll (/opt/plugin.so)", "parse (/usr/bin/app)")
        );
    }
    text
}

fn ftrace_text(nap: u64) -> String {
    let mut text = "# tracer: nop\n#\n".to_owned();
    for (start, end) in naps(nap) {
        let mut event = |time: u64, what: &str, leaf: &str| {
            let time = format!("{}.{:06}", time / 1_000_000_000, time / 1_000 % 1_000_000);
            let _ = write!(
                text,
                "app-7 [000] ..... {time}: {what}\napp-7 [000] ..... {time}: <stack trace>\n => do_syscall_64\n => \
                 entry_SYSCALL_64_after_hwframe\napp-7 [000] ..... {time}: <user stack trace>\n => {leaf}\n => \
                 /usr/bin/app[+0x40]\n"
            );
        };
        let plugin = "/opt/plugin.so[+0x10]";
        event(start, "sys_enter: NR 230 (0, 0, 0)", plugin);
        event(end, "sys_exit: NR 230 = 0", plugin);
        event(end + 2_000_000, "sys_enter: NR 39 (0, 0, 0)", "/usr/bin/app[+0x90]");
        event(end + 2_001_000, "sys_exit: NR 39 = 7", "/usr/bin/app[+0x90]");
    }
    text
}

fn bpftrace_text(nap: u64) -> String {
    let mut text = "Attaching 3 probes...\n".to_owned();
    for (start, end) in naps(nap) {
        let mut event = |time: u64, what: &str, leaf: &str| {
            let _ = write!(
                text,
                "event {time} 7/7 {what} app\n\n\tffffffff81415af0 do_syscall_64+1\n\n\t10 {leaf}\n\t90 serve+2 \
                 (/usr/bin/app)\n\n"
            );
        };
        let plugin = "plugin_poll+1 (/opt/plugin.so)";
        event(start, "sys_enter 230", plugin);
        event(end, "sys_exit 230", plugin);
        event(end + 2_000_000, "sys_enter 39", "parse+1 (/usr/bin/app)");
        event(end + 2_001_000, "sys_exit 39", "parse+1 (/usr/bin/app)");
    }
    text
}

#[test]
fn texts_of_other_tracers_are_compared() {
    type Text = fn(u64) -> String;
    let makers: [(Text, &str, &str); 3] = [
        (perf_trace_text, "perf trace", "plugin_poll"),
        (ftrace_text, "ftrace", "[plugin.so+0x10]"),
        (bpftrace_text, "bpftrace events", "plugin_poll"),
    ];
    for (make, format, function) in makers {
        let traces = |nap: u64| [nap, nap, nap].map(|nap| Trace::new(&make(nap)));
        let before = traces(5);
        assert_eq!(before[0].infer().format, format);
        let (before, after) = (side(&before), side(&traces(9)));
        let found = compared(&before, &after, Method::Suspects);
        assert_eq!(
            (&*found.metric.name, found.verdict),
            ("latency", Verdict::Regressed),
            "{format}"
        );
        let first = &found.suspects[0];
        assert_eq!((&*first.function.name, first.kind), (function, SuspectKind::Waits), "{format}");
    }
}

#[test]
fn what_is_no_trace_is_said_to_be_none() {
    let trace = Trace::new("main;work 3\nmain;play 4\n");
    let error = infer(&[trace.source()], InferQuery::default(), &Ask::default()).unwrap_err();
    assert_eq!((error.code(), error.hint()), ("not-a-trace", Some(Hint::RecordTrace(None))));
}

fn side(traces: &[Trace]) -> Loaded {
    let sources: Vec<Source> = traces.iter().map(Trace::source).collect();
    let options = LoadOptions { traces: Traces::Infer, ..LoadOptions::default() };
    load(&sources, options, &Ask::default()).unwrap()
}

fn compared(before: &Loaded, after: &Loaded, method: Method) -> Diff {
    diff(before, after, &DiffQuery { method, ..DiffQuery::default() }, &Ask::default()).unwrap()
}

#[test]
fn a_longer_nap_is_a_suspect_that_waits() {
    let traces = |nap: u64| [nap, nap, nap].map(|nap| Trace::new(&program(nap).concat()));
    let (before, after) = (side(&traces(5)), side(&traces(9)));
    let found = compared(&before, &after, Method::Suspects);
    assert_eq!(found.metric.name, "latency");
    assert_eq!(found.verdict, Verdict::Regressed);
    let first = &found.suspects[0];
    assert_eq!((first.function.name.as_str(), first.kind), ("plugin_poll", SuspectKind::Waits));
    assert!(first.notes.iter().any(|note| note.contains("sleep")), "{:?}", first.notes);
    let paths = compared(&before, &after, Method::Paths).paths;
    let hottest = paths[0].hottest().unwrap();
    assert_eq!(paths[0].functions[hottest].function.name, "plugin_poll");
    for method in [Method::CriticalGraph, Method::Stages] {
        assert_eq!(compared(&before, &after, method).verdict, Verdict::Regressed);
    }
}

#[test]
fn the_cause_lies_on_the_first_path_of_a_real_program() {
    let Some(folder) = recordings("corpus-native-sample") else { return };
    let load_side = |name: &str| {
        let source = Source::File(folder.join(format!("jq-prepend.{name}.perf-script.txt")));
        let options = LoadOptions { traces: Traces::Infer, ..LoadOptions::default() };
        load(&[source], options, &Ask::default()).unwrap()
    };
    let (before, after) = (load_side("base"), load_side("buggy"));
    let found = compared(&before, &after, Method::Paths);
    let names = |path: &perfblame_analysis::RankedPath| -> Vec<String> {
        path.functions.iter().map(|step| step.function.name.clone()).collect()
    };
    assert!(
        names(&found.paths[0]).contains(&"jv_array_concat".to_owned()),
        "{:?}",
        names(&found.paths[0])
    );
    // Twenty-seven times as long is no chance, with one run on each side, too.
    let suspects = compared(&before, &after, Method::Suspects);
    assert_eq!(suspects.verdict, Verdict::Regressed);
    assert_eq!(suspects.suspects[0].function.name, "jv_array_concat");
    assert_eq!(compared(&before, &before, Method::Suspects).suspects, []);
    let all = found.paths.iter().flat_map(names);
    let interrupts: Vec<String> =
        all.filter(|name| name.contains("sysvec") || name.contains("schedule")).collect();
    assert!(interrupts.is_empty(), "{interrupts:?}");
}
