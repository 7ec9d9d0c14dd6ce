//! What a method says about time lines, whichever method it is.
//!
//! perfblame is asked as users ask it: the command, for JSON. What the command does not offer, the engine's markers
//! taken for functions as the paper's tool has it, is asked of the crate below it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use perfblame_analysis::FunctionView;
use perfblame_blame::{Call, CriticalGraph};
use perfblame_cct::Symbols;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::script::Position;
use crate::timeline::{FramePlace, Timeline, path_of};

/// A method under test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Method {
    /// perfblame's default.
    Suspects,
    /// The paper's, with its threshold of 50 ms.
    CriticalGraph,
    /// The paper's with 5 ms.
    CriticalGraphFine,
    /// The paper's, with markers as functions, as its tool has them.
    Markers,
    /// Functions by the difference of their mean self time.
    SelfDifference,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Suspects,
        Self::CriticalGraph,
        Self::CriticalGraphFine,
        Self::Markers,
        Self::SelfDifference,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Suspects => "suspects",
            Self::CriticalGraph => "critical-graph",
            Self::CriticalGraphFine => "critical-graph, µ = 5 ms",
            Self::Markers => "critical-graph, markers kept",
            Self::SelfDifference => "self time difference",
        }
    }

    /// True for answers without functions that have no name.
    pub fn prunes(self) -> bool {
        matches!(self, Self::CriticalGraph | Self::CriticalGraphFine | Self::Markers)
    }
}

/// An answer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    pub regressed: bool,
    /// What is blamed, the worst first.
    pub blamed: Vec<Blamed>,
    /// Nodes of the graph, without the root; for suspects, functions on their paths.
    pub nodes: usize,
}

/// A function that is blamed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Blamed {
    pub place: FramePlace,
    /// From the outermost function to this one.
    pub path: Vec<FramePlace>,
    /// Nanoseconds that it got slower by.
    pub delta: f64,
    pub kind: String,
}

/// Functions that grew by less than this part of the whole before are not listed by the plain ranking.
const LEAST_SHARE: f64 = 0.01;

