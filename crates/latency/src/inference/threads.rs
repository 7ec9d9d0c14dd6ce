//! The threads of a trace, each with what is kept of it. Threads get other names while they run.

use hashbrown::HashMap;
use perfblame_cct::{ProfileBuilder, ThreadId};

use crate::tally::Tally;
use crate::thread::ThreadState;

/// The states of all threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    pub(super) states: Vec<ThreadState>,
    /// From a thread to its state.
    of_thread: Vec<Option<u32>>,
    /// From a thread's number to its state.
    of_tid: HashMap<u64, u32>,
}

impl Threads {
    /// The state of a thread that has had events.
    pub(super) fn of(&self, thread: ThreadId) -> Option<&ThreadState> {
        let row = self.of_thread.get(thread.index()).copied().flatten()?;
        self.states.get(row as usize)
    }

    /// The row of a thread's state, which is made where there is none. What a thread did under another name goes into
    /// the tally.
    pub(super) fn row_of(
        &mut self,
        builder: &ProfileBuilder,
        thread: ThreadId,
        tally: &mut Tally,
    ) -> usize {
        if let Some(Some(row)) = self.of_thread.get(thread.index()) {
            return *row as usize;
        }
        let tid = builder.known_thread(thread).and_then(|known| known.tid);
        let next = self.states.len() as u32;
        let row = match tid {
            Some(tid) => *self.of_tid.entry(tid).or_insert(next),
            None => next,
        };
        if row == next {
            self.states.push(ThreadState::new(thread));
        }
        let state = &mut self.states[row as usize];
        if state.thread != thread {
            // What it did so far it did under its old name.
            for call in &mut state.calls {
                tally.add(call.cursor.node(), state.thread, std::mem::take(&mut call.ran), 0);
            }
        }
        state.thread = thread;
        if self.of_thread.len() <= thread.index() {
            self.of_thread.resize(thread.index() + 1, None);
        }
        self.of_thread[thread.index()] = Some(row);
        row as usize
    }

    /// How many threads a process has.
    pub(super) fn of_process(&self, builder: &ProfileBuilder, pid: Option<u64>) -> usize {
        let of = |state: &&ThreadState| {
            builder.known_thread(state.thread).is_some_and(|known| known.pid == pid)
        };
        self.states.iter().filter(of).count()
    }
}
