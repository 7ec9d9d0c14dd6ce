//! A front end that has neither files nor processes: bytes in, answers out, cancelled half-way.
//!
//! Everything here goes through the public functions of this crate, as a server or an editor would call them.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use perfblame_analysis::{
    Ask, AskError, Blame, ChangedSources, CodeChanges, CodeSource, CompareQuestion, DiffQuery,
    Hint, InferQuery, LinesQuery, LinesQuestion, Method, Part, Phase, ShowQuery, ShowQuestion,
    Sides, Source, Verdict, code_changes, compare, compare_with_tree, infer, show, show_lines,
};
use perfblame_changes::FileVersion;

const BEFORE: &str = "\
function parse(text) {
  return text.length;
}
function load(text) {
  return parse(text);
}
function main() {
  load('a');
}
";

const AFTER: &str = "\
function parse(text) {
  for (let i = 0; i < text.length; i++) {
    check(text[i]);
  }
  return text.length;
}
function load(text) {
  return parse(text);
}
function main() {
  load('a');
}
";

/// The profile of one run, as a profiler's upload would be: `main` calls `load`, which calls `parse`. Each frame has the
/// line that it is at.
fn upload(name: &str, [main, load, parse]: [u32; 3], cost: u32) -> Source {
    let frame = |name: &str, line: u32| {
        format!(r#"{{"name": "{name}", "file": "src/app.js", "line": {line}}}"#)
    };
    let frames = [frame("main", main), frame("load", load), frame("parse", parse)].join(", ");
    let text = format!(
        r#"{{"$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {{"frames": [{frames}]}},
        "profiles": [{{"type": "sampled", "name": "main", "unit": "milliseconds", "startValue": 0,
        "endValue": {end}, "samples": [[0, 1, 2], [0, 1], [0]], "weights": [{cost}, 40, 20]}}]}}"#,
        end = cost + 60
    );
    Source::bytes(name, text.into_bytes())
}

fn uploads() -> Sides<Vec<Source>> {
    let side = |name: &'static str, lines: [u32; 3], costs: [u32; 3]| {
        let run = move |(number, cost)| upload(&format!("{name} {number}"), lines, cost);
        (1..).zip(costs).map(run).collect()
    };
    Sides::new(
        side("before", [8, 5, 2], [100, 101, 102]),
        side("after", [11, 8, 3], [300, 301, 303]),
    )
}

fn sources() -> CodeSource {
    let version = |text: &str| {
        vec![FileVersion { path: "src/app.js".to_owned(), text: text.as_bytes().to_vec() }]
    };
    CodeSource::Files(Sides::new(version(BEFORE), version(AFTER)))
}

fn question() -> CompareQuestion {
    let code = code_changes(&sources(), Method::Suspects, &Ask::default()).unwrap();
    CompareQuestion { sources: uploads(), code, ..CompareQuestion::default() }
}

#[test]
fn uploads_are_compared_and_the_change_is_named() {
    let diff = compare(&question(), &Ask::default()).unwrap();
    assert_eq!(diff.verdict, Verdict::Regressed);
    assert_eq!(diff.before.inputs, ["before 1", "before 2", "before 3"]);
    let suspect = &diff.suspects[0];
    assert_eq!((&*suspect.function.name, suspect.delta.median.round()), ("parse", 200_333_333.0));
    let change = &suspect.changes[0];
    assert_eq!((&*change.function, &*change.file), ("parse", "src/app.js"));
    assert_eq!(change.why.as_deref(), Some("the function itself, with a new loop"));
    assert_eq!(suspect.changes.len(), 1, "nothing else changed");
}

/// A page needs the tree, and an editor the changes apart from the answer.
#[test]
fn attribution_leaves_the_comparison_as_it_is() {
    let alone = CompareQuestion { code: CodeChanges::default(), ..question() };
    let (diff, tree) = compare_with_tree(&alone, &Ask::default()).unwrap();
    let CodeSource::Files(files) = sources() else { unreachable!() };
    let sources = ChangedSources::of_files(files, &Ask::default()).unwrap();
    let found = sources.findings(&diff, &tree);
    assert!(diff.suspects.iter().all(|suspect| suspect.changes.is_empty()));
    assert_eq!(found.changes.len(), diff.suspects.len());
    assert_eq!(
        (found.attribution.finding, &*found.changes[0][0].function),
        (Blame::Explained, "parse")
    );
    assert_eq!(found.attribution.warning(), None);
}

