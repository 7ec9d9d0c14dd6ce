//! `perfblame check`: two revisions, all workloads, one answer.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perfblame_analysis::{
    Ask, Check, Compared, Comparison, DiffQuery, FailureView, Outcome, RevisionView,
};
use perfblame_cct::{Sides, Warning};
use perfblame_record::Profiler;
use perfblame_words::counted;

use crate::attribution::ChangedCode;
use crate::bench::{Around, Bench, Subject};
use crate::config::{self, Config, Workload};
use crate::metric::{Metric, refuse_foreign_unit, usual_metric};
use crate::sequential::{CollectedRuns, Decided, Ended, FALSE_ALARM, Plan, SetBy, decide};
use crate::trees::described;
use crate::watch::{CheckEvent, Watch};
use crate::{Built, Busy, Failure, Home, Lock, Recipe, Repository, Snapshot, Trees, stored};

/// What to check, and how.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// The revision before; where the branch left the main branch when not given.
    pub base: Option<String>,
    /// The revision after; the working tree when not given.
    pub head: Option<String>,
    /// Another file than `perfblame.toml` at the root.
    pub config: Option<PathBuf>,
    /// Only these workloads; all when empty.
    pub workloads: Vec<String>,
    /// Only these inputs; all when empty.
    pub inputs: Vec<String>,
    /// Use no stored profiles.
    pub fresh: bool,
    /// What to do while another check runs.
    pub busy: Busy,
    /// Instead of what the file says.
    pub max_runs: Option<u32>,
    /// Instead of what the file says.
    pub budget: Option<Duration>,
    /// What is compared, instead of what the file says.
    pub metric: Option<String>,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            base: None,
            head: None,
            config: None,
            workloads: Vec::new(),
            inputs: Vec::new(),
            fresh: false,
            busy: Busy::Wait,
            max_runs: None,
            budget: None,
            metric: None,
        }
    }
}

/// A repository that is being checked: nobody else checks it meanwhile.
pub struct Session<'a> {
    /// The repository.
    pub git: Repository,
    /// perfblame's folder in it.
    pub home: Home,
    /// What is run.
    pub config: Config,
    watch: &'a dyn Watch,
    ask: &'a Ask,
    fresh: bool,
    _lock: Lock,
}

/// What the runs of a check took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// The programs.
    pub runs: Duration,
    /// Everything but checkouts and builds.
    pub all: Duration,
}

impl<'a> Session<'a> {
    /// Reads the configuration and takes the lock.
    pub fn open(
        folder: &Path,
        options: &CheckOptions,
        watch: &'a dyn Watch,
        ask: &'a Ask,
    ) -> Result<Self, Failure> {
        let git = Repository::with_working_tree(folder)?;
        let home = Home::of(&git)?;
        let path = options.config.clone().unwrap_or_else(|| git.root().join(config::FILE));
        let mut config = Config::read(&path)?;
        choose(&mut config, options)?;
        for workload in &config.workloads {
            let profiler = workload.profiler.as_deref().and_then(Profiler::named);
            let first = profiler.and_then(usual_metric);
            let metric = workload.metric.as_deref();
            refuse_foreign_unit(workload.min_delta, metric, first, SetBy::Config)?;
        }
        let waits = |holder: &str| watch.event(&CheckEvent::Waiting { holder });
        let lock = home.lock(&git, options.busy, ask.cancel_flag(), &waits)?;
        Ok(Self { git, home, config, watch, ask, fresh: options.fresh, _lock: lock })
    }

