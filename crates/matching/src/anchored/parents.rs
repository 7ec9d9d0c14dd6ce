//! Callers of what was found elsewhere: who calls mostly the partners of what another called is its partner, under
//! another name or in another place.

use hashbrown::HashMap;
use perfblame_cct::{NodeId, Side, Sides};

use super::Found;
use super::local::{Local, mass};
use crate::Link;
use crate::identity::are_of_like_layers;

/// Steps up from what was found; callers further up stay as they are.
const MOST_STEPS: usize = 64;

/// Pairs callers from `moved` pairs upwards, then what is left below them, and sees which of all these are in place now
/// that their callers have partners.
pub(super) fn match_parents(
    found: &mut Found<'_>,
    local: &mut Local,
    moved: Vec<(NodeId, NodeId)>,
) {
    let mut all = moved.clone();
    let mut last = moved;
    for _ in 0..MOST_STEPS {
        last = candidates(found, local, &last);
        if last.is_empty() || !found.wanted.goes_on() {
            break;
        }
        for (before, after) in &last {
            local.pair(found, *before, *after, Link::Moved);
        }
        local.match_below(found);
        all.extend(&last);
    }
    for (before, after) in all {
        let callers =
            (found.sides.before.tree.parent(before), found.sides.after.tree.parent(after));
        let in_place = match callers {
            (Some(caller), Some(partner)) => found.matching.after(caller) == Some(partner),
            (None, None) => true,
            _ => false,
        };
        if in_place && found.matching.link(after) == Link::Moved {
            let link = found.link_in_place(before, after);
            found.matching.relink(after, link);
        }
    }
}

/// Open callers of pairs, each with the one that calls more than half of what it calls.
fn candidates(
    found: &Found<'_>,
    local: &mut Local,
    pairs: &[(NodeId, NodeId)],
) -> Vec<(NodeId, NodeId)> {
    let mut common: HashMap<(NodeId, NodeId), Sides<i128>> = HashMap::new();
    for (before, after) in pairs {
        let callers =
            (found.sides.before.tree.parent(*before), found.sides.after.tree.parent(*after));
        if let (Some(caller), Some(other)) = callers
            && found.is_open(Side::Before, caller)
            && found.is_open(Side::After, other)
        {
            let sums = common.entry((caller, other)).or_default();
            sums.before += mass(found, Side::Before, *before);
            sums.after += mass(found, Side::After, *after);
        }
    }
    let mut common: Vec<_> = common.into_iter().collect();
    common.sort_unstable();
    let contexts = local.contexts(found);
    let is_partner = |(before, after): (NodeId, NodeId), shared: Sides<i128>| {
        let (class, other) = (found.class(Side::Before, before), found.class(Side::After, after));
        let one_sided = contexts.after[class as usize] == 0 && contexts.before[other as usize] == 0;
        let both = [(Side::Before, before), (Side::After, after)];
        let [was, is] = both.map(|(side, node)| {
            found.sides[side].symbols.function(found.sides[side].function_of(node)).layer
        });
        let most = both.into_iter().zip(shared).all(|((side, node), shared)| {
            let children = found.sides[side].tree.children(node);
            shared * 2 > children.map(|child| mass(found, side, child)).sum()
        });
        most && (class == other || one_sided && are_of_like_layers(was, is))
    };
    let partners = common.into_iter().filter(|(pair, shared)| is_partner(*pair, *shared));
    partners.map(|(pair, _)| pair).collect()
}
