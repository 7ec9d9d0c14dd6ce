//! The trees that runs are made over: real profiles of many producers.
//!
//! A format keeps less than another, so each profile is written and read once per format, and what comes back is the
//! tree to plant in: then every name the generator knows is a name that files can carry. A pair of profile and format
//! that does not come back the same the second time is left out.

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use perfblame_analysis::{Ask, LoadOptions, Loaded, expand, load};
use perfblame_cct::Times;

use crate::files::{self, FileFormat};
use crate::noise::RunOf;
use crate::program::Program;
use crate::random::Random;

/// Profiles of the corpus.
const CORPUS: &[&str] = &[
    "cpuprofile/chrome65-sucrase.cpuprofile.gz",
    "cpuprofile/devtools-node-fibonacci-website.cpuprofile.gz",
    "chrome-trace/devtools-react-console-timestamp.json.gz",
    "chrome-trace/devtools-web-dev-initial-url.json.gz",
    "chrome-trace/devtools-basic-stack.json.gz",
    "chrome-trace/devtools-user-timings-overlaps.json.gz",
    "jfr/cortex-dev-01__kafka-0__cpu__0.jfr.gz",
    "jfr/event-with-type-zero.jfr.gz",
    "jfr/example.jfr.gz",
    "jfr/object-allocation-sample.jfr.gz",
    "jfr/jifa-jfr.jfr.gz",
    "perf-script/gprof2dot-glxgears.perf.gz",
    "perf-script/perf-vertx-stacks-01.txt.gz",
    "perf-data/perf.data.callgraph-3.8.gz",
    "pprof/parca-fgprof.pb.gz",
    "pprof/parca-fib.pb.gz",
    "pprof/google-gobench.cpu",
    "pprof/parca-alloc_objects.pb.gz",
    "collapsed/inferno-async-profiler-part.txt",
    "firefox/ffprofiler-ancient-cleopatra.sps.json.gz",
    "firefox/firefox79-webpack.json.gz",
    "other/ffprofiler-simpleperf-task-clock.trace.gz",
    "other/gprof2dot-memtrail.pstats",
    "other/gprof2dot-jdbc.hprof.txt.gz",
];

/// Samples that come with the project; they stand in where the corpus is absent.
const SAMPLES: &[&str] = &[
    "jfr/async-profiler-4.5-mixed.jfr.gz",
    "jfr/async-profiler-2.9-wall.jfr.gz",
    "otlp/profile.otlp",
    "pprof/google-report-sample.cpu.pb.gz",
    "ghc/speedscope-haskell-simple.prof",
    "firefox/firefox63-simple.json.gz",
    "v8-log/node8-isolate-v8.log.gz",
    "pyinstrument/hatchet.json.gz",
    "instruments/instruments-16.0-simple-time-profile-deep-copy.txt",
    "cpuprofile/node20.cpuprofile",
];

/// The least and the most contexts of a tree.
const CONTEXTS: std::ops::RangeInclusive<usize> = 40..=20_000;

/// No function may have more of the whole than this in the tree to plant in: where a program only waits, nothing could
/// be measured.
const MOST: f64 = 0.3;

/// A real profile, once for each format.
pub struct Base {
    /// Where it is from, short.
    pub name: String,
    program: Program,
    formats: [OnceLock<Option<Program>>; FileFormat::ALL.len()],
}

/// Where base trees come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// The corpus where there is one, samples of the project otherwise.
    Anywhere,
    /// Samples of the project.
    Samples,
}

/// The base trees there are.
pub fn bases(from: From) -> Result<Vec<Base>> {
    let corpus = (from == From::Anywhere).then(perfblame_fixtures::corpus).flatten();
    let (folder, names) = match corpus {
        Some(corpus) => (corpus, CORPUS),
        None => (perfblame_fixtures::samples(), SAMPLES),
    };
    let mut bases = Vec::new();
    for name in names {
        let path = folder.join(name);
        let Ok(loaded) = load_files(&path) else { continue };
        let program = tamed(Program::of(&loaded));
        if CONTEXTS.contains(&program.nodes.len()) {
            bases.push(Base { name: (*name).to_owned(), program, formats: Default::default() });
        }
    }
    if bases.is_empty() {
        bail!("no base tree could be read from {}", folder.display());
    }
    Ok(bases)
}

