//! Asks all methods about all that was recorded.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, UNIX_EPOCH};

use anyhow::{Context, Result};
use perfblame_analysis::{
    Ask, Diff, DiffQuery, LoadOptions, Loaded, Method as Engine, ScriptNames, diff, expand, load,
};
use perfblame_blame::{CriticalOptions, LeastDelta, Markers, Timelines, Wanted, critical_graph};
use perfblame_cct::{MetricId, Side, Sides, Times};
use perfblame_report::{diff_dot, diff_json};
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Method, ask, of_graph, self_difference};
use crate::app::App;
use crate::bugs::Bug;
use crate::case::{Spec, Truth};
use crate::plan::{self, Set, TIMELINES};
use crate::score::{Score, score, ways};
use crate::timeline::Timeline;
use crate::work;

/// Pairs that the paper aggregates unless it says otherwise.
pub const PAIRS: usize = 3;
/// The paper's threshold, in nanoseconds.
const LEAST: f64 = 50e6;

/// A case and how right all answers about it are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseRow {
    pub truth: Truth,
    /// By method and number of pairs.
    pub scores: Vec<(Method, usize, Score)>,
    /// Milliseconds in the changed function with all below, each after run.
    pub measured: Vec<f64>,
    pub phases: Option<Phases>,
}

/// An application as it is: what methods say where there is nothing to say, and how large its time lines are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Base {
    pub app: String,
    /// Calls of the first baseline time line.
    pub nodes: usize,
    /// What is blamed between the two baselines, by method and number of pairs, in words.
    pub alarms: Vec<(Method, usize, Vec<String>)>,
    /// What is blamed between the releases, by method.
    pub release: Vec<(Method, Vec<String>)>,
}

/// What a comparison took.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Phases {
    /// Milliseconds to read the files of both sides.
    pub read: f64,
    /// To compare and to aggregate.
    pub graph: f64,
    /// To find suspects.
    pub suspects: f64,
    /// To write DOT and JSON.
    pub write: f64,
    /// Levels matched in order, and by key, top levels among them.
    pub ordered: usize,
    pub by_key: usize,
}

/// A real slowdown and what methods say of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BugRow {
    pub name: String,
    /// By method: the row of the cause, and all that is blamed.
    pub found: Vec<(Method, Option<usize>, Vec<String>)>,
}

/// Everything that was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    pub rows: Vec<CaseRow>,
    pub bases: Vec<Base>,
    pub bugs: Vec<BugRow>,
}

/// Who is asked about what.
pub struct Evaluation<'a> {
    pub folder: &'a Path,
    pub perfblame: &'a Path,
    /// Only comparisons of so many pairs.
    pub only: Option<usize>,
    /// The program's version, in names of kept answers.
    key: String,
}

impl<'a> Evaluation<'a> {
    /// Answers are kept as long as the program stays as it is.
    pub fn new(folder: &'a Path, perfblame: &'a Path, only: Option<usize>) -> Result<Self> {
        let metadata = std::fs::metadata(perfblame)?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let key = format!("{}-{}", metadata.len(), modified.as_secs());
        Ok(Self { folder, perfblame, only, key })
    }

