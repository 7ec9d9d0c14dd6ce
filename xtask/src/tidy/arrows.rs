//! Which crate may depend on which: `cargo tree` and the arrows in `ARCHITECTURE.md` agree, in both directions.
//!
//! The arrows stand in the first block behind the heading of the crates, a line per crate. What only tests use is in
//! brackets; that tests use `fixtures` goes without saying.
//!
//! ```text
//! cct
//! matching → cct (tests: readers)
//! ```

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};

use super::{TrackedFile, text_of};
use crate::shell;

const TEXT: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Crates";

/// What a crate depends on: in the program, and in its tests alone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Arrows {
    normal: BTreeSet<String>,
    tests: BTreeSet<String>,
}

type Table = BTreeMap<String, Arrows>;

pub fn check(files: &[TrackedFile]) -> Vec<String> {
    match real() {
        Ok(real) => disagreements(&drawn(text_of(files, TEXT)), &real),
        Err(error) => vec![format!("{TEXT}: its arrows cannot be checked: {error:#}")],
    }
}

/// The arrows that the document draws.
fn drawn(text: &str) -> Table {
    let behind = text.split_once(HEADING).map_or("", |(_, behind)| behind);
    let block = behind.split("```").nth(1).unwrap_or("");
    let mut table = Table::new();
    // The first line holds the kind of the block.
    for line in block.lines().skip(1) {
        let (line, tests) =
            line.trim_end().trim_end_matches(')').split_once("(tests:").unwrap_or((line, ""));
        let (name, normal) = line.split_once('→').unwrap_or((line, ""));
        let names = |list: &str| {
            list.split(',')
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty())
                .collect()
        };
        table.insert(name.trim().to_owned(), Arrows { normal: names(normal), tests: names(tests) });
    }
    table
}

/// The arrows that there are, asked of cargo.
fn real() -> Result<Table> {
    let mut table = Table::new();
    for (row, edges) in ["normal,build", "dev"].into_iter().enumerate() {
        let arguments =
            ["tree", "--workspace", "--all-features", "--target", "all", "--depth", "1"];
        let shape = ["--edges", edges, "--prefix", "depth", "--no-dedupe", "--format", " {p}"];
        let output = shell::command("cargo", &[&arguments[..], &shape].concat())?
            .output()
            .context("cannot start cargo")?;
        if !output.status.success() {
            bail!("cargo tree: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let tree = String::from_utf8_lossy(&output.stdout);
        for (from, to) in edges_of(&tree) {
            let arrows = table.entry(from).or_default();
            let to = to.into_iter().filter(|to| row == 0 || to != "fixtures");
            if row == 0 { arrows.normal.extend(to) } else { arrows.tests.extend(to) }
        }
    }
    Ok(table)
}

/// Every crate of a tree with the crates below it, as `cargo tree` prints them with their depths.
fn edges_of(tree: &str) -> Vec<(String, Vec<String>)> {
    let mut edges: Vec<(String, Vec<String>)> = Vec::new();
    for line in tree.lines() {
        let Some((depth, package)) = line.split_once(' ') else { continue };
        // Crates of the project lie in a folder of its crates: `perfblame-cct v0.1.0 (/home/me/perfblame/crates/cct)`.
        let folder = package.split_once(" (").map_or("", |(_, path)| path);
        let folder = folder.split(')').next().unwrap_or("");
        let mut names = folder.rsplit('/');
        let (name, is_crate) = (names.next().unwrap_or(""), names.next() == Some("crates"));
        match (depth, edges.last_mut()) {
            // A crate that is none of these still has its edges below it.
            ("0", _) => {
                edges.push((if is_crate { name.to_owned() } else { String::new() }, Vec::new()));
            }
            (_, Some((_, below))) if is_crate => below.push(name.to_owned()),
            _ => {}
        }
    }
    edges.retain(|(name, _)| !name.is_empty());
    edges
}

fn disagreements(drawn: &Table, real: &Table) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, arrows) in real {
        let Some(known) = drawn.get(name) else {
            findings.push(format!("{TEXT}: no line with the dependencies of {name}"));
            continue;
        };
        let kinds =
            [(&arrows.normal, &known.normal, ""), (&arrows.tests, &known.tests, " in tests")];
        for (there, text, when) in kinds {
            for to in there.difference(text) {
                findings.push(format!("{TEXT}: {name} depends on {to}{when}; no arrow says so"));
            }
            for to in text.difference(there) {
                findings.push(format!("{TEXT}: {name} does not depend on {to}{when}"));
            }
        }
    }
    for name in drawn.keys().filter(|name| !real.contains_key(*name)) {
        findings.push(format!("{TEXT}: there is no crate {name}"));
    }
    if real.is_empty() {
        findings.push("cargo tree lists no crate".to_owned());
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_are_checked() {
        let text = "# A\n\n```text\nother → block\n```\n\n## Crates\n\n```text\ncct\n\
                    blame   → cct, matching\ngone → cct\nmatching → cct (tests: readers)\n```\n";
        let normal = "0 perfblame-cct v0.1.0 (/p/crates/cct)\n\n\
                      0 perfblame-blame v0.1.0 (/p/crates/blame)\n\
                      1 perfblame-cct v0.1.0 (/p/crates/cct)\n1 memchr v2.7.0\n\n\
                      0 perfblame-matching v0.1.0 (/p/crates/matching)\n\
                      1 perfblame-cct v0.1.0 (/p/crates/cct)\n\n\
                      0 perfblame-new v0.1.0 (/p/crates/new)\n\n\
                      0 xtask v0.1.0 (/p/xtask)\n1 perfblame-cct v0.1.0 (/p/crates/cct)\n";
        let mut real = Table::new();
        for (from, to) in edges_of(normal) {
            real.entry(from).or_default().normal.extend(to);
        }
        assert_eq!(
            disagreements(&drawn(text), &real),
            [
                "ARCHITECTURE.md: blame does not depend on matching",
                "ARCHITECTURE.md: matching does not depend on readers in tests",
                "ARCHITECTURE.md: no line with the dependencies of new",
                "ARCHITECTURE.md: there is no crate gone",
            ]
        );
        let (mut more, none) = (Table::new(), Table::new());
        let arrows = Arrows { normal: ["a".to_owned()].into(), ..Arrows::default() };
        more.insert("cct".to_owned(), arrows);
        more.insert("blame".to_owned(), Arrows::default());
        assert_eq!(disagreements(&none, &none), ["cargo tree lists no crate"]);
        let finding = disagreements(&drawn(text), &more);
        assert_eq!(finding[0], "ARCHITECTURE.md: blame does not depend on cct");
        assert!(
            finding.contains(&"ARCHITECTURE.md: cct depends on a; no arrow says so".to_owned())
        );
    }
}
