//! Java Flight Recorder files: recordings of JVMs since JDK 9 (and of OpenJDK 8 since 8u262), of async-profiler
//! and of Datadog's profiler.
//!
//! A recording is a sequence of chunks, each complete in itself; files put one after the other are a file. A chunk
//! describes its own layout ([`metadata`]), so nothing here depends on a version. Chunks are read one at a time: memory
//! holds the largest chunk and the tree.
//!
//! # Metrics
//!
//! | metric | unit | events | what a value is |
//! |---|---|---|---|
//! | `samples` | count | `ExecutionSample` of a JVM | one each: a JVM delivers only half to nine tenths of the samples its period promises, so they are not turned into time; the period is the label `jdk.ExecutionSample#period` |
//! | `cpu` | ns | `CPUTimeSample` | the sampling period in the event; samples that the JVM lost are a warning |
//! | `cpu`, `wall`, or the event's name | ns or count | `ExecutionSample` of async-profiler | the interval of the sampled event, `event` and `interval` in the settings |
//! | `cpu` | ns | Datadog's `ExecutionSample` | its weight times the interval in the settings |
//! | `wall` | ns | `WallClockSample`, Datadog's `MethodSample` | its number of samples times the interval |
//! | `native` | count | `NativeMethodSample` | one each: threads in native methods, most of them waiting |
//! | `allocated` | bytes | `ObjectAllocationSample`; `ObjectAllocationInNewTLAB` and `OutsideTLAB` | weight; size of the buffer or object. Where a file has both kinds they estimate the same thing twice: the second is `allocated (buffers)`, and Datadog's estimates get `(Datadog)` behind their names |
//! | `allocated`, `live`, `malloc` | bytes | Datadog's `ObjectSample`, `HeapLiveObject`, `NativeMemoryAllocation` | size times weight, which is how many objects the sampled one stands for |
//! | `live` | bytes | `LiveObject` | size of sampled objects still alive |
//! | `old objects`, `old bytes` | count, bytes | `OldObjectSample` | one each; size of the object alone (since JDK 20). The sampler keeps a few hundred objects at most |
//! | `malloc`, `frees` | bytes, count | `Malloc`, `Free` | size asked for; one each |
//! | `blocked` | ns | `JavaMonitorEnter`, `NativeLock`; `ThreadPark` of async-profiler, which records parks on locks only | duration |
//! | `waited` | ns | `JavaMonitorWait`, `ThreadPark`, `ThreadSleep` | duration |
//! | `io` | ns | `SocketRead`, `SocketWrite`, `FileRead`, `FileWrite`, `FileForce` | duration |
//!
//! Durations are exact, but a recording's threshold (a label such as `jdk.ThreadPark#threshold`) hides the short ones.
//! Events of any other type that has stacks (threads started, exceptions, a program's own) are counted in a warning.
//! Events without a stack stand under `(no stack)`, so totals are those of the file. Stacks that the recorder cut off
//! are partial stacks.
//!
//! # Why our own
//!
//! Of the crates that read this format, `jfrs` (0.2.5, 2023) was tried: right on files of JDK 11 to 25, but at a tenth
//! of the speed needed, not `Send`, with aborts on a quarter of damaged files and a loop that does not end on a cut-off
//! one. The format itself is small, and what a profile needs of it smaller: most of a chunk can be passed over, which
//! a reader that makes objects of every event cannot do.

mod chunk;
#[cfg(test)]
mod drawn;
mod events;
mod header;
mod layout;
mod metadata;
mod methods;
mod pools;
mod recording;
mod scan;
mod settings;
mod stacks;
#[cfg(test)]
mod tests;
mod threads;
mod walk;

use perfblame_cct::Profile;
use std::io::Read;

use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use chunk::read_chunk;
use header::{ChunkHeader, HEADER_BYTES, MAGIC};
use recording::JfrRecording;
use walk::next_chunk;

/// How much is read at a time where no chunk says how much there is.
const PIECE: u64 = 1 << 20;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "jfr",
    producers: "Java Flight Recorder of JDK 9 and later, async-profiler, Datadog's profiler",
    sniff,
    read,
    tracer: None,
};

/// True for a chunk of any version.
pub fn sniff(input: &Input) -> bool {
    input.head().starts_with(MAGIC)
}

