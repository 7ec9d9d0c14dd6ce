//! The answer in one sentence, the same in every rendering.
//!
//! The case is decided first (`case`), from the answer alone, and then written: so a total and the functions beside it
//! never contradict each other, percentages are of something named and add up, and an interval is printed only where it
//! says why nothing is sure. `tests` has the table of cases, `laws` holds drawn and recorded answers against their
//! sentences.

mod case;
mod other_methods;
mod percents;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use perfblame_analysis::{Diff, FunctionView, Suspect, SuspectKind, Verdict};
use perfblame_cct::Unit;

use crate::diff_words::{Words, is_time, p_value};
use crate::layout::clean;
use crate::numbers::{counted, in_percent};
use case::{Case, Doubt, Found, Guess, Needed, Unnoticed, Way, Why, classify, may_be_noise, net};
use percents::{Percents, more_than};

/// A piece of the sentence: renderings differ in how they write names.
#[derive(Clone, PartialEq, Debug)]
pub enum HeadlinePart {
    Words(String),
    Name(String),
}

/// The answer in one sentence.
#[derive(Clone, PartialEq, Debug)]
pub struct Headline {
    /// The answer in a word or two: `Slower`, `No change`, `Cannot tell`.
    pub title: &'static str,
    /// The sentence, without what the title says.
    pub parts: Vec<HeadlinePart>,
    /// The sentence does not say what the title says.
    needs_title: bool,
}

impl Headline {
    /// The sentence about an answer.
    pub fn of(diff: &Diff, words: Words<'_>) -> Self {
        Self::write(diff, words, None)
    }

    /// The same, with a change of the code in place of the functions.
    pub fn with_cause(diff: &Diff, words: Words<'_>, cause: &Cause) -> Self {
        Self::write(diff, words, Some(cause))
    }

    /// As one text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if self.needs_title {
            let _ = write!(text, "{}: ", self.title.to_lowercase());
        }
        for HeadlinePart::Words(part) | HeadlinePart::Name(part) in &self.parts {
            text.push_str(part);
        }
        text
    }

    fn write(diff: &Diff, words: Words<'_>, cause: Option<&Cause>) -> Self {
        let case = classify(diff);
        let sentence = Sentence { diff, words, cause };
        let mut line = GrowingLine(Vec::new());
        sentence.write(case, &mut line);
        let time = is_time(&diff.metric);
        let title = match titled(diff, case) {
            Titled::Unchanged { clear: true } => "No change",
            Titled::Unchanged { clear: false } => "No clear change",
            Titled::Ignored => "Below the threshold",
            Titled::Unsure => "Cannot tell",
            Titled::Partly(Way::More) => {
                if time {
                    "Slower in part"
                } else {
                    "More in part"
                }
            }
            Titled::Partly(Way::Less) => {
                if time {
                    "Faster in part"
                } else {
                    "Less in part"
                }
            }
            Titled::Whole(Way::More) => {
                if time {
                    "Slower"
                } else {
                    "More"
                }
            }
            Titled::Whole(Way::Less) => {
                if time {
                    "Faster"
                } else {
                    "Less"
                }
            }
        };
        let needs_title = matches!(case, Case::Unchanged(_) | Case::Unsure(_));
        Self { title, parts: line.0, needs_title }
    }
}

/// What the change of the code has to do with the first function of an answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Cause {
    /// A clause that stands for the functions: `src/lexer.c:120-141 in next_token`, or `parse is slower`.
    pub clause: String,
    /// Where the code changed, as far as that is known.
    pub place: Option<String>,
}

/// The answer in one line.
pub fn headline(diff: &Diff, words: Words<'_>) -> String {
    Headline::of(diff, words).text()
}

/// What a title is about.
enum Titled {
    Whole(Way),
    Partly(Way),
    Unchanged { clear: bool },
    Ignored,
    Unsure,
}

fn titled(diff: &Diff, case: Case<'_>) -> Titled {
    let verdict = match diff.verdict {
        Verdict::Regressed => Way::More,
        Verdict::Improved => Way::Less,
        Verdict::Unchanged | Verdict::Inconclusive => Way::of(net(diff)),
    };
    match case {
        Case::Unsure(_) => Titled::Unsure,
        Case::Unchanged(Unnoticed::Threshold { large: true, .. }) => Titled::Ignored,
        Case::Unchanged(Unnoticed::Noise { much, .. } | Unnoticed::Silent { much }) => {
            Titled::Unchanged { clear: !much }
        }
        _ if diff.verdict == Verdict::Unchanged => Titled::Unchanged { clear: true },
        Case::TotalUnsure(_) | Case::AboutTheSame(_) | Case::Method { against: true } => {
            Titled::Partly(verdict)
        }
        Case::Against { .. } if Way::of(net(diff)) != verdict => Titled::Partly(verdict),
        Case::Alike(way) | Case::Nothing(way) | Case::Runtime { way, .. } => Titled::Whole(way),
        _ => Titled::Whole(verdict),
    }
}

