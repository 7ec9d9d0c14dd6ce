//! Self values: sparse cells of (node, thread), with one column per metric.

use crate::{MetricId, NodeId, ThreadId};

/// The self values of a tree, sorted by node and thread.
///
/// Most nodes of a tree only call others and have no cell. Inclusive values are derived, never stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    node: Vec<NodeId>,
    thread: Vec<Option<ThreadId>>,
    /// One column per metric, as long as `node`.
    values: Vec<Vec<i64>>,
}

/// One cell with the values of every metric.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// The context.
    pub node: NodeId,
    /// The thread; none where the profile does not tell threads apart.
    pub thread: Option<ThreadId>,
    /// Self values, in the order of the profile's metrics.
    pub values: Vec<i64>,
}

impl Cells {
    /// Sorts and adds up cells. `columns[m][row]` is metric `m` of the cell `keys[row]`.
    pub fn from_columns(keys: &[(NodeId, Option<ThreadId>)], columns: &[Vec<i64>]) -> Self {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        if !keys.is_sorted() {
            order.sort_unstable_by_key(|row| (keys[*row as usize], *row));
        }
        let room = keys.len();
        let mut cells = Self {
            node: Vec::with_capacity(room),
            thread: Vec::with_capacity(room),
            values: columns.iter().map(|_| Vec::with_capacity(room)).collect(),
        };
        for row in order {
            let (node, thread) = keys[row as usize];
            let same = cells.node.last() == Some(&node) && cells.thread.last() == Some(&thread);
            if !same {
                cells.node.push(node);
                cells.thread.push(thread);
            }
            for (into, from) in cells.values.iter_mut().zip(columns) {
                let value = from.get(row as usize).copied().unwrap_or(0);
                match into.last_mut() {
                    Some(last) if same => *last = last.saturating_add(value),
                    _ => into.push(value),
                }
            }
        }
        if cells.node.len() < room {
            cells.node.shrink_to_fit();
            cells.thread.shrink_to_fit();
            cells.values.iter_mut().for_each(Vec::shrink_to_fit);
        }
        cells
    }

