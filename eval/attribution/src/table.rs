//! The tables, and the document around them.

use std::fmt::Write as _;

use crate::ask::Scored;
use crate::project::{PROJECTS, Project};

/// All tables.
pub fn tables(rows: &[Scored]) -> String {
    let (slow, innocent): (Vec<&Scored>, Vec<&Scored>) = rows.iter().partition(|row| row.is_slow());
    let mut out = String::new();
    let language = |row: &Scored| {
        let project = PROJECTS.iter().find(|project| project.name == row.truth.project);
        project.map_or("", |project| project.language.name()).to_owned()
    };
    let _ = writeln!(out, "## All\n");
    out.push_str(&summary("", &[(String::new(), slow.clone(), innocent.clone())]));
    let groups: [(&str, Key<'_>); 2] =
        [("project", &|row| row.truth.project.clone()), ("language", &language)];
    for (what, key) in groups {
        let mut keys: Vec<String> = rows.iter().map(key).collect();
        keys.sort();
        keys.dedup();
        let parts: Vec<TablePart<'_>> = (keys.into_iter())
            .map(|name| {
                let of = |row: &&&Scored| key(row) == name;
                let slow = slow.iter().filter(of).copied().collect();
                let innocent = innocent.iter().filter(of).copied().collect();
                (name.clone(), slow, innocent)
            })
            .collect();
        let _ = writeln!(out, "\n## By {what}\n");
        out.push_str(&summary(what, &parts));
    }
    let mut sorts: Vec<&str> = slow.iter().map(|row| &*row.truth.sort).collect();
    sorts.sort_unstable();
    sorts.dedup();
    let _ = writeln!(out, "\n## By kind of slowdown\n");
    let _ = writeln!(
        out,
        "| kind | commits | called regressed | right hunk first | among the first three |"
    );
    let _ = writeln!(out, "|---|--:|--:|--:|--:|");
    for sort in sorts {
        let of: Vec<&&Scored> = slow.iter().filter(|row| row.truth.sort == sort).collect();
        let _ = writeln!(
            out,
            "| {sort} | {} | {} | {} | {} |",
            of.len(),
            of.iter().filter(|row| row.verdict == "regressed").count(),
            of.iter().filter(|row| row.first).count(),
            of.iter().filter(|row| within_three(row)).count()
        );
    }
    out.push_str(&by_size(&slow));
    let wrong: Vec<&Scored> = (slow.iter().filter(|row| !row.first))
        .chain(innocent.iter().filter(|row| row.is_called_guilty() || row.verdict == "failed"))
        .copied()
        .collect();
    if !wrong.is_empty() {
        let _ = writeln!(out, "\n## What went wrong\n");
        for row in wrong {
            let _ = writeln!(out, "- {}", told(row));
        }
    }
    let _ = writeln!(out, "\n## All commits\n");
    let _ = writeln!(
        out,
        "| commit | what | where | other functions edited | slower when made | as measured | runs | verdict | right hunk |"
    );
    let _ = writeln!(out, "|---|---|---|--:|--:|--:|--:|---|---|");
    for row in rows {
        let right = match (row.is_slow(), row.right, row.is_called_guilty()) {
            (true, Some(_), _) if row.first => "first".to_owned(),
            (true, Some(place), _) => format!("number {place}"),
            (true, None, _) => "not there".to_owned(),
            (false, _, true) => "an innocent change is blamed".to_owned(),
            (false, _, false) => "none is blamed".to_owned(),
        };
        let _ = writeln!(
            out,
            "| {} {} | {} | {} | {} | {} | {} | {} + {} | {} | {right} |",
            row.truth.project,
            row.truth.case,
            row.truth.sort,
            row.truth
                .host
                .as_ref()
                .map_or(String::new(), |at| { format!("`{}` in `{}`", at.function, at.file) }),
            row.truth.edits.len(),
            if row.is_slow() { percent(row.truth.ratio) } else { String::new() },
            row.ratio.map_or(String::new(), percent),
            row.runs.0,
            row.runs.1,
            row.verdict
        );
    }
    out
}

fn percent(ratio: f64) -> String {
    format!("{:+.0} %", (ratio - 1.0) * 100.0)
}

fn within_three(row: &Scored) -> bool {
    row.right.is_some_and(|place| place <= 3)
}

/// A part of a whole, with its Wilson interval at 95 %.
fn part(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let (count, share) = (whole as f64, part as f64 / whole as f64);
    let z = 1.96_f64;
    let centre = share + z * z / (2.0 * count);
    let spread = z * (share * (1.0 - share) / count + z * z / (4.0 * count * count)).sqrt();
    let bound = |sign: f64| (centre + sign * spread) / (1.0 + z * z / count) * 100.0;
    format!(
        "{part} of {whole}, {:.1} % ({:.0}–{:.0})",
        share * 100.0,
        bound(-1.0).max(0.0),
        bound(1.0).min(100.0)
    )
}

type Key<'a> = &'a dyn Fn(&Scored) -> String;
type TablePart<'a> = (String, Vec<&'a Scored>, Vec<&'a Scored>);

fn summary(what: &str, parts: &[TablePart<'_>]) -> String {
    let mut out = String::new();
    let (head, rule) =
        if what.is_empty() { (String::new(), "") } else { (format!(" {what} |"), "---|") };
    let _ = writeln!(
        out,
        "|{head} called regressed | right hunk first | among the first three | innocent called guilty |"
    );
    let _ = writeln!(out, "|{rule}--:|--:|--:|--:|");
    for (name, slow, innocent) in parts {
        let count = |fits: &dyn Fn(&Scored) -> bool| {
            part(slow.iter().filter(|row| fits(row)).count(), slow.len())
        };
        let guilty = innocent.iter().filter(|row| row.is_called_guilty()).count();
        let name = if what.is_empty() { String::new() } else { format!(" {name} |") };
        let _ = writeln!(
            out,
            "|{name} {} | {} | {} | {} |",
            count(&|row| row.verdict == "regressed"),
            count(&|row| row.first),
            count(&within_three),
            part(guilty, innocent.len())
        );
    }
    out
}

/// The same by how much slower the runs of the check were.
fn by_size(slow: &[&Scored]) -> String {
    let mut out = String::from(
        "\n## By size\n\n| slower, as measured | commits | right hunk first | among the first three |\n|---|--:|--:|--:|\n",
    );
    let bounds = [(f64::MIN, 0.05), (0.05, 0.15), (0.15, 0.3), (0.3, f64::MAX)];
    for (low, high) in bounds {
        let fits = |row: &&&Scored| {
            let slower = row.ratio.unwrap_or(1.0) - 1.0;
            low <= slower && slower < high
        };
        let of: Vec<&&Scored> = slow.iter().filter(fits).collect();
        let name = match (low, high) {
            (f64::MIN, _) => "below 5 %".to_owned(),
            (_, f64::MAX) => format!("{:.0} % and more", low * 100.0),
            _ => format!("{:.0} to {:.0} %", low * 100.0, high * 100.0),
        };
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} |",
            of.len(),
            of.iter().filter(|row| row.first).count(),
            of.iter().filter(|row| within_three(row)).count()
        );
    }
    out
}

/// A case that went wrong, in a sentence.
fn told(row: &Scored) -> String {
    let truth = &row.truth;
    let place = truth.host.as_ref().map_or("nothing".to_owned(), |place| {
        format!(
            "`{}` in `{}` ({:.0} % of the total before)",
            place.function,
            place.file,
            truth.share * 100.0
        )
    });
    let what = match row.verdict.as_str() {
        "failed" => "the check failed".to_owned(),
        "regressed" if row.blamed.is_empty() => {
            format!("verdict regressed, but no change is blamed ({})", row.finding)
        }
        "regressed" => {
            let (change, suspect) = &row.blamed[0];
            format!("blamed first: `{change}` for `{suspect}`")
        }
        verdict => format!("called {verdict} after {} + {} runs", row.runs.0, row.runs.1),
    };
    let measured =
        row.ratio.map_or(String::new(), |ratio| format!(", measured {}", percent(ratio)));
    format!("{} {}, {}{measured}: {place}; {what}.", truth.project, truth.case, truth.sort)
}

/// The document: how it was made, then the tables.
pub fn document(tables: &str, projects: &[&Project], seed: u64) -> String {
    let mut list = String::new();
    for project in projects {
        let _ = writeln!(
            list,
            "- `{}` ({}, {}): releases {} of `{}`, profiled with {}",
            project.name,
            project.language.name(),
            project.licence,
            project.releases.join(" and "),
            project.package,
            project.profiler.name()
        );
    }
    include_str!("how.md").replace("$PROJECTS", list.trim_end()).replace("$SEED", &seed.to_string())
        + tables
}
