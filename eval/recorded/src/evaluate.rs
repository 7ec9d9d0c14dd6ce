//! Which cases there are, and what comes of them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use perfblame_analysis::Loaded;
use perfblame_cct::{Layer, Run, Side, Sides};
use perfblame_eval_planted::answer::{Answer, Cli, Tested, ask};
use perfblame_eval_planted::evaluate::{on_all_processors, same};
use perfblame_eval_planted::keep::{self, Kept, KeptCase};
use perfblame_eval_planted::plant::PlantedKind;
use perfblame_eval_planted::score::{Score, Sum, score};
use perfblame_eval_planted::scratch::Scratch;

use crate::case::{Case, Spec};
use crate::pool::Pool;

/// Kinds of slowdowns that are planted into recorded runs.
pub const KINDS: [PlantedKind; 5] = [
    PlantedKind::SelfOne,
    PlantedKind::SelfAll,
    PlantedKind::NewCallee,
    PlantedKind::MoreCalls,
    PlantedKind::Unseen,
];

/// Planted effects, in thousandths of the whole before.
pub const EFFECTS: [u32; 7] = [5, 10, 20, 50, 100, 200, 500];

/// Effects that nobody may miss: the whole takes twice and four times as long.
pub const FACTORS: [u32; 2] = [1000, 3000];

/// Numbers of runs on each side.
pub const RUNS: [usize; 6] = [1, 2, 3, 5, 8, 10];

/// How to evaluate.
pub struct Plan {
    pub seed: u64,
    pub methods: Vec<Tested>,
    /// Where failing cases are kept.
    pub keep: Option<PathBuf>,
    /// Lines for each case that the first method fails.
    pub verbose: bool,
    /// Every so many cases the command line is asked, too, about files; 0 is never.
    pub check_every: usize,
}

/// What came of one case.
pub struct CaseRow {
    pub spec: Spec,
    pub scores: Vec<(Tested, Score)>,
    /// See [`Case::standard_errors`].
    pub standard_errors: Option<f64>,
    /// Every run after takes at least twice as long as every run before.
    pub is_doubled: bool,
    /// The p-value of perfblame's first suspect.
    pub p_value: Option<f64>,
    /// Whether perfblame's interval of the total holds the planted change; none where it gives no interval.
    pub holds: Option<bool>,
}

impl CaseRow {
    /// What a method scored.
    pub fn score(&self, tested: Tested) -> Option<&Score> {
        self.scores.iter().find(|(method, _)| *method == tested).map(|(_, score)| score)
    }
}

/// Scores of a method over the cases that are wanted.
pub fn sum(rows: &[CaseRow], tested: Tested, wanted: impl Fn(&Spec) -> bool) -> Sum {
    let mut sum = Sum::default();
    for score in rows.iter().filter(|row| wanted(&row.spec)).filter_map(|row| row.score(tested)) {
        sum.add(score);
    }
    sum
}

/// All cases of the tables: `cases` for each program, kind, effect and number of runs, and ten times as many of
/// identical code for each program and number of runs.
pub fn all_cases(pools: &[Pool], cases: usize) -> Vec<Spec> {
    let mut specs = Vec::new();
    for pool in pools {
        for runs in RUNS {
            let mut cell = |kind, per_mille, count| {
                specs.extend((0..count).map(|index| spec(pool, kind, per_mille, runs, index)));
            };
            // A false alarm is rare: more cases to find its rate.
            cell(PlantedKind::Identical, 0, cases * 10);
            for kind in KINDS {
                for per_mille in EFFECTS.into_iter().chain(FACTORS) {
                    cell(kind, per_mille, cases);
                }
            }
        }
    }
    specs
}

/// A few hundred cases that show within a minute what a change of the engine does.
pub fn quick_cases(pools: &[Pool]) -> Vec<Spec> {
    let mut specs = Vec::new();
    for (place, pool) in pools.iter().enumerate() {
        for runs in [2, 3, 5] {
            specs.extend((0..2).map(|index| spec(pool, PlantedKind::Identical, 0, runs, index)));
        }
        for (turn, kind) in KINDS.into_iter().enumerate() {
            for (next, per_mille) in [20, 100, 500].into_iter().enumerate() {
                let runs = [1, 3, 5][(place + turn + next) % 3];
                specs.push(spec(pool, kind, per_mille, runs, 0));
            }
        }
    }
    specs
}

fn spec(pool: &Pool, kind: PlantedKind, per_mille: u32, runs: usize, index: usize) -> Spec {
    Spec {
        condition: pool.condition.clone(),
        program: pool.program.clone(),
        kind,
        per_mille,
        runs: (runs, runs),
        index,
    }
}

/// Runs cases. Those that a program has no place for are left out.
pub fn evaluate(specs: &[Spec], pools: &[Pool], plan: &Plan) -> Result<Vec<CaseRow>> {
    let cli = if plan.check_every > 0 { Cli::find()? } else { None };
    if plan.check_every > 0 && cli.is_none() {
        bail!("the command line cannot compare here; run without `--check-every`");
    }
    let kept = Kept::new(plan.keep.clone());
    let rows = on_all_processors(specs, |number, spec| {
        let check = plan.check_every > 0 && number % plan.check_every == 0;
        one(spec, pools, plan, cli.as_ref().filter(|_| check), &kept)
    })?;
    kept.finish()?;
    Ok(rows.into_iter().flatten().collect())
}

