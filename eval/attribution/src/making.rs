//! Makes a case: draws where, edits, tries, sizes, commits.
//!
//! Everything drawn comes from a seed of the case. What is measured is only the size, and that it is between a twentieth
//! and six tenths slower.

use anyhow::{Context, Result, bail};
use perfblame_fixtures::Random;

use crate::baseline::Known;
use crate::case::{ChangedPlace, Edited, Sort, Spec, Truth};
use crate::edits::{Edit, edit};
use crate::functions::only;
use crate::language::Language;
use crate::project::{commit, git};
use crate::slowdowns::{SlowdownKind, first_size, inject, snippet};
use crate::workshop::Workshop;

/// Functions with less of the whole are too light to get slower by a part of it.
const LEAST_SHARE: f64 = 0.02;
/// Functions with at least this much surely run.
const RUNS: f64 = 0.003;
/// In Python, where every call costs something, helpers are extracted only from functions with less of their own.
const CHEAP: f64 = 0.02;
/// Runs of each side before a size is believed.
const RUNS_EACH: usize = 3;
/// How much slower a case may be as a whole.
const SLOWER: (f64, f64) = (1.05, 1.6);
/// Functions that are tried before a case is given up.
const ATTEMPTS: usize = 6;

/// The seed of a case.
pub fn seed_of(seed: u64, project: &str, case: &str) -> u64 {
    let name = project.bytes().chain(*b"/").chain(case.bytes());
    perfblame_keys::seeded_hash(seed, name)
}

/// One of them.
fn pick<'a, T>(random: &mut Random, from: &'a [T]) -> Option<&'a T> {
    from.get((random.unit() * from.len() as f64) as usize)
}

/// Makes a case and commits it on a branch of its name.
pub fn make(workshop: &Workshop<'_>, known: &[Known], spec: Spec, seed: u64) -> Result<Truth> {
    let case = spec.name();
    let seed = seed_of(seed, workshop.project.name, &case);
    let mut random = Random::new(seed);
    for _ in 0..ATTEMPTS {
        workshop.reset()?;
        let Some(made) = attempt(workshop, known, spec, &mut random)? else { continue };
        let truth =
            Truth { project: workshop.project.name.to_owned(), case: case.clone(), seed, ..made };
        commit(
            &workshop.root,
            &format!("Change {} functions", truth.edits.len() + usize::from(truth.host.is_some())),
            9,
        )?;
        git(&workshop.root, &["branch", "-q", "-f", &case, "HEAD"])?;
        workshop.reset()?;
        return Ok(truth);
    }
    workshop.reset()?;
    bail!("{ATTEMPTS} attempts at {case} of {} failed", workshop.project.name)
}

/// Measures a case that is there again: CPU time after, in parts of that before. True when it is what it should be.
pub fn verify(workshop: &Workshop<'_>, case: &str) -> Result<(f64, bool)> {
    git(&workshop.root, &["checkout", "-q", "--force", "--detach", case])?;
    let works = workshop.works();
    let ratio = workshop.ratio(RUNS_EACH)?;
    workshop.reset()?;
    Ok((ratio, works && (SLOWER.0..SLOWER.1).contains(&ratio)))
}

fn attempt(
    workshop: &Workshop<'_>,
    known: &[Known],
    spec: Spec,
    random: &mut Random,
) -> Result<Option<Truth>> {
    let mut truth = Truth {
        project: String::new(),
        case: String::new(),
        sort: spec.sort.name().to_owned(),
        seed: 0,
        ratio: 1.0,
        size: 0,
        host: None,
        helper: None,
        share: 0.0,
        edits: Vec::new(),
    };
    let host = match spec.sort {
        Sort::Innocent | Sort::Refactored | Sort::HardlyRun => None,
        Sort::Unreached => {
            let unseen: Vec<&Known> = known.iter().filter(|known| known.share == 0.0).collect();
            let Some(host) = pick(random, &unseen).copied() else { return Ok(None) };
            let text = workshop.text(&host.file)?;
            workshop.write(&host.file, &with_a_trap(&text, host, workshop.project.language))?;
            if !workshop.works() {
                return Ok(None);
            }
            workshop.write(&host.file, &text)?;
            let snippet = snippet(SlowdownKind::OwnWork, workshop.project.language);
            truth.size = 1_000;
            let slow =
                inject(&text, &host.function, workshop.project.language, &snippet, 1_000, "");
            workshop.write(&host.file, &slow)?;
            Some(host)
        }
        Sort::Slow(kind) => {
            let Some((host, call)) = draw_host(workshop, known, kind, random) else {
                return Ok(None);
            };
            truth.share = host.share;
            let slower = 0.12 + 0.33 * random.unit();
            let Some((size, ratio)) = sized(workshop, host, kind, call, slower)? else {
                return Ok(None);
            };
            (truth.size, truth.ratio) = (size, ratio);
            Some(host)
        }
    };
    let others = 2 + (random.unit() * 4.0) as usize + usize::from(host.is_none());
    let Some(edits) = edit_others(workshop, known, host, (spec.sort, others), random)? else {
        return Ok(None);
    };
    truth.edits = edits;
    if let Some(host) = host {
        let place = |name: &str| place(workshop, &host.file, name);
        truth.host = Some(place(&host.function.name)?);
        if let Sort::Slow(kind) = spec.sort {
            let helper = snippet(kind, workshop.project.language).helper;
            truth.helper = if helper.is_empty() { None } else { Some(place(helper)?) };
        }
    }
    Ok(Some(truth))
}

