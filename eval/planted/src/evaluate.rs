//! Many cases on all processors; the answers do not depend on which is done first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Result, bail};
use perfblame_cct::Side;

use crate::answer::{Answer, Cli, Tested, ask, load_sides};
use crate::base::Base;
use crate::case::{Case, Spec};
use crate::keep;
use crate::noise::Ranges;
use crate::plant::PlantedKind;
use crate::score::{Score, score};
use crate::scratch::Scratch;

/// Planted effects, in percent of the whole before.
pub const PERCENTS: [u32; 6] = [1, 2, 5, 10, 20, 50];

/// Numbers of runs before and after, beside 5 + 5: equal and unequal ones.
pub const OTHER_RUNS: [(usize, usize); 6] = [(1, 1), (2, 2), (3, 3), (10, 10), (3, 8), (10, 2)];

/// The numbers of runs that most tables are about.
pub const USUAL_RUNS: (usize, usize) = (5, 5);

/// How to evaluate.
pub struct Plan {
    pub seed: u64,
    pub ranges: Ranges,
    pub methods: Vec<Tested>,
    /// Where failing cases are kept.
    pub keep: Option<PathBuf>,
    /// A line for each case.
    pub verbose: bool,
    /// Every so many cases the command line is asked, too; 0 is never.
    pub check_every: usize,
}

/// What came of one case.
pub struct CaseRow {
    pub spec: Spec,
    pub base: String,
    /// See [`Case::standard_errors`].
    pub standard_errors: Option<f64>,
    pub scores: Vec<(Tested, Score)>,
    /// Seconds for reading and for each method.
    pub seconds: BTreeMap<&'static str, f64>,
}

/// All cases of the tables, `cases` for each cell; half as many where a cell is one kind and size of fourteen and six,
/// since most tables add those up.
pub fn all_cases(cases: usize) -> Vec<Spec> {
    let mut specs = Vec::new();
    let mut cell = |kind, percent, runs, count| {
        specs.extend((0..count).map(|index| Spec { kind, percent, runs, index }));
    };
    for kind in PlantedKind::SLOWER {
        for percent in PERCENTS {
            cell(kind, percent, USUAL_RUNS, cases.div_ceil(2));
        }
    }
    // A false alarm is rare: more cases to find its rate.
    cell(PlantedKind::Identical, 0, USUAL_RUNS, cases * 5);
    for kind in PlantedKind::QUIET.into_iter().filter(|kind| *kind != PlantedKind::Identical) {
        for percent in kind.quiet_percents() {
            cell(kind, *percent, USUAL_RUNS, cases);
        }
    }
    for runs in OTHER_RUNS {
        cell(PlantedKind::Identical, 0, runs, cases);
        for percent in PERCENTS {
            // All kinds take turns.
            let each = cases.div_ceil(PlantedKind::SLOWER.len());
            for kind in PlantedKind::SLOWER {
                cell(kind, percent, runs, each);
            }
        }
    }
    specs
}

/// A few cases that show within seconds whether something broke.
pub fn quick_cases(cases: usize) -> Vec<Spec> {
    let mut specs: Vec<Spec> = (0..cases)
        .map(|index| Spec { kind: PlantedKind::Identical, percent: 0, runs: USUAL_RUNS, index })
        .collect();
    for index in 0..cases {
        let kind = PlantedKind::SLOWER[index % PlantedKind::SLOWER.len()];
        let percent = [5, 10, 20][index / PlantedKind::SLOWER.len() % 3];
        specs.push(Spec { kind, percent, runs: USUAL_RUNS, index });
    }
    specs
}

