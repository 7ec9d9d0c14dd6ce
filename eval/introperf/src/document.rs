//! The document: our tables beside the paper's.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::case::{Case, Cause};
use crate::cases::{cases, is_unseen};
use crate::causes;
use crate::exact::{PERCENTILES, median};
use crate::inference::{self, Events, Inferred};
use crate::overhead::{self, LOADS, Traced};
use crate::rank::Found;
use crate::recording::Way;

/// Everything that was measured.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    pub causes: Vec<causes::CauseRow>,
    pub programs: Vec<inference::InferenceRow>,
    pub overhead: Vec<overhead::OverheadRow>,
}

/// Writes the document.
pub fn document(measured: &Measured, machine: &str) -> String {
    let mut text = String::from(include_str!("document/introduction.md"));
    let _ = writeln!(text, "\nThe figures come from {machine}.\n");
    text.push_str("## What the paper found, and what we find\n\n");
    claims(&mut text, measured);
    text.push_str("\n## Root causes (table 2)\n\n");
    text.push_str(include_str!("document/causes.md"));
    text.push('\n');
    causes_table(&mut text, measured);
    text.push_str("\nThe programs in the traces of the second column, and how many stacks outside of system calls contain the function (base, buggy):\n\n");
    sizes_table(&mut text, measured);
    text.push_str("\nThe causes:\n\n");
    truths_table(&mut text);
    text.push_str("\n## Coverage (table 3, figure 8)\n\n");
    text.push_str(include_str!("document/coverage.md"));
    text.push('\n');
    coverage_table(&mut text, measured);
    text.push_str("\nFigure 8 as numbers: coverage in percent of contexts / of calls with a latency at or above a percentile, with system calls and switches:\n\n");
    figure_8(&mut text, measured);
    text.push_str("\n## Errors of latencies\n\n");
    text.push_str(include_str!("document/errors.md"));
    text.push('\n');
    errors_table(&mut text, measured);
    text.push_str("\nHow well inferred calls match real calls: exactly one call / a further part of a call / several calls in one, by the stacks that contain them.\n\n");
    told_apart_table(&mut text, measured);
    text.push_str("\n## Cost of tracing (figure 9)\n\n");
    text.push_str(include_str!("document/overhead.md"));
    text.push('\n');
    overhead_table(&mut text, measured);
    text
}

/// Of some cases, how well the cause is found.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Summary {
    cases: usize,
    first: usize,
    worst: Option<usize>,
    missed: usize,
    near: usize,
    middle: usize,
}

fn summary(found: &[Option<Found>]) -> Summary {
    let known: Vec<Found> = found.iter().flatten().copied().collect();
    Summary {
        cases: found.len(),
        first: known.iter().filter(|found| found.p_min == 1).count(),
        worst: known.iter().map(|found| found.p_min).max(),
        missed: found.len() - known.len(),
        near: known.iter().filter(|found| found.f_min <= 1).count(),
        middle: median(known.iter().map(|found| found.f_min as f64).collect()) as usize,
    }
}

fn of_way(measured: &Measured, way: Way) -> Vec<&causes::CauseRow> {
    measured.causes.iter().filter(|row| row.way == way.name()).collect()
}

