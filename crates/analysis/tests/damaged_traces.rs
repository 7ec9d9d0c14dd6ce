//! Recordings and logs of the operating system that are not as they should be: cut off, mixed up, with events lost.
//! What is wrong is counted in a warning, and the rest gives the answer it gives alone.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use perfblame_analysis::{
    Ask, AskError, FunctionLatency, Hint, InferQuery, Inferred, Source, infer,
};
use perfblame_fixtures::samples;
use perfblame_readers::Input;

fn infer_bytes(bytes: &[u8]) -> Inferred {
    try_infer(bytes).unwrap()
}

fn infer_error(bytes: &[u8]) -> String {
    let AskError::Load(error) = try_infer(bytes).unwrap_err() else { panic!("it was not read") };
    error.kind.to_string()
}

fn try_infer(bytes: &[u8]) -> Result<Inferred, AskError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder =
        std::env::temp_dir().join(format!("perfblame-damaged-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // The recorded program lies beside its recording: readers look there, whatever else this machine has.
    std::fs::copy(samples().join("perf-data/work"), folder.join("work")).unwrap();
    let path = folder.join("trace");
    std::fs::write(&path, bytes).unwrap();
    let answer = infer(&[Source::File(path)], InferQuery::default(), &Ask::default());
    std::fs::remove_dir_all(&folder).unwrap();
    answer
}

fn warnings(answer: &Inferred) -> Vec<(&str, u64)> {
    answer.warnings.iter().map(|warning| (warning.code.as_str(), warning.count)).collect()
}

fn total(answer: &Inferred) -> i64 {
    answer.running + answer.waiting + answer.queued + answer.idle
}

/// A real recording of two rounds of a program that reads and naps, taken apart into its records.
#[derive(Clone)]
struct Recording {
    header: Vec<u8>,
    records: Vec<Vec<u8>>,
    /// What follows the records: a table of sections, and these.
    sections: Vec<u8>,
}

const SAMPLE: u32 = 9;
const LOST: u32 = 2;
const LOST_SAMPLES: u32 = 13;
const FINISHED_ROUND: u32 = 68;

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn record(kind: u32, body: &[u8]) -> Vec<u8> {
    let size = 8 + body.len() as u16;
    [&kind.to_le_bytes()[..], &[0, 0], &size.to_le_bytes(), body].concat()
}

fn is_sample(record: &[u8]) -> bool {
    record[..4] == SAMPLE.to_le_bytes()
}

impl Recording {
    fn load() -> Self {
        let path = samples().join("perf-data/os.perf.data.gz");
        let bytes = Input::open(&path).unwrap().read_all().unwrap();
        let (start, size) = (word(&bytes, 40) as usize, word(&bytes, 48) as usize);
        let mut rest = &bytes[start..start + size];
        let mut records = Vec::new();
        while !rest.is_empty() {
            let size = usize::from(u16::from_le_bytes([rest[6], rest[7]]));
            records.push(rest[..size].to_vec());
            rest = &rest[size..];
        }
        let sections = bytes[start + size..].to_vec();
        Self { header: bytes[..start].to_vec(), records, sections }
    }

    fn bytes(&self) -> Vec<u8> {
        let (mut header, mut sections) = (self.header.clone(), self.sections.clone());
        let records = self.records.concat();
        let moved = (records.len() as u64).wrapping_sub(word(&header, 48));
        header[48..56].copy_from_slice(&(records.len() as u64).to_le_bytes());
        // The table has a row for each bit that is set.
        let rows: u32 = header[72..104].iter().map(|byte| byte.count_ones()).sum();
        for row in 0..rows as usize {
            let offset = word(&sections, row * 16).wrapping_add(moved);
            sections[row * 16..row * 16 + 8].copy_from_slice(&offset.to_le_bytes());
        }
        [header, records, sections].concat()
    }

    fn infer(&self) -> Inferred {
        infer_bytes(&self.bytes())
    }

    /// Where the samples are among the records.
    fn samples(&self) -> Vec<usize> {
        let rows = self.records.iter().enumerate();
        rows.filter(|(_, record)| is_sample(record)).map(|(row, _)| row).collect()
    }

    /// A record of the kernel's that was written when sample `row` was.
    fn beside(&self, row: usize, kind: u32, fields: &[u64]) -> Vec<u8> {
        // Address, thread, time, identifier; behind other records: thread, time, identifier, processor.
        let sample = &self.records[row];
        let [thread, time, identifier] = [16, 24, 32].map(|at| word(sample, at));
        let words = fields.iter().copied().chain([thread, time, identifier, 0]);
        record(kind, &words.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())
    }
}

fn functions(answer: &Inferred) -> &[FunctionLatency] {
    &answer.functions
}

#[test]
fn a_recording_is_read_in_the_order_of_time() {
    let whole = Recording::load();
    let right = whole.infer();
    assert_eq!((right.events, right.threads, warnings(&right)), (38, 1, vec![]));
    assert!(total(&right) > 0);
    let mut mixed = whole.clone();
    let rows = whole.samples();
    for (at, row) in rows.iter().enumerate() {
        let other = rows[rows.len() - 1 - at];
        mixed.records[*row].clone_from(&whole.records[other]);
    }
    let answer = mixed.infer();
    assert_eq!(functions(&answer), functions(&right));
    assert_eq!((answer.events, warnings(&answer)), (38, vec![]));
}

#[test]
fn an_event_that_comes_rounds_too_late_is_counted() {
    let whole = Recording::load();
    let rows = whole.samples();
    let (early, late) = (rows[10], rows[30]);
    let mut without = whole.clone();
    let sample = without.records.remove(early);
    let mut mixed = without.clone();
    // What was read up to the end of one round is in order by the end of the next.
    mixed
        .records
        .splice(late..late, [record(FINISHED_ROUND, &[]), record(FINISHED_ROUND, &[]), sample]);
    let answer = mixed.infer();
    assert_eq!(warnings(&answer), [("late-events", 1)]);
    assert_eq!(functions(&answer), functions(&without.infer()));
}

#[test]
fn threads_of_a_recording_do_not_disturb_each_other() {
    let one = Recording::load();
    let mut both = one.clone();
    both.records.clear();
    for record in &one.records {
        both.records.push(record.clone());
        if is_sample(record) {
            let mut other = record.clone();
            let tid = u32::from_le_bytes(other[20..24].try_into().unwrap()) + 1;
            other[20..24].copy_from_slice(&tid.to_le_bytes());
            both.records.push(other);
        }
    }
    let (single, answer) = (one.infer(), both.infer());
    assert_eq!((answer.threads, answer.events), (2, 76));
    assert_eq!(total(&answer), 2 * total(&single));
    assert_eq!(answer.functions[0].own, 2 * single.functions[0].own);
    assert_eq!(warnings(&answer), []);
}

#[test]
fn lost_events_of_a_recording_are_counted_and_nothing_is_made_up() {
    let whole = Recording::load();
    let rows = whole.samples();
    let mut halves = [whole.clone(), whole.clone()];
    let (before, gap, after) = (rows[20], rows[30], rows[31]);
    halves[0]
        .records
        .retain(|record| !is_sample(record) || whole.records[..=before].contains(record));
    halves[1]
        .records
        .retain(|record| !is_sample(record) || whole.records[after..].contains(record));
    let parts: i64 = halves.iter().map(|half| total(&half.infer())).sum();
    for (kind, fields) in [(LOST, &[0, 10][..]), (LOST_SAMPLES, &[10])] {
        let lost = whole.beside(gap, kind, fields);
        let mut holed = whole.clone();
        holed.records.splice(before + 1..after, [lost]);
        let answer = holed.infer();
        assert_eq!(warnings(&answer), [("lost-events", 10)], "{kind}");
        assert_eq!((answer.events, total(&answer)), (28, parts), "{kind}");
    }
}

/// Where the records of a recording from a pipe start, and where each of them ends.
fn ends(bytes: &[u8]) -> Vec<usize> {
    const TRACING_DATA: u32 = 66;
    let mut at = 16;
    let mut ends = vec![at];
    while at + 8 <= bytes.len() {
        let size = usize::from(u16::from_le_bytes([bytes[at + 6], bytes[at + 7]]));
        let tracing = bytes[at..at + 4] == TRACING_DATA.to_le_bytes();
        let more = if tracing { (word(bytes, at + 8) as u32).next_multiple_of(8) } else { 0 };
        at += size + more as usize;
        ends.push(at);
    }
    ends
}

#[test]
fn a_recording_that_is_cut_off_counts_as_far_as_it_goes() {
    let path = samples().join("perf-data/os.pipe.perf.data.gz");
    let bytes = Input::open(&path).unwrap().read_all().unwrap();
    let whole = infer_bytes(&bytes);
    assert_eq!(warnings(&whole), []);
    let samples: Vec<usize> = ends(&bytes)
        .into_iter()
        .filter(|at| bytes.get(*at..).is_some_and(|rest| rest.len() > 8 && is_sample(rest)))
        .collect();
    let cut = samples[samples.len() / 2];
    let right = infer_bytes(&bytes[..cut]);
    // The file ends within the record behind.
    let answer = infer_bytes(&bytes[..cut + 20]);
    assert_eq!(warnings(&answer), [("truncated", 1)]);
    assert_eq!(answer.events, samples.len() as u64 / 2);
    assert!(answer.events < whole.events && total(&answer) > 0);
    assert_eq!((functions(&answer), total(&answer)), (functions(&right), total(&right)));
}

#[test]
fn a_recording_that_ends_before_the_names_of_its_events_says_so() {
    let whole = Recording::load();
    let end = whole.header.len() + whole.records.concat().len() / 2;
    let error = infer_error(&whole.bytes()[..end]);
    assert!(error.contains("cut off before the names of its events"), "{error}");
}

/// A call as `strace -f -ttt -T -k` logs it.
fn call(pid: u32, micros: u32, name: &str, took: u32, caller: &str) -> String {
    format!(
        "{pid} 1700000000.{micros:06} {name}(3) = 0 <0.{took:06}>\n \
         > /lib/libc.so.6({name}+0x10) [0x7f10]\n > /bin/app({caller}+0x20) [0x4010]\n \
         > /bin/app(main+0x20) [0x4020]\n"
    )
}

fn log() -> Vec<String> {
    let mut calls = Vec::new();
    for round in 0..10 {
        calls.push(call(7, round * 20_000 + 1_000, "read", 2_000, "load"));
        calls.push(call(7, round * 20_000 + 5_000, "clock_nanosleep", 9_000, "pause_a_while"));
    }
    calls
}

#[test]
fn logs_out_of_order_are_put_in_order() {
    let right = infer_bytes(log().concat().as_bytes());
    assert_eq!((right.events, warnings(&right)), (40, vec![]));
    assert_eq!(right.functions[0].function.name, "pause_a_while");
    assert_eq!(right.waiting, 90_000_000);
    let mut mixed = log();
    mixed.reverse();
    let answer = infer_bytes(mixed.concat().as_bytes());
    assert_eq!(functions(&answer), functions(&right));
    assert_eq!(warnings(&answer), []);
}

#[test]
fn calls_in_two_halves_are_whole_and_threads_keep_apart() {
    let right = infer_bytes(log().concat().as_bytes());
    let mut mixed = String::new();
    for (row, call) in log().iter().enumerate() {
        // The other thread calls while this one is in its call; one half in two has no duration of its own.
        let (first, stack) = call.split_once('\n').unwrap();
        let (begin, result) = first.split_once(") = ").unwrap();
        let start: u32 = begin[13..19].parse().unwrap();
        let took: u32 = result[5..11].parse().unwrap();
        let name = &begin[20..begin.find('(').unwrap()];
        let _ = write!(mixed, "{begin} <unfinished ...>\n{}", call.replacen('7', "8", 1));
        let end = start + took;
        let result = if row % 2 == 0 { "0" } else { result };
        let _ = write!(mixed, "7 1700000000.{end:06} <... {name} resumed>) = {result}\n{stack}");
    }
    let answer = infer_bytes(mixed.as_bytes());
    assert_eq!((answer.threads, answer.events, warnings(&answer)), (2, 80, vec![]));
    assert_eq!((answer.waiting, total(&answer)), (2 * right.waiting, 2 * total(&right)));
}

#[test]
fn logs_that_are_cut_off_count_as_far_as_they_go() {
    let whole = log();
    let right = infer_bytes(whole[..11].concat().as_bytes());
    // Within a line; with a call that does not come back; with half a stack of the last call.
    let front = whole[..11].concat();
    let damaged = format!("{front}{}", &whole[11][..30]);
    let open = format!("{front}7 1700000000.105000 clock_nanosleep(3 <unfinished ...>\n");
    for (text, code) in [(damaged, "damaged-lines"), (open, "unfinished-calls")] {
        let answer = infer_bytes(text.as_bytes());
        assert_eq!(warnings(&answer), [(code, 1)]);
        assert_eq!(functions(&answer), functions(&right));
    }
}

/// The texts of other tracers, of a program that twice naps 3 and 6 ms.
#[test]
fn texts_of_tracers_say_where_a_program_naps() {
    // The program is static: how it waits is its own code.
    let named = &["main", "parse", "store"][..];
    for (file, first, others) in [
        ("perf_trace/work.txt", "__clock_nanosleep", named),
        ("bpftrace_events/work.txt", "clock_nanosleep", named),
        ("ftrace/trace_pipe.txt", "[work+0x56a03]", &["[work+0x693]", "[work+0x6b1]"]),
        // Nothing but addresses of the program: what is left is how the kernel naps.
        ("ftrace/trace-cmd-report.txt", "do_nanosleep", &[]),
    ] {
        let answer = infer_bytes(&std::fs::read(samples().join(file)).unwrap());
        assert_eq!(answer.functions[0].function.name, first, "{file}");
        for other in others {
            let known = answer.tree.functions.iter().any(|function| function.name == *other);
            assert!(known, "{file}: {other}");
        }
        assert!(answer.waiting > answer.running, "{file}");
        let known = [
            // perf itself met events out of order, and lost the end of a call by that.
            "calls-without-duration",
            "unfinished-calls",
            "events-without-time",
            "frames-without-object",
            "broken-stacks",
        ];
        let serious = answer.warnings.iter().filter(|warning| !known.contains(&&*warning.code));
        assert_eq!(serious.count(), 0, "{file}: {:?}", answer.warnings);
    }
}

#[test]
fn texts_without_stacks_say_what_to_record_instead() {
    for (text, help) in [
        ("7 1700000000.000001 read(3) = 0 <0.000001>\n", "strace -f -ttt -T -k"),
        ("     0.320 ( 0.040 ms): app/7 brk() = 0\n", "perf trace --call-graph"),
        ("app-7 [001] ..... 4.5: sys_exit: NR 1 = 2\n", "options/userstacktrace"),
        ("event 1 7/7 sys_enter 0 app\n", "ustack(perf)"),
        ("@[\n    vfs_read+1\n]: 5\n", "docs/os-events.bt"),
    ] {
        let hint = match try_infer(text.as_bytes()).unwrap_err().hint() {
            Some(Hint::Words(hint)) => hint,
            Some(Hint::RecordTrace(Some(hint))) => hint.to_owned(),
            hint => panic!("{hint:?}"),
        };
        assert!(hint.contains(help), "{hint}");
    }
}