fn place(workshop: &Workshop<'_>, file: &str, name: &str) -> Result<ChangedPlace> {
    let text = workshop.text(file)?;
    let found = only(&text, workshop.project.language, name)
        .with_context(|| format!("{name} is not in {file} any more"))?;
    let lines = (found.start as u64 + 1, found.end as u64 + 1);
    Ok(ChangedPlace { file: file.to_owned(), function: name.to_owned(), lines })
}

/// The text with a function that ends the program.
fn with_a_trap(text: &str, host: &Known, language: Language) -> String {
    let trap = match language {
        Language::C => "__builtin_trap();",
        Language::Java => "Runtime.getRuntime().halt(3);",
        Language::JavaScript => "process.abort();",
        Language::Python => "__import__('os').abort()",
        Language::Rust => "std::process::abort();",
    };
    let mut lines: Vec<&str> = text.lines().collect();
    let line = format!("{}{}{trap}", host.function.indent, language.step());
    lines.insert(host.function.body, &line);
    lines.join("\n") + "\n"
}

/// A function to make slower, and a call for it when the kind needs one.
fn draw_host<'a>(
    workshop: &Workshop<'_>,
    known: &'a [Known],
    kind: SlowdownKind,
    random: &mut Random,
) -> Option<(&'a Known, &'static str)> {
    let calls_for = |known: &Known| -> Vec<&'static str> {
        let fits = |(file, call): &&(&'static str, &'static str)| {
            // No function calls itself.
            known.file.ends_with(file) && !call.contains(&known.function.name)
        };
        workshop.project.calls.iter().filter(fits).map(|(_, call)| *call).collect()
    };
    let fits = |known: &&Known| {
        known.share >= LEAST_SHARE
            && (kind != SlowdownKind::ExtraCalls || !calls_for(known).is_empty())
    };
    let heavy: Vec<&Known> = known.iter().filter(fits).collect();
    let host = *pick(random, &heavy)?;
    let call = match kind {
        SlowdownKind::ExtraCalls => pick(random, &calls_for(host)).copied()?,
        _ => "",
    };
    Some((host, call))
}

/// Puts a slowdown into a function and finds the size that slows the whole by this part. Nothing when there is none.
fn sized(
    workshop: &Workshop<'_>,
    host: &Known,
    kind: SlowdownKind,
    call: &str,
    slower: f64,
) -> Result<Option<(u64, f64)>> {
    let language = workshop.project.language;
    let text = workshop.text(&host.file)?;
    let snippet = snippet(kind, language);
    let mut size = first_size(language);
    for _ in 0..7 {
        workshop
            .write(&host.file, &inject(&text, &host.function, language, &snippet, size, call))?;
        if !workshop.works() {
            return Ok(None);
        }
        let mut ratio = workshop.ratio(1)?;
        if (SLOWER.0..SLOWER.1).contains(&ratio) {
            ratio = ratio.min(workshop.ratio(RUNS_EACH)?);
        }
        let reached = (ratio - 1.0) / slower;
        if (0.6..1.5).contains(&reached) && (SLOWER.0..SLOWER.1).contains(&ratio) {
            return Ok(Some((size, ratio)));
        }
        let next = size as f64 * (1.0 / reached.max(0.05)).clamp(0.01, 10.0);
        let next = (next.round() as u64).clamp(1, 50_000_000);
        if next == size {
            break;
        }
        size = next;
    }
    Ok(None)
}

/// Edits other functions without harm. Nothing when the program is not the same afterwards.
fn edit_others(
    workshop: &Workshop<'_>,
    known: &[Known],
    host: Option<&Known>,
    (sort, wanted): (Sort, usize),
    random: &mut Random,
) -> Result<Option<Vec<Edited>>> {
    let language = workshop.project.language;
    let originals: Vec<(String, String)> = (workshop.files()?.into_iter())
        .map(|file| Ok((file.clone(), workshop.text(&file)?)))
        .collect::<Result<_>>()?;
    let all = if sort == Sort::Refactored { &Edit::REFACTORINGS[..] } else { &Edit::ALL[..] };
    for harmless in [all, all, &Edit::SAFEST[..]] {
        let mut edited: Vec<Edited> = Vec::new();
        let mut taken: Vec<&Known> = host.into_iter().collect();
        for _ in 0..40 {
            if edited.len() == wanted {
                break;
            }
            let free = |other: &&Known| {
                (other.share >= RUNS) == (sort != Sort::HardlyRun)
                    && !taken
                        .iter()
                        .any(|one| one.file == other.file && one.function.overlaps(&other.function))
            };
            let free: Vec<&Known> = known.iter().filter(free).collect();
            let Some(other) = pick(random, &free).copied() else { break };
            let Some(how) = pick(random, harmless).copied() else { break };
            if how == Edit::Extract && language == Language::Python && other.own >= CHEAP {
                continue;
            }
            let text = workshop.text(&other.file)?;
            let Some(function) = only(&text, language, &other.function.name) else { continue };
            let Some(changed) = edit(&text, &function, language, how, random) else { continue };
            workshop.write(&other.file, &changed)?;
            taken.push(other);
            edited.push(Edited {
                file: other.file.clone(),
                function: other.function.name.clone(),
                edit: how.name().to_owned(),
            });
        }
        if edited.len() >= 2 && workshop.works() {
            return Ok(Some(edited));
        }
        for (file, text) in &originals {
            if workshop.text(file)? != *text {
                workshop.write(file, text)?;
            }
        }
    }
    Ok(None)
}
