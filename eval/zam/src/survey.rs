//! What is known of an application before anything is injected: which functions a visit samples, and how often each
//! place of each script is executed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use perfblame_cct::Side;

use crate::app::App;
use crate::inject::{Counted, count};
use crate::record::Recorder;
use crate::script::Script;
use crate::site::{self, Recipe};
use crate::timeline::{FramePlace, Timeline};
use crate::work;

/// Time lines of each release that functions are drawn from, unless somebody is in a hurry.
pub const TIMELINES: usize = 3;

/// A script of the later release, with how often its places are executed.
pub struct Surveyed {
    pub address: String,
    pub script: Script,
    /// By function.
    pub entries: Vec<u64>,
    /// By function and call.
    pub calls: Vec<Vec<u64>>,
    /// By function and condition.
    pub conditions: Vec<Vec<u64>>,
    /// Texts of functions that the earlier release has once.
    pub known: BTreeSet<String>,
}

/// What is known of an application.
pub struct Survey {
    pub scripts: Vec<Surveyed>,
    /// Functions with a name that the earlier release's time lines have, by script and name.
    pub before: BTreeSet<(String, String)>,
    /// Functions of the later release's, and the mean time in them with all below.
    pub after: BTreeMap<FramePlace, f64>,
    /// The same by caller and callee.
    pub edges: BTreeMap<(FramePlace, FramePlace), f64>,
    /// What there is to see at the end of a visit.
    pub seen: String,
}

/// Surveys an application; visits are kept.
pub fn survey(
    app: &App,
    timelines: usize,
    (folder, packages): (&Path, &Path),
    recorder: &Recorder,
) -> Result<Survey> {
    let kept = folder.join("survey");
    let mut counted: Vec<(usize, Counted)> = Vec::new();
    let mut counting = BTreeMap::new();
    let mut scripts = Vec::new();
    for (row, address) in app.scripts().into_iter().enumerate() {
        let script = Script::parse(site::script(packages, app, Side::After, &address)?)?;
        let before = Script::parse(site::script(packages, app, Side::Before, &address)?)?;
        let known = before.texts().into_iter().filter(|(_, times)| *times == 1);
        let known = known.map(|(text, _)| text.to_owned()).collect();
        let (text, what) = count(&script, counted.len());
        counted.extend(what.into_iter().map(|what| (row, what)));
        counting.insert(address.clone(), text);
        let each = |of: &dyn Fn(&crate::script::Function) -> usize| -> Vec<Vec<u64>> {
            script.functions.iter().map(|function| vec![0; of(function)]).collect()
        };
        let calls = each(&|function| function.calls.len());
        let conditions = each(&|function| function.conditions.len());
        let entries = vec![0; script.functions.len()];
        scripts.push(Surveyed { address, script, entries, calls, conditions, known });
    }
    let report = work::step(&kept.join("counts.json"), || {
        let to = folder.join("sites").join("counting");
        let recipe = Recipe { scripts: counting, reports: true, ..Recipe::plain(app, Side::After) };
        site::make(packages, &recipe, &to)?;
        let report = recorder.report(&to, app.flow, &kept.join("counting.json.gz"))?;
        if !report.errors.is_empty() {
            bail!("{}: {}", app.name, report.errors.join("; "));
        }
        Ok(report)
    })
    .with_context(|| format!("{}: counting", app.name))?;
    for (number, (row, what)) in counted.iter().enumerate() {
        let times = report.counts.get(number).copied().flatten().unwrap_or(0);
        let surveyed = &mut scripts[*row];
        match *what {
            Counted::Entry(function) => surveyed.entries[function] = times,
            Counted::Call(function, call) => surveyed.calls[function][call] = times,
            Counted::Condition(function, at) => surveyed.conditions[function][at] = times,
        }
    }
    let mut sampled = Survey {
        scripts,
        before: BTreeSet::new(),
        after: BTreeMap::new(),
        edges: BTreeMap::new(),
        seen: report.seen,
    };
    for release in Side::BOTH {
        let name = release.name();
        let to = folder.join("sites").join(name);
        site::make(packages, &Recipe::plain(app, release), &to)?;
        for number in 1..=timelines {
            let file = kept.join(format!("{name}-{number}.json.gz"));
            recorder.record(&to, app.flow, &[], &file)?;
            sampled.add(release, &Timeline::read(&file)?, timelines);
        }
    }
    Ok(sampled)
}

impl Survey {
    /// Mean milliseconds in a function with all below it; recursion counts each call.
    pub fn total(&self, place: &FramePlace) -> f64 {
        self.after.get(place).copied().unwrap_or(0.0)
    }

    fn add(&mut self, release: Side, timeline: &Timeline, of: usize) {
        if release == Side::Before {
            let places = timeline.nodes.iter().map(|node| &node.place);
            let named = places.filter(|place| !place.is_nameless() && !place.script.is_empty());
            self.before.extend(named.map(|place| (place.script.clone(), place.name.clone())));
            return;
        }
        let total = timeline.inclusive();
        for (row, node) in timeline.nodes.iter().enumerate() {
            if node.place.script.is_empty() {
                continue;
            }
            let mean = total[row] / of as f64;
            *self.after.entry(node.place.clone()).or_insert(0.0) += mean;
            if let Some(parent) = node.parent {
                let edge = (timeline.nodes[parent].place.clone(), node.place.clone());
                *self.edges.entry(edge).or_insert(0.0) += mean;
            }
        }
    }
}
