//! The heat map of call paths for terminals, as in figure 7 of `[introperf]`: a row per path, the costliest first, a
//! cell per function, coloured by its latency on a scale of powers of ten. The hottest function of each path is 0, and
//! the others have their distance from it.

use std::io::{self, Write};

use anstyle::{Ansi256Color, Color, Style};
use perfblame_analysis::{HeatScale, RankedPath};

use crate::layout::{Look, right, wrapped};

/// Columns of a cell.
const CELL: usize = 3;

/// From cold to hot, as terminals of 256 colours number them.
const COLOURS: [u8; 8] = [17, 24, 30, 64, 142, 172, 166, 124];

/// From cold to hot, for places without colours too.
const SHADES: [&str; 5] = [" ", "░", "▒", "▓", "█"];
const ASCII_SHADES: [&str; 5] = [" ", ".", "-", "+", "#"];

/// Writes the map of some paths; what does not fit beside the hottest functions is left out, which is said.
pub fn heat_map(paths: &[RankedPath], look: Look, out: &mut dyn Write) -> io::Result<()> {
    let scale = RankedPath::heat_scale(paths);
    let rank = paths.iter().map(|path| path.rank.to_string().len()).max().unwrap_or(1);
    let room = (look.width.saturating_sub(rank + 4) / CELL).max(4);
    let mut left_out = false;
    for path in paths {
        let length = path.functions.len();
        let hottest = path.hottest().unwrap_or(0);
        // The hottest function stays in the picture, with more of its callers than of its callees.
        let start = if length <= room {
            0
        } else {
            hottest.saturating_sub(room * 2 / 3).min(length - room)
        };
        let end = length.min(start + room);
        left_out |= end - start < length;
        let cells: String = (start..end)
            .map(|at| cell(&scale, path.functions[at].latency, at.abs_diff(hottest), look))
            .collect();
        let before = if start > 0 { look.ellipsis() } else { " " };
        let after = if end < length { look.ellipsis() } else { "" };
        writeln!(out, "{} {before}{cells}{after}", right(&path.rank.to_string(), rank))?;
    }
    let mut notes =
        vec!["0 marks the hottest function of a path; other numbers are distances from it."];
    if left_out {
        notes.push("Paths are shortened around their hottest function; --html shows them in full.");
    }
    for line in wrapped(&notes.join(" "), look.width.max(20)) {
        writeln!(out, "{}", look.dim(&line))?;
    }
    Ok(())
}

fn cell(scale: &HeatScale, latency: f64, distance: usize, look: Look) -> String {
    let heat = scale.heat(latency);
    let step = |steps: usize| ((heat * (steps - 1) as f64).round() as usize).min(steps - 1);
    let shades = if look.unicode { SHADES } else { ASCII_SHADES };
    let text = format!("{}{}", right(&distance.to_string(), CELL - 1), shades[step(shades.len())]);
    let style = Style::new()
        .bg_color(Some(Color::Ansi256(Ansi256Color(COLOURS[step(COLOURS.len())]))))
        .fg_color(Some(Color::Ansi256(Ansi256Color(255))));
    look.paint(style, &text)
}
