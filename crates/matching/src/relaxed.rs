//! The relaxed common tree of `[parcs]`: definition 2.
//!
//! Two nodes are equivalent when they are the same method (rule 1), their parents are equivalent (rule 2), and they
//! stand alike relative to the last pair found among their siblings, *(p1, p2)*: on the same side of it in sibling
//! order (rule 3) and in the order of call sites (rule 4). So for each pair of parents the pairs of children form a
//! common subsequence, in which a call site goes up from one pair to the next on both sides or on neither. Siblings
//! stand in the order in which they were first seen. Where one of the four call sites is unknown, or two on one side
//! are of different kinds, only sibling order counts. Return addresses are compared within a side only, never across.
//!
//! Where we depart, and why:
//! - The definition does not say which common subsequence. Taking the first partner that fits, as it reads, lets one
//!   call that moved to the end cost all others their partner. We take the longest; of those, the one with the most
//!   equal call sites; of those, the one with the earliest nodes. Beyond a budget of work the longest by rules 1 to 3
//!   is found first and then cut by rule 4.
//! - Scanning one side and searching the other is not symmetric. We put both sides into an order of their own before
//!   we begin, so that swapping them mirrors the answer.
//! - Two calls from one call site do occur (virtual calls); rule 4 takes them as *not less*, as printed. Two calls in
//!   one line without columns are two call sites in an order that nobody knows: only sibling order counts.
//! - Samples come in any order, and so do the siblings that they are made of. Where that is the case, siblings are
//!   taken in the order of their call sites, see [`SiblingOrder`].

mod chain;

use std::cmp::Ordering;

use perfblame_cct::{CallSite, Cct, FunctionId, NodeId, Side, Sides};

use self::chain::{Candidate, Chains};
use crate::{Identity, Link, Matching, SideTree, Wanted};

/// What siblings are ordered by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SiblingOrder {
    /// The order in which they were first seen, as the paper has it: right where every call was.
    #[default]
    FirstSeen,
    /// The order of their call sites, then of their names: for samples, of which the first seen is chance.
    CallSite,
}

/// What else relaxed matching goes by; nothing unless given.
#[derive(Clone, Copy, Debug, Default)]
pub struct RelaxedRules<'a> {
    /// What siblings are ordered by.
    pub siblings: SiblingOrder,
    /// By side and row of the function: its contexts are left out with everything below them.
    pub cut: Sides<&'a [bool]>,
    /// By class: the highest contexts of such functions are matched by function and call site first, whatever stands
    /// between them.
    pub dominators: &'a [bool],
    /// Matching ends early, and partners are missing, once nobody waits for the answer.
    pub wanted: Wanted<'a>,
}

/// Matches two trees from the roots down, as calls inserted and removed among siblings allow.
pub fn match_relaxed(before: &SideTree<'_>, after: &SideTree<'_>, identity: &Identity) -> Matching {
    match_relaxed_by(before, after, identity, &RelaxedRules::default())
}

/// As [`match_relaxed`], with more to go by.
pub fn match_relaxed_by(
    before: &SideTree<'_>,
    after: &SideTree<'_>,
    identity: &Identity,
    rules: &RelaxedRules<'_>,
) -> Matching {
    let mut matching = Matching::new(before.tree.len(), after.tree.len());
    let names =
        (rules.siblings == SiblingOrder::CallSite).then(|| class_order(before, after, identity));
    let number = |class: u32| names.as_ref().map_or(class, |order| order[class as usize]);
    let dominators: Vec<bool> = {
        let mut by_number = vec![false; identity.classes()];
        for (class, _) in (0u32..).zip(rules.dominators).filter(|(_, dominates)| **dominates) {
            if let Some(slot) = by_number.get_mut(number(class) as usize) {
                *slot = true;
            }
        }
        by_number
    };
    let has_dominators = dominators.contains(&true);
    let views = Sides { before, after }.map_with_side(|side, tree| {
        View::of(tree, rules.cut[side], |function| number(identity.class(side, function)))
    });
    let swapped = order(before, &views.before, after, &views.after) == Ordering::Greater;
    let (first, second) =
        if swapped { (&views.after, &views.before) } else { (&views.before, &views.after) };
    let mut level = SiblingLevel::default();
    let mut pair_all = |matching: &mut Matching, parents: Option<(NodeId, NodeId)>, top: bool| {
        let parents = if swapped { parents.map(|(a, b)| (b, a)) } else { parents };
        let mut pair = |one, other| {
            let (old, new) = if swapped { (other, one) } else { (one, other) };
            matching.pair(old, new, Link::Same);
        };
        level.fill(first, second, parents, rules.siblings);
        if top && has_dominators {
            level.match_dominators(&dominators, &mut pair);
        }
        level.match_siblings(&mut pair);
    };
    pair_all(&mut matching, None, true);
    // By row: below a dominator, or one itself.
    let mut dominated = vec![false; if has_dominators { after.tree.len() } else { 0 }];
    for node in after.tree.nodes() {
        if rules.wanted.ends_at(node.index()) {
            break;
        }
        if has_dominators {
            let above = after.tree.parent(node).is_some_and(|parent| dominated[parent.index()]);
            dominated[node.index()] = above || dominators[views.after.class(node) as usize];
        }
        if let Some(partner) = matching.before(node) {
            let top = has_dominators && !dominated[node.index()];
            pair_all(&mut matching, Some((partner, node)), top);
        }
    }
    matching
}

