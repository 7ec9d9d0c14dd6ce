//! `perfblame record chrome`: visits to a web page, one trace each.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use perfblame_record::RecordError;
use perfblame_record::chrome::flow::Flow;
use perfblame_record::chrome::{
    Launch, PageSettings, Start, Task, Visit, Visited, record_visit, visit,
};
use perfblame_words::counted;

use super::{next_command, next_number, relative, remove_empty, time};
use crate::args::{BrowserArgs, RecordArgs, WhatArg};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::terminal::{Terminal, complain};

/// A page that takes longer hangs.
pub const USUAL_TIMEOUT: Duration = Duration::from_secs(60);

/// Records as many visits as asked for and says where they are.
pub fn run(
    args: &RecordArgs,
    terminal: &Terminal,
    cancel: &AtomicBool,
) -> anyhow::Result<ExitCode> {
    let visit = args.visit()?;
    let folder = args.folder()?;
    let mut visits = Vec::new();
    let outcome = record_all(args, &visit, &folder, terminal, cancel, &mut visits);
    summary(args, &folder, &visits, terminal);
    match outcome {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(RecordError::Cancelled) => {
            complain("recording cancelled\n");
            Ok(ExitCode::from(output::INTERRUPTED))
        }
        Err(error) => Err(error.into()),
    }
}

fn record_all(
    args: &RecordArgs,
    page: &Visit,
    folder: &Path,
    terminal: &Terminal,
    cancel: &AtomicBool,
    visits: &mut Vec<Visited>,
) -> Result<(), RecordError> {
    let announce = |doing: &str, number: u32, of: u32| {
        let text = format!("{doing}, run {number} of {of}");
        terminal.shows_progress().then(|| Progress::waiting(&text))
    };
    for number in 1..=args.warmup {
        let _progress = announce("warming up", number, args.warmup);
        visit(page, cancel)?;
    }
    let first = if args.append { next_number(folder) } else { 1 };
    for number in 0..args.runs {
        let _progress = announce("recording", number + 1, args.runs);
        let name = format!("run-{}", first.saturating_add(number));
        visits.push(record_visit(page, folder, &name, cancel)?);
    }
    Ok(())
}

fn summary(args: &RecordArgs, folder: &Path, visits: &[Visited], terminal: &Terminal) {
    let mut said: Vec<&String> = Vec::new();
    for note in visits.iter().flat_map(|visit| &visit.notes) {
        if !said.contains(&note) {
            terminal.note(note);
            said.push(note);
        }
    }
    let Some(first) = visits.first() else {
        if args.output.is_none() {
            remove_empty(folder);
        }
        return;
    };
    let mut text = format!(
        "recorded {} with {}\n",
        counted(visits.len() as u64, "run", "runs"),
        first.browser
    );
    for visit in visits {
        if let Some(trace) = &visit.trace {
            let _ = writeln!(text, "  {}  {}", relative(trace).display(), time(visit.took));
        }
    }
    let _ = writeln!(text, "next: {}", next_command(folder, args.output.is_none(), "show"));
    terminal.say(&text);
}

impl RecordArgs {
    fn visit(&self) -> anyhow::Result<Visit> {
        let chrome = &self.chrome;
        let url = chrome.url.as_deref().map(address).transpose()?;
        let (url, task) = match (&chrome.flow, url) {
            (Some(path), url) => {
                let mut flow = read_flow(path)?;
                if let Some(url) = url {
                    flow = flow.starting_at(&url);
                }
                let start = flow.start().unwrap_or("about:blank").to_owned();
                (start, Task::Flow(flow))
            }
            (None, None) => {
                return Err(Failure {
                    what: "no page given".to_owned(),
                    why: String::new(),
                    help: Some(
                        "give its address: `perfblame record chrome --url http://127.0.0.1:8080`"
                            .to_owned(),
                    ),
                }
                .into());
            }
            (None, Some(url)) => match &chrome.script {
                None => (url, Task::Load),
                Some(path) => {
                    let text = std::fs::read_to_string(path)
                        .with_context(|| format!("cannot read {}", path.display()))?;
                    (url, Task::Script { name: path.display().to_string(), text })
                }
            },
        };
        let start = match &chrome.attach {
            Some(address) => Start::Attach(Some(address.clone())),
            None => Start::Launch(chrome.browser.launch()),
        };
        Ok(Visit {
            start,
            page: chrome.browser.page(),
            url,
            task,
            skip_load: chrome.skip_load,
            sources: !chrome.browser.without_sources,
            sampling_interval: chrome.browser.sampling_interval,
            timeout: self.timeout.unwrap_or(USUAL_TIMEOUT),
            rest_limit: chrome.browser.rest_limit,
            max_size: self.max_size,
        })
    }

