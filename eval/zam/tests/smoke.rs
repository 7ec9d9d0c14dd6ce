//! The whole experiment in small: one application, one injection, few time lines.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

use perfblame_eval_zam::answer::{Answer, Method, ask, self_difference};
use perfblame_eval_zam::app::APPS;
use perfblame_eval_zam::case::{InjectionKind, Spec};
use perfblame_eval_zam::draw::draw;
use perfblame_eval_zam::plan;
use perfblame_eval_zam::record::Recorder;
use perfblame_eval_zam::score::{score, ways};
use perfblame_eval_zam::survey::survey;
use perfblame_eval_zam::timeline::Timeline;
use perfblame_fixtures::tool;

const RUNS: usize = 2;

/// perfblame beside this test, built when it is not there.
fn perfblame() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let folder = here.parent().and_then(Path::parent).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--package", "perfblame"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.unwrap().success());
    folder.join("perfblame")
}

#[test]
fn an_injected_loop_is_found() {
    for program in ["npm", "chromium"] {
        tool(program);
    }
    let app = APPS.iter().find(|app| app.name == "vue").unwrap();
    let folder = std::env::temp_dir().join(format!("perfblame-eval-zam-{}", std::process::id()));
    let own = folder.join(app.name);
    let packages = folder.join("packages");
    let recorder = Recorder { perfblame: perfblame() };
    let survey = survey(app, 1, (&own, &packages), &recorder).unwrap();
    let spec = Spec { kind: InjectionKind::Loop, number: 1 };
    let truth = draw(app, spec, 1, &survey, &[], (&own, &packages), &recorder).unwrap();
    let (before, after) = (plan::baseline(app), plan::case(app, &spec.name()));
    for number in 1..=RUNS {
        for set in [&before, &after] {
            let site = own.join("sites").join(&set.site);
            recorder.record(&site, app.flow, &[], &set.file(&folder, number)).unwrap();
        }
    }
    let files = after.files(&folder, RUNS);
    let read = |files: &[PathBuf]| -> Vec<Timeline> {
        files.iter().map(|file| Timeline::read(file).unwrap()).collect()
    };
    let (before, timelines) = (before.files(&folder, RUNS), read(&files));
    let score = |answer: &Answer, method: Method| {
        score(&truth, &ways(&truth, &timelines), answer, method, &Answer::default())
    };
    // Two runs on a busy machine may scatter by more than the loop takes, and then nobody is a suspect. But the loop is
    // in the time lines, and a slowdown that is certain is its.
    let plain = score(&self_difference(&read(&before), &timelines), Method::SelfDifference);
    assert!(plain.right > 0, "{}: {:?}", truth.what, plain.wrong);
    let answer = ask(&recorder.perfblame, &before, &files, Method::Suspects).unwrap();
    let suspects = score(&answer, Method::Suspects);
    assert!(suspects.right > 0 || !suspects.regressed, "{}: {suspects:?}", truth.what);
    std::fs::remove_dir_all(&folder).unwrap();
}