fn one(
    spec: &Spec,
    pools: &[Pool],
    plan: &Plan,
    cli: Option<&Cli>,
    kept: &Kept,
) -> Result<Option<CaseRow>> {
    let of_spec = |pool: &&Pool| pool.condition == spec.condition && pool.program == spec.program;
    let pool = pools.iter().find(of_spec);
    let pool = pool.with_context(|| format!("{spec}: there are no such runs"))?;
    let Some(case) = Case::draw(spec, plan.seed, pool) else { return Ok(None) };
    let sides = case.sides();
    let mut answers: Vec<(Tested, Answer)> = Vec::new();
    for tested in &plan.methods {
        answers.push((*tested, ask(&sides, *tested, None)?));
    }
    if let Some(cli) = cli {
        let folder = Scratch::new()?;
        write(&case, folder.path())?;
        for (tested, answer) in answers.iter().filter(|(tested, _)| tested.is_perfblame()) {
            let other = cli.ask(folder.path(), *tested, None)?;
            if !same(&other, answer) {
                bail!("{spec}: the command line answers otherwise: {other:?} and {answer:?}");
            }
        }
    }
    let truth = &case.planted.truth;
    let scores: Vec<(Tested, Score)> = (answers.iter())
        .map(|(tested, answer)| (*tested, score(answer, truth, spec.runs, *tested)))
        .collect();
    if plan.verbose && is_failed(&scores, &case) {
        eprint!("{}", lines(&case, &answers, &scores));
    }
    kept.keep(&kept_case(&case), &answers, &scores, |folder| write(&case, folder))?;
    let perfblame = answers.iter().find(|(tested, _)| *tested == Tested::Suspects);
    let perfblame = perfblame.map(|(_, answer)| answer);
    let change = case.change();
    let holds =
        perfblame.and_then(|answer| answer.change).filter(|change| change.low < change.high);
    Ok(Some(CaseRow {
        spec: spec.clone(),
        standard_errors: case.standard_errors(),
        is_doubled: is_doubled(&sides, pool),
        p_value: perfblame.and_then(|answer| answer.blamed.first()?.p_value),
        holds: holds.map(|interval| (interval.low..=interval.high).contains(&change)),
        scores,
    }))
}

fn is_doubled(sides: &Sides<Loaded>, pool: &Pool) -> bool {
    let totals = sides.as_ref().map(|side| {
        let set = &side.runs;
        let is_busy = |node| {
            let function = set.symbols.frame(set.tree.frame(node)).function;
            let layer = set.symbols.function(function).layer;
            !matches!(layer, Layer::Idle | Layer::GarbageCollection)
        };
        let busy: Vec<bool> = set.tree.nodes().map(is_busy).collect();
        let total = |run: &Run| {
            let own = run.cells.of(pool.metric).filter(|(node, _, _)| busy[node.index()]);
            own.map(|(_, _, value)| value as f64).sum::<f64>()
        };
        set.runs.iter().map(total).collect::<Vec<f64>>()
    });
    let most = totals.before.iter().copied().fold(0.0, f64::max);
    totals.after.iter().all(|total| *total >= 2.0 * most)
}

/// True when the first method is wrong. One run on each side is a guess and leaves the verdict open.
fn is_failed(scores: &[(Tested, Score)], case: &Case<'_>) -> bool {
    let guess = case.spec.runs == (1, 1);
    let is_wrong = |failure: &str| !(guess && failure == "verdict-wrong");
    let failures = scores.first().map(|(_, score)| keep::failures(score, &case.planted.truth));
    failures.is_some_and(|failures| failures.iter().any(|failure| is_wrong(failure)))
}

fn lines(case: &Case<'_>, answers: &[(Tested, Answer)], scores: &[(Tested, Score)]) -> String {
    let truth = &case.planted.truth;
    let errors = case.standard_errors().map(|errors| format!("  {errors:.1} standard errors"));
    let errors = errors.unwrap_or_default();
    let mut text = format!("{}{errors}{}\n", case.spec, keep::causes(truth));
    for ((tested, answer), (_, score)) in answers.iter().zip(scores) {
        text.push_str(&keep::answer_line(*tested, answer, score, truth));
    }
    text
}

fn kept_case<'a>(case: &'a Case<'_>) -> KeptCase<'a> {
    let runs: Sides<String> = case
        .runs
        .as_ref()
        .map(|runs| runs.iter().map(|run| (run + 1).to_string()).collect::<Vec<_>>().join(" "));
    let donors = case.donors.iter().map(|row| case.pool.tree.functions[*row].name.as_str());
    let noise = format!(
        "runs {} before, {} after; the planted cost varies as {}",
        runs.before,
        runs.after,
        donors.collect::<Vec<_>>().join(" and ")
    );
    KeptCase {
        name: case.spec.to_string(),
        kind: case.spec.kind.name(),
        base: &case.pool.program,
        truth: &case.planted.truth,
        work: None,
        standard_errors: case.standard_errors(),
        noise,
        package: env!("CARGO_PKG_NAME"),
    }
}

/// Writes the runs of a case as files: `before/run-01.perfblame`, `after/run-01.perfblame`.
pub fn write(case: &Case<'_>, folder: &Path) -> Result<()> {
    for side in Side::BOTH {
        let set = case.side(side);
        let folder = folder.join(side.name());
        std::fs::create_dir_all(&folder)?;
        for number in 0..set.runs.len() {
            let profile = set.profile(number).context("a run")?;
            let path = folder.join(format!("run-{:02}.perfblame", number + 1));
            let mut file = std::io::BufWriter::new(std::fs::File::create(&path)?);
            perfblame_file::write(&profile, &mut file)?;
            std::io::Write::flush(&mut file)?;
        }
    }
    Ok(())
}