    fn trees(&self) -> Trees<'_> {
        Trees {
            git: &self.git,
            home: &self.home,
            limit: self.config.cache.trees,
            watch: self.watch,
            cancel: self.ask.cancel_flag(),
        }
    }

    /// Says a line to whoever watches.
    pub fn note(&self, text: &str) {
        self.watch.event(&CheckEvent::Note { text });
    }

    /// Fails when somebody asked us to stop.
    pub fn go_on(&self) -> Result<(), Failure> {
        self.ask.go_on().map_err(|_| Failure::cancelled())
    }

    /// A revision built for a workload.
    pub fn built(&self, revision: &Snapshot, workload: &Workload) -> Result<Built, Failure> {
        self.go_on()?;
        let recipe =
            Recipe { build: workload.build.as_deref(), environment: &workload.environment };
        let built = self.trees().built(revision, recipe)?;
        self.trees().trim(std::slice::from_ref(&built.path));
        Ok(built)
    }

    /// Both revisions built; where one cannot be, the failure says which, and whether the other can.
    fn both_built(
        &self,
        revisions: Sides<&Snapshot>,
        workload: &Workload,
    ) -> Result<Sides<Built>, Failure> {
        let built = revisions.map(|revision| self.built(revision, workload));
        match (built.before, built.after) {
            (Ok(before), Ok(after)) => {
                // One of them may have made room for the other.
                let again = self.built(revisions.before, workload)?;
                debug_assert_eq!(again, before);
                Ok(Sides { before, after })
            }
            (Err(failure), _) | (_, Err(failure)) if failure.cancelled => Err(failure),
            (Err(failure), Ok(_)) => {
                let what = format!("{}; {} can", failure.what, described(revisions.after));
                Err(Failure { what, ..failure }
                    .help("choose another base, or a build command that works on both sides"))
            }
            (Ok(_), Err(failure)) => {
                let what = format!("{}; {} can", failure.what, described(revisions.before));
                Err(Failure { what, ..failure })
            }
            (Err(base), Err(head)) => {
                let why = format!("{}\n{}\n{}", base.why, head.what, head.why);
                Err(Failure { why, ..base }.help("try the build command of perfblame.toml by hand"))
            }
        }
    }

    /// Runs one workload with one input on both revisions until the answer is clear. `share` is the part of the false
    /// alarms that this comparison may spend; `code` lets runs end early that get to no change of it.
    pub fn compare(
        &self,
        revisions: Sides<&Snapshot>,
        workload: &Workload,
        input: &str,
        share: f64,
        code: Option<&ChangedCode<'_>>,
        times: &mut Times,
    ) -> Result<(Decided, String, Vec<Warning>), Failure> {
        let built = self.both_built(revisions, workload)?;
        self.go_on()?;
        let started = Instant::now();
        let subject =
            Subject { workload, input, root: self.git.root(), revisions, built: built.as_ref() };
        let around = Around { home: &self.home, watch: self.watch, ask: self.ask };
        let mut bench = Bench::new(subject, around)?;
        bench.code = code;
        let metric = Metric::of(workload, bench.profiler);
        let first = usual_metric(bench.profiler);
        refuse_foreign_unit(workload.min_delta, metric.name.as_deref(), first, SetBy::Config)?;
        let mut collected = if self.fresh { CollectedRuns::default() } else { bench.stored()? };
        let plan = Plan {
            min_runs: workload.min_runs,
            max_runs: workload.max_runs,
            false_alarm: FALSE_ALARM * share,
            precision: workload.precision,
            query: DiffQuery {
                metric: metric.name,
                min_delta: workload.min_delta,
                ..DiffQuery::default()
            },
            set_by: SetBy::Config,
        };
        if collected.done() == 0 {
            bench.warm_up()?;
        }
        let mut decided = decide(&plan, &mut collected, &mut bench, self.ask)?;
        let warnings = bench.warnings();
        decided.diff.warnings.extend(warnings.iter().cloned());
        decided.diff.warnings.extend(metric.note);
        times.runs += bench.spent;
        times.all += started.elapsed();
        Ok((decided, bench.profiler.name().to_owned(), warnings))
    }

    /// Compares two revisions in all workloads and inputs.
    pub fn check(&self, base: &Snapshot, head: &Snapshot) -> Result<Check, Failure> {
        let mut check = Check {
            base: view(base),
            head: view(head),
            verdict: perfblame_analysis::Verdict::Unchanged,
            comparisons: Vec::new(),
            warnings: Vec::new(),
        };
        if base.tree == head.tree {
            let message = "both sides have the same content, so perfblame ran nothing".to_owned();
            check.warnings.push(Warning { code: "same-content".to_owned(), message, count: 1 });
            return Ok(check);
        }
        let attribution = ChangedCode::of(&self.git, base, head, self.ask);
        let comparisons: usize =
            self.config.workloads.iter().map(|workload| workload.inputs.len()).sum();
        let share = 1.0 / comparisons.max(1) as f64;
        let mut times = Times::default();
        for workload in &self.config.workloads {
            for input in &workload.inputs {
                let found = self.compare(
                    Sides { before: base, after: head },
                    workload,
                    input,
                    share,
                    Some(&attribution),
                    &mut times,
                );
                let (profiler, outcome) = match found {
                    Err(failure) if failure.cancelled => return Err(failure),
                    Err(failure) => (None, Outcome::Failed(failed(failure))),
                    Ok((decided, profiler, _)) => {
                        let ended = ended(&decided, workload);
                        let Decided { mut diff, tree, .. } = decided;
                        let code = attribution.explain(&mut diff, &tree);
                        self.go_on()?;
                        let compared = Compared { diff, tree, ended, code };
                        (Some(profiler), Outcome::Compared(Box::new(compared)))
                    }
                };
                check.comparisons.push(Comparison {
                    workload: workload.name.clone(),
                    input: Some(input.clone()).filter(|input| !input.is_empty()),
                    profiler,
                    outcome,
                });
            }
        }
        stored::trim(&self.home, self.config.cache.profiles);
        self.watch.event(&CheckEvent::Took { runs: times.runs, all: times.all });
        check.verdict = Check::gravest(&check.comparisons);
        Ok(check)
    }
}

