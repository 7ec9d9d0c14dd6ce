//! Functions of scripts that are one by their code: two builds of a script, with other names and in another order.
//!
//! All functions of both texts are matched, also those that were never seen on a stack, since they stand around those
//! that were. What has the same shape, and no other has it, is one, with everything inside of it. What is left is
//! matched below functions that are one: by shape, by what it names (literals, properties), and at last by standing
//! between the same neighbours. Nearly linear: shapes and what functions name are looked up, and whatever many have in
//! common is not looked at.

use std::sync::Arc;

use hashbrown::HashMap;
use perfblame_cct::{FunctionShape, ScriptShapes, Side, Sides, Symbols};

use super::Why;
use super::functions::Naming;
use super::work::{FunctionRow, NONE, Work};
use crate::SideTree;

/// Functions with fewer tokens look like many others.
const LEAST_SIZE: u32 = 8;

/// Things that so many functions name tell nothing.
const MOST_SHARING: usize = 16;

/// Children of one function that are compared each with each.
const MOST_CHILDREN: usize = 48;

/// How much of what two functions name must be the same, and how far the best must be ahead.
const LEAST_LIKE: f64 = 0.4;
const MARGIN: f64 = 0.1;

/// Which scripts are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    /// Those whose names say nothing: before names are.
    Minified,
    /// All of them, for what names left over.
    All,
}

/// Matches functions by their scripts' texts.
pub(super) fn match_shapes(work: &mut Work<'_>, sides: Sides<&SideTree<'_>>, which: Which) {
    let Sides { before, after } = Sides::of(|side| scripts(work, side, sides[side].symbols));
    let mut homes: Vec<u32> =
        before.keys().filter(|home| after.contains_key(*home)).copied().collect();
    homes.sort_unstable();
    for home in homes {
        let (Some(Some(was)), Some(Some(is))) = (before.get(&home), after.get(&home)) else {
            continue;
        };
        let is_minified = work.functions.minified[home as usize];
        if which == Which::Minified && !is_minified {
            continue;
        }
        let pairs = Matching::of(&was.functions, &is.functions).run();
        take(work, home, Sides { before: was.as_ref(), after: is.as_ref() }, &pairs, which);
    }
}

/// The shapes of each home of a side; none where several scripts share it.
fn scripts(
    work: &Work<'_>,
    side: Side,
    symbols: &Symbols,
) -> HashMap<u32, Option<Arc<ScriptShapes>>> {
    let mut found: HashMap<u32, Option<Arc<ScriptShapes>>> = HashMap::new();
    for (id, function) in symbols.functions() {
        let home = work.functions.facts[side][id.index()].home;
        let Some(shapes) = function.component.and_then(|component| symbols.shapes(component))
        else {
            continue;
        };
        if home == 0 || !work.fact(side, id.index() as FunctionRow).is_used {
            continue;
        }
        found
            .entry(home)
            .and_modify(|known| {
                if known.as_ref().is_some_and(|known| !Arc::ptr_eq(known, shapes)) {
                    *known = None;
                }
            })
            .or_insert_with(|| Some(shapes.clone()));
    }
    found
}

/// Pairs the functions that stand where matched texts start.
fn take(
    work: &mut Work<'_>,
    home: u32,
    shapes: Sides<&ScriptShapes>,
    pairs: &[Pair],
    which: Which,
) {
    let at = Sides::of(|side| {
        let mut at: HashMap<(u32, u32), FunctionRow> = HashMap::new();
        let open: Vec<FunctionRow> = work.open(side).collect();
        for row in open {
            let fact = work.fact(side, row);
            if let Some(place) = fact.place.filter(|_| fact.home == home) {
                // Of two in one place nobody knows which is meant.
                at.entry((place.line, place.column)).and_modify(|one| *one = NONE).or_insert(row);
            }
        }
        at
    });
    for pair in pairs {
        let rows = [(Side::Before, pair.before), (Side::After, pair.after)].map(|(side, row)| {
            let shape = &shapes[side].functions[row as usize];
            at[side].get(&(shape.line, shape.column)).copied().unwrap_or(NONE)
        });
        let [before, after] = rows;
        if before != NONE
            && after != NONE
            && work.fact(Side::Before, before).layers == work.fact(Side::After, after).layers
        {
            let same_name =
                work.fact(Side::Before, before).name == work.fact(Side::After, after).name;
            let chosen = [(Side::Before, before), (Side::After, after)]
                .iter()
                .all(|(side, row)| work.fact(*side, *row).naming == Naming::Chosen);
            // Names that were left say more than what the code looks like.
            if which == Which::Minified && chosen && !same_name {
                continue;
            }
            let why = if same_name && pair.why == Why::Code { Why::Name } else { pair.why };
            work.pair(before, after, why, pair.certainty);
        }
    }
}

