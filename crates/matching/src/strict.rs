//! The strict common tree of `[parcs]`: definition 1.
//!
//! Two nodes are equivalent when they are the same method, have the same position among their siblings, and their
//! parents are equivalent. Roots are the children of an unseen node that both trees have. Call sites play no part.
//! It is the yardstick that the relaxed common tree is measured with: one call more shifts all its right siblings.

use crate::{Identity, Link, Matching, SideTree};

/// Matches two trees from the roots down, child by child in order.
pub fn match_strict(before: &SideTree<'_>, after: &SideTree<'_>, identity: &Identity) -> Matching {
    let mut matching = Matching::new(before.tree.len(), after.tree.len());
    let pair_all = |matching: &mut Matching, old: perfblame_cct::Siblings<'_>, new| {
        for (old, new) in old.zip(new) {
            let class = identity.before(before.function_of(old));
            if class == identity.after(after.function_of(new)) {
                matching.pair(old, new, Link::Same);
            }
        }
    };
    pair_all(&mut matching, before.tree.roots(), after.tree.roots());
    for node in after.tree.nodes() {
        if let Some(partner) = matching.before(node) {
            pair_all(&mut matching, before.tree.children(partner), after.tree.children(node));
        }
    }
    matching
}
