//! Which threads stand directly below the root, and which below a node of their own.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use perfblame_cct::{Frame, FrameId, Function, Layer, RunSet, Symbols, role};

use super::Timelines;

/// What browsers, virtual machines and interpreters call the thread on which a program starts.
const MAIN: &[&str] = &["main", "Main", "Main Thread", "MainThread", "CrRendererMain", "GeckoMain"];

/// Roles that get a node each; a tree is built for every one of them.
const MOST: usize = 100;

/// Stands for the component of a thread's node, so that it is never taken for a function of the same name.
const COMPONENT: &str = "(thread)";

/// The roles of both sides' threads. Role 0 is the main thread's and has no node.
pub(super) struct Roles {
    names: Vec<String>,
    /// By thread of the before side.
    pub(super) before: Vec<u32>,
    /// By thread of the after side.
    pub(super) after: Vec<u32>,
    /// How many roles share the last node.
    pub(super) together: usize,
}

impl Roles {
    /// Finds the roles of threads that have values in the first `runs` runs of either side.
    pub(super) fn of(before: &Timelines<'_>, after: &Timelines<'_>, runs: usize) -> Self {
        let mut weights: BTreeMap<String, u64> = BTreeMap::new();
        let mut on_no_thread = false;
        for side in [before, after] {
            let names: Vec<String> = names(side.runs);
            for run in side.runs.runs.iter().take(runs) {
                for (_, thread, value) in run.cells.of(side.metric) {
                    let Some(name) = thread.and_then(|thread| names.get(thread.index())) else {
                        on_no_thread = true;
                        continue;
                    };
                    match weights.get_mut(name) {
                        Some(weight) => *weight = weight.saturating_add(value.unsigned_abs()),
                        None => drop(weights.insert(name.clone(), value.unsigned_abs())),
                    }
                }
            }
        }
        let alone = weights.len() == 1 && !on_no_thread;
        let mut workers: Vec<(Reverse<u64>, String)> = (weights.into_iter())
            .filter(|(name, _)| !alone && !MAIN.contains(&name.as_str()))
            .map(|(name, weight)| (Reverse(weight), name))
            .collect();
        workers.sort();
        let together = workers.len().saturating_sub(MOST);
        let mut names: Vec<String> = std::iter::once(String::new())
            .chain(workers.into_iter().take(MOST).map(|(_, name)| name))
            .collect();
        let of_threads = |side: &Timelines<'_>| -> Vec<u32> {
            let number: BTreeMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
            let rest = if together > 0 { names.len() as u32 } else { 0 };
            let role = |name: &String| {
                if MAIN.contains(&name.as_str()) {
                    return 0;
                }
                number.get(name.as_str()).copied().unwrap_or(rest)
            };
            self::names(side.runs).iter().map(role).collect()
        };
        let (before, after) = (of_threads(before), of_threads(after));
        if together > 0 {
            names.push("(other threads)".to_owned());
        }
        Self { names, before, after, together }
    }

    /// The frames of the nodes of a side's roles, by role; those of `threads` are added to the symbols.
    pub(super) fn frames(
        &self,
        threads: &[u32],
        symbols: &mut Cow<'_, Symbols>,
    ) -> Vec<Option<FrameId>> {
        let mut frames = vec![None; self.names.len()];
        for role in threads.iter().map(|role| *role as usize).filter(|role| *role > 0) {
            if frames[role].is_none() {
                let symbols = symbols.to_mut();
                let (name, component) =
                    (symbols.string(&self.names[role]), symbols.string(COMPONENT));
                let function =
                    Function::named(name).in_component(component).in_layer(Layer::Runtime);
                let function = symbols.intern_function(function);
                frames[role] = Some(symbols.intern_frame(Frame::of(function)));
            }
        }
        frames
    }
}

fn names(runs: &RunSet) -> Vec<String> {
    let name =
        |name: &str| if name.is_empty() { "(unnamed thread)".to_owned() } else { role(name) };
    runs.threads.iter().map(|thread| name(runs.symbols.text(thread.name))).collect()
}
