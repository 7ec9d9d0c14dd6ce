//! What holds for every case: the same seed gives the same files, effects have the size they are said to have, and files
//! say what the truth says.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::path::Path;
use std::sync::OnceLock;

use perfblame_eval_planted::answer::{Tested, load_sides};
use perfblame_eval_planted::base::{Base, From, bases};
use perfblame_eval_planted::case::{Case, Spec};
use perfblame_eval_planted::evaluate::{Plan, evaluate};
use perfblame_eval_planted::noise::Ranges;
use perfblame_eval_planted::plant::PlantedKind;

fn every_kind() -> impl Iterator<Item = Spec> {
    let spec = |kind, percent| Spec { kind, percent, runs: (2, 2), index: 0 };
    let slower = PlantedKind::SLOWER.into_iter().map(move |kind| spec(kind, 10));
    slower
        .chain(PlantedKind::QUIET.into_iter().map(move |kind| spec(kind, kind.quiet_percents()[0])))
}

fn samples() -> &'static [Base] {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    BASES.get_or_init(|| bases(From::Samples).unwrap())
}

fn draw(spec: Spec, bases: &[Base]) -> Case {
    Case::draw(spec, 1, bases, &Ranges::default()).unwrap()
}

#[test]
fn effects_have_the_size_they_are_said_to_have() {
    let bases = samples();
    for spec in every_kind() {
        let case = draw(spec, bases);
        let (before, after) = (case.planted.before.total(), case.planted.after.total());
        let causes = case.planted.truth.causes.len();
        let expected = match spec.kind {
            PlantedKind::Improvement => -f64::from(spec.percent) / 100.0,
            _ => causes as f64 * f64::from(spec.percent) / 100.0,
        };
        // A context that is made too cheap to be seen makes the whole a little cheaper.
        let exact = if spec.kind == PlantedKind::Unseen { 0.01 } else { 1e-6 };
        assert!(((after - before) / before - expected).abs() < exact, "{spec}: {before} {after}");
        assert_eq!(causes > 0, spec.kind.is_slower(), "{spec}");
    }
}

#[test]
fn a_case_is_the_same_whenever_it_is_made() {
    let bases = samples();
    let folder =
        std::env::temp_dir().join(format!("perfblame-planted-laws-{}", std::process::id()));
    for spec in every_kind().step_by(3) {
        let files = ["first", "second"].map(|name| {
            let folder = folder.join(name);
            draw(spec, bases).write(&folder).unwrap();
            [read(&folder.join("before")), read(&folder.join("after"))]
        });
        assert!(files[0] == files[1], "{spec}");
        assert_eq!(files[0].each_ref().map(Vec::len), [2, 2], "{spec}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

fn read(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let mut files: Vec<_> = (std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn files_say_what_the_truth_says() {
    let bases = samples();
    let folder =
        std::env::temp_dir().join(format!("perfblame-planted-truth-{}", std::process::id()));
    for spec in every_kind() {
        let case = draw(spec, bases);
        case.write(&folder).unwrap();
        let sides = load_sides(&folder).unwrap();
        case.check_readable(&sides).unwrap();
        assert_eq!(sides.before.runs.runs.len(), 2, "{spec}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn the_plain_ranking_finds_what_is_large() {
    let bases = samples();
    let spec = |index| Spec { kind: PlantedKind::SelfAll, percent: 50, runs: (3, 3), index };
    let specs: Vec<Spec> = (0..20).map(spec).collect();
    let plan = Plan {
        seed: 1,
        ranges: Ranges::default(),
        methods: vec![Tested::SelfDifference],
        keep: None,
        verbose: false,
        check_every: 0,
    };
    let rows = evaluate(&specs, bases, &plan).unwrap();
    let right = rows.iter().filter(|row| row.scores[0].1.first_right).count();
    assert!(right >= 19, "{right} of 20");
}
