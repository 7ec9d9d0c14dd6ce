//! Recordings of Android's simpleperf, as `simpleperf report-sample --protobuf` and Android Studio export them.
//!
//! Records with their lengths before them, one message each. The tables of files and threads that samples refer to
//! come after the samples, so the records are walked twice. Where waiting was traced, a sample is taken when a thread is
//! switched off, and a record tells when it runs again: the time between is what that stack has waited.

use std::num::NonZeroU64;

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FrameId, Function, Metric, MetricId, Profile, ProfileBuilder, Thread, ThreadId, Unit,
};
use perfblame_native::{demangle, layer_of};

use crate::building::java::layer_of_android_class;
use crate::building::module_frame::unsymbolised_function;
use crate::encodings::protobuf::{Field, Message, ProtobufFault};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

const MAGIC: &[u8] = b"SIMPLEPERF";

/// Bytes before the first record: the magic and a version of two bytes.
const HEADER_BYTES: usize = 12;

/// Event types that are kept; real recordings have one or two.
const MAX_EVENTS: usize = 64;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "simpleperf",
    producers: "Android's simpleperf (report-sample --protobuf), Android Studio",
    sniff,
    read,
    tracer: None,
};

/// True for simpleperf's magic.
pub fn sniff(input: &Input) -> bool {
    input.head().starts_with(MAGIC)
}

/// Reads a recording.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let version = bytes
        .get(MAGIC.len()..HEADER_BYTES)
        .map_or(0, |bytes| u16::from(bytes[0]) | u16::from(bytes[1]) << 8);
    if version != 1 {
        return Err(ReadError::unsupported(format!(
            "version {version} of simpleperf's export is not supported"
        ))
        .at(10));
    }
    let mut builder = options.builder();
    let mut recording = SimpleperfRecording::default();
    let mut records = SimpleperfRecords { bytes: &bytes, at: HEADER_BYTES, is_cut: false };
    for record in records.by_ref() {
        if let Err(fault) = recording.take_tables(record) {
            warn_damaged(&mut builder, fault);
        }
    }
    if records.is_cut {
        builder.warn("cut-off", || format!("the last record, at byte {}, is cut off", records.at));
    }
    recording.start(&mut builder);
    for record in (SimpleperfRecords { bytes: &bytes, at: HEADER_BYTES, is_cut: false }) {
        for field in record.map_while(Result::ok).filter(|field| field.number == 1) {
            if let Err(fault) = recording.take_sample(&mut builder, field) {
                warn_damaged(&mut builder, fault);
            }
        }
    }
    Ok(builder.finish())
}

fn warn_damaged(builder: &mut ProfileBuilder, fault: ProtobufFault) {
    builder.warn("damaged-records", || {
        format!("invalid records were left out, first at byte {}", fault.offset)
    });
}

/// The records: length, message, length, message, until a length of 0.
struct SimpleperfRecords<'a> {
    bytes: &'a [u8],
    at: usize,
    is_cut: bool,
}

impl<'a> Iterator for SimpleperfRecords<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let Some((length, rest)) = rest.split_first_chunk::<4>() else {
            self.is_cut = true;
            return None;
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 {
            return None;
        }
        let Some(record) = rest.get(..length) else {
            self.is_cut = true;
            return None;
        };
        let start = self.at + 4;
        self.at = start + length;
        Some(Message::new(record, start as u64))
    }
}

#[derive(Default)]
struct SimpleperfRecording<'a> {
    events: Vec<String>,
    metrics: Vec<MetricId>,
    traces_waiting: bool,
    off_cpu: Option<MetricId>,
    /// When each thread began to run again.
    switched_on: HashMap<u64, Vec<i64>>,
    labels: Vec<(String, String)>,
    files: HashMap<u64, SimpleperfFile<'a>>,
    threads: HashMap<u64, (u64, String)>,
    known_threads: HashMap<u64, ThreadId>,
    frames: HashMap<(u64, u64, u64, u64), FrameId>,
    lost: u64,
    stack: Vec<FrameId>,
}

