//! Draws what is injected where, by chance with a stored seed, from the functions that a visit samples.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use perfblame_cct::Side;
use perfblame_fixtures::Random;

use crate::app::{App, SHARED};
use crate::case::{InjectionKind, Spec, Truth};
use crate::inject::{Edit, PLATFORM, edit, find_loop, is_free};
use crate::record::Recorder;
use crate::script::{Function, Position, Script};
use crate::site::{self, Recipe};
use crate::survey::{Survey, Surveyed};
use crate::timeline::{FramePlace, Timeline};
use crate::work;

/// What takes 100 to 200 ms is executed at most so often, or visits take forever.
const FEW: u64 = 10;
/// What takes 10 ms is executed so often.
const OFTEN: std::ops::RangeInclusive<u64> = 4..=80;
/// Draws of a case before it is given up.
const ATTEMPTS: usize = 12;
/// The part of the time that further calls should take that they have to.
const REALLY_MORE: f64 = 0.4;
/// Further calls at most.
const MOST_CALLS: f64 = 12.0;

/// A function to inject into.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    surveyed: &'a Surveyed,
    function: usize,
    place: &'a FramePlace,
}

/// Draws a case, makes its site and tells the truth about it. `used` are functions of other cases.
pub fn draw(
    app: &App,
    spec: Spec,
    seed: u64,
    survey: &Survey,
    used: &[FramePlace],
    (folder, packages): (&Path, &Path),
    recorder: &Recorder,
) -> Result<Truth> {
    let mut random = Random::new(seed_of(seed, app.name, &spec.name()));
    let mut failure = None;
    for _ in 0..ATTEMPTS {
        let site = folder.join("sites").join(spec.name());
        match attempt(app, spec, &mut random, survey, used, (&site, packages), recorder) {
            Ok(truth) => return Ok(truth),
            Err(error) => {
                if site.exists() {
                    std::fs::remove_dir_all(&site)?;
                }
                failure = Some(error);
            }
        }
    }
    Err(failure.context("no draw")?)
}

/// The seed of a case.
fn seed_of(seed: u64, app: &str, case: &str) -> u64 {
    let name = app.bytes().chain(*b"/").chain(case.bytes());
    perfblame_keys::seeded_hash(seed, name)
}

fn pick<'l, T>(random: &mut Random, list: &'l [T]) -> Option<&'l T> {
    let length = u64::try_from(list.len()).ok().filter(|length| *length > 0)?;
    list.get((random.bits() % length) as usize)
}

fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    low + (high - low) * random.unit()
}

/// An edit, how often it is executed, and what is said of it.
type Choice = (Edit, u64, String);

/// An edit, of which script, with what is said of it.
struct Drawn {
    address: String,
    edit: Edit,
    what: String,
    executions: u64,
    each: f64,
    name: String,
    also: Vec<FramePlace>,
}

