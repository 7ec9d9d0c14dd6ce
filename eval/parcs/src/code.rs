//! What changed in the code between two releases: the columns of table 3.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use hashbrown::HashMap;
use perfblame_analysis::{ChangedFunction, ChangedKind};
use perfblame_cct::Sides;
use perfblame_changes::{Addition, ChangeKind, ChangeSet, Definition};
use perfblame_classes::{ClassOptions, compare_classes, count_classes};
use serde::{Deserialize, Serialize};

use crate::stored_sides;

/// Sizes and changes of the program's own packages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CodeCounts {
    /// Classes before and after: *OF*, *NF*.
    #[serde(with = "stored_sides")]
    pub classes: Sides<usize>,
    /// Methods before and after: *OM*, *NM*.
    #[serde(with = "stored_sides")]
    pub methods: Sides<usize>,
    /// *DM*.
    pub deleted: usize,
    /// *AM*.
    pub added: usize,
    /// *MM*.
    pub modified: usize,
    /// *RM*: only the name is another one.
    pub renamed: usize,
    /// Same name and body in another class, which the paper counts as deleted and added.
    pub moved: usize,
    pub seconds: f64,
    pub warnings: Vec<String>,
}

/// The changes themselves.
#[derive(Clone, Debug, Default)]
pub struct Code {
    pub counts: CodeCounts,
    pub changes: Vec<ChangedFunction>,
    /// Calls that a change brought in, by the full name of the function after.
    pub new_calls: HashMap<String, Vec<String>>,
}

/// The Java that programs are run with: archives hold copies of classes for several.
const JAVA: ClassOptions = ClassOptions { java_release: Some(17) };

/// Compares the program's own jars.
pub fn compare_code(before: &[PathBuf], after: &[PathBuf], packages: &[&str]) -> Result<Code> {
    let started = Instant::now();
    let changes = compare_classes(before, after, JAVA)?.changes;
    let seconds = started.elapsed().as_secs_f64();
    let wanted = |name: &str| is_in(packages, name);
    let paths = Sides::new(before, after);
    let counted = Sides::try_of(|side| count_classes(paths[side], JAVA, wanted))?;
    let mut code = of_changes(&changes, packages);
    code.counts.classes = counted.as_ref().map(|count| count.classes);
    code.counts.methods = counted.as_ref().map(|count| count.methods);
    code.counts.seconds = seconds;
    code.counts.warnings.clone_from(&changes.warnings);
    Ok(code)
}

/// The changes of the packages, counted.
pub fn of_changes(changes: &ChangeSet, packages: &[&str]) -> Code {
    let mut code = Code::default();
    for change in &changes.functions {
        let place = change.after.as_ref().or(change.before.as_ref());
        let Some(Definition { name, .. }) = place else { continue };
        if !is_in(packages, name) {
            continue;
        }
        let counts = &mut code.counts;
        match change.kind {
            ChangeKind::Added | ChangeKind::Extracted => counts.added += 1,
            ChangeKind::Deleted | ChangeKind::Inlined => counts.deleted += 1,
            ChangeKind::Modified => counts.modified += 1,
            ChangeKind::Renamed => counts.renamed += 1,
            ChangeKind::Moved => counts.moved += 1,
        }
        let calls = change.additions.iter().filter_map(|addition| match addition {
            Addition::Call(callee) => Some(callee.clone()),
            _ => None,
        });
        code.new_calls.entry(name.clone()).or_default().extend(calls);
        let changed = ChangedFunction::from(change);
        // A body that is the same under the same name is no change to a profile.
        if changed.kind != ChangedKind::Renamed || changed.before != changed.after {
            code.changes.push(changed);
        }
    }
    code
}

/// True for names in one of the packages.
fn is_in(packages: &[&str], name: &str) -> bool {
    let starts =
        |package: &str| name.strip_prefix(package).is_some_and(|rest| rest.starts_with(['.', '$']));
    packages.iter().any(|package| starts(package))
}
