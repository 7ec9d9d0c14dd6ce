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
//! - Two calls from one call site do occur (virtual calls); rule 4 takes them as *not less*, as printed.

mod chain;

use std::cmp::Ordering;

use perfblame_cct::{CallSite, Cct, NodeId};

use self::chain::{Candidate, Chains};
use crate::{Identity, Link, Matching, Side};

/// Matches two trees from the roots down, as calls inserted and removed among siblings allow.
pub fn match_relaxed(before: &Side<'_>, after: &Side<'_>, identity: &Identity) -> Matching {
    let mut matching = Matching::new(before.tree.len(), after.tree.len());
    let views = [
        View::of(before, |function| identity.before(function)),
        View::of(after, |function| identity.after(function)),
    ];
    let swapped = order(before, &views[0], after, &views[1]) == Ordering::Greater;
    let [first, second] = if swapped { [&views[1], &views[0]] } else { [&views[0], &views[1]] };
    let mut level = Level::default();
    let mut pair_all = |matching: &mut Matching, parents: Option<(NodeId, NodeId)>| {
        let parents = if swapped { parents.map(|(a, b)| (b, a)) } else { parents };
        level.fill(first, second, parents);
        level.match_siblings(|one, other| {
            let (old, new) = if swapped { (other, one) } else { (one, other) };
            matching.pair(old, new, Link::Same);
        });
    };
    pair_all(&mut matching, None);
    for node in after.tree.nodes() {
        if let Some(partner) = matching.before(node) {
            pair_all(&mut matching, Some((partner, node)));
        }
    }
    matching
}

/// A tree with what the rules look at, by row of the frame.
struct View<'a> {
    tree: &'a Cct,
    class: Vec<u32>,
    site: Vec<Option<CallSite>>,
}

impl<'a> View<'a> {
    fn of(side: &Side<'a>, class: impl Fn(perfblame_cct::FunctionId) -> u32) -> Self {
        let frames = side.symbols.frames();
        let (class, site) =
            frames.map(|(_, frame)| (class(frame.function), frame.call_site)).unzip();
        Self { tree: side.tree, class, site }
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
fn order(before: &Side<'_>, old: &View<'_>, after: &Side<'_>, new: &View<'_>) -> Ordering {
    let text = |side: &Side<'_>, node: NodeId| {
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
struct Level {
    first: Vec<Child>,
    second: Vec<Child>,
    candidates: Vec<Candidate>,
    by_class: [Vec<(u32, u32)>; 2],
    chains: Chains,
}

impl Level {
    /// Takes the children of two nodes, or the roots.
    fn fill(&mut self, first: &View<'_>, second: &View<'_>, parents: Option<(NodeId, NodeId)>) {
        let (one, other) = parents.unzip();
        let lists = [(first, one, &mut self.first), (second, other, &mut self.second)];
        for (view, parent, list) in lists {
            list.clear();
            let nodes =
                parent.map_or_else(|| view.tree.roots(), |parent| view.tree.children(parent));
            list.extend(nodes.map(|node| Child {
                node,
                class: view.class(node),
                site: view.site(node),
            }));
        }
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
    (std::mem::discriminant(&last) == std::mem::discriminant(&next)).then_some(last < next)
}
