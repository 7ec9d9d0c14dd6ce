//! The paper's example, and what a kernel's events add to it.

mod for_work;
mod laws;
mod waiting;

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use perfblame_cct::{Frame, Function, Grain, Layer, MetricId, Profile, Thread, Times};

use super::*;
use crate::WaitOn;

/// A trace as it is drawn: one event per line, `time thread kind stack…`, frames outermost first. Kinds: `+read` and
/// `-read` for begin and end of a system call, `out` (blocked), `preempted`, `exit`, `in`, `woken:THREAD`, `tick`, `*`
/// for any other, `lost:N`, `queued:N` for so long without a processor since the last of these. Frames: `name`, `name/2` for another place in it, `name@libc`, `name@k` for the kernel's.
struct Trace {
    builder: ProfileBuilder,
    inference: Inference,
    code: DrawnCode,
    /// What all threads are called, if not as they are drawn.
    named: Option<String>,
}

/// Code as it is drawn: `f: 1 2 1, 3` for a function that can go from place 1 to 2 and back, and from 3 nowhere.
/// Of functions that are not drawn nothing is known.
#[derive(Default)]
struct DrawnCode(Vec<(String, Vec<Vec<u64>>)>);

impl DrawnCode {
    fn new(text: &str) -> Self {
        let way = |text: &str| text.split_whitespace().flat_map(str::parse).collect();
        let functions = text.lines().filter_map(|line| line.trim().split_once(':'));
        let ways = |text: &str| text.split(',').map(way).collect();
        Self(functions.map(|(name, text)| (name.to_owned(), ways(text))).collect())
    }
}

impl Code for DrawnCode {
    fn is_at_hand(&self) -> bool {
        !self.0.is_empty()
    }

    fn can_follow(&mut self, symbols: &perfblame_cct::Symbols, from: FrameId, to: FrameId) -> bool {
        let of = |frame| {
            let frame = symbols.frame(frame);
            (symbols.name(frame.function), frame.address.map_or(0, std::num::NonZeroU64::get))
        };
        let ((function, from), (other, to)) = (of(from), of(to));
        let Some((_, ways)) = self.0.iter().find(|known| known.0 == function) else { return true };
        let leads = |way: &Vec<u64>| {
            let first = way.iter().position(|place| *place == from);
            first.is_some_and(|first| way[first + 1..].contains(&to))
        };
        function == other && ways.iter().any(leads)
    }

    /// Ninety-nine times as much for `busy` as for anybody else.
    fn work(
        &mut self,
        symbols: &perfblame_cct::Symbols,
        from: Option<FrameId>,
        to: Option<FrameId>,
        _: f64,
    ) -> Option<perfblame_cct::Work> {
        let busy = symbols.name(symbols.frame(from.or(to)?).function) == "busy";
        let amounts = [if busy { 98.0 } else { 0.0 }, 0.0, 0.0, 0.0];
        Some(perfblame_cct::Work { amounts, odds: 1.0 })
    }

    fn can_call(&mut self, symbols: &perfblame_cct::Symbols, _: FrameId, callee: FrameId) -> bool {
        symbols.name(symbols.frame(callee).function) != "leaf"
    }
}

impl Trace {
    fn new(options: InferenceOptions) -> Self {
        let builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
        Self {
            builder,
            inference: Inference::new(options),
            code: DrawnCode::default(),
            named: None,
        }
    }

    fn frame(&mut self, word: &str) -> FrameId {
        let (word, component) = word.split_once('@').unwrap_or((word, "/bin/app"));
        let (component, layer) = match component {
            "k" => ("[kernel.kallsyms]", Layer::Kernel),
            "libc" => ("/lib/libc.so.6", Layer::Library),
            other => (other, Layer::Application),
        };
        let (name, place) = word.split_once('/').unwrap_or((word, "1"));
        let name = self.builder.string(name);
        let component = self.builder.string(component);
        let function = Function::named(name).in_component(component).in_layer(layer);
        let function = self.builder.function(function);
        let address = std::num::NonZeroU64::new(place.parse().unwrap());
        self.builder.frame(Frame { address, ..Frame::of(function) })
    }