/// Asks the command.
pub fn ask(
    perfblame: &Path,
    before: &[PathBuf],
    after: &[PathBuf],
    method: Method,
) -> Result<Answer> {
    let mut command = Command::new(perfblame);
    command.args(["diff", "--quiet", "--format", "json"]);
    for (option, files) in [("--before", before), ("--after", after)] {
        for file in files {
            command.arg(option).arg(file);
        }
    }
    match method {
        Method::Suspects => {}
        Method::CriticalGraph => {
            command.args(["--method", "critical-graph"]);
        }
        Method::CriticalGraphFine => {
            command.args(["--method", "critical-graph", "--min-delta", "5ms"]);
        }
        Method::Markers | Method::SelfDifference => bail!("{} is not a command", method.name()),
    }
    let output = command.output().with_context(|| perfblame.display().to_string())?;
    // 1 says that something is slower.
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("perfblame diff: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let answer: Value = serde_json::from_slice(&output.stdout).context("JSON of perfblame diff")?;
    let regressed = answer["verdict"] == "regressed";
    let parsed = if method == Method::Suspects { suspects(&answer) } else { leaves(&answer) };
    let (blamed, nodes) = parsed.context("JSON of perfblame diff")?;
    Ok(Answer { regressed, blamed, nodes })
}

fn place(value: &Value) -> Option<FramePlace> {
    let number = |name: &str| value[name].as_u64().and_then(|number| u32::try_from(number).ok());
    Some(FramePlace {
        name: value["function"].as_str()?.to_owned(),
        script: value["component"].as_str().map(path_of).unwrap_or_default(),
        at: number("line").zip(number("column")).map(|(line, column)| Position { line, column }),
    })
}

fn suspects(answer: &Value) -> Option<(Vec<Blamed>, usize)> {
    let rows = answer["suspects"].as_array()?.iter().filter(|row| row["kind"] != "moved");
    let blamed: Vec<Blamed> = rows
        .map(|row| {
            Some(Blamed {
                place: place(row)?,
                path: row["path"].as_array()?.iter().map(place).collect::<Option<_>>()?,
                delta: row["delta"].as_f64()?,
                kind: row["kind"].as_str()?.to_owned(),
            })
        })
        .collect::<Option<_>>()?;
    let nodes = blamed.iter().map(|blamed| blamed.path.len()).sum();
    Some((blamed, nodes))
}

/// Stands where a function of a critical graph has its component when it is a thread.
const THREAD: &str = "(thread)";

fn leaves(answer: &Value) -> Option<(Vec<Blamed>, usize)> {
    let mut rows = Vec::new();
    for node in answer["graph"]["nodes"].as_array()? {
        let parent = node["parent"].as_u64().map(|parent| parent as usize);
        let is_call = parent.is_some() && node["component"] != THREAD;
        let row = GraphRow {
            parent,
            place: if is_call { Some(place(node)?) } else { None },
            cause: node["cause"].as_bool()?,
            delta: node["delta"].as_f64()?,
        };
        rows.push(row);
    }
    Some(of_rows(&rows))
}

struct GraphRow {
    parent: Option<usize>,
    /// None for the root and for threads.
    place: Option<FramePlace>,
    cause: bool,
    delta: f64,
}

fn of_rows(rows: &[GraphRow]) -> (Vec<Blamed>, usize) {
    let mut paths: Vec<Vec<FramePlace>> = Vec::with_capacity(rows.len());
    let mut blamed = Vec::new();
    for row in rows {
        let above = row.parent.and_then(|parent| paths.get(parent));
        let mut path = above.cloned().unwrap_or_default();
        path.extend(row.place.clone());
        if let (true, Some(place)) = (row.cause, &row.place) {
            blamed.push(Blamed {
                place: place.clone(),
                path: path.clone(),
                delta: row.delta,
                kind: String::new(),
            });
        }
        paths.push(path);
    }
    // The sort is stable: of equals the first in the graph comes first.
    blamed.sort_by(|a: &Blamed, b| b.delta.total_cmp(&a.delta));
    (blamed, rows.iter().filter(|row| row.place.is_some()).count())
}

/// The answer that a critical graph is.
pub fn of_graph(graph: &CriticalGraph, symbols: &Symbols) -> Answer {
    let rows: Vec<GraphRow> = (graph.nodes.iter())
        .map(|node| GraphRow {
            parent: node.parent,
            place: match &node.call {
                Call::Root | Call::Thread(_) => None,
                Call::Function(function) => {
                    let view = FunctionView::of(symbols, *function);
                    Some(FramePlace {
                        name: view.name,
                        script: view.component.as_deref().map(path_of).unwrap_or_default(),
                        at: (view.line.zip(view.column))
                            .map(|(line, column)| Position { line, column }),
                    })
                }
            },
            cause: node.cause,
            delta: node.after - node.before.unwrap_or(0.0),
        })
        .collect();
    let (blamed, nodes) = of_rows(&rows);
    Answer { regressed: !blamed.is_empty(), blamed, nodes }
}

/// Functions by the difference of their mean self time, as flat profiles have it: a function is its name and script,
/// and those without a name are one.
pub fn self_difference(before: &[Timeline], after: &[Timeline]) -> Answer {
    type Key = (String, String);
    let mut grown: BTreeMap<Key, (f64, f64, Vec<FramePlace>)> = BTreeMap::new();
    let mut whole = 0.0;
    for timeline in before {
        for node in timeline.nodes.iter().filter(|node| !node.place.is_marker()) {
            let mean = node.own / before.len() as f64;
            let key = (node.place.name.clone(), node.place.script.clone());
            grown.entry(key).or_default().0 -= mean;
            whole += mean;
        }
    }
    for timeline in after {
        for (row, node) in timeline.nodes.iter().enumerate() {
            if node.place.is_marker() {
                continue;
            }
            let key = (node.place.name.clone(), node.place.script.clone());
            let entry = grown.entry(key).or_default();
            entry.0 += node.own / after.len() as f64;
            if node.own > entry.1 || entry.2.is_empty() {
                entry.1 = node.own;
                entry.2 = timeline.path(row);
            }
        }
    }
    let mut blamed: Vec<Blamed> = (grown.into_values())
        .filter(|(delta, _, path)| *delta >= LEAST_SHARE * whole && !path.is_empty())
        .filter_map(|(delta, _, path)| {
            let place = path.last()?.clone();
            // A flat profile does not say which of those without a name it is.
            let at = place.at.filter(|_| !place.name.is_empty());
            let name = if place.name.is_empty() { "(anonymous)".to_owned() } else { place.name };
            let place = FramePlace { at, name, script: place.script };
            Some(Blamed { place, path, delta: delta * 1e6, kind: String::new() })
        })
        .collect();
    blamed.sort_by(|a, b| b.delta.total_cmp(&a.delta));
    Answer { regressed: !blamed.is_empty(), nodes: blamed.len(), blamed }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn leaves_of_graphs_have_paths() {
        let node = |parent: Option<u64>, name: &str, delta: u64, cause: bool| {
            json!({ "parent": parent, "function": name, "component": "http://127.0.0.1:1/a.js", "line": 1,
                "column": 2, "delta": delta, "cause": cause })
        };
        let nodes = json!([
            node(None, "(root)", 9, false),
            node(Some(0), "f", 8, false),
            node(Some(1), "g", 2, true),
            node(Some(1), "h", 6, true),
        ]);
        let (blamed, nodes) = leaves(&json!({ "graph": { "nodes": nodes } })).unwrap();
        let names =
            |path: &[FramePlace]| path.iter().map(|place| place.name.clone()).collect::<Vec<_>>();
        assert_eq!(nodes, 3);
        assert_eq!(names(&blamed[0].path), ["f", "h"]);
        assert_eq!(names(&blamed[1].path), ["f", "g"]);
        assert_eq!(blamed[0].place.script, "/a.js");
        assert_eq!(blamed[0].place.at, Some(Position { line: 1, column: 2 }));
    }
}
