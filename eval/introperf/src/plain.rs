//! The paper as it stands, to compare with: algorithms 1 to 3 in the conservative mode, every event alike, every frame
//! alike. No real waiting, no end of system calls, no idle threads, no interrupts told apart.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::rank::{Ranked, RankedFunction};
use crate::script::{Frame, KernelStack};

/// A calling context tree with conservative latencies.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    index: HashMap<(Option<usize>, Frame), usize>,
}

#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    frame: Frame,
    latency: u64,
    has_children: bool,
}

/// What table 2 says of a program.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Sizes {
    /// |I|: objects that are loaded and on a stack.
    pub objects: usize,
    /// |P|: distinct paths.
    pub paths: usize,
    /// |F|: functions.
    pub functions: usize,
    /// l: how long paths are on average.
    pub length: f64,
}

/// An inferred call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    pub thread: u32,
    /// Its context in the tree.
    pub node: usize,
    /// The first event with it.
    pub start: u64,
    /// From there to the last event with it.
    pub conservative: u64,
    /// From there to the first event without it.
    pub aggressive: u64,
}

/// Algorithm 2 over all threads.
pub fn infer(events: &[KernelStack]) -> Tree {
    infer_calls(events, |_| ())
}

/// Algorithm 2 over all threads, with every call as it is closed.
pub fn infer_calls(events: &[KernelStack], mut each: impl FnMut(Call)) -> Tree {
    let mut tree = Tree::default();
    let mut last = 0;
    let mut threads: BTreeMap<u32, Vec<Open>> = BTreeMap::new();
    for event in events {
        last = event.time;
        let open = threads.entry(event.thread).or_default();
        let mut close = |tree: &mut Tree, open: &mut Vec<Open>, depth: usize| {
            tree.close(open, depth, event.thread, event.time, &mut each);
        };
        let mut parent = None;
        let mut new = false;
        for (depth, frame) in event.stack.iter().enumerate() {
            let node = tree.child(parent, frame);
            new = new || open.get(depth).is_none_or(|last| last.node != node);
            if new {
                close(&mut tree, open, depth);
                open.push(Open { node, start: event.time, end: event.time });
            } else {
                open[depth].end = event.time;
            }
            parent = Some(node);
        }
        close(&mut tree, open, event.stack.len());
    }
    for (thread, open) in &mut threads {
        tree.close(open, 0, *thread, last, &mut each);
    }
    tree
}

/// A function whose context has not changed yet; `Register` in the paper.
#[derive(Clone, Copy, Debug)]
struct Open {
    node: usize,
    start: u64,
    end: u64,
}

impl Tree {
    fn child(&mut self, parent: Option<usize>, frame: &Frame) -> usize {
        // Where a function has a name, the place within it is no part of the context.
        let address = if frame.symbol.is_some() { 0 } else { frame.address };
        let frame = Frame { address, ..frame.clone() };
        if let Some(node) = self.index.get(&(parent, frame.clone())) {
            return *node;
        }
        let node = self.nodes.len();
        self.nodes.push(Node { parent, frame: frame.clone(), latency: 0, has_children: false });
        if let Some(parent) = parent {
            self.nodes[parent].has_children = true;
        }
        self.index.insert((parent, frame), node);
        node
    }

    fn close(
        &mut self,
        open: &mut Vec<Open>,
        depth: usize,
        thread: u32,
        time: u64,
        each: &mut impl FnMut(Call),
    ) {
        for Open { node, start, end } in open.drain(depth.min(open.len())..) {
            let conservative = end - start;
            self.nodes[node].latency += conservative;
            each(Call { thread, node, start, conservative, aggressive: time - start });
        }
    }

    /// How many contexts there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// No stack, no context.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The caller of a context, which has a smaller number, and its function.
    pub fn context(&self, node: usize) -> (Option<usize>, &Frame) {
        (self.nodes[node].parent, &self.nodes[node].frame)
    }

    /// Latencies without those of callees.
    fn own(&self) -> Vec<f64> {
        let mut own: Vec<f64> = self.nodes.iter().map(|node| node.latency as f64).collect();
        for node in &self.nodes {
            if let Some(parent) = node.parent {
                own[parent] -= node.latency as f64;
            }
        }
        own
    }

    fn path(&self, leaf: usize) -> Vec<usize> {
        let mut path = vec![leaf];
        while let Some(parent) = self.nodes[path[path.len() - 1]].parent {
            path.push(parent);
        }
        path.reverse();
        path
    }