/// Two functions of the texts that are one.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Pair {
    before: u32,
    after: u32,
    why: Why,
    certainty: f64,
}

struct Matching<'a> {
    shapes: Sides<&'a [FunctionShape]>,
    /// One past the last function inside, by side and row.
    ends: Sides<Vec<u32>>,
    /// Functions directly inside, by side and row.
    children: Sides<Vec<Vec<u32>>>,
    partner: Sides<Vec<u32>>,
    pairs: Vec<Pair>,
}

impl<'a> Matching<'a> {
    fn of(before: &'a [FunctionShape], after: &'a [FunctionShape]) -> Self {
        let shapes = Sides { before, after };
        let ends = shapes.map(ends);
        let children = shapes.map(|shapes| {
            let mut children = vec![Vec::new(); shapes.len()];
            for (row, shape) in shapes.iter().enumerate() {
                if let Some(children) =
                    shape.parent.and_then(|parent| children.get_mut(parent as usize))
                {
                    children.push(row as u32);
                }
            }
            children
        });
        let partner = shapes.map(|shapes| vec![NONE; shapes.len()]);
        Self { shapes, ends, children, partner, pairs: Vec::new() }
    }

    fn run(mut self) -> Vec<Pair> {
        self.same_code();
        let roots = self.shapes.map(|shapes| {
            (0..shapes.len() as u32)
                .filter(|row| shapes[*row as usize].parent.is_none())
                .collect::<Vec<_>>()
        });
        if let ([before], [after]) = (&roots.before[..], &roots.after[..]) {
            self.pair(*before, *after, Why::Place, 0.95);
        } else {
            self.below(&roots.before, &roots.after);
        }
        let mut done = self.inside(0);
        self.like_code();
        done = self.inside(done);
        // What is found by its neighbours can have something inside that is found by its code.
        let mut rows = 0;
        while rows < self.pairs.len() {
            let Pair { before, after, .. } = self.pairs[rows];
            self.between(before, after);
            rows += 1;
            if rows == self.pairs.len() {
                done = self.inside(done);
            }
        }
        self.pairs
    }

    fn is_open(&self, before: u32, after: u32) -> bool {
        self.partner.before[before as usize] == NONE && self.partner.after[after as usize] == NONE
    }

    fn pair(&mut self, before: u32, after: u32, why: Why, certainty: f64) {
        if self.is_open(before, after) {
            self.partner.before[before as usize] = after;
            self.partner.after[after as usize] = before;
            self.pairs.push(Pair { before, after, why, certainty });
        }
    }

    /// Pairs two functions of one shape with all that is inside of them, which is of one shape too.
    fn pair_whole(&mut self, before: u32, after: u32, certainty: f64) {
        let count = self.ends.before[before as usize] - before;
        if self.ends.after[after as usize] - after != count {
            return self.pair(before, after, Why::Code, certainty);
        }
        for inner in 0..count {
            self.pair(before + inner, after + inner, Why::Code, certainty);
        }
    }

    /// Functions whose shape nobody else has.
    fn same_code(&mut self) {
        let mut found: HashMap<u64, Sides<(u32, u32)>> = HashMap::new();
        for (side, shapes) in self.shapes.each() {
            for (row, shape) in
                shapes.iter().enumerate().filter(|(_, shape)| shape.size >= LEAST_SIZE)
            {
                let (first, count) =
                    &mut found.entry(shape.hash).or_insert(Sides::same((0, 0)))[side];
                *first = row as u32;
                *count += 1;
            }
        }
        for (row, shape) in self.shapes.before.iter().enumerate() {
            if let Some(Sides { before: (_, 1), after: (after, 1) }) = found.get(&shape.hash) {
                self.pair_whole(row as u32, *after, 0.98);
            }
        }
    }

    /// Looks inside of all pairs from `first` on, and of those that are found there; says how many there are then.
    fn inside(&mut self, first: usize) -> usize {
        let mut row = first;
        while row < self.pairs.len() {
            let Pair { before, after, .. } = self.pairs[row];
            let open = |side: Side, of: u32| -> Vec<u32> {
                let children = self.children[side][of as usize].iter().copied();
                children.filter(|row| self.partner[side][*row as usize] == NONE).collect()
            };
            let (was, is) = (open(Side::Before, before), open(Side::After, after));
            self.below(&was, &is);
            row += 1;
        }
        row
    }

