//! Whether made-up names mean the same on both sides: two recordings of one minified build have the same names for the
//! same functions, two builds do not. Who calls whom tells: names of one build call each other again.

use hashbrown::HashSet;
use perfblame_cct::{Side, Sides};

use super::Why;
use super::call_graph::{CallGraph, ROOT};
use super::functions::Naming;
use super::work::{FunctionRow, Work};

/// Calls that both sides must have at least for names to be believed, unless they have all in common.
const LEAST_CALLS: u32 = 3;

/// Matches functions with made-up names by these names, where they have no place and the component is of one build. With
/// places, those tell more than any name.
pub(super) fn match_same_builds(work: &mut Work<'_>, graphs: &Sides<CallGraph>) {
    let is_wanted = |work: &Work<'_>, side: Side, row: FunctionRow| {
        work.naming[side][row as usize] == Naming::MadeUp && work.fact(side, row).place.is_none()
    };
    let homes = work.home.iter().flatten().max().map_or(0, |most| *most as usize + 1);
    // Calls by names, by side; and by component how many each side has, and both.
    let mut calls: Sides<HashSet<_>> = Sides::default();
    let mut counts = vec![(Sides::same(0u32), 0u32); homes];
    for side in Side::BOTH {
        for row in work.open(side).filter(|row| is_wanted(work, side, *row)) {
            let home = work.home[side][row as usize];
            for (kind, edges) in
                [&graphs[side].callers, &graphs[side].callees].into_iter().enumerate()
            {
                for (other, _) in edges.of_function(row) {
                    let neighbour = match *other {
                        ROOT => (0, 0),
                        other => (work.fact(side, other).name, work.home[side][other as usize]),
                    };
                    let call = (home, work.fact(side, row).name, kind, neighbour);
                    let is_common = side == Side::After && calls.before.contains(&call);
                    if calls[side].insert(call) {
                        let (own, both) = &mut counts[home as usize];
                        own[side] += 1;
                        *both += u32::from(is_common);
                    }
                }
            }
        }
    }
    let is_one_build = |home: u32| {
        let (own, both) = counts[home as usize];
        let all = both > 0 && own == Sides::same(both);
        all || both >= LEAST_CALLS && both * 2 >= own.before.min(own.after)
    };
    work.pair_unique(Why::Name, 1.0, |work, side, row| {
        let home = work.home[side][row as usize];
        let fact = work.fact(side, row);
        (is_wanted(work, side, row) && is_one_build(home)).then_some((
            fact.name,
            home,
            fact.signature,
            fact.layers,
        ))
    });
}
