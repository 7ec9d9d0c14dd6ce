//! Reads time lines for the truth: which functions ran, below which, for how long.
//!
//! Written anew rather than taken from perfblame's readers, so that a mistake there cannot hide behind itself.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::script::Position;

/// What a frame of a time line names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct FramePlace {
    /// Empty for functions without a name.
    pub name: String,
    /// The path of the script's address; empty for what the engine brings along.
    pub script: String,
    pub at: Option<Position>,
}

impl FramePlace {
    /// Both name the same function of the same text.
    pub fn is(&self, other: &Self) -> bool {
        self.script == other.script
            && match (self.at, other.at) {
                (Some(one), Some(other)) => one == other,
                _ => self.name == other.name,
            }
    }

    /// Blank and one-letter names, which ZAM leaves out.
    pub fn is_nameless(&self) -> bool {
        self.name.chars().count() < 2 || self.name == "(anonymous)"
    }

    /// Idle time, garbage collection and the engine's own.
    pub fn is_marker(&self) -> bool {
        self.script.is_empty() && self.name.starts_with('(')
    }
}

/// The path of an address: `/lib/a.js` of `http://127.0.0.1:80/lib/a.js?x`.
pub fn path_of(address: &str) -> String {
    let behind = address.split_once("://").map_or(address, |(_, rest)| rest);
    let path = behind.find('/').map_or("", |at| &behind[at..]);
    path.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// The calls of a page, as a tree.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Callers first.
    pub nodes: Vec<Node>,
}

/// A call of a time line.
#[derive(Clone, Debug)]
pub struct Node {
    pub place: FramePlace,
    pub parent: Option<usize>,
    /// Milliseconds in the function itself.
    pub own: f64,
}

#[derive(Deserialize)]
struct Wire<'t> {
    #[serde(borrow, rename = "traceEvents")]
    events: Vec<WireEvent<'t>>,
}

#[derive(Deserialize)]
struct WireEvent<'t> {
    #[serde(default)]
    name: String,
    #[serde(default)]
    pid: i64,
    // A text or a number.
    #[serde(borrow)]
    id: Option<&'t RawValue>,
    #[serde(borrow)]
    args: Option<&'t RawValue>,
}

