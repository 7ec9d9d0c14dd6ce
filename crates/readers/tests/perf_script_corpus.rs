//! Every `perf script` text of the corpus against the folded output of stackcollapse-perf and inferno.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod stackcollapse;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use perfblame_cct::{Grain, Profile};
use perfblame_fixtures::{corpus, corpus_files};
use perfblame_readers::{Input, ReadOptions, detect, read};
use stackcollapse::{Folded, Options, fold, parse};

/// Deliberate difference: these texts do not end in an empty line; theirs drops the last sample, we keep it. The other
/// differences are the arms of [`our_names`] and [`our_name`].
const LAST_SAMPLE: &[&str] = &[
    "perf-dd-stacks-01",
    "perf-iperf-stacks-pidtid-01",
    "perf-java-stacks-01",
    "perf-mirageos-stacks-01",
    "perf-numa-stacks-01",
    "perf-vertx-stacks-01",
];

/// Texts that print the period of each sample.
const PRINTS_PERIODS: &[&str] = &[
    "perf-dd-stacks-01",
    "perf-java-faults-01",
    "perf-rust-Yamakaky-dcpu",
    "inferno-cpp-stacks-std-function",
    "inferno-go-stacks",
    "inferno-java-inline",
    "inferno-single-event",
    "inferno-sourcepawn-jitdump",
    "inferno-versioned-vmlinux",
];

/// Samples, i.e. lines that begin one, as the corpus' manifest counts them.
const SAMPLES: &[(&str, u64)] = &[
    ("gprof2dot-glxgears.perf.gz", 1401),
    ("gprof2dot-issue28.perf", 14),
    ("inferno-cpp-stacks-std-function.txt", 46),
    ("inferno-empty-line.txt", 2),
    ("inferno-go-stacks.txt", 5),
    ("inferno-java-inline.txt", 22),
    ("inferno-single-event.txt", 1),
    ("inferno-single-line-stacks.txt", 2),
    ("inferno-sourcepawn-jitdump.txt", 1),
    ("inferno-versioned-vmlinux.txt", 1),
    ("inferno-weird-stack-line.txt", 2),
    ("perf-cycles-instructions-01.txt.gz", 444),
    ("perf-dd-stacks-01.txt.gz", 11),
    ("perf-funcab-cmd-01.txt.gz", 169),
    ("perf-funcab-pid-01.txt.gz", 228),
    ("perf-iperf-stacks-pidtid-01.txt.gz", 201),
    ("perf-java-faults-01.txt.gz", 23),
    ("perf-java-stacks-01.txt.gz", 46),
    ("perf-js-stacks-01.txt.gz", 2),
    ("perf-mirageos-stacks-01.txt.gz", 53),
    ("perf-numa-stacks-01.txt.gz", 200),
    ("perf-rust-Yamakaky-dcpu.txt.gz", 58),
    ("perf-vertx-stacks-01.txt.gz", 286),
    ("perfview-corner_case_process_names.perf.data.dump", 6),
    ("perfview-disk_io_no_stacks.perf.data.dump", 4),
    ("perfview-mixed_switches.perf.data.dump", 5),
    ("perfview-no_stack_frames2.perf.data.dump", 1),
    ("perfview-notimeblocked_induced.perf.data.dump", 3),
    ("perfview-one_complete_switch.perf.data.dump", 2),
    ("perfview-one_complete_switch_format2.perf.data.dump", 2),
    ("perfview-one_induced_switch.perf.data.dump", 3),
    ("perfview-one_wakeup.perf.data.dump", 2),
    ("perfview-sched-tracepoints.perf-script.txt.gz", 602),
    ("perfview-space_sep_command.perf.data.dump", 1),
    ("perfview-twodifferentlongstacks.perf.data.dump", 2),
    ("speedscope-forks.linux-perf.txt.gz", 561),
    ("speedscope-rust-mangled.linux-perf.txt.gz", 96),
    ("speedscope-simple-with-header.linux-perf.txt.gz", 136),
    ("speedscope-system-wide.linux-perf.txt.gz", 556),
];

