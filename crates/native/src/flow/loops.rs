//! Which turns of a function are in loops, and in which.
//!
//! A loop is a set of turns that all lead to one another. The first of them that is come to from outside is its head;
//! what still leads to one another when nobody goes back there is a loop within. So it does not matter how a compiler
//! has laid a loop out, and code that was moved out of the way and jumps back is none.

use perfblame_cct::Work;

/// The loops that a turn is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Loops {
    /// How many, as far as that is looked at.
    pub(super) depth: usize,
    /// The number of the innermost; 0 is none.
    pub(super) innermost: u32,
}

/// Finds the loops of a graph whose rows lead to others, at most to as many as are listed.
pub(super) fn find(next: &[Vec<u32>]) -> Vec<Loops> {
    let mut loops = vec![Loops::default(); next.len()];
    let mut heads = vec![false; next.len()];
    let mut last = 0;
    for _ in 1..Work::DEPTHS {
        let parts = strong_parts(next, &loops, &heads);
        let before = last;
        let mut sizes = vec![0u32; parts.count];
        for part in &parts.of {
            sizes[*part as usize] += 1;
        }
        // The loop that a part becomes.
        let mut becomes = vec![0; parts.count];
        for &row in &parts.order {
            let part = parts.of[row as usize] as usize;
            let again = |to: &u32| *to == row && is_within(&loops, &heads, row, row);
            let comes_again = sizes[part] > 1 || next[row as usize].iter().any(again);
            if comes_again && becomes[part] == 0 {
                last += 1;
                becomes[part] = last;
                heads[row as usize] = true;
            }
        }
        if last == before {
            break;
        }
        for (loops, part) in loops.iter_mut().zip(&parts.of) {
            let within = becomes[*part as usize];
            if within > 0 {
                *loops = Loops { depth: loops.depth + 1, innermost: within };
            }
        }
    }
    loops
}

/// Whether the way from one row to another is within the loops that were found so far, and does not go back to a head.
fn is_within(loops: &[Loops], heads: &[bool], from: u32, to: u32) -> bool {
    !heads[to as usize] && loops[to as usize].innermost == loops[from as usize].innermost
}

/// Rows that lead to one another.
struct LoopParts {
    of: Vec<u32>,
    count: usize,
    /// Rows as they are come to.
    order: Vec<u32>,
}

/// Tarjan's algorithm, without recursion.
fn strong_parts(next: &[Vec<u32>], loops: &[Loops], heads: &[bool]) -> LoopParts {
    const UNSEEN: u32 = u32::MAX;
    let rows = next.len();
    let mut parts = LoopParts { of: vec![UNSEEN; rows], count: 0, order: Vec::with_capacity(rows) };
    let (mut number, mut lowest) = (vec![UNSEEN; rows], vec![UNSEEN; rows]);
    let mut open: Vec<u32> = Vec::new();
    let mut walk: Vec<(u32, usize)> = Vec::new();
    for start in 0..rows as u32 {
        if number[start as usize] != UNSEEN {
            continue;
        }
        walk.push((start, 0));
        while let Some((row, at)) = walk.last_mut() {
            let (row, at) = (*row, {
                *at += 1;
                *at - 1
            });
            let here = row as usize;
            if at == 0 {
                number[here] = parts.order.len() as u32;
                lowest[here] = number[here];
                parts.order.push(row);
                open.push(row);
            }
            if let Some(to) = next[here].get(at) {
                let to = *to as usize;
                if !is_within(loops, heads, row, to as u32) {
                    continue;
                }
                if number[to] == UNSEEN {
                    walk.push((to as u32, 0));
                } else if parts.of[to] == UNSEEN {
                    lowest[here] = lowest[here].min(number[to]);
                }
                continue;
            }
            walk.pop();
            if let Some((above, _)) = walk.last() {
                let above = *above as usize;
                lowest[above] = lowest[above].min(lowest[here]);
            }
            if lowest[here] == number[here] {
                while let Some(member) = open.pop() {
                    parts.of[member as usize] = parts.count as u32;
                    if member == row {
                        break;
                    }
                }
                parts.count += 1;
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn depths(next: &[&[u32]]) -> Vec<usize> {
        let next: Vec<Vec<u32>> = next.iter().map(|to| to.to_vec()).collect();
        find(&next).iter().map(|loops| loops.depth).collect()
    }

    #[test]
    fn loops_are_found_however_they_are_laid_out() {
        // Asked at the end, which is jumped to first.
        assert_eq!(depths(&[&[2], &[2], &[1, 3], &[]]), [0, 1, 1, 0]);
        // One that is its own body within another one.
        assert_eq!(depths(&[&[1], &[2], &[2, 3], &[1, 4], &[]]), [0, 1, 2, 1, 0]);
        // Moved out of the way: it jumps back, but not to where it comes from.
        assert_eq!(depths(&[&[1, 3], &[2], &[], &[1]]), [0; 4]);
        // Deeper than anybody looks.
        assert_eq!(
            depths(&[&[0, 1], &[1, 2, 0], &[2, 3, 1], &[3, 4, 2], &[4, 3]]),
            [1, 2, 3, 3, 3]
        );
    }

    #[test]
    fn loops_beside_each_other_are_two() {
        let next = [vec![1], vec![0, 2], vec![3], vec![2, 4], vec![]];
        let found = find(&next);
        assert_eq!(found[0].innermost, found[1].innermost);
        assert_ne!(found[1].innermost, found[2].innermost);
        assert_eq!(found[4], Loops::default());
    }

    proptest! {
        #[test]
        fn what_comes_again_is_in_a_loop(next in prop::collection::vec(prop::collection::vec(0u32..12, 0..3), 12)) {
            let found = find(&next);
            for start in 0..next.len() {
                let mut reached = vec![false; next.len()];
                let mut open: Vec<u32> = next[start].clone();
                while let Some(row) = open.pop() {
                    if !std::mem::replace(&mut reached[row as usize], true) {
                        open.extend(&next[row as usize]);
                    }
                }
                prop_assert_eq!(found[start].depth > 0, reached[start], "{}", start);
            }
        }
    }
}
