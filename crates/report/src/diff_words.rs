//! The words of an answer that every rendering shares: figures with their signs, names, kinds of change. The first
//! line is made of them in `headline`.

use perfblame_analysis::{
    Diff, FunctionChange, FunctionTable, FunctionView, Sides, Suspect, SuspectKind, Verdict,
};
use perfblame_cct::{Layer, Metric, Unit, Warning};

use crate::layout::{Look, columns, shortened};
use crate::numbers::{counted, grouped, in_percent, quantity, significant};
use crate::show_text::place_of;

/// How figures and names of one answer are written.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    pub metric: &'a Metric,
    /// Signs beyond ASCII.
    pub unicode: bool,
    /// Columns of the longest name in a sentence.
    pub name_width: usize,
}

impl<'a> Words<'a> {
    pub fn of(diff: &'a Diff, unicode: bool) -> Self {
        Self { metric: &diff.metric, unicode, name_width: 60 }
    }

    pub fn arrow(self) -> &'static str {
        if self.unicode { "→" } else { "->" }
    }

    /// `4.10 s`.
    pub fn cost(self, cost: f64) -> String {
        let sign = if cost < 0.0 { self.minus() } else { "" };
        format!("{sign}{}", self.size(cost))
    }

    /// `+2.20 s`.
    pub fn change(self, delta: f64) -> String {
        let size = self.size(delta);
        let nothing = size.chars().all(|c| !c.is_ascii_digit() || c == '0');
        let sign = match delta {
            _ if nothing => "",
            delta if delta < 0.0 => self.minus(),
            _ => "+",
        };
        format!("{sign}{size}")
    }

    /// `+1.98 s to +2.51 s`.
    pub fn between(self, low: f64, high: f64) -> String {
        format!("{} to {}", self.change(low), self.change(high))
    }

    /// `4.10 s → 6.30 s`; things that are counted are named.
    pub fn costs(self, before: f64, after: f64) -> String {
        format!("{} {} {}{}", self.cost(before), self.arrow(), self.cost(after), self.noun())
    }

    /// `243 ms`, `40 samples`: how much, whatever the direction.
    pub fn amount(self, cost: f64) -> String {
        format!("{}{}", self.size(cost), self.noun())
    }

    /// What is counted; units that name themselves need no noun.
    fn noun(self) -> String {
        match &self.metric.unit {
            Unit::Nanoseconds | Unit::Bytes => String::new(),
            Unit::Count => format!(" {}", self.metric.name),
            Unit::Other(unit) => format!(" {unit}"),
        }
    }

    /// `+54 %`; nothing when there was nothing before.
    pub fn relative(self, before: f64, after: f64) -> Option<String> {
        if before <= 0.0 {
            return None;
        }
        let share = (after - before) / before;
        // Percents of hundreds are hard to read: `×736`.
        if after / before >= 10.0 {
            let times = if self.unicode { "×" } else { "x" };
            return Some(format!("{times}{}", grouped((after / before).round() as u64)));
        }
        let text = in_percent(share);
        Some(match share {
            _ if text == "0 %" => text,
            share if share < 0.0 => format!("{}{text}", self.minus()),
            _ => format!("+{text}"),
        })
    }

    /// How a function changed.
    pub fn kind(self, kind: SuspectKind) -> &'static str {
        let time = is_time(self.metric);
        match kind {
            SuspectKind::Slower if time => "slower",
            SuspectKind::Slower => "costs more",
            SuspectKind::MoreCalls => "called more often",
            SuspectKind::New => "new",
            SuspectKind::Waits => "waits longer",
            SuspectKind::Moved => "moved",
            SuspectKind::Faster if time => "faster",
            SuspectKind::Faster => "costs less",
            SuspectKind::FewerCalls => "called less often",
            SuspectKind::Gone => "gone",
        }
    }

    /// How a function changed, as the end of a sentence that begins with its name.
    pub fn state(self, kind: SuspectKind) -> String {
        let words = self.kind(kind);
        match words {
            "costs more" | "costs less" | "waits longer" | "moved" => words.to_owned(),
            _ => format!("is {words}"),
        }
    }

    /// What a code change did to a function, as the end of a sentence that begins with the change.
    pub fn effect(self, kind: SuspectKind, name: &str) -> String {
        let time = is_time(self.metric);
        match kind {
            SuspectKind::Slower if time => format!("made {name} slower"),
            SuspectKind::Slower => format!("made {name} cost more"),
            SuspectKind::MoreCalls => format!("caused more calls of {name}"),
            SuspectKind::New => format!("caused new calls of {name}"),
            SuspectKind::Waits => format!("made {name} wait longer"),
            SuspectKind::Moved => format!("moved cost to {name}"),
            SuspectKind::Faster if time => format!("made {name} faster"),
            SuspectKind::Faster => format!("made {name} cost less"),
            SuspectKind::FewerCalls => format!("caused fewer calls of {name}"),
            SuspectKind::Gone => format!("removed the calls of {name}"),
        }
    }

    /// How a function changed, with the number of calls where that is the point.
    pub fn kind_with_calls(self, suspect: &Suspect) -> String {
        let kind = self.kind(suspect.kind);
        let counts = matches!(suspect.kind, SuspectKind::MoreCalls | SuspectKind::FewerCalls);
        match suspect.calls.filter(|_| counts) {
            Some(Sides { before, after }) => {
                let calls = |number: f64| {
                    if number.fract() == 0.0 || number >= 99.5 {
                        grouped(number.round().max(0.0) as u64)
                    } else {
                        significant(number)
                    }
                };
                format!("{kind}: {} {} {}", calls(before), self.arrow(), calls(after))
            }
            None => kind.to_owned(),
        }
    }

    /// A function's name in a sentence; one that says little alone comes with its place.
    pub fn name(self, function: &FunctionView) -> String {
        let look = Look { width: 0, unicode: self.unicode, colour: false };
        let name = shortened(&function.name, self.name_width, look).into_owned();
        if name == "(anonymous)" || columns(&name) < 3 { self.placed(function) } else { name }
    }

    /// A function's name with its place, as far as there is one: pseudo-frames have none, and none is missed.
    pub fn placed(self, function: &FunctionView) -> String {
        let look = Look { width: 0, unicode: self.unicode, colour: false };
        let name = shortened(&function.name, self.name_width, look).into_owned();
        let place = place_of(function);
        if place.is_empty() {
            return name;
        }
        let file = place.rsplit(['/', '\\']).next().unwrap_or(&place);
        format!("{name} in {}", shortened(file, self.name_width, look))
    }

    /// What shares of functions are of.
    pub fn whole(self, grew: bool) -> &'static str {
        match (grew, is_time(self.metric)) {
            (true, true) => "the slowdown",
            (false, true) => "the speedup",
            (true, false) => "the increase",
            (false, false) => "the decrease",
        }
    }

    /// The title of the table of functions.
    pub fn table_title(self) -> String {
        if self.metric.unit == Unit::Nanoseconds {
            "Self time by function".to_owned()
        } else {
            format!("Self cost by function ({})", self.metric.name)
        }
    }

    fn size(self, cost: f64) -> String {
        let text = quantity(cost, self.metric);
        if self.unicode { text } else { text.replace(" µs", " us") }
    }

    fn minus(self) -> &'static str {
        if self.unicode { "−" } else { "-" }
    }
}