fn open(path: &Path) -> Profile {
    let input = Input::open(path).unwrap();
    assert_eq!(detect(&input).map(|format| format.name), Some("perf script"), "{}", path.display());
    read(input, &ReadOptions { grain: Grain::Frames, ..ReadOptions::default() }).unwrap()
}

fn text_of(path: &Path) -> String {
    let mut text = String::new();
    let input = Input::open(path).unwrap();
    input.into_stream().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn every_sample_is_read() {
    for path in corpus_files("perf-script") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let profile = open(&path);
        let expected = SAMPLES.iter().find(|(file, _)| *file == name).map(|(_, samples)| *samples);
        assert_eq!(Some(profile.samples), expected, "{name}");
        let warned: Vec<_> = profile.warnings.iter().map(|w| (w.code.as_str(), w.count)).collect();
        let odd: &[_] = if name.contains("weird") { &[("damaged-lines", 1)] } else { &[] };
        assert_eq!(warned, odd, "{name}");
    }
}

#[test]
fn folded_output_equals_the_expected_files() {
    let Some(corpus) = corpus() else { return };
    let mut compared = 0;
    for path in corpus_files("perf-script") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let stem = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".txt").unwrap_or(name);
        for option in ["", "-all", "-pid", "-tid", "-kernel", "-jit", "-addrs"] {
            let file = format!("{stem}-collapsed{option}.txt");
            let folder = corpus.join("perf-script/expected");
            let Some(expected) = [folder.join(format!("{file}.gz")), folder.join(&file)]
                .into_iter()
                .find(|path| File::open(path).is_ok())
            else {
                continue;
            };
            compared += 1;
            check(&path, stem, option, &text_of(&expected));
        }
    }
    assert_eq!(compared, 79);
}

fn check(path: &Path, stem: &str, option: &str, expected: &str) {
    let profile = open(path);
    let options = Options {
        pid: option == "-pid",
        tid: option == "-tid",
        kernel: matches!(option, "-all" | "-kernel"),
        jit: matches!(option, "-all" | "-jit"),
        addresses: option == "-addrs",
    };
    let (mut ours, sample) = ours(&profile, stem, options);
    let mut theirs = Folded::new();
    for (stack, count) in parse(expected) {
        *theirs.entry(our_names(&stack)).or_default() += count;
    }
    if stem == "perf-vertx-stacks-01" && options.addresses {
        // Frames without a symbol have an address here and a blank there.
        ours = without_libc_addresses(&ours);
        theirs = without_libc_addresses(&theirs);
    }
    let mut differences = Vec::new();
    for stack in ours.keys().chain(theirs.keys()).collect::<std::collections::BTreeSet<_>>() {
        let (we, they) = (ours.get(stack).copied(), theirs.get(stack).copied());
        if we != they {
            differences.push((stack.as_str(), we.unwrap_or(0) - they.unwrap_or(0)));
        }
    }
    if LAST_SAMPLE.contains(&stem) {
        assert_eq!(differences.len(), 1, "{stem}{option}: {differences:#?}");
        assert_eq!(differences[0].1, sample, "{stem}{option}: {differences:#?}");
    } else {
        assert!(differences.is_empty(), "{stem}{option}: {differences:#?}");
    }
}

fn without_libc_addresses(folded: &Folded) -> Folded {
    let mut out = Folded::new();
    for (stack, count) in folded {
        let frames = stack.split(';').map(|frame| {
            if frame.starts_with("[libc-2.15.so <") { "[libc-2.15.so]" } else { frame }
        });
        *out.entry(frames.collect::<Vec<_>>().join(";")).or_default() += count;
    }
    out
}

