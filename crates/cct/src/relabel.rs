//! Other labels on the same contexts, and what becomes equal merged: from exact frames to call sites to functions, and
//! whatever else maps labels.

use crate::rebuild::rebuild;
use crate::{Cct, Frame, FrameId, Grain, NodeId, OpenNode, OpenTree, Profile, Symbols};

/// The same profile with other labels; siblings that get the same label become one. `label` is asked once per node,
/// parents first, and may add to the symbols.
pub fn relabel(
    profile: &Profile,
    grain: Grain,
    mut label: impl FnMut(&mut Symbols, NodeId) -> FrameId,
) -> Profile {
    let mut symbols = profile.symbols.clone();
    let mut tree = OpenTree::default();
    let mut image: Vec<Option<OpenNode>> = Vec::with_capacity(profile.tree.len());
    for node in profile.tree.nodes() {
        let above = profile.tree.parent(node).and_then(|parent| image[parent.index()]);
        image.push(Some(tree.child(above, label(&mut symbols, node))));
    }
    rebuild(profile, symbols, grain, tree, &image)
}

/// As [`relabel`], where a node's label depends on its label alone: each distinct label is mapped once, in the order
/// of first use.
///
/// Mostly no two siblings become one, and then the tree keeps its shape: no node has to be looked up.
pub fn map_labels(
    mut profile: Profile,
    mut map: impl FnMut(&mut Symbols, FrameId) -> FrameId,
) -> Profile {
    let mut mapped: Vec<Option<FrameId>> = vec![None; profile.symbols.frames().len()];
    let mut changed = false;
    for node in profile.tree.nodes() {
        let frame = profile.tree.frame(node);
        let into = &mut mapped[frame.index()];
        if into.is_none() {
            let label = map(&mut profile.symbols, frame);
            changed |= label != frame;
            *into = Some(label);
        }
    }
    if !changed {
        return profile;
    }
    let label = |frame: FrameId| mapped[frame.index()].unwrap_or(frame);
    if !do_siblings_meet(&profile, label) {
        let tree = &profile.tree;
        let parents = tree.nodes().map(|node| tree.parent(node)).collect();
        let frames = tree.nodes().map(|node| label(tree.frame(node))).collect();
        profile.tree = Cct::from_preorder(tree.grain(), parents, frames);
        return profile;
    }
    relabel(&profile, profile.tree.grain(), |_, node| label(profile.tree.frame(node)))
}

/// True when siblings get the same label.
fn do_siblings_meet(profile: &Profile, label: impl Fn(FrameId) -> FrameId) -> bool {
    let tree = &profile.tree;
    let mut last_turn = vec![0usize; profile.symbols.frames().len()];
    let mut meets = |node: NodeId, turn: usize| {
        std::mem::replace(&mut last_turn[label(tree.frame(node)).index()], turn) == turn
    };
    // Rows are turns; the roots, which are nobody's children, come first.
    tree.roots().any(|root| meets(root, 1))
        || tree.nodes().any(|node| tree.children(node).any(|child| meets(child, node.index() + 2)))
}

/// The same profile at a coarser grain; at its own when that is coarse enough already.
pub fn coarsen(profile: &Profile, grain: Grain) -> Profile {
    if grain >= profile.tree.grain() {
        return profile.clone();
    }
    let tree = &profile.tree;
    let frame = |node| profile.symbols.frame(tree.frame(node));
    relabel(profile, grain, |symbols, node| {
        let caller = tree.parent(node).map(frame);
        symbols.intern_frame(site_label((tree.grain(), grain), frame(node), caller))
    })
}

/// The label of a frame and its caller's at a coarser grain, the second of the two: its function, with the call site
/// where that grain has them.
pub(crate) fn site_label(grains: (Grain, Grain), frame: &Frame, caller: Option<&Frame>) -> Frame {
    let call_site = match grains {
        (Grain::Frames, Grain::CallSites) => caller.and_then(Frame::as_call_site),
        _ => None,
    };
    Frame { call_site, ..Frame::of(frame.function) }
}
