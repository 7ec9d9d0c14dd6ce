//! The examples of `[parcs]`, then the laws. Trees are drawn as outlines: a method, then its call site, then its weight.

mod laws;
mod paper;

use std::fmt::Write as _;
use std::num::NonZeroU32;

use super::*;
use expect_test::{Expect, expect};
use perfblame_cct::{CallSite, Cct, Frame, Function, Grain, Symbols};

struct Drawn {
    symbols: Symbols,
    tree: Cct,
    weights: Vec<i64>,
    labels: Vec<Label>,
}

impl Drawn {
    fn side(&self) -> LabelledTree<'_> {
        let Self { symbols, tree, weights, labels } = self;
        LabelledTree { tree: SideTree { symbols, tree, weights }, labels }
    }

    fn function(&self, name: &str) -> FunctionId {
        let mut functions = self.symbols.functions();
        functions.find(|(id, _)| self.symbols.name(*id) == name).unwrap().0
    }

    fn text(&self, node: NodeId) -> String {
        let frame = self.symbols.frame(self.tree.frame(node));
        let site = match frame.call_site {
            Some(CallSite::Line(line, _)) => line.to_string(),
            _ => String::new(),
        };
        format!("{}{site}", self.symbols.name(frame.function))
    }
}

/// `name site weight`, indented by depth; weights are 1 unless given, a site of `-` is unknown. `labels` are words such
/// as `+F`, `-G`, `*A` for added, deleted and modified.
fn tree(outline: &str, labels: &str) -> Drawn {
    let mut symbols = Symbols::default();
    let (mut parents, mut frames): (Vec<Option<NodeId>>, Vec<_>) = Default::default();
    let mut weights = Vec::new();
    let mut open: Vec<(usize, NodeId)> = Vec::new();
    for line in outline.lines().filter(|line| !line.trim().is_empty()) {
        let indent = line.len() - line.trim_start().len();
        while open.last().is_some_and(|(above, _)| *above >= indent) {
            open.pop();
        }
        let mut words = line.split_whitespace();
        let name = symbols.string(words.next().unwrap());
        let function = symbols.intern_function(Function::named(name));
        let site = words.next().and_then(|site| site.parse::<NonZeroU32>().ok());
        let call_site = site.map(|site| CallSite::Line(site, None));
        frames.push(symbols.intern_frame(Frame { call_site, ..Frame::of(function) }));
        weights.push(words.next().map_or(1, |weight| weight.parse().unwrap()));
        parents.push(open.last().map(|(_, node)| *node));
        open.push((indent, NodeId::new(parents.len() - 1)));
    }
    let functions = symbols.functions().len();
    let mut drawn = Drawn {
        labels: vec![Label::Unchanged; functions],
        symbols,
        tree: Cct::from_preorder(Grain::CallSites, parents, frames),
        weights,
    };
    for word in labels.split_whitespace() {
        let (sign, name) = word.split_at(1);
        let function = drawn.function(name).index();
        drawn.labels[function] = match sign {
            "+" => Label::Added,
            "-" => Label::Deleted,
            _ => Label::Modified,
        };
    }
    drawn
}

/// The pairs, then what was cut off with why and the candidates.
fn drawn(before: &Drawn, after: &Drawn, staged: &Staged) -> String {
    let mut out = String::new();
    for (old, new) in staged.pairs() {
        let _ = writeln!(out, "{} = {}", before.text(old), after.text(new));
    }
    for excised in &staged.excised {
        let (sign, side) = match excised.side {
            Side::Before => ('-', before),
            Side::After => ('+', after),
        };
        let Excised { root, reason, nodes, weight, .. } = *excised;
        let candidates = staged
            .candidates(&side.side().tree, excised)
            .map(|node| side.text(node))
            .collect::<Vec<_>>();
        let _ = writeln!(
            out,
            "{sign} {} {reason:?}, nodes {nodes}, weight {weight}, candidates {candidates:?}",
            side.text(root)
        );
    }
    out
}

#[track_caller]
fn check(before: (&str, &str), after: (&str, &str), expected: &Expect) {
    let (before, after) = (tree(before.0, before.1), tree(after.0, after.1));
    let staged = stages(&before.side(), &after.side(), SiblingOrder::FirstSeen, Wanted::default());
    expected.assert_eq(&drawn(&before, &after, &staged));
}