/// Checks two revisions of the repository around a folder.
pub fn check(
    folder: &Path,
    options: &CheckOptions,
    watch: &dyn Watch,
    ask: &Ask,
) -> Result<Check, Failure> {
    let session = Session::open(folder, options, watch, ask)?;
    let head = match &options.head {
        Some(name) => session.git.snapshot(name)?,
        None => session.git.working_tree(session.home.path())?,
    };
    let base = match &options.base {
        Some(name) => session.git.snapshot(name)?,
        None => session.git.base_of(&head)?,
    };
    session.check(&base, &head)
}

/// Leaves only the workloads and inputs that were asked for.
fn choose(config: &mut Config, options: &CheckOptions) -> Result<(), Failure> {
    for wanted in &options.workloads {
        if !config.workloads.iter().any(|workload| workload.name == *wanted) {
            let known: Vec<&str> =
                config.workloads.iter().map(|workload| workload.name.as_str()).collect();
            return Err(Failure::new(format!("unknown workload `{wanted}`"), "")
                .help(format!("perfblame.toml has {}", known.join(", "))));
        }
    }
    if !options.workloads.is_empty() {
        config.workloads.retain(|workload| options.workloads.contains(&workload.name));
    }
    if !options.inputs.is_empty() {
        for workload in &mut config.workloads {
            workload.inputs.retain(|input| options.inputs.contains(input));
        }
        config.workloads.retain(|workload| !workload.inputs.is_empty());
        if config.workloads.is_empty() {
            let why = options.inputs.join(", ");
            return Err(Failure::new("no workload has these inputs", why));
        }
    }
    for workload in &mut config.workloads {
        if let Some(most) = options.max_runs {
            workload.max_runs = most.max(2);
            workload.min_runs = workload.min_runs.min(workload.max_runs);
        }
        workload.budget = options.budget.unwrap_or(workload.budget);
        if options.metric.is_some() {
            workload.metric.clone_from(&options.metric);
        }
    }
    Ok(())
}

/// Why no more runs were made, where that is worth a line.
fn ended(decided: &Decided, workload: &Workload) -> String {
    let runs = counted(decided.diff.before.totals.len() as u64, "run", "runs");
    match decided.ended {
        Ended::Clear => String::new(),
        Ended::NotReached => {
            format!("stopped after {runs} per side: none reached the changed code")
        }
        Ended::MostRuns => {
            format!("stopped after {runs} per side, the limit set by `runs`")
        }
        Ended::Budget => format!(
            "stopped after {runs} per side, because the budget of {} s was used up",
            workload.budget.as_secs()
        ),
    }
}

/// A revision as answers have it.
pub fn view(revision: &Snapshot) -> RevisionView {
    RevisionView {
        name: revision.name.clone(),
        commit: (!revision.uncommitted).then(|| revision.commit.clone()),
        subject: revision.subject.clone(),
        author: revision.author.clone(),
    }
}

fn failed(failure: Failure) -> FailureView {
    let Failure { what, why, help, log, .. } = failure;
    FailureView { what, why, help, log }
}
