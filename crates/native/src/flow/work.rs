//! How much code does from one place of a function to another, guessed as compilers guess it that have no profile.
//!
//! Control is taken for a random walk: a loop is left once in eight rounds, a branch to what never returns is hardly
//! ever taken, and of others nothing is known. That gives each way from a place to a goal its odds, and so the
//! instructions that are executed on the way, if the goal is reached at all. What is called counts as much as it does
//! itself from its start to its end.
//!
//! The unknowns are one pair for each turn: the odds to reach the goal from there, and the work on the way weighted by
//! them. Their equations are solved from the end of the function to its start, again and again until they hold; as
//! most ways lead forwards, few rounds are needed.

use perfblame_cct::Work;

use super::loops::{self, Loops};
use super::{FunctionFlow, JumpKind, Turn};

/// Where work ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Destination {
    /// Where the function returns.
    Return,
    /// At a place: the call that returns there or the place itself. A call is the one that is meant only by these odds,
    /// else it is as good as any and things go on.
    Place(u64, f64),
}

/// Instructions by how many loops they are in.
type Amounts = [f64; Work::DEPTHS];

/// So seldom is gone where nothing returns from.
const SELDOM: f64 = 1.0 / 64.0;

/// Bytes of an instruction, and instructions that a call costs beside what is called.
const BYTES: f64 = 4.0;
const CALLING: f64 = 4.0;

/// What somebody else's function does, of which nothing is known: a little, and perhaps much.
pub const UNKNOWN: Work = Work { amounts: [40.0, 0.0, 0.0, 0.0], odds: 1.0 };

/// Adds what is done within so many loops.
fn add(sum: &mut Amounts, more: &Amounts, depth: usize, times: f64) {
    for (within, amount) in more.iter().enumerate() {
        sum[(depth + within).min(Work::DEPTHS - 1)] += times * amount;
    }
}

/// The equations are solved when a round changes nothing by more than this share, or after so many rounds.
const EXACT: f64 = 1e-3;
const SWEEPS: usize = 96;

/// Finding loops and edges takes as long as so many rounds, and what a turn takes in a round as long as so many of the
/// steps in which work on code is counted.
const FINDING: usize = 16;
const STEP: u64 = 2;

/// Where an edge leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum To {
    Row(u32),
    /// To any place that nothing leads to by name.
    Anywhere,
    /// Out of the function.
    Out,
    /// To the goal.
    Goal,
    /// Nowhere.
    Dead,
}

#[derive(Clone, Copy, Debug)]
struct FlowEdge {
    to: To,
    odds: f64,
    work: Amounts,
}

const NOTHING: Amounts = [0.0; Work::DEPTHS];
const NOWHERE: FlowEdge = FlowEdge { to: To::Dead, odds: 0.0, work: NOTHING };

/// The odds to reach the goal from somewhere, and the work on the way weighted by them.
type Found = (f64, Amounts);

impl FunctionFlow {
    /// What is to be done from a place, or from the start, to a goal; `called` says what functions do. None where no way
    /// leads there. Adds what it costs to `spent`.
    pub fn work(
        &self,
        from: Option<u64>,
        goal: Destination,
        called: impl Fn(u64) -> Work,
        spent: &mut u64,
    ) -> Option<Work> {
        let mut graph = FlowGraph::new(self, goal, called);
        let start = graph.edge(from.unwrap_or(self.start), 1.0, NOTHING);
        let sweeps = graph.solve();
        let rounds = (sweeps + FINDING) as u64;
        *spent = spent.saturating_add(self.turns().saturating_mul(rounds) * STEP + 1);
        let (odds, weighted) = graph.through(&start);
        let amounts = weighted.map(|amount| amount / odds);
        (odds > 0.0).then_some(Work { amounts, odds: odds.min(1.0) })
    }
}

struct FlowGraph<'a> {
    flow: &'a FunctionFlow,
    goal: Destination,
    /// The call that is the goal.
    goal_row: Option<usize>,
    edges: Vec<[FlowEdge; 2]>,
    /// Where control may go that goes anywhere.
    places: Vec<u64>,
    anywhere: Vec<FlowEdge>,
    /// By row.
    loops: Vec<Loops>,
    found: Vec<Found>,
    found_anywhere: Found,
}

