//! What a profile of the base shows: which functions run, and what part of the whole each takes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use perfblame_analysis::{Ask, LoadOptions, Source, load};
use perfblame_cct::{Grain, MetricId, Profile, group_totals};
use perfblame_record::{Profiler, Settings, record_run};
use serde::{Deserialize, Serialize};

use crate::functions::Function;
use crate::language::Language;
use crate::workshop::Workshop;

/// A function of the base.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Known {
    pub file: String,
    pub function: Function,
    /// What part of the whole is spent in it and below it.
    pub share: f64,
    /// What part is spent in it alone.
    pub own: f64,
}

/// All functions of a project that have a name of their own in their file, in the order of their files.
pub fn baseline(workshop: &Workshop<'_>, work: &Path) -> Result<Vec<Known>> {
    let folder = work.join(workshop.project.name).join("baseline");
    let kept = folder.join("shares.json");
    if let Ok(text) = std::fs::read(&kept) {
        return serde_json::from_slice(&text).with_context(|| kept.display().to_string());
    }
    // Read at once: native profiles are read together with the program, which does not stay as it is.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let profiler = workshop.project.profiler;
    let program = workshop.program();
    // py-spy stops the program for every sample.
    let frequency = match profiler {
        Profiler::PySpy => Some(500),
        Profiler::Jfr => None,
        _ => Some(1_999),
    };
    let settings = Settings { frequency, ..Settings::default() };
    let never = AtomicBool::new(false);
    let recorded = record_run(profiler, &program, &settings, &folder, "run", &never)?;
    let path = recorded.profiles.into_iter().next().context("there is no baseline profile")?;
    let options = LoadOptions { grain: Grain::Frames, ..LoadOptions::default() };
    let loaded = load(&[Source::File(path)], options, &Ask::default())?;
    let profile = loaded.runs.profile(0).context("the baseline profile is empty")?;
    let known = shares(workshop, &profile)?;
    std::fs::write(&kept, serde_json::to_vec_pretty(&known)?)?;
    Ok(known)
}

fn shares(workshop: &Workshop<'_>, profile: &Profile) -> Result<Vec<Known>> {
    let mut known = Vec::new();
    let mut by_file: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for file in workshop.files()? {
        for function in workshop.functions(&file)? {
            by_file.entry(file.clone()).or_default().push(known.len());
            known.push(Known { file: file.clone(), function, share: 0.0, own: 0.0 });
        }
    }
    let symbols = &profile.symbols;
    let place = |row: usize| -> Option<u32> {
        let frame = symbols.frame(profile.tree.frame(perfblame_cct::NodeId::new(row)));
        let function = symbols.function(frame.function);
        let file = match workshop.project.language {
            // A class is in the file of its outermost class.
            Language::Java => {
                let class = symbols.text(function.component?);
                let outermost = class.split('$').next().unwrap_or(class);
                Cow::Owned(format!("{}.java", outermost.replace('.', "/")))
            }
            _ => Cow::Borrowed(symbols.text(frame.file.or(function.file).or(function.component)?)),
        };
        // Where a function starts is as good as where it is, and all that some profiles have.
        let line = frame.line.or(function.line)?.get() as usize - 1;
        let (_, rows) = by_file.iter().find(|(path, _)| file.ends_with(path.as_str()))?;
        let inside = |row: &&usize| {
            (known[**row].function.start..=known[**row].function.end).contains(&line)
        };
        rows.iter().rfind(inside).map(|row| *row as u32)
    };
    let others = known.len() as u32;
    let groups: Vec<u32> =
        (0..profile.tree.len()).map(|row| place(row).unwrap_or(others)).collect();
    let (metric, _) = profile.metrics().next().context("the baseline profile has no metric")?;
    let metric: MetricId = metric;
    let values = profile.self_values(metric);
    let whole: i64 = values.iter().sum();
    let totals = group_totals(&profile.tree, &values, &groups, known.len() + 1);
    for (known, total) in known.iter_mut().zip(&totals) {
        known.share = total.inclusive as f64 / whole.max(1) as f64;
        known.own = total.self_value as f64 / whole.max(1) as f64;
    }
    let mut names: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in &known {
        *names.entry((&one.file, &one.function.name)).or_default() += 1;
    }
    let unique: Vec<bool> =
        known.iter().map(|one| names[&(&*one.file, &*one.function.name)] == 1).collect();
    let mut unique = unique.into_iter();
    known.retain(|_| unique.next().unwrap_or(false));
    Ok(known)
}
