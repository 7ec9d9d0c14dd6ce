//! What a check does, shown while it does it.

use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use perfblame_check::{CheckEvent, Watch};
use perfblame_words::counted;

use crate::terminal::Terminal;

/// A line that moves on a terminal; lines that stay for what is worth it.
pub struct Watching<'a> {
    terminal: &'a Terminal,
    bar: Option<Mutex<ProgressBar>>,
    /// Notes are lines of their own.
    logs: bool,
}

impl<'a> Watching<'a> {
    /// Shows what happens on a terminal, and nothing elsewhere.
    pub fn new(terminal: &'a Terminal) -> Self {
        let bar = terminal.shows_progress().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            Mutex::new(bar)
        });
        Self { terminal, bar, logs: false }
    }

    /// The same, with each step as a line that stays.
    pub fn logging(terminal: &'a Terminal) -> Self {
        let mut watching = Self::new(terminal);
        watching.logs = true;
        watching
    }

    fn show(&self, text: String) {
        self.terminal.log(&text);
        if let Some(bar) = self.bar.as_ref().and_then(|bar| bar.lock().ok()) {
            bar.set_message(text);
        }
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.as_ref().and_then(|bar| bar.lock().ok()) {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Watching<'_> {
    fn event(&self, event: &CheckEvent<'_>) {
        let titled = |workload: &str, input: &str| match input {
            "" => workload.to_owned(),
            input => format!("{workload}, {input}"),
        };
        match event {
            CheckEvent::Waiting { holder } => {
                self.terminal
                    .note(&format!("waiting for {holder}, which is checking this repository"));
            }
            CheckEvent::CheckingOut { revision } => {
                self.show(format!("checking out {}", revision.short()));
            }
            CheckEvent::Building { revision, command, .. } => {
                self.show(format!("building {}: {command}", revision.short()));
            }
            CheckEvent::Built { .. } => {}
            CheckEvent::Running { workload, input, revision, done, most } => {
                let title = titled(workload, input);
                self.show(format!(
                    "{title}: run {} of at most {most} per side, {}",
                    done + 1,
                    revision.short()
                ));
            }
            CheckEvent::Looked { workload, input, runs, verdict, clear } => {
                let title = titled(workload, input);
                let clear = if *clear { "clear" } else { "not clear yet" };
                let runs = counted((*runs).into(), "run", "runs");
                self.show(format!("{title}: {} after {runs}, {clear}", verdict.name()));
            }
            CheckEvent::Note { text } if self.logs => {
                match self.bar.as_ref().and_then(|bar| bar.lock().ok()) {
                    Some(bar) => bar.suspend(|| self.terminal.note(text)),
                    None => self.terminal.note(text),
                }
            }
            CheckEvent::Note { text } => self.show((*text).to_owned()),
            // Kept runs cost nothing that anything could be held against.
            CheckEvent::Took { runs, .. } if runs.is_zero() => {}
            CheckEvent::Took { runs, all } => {
                let over = all.saturating_sub(*runs).as_secs_f64() / runs.as_secs_f64().max(1e-9);
                self.terminal.log(&format!(
                    "runs took {:.2} s; everything except builds took {:.2} s, {:.1} % more",
                    runs.as_secs_f64(),
                    all.as_secs_f64(),
                    over * 100.0
                ));
            }
        }
    }
}
