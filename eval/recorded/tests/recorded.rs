//! What the tables say in the large, kept in every test run: the runs read, identical code raises no alarm, and a large
//! slowdown is found with 5 + 5 runs. The full figures are in `docs/eval-recorded.md`.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::sync::OnceLock;

use perfblame_analysis::{Ask, DiffQuery, InputOptions, expand, load};
use perfblame_cct::{Side, Sides};
use perfblame_eval_planted::answer::{Tested, ask};
use perfblame_eval_planted::evaluate::same;
use perfblame_eval_planted::plant::PlantedKind;
use perfblame_eval_planted::scratch::Scratch;
use perfblame_eval_recorded::case::{Case, Spec};
use perfblame_eval_recorded::evaluate::{KINDS, Plan, evaluate, sum, write};
use perfblame_eval_recorded::machine::QUIET;
use perfblame_eval_recorded::pool::{self, Pool};

fn all() -> &'static [Pool] {
    static POOLS: OnceLock<Vec<Pool>> = OnceLock::new();
    POOLS.get_or_init(|| pool::pools(&pool::folder()).unwrap())
}

fn spec(pool: &Pool, kind: PlantedKind, per_mille: u32, runs: usize) -> Spec {
    Spec {
        condition: pool.condition.clone(),
        program: pool.program.clone(),
        kind,
        per_mille,
        runs: (runs, runs),
        index: 0,
    }
}

#[test]
fn every_program_has_its_runs_and_how_busy_the_machine_was() {
    assert!(all().len() >= 10, "{} programs", all().len());
    for pool in all() {
        assert_eq!(pool.runs(), 20, "{}", pool.program);
        assert!(pool.tree.nodes.len() > 20 && pool.samples() > 50.0, "{}", pool.program);
        let table = format!("{}/{}.tsv", pool.condition, pool.program);
        let table = std::fs::read_to_string(pool::folder().join(table)).unwrap();
        let rows = table.lines().filter(|line| line.split('\t').count() == 5);
        assert_eq!(rows.count(), 1 + 20, "{}", pool.program);
        if pool.condition == "quiet" {
            let before = table.lines().find_map(|line| line.split("before the first run: ").nth(1));
            assert!(before.unwrap().parse::<f64>().unwrap() <= QUIET, "{}", pool.program);
        }
    }
}

#[test]
fn identical_code_is_quiet_and_half_as_much_again_is_found() {
    let mut specs: Vec<Spec> =
        all().iter().map(|pool| spec(pool, PlantedKind::Identical, 0, 5)).collect();
    for (turn, pool) in all().iter().enumerate() {
        specs.push(spec(pool, KINDS[turn % KINDS.len()], 500, 5));
    }
    let plan = Plan {
        seed: 1,
        methods: vec![Tested::Suspects],
        keep: None,
        verbose: true,
        check_every: 0,
    };
    let rows = evaluate(&specs, all(), &plan).unwrap();
    let identical = |spec: &Spec| spec.kind == PlantedKind::Identical;
    let alarms = sum(&rows, Tested::Suspects, identical).false_alarm;
    let found = sum(&rows, Tested::Suspects, |spec| !identical(spec)).first_right;
    assert!(alarms.value().unwrap() <= 0.1, "{alarms:?}");
    // Of a program with 60 samples a run not every cause can be found.
    assert!(found.value().unwrap() >= 0.8, "{found:?}");
}

#[test]
fn planting_adds_what_it_says_and_leaves_the_rest() {
    for pool in all() {
        let planted = spec(pool, PlantedKind::SelfAll, 200, 10);
        let Some(case) = Case::draw(&planted, 1, pool) else { continue };
        let recorded = |run: &usize| pool.set.runs[*run].cells.total(pool.metric) as f64;
        let totals = Sides::of(|side| {
            let set = case.side(side);
            let own: Vec<f64> =
                set.runs.iter().map(|run| run.cells.total(pool.metric) as f64).collect();
            let was: Vec<f64> = case.runs[side].iter().map(recorded).collect();
            own.iter().zip(was).map(|(now, was)| now - was).sum::<f64>() / own.len() as f64
        });
        assert!(totals.before.abs() < 1e-9, "{}", pool.program);
        let shown = pool.set.metrics[pool.metric.index()].shown(1);
        let added = totals.after * shown / case.change();
        // Ten runs of the function that lends its variation need not be typical.
        assert!((0.7..1.4).contains(&added), "{} {added}", pool.program);
    }
}

#[test]
fn files_of_a_case_say_the_same() {
    for (turn, pool) in all().iter().enumerate().step_by(4) {
        let Some(case) = Case::draw(&spec(pool, KINDS[turn % 5], 200, 3), 1, pool) else {
            continue;
        };
        let folder = Scratch::new().unwrap();
        write(&case, folder.path()).unwrap();
        let options = DiffQuery::default().load_options(&InputOptions::default());
        let read = |side: Side| {
            let sources = expand(&[folder.path().join(side.name())]).unwrap();
            load(&sources, options.clone(), &Ask::default()).unwrap()
        };
        let of_files = ask(&Sides::of(read), Tested::Suspects, None).unwrap();
        let in_process = ask(&case.sides(), Tested::Suspects, None).unwrap();
        assert!(same(&of_files, &in_process), "{}: {of_files:?} {in_process:?}", case.spec);
    }
}