    /// What table 2 says.
    pub fn sizes(&self) -> Sizes {
        let leaves: Vec<usize> =
            (0..self.nodes.len()).filter(|node| !self.nodes[*node].has_children).collect();
        let lengths: usize = leaves.iter().map(|leaf| self.path(*leaf).len()).sum();
        let distinct = |of: &dyn Fn(&Frame) -> String| {
            self.nodes.iter().map(|node| of(&node.frame)).collect::<BTreeSet<_>>().len()
        };
        Sizes {
            objects: distinct(&|frame| frame.object.clone()),
            paths: leaves.len(),
            functions: distinct(&Frame::name),
            length: lengths as f64 / leaves.len().max(1) as f64,
        }
    }
}

/// Algorithm 3: the paths of the buggy run by what they cost more.
pub fn rank(base: &Tree, buggy: &Tree) -> Vec<Ranked> {
    let (own_base, own_buggy) = (base.own(), buggy.own());
    // The same context before, for each context after. Parents come first.
    let mut before: Vec<Option<usize>> = Vec::with_capacity(buggy.nodes.len());
    for node in &buggy.nodes {
        let parent = match node.parent {
            None => Some(None),
            Some(parent) => before[parent].map(Some),
        };
        let same = parent.and_then(|parent| base.index.get(&(parent, node.frame.clone())).copied());
        before.push(same);
    }
    let mut ranked = Vec::new();
    for leaf in (0..buggy.nodes.len()).filter(|node| !buggy.nodes[*node].has_children) {
        let path = buggy.path(leaf);
        let equal = before[leaf].is_some_and(|leaf| !base.nodes[leaf].has_children);
        let cost_of = |node: &usize| {
            let less = before[*node].filter(|_| equal).map_or(0.0, |node| own_base[node]);
            own_buggy[*node] - less
        };
        let cost = path.iter().map(cost_of).sum();
        let function = |node: &usize| RankedFunction {
            function: match &buggy.nodes[*node].frame.symbol {
                Some(symbol) => symbol.clone(),
                None => buggy.nodes[*node].frame.name(),
            },
            component: buggy.nodes[*node].frame.object.clone(),
            latency: own_buggy[*node],
        };
        ranked.push(Ranked { cost, functions: path.iter().map(function).collect() });
    }
    ranked.sort_by(|one, other| other.cost.total_cmp(&one.cost));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each column is an event of one thread at its number times ten, outermost on top.
    fn events(columns: &[&str]) -> Vec<KernelStack> {
        let frame = |name: &str| Frame {
            symbol: Some(name.to_owned()),
            object: "a.out".to_owned(),
            address: 0,
        };
        let event = |(number, column): (u64, &&str)| KernelStack {
            thread: 1,
            time: number * 10,
            kind: "raw_syscalls:sys_enter".to_owned(),
            stack: column.split(' ').map(frame).collect(),
        };
        (1..).zip(columns).map(event).collect()
    }

    /// The example of figure 3 and table 1.
    #[test]
    fn the_papers_example() {
        let tree = infer(&events(&["A B D", "A B D", "A C D", "A C"]));
        let shown: Vec<String> = (tree.nodes.iter())
            .map(|node| format!("{} {}", node.frame.name(), node.latency))
            .collect();
        let expected = "A (a.out) 30, B (a.out) 10, D (a.out) 10, C (a.out) 10, D (a.out) 0";
        assert_eq!(shown.join(", "), expected);
    }

    #[test]
    fn calls_have_both_modes() {
        let mut calls = Vec::new();
        infer_calls(&events(&["A B D", "A B D", "A C D", "A C"]), |call| calls.push(call));
        let shown = |call: &Call| (call.node, call.start, call.conservative, call.aggressive);
        let shown: Vec<_> = calls.iter().map(shown).collect();
        assert_eq!(
            shown,
            [(1, 10, 10, 20), (2, 10, 10, 20), (4, 30, 0, 10), (0, 10, 30, 30), (3, 30, 10, 10)]
        );
    }

    #[test]
    fn what_became_slower_comes_first() {
        let base = infer(&events(&["A B", "A B", "A B", "A B", "A C", "A C"]));
        let buggy = infer(&events(&["A B", "A B", "A B", "A C", "A C", "A C", "A C"]));
        let first = &rank(&base, &buggy)[0];
        assert_eq!(first.functions[1].function, "C");
        assert!((first.cost - 20.0).abs() < 1e-9, "{}", first.cost);
        assert_eq!(buggy.sizes(), Sizes { objects: 1, paths: 2, functions: 3, length: 2.0 });
    }
}