    /// Options that say something of web pages only, and those that say nothing of them.
    pub fn check_chrome(&self) -> Result<(), Failure> {
        let chrome = &self.chrome;
        let of_pages = chrome.url.is_some()
            || chrome.flow.is_some()
            || chrome.attach.is_some()
            || chrome.browser.is_given();
        if of_pages && self.what != WhatArg::Chrome {
            return Err(Failure {
                what: "`--url`, `--flow`, `--script` and the browser options need `record chrome`"
                    .to_owned(),
                why: String::new(),
                help: Some("run `perfblame record chrome …`".to_owned()),
            });
        }
        let of_programs = !self.command.is_empty()
            || self.input.is_some()
            || self.keep_output
            || self.ignore_failure
            || self.frequency.is_some()
            || self.exact
            || !self.profiler_args.is_empty();
        if of_programs && self.what == WhatArg::Chrome {
            return Err(Failure {
                what: "a web page has no command, input or output, and a fixed sampling rate"
                    .to_owned(),
                why: String::new(),
                help: Some("see \"Web pages\" in `perfblame record --help`".to_owned()),
            });
        }
        Ok(())
    }

    /// What a folder of recordings is called after.
    pub fn page_name(&self) -> String {
        let flow = self.chrome.flow.as_ref().and_then(|path| path.file_stem()?.to_str());
        let url = self.chrome.url.as_deref().or(flow.filter(|name| *name != "-"));
        let url = url.unwrap_or_default();
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = rest.split(['/', '?', '#']).find(|part| !part.is_empty()).unwrap_or("page");
        let plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
        host.chars().map(|c| if plain(c) { c } else { '-' }).collect()
    }
}

impl BrowserArgs {
    /// How the browser is started.
    pub fn launch(&self) -> Launch {
        Launch {
            browser: self.browser.clone(),
            headed: self.headed,
            gpu: self.gpu,
            arguments: self.arguments.clone(),
        }
    }

    /// How pages are shown.
    pub fn page(&self) -> PageSettings {
        PageSettings { viewport: self.viewport, cpu_throttle: self.cpu_throttle }
    }

    /// True when something was said that has no default.
    fn is_given(&self) -> bool {
        self.browser.is_some()
            || self.headed
            || self.gpu
            || self.cpu_throttle.is_some()
            || self.without_sources
            || self.sampling_interval.is_some()
            || !self.arguments.is_empty()
    }
}

/// Reads a flow from a file, or from standard input.
pub fn read_flow(path: &Path) -> anyhow::Result<Flow> {
    let from_input = path.as_os_str() == "-";
    let name = if from_input { "standard input".to_owned() } else { path.display().to_string() };
    let mut text = Vec::new();
    if from_input {
        std::io::stdin().lock().read_to_end(&mut text)
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut text))
    }
    .with_context(|| format!("cannot read {name}"))?;
    Flow::parse(&text).map_err(|error| {
        Failure {
            what: format!("{name} is not a valid flow"),
            why: error.to_string(),
            help: Some(
                "export it from DevTools' Recorder panel as JSON; see docs/flows.md".to_owned(),
            ),
        }
        .into()
    })
}

/// An address as browsers take it: files and hosts are known without their scheme.
pub fn address(said: &str) -> anyhow::Result<String> {
    let scheme = said.split_once(':').map(|(scheme, _)| scheme);
    if said.contains("://") || matches!(scheme, Some("about" | "data" | "blob" | "chrome")) {
        return Ok(said.to_owned());
    }
    let file = PathBuf::from(said);
    if !file.exists() {
        return Ok(format!("http://{said}"));
    }
    let path = std::path::absolute(&file)?;
    let mut url = "file://".to_owned();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'/' | b'.' | b'_' | b'-' | b'~' => url.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => url.push(byte.into()),
            byte => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_hosts_need_no_scheme() {
        assert_eq!(address("http://x/y").unwrap(), "http://x/y");
        assert_eq!(address("data:text/html,x").unwrap(), "data:text/html,x");
        assert_eq!(address("127.0.0.1:80/x").unwrap(), "http://127.0.0.1:80/x");
        let folder = std::env::temp_dir().join(format!("perfblame address {}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let url = address(folder.to_str().unwrap()).unwrap();
        std::fs::remove_dir(&folder).unwrap();
        assert!(url.starts_with("file:///") && url.contains("perfblame%20address"), "{url}");
    }
}