/// Whose cost a row of the table of functions is, where that is not the program's or a library's.
pub fn runtime_layer(function: &FunctionView) -> Option<&'static str> {
    let layer = function.layer;
    let runtime = [Layer::Runtime, Layer::Kernel, Layer::GarbageCollection].contains(&layer);
    runtime.then(|| layer.name())
}

/// What to know before reading the table of functions, where its rows are guesses.
pub fn table_guess(diff: &Diff) -> Option<&'static str> {
    let one_run = diff.before.totals.len() < 2 && diff.after.totals.len() < 2;
    (one_run && diff.verdict == Verdict::Inconclusive).then_some(
        "A guess: with one run on each side, any of these changes may be noise. Three or more runs on each side show \
         which are real.",
    )
}

/// What the table of functions leaves out: rows that are `hidden`, and those that never were in it.
pub fn table_rest(
    table: &FunctionTable,
    hidden: &[FunctionChange],
    words: Words<'_>,
) -> Option<String> {
    let more = table.more + hidden.len();
    let rest = table.rest + hidden.iter().map(FunctionChange::delta).sum::<f64>();
    let functions = counted(more as u64, "more function", "more functions");
    (more > 0).then(|| format!("{functions} changed, {} together.", words.change(rest)))
}

/// True for a warning that has to be read before the answer: the two sides should not be compared as they are.
pub fn comes_first(warning: &Warning) -> bool {
    matches!(warning.code.as_str(), "different-programs" | "different-work")
}

/// Whether more of it is slower: time, and what is sampled while time passes.
pub fn is_time(metric: &Metric) -> bool {
    metric.unit == Unit::Nanoseconds
        || matches!(metric.name.as_str(), "samples" | "cycles" | "ticks")
}

/// `p = 0.008`.
pub fn p_value(p: f64) -> String {
    match p {
        p if p < 0.001 => "p < 0.001".to_owned(),
        p if p < 0.1 => format!("p = {p:.3}"),
        p => format!("p = {p:.2}"),
    }
}

/// As much of a commit's id as people use.
pub fn short_commit(id: &str) -> &str {
    id.get(..10).filter(|_| id.len() >= 40).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_makes_a_sentence() {
        let said = |unit: Unit, name: &str| {
            let metric = Metric::exact(name, unit);
            let words = Words { metric: &metric, unicode: true, name_width: 60 };
            let kinds = [
                SuspectKind::Slower,
                SuspectKind::MoreCalls,
                SuspectKind::New,
                SuspectKind::Waits,
                SuspectKind::Faster,
                SuspectKind::FewerCalls,
                SuspectKind::Gone,
            ];
            let sentence =
                |kind| format!("f {}; a {}\n", words.state(kind), words.effect(kind, "f"));
            kinds.map(sentence).concat()
        };
        let time = expect_test::expect![[r"
            f is slower; a made f slower
            f is called more often; a caused more calls of f
            f is new; a caused new calls of f
            f waits longer; a made f wait longer
            f is faster; a made f faster
            f is called less often; a caused fewer calls of f
            f is gone; a removed the calls of f
        "]];
        time.assert_eq(&said(Unit::Nanoseconds, "wall"));
        let memory = said(Unit::Bytes, "allocated");
        assert!(memory.starts_with("f costs more; a made f cost more\n"), "{memory}");
        assert!(memory.contains("f costs less; a made f cost less\n"), "{memory}");
    }
}