#[test]
fn lines_of_an_upload_have_costs() {
    let question = LinesQuestion {
        sources: uploads().after,
        query: LinesQuery { file: "/home/me/src/app.js".to_owned(), ..LinesQuery::default() },
        ..LinesQuestion::default()
    };
    let costs = show_lines(&question, &Ask::default()).unwrap();
    let rows: Vec<_> = (costs.lines.iter())
        .map(|row| (row.line, row.cost.own / 1_000_000, row.cost.calls / 1_000_000))
        .collect();
    assert_eq!(rows, [(3, 904, 0), (8, 120, 904), (11, 60, 1_024)]);
}

/// Files as profilers write them; nothing is looked for next to them.
#[test]
fn files_of_profilers_can_be_uploads() {
    let node = include_bytes!("../../readers/samples/cpuprofile/node20.cpuprofile");
    let packed = include_bytes!("../../readers/samples/pprof/google-report-sample.cpu.pb.gz");
    for (bytes, busiest) in [(&node[..], "main"), (&packed[..], "")] {
        let sources = vec![Source::bytes("upload", bytes)];
        let question = ShowQuestion { sources, ..ShowQuestion::default() };
        let shown = show(&question, &Ask::default()).unwrap();
        assert_eq!(shown.summary.runs[0].name, "upload");
        assert!(shown.summary.samples > 0 && !shown.selection.profile.tree.is_empty());
        assert!(shown.summary.busiest.unwrap().function.name.contains(busiest));
    }
    let trace = include_bytes!("../../readers/samples/bpftrace_events/work.txt");
    let trace = Source::bytes("trace", &trace[..]);
    let inferred = infer(&[trace], InferQuery::default(), &Ask::default()).unwrap();
    assert!(inferred.events > 0 && !inferred.functions.is_empty());
}

/// Bytes are shared, not copied, when a source is cloned.
#[test]
fn clones_of_a_source_share_its_bytes() {
    let source = upload("run", [1, 2, 3], 100);
    let (Source::Bytes { bytes, .. }, Source::Bytes { bytes: clone, .. }) =
        (&source, &source.clone())
    else {
        unreachable!()
    };
    assert!(Arc::ptr_eq(bytes, clone));
}

/// Megabytes of stacks, so that reading takes many steps.
fn large() -> Vec<Source> {
    let mut text = String::new();
    for row in 0..60_000 {
        writeln!(text, "main;serve_{};handle_{};work_{row} {}", row % 7, row % 211, 1 + row % 5)
            .unwrap();
    }
    vec![Source::bytes("large", text.into_bytes())]
}

