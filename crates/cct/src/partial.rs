//! Partial stacks: samples whose outermost frames were cut off find their place in the tree by *maximal common merging*
//! (`[insitu]`, section 3.2.3, listing 3.2).
//!
//! | listing 3.2 | here |
//! |---|---|
//! | CCT | all roots but `(truncated)` |
//! | PSS | a path below the `(truncated)` root that ends in a node with values |
//! | candidates | nodes of the CCT that the frames read so far can stand for |
//!
//! The listing takes one stack at a time and starts with "all nodes with the same method". Here the partial stacks are
//! a tree already, so stacks with a common beginning share the search; and an index from function to nodes, kept up to
//! date as the tree grows, answers where to start, so that the tree is never scanned.
//!
//! What is merged makes the tree grow, which can make room for stacks that had no place (outcome 1). So rounds follow
//! each other until one merges nothing. Within a round the tree stays as it is: the result does not depend on the
//! order of stacks. A stack is tried again only when a node was added of the function at which its search had ended.

use hashbrown::{HashMap, HashSet};

use crate::rebuild::rebuild;
use crate::{FunctionId, Grain, NodeId, OpenNode, OpenTree, Profile, TRUNCATED, Warning};

/// What became of the partial stacks of a profile.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PartialReport {
    /// Found their one place in the tree.
    pub merged: PartialStacks,
    /// Fit nowhere yet; they may when the tree grows.
    pub waiting: PartialStacks,
    /// Fit several places, or match too few frames to be sure; they never find their place, as a tree only grows.
    pub ambiguous: PartialStacks,
}

/// Partial stacks with the same outcome.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PartialStacks {
    /// How many different stacks.
    pub stacks: usize,
    /// Their self values, by metric.
    pub values: Vec<i64>,
}

/// How many frames must match, unless told otherwise: one frame is often unique by chance, two hardly.
pub const MATCH_THRESHOLD: usize = 1;

/// Warning code of stacks that fit nowhere yet.
const WAITING: &str = "partial-stacks-waiting";

/// Warning code of stacks that fit several places.
const AMBIGUOUS: &str = "partial-stacks-ambiguous";

/// Merges partial stacks into the tree where they have exactly one place. `match_threshold` is how many frames must
/// match before a place is believed; the listing's example has 0. What finds no place stays below the root named
/// [`TRUNCATED`], is reported and warned about, and is tried again by the next call.
pub fn merge_partial_stacks(profile: &Profile, match_threshold: usize) -> (Profile, PartialReport) {
    let is_truncated =
        |root: &NodeId| profile.tree.parent(*root).is_none() && profile.name_of(*root) == TRUNCATED;
    let truncated: Vec<NodeId> = profile.tree.roots().filter(is_truncated).collect();
    if truncated.is_empty() {
        return (profile.clone(), PartialReport::default());
    }
    let mut search = Search::new(profile, &truncated, match_threshold);
    search.run();
    search.finish(&truncated)
}

/// How a search for the place of a partial stack ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    /// Not tried yet, or tried again.
    Open,
    /// No candidate left.
    Waiting,
    /// Candidates left, but no frames.
    Ambiguous,
}

struct Search<'a> {
    profile: &'a Profile,
    match_threshold: usize,
    /// The complete contexts, growing.
    tree: OpenTree,
    /// Place of each node of the profile in `tree`; none for partial stacks without one.
    image: Vec<Option<OpenNode>>,
    outcome: Vec<Outcome>,
    /// Nodes of `tree` by function.
    nodes_of: Vec<Vec<OpenNode>>,
    /// First frames of the partial stacks that are to be tried, and those that wait, by the function that was missing.
    todo: Vec<NodeId>,
    waiting: HashMap<FunctionId, Vec<NodeId>>,
}

impl<'a> Search<'a> {
    fn new(profile: &'a Profile, truncated: &[NodeId], match_threshold: usize) -> Self {
        let tree = &profile.tree;
        let mut search = Self {
            profile,
            match_threshold,
            tree: OpenTree::default(),
            image: vec![None; tree.len()],
            outcome: vec![Outcome::Open; tree.len()],
            nodes_of: vec![Vec::new(); profile.symbols.functions().len()],
            todo: truncated.iter().flat_map(|root| tree.children(*root)).collect(),
            waiting: HashMap::new(),
        };
        for root in tree.roots().filter(|root| !truncated.contains(root)) {
            for row in tree.subtree(root) {
                search.place(NodeId::new(row));
            }
        }
        search
    }

    /// Finds or adds a node below the image of its parent. Returns the function of a node that was added.
    fn place(&mut self, node: NodeId) -> Option<FunctionId> {
        let above = self.profile.tree.parent(node).and_then(|parent| self.image[parent.index()]);
        let before = self.tree.len();
        let place = self.tree.child(above, self.profile.tree.frame(node));
        self.image[node.index()] = Some(place);
        (self.tree.len() > before).then(|| {
            let function = self.profile.function_of(node);
            self.nodes_of[function.index()].push(place);
            function
        })
    }

