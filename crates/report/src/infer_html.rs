//! What a trace says, as one page without scripts: where the time went, functions, the heat map of paths and the
//! calling context tree.

use std::io::{self, Write};

use perfblame_analysis::{Inferred, RankedPath};

use crate::numbers::{counted, in_percent, nanoseconds};
use crate::pa_cct::{self, html};

/// Rows of each table.
const ROWS: usize = 50;

const STYLE: &str = "body{font:14px/1.45 system-ui,sans-serif;margin:2rem;color:#222;background:#fff}\
table{border-collapse:collapse}td,th{padding:.15rem .6rem;text-align:left}th{border-bottom:1px solid #bbb}\
td.n{text-align:right;white-space:nowrap}.heat td{padding:0;min-width:1.6rem;height:1.4rem;text-align:center;\
font-size:11px;border:1px solid #fff}.heat th{border:0;font-weight:normal}.scroll{overflow-x:auto}\
.layer{color:#666}.warn{color:#850}";

/// Writes the page. The answer must have its paths.
pub fn infer_html(answer: &Inferred, out: &mut dyn Write) -> io::Result<()> {
    let title = html(&answer.input);
    writeln!(
        out,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}: latencies</title>\
         <style>{STYLE}</style></head><body><h1>{title}</h1>"
    )?;
    let time = |nanos: i64| nanoseconds(nanos.max(0) as f64);
    let whole = (answer.running + answer.waiting + answer.queued + answer.idle).max(1) as f64;
    writeln!(
        out,
        "<p>{} of {} in {}. Thread time:",
        counted(answer.events, "event", "events"),
        counted(answer.threads as u64, "thread", "threads"),
        time(answer.duration)
    )?;
    for (what, nanos) in [
        ("running", answer.running),
        ("waiting during work", answer.waiting),
        ("waiting for a processor", answer.queued),
        ("waiting for work", answer.idle),
    ] {
        writeln!(out, "<b>{what}</b> {} ({})", time(nanos), in_percent(nanos as f64 / whole))?;
    }
    writeln!(out, "</p>")?;
    if !answer.waits.is_empty() {
        writeln!(out, "<p>Waited for:")?;
        for wait in &answer.waits {
            let times = counted(wait.count, "time", "times");
            writeln!(out, "<b>{}</b> {} ({times})", wait.on.name(), time(wait.total))?;
        }
        writeln!(out, "</p>")?;
    }
    writeln!(
        out,
        "<h2>Functions by own latency</h2><table><tr><th>function<th>component<th>own<th>between<th>waiting\
         <th>contexts</tr>"
    )?;
    for row in answer.functions.iter().filter(|row| row.own > 0).take(ROWS) {
        writeln!(
            out,
            "<tr><td>{}<td class=layer>{} ({})<td class=n>{}<td class=n>{} to {}<td class=n>{}<td class=n>{}</tr>",
            html(&row.function.name),
            html(row.function.component.as_deref().unwrap_or_default()),
            row.function.layer.name(),
            time(row.own),
            time(row.interval.0),
            time(row.interval.1),
            time(row.waiting),
            row.contexts
        )?;
    }
    writeln!(out, "</table>")?;
    writeln!(
        out,
        "<h2>Heat map of the call paths</h2><p>Each row is a path, most expensive first. Each cell is a function, outermost first. 0 marks the hottest function of the path. Colours follow powers of ten.</p>"
    )?;
    heat_table(&answer.paths, out)?;
    writeln!(
        out,
        "<h2>Calling context tree of the first paths</h2><div class=scroll>{}</div>",
        pa_cct::svg(&answer.paths, false)
    )?;
    for warning in &answer.warnings {
        let times = match warning.count {
            0 | 1 => String::new(),
            count => format!(" ({})", counted(count, "time", "times")),
        };
        writeln!(out, "<p class=warn>{}{times}</p>", html(&warning.message))?;
    }
    writeln!(out, "</body></html>")
}

fn heat_table(paths: &[RankedPath], out: &mut dyn Write) -> io::Result<()> {
    let shown = &paths[..paths.len().min(ROWS)];
    let scale = RankedPath::heat_scale(shown);
    writeln!(out, "<div class=scroll><table class=heat>")?;
    for path in shown {
        write!(out, "<tr><th>{}<th>{}", path.rank, nanoseconds(path.cost.max(0.0)))?;
        let hottest = path.hottest().unwrap_or(0);
        for (place, step) in path.functions.iter().enumerate() {
            let heat = scale.heat(step.latency);
            // From pale blue to red by the hue alone.
            let hue = 220.0 * (1.0 - heat);
            let light = 92.0 - 42.0 * heat;
            write!(
                out,
                "<td style=\"background:hsl({hue:.0} 80% {light:.0}%)\" title=\"{}: {}\">{}",
                html(&step.function.name),
                nanoseconds(step.latency.max(0.0)),
                place.abs_diff(hottest)
            )?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</table></div>")
}
