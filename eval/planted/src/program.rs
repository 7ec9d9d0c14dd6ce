//! A program as the generator knows it: functions, and contexts with the cost that a typical run has there.
//!
//! Unlike a profile it can be changed: that is what planting is. Before and after share rows, so a context or function
//! of one side is the same row on the other, whatever it is called and wherever it hangs there.

use hashbrown::HashMap;
use perfblame_analysis::{FunctionView, Loaded};
use perfblame_cct::{Layer, MetricId, NodeId, RunSet, TRUNCATED};

/// A function as files name it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Function {
    /// Empty for an anonymous one.
    pub name: String,
    pub component: Option<String>,
    pub signature: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub layer: Layer,
}

impl Function {
    /// How an answer would name it.
    pub fn key(&self) -> Key {
        Key {
            name: if self.name.is_empty() { "(anonymous)".to_owned() } else { self.name.clone() },
            component: self.component.clone(),
            line: self.line,
        }
    }

    /// Code that somebody could have changed: neither the machine's, the runtime's nor the kernel's. A name in brackets
    /// stands for many functions, or none.
    pub fn is_code(&self) -> bool {
        let stands_for_others = self.name.starts_with('[')
            || self.name.starts_with("(idle")
            || self.name.starts_with("(program")
            || self.name.starts_with("(garbage");
        !stands_for_others
            && matches!(self.layer, Layer::Application | Layer::Library | Layer::Plugin)
    }

    /// Nothing of the program runs here.
    pub fn is_pseudo(&self) -> bool {
        matches!(self.layer, Layer::Idle | Layer::GarbageCollection)
    }
}

/// What an answer says of a function.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key {
    pub name: String,
    pub component: Option<String>,
    pub line: Option<u32>,
}

impl Key {
    /// What an answer has.
    pub fn of(view: &FunctionView) -> Self {
        Self { name: view.name.clone(), component: view.component.clone(), line: view.line }
    }

    /// True when an answer that says `named` means this function. One without a name is known by its place alone:
    /// answers may call it by whatever holds it.
    pub fn is_meant_by(&self, named: &Self) -> bool {
        if self.component != named.component {
            return false;
        }
        if self.is_anonymous() && self.line.is_some() {
            return self.line == named.line;
        }
        self.name == named.name
    }

    pub fn is_anonymous(&self) -> bool {
        self.name == "(anonymous)"
    }
}

/// A context.
#[derive(Clone, Debug)]
pub struct Node {
    pub parent: Option<usize>,
    pub function: usize,
    /// Its own cost in a typical run, in whatever unit.
    pub weight: f64,
    /// Where it usually stands among its siblings: the least is seen first.
    pub place: f64,
}

/// Functions and contexts.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub functions: Vec<Function>,
    pub nodes: Vec<Node>,
}

impl Program {
    /// What is loaded, without stacks whose beginning is missing and contexts that cost nothing.
    pub fn of(loaded: &Loaded) -> Self {
        Self::with_nodes(&loaded.runs).0
    }

    /// The same, and the node of each context.
    pub fn with_nodes(set: &RunSet) -> (Self, Vec<NodeId>) {
        let Some(metric) = first_metric(set) else { return Default::default() };
        let mut weights = vec![0i64; set.tree.len()];
        for run in &set.runs {
            for (node, _, value) in run.cells.of(metric) {
                weights[node.index()] = weights[node.index()].saturating_add(value);
            }
        }
        let inclusive = set.tree.inclusive(&weights);
        let symbols = &set.symbols;
        let mut program = Self::default();
        let mut nodes = Vec::new();
        let mut known = HashMap::new();
        let mut rows: Vec<Option<usize>> = vec![None; set.tree.len()];
        for node in set.tree.nodes() {
            let id = symbols.frame(set.tree.frame(node)).function;
            let parent = set.tree.parent(node);
            let cut_off = match parent {
                None => symbols.name(id) == TRUNCATED,
                Some(parent) => rows[parent.index()].is_none(),
            };
            if cut_off || inclusive[node.index()] <= 0 {
                continue;
            }
            let row = symbols.function(id);
            let text = |id| symbols.text(id).to_owned();
            let function = *known.entry(id).or_insert_with(|| {
                program.functions.push(Function {
                    name: text(row.name),
                    component: row.component.map(text),
                    signature: row.signature.map(text),
                    file: row.file.map(text),
                    line: row.line.map(std::num::NonZeroU32::get),
                    column: row.column.map(std::num::NonZeroU32::get),
                    layer: row.layer,
                });
                program.functions.len() - 1
            });
            rows[node.index()] = Some(program.nodes.len());
            nodes.push(node);
            program.nodes.push(Node {
                parent: parent.and_then(|parent| rows[parent.index()]),
                function,
                weight: weights[node.index()].max(0) as f64,
                place: node.index() as f64,
            });
        }
        (program, nodes)
    }