#[derive(Default)]
struct SimpleperfFile<'a> {
    path: String,
    symbols: Vec<&'a [u8]>,
}

impl<'a> SimpleperfRecording<'a> {
    fn take_tables(&mut self, record: Message<'a>) -> Result<(), ProtobufFault> {
        for field in record {
            let field = field?;
            match field.number {
                2 => {
                    for field in field.message() {
                        let field = field?;
                        if field.number == 2 {
                            self.lost = field.uint();
                        }
                    }
                }
                3 => self.take_file(field)?,
                4 => self.take_thread(field)?,
                5 => self.take_about(field)?,
                6 => self.take_switch(field)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn take_file(&mut self, file: Field<'a>) -> Result<(), ProtobufFault> {
        let (mut id, mut row) = (0, SimpleperfFile::default());
        for field in file.message() {
            let field = field?;
            match field.number {
                1 => id = field.uint(),
                2 => row.path = field.text().into_owned(),
                3 => row.symbols.push(field.bytes()),
                _ => {}
            }
        }
        self.files.insert(id, row);
        Ok(())
    }

    fn take_thread(&mut self, thread: Field) -> Result<(), ProtobufFault> {
        let (mut tid, mut pid, mut name) = (0, 0, String::new());
        for field in thread.message() {
            let field = field?;
            match field.number {
                1 => tid = field.uint(),
                2 => pid = field.uint(),
                3 => name = field.text().into_owned(),
                _ => {}
            }
        }
        self.threads.insert(tid, (pid, name));
        Ok(())
    }

    fn take_switch(&mut self, switch: Field) -> Result<(), ProtobufFault> {
        let (mut is_on, mut time, mut tid) = (false, 0, 0);
        for field in switch.message() {
            let field = field?;
            match field.number {
                1 => is_on = field.uint() != 0,
                2 => time = field.int(),
                3 => tid = field.uint(),
                _ => {}
            }
        }
        if is_on {
            self.switched_on.entry(tid).or_default().push(time);
        }
        Ok(())
    }

    /// How long a thread that was switched off at `time` had to wait; none when its return was not recorded.
    fn waited(&self, tid: u64, time: i64) -> Option<i64> {
        let times = self.switched_on.get(&tid)?;
        let next = times.get(times.partition_point(|on| *on < time))?;
        next.checked_sub(time)
    }

    fn take_about(&mut self, about: Field) -> Result<(), ProtobufFault> {
        for field in about.message() {
            let field = field?;
            let label = match field.number {
                1 => {
                    if self.events.len() < MAX_EVENTS {
                        self.events.push(field.text().into_owned());
                    }
                    continue;
                }
                2 => "package",
                3 => "app type",
                4 => "Android SDK",
                5 => "Android build",
                6 => {
                    self.traces_waiting = field.uint() != 0;
                    continue;
                }
                _ => continue,
            };
            self.labels.push((label.to_owned(), field.text().into_owned()));
        }
        Ok(())
    }

    fn start(&mut self, builder: &mut ProfileBuilder) {
        for event in &self.events {
            let is_clock = event.starts_with("task-clock") || event.starts_with("cpu-clock");
            let unit = if is_clock { Unit::Nanoseconds } else { Unit::Count };
            let metric = Metric::sampled(event, unit);
            self.metrics.push(builder.metric(metric));
        }
        if self.traces_waiting {
            self.off_cpu = Some(builder.metric(Metric::exact("off-cpu", Unit::Nanoseconds)));
        }
        for times in self.switched_on.values_mut() {
            times.sort_unstable();
        }
        if self.metrics.is_empty() {
            self.metrics.push(builder.metric(Metric::sampled("events", Unit::Count)));
        }
        builder.info.producer = Some("simpleperf".to_owned());
        builder.info.command =
            self.labels.iter().find(|(key, _)| key == "package").map(|(_, name)| name.clone());
        builder.info.labels.append(&mut self.labels);
        builder.info.labels.sort();
        if self.lost > 0 {
            builder.warn_many("lost-samples", self.lost, || "the recorder lost samples".to_owned());
        }
    }

    fn take_sample(
        &mut self,
        builder: &mut ProfileBuilder,
        sample: Field,
    ) -> Result<(), ProtobufFault> {
        let (mut time, mut tid, mut count, mut event) = (0, 0, 0, 0);
        let mut is_partial = false;
        self.stack.clear();
        for field in sample.message() {
            let field = field?;
            match field.number {
                1 => time = field.int(),
                2 => tid = field.uint(),
                3 => {
                    let frame = self.frame(builder, field)?;
                    self.stack.push(frame);
                }
                4 => count = field.int(),
                5 => event = field.uint(),
                6 => {
                    for field in field.message() {
                        let field = field?;
                        is_partial |= field.number == 3 && field.uint() != 0;
                    }
                }
                _ => {}
            }
        }
        self.stack.reverse();
        let thread = self.thread(builder, tid);
        let Some(metric) = self.metrics.get(event as usize).copied() else {
            builder.warn("unknown-events", || {
                "samples of events that are not in the file were left out".to_owned()
            });
            return Ok(());
        };
        let at = match builder.stack(&self.stack).filter(|_| !is_partial) {
            Some(at) => at,
            None => builder.partial_stack(&self.stack),
        };
        builder.add(at, Some(thread), metric, count);
        builder.time_sample(time, at, Some(thread), metric, count);
        let event = self.events.get(event as usize);
        if event.is_some_and(|event| event == "sched:sched_switch")
            && let Some((off_cpu, waited)) = self.off_cpu.zip(self.waited(tid, time))
        {
            builder.add(at, Some(thread), off_cpu, waited);
            builder.time_sample(time, at, Some(thread), off_cpu, waited);
        }
        builder.count_samples(1);
        Ok(())
    }

    fn thread(&mut self, builder: &mut ProfileBuilder, tid: u64) -> ThreadId {
        if let Some(thread) = self.known_threads.get(&tid) {
            return *thread;
        }
        let about = self.threads.get(&tid);
        let name = builder.string(about.map_or("", |(_, name)| name));
        let pid = about.map(|(pid, _)| *pid);
        let process =
            pid.and_then(|pid| self.threads.get(&pid)).map(|(_, name)| builder.string(name));
        let thread = builder.thread(Thread { process, pid, tid: Some(tid), ..Thread::named(name) });
        self.known_threads.insert(tid, thread);
        thread
    }

    fn frame(
        &mut self,
        builder: &mut ProfileBuilder,
        entry: Field,
    ) -> Result<FrameId, ProtobufFault> {
        let (mut address, mut file, mut symbol, mut execution) = (0, 0, u64::MAX, 0);
        for field in entry.message() {
            let field = field?;
            match field.number {
                1 => address = field.uint(),
                2 => file = field.uint(),
                3 => symbol = field.uint(),
                4 => execution = field.uint(),
                _ => {}
            }
        }
        let key = (address, file, symbol, execution);
        if let Some(frame) = self.frames.get(&key) {
            return Ok(*frame);
        }
        let file = self.files.get(&file);
        let path = file.map_or("", |file| file.path.as_str());
        let name =
            file.zip(usize::try_from(symbol).ok()).and_then(|(file, row)| file.symbols.get(row));
        let function = match name {
            Some(name) => {
                let name = String::from_utf8_lossy(name);
                let name = demangle(&name);
                let mut function = Function::named(builder.string(&name)).in_layer(layer_of(path));
                // Interpreted and just-in-time compiled methods belong to their class, wherever their code lies.
                let class = name
                    .rsplit_once('.')
                    .map(|(class, _)| class)
                    .filter(|_| execution == 1 || execution == 2);
                let component = class.unwrap_or(path);
                if class.is_some() {
                    function.layer = layer_of_android_class(component);
                }
                function.component = (!component.is_empty()).then(|| builder.string(component));
                builder.function(function)
            }
            None => unsymbolised_function(builder, path, 0, 0, address),
        };
        let frame =
            builder.frame(Frame { address: NonZeroU64::new(address), ..Frame::of(function) });
        self.frames.insert(key, frame);
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encodings::protobuf::Writer;
    use perfblame_cct::{Grain, Times};
    use perfblame_fixtures::{draw, read_damaged};

    fn w() -> Writer {
        Writer::default()
    }

    fn recording(records: Vec<Writer>) -> Vec<u8> {
        let mut bytes = b"SIMPLEPERF\x01\0".to_vec();
        for record in records {
            let record = record.finish();
            bytes.extend((record.len() as u32).to_le_bytes());
            bytes.extend(record);
        }
        bytes.extend([0; 4]);
        bytes
    }

    fn sample(time: i64, stack: &[(i64, i64, i64, i64)], count: i64, event: i64) -> Writer {
        let mut sample = w().int(1, time).int(2, 7);
        for (address, file, symbol, execution) in stack {
            sample = sample
                .message(3, w().int(1, *address).int(2, *file).int(3, *symbol).int(4, *execution));
        }
        w().message(1, sample.int(4, count).int(5, event))
    }

    fn example() -> Vec<u8> {
        let main = (0x10, 0, 0, 0);
        recording(vec![
            w().message(
                5,
                w().bytes(1, b"task-clock")
                    .bytes(1, b"sched:sched_switch")
                    .bytes(2, b"com.app")
                    .int(6, 1),
            ),
            sample(100, &[(0x99, 1, -1, 0), (0x5, 1, 0, 2), main], 1_000, 0),
            sample(200, &[(0x20, 0, 1, 0), main], 1, 1),
            w().message(6, w().int(1, 1).int(2, 260).int(3, 7)),
            w().message(2, w().int(1, 2).int(2, 3)),
            w().message(
                3,
                w().int(1, 0)
                    .bytes(2, b"/system/bin/app")
                    .bytes(3, b"main")
                    .bytes(3, b"_ZN3foo4waitEv"),
            ),
            w().message(
                3,
                w().int(1, 1).bytes(2, b"/data/base.vdex").bytes(3, b"com.app.Main.draw"),
            ),
            w().message(4, w().int(1, 7).int(2, 7).bytes(3, b"ui")),
        ])
    }

    #[test]
    fn stacks_threads_and_waiting() {
        let input = Input::from_bytes(example()).unwrap();
        assert!(sniff(&input));
        let profile = read(
            input,
            &ReadOptions { grain: Grain::Functions, times: Times::Keep, ..ReadOptions::default() },
        )
        .unwrap();
        assert_eq!(
            draw(&profile),
            "main 1000 0\n  com.app.Main.draw 1000 0\n    base.vdex+0x99 1000 1000\n  foo::wait 0 0\n"
        );
        let totals: Vec<_> = profile
            .metrics()
            .map(|(id, about)| (about.name.as_str(), profile.cells.total(id)))
            .collect();
        assert_eq!(totals, [("task-clock", 1_000), ("sched:sched_switch", 1), ("off-cpu", 60)]);
        assert_eq!(profile.samples, 2);
        assert_eq!(profile.timeline.map(|timeline| timeline.samples.len()), Some(3));
        assert_eq!(
            profile
                .warnings
                .iter()
                .map(|warning| (&*warning.code, warning.count))
                .collect::<Vec<_>>(),
            [("lost-samples", 3)]
        );
        let components: Vec<_> = profile
            .symbols
            .functions()
            .filter_map(|(id, _)| profile.symbols.component(id))
            .collect();
        assert!(components.contains(&"com.app.Main"), "{components:?}");
    }

    #[test]
    fn simpleperf_never_panics() {
        read_damaged(&example(), 0..500, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
    }
}