/// Reads a recording.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let mut feed = Feed { stream: input.into_stream()?, buffer: Vec::new(), start: 0, passed: 0 };
    let mut recording = JfrRecording::new(options.builder());
    let mut unfinished = false;
    while feed.fill(HEADER_BYTES as u64, &mut recording) {
        let Some(header) = ChunkHeader::read(feed.bytes()) else {
            let first = feed.passed;
            let skipped = feed.skip_to_chunk(&mut recording);
            // Behind a chunk that is still being written stand events whose stacks are not written yet.
            let code = if unfinished { "unflushed-bytes" } else { "damaged-bytes" };
            recording.builder.warn_many(code, skipped, || {
                format!("bytes outside of chunks were left out, first at byte {first}")
            });
            continue;
        };
        if header.major == 0 {
            return Err(old_format(&header).at(feed.passed));
        }
        unfinished = header.unfinished;
        let size = if header.size < HEADER_BYTES as u64 { u64::MAX } else { header.size };
        feed.fill(size, &mut recording);
        let available = feed.bytes().len();
        let size = usize::try_from(size).map_or(available, |size| size.min(available));
        recording.offset = feed.passed;
        let read = read_chunk(&mut recording, &header, &feed.bytes()[..size]);
        feed.pass(read.max(HEADER_BYTES));
    }
    if recording.chunks == 0 && unfinished {
        let what =
            "the recording was cut off in its first second, before anything in it could be read";
        let help =
            "let the JVM run a little longer, or stop the recording with `jcmd <pid> JFR.stop`";
        return Err(ReadError::malformed(0, what).help(help));
    }
    if recording.chunks == 0 {
        let help = "the file is damaged or cut off near its start; record again";
        return Err(ReadError::malformed(0, "no chunk in it can be read").help(help));
    }
    Ok(recording.finish())
}

/// Recordings of Oracle's JDK 7 and 8 share nothing with later ones but their first four bytes.
fn old_format(header: &ChunkHeader) -> ReadError {
    let ChunkHeader { major, minor, .. } = header;
    let what = format!(
        "this is a recording of Oracle JDK 7 or 8 (chunk version {major}.{minor}), a format that ended with JDK 9"
    );
    ReadError::unsupported(what).help(
        "record again with JDK 9 or later, OpenJDK 8u262 or later, or async-profiler; JDK Mission Control opens old files",
    )
}

/// The file's bytes from where we are, as many as a chunk needs.
struct Feed {
    stream: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are done with.
    start: usize,
    /// Bytes of the file that are done with.
    passed: u64,
}

impl Feed {
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    fn pass(&mut self, count: usize) {
        let count = count.min(self.bytes().len());
        self.start += count;
        self.passed += count as u64;
    }

    /// Makes sure that so many bytes are there, or all that are left; false when none are. What a header claims is only
    /// believed as far as bytes arrive.
    fn fill(&mut self, wanted: u64, recording: &mut JfrRecording) -> bool {
        let have = self.bytes().len() as u64;
        if have < wanted {
            // Moving what is left to the front costs at most what was passed since the last time.
            if self.start > self.buffer.len() / 2 {
                self.buffer.drain(..self.start);
                self.start = 0;
            }
            let mut more = self.stream.by_ref().take(wanted - have);
            if let Err(error) = more.read_to_end(&mut self.buffer) {
                let at = self.passed + self.bytes().len() as u64;
                recording.builder.warn("truncated", || {
                    format!("the file cannot be read further than byte {at}: {error}")
                });
            }
        }
        !self.bytes().is_empty()
    }

    /// Passes over bytes up to the next chunk or the end, and says how many.
    fn skip_to_chunk(&mut self, recording: &mut JfrRecording) -> u64 {
        let before = self.passed;
        let mut from = 1;
        loop {
            if let Some(next) = next_chunk(self.bytes(), from) {
                self.pass(next);
                break;
            }
            // A chunk may start in the last few bytes.
            let keep = (MAGIC.len() + 1).min(self.bytes().len());
            self.pass(self.bytes().len() - keep);
            from = 0;
            if !self.fill(PIECE, recording) || self.bytes().len() <= keep {
                self.pass(keep);
                break;
            }
        }
        self.passed - before
    }
}