    fn thread(&mut self, name: &str) -> ThreadId {
        let tid = name.bytes().map(u64::from).sum();
        let name = self.builder.string(self.named.as_deref().unwrap_or(name));
        self.builder.thread(Thread { pid: Some(1), tid: Some(tid), ..Thread::named(name) })
    }

    fn feed(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let time = words.next().unwrap().parse().unwrap();
        let thread = words.next().unwrap();
        let thread = self.thread(thread);
        let kind = match words.next().unwrap() {
            "out" => EventKind::SwitchOut(Leaving::Blocked),
            "preempted" => EventKind::SwitchOut(Leaving::Preempted),
            "exit" => EventKind::SwitchOut(Leaving::Exited),
            "in" => EventKind::SwitchIn,
            "tick" => EventKind::Tick,
            "*" => EventKind::Other,
            word => match word.split_once(':') {
                Some(("lost", count)) => {
                    return self.inference.lost(&mut self.builder, count.parse().unwrap());
                }
                Some(("queued", time)) => EventKind::Queued(time.parse().unwrap()),
                Some(("woken", by)) => EventKind::Wakeup(Some(self.thread(by))),
                _ => match word.split_at(1) {
                    ("+", name) => EventKind::Enter(self.builder.string(name)),
                    ("-", name) => EventKind::Exit(Some(self.builder.string(name))),
                    _ => panic!("{word}"),
                },
            },
        };
        let stack: Vec<FrameId> = words.map(|word| self.frame(word)).collect();
        let event = StackEvent { time, thread, kind };
        self.inference.event(&mut self.builder, event, &stack, &mut self.code);
    }

    fn finish(mut self) -> (Profile, Placement, Inference) {
        self.inference.finish(&mut self.builder);
        let (profile, place) = self.builder.finish_placed();
        (profile, place, self.inference)
    }
}

fn infer(trace: &str, options: InferenceOptions) -> (Profile, Placement, Inference) {
    let mut drawn = Trace::new(options);
    for line in trace.lines().filter(|line| !line.trim().is_empty()) {
        drawn.feed(line);
    }
    drawn.finish()
}

/// The contexts with their calls: number, conservative, aggressive, expected and longest time of all together, and the
/// own latency that a comparison goes by.
#[track_caller]
fn check(trace: &str, expected: &Expect) {
    let (profile, place, inference) = infer(trace, InferenceOptions::default());
    let totals = inference.totals(&place);
    let own = profile.self_values(MetricId::new(0));
    let mut out = String::new();
    for node in profile.tree.nodes() {
        let depth = profile.tree.path(node).len() - 1;
        let row = totals[node.index()];
        let _ = writeln!(
            out,
            "{:indent$}{} {}x {} {} {} {} own {}",
            "",
            profile.name_of(node),
            row.count,
            row.conservative.total,
            row.aggressive.total,
            row.estimate.total,
            row.longest.total,
            own[node.index()],
            indent = depth * 2
        );
    }
    for wait in inference.waits() {
        let by = wait.waker.map_or(String::new(), |by| {
            format!(" by {}", profile.symbols.text(profile.threads[by.index()].name))
        });
        let idle = if wait.idle { " for work" } else { "" };
        let name = profile.name_of(place.of(wait.node));
        let _ = writeln!(out, "{name} waits {} on {}{by}{idle}", wait.total, wait.on.name());
    }
    for warning in &profile.warnings {
        let _ = writeln!(out, "{} {}: {}", warning.count, warning.code, warning.message);
    }
    expected.assert_eq(&out);
}