/// The place of each class by the first of its names, which does not depend on which side is *before*.
fn class_order(before: &SideTree<'_>, after: &SideTree<'_>, identity: &Identity) -> Vec<u32> {
    type Text<'a> = (&'a str, Option<&'a str>, Option<&'a str>);
    let mut texts: Vec<Option<Text<'_>>> = vec![None; identity.classes()];
    for (which, side) in [(Side::Before, before), (Side::After, after)] {
        for (id, function) in side.symbols.functions() {
            let class = identity.class(which, id);
            let signature = function.signature.map(|text| side.symbols.text(text));
            let text = (side.symbols.name(id), side.symbols.component(id), signature);
            let known = &mut texts[class as usize];
            *known = Some(known.map_or(text, |known| known.min(text)));
        }
    }
    let mut classes: Vec<u32> = (0..texts.len() as u32).collect();
    classes.sort_by_key(|class| (texts[*class as usize], *class));
    let mut order = vec![0; texts.len()];
    for (place, class) in (0u32..).zip(classes) {
        order[class as usize] = place;
    }
    order
}

/// A tree with what the rules look at, by row of the frame.
struct View<'a> {
    tree: &'a Cct,
    class: Vec<u32>,
    site: Vec<Option<CallSite>>,
    /// Frames whose contexts are left out; empty when none is.
    cut: Vec<bool>,
}

impl<'a> View<'a> {
    fn of(side: &SideTree<'a>, cut: &[bool], class: impl Fn(FunctionId) -> u32) -> Self {
        let frames = || side.symbols.frames().map(|(_, frame)| frame);
        let (class, site) = frames().map(|frame| (class(frame.function), frame.call_site)).unzip();
        let is_cut = |frame: &perfblame_cct::Frame| {
            cut.get(frame.function.index()).copied().unwrap_or(false)
        };
        let cut = if cut.contains(&true) { frames().map(is_cut).collect() } else { Vec::new() };
        Self { tree: side.tree, class, site, cut }
    }

    fn is_cut(&self, node: NodeId) -> bool {
        self.cut.get(self.tree.frame(node).index()).copied().unwrap_or(false)
    }

    fn class(&self, node: NodeId) -> u32 {
        self.class[self.tree.frame(node).index()]
    }

    fn site(&self, node: NodeId) -> Option<CallSite> {
        self.site[self.tree.frame(node).index()]
    }
}

/// Which side comes first: the first row that differs decides. It depends on the trees and not on which of them is
/// *before*, and trees without such a row pair in full whichever comes first.
fn order(before: &SideTree<'_>, old: &View<'_>, after: &SideTree<'_>, new: &View<'_>) -> Ordering {
    let text = |side: &SideTree<'_>, node: NodeId| {
        let function = side.function_of(node);
        let component = side.symbols.component(function).map(str::to_owned);
        (side.symbols.name(function).to_owned(), component)
    };
    for node in before.tree.nodes().take(after.tree.len()) {
        // Parents of equal rows have equal rows, so that a row's parent says as much as its depth.
        let mut order = before.tree.parent(node).cmp(&after.tree.parent(node));
        if old.class(node) != new.class(node) {
            order = order.then_with(|| text(before, node).cmp(&text(after, node)));
        }
        order = order.then_with(|| old.site(node).cmp(&new.site(node)));
        order = order.then_with(|| old.is_cut(node).cmp(&new.is_cut(node)));
        if order.is_ne() {
            return order;
        }
    }
    before.tree.len().cmp(&after.tree.len())
}