fn attempt(
    app: &App,
    spec: Spec,
    random: &mut Random,
    survey: &Survey,
    used: &[FramePlace],
    (site, packages): (&Path, &Path),
    recorder: &Recorder,
) -> Result<Truth> {
    if matches!(spec.kind, InjectionKind::Timer | InjectionKind::Fetch) {
        return wait(app, spec, random, (site, packages));
    }
    let drawn = match spec.kind {
        InjectionKind::MoreCalls => more_calls(random, survey, used)?,
        InjectionKind::Weak => {
            let kind =
                *pick(random, &[InjectionKind::Api, InjectionKind::Loop, InjectionKind::Condition])
                    .context("kinds")?;
            slower(kind, Some(between(random, 5.0, 20.0)), random, survey, used)?
        }
        kind => slower(kind, None, random, survey, used)?,
    };
    let surveyed = survey.scripts.iter().find(|surveyed| surveyed.address == drawn.address);
    let edited = edit(&surveyed.context("a script")?.script, &drawn.edit)?;
    let place = |name: &str, at: Position| FramePlace {
        name: name.to_owned(),
        script: drawn.address.clone(),
        at: Some(at),
    };
    let mut function = place(&drawn.name, edited.function);
    let mut also: Vec<FramePlace> =
        edited.added.iter().map(|(name, at)| place(name, *at)).collect();
    // What is called stands further down where something was put in above it in its line.
    let moved = Script::parse(edited.text.clone())?;
    for callee in drawn.also {
        let at = match callee.at {
            Some(at) if callee.script == drawn.address => {
                let row = surveyed.and_then(|surveyed| surveyed.script.function_at(at));
                row.and_then(|row| moved.functions.get(row)).map(|function| function.at)
            }
            at => at,
        };
        also.push(FramePlace { at, ..callee });
    }
    let recipe = |reports: bool| Recipe {
        scripts: BTreeMap::from([(drawn.address.clone(), edited.text.clone())]),
        minified: spec.kind == InjectionKind::Minified,
        reports,
        ..Recipe::plain(app, Side::After)
    };
    // Calling something again can change what a page does; then it is no case.
    if matches!(spec.kind, InjectionKind::MoreCalls | InjectionKind::Minified) {
        let trial = work::unfinished(&site.with_extension("trial"));
        if trial.exists() {
            std::fs::remove_dir_all(&trial)?;
        }
        site::make(packages, &recipe(true), &trial)?;
        let recorded = site.with_extension("trial.json.gz");
        let report = recorder.report(&trial, app.flow, &recorded);
        let timeline = Timeline::read(&recorded);
        let _ = std::fs::remove_file(recorded);
        std::fs::remove_dir_all(&trial)?;
        // What was computed already is often there the second time; then it is no case either.
        if let (InjectionKind::MoreCalls, Some(callee), Ok(timeline)) =
            (spec.kind, also.last(), &timeline)
        {
            let is_callee =
                |place: &&FramePlace| place.script == callee.script && place.name == callee.name;
            let usual =
                survey.after.keys().find(is_callee).map_or(0.0, |place| survey.total(place));
            let added = drawn.each * drawn.executions as f64;
            if timeline.total_of(callee) < usual + added * REALLY_MORE {
                bail!("{}: calling {} again takes hardly any time", app.name, callee.name);
            }
        }
        let report = report?;
        if !report.errors.is_empty() || report.seen != survey.seen {
            bail!(
                "{}: {} shows {} rather than {}",
                app.name,
                spec.name(),
                report.seen,
                survey.seen
            );
        }
    }
    site::make(packages, &recipe(false), site)?;
    if spec.kind == InjectionKind::Minified {
        let text = std::fs::read_to_string(site.join(drawn.address.trim_start_matches('/')))?;
        function.at = Some(find_loop(&text)?);
    }
    Ok(Truth {
        app: app.name.to_owned(),
        case: spec.name(),
        kind: spec.kind,
        what: drawn.what,
        function,
        also,
        executions: drawn.executions,
        each: drawn.each,
    })
}

/// Functions that both releases' time lines have, or, without names, whose text both releases have.
fn candidates<'a>(survey: &'a Survey, anonymous: bool, used: &[FramePlace]) -> Vec<Candidate<'a>> {
    let mut candidates = Vec::new();
    for place in survey.after.keys() {
        let surveyed = survey.scripts.iter().find(|surveyed| surveyed.address == place.script);
        let (Some(surveyed), Some(at)) = (surveyed, place.at) else { continue };
        // What all pages share is ours and waits; it is no part of the application.
        let Some(function) =
            surveyed.script.function_at(at).filter(|_| place.script != "/visit.js")
        else {
            continue;
        };
        let text = &surveyed.script.text[surveyed.script.functions[function].span.clone()];
        let is_known = if place.name.is_empty() {
            anonymous && surveyed.known.contains(text)
        } else {
            !anonymous
                && !place.is_nameless()
                && survey.before.contains(&(place.script.clone(), place.name.clone()))
        };
        let is_used =
            used.iter().any(|used| used.script == place.script && used.name == place.name);
        if is_known && (anonymous || !is_used) {
            candidates.push(Candidate { surveyed, function, place });
        }
    }
    candidates
}

