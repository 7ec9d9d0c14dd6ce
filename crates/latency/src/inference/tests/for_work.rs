//! Threads that wait for work, in the ways of servers, pools and runtimes; and beside each what looks alike and is not.

use super::waiting::{kinds_of_waits, waits_in_turn};
use super::*;

const FUTEX: &str = "do_syscall_64@k __x64_sys_futex@k futex_wait@k schedule@k";
const SLEEP: &str = "do_syscall_64@k __x64_sys_clock_nanosleep@k do_nanosleep@k schedule@k";
const RECV: &str = "recv@libc do_syscall_64@k __x64_sys_recvfrom@k tcp_recvmsg@k schedule@k";

/// Other threads that run until the end.
fn busy(until: i64) -> String {
    (0..=until / 50)
        .fold(String::new(), |trace, tick| trace + &format!("{} u tick start compute\n", tick * 50))
}

/// A wait in a trace whose threads need not end with it.
fn wait(from: i64, until: i64, thread: &str, stack: &str) -> String {
    format!("{from} {thread} out {stack}\n{until} {thread} in\n")
}

fn idle(trace: &str) -> Vec<(String, bool)> {
    let mut lines: Vec<&str> = trace.lines().collect();
    lines.sort_by_key(|line| line.split(' ').next().and_then(|time| time.parse::<i64>().ok()));
    kinds_of_waits(&lines.join("\n"))
}

fn all(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
    expected.iter().map(|(name, idle)| ((*name).to_owned(), *idle)).collect()
}

/// A thread that is stopped before the recording ends had nothing to do for all of its life.
#[test]
fn a_thread_that_ends_early_waited_all_its_life() {
    let stack = format!("start watch pthread_cond_wait@libc {FUTEX}");
    let thread = "10 t +mmap start watch mmap@libc\n12 t -mmap start watch mmap@libc\n".to_owned()
        + &wait(15, 600, "t", &stack)
        + "605 t +munmap start watch munmap@libc\n606 t -munmap start watch munmap@libc\n"
        + "610 t exit start watch\n";
    assert_eq!(idle(&(thread.clone() + &busy(2_000))), all(&[("watch", true)]));
    // Not every trace has its end.
    let cut = thread.replace("610 t exit start watch\n", "");
    assert_eq!(idle(&(cut + &busy(2_000))), all(&[("watch", true)]));
    // The same wait in a thread that goes on to do something else.
    let thread = "10 t +mmap start watch mmap@libc\n12 t -mmap start watch mmap@libc\n".to_owned()
        + &wait(15, 600, "t", &stack)
        + "605 t tick start watch compute\n1_900 t tick start watch compute\n"
            .replace('_', "")
            .as_str();
    assert_eq!(idle(&(thread + &busy(2_000))), all(&[("watch", false)]));
}

/// Two connections in a short recording: the accepting function comes round too seldom for a loop to be seen.
#[test]
fn polling_where_connections_are_accepted_is_waiting_for_work() {
    let poll =
        "_start main serve poll@libc do_syscall_64@k __x64_sys_poll@k do_sys_poll@k schedule@k";
    let start = "0 \u{1} tick _start main load\n400 \u{1} tick _start main load\n";
    let waits = |accepts: bool| {
        let call = if accepts { "accept4" } else { "fcntl" };
        let between = |time: i64| {
            let stack = format!("_start main serve {call}@libc do_syscall_64@k");
            format!("{time} \u{1} +{call} {stack}\n{} \u{1} -{call} {stack}\n", time + 1)
        };
        let first = wait(410, 500, "\u{1}", poll) + &between(502);
        idle(&(start.to_owned() + &first + &wait(510, 900, "\u{1}", poll) + &between(902)))
    };
    assert_eq!(waits(true), all(&[("serve", true)]));
    assert_eq!(waits(false), all(&[("serve", false)]));
}

/// Who joins a thread waits for what that thread does; what it does is counted there.
#[test]
fn joining_a_thread_is_not_waiting_within_work() {
    let join = format!("_start main pthread_join@libc __pthread_clockjoin_ex@libc {FUTEX}");
    let nap = format!("start job nap clock_nanosleep@libc {SLEEP}");
    let trace = wait(0, 520, "\u{1}", &join) + &wait(10, 500, "t", &nap) + "501 t tick start job\n";
    assert_eq!(idle(&trace), all(&[("main", true), ("nap", false)]));
    // A condition is another matter: nobody says who is to signal it.
    let other = join
        .replace("pthread_join", "pthread_cond_wait")
        .replace("__pthread_clockjoin_ex@libc ", "");
    let trace =
        wait(0, 520, "\u{1}", &other) + &wait(10, 500, "t", &nap) + "501 t tick start job\n";
    assert_eq!(idle(&trace), all(&[("main", false), ("nap", false)]));
}

