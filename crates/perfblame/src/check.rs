//! `perfblame check`, `bisect` and `init`: ask, render, report.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use perfblame_analysis::{Check, Verdict};
use perfblame_changes::Repository;
use perfblame_check::{Busy, CheckOptions, Home, Walk, config, init};
use perfblame_report::{
    DiffLook, Look, bisect_json, bisect_text, check_html, check_json, check_markdown, check_sarif,
    check_text,
};

use crate::args::{
    BisectArgs, CheckArgs, CheckFormat, CheckOutput, FailOn, Format, InitArgs, WhatToRun,
};
use crate::failure::{Failure, is_closed_pipe};
use crate::output;
use crate::terminal::Terminal;
use crate::watching::Watching;

/// Checks two revisions; the status says whether it got slower.
pub fn run(args: &CheckArgs, terminal: &Terminal) -> anyhow::Result<ExitCode> {
    let here = Path::new(".");
    if args.last {
        return last(here, &args.output);
    }
    let ask = output::cancel_on_signals();
    let options =
        CheckOptions { base: args.base.clone(), head: args.head.clone(), ..args.what.options() };
    let watching = Watching::new(terminal);
    let answer = perfblame_check::check(here, &options, &watching, ask);
    drop(watching);
    let answer = match answer {
        Err(failure) if failure.cancelled => return Ok(interrupted()),
        answer => answer?,
    };
    remember(here, &answer);
    if let Some(path) = &args.output.html {
        output::write(path, |out| check_html(&answer, out))?;
        terminal.note(&format!("wrote the page to {}", path.display()));
    }
    written(args.output.output.as_deref(), terminal, |look, out| {
        args.output.render(&answer, look, out)
    })?;
    Ok(status(&answer, args.fail_on))
}

/// Finds the commit that made it slower.
pub fn bisect(args: &BisectArgs, terminal: &Terminal) -> anyhow::Result<ExitCode> {
    let ask = output::cancel_on_signals();
    let walk = if args.first_parent { Walk::FirstParent } else { Walk::All };
    let watching = Watching::logging(terminal);
    let found = perfblame_check::bisect(
        Path::new("."),
        &args.good,
        &args.bad,
        walk,
        &args.what.options(),
        &watching,
        ask,
    );
    drop(watching);
    let found = match found {
        Err(failure) if failure.cancelled => return Ok(interrupted()),
        found => found?,
    };
    written(args.output.as_deref(), terminal, |look, out| match args.format {
        Format::Text => bisect_text(&found, DiffLook { look, limit: 10 }, out),
        Format::Json => bisect_json(&found, out),
    })?;
    let failed = found.suspects.is_empty() && !found.warnings.is_empty();
    Ok(ExitCode::from(if failed { 2 } else { u8::from(!found.suspects.is_empty()) }))
}

/// Writes `perfblame.toml`.
pub fn init(args: &InitArgs, terminal: &Terminal) -> anyhow::Result<()> {
    let root = Repository::with_working_tree(Path::new("."))
        .map_or_else(|_| ".".into(), |git| git.root().to_owned());
    let path = root.join(config::FILE);
    if path.exists() && !args.force {
        return Err(Failure {
            what: format!("{} already exists", path.display()),
            why: "it may have been written by hand".to_owned(),
            help: Some("`perfblame init --force` replaces it".to_owned()),
        }
        .into());
    }
    let project = init::look(&root);
    output::write(&path, |out| out.write_all(init::text(&project).as_bytes()))?;
    let kind = if project.kind.is_empty() { "a project of unknown kind" } else { &project.kind };
    terminal.note(&format!("found {kind}, wrote {}", path.display()));
    terminal.note(if project.workloads.is_empty() {
        "set `run` in it, then try `perfblame check HEAD~1`"
    } else {
        "review what it runs, then try `perfblame check HEAD~1`"
    });
    Ok(())
}

