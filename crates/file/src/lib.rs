//! perfblame's own file: a whole [`Profile`], or several runs over one tree, columnar, packed and versioned.
//! `docs/perfblame-file.md` describes the bytes.
//!
//! Other formats each lose something: one the threads, one the call sites, one every metric but the first. This one
//! keeps all of it, reads back without interning a single stack, and says when it is damaged. Fields and sections can
//! be added without a new version, as both are stepped over by those who do not know them; whatever else changes gets
//! a new version and an upgrader from the one before.

mod columns;
mod decode;
mod encode;
mod error;
mod fields;
mod sections;
mod shapes;
#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};

use perfblame_cct::{Cct, Cells, Metric, Profile, Run, RunSet, Symbols, Thread, Timeline, Times};

use sections::Section;

pub use error::{FileError, FileErrorKind};

/// The version that [`write()`] writes.
pub const VERSION: u16 = 1;

/// Turns the sections of one version into those of the next.
type Upgrade = fn(&mut Vec<Section>) -> Result<(), FileError>;

/// `UPGRADES[v - 1]` takes a file of version `v` to version `v + 1`.
const UPGRADES: [Upgrade; VERSION as usize - 1] = [];

/// True for the first bytes of such a file, of any version.
pub fn is_own_file(head: &[u8]) -> bool {
    head.starts_with(sections::MAGIC)
}

/// Reads a file. The runs of a file that keeps several apart are added up; [`read_runs`] keeps them.
pub fn read(file: &mut dyn Read, times: Times) -> Result<Profile, FileError> {
    let mut set = read_runs(file, times)?;
    let only = if set.runs.len() == 1 { set.runs.pop() } else { None };
    Ok(match only {
        Some(run) => of_run(set, run),
        None => set.sum(),
    })
}

/// Reads the runs of a file, one of a file that holds a single profile.
pub fn read_runs(file: &mut dyn Read, times: Times) -> Result<RunSet, FileError> {
    let version = sections::read_header(file)?;
    check_version(version)?;
    let wanted = |tag| tag != fields::TIMELINE || times == Times::Keep;
    let mut sections = sections::read_sections(file, wanted)?;
    upgrade(&mut sections, version, &UPGRADES)?;
    decode::run_set(&sections)
}

/// The only run of a set, without copying a thing.
fn of_run(set: RunSet, run: Run) -> Profile {
    let RunSet { symbols, threads, mut metrics, tree, .. } = set;
    for (metric, period) in metrics.iter_mut().zip(run.periods) {
        metric.period = period;
    }
    Profile {
        symbols,
        threads,
        metrics,
        tree,
        cells: run.cells,
        samples: run.samples,
        timeline: run.timeline,
        info: run.info,
        warnings: run.warnings,
    }
}

/// Writes all of a profile.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    sections::write_header(VERSION, out)?;
    let Profile { symbols, threads, metrics, tree, .. } = profile;
    write_shared(&Shared { symbols, threads, metrics, tree }, out)?;
    let info = encode::info(&profile.info, profile.samples, &profile.warnings, &[]);
    write_run(0, info, &profile.cells, profile.timeline.as_ref(), out)?;
    sections::write_section(sections::END, 0, &[], out)
}

/// Writes runs beside each other, each with its own values.
pub fn write_runs(set: &RunSet, out: &mut dyn Write) -> io::Result<()> {
    sections::write_header(VERSION, out)?;
    let RunSet { symbols, threads, metrics, tree, runs } = set;
    write_shared(&Shared { symbols, threads, metrics, tree }, out)?;
    for (number, run) in (0..).zip(runs) {
        let info = encode::info(&run.info, run.samples, &run.warnings, &run.periods);
        write_run(number, info, &run.cells, run.timeline.as_ref(), out)?;
    }
    sections::write_section(sections::END, 0, &[], out)
}

/// What all runs of a file have in common.
struct Shared<'a> {
    symbols: &'a Symbols,
    threads: &'a [Thread],
    metrics: &'a [Metric],
    tree: &'a Cct,
}

fn write_shared(shared: &Shared, out: &mut dyn Write) -> io::Result<()> {
    let mut section = |tag, body: Vec<u8>| sections::write_section(tag, 0, &body, out);
    section(fields::STRINGS, encode::strings(shared.symbols))?;
    section(fields::FUNCTIONS, encode::functions(shared.symbols))?;
    section(fields::FRAMES, encode::frames(shared.symbols))?;
    if let Some(shapes) = shapes::encode(shared.symbols) {
        section(fields::SHAPES, shapes)?;
    }
    section(fields::THREADS, encode::threads(shared.threads))?;
    section(fields::METRICS, encode::metrics(shared.metrics))?;
    section(fields::TREE, encode::tree(shared.tree))
}

fn write_run(
    number: u32,
    info: Vec<u8>,
    cells: &Cells,
    timeline: Option<&Timeline>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut section = |tag, body: Vec<u8>| sections::write_section(tag, number, &body, out);
    section(fields::INFO, info)?;
    section(fields::CELLS, encode::cells(cells))?;
    match timeline {
        Some(timeline) => section(fields::TIMELINE, encode::timeline(timeline)),
        None => Ok(()),
    }
}

fn check_version(version: u16) -> Result<(), FileError> {
    match version {
        0 => Err(FileError::malformed(10, "version 0 does not exist")),
        known if known <= VERSION => Ok(()),
        newer => {
            let what = format!(
                "the file has version {newer}, but this perfblame reads versions only up to {VERSION}"
            );
            Err(FileError::unsupported(what).at(10).help("update perfblame"))
        }
    }
}

fn upgrade(
    sections: &mut Vec<Section>,
    version: u16,
    upgrades: &[Upgrade],
) -> Result<(), FileError> {
    upgrades.iter().skip(usize::from(version) - 1).try_for_each(|upgrade| upgrade(sections))
}
