//! The one shape of answer that all matchers give.

use perfblame_cct::{NodeId, Side, Sides};

/// A context on both sides or on one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pair {
    /// The same context before and after.
    Both(NodeId, NodeId),
    /// Gone.
    OnlyBefore(NodeId),
    /// New.
    OnlyAfter(NodeId),
}

/// How two partners differ in where they stand or what they are called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Link {
    /// Same function below the same parents.
    #[default]
    Same,
    /// Another name for the same function below the same parents.
    Renamed,
    /// A frame was put between it and its caller.
    Wrapped,
    /// The frame between it and its caller is gone.
    Unwrapped,
    /// It has another caller altogether.
    Moved,
}

/// Partners: each node of either side has one or none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matching {
    /// By row of the side.
    partner: Sides<Vec<Option<NodeId>>>,
    /// By row of the after side.
    link: Vec<Link>,
}

impl Matching {
    /// Nobody has a partner yet.
    pub fn new(before: usize, after: usize) -> Self {
        Self {
            partner: Sides { before: vec![None; before], after: vec![None; after] },
            link: vec![Link::Same; after],
        }
    }

    /// Makes two nodes partners, unless one of them has a partner already; says whether it did.
    pub fn pair(&mut self, before: NodeId, after: NodeId, link: Link) -> bool {
        let free = self.partner.before[before.index()].is_none()
            && self.partner.after[after.index()].is_none();
        if free {
            self.partner.before[before.index()] = Some(after);
            self.partner.after[after.index()] = Some(before);
            self.link[after.index()] = link;
        }
        free
    }

    /// Corrects how a node of the after side differs from its partner.
    pub fn relink(&mut self, after: NodeId, link: Link) {
        self.link[after.index()] = link;
    }

    /// The partner of a node of a side, which is one of the other side.
    #[inline]
    pub fn partner(&self, side: Side, node: NodeId) -> Option<NodeId> {
        self.partner[side][node.index()]
    }

    /// The partner of a node of the before side.
    pub fn after(&self, before: NodeId) -> Option<NodeId> {
        self.partner.before[before.index()]
    }

    /// The partner of a node of the after side.
    pub fn before(&self, after: NodeId) -> Option<NodeId> {
        self.partner.after[after.index()]
    }

    /// How a node of the after side differs from its partner; [`Link::Same`] when it has none.
    pub fn link(&self, after: NodeId) -> Link {
        self.link[after.index()]
    }

    /// How many partners there are.
    pub fn pairs_count(&self) -> usize {
        self.partner.after.iter().flatten().count()
    }

    /// Every node of both sides once: what has a partner or is new in the order of the after side, then what is gone
    /// in the order of the before side.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        let after = self.partner.after.iter().enumerate().map(|(row, before)| {
            let after = NodeId::new(row);
            before.map_or(Pair::OnlyAfter(after), |before| Pair::Both(before, after))
        });
        let gone = self.partner.before.iter().enumerate();
        let gone = gone.filter(|(_, after)| after.is_none());
        after.chain(gone.map(|(row, _)| Pair::OnlyBefore(NodeId::new(row))))
    }
}