fn claims(text: &mut String, measured: &Measured) {
    text.push_str("| | cases | p_min = 1 | worst p_min | not found | f_min ≤ 1 | median f_min |\n|---|---|---|---|---|---|---|\n");
    let mut line = |name: &str, summary: Summary| {
        let share = 100.0 * summary.first as f64 / summary.cases.max(1) as f64;
        let worst = summary.worst.map_or("-".to_owned(), |worst| worst.to_string());
        let Summary { cases, first, missed, near, middle, .. } = summary;
        let _ = writeln!(
            text,
            "| {name} | {cases} | {first} ({share:.0} %) | {worst} | {missed} | {near} | {middle} |"
        );
    };
    let paper: Vec<Option<Found>> = PAPER
        .iter()
        .map(|(_, p_min, f_min)| Some(Found { p_min: *p_min, f_min: *f_min, place: 0 }))
        .collect();
    line("the paper's own cases, on Windows", summary(&paper));
    for way in [Way::Switches, Way::Ticks] {
        let rows = of_way(measured, way);
        let plain: Vec<_> = rows.iter().map(|row| row.plain).collect();
        line(&format!("the paper as it stands, {}", words(way)), summary(&plain));
    }
    for way in Way::ALL {
        let ours: Vec<_> = of_way(measured, way).iter().map(|row| row.ours).collect();
        line(&format!("`perfblame diff --method paths`, {}", words(way)), summary(&ours));
    }
    for way in Way::ALL {
        let rows = of_way(measured, way).into_iter().filter(|row| is_unseen(&row.case));
        let ours: Vec<_> = rows.map(|row| row.ours).collect();
        line(&format!("of these the unseen cases, {}", words(way)), summary(&ours));
    }
    text.push('\n');
    for way in Way::ALL {
        let rows = of_way(measured, way);
        let itself = rows.iter().filter(|row| row.suspects.itself == Some(1)).count();
        let on_path = rows.iter().filter(|row| row.suspects.on_path == Some(1)).count();
        let _ = writeln!(
            text,
            "- `perfblame diff` by itself (suspects), {}: the first suspect is the function in {itself} of {} cases, or \
             called by it in {on_path}.",
            words(way),
            rows.len()
        );
    }
    estimate_summary(text, measured);
    for row in &measured.overhead {
        let _ = writeln!(
            text,
            "- {} takes {:.2} times as long when traced in full, {:.2} times with the default.",
            row.load,
            row.ratio(Traced::Fully),
            row.ratio(Traced::ByDefault)
        );
    }
}

/// How the estimate compares with the better of the two modes.
fn estimate_summary(text: &mut String, measured: &Measured) {
    for (number, events) in [(1, "system calls and switches"), (2, "with ticks")] {
        let rows = measured.programs.iter().filter_map(|row| row.by_events.get(number));
        let ratios = |error: fn(&Inferred) -> [f64; 3]| -> Vec<f64> {
            let ratio = |[conservative, aggressive, ours]: [f64; 3]| {
                ours / conservative.min(aggressive).max(f64::MIN_POSITIVE)
            };
            rows.clone().map(|row| ratio(error(row))).collect()
        };
        let all = ratios(|row| [row.conservative, row.aggressive, row.estimate]);
        let of_seen = ratios(|row| row.of_seen);
        if all.is_empty() {
            return;
        }
        let half = |ratios: &[f64]| ratios.iter().filter(|ratio| **ratio <= 0.5).count();
        let _ = writeln!(
            text,
            "- Over the slowest hundredth of calls, the estimate's median error is {:.2} times that of the better mode \
             ({events}; geometric mean over {} programs), and at most half of it in {} of them; counting only \
             calls that are on a stack, it is {:.2} times, and at most half in {}.",
            geometric_mean(&all),
            all.len(),
            half(&all),
            geometric_mean(&of_seen),
            half(&of_seen)
        );
    }
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    let logs: f64 = ratios.iter().map(|ratio| ratio.max(f64::MIN_POSITIVE).ln()).sum();
    (logs / ratios.len().max(1) as f64).exp()
}

fn words(way: Way) -> &'static str {
    match way {
        Way::Switches => "system calls and switches",
        Way::Ticks => "with ticks",
        Way::Default => "default of `record os`",
    }
}

fn found(found: Option<Found>) -> String {
    found.map_or("-".to_owned(), |found| format!("{} / {}", found.p_min, found.f_min))
}

