//! Class files: two releases of a real compiler compared, beside the JDK's disassembler on the same jars.
//!
//! `javap` only prints what a comparison of its text would still have to read, and on every tenth class: the whole jars
//! keep it busy for minutes. Its seconds are scaled to all of them.

use std::path::Path;

use anyhow::{Context, Result};
use perfblame_changes::ChangeKind;
use perfblame_classes::class_changes;

use crate::in_process::fastest;
use crate::inputs::{closure_compiler, listed_classes};
use crate::measure;
use crate::table::BenchRow;

type Compares = fn() -> Result<Vec<BenchRow>>;

/// Every bench of this kind.
pub const BENCHES: &[(&str, Compares)] = &[("class files: two jars", two_jars)];

const LIMIT: f64 = 1.5;
const EVERY: usize = 10;

fn two_jars() -> Result<Vec<BenchRow>> {
    let before = vec![closure_compiler("20231112.0.0")?];
    let after = vec![closure_compiler("20240317.0.0")?];
    let changes = class_changes(&before, &after).context("the jars cannot be compared")?;
    let modified =
        changes.functions.iter().filter(|change| change.kind == ChangeKind::Modified).count();
    let ours =
        fastest(|| class_changes(&before, &after).map_or(0, |changes| changes.functions.len()));
    let mut peer = 0.0;
    let mut classes = 0;
    for jar in [&before[0], &after[0]] {
        let (count, seconds) = javap(jar)?;
        classes += count;
        peer += seconds;
    }
    let ratio = peer / ours.max(1e-6);
    Ok(vec![BenchRow {
        what: "classes that changed between two jars".to_owned(),
        input: format!("{classes} classes, {modified} methods modified"),
        ours: format!("{ours:.2} s"),
        peer: format!("`javap -c -p`, printing both: {peer:.0} s"),
        result: format!("{ours:.2} s, {ratio:.0} × as fast"),
        goal: format!("≤ {LIMIT} s"),
        met: ours <= LIMIT,
    }])
}

/// The classes of a jar, and the seconds that printing them all would take.
fn javap(jar: &Path) -> Result<(usize, f64)> {
    let names = listed_classes(jar)?;
    let some: Vec<String> = names.iter().step_by(EVERY).map(|name| format!("'{name}'")).collect();
    let command = format!("javap -c -p -cp '{}' {} > /dev/null", jar.display(), some.join(" "));
    let usage = measure::process(&command)?;
    Ok((names.len(), usage.seconds * names.len() as f64 / some.len().max(1) as f64))
}