    /// Memory behind the cells, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.node.capacity() * size_of::<NodeId>()
            + self.thread.capacity() * size_of::<Option<ThreadId>>()
            + self.values.iter().map(|column| column.capacity() * size_of::<i64>()).sum::<usize>()
            + self.values.capacity() * size_of::<Vec<i64>>()
    }

    /// The same values at other nodes; those that end up at one node and thread are added up, those without a place
    /// are left out.
    pub fn moved(&self, place: impl Fn(NodeId) -> Option<NodeId>) -> Self {
        let mut keys = Vec::with_capacity(self.len());
        let mut rows = Vec::with_capacity(self.len());
        for row in 0..self.len() {
            if let Some(node) = place(self.node[row]) {
                keys.push((node, self.thread[row]));
                rows.push(row);
            }
        }
        let pick = |column: &Vec<i64>| rows.iter().map(|row| column[*row]).collect();
        let columns: Vec<Vec<i64>> = self.values.iter().map(pick).collect();
        Self::from_columns(&keys, &columns)
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.node.len()
    }

    /// True when no node has a value.
    pub fn is_empty(&self) -> bool {
        self.node.is_empty()
    }

    /// How many metrics each cell holds.
    pub fn metrics(&self) -> usize {
        self.values.len()
    }

    /// (node, thread) of every cell, in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = (NodeId, Option<ThreadId>)> {
        self.node.iter().copied().zip(self.thread.iter().copied())
    }

    /// The values of one metric, one for each of [`Cells::keys`].
    pub fn column(&self, metric: MetricId) -> &[i64] {
        self.values.get(metric.index()).map_or(&[], Vec::as_slice)
    }

    /// (node, thread, value) of one metric, in order; zeros are left out.
    pub fn of(&self, metric: MetricId) -> impl Iterator<Item = (NodeId, Option<ThreadId>, i64)> {
        let column = self.values.get(metric.index()).map_or(&[][..], Vec::as_slice);
        let keys = self.node.iter().zip(&self.thread);
        keys.zip(column)
            .filter(|(_, value)| **value != 0)
            .map(|((node, thread), value)| (*node, *thread, *value))
    }

    /// The values of two metrics in each cell that has one of them, in order.
    pub fn of_both(
        &self,
        first: MetricId,
        second: MetricId,
    ) -> impl Iterator<Item = (NodeId, i64, i64)> {
        let column =
            |metric: MetricId| self.values.get(metric.index()).map_or(&[][..], Vec::as_slice);
        (self.node.iter().zip(column(first)).zip(column(second)))
            .filter(|((_, first), second)| **first != 0 || **second != 0)
            .map(|((node, first), second)| (*node, *first, *second))
    }

    /// Every cell with all its values, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Cell> {
        (0..self.len()).map(|row| Cell {
            node: self.node[row],
            thread: self.thread[row],
            values: self.values.iter().map(|column| column[row]).collect(),
        })
    }

    /// Self value per node of a tree with `nodes` nodes, all threads together.
    pub fn dense(&self, metric: MetricId, nodes: usize) -> Vec<i64> {
        let mut dense = vec![0i64; nodes];
        for (node, _, value) in self.of(metric) {
            if let Some(slot) = dense.get_mut(node.index()) {
                *slot = slot.saturating_add(value);
            }
        }
        dense
    }

    /// Self value per node on one thread.
    pub fn dense_on(&self, metric: MetricId, thread: Option<ThreadId>, nodes: usize) -> Vec<i64> {
        let mut dense = vec![0i64; nodes];
        for (node, on, value) in self.of(metric) {
            if on == thread && node.index() < nodes {
                dense[node.index()] = dense[node.index()].saturating_add(value);
            }
        }
        dense
    }

    /// Sum over all cells.
    pub fn total(&self, metric: MetricId) -> i64 {
        self.of(metric).fold(0, |sum, (_, _, value)| sum.saturating_add(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn cells_are_sorted_and_added_up(
            rows in prop::collection::vec((0usize..4, prop::option::of(0usize..3), -9i64..9, -9i64..9), 0..30),
        ) {
            let keys: Vec<_> =
                rows.iter().map(|(node, thread, _, _)| (NodeId::new(*node), thread.map(ThreadId::new))).collect();
            let columns = [rows.iter().map(|row| row.2).collect(), rows.iter().map(|row| row.3).collect::<Vec<_>>()];
            let cells = Cells::from_columns(&keys, &columns);
            let mut sums: BTreeMap<_, Vec<i64>> = BTreeMap::new();
            for (key, row) in keys.iter().zip(&rows) {
                let sum = sums.entry(*key).or_insert_with(|| vec![0, 0]);
                sum[0] += row.2;
                sum[1] += row.3;
            }
            let expected: Vec<_> =
                sums.into_iter().map(|((node, thread), values)| Cell { node, thread, values }).collect();
            prop_assert_eq!(cells.rows().collect::<Vec<_>>(), expected);
            for (metric, column) in columns.iter().enumerate() {
                let metric = MetricId::new(metric);
                let total: i64 = column.iter().sum();
                prop_assert_eq!(cells.total(metric), total);
                prop_assert_eq!(cells.dense(metric, 4).iter().sum::<i64>(), total);
                let threads = [None, Some(0), Some(1), Some(2)].map(|thread| thread.map(ThreadId::new));
                let split = threads.map(|thread| cells.dense_on(metric, thread, 4).iter().sum::<i64>());
                prop_assert_eq!(split.iter().sum::<i64>(), total);
                // Moving all to one node adds up all.
                let moved = cells.moved(|_| Some(NodeId::new(0)));
                prop_assert_eq!(moved.total(metric), total);
                prop_assert_eq!(cells.moved(|_| None).len(), 0);
            }
        }
    }
}
