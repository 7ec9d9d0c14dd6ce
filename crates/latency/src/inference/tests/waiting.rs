//! What threads wait for, how long, and whether that is for work or within it.

use super::*;

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
    let (profile, _, _) = infer(&trace, InferenceOptions::default());
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
    let mut drawn = Trace::new(InferenceOptions::default());
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
    let (profile, place, inference) = infer(&trace, InferenceOptions::default());
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
/// What each wait is: its function, and whether it is for work.
pub(super) fn kinds_of_waits(trace: &str) -> Vec<(String, bool)> {
    let (profile, place, inference) = infer(trace, InferenceOptions::default());
    let kind = |wait: &Wait| (profile.name_of(place.of(wait.node)).to_owned(), wait.idle);
    inference.waits().iter().map(kind).collect()
}

/// A thread, of which 1 is the main one, that waits `lengths` long in turn, each time in the same place.
pub(super) fn waits_in_turn(thread: &str, stack: &str, kernel: &str, lengths: &[i64]) -> String {
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
        let (_, _, inference) = infer(&trace, InferenceOptions::default());
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
    let (profile, _, _) = infer(&trace, InferenceOptions::default());
    let own = profile.self_values(MetricId::new(0));
    let of = |name: &str| {
        let named = profile.tree.nodes().filter(|node| profile.name_of(*node) == name);
        named.map(|node| own[node.index()]).sum::<i64>()
    };
    assert_eq!((of("serve"), of("do_epoll_wait")), (4 * 60, 0));
}