    /// Matches what is open below two functions that are one: by shape in order, then by what is named.
    fn below(&mut self, was: &[u32], is: &[u32]) {
        if was.is_empty() || is.is_empty() {
            return;
        }
        let mut by_shape: HashMap<u64, Sides<Vec<u32>>> = HashMap::new();
        let mut order = Vec::new();
        for (side, rows) in [(Side::Before, was), (Side::After, is)] {
            for row in rows {
                let hash = self.shapes[side][*row as usize].hash;
                let slot = by_shape.entry(hash).or_insert_with(|| {
                    order.push(hash);
                    Sides::default()
                });
                slot[side].push(*row);
            }
        }
        for hash in order {
            let Some(Sides { before, after }) = by_shape.get(&hash) else { continue };
            // As many on both sides: the first is the first.
            if before.len() == after.len() {
                let certainty = if before.len() == 1 { 0.95 } else { 0.8 };
                for (before, after) in before.clone().into_iter().zip(after.clone()) {
                    self.pair_whole(before, after, certainty);
                }
            }
        }
        let left = |side: Side, rows: &[u32]| -> Vec<u32> {
            rows.iter().copied().filter(|row| self.partner[side][*row as usize] == NONE).collect()
        };
        let (was, is) = (left(Side::Before, was), left(Side::After, is));
        if was.len() <= MOST_CHILDREN && is.len() <= MOST_CHILDREN {
            let each = was.iter().flat_map(|before| is.iter().map(move |after| (*before, *after)));
            let scored = each.map(|(before, after)| (before, after, self.likeness(before, after)));
            let scored: Vec<_> = scored.filter(|(_, _, score)| *score >= LEAST_LIKE).collect();
            self.accept(&scored);
        }
    }