    /// The function of a context.
    pub fn function_of(&self, node: usize) -> &Function {
        &self.functions[self.nodes[node].function]
    }

    /// Callees of each context, in order, and the roots at the end.
    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.nodes.len() + 1];
        for (row, node) in self.nodes.iter().enumerate() {
            children[node.parent.unwrap_or(self.nodes.len())].push(row);
        }
        children
    }

    /// All contexts, callers first.
    pub fn preorder(&self) -> Vec<usize> {
        let children = self.children();
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut todo: Vec<usize> = children[self.nodes.len()].iter().rev().copied().collect();
        while let Some(node) = todo.pop() {
            order.push(node);
            todo.extend(children[node].iter().rev());
        }
        order
    }

    /// A context and everything below it.
    pub fn subtree(&self, top: usize) -> Vec<usize> {
        subtree(&self.children(), top)
    }

    /// From the root to a context.
    pub fn path(&self, node: usize) -> Vec<usize> {
        let mut path: Vec<usize> =
            std::iter::successors(Some(node), |node| self.nodes[*node].parent).collect();
        path.reverse();
        path
    }

    /// The path as an answer would name it.
    pub fn path_keys(&self, node: usize) -> Vec<Key> {
        self.path(node).into_iter().map(|node| self.function_of(node).key()).collect()
    }

    /// Contexts of a function.
    pub fn contexts(&self, function: usize) -> Vec<usize> {
        (0..self.nodes.len()).filter(|node| self.nodes[*node].function == function).collect()
    }

    /// Cost of each context with everything below it.
    pub fn inclusive(&self) -> Vec<f64> {
        let mut total: Vec<f64> = self.nodes.iter().map(|node| node.weight).collect();
        for node in self.preorder().into_iter().rev() {
            if let Some(parent) = self.nodes[node].parent {
                total[parent] += total[node];
            }
        }
        total
    }

    /// Cost of all that runs: without idle time and garbage collection.
    pub fn total(&self) -> f64 {
        (0..self.nodes.len())
            .filter(|node| !self.function_of(*node).is_pseudo())
            .map(|node| self.nodes[node].weight)
            .sum()
    }

    /// Contexts in which code can be planted: code all the way down to them, at least no pseudo-frame above.
    pub fn plantable(&self) -> Vec<usize> {
        let mut good = vec![false; self.nodes.len()];
        for node in self.preorder() {
            let above = self.nodes[node].parent.is_none_or(|parent| good[parent]);
            good[node] = above && !self.function_of(node).is_pseudo();
        }
        (0..self.nodes.len())
            .filter(|node| good[*node] && self.function_of(*node).is_code())
            .collect()
    }
}

/// Nothing that anybody could have changed: idle time, garbage collection, and what V8 knows nothing of. A person who
/// sorts functions skips these.
pub fn is_pseudo_frame(name: &str, layer: Layer) -> bool {
    matches!(layer, Layer::Idle | Layer::GarbageCollection) || name == "(program)"
}

/// The metric that a comparison takes when nobody names one: the first that has values.
pub fn first_metric(set: &RunSet) -> Option<MetricId> {
    (0..set.metrics.len())
        .map(MetricId::new)
        .find(|metric| set.runs.iter().any(|run| run.cells.total(*metric) != 0))
}

/// A context and everything below it, where callees are known already.
pub fn subtree(children: &[Vec<usize>], top: usize) -> Vec<usize> {
    let mut found = vec![top];
    let mut next = 0;
    while let Some(node) = found.get(next) {
        found.extend(&children[*node]);
        next += 1;
    }
    found
}
