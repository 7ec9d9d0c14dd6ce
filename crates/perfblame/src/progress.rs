//! A progress bar for what takes longer than a second, on a terminal only.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use perfblame_readers::Tally;

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

    /// Watches bytes being read, of `total` when that is known.
    pub fn reading(total: Option<u64>, tally: &Tally, visible: bool) -> Self {
        if !visible {
            return Self { done: None, thread: None };
        }
        let (done, wait) = channel::<()>();
        let tally = tally.clone();
        let thread = std::thread::spawn(move || {
            // It counts from the start, unseen, so that its speed is right when it is seen.
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
            let template = if total.is_some() {
                "reading {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left"
            } else {
                "reading {spinner} {bytes}, {bytes_per_sec}"
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            let started = Instant::now();
            loop {
                let read = total.map_or(tally.bytes(), |total| tally.bytes().min(total));
                bar.set_position(read);
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

impl Drop for Progress {
    fn drop(&mut self) {
        self.done.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
