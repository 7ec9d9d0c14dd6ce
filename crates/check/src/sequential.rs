//! Runs until the answer is clear.
//!
//! Whoever looks at the runs again and again until they say something will hear something in the end. So the looks are
//! fixed before the first run: at the least number of runs, then at half as many again each time, up to the most. All
//! looks of all comparisons of a check share one chance of a false alarm, [`FALSE_ALARM`], in equal parts (Bonferroni's
//! bound, which holds however the looks depend on each other): a difference counts at a look when chance would bring it
//! less often than that look's part. That nothing changed is clear when the comparison finds nothing and the interval
//! of the whole change lies within what the workload calls precise.
//!
//! Runs alternate A B B A, so that whatever drifts over time (heat, another program, a cache that fills) meets both
//! sides alike.

use std::thread::JoinHandle;
use std::time::Duration;

use perfblame_analysis::{
    Ask, Diff, DiffError, DiffQuery, DiffTree, GrowingRuns, Verdict, diff_with_tree,
};
use perfblame_cct::{Profile, Side, Sides};

use crate::Failure;

/// How often a check of the same code against itself may say that something changed.
pub const FALSE_ALARM: f64 = 0.05;

/// P-values of small trees are too small by up to a factor of two or so, as how much costs scatter is learnt from few
/// functions. Simulated checks of the same code (in the tests) stay below [`FALSE_ALARM`] with this.
const SAFETY: f64 = 0.2;

/// When to look, and what counts.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Runs of each side before the first look.
    pub min_runs: u32,
    /// Runs of each side at most.
    pub max_runs: u32,
    /// The chance of a false alarm that this comparison may spend.
    pub false_alarm: f64,
    /// Unchanged is clear once the total is known this well, as a part of it.
    pub precision: f64,
    /// What is compared, and how.
    pub query: DiffQuery,
    /// Where users set that.
    pub set_by: SetBy,
}

impl Plan {
    /// Numbers of runs at which the comparison is looked at.
    pub fn looks(&self) -> Vec<u32> {
        let mut looks = vec![self.min_runs.min(self.max_runs)];
        while let Some(last) = looks.last().copied().filter(|last| *last < self.max_runs) {
            let next = last.saturating_mul(3).div_ceil(2).max(last + 1);
            // A look shortly before the last one spends more than it tells.
            let near = next.saturating_mul(6) / 5 >= self.max_runs;
            looks.push(if near { self.max_runs } else { next });
        }
        looks
    }

    /// The part of the false alarm that one look may spend.
    pub fn per_look(&self) -> f64 {
        self.false_alarm * SAFETY / self.looks().len() as f64
    }
}

/// What is left to do after a run: reading its profile. The next run need not wait for it.
pub type Reading = Box<dyn FnOnce() -> Result<Profile, Failure> + Send>;

/// Makes runs.
pub trait Runs {
    /// Makes one, as `number` (from 0) of its side.
    fn run(&mut self, side: Side, number: u32) -> Result<Reading, Failure>;
    /// Whether there is time for one more pair; both sides have `done` runs.
    fn has_time(&mut self, done: u32) -> bool;
    /// Whether the code says that there can be no difference: what changed is not run.
    fn cannot_differ(&mut self, _diff: &Diff, _tree: &DiffTree) -> bool {
        false
    }
    /// The runs were compared.
    fn looked(&mut self, runs: u32, verdict: Verdict, clear: bool);
}

/// The answer, and how it came about.
#[derive(Clone, PartialEq, Debug)]
pub struct Decided {
    /// The comparison of all runs, with the verdict that counts.
    pub diff: Diff,
    /// Both trees as one.
    pub tree: DiffTree,
    /// Why no more runs were made.
    pub ended: Ended,
}

/// Why no more runs were made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The answer is clear.
    Clear,
    /// There are as many as there may be.
    MostRuns,
    /// There was no time for more.
    Budget,
    /// What changed is not run, so that there is nothing to find.
    NotReached,
}

/// Runs of both sides, which grow: a look merges only the runs that came since the one before.
#[derive(Debug, Default)]
pub struct CollectedRuns {
    runs: Sides<GrowingRuns>,
}

impl CollectedRuns {
    /// Adds a run to a side.
    pub fn add(&mut self, side: Side, profile: Profile, name: String) {
        self.runs[side].add(name, profile);
    }

    /// Runs that both sides have.
    pub fn done(&self) -> u32 {
        self.runs.iter().map(GrowingRuns::len).min().unwrap_or(0) as u32
    }

    /// Compares what there is.
    pub fn compare(&mut self, query: &DiffQuery, ask: &Ask) -> Result<(Diff, DiffTree), DiffError> {
        let Sides { before, after } = &mut self.runs;
        before.look(|before| after.look(|after| diff_with_tree(before, after, query, ask)))
    }
}

