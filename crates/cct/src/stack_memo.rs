//! Stacks that were seen before: samples repeat whole stacks, or all but the innermost frames of the one before. Both
//! are found without walking the tree from its root.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use crate::{FrameId, OpenNode};

/// The stack that was walked last, with its contexts: the next one of the same thread mostly differs in its innermost
/// frames only.
#[derive(Debug, Default)]
pub(crate) struct LastStack {
    pub(crate) frames: Vec<FrameId>,
    pub(crate) nodes: Vec<OpenNode>,
}

impl LastStack {
    /// How many outermost frames `frames` has in common with it.
    pub(crate) fn shared(&self, frames: &[FrameId]) -> usize {
        let (known, _) = self.frames.as_chunks::<8>();
        let (chunks, _) = frames.as_chunks::<8>();
        let start =
            8 * known.iter().zip(chunks).take_while(|(known, chunk)| known == chunk).count();
        let rest = self.frames[start..].iter().zip(&frames[start..]);
        start + rest.take_while(|(known, frame)| known == frame).count()
    }
}

/// Up to so many frames are walked; a stack with more new ones is looked up as a whole. Measured on made-up stacks of
/// depth 40, on a busy machine where runs scatter by a fifth: always walking is fastest for one thread (1.8 s for ten
/// million, 2.1 to 2.5 s with 16, 3.0 s when always looking up), and slowest for sixteen threads in turn (1.3 s for
/// three million, 1.0 to 1.1 s with 16).
pub(crate) const WALK: usize = 16;

/// Stacks seen before, with their contexts: most samples repeat one.
#[derive(Debug)]
pub(crate) struct StackMemo {
    /// How many frames it holds at most.
    room: usize,
    frames: Vec<FrameId>,
    /// Start and end in `frames`, and the context.
    stacks: Vec<(u32, u32, OpenNode)>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    hashes: Vec<u64>,
}

/// Frames that the memo holds before it starts afresh: 64 MB, so that a file in which no stack repeats costs no more.
const MEMO_FRAMES: usize = 16 << 20;

impl Default for StackMemo {
    fn default() -> Self {
        Self::with_room(MEMO_FRAMES)
    }
}

impl StackMemo {
    fn with_room(room: usize) -> Self {
        Self {
            room,
            frames: Vec::new(),
            stacks: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            hashes: Vec::new(),
        }
    }

    pub(crate) fn hash(&self, frames: &[FrameId]) -> u64 {
        self.hasher.hash_one(frames)
    }

    pub(crate) fn find(&self, hash: u64, frames: &[FrameId]) -> Option<OpenNode> {
        let row = self.index.find(hash, |row| {
            let (start, end, _) = self.stacks[*row as usize];
            self.frames[start as usize..end as usize] == *frames
        })?;
        Some(self.stacks[*row as usize].2)
    }

    pub(crate) fn remember(&mut self, hash: u64, frames: &[FrameId], node: OpenNode) {
        if frames.len() > self.room {
            return;
        }
        if self.frames.len() + frames.len() > self.room {
            self.frames.clear();
            self.stacks.clear();
            self.index.clear();
            self.hashes.clear();
        }
        let start = self.frames.len() as u32;
        self.frames.extend_from_slice(frames);
        let row = self.stacks.len() as u32;
        self.stacks.push((start, self.frames.len() as u32, node));
        self.hashes.push(hash);
        let Self { index, hashes, .. } = self;
        index.insert_unique(hash, row, |row| hashes[*row as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(numbers: &[u8]) -> Vec<FrameId> {
        numbers.iter().map(|number| FrameId::new((*number).into())).collect()
    }

    proptest! {
        #[test]
        fn the_memo_forgets_but_never_errs(
            stacks in prop::collection::vec(prop::collection::vec(0u8..3, 1..6), 0..60),
        ) {
            let mut memo = StackMemo::with_room(20);
            let mut known = std::collections::BTreeMap::new();
            for stack in &stacks {
                let stack = frames(stack);
                let next = OpenNode::new(known.len());
                let node = *known.entry(stack.clone()).or_insert(next);
                let hash = memo.hash(&stack);
                match memo.find(hash, &stack) {
                    Some(found) => prop_assert_eq!(found, node),
                    None => memo.remember(hash, &stack, node),
                }
                prop_assert_eq!(memo.find(hash, &stack), Some(node));
                prop_assert!(memo.frames.len() <= 20);
            }
            let long = vec![FrameId::new(0); 21];
            memo.remember(memo.hash(&long), &long, OpenNode::new(0));
            prop_assert_eq!(memo.find(memo.hash(&long), &long), None);
        }

        #[test]
        fn shared_frames_are_counted_from_the_outermost(
            first in prop::collection::vec(0u8..2, 0..30), second in prop::collection::vec(0u8..2, 0..30),
            common in prop::collection::vec(0u8..2, 0..30),
        ) {
            let [first, second] = [first, second].map(|end| frames(&[common.clone(), end].concat()));
            let expected = first.iter().zip(&second).take_while(|(a, b)| a == b).count();
            let last = LastStack { frames: first, nodes: Vec::new() };
            prop_assert_eq!(last.shared(&second), expected);
        }
    }
}
