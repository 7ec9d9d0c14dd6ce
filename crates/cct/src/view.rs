//! A profile seen from a function chosen on the spot: what is below it, and what leads to it.
//!
//! Both views are profiles of their own, so whatever works on a profile works on them. Their totals are the inclusive
//! value of the chosen function; each stack is counted once, from the outermost of its nodes.

use crate::rebuild::rebuild;
use crate::totals::chosen;
use crate::{Frame, FunctionId, NodeId, OpenNode, OpenTree, Profile, Scope};

/// The part of a profile that counts: the highest nodes in `scope` become roots, equal ones merged.
pub fn within(profile: &Profile, scope: &Scope) -> Profile {
    subtrees(profile, |node| scope.contains(node))
}

/// All subtrees of `functions` (one function under its several ids, or any set), merged at the root.
pub fn rooted_at(profile: &Profile, functions: &[FunctionId]) -> Profile {
    let chosen = chosen(profile, functions);
    subtrees(profile, |node| chosen[profile.function_of(node).index()])
}

/// The subtrees of the highest nodes that `begins` is true for.
fn subtrees(profile: &Profile, begins: impl Fn(NodeId) -> bool) -> Profile {
    let mut symbols = profile.symbols.clone();
    let mut tree = OpenTree::default();
    let mut image: Vec<Option<OpenNode>> = Vec::with_capacity(profile.tree.len());
    for node in profile.tree.nodes() {
        let above = profile.tree.parent(node).and_then(|parent| image[parent.index()]);
        let label = profile.tree.frame(node);
        let place = match above {
            Some(above) => Some(tree.child(Some(above), label)),
            None if begins(node) => {
                // Who called the root is no longer part of the picture.
                let root = Frame { call_site: None, ..*symbols.frame(label) };
                Some(tree.child(None, symbols.intern_frame(root)))
            }
            None => None,
        };
        image.push(place);
    }
    rebuild(profile, symbols, profile.tree.grain(), tree, &image)
}

/// The callers of `functions` as a tree: the functions are the roots, their callers are below them, and so on out to
/// the program's start. A value stands where its stack begins, so that inclusive values say how much came that way.
pub fn callers_tree(profile: &Profile, functions: &[FunctionId]) -> Profile {
    let chosen = chosen(profile, functions);
    let mut tree = OpenTree::default();
    let mut image: Vec<Option<OpenNode>> = Vec::with_capacity(profile.tree.len());
    for node in profile.tree.nodes() {
        let above = profile.tree.parent(node).and_then(|parent| image[parent.index()]);
        let place = above.or_else(|| {
            if !chosen[profile.function_of(node).index()] {
                return None;
            }
            let mut out = None;
            for caller in profile.tree.ancestors(node) {
                out = Some(tree.child(out, profile.tree.frame(caller)));
            }
            out
        });
        image.push(place);
    }
    rebuild(profile, profile.symbols.clone(), profile.tree.grain(), tree, &image)
}
