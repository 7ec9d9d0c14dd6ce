//! What the recorded runs are and how much they vary.

use std::path::Path;

use anyhow::{Context, Result};
use perfblame_eval_planted::table::grid;

use crate::pool::Pool;
use crate::programs::{PROGRAMS, Recorded};

/// Functions with fewer samples a run vary mostly by chance of sampling.
const HEAVY: f64 = 20.0;

/// A row for each program and condition.
pub fn table(pools: &[Pool], folder: &Path) -> Result<String> {
    let heads = [
        "condition",
        "metric",
        "contexts",
        "samples a run",
        "total varies by",
        "functions vary by",
        "load average",
        "waited",
    ];
    let mut rows = Vec::new();
    let mut text = String::new();
    for pool in pools {
        let machine = Machine::read(pool, folder)?;
        if let Some(program) = PROGRAMS.iter().find(|program| program.name == pool.program) {
            let Recorded { name, what, profiler, .. } = program;
            let line = format!("- `{name}`: {what}; {profiler}; {}\n", machine.version);
            if !text.contains(&line) {
                text.push_str(&line);
            }
        }
        let metric = &pool.set.metrics[pool.metric.index()];
        let samples =
            if pool.is_sampled() { format!("{:.0}", pool.samples()) } else { "exact".to_owned() };
        let cells = vec![
            pool.condition.clone(),
            metric.name.clone(),
            pool.set.tree.len().to_string(),
            samples,
            format!("{:.1} %", total_variation(pool) * 100.0),
            function_variation(pool)
                .map_or_else(|| "–".to_owned(), |part| format!("{:.1} %", part * 100.0)),
            format!("{:.1}–{:.1}", machine.load.0, machine.load.1),
            format!("{:.0} %", machine.waited * 100.0),
        ];
        rows.push((pool.program.clone(), cells));
    }
    text.push('\n');
    grid(&mut text, "program", &heads.map(str::to_owned), rows.into_iter());
    text.push_str("Varies by: the standard deviation over the runs, as part of the mean; for functions the median over those with at least 20 samples a run. Load average: the lowest and the highest at the start of a run. Waited: the part of the time in which something on the machine waited for a processor.\n");
    Ok(text)
}

struct Machine {
    version: String,
    load: (f64, f64),
    waited: f64,
}

impl Machine {
    fn read(pool: &Pool, folder: &Path) -> Result<Self> {
        let path = folder.join(&pool.condition).join(format!("{}.tsv", pool.program));
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let mut lines = text.lines();
        let version = lines.next().unwrap_or_default().trim_start_matches("# ").to_owned();
        let (mut least, mut most, mut waited, mut took) = (f64::INFINITY, 0.0f64, 0.0, 0.0);
        for line in lines.filter(|line| line.starts_with(|sign: char| sign.is_ascii_digit())) {
            let numbers: Vec<f64> = line
                .split('\t')
                .map(str::parse)
                .collect::<Result<_, _>>()
                .context(line.to_owned())?;
            let [_, _, load, waiting, taking] = numbers[..] else { continue };
            least = least.min(load);
            most = most.max(load);
            waited += waiting;
            took += taking;
        }
        Ok(Self { version, load: (least, most), waited: waited / f64::max(took, 1.0) })
    }
}

fn total_variation(pool: &Pool) -> f64 {
    let totals: Vec<f64> = (0..pool.runs())
        .map(|run| {
            let code = (0..pool.own.len()).filter(|row| !pool.tree.functions[*row].is_pseudo());
            code.map(|row| pool.own[row][run]).sum()
        })
        .collect();
    variation(&totals)
}

fn function_variation(pool: &Pool) -> Option<f64> {
    let whole: f64 = pool.own.iter().flatten().sum();
    let least = if pool.is_sampled() { HEAVY / pool.samples() } else { 0.005 };
    let heavy = (0..pool.own.len())
        .filter(|row| !pool.tree.functions[*row].is_pseudo())
        .filter(|row| pool.own[*row].iter().sum::<f64>() >= least * whole);
    let mut parts: Vec<f64> = heavy.map(|row| variation(&pool.own[row])).collect();
    parts.sort_by(f64::total_cmp);
    parts.get(parts.len() / 2).copied()
}

/// The standard deviation as a part of the mean.
fn variation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if mean > 0.0 { (squares / (values.len().max(2) - 1) as f64).sqrt() / mean } else { 0.0 }
}
