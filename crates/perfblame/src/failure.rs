//! Errors as people read them: what failed, why, and what to do next.

use std::fmt::Write as _;
use std::io;

use anstyle::{AnsiColor, Style};
use perfblame_analysis::{DiffError, LoadError, ShowError};
use perfblame_changes::GitError;
use perfblame_record::RecordError;
use perfblame_report::NoTimes;

/// A failure in words.
#[derive(Debug)]
pub struct Failure {
    /// What failed.
    pub what: String,
    /// Why.
    pub why: String,
    /// What to do next.
    pub help: Option<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}

/// A part that one side of a comparison does not have.
#[derive(Debug)]
pub struct SideError {
    /// `before` or `after`.
    pub side: &'static str,
    /// What is wrong with it.
    pub error: ShowError,
}

impl std::fmt::Display for SideError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.side, self.error)
    }
}

impl std::error::Error for SideError {}

/// True when nobody reads our output any more.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        let json =
            cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.map(io::Error::kind).or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}

/// The text of an error, with a line break at its end.
pub fn explained(error: &anyhow::Error, colour: bool) -> String {
    let failure = in_words(error);
    let (red, bold) = if colour {
        (Style::new().fg_color(Some(AnsiColor::Red.into())).bold(), Style::new().bold())
    } else {
        (Style::new(), Style::new())
    };
    let mut text = format!("{red}error:{red:#} {}\n", failure.what);
    for line in failure.why.lines() {
        let _ = writeln!(text, "  {line}");
    }
    if let Some(help) = &failure.help {
        let _ = writeln!(text, "  {bold}help:{bold:#} {help}");
    }
    text
}

fn in_words(error: &anyhow::Error) -> Failure {
    if let Some(error) = error.downcast_ref::<perfblame_check::Failure>() {
        let log = error.log.as_ref().map(|log| format!("full log: {}", log.display()));
        let why: Vec<String> = [error.why.clone()].into_iter().chain(log).collect();
        return Failure { what: error.what.clone(), why: why.join("\n"), help: error.help.clone() };
    }
    if let Some(error) = error.downcast_ref::<GitError>() {
        let (what, why) = error.what_and_why();
        return Failure { what, why, help: error.hint().map(str::to_owned) };
    }
    if let Some(error) = error.downcast_ref::<LoadError>() {
        return Failure {
            what: error.to_string(),
            why: error.kind.to_string(),
            help: error.help().map(str::to_owned),
        };
    }
    if let Some(error) = error.downcast_ref::<ShowError>() {
        return cannot_show(error);
    }
    if let Some(error) = error.downcast_ref::<SideError>() {
        return Failure { what: error.to_string(), ..cannot_show(&error.error) };
    }
    if let Some(error) = error.downcast_ref::<DiffError>() {
        return cannot_compare(error);
    }
    if let Some(error) = error.downcast_ref::<RecordError>() {
        return Failure { what: error.to_string(), why: error.why(), help: error.help() };
    }
    for cause in error.chain() {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(no_times) = inner.and_then(|inner| inner.downcast_ref::<NoTimes>()) {
            let help = if no_times.several_runs {
                "convert one run at a time"
            } else {
                "`--to speedscope` and `--to firefox` do not need times"
            };
            return Failure {
                what: error.to_string(),
                why: no_times.to_string(),
                help: Some(help.to_owned()),
            };
        }
    }
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return Failure {
            what: failure.what.clone(),
            why: failure.why.clone(),
            help: failure.help.clone(),
        };
    }
    let causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
    Failure { what: error.to_string(), why: causes.join("\n"), help: None }
}

fn cannot_compare(error: &DiffError) -> Failure {
    let listed = |names: &[String]| match names {
        [] => "no metric".to_owned(),
        names => names.join(", "),
    };
    let (why, help) = match error {
        DiffError::Metric { known, .. } => {
            (String::new(), format!("both sides have {}", listed(known)))
        }
        DiffError::NothingInCommon { before, after } => (
            format!("before has {}\nafter has {}", listed(before), listed(after)),
            "record both sides the same way".to_owned(),
        ),
        DiffError::Threshold { given, metric, unit } => {
            return Failure {
                what: "`--min-delta` does not fit the metric".to_owned(),
                why: format!("it is {given}, and {metric} is measured in {}", unit.name()),
                help: Some("a percentage or a number without a unit always works".to_owned()),
            };
        }
        DiffError::Work { .. } => (
            String::new(),
            "give one number per side, or one per run separated by `:`, as in `--work 100:110:90,80`"
                .to_owned(),
        ),
    };
    Failure { what: error.to_string(), why, help: Some(help) }
}

fn cannot_show(error: &ShowError) -> Failure {
    let (why, help) = match error {
        ShowError::Function(error) if error.ambiguous => {
            let mut why = error.candidates.join("\n");
            if error.more > 0 {
                let _ = write!(why, "\nand {} more", error.more);
            }
            (why, "give the full name of one of them".to_owned())
        }
        ShowError::Function(error) if error.candidates.is_empty() => {
            (String::new(), "`perfblame show --functions` lists all functions".to_owned())
        }
        ShowError::Function(error) => {
            (String::new(), format!("did you mean {}?", error.candidates.join(", ")))
        }
        ShowError::Metric { known, .. } if known.is_empty() => {
            ("it has no metric at all".to_owned(), "remove `--metric`".to_owned())
        }
        ShowError::Metric { known, .. } => (String::new(), format!("it has {}", known.join(", "))),
        ShowError::Task { error, .. } => (
            error.to_string(),
            "as in `--task 'regex:^com.shop.(?<part>[^.]+) as shop-${part}'`".to_owned(),
        ),
        ShowError::NoTask(_) => {
            let why = "a prefix must match the start of a function's name or component".to_owned();
            (why, "`perfblame show --functions` lists all functions".to_owned())
        }
        ShowError::Thread { known, .. } if known.is_empty() => {
            ("its threads have no names".to_owned(), "remove `--thread`".to_owned())
        }
        ShowError::Thread { known, .. } => {
            let shown = known.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
            (String::new(), format!("there are {shown}"))
        }
    };
    Failure { what: error.to_string(), why, help: Some(help) }
}
