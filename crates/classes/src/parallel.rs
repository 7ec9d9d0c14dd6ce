//! Work on many things at once, with the answers in the order of the questions.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Things that one thread takes at a time.
const BATCH: usize = 16;

/// `work` on each of `items`, on as many threads as the machine has cores.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(items.len().div_ceil(BATCH));
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let turn = || {
        let mut done = Vec::new();
        loop {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            if first >= items.len() {
                return done;
            }
            let last = items.len().min(first + BATCH);
            done.push((first, items[first..last].iter().map(&work).collect::<Vec<R>>()));
        }
    };
    let mut batches: Vec<(usize, Vec<R>)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(turn)).collect();
        let mut batches = turn();
        for other in others {
            match other.join() {
                Ok(more) => batches.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        batches
    });
    batches.sort_by_key(|(first, _)| *first);
    batches.into_iter().flat_map(|(_, batch)| batch).collect()
}

#[cfg(test)]
mod tests {
    use super::in_parallel;

    #[test]
    fn answers_keep_their_order() {
        let items: Vec<usize> = (0..1000).collect();
        assert_eq!(in_parallel(&items, |item| item + 1), (1..1001).collect::<Vec<_>>());
    }
}
