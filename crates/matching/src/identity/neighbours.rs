//! Functions that are one by whom they call, who calls them and where they stand between others.
//!
//! Each open function has as features the classes of its callers and callees; every match makes a feature of those that
//! had none, so matches spread from what names settled into what they did not. A round scores candidates that share a
//! feature and takes those that are each other's best by a margin. The surest come first: the bar starts high and is
//! lowered only when nobody passes it any more.

mod features;
mod score;

use hashbrown::HashMap;
use perfblame_cct::{Side, Sides};

use super::Why;
use super::builds::match_same_builds;
use super::call_graph::CallGraph;
use super::functions::SourcePlace;
use super::places::{Places, like_name};
use super::work::{FunctionRow, NONE, Work};
use crate::{SideTree, Wanted};
use features::Features;
use score::{Evidence, Scale, Scored, score};

/// Bars, each kept until nobody passes it.
const BARS: [f64; 4] = [0.8, 0.65, 0.5, 0.4];

/// How far the best must be ahead of the next.
const MARGIN: f64 = 0.08;

/// What functions that are matched by order must score at least.
const LEAST_IN_ORDER: f64 = 0.3;

/// Rounds in all; matches spread by one call a round.
const MOST_ROUNDS: usize = 48;

/// Candidates are looked for among so many functions at most that share a feature: a caller of hundreds tells nothing.
const MOST_SHARING: usize = 48;

/// Candidates that one function proposes.
const MOST_CANDIDATES: usize = 24;

/// Comparisons in all: so many, and some more for each edge of the call graph.
const WORK: usize = 20_000_000;
const WORK_OF_EDGE: usize = 200;

pub(super) fn match_neighbours(
    work: &mut Work<'_>,
    sides: Sides<&SideTree<'_>>,
    wanted: Wanted<'_>,
) {
    let graphs = Sides::of(|side| CallGraph::of(work, side, sides[side]));
    match_same_builds(work, &graphs);
    let edges: usize = graphs.iter().map(|graph| graph.callers.len() + graph.callees.len()).sum();
    let mut budget = WORK + WORK_OF_EDGE * edges;
    let mut bars = BARS.iter().peekable();
    let mut last: Vec<Scored> = Vec::new();
    for _ in 0..MOST_ROUNDS {
        if !work.is_anything_open() || !wanted.goes_on() {
            break;
        }
        let places = Places::of(work);
        if places.match_exact(work) > 0 {
            continue;
        }
        let features = Sides::of(|side| Features::of(work, &graphs[side], side));
        let candidates = candidates(work, &features, &places);
        let length = |side: Side, row| features[side].of_row(row).len();
        let pairs = candidates
            .iter()
            .map(|(before, after)| length(Side::Before, *before) + length(Side::After, *after));
        let cost: usize = pairs.sum();
        if cost > budget {
            break;
        }
        budget -= cost;
        let scale = Scale::of(&features);
        let evidence = Evidence { graphs: &graphs, features, scale, places };
        let pairs = candidates.into_iter().enumerate();
        let pairs = pairs.take_while(|(row, _)| !wanted.ends_at(*row)).map(|(_, pair)| pair);
        last = pairs.map(|(before, after)| score(work, &evidence, before, after)).collect();
        while let Some(bar) = bars.peek() {
            if accept(work, &last, **bar) > 0 {
                break;
            }
            bars.next();
        }
        if bars.peek().is_none() {
            if match_in_order(work, &evidence) == 0 {
                break;
            }
            bars = BARS.iter().peekable();
        }
    }
    merge_undecided(work, &last);
}

