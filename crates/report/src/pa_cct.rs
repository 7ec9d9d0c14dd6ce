//! The performance-annotated calling context tree as a picture, of one workload or of two on top of each other: figure 6
//! of `[introperf]`. Arrows are calls; how thick they are says how long the callee takes with everything below it, red
//! for the workload in question, blue for the one it is compared with. Only what the first paths hold is drawn.

use std::fmt::Write as _;
use std::io::{self, Write};

use hashbrown::HashMap;
use perfblame_analysis::{FunctionView, RankedPath};

use crate::layout::{Look, clean, shortened};
use crate::numbers::nanoseconds;

/// Ranked paths that are drawn; more are no picture any more.
pub const PATHS: usize = 30;

/// Columns of a name in a box.
const WIDTH: usize = 40;

/// Arrows are at most this thick.
const THICKEST: f64 = 9.0;

/// A context in the picture.
pub struct Drawn<'a> {
    pub parent: Option<usize>,
    pub function: &'a FunctionView,
    /// Own latency.
    before: f64,
    after: f64,
    /// With everything below it that is drawn.
    pub before_below: f64,
    pub after_below: f64,
    /// It is the hottest function of a path of this rank.
    pub hottest: Option<usize>,
}

/// The contexts of the first paths, callers first.
pub fn drawn(paths: &[RankedPath]) -> Vec<Drawn<'_>> {
    type Key<'a> = (Option<usize>, &'a str, Option<&'a str>);
    let mut rows: Vec<Drawn<'_>> = Vec::new();
    let mut known: HashMap<Key<'_>, usize> = HashMap::new();
    for path in paths.iter().take(PATHS) {
        let mut parent = None;
        for (place, step) in path.functions.iter().enumerate() {
            let function = &step.function;
            let key = (parent, function.name.as_str(), function.component.as_deref());
            let row = *known.entry(key).or_insert_with(|| {
                let (before, after, hottest) = (0.0, 0.0, None);
                let (before_below, after_below) = (0.0, 0.0);
                rows.push(Drawn {
                    parent,
                    function,
                    before,
                    after,
                    before_below,
                    after_below,
                    hottest,
                });
                rows.len() - 1
            });
            let drawn = &mut rows[row];
            // On a new path everything counts as new; what other paths share with it was there before.
            drawn.before = drawn.before.max(step.latency - step.delta);
            drawn.after = step.latency;
            if path.hottest() == Some(place) {
                drawn.hottest = Some(drawn.hottest.map_or(path.rank, |rank| rank.min(path.rank)));
            }
            parent = Some(row);
        }
    }
    for row in (0..rows.len()).rev() {
        rows[row].before_below += rows[row].before;
        rows[row].after_below += rows[row].after;
        if let Some(parent) = rows[row].parent {
            let (before, after) = (rows[row].before_below, rows[row].after_below);
            rows[parent].before_below += before;
            rows[parent].after_below += after;
        }
    }
    rows
}

fn thickness(cost: f64, most: f64) -> f64 {
    if most > 0.0 { (cost.max(0.0) / most * THICKEST).max(0.3) } else { 0.3 }
}