#[test]
fn a_question_is_cancelled_while_bytes_are_read() {
    let sources = Sides::new(large(), large());
    let total: u64 = sources.iter().flatten().filter_map(Source::size).sum();
    let question = CompareQuestion { sources, ..CompareQuestion::default() };
    let ask = Ask::watched(move |at| {
        if at.bytes > total / 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let error = compare(&question, &ask).unwrap_err();
    assert!(matches!(error, AskError::Cancelled), "{error}");
    assert_eq!((error.code(), error.hint()), ("cancelled", None));
    let read = ask.progress();
    assert_eq!(read.phase, Phase::Reading);
    assert!(read.bytes > total / 4 && read.bytes < total, "{} of {total} bytes", read.bytes);
}

/// Cancels when a phase begins, and says which phases began.
fn cancelled_at(phase: Phase) -> (Result<(), AskError>, Vec<Phase>) {
    let began = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&began);
    let ask = Ask::watched(move |at| {
        let mut seen = seen.lock().unwrap();
        if seen.last() != Some(&at.phase) {
            seen.push(at.phase);
        }
        if at.phase == phase { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let answer = code_changes(&sources(), Method::Suspects, &ask)
        .map_err(AskError::from)
        .and_then(|code| compare(&CompareQuestion { code, ..question() }, &ask).map(|_| ()));
    let began = began.lock().unwrap().clone();
    (answer, began)
}

#[test]
fn a_question_is_cancelled_between_its_phases() {
    let phases = [
        Phase::Code,
        Phase::Reading,
        Phase::Selecting,
        Phase::Identifying,
        Phase::Matching,
        Phase::Explaining,
        Phase::Attributing,
    ];
    for (row, phase) in phases.into_iter().enumerate() {
        let (answer, began) = cancelled_at(phase);
        assert_eq!(answer.unwrap_err().code(), "cancelled", "{phase:?}");
        assert_eq!(began, phases[..=row], "a phase began after the question was cancelled");
    }
}

#[test]
fn a_question_is_cancelled_while_contexts_are_matched() {
    for (method, phase) in
        [(Method::Suspects, Phase::Matching), (Method::Stages, Phase::Identifying)]
    {
        let question = CompareQuestion {
            sources: Sides::new(large(), large()),
            query: DiffQuery { method, ..DiffQuery::default() },
            ..CompareQuestion::default()
        };
        let looks = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&looks);
        // The first look is the beginning of the phase; the others come every few thousand contexts.
        let ask = Ask::watched(move |at| {
            if at.phase == phase && seen.fetch_add(1, Ordering::Relaxed) == 4 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert_eq!(compare(&question, &ask).unwrap_err().code(), "cancelled", "{method:?}");
        assert_eq!(ask.progress().phase, phase);
        // It ended there, and nothing else was begun.
        let looks = looks.load(Ordering::Relaxed);
        assert!((5..8).contains(&looks), "{method:?}: {looks} looks");
    }
}

/// One thread asks, another looks on and cancels.
#[test]
fn whoever_holds_a_clone_can_cancel() {
    let ask = Ask::default();
    let other = ask.clone();
    other.cancel();
    let question = ShowQuestion { sources: large(), ..ShowQuestion::default() };
    assert_eq!(show(&question, &ask).unwrap_err().code(), "cancelled");
    let lines = LinesQuestion { sources: large(), ..LinesQuestion::default() };
    assert_eq!(show_lines(&lines, &ask).unwrap_err().code(), "cancelled");
    let inferred = infer(&large(), InferQuery::default(), &ask);
    assert_eq!(inferred.unwrap_err().code(), "cancelled");
    assert_eq!(other.progress().bytes, 0);
}

#[test]
fn progress_counts_the_bytes_of_all_inputs() {
    let sources = uploads();
    let total: u64 = sources.iter().flatten().filter_map(Source::size).sum();
    let most = Arc::new(AtomicU64::default());
    let heard = Arc::clone(&most);
    let ask = Ask::watched(move |at| {
        heard.fetch_max(at.bytes, Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    compare(&CompareQuestion { sources, ..CompareQuestion::default() }, &ask).unwrap();
    // The first bytes are read twice: to recognise the format, and then with the rest.
    assert!(ask.progress().bytes >= total);
    assert_eq!(most.load(Ordering::Relaxed), ask.progress().bytes);
}

/// Errors are data; the words of a command line are not among them.
#[test]
fn errors_have_codes_and_hints() {
    let refused = |question: CompareQuestion| {
        let error = compare(&question, &Ask::default()).unwrap_err();
        assert!(!error.to_string().contains("--"), "{error}");
        (error.code(), error.hint())
    };
    let with = |query: DiffQuery| CompareQuestion { query, ..question() };
    let metric = DiffQuery { metric: Some("bytes".to_owned()), ..DiffQuery::default() };
    let known = Some(Hint::Metrics(vec!["wall".to_owned(), "samples".to_owned()]));
    assert_eq!(refused(with(metric)), ("unknown-metric", known));
    let work =
        DiffQuery { work: Some(Sides::new(vec![1.0, 2.0], vec![1.0])), ..DiffQuery::default() };
    assert_eq!(refused(with(work)), ("work-does-not-fit", Some(Hint::WorkOfEachRun)));
    let part = Part { root: Some("prase".to_owned()), ..Part::default() };
    let near = Some(Hint::DidYouMean(vec!["parse".to_owned()]));
    assert_eq!(refused(CompareQuestion { part, ..question() }), ("unknown-function", near));
    let noise = vec![Source::bytes("noise", *b"\x01\x02\x03 neither a profile nor a trace")];
    let noise = CompareQuestion { sources: Sides::same(noise), ..CompareQuestion::default() };
    assert_eq!(refused(noise), ("unknown-format", Some(Hint::ListFormats)));
    assert_eq!(refused(CompareQuestion::default()), ("no-input", None));
    let stdin =
        CompareQuestion { sources: Sides::same(vec![Source::Stdin]), ..CompareQuestion::default() };
    assert_eq!(refused(stdin), ("stdin-on-both-sides", Some(Hint::OneSideToFile)));
    let listed = CodeChanges { functions: Some(Vec::new()), ..CodeChanges::default() };
    let listed = CompareQuestion { code: listed, ..question() };
    assert_eq!(refused(listed), ("no-sources", Some(Hint::StagesOrSources)));
    let question = ShowQuestion {
        sources: uploads().before,
        query: ShowQuery { thread: Some("worker".to_owned()), ..ShowQuery::default() },
        ..ShowQuestion::default()
    };
    assert_eq!(show(&question, &Ask::default()).unwrap_err().code(), "unknown-thread");
}