    /// Matches functions anywhere in the text by the rare things they name.
    fn like_code(&mut self) {
        let mut naming: HashMap<u32, Sides<Vec<u32>>> = HashMap::new();
        for (side, shapes) in self.shapes.each() {
            for (row, shape) in shapes.iter().enumerate() {
                if self.partner[side][row] == NONE {
                    for mark in &shape.sketch {
                        let rows = &mut naming.entry(*mark).or_default()[side];
                        if rows.len() <= MOST_SHARING {
                            rows.push(row as u32);
                        }
                    }
                }
            }
        }
        let mut candidates = Vec::new();
        for (row, shape) in self.shapes.before.iter().enumerate() {
            if self.partner.before[row] != NONE {
                continue;
            }
            for mark in &shape.sketch {
                if let Some(Sides { before, after }) = naming.get(mark)
                    && before.len() <= MOST_SHARING
                    && after.len() <= MOST_SHARING
                {
                    candidates.extend(after.iter().map(|after| (row as u32, *after)));
                }
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        let scored = candidates
            .into_iter()
            .map(|(before, after)| (before, after, self.likeness(before, after)));
        let scored: Vec<_> = scored.filter(|(_, _, score)| *score >= LEAST_LIKE).collect();
        self.accept(&scored);
    }

    /// Takes those that are each other's best by a margin.
    fn accept(&mut self, scored: &[(u32, u32, f64)]) {
        let mut best: Sides<HashMap<u32, (f64, f64)>> = Sides::default();
        for (before, after, score) in scored {
            for (best, row) in best.iter_mut().zip([before, after]) {
                let (first, second) = best.entry(*row).or_insert((0.0, 0.0));
                if score > first {
                    (*first, *second) = (*score, *first);
                } else if score > second {
                    *second = *score;
                }
            }
        }
        for (before, after, score) in scored {
            let is_ahead =
                |(first, second): (f64, f64)| first <= *score && second + MARGIN <= *score;
            let of = |side: Side, row: &u32| best[side].get(row).copied().unwrap_or_default();
            if is_ahead(of(Side::Before, before)) && is_ahead(of(Side::After, after)) {
                self.pair(*before, *after, Why::LikeCode, score.min(0.95));
            }
        }
    }

    /// How much two functions have in common, from 0 to 1: what they name, and how long they are.
    fn likeness(&self, before: u32, after: u32) -> f64 {
        let (was, is) = (&self.shapes.before[before as usize], &self.shapes.after[after as usize]);
        let most = was.sketch.len().max(is.sketch.len());
        if most < 2 {
            return 0.0;
        }
        // Both sketches hold the smallest hashes: the smallest of both together are compared.
        let (mut one, mut other, mut common, mut seen) = (0, 0, 0usize, 0usize);
        while seen < most && one < was.sketch.len() && other < is.sketch.len() {
            seen += 1;
            match was.sketch[one].cmp(&is.sketch[other]) {
                std::cmp::Ordering::Less => one += 1,
                std::cmp::Ordering::Greater => other += 1,
                std::cmp::Ordering::Equal => {
                    common += 1;
                    one += 1;
                    other += 1;
                }
            }
        }
        let all = seen.max(most);
        let lengths = f64::from(was.size.min(is.size) + 4) / f64::from(was.size.max(is.size) + 4);
        common as f64 / all as f64 * (0.7 + 0.3 * lengths)
    }

    /// Matches what stands between the same neighbours inside two functions that are one.
    fn between(&mut self, before: u32, after: u32) {
        let (was, is) = (
            self.children.before[before as usize].clone(),
            self.children.after[after as usize].clone(),
        );
        let place: HashMap<u32, usize> =
            is.iter().enumerate().map(|(at, row)| (*row, at)).collect();
        let mut start: Option<(usize, usize)> = Some((0, 0));
        for at in 0..=was.len() {
            let partner = was.get(at).map(|row| self.partner.before[*row as usize]);
            let end = match partner {
                Some(NONE) => continue,
                Some(partner) => place.get(&partner).copied(),
                None => Some(is.len()),
            };
            if let (Some((from, to)), Some(end)) = (start, end)
                && end >= to
                && at - from == end - to
            {
                for (before, after) in was[from..at].iter().zip(&is[to..end]) {
                    let sizes = [
                        self.shapes.before[*before as usize].size,
                        self.shapes.after[*after as usize].size,
                    ];
                    let alike = sizes[0].min(sizes[1]) + 6 >= sizes[0].max(sizes[1]) / 2;
                    let marks = [
                        &self.shapes.before[*before as usize].sketch,
                        &self.shapes.after[*after as usize].sketch,
                    ];
                    let is_like = marks.iter().any(|marks| marks.len() < 2)
                        || self.likeness(*before, *after) >= LEAST_LIKE / 2.0;
                    if alike && is_like {
                        self.pair(*before, *after, Why::Place, 0.7);
                    }
                }
            }
            start = end.map(|end| (at + 1, end + 1));
        }
    }
}

/// One past the last function inside each function. Functions come in the order of their texts, outer ones first.
fn ends(shapes: &[FunctionShape]) -> Vec<u32> {
    let mut ends: Vec<u32> = (1..=shapes.len() as u32).collect();
    for row in (0..shapes.len()).rev() {
        if let Some(parent) =
            shapes[row].parent.map(|parent| parent as usize).filter(|parent| *parent < row)
        {
            ends[parent] = ends[parent].max(ends[row]);
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Identity;
    use perfblame_cct::{Frame, Function, Grain, Metric, ProfileBuilder, Times, Unit, position};
    use proptest::prelude::*;

    fn function(parent: Option<u32>, hash: u64, size: u32, sketch: &[u32]) -> FunctionShape {
        FunctionShape { line: 1, column: 1, parent, hash, size, sketch: sketch.into() }
    }

    fn pairs(before: &[FunctionShape], after: &[FunctionShape]) -> Vec<(u32, u32, Why)> {
        let found = Matching::of(before, after).run();
        let mut found: Vec<_> =
            found.iter().map(|pair| (pair.before, pair.after, pair.why)).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn other_order_and_an_edit_and_a_newcomer() {
        let before = [
            function(None, 1, 9, &[]),
            function(Some(0), 2, 20, &[1, 2, 3]),
            function(Some(1), 3, 4, &[]),
            function(Some(0), 4, 30, &[10, 11, 12, 13, 14]),
            function(Some(0), 5, 4, &[]),
        ];
        let after = [
            function(None, 101, 9, &[]),
            function(Some(0), 104, 34, &[10, 11, 12, 13, 14, 15]),
            function(Some(0), 5, 4, &[]),
            function(Some(0), 77, 40, &[50, 51]),
            function(Some(0), 2, 20, &[1, 2, 3]),
            function(Some(4), 3, 4, &[]),
        ];
        let expected = [
            (0, 0, Why::Place),
            (1, 4, Why::Code),
            (2, 5, Why::Code),
            (3, 1, Why::LikeCode),
            (4, 2, Why::Code),
        ];
        assert_eq!(pairs(&before, &after), expected);
    }

    #[test]
    fn equal_neighbours_tell_who_stands_between_them() {
        let side = |middle: u64| {
            [
                function(None, 100 + middle, 9, &[]),
                function(Some(0), 2, 20, &[]),
                function(Some(0), middle, 12, &[]),
                function(Some(0), 4, 30, &[]),
            ]
        };
        let found = pairs(&side(3), &side(33));
        assert_eq!(found[2], (2, 2, Why::Place));
    }

    /// A build of a script: names, columns, hashes; all called from the top.
    fn build(functions: &[(&str, u32, u64)]) -> perfblame_cct::Profile {
        let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
        let samples = builder.metric(Metric::sampled("samples", Unit::Count));
        let url = builder.string("http://h/app.js");
        let mut shapes = vec![function(None, 0, 9, &[])];
        for (name, column, hash) in functions {
            let name = builder.string(name);
            let (line, column_at) = (position(1), position(u64::from(*column)));
            let function =
                Function { line, column: column_at, ..Function::named(name).in_component(url) };
            let id = builder.function(function);
            let frame = builder.frame(Frame::of(id));
            let at = builder.root(frame);
            builder.add(at, None, samples, 5);
            let shape = FunctionShape {
                line: 1,
                column: *column,
                parent: Some(0),
                hash: *hash,
                size: 20,
                sketch: [].into(),
            };
            shapes.push(shape);
        }
        shapes[0].hash = functions.iter().fold(1, |sum, (_, _, hash)| sum * 31 + hash);
        builder.symbols.set_shapes(url, Arc::new(ScriptShapes { functions: shapes }));
        builder.finish()
    }

    #[test]
    fn two_minified_builds_are_matched_by_code_and_not_by_name() {
        let before = build(&[("a", 10, 1), ("b", 50, 2), ("c", 90, 3), ("d", 120, 4)]);
        // Other names in another order, and a newcomer.
        let after =
            build(&[("c", 12, 4), ("e", 40, 77), ("a", 80, 3), ("d", 130, 1), ("b", 170, 2)]);
        let weights =
            [&before, &after].map(|side| side.self_values(perfblame_cct::MetricId::new(0)));
        let sides = [(&before, &weights[0]), (&after, &weights[1])]
            .map(|(side, weights)| SideTree { symbols: &side.symbols, tree: &side.tree, weights });
        let identity = Identity::of(&sides[0], &sides[1]);
        let named = |profile: &perfblame_cct::Profile, name: &str| profile.functions_named(name)[0];
        for (was, is) in [("a", "d"), ("b", "b"), ("c", "a"), ("d", "c")] {
            let pair = (identity.before(named(&before, was)), identity.after(named(&after, is)));
            assert_eq!(pair.0, pair.1, "{was} is {is}");
        }
        let new = identity.after(named(&after, "e"));
        assert!(before.symbols.functions().all(|(id, _)| identity.before(id) != new));
        let why = identity.match_of(named(&after, "d")).unwrap();
        assert_eq!(
            why.reason(&before.symbols, &after.symbols),
            "was `a` (same code except for names, 98 % sure)"
        );
    }

    proptest! {
        #[test]
        fn any_two_texts_are_matched_one_to_one(sides in prop::collection::vec(prop::collection::vec((0usize..9, 0u64..6, 0u32..20, prop::collection::vec(0u32..9, 0..4)), 1..20), 2)) {
            let sides: Vec<Vec<FunctionShape>> = sides.into_iter().map(|rows| {
                rows.into_iter().enumerate().map(|(row, (parent, hash, size, mut sketch))| {
                    sketch.sort_unstable();
                    sketch.dedup();
                    function((row > 0).then(|| parent.min(row - 1) as u32), hash, size, &sketch)
                }).collect()
            }).collect();
            let found = pairs(&sides[0], &sides[1]);
            for side in Side::BOTH {
                let mut rows: Vec<u32> = found.iter().map(|pair| if side == Side::Before { pair.0 } else { pair.1 }).collect();
                rows.sort_unstable();
                let count = rows.len();
                rows.dedup();
                prop_assert_eq!(rows.len(), count);
            }
        }
    }
}