/// Table 1 of the paper, step by step: the registers after each event, with start and end, and at the end the function
/// instances of figure 3 in both modes.
#[test]
fn table_1_of_the_paper() {
    let mut trace =
        Trace::new(InferenceOptions { instances: true, continuity: Continuity::Functions });
    let mut steps = String::new();
    for line in ["1 t * A B D", "2 t * A B D", "3 t * A C D", "4 t * A C"] {
        trace.feed(line);
        let thread = trace.thread("t");
        let open = trace.inference.open_calls(&trace.builder, thread);
        let registers: Vec<String> = open
            .iter()
            .map(|(function, first, last)| {
                format!("(t{first}, t{last}, {})", trace.builder.symbols.name(*function))
            })
            .collect();
        let _ = writeln!(steps, "t{}: {}", &line[..1], registers.join(" "));
    }
    expect![[r"
        t1: (t1, t1, A) (t1, t1, B) (t1, t1, D)
        t2: (t1, t2, A) (t1, t2, B) (t1, t2, D)
        t3: (t1, t3, A) (t3, t3, C) (t3, t3, D)
        t4: (t1, t4, A) (t3, t4, C)
    "]]
    .assert_eq(&steps);
    let (profile, place, inference) = trace.finish();
    let calls: Vec<String> = inference
        .instances()
        .iter()
        .map(|call| {
            let path = profile.tree.path(place.of(call.node));
            let path: Vec<_> = path.into_iter().map(|node| profile.name_of(node)).collect();
            format!(
                "{} from t{}: conservative {}, aggressive {}\n",
                path.join(">"),
                call.start,
                call.conservative,
                call.aggressive
            )
        })
        .collect();
    expect![[r"
        A>B>D from t1: conservative 1, aggressive 2
        A>B from t1: conservative 1, aggressive 2
        A>C>D from t3: conservative 0, aggressive 1
        A>C from t3: conservative 1, aggressive 1
        A from t1: conservative 3, aggressive 3
    "]]
    .assert_eq(&calls.concat());
}

#[test]
fn begin_and_return_lie_between_events() {
    check(
        "0 t * main
         60 t * main work
         90 t * main work
         120 t * main",
        &expect![[r"
            main 1x 120 120 120 120 own 45
              work 1x 30 60 75 120 own 75
        "]],
    );
}

#[test]
fn a_call_from_another_place_is_another_call() {
    let trace = "0 t * main/1 work\n10 t * main/2 work\n20 t * main/2 work";
    check(
        trace,
        &expect![[r"
        main 1x 20 20 20 20 own 3
          work 2x 10 20 17 30 own 17
    "]],
    );
    let paper =
        InferenceOptions { continuity: Continuity::Functions, ..InferenceOptions::default() };
    let (_, place, inference) = infer(trace, paper);
    assert_eq!(inference.totals(&place).iter().map(|row| row.count).max(), Some(1));
}

/// How many calls there are of each context, with this code.
#[track_caller]
fn check_counts(code: &str, options: InferenceOptions, trace: &str, expected: &str) {
    let mut drawn = Trace::new(options);
    drawn.code = DrawnCode::new(code);
    trace.lines().for_each(|line| drawn.feed(line));
    let (profile, place, inference) = drawn.finish();
    let totals = inference.totals(&place);
    let counts = profile
        .tree
        .nodes()
        .map(|node| format!("{} {}", profile.name_of(node), totals[node.index()].count));
    assert_eq!(counts.collect::<Vec<_>>().join(", "), expected, "{code}");
}

#[test]
fn what_the_code_does_not_permit_is_another_call() {
    // From place 1 a call comes to 2; back only by another call.
    let trace = "0 t * main/7 work/1 one\n10 t * main/7 work/2 two\n20 t * main/7 work/1 one";
    let check = |code: &str, expected: &str| {
        check_counts(code, InferenceOptions::default(), trace, expected);
    };
    check("", "main 1, work 1, one 2, two 1");
    check("work: 1 2\nmain: 7 7", "main 1, work 2, one 2, two 1");
    check("work: 1 2 1", "main 1, work 1, one 2, two 1");
    // If no way leads back to where it was called, its caller was called anew as well; but somebody must go on.
    check("work: 1 2\nmain: 7", "main 1, work 1, one 2, two 1");
    let paper =
        InferenceOptions { continuity: Continuity::Functions, ..InferenceOptions::default() };
    check_counts("work: 1 2\nmain: 7 7", paper, trace, "main 1, work 1, one 2, two 1");
}

#[test]
fn time_goes_to_what_has_much_to_do() {
    for (code, expected) in [("busy: 1", [2, 198, 2]), ("", [67, 67, 68])] {
        let mut trace = Trace::new(InferenceOptions::default());
        trace.code = DrawnCode::new(code);
        trace.feed("0 t * main busy");
        trace.feed("202 t * main other");
        let (profile, ..) = trace.finish();
        let own = profile.self_values(MetricId::new(0));
        assert_eq!(own, expected, "{code}");
    }
}

/// The walk of a stack may end before its time, and then nobody has returned.
#[test]
fn walks_that_go_astray_end_no_calls() {
    let mut trace = String::new();
    for round in 0..40 {
        let stack = if round == 30 { "deep [unknown]" } else { "start main work" };
        let _ = writeln!(trace, "{} t tick {stack}", round * 10);
    }
    check_counts("", InferenceOptions::default(), &trace, "start 1, main 1, work 1");
    // A program that has two stacks has them often.
    let mut trace = String::new();
    for round in 0..40 {
        let stack = if round % 4 == 3 { "coroutine work" } else { "start main" };
        let _ = writeln!(trace, "{} t tick {stack}", round * 10);
    }
    check_counts(
        "",
        InferenceOptions::default(),
        &trace,
        "start 10, main 10, coroutine 10, work 10",
    );
}

/// Stacks that were cut off are on no way from one context to the next, and say nothing of other gaps.
#[test]
fn cut_stacks_teach_nothing() {
    let estimate = |ticks: &str| {
        let mut trace = String::new();
        for round in 0..40 {
            let start = round * 1_000;
            let _ = writeln!(trace, "{start} t * main work inner");
            if round < 20 && !ticks.is_empty() {
                let _ = writeln!(trace, "{} t tick {ticks}", start + 300);
            }
            let _ = writeln!(trace, "{} t * main rest", start + 600);
            let _ = writeln!(trace, "{} t * main", start + 900);
        }
        let options = InferenceOptions { instances: true, ..InferenceOptions::default() };
        let (profile, place, inference) = infer(&trace, options);
        let later = inference
            .instances()
            .iter()
            .filter(|call| call.start >= 20_000 && profile.name_of(place.of(call.node)) == "work");
        later.map(|call| call.estimate).sum::<i64>()
    };
    assert!(estimate("main work") > estimate(""));
    assert_eq!(estimate("elsewhere deeper"), estimate(""));
}

#[test]
fn a_system_call_from_the_same_place_tells_calls_apart() {
    let kernel = "entry_SYSCALL_64_after_hwframe@k do_syscall_64@k";
    let calls = |stack: &str, exits: bool| {
        let at = |time: u32, kind: &str| format!("{time} t {kind}read {stack} {kernel} x@k");
        let all = [at(0, "+"), at(10, "-"), at(20, "+"), at(30, "-")];
        let kept = all.iter().enumerate().filter(|(row, _)| exits || row % 2 == 0);
        kept.map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
    };
    let check = |code: &str, stack: &str, expected: &str| {
        for exits in [true, false] {
            check_counts(code, InferenceOptions::default(), &calls(stack, exits), expected);
        }
    };
    let stack = "main/7 work/1 read@libc";
    check("", stack, "main 1, work 1, read 2");
    check("read: 9\nwork: 1\nmain: 7 7", stack, "main 1, work 2, read 2");
    // A function of the library may make several.
    check("read: 1 1\nwork: 1\nmain: 7 7", stack, "main 1, work 1, read 2");
    check("read: 9\nwork: 1 1\nmain: 7 7", stack, "main 1, work 1, read 2");
    // The program makes the system call itself.
    check("work: 1\nmain: 7 7", "main/7 work/1", "main 1, work 2, read 2");
    // Frames are missing here: who called the leaf is not known.
    check("leaf: 1\nwork: 1\nmain: 7 7", "main/7 work/1 leaf/1", "main 1, work 1, leaf 2, read 2");
    // Off its processor on its way back from the kernel, it has not been called again.
    let left = calls(stack, true).lines().take(2).collect::<Vec<_>>().join("\n")
        + &format!(
            "\n15 t preempted {stack} entry_SYSCALL_64_after_hwframe@k exit_to_user_mode_loop@k schedule@k"
        );
    check_counts(
        "read: 9\nwork: 1\nmain: 7 7",
        InferenceOptions::default(),
        &left,
        "main 1, work 1, read 1, read 1",
    );
    // Nothing is known of a stack that is not there, as of a process that ends.
    let ends =
        calls(stack, true).replace(&format!("20 t +read {stack} {kernel} x@k"), "20 t +exit_group");
    let ends = ends.lines().take(3).collect::<Vec<_>>().join("\n");
    check_counts(
        "read: 9\nwork: 1\nmain: 7 7",
        InferenceOptions::default(),
        &ends,
        "main 1, work 1, read 1",
    );
}

#[test]
fn system_calls_end_where_the_kernel_says_so() {
    let kernel = "entry_SYSCALL_64_after_hwframe@k do_syscall_64@k";
    check(
        &format!(
            "0 t +read main read@libc {kernel} syscall_trace_enter@k
             10 t -read main read@libc {kernel} syscall_exit_work@k
             30 t +read main read@libc {kernel} syscall_trace_enter@k
             35 t -read main read@libc {kernel} syscall_exit_work@k"
        ),
        &expect![[r"
            main 1x 35 35 35 35 own 20
              read 2x 15 15 15 15 own 15
        "]],
    );
}

#[test]
fn lost_events_break_calls_off() {
    check(
        "0 t * main work
         10 t * main work
         10 t lost:7
         90 t * main work
         95 t * main work",
        &expect![[r#"
            main 2x 15 15 15 15 own 0
              work 2x 15 15 15 15 own 15
            7 lost-events: events were lost; calls end where events are missing, and 0.0 ms of thread time are not assigned
        "#]],
    );
}

#[test]
fn events_out_of_order_are_counted_and_the_rest_is_right() {
    check(
        "0 t * main work
         10 t * main work
         5 t * main other
         20 t * main work",
        &expect![[r"
            main 1x 20 20 20 20 own 0
              work 1x 20 20 20 20 own 20
            1 late-events: events arrived after later events of their thread and were left out
        "]],
    );
}

#[test]
fn stacks_that_lack_their_ends_go_on() {
    check(
        "0 t * main parse expression term
         10 t * expression term
         20 t * main parse expression term
         30 t tick schedule@k
         40 t * main parse expression term",
        &expect![[r"
            main 1x 40 40 40 40 own 0
              parse 1x 40 40 40 40 own 0
                expression 1x 40 40 40 40 own 0
                  term 1x 40 40 40 40 own 40
            1 broken-stacks: stacks are incomplete; perfblame assumes that their threads were in the same calls as before
        "]],
    );
}

#[test]
fn threads_are_apart_and_keep_their_calls_under_a_new_name() {
    let mut trace = Trace::new(InferenceOptions::default());
    trace.feed("0 ab * main work");
    trace.feed("3 x * main");
    // The same number, another name.
    trace.feed("10 ba * main work");
    let (profile, place, inference) = trace.finish();
    let totals = inference.totals(&place);
    let work = profile.tree.nodes().find(|node| profile.name_of(*node) == "work").unwrap();
    assert_eq!((totals[work.index()].count, totals[work.index()].conservative.total), (1, 10));
}
