//! What is recorded of an application, and where it is kept.

use std::path::{Path, PathBuf};

use anyhow::Result;
use perfblame_cct::Side;

use crate::app::App;
use crate::case::{InjectionKind, Spec, Truth};
use crate::draw::draw;
use crate::record::Recorder;
use crate::site::{self, Recipe};
use crate::survey::{self, survey};
use crate::work;

/// Time lines of each side of a comparison; the baseline has twice as many.
pub const TIMELINES: usize = 5;

/// A set of time lines of one site.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    pub app: &'static str,
    /// Its site, below the application's.
    pub site: String,
    /// Its folder, below the application's.
    pub name: String,
}

impl Set {
    fn new(app: &App, site: &str, name: &str) -> Self {
        Self { app: app.name, site: site.to_owned(), name: name.to_owned() }
    }

    /// Where a time line is, counted from 1.
    pub fn file(&self, folder: &Path, number: usize) -> PathBuf {
        folder.join(self.app).join(&self.name).join(format!("{number}.json.gz"))
    }

    /// The first so many.
    pub fn files(&self, folder: &Path, count: usize) -> Vec<PathBuf> {
        (1..=count).map(|number| self.file(folder, number)).collect()
    }
}

/// The baseline: the release before, as it is.
pub fn baseline(app: &App) -> Set {
    Set::new(app, "before", "baseline")
}

/// A second baseline, which nothing may differ from the first.
pub fn second_baseline(app: &App) -> Set {
    Set::new(app, "before", "baseline-2")
}

/// The later release, as it is.
pub fn release(app: &App) -> Set {
    Set::new(app, "after", "release")
}

/// The release before, minified.
pub fn minified(app: &App) -> Set {
    Set::new(app, "before-minified", "baseline-minified")
}

/// The time lines of a case.
pub fn case(app: &App, name: &str) -> Set {
    Set::new(app, name, &format!("cases/{name}"))
}

/// What a case is compared with.
pub fn before(app: &App, kind: InjectionKind) -> Set {
    if kind == InjectionKind::Minified { minified(app) } else { baseline(app) }
}

/// All sets of an application, so ordered that what is compared is recorded not far from each other.
pub fn sets(app: &App, truths: &[Truth]) -> Vec<Set> {
    let (first, last) = truths.split_at(truths.len() / 2);
    let mut sets = vec![baseline(app)];
    sets.extend(first.iter().map(|truth| case(app, &truth.case)));
    sets.extend([second_baseline(app), release(app)]);
    for truth in last {
        if truth.kind == InjectionKind::Minified {
            sets.push(minified(app));
        }
        sets.push(case(app, &truth.case));
    }
    if first.iter().any(|truth| truth.kind == InjectionKind::Minified) {
        sets.insert(1, minified(app));
    }
    sets
}

/// Where the truth about a case is.
pub fn truth_file(folder: &Path, app: &App, spec: Spec) -> PathBuf {
    folder.join(app.name).join("cases").join(spec.name()).join("truth.json")
}

/// Makes all cases of an application that are not there, and tells those that could not be made.
pub fn make_cases(
    app: &App,
    specs: &[Spec],
    seed: u64,
    folder: &Path,
    recorder: &Recorder,
    mut say: impl FnMut(String),
) -> Result<()> {
    let packages = folder.join("packages");
    let own = folder.join(app.name);
    let given_up = |spec: Spec| truth_file(folder, app, spec).with_file_name("given-up.txt");
    let is_missing =
        |spec: &Spec| !truth_file(folder, app, *spec).exists() && !given_up(*spec).exists();
    if !specs.iter().any(is_missing) {
        return Ok(());
    }
    say(format!("surveying {}", app.name));
    let survey = survey(app, survey::TIMELINES, (&own, &packages), recorder)?;
    for release in Side::BOTH {
        let name = release.name();
        site::make(&packages, &Recipe::plain(app, release), &own.join("sites").join(name))?;
    }
    let mut used = Vec::new();
    for spec in specs {
        let file = truth_file(folder, app, *spec);
        if is_missing(spec) {
            say(format!("making {} {}", app.name, spec.name()));
            if spec.kind == InjectionKind::Minified {
                let recipe = Recipe { minified: true, ..Recipe::plain(app, Side::Before) };
                site::make(&packages, &recipe, &own.join("sites").join("before-minified"))?;
            }
            let site = own.join("sites").join(spec.name());
            if site.exists() {
                std::fs::remove_dir_all(site)?;
            }
            match draw(app, *spec, seed, &survey, &used, (&own, &packages), recorder) {
                Ok(truth) => work::write_whole(&file, &serde_json::to_vec_pretty(&truth)?)?,
                Err(error) => {
                    work::write_whole(&given_up(*spec), format!("{error:#}\n").as_bytes())?;
                }
            }
        }
        if let Some(truth) = read(&file) {
            used.push(truth.function);
        }
    }
    Ok(())
}

/// The truths about the cases of an application that could be made.
pub fn truths(app: &App, specs: &[Spec], folder: &Path) -> Vec<Truth> {
    specs.iter().filter_map(|spec| read(&truth_file(folder, app, *spec))).collect()
}

fn read(file: &Path) -> Option<Truth> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}