impl<'a> FlowGraph<'a> {
    fn new(flow: &'a FunctionFlow, goal: Destination, called: impl Fn(u64) -> Work) -> Self {
        let goal_row = match goal {
            Destination::Return => None,
            Destination::Place(address, _) => flow.call_before(address),
        };
        let mut graph = Self {
            flow,
            goal,
            goal_row,
            edges: Vec::with_capacity(flow.turns.len()),
            places: anywhere(flow),
            anywhere: Vec::new(),
            loops: Vec::new(),
            found: vec![(0.0, NOTHING); flow.turns.len()],
            found_anywhere: (0.0, NOTHING),
        };
        graph.loops = graph.find_loops();
        for (turn, loops) in flow.turns.iter().zip(&graph.loops) {
            let edges = graph.edges_of(turn, *loops, &called);
            graph.edges.push(edges);
        }
        graph.anywhere =
            graph.places.iter().map(|place| graph.edge(*place, 1.0, NOTHING)).collect();
        let odds = 1.0 / graph.anywhere.len().max(1) as f64;
        graph.anywhere.iter_mut().for_each(|edge| edge.odds = odds);
        graph
    }

    /// The row that an address leads to.
    fn row(&self, address: u64) -> Option<usize> {
        self.flow.turn_from(address).filter(|_| self.is_inside(address))
    }

    fn find_loops(&self) -> Vec<Loops> {
        let rows = self.flow.turns.len() as u32;
        let row = |address: u64| self.row(address).map(|row| row as u32);
        let next = |turn: &Turn| match turn.kind {
            JumpKind::Call(_) => row(turn.next).into_iter().collect(),
            JumpKind::Jump(target) => row(target).into_iter().collect(),
            JumpKind::Branch(target) => row(target).into_iter().chain(row(turn.next)).collect(),
            JumpKind::Anywhere => vec![rows],
            JumpKind::Away | JumpKind::LastCall(_) | JumpKind::End => Vec::new(),
        };
        let mut next: Vec<Vec<u32>> = self.flow.turns.iter().map(next).collect();
        next.push(self.places.iter().filter_map(|place| row(*place)).collect());
        loops::find(&next)
    }

    /// The edge to an address.
    fn edge(&self, address: u64, odds: f64, mut work: Amounts) -> FlowEdge {
        let flow = self.flow;
        let row = flow.turn_from(address).filter(|_| address >= flow.start);
        let Some((row, turn)) = row.and_then(|row| Some((row, flow.turns.get(row)?))) else {
            return NOWHERE;
        };
        if let Destination::Place(place, _) = self.goal
            && self.goal_row.is_none()
            && (address..=turn.at).contains(&place)
        {
            work[self.depth(row)] += (place - address) as f64 / BYTES;
            return FlowEdge { to: To::Goal, odds, work };
        }
        work[self.depth(row)] += (turn.at - address) as f64 / BYTES + 1.0;
        FlowEdge { to: To::Row(row as u32), odds, work }
    }

    fn depth(&self, row: usize) -> usize {
        self.loops.get(row).map_or(0, |loops| loops.depth).min(Work::DEPTHS - 1)
    }

    fn is_inside(&self, address: u64) -> bool {
        let end = self.flow.turns.last().map_or(self.flow.start, |turn| turn.at);
        (self.flow.start..=end).contains(&address)
    }

    fn edges_of(&self, turn: &Turn, loops: Loops, called: &impl Fn(u64) -> Work) -> [FlowEdge; 2] {
        let of = |target: Option<u64>, own: f64| {
            let called = target.map_or(UNKNOWN, called);
            let mut work = NOTHING;
            work[loops.depth.min(Work::DEPTHS - 1)] += own;
            add(&mut work, &called.amounts, loops.depth, 1.0);
            (called.odds, work)
        };
        let out = |odds: f64, (returns, work): Found| FlowEdge {
            to: To::Out,
            odds: odds * returns,
            work,
        };
        let to = |target: u64, odds: f64| {
            if self.is_inside(target) {
                self.edge(target, odds, NOTHING)
            } else {
                // What jumps to another function returns with it.
                out(odds, of(Some(target), 0.0))
            }
        };
        let next = |odds: f64, (returns, work): Found| self.edge(turn.next, odds * returns, work);
        match turn.kind {
            JumpKind::Call(target) => [next(1.0, of(target, CALLING)), NOWHERE],
            JumpKind::Jump(target) => [to(target, 1.0), NOWHERE],
            JumpKind::Branch(target) => {
                let odds = self.odds(turn, target, loops.innermost, called);
                [to(target, odds), next(1.0 - odds, (1.0, NOTHING))]
            }
            JumpKind::Away => [out(1.0, of(None, 0.0)), NOWHERE],
            JumpKind::Anywhere => {
                [FlowEdge { to: To::Anywhere, odds: 1.0, work: NOTHING }, NOWHERE]
            }
            JumpKind::LastCall(_) => [NOWHERE, NOWHERE],
            JumpKind::End => [out(1.0, (1.0, NOTHING)), NOWHERE],
        }
    }

