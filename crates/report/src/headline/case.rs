//! Which of the possible answers this one is. What is written about it follows from the case alone.

use perfblame_analysis::{
    Diff, FunctionChange, Method, RuntimeCost, Suspect, SuspectKind, Verdict, is_busy,
};
use perfblame_cct::Layer;

/// A total that changed by less than this part is about the same, unless the change is certain.
const ABOUT: f64 = 0.1;

/// A total that changed by less than that is certain to have changed when it is this unlikely to be noise.
const CERTAIN: f64 = 0.01;

/// With one run on each side nobody knows the noise, nor that so many runs are needed.
const IMAGINED: u32 = 20;

/// Runs that measure the noise.
const FEW: u32 = 5;

/// What went the other way is worth a word from this part of what functions changed by.
const WORTH: f64 = 0.1;

/// The runtime explains a change that no function explains from this part on.
const MOSTLY: f64 = 0.5;

/// Functions that hold this part of the cost have to have changed alike before everything has.
const NEARLY_ALL: f64 = 0.8;

/// A total that changed by more than this part and still may be noise is not called unchanged without a word.
const LARGE: f64 = 0.25;

/// Where the cost went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Slower, or more of what is counted.
    More,
    /// Faster, or less of it.
    Less,
}

impl Way {
    pub(super) fn of(change: f64) -> Self {
        if change < 0.0 { Self::Less } else { Self::More }
    }

    fn sign(self) -> f64 {
        match self {
            Self::More => 1.0,
            Self::Less => -1.0,
        }
    }
}

/// The functions that an answer names.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Found<'a> {
    pub(super) way: Way,
    pub(super) first: &'a Suspect,
    pub(super) others: &'a [Suspect],
    /// How much went the other way somewhere else; nothing where that is too little for a word.
    pub(super) against: f64,
    /// The function where most of that is.
    pub(super) mostly: Option<&'a Suspect>,
}