    /// Asks about everything that is complete enough, two questions at a time.
    pub fn all(
        &self,
        apps: &[&'static App],
        specs: &[Spec],
        bugs: &[Bug],
        done: impl Fn() + Sync,
    ) -> Result<Measured> {
        let mut questions: Vec<(&App, Option<Truth>)> = Vec::new();
        for app in apps {
            questions.push((app, None));
            let truths = plan::truths(app, specs, self.folder);
            questions.extend(truths.into_iter().map(|truth| (*app, Some(truth))));
        }
        let next = AtomicUsize::new(0);
        let answers: Mutex<Vec<(usize, Result<Either>)>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let row = next.fetch_add(1, Ordering::Relaxed);
                        let Some((app, truth)) = questions.get(row) else { break };
                        let answer = match truth {
                            None => self.base(app).map(Either::Base),
                            Some(truth) => {
                                self.row(app, truth).map(|row| Either::Row(Box::new(row)))
                            }
                        };
                        done();
                        if let Ok(mut answers) = answers.lock() {
                            answers.push((row, answer));
                        }
                    }
                });
            }
        });
        let mut answers = answers.into_inner().unwrap_or_default();
        answers.sort_by_key(|(row, _)| *row);
        let mut measured = Measured::default();
        for (_, answer) in answers {
            match answer? {
                Either::Base(base) => measured.bases.extend(base),
                Either::Row(row) => measured.rows.extend(*row),
            }
        }
        for bug in bugs {
            measured.bugs.extend(self.bug(bug)?);
        }
        Ok(measured)
    }

    /// How many pairs of time lines there are.
    fn pairs(&self, before: &Set, after: &Set) -> usize {
        (1..=TIMELINES)
            .take_while(|number| {
                [before, after].iter().all(|set| set.file(self.folder, *number).exists())
            })
            .count()
    }

    /// How many of them are compared.
    fn counts(&self, pairs: usize) -> impl Iterator<Item = usize> {
        let only = self.only;
        (1..=pairs).filter(move |count| only.is_none_or(|only| only == *count))
    }

    fn base(&self, app: &App) -> Result<Option<Base>> {
        let (first, second) = (plan::baseline(app), plan::second_baseline(app));
        let release = plan::release(app);
        let pairs = self.pairs(&first, &second);
        if pairs == 0 {
            return Ok(None);
        }
        let words = |answer: Answer| -> Vec<String> {
            let blamed = answer.blamed.into_iter();
            let name = |name: String| if name.is_empty() { "(anonymous)".to_owned() } else { name };
            blamed
                .map(|blamed| format!("{} {:+.1} ms", name(blamed.place.name), blamed.delta / 1e6))
                .collect()
        };
        let mut base = Base {
            app: app.name.to_owned(),
            nodes: functions(&Timeline::read(&first.file(self.folder, 1))?),
            alarms: Vec::new(),
            release: Vec::new(),
        };
        for method in Method::ALL {
            for count in self.counts(pairs) {
                let answer = self.answer(&first, &second, count, method)?;
                base.alarms.push((method, count, words(answer)));
            }
            let pairs = self.pairs(&first, &release).min(PAIRS);
            if pairs > 0 {
                let answer = self.answer(&first, &release, pairs, method)?;
                base.release.push((method, words(answer)));
            }
        }
        Ok(Some(base))
    }

    fn row(&self, app: &App, truth: &Truth) -> Result<Option<CaseRow>> {
        let before = plan::before(app, truth.kind);
        let after = plan::case(app, &truth.case);
        let release = plan::release(app);
        let pairs = self.pairs(&before, &after);
        if pairs == 0 {
            return Ok(None);
        }
        let files = after.files(self.folder, pairs);
        let timelines =
            files.iter().map(|file| Timeline::read(file)).collect::<Result<Vec<_>>>()?;
        let measured = timelines.iter().map(|timeline| timeline.total_of(&truth.function));
        let mut row = CaseRow {
            truth: truth.clone(),
            scores: Vec::new(),
            measured: measured.collect(),
            phases: None,
        };
        for count in self.counts(pairs) {
            let ways = ways(truth, &timelines[..count]);
            for method in Method::ALL {
                let answer = self.answer(&before, &after, count, method)?;
                let of_release = self.pairs(&plan::baseline(app), &release).min(count);
                let released = if of_release > 0 {
                    self.answer(&plan::baseline(app), &release, of_release, method)?
                } else {
                    Answer::default()
                };
                let score = score(truth, &ways, &answer, method, &released);
                row.scores.push((method, count, score));
            }
        }
        if truth.kind.is_of_paper() && pairs >= PAIRS {
            let path = self.kept(&format!("phases-{}-{}", app.name, truth.case));
            let measure = || {
                let before = before.files(self.folder, PAIRS);
                Ok(measure(&before, &after.files(self.folder, PAIRS))?.0)
            };
            row.phases = Some(work::step(&path, measure)?);
        }
        Ok(Some(row))
    }

    fn bug(&self, bug: &Bug) -> Result<Option<BugRow>> {
        let files = |side: Side| -> Vec<PathBuf> {
            (1..=PAIRS).map(|number| bug.file(self.folder, side, number)).collect()
        };
        let Sides { before, after } = Sides::of(files);
        if before.iter().chain(&after).any(|file| !file.exists()) {
            return Ok(None);
        }
        let mut row = BugRow { name: bug.name.to_owned(), found: Vec::new() };
        for method in Method::ALL {
            let name = format!("bug-{}-{}", bug.name, method as usize);
            let answer = self.ask(&name, &before, &after, method)?;
            let (found, blamed) = bug.found(&answer);
            row.found.push((method, found, blamed));
        }
        Ok(Some(row))
    }

    fn kept(&self, name: &str) -> PathBuf {
        self.folder.join("answers").join(&self.key).join(format!("{name}.json"))
    }

    fn answer(&self, before: &Set, after: &Set, pairs: usize, method: Method) -> Result<Answer> {
        let plain = |set: &Set| set.name.replace('/', "-");
        let name = format!(
            "{}-{}-{}-{pairs}-{}",
            before.app,
            plain(before),
            plain(after),
            method as usize
        );
        let (before, after) = (before.files(self.folder, pairs), after.files(self.folder, pairs));
        self.ask(&name, &before, &after, method)
    }

    fn ask(
        &self,
        name: &str,
        before: &[PathBuf],
        after: &[PathBuf],
        method: Method,
    ) -> Result<Answer> {
        let path = self.kept(name);
        // Recorded again since: asked again.
        let asked = std::fs::metadata(&path).and_then(|metadata| metadata.modified()).ok();
        let is_newer = |file: &PathBuf| {
            std::fs::metadata(file).and_then(|metadata| metadata.modified()).ok() > asked
        };
        if asked.is_some() && before.iter().chain(after).any(is_newer) {
            std::fs::remove_file(&path)?;
        }
        work::step(&path, || match method {
            Method::SelfDifference => {
                let read = |files: &[PathBuf]| -> Result<Vec<Timeline>> {
                    files.iter().map(|file| Timeline::read(file)).collect()
                };
                Ok(self_difference(&read(before)?, &read(after)?))
            }
            Method::Markers => Ok(measure(before, after)?.1),
            _ => ask(self.perfblame, before, after, method),
        })
    }
}