/// Runs cases.
pub fn evaluate(specs: &[Spec], bases: &[Base], plan: &Plan) -> Result<Vec<CaseRow>> {
    let cli = if plan.check_every > 0 { Cli::find()? } else { None };
    if plan.check_every > 0 && cli.is_none() {
        eprintln!("the command line cannot compare here: answers are those of the library alone");
    }
    let kept = keep::Kept::new(plan.keep.clone());
    let rows = on_all_processors(specs, |number, spec| {
        let check = plan.check_every > 0 && number % plan.check_every == 0;
        one(*spec, bases, plan, cli.as_ref().filter(|_| check), &kept)
    })?;
    kept.finish()?;
    Ok(rows)
}

/// Does some work for each item, in whatever order; results are in theirs. The first failure ends it: nobody needs the
/// rest of the cases when one cannot be made.
pub fn on_all_processors<Item: Sync, Made: Send>(
    items: &[Item],
    work: impl Fn(usize, &Item) -> Result<Made> + Sync,
) -> Result<Vec<Made>> {
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<Result<Made>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let take_turns = || {
        while let Some((number, (item, slot))) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            items.get(number).zip(slots.get(number)).map(|both| (number, both))
        } {
            let made = work(number, item);
            if made.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(made);
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(take_turns);
        }
    });
    slots.into_iter().filter_map(|slot| slot.into_inner().ok().flatten()).collect()
}

fn one(
    spec: Spec,
    bases: &[Base],
    plan: &Plan,
    cli: Option<&Cli>,
    kept: &keep::Kept,
) -> Result<CaseRow> {
    let mut seconds = BTreeMap::new();
    let mut started = Instant::now();
    let mut lap = |what| {
        seconds.insert(what, started.elapsed().as_secs_f64());
        started = Instant::now();
    };
    let case = Case::draw(spec, plan.seed, bases, &plan.ranges)?;
    let folder = Scratch::new()?;
    case.write(folder.path())?;
    lap("generate");
    let sides = load_sides(folder.path())?;
    lap("read");
    case.check_readable(&sides)?;
    let work = case.noise.work;
    let mut answers: Vec<(Tested, Answer)> = Vec::new();
    for tested in &plan.methods {
        answers.push((*tested, ask(&sides, *tested, work)?));
        lap(tested.name());
    }
    for (tested, answer) in &answers {
        if let Some(cli) = cli.filter(|_| tested.is_perfblame()) {
            let other = cli.ask(folder.path(), *tested, work)?;
            if !same(&other, answer) {
                bail!(
                    "{spec}: the command line answers {} otherwise: {other:?} and {answer:?}",
                    tested.name()
                );
            }
        }
    }
    let truth = &case.planted.truth;
    let scores: Vec<(Tested, Score)> = (answers.iter())
        .map(|(tested, answer)| (*tested, score(answer, truth, spec.runs, *tested)))
        .collect();
    if plan.verbose {
        let mut text = keep::line(&case);
        for ((tested, answer), (_, score)) in answers.iter().zip(&scores) {
            text.push_str(&keep::answer_line(*tested, answer, score, truth));
        }
        eprint!("{text}");
    }
    kept.keep(&keep::KeptCase::of(&case), &answers, &scores, |to| copy_sides(folder.path(), to))?;
    Ok(CaseRow { spec, standard_errors: case.standard_errors(), base: case.base, scores, seconds })
}

fn copy_sides(from: &Path, to: &Path) -> Result<()> {
    for side in Side::BOTH.map(Side::name) {
        std::fs::create_dir_all(to.join(side))?;
        for entry in std::fs::read_dir(from.join(side))? {
            let entry = entry?;
            std::fs::copy(entry.path(), to.join(side).join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// True when the library and the command line say the same. JSON has lines only where a path has them: names and
/// components decide.
pub fn same(first: &Answer, second: &Answer) -> bool {
    let plain = |answer: &Answer| -> Vec<Vec<(String, Option<String>)>> {
        let path = |blamed: &crate::answer::Blamed| {
            blamed.path.iter().map(|key| (key.name.clone(), key.component.clone())).collect()
        };
        answer.blamed.iter().map(path).collect()
    };
    first.verdict == second.verdict && plain(first) == plain(second)
}
