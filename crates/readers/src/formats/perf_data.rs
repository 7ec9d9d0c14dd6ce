//! `perf.data`, the recordings of Linux perf, read without perf.
//!
//! Our own walk over the records: the crates that read this format believe the sizes a damaged file claims. Records are
//! taken one by one in the order of time, stacks that were recorded as memory are walked with the unwind tables of the
//! binaries, and each distinct address is named once. What is not on this machine, or not what was recorded, is named
//! by object and offset.

mod attr;
mod chunks;
mod contents;
mod frames;
mod header;
mod modules;
mod naming;
pub mod objects;
mod os_events;
mod process;
mod rounds;
mod sample;
mod session;
mod stacks;
mod stream;
mod told;
pub mod tracepoint;
mod tracepoint_events;

use std::io::{Read, Seek, SeekFrom};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use perfblame_cct::{EventSink, Placement, Profile};
use perfblame_native::ByteOrder;

use crate::error::ReadError;
use crate::format::{Format, ReadOptions, TraceRead, Tracer};
use crate::input::Input;
use crate::os_trace::Emitter;
use crate::read_ahead::ReadAhead;
pub use contents::{Contents, Mapped};
use header::{Recording, Shape, opening, read_file_header};
use modules::Origin;
use naming::Naming;
use session::Session;
use stream::Records;
use told::{BATCHES, Outbox};
use tracepoint_events::Picker;
pub use tracepoint_events::TracepointEvent;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "perf.data",
    producers: "Linux perf record",
    sniff,
    read,
    tracer: Some(Tracer {
        read: Some(read_trace),
        cut_off: Some(
            "it is cut off before the names of its events, so system calls cannot be identified",
        ),
        how_to_record_stacks: "record stacks at system calls and switches: `perfblame record os -- COMMAND`",
    }),
};

/// Magic and size, all the header that a stream has.
const PIPE_HEADER: u64 = 16;

/// True for the magic of either version, in either byte order.
pub fn sniff(input: &Input) -> bool {
    opening(input.head()).is_some()
}

/// Reads a recording.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    Ok(read_recording(input, options, None)?.0)
}

/// Hands the events of a trace to `sink`; any other recording is a profile.
pub(crate) fn read_trace(
    input: Input,
    options: &ReadOptions,
    sink: &mut dyn EventSink,
) -> Result<TraceRead, ReadError> {
    let (profile, placement) = read_recording(input, options, Some(sink))?;
    Ok(match placement {
        Some(placement) => TraceRead::Trace(Box::new(profile), placement),
        None => TraceRead::Profile(Box::new(profile)),
    })
}

fn read_recording(
    input: Input,
    options: &ReadOptions,
    sink: Option<&mut dyn EventSink>,
) -> Result<(Profile, Option<Placement>), ReadError> {
    let Some(opening) = opening(input.head()) else {
        return Err(ReadError::malformed(0, "the file does not start like perf.data"));
    };
    let mut origin = origin_of(input.path());
    match opening.shape {
        Shape::Pipe => {
            let mut stream = input.into_stream()?;
            std::io::copy(&mut stream.by_ref().take(PIPE_HEADER), &mut std::io::sink())?;
            let recording = Recording::default();
            let (order, delays) = (opening.order, Vec::new());
            let start = Start { order, offset: PIPE_HEADER, recording, origin, delays };
            // A pipe may keep us waiting, a packed file must be unpacked: both on a thread of its own.
            read_records(ReadAhead::new(stream), start, options, sink)
        }
        Shape::File => {
            let mut file = input.into_seekable()?;
            let (recording, data) = read_file_header(&mut *file, opening.order)?;
            origin.release.clone_from(&recording.release);
            let added = objects::read(&mut *file);
            origin.objects = added.objects;
            let end = file.seek(SeekFrom::End(0))?;
            file.seek(SeekFrom::Start(data.offset))?;
            let there = end.saturating_sub(data.offset);
            let size = data.size.unwrap_or(there);
            let (order, delays) = (opening.order, added.delays);
            let start = Start { order, offset: data.offset, recording, origin, delays };
            let (mut profile, placement) = read_records(file.take(size), start, options, sink)?;
            let cut = match data.size {
                None => Some(
                    "perf was stopped before it finished the file; names and build ids are missing",
                ),
                Some(size) if size > there => {
                    Some("the file is cut off; the available part was read")
                }
                Some(_) => None,
            };
            if let Some(message) = cut
                && !profile.warnings.iter().any(|warning| warning.code == "truncated")
            {
                let (code, message) = ("truncated".to_owned(), message.to_owned());
                profile.warnings.push(perfblame_cct::Warning { code, message, count: 1 });
            }
            Ok((profile, placement))
        }
    }
}

/// What is known before the first record.
struct Start {
    order: ByteOrder,
    /// Where the first record is in the file.
    offset: u64,
    recording: Recording,
    origin: Origin,
    delays: Vec<objects::RunDelay>,
}