/// Makes runs of both sides until the answer is clear, or there are enough, or there is no more time. `collected` may
/// hold runs already, as many of each side.
pub fn decide(
    plan: &Plan,
    collected: &mut CollectedRuns,
    runs: &mut dyn Runs,
    ask: &Ask,
) -> Result<Decided, Failure> {
    let looks = plan.looks();
    let most = looks.last().copied().unwrap_or(1);
    let mut done = collected.done();
    let mut next = looks.iter().copied().find(|look| *look >= done).unwrap_or(most);
    // What is stored was looked at when it was made: this is the same look again.
    let mut look_now = done >= plan.min_runs;
    let mut unread = Unread::default();
    loop {
        let out_of_time = done >= 1 && done < most && !runs.has_time(done);
        if look_now || done >= next || out_of_time {
            unread.read(collected)?;
            let (diff, tree) = collected
                .compare(&plan.query, ask)
                .map_err(|error| cannot_compare(error, plan.set_by))?;
            let (mut verdict, clear) = judge(plan, &diff);
            let cannot_differ = !clear && done >= plan.min_runs && runs.cannot_differ(&diff, &tree);
            if cannot_differ {
                verdict = Verdict::Unchanged;
            }
            runs.looked(done, verdict, clear || cannot_differ);
            let ended = match (clear, done >= most) {
                (true, _) => Some(Ended::Clear),
                _ if cannot_differ => Some(Ended::NotReached),
                (_, true) => Some(Ended::MostRuns),
                _ => out_of_time.then_some(Ended::Budget),
            };
            if let Some(ended) = ended {
                return Ok(Decided { diff: Diff { verdict, ..diff }, tree, ended });
            }
            look_now = false;
            next = looks.iter().copied().find(|look| *look > done).unwrap_or(most);
        }
        for side in order(done) {
            let name = format!("{} run {}", revision_name(side), done + 1);
            let reading = runs.run(side, done)?;
            unread.read(collected)?;
            unread.begin(side, name, reading);
        }
        done += 1;
    }
}

/// The profile of the last run, read while the next run is made: reading takes a part of a second, which would add up.
/// A machine with one processor reads at once, since it would take the time from the run.
#[derive(Default)]
struct Unread {
    last: Option<(Side, String, Began)>,
}

enum Began {
    Elsewhere(JoinHandle<Result<Profile, Failure>>),
    Here(Reading),
}

impl Unread {
    fn begin(&mut self, side: Side, name: String, reading: Reading) {
        let several = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        let began = if several {
            Began::Elsewhere(std::thread::spawn(reading))
        } else {
            Began::Here(reading)
        };
        self.last = Some((side, name, began));
    }

    fn read(&mut self, collected: &mut CollectedRuns) -> Result<(), Failure> {
        let Some((side, name, began)) = self.last.take() else { return Ok(()) };
        let profile = match began {
            Began::Here(reading) => reading(),
            Began::Elsewhere(thread) => {
                thread.join().unwrap_or_else(|_| Err(Failure::new("reading a profile failed", "")))
            }
        };
        collected.add(side, profile?, name);
        Ok(())
    }
}

impl Drop for Unread {
    /// Whoever stops waits for what was begun, so that nothing is written after the end.
    fn drop(&mut self) {
        if let Some((_, _, Began::Elsewhere(thread))) = self.last.take() {
            let _ = thread.join();
        }
    }
}

/// A B, then B A, then A B.
pub fn order(pair: u32) -> [Side; 2] {
    let mut order = Side::BOTH;
    if !pair.is_multiple_of(2) {
        order.reverse();
    }
    order
}

/// What a check calls the revision of a side.
pub fn revision_name(side: Side) -> &'static str {
    match side {
        Side::Before => "base",
        Side::After => "head",
    }
}

/// What a comparison says, held against what a look may spend; and whether that is clear.
fn judge(plan: &Plan, diff: &Diff) -> (Verdict, bool) {
    match diff.verdict {
        Verdict::Regressed | Verdict::Improved => {
            let clear = chance(diff).is_some_and(|chance| chance <= plan.per_look());
            (if clear { diff.verdict } else { Verdict::Inconclusive }, clear)
        }
        Verdict::Unchanged => (Verdict::Unchanged, is_precise(plan, diff)),
        Verdict::Inconclusive => (Verdict::Inconclusive, false),
    }
}

/// How often runs of the same code would look like this: what the strongest suspect says, the total where there is none.
pub fn chance(diff: &Diff) -> Option<f64> {
    let found = match diff.verdict {
        Verdict::Improved => &diff.improvements,
        _ => &diff.suspects,
    };
    let suspects = found.iter().filter_map(|suspect| suspect.p_value);
    suspects.min_by(f64::total_cmp).or(diff.p_value)
}

fn is_precise(plan: &Plan, diff: &Diff) -> bool {
    let total = diff.before.total.median.max(diff.after.total.median);
    let least = plan.query.min_delta.map_or(0.0, |least| least.of(total));
    let within = (plan.precision * total).max(least);
    diff.change.low >= -within && diff.change.high <= within
}

/// Where users set what is compared. Messages name it as they typed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetBy {
    /// By options of the command line.
    Options,
    /// By keys of perfblame.toml.
    Config,
}

impl SetBy {
    fn min_delta(self) -> &'static str {
        match self {
            Self::Options => "`--min-delta`",
            Self::Config => "`min-delta` in perfblame.toml",
        }
    }

    fn metric(self) -> &'static str {
        match self {
            Self::Options => "`--metric`",
            Self::Config => "`--metric`, or `metric` in perfblame.toml",
        }
    }
}

/// Why runs cannot be compared, in words.
pub fn cannot_compare(error: DiffError, set_by: SetBy) -> Failure {
    if matches!(error, DiffError::Cancelled) {
        return Failure::cancelled();
    }
    if let DiffError::Threshold { given, metric, unit } = &error {
        let why = format!("it is {given}, but {metric} is measured in {}", unit.name());
        return Failure::new(format!("{} does not fit the metric", set_by.min_delta()), why)
            .help("a percentage or a number without a unit always works");
    }
    let help = format!("choose a metric that both sides have: {}", set_by.metric());
    Failure::new("the runs cannot be compared", error).help(help)
}

/// What is left of a budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// For all runs.
    pub whole: Duration,
    /// What they took.
    pub spent: Duration,
}

impl Budget {
    /// Whether one more pair fits, as long as those before.
    pub fn fits(self, done: u32) -> bool {
        let pair = self.spent / done.max(1);
        self.spent.saturating_add(pair) <= self.whole
    }
}

#[cfg(test)]
mod tests;
