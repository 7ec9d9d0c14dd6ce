//! What made it slower, as text: the answer first, then the evidence, then everything else worth knowing.
//!
//! People read this on a terminal and in the log of a CI job, which has no colours and any width. Nothing is cut without
//! saying how much was and how to see it.

mod functions;
mod graph;
mod paths;
mod stages;
mod suspects;

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::{AnsiColor, Color, Style};
use perfblame_analysis::{Diff, Method, RuntimeCost, SideTotals, Verdict};
use perfblame_cct::Warning;

use crate::diff_words::{Words, comes_first, p_value};
use crate::dot_strip::StripScale;
use crate::headline::headline;
use crate::layout::{Look, clean, columns, padded, right, shortened_path, wrapped};
use crate::numbers::{counted, in_percent};
use crate::show_text::{named, title, warnings};

/// What the place we write to can show, and how much of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiffLook {
    /// What can be shown.
    pub look: Look,
    /// Suspects, improvements and paths at most.
    pub limit: usize,
}

/// Columns of the strips beside the totals.
const STRIP: usize = 20;

/// Lines longer than this are hard to read, however wide the terminal.
const MOST_WIDTH: usize = 160;

/// Writes an answer.
pub fn diff_text(diff: &Diff, how: DiffLook, out: &mut dyn Write) -> io::Result<()> {
    let page = Page {
        diff,
        words: Words {
            name_width: (how.look.width / 2).max(20),
            ..Words::of(diff, how.look.unicode)
        },
        look: how.look,
        limit: how.limit,
    };
    let (first, last): (Vec<Warning>, Vec<Warning>) =
        diff.warnings.iter().cloned().partition(comes_first);
    warnings_first(&first, how.look, out)?;
    for line in wrapped(&headline(diff, page.words), how.look.width.min(MOST_WIDTH)) {
        writeln!(out, "{}", how.look.paint(mood(diff.verdict), &line))?;
    }
    page.facts(out)?;
    let folded = match diff.method {
        Method::Suspects => page.suspects(out)?,
        Method::CriticalGraph => graph::write(&page, out).map(|()| false)?,
        Method::Paths => paths::write(&page, out)?,
        Method::Stages => stages::write(&page, out)?,
    };
    page.runtime(out)?;
    if folded {
        let text = "Calls in the middle of long paths are folded; --format json shows them all.";
        writeln!(out)?;
        page.note(text, out)?;
    }
    warnings(&last, how.look, out)
}

