//! Table 2: for each case and each way to trace it, where the cause is found, by the paper as it stands and by ours.

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::answer::{Named, ask, named, paths};
use crate::case::{Case, Workload};
use crate::machine::shell;
use crate::plain::{self, Sizes};
use crate::rank::{Found, Wanted, find};
use crate::recording::{Way, prepare, record};
use crate::script::{self, KernelStack};
use perfblame_eval_steps::{Work, key};

/// A row of the table.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CauseRow {
    pub case: String,
    pub way: String,
    pub ours: Option<Found>,
    pub suspects: Named,
    /// The paper as it stands; not for our own way to record.
    pub plain: Option<Found>,
    pub sizes: Sizes,
    /// Stacks of base and of buggy: all, and those with the wanted function on them.
    pub seen: [(usize, usize); 2],
    /// What went wrong.
    pub failed: Option<String>,
}

/// What is looked for in a case.
pub fn wanted(work: &Work, case: &Case) -> Result<Wanted> {
    let folder = prepare(work, case)?;
    let symbols = match case.plugin {
        Some(plugin) => shell(&format!("nm -S buggy/{}.named", plugin.object), &folder)?,
        None => String::new(),
    };
    Ok(Wanted::new(&case.truth, &symbols))
}

/// The part of a row that does not depend on perfblame.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Plain {
    found: Option<Found>,
    sizes: Sizes,
    seen: [(usize, usize); 2],
}

/// Records a case one way and looks for its cause.
pub fn row(work: &Work, case: &Case, way: Way, perfblame: &Path) -> Result<CauseRow> {
    let wanted = wanted(work, case)?;
    let base = record(work, case, Workload::Base, way, perfblame)?;
    let buggy = record(work, case, Workload::Buggy, way, perfblame)?;
    let traces = key(&[base.key.as_bytes(), buggy.key.as_bytes()]);
    let step = format!("{}-{traces}.json", way.name());
    let plain = if way == Way::Default {
        Plain::default()
    } else {
        work.step(&["plain", case.name, &step], || {
            let events = [script::events(&base.file)?, script::events(&buggy.file)?];
            let trees = [plain::infer(&events[0]), plain::infer(&events[1])];
            Ok(Plain {
                found: find(&plain::rank(&trees[0], &trees[1]), &wanted),
                sizes: trees[1].sizes(),
                seen: [seen(&events[0], &wanted), seen(&events[1], &wanted)],
            })
        })?
    };
    let mut row = CauseRow {
        case: case.name.to_owned(),
        way: way.name().to_owned(),
        plain: plain.found,
        sizes: plain.sizes,
        seen: plain.seen,
        ..CauseRow::default()
    };
    let ranking = ask(perfblame, &base.file, &buggy.file, "paths")?;
    row.ours = find(&paths(&ranking), &wanted);
    let suspects = ask(perfblame, &base.file, &buggy.file, "suspects")?;
    row.suspects = named(&suspects, &wanted);
    for (name, answer) in [("paths", &ranking), ("suspects", &suspects)] {
        let kept = work.place(&["answers", case.name, &format!("{}-{name}.json", way.name())])?;
        std::fs::write(kept, serde_json::to_vec_pretty(answer)?)?;
    }
    Ok(row)
}

/// Stacks that tell what a thread was at rather than what it asked for, and those with the function on them.
fn seen(events: &[KernelStack], wanted: &Wanted) -> (usize, usize) {
    let told = events.iter().filter(|event| !event.kind.starts_with("raw_syscalls"));
    let with = |event: &&KernelStack| {
        let is = |frame: &script::Frame| match &frame.symbol {
            Some(symbol) => wanted.is(symbol, &frame.object),
            None => wanted.is(&frame.name(), &frame.object),
        };
        event.stack.iter().any(is)
    };
    (told.clone().count(), told.filter(with).count())
}
