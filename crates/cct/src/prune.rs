//! Leaving nodes out without losing what they cost: by predicate, by depth, and direct recursion folded.
//!
//! Totals never change here. What a node cost goes to the node that stands for it now, or to a node that says so.

use crate::rebuild::rebuild;
use crate::{Frame, FrameId, Function, NodeId, OpenNode, OpenTree, Profile, Symbols};

/// Name of the root that holds what pruned roots cost themselves.
pub const PRUNED: &str = "(pruned)";

/// Name of the node that holds what lies below a depth limit.
pub const DEEPER: &str = "(deeper)";

/// Leaves out the nodes that `pruned` picks; their children and their own cost go to their parent. The cost of a root
/// has no parent to go to and stays under a root named [`PRUNED`].
///
/// In a tree with call sites, a child that moves up was called from where its pruned parent was called.
pub fn prune(profile: &Profile, mut pruned: impl FnMut(NodeId) -> bool) -> Profile {
    let mut symbols = profile.symbols.clone();
    let mut tree = OpenTree::default();
    let mut places: Vec<Pruned> = Vec::with_capacity(profile.tree.len());
    let mut leftovers = vec![false; profile.tree.len()];
    for node in profile.tree.nodes() {
        let parent = profile.tree.parent(node).map(|parent| places[parent.index()]);
        let above = parent.and_then(|parent| parent.node);
        let frame = profile.tree.frame(node);
        // The call site of the outermost pruned node, when the parent was pruned.
        let site = match parent.and_then(|parent| parent.instead) {
            Some(instead) => symbols.frame(instead).call_site,
            None => symbols.frame(frame).call_site,
        };
        let label = if symbols.frame(frame).call_site == site {
            frame
        } else {
            let moved = Frame { call_site: site, ..*symbols.frame(frame) };
            symbols.intern_frame(moved)
        };
        if pruned(node) {
            leftovers[node.index()] = above.is_none();
            places.push(Pruned { node: above, instead: Some(label) });
        } else {
            places.push(Pruned { node: Some(tree.child(above, label)), instead: None });
        }
    }
    let mut image: Vec<Option<OpenNode>> = places.into_iter().map(|place| place.node).collect();
    if profile.cells.keys().any(|(node, _)| leftovers[node.index()]) {
        let root = tree.child(None, pseudo_frame(&mut symbols, PRUNED));
        for (image, _) in image.iter_mut().zip(leftovers).filter(|(_, left)| *left) {
            *image = Some(root);
        }
    }
    rebuild(profile, symbols, profile.tree.grain(), tree, &image)
}

/// Where a node went: its own image, or that of the nearest node above it that was kept.
#[derive(Clone, Copy)]
struct Pruned {
    node: Option<OpenNode>,
    /// For a pruned node, the label that its children take their call site from.
    instead: Option<FrameId>,
}

/// Cuts the tree to `depth` levels. What lies deeper is added up in a node named [`DEEPER`] below the last level.
pub fn limit_depth(profile: &Profile, depth: u32) -> Profile {
    let mut symbols = profile.symbols.clone();
    let deeper = pseudo_frame(&mut symbols, DEEPER);
    let mut tree = OpenTree::default();
    let depths = profile.tree.depths();
    let mut image: Vec<Option<OpenNode>> = Vec::with_capacity(profile.tree.len());
    for node in profile.tree.nodes() {
        let above = profile.tree.parent(node).and_then(|parent| image[parent.index()]);
        let place = match depths[node.index()].cmp(&depth) {
            std::cmp::Ordering::Less => Some(tree.child(above, profile.tree.frame(node))),
            std::cmp::Ordering::Equal => Some(tree.child(above, deeper)),
            std::cmp::Ordering::Greater => above,
        };
        image.push(place);
    }
    rebuild(profile, symbols, profile.tree.grain(), tree, &image)
}

/// Folds direct recursion: a function called by itself becomes one node with its caller.
pub fn fold_recursion(profile: &Profile) -> Profile {
    let functions = profile.functions_of_rows();
    prune(profile, |node| {
        let above = profile.tree.parent(node);
        above.is_some_and(|above| functions[above.index()] == functions[node.index()])
    })
}

/// A label that stands for nodes that are not there.
fn pseudo_frame(symbols: &mut Symbols, name: &str) -> FrameId {
    let name = symbols.string(name);
    let function = symbols.intern_function(Function::named(name));
    symbols.intern_frame(Frame::of(function))
}
