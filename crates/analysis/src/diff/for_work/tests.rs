//! Recordings of different lengths: what waits for work is nobody's fault, what waits within it is.

use perfblame_cct::{
    Function, Grain, Layer, Metric, Profile, ProfileBuilder, Thread, Times, Unit, merge_runs,
};
use perfblame_latency::{FOR_WORK, INSTANCES, SYSCALL};

use super::*;
use crate::{Ask, Diff, DiffQuery, Loaded, SuspectKind, diff};

/// A run as it is drawn, one context of a thread per line: `thread path what milliseconds`, where `what` is `runs`, `idle`
/// for waiting that is known to be for work, or a kind of wait, followed by the number of waits.
fn run(text: &str) -> Profile {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
    let mut time = |name: &str| builder.metric(Metric::exact(name, Unit::Nanoseconds));
    let (latency, waiting) = (time(LATENCY), time(WAITING));
    let kinds: Vec<(&str, MetricId)> = ["socket", "poll", "futex", "sleep", "file"]
        .map(|kind| (kind, time(&format!("{WAITING} on {kind}"))))
        .into();
    let instances = builder.metric(Metric::exact(INSTANCES, Unit::Count));
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [thread, path, what, value, more @ ..] = &*words else { panic!("{line}") };
        let name = builder.string(thread);
        let thread = Some(builder.thread(Thread::named(name)));
        let value = value.parse::<i64>().unwrap() * 1_000_000;
        let mut at = None;
        for word in path.split('/') {
            let frame = builder.named_frame(word, Layer::Application);
            at = Some(match at {
                Some(at) => builder.child(at, frame),
                None => builder.root(frame),
            });
        }
        let at = at.unwrap();
        match *what {
            "runs" => builder.add(at, thread, latency, value),
            "idle" => {
                let frame = builder.named_frame(FOR_WORK, Layer::Idle);
                let aside = builder.child(at, frame);
                builder.add(aside, thread, latency, value);
            }
            kind => {
                let (_, metric) = kinds.iter().find(|(name, _)| *name == kind).unwrap();
                for metric in [latency, waiting, *metric] {
                    builder.add(at, thread, metric, value);
                }
                let name = builder.string("clock_nanosleep");
                let component = builder.string(SYSCALL);
                let call = Function::named(name).in_component(component).in_layer(Layer::Kernel);
                let call = builder.function(call);
                let frame = builder.frame(perfblame_cct::Frame::of(call));
                let call = builder.child(at, frame);
                let calls = more.first().map_or(1, |count| count.parse().unwrap());
                builder.add(call, thread, instances, calls);
            }
        }
    }
    builder.finish()
}

/// Three runs of each side, alike but for a few percent.
fn compare(before: &str, after: &str) -> Diff {
    let side = |text: &str| {
        let runs = [100, 102, 99].map(|percent| {
            let line = |line: &str| {
                let scaled = |word: &str| match word.parse::<i64>() {
                    Ok(value) => (value * percent / 100).to_string(),
                    Err(_) => word.to_owned(),
                };
                line.split_whitespace().map(scaled).collect::<Vec<_>>().join(" ")
            };
            run(&text.lines().map(line).collect::<Vec<_>>().join("\n"))
        });
        Loaded { names: Vec::new(), runs: merge_runs(runs.into()) }
    };
    diff(&side(before), &side(after), &DiffQuery::default(), &Ask::default()).unwrap()
}

#[track_caller]
fn check(before: &str, after: &str, expected: &[(&str, SuspectKind)]) {
    let found = compare(before, after);
    let named = |suspect: &crate::Suspect| (suspect.function.name.clone(), suspect.kind);
    let suspects: Vec<_> = found.suspects.iter().map(named).collect();
    let expected: Vec<_> =
        expected.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
    assert_eq!(suspects, expected);
    assert_eq!(found.improvements, []);
}

/// All ways to wait for work, for one second and for four; a request became slower meanwhile.
#[test]
fn waiting_that_follows_the_length_of_the_recording_explains_nothing() {
    check(
        "main main/serve/handle runs 300
         main main/serve idle 700
         timer start/timer sleep 980 49
         timer start/timer runs 2
         replica start/replicate futex 1000
         feed start/follow socket 950
         feed start/follow runs 3
         reaper start/reap poll 990",
        "main main/serve/handle runs 900
         main main/serve idle 3100
         timer start/timer sleep 3920 196
         timer start/timer runs 8
         replica start/replicate futex 4000
         feed start/follow socket 3960
         feed start/follow runs 9
         reaper start/reap poll 3990",
        &[("handle", SuspectKind::Slower)],
    );
}

#[test]
fn a_thread_of_the_pool_that_sleeps_within_requests_is_found() {
    check(
        "main main/accept idle 1000
         pool start/loop/take idle 900
         pool start/loop/handle runs 100",
        "main main/accept idle 4000
         pool start/loop/take idle 2900
         pool start/loop/handle runs 100
         pool start/loop/handle/settle sleep 1000 50",
        &[("settle", SuspectKind::Waits)],
    );
}