enum Either {
    Base(Option<Base>),
    Row(Box<Option<CaseRow>>),
}

fn functions(timeline: &Timeline) -> usize {
    timeline.nodes.iter().filter(|node| node.parent.is_some() && !node.place.is_marker()).count()
}

/// Compares in this process: for the time that each phase takes, for how calls were matched, and for the graph with the
/// engine's markers.
fn measure(before: &[PathBuf], after: &[PathBuf]) -> Result<(Phases, Answer)> {
    let read = |files: &[PathBuf]| -> Result<Loaded> {
        let sources = expand(files).context("sources")?;
        // As the command loads for the paper's method: what has no name stays without.
        let mut options = LoadOptions { times: Times::Keep, ..LoadOptions::default() };
        options.scripts.names = ScriptNames::Mapped;
        load(&sources, options, &Ask::default()).context("time lines")
    };
    let mut phases = Phases::default();
    let timed = |milliseconds: &mut f64, start: Instant| {
        *milliseconds = start.elapsed().as_secs_f64() * 1e3;
    };
    let start = Instant::now();
    let (before, after) = (read(before)?, read(after)?);
    timed(&mut phases.read, start);
    let start = Instant::now();
    let suspects: Diff = diff(&before, &after, &DiffQuery::default(), &Ask::default())?;
    timed(&mut phases.suspects, start);
    let metric = |side: &Loaded| {
        let named =
            |metric: &MetricId| side.runs.metrics[metric.index()].name == suspects.metric.name;
        (0..side.runs.metrics.len()).map(MetricId::new).find(named).context("no such metric")
    };
    let metrics = [metric(&before)?, metric(&after)?];
    let compare = |markers: Markers| {
        let [old, new] = [(&before, metrics[0]), (&after, metrics[1])]
            .map(|(side, metric)| Timelines { runs: &side.runs, metric, scale: &[] });
        let options = CriticalOptions { least: LeastDelta::Absolute(LEAST), markers };
        critical_graph(&old, &new, &options, Wanted::default())
    };
    let start = Instant::now();
    let graph = compare(Markers::LeftOut);
    timed(&mut phases.graph, start);
    phases.ordered = graph.ordered;
    // Top levels are matched by key in each pair.
    phases.by_key = graph.too_different + graph.pairs;
    let query = DiffQuery { method: Engine::CriticalGraph, ..DiffQuery::default() };
    let drawn = diff(&before, &after, &query, &Ask::default())?;
    let start = Instant::now();
    let mut written = Vec::new();
    diff_dot(&drawn, &mut written)?;
    diff_json(&suspects, &mut written)?;
    timed(&mut phases.write, start);
    let marked = compare(Markers::Kept);
    Ok((phases, of_graph(&marked, &after.runs.symbols)))
}