#[derive(Deserialize)]
struct WireArgs {
    data: WireData,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct WireData {
    start_time: f64,
    cpu_profile: WireProfile,
    time_deltas: Vec<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireProfile {
    nodes: Vec<WireNode>,
    samples: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireNode {
    id: u64,
    parent: Option<u64>,
    call_frame: WireFrame,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct WireFrame {
    function_name: String,
    url: String,
    line_number: Option<u32>,
    column_number: Option<u32>,
}

#[derive(Default)]
struct Recorded {
    nodes: Vec<WireNode>,
    samples: Vec<u64>,
    deltas: Vec<f64>,
    start: f64,
}

impl Timeline {
    /// Reads the page's own calls from a file. `host` is what addresses of the page begin with.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        let mut text = Vec::new();
        if bytes.starts_with(&[0x1f, 0x8b]) {
            flate2::read::MultiGzDecoder::new(&*bytes).read_to_end(&mut text)?;
        } else {
            text = bytes;
        }
        let wire: Wire<'_> =
            serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
        let mut recorded: BTreeMap<(i64, String), Recorded> = BTreeMap::new();
        for event in wire.events {
            if !matches!(&*event.name, "Profile" | "ProfileChunk") {
                continue;
            }
            let (Some(id), Some(args)) = (event.id, event.args) else { continue };
            let args: WireArgs = serde_json::from_str(args.get())?;
            let entry = recorded.entry((event.pid, id.get().to_owned())).or_default();
            if event.name == "Profile" {
                entry.start = args.data.start_time;
            }
            entry.nodes.extend(args.data.cpu_profile.nodes);
            entry.samples.extend(args.data.cpu_profile.samples);
            entry.deltas.extend(args.data.time_deltas);
        }
        let is_page = |recorded: &Recorded| {
            (recorded.nodes.iter()).any(|node| node.call_frame.url.starts_with("http://127.0.0.1:"))
        };
        let mut timeline = Self::default();
        for recorded in recorded.values().filter(|recorded| is_page(recorded)) {
            timeline.add(recorded);
        }
        Ok(timeline)
    }

    fn add(&mut self, recorded: &Recorded) {
        let mut rows: BTreeMap<u64, usize> = BTreeMap::new();
        for node in &recorded.nodes {
            let frame = &node.call_frame;
            let at = match (frame.line_number, frame.column_number) {
                (Some(line), Some(column)) => Some(Position {
                    line: line.saturating_add(1),
                    column: column.saturating_add(1),
                }),
                _ => None,
            };
            let place =
                FramePlace { name: frame.function_name.clone(), script: path_of(&frame.url), at };
            rows.insert(node.id, self.nodes.len());
            let parent = node.parent.and_then(|parent| rows.get(&parent)).copied();
            self.nodes.push(Node { place, parent, own: 0.0 });
        }
        let mut at = recorded.start;
        let mut samples: Vec<(f64, u64)> = Vec::with_capacity(recorded.samples.len());
        for (sample, delta) in recorded.samples.iter().zip(&recorded.deltas) {
            at += delta;
            samples.push((at, *sample));
        }
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        for pair in samples.windows(2) {
            if let Some(row) = rows.get(&pair[0].1) {
                self.nodes[*row].own += (pair[1].0 - pair[0].0) / 1000.0;
            }
        }
    }

    /// Milliseconds in each call with all below it.
    pub fn inclusive(&self) -> Vec<f64> {
        let mut total: Vec<f64> = self.nodes.iter().map(|node| node.own).collect();
        for row in (0..total.len()).rev() {
            if let Some(parent) = self.nodes[row].parent {
                total[parent] += total[row];
            }
        }
        total
    }

    /// The calls from the outermost function down to a call, without the root.
    pub fn path(&self, row: usize) -> Vec<FramePlace> {
        let mut path = Vec::new();
        let mut at = Some(row);
        while let Some(row) = at {
            if self.nodes[row].parent.is_some() {
                path.push(self.nodes[row].place.clone());
            }
            at = self.nodes[row].parent;
        }
        path.reverse();
        path
    }

    /// Milliseconds in a function with all below it, each stack counted once.
    pub fn total_of(&self, place: &FramePlace) -> f64 {
        let total = self.inclusive();
        let mut inside = vec![false; self.nodes.len()];
        let mut sum = 0.0;
        for (row, node) in self.nodes.iter().enumerate() {
            let above = node.parent.is_some_and(|parent| inside[parent]);
            let is = node.place.is(place);
            inside[row] = above || is;
            if is && !above {
                sum += total[row];
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_paths() {
        assert_eq!(path_of("http://127.0.0.1:8080/lib/a.js?x=1"), "/lib/a.js");
        assert_eq!(path_of("a.js"), "");
        assert_eq!(path_of(""), "");
    }

    #[test]
    fn time_goes_to_the_earlier_sample() {
        let frame = |name: &str| WireFrame {
            function_name: name.to_owned(),
            url: "http://127.0.0.1:1/a.js".to_owned(),
            line_number: Some(0),
            column_number: Some(name.len() as u32),
        };
        let node = |id, parent, name| WireNode { id, parent, call_frame: frame(name) };
        let mut timeline = Timeline::default();
        timeline.add(&Recorded {
            nodes: vec![node(1, None, "(root)"), node(2, Some(1), "f"), node(3, Some(2), "gg")],
            samples: vec![2, 3, 2],
            // The second sample is late: it was taken before the first.
            deltas: vec![4000.0, -1000.0, 3000.0],
            start: 0.0,
        });
        assert_eq!(timeline.inclusive(), [3.0, 3.0, 1.0]);
        let place = timeline.nodes[2].place.clone();
        assert!((timeline.total_of(&place) - 1.0).abs() < 1e-9);
        let names: Vec<String> = timeline.path(2).into_iter().map(|place| place.name).collect();
        assert_eq!(names, ["f", "gg"]);
    }
}
