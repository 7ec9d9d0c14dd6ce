//! The cases: what is injected where, and what is then the truth.

use serde::{Deserialize, Serialize};

use crate::timeline::FramePlace;

/// What is done to an application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InjectionKind {
    /// The paper's first injection: a call of the platform's takes 100 to 200 ms longer.
    Api,
    /// The second: a loop of 100 to 200 ms at the beginning of a function.
    Loop,
    /// The third: a condition is checked for 10 ms more, each time.
    Condition,
    /// One of the three, 5 to 20 ms in all.
    Weak,
    /// The second, in a function without a name.
    Anonymous,
    /// The second, and both sides are minified, each by another tool.
    Minified,
    /// A function as it was is called more often.
    MoreCalls,
    /// A timer takes 100 to 200 ms longer.
    Timer,
    /// A request takes 100 to 200 ms longer.
    Fetch,
}

impl InjectionKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Api,
        Self::Loop,
        Self::Condition,
        Self::Weak,
        Self::Anonymous,
        Self::Minified,
        Self::MoreCalls,
        Self::Timer,
        Self::Fetch,
    ];

    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Loop => "loop",
            Self::Condition => "condition",
            Self::Weak => "weak",
            Self::Anonymous => "anonymous",
            Self::Minified => "minified",
            Self::MoreCalls => "more-calls",
            Self::Timer => "timer",
            Self::Fetch => "fetch",
        }
    }

    /// True for those of the paper.
    pub fn is_of_paper(self) -> bool {
        matches!(self, Self::Api | Self::Loop | Self::Condition)
    }
}

/// A case to make: what, and which one of that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Spec {
    pub kind: InjectionKind,
    pub number: usize,
}

impl Spec {
    /// The cases of an application: two of each of the paper's kinds, two weak ones, one of each other variant.
    pub fn all() -> Vec<Self> {
        let of = |kind: InjectionKind| {
            if kind.is_of_paper() || kind == InjectionKind::Weak { 2 } else { 1 }
        };
        let each = |kind: InjectionKind| (1..=of(kind)).map(move |number| Self { kind, number });
        InjectionKind::ALL.into_iter().flat_map(each).collect()
    }

    /// Its name in files and tables.
    pub fn name(self) -> String {
        format!("{}-{}", self.kind.name(), self.number)
    }
}

/// What was injected, and what is right to say.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Truth {
    pub app: String,
    pub case: String,
    pub kind: InjectionKind,
    /// What was done, in words.
    pub what: String,
    /// The function that was changed, in the text as it is served.
    pub function: FramePlace,
    /// Other right answers: what was put in and is called by it; for more calls, what is called.
    pub also: Vec<FramePlace>,
    /// How often what was injected is executed at a visit.
    pub executions: u64,
    /// Milliseconds each time; for more calls, what the further calls should take.
    pub each: f64,
}

impl Truth {
    /// Milliseconds added to a visit.
    pub fn added(&self) -> f64 {
        self.each * self.executions as f64
    }

    /// True for a function that is a right answer.
    pub fn accepts(&self, place: &FramePlace) -> bool {
        self.function.is(place) || self.also.iter().any(|also| also.is(place))
    }
}