/// Our folded stacks in the values theirs has, and the value of one sample: theirs sums the periods that the text
/// prints, counts samples where it prints none, and keeps the first of several events.
fn ours(profile: &Profile, stem: &str, options: Options) -> (Folded, i64) {
    if stem == "perf-cycles-instructions-01" {
        // The comments give every sample a period of 100 million.
        let metric = profile.metric("instructions").unwrap();
        let mut folded = fold(profile, metric, options);
        for value in folded.values_mut() {
            *value /= 100_000_000;
        }
        return (folded, 1);
    }
    if PRINTS_PERIODS.contains(&stem) {
        assert_eq!(profile.metrics.len(), 2, "{stem}");
        let period = profile.metrics[0].period.unwrap_or(1);
        return (fold(profile, perfblame_cct::MetricId::new(0), options), period);
    }
    (fold(profile, profile.metric("samples").unwrap(), options), 1)
}

/// Their names in our words. Each arm is a deliberate difference.
fn our_names(stack: &str) -> String {
    let frames = stack.split(';').map(|frame| {
        let mark =
            ["_[k]", "_[j]", "_[i]"].into_iter().find(|mark| frame.ends_with(mark)).unwrap_or("");
        let name = frame.strip_suffix(mark).unwrap_or(frame);
        format!("{}{mark}", our_name(name))
    });
    frames.collect::<Vec<_>>().join(";").replace(
        // Code of eBPF programs runs in the kernel; inferno goes by the binary's name alone.
        "bpf_prog_2b956549c660136a_uni_l4lb",
        "bpf_prog_2b956549c660136a_uni_l4lb_[k]",
    )
}

fn our_name(name: &str) -> String {
    // A script's function is its name; file, line and compiler are kept beside it.
    if let Some(rest) = name.strip_prefix("LazyCompile:") {
        let rest = rest.trim_start_matches(['~', '*']);
        return rest.rsplit_once(' ').unwrap().0.to_owned();
    }
    // Java methods read `java.io.PrintStream.println`, as in every other format.
    // Theirs strips the `L` only from classes within a package, and only where the process is called just `java`.
    let class =
        name.strip_prefix('L').filter(|rest| rest.contains('/') || rest.starts_with("Counter:"));
    let name = class.unwrap_or(name);
    let separators: &[_] =
        if name.starts_with("com/") { &[":::", ":.", "::"] } else { &[":::", ":."] };
    for separator in separators {
        if let Some((class, method)) = name.split_once(*separator) {
            return format!("{}.{method}", class.replace('/', "."));
        }
    }
    if name.starts_with("org/mozilla/javascript/gen/") {
        return name.replace('/', ".");
    }
    // The perf map's name differs in every run.
    if name.starts_with("[perf-") {
        let address = name
            .split_once(" <")
            .map_or(String::new(), |(_, rest)| format!(" <{}", &rest[..rest.len() - 1]));
        return format!("[[JIT]{address}]");
    }
    // Rust names that old `perf` demangled half way are finished.
    if let Some((path, hash)) = name.rsplit_once("::h")
        && hash.len() == 16
    {
        let mut path = format!("::{path}").replace("::_$", "::$").split_off(2).replace("..", "::");
        for (escape, sign) in [
            ("$LT$", "<"),
            ("$GT$", ">"),
            ("$C$", ","),
            ("$RF$", "&"),
            ("$u20$", " "),
            ("$u7b$", "{"),
            ("$u7d$", "}"),
            ("$u27$", "'"),
            ("$u5b$", "["),
            ("$u5d$", "]"),
            ("$BP$", "*"),
            ("$LP$", "("),
            ("$RP$", ")"),
        ] {
            path = path.replace(escape, sign);
        }
        return stackcollapse::tidy(&path);
    }
    // C++ and Rust names are demangled.
    if name.starts_with("_Z") || name.starts_with("_R") {
        return stackcollapse::tidy(&perfblame_native::demangle(name));
    }
    // An empty symbol is one that is not known; theirs prints a blank. Only one binary of the corpus has such.
    if name == " " {
        return "[libc-2.15.so]".to_owned();
    }
    // inferno finishes them too, but for an underscore.
    name.replace("::_{{closure}}", "::{{closure}}")
}