fn causes_table(text: &mut String, measured: &Measured) {
    text.push_str("| case | cause | the paper, switches | the paper, ticks | ours, switches | ours, ticks | ours, default | suspects, switches | suspects, default |\n|---|---|---|---|---|---|---|---|---|\n");
    for case in cases() {
        let row = |way: Way| {
            let mut rows = measured.causes.iter();
            rows.find(|row| row.case == case.name && row.way == way.name())
        };
        let plain = |way| found(row(way).and_then(|row| row.plain));
        let ours = |way| match row(way) {
            Some(row) if row.failed.is_some() => "failed".to_owned(),
            row => found(row.and_then(|row| row.ours)),
        };
        let suspects = |way| {
            let named = row(way).map(|row| row.suspects).unwrap_or_default();
            match (named.itself, named.on_path) {
                (Some(itself), _) => itself.to_string(),
                (None, Some(on_path)) => format!("({on_path})"),
                (None, None) => "-".to_owned(),
            }
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            if is_unseen(case.name) {
                format!("{} (unseen)", case.name)
            } else {
                case.name.to_owned()
            },
            cause(case),
            plain(Way::Switches),
            plain(Way::Ticks),
            ours(Way::Switches),
            ours(Way::Ticks),
            ours(Way::Default),
            suspects(Way::Switches),
            suspects(Way::Default),
        );
    }
    text.push_str("\nThe paper's table 2, for comparison (p_min / f_min): ");
    let rows: Vec<String> =
        PAPER.iter().map(|(name, p_min, f_min)| format!("{name} {p_min} / {f_min}")).collect();
    let _ = writeln!(text, "{}.", rows.join(", "));
}

fn cause(case: &Case) -> String {
    match case.cause {
        Cause::Internal => "internal".to_owned(),
        Cause::Injected(delay) => format!("injected, {delay}"),
    }
}

fn sizes_table(text: &mut String, measured: &Measured) {
    text.push_str("| case | objects | paths | functions | length | base | buggy | with ticks: base | buggy |\n|---|---|---|---|---|---|---|---|---|\n");
    for row in of_way(measured, Way::Switches) {
        let ticks = measured
            .causes
            .iter()
            .find(|other| other.case == row.case && other.way == Way::Ticks.name());
        let seen = |(all, with): (usize, usize)| format!("{with} of {all}");
        let ticked = ticks.map(|row| row.seen).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.1} | {} | {} | {} | {} |",
            row.case,
            row.sizes.objects,
            row.sizes.paths,
            row.sizes.functions,
            row.sizes.length,
            seen(row.seen[0]),
            seen(row.seen[1]),
            seen(ticked[0]),
            seen(ticked[1]),
        );
    }
}

fn truths_table(text: &mut String) {
    text.push_str("| case | program | what it does | function | why |\n|---|---|---|---|---|\n");
    for case in cases() {
        let _ = writeln!(
            text,
            "| {} | {} | {} | `{}` in {} | {} |",
            case.name,
            case.program,
            case.what,
            case.truth.functions.join("`, `"),
            case.truth.object,
            case.truth.why.replace('|', "\\|")
        );
    }
}

fn coverage_table(text: &mut String, measured: &Measured) {
    text.push_str("| program | calls | contexts | system calls per 100 calls | events | stacks | contexts, all | contexts, top 1 % | calls, all | calls, top 1 % |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for row in &measured.programs {
        for (events, inferred) in Events::ALL.iter().zip(&row.by_events) {
            let coverage = inferred.coverage;
            let _ = writeln!(
                text,
                "| {} | {} | {} | {:.2} | {} | {} | {:.1} | {:.1} | {:.2} | {:.1} |",
                row.program,
                row.calls,
                row.contexts,
                row.syscall_rate,
                event_words(*events),
                inferred.stacks,
                coverage.contexts,
                coverage.slowest_contexts,
                coverage.calls,
                coverage.slowest_calls
            );
        }
    }
    text.push_str("| 7zip, the paper | | | 0.11 to 5.03 | system calls | | 13.6 to 47.5 | 38.5 to 100 | 0.6 to 30.2 | 16.6 to 100 |\n");
    text.push_str("| 7zip, the paper | | | | and a switch every 20 ms | | 17.5 to 47.5 | 50.1 to 100 | 0.8 to 31.2 | 26.5 to 100 |\n");
    text.push_str("| MySQL, the paper's text | | | 0.21 to 1.48 | all three | | below 20 | 34.7 to 100 | 1.2 to 8.05 | 29.1 to 100 |\n");
}

fn event_words(events: Events) -> &'static str {
    match events {
        Events::Calls => "system calls",
        Events::CallsAndSwitches => "and switches",
        Events::CallsSwitchesAndTicks => "and ticks",
    }
}