/// One of the paper's three, `total` milliseconds in all or as many as the paper has.
fn slower(
    kind: InjectionKind,
    total: Option<f64>,
    random: &mut Random,
    survey: &Survey,
    used: &[FramePlace],
) -> Result<Drawn> {
    let is_anonymous = kind == InjectionKind::Anonymous;
    let mut places: Vec<(Candidate<'_>, Vec<Choice>)> = Vec::new();
    let long = between(random, 100.0, 200.0);
    let names: BTreeSet<&str> = survey.after.keys().map(|place| &*place.name).collect();
    let each = |executions: u64, usual: f64| total.map_or(usual, |total| total / executions as f64);
    for candidate in candidates(survey, is_anonymous, used) {
        let Candidate { surveyed, function: row, place } = candidate;
        let function = &surveyed.script.functions[row];
        let mut edits = Vec::new();
        match kind {
            InjectionKind::Api => {
                for (call, times) in function.calls.iter().zip(&surveyed.calls[row]) {
                    let is_platform =
                        PLATFORM.contains(&&*call.callee) && !names.contains(&*call.callee);
                    if is_platform && (1..=FEW).contains(times) {
                        let ms = each(*times, long);
                        let what = format!("`{}` takes longer in `{}`", call.callee, place.name);
                        edits.push((Edit::Api { call: call.span.clone(), ms }, *times, what));
                    }
                }
            }
            InjectionKind::Condition => {
                let conditions = function.conditions.iter().zip(&surveyed.conditions[row]);
                for (condition, times) in conditions.filter(|(_, times)| OFTEN.contains(times)) {
                    let ms = each(*times, 10.0);
                    let what = format!("a condition in `{}` is checked longer", place.name);
                    edits.push((
                        Edit::Condition { condition: condition.clone(), ms },
                        *times,
                        what,
                    ));
                }
                // Without a condition the whole body gets one, as in the paper.
                let times = surveyed.entries[row];
                if let Some(entry) = function.entry
                    && function.conditions.is_empty()
                    && OFTEN.contains(&times)
                {
                    let what = format!("a condition around the body of `{}`", place.name);
                    edits.push((Edit::Guard { entry, ms: each(times, 10.0) }, times, what));
                }
            }
            _ => {
                let times = surveyed.entries[row];
                let fits = kind != InjectionKind::Minified || is_free(&surveyed.script.text);
                if let Some(entry) = function.entry.filter(|_| fits && (1..=FEW).contains(&times)) {
                    let name = if is_anonymous { "a function without a name" } else { &place.name };
                    let ms = each(times, long);
                    edits.push((Edit::Loop { entry, ms }, times, format!("a loop in `{name}`")));
                }
            }
        }
        if !edits.is_empty() {
            places.push((candidate, edits));
        }
    }
    let (candidate, edits) = pick(random, &places).context("no function can be injected into")?;
    let (edit, executions, what) = pick(random, edits).context("no place")?;
    let ms = match edit {
        Edit::Loop { ms, .. } | Edit::Api { ms, .. } => ms,
        Edit::Condition { ms, .. } | Edit::Guard { ms, .. } => ms,
        Edit::Repeat { .. } => bail!("no time"),
    };
    Ok(Drawn {
        address: candidate.surveyed.address.clone(),
        edit: edit.clone(),
        what: format!("{what}, {ms:.1} ms, {}", how_often(*executions)),
        executions: *executions,
        each: *ms,
        name: candidate.place.name.clone(),
        also: Vec::new(),
    })
}

/// A call that is made several times.
fn more_calls(random: &mut Random, survey: &Survey, used: &[FramePlace]) -> Result<Drawn> {
    let wanted = between(random, 60.0, 150.0);
    let mut found = Vec::new();
    for candidate in candidates(survey, false, used) {
        let Candidate { surveyed, function: row, place } = candidate;
        let function = &surveyed.script.functions[row];
        let least = FramePlace { name: String::new(), script: String::new(), at: None };
        let below: Vec<(&FramePlace, f64)> = (survey.edges.range((place.clone(), least)..))
            .take_while(|((caller, _), _)| caller == place)
            .map(|((_, callee), ms)| (callee, *ms))
            .collect();
        for (call, times) in function.calls.iter().zip(&surveyed.calls[row]) {
            let is_called = |callee: &FramePlace| {
                !callee.is_nameless()
                    && callee.name.rsplit(['.', ' ']).next() == Some(&*call.callee)
            };
            let callees: Vec<(&FramePlace, f64)> =
                below.iter().filter(|(callee, _)| is_called(callee)).copied().collect();
            // Called from two places of the function, the time could be the other's.
            let sites = function.calls.iter().filter(|other| other.callee == call.callee).count();
            // A function in the call would be there several times, and so would those behind it have other numbers.
            let holds = |inner: &Function| call.span.contains(&inner.span.start);
            if let ([(callee, ms)], 1) = (&*callees, sites)
                && !surveyed.script.functions.iter().any(holds)
                && *ms * MOST_CALLS >= wanted
                && *ms < 2.0 * wanted
                && *times > 0
            {
                let again = (wanted / ms).ceil().max(1.0);
                found.push((candidate, call, *callee, *ms, again as usize));
            }
        }
    }
    let (candidate, call, callee, ms, again) =
        pick(random, &found).context("no call can be repeated")?;
    Ok(Drawn {
        address: candidate.surveyed.address.clone(),
        edit: Edit::Repeat { call: call.span.clone(), times: *again },
        what: format!(
            "`{}` calls `{}` {} times instead of once",
            candidate.place.name,
            callee.name,
            again + 1
        ),
        executions: *again as u64,
        each: *ms,
        name: candidate.place.name.clone(),
        also: vec![(*callee).clone()],
    })
}

/// A timer or a request that takes longer, in what all pages share.
fn wait(app: &App, spec: Spec, random: &mut Random, to: (&Path, &Path)) -> Result<Truth> {
    let ms = between(random, 100.0, 200.0).round();
    let (mark, text, name, executions, what) = if spec.kind == InjectionKind::Timer {
        let clicks = app.flow.matches("\"click\"").count() as u64;
        let text = format!("{} ", 20.0 + ms);
        ("20 /*zam:timer*/", text, "putOff", clicks, "a timer takes longer")
    } else {
        let text = format!("\"settings.json?slow={ms}\" ");
        ("\"settings.json\" /*zam:fetch*/", text, "loadSettings", 1, "a request takes longer")
    };
    let shared = SHARED.replacen(mark, &text, 1);
    if shared == SHARED {
        bail!("nothing to wait for");
    }
    let script = Script::parse(shared.clone())?;
    let at = shared.find(&text).context("gone")?;
    // The promise's function asks for the timer; the one around it is the one that people know.
    let around: Vec<_> =
        script.functions.iter().filter(|function| function.span.contains(&at)).collect();
    let place = |name: &str, at: Position| FramePlace {
        name: name.to_owned(),
        script: "/visit.js".to_owned(),
        at: Some(at),
    };
    let function = place(name, around.first().context("no function")?.at);
    let also = around.iter().skip(1).map(|function| place("", function.at)).collect();
    let recipe = Recipe {
        scripts: BTreeMap::from([("/visit.js".to_owned(), shared.clone())]),
        ..Recipe::plain(app, Side::After)
    };
    site::make(to.1, &recipe, to.0)?;
    Ok(Truth {
        app: app.name.to_owned(),
        case: spec.name(),
        kind: spec.kind,
        what: format!("{what} in `{name}`, {ms} ms, {}", how_often(executions)),
        function,
        also,
        executions,
        each: ms,
    })
}

fn how_often(executions: u64) -> String {
    match executions {
        1 => "once".to_owned(),
        executions => format!("{executions} times"),
    }
}
