//! perfblame's own file: a whole [`Profile`], columnar, packed and versioned. `docs/perfblame-file.md` describes the
//! bytes.
//!
//! Other formats each lose something: one the threads, one the call sites, one every metric but the first. This one
//! keeps all of it, reads back without interning a single stack, and says when it is damaged. Fields and sections can
//! be added without a new version, as both are stepped over by those who do not know them; whatever else changes gets
//! a new version and an upgrader from the one before.

mod columns;
mod decode;
mod encode;
mod fields;
mod regrain;
mod sections;
#[cfg(test)]
mod tests;

use perfblame_cct::{Profile, Times};
use std::io::{self, Write};

use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use sections::Section;

/// The version that [`write`] writes.
pub const VERSION: u16 = 1;

/// Turns the sections of one version into those of the next.
type Upgrade = fn(&mut Vec<Section>) -> Result<(), ReadError>;

/// `UPGRADES[v - 1]` takes a file of version `v` to version `v + 1`.
const UPGRADES: [Upgrade; VERSION as usize - 1] = [];

/// The label that keeps the format a profile was read from before it was stored.
const RECORDED_AS: &str = "recorded-as";

/// This format's row in the table.
pub const FORMAT: Format =
    Format { name: "perfblame", producers: "`perfblame convert`, `perfblame record`", sniff, read };

/// True for perfblame's own files, of any version.
pub fn sniff(input: &Input) -> bool {
    input.head().starts_with(sections::MAGIC)
}

/// Reads a file. The runs of a file that keeps several apart are added up.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let mut file = input.into_stream()?;
    let version = sections::read_header(&mut file)?;
    check_version(version)?;
    let wanted = |tag| tag != fields::TIMELINE || options.times == Times::Keep;
    let mut sections = sections::read_sections(&mut file, wanted)?;
    upgrade(&mut sections, version, &UPGRADES)?;
    let mut profile = decode::profile(&sections)?;
    remember_format(&mut profile);
    Ok(regrain::regrain(profile, options))
}

/// Writes all of a profile.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    sections::write_header(VERSION, out)?;
    let mut section = |tag, body: Vec<u8>| sections::write_section(tag, 0, &body, out);
    section(fields::INFO, encode::info(&profile.info, profile.samples, &profile.warnings))?;
    section(fields::STRINGS, encode::strings(&profile.symbols))?;
    section(fields::FUNCTIONS, encode::functions(&profile.symbols))?;
    section(fields::FRAMES, encode::frames(&profile.symbols))?;
    section(fields::THREADS, encode::threads(&profile.threads))?;
    section(fields::METRICS, encode::metrics(profile))?;
    section(fields::TREE, encode::tree(profile))?;
    section(fields::CELLS, encode::cells(&profile.cells))?;
    if let Some(timeline) = &profile.timeline {
        section(fields::TIMELINE, encode::timeline(timeline))?;
    }
    section(sections::END, Vec::new())
}

fn check_version(version: u16) -> Result<(), ReadError> {
    match version {
        0 => Err(ReadError::malformed(10, "version 0 was never written")),
        known if known <= VERSION => Ok(()),
        newer => {
            let what = format!(
                "the file has version {newer}; this perfblame reads versions up to {VERSION}"
            );
            Err(ReadError::unsupported(what).at(10).help("update perfblame"))
        }
    }
}

fn upgrade(
    sections: &mut Vec<Section>,
    version: u16,
    upgrades: &[Upgrade],
) -> Result<(), ReadError> {
    upgrades.iter().skip(usize::from(version) - 1).try_for_each(|upgrade| upgrade(sections))
}

/// The caller names this format as the one that was read; what it was before is worth a label.
fn remember_format(profile: &mut Profile) {
    let format = std::mem::take(&mut profile.info.format);
    let labels = &mut profile.info.labels;
    let known = labels.iter().any(|(key, _)| key == RECORDED_AS);
    if !format.is_empty() && format != "perfblame" && !known {
        labels.push((RECORDED_AS.to_owned(), format));
        labels.sort();
    }
}