/// A child, with what the rules look at.
#[derive(Clone, Copy)]
struct Child {
    node: NodeId,
    class: u32,
    site: Option<CallSite>,
}

/// The children of one pair of parents; kept from pair to pair for its memory.
#[derive(Default)]
struct SiblingLevel {
    first: Vec<Child>,
    second: Vec<Child>,
    candidates: Vec<Candidate>,
    by_class: [Vec<(u32, u32)>; 2],
    chains: Chains,
    dominators: [Vec<Child>; 2],
}

impl SiblingLevel {
    /// Takes the children of two nodes, or the roots.
    fn fill(
        &mut self,
        first: &View<'_>,
        second: &View<'_>,
        parents: Option<(NodeId, NodeId)>,
        order: SiblingOrder,
    ) {
        let (one, other) = parents.unzip();
        let lists = [(first, one, &mut self.first), (second, other, &mut self.second)];
        for (view, parent, list) in lists {
            list.clear();
            let nodes =
                parent.map_or_else(|| view.tree.roots(), |parent| view.tree.children(parent));
            list.extend(nodes.filter(|node| !view.is_cut(*node)).map(|node| Child {
                node,
                class: view.class(node),
                site: view.site(node),
            }));
            if order == SiblingOrder::CallSite && list.len() > 1 {
                list.sort_unstable_by_key(|child| (child.site, child.class, child.node));
            }
        }
    }

    /// Pairs children of the functions that dominate: those with equal call sites first, then in the order of their
    /// call sites. What finds no partner stays among the others.
    fn match_dominators(&mut self, dominators: &[bool], pair: &mut impl FnMut(NodeId, NodeId)) {
        let dominates = |child: &Child| dominators[child.class as usize];
        if !self.first.iter().any(dominates) || !self.second.iter().any(dominates) {
            return;
        }
        let Self { first, second, dominators: [ones, others], .. } = self;
        for (found, list) in [(&mut *ones, &*first), (&mut *others, &*second)] {
            found.clear();
            found.extend(list.iter().filter(|child| dominates(child)));
            found.sort_unstable_by_key(|child| (child.class, child.site, child.node));
        }
        let mut paired: Vec<(NodeId, NodeId)> = Vec::new();
        // Addresses of two builds have nothing in common but their order.
        let same = |one: &Child, other: &Child| match (one.site, other.site) {
            (Some(CallSite::Address(_)), Some(CallSite::Address(_))) => Ordering::Equal,
            (one, other) => one.cmp(&other),
        };
        for exact in [true, false] {
            let (mut kept, mut left): (Vec<Child>, Vec<Child>) = Default::default();
            let (mut at, mut to) = (0, 0);
            while let (Some(one), Some(other)) = (ones.get(at), others.get(to)) {
                let order = one.class.cmp(&other.class);
                let order = if exact { order.then_with(|| same(one, other)) } else { order };
                match order {
                    Ordering::Less => kept.push(*one),
                    Ordering::Greater => left.push(*other),
                    Ordering::Equal => paired.push((one.node, other.node)),
                }
                at += usize::from(order.is_le());
                to += usize::from(order.is_ge());
            }
            kept.extend(ones.drain(..).skip(at));
            left.extend(others.drain(..).skip(to));
            (*ones, *others) = (kept, left);
        }
        for (one, other) in &paired {
            pair(*one, *other);
        }
        let (mut one, mut other): (Vec<NodeId>, Vec<NodeId>) = paired.into_iter().unzip();
        one.sort_unstable();
        other.sort_unstable();
        first.retain(|child| one.binary_search(&child.node).is_err());
        second.retain(|child| other.binary_search(&child.node).is_err());
    }