/// Go's monitor sleeps by turns, and its threads wait for something to run; neither waits for a lock.
#[test]
fn runtimes_look_after_themselves() {
    let sysmon = "runtime.mstart runtime.sysmon runtime.usleep do_syscall_64@k \
                  __x64_sys_nanosleep@k do_nanosleep@k schedule@k";
    let idle_m =
        format!("runtime.mcall runtime.schedule runtime.findRunnable runtime.futex {FUTEX}");
    let lock = format!("runtime.mcall runtime.findRunnable runtime.lock2 runtime.futex {FUTEX}");
    let trace = wait(0, 100, "t", sysmon)
        + &wait(101, 200, "t", sysmon)
        + &wait(0, 90, "v", &idle_m)
        + "91 v tick main.main main.compute\n"
        + &wait(92, 170, "v", &lock)
        + "171 v tick main.main main.compute\n";
    let expected =
        all(&[("runtime.usleep", true), ("runtime.futex", true), ("runtime.futex", false)]);
    assert_eq!(idle(&(trace + &busy(200))), expected);
}

/// The compiler of a virtual machine works, and waits for more; a thread of the program may do the same and be late.
#[test]
fn service_threads_of_a_virtual_machine_are_known_by_name() {
    let trace = |thread: &str| {
        let stack = format!("start run [libjvm.so+0x10] pthread_cond_wait@libc {FUTEX}");
        let ticks = |from: i64| {
            format!("{from} THREAD tick start run\n{} THREAD tick start run\n", from + 40)
        };
        let trace = ticks(0)
            + &wait(41, 100, "THREAD", &stack)
            + &ticks(101)
            + &wait(142, 200, "THREAD", &stack);
        (trace.replace("THREAD", "t"), thread.to_owned())
    };
    for (name, expected) in [("C2 CompilerThre", true), ("pool-1-thread-1", false)] {
        let (text, name) = trace(name);
        let mut drawn = Trace::new(InferenceOptions::default());
        drawn.named = Some(name);
        for line in text.lines() {
            drawn.feed(line);
        }
        let (_, _, inference) = drawn.finish();
        let found: Vec<bool> = inference.waits().iter().map(|wait| wait.idle).collect();
        assert_eq!(found, [expected]);
    }
}

/// A thread for each connection waits for its client to ask; where it asks another server itself, that is its work.
#[test]
fn servers_wait_for_requests_and_clients_for_answers() {
    let accept =
        "_start main accept@libc do_syscall_64@k __x64_sys_accept@k inet_csk_accept@k schedule@k";
    let next = format!("start connection {RECV}");
    let answer = format!("start connection query fetch {RECV}");
    let rounds = (0..4).fold(String::new(), |trace, round| {
        let time = round * 400;
        trace
            + &wait(time, time + 250, "t", &next)
            + &format!("{} t tick start connection query\n", time + 255)
            + &wait(time + 260, time + 390, "t", &answer)
            + &format!("{} t tick start connection query\n", time + 395)
    });
    let serves = wait(0, 1_600, "\u{1}", accept) + "1600 \u{1} tick _start main\n";
    let expected = all(&[("main", true), ("connection", true), ("fetch", false)]);
    assert_eq!(idle(&(serves.clone() + &rounds)), expected);
    // Some kernels jump into the body of the call, which then is not on the stack.
    let unnamed = rounds.replace(" __x64_sys_recvfrom@k", "");
    assert_eq!(idle(&(serves + &unnamed)), expected);
    // The same thread in a program that serves nobody is a client.
    let found = idle(&(rounds + &busy(1_600)));
    assert_eq!(found, all(&[("connection", false), ("fetch", false)]));
}

/// A thread of a pool that got two tasks is not told from one that waits within them, but by the other threads.
#[test]
fn threads_of_a_pool_wait_for_work_in_the_same_place() {
    let take = "start loop take pthread_cond_wait@libc";
    let often = waits_in_turn("t", take, "__x64_sys_futex@k futex_wait@k", &[300, 40, 700, 90]);
    let stack = format!("{take} {FUTEX}");
    let seldom = "0 v tick start loop run\n500 v tick start loop run\n".to_owned()
        + &wait(501, 900, "v", &stack)
        + "901 v tick start loop run\n1100 v tick start loop run\n";
    assert_eq!(idle(&(seldom.clone() + &busy(1_200))), all(&[("take", false)]));
    assert_eq!(idle(&(often + &seldom + &busy(1_200))), all(&[("take", true), ("take", true)]));
}
