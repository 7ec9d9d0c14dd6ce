//! CPU profiles inside traces. Since Chrome 67 they come in pieces: a `Profile` event on the sampled thread, then
//! `ProfileChunk` events from the profiler's thread, joined by process and id (two processes use the same ids). Before,
//! one `CpuProfile` event held everything.

use hashbrown::HashMap;
use perfblame_cct::{Cursor as Context, MetricId, ProfileBuilder};

use super::threads::{Key, TraceThreads};
use crate::encodings::json::{Cursor, JsonFault, JsonKind};
use crate::scripts::{Position, ResolvedNames, Use};
use crate::v8::{Gaps, Recorded, SampledTree, V8Chunk};

/// All CPU profiles of a trace.
#[derive(Default, Debug)]
pub struct CpuProfiles {
    /// Samples are kept until it is known under whom they hang.
    hangs: bool,
    /// What of the trace was recorded; all unless said.
    recorded: Option<Recorded>,
    row_of: HashMap<(i64, Box<[u8]>), usize>,
    profiles: Vec<CpuProfile>,
    chunk: V8Chunk,
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

impl CpuProfile {
    fn process(&self) -> i64 {
        self.thread.unwrap_or(self.writer).0
    }
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
    /// No profiles; `hangs` when samples are to hang under those who asked for them.
    pub fn new(hangs: bool) -> Self {
        Self { hangs, ..Self::default() }
    }

    /// Leaves out what is not part of the recording; to be said before the first event.
    pub fn only(&mut self, recorded: Recorded) {
        self.recorded = Some(recorded);
    }

    /// Samples that are not part of the recording.
    pub fn left_out(&self) -> u64 {
        self.profiles.iter().map(|profile| profile.tree.left_out()).sum()
    }

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
    ) -> Result<(), JsonFault> {
        self.chunk.clear();
        let result = read_data(&mut Cursor::new(args), &mut self.chunk, builder);
        let row = if piece == Piece::Whole {
            self.chunk.repair_times(builder);
            self.profiles.push(CpuProfile { thread: Some(thread), ..CpuProfile::default() });
            self.set_up();
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
        self.set_up();
        self.profiles.len() - 1
    }

    /// Tells the newest tree what to keep.
    fn set_up(&mut self) {
        let Some(last) = self.profiles.last_mut() else { return };
        last.tree.keep_idle();
        if self.hangs {
            last.tree.keep_samples();
        }
        if let Some(recorded) = self.recorded {
            last.tree.only(recorded);
        }
    }

    /// All samples have come.
    pub fn close(&mut self, builder: &ProfileBuilder) {
        let by_time = builder.keeps_times() || self.hangs;
        self.profiles.iter_mut().for_each(|profile| profile.tree.close(by_time));
    }

    /// Every function with its script.
    pub fn uses(&self, builder: &ProfileBuilder) -> Vec<Use> {
        self.profiles.iter().flat_map(|one| one.tree.uses(one.process(), builder)).collect()
    }

    /// Every place that was being executed.
    pub fn positions(&self, builder: &ProfileBuilder) -> Vec<Position> {
        self.profiles.iter().flat_map(|one| one.tree.positions(one.process(), builder)).collect()
    }

    /// Gives functions and places their names.
    pub fn rename(&mut self, names: &ResolvedNames, builder: &mut ProfileBuilder) {
        for profile in &mut self.profiles {
            let process = profile.process();
            profile.tree.rename(names, process, builder);
        }
    }

    /// The trees with the threads they are of.
    pub fn trees(&mut self) -> impl Iterator<Item = (Key, &mut SampledTree)> {
        self.profiles.iter_mut().map(|one| (one.thread.unwrap_or(one.writer), &mut one.tree))
    }

    /// How much of a time a thread had nothing to do in, where a profile of it tells.
    pub fn idle_within(&self, thread: Key, (from, to): (i64, i64)) -> Option<i64> {
        let of_thread = self.profiles.iter().filter(|one| one.thread == Some(thread));
        let idle = of_thread.filter_map(|one| Some(one.tree.idle()?.within(from, to)));
        idle.reduce(i64::saturating_add)
    }

    /// The context of whoever asked for something at a moment of a process.
    pub fn asking_at(
        &mut self,
        process: i64,
        moment: i64,
        builder: &mut ProfileBuilder,
    ) -> Option<Context> {
        for profile in self.profiles.iter_mut().filter(|one| one.process() == process) {
            if let Some(row) = profile.tree.row_at(moment) {
                let row = profile.tree.asking(row, builder)?;
                return Some(profile.tree.place(row as usize, builder));
            }
        }
        None
    }

    /// Hands everything to the builder.
    pub fn finish(
        &mut self,
        builder: &mut ProfileBuilder,
        threads: &mut TraceThreads,
        metrics: (MetricId, MetricId),
        gaps: &mut Gaps,
    ) {
        for profile in &mut self.profiles {
            if profile.tree.is_empty() {
                continue;
            }
            let key = profile.thread.unwrap_or_else(|| {
                builder.warn("profiles-without-thread", || {
                    "CPU profiles without their beginning count for the thread that wrote them"
                        .to_owned()
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
    chunk: &mut V8Chunk,
    builder: &mut ProfileBuilder,
) -> Result<(), JsonFault> {
    cursor.begin_object()?;
    while let Some(key) = cursor.next_raw_key()? {
        if key == b"data" && cursor.peek()? == JsonKind::Object {
            chunk.read(cursor, builder)?;
        } else {
            cursor.skip_value()?;
        }
    }
    Ok(())
}