/// A line that grows.
struct GrowingLine(Vec<HeadlinePart>);

impl GrowingLine {
    fn words(&mut self, words: &str) {
        match self.0.last_mut() {
            Some(HeadlinePart::Words(text)) => text.push_str(words),
            _ => self.0.push(HeadlinePart::Words(words.to_owned())),
        }
    }

    fn name(&mut self, name: String) {
        self.0.push(HeadlinePart::Name(name));
    }
}

/// What a sentence is written about.
struct Sentence<'a> {
    diff: &'a Diff,
    words: Words<'a>,
    cause: Option<&'a Cause>,
}

impl Sentence<'_> {
    fn write(&self, case: Case<'_>, line: &mut GrowingLine) {
        let change = self.change();
        match case {
            Case::Waits { first, more } => self.waits(first, more, line),
            Case::Explained { found, runtime } => {
                line.words(&format!("{change}: "));
                if let Some(cause) = self.cause {
                    line.words(&cause.clause);
                } else {
                    let runtime = runtime.map(|(row, share)| (&*row.function.name, share));
                    self.shares(found, runtime, line);
                }
            }
            Case::Partly { found, runtime } => {
                line.words(&format!("{change}: "));
                if let Some((row, grown)) = runtime {
                    let way = if found.way == Way::More { "more" } else { "less" };
                    line.words("the runtime's ");
                    line.name(clean(&row.function.name).into_owned());
                    line.words(&format!(" costs {} {way}; ", self.words.amount(grown)));
                }
                match self.cause {
                    Some(cause) => line.words(&cause.clause),
                    None => self.amounts(found, line),
                }
                self.elsewhere(found, line);
            }
            Case::AboutTheSame(found) => {
                line.words(&format!("About the same overall ({}), but ", self.costs()));
                self.amounts(found, line);
                self.elsewhere(found, line);
            }
            Case::Against { found, certain } => {
                let total = self.overall(Way::of(net(self.diff)), certain);
                let but = if found.way == Way::More { "but" } else { "although" };
                line.words(&format!("{total}, {but} "));
                self.amounts(found, line);
                self.elsewhere(found, line);
            }
            Case::TotalUnsure(found) => {
                self.amounts(found, line);
                line.words(&format!("; the total alone ({}) may be noise", self.in_parentheses()));
            }
            Case::Runtime { way, runtime, share } => {
                let (total, of) = (self.total(way), self.words.whole(way == Way::More));
                line.words(&format!("{total}: {} of {of} is the runtime's ", in_percent(share)));
                line.name(clean(&runtime.function.name).into_owned());
                line.words("; no function stands out");
            }
            Case::Alike(way) => {
                let what = match (way, is_time(&self.diff.metric)) {
                    (Way::More, true) => "everything got slower alike",
                    (Way::Less, true) => "everything got faster alike",
                    (Way::More, false) => "everything costs more alike",
                    (Way::Less, false) => "everything costs less alike",
                };
                line.words(&format!("{}: {what}; no function stands out", self.total(way)));
            }
            Case::Nothing(way) => {
                line.words(&format!("{}: no function stands out", self.total(way)));
            }
            Case::Method { against } => {
                if against {
                    let total = self.overall(Way::of(net(self.diff)), true);
                    line.words(&format!("{total}, but not everywhere: "));
                } else {
                    line.words(&format!("{change}: "));
                }
                if !other_methods::explain(self.diff, self.words, line) {
                    line.words("no function stands out");
                }
            }
            Case::Unchanged(unnoticed) => {
                line.words(&change);
                self.unnoticed(unnoticed, line);
            }
            Case::Unsure(doubt) => self.doubt(doubt, line),
        }
    }

    /// `4.10 s → 6.30 s`.
    fn costs(&self) -> String {
        self.words.costs(self.diff.before.total.median, self.diff.after.total.median)
    }

    /// `+54 %`; nothing where that would be next to 0 %.
    fn relative(&self) -> Option<String> {
        let (before, after) = (self.diff.before.total.median, self.diff.after.total.median);
        self.words
            .relative(before, after)
            .filter(|relative| relative != "0 %" && !relative.contains('<'))
    }

    /// The total of an answer that names no function: with a word of doubt where it alone is not certain.
    fn total(&self, way: Way) -> String {
        if may_be_noise(self.diff) { self.overall(way, false) } else { self.change() }
    }

    /// `4.10 s → 6.30 s (+54 %)`.
    fn change(&self) -> String {
        match self.relative() {
            Some(relative) => format!("{} ({relative})", self.costs()),
            None => self.costs(),
        }
    }

    /// `4.10 s → 6.30 s, +54 %`.
    fn in_parentheses(&self) -> String {
        match self.relative() {
            Some(relative) => format!("{}, {relative}", self.costs()),
            None => self.costs(),
        }
    }

    /// `Faster overall (381 ms → 329 ms, −14 %)`.
    fn overall(&self, way: Way, certain: bool) -> String {
        let how = match (way, is_time(&self.diff.metric)) {
            (Way::More, true) => "slower",
            (Way::Less, true) => "faster",
            (Way::More, false) => "more",
            (Way::Less, false) => "less",
        };
        let mut text = if certain { how.to_owned() } else { format!("possibly {how}") };
        text[..1].make_ascii_uppercase();
        format!("{text} overall ({})", self.in_parentheses())
    }

    fn waits(&self, first: &Suspect, more: usize, line: &mut GrowingLine) {
        if let Some(cause) = self.cause {
            line.words(&cause.clause);
        } else {
            self.function(first, line);
            line.words(&format!(" {}", self.words.kind(first.kind)));
        }
        let waits = self.words.costs(first.before, first.after);
        line.words(&format!(": {waits}; busy time {}", self.change()));
        if more > 0 {
            let more = counted(more as u64, "more suspect", "more suspects");
            line.words(&format!("; {more}"));
        }
    }

    /// `87 % of the slowdown is utf under layer (new, 2 paths); 9.0 % is parse (slower); 3.0 % in 1 more function`.
    fn shares(&self, found: Found<'_>, runtime: Option<(&str, f64)>, line: &mut GrowingLine) {
        let Found { way, first, others, .. } = found;
        let mut percents = Percents::default();
        let of = self.words.whole(way == Way::More);
        if let Some((name, share)) = runtime {
            line.words(&format!("{} of {of} is the runtime's ", percents.next(share)));
            line.name(clean(name).into_owned());
            line.words(&format!("; {} is ", percents.next(first.share)));
        } else {
            line.words(&format!("{} of {of} is ", percents.next(first.share)));
        }
        self.function(first, line);
        let mut how = self.words.kind_with_calls(first);
        if first.contexts.len() > 1 {
            let _ = write!(how, ", {}", counted(first.contexts.len() as u64, "path", "paths"));
        }
        line.words(&format!(" ({how})"));
        let Some((second, rest)) = others.split_first() else { return };
        line.words(&format!("; {} is ", percents.next(second.share)));
        line.name(self.words.name(&second.function));
        line.words(&format!(" ({})", self.words.kind(second.kind)));
        if !rest.is_empty() {
            let share: f64 = rest.iter().map(|suspect| suspect.share).sum();
            let others = counted(rest.len() as u64, "more function", "more functions");
            line.words(&format!("; {} in {others}", percents.next(share)));
        }
    }

    /// `utf under layer is new and costs 1.92 s; parse is 66.0 ms slower; 2 more functions cost 40.0 ms more`.
    fn amounts(&self, found: Found<'_>, line: &mut GrowingLine) {
        let Found { way, first, others, .. } = found;
        self.function(first, line);
        line.words(&format!(" {}", self.clause(first)));
        if let Some(place) = self.cause.and_then(|cause| cause.place.as_ref()) {
            line.words(&format!(" ({place})"));
        }
        let Some((second, rest)) = others.split_first() else { return };
        line.words("; ");
        line.name(self.words.name(&second.function));
        line.words(&format!(" {}", self.clause(second)));
        if !rest.is_empty() {
            let sum: f64 = rest.iter().map(|suspect| suspect.delta.median).sum();
            let functions =
                counted(rest.len() as u64, "more function costs", "more functions cost");
            let way = if way == Way::More { "more" } else { "less" };
            line.words(&format!("; {functions} {} {way}", self.words.amount(sum)));
        }
    }

    /// How a function changed, and by how much: `is new and costs 243 ms`.
    fn clause(&self, suspect: &Suspect) -> String {
        let amount = self.words.amount(suspect.delta.median);
        let state = self.words.state(suspect.kind);
        let clock = self.diff.metric.unit == Unit::Nanoseconds;
        match suspect.kind {
            SuspectKind::Slower if clock => format!("is {amount} slower"),
            SuspectKind::Faster if clock => format!("is {amount} faster"),
            SuspectKind::Slower if !is_time(&self.diff.metric) => format!("costs {amount} more"),
            SuspectKind::Faster if !is_time(&self.diff.metric) => format!("costs {amount} less"),
            SuspectKind::Waits if clock => format!("waits {amount} longer"),
            SuspectKind::New => format!("is new and costs {amount}"),
            SuspectKind::Gone => format!("is gone and saves {amount}"),
            SuspectKind::Faster | SuspectKind::FewerCalls => format!("{state} and saves {amount}"),
            SuspectKind::Slower | SuspectKind::MoreCalls | SuspectKind::Waits => {
                format!("{state} and costs {amount} more")
            }
            SuspectKind::Moved => state,
        }
    }

    /// `; 204 ms were saved elsewhere, mostly in draw`.
    fn elsewhere(&self, found: Found<'_>, line: &mut GrowingLine) {
        if found.against <= 0.0 {
            return;
        }
        let verb = if found.way == Way::More { "saved" } else { "added" };
        line.words(&format!("; {} were {verb} elsewhere", self.words.amount(found.against)));
        if let Some(mostly) = found.mostly {
            line.words(", mostly in ");
            line.name(self.words.name(&mostly.function));
        }
    }

    /// `utf under layer`; two functions of one name come with their places.
    fn function(&self, suspect: &Suspect, line: &mut GrowingLine) {
        let caller = suspect.path.len().checked_sub(2).and_then(|row| suspect.path.get(row));
        let alike = |caller: &FunctionView| {
            caller.name == suspect.function.name && *caller != suspect.function
        };
        let placed = caller.is_some_and(alike);
        let name = |function| {
            if placed { self.words.placed(function) } else { self.words.name(function) }
        };
        line.name(name(&suspect.function));
        if let Some(caller) = caller {
            line.words(" under ");
            line.name(name(caller));
        }
    }

    fn unnoticed(&self, unnoticed: Unnoticed, line: &mut GrowingLine) {
        let slowdown = if is_time(&self.diff.metric) { "a slowdown" } else { "an increase" };
        match unnoticed {
            Unnoticed::Threshold { least, .. } => {
                let least = self.words.amount(least);
                line.words(&format!("; changes under {least} are ignored"));
            }
            Unnoticed::Calls(least) => {
                let least = self.words.amount(least);
                line.words(&format!("; no call got slower by {least} or more"));
            }
            Unnoticed::Noise { noticed, much } => {
                let only = if much { "only " } else { "" };
                let more = more_than(noticed);
                line.words(&format!("; {only}{slowdown} of more than {more} would show"));
            }
            Unnoticed::Silent { .. } => {}
        }
    }

    /// Why nothing can be said, what would help, and the best guess.
    fn doubt(&self, doubt: Doubt<'_>, line: &mut GrowingLine) {
        let words = self.words;
        line.words(&self.change());
        line.words(&match doubt.why {
            Why::OneRun => " with one run on each side may be noise".to_owned(),
            Why::OneRunOf(side) => format!(" with only one run {side} may be noise"),
            Why::Noise { low, high } => {
                format!(", anything from {} is possible", words.between(low, high))
            }
            Why::Unlikely(Some(p)) => format!(" may still be noise ({})", p_value(p)),
            Why::Unlikely(None) => " may still be noise".to_owned(),
        });
        match doubt.needed {
            Needed::Runs(needed) => {
                let runs = counted(u64::from(needed), "run", "runs");
                line.words(&format!("; {runs} on each side would tell"));
            }
            Needed::AtLeast(few) => {
                line.words(&format!("; record at least {few} runs on each side"));
            }
            Needed::Unknown => {}
        }
        match doubt.guess {
            Some(Guess::Suspect(first)) => {
                line.words("; best guess: ");
                self.function(first, line);
                let (kind, delta) = (words.kind(first.kind), words.change(first.delta.median));
                line.words(&format!(" ({kind}, {delta})"));
            }
            Some(Guess::Function(first)) => {
                line.words("; the largest change is in ");
                line.name(words.name(&first.function));
                line.words(&format!(" ({})", words.change(first.delta())));
            }
            None => {
                let mut rest = GrowingLine(vec![HeadlinePart::Words("; ".to_owned())]);
                if other_methods::explain(self.diff, words, &mut rest) {
                    for part in rest.0 {
                        match part {
                            HeadlinePart::Words(text) => line.words(&text),
                            HeadlinePart::Name(name) => line.name(name),
                        }
                    }
                }
            }
        }
    }
}
