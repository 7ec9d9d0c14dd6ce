//! One profile: what a reader makes of a file.

use crate::{
    Cct, Cells, FunctionId, Metric, MetricId, NodeId, Symbols, Thread, ThreadId, Timeline,
};

/// Something that was wrong or surprising, and did not stop us.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Warning {
    /// A stable word for programs, such as `damaged-records`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// How often it happened.
    pub count: u64,
}

/// What a file says about itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Info {
    /// The format it was read from, such as `pprof`.
    pub format: String,
    /// The program that wrote it, with version where the file says so.
    pub producer: Option<String>,
    /// The profiled command or page.
    pub command: Option<String>,
    /// How long the recording lasted, in nanoseconds.
    pub duration: Option<i64>,
    /// When it started, in nanoseconds since 1970.
    pub started: Option<i64>,
    /// Whatever else it is labelled with, sorted by key.
    pub labels: Vec<(String, String)>,
}

/// Interned symbols, threads, metrics, a calling context tree and its self values.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Strings, functions, frames.
    pub symbols: Symbols,
    /// Threads, by [`ThreadId`].
    pub threads: Vec<Thread>,
    /// Metrics, by [`MetricId`]; the first is the one to show unless told otherwise.
    pub metrics: Vec<Metric>,
    /// The contexts.
    pub tree: Cct,
    /// Self values of the contexts.
    pub cells: Cells,
    /// How many samples were taken; 0 for a profile that only has exact values.
    pub samples: u64,
    /// Samples and calls by time, when they were asked for and the file has them.
    pub timeline: Option<Timeline>,
    /// What the file says about itself.
    pub info: Info,
    /// What went wrong on the way.
    pub warnings: Vec<Warning>,
}

/// Name of the root under which stacks are kept whose outermost frames were cut off.
pub const TRUNCATED: &str = "(truncated)";

impl Profile {
    /// The function of a node.
    pub fn function_of(&self, node: NodeId) -> FunctionId {
        self.symbols.frame(self.tree.frame(node)).function
    }

    /// The function of every node, by row, as the function's row: for walks that group by function.
    pub fn functions_of_rows(&self) -> Vec<u32> {
        self.tree.nodes().map(|node| self.function_of(node).index() as u32).collect()
    }

    /// The functions of this name, in whatever component; several where the name is overloaded.
    pub fn functions_named(&self, name: &str) -> Vec<FunctionId> {
        let Some(name) = self.symbols.strings.find(name) else { return Vec::new() };
        let functions = self.symbols.functions();
        functions.filter(|(_, function)| function.name == name).map(|(id, _)| id).collect()
    }

    /// The name of a node's function.
    pub fn name_of(&self, node: NodeId) -> &str {
        self.symbols.name(self.function_of(node))
    }

    /// All metrics with their ids.
    pub fn metrics(&self) -> impl ExactSizeIterator<Item = (MetricId, &Metric)> {
        self.metrics.iter().enumerate().map(|(row, metric)| (MetricId::new(row), metric))
    }

    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<MetricId> {
        self.metrics.iter().position(|metric| metric.name == name).map(MetricId::new)
    }

    /// All threads with their ids.
    pub fn threads(&self) -> impl ExactSizeIterator<Item = (ThreadId, &Thread)> {
        self.threads.iter().enumerate().map(|(row, thread)| (ThreadId::new(row), thread))
    }

    /// Memory behind symbols, tree and values, in bytes: what grows with the program and not with the recording.
    pub fn heap_bytes(&self) -> usize {
        self.symbols.heap_bytes() + self.tree.heap_bytes() + self.cells.heap_bytes()
    }

    /// Self value of every node, by row.
    pub fn self_values(&self, metric: MetricId) -> Vec<i64> {
        self.cells.dense(metric, self.tree.len())
    }

    /// Inclusive value of every node, by row.
    pub fn inclusive_values(&self, metric: MetricId) -> Vec<i64> {
        self.tree.inclusive(&self.self_values(metric))
    }
}