    fn match_siblings(&mut self, mut pair: impl FnMut(NodeId, NodeId)) {
        if self.first.is_empty() || self.second.is_empty() {
            return;
        }
        if self.all_alike() {
            for (one, other) in self.first.iter().zip(&self.second) {
                pair(one.node, other.node);
            }
            return;
        }
        self.find_candidates();
        let Self { first, second, candidates, chains, .. } = self;
        let fits = |last: &Candidate, next: &Candidate| {
            let above = |children: &[Child], last: u32, next: u32| {
                is_above(children[last as usize].site, children[next as usize].site)
            };
            match (above(first, last.first, next.first), above(second, last.second, next.second)) {
                (Some(one), Some(other)) => one == other,
                _ => true,
            }
        };
        for row in chains.longest(candidates, fits) {
            let Candidate { first: one, second: other, .. } = candidates[*row as usize];
            pair(first[one as usize].node, second[other as usize].node);
        }
    }

    /// The usual case: nothing was inserted, removed or moved.
    fn all_alike(&self) -> bool {
        let Self { first, second, .. } = self;
        let above = |children: &[Child]| is_above(children[0].site, children[1].site);
        first.len() == second.len()
            && first.iter().zip(second).all(|(one, other)| one.class == other.class)
            && first.windows(2).zip(second.windows(2)).all(|(one, other)| {
                let (Some(one), Some(other)) = (above(one), above(other)) else { return true };
                one == other
            })
    }

    /// Every two children of one function, in the order of the first side, then of the second.
    ///
    /// A function with a great many calls on both sides would have a candidate for every two of them. Of such, only
    /// those whose numbers, counted from the first call or from the last, are close.
    fn find_candidates(&mut self) {
        /// Up to this many calls on each side, every two are looked at.
        const FEW: usize = 32;
        /// How far apart two of many calls may be.
        const NEAR: usize = 8;
        let Self { first, second, candidates, by_class, .. } = self;
        candidates.clear();
        for (sorted, children) in by_class.iter_mut().zip([&*first, &*second]) {
            sorted.clear();
            sorted.extend((0u32..).zip(children).map(|(row, child)| (child.class, row)));
            sorted.sort_unstable();
        }
        let mut add = |one: u32, other: u32| {
            let same_site = match (first[one as usize].site, second[other as usize].site) {
                (Some(CallSite::Address(_)) | None, _) => false,
                (one, other) => one == other,
            };
            candidates.push(Candidate { first: one, second: other, same_site });
        };
        let [mut ones, mut others] = by_class.each_ref().map(Vec::as_slice);
        while let (Some((one, _)), Some((other, _))) = (ones.first(), others.first()) {
            let class = *one.max(other);
            let (ones, others) = (take(&mut ones, class), take(&mut others, class));
            if ones.len() <= FEW && others.len() <= FEW {
                for (_, one) in ones {
                    for (_, other) in others {
                        add(*one, *other);
                    }
                }
                continue;
            }
            let shift = others.len() as isize - ones.len() as isize;
            for (row, (_, one)) in ones.iter().enumerate() {
                let near = |centre: isize| {
                    let low = centre.saturating_sub(NEAR as isize).max(0) as usize;
                    let high = (centre + NEAR as isize + 1).max(0) as usize;
                    low.min(others.len())..high.min(others.len())
                };
                let (head, tail) = (near(row as isize), near(row as isize + shift));
                let (low, high) = if shift < 0 { (tail, head) } else { (head, tail) };
                let after = high.start.max(low.end)..high.end;
                for (_, other) in others[low].iter().chain(&others[after]) {
                    add(*one, *other);
                }
            }
        }
        candidates.sort_unstable_by_key(|candidate| (candidate.first, candidate.second));
    }
}

/// What a sorted list holds of a class; what is before it is dropped.
fn take<'a>(list: &mut &'a [(u32, u32)], class: u32) -> &'a [(u32, u32)] {
    let start = list.partition_point(|(known, _)| *known < class);
    let (same, rest) =
        list[start..].split_at(list[start..].partition_point(|(known, _)| *known == class));
    *list = rest;
    same
}

/// Whether the call site of the next is above that of the last; none when that cannot be told.
fn is_above(last: Option<CallSite>, next: Option<CallSite>) -> Option<bool> {
    let (last, next) = (last?, next?);
    // A line is not where in the line.
    let vague = last == next && matches!(last, CallSite::Line(_, None));
    let alike = std::mem::discriminant(&last) == std::mem::discriminant(&next);
    (alike && !vague).then_some(last < next)
}
