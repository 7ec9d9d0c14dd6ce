//! Questions without an answer: a code for programs, data, and a hint at what to do next.
//!
//! Texts are made where they are read. An error says what is wrong in a short sentence; the words of a hint belong to
//! the front end, which knows how its users say what they want.

use perfblame_cct::Side;
use perfblame_readers::ReadErrorKind;

use crate::ask::Cancelled;
use crate::{CodeError, DiffError, FindError, LinesError, LoadError, LoadErrorKind, ShowError};

/// A question that has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// An input cannot be loaded.
    #[error("{0}")]
    Load(LoadError),
    /// One side of a comparison does not have the part that was asked for.
    #[error("{side}: {error}")]
    Part {
        /// Which side.
        side: Side,
        /// What is wrong with it.
        error: ShowError,
    },
    /// The profile does not have what was asked for.
    #[error("{0}")]
    Show(#[from] ShowError),
    /// The lines of the file are not known.
    #[error("{0}")]
    Lines(LinesError),
    /// The sides cannot be compared.
    #[error("{0}")]
    Diff(DiffError),
    /// The changes of the code cannot be found out.
    #[error("{0}")]
    Code(CodeError),
    /// There is one standard input, and both sides want it.
    #[error("standard input cannot be both sides")]
    StdinOnBothSides,
    /// Nobody wants the answer any more.
    #[error("cancelled")]
    Cancelled,
}

/// What to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hint {
    /// Ask for one of these metrics, which there are; on both sides, where there are two.
    Metrics(Vec<String>),
    /// Ask for no metric: there is none.
    NoMetric,
    /// Ask for one of these threads.
    Threads(Vec<String>),
    /// Ask for no thread: they have no names.
    NoThread,
    /// One of these functions may be meant.
    DidYouMean(Vec<String>),
    /// Give the whole name of one of the functions that match.
    WholeName,
    /// Look at which functions there are.
    ListFunctions,
    /// Ask for one of these files.
    Files(Vec<String>),
    /// Look at how tasks are defined.
    TaskSyntax,
    /// Record both sides the same way.
    RecordAlike,
    /// Give one number for the side, or one for each run.
    WorkOfEachRun,
    /// Give a share, or a number without a unit: both fit every metric.
    ShareOrNumber,
    /// Take a method that goes by changes alone, or name the sources.
    StagesOrSources,
    /// Write one side to a file first.
    OneSideToFile,
    /// Look at which formats there are.
    ListFormats,
    /// Record a trace, which this is not; how, where the format has a way.
    RecordTrace(Option<&'static str>),
    /// What only the reader of the format, or git, can say. The words fit every front end.
    Words(String),
}

impl AskError {
    /// The same for the same kind of failure, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Load(error) => error.code(),
            Self::Part { error, .. } | Self::Show(error) => error.code(),
            Self::Lines(error) => error.code(),
            Self::Diff(error) => error.code(),
            Self::Code(error) => error.code(),
            Self::StdinOnBothSides => "stdin-on-both-sides",
            Self::Cancelled => CANCELLED,
        }
    }

    /// What to do next, where we know.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Load(error) => error.hint(),
            Self::Part { error, .. } | Self::Show(error) => error.hint(),
            Self::Lines(error) => error.hint(),
            Self::Diff(error) => error.hint(),
            Self::Code(error) => error.hint(),
            Self::StdinOnBothSides => Some(Hint::OneSideToFile),
            Self::Cancelled => None,
        }
    }
}

/// The code of every question that was cancelled.
const CANCELLED: &str = "cancelled";

impl LoadError {
    /// The same for the same kind of failure, for programs.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            LoadErrorKind::Read(error) => match error.kind {
                ReadErrorKind::Io(_) => "cannot-read",
                ReadErrorKind::UnknownFormat => "unknown-format",
                ReadErrorKind::Empty => "empty",
                ReadErrorKind::Truncated { .. } => "truncated",
                ReadErrorKind::Unsupported(_) => "unsupported",
                ReadErrorKind::Malformed(_) => "malformed",
                ReadErrorKind::TooLarge { .. } => "too-large",
            },
            LoadErrorKind::NotFound => "not-found",
            LoadErrorKind::PermissionDenied => "permission-denied",
            LoadErrorKind::NamedTwice => "named-twice",
            LoadErrorKind::EmptyFolder => "empty-folder",
            LoadErrorKind::NoMatch => "no-match",
            LoadErrorKind::NoProfile => "no-profile",
            LoadErrorKind::Nothing => "no-input",
            LoadErrorKind::NotATrace { .. } => "not-a-trace",
            LoadErrorKind::NotRead => "not-read",
            LoadErrorKind::Cancelled => CANCELLED,
        }
    }

    /// What to do next, where we know.
    pub fn hint(&self) -> Option<Hint> {
        match &self.kind {
            LoadErrorKind::Read(error) => match (&error.help, &error.kind) {
                (Some(help), _) => Some(Hint::Words(help.clone())),
                (None, ReadErrorKind::UnknownFormat) => Some(Hint::ListFormats),
                (None, _) => None,
            },
            LoadErrorKind::NotATrace { record, .. } => Some(Hint::RecordTrace(*record)),
            _ => None,
        }
    }
}