/// Pairs of open functions worth a look, each once, in order. Each side proposes, so that it does not matter which side
/// is which.
fn candidates(
    work: &Work<'_>,
    features: &Sides<Features>,
    places: &Places,
) -> Vec<(FunctionRow, FunctionRow)> {
    let mut found: Vec<(FunctionRow, FunctionRow)> = Vec::new();
    for side in Side::BOTH {
        let other = &features[side.other()];
        for row in work.open(side) {
            let layers = work.fact(side, row).layers;
            let home = work.home[side][row as usize];
            let mut proposed: Vec<FunctionRow> = Vec::new();
            // Those of the same component first: there, a caller of hundreds elsewhere can tell something.
            for everywhere in [false, true] {
                let mut postings: Vec<_> = (features[side].of_row(row).iter())
                    .map(|(feature, _)| match everywhere {
                        true => other.sharing(*feature),
                        false if home == 0 => &[],
                        false => other.sharing_at_home(*feature, home),
                    })
                    .filter(|sharing| !sharing.is_empty() && sharing.len() <= MOST_SHARING)
                    .collect();
                postings.sort_by_key(|sharing| sharing.len());
                let (mut length, already) = (0, proposed.len());
                for sharing in postings {
                    // Cut between lengths: which of two equally common features has the lower number is chance.
                    if proposed.len() - already >= MOST_CANDIDATES && sharing.len() > length {
                        break;
                    }
                    length = sharing.len();
                    proposed.extend(sharing.iter().map(|(_, _, row)| *row));
                }
            }
            proposed.retain(|row| work.fact(side.other(), *row).layers == layers);
            found.extend(
                proposed
                    .into_iter()
                    .map(|other| if side == Side::Before { (row, other) } else { (other, row) }),
            );
        }
    }
    // Functions of like names in one gap, where there are few of them; their features may be too common to propose them.
    let mut groups: HashMap<_, Sides<Vec<FunctionRow>>> = HashMap::new();
    for side in Side::BOTH {
        for row in work.open(side) {
            let gap = places.gap(side, row);
            if gap != NONE {
                let key = (gap, like_name(work, side, row), work.fact(side, row).layers);
                groups.entry(key).or_default()[side].push(row);
            }
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_unstable();
    for Sides { before, after } in &groups {
        if before.len() * after.len() <= MOST_CANDIDATES * MOST_CANDIDATES {
            for row in before {
                found.extend(after.iter().map(|other| (*row, *other)));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The best and the second best score of each function, by side.
struct Best(Sides<HashMap<FunctionRow, (f64, f64)>>);

impl Best {
    fn of(scored: &[Scored]) -> Self {
        let mut best: Sides<HashMap<FunctionRow, (f64, f64)>> = Sides::default();
        for found in scored {
            for (best, row) in best.iter_mut().zip([found.before, found.after]) {
                let (first, second) = best.entry(row).or_insert((0.0, 0.0));
                if found.score > *first {
                    (*first, *second) = (found.score, *first);
                } else if found.score > *second {
                    *second = found.score;
                }
            }
        }
        Self(best)
    }

    /// What the best and the second best of both functions are.
    fn of_both(&self, found: &Scored) -> Sides<(f64, f64)> {
        let rows = Sides { before: found.before, after: found.after };
        self.0.as_ref().zip(rows).map(|(best, row)| best.get(&row).copied().unwrap_or_default())
    }
}

/// Takes those that are each other's best by a margin and pass the bar; says how many.
fn accept(work: &mut Work<'_>, scored: &[Scored], bar: f64) -> usize {
    let best = Best::of(scored);
    let mut accepted = 0;
    for found in scored.iter().filter(|found| found.score >= bar.max(found.bar)) {
        let is_ahead =
            |(first, second): (f64, f64)| first <= found.score && second + MARGIN <= found.score;
        if best.of_both(found).into_iter().all(is_ahead) {
            work.pair(found.before, found.after, found.why, found.score.min(0.99));
            accepted += 1;
        }
    }
    accepted
}

/// Matches functions in the order of their places where anchors moved apart: of those between the same anchors with
/// like names and the same callers, there must be as many before as after, and they must keep their distances.
fn match_in_order(work: &mut Work<'_>, evidence: &Evidence<'_>) -> usize {
    let places = &evidence.places;
    let mut groups: HashMap<_, Sides<Vec<FunctionRow>>> = HashMap::new();
    for (side, features) in evidence.features.each() {
        for row in work.open(side) {
            let gap = places.gap(side, row);
            let callers = features.callers_of(row);
            if gap != NONE && !places.is_rigid(gap) && !callers.is_empty() {
                let key = (gap, like_name(work, side, row), work.fact(side, row).layers, callers);
                groups.entry(key).or_default()[side].push(row);
            }
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.retain(|rows| rows.before.len() == rows.after.len());
    groups.sort_unstable();
    let mut found = 0;
    for mut group in groups {
        for (side, rows) in group.each_mut() {
            rows.sort_by_key(|row| (work.fact(side, *row).place, *row));
        }
        let Sides { before, after } = &group;
        let pairs = || before.iter().copied().zip(after.iter().copied());
        let likely = pairs()
            .all(|(before, after)| score(work, evidence, before, after).score >= LEAST_IN_ORDER);
        if likely && keep_distances(work, pairs()) {
            for (before, after) in pairs() {
                work.pair(before, after, Why::Place, 0.75);
                found += 1;
            }
        }
    }
    found
}

/// True when from one function to the next it is about as far after as it was before. Where other functions were seen on
/// the two sides, pairs by number are shifted against each other, and distances with them.
fn keep_distances(
    work: &Work<'_>,
    pairs: impl Iterator<Item = (FunctionRow, FunctionRow)>,
) -> bool {
    let places = pairs.filter_map(|(before, after)| {
        Some(Sides {
            before: work.fact(Side::Before, before).place?,
            after: work.fact(Side::After, after).place?,
        })
    });
    let mut last: Option<Sides<SourcePlace>> = None;
    for places in places {
        if let Some(above) = last {
            let is_one_line =
                Side::BOTH.into_iter().all(|side| above[side].line == places[side].line);
            let at =
                |place: SourcePlace| i64::from(if is_one_line { place.column } else { place.line });
            let Sides { before: was, after: is } =
                Sides::of(|side| at(places[side]) - at(above[side]));
            // Two in one place have no order.
            if was.min(is) == 0 || (was - is).abs() * 4 > was.max(is) + 8 {
                return false;
            }
        }
        last = Some(places);
    }
    true
}

/// Namesakes of one component that match each other equally well become one class: nobody can tell them apart, and
/// together they are what they were.
fn merge_undecided(work: &mut Work<'_>, scored: &[Scored]) {
    let least = BARS[BARS.len() - 1];
    let best = Best::of(scored);
    let befores = work.class.before.len();
    // Groups by their first member; functions after are numbered behind those before.
    let mut first: Vec<u32> = (0..(befores + work.class.after.len()) as u32).collect();
    let mut merged = false;
    for found in scored.iter().filter(|found| found.score >= least.max(found.bar)) {
        let are_open =
            work.is_open(Side::Before, found.before) && work.is_open(Side::After, found.after);
        let are_namesakes = like_name(work, Side::Before, found.before)
            == like_name(work, Side::After, found.after)
            && work.home.before[found.before as usize] == work.home.after[found.after as usize];
        let is_near = |(first, _): (f64, f64)| first < found.score + MARGIN;
        if are_open && are_namesakes && best.of_both(found).into_iter().all(is_near) {
            let one = root(&mut first, found.before);
            let other = root(&mut first, befores as u32 + found.after);
            first[one.max(other) as usize] = one.min(other);
            merged = true;
        }
    }
    if !merged {
        return;
    }
    let mut classes: HashMap<u32, u32> = HashMap::new();
    for side in [Side::After, Side::Before] {
        for row in 0..work.class[side].len() as FunctionRow {
            let number = if side == Side::Before { row } else { befores as u32 + row };
            let group = root(&mut first, number);
            // A group starts with a function before, and has one after.
            if work.is_open(side, row) && (group as usize) < befores {
                let class = match classes.get(&group) {
                    Some(class) => *class,
                    None if side == Side::After => work.new_class(),
                    None => continue,
                };
                classes.insert(group, class);
                work.join(side, row, class);
            }
        }
    }
}

/// The first member of the group that `member` is in.
fn root(first: &mut [u32], mut member: u32) -> u32 {
    while first[member as usize] != member {
        first[member as usize] = first[first[member as usize] as usize];
        member = first[member as usize];
    }
    member
}
