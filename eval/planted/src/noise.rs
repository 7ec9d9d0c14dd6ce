//! How runs of one program differ: the run model.
//!
//! A run costs in each context what is typical there, times
//! - how fast the machine happens to be (one factor for the run; sometimes one run of a side is slower by 10 to 20 %),
//! - how the function happens to do (one factor for all contexts of a function: caches, data, layout),
//! - how the context happens to do,
//!
//! while garbage collection and idle time vary strongly, and what a callback is called from varies with the order in
//! which events arrive: a few light subtrees hang below one caller in some runs and below another in others. What the
//! profiler then sees are samples, scattered more than Poisson since they come in bursts. Every level is drawn per case
//! from a range, and the same for both sides: they are the same machine.

use perfblame_cct::Sides;

use crate::program::Program;
use crate::random::Random;

/// The levels of a case.
#[derive(Clone, Debug)]
pub struct Noise {
    /// Sigma of the machine's speed from run to run.
    pub machine: f64,
    /// Sigma of each function's factor.
    pub function: f64,
    /// Sigma of each context's factor.
    pub context: f64,
    /// Sigma of garbage collection and idle time.
    pub pseudo: f64,
    /// Variance of sample counts over their mean.
    pub burst: f64,
    /// Samples of a typical run, idle ones not counted.
    pub samples: f64,
    /// Sigma of the number of samples from run to run, where the file says what a sample stands for.
    pub unequal: f64,
    /// The chance that one run of a side is an outlier.
    pub outlier: f64,
    /// How far siblings stray from their usual order.
    pub order: f64,
    /// Subtrees that sometimes hang elsewhere: (top, other caller, how often).
    pub stray: Vec<(usize, usize, f64)>,
    /// How much work a run before and after did, when that differs and is told.
    pub work: Option<Sides<f64>>,
}

/// The ranges that levels are drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Ranges {
    pub machine: (f64, f64),
    pub function: (f64, f64),
    pub context: (f64, f64),
    pub pseudo: (f64, f64),
    pub burst: (f64, f64),
    pub samples: (f64, f64),
    pub unequal: (f64, f64),
    pub outlier: f64,
    pub order: (f64, f64),
    pub strays: usize,
    pub work: f64,
}

impl Default for Ranges {
    fn default() -> Self {
        Self {
            machine: (0.03, 0.05),
            function: (0.03, 0.07),
            context: (0.0, 0.1),
            pseudo: (0.2, 0.5),
            burst: (1.0, 1.5),
            samples: (500.0, 20_000.0),
            unequal: (0.0, 0.3),
            outlier: 0.15,
            order: (0.0, 1.0),
            strays: 8,
            work: 0.1,
        }
    }
}

impl Ranges {
    /// The levels of one case; nothing hangs elsewhere yet.
    pub fn draw(&self, random: &mut Random) -> Noise {
        let mut level = |range: (f64, f64)| random.between(range.0, range.1);
        let (machine, function) = (level(self.machine), level(self.function));
        let (context, pseudo, burst) = (level(self.context), level(self.pseudo), level(self.burst));
        let (unequal, order) = (level(self.unequal), level(self.order));
        let samples = random.log_between(self.samples.0, self.samples.1);
        let work = random.chance(self.work).then(|| Sides::of(|_| random.between(800.0, 1200.0)));
        let (stray, outlier) = (Vec::new(), self.outlier);
        Noise {
            machine,
            function,
            context,
            pseudo,
            burst,
            samples,
            unequal,
            outlier,
            order,
            stray,
            work,
        }
    }

    /// Light subtrees and another caller that has no such callee yet.
    pub fn strays(&self, program: &Program, random: &mut Random) -> Vec<(usize, usize, f64)> {
        let inclusive = program.inclusive();
        let total = program.total();
        let children = program.children();
        let plantable = program.plantable();
        let mut strays: Vec<(usize, usize, f64)> = Vec::new();
        for _ in 0..random.below(self.strays + 1) {
            let (Some(top), Some(caller)) = (random.pick(&plantable), random.pick(&plantable))
            else {
                break;
            };
            let (top, caller) = (*top, *caller);
            let light = inclusive[top] < 0.01 * total;
            let function = program.nodes[top].function;
            let taken = |node: &usize| program.nodes[*node].function == function;
            let apart =
                !program.path(caller).contains(&top) && program.nodes[top].parent != Some(caller);
            let free = !children[caller].iter().any(taken);
            let alone = strays.iter().all(|(other, to, _)| {
                !program.path(top).contains(other)
                    && !program.path(*other).contains(&top)
                    && !program.path(caller).contains(other)
                    && !program.path(*to).contains(&top)
                    && (*to != caller || program.nodes[*other].function != function)
            });
            if light && apart && free && alone && program.nodes[top].parent.is_some() {
                strays.push((top, caller, random.between(0.2, 0.8)));
            }
        }
        strays
    }
}

