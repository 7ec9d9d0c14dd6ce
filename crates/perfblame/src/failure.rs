//! Errors as people read them: what failed, why, and what to do next.

use std::fmt::Write as _;
use std::io;

use anstyle::{AnsiColor, Style};
use perfblame_analysis::{AskError, CodeError, DiffError, Hint, LoadError, ShowError};
use perfblame_changes::GitError;
use perfblame_record::RecordError;
use perfblame_report::NoTimes;
use perfblame_words::counted;

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
    if let Some(error) = error.downcast_ref::<AskError>() {
        return unanswered(error);
    }
    if let Some(error) = error.downcast_ref::<LoadError>() {
        return cannot_load(error);
    }
    if let Some(error) = error.downcast_ref::<ShowError>() {
        return cannot_show(error);
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

fn unanswered(error: &AskError) -> Failure {
    let what = error.to_string();
    match error {
        AskError::Load(error) => cannot_load(error),
        AskError::Show(error) => cannot_show(error),
        AskError::Part { error, .. } => Failure { what, ..cannot_show(error) },
        AskError::Lines(error) => {
            Failure { what, why: String::new(), help: help(error.hint(), "it has") }
        }
        AskError::Diff(error) => cannot_compare(error),
        AskError::Code(error) => no_changes(error),
        AskError::StdinOnBothSides => Failure {
            what,
            why: "`-` is given for BEFORE and for AFTER".to_owned(),
            help: help(error.hint(), "it has"),
        },
        AskError::Cancelled => Failure { what, why: String::new(), help: None },
    }
}

fn cannot_load(error: &LoadError) -> Failure {
    let why = error.kind.to_string();
    Failure { what: error.to_string(), why, help: help(error.hint(), "it has") }
}

fn cannot_compare(error: &DiffError) -> Failure {
    let (what, why) = match error {
        DiffError::NothingInCommon { before, after } => {
            let why = format!("before has {}\nafter has {}", listed(before), listed(after));
            (error.to_string(), why)
        }
        DiffError::Threshold { given, metric, unit } => (
            "`--min-delta` does not fit the metric".to_owned(),
            format!("it is {given}, but {metric} is measured in {}", unit.name()),
        ),
        DiffError::NoSources { .. } => (
            "`--classes` and `--changes` need `--method stages`".to_owned(),
            "the other methods need sources to find the change that explains a suspect".to_owned(),
        ),
        DiffError::Work { side, runs, given } => (
            format!(
                "{side} has {}, but `--work` gives {} for it",
                counted(*runs as u64, "run", "runs"),
                counted(*given as u64, "number", "numbers")
            ),
            String::new(),
        ),
        DiffError::Metric { .. } | DiffError::Cancelled => (error.to_string(), String::new()),
    };
    Failure { what, why, help: help(error.hint(), "both sides have") }
}

fn no_changes(error: &CodeError) -> Failure {
    let (what, why) = match error {
        CodeError::Read { source, .. } => {
            let why = match source.kind() {
                io::ErrorKind::NotFound => "there is no such folder".to_owned(),
                io::ErrorKind::NotADirectory => "it is not a folder".to_owned(),
                _ => source.to_string(),
            };
            (error.to_string(), why)
        }
        CodeError::Git(error) => error.what_and_why(),
        CodeError::Classes(_) | CodeError::Method(_) | CodeError::Cancelled => {
            (error.to_string(), String::new())
        }
    };
    Failure { what, why, help: help(error.hint(), "it has") }
}

fn cannot_show(error: &ShowError) -> Failure {
    let why = match error {
        ShowError::Function(error) if error.ambiguous => {
            let mut why = error.candidates.join("\n");
            if error.more > 0 {
                let _ = write!(why, "\nand {} more", error.more);
            }
            why
        }
        ShowError::Metric { known, .. } if known.is_empty() => "it has no metric at all".to_owned(),
        ShowError::Task { error, .. } => error.to_string(),
        ShowError::NoTask(_) => {
            "a prefix must match the start of a function's name or component".to_owned()
        }
        ShowError::Thread { known, .. } if known.is_empty() => {
            "its threads have no names".to_owned()
        }
        ShowError::Function(_) | ShowError::Metric { .. } | ShowError::Thread { .. } => {
            String::new()
        }
    };
    Failure { what: error.to_string(), why, help: help(error.hint(), "it has") }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "no metric".to_owned() } else { names.join(", ") }
}

/// A next step in the words of the command line. `has` comes before the metrics that there are.
fn help(hint: Option<Hint>, has: &str) -> Option<String> {
    Some(match hint? {
        Hint::Metrics(known) => format!("{has} {}", listed(&known)),
        Hint::NoMetric => "remove `--metric`".to_owned(),
        Hint::Threads(known) => {
            let shown = known.into_iter().take(8).collect::<Vec<_>>().join(", ");
            format!("the threads are {shown}")
        }
        Hint::NoThread => "remove `--thread`".to_owned(),
        Hint::DidYouMean(names) => format!("did you mean {}?", names.join(", ")),
        Hint::WholeName => "give the full name of one of them".to_owned(),
        Hint::ListFunctions => "`perfblame show --functions` lists all functions".to_owned(),
        Hint::Files(files) => format!("choose one of {}", files.join(", ")),
        Hint::TaskSyntax => {
            "as in `--task 'regex:^com.shop.(?<part>[^.]+) as shop-${part}'`".to_owned()
        }
        Hint::RecordAlike => "record both sides the same way".to_owned(),
        Hint::WorkOfEachRun => "give one number per side, or one per run separated by `:`, as in `--work 100:110:90,80`"
            .to_owned(),
        Hint::ShareOrNumber => "a percentage or a number without a unit always works".to_owned(),
        Hint::StagesOrSources => {
            "add `--method stages`, or use `--repo` or `--source`".to_owned()
        }
        Hint::OneSideToFile => "write one side to a file first".to_owned(),
        Hint::ListFormats => "`perfblame --help` lists the formats".to_owned(),
        Hint::RecordTrace(Some(how)) => how.to_owned(),
        Hint::RecordTrace(None) => {
            "`perfblame show` shows a profile; `perfblame record os` records traces".to_owned()
        }
        Hint::Words(help) => help,
    })
}
