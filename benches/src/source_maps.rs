//! Source maps: functions of a real bundle of megabytes, found again in its sources, beside npm's `source-map`.
//!
//! Once as mere looking up, with everything in memory and both asked for the same places, where answers must be the
//! same. Once as whole processes, where ours also reads the bundle and its sources to name what has no name.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use perfblame_scripts::{ScriptPlace, origins};

use crate::inputs::{Bundle, bundle};
use crate::measure;
use crate::peers::perfblame;
use crate::table::BenchRow;

type Compares = fn() -> Result<Vec<BenchRow>>;

/// Every bench of this kind.
pub const BENCHES: &[(&str, Compares)] = &[("source maps", source_maps)];

const ROUNDS: usize = 5;
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/source_map.mjs");

/// What the peer answered: where the source is, its line and column.
type Answer = Option<(u32, ScriptPlace)>;

fn source_maps() -> Result<Vec<BenchRow>> {
    let files = bundle(SCRIPT)?;
    let text = std::fs::read_to_string(&files.answers)?;
    let (mappings, rest) = text.split_once('\n').context("no mappings")?;
    let (mut places, mut answers): (Vec<ScriptPlace>, Vec<Answer>) = Default::default();
    for line in rest.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |row: usize| -> Result<u32> {
            Ok(words.get(row).with_context(|| line.to_owned())?.parse()?)
        };
        places.push(ScriptPlace::new(number(0)?, number(1)?));
        let is_found = words.get(2) != Some(&"-");
        answers.push(if is_found {
            Some((number(2)?, ScriptPlace::new(number(3)?, number(4)?)))
        } else {
            None
        });
    }
    let found = origins(mappings, &places);
    let ours: Vec<Answer> = found
        .origins
        .iter()
        .map(|origin| origin.map(|origin| (origin.source, origin.place)))
        .collect();
    ensure!(ours == answers, "the peer finds other places");

    let size = |file: &str| Ok::<_, anyhow::Error>(std::fs::metadata(file)?.len() as f64 / 1e6);
    let segments = mappings.bytes().filter(|byte| matches!(byte, b',' | b';')).count();
    let input = format!(
        "{} functions of a bundle of {:.1} MB, map of {:.1} MB with {:.1} million segments",
        places.len(),
        size(&files.script)?,
        size(&files.map)?,
        segments as f64 / 1e6
    );
    Ok(vec![looking_up(&input, mappings, &places, &files)?, naming(&input, &files)?])
}

fn looking_up(
    input: &str,
    mappings: &str,
    places: &[ScriptPlace],
    files: &Bundle,
) -> Result<BenchRow> {
    let Bundle { tools, profile, map, .. } = files;
    let (mut ours, mut peer) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        std::hint::black_box(origins(mappings, places));
        ours.push(start.elapsed().as_secs_f64());
        peer.push(measure::printed("node", &[SCRIPT, "time", tools, profile, map])?);
    }
    let (ours, peer) = (measure::median_of(ours), measure::median_of(peer));
    let ratio = peer / ours.max(1e-9);
    Ok(BenchRow {
        what: "looking up places in a source map".to_owned(),
        input: format!("{input}, after reading"),
        ours: format!("{:.1} ms", ours * 1e3),
        peer: format!("`source-map`, the same answers: {:.0} ms", peer * 1e3),
        result: format!("{ratio:.1} × as fast"),
        goal: "≥ 2 ×".to_owned(),
        met: ratio >= 2.0,
    })
}

fn naming(input: &str, files: &Bundle) -> Result<BenchRow> {
    let Bundle { tools, profile, map, .. } = files;
    let ours = format!("{} show --format json '{profile}' --source-maps '{map}'", perfblame()?);
    let peer = format!("node '{SCRIPT}' names '{tools}' '{profile}' '{map}'");
    let (ours, peer) = measure::take_turns(&ours, &peer, ROUNDS)?;
    let ratio = peer.seconds / ours.seconds.max(0.001);
    let shown = |use_: &measure::Usage| {
        format!("{:.2} s, {:.0} MB peak", use_.seconds, use_.peak as f64 / 1e6)
    };
    Ok(BenchRow {
        what: "naming functions through a source map".to_owned(),
        input: input.to_owned(),
        ours: format!("{}, with names from bundle and sources", shown(&ours)),
        peer: format!("`source-map`, looking up only: {}", shown(&peer)),
        result: format!("{ratio:.1} × as fast"),
        goal: "≥ 1 ×".to_owned(),
        met: ratio >= 1.0,
    })
}