/// A thread that sleeps all the time, and each time longer, is not a timer.
#[test]
fn longer_sleeps_are_found_where_more_of_them_are_not() {
    let before = "main main/compute runs 500
                  main main/compute file 500
                  back start/back sleep 950 95
                  back start/back runs 5";
    let after = |sleeps: u32| {
        format!(
            "main main/compute runs 500
             main main/compute file 3500
             back start/back sleep 3950 {sleeps}
             back start/back runs 5"
        )
    };
    let names = |found: &Diff| -> Vec<String> {
        let mut names: Vec<_> =
            found.suspects.iter().map(|suspect| suspect.function.name.clone()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&compare(before, &after(98))), ["back", "compute"]);
    assert_eq!(names(&compare(before, &after(395))), ["compute"]);
}

/// The thread that does the work of the program is late when it waits, however much it has always waited.
#[test]
fn who_does_the_work_does_not_wait_for_it() {
    check(
        "main main/fetch socket 900
         main main/compute runs 100
         timer start/timer sleep 990 49",
        "main main/fetch socket 3900
         main main/compute runs 100
         timer start/timer sleep 3960 198",
        &[("fetch", SuspectKind::Waits)],
    );
}

/// The thread that starts a program may have done most of its work when it begins to wait for clients.
#[test]
fn starting_a_server_is_not_serving() {
    check(
        "main main/start runs 200
         main main/serve poll 780
         main main/serve runs 2
         pool start/loop/take idle 700
         pool start/loop/handle runs 100",
        "main main/start runs 200
         main main/serve poll 3780 9
         main main/serve runs 5
         pool start/loop/take idle 3200
         pool start/loop/handle runs 600",
        &[("handle", SuspectKind::Slower)],
    );
    // The same without anybody else: it polls for answers.
    check(
        "main main/start runs 200
         main main/serve poll 780",
        "main main/start runs 200
         main main/serve poll 3780 9",
        &[("serve", SuspectKind::Waits)],
    );
}

/// In the short runs the thread came round too seldom to be recognised.
#[test]
fn what_waits_for_work_in_long_runs_does_so_in_short_ones() {
    check(
        "main main/work runs 500
         main main/serve futex 300
         main main/start runs 200",
        "main main/work runs 1500
         main main/serve idle 2300
         main main/start runs 200",
        &[("work", SuspectKind::Slower)],
    );
}

/// Waiting for a lock in the place where a thread also waits for work remains what it is.
#[test]
fn a_lock_in_the_same_place_is_found() {
    check(
        "main main/serve idle 1000
         pool start/loop/take idle 700
         pool start/loop/handle runs 300",
        "main main/serve idle 2000
         pool start/loop/take idle 900
         pool start/loop/take futex 800
         pool start/loop/handle runs 300",
        &[("take", SuspectKind::Waits)],
    );
}

/// Samples of a server by the clock, one per 10 ms: threads of its pool and its acceptor are hit wherever they wait.
#[test]
fn samples_by_the_clock_of_threads_without_work_explain_nothing() {
    let run = |idle: i64, work: i64| {
        let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
        let wall = builder.metric(Metric {
            period: Some(10_000_000),
            ..Metric::sampled("wall", Unit::Nanoseconds)
        });
        let mut add = |thread: &str, path: [&str; 3], samples: i64| {
            let name = builder.string(thread);
            let thread = Some(builder.thread(Thread::named(name)));
            let [root, middle, leaf] = path.map(|name| builder.named_frame(name, Layer::Library));
            let at = builder.root(root);
            let at = builder.child(at, middle);
            let at = builder.child(at, leaf);
            builder.add(at, thread, wall, samples * 10_000_000);
        };
        let park = "jdk.internal.misc.Unsafe.park";
        for thread in ["pool-1", "pool-2", "pool-3"] {
            add(thread, ["Worker.run", "Queue.take", park], idle);
        }
        add("main", ["Main.main", "Server.accept", "sun.nio.ch.Net.accept"], idle);
        add("http", ["Main.serve", "Main.handle", "Main.encode"], work);
        builder.finish()
    };
    let side = |idle: i64, work: i64| Loaded {
        names: Vec::new(),
        runs: merge_runs((0..3).map(|more| run(idle + more, work + more)).collect()),
    };
    let found =
        diff(&side(100, 50), &side(400, 150), &DiffQuery::default(), &Ask::default()).unwrap();
    let names: Vec<_> = found.suspects.iter().map(|one| one.function.name.as_str()).collect();
    assert_eq!(names, ["Main.encode"]);
    // Threads that wait all the time after, and did something else before, are another matter.
    let before = side(2, 50);
    let found = diff(&before, &side(400, 50), &DiffQuery::default(), &Ask::default()).unwrap();
    let names: Vec<_> = found.suspects.iter().map(|one| one.function.name.as_str()).collect();
    assert!(names.contains(&"jdk.internal.misc.Unsafe.park"), "{names:?}");
}

#[test]
fn nothing_is_lost_when_waiting_is_set_aside() {
    let text = "main main/work runs 500
                main main/serve idle 500
                timer start/timer sleep 990 49
                timer start/timer runs 10";
    let sets = Sides::of(|_| merge_runs(vec![run(text)]));
    let ids = Sides::same(MetricId::new(0));
    let place: Vec<NodeId> = sets.before.tree.nodes().collect();
    let traced = Traced::of(&sets.before, ids.before, &place);
    let run = &sets.before.runs[0];
    let moves: Vec<&Waiting> = traced.runs[0].waits.iter().collect();
    let settled = traced.without(&run.cells, &moves);
    assert_eq!(settled.total(ids.before), run.cells.total(ids.before));
    assert_eq!(settled.total(traced.waiting.unwrap()), 0);
}
