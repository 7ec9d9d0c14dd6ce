//! `perfblame web`: what made a web page slower.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use perfblame_analysis::{DiffQuery, Side, Sides};
use perfblame_check::web::{Site, WebCompared, WebOptions, compare};
use perfblame_check::{Decided, Ended};
use perfblame_record::chrome::{Start, Task, Visit};
use perfblame_words::counted;

use crate::args::WebArgs;
use crate::failure::Failure;
use crate::output;
use crate::record::chrome::{USUAL_TIMEOUT, address, read_flow};
use crate::record::{new_folder, relative};
use crate::terminal::{Terminal, complain};
use crate::watching::Watching;

/// Visits both sides in turns, compares, renders; the status says whether it got slower.
pub fn run(args: &WebArgs, terminal: &Terminal) -> anyhow::Result<ExitCode> {
    let options = args.options()?;
    let ask = output::cancel_on_signals();
    let watching = Watching::new(terminal);
    let compared = compare(&options, &watching, ask);
    drop(watching);
    let compared = match compared {
        Err(failure) if failure.cancelled => {
            complain("interrupted; all browsers and servers ended\n");
            return Ok(ExitCode::from(output::INTERRUPTED));
        }
        compared => compared?,
    };
    tell(&compared, args, terminal);
    let Decided { diff, tree, .. } = compared.decided;
    args.answer.write_drawn(&diff, &tree, terminal)
}

/// What is known of how the answer came about.
fn tell(compared: &WebCompared, args: &WebArgs, terminal: &Terminal) {
    for note in &compared.notes {
        terminal.note(note);
    }
    let runs = counted(compared.decided.diff.before.totals.len() as u64, "run", "runs");
    match compared.decided.ended {
        Ended::Clear | Ended::NotReached => {
            terminal.note(&format!("the answer was clear after {runs} per side"));
        }
        Ended::MostRuns => {
            terminal.note(&format!("stopped after {runs} per side, the limit set by `--max-runs`"));
        }
        Ended::Budget => terminal.note(&format!(
            "stopped after {runs} per side, because the budget of {} s was used up",
            args.budget.as_secs()
        )),
    }
    if let Some(sentence) = compared.noise.sentence() {
        terminal.note(&sentence);
    }
    if let Some(Sides { before, after }) = compared.overhead {
        terminal.note(&format!(
            "recording made visits {:.0} % longer before and {:.0} % longer after",
            before * 100.0,
            after * 100.0
        ));
    }
    let Sides { before, after } = &compared.folders;
    terminal.note(&format!(
        "the traces are in {} and {}",
        relative(before).display(),
        relative(after).display()
    ));
}

impl WebArgs {
    fn options(&self) -> anyhow::Result<WebOptions> {
        let task = match (&self.flow, &self.script) {
            (None, None) => Task::Load,
            (Some(path), _) => Task::Flow(read_flow(path)?),
            (None, Some(path)) => Task::Script {
                name: path.display().to_string(),
                text: std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read {}", path.display()))?,
            },
        };
        let visit = Visit {
            start: Start::Launch(self.browser.launch()),
            page: self.browser.page(),
            url: String::new(),
            task,
            skip_load: self.skip_load,
            sources: !self.browser.without_sources,
            sampling_interval: self.browser.sampling_interval,
            timeout: self.timeout.unwrap_or(USUAL_TIMEOUT),
            rest_limit: self.browser.rest_limit,
            max_size: None,
        };
        Ok(WebOptions {
            sites: Sides {
                before: self.site(self.before.as_ref(), self.before_cmd.as_ref(), 0)?,
                after: self.site(self.after.as_ref(), self.after_cmd.as_ref(), 1)?,
            },
            page: self.page.clone(),
            visit,
            warm_up: self.warmup,
            min_runs: self.min_runs,
            max_runs: self.max_runs,
            budget: self.budget,
            patience: self.start_timeout,
            query: DiffQuery {
                metric: self.metric.clone(),
                min_delta: self.min_delta,
                ..DiffQuery::default()
            },
            inputs: self.scripts.inputs(),
            folder: self.folder()?,
        })
    }

    fn site(
        &self,
        url: Option<&String>,
        command: Option<&String>,
        served: usize,
    ) -> anyhow::Result<Site> {
        let url = url.map(|url| address(url)).transpose()?;
        Ok(match (self.serve.get(served), command, url) {
            (Some(folder), _, _) => Site::Folder(folder.clone()),
            (None, Some(line), url) => Site::Command { line: line.clone(), url },
            (None, None, url) => Site::Address(url.unwrap_or_default()),
        })
    }

    /// Where traces go: never where there are some already.
    fn folder(&self) -> anyhow::Result<std::path::PathBuf> {
        let Some(folder) = &self.recordings else { return new_folder("web") };
        let has_runs = |side: Side| {
            let mut entries = std::fs::read_dir(folder.join(side.name())).into_iter().flatten();
            entries.next().is_some()
        };
        if Side::BOTH.into_iter().any(has_runs) {
            return Err(Failure {
                what: format!("{} already contains runs", folder.display()),
                why: String::new(),
                help: Some("choose another folder".to_owned()),
            }
            .into());
        }
        Ok(std::path::absolute(Path::new(folder))?)
    }
}
