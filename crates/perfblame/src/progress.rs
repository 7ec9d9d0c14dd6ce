//! A progress bar for what takes longer than a second, on a terminal only.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use perfblame_analysis::{Ask, Phase};
use perfblame_words::counted;

use crate::terminal::Terminal;

/// What is done sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the bar moves.
const TICK: Duration = Duration::from_millis(100);

/// A bar that appears after a while and goes when this is dropped.
pub struct Progress {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Says what we wait for, and for how long already.
    pub fn waiting(text: &str) -> Self {
        let (done, wait) = channel::<()>();
        let text = text.to_owned();
        let thread = std::thread::spawn(move || {
            if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
                bar.set_style(style);
            }
            bar.set_elapsed(PATIENCE);
            bar.set_message(text);
            bar.tick();
            while wait.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                bar.tick();
            }
            bar.finish_and_clear();
        });
        Self { done: Some(done), thread: Some(thread) }
    }

    /// Watches an answer being made of inputs of `total` bytes, where that is known.
    fn of(ask: &Ask, total: Option<u64>) -> Self {
        let (done, wait) = channel::<()>();
        let ask = ask.clone();
        let thread = std::thread::spawn(move || {
            // It counts from the start, unseen, so that its speed is right when it is seen.
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
            let reading = if total.is_some() {
                "reading {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left"
            } else {
                "reading {spinner} {bytes}, {bytes_per_sec}"
            };
            let mut shown = None;
            let started = Instant::now();
            loop {
                let at = ask.progress();
                let words = words(at.phase);
                if shown.replace(at.phase) != Some(at.phase) {
                    let template = if words.is_empty() { reading } else { "{spinner} {msg}" };
                    if let Ok(style) = ProgressStyle::with_template(template) {
                        bar.set_style(style);
                    }
                    bar.set_message(words);
                }
                bar.set_position(total.map_or(at.bytes, |total| at.bytes.min(total)));
                if bar.is_hidden() && started.elapsed() >= PATIENCE {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                if wait.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            bar.finish_and_clear();
        });
        Self { done: Some(done), thread: Some(thread) }
    }
}

/// Asks, with a progress bar when the answer takes its time. `total` is how many bytes there are to read.
pub fn asking<T>(terminal: &Terminal, total: Option<u64>, question: impl FnOnce(&Ask) -> T) -> T {
    let ask = terminal.ask();
    let progress = terminal.shows_progress().then(|| Progress::of(&ask, total));
    let answer = question(&ask);
    drop(progress);
    terminal.log(&format!("answered, after {}", counted(ask.progress().bytes, "byte", "bytes")));
    answer
}

/// What is being done; empty while bytes are counted.
fn words(phase: Phase) -> &'static str {
    match phase {
        Phase::Code => "comparing the code",
        Phase::Reading => "",
        Phase::Selecting => "selecting",
        Phase::Identifying => "matching functions",
        Phase::Matching => "matching call paths",
        Phase::Explaining => "weighing costs",
        Phase::Attributing => "looking for the code change",
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.done.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