impl Base {
    /// The tree as this format has it; none when the format changes it again and again.
    pub fn program(&self, format: FileFormat) -> Option<&Program> {
        // V8's files know scripts: whatever has none is V8's own code there, which is never blamed.
        let scripts = ["cpuprofile/", "chrome-trace/", "v8-log/", "firefox/"];
        let of_scripts = scripts.iter().any(|folder| self.name.starts_with(folder));
        if format == FileFormat::Cpuprofile && !of_scripts {
            return None;
        }
        let slot = &self.formats[format as usize];
        slot.get_or_init(|| {
            let first = round_trip(&self.program, format).ok()?;
            let second = round_trip(&first, format).ok()?;
            (same(&first, &second) && CONTEXTS.contains(&first.nodes.len())).then_some(first)
        })
        .as_ref()
    }
}

/// What any command of perfblame would load.
pub fn load_files(path: &Path) -> Result<Loaded> {
    let sources = expand(&[PathBuf::from(path)]).context("sources")?;
    // One of the methods goes by the order of calls, for which the command line keeps times.
    let options = LoadOptions { times: Times::Keep, ..LoadOptions::default() };
    load(&sources, options, &Ask::default()).with_context(|| path.display().to_string())
}

fn round_trip(program: &Program, format: FileFormat) -> Result<Program> {
    let folder = crate::scratch::Scratch::new()?;
    let path = folder.path().join(format!("base.{}", format.extension()));
    let total: f64 = program.nodes.iter().map(|node| node.weight).sum();
    let samples = |weight: f64| {
        if weight > 0.0 { (weight / total * 200_000.0).ceil() as u64 } else { 0 }
    };
    let run = RunOf {
        parent: program.nodes.iter().map(|node| node.parent).collect(),
        order: program.preorder(),
        samples: program.nodes.iter().map(|node| samples(node.weight)).collect(),
        period: 1_000_000,
    };
    files::write(&path, format, program, &run, &mut Random::named(0, "base"))?;
    Ok(tamed(Program::of(&load_files(&path)?)))
}

/// True when both have the same contexts; a format may list them in another order.
fn same(first: &Program, second: &Program) -> bool {
    let contexts = |program: &Program| {
        let mut ids = vec![0u64; program.nodes.len()];
        for node in program.preorder() {
            let mut hasher = std::hash::DefaultHasher::new();
            program.nodes[node].parent.map(|parent| ids[parent]).hash(&mut hasher);
            program.function_of(node).hash(&mut hasher);
            ids[node] = hasher.finish();
        }
        ids.sort_unstable();
        ids
    };
    contexts(first) == contexts(second)
}

/// The tree with no function above [`MOST`] of the whole. What is cut from one makes the part of the next larger, so it
/// takes a few rounds.
fn tamed(mut program: Program) -> Program {
    for _ in 0..50 {
        let total: f64 = program.nodes.iter().map(|node| node.weight).sum();
        let mut own = vec![0.0; program.functions.len()];
        for node in &program.nodes {
            own[node.function] += node.weight;
        }
        let heaviest = (0..own.len()).max_by(|a, b| own[*a].total_cmp(&own[*b]).then(b.cmp(a)));
        let Some(heaviest) = heaviest.filter(|function| own[*function] > 1.001 * MOST * total)
        else {
            break;
        };
        let most = (total - own[heaviest]) * MOST / (1.0 - MOST);
        for node in program.nodes.iter_mut().filter(|node| node.function == heaviest) {
            node.weight *= most / own[heaviest];
        }
    }
    program
}