/// Warnings above the answer.
fn warnings_first(first: &[Warning], look: Look, out: &mut dyn Write) -> io::Result<()> {
    for warning in first {
        let text = format!("warning: {}", clean(&warning.message));
        for line in wrapped(&text, look.width.min(MOST_WIDTH)) {
            writeln!(out, "{}", look.paint(mood(Verdict::Inconclusive), &line))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The colour of good news and bad.
fn mood(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Regressed => Some(AnsiColor::Red),
        Verdict::Improved => Some(AnsiColor::Green),
        Verdict::Inconclusive => Some(AnsiColor::Yellow),
        Verdict::Unchanged => None,
    };
    Style::new().bold().fg_color(colour.map(Color::Ansi))
}

/// The critical graph alone, for renderings that have no way of their own to draw it.
pub(crate) fn critical_graph_text(diff: &Diff, look: Look, limit: usize) -> String {
    let mut out = Vec::new();
    let page = Page { diff, words: Words::of(diff, look.unicode), look, limit };
    // Writing to memory does not fail.
    let _ = graph::write_rows(&page, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// An answer and how it is written.
struct Page<'a> {
    diff: &'a Diff,
    words: Words<'a>,
    look: Look,
    limit: usize,
}

impl Page<'_> {
    /// Something worth knowing, below what it is about.
    fn note(&self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        for line in wrapped(text, self.look.width.min(MOST_WIDTH)) {
            writeln!(out, "{}", self.look.dim(&line))?;
        }
        Ok(())
    }

    /// What was compared.
    fn facts(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { diff, words, look, .. } = self;
        writeln!(out)?;
        let fact = |key: &str, text: &str, out: &mut dyn Write| {
            for (row, line) in
                wrapped(&clean(text), look.width.saturating_sub(12)).iter().enumerate()
            {
                let key = if row == 0 { key } else { "" };
                writeln!(out, "  {}  {line}", look.dim(&padded(key, 8)))?;
            }
            Ok::<(), io::Error>(())
        };
        let sides = [("before", &diff.before), ("after", &diff.after)];
        let all = diff.before.totals.iter().chain(&diff.after.totals);
        let scale = StripScale::spanning(all, STRIP, look.unicode);
        let texts = sides.map(|(_, side)| self.side(side));
        let widest = texts.iter().map(|text| columns(text)).max().unwrap_or(0);
        let room = look.width.saturating_sub(12 + widest + 2);
        for ((key, side), text) in sides.iter().zip(&texts) {
            let strip = if room < STRIP { String::new() } else { scale.draw(&side.totals) };
            let inputs = match room.saturating_sub(STRIP + 2) {
                0..8 => String::new(),
                room => shortened_path(&inputs(side), room, *look).into_owned(),
            };
            let line = format!("{}  {strip}  {inputs}", padded(text, widest));
            writeln!(out, "  {}  {}", look.dim(&padded(key, 8)), line.trim_end())?;
        }
        let mut change = words.change(diff.change.median);
        if diff.change.high > diff.change.low {
            let _ = write!(change, " ({})", words.between(diff.change.low, diff.change.high));
        }
        if let Some(p) = diff.p_value {
            let _ = write!(change, ", {}", p_value(p));
        }
        fact("change", &change, out)?;
        let mut metric = diff.metric.name.clone();
        if let Some(normalised) = &diff.normalised {
            let _ = write!(metric, ", {normalised}");
        }
        if diff.threshold > 0.0 {
            let _ = write!(metric, "; changes under {} are ignored", words.cost(diff.threshold));
        }
        fact("metric", &metric, out)
    }

    fn side(&self, side: &SideTotals) -> String {
        let runs = counted(side.totals.len() as u64, "run", "runs");
        let least = side.totals.iter().copied().fold(f64::INFINITY, f64::min);
        let most = side.totals.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (least, most) = (self.words.cost(least), self.words.cost(most));
        match side.totals.len() {
            0 => runs,
            _ if least == most => format!("{runs}, {least}"),
            _ => format!("{runs}, {least} to {most}"),
        }
    }

    /// What got slower, what got faster, and the rest; says whether a path was folded.
    fn suspects(&self, out: &mut dyn Write) -> io::Result<bool> {
        let diff = self.diff;
        let guesses = diff.verdict == Verdict::Inconclusive;
        let mut lists = [
            (if guesses { "Best guesses" } else { "Suspects" }, &diff.suspects),
            ("Improvements", &diff.improvements),
            ("Moved (not a slowdown)", &diff.moved),
        ];
        if diff.verdict == Verdict::Improved {
            lists.swap(0, 1);
        }
        let mut folded = false;
        for (name, list) in lists {
            folded |= suspects::write(self, name, list, out)?;
        }
        self.minor(out)?;
        self.unexplained(out)?;
        functions::write(self, out)?;
        Ok(folded)
    }

    /// What changed too little to be listed.
    fn minor(&self, out: &mut dyn Write) -> io::Result<()> {
        let (functions, delta) = self.diff.minor;
        if functions == 0 {
            return Ok(());
        }
        let functions = counted(functions as u64, "more function", "more functions");
        let text = format!(
            "{functions} changed by too little to matter, {} together.",
            self.words.change(delta)
        );
        writeln!(out)?;
        self.note(&text, out)
    }

    fn runtime(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { diff, words, look, .. } = self;
        let change = |row: &RuntimeCost| words.change(row.after - row.before);
        // What did not change says nothing about the difference.
        let changed = |row: &&RuntimeCost| change(row).starts_with(|c: char| !c.is_ascii_digit());
        let rows: Vec<&RuntimeCost> = diff.runtime.iter().filter(changed).collect();
        if rows.is_empty() {
            return Ok(());
        }
        title("Runtime (never blamed)", *look, out)?;
        let delta = rows.iter().map(|row| columns(&change(row))).max().unwrap_or(0);
        let costs = |row: &RuntimeCost| words.costs(row.before, row.after);
        let width = rows.iter().map(|row| columns(&costs(row))).max().unwrap_or(0);
        for row in rows {
            let text =
                format!("  {}  {}  ", right(&change(row), delta), padded(&costs(row), width));
            let room = look.width.saturating_sub(columns(&text)).max(4);
            writeln!(out, "{text}{}", named(&row.function, "", false, room, *look))?;
        }
        Ok(())
    }

    /// The part of the change that nothing explains, where it is worth a line.
    fn unexplained(&self, out: &mut dyn Write) -> io::Result<()> {
        /// Below this part of the change, what is left is rounding and noise.
        const WORTH: f64 = 0.05;
        let Self { diff, words, look, .. } = self;
        let share = diff.unexplained / diff.change.median;
        let counts = diff.unexplained.abs() > diff.threshold;
        // Nothing is left of a change that goes against all that was found: that is what was saved elsewhere.
        let found = if diff.change.median > 0.0 { &diff.suspects } else { &diff.improvements };
        if found.is_empty() {
            return Ok(());
        }
        if !share.is_finite() || share.abs() < WORTH || !counts {
            return Ok(());
        }
        let text = format!(
            "Unexplained: {}, {} of the change, is spread too thinly to name a function.",
            words.change(diff.unexplained),
            in_percent(share)
        );
        writeln!(out)?;
        for line in wrapped(&text, look.width.min(MOST_WIDTH)) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}

/// What the runs of a side were read from: one input, or the folder of several.
fn inputs(side: &SideTotals) -> String {
    let Some((first, rest)) = side.inputs.split_first() else { return String::new() };
    if rest.is_empty() {
        return first.clone();
    }
    let folder = |name: &String| name.rsplit_once(['/', '\\']).map(|(folder, _)| folder.to_owned());
    match folder(first) {
        Some(shared) if rest.iter().all(|name| folder(name).as_ref() == Some(&shared)) => shared,
        _ => format!("{first} and {} more", rest.len()),
    }
}