    /// How likely a branch is taken.
    fn odds(&self, turn: &Turn, target: u64, innermost: u32, called: &impl Fn(u64) -> Work) -> f64 {
        if innermost > 0 {
            let stays = |address: u64| {
                let loops = self.row(address).and_then(|row| self.loops.get(row));
                loops.is_some_and(|loops| loops.innermost == innermost)
            };
            match (stays(target), stays(turn.next)) {
                (true, false) => return 1.0 - 1.0 / Work::ROUNDS,
                (false, true) => return 1.0 / Work::ROUNDS,
                _ => {}
            }
        }
        match (self.is_fatal(target, called), self.is_fatal(turn.next, called)) {
            (true, false) => SELDOM,
            (false, true) => 1.0 - SELDOM,
            _ => 0.5,
        }
    }

    /// Nothing returns from there.
    fn is_fatal(&self, address: u64, called: &impl Fn(u64) -> Work) -> bool {
        match self.row(address).and_then(|row| self.flow.turns.get(row)).map(|turn| turn.kind) {
            Some(JumpKind::LastCall(_)) => true,
            Some(JumpKind::Call(Some(target))) => called(target).odds <= 0.0,
            _ => false,
        }
    }

    /// What is found along an edge.
    fn through(&self, edge: &FlowEdge) -> Found {
        let (odds, mut weighted) = match edge.to {
            To::Row(row) => self.found.get(row as usize).copied().unwrap_or((0.0, NOTHING)),
            To::Anywhere if self.anywhere.is_empty() => self.out(),
            To::Anywhere => self.found_anywhere,
            To::Out => self.out(),
            To::Goal => (1.0, NOTHING),
            To::Dead => (0.0, NOTHING),
        };
        add(&mut weighted, &edge.work, 0, odds);
        (edge.odds * odds, weighted.map(|amount| edge.odds * amount))
    }

    fn out(&self) -> Found {
        (f64::from(u8::from(self.goal == Destination::Return)), NOTHING)
    }

    fn sum(&self, edges: &[FlowEdge]) -> Found {
        let mut sum = (0.0, NOTHING);
        for edge in edges.iter().filter(|edge| edge.odds > 0.0) {
            let (odds, weighted) = self.through(edge);
            sum.0 += odds;
            add(&mut sum.1, &weighted, 0, 1.0);
        }
        sum
    }

    fn behind(&self, row: usize) -> Found {
        let (odds, weighted) = self.edges.get(row).map_or((0.0, NOTHING), |two| self.sum(two));
        match self.goal {
            Destination::Place(_, meant) if self.goal_row == Some(row) => {
                (meant + (1.0 - meant) * odds, weighted.map(|amount| (1.0 - meant) * amount))
            }
            _ => (odds, weighted),
        }
    }

    /// Solves the equations, and says in how many rounds.
    fn solve(&mut self) -> usize {
        for sweep in 1..=SWEEPS {
            let mut changed = 0.0_f64;
            for row in (0..self.edges.len()).rev() {
                let now = self.behind(row);
                changed = changed.max(change(&self.found[row], &now));
                self.found[row] = now;
            }
            let now = self.sum(&self.anywhere);
            changed = changed.max(change(&self.found_anywhere, &now));
            self.found_anywhere = now;
            if changed < EXACT {
                return sweep;
            }
        }
        SWEEPS
    }
}

/// By what share something grew.
fn change(before: &Found, now: &Found) -> f64 {
    let all = |found: &Found| found.1.iter().sum::<f64>();
    let share = |before: f64, now: f64| (now - before) / now.max(f64::MIN_POSITIVE);
    share(before.0, now.0).max(share(all(before), all(now)))
}

/// What lies behind a turn that does not go on to it, and is not led to by name, is where tables of addresses lead.
fn anywhere(flow: &FunctionFlow) -> Vec<u64> {
    if !flow.turns.iter().any(|turn| turn.kind == JumpKind::Anywhere) {
        return Vec::new();
    }
    let target = |turn: &Turn| match turn.kind {
        JumpKind::Jump(target) | JumpKind::Branch(target) => Some(target),
        _ => None,
    };
    let mut named: Vec<u64> = flow.turns.iter().filter_map(target).collect();
    named.sort_unstable();
    let ends = |turn: &&Turn| !matches!(turn.kind, JumpKind::Call(_) | JumpKind::Branch(_));
    let behind = flow.turns.iter().filter(ends).map(|turn| turn.next);
    let places = behind.filter(|place| named.binary_search(place).is_err());
    places.filter(|place| flow.turn_from(*place).is_some()).collect()
}