    fn run(&mut self) {
        while !self.todo.is_empty() {
            let mut found: Vec<(NodeId, OpenNode)> = Vec::new();
            for start in std::mem::take(&mut self.todo) {
                self.try_stacks(start, &mut found);
            }
            let mut added: Vec<FunctionId> = Vec::new();
            for (node, place) in found {
                self.image[node.index()] = Some(place);
                let below = self.profile.tree.subtree(node).skip(1);
                added.extend(below.filter_map(|row| self.place(NodeId::new(row))));
            }
            added.sort_unstable();
            added.dedup();
            let again = added.iter().filter_map(|function| self.waiting.remove(function));
            self.todo = again.flatten().collect();
            self.todo.sort_unstable();
            self.todo.dedup();
        }
    }

    /// Listing 3.2 for all partial stacks that begin with the frame of `start`.
    fn try_stacks(&mut self, start: NodeId, found: &mut Vec<(NodeId, OpenNode)>) {
        let candidates = self.nodes_like(start);
        let mut missing: HashSet<FunctionId> = HashSet::new();
        let mut todo = vec![(start, candidates, 1usize)];
        while let Some((node, candidates, depth)) = todo.pop() {
            if self.image[node.index()].is_some() {
                continue;
            }
            match &*candidates {
                [] => {
                    for row in self.profile.tree.subtree(node) {
                        self.outcome[row] = Outcome::Waiting;
                    }
                    let function = self.profile.function_of(node);
                    if missing.insert(function) {
                        self.waiting.entry(function).or_default().push(start);
                    }
                }
                [place] if depth > self.match_threshold => found.push((node, *place)),
                _ => {
                    // Stacks that end here are ambiguous; longer ones go on.
                    self.outcome[node.index()] = Outcome::Ambiguous;
                    for child in self.profile.tree.children(node) {
                        let label = self.profile.tree.frame(child);
                        let below = candidates.iter();
                        let below = below.filter_map(|place| self.tree.find(Some(*place), label));
                        todo.push((child, below.collect(), depth + 1));
                    }
                }
            }
        }
    }

    /// The nodes that the first frame of a partial stack can stand for. From where it was called is what was cut off,
    /// so in a tree with call sites the function alone decides.
    fn nodes_like(&self, start: NodeId) -> Vec<OpenNode> {
        let alike = &self.nodes_of[self.profile.function_of(start).index()];
        let label = self.profile.tree.frame(start);
        match self.profile.tree.grain() {
            Grain::Functions | Grain::CallSites => alike.clone(),
            Grain::Frames => {
                let same = |node: &&OpenNode| self.tree.label(**node) == label;
                alike.iter().filter(same).copied().collect()
            }
        }
    }

    fn finish(self, truncated: &[NodeId]) -> (Profile, PartialReport) {
        let Self { profile, tree: mut kept, mut image, outcome, .. } = self;
        let mut partial = vec![false; profile.tree.len()];
        for root in truncated {
            partial[profile.tree.subtree(*root)].fill(true);
        }
        let none = || PartialStacks { stacks: 0, values: vec![0; profile.metrics.len()] };
        let mut report = PartialReport { merged: none(), waiting: none(), ambiguous: none() };
        let merged: Vec<bool> = image.iter().map(Option::is_some).collect();
        let mut last = None;
        for cell in profile.cells.rows().filter(|cell| partial[cell.node.index()]) {
            let row = cell.node.index();
            let stacks = match outcome[row] {
                _ if merged[row] => &mut report.merged,
                Outcome::Ambiguous => &mut report.ambiguous,
                Outcome::Waiting | Outcome::Open => &mut report.waiting,
            };
            for (sum, value) in stacks.values.iter_mut().zip(&cell.values) {
                *sum = sum.saturating_add(*value);
            }
            if last.replace(cell.node) != Some(cell.node) {
                stacks.stacks += 1;
            }
            // What has no place stays where it is, with the frames above it.
            if image[row].is_none() {
                let mut above: Option<OpenNode> = None;
                for node in profile.tree.path(cell.node) {
                    above = Some(kept.child(above, profile.tree.frame(node)));
                    image[node.index()] = above;
                }
            }
        }
        let symbols = profile.symbols.clone();
        let mut after = rebuild(profile, symbols, profile.tree.grain(), kept, &image);
        after.warnings.retain(|warning| warning.code != WAITING && warning.code != AMBIGUOUS);
        after.warnings.extend(report.warnings());
        (after, report)
    }
}

impl PartialReport {
    /// What users should know about stacks that found no place.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        let warning = |code: &str, message: &str, stacks: &PartialStacks| {
            (stacks.stacks > 0).then(|| Warning {
                code: code.to_owned(),
                message: format!("{message}; they are kept below {TRUNCATED}"),
                count: stacks.stacks as u64,
            })
        };
        let waiting = warning(
            WAITING,
            "stacks without their outermost frames do not fit into the tree",
            &self.waiting,
        );
        let ambiguous = warning(
            AMBIGUOUS,
            "stacks without their outermost frames fit into the tree in several places",
            &self.ambiguous,
        );
        waiting.into_iter().chain(ambiguous)
    }
}
