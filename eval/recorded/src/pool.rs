//! The recorded runs of one program under one condition: what cases are made of.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use perfblame_cct::{Measure, MetricId, NodeId, Run, RunSet, ThreadId, Times, Unit};
use perfblame_eval_planted::program::{Program, first_metric};

/// Where recorded runs are kept in the project.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("runs")
}

/// All runs of a program under one condition.
pub struct Pool {
    /// `busy` or `quiet`.
    pub condition: String,
    pub program: String,
    pub set: RunSet,
    /// The metric that comparisons take.
    pub metric: MetricId,
    /// Functions and contexts, with what all runs together cost there.
    pub tree: Program,
    /// The node of each context.
    pub nodes: Vec<NodeId>,
    /// The context of each node; none for stacks that were cut off.
    pub contexts: Vec<Option<usize>>,
    /// By function of `tree` and run: its self cost.
    pub own: Vec<Vec<f64>>,
    /// By node: where it mostly runs.
    pub threads: Vec<Option<ThreadId>>,
}

/// Reads the runs of a folder, `<condition>/<program>.perfblame`, in the order of their names.
pub fn pools(folder: &Path) -> Result<Vec<Pool>> {
    let mut pools = Vec::new();
    for condition in sorted(folder)?.into_iter().filter(|path| path.is_dir()) {
        for file in sorted(&condition)? {
            if file.extension().is_some_and(|extension| extension == "perfblame") {
                pools.push(Pool::read(&file)?);
            }
        }
    }
    if pools.is_empty() {
        bail!("{}: there are no recorded runs; record some with `--record`", folder.display());
    }
    Ok(pools)
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    paths.sort();
    Ok(paths)
}

impl Pool {
    /// Reads one file.
    pub fn read(file: &Path) -> Result<Self> {
        let name = |part: Option<&std::ffi::OsStr>| {
            part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let opened = File::open(file).with_context(|| file.display().to_string())?;
        let set = perfblame_file::read_runs(&mut BufReader::new(opened), Times::Drop)
            .with_context(|| file.display().to_string())?;
        let condition = name(file.parent().and_then(Path::file_name));
        Self::of(condition, name(file.file_stem()), set).with_context(|| file.display().to_string())
    }

    /// Takes runs that were loaded.
    pub fn of(condition: String, program: String, set: RunSet) -> Result<Self> {
        let metric = first_metric(&set).context("the runs have no values")?;
        let (tree, nodes) = Program::with_nodes(&set);
        let mut contexts = vec![None; set.tree.len()];
        for (row, node) in nodes.iter().enumerate() {
            contexts[node.index()] = Some(row);
        }
        let mut own = vec![vec![0.0; set.runs.len()]; tree.functions.len()];
        for (number, run) in set.runs.iter().enumerate() {
            for (node, _, value) in run.cells.of(metric) {
                if let Some(row) = contexts[node.index()] {
                    own[tree.nodes[row].function][number] += value as f64;
                }
            }
        }
        let threads = threads(&set, metric);
        Ok(Self { condition, program, set, metric, tree, nodes, contexts, own, threads })
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.set.runs.len()
    }

    /// True where each value stands for samples.
    pub fn is_sampled(&self) -> bool {
        self.set.metrics[self.metric.index()].measure == Measure::Sampled
    }

    /// The metric that counts samples next to the compared one, where there is one.
    pub fn sample_metric(&self) -> Option<MetricId> {
        let counts = |metric: &MetricId| {
            let metric = &self.set.metrics[metric.index()];
            metric.unit == Unit::Count && metric.measure == Measure::Sampled
        };
        self.set.metric("samples").filter(counts).filter(|_| self.is_sampled())
    }

    /// What one sample of a run is worth in the compared metric; 1 for exact values.
    pub fn sample_value(&self, run: &Run) -> f64 {
        if !self.is_sampled() {
            return 1.0;
        }
        let total = run.cells.total(self.metric) as f64;
        let counted = self.sample_metric().map(|samples| {
            let one = 10f64.powi(self.set.metrics[samples.index()].decimals.into());
            run.cells.total(samples) as f64 / one
        });
        let samples = counted.filter(|count| *count > 0.0).unwrap_or(run.samples as f64);
        let period = run.periods.get(self.metric.index()).copied().flatten();
        match (period, samples) {
            _ if samples > 0.0 && total > 0.0 => total / samples,
            (Some(period), _) if period > 0 => period as f64,
            _ => 1.0,
        }
    }

    /// Samples of a typical run; many for exact values.
    pub fn samples(&self) -> f64 {
        if !self.is_sampled() {
            return 1e6;
        }
        let of_run = |run: &Run| run.cells.total(self.metric) as f64 / self.sample_value(run);
        self.set.runs.iter().map(of_run).sum::<f64>() / self.runs().max(1) as f64
    }
}

/// Where each node mostly runs: the thread of most of its own cost, or that of the heaviest node below.
fn threads(set: &RunSet, metric: MetricId) -> Vec<Option<ThreadId>> {
    let mut heaviest: Vec<(i64, Option<ThreadId>)> = vec![(0, None); set.tree.len()];
    for run in &set.runs {
        for (node, thread, value) in run.cells.of(metric) {
            let known = &mut heaviest[node.index()];
            if value > known.0 {
                *known = (value, thread);
            }
        }
    }
    for node in set.tree.nodes().rev() {
        let own = heaviest[node.index()];
        if let Some(parent) = set.tree.parent(node) {
            let known = &mut heaviest[parent.index()];
            if known.0 == 0 || (known.1.is_none() && own.1.is_some()) {
                *known = own;
            }
        }
    }
    heaviest.into_iter().map(|(_, thread)| thread).collect()
}
