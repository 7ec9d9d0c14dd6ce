//! Work on many files at once, with answers in the order of the questions.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// `work` on each item, on all cores. Which thread takes which item is chance, the answer is not.
pub(crate) fn map_in_order<'a, T: Sync, R: Send>(
    items: &'a [T],
    work: impl Fn(&'a T) -> R + Sync,
) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(items.len());
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = Vec::new();
                loop {
                    let row = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(row) else { break };
                    own.push((row, work(item)));
                }
                done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).append(&mut own);
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(row, _)| *row);
    done.into_iter().map(|(_, answer)| answer).collect()
}