impl ShowError {
    /// The same for the same kind of failure, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Function(FindError { ambiguous: true, .. }) => "ambiguous-function",
            Self::Function(_) => "unknown-function",
            Self::Metric { .. } => "unknown-metric",
            Self::Task { .. } => "malformed-task",
            Self::NoTask(_) => "unknown-task",
            Self::Thread { .. } => "unknown-thread",
        }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Function(FindError { ambiguous: true, .. }) => Hint::WholeName,
            Self::Function(error) if error.candidates.is_empty() => Hint::ListFunctions,
            Self::Function(error) => Hint::DidYouMean(error.candidates.clone()),
            Self::Metric { known, .. } if known.is_empty() => Hint::NoMetric,
            Self::Metric { known, .. } => Hint::Metrics(known.clone()),
            Self::Task { .. } => Hint::TaskSyntax,
            Self::NoTask(_) => Hint::ListFunctions,
            Self::Thread { known, .. } if known.is_empty() => Hint::NoThread,
            Self::Thread { known, .. } => Hint::Threads(known.clone()),
        })
    }
}

impl LinesError {
    /// The same for the same kind of failure, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Show(error) => error.code(),
            Self::NoFile { .. } => "unknown-file",
            Self::SeveralFiles { .. } => "ambiguous-file",
        }
    }

    /// What to do next, where we know.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Show(error) => error.hint(),
            Self::NoFile { .. } => None,
            Self::SeveralFiles { files, .. } => Some(Hint::Files(files.clone())),
        }
    }
}

impl DiffError {
    /// The same for the same kind of failure, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Metric { .. } => "unknown-metric",
            Self::NothingInCommon { .. } => "no-common-metric",
            Self::Threshold { .. } => "threshold-does-not-fit",
            Self::Work { .. } => "work-does-not-fit",
            Self::NoSources { .. } => "no-sources",
            Self::Cancelled => CANCELLED,
        }
    }

    /// What to do next, where we know.
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Metric { known, .. } => Hint::Metrics(known.clone()),
            Self::NothingInCommon { .. } => Hint::RecordAlike,
            Self::Threshold { .. } => Hint::ShareOrNumber,
            Self::Work { .. } => Hint::WorkOfEachRun,
            Self::NoSources { .. } => Hint::StagesOrSources,
            Self::Cancelled => return None,
        })
    }
}

impl CodeError {
    /// The same for the same kind of failure, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "cannot-read-code",
            Self::Git(error) => error.code(),
            Self::Classes(_) => "cannot-read-classes",
            Self::Method(error) => error.code(),
            Self::Cancelled => CANCELLED,
        }
    }

    /// What to do next, where we know.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Git(error) => error.hint().map(|hint| Hint::Words(hint.to_owned())),
            Self::Method(error) => error.hint(),
            Self::Read { .. } | Self::Classes(_) | Self::Cancelled => None,
        }
    }
}

impl From<Cancelled> for AskError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<LoadError> for AskError {
    fn from(error: LoadError) -> Self {
        match error.kind {
            LoadErrorKind::Cancelled => Self::Cancelled,
            _ => Self::Load(error),
        }
    }
}

impl From<LinesError> for AskError {
    fn from(error: LinesError) -> Self {
        match error {
            LinesError::Show(error) => Self::Show(error),
            error => Self::Lines(error),
        }
    }
}

impl From<DiffError> for AskError {
    fn from(error: DiffError) -> Self {
        match error {
            DiffError::Cancelled => Self::Cancelled,
            error => Self::Diff(error),
        }
    }
}

impl From<CodeError> for AskError {
    fn from(error: CodeError) -> Self {
        match error {
            CodeError::Cancelled => Self::Cancelled,
            CodeError::Method(error) => error.into(),
            error => Self::Code(error),
        }
    }
}
