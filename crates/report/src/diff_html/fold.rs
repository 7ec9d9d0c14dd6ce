//! Which contexts a page draws by themselves: all of them up to a bound; beyond it the heaviest, and one box per caller
//! stands for its smaller callees with all that is below them, so that no cost is lost.

use hashbrown::HashMap;
use perfblame_analysis::DiffTree;

/// The contexts of a page, parents first.
#[derive(Debug, Default)]
pub struct Folded {
    pub boxes: Vec<FlameBox>,
    /// The box of each row of the tree.
    pub place: Vec<u32>,
    /// Contexts that have no box of their own, and their own costs before and after.
    pub contexts: usize,
    pub before: f64,
    pub after: f64,
}

/// A box of the flame graph.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlameBox {
    pub parent: Option<u32>,
    pub what: What,
    /// Own costs.
    pub before: f64,
    pub after: f64,
}

/// What a box stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// A row of the tree.
    Row(u32),
    /// This many contexts.
    Contexts(u32),
}

/// Keeps `limit` rows and those of `always` with their callers.
pub fn fold(tree: &DiffTree, limit: usize, always: &[usize]) -> Folded {
    let rows = &tree.rows;
    let parent =
        |row: usize| rows[row].parent.map(|parent| parent as usize).filter(|parent| *parent < row);
    let keep = kept(tree, limit, always, &parent);
    let mut folded = Folded { place: Vec::with_capacity(rows.len()), ..Folded::default() };
    // The box for what is folded below each box; roots have one, too.
    let mut rest: HashMap<Option<u32>, u32> = HashMap::new();
    for (row, costs) in rows.iter().enumerate() {
        let above = parent(row);
        let parent = above.map(|above| folded.place[above]);
        let place = if keep[row] {
            folded.boxes.push(FlameBox {
                parent,
                what: What::Row(row as u32),
                before: 0.0,
                after: 0.0,
            });
            folded.boxes.len() as u32 - 1
        } else {
            folded.contexts += 1;
            folded.before += costs.before;
            folded.after += costs.after;
            match (above, parent) {
                (Some(above), Some(parent)) if !keep[above] => parent,
                _ => *rest.entry(parent).or_insert_with(|| {
                    let what = What::Contexts(0);
                    folded.boxes.push(FlameBox { parent, what, before: 0.0, after: 0.0 });
                    folded.boxes.len() as u32 - 1
                }),
            }
        };
        folded.place.push(place);
        let place = &mut folded.boxes[place as usize];
        place.before += costs.before;
        place.after += costs.after;
        if let What::Contexts(contexts) = &mut place.what {
            *contexts += 1;
        }
    }
    folded
}

/// The heaviest rows. A row weighs what is below it, too, so that callers are kept before their callees.
fn kept(
    tree: &DiffTree,
    limit: usize,
    always: &[usize],
    parent: &dyn Fn(usize) -> Option<usize>,
) -> Vec<bool> {
    let rows = &tree.rows;
    let mut keep = vec![rows.len() <= limit; rows.len()];
    if rows.len() <= limit {
        return keep;
    }
    for row in always {
        let mut at = Some(*row).filter(|row| *row < rows.len());
        while let Some(row) = at.filter(|row| !keep[*row]) {
            keep[row] = true;
            at = parent(row);
        }
    }
    let own = |cost: f64| if cost.is_finite() { cost.abs() } else { 0.0 };
    let mut weights: Vec<f64> =
        rows.iter().map(|row| own(row.before).max(own(row.after))).collect();
    for row in (0..rows.len()).rev() {
        if let Some(parent) = parent(row) {
            weights[parent] += weights[row];
        }
    }
    let mut others: Vec<usize> = (0..rows.len()).filter(|row| !keep[*row]).collect();
    let room = limit.saturating_sub(rows.len() - others.len());
    if room < others.len() {
        others.select_nth_unstable_by(room, |a, b| {
            weights[*b].total_cmp(&weights[*a]).then(a.cmp(b))
        });
    }
    for row in others.into_iter().take(room) {
        keep[row] = true;
    }
    keep
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_analysis::{DiffRow, Fate};

    fn tree(rows: &[(Option<u32>, f64, f64)]) -> DiffTree {
        let row = |(parent, before, after): &(Option<u32>, f64, f64)| DiffRow {
            parent: *parent,
            function: 0,
            before: *before,
            after: *after,
            fate: Fate::Kept,
        };
        DiffTree { functions: Vec::new(), rows: rows.iter().map(row).collect() }
    }

    /// A line per box: caller, what, own costs.
    fn drawn(folded: &Folded) -> Vec<String> {
        let parent = |parent: Option<u32>| parent.map_or("-".to_owned(), |row| row.to_string());
        (folded.boxes.iter())
            .map(|b| format!("{} {:?} {} {}", parent(b.parent), b.what, b.before, b.after))
            .collect()
    }

    #[test]
    fn small_contexts_share_a_box_and_lose_nothing() {
        let tree = tree(&[
            (None, 1.0, 1.0),
            (Some(0), 50.0, 90.0),
            (Some(0), 1.0, 2.0),
            (Some(2), 3.0, 0.0),
            (Some(0), 0.5, 0.5),
            (Some(1), 0.0, 0.25),
        ]);
        let all = fold(&tree, 6, &[]);
        assert_eq!((all.boxes.len(), all.contexts), (6, 0));
        let some = fold(&tree, 2, &[]);
        assert_eq!(
            drawn(&some),
            ["- Row(0) 1 1", "0 Row(1) 50 90", "0 Contexts(3) 4.5 2.5", "1 Contexts(1) 0 0.25"]
        );
        assert_eq!(some.place, [0, 1, 2, 2, 2, 3]);
        assert_eq!((some.contexts, some.before, some.after), (4, 4.5, 2.75));
    }

    #[test]
    fn suspects_are_drawn_however_small() {
        let tree = tree(&[
            (None, 1.0, 1.0),
            (Some(0), 50.0, 90.0),
            (Some(0), 1.0, 2.0),
            (Some(2), 3.0, 0.0),
        ]);
        let folded = fold(&tree, 2, &[3]);
        assert_eq!(
            drawn(&folded),
            ["- Row(0) 1 1", "0 Contexts(1) 50 90", "0 Row(2) 1 2", "2 Row(3) 3 0"]
        );
    }
}