/// What a profiler saw of one run.
pub struct RunOf {
    /// The program as it ran: callers, callees in the order they were first seen.
    pub parent: Vec<Option<usize>>,
    /// Contexts with a sample at or below them, callers first.
    pub order: Vec<usize>,
    /// Samples by context.
    pub samples: Vec<u64>,
    /// What one sample stands for, in nanoseconds.
    pub period: i64,
}

/// What one sample stands for when it stands for the usual time.
const PERIOD: f64 = 1_000_000.0;

/// Runs of one side. `tells_period` is false for files that only count: their runs all sample alike. `typical` is the
/// cost of a typical run of the program before, so that slower means more samples.
pub fn runs(
    program: &Program,
    noise: &Noise,
    (count, work): (usize, f64),
    (typical, tells_period): (f64, bool),
    random: &mut Random,
) -> Vec<RunOf> {
    let outlier = random.chance(noise.outlier).then(|| random.below(count));
    (0..count)
        .map(|number| {
            let mut speed = random.factor(noise.machine) * work;
            if outlier == Some(number) {
                speed *= random.between(1.1, 1.2);
            }
            let sampling = if tells_period { random.factor(noise.unequal) } else { 1.0 };
            one_run(program, noise, speed * sampling * noise.samples / typical.max(1e-9), random)
                .with_period(PERIOD / sampling)
        })
        .collect()
}

impl RunOf {
    fn with_period(self, period: f64) -> Self {
        Self { period: period.round().max(1.0) as i64, ..self }
    }
}

fn one_run(program: &Program, noise: &Noise, rate: f64, random: &mut Random) -> RunOf {
    let functions: Vec<f64> = (program.functions.iter())
        .map(|function| {
            random.factor(if function.is_pseudo() { noise.pseudo } else { noise.function })
        })
        .collect();
    let samples: Vec<u64> = (program.nodes.iter())
        .map(|node| {
            if node.weight <= 0.0 {
                return 0;
            }
            let factor = functions[node.function] * random.factor(noise.context);
            random.samples(node.weight * factor * rate, noise.burst)
        })
        .collect();
    let mut parent: Vec<Option<usize>> = program.nodes.iter().map(|node| node.parent).collect();
    for (top, caller, often) in &noise.stray {
        if random.chance(*often) {
            parent[*top] = Some(*caller);
        }
    }
    let order = order(program, &parent, &samples, noise.order, random);
    RunOf { parent, order, samples, period: 1 }
}

/// Contexts with samples at or below them, callers first, siblings about in their usual order.
fn order(
    program: &Program,
    parent: &[Option<usize>],
    samples: &[u64],
    stray: f64,
    random: &mut Random,
) -> Vec<usize> {
    let mut seen = vec![false; parent.len()];
    for (row, count) in samples.iter().enumerate() {
        let mut node = Some(row).filter(|_| *count > 0);
        while let Some(row) = node.filter(|row| !seen[*row]) {
            seen[row] = true;
            node = parent[row];
        }
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); parent.len() + 1];
    for row in (0..parent.len()).filter(|row| seen[*row]) {
        children[parent[row].unwrap_or(parent.len())].push(row);
    }
    for siblings in &mut children {
        let usual = |row: &usize| program.nodes[*row].place;
        siblings.sort_by(|a, b| usual(a).total_cmp(&usual(b)).then(a.cmp(b)));
        let mut places: Vec<(f64, usize)> = (siblings.iter().enumerate())
            .map(|(place, row)| (stray.mul_add(random.normal(), place as f64), *row))
            .collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        *siblings = places.into_iter().map(|(_, row)| row).collect();
    }
    let mut order = Vec::new();
    let mut todo: Vec<usize> = children[parent.len()].iter().rev().copied().collect();
    while let Some(node) = todo.pop() {
        order.push(node);
        todo.extend(children[node].iter().rev());
    }
    order
}