/// An answer in a nutshell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Case<'a> {
    /// A function waits longer, in a comparison of busy time.
    Waits { first: &'a Suspect, more: usize },
    /// The total changed as its functions did, which have shares of it.
    Explained { found: Found<'a>, runtime: Option<(&'a RuntimeCost, f64)> },
    /// The total changed as its functions did, but much else went the other way: there are amounts, not shares. A part
    /// of the runtime comes first where it changed by more than any function.
    Partly { found: Found<'a>, runtime: Option<(&'a RuntimeCost, f64)> },
    /// Functions changed, and the total is about the same.
    AboutTheSame(Found<'a>),
    /// Functions changed, and the total went the other way.
    Against { found: Found<'a>, certain: bool },
    /// Functions changed for sure; the total changed more than a little and may be noise.
    TotalUnsure(Found<'a>),
    /// No function changed, but the runtime did.
    Runtime { way: Way, runtime: &'a RuntimeCost, share: f64 },
    /// Everything changed by the same factor.
    Alike(Way),
    /// The total changed, and no function stands out.
    Nothing(Way),
    /// Other methods explain the change in their own words; the total may have gone against the verdict.
    Method { against: bool },
    /// No change, with what would have been noticed.
    Unchanged(Unnoticed),
    /// The runs cannot tell.
    Unsure(Doubt<'a>),
}

/// Why a change would not have been noticed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Unnoticed {
    /// It is too small to count, however large it looks.
    Threshold { least: f64, large: bool },
    /// No call of the critical graph changed by as much.
    Calls(f64),
    /// Only a change by more than this part of the total would show; whether that is much.
    Noise { noticed: f64, much: bool },
    /// Nothing more to say; whether the change is too large to be called none.
    Silent { much: bool },
}

/// Why the runs cannot tell, and what would.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Doubt<'a> {
    pub(super) why: Why,
    pub(super) needed: Needed,
    pub(super) guess: Option<Guess<'a>>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Why {
    /// One run on each side.
    OneRun,
    /// One run before, or one after.
    OneRunOf(&'static str),
    /// The change may be as little or as much as this, on both sides of nothing.
    Noise { low: f64, high: f64 },
    /// It is likely and not certain.
    Unlikely(Option<f64>),
}

/// Runs on each side that would tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Needed {
    /// More than there are.
    Runs(u32),
    /// These are a start.
    AtLeast(u32),
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Guess<'a> {
    Suspect(&'a Suspect),
    Function(&'a FunctionChange),
}

/// What the totals changed by.
pub(super) fn net(diff: &Diff) -> f64 {
    diff.after.total.median - diff.before.total.median
}

/// True where the change of the total can be nothing, as far as its interval tells.
pub(super) fn may_be_noise(diff: &Diff) -> bool {
    diff.change.high > diff.change.low && diff.change.low <= 0.0 && diff.change.high >= 0.0
}

/// Decides the case.
pub(super) fn classify(diff: &Diff) -> Case<'_> {
    match (diff.verdict, diff.method) {
        (Verdict::Inconclusive, _) => return Case::Unsure(doubt(diff)),
        (Verdict::Unchanged, method) if method != Method::Suspects => {
            return Case::Unchanged(unnoticed(diff));
        }
        (verdict, method) if method != Method::Suspects => {
            let way = if verdict == Verdict::Improved { Way::Less } else { Way::More };
            return Case::Method { against: net(diff) * way.sign() < 0.0 };
        }
        _ => {}
    }
    if let Some(first) = waits_first(diff).filter(|_| diff.verdict == Verdict::Regressed) {
        return Case::Waits { first, more: diff.suspects.len() - 1 };
    }
    let way = match diff.verdict {
        Verdict::Improved => Way::Less,
        _ => Way::More,
    };
    let case = found(diff, way).or_else(|| {
        let other = if way == Way::More { Way::Less } else { Way::More };
        found(diff, other)
    });
    match (case, diff.verdict) {
        (Some(found), Verdict::Unchanged) => match of_functions(diff, found) {
            same @ Case::AboutTheSame(_) => same,
            _ => Case::Unchanged(unnoticed(diff)),
        },
        (Some(found), _) => of_functions(diff, found),
        (None, Verdict::Unchanged) => Case::Unchanged(unnoticed(diff)),
        (None, _) => of_the_rest(diff),
    }
}

/// The first suspect, when it is one that waits in a comparison of busy time.
fn waits_first(diff: &Diff) -> Option<&Suspect> {
    let first = diff.suspects.first().filter(|first| first.kind == SuspectKind::Waits);
    first.filter(|_| is_busy(&diff.metric))
}

/// What changed in one direction, held against the total.
fn found(diff: &Diff, way: Way) -> Option<Found<'_>> {
    let (list, other) = match way {
        Way::More => (&diff.suspects, &diff.improvements),
        Way::Less => (&diff.improvements, &diff.suspects),
    };
    let (first, others) = list.split_first()?;
    let gross: f64 = list.iter().map(|suspect| suspect.delta.median.abs()).sum();
    let against = gross - net(diff) * way.sign();
    let against = if against > gross * WORTH { against } else { 0.0 };
    let mostly = other.first().filter(|other| {
        against > 0.0 && (against * 0.5..=against).contains(&other.delta.median.abs())
    });
    Some(Found { way, first, others, against, mostly })
}

/// The case where functions changed.
fn of_functions<'a>(diff: &'a Diff, found: Found<'a>) -> Case<'a> {
    let net = net(diff);
    let before = diff.before.total.median;
    let unsure = may_be_noise(diff);
    let small = net.abs() <= before.abs() * ABOUT;
    let along = net * found.way.sign() > 0.0;
    let all = || std::iter::once(found.first).chain(found.others);
    let gross: f64 = all().map(|suspect| suspect.delta.median.abs()).sum();
    // What is too small to count is no change, however certain it is; nor is what is small beside what functions did,
    // unless it is certain.
    let likely = diff.p_value.is_some_and(|p| p > CERTAIN) && net.abs() < gross * 0.5;
    let trifle = net.abs() < diff.threshold || net == 0.0 || likely;
    if small && (unsure || trifle) {
        return Case::AboutTheSame(found);
    }
    if !along {
        return Case::Against { found, certain: !unsure };
    }
    if unsure {
        return Case::TotalUnsure(found);
    }
    let grown: f64 = runtime_rows(diff).map(|row| growth(row, found.way)).sum();
    let runtime = largest(diff, found.way).map(|row| (row, growth(row, found.way)));
    if gross + grown - net.abs() > (gross + grown) * WORTH {
        let first = found.first.delta.median.abs();
        let runtime = runtime.filter(|(_, grown)| *grown > first);
        let named = gross + runtime.map_or(0.0, |(_, grown)| grown);
        let against = Some(named - net.abs()).filter(|against| *against > named * WORTH);
        let found = Found { against: against.unwrap_or(0.0), ..found };
        return Case::Partly { found, runtime };
    }
    // Suspects and runtime have shares of the same whole.
    let whole = net.abs().max(gross + grown);
    let runtime = runtime.map(|(row, grown)| (row, grown / whole));
    let runtime = runtime.filter(|(_, share)| *share > found.first.share && *share >= MOSTLY);
    Case::Explained { found, runtime }
}

/// The case where the total changed and no function did.
fn of_the_rest(diff: &Diff) -> Case<'_> {
    let net = net(diff);
    let way = Way::of(net);
    let grown: f64 = runtime_rows(diff).map(|row| growth(row, way)).sum();
    let whole = net.abs().max(grown);
    let runtime = largest(diff, way).map(|row| (row, growth(row, way) / whole));
    match runtime.filter(|(_, share)| *share >= MOSTLY) {
        Some((runtime, share)) => Case::Runtime { way, runtime, share },
        None if is_alike(diff) => Case::Alike(way),
        None => Case::Nothing(way),
    }
}

/// The parts of the runtime that are part of totals: idle time is not.
fn runtime_rows(diff: &Diff) -> impl Iterator<Item = &RuntimeCost> {
    diff.runtime.iter().filter(|row| row.function.layer != Layer::Idle)
}

/// What a part of the runtime changed by in a direction.
fn growth(row: &RuntimeCost, way: Way) -> f64 {
    ((row.after - row.before) * way.sign()).max(0.0)
}

fn largest(diff: &Diff, way: Way) -> Option<&RuntimeCost> {
    runtime_rows(diff).max_by(|a, b| growth(a, way).total_cmp(&growth(b, way)))
}

/// True where at least three functions, with nearly all of the cost, changed by about the factor of the total.
fn is_alike(diff: &Diff) -> bool {
    let (before, after) = (diff.before.total.median, diff.after.total.median);
    let rows = &diff.functions.rows;
    let all: f64 = rows.iter().map(|row| row.before).sum();
    if before <= 0.0 || after <= 0.0 || all <= 0.0 {
        return false;
    }
    let factor = (after / before).ln();
    let alike = rows.iter().filter(|row| {
        let own = (row.after / row.before).ln() / factor;
        own.is_finite() && (0.5..=2.0).contains(&own)
    });
    let held: f64 = alike.clone().map(|row| row.before).sum();
    alike.count() >= 3 && held >= all * NEARLY_ALL
}

/// What would have been noticed, as a part of the total before: as the model says, else as the interval does.
fn noticed(diff: &Diff) -> Option<f64> {
    let spread = (diff.change.high - diff.change.low) / 2.0 / diff.before.total.median;
    let from_interval = (spread.is_finite() && spread > 0.0).then_some(spread);
    diff.noticed.filter(|noticed| noticed.is_finite() && *noticed > 0.0).or(from_interval)
}

fn unnoticed(diff: &Diff) -> Unnoticed {
    let (net, before) = (net(diff), diff.before.total.median);
    if diff.method == Method::CriticalGraph {
        return Unnoticed::Calls(diff.threshold);
    }
    let large = net.abs() > before.abs() * LARGE;
    let least = if before > 0.0 { diff.threshold / before } else { f64::INFINITY };
    match noticed(diff) {
        Some(noticed) if noticed > least && before > 0.0 => {
            // A slowdown that would show is larger than the one that did not.
            let noticed = noticed.max(net / before);
            Unnoticed::Noise { noticed, much: noticed > 1.0 || large }
        }
        _ if net != 0.0 && net.abs() < diff.threshold => {
            Unnoticed::Threshold { least: diff.threshold, large }
        }
        _ => Unnoticed::Silent { much: large },
    }
}

fn doubt(diff: &Diff) -> Doubt<'_> {
    let runs = [diff.before.totals.len(), diff.after.totals.len()];
    let (low, high) = (diff.change.low, diff.change.high);
    let why = match runs {
        [0 | 1, 0 | 1] => Why::OneRun,
        [0 | 1, _] => Why::OneRunOf("before"),
        [_, 0 | 1] => Why::OneRunOf("after"),
        _ if may_be_noise(diff) => Why::Noise { low, high },
        _ => Why::Unlikely(diff.p_value),
    };
    let fewest = runs.into_iter().min().unwrap_or(0);
    let needed = match (why, diff.runs_needed) {
        (Why::OneRun, Some(needed)) if needed > IMAGINED => Needed::AtLeast(FEW),
        (_, Some(needed)) if needed as usize > fewest => Needed::Runs(needed),
        _ => Needed::Unknown,
    };
    let firsts = [&diff.suspects, &diff.improvements].into_iter().filter_map(|list| list.first());
    let size = |suspect: &&Suspect| suspect.delta.median.abs();
    // Of two that changed alike, the slower one.
    let suspect = firsts.rev().max_by(|a, b| size(a).total_cmp(&size(b))).map(Guess::Suspect);
    let function = || diff.functions.rows.first().map(Guess::Function);
    let guess = suspect.or_else(function).filter(|_| diff.method == Method::Suspects);
    Doubt { why, needed, guess }
}