/// What ended by a signal says so and nothing else.
fn interrupted() -> ExitCode {
    crate::terminal::complain("interrupted; all processes ended, unfinished checkouts removed\n");
    ExitCode::from(output::INTERRUPTED)
}

pub fn status(answer: &Check, fail_on: FailOn) -> ExitCode {
    let inconclusive = answer.verdict == Verdict::Inconclusive && fail_on == FailOn::Inconclusive;
    ExitCode::from(match answer.verdict {
        Verdict::Regressed => 1,
        _ if answer.failed().next().is_some() => 2,
        _ => u8::from(inconclusive),
    })
}

fn written(
    target: Option<&Path>,
    terminal: &Terminal,
    render: impl FnOnce(Look, &mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let written = match target {
        Some(path) => {
            let look = Look { colour: false, ..terminal.look };
            output::write(path, |out| render(look, out))
        }
        None => output::to_stdout(|out| render(terminal.look, out)),
    };
    match written {
        // Whoever reads us has seen enough; the status still says what was found.
        Err(error) if !is_closed_pipe(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Formats that the last answer is kept in, and the names of their files.
const KEPT: [(CheckFormat, &str); 5] = [
    (CheckFormat::Text, "check.txt"),
    (CheckFormat::Json, "check.json"),
    (CheckFormat::Markdown, "check.md"),
    (CheckFormat::Sarif, "check.sarif"),
    (CheckFormat::Html, "check.html"),
];

/// Keeps an answer for `check --last`. That it cannot be kept is no failure of the check.
pub fn remember(here: &Path, answer: &Check) {
    let Ok(git) = Repository::with_working_tree(here) else { return };
    let Ok(home) = Home::of(&git) else { return };
    let look = Look { width: 100, unicode: true, colour: false };
    for (format, name) in KEPT {
        let plain = CheckOutput { format, output: None, html: None, limit: 10 };
        let _ = output::write(&home.last().join(name), |out| plain.render(answer, look, out));
    }
}

fn last(here: &Path, how: &CheckOutput) -> anyhow::Result<ExitCode> {
    let home = Home::of(&Repository::with_working_tree(here)?)?;
    let name = KEPT.iter().find(|(format, _)| *format == how.format).map_or("", |(_, name)| name);
    let path = home.last().join(name);
    let text = std::fs::read(&path).map_err(|_| Failure {
        what: "there is no last check".to_owned(),
        why: "no check of this repository has finished yet".to_owned(),
        help: Some("run `perfblame check` first".to_owned()),
    })?;
    let _ = std::fs::remove_file(home.last().join("unseen"));
    match &how.output {
        Some(target) => output::write(target, |out| out.write_all(&text))?,
        None => output::to_stdout(|out| out.write_all(&text))?,
    }
    let json = std::fs::read(home.last().join("check.json")).unwrap_or_default();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap_or_default();
    Ok(ExitCode::from(u8::from(json["verdict"] == "regressed")))
}

impl WhatToRun {
    fn options(&self) -> CheckOptions {
        CheckOptions {
            config: self.config.clone(),
            workloads: self.workload.clone(),
            inputs: self.input.clone(),
            fresh: self.fresh,
            busy: if self.no_wait { Busy::Refuse } else { Busy::Wait },
            max_runs: self.runs,
            budget: self.budget,
            metric: self.metric.clone(),
            ..CheckOptions::default()
        }
    }
}

impl CheckOutput {
    pub fn render(&self, answer: &Check, look: Look, out: &mut dyn Write) -> io::Result<()> {
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        match self.format {
            CheckFormat::Text => check_text(answer, DiffLook { look, limit }, out),
            CheckFormat::Json => check_json(answer, out),
            CheckFormat::Markdown => check_markdown(answer, limit, out),
            CheckFormat::Sarif => check_sarif(answer, out),
            CheckFormat::Html => check_html(answer, out),
        }
    }
}
