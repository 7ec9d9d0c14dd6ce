//! The paper's example, and what a kernel's events add to it.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use perfblame_cct::{Frame, Function, Grain, Layer, MetricId, Profile, Thread, Times};
use proptest::prelude::*;

use super::*;
use crate::WaitOn;

/// A trace as it is drawn: one event per line, `time thread kind stack…`, frames outermost first. Kinds: `+read` and
/// `-read` for begin and end of a system call, `out` (blocked), `preempted`, `exit`, `in`, `woken:THREAD`, `tick`, `*`
/// for any other, `lost:N`, `queued:N` for so long without a processor since the last of these. Frames: `name`, `name/2` for another place in it, `name@libc`, `name@k` for the kernel's.
struct Trace {
    builder: ProfileBuilder,
    inference: Inference,
    code: DrawnCode,
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

    fn work(&mut self, _: &perfblame_cct::Symbols, _: FrameId, _: bool) -> Option<u32> {
        None
    }

    fn can_call(&mut self, symbols: &perfblame_cct::Symbols, _: FrameId, callee: FrameId) -> bool {
        symbols.name(symbols.frame(callee).function) != "leaf"
    }
}

impl Trace {
    fn new(options: Options) -> Self {
        let builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
        Self { builder, inference: Inference::new(options), code: DrawnCode::default() }
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
        let name = self.builder.string(name);
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

fn infer(trace: &str, options: Options) -> (Profile, Placement, Inference) {
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
    let (profile, place, inference) = infer(trace, Options::default());
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
    let mut trace = Trace::new(Options { instances: true, continuity: Continuity::Functions });
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
    let paper = Options { continuity: Continuity::Functions, ..Options::default() };
    let (_, place, inference) = infer(trace, paper);
    assert_eq!(inference.totals(&place).iter().map(|row| row.count).max(), Some(1));
}

/// How many calls there are of each context, with this code.
#[track_caller]
fn check_counts(code: &str, options: Options, trace: &str, expected: &str) {
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
    let check =
        |code: &str, expected: &str| check_counts(code, Options::default(), trace, expected);
    check("", "main 1, work 1, one 2, two 1");
    check("work: 1 2\nmain: 7 7", "main 1, work 2, one 2, two 1");
    check("work: 1 2 1", "main 1, work 1, one 2, two 1");
    // If no way leads back to where it was called, its caller was called anew as well; but somebody must go on.
    check("work: 1 2\nmain: 7", "main 1, work 1, one 2, two 1");
    let paper = Options { continuity: Continuity::Functions, ..Options::default() };
    check_counts("work: 1 2\nmain: 7 7", paper, trace, "main 1, work 1, one 2, two 1");
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
            check_counts(code, Options::default(), &calls(stack, exits), expected);
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
fn waiting_is_the_callers_and_known_by_kind_and_waker() {
    let entry = "main fetch read@libc do_syscall_64@k";
    check(
        &format!(
            "0 t +read {entry}
             2 t out {entry} __x64_sys_read@k sock_read_iter@k schedule@k __schedule@k
             70 t woken:peer
             80 t in
             82 t -read {entry}
             90 t tick main"
        ),
        &expect![[r#"
            main 1x 90 90 90 90 own 4
              fetch 1x 82 90 86 90 own 72
                read 1x 82 82 82 82 own 2
                  sock_read_iter 1x 78 80 80 82 own 2
                (run queue) 0x 0 0 0 0 own 10
            fetch waits 68 on socket by peer
            fetch waits 10 on run queue
        "#]],
    );
}

#[test]
fn without_switches_in_a_blocked_thread_is_taken_to_wait_all_along() {
    let entry = "main nap clock_nanosleep@libc do_syscall_64@k";
    check(
        &format!(
            "0 t +clock_nanosleep {entry}
             2 t out {entry} __x64_sys_clock_nanosleep@k do_nanosleep@k schedule@k
             80 t -clock_nanosleep {entry}"
        ),
        &expect![[r"
            main 1x 80 80 80 80 own 0
              nap 1x 80 80 80 80 own 78
                clock_nanosleep 1x 80 80 80 80 own 1
                  do_nanosleep 1x 0 78 79 80 own 1
            nap waits 78 on sleep
        "]],
    );
}

#[test]
fn without_switches_at_all_calls_that_are_for_waiting_wait() {
    check(
        "0 t +clock_nanosleep main nap clock_nanosleep@libc
         80 t -clock_nanosleep main nap clock_nanosleep@libc
         100 t +write main write@libc
         130 t -write main write@libc",
        &expect![[r"
            main 1x 130 130 130 130 own 10
              nap 1x 80 100 90 100 own 90
                clock_nanosleep 1x 80 80 80 80 own 0
              write 1x 30 30 30 30 own 30
            nap waits 80 on sleep
        "]],
    );
}

#[test]
fn a_processor_that_is_taken_away_is_nobodys_latency() {
    check(
        "0 t tick main work
         10 t preempted main work asm_sysvec_apic_timer_interrupt@k irqentry_exit_to_user_mode@k schedule@k
         50 t in
         60 t tick main work",
        &expect![[r"
            main 1x 60 60 60 60 own 0
              work 1x 60 60 60 60 own 20
                (run queue) 0x 0 0 0 0 own 40
            work waits 40 on run queue
        "]],
    );
}

/// A thread of a pool waits for work between tasks, and within one of them for a lock.
/// Of 60 without a processor 10 are seen; the first wait cannot have had more than it took, the rest is shared by two.
#[test]
fn waiting_for_a_processor_is_taken_out_of_waits() {
    check(
        "0 t * main work
         10 t out main nap clock_nanosleep@libc do_syscall_64@k __x64_sys_clock_nanosleep@k schedule@k
         20 t in
         20 t preempted main work
         30 t in
         30 t out main rest clock_nanosleep@libc do_syscall_64@k __x64_sys_clock_nanosleep@k schedule@k
         130 t in
         130 t out main rest clock_nanosleep@libc do_syscall_64@k __x64_sys_clock_nanosleep@k schedule@k
         230 t in
         230 t * main work
         240 t queued:60
         250 t * main work",
        &expect![[r#"
            main 1x 250 250 250 250 own 3
              work 3x 30 40 33 40 own 23
                (run queue) 0x 0 0 0 0 own 10
              nap 1x 10 10 14 20 own 4
                clock_nanosleep 1x 10 10 10 10 own 0
                (run queue) 0x 0 0 0 0 own 10
              rest 1x 200 200 200 200 own 160
                clock_nanosleep 2x 200 200 200 200 own 0
                (run queue) 0x 0 0 0 0 own 40
            rest waits 160 on sleep
            rest waits 40 on run queue
            work waits 10 on run queue
            nap waits 10 on run queue
            nap waits 0 on sleep
        "#]],
    );
}

/// A server waits, and computes for less than a tick in between: one round in four is looked into, and the others are
/// taken to be like it, but for one in so many.
#[test]
fn what_is_done_between_two_looks_is_what_others_saw() {
    let poll = "epoll_wait@libc do_syscall_64@k __x64_sys_epoll_wait@k ep_poll@k schedule@k";
    let mut trace = format!("0 t out main serve {poll}\n");
    let mut time = 0;
    for round in 0..40 {
        time += 1_000;
        let _ = writeln!(trace, "{time} t in");
        if round % 4 == 1 {
            let _ = writeln!(trace, "{} t tick main serve answer compute", time + 60);
        }
        time += 100;
        let _ = writeln!(trace, "{time} t out main serve {poll}");
    }
    let (profile, _, _) = infer(&trace, Options::default());
    let own = profile.self_values(MetricId::new(0));
    let of = |name: &str| -> i64 {
        profile
            .tree
            .nodes()
            .filter(|node| profile.name_of(*node) == name)
            .map(|node| own[node.index()])
            .sum()
    };
    let ran = of("serve") + of("answer") + of("compute") + of("main");
    assert_eq!(ran, 4_000, "{}", perfblame_cct::dump(&profile));
    assert!(of("compute") > 2_000 && of("serve") < 1_500, "{}", perfblame_cct::dump(&profile));
}

/// A thread that takes work and runs it four times, below these stacks.
fn rounds(take: &str, run: &str) -> String {
    let mut trace = String::new();
    let futex = "do_syscall_64@k __x64_sys_futex@k futex_wait@k schedule@k";
    let mut time = 0;
    for _ in 0..4 {
        for (stack, waits) in [
            (format!("{take} take pthread_cond_wait@libc futex_abstimed_wait@libc"), 900),
            (format!("{run} run lock pthread_mutex_lock@libc __lll_lock_wait@libc"), 200),
        ] {
            let _ = writeln!(trace, "{time} t +futex {stack} do_syscall_64@k");
            let _ = writeln!(trace, "{} t out {stack} {futex}", time + 1);
            let _ = writeln!(trace, "{} t in", time + waits);
            let _ = writeln!(trace, "{} t -futex {stack} do_syscall_64@k", time + waits + 1);
            time += waits + 10;
            let _ = writeln!(trace, "{time} t +write {run} run write@libc");
            let _ = writeln!(trace, "{} t -write {run} run write@libc", time + 5);
            time += 10;
        }
    }
    trace
}

#[test]
fn rounds_that_are_calls_of_their_own_are_rounds() {
    let mut drawn = Trace::new(Options::default());
    drawn.code = DrawnCode::new("round: 1 2 2\nloop: 1 1");
    rounds("start loop/1 round/1", "start loop/1 round/2")
        .lines()
        .for_each(|line| drawn.feed(line));
    let (profile, place, inference) = drawn.finish();
    let count = |name: &str| {
        let totals = inference.totals(&place);
        let named = profile.tree.nodes().filter(|node| profile.name_of(*node) == name);
        named.map(|node| totals[node.index()].count).sum::<u64>()
    };
    assert_eq!((count("round"), count("loop")), (4, 1));
    let kind = |wait: &Wait| (profile.name_of(place.of(wait.node)), wait.idle);
    let waits: Vec<_> = inference.waits().iter().map(kind).collect();
    assert_eq!(waits, [("take", true), ("lock", false)]);
}

#[test]
fn waiting_for_work_is_told_from_waiting_within_work() {
    let trace = rounds("start loop", "start loop");
    let (profile, place, inference) = infer(&trace, Options::default());
    let waits: Vec<_> = inference
        .waits()
        .iter()
        .map(|wait| (profile.name_of(place.of(wait.node)), wait.total, wait.idle))
        .collect();
    assert_eq!(waits, [("take", 899 * 4, true), ("lock", 199 * 4, false)]);
    let own = profile.self_values(MetricId::new(0));
    let of = |name: &str| {
        let named = profile.tree.nodes().filter(|node| profile.name_of(*node) == name);
        named.map(|node| own[node.index()]).sum::<i64>()
    };
    assert_eq!(of(crate::FOR_WORK), 899 * 4);
    assert!(of("lock") >= 199 * 4, "{}", of("lock"));
}

#[test]
fn lost_events_break_calls_off() {
    check(
        "0 t * main work
         10 t * main work
         10 t lost:7
         90 t * main work
         95 t * main work",
        &expect![[r"
            main 2x 15 15 15 15 own 0
              work 2x 15 15 15 15 own 15
            7 lost-events: events were lost: calls end where events are missing, and 0.0 ms of thread time belong to nobody
        "]],
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
            1 late-events: events came after later ones of their thread and were left out
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
            1 broken-stacks: stacks lack the program's own part; their threads were taken to be where they were
        "]],
    );
}

#[test]
fn threads_are_apart_and_keep_their_calls_under_a_new_name() {
    let mut trace = Trace::new(Options::default());
    trace.feed("0 ab * main work");
    trace.feed("3 x * main");
    // The same number, another name.
    trace.feed("10 ba * main work");
    let (profile, place, inference) = trace.finish();
    let totals = inference.totals(&place);
    let work = profile.tree.nodes().find(|node| profile.name_of(*node) == "work").unwrap();
    assert_eq!((totals[work.index()].count, totals[work.index()].conservative.total), (1, 10));
}

fn any_trace() -> impl Strategy<Value = Vec<(u8, u8, u8, Vec<u8>)>> {
    let stack = prop::collection::vec(0u8..4, 0..6);
    prop::collection::vec((0u8..20, 0u8..3, 0u8..9, stack), 0..60)
}

fn drawn(events: &[(u8, u8, u8, Vec<u8>)]) -> String {
    let mut text = String::new();
    let mut time = 0u32;
    for (gap, thread, kind, stack) in events {
        time += u32::from(*gap);
        let kind = match kind {
            0 => "+read",
            1 => "-read",
            2 => "out",
            3 => "in",
            4 => "preempted",
            5 => "woken:t0",
            6 => "tick",
            7 => "queued:9",
            _ => "*",
        };
        let words = ["a", "b/2", "c@libc", "vfs_read@k"];
        let stack: Vec<_> = stack.iter().map(|row| words[usize::from(*row)]).collect();
        let _ = writeln!(text, "{time} t{thread} {kind} {}", stack.join(" "));
    }
    text
}

proptest! {
    /// Conservative is least, longest most; what is expected lies between; callees take no longer than callers.
    #[test]
    fn latencies_are_ordered_and_nested(events in any_trace()) {
        let options = Options { instances: true, ..Options::default() };
        let (profile, place, inference) = infer(&drawn(&events), options);
        for call in inference.instances() {
            prop_assert!(0 <= call.conservative && call.conservative <= call.aggressive);
            prop_assert!(call.aggressive <= call.longest);
            prop_assert!(call.conservative <= call.estimate && call.estimate <= call.longest);
        }
        let totals = inference.totals(&place);
        let mut below = vec![[0i64; 3]; totals.len()];
        for node in profile.tree.nodes() {
            if let Some(parent) = profile.tree.parent(node) {
                let row = totals[node.index()];
                let modes = [row.conservative, row.aggressive, row.estimate].map(|mode| mode.total);
                for (sum, mode) in below[parent.index()].iter_mut().zip(modes) {
                    *sum += mode;
                }
            }
        }
        for (row, below) in totals.iter().zip(&below) {
            let modes = [row.conservative, row.aggressive, row.estimate].map(|mode| mode.total);
            prop_assert!(modes.iter().zip(below).all(|(own, below)| own >= below), "{:?} {:?}", modes, below);
        }
    }

    /// Own latencies of a thread add up to the time it was watched.
    #[test]
    fn no_time_is_lost(events in any_trace()) {
        let (profile, _, _) = infer(&drawn(&events), Options::default());
        let sum: i64 = profile.self_values(MetricId::new(0)).iter().sum();
        let mut spans: HashMap<u8, (i64, i64)> = HashMap::new();
        let mut time = 0i64;
        for (gap, thread, _, _) in &events {
            time += i64::from(*gap);
            let span = spans.entry(*thread).or_insert((time, time));
            span.1 = time;
        }
        // A thread that blocks at the end waits on, so the sum may be more than to its last event, never beyond the end.
        let most: i64 = spans.values().map(|(first, _)| time - first).sum();
        prop_assert!(sum <= most, "{} {}", sum, most);
    }

    #[test]
    fn the_same_trace_gives_the_same_answer(events in any_trace()) {
        let text = drawn(&events);
        let (one, _, _) = infer(&text, Options::default());
        let (other, _, _) = infer(&text, Options::default());
        prop_assert_eq!(perfblame_cct::dump(&one), perfblame_cct::dump(&other));
    }
}

/// What each wait is: its function, and whether it is for work.
fn kinds_of_waits(trace: &str) -> Vec<(String, bool)> {
    let (profile, place, inference) = infer(trace, Options::default());
    let kind = |wait: &Wait| (profile.name_of(place.of(wait.node)).to_owned(), wait.idle);
    inference.waits().iter().map(kind).collect()
}

/// A thread, of which 1 is the main one, that waits `lengths` long in turn, each time in the same place.
fn waits_in_turn(thread: &str, stack: &str, kernel: &str, lengths: &[i64]) -> String {
    let (mut trace, mut time) = (String::new(), 0);
    for length in lengths {
        let _ = writeln!(trace, "{time} {thread} out {stack} do_syscall_64@k {kernel} schedule@k");
        time += length;
        let _ = writeln!(trace, "{time} {thread} in");
        let _ = writeln!(trace, "{} {thread} tick start loop", time + 2);
        time += 4;
    }
    trace
}

#[test]
fn a_main_thread_waits_for_others_only_if_they_run() {
    let stack = "start loop take pthread_cond_wait@libc";
    let waits = waits_in_turn("\u{1}", stack, "__x64_sys_futex@k futex_wait@k", &[90, 40, 70, 90]);
    assert_eq!(kinds_of_waits(&waits), [("take".to_owned(), false)]);
    let helper: String = (0..30).fold(String::new(), |trace, tick| {
        trace + &format!("{} t tick start compute\n", tick * 10)
    });
    let both = kinds_of_waits(&format!("{waits}{helper}"));
    assert_eq!(both, [("take".to_owned(), true)]);
}

#[test]
fn waits_of_one_length_are_sleep() {
    let (stack, kernel) = ("start loop pause poll@libc", "__x64_sys_poll@k do_sys_poll@k");
    // Another thread, so that this one may have nothing to do.
    let other = "0 u tick start compute\n500 u tick start compute\n";
    for (lengths, idle) in [([120, 121, 125, 122], false), ([120, 10, 300, 60], true)] {
        let waits = waits_in_turn("t", stack, kernel, &lengths);
        assert_eq!(kinds_of_waits(&format!("{waits}{other}")), [("pause".to_owned(), idle)]);
    }
}

#[test]
fn a_switch_that_is_told_twice_is_one() {
    let once = "0 t out main f read@libc do_syscall_64@k __x64_sys_read@k pipe_read@k schedule@k\n";
    let again = "1 t out\n";
    let rest = "100 t in\n101 t tick main f\n";
    let waits = |trace: String| {
        let (_, _, inference) = infer(&trace, Options::default());
        inference.waits().iter().map(|wait| (wait.on, wait.total)).collect::<Vec<_>>()
    };
    assert_eq!(waits(format!("{once}{again}{rest}")), [(WaitOn::Pipe, 100)]);
    assert_eq!(waits(format!("{once}{rest}")), [(WaitOn::Pipe, 100)]);
}

/// Without system calls in the trace: what a server does between two waits is not done in the call that waits.
#[test]
fn a_wait_is_over_when_its_thread_runs_again() {
    let stack = "main serve epoll_wait@libc do_syscall_64@k __x64_sys_epoll_wait@k do_epoll_wait@k schedule@k";
    let trace: String = (0..5).fold(String::new(), |trace, round| {
        let time = round * 100;
        trace + &format!("{time} t out {stack}\n{} t in\n", time + 40)
    });
    let (profile, _, _) = infer(&trace, Options::default());
    let own = profile.self_values(MetricId::new(0));
    let of = |name: &str| {
        let named = profile.tree.nodes().filter(|node| profile.name_of(*node) == name);
        named.map(|node| own[node.index()]).sum::<i64>()
    };
    assert_eq!((of("serve"), of("do_epoll_wait")), (4 * 60, 0));
}