/// Walks stacks on a thread of its own and names their frames on this one.
fn read_records(
    input: impl Read + Send + 'static,
    start: Start,
    options: &ReadOptions,
    sink: Option<&mut dyn EventSink>,
) -> Result<(Profile, Option<Placement>), ReadError> {
    let (send, batches) = sync_channel(BATCHES);
    let Start { order, offset, recording, origin, delays } = start;
    let walk = move || {
        let mut session = Session::new(order, recording, origin, Outbox::new(send));
        let mut records = Records::new(input, order, offset);
        while let Some(record) = records.next() {
            session.take(record);
        }
        session.finish(records.damage)
    };
    let walking = thread::Builder::new().name("walk".to_owned()).spawn(walk)?;
    let trace = sink.map(|sink| Emitter::in_order(sink, delays));
    let mut naming = Naming::new(options, trace);
    for batch in batches {
        naming.take(batch);
    }
    let ended = walking.join().unwrap_or_else(|panic| resume_unwind(panic));
    Ok(naming.finish(&ended))
}

/// Hands every event of a tracepoint in a recording to `visit`, in the order of the file.
pub fn read_tracepoints(
    input: Input,
    visit: &mut dyn FnMut(TracepointEvent<'_>),
) -> Result<(), ReadError> {
    let (order, recording, records) = opened(input)?;
    let mut records = Records::new(records, order, 0);
    let mut picker = Picker::new(recording, order, visit);
    while let Some(record) = records.next() {
        picker.take(record);
    }
    Ok(())
}

/// Counts what a recording holds and what it lost; as fast as it can be unpacked.
pub fn contents(input: Input) -> Result<Contents, ReadError> {
    let (order, recording, records) = opened(input)?;
    Ok(contents::count(records, order, recording))
}

/// What is before the first record, and the records.
fn opened(input: Input) -> Result<(ByteOrder, Recording, Box<dyn Read + Send>), ReadError> {
    let Some(opening) = opening(input.head()) else {
        return Err(ReadError::malformed(0, "the file does not start like perf.data"));
    };
    Ok(match opening.shape {
        Shape::Pipe => {
            let mut stream = input.into_stream()?;
            std::io::copy(&mut stream.by_ref().take(PIPE_HEADER), &mut std::io::sink())?;
            (opening.order, Recording::default(), Box::new(stream))
        }
        Shape::File => {
            let mut file = input.into_seekable()?;
            let (recording, data) = read_file_header(&mut *file, opening.order)?;
            file.seek(SeekFrom::Start(data.offset))?;
            (opening.order, recording, Box::new(file.take(data.size.unwrap_or(u64::MAX))))
        }
    })
}

fn origin_of(path: Option<&Path>) -> Origin {
    let written = path.and_then(|path| std::fs::metadata(path).ok()?.modified().ok());
    let folder = path.and_then(Path::parent).map(Path::to_owned);
    Origin { written, folder, ..Origin::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_cct::{Grain, Times};

    /// A stream of one event, a name and two samples, in either byte order.
    fn stream(order: ByteOrder) -> Vec<u8> {
        let u16 = |number: u16| match order {
            ByteOrder::Little => number.to_le_bytes(),
            ByteOrder::Big => number.to_be_bytes(),
        };
        let u32 = |number: u32| match order {
            ByteOrder::Little => number.to_le_bytes(),
            ByteOrder::Big => number.to_be_bytes(),
        };
        let u64 = |number: u64| match order {
            ByteOrder::Little => number.to_le_bytes(),
            ByteOrder::Big => number.to_be_bytes(),
        };
        let record = |kind, body: Vec<u8>| {
            let size = 8 + body.len() as u16;
            [u32(kind).to_vec(), u16(2).to_vec(), u16(size).to_vec(), body].concat()
        };
        let (software, cpu_clock, ip_tid_time) = (1, 0, 7);
        let attr = [
            u32(software).to_vec(),
            u32(64).to_vec(),
            u64(cpu_clock).to_vec(),
            u64(250_000).to_vec(),
            u64(ip_tid_time).to_vec(),
            vec![0; 32],
        ];
        let sample = |ip: u64, time: u64| {
            [u64(ip).to_vec(), u32(7).to_vec(), u32(8).to_vec(), u64(time).to_vec()].concat()
        };
        let magic: &[u8] = if order == ByteOrder::Little { b"PERFILE2" } else { b"2ELIFREP" };
        [
            magic.to_vec(),
            u64(16).to_vec(),
            record(stream::kind::HEADER_ATTR, attr.concat()),
            record(stream::kind::COMM, [&u32(7)[..], &u32(8), b"worker\0\0"].concat()),
            record(stream::kind::SAMPLE, sample(0x2000, 90)),
            record(stream::kind::SAMPLE, sample(0x1000, 50)),
        ]
        .concat()
    }

    #[test]
    fn both_byte_orders_say_the_same() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let input = Input::from_bytes(stream(order)).unwrap();
            assert!(sniff(&input));
            let options = ReadOptions {
                grain: Grain::Functions,
                times: Times::Keep,
                ..ReadOptions::default()
            };
            let profile = read(input, &options).unwrap();
            assert_eq!((profile.samples, profile.info.duration), (2, Some(40)));
            let metric = &profile.metrics[0];
            assert_eq!((metric.name.as_str(), metric.period), ("cpu", Some(250_000)));
            assert_eq!(profile.self_values(perfblame_cct::MetricId::new(0)), [500_000]);
            let thread = profile.threads[0];
            assert_eq!(profile.symbols.text(thread.name), "worker");
            assert_eq!((thread.pid, thread.tid), (Some(7), Some(8)));
            let times: Vec<_> = profile.timeline.unwrap().samples.iter().map(|s| s.time).collect();
            assert_eq!(times, [50, 90]);
            assert_eq!(profile.warnings, []);
        }
    }

    #[test]
    fn stacks_of_32_bit_processes_keep_their_innermost_frame() {
        let word = |number: u64| number.to_le_bytes().to_vec();
        let record = |kind: u32, body: Vec<u8>| {
            let size = 8 + body.len() as u16;
            [&kind.to_le_bytes()[..], &2u16.to_le_bytes(), &size.to_le_bytes(), &body].concat()
        };
        // Software clock; address, thread, registers and stack; registers 6 to 8.
        let mut attr = [&1u32.to_le_bytes()[..], &96u32.to_le_bytes()].concat();
        attr.extend(
            [0, 1000, 1 | 2 | 1 << 12 | 1 << 13, 0, 0, 0, 0, 0, 0, 0b1_1100_0000, 64]
                .map(word)
                .concat(),
        );
        let (abi_32, used) = (1, 8);
        let sample = [0x2000, 7 | 7 << 32, abi_32, 0x10, 0x20, 0x1000, 16, 1, 2, used];
        let bytes = [
            b"PERFILE2".to_vec(),
            word(16),
            record(stream::kind::HEADER_ATTR, attr),
            record(stream::kind::SAMPLE, sample.map(word).concat()),
            record(stream::kind::SAMPLE, sample.map(word).concat()),
        ];
        let input = Input::from_bytes(bytes.concat()).unwrap();
        let profile = read(input, &ReadOptions::default()).unwrap();
        assert_eq!(profile.samples, 2);
        let warning = &profile.warnings[0];
        assert_eq!((warning.code.as_str(), warning.count), ("unwalked-32-bit", 2));
        let names: Vec<&str> = profile.tree.nodes().map(|node| profile.name_of(node)).collect();
        assert_eq!(names, ["(truncated)", "[unknown]"]);
    }

    #[test]
    fn a_file_without_its_header_says_so() {
        let bytes = [&b"PERFILE2"[..], &104u64.to_le_bytes(), &[0; 40]].concat();
        let error = read(Input::from_bytes(bytes).unwrap(), &ReadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "at byte 0: a record needs 104 bytes, 56 left");
    }

    /// Counts what it is told.
    #[derive(Default)]
    struct Counts {
        events: u64,
        lost: u64,
    }

    impl EventSink for Counts {
        fn event(
            &mut self,
            _: &mut perfblame_cct::ProfileBuilder,
            _: perfblame_cct::StackEvent,
            _: &[perfblame_cct::FrameId],
            _: &mut dyn perfblame_cct::Code,
        ) {
            self.events += 1;
        }

        fn lost(&mut self, _: &mut perfblame_cct::ProfileBuilder, events: u64) {
            self.lost += events;
        }

        fn finish(&mut self, _: &mut perfblame_cct::ProfileBuilder) {}
    }

    /// Who takes the events is told of the loss, and warns itself: the reader then does not.
    #[test]
    fn losses_are_counted_once() {
        const LOST: u32 = 2;
        let word = |number: u64| number.to_le_bytes().to_vec();
        let lost = [
            &LOST.to_le_bytes()[..],
            &0u16.to_le_bytes(),
            &24u16.to_le_bytes(),
            &word(1),
            &word(5),
        ];
        let mut bytes = stream(ByteOrder::Little);
        bytes.extend(lost.concat());
        // Of the event: the kernel's counter of switches, third of its own, instead of its clock.
        let at = PIPE_HEADER as usize + 8 + 8;
        bytes[at..at + 8].copy_from_slice(&3u64.to_le_bytes());
        let warned = |profile: &Profile| -> Vec<(String, u64)> {
            profile.warnings.iter().map(|w| (w.code.clone(), w.count)).collect()
        };
        let input = || Input::from_bytes(bytes.clone()).unwrap();
        let mut counts = Counts::default();
        let read_so = read_trace(input(), &ReadOptions::default(), &mut counts).unwrap();
        let TraceRead::Trace(trace, _) = read_so else { panic!("no trace") };
        assert_eq!((counts.events, counts.lost), (2, 5));
        assert_eq!(warned(&trace), []);
        let profile = read(input(), &ReadOptions::default()).unwrap();
        assert_eq!(warned(&profile), [("lost-samples".to_owned(), 5)]);
    }
}
