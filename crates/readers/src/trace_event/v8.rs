//! CPU profiles inside traces. Since Chrome 67 they come in pieces: a `Profile` event on the sampled thread, then
//! `ProfileChunk` events from the profiler's thread, joined by process and id (two processes use the same ids). Before,
//! one `CpuProfile` event held everything.

use hashbrown::HashMap;
use perfblame_cct::{MetricId, ProfileBuilder};

use super::threads::{Key, Threads};
use crate::cpuprofile::{Chunk, Gaps, SampledTree};
use crate::json::{Cursor, Fault, Kind};

/// All CPU profiles of a trace.
#[derive(Default, Debug)]
pub struct CpuProfiles {
    row_of: HashMap<(i64, Box<[u8]>), usize>,
    profiles: Vec<CpuProfile>,
    chunk: Chunk,
}

#[derive(Default, Debug)]
struct CpuProfile {
    /// The sampled thread, once its `Profile` event was seen.
    thread: Option<Key>,
    /// The thread the chunks come from, for want of better.
    writer: Key,
    /// True once a start time is known.
    started: bool,
    tree: SampledTree,
}

/// What of a profile an event holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// `Profile`
    Start,
    /// `ProfileChunk`
    Chunk,
    /// `CpuProfile`
    Whole,
}

impl CpuProfiles {
    /// True when any profile has samples.
    pub fn any(&self) -> bool {
        self.profiles.iter().any(|profile| !profile.tree.is_empty())
    }

    /// Reads the arguments of an event.
    pub fn read(
        &mut self,
        piece: Piece,
        thread: Key,
        (id, time): (&[u8], i64),
        args: &[u8],
        builder: &mut ProfileBuilder,
    ) -> Result<(), Fault> {
        self.chunk.clear();
        let result = read_data(&mut Cursor::new(args), &mut self.chunk, builder);
        let row = if piece == Piece::Whole {
            self.chunk.repair_times(builder);
            self.profiles.push(CpuProfile { thread: Some(thread), ..CpuProfile::default() });
            self.profiles.len() - 1
        } else {
            self.row(thread.0, id)
        };
        let profile = &mut self.profiles[row];
        match piece {
            Piece::Start | Piece::Whole => profile.thread = Some(thread),
            Piece::Chunk => profile.writer = thread,
        }
        if let Some(start) = self.chunk.start.or((!profile.started).then_some(time)) {
            profile.started = true;
            profile.tree.start_at(start);
        }
        profile.tree.add(&self.chunk, builder);
        result
    }

    fn row(&mut self, pid: i64, id: &[u8]) -> usize {
        if let Some(row) = self.row_of.get(&(pid, id.into())) {
            return *row;
        }
        self.row_of.insert((pid, id.into()), self.profiles.len());
        self.profiles.push(CpuProfile::default());
        self.profiles.len() - 1
    }

    /// Hands everything to the builder.
    pub fn finish(
        self,
        builder: &mut ProfileBuilder,
        threads: &mut Threads,
        metrics: (MetricId, MetricId),
        gaps: &mut Gaps,
    ) {
        for profile in self.profiles {
            if profile.tree.is_empty() {
                continue;
            }
            let key = profile.thread.unwrap_or_else(|| {
                builder.warn("profiles-without-thread", || {
                    "CPU profiles whose beginning is missing were given to the thread that wrote them".to_owned()
                });
                profile.writer
            });
            let thread = threads.get(key, builder);
            profile.tree.finish(builder, Some(thread), metrics, gaps);
        }
    }
}

/// Finds `data` in the arguments.
fn read_data(
    cursor: &mut Cursor<'_>,
    chunk: &mut Chunk,
    builder: &mut ProfileBuilder,
) -> Result<(), Fault> {
    cursor.begin_object()?;
    while let Some(key) = cursor.next_raw_key()? {
        if key == b"data" && cursor.peek()? == Kind::Object {
            chunk.read(cursor, builder)?;
        } else {
            cursor.skip_value()?;
        }
    }
    Ok(())
}