fn most(rows: &[Drawn<'_>]) -> f64 {
    rows.iter().map(|row| row.after_below.max(row.before_below)).fold(0.0, f64::max)
}

fn name(function: &FunctionView) -> String {
    let look = Look { width: 0, unicode: true, colour: false };
    shortened(&function.name, WIDTH, look).into_owned()
}

fn costs(row: &Drawn<'_>, two: bool) -> String {
    let after = nanoseconds(row.after_below.max(0.0));
    if two { format!("{} → {after}", nanoseconds(row.before_below.max(0.0))) } else { after }
}

/// Writes the boxes and arrows for Graphviz; `two` where there is a workload to compare with.
pub fn dot(paths: &[RankedPath], two: bool, out: &mut dyn Write) -> io::Result<()> {
    let rows = drawn(paths);
    let most = most(&rows);
    for (number, row) in rows.iter().enumerate() {
        let hot = match row.hottest {
            Some(rank) => format!("\\nhottest of path {rank}"),
            None => String::new(),
        };
        let filled = if row.hottest.is_some() { ", style=filled, fillcolor=mistyrose" } else { "" };
        writeln!(
            out,
            "  n{number} [label=\"{}\\n{}{hot}\", tooltip=\"{}\"{filled}];",
            escaped(&name(row.function)),
            costs(row, two),
            escaped(&format!(
                "{} {}",
                row.function.name,
                row.function.component.as_deref().unwrap_or_default()
            )),
        )?;
    }
    for (number, row) in rows.iter().enumerate() {
        let Some(parent) = row.parent else { continue };
        let red = thickness(row.after_below, most);
        writeln!(out, "  n{parent} -> n{number} [color=red, penwidth={red:.2}];")?;
        if two && row.before_below > 0.0 {
            let blue = thickness(row.before_below, most);
            writeln!(
                out,
                "  n{parent} -> n{number} [color=blue, penwidth={blue:.2}, arrowsize=0.5];"
            )?;
        }
    }
    Ok(())
}

fn escaped(text: &str) -> String {
    clean(text).replace('\\', "\\\\").replace('"', "\\\"")
}

/// The picture for pages: callers to the left, one line per path.
pub fn svg(paths: &[RankedPath], two: bool) -> String {
    const COLUMN: f64 = 190.0;
    const LINE: f64 = 34.0;
    let rows = drawn(paths);
    let most = most(&rows);
    let mut depth = vec![0usize; rows.len()];
    let mut leaf = vec![true; rows.len()];
    for row in 0..rows.len() {
        if let Some(parent) = rows[row].parent {
            depth[row] = depth[parent] + 1;
            leaf[parent] = false;
        }
    }
    // Leaves have a line each, callers the first line of what they call.
    let mut line = vec![usize::MAX; rows.len()];
    let mut lines = 0;
    for row in 0..rows.len() {
        if leaf[row] {
            line[row] = lines;
            lines += 1;
            let mut above = rows[row].parent;
            while let Some(at) = above.filter(|at| line[*at] == usize::MAX) {
                line[at] = line[row];
                above = rows[at].parent;
            }
        }
    }
    let width = (depth.iter().max().copied().unwrap_or(0) + 1) as f64 * COLUMN + 20.0;
    let height = lines as f64 * LINE + 20.0;
    let place = |row: usize| (depth[row] as f64 * COLUMN + 10.0, line[row] as f64 * LINE + 20.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\" fill=\"currentColor\" role=\"img\" aria-label=\"Calling context tree\">"
    );
    for (row, drawn) in rows.iter().enumerate() {
        let Some(parent) = drawn.parent else { continue };
        let ((x1, y1), (x2, y2)) = (place(parent), place(row));
        let mut arrow = |colour: &str, thick: f64, shift: f64| {
            let (y1, y2) = (y1 + shift, y2 + shift);
            let _ = write!(
                out,
                "<path d=\"M{x1:.0} {y1:.1} L{x:.0} {y2:.1} L{x2:.0} {y2:.1}\" fill=\"none\" \
                 stroke=\"{colour}\" stroke-width=\"{thick:.2}\" stroke-opacity=\"0.75\"/>",
                x = x1 + 14.0
            );
        };
        arrow("#c22", thickness(drawn.after_below, most), 0.0);
        if two && drawn.before_below > 0.0 {
            arrow("#25c", thickness(drawn.before_below, most), 3.0);
        }
    }
    for (row, drawn) in rows.iter().enumerate() {
        let (x, y) = place(row);
        let weight = if drawn.hottest.is_some() {
            " font-weight=\"bold\" style=\"fill: var(--more, #c22)\""
        } else {
            ""
        };
        let component = drawn.function.component.as_deref().unwrap_or_default();
        let _ = write!(
            out,
            "<g><title>{} {}: {}</title><circle cx=\"{x:.0}\" cy=\"{y:.1}\" r=\"2.5\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\"{weight}>{} <tspan opacity=\"0.65\">{}</tspan></text></g>",
            html(&drawn.function.name),
            html(component),
            costs(drawn, two),
            x + 18.0,
            y - 5.0,
            html(&shortened(
                &drawn.function.name,
                20,
                Look { width: 0, unicode: true, colour: false }
            )),
            costs(drawn, two),
        );
    }
    out.push_str("</svg>");
    out
}

/// A text fit for a page.
pub fn html(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