fn figure_8(text: &mut String, measured: &Measured) {
    text.push_str("| program |");
    for percentile in PERCENTILES {
        let _ = write!(text, " {percentile} % |");
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(PERCENTILES.len()));
    text.push('\n');
    for row in &measured.programs {
        let Some(inferred) = row.by_events.get(1) else { continue };
        let _ = write!(text, "| {} |", row.program);
        let both = inferred.coverage.contexts_from.iter().zip(inferred.coverage.calls_from);
        for (contexts, calls) in both {
            let _ = write!(text, " {contexts:.1} / {calls:.1} |");
        }
        text.push('\n');
    }
}

fn errors_table(text: &mut String, measured: &Measured) {
    text.push_str("| program | events | conservative | aggressive | ours | ours / the better mode | of those on a stack: conservative | aggressive | ours | ours / the better mode |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for row in &measured.programs {
        for (events, inferred) in Events::ALL.iter().zip(&row.by_events) {
            let better = inferred.conservative.min(inferred.aggressive);
            let seen = inferred.of_seen;
            let _ = writeln!(
                text,
                "| {} | {} | {:.1} % | {:.1} % | {:.1} % | {:.2} | {:.1} % | {:.1} % | {:.1} % | {:.2} |",
                row.program,
                event_words(*events),
                100.0 * inferred.conservative,
                100.0 * inferred.aggressive,
                100.0 * inferred.estimate,
                inferred.estimate / better.max(1e-9),
                100.0 * seen[0],
                100.0 * seen[1],
                100.0 * seen[2],
                seen[2] / seen[0].min(seen[1]).max(1e-9)
            );
        }
    }
}

fn told_apart_table(text: &mut String, measured: &Measured) {
    text.push_str("| program | the paper, switches | ours, switches | the paper, ticks | ours, ticks |\n|---|---|---|---|---|\n");
    for row in &measured.programs {
        let columns = row.by_events.iter().skip(1).flat_map(|inferred| inferred.told_apart);
        let cells: Vec<String> = columns
            .map(|told| format!("{} / {} / {}", told.right, told.split, told.joined))
            .collect();
        let _ = writeln!(text, "| {} | {} |", row.program, cells.join(" | "));
    }
}

fn overhead_table(text: &mut String, measured: &Measured) {
    text.push_str("| program | work | rounds | full | default |\n|---|---|---|---|---|\n");
    for row in &measured.overhead {
        let what = LOADS.iter().find(|load| load.name == row.load).map_or("", |load| load.what);
        let _ = writeln!(
            text,
            "| {} | {what} | {} | {:.2} × | {:.2} × |",
            row.load,
            row.rounds.len(),
            row.ratio(Traced::Fully),
            row.ratio(Traced::ByDefault)
        );
    }
    text.push_str("| Apache, MySQL, 7zip, the paper | | | 1.02 to 1.09 × (system calls and switches) | 1.01 to 1.08 × (system calls) |\n");
}

/// Table 2 of the paper: case, p_min, f_min.
const PAPER: &[(&str, usize, usize)] = &[
    ("Apache 45464", 1, 36),
    ("MySQL 15811", 1, 0),
    ("MySQL 49491", 3, 5),
    ("ProcessHacker 3744", 1, 0),
    ("7zip S1", 11, 16),
    ("7zip S2", 3, 16),
    ("7zip S3", 1, 15),
    ("7zip S4", 2, 16),
    ("ProcessHacker 5424", 1, 54),
    ("ProcessHacker (injected)", 1, 0),
    ("Internet Explorer (injected)", 1, 0),
    ("Miranda (injected)", 1, 0),
    ("Apache mod_log_config (injected)", 3, 0),
    ("Apache mod_deflate (injected)", 2, 0),
    ("VirtualBox (injected)", 1, 0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_add_up() {
        let found = |p_min, f_min| Some(Found { p_min, f_min, place: 0 });
        let summary = summary(&[found(1, 0), found(3, 4), None, found(1, 1)]);
        assert_eq!(
            summary,
            Summary { cases: 4, first: 2, worst: Some(3), missed: 1, near: 2, middle: 1 }
        );
    }

    #[test]
    fn a_document_names_every_case() {
        let text = document(&Measured::default(), "a machine");
        for case in cases() {
            assert!(text.contains(case.name), "{}", case.name);
        }
    }
}
