//! .NET's EventPipe traces, as `dotnet-trace` and `DOTNET_EnableEventPipe` write them (`.nettrace`, format 4 and 5).
//!
//! Events refer to stacks of addresses by number; the methods those addresses lie in are told at the end of the file.
//! So the blocks are walked twice: for methods, then for samples. Numbers of stacks are used again later in the file,
//! which is why stacks are taken in the order of the blocks.

mod blocks;
mod methods;

use std::num::NonZeroU64;

use hashbrown::HashMap;
use perfblame_cct::{
    Cursor, Frame, FrameId, Function, Layer, Metric, MetricId, Profile, ProfileBuilder, Thread,
    ThreadId, Unit,
};

use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use blocks::{Block, Blocks, Event, Kind, Trace, u32_at, u64_at};
use methods::Methods;

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "nettrace",
    producers: ".NET: dotnet-trace, dotnet-monitor, EventPipe",
    sniff,
    read,
};

/// True for the magic of a .NET trace.
pub fn sniff(input: &Input) -> bool {
    input.head().starts_with(b"Nettrace")
}

/// Reads a trace.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = ProfileBuilder::new(options.grain, options.times);
    let (trace, mut blocks) = Blocks::open(&bytes)?;
    let mut methods = Methods::default();
    let mut kinds = HashMap::new();
    for block in blocks.by_ref() {
        match block {
            Block::Metadata(events) => {
                for event in events.map_while(Result::ok) {
                    blocks::take_metadata(&mut kinds, event.payload);
                }
            }
            Block::Events(events) => {
                for event in events.map_while(Result::ok) {
                    if kinds.get(&event.metadata) == Some(&Kind::Method) {
                        methods.add(event.payload);
                    }
                }
            }
            Block::Stacks(_) => {}
        }
    }
    if blocks.is_cut {
        let offset = blocks.at;
        builder.warn("cut-off", || format!("the trace is cut off or damaged at byte {offset}"));
    }
    methods.sort();
    if methods.is_empty() {
        builder.warn("no-methods", || {
            "the trace does not say which methods there are: frames are addresses".to_owned()
        });
    }
    let mut samples = Samples::new(&mut builder, &trace, methods);
    let (_, blocks) = Blocks::open(&bytes)?;
    for block in blocks {
        match block {
            Block::Stacks(stacks) => samples.take_stacks(stacks),
            Block::Events(events) => {
                for event in events {
                    let Ok(event) = event else {
                        builder.warn("damaged-records", || {
                            "events that contradict the format were left out".to_owned()
                        });
                        break;
                    };
                    samples.take(&mut builder, kinds.get(&event.metadata).copied(), &event);
                }
            }
            Block::Metadata(_) => {}
        }
    }
    Ok(builder.finish())
}

/// What turns events into values of contexts.
struct Samples<'a> {
    trace: Trace,
    methods: Methods,
    taken: MetricId,
    allocated: Option<MetricId>,
    unmanaged: FrameId,
    threads: HashMap<u64, ThreadId>,
    frames: HashMap<u64, FrameId>,
    stacks: HashMap<u32, &'a [u8]>,
    contexts: HashMap<u32, Cursor>,
    stack: Vec<FrameId>,
}

impl<'a> Samples<'a> {
    fn new(builder: &mut ProfileBuilder, trace: &Trace, methods: Methods) -> Self {
        let taken = builder.metric(Metric::sampled("samples", Unit::Count));
        builder.info.producer = Some(".NET EventPipe".to_owned());
        builder.info.started = trace.started;
        builder.info.labels.push(("pid".to_owned(), trace.pid.to_string()));
        builder.info.labels.push(("processors".to_owned(), trace.processors.to_string()));
        let unmanaged = builder.named_frame("(unmanaged code)", Layer::Runtime);
        Self {
            trace: *trace,
            methods,
            taken,
            allocated: None,
            unmanaged,
            threads: HashMap::new(),
            frames: HashMap::new(),
            stacks: HashMap::new(),
            contexts: HashMap::new(),
            stack: Vec::new(),
        }
    }

    fn take_stacks(&mut self, stacks: blocks::Stacks<'a>) {
        for (id, stack) in stacks {
            self.stacks.insert(id, stack);
            self.contexts.remove(&id);
        }
    }

    fn take(&mut self, builder: &mut ProfileBuilder, kind: Option<Kind>, event: &Event) {
        let (metric, value, is_unmanaged) = match kind {
            // 1 is code that the runtime does not manage, 2 is managed code.
            Some(Kind::Sample) => (self.taken, 1, u32_at(event.payload, 0) == Some(1)),
            Some(Kind::Allocation) => {
                // The amount of 32 bits comes first, that of 64 bits behind it where there is one.
                let amount =
                    u64_at(event.payload, 10).or_else(|| u32_at(event.payload, 0).map(u64::from));
                let metric = *self.allocated.get_or_insert_with(|| {
                    builder.metric(Metric::sampled("allocated", Unit::Bytes))
                });
                (metric, i64::try_from(amount.unwrap_or(0)).unwrap_or(i64::MAX), false)
            }
            _ => return,
        };
        let at = self.context(builder, event.stack);
        let at = match at {
            Some(at) if is_unmanaged => builder.child(at, self.unmanaged),
            Some(at) => at,
            None if is_unmanaged => builder.root(self.unmanaged),
            None => {
                builder.warn("samples-without-stack", || {
                    "samples without a stack are kept as truncated".to_owned()
                });
                builder.truncated_root()
            }
        };
        let thread = self.thread(builder, event.thread);
        builder.add(at, Some(thread), metric, value);
        builder.time_sample(self.trace.nanoseconds(event.time), at, Some(thread), metric, value);
        if metric == self.taken {
            builder.count_samples(1);
        }
    }

    fn thread(&mut self, builder: &mut ProfileBuilder, tid: u64) -> ThreadId {
        let pid = Some(self.trace.pid);
        *self.threads.entry(tid).or_insert_with(|| {
            let name = builder.string("");
            builder.thread(Thread { pid, tid: Some(tid), ..Thread::named(name) })
        })
    }

    fn context(&mut self, builder: &mut ProfileBuilder, id: u32) -> Option<Cursor> {
        if let Some(at) = self.contexts.get(&id) {
            return Some(*at);
        }
        let addresses = self.stacks.get(&id)?;
        self.stack.clear();
        for address in addresses.chunks_exact(self.trace.pointer).rev() {
            let address = address.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            let frame = if let Some(frame) = self.frames.get(&address) {
                *frame
            } else {
                let frame = self.methods.frame(builder, address);
                self.frames.insert(address, frame);
                frame
            };
            self.stack.push(frame);
        }
        let at = builder.stack(&self.stack)?;
        self.contexts.insert(id, at);
        Some(at)
    }
}

impl Methods {
    fn frame(&self, builder: &mut ProfileBuilder, address: u64) -> FrameId {
        let function = if let Some(method) = self.find(address) {
            let name = match method.class.as_str() {
                "" => builder.string(&method.name),
                class => builder.string(&format!("{class}.{}", method.name)),
            };
            let is_library = ["System.", "Microsoft.", "Internal.", "Interop"]
                .iter()
                .any(|start| method.class.starts_with(start));
            let layer = if is_library { Layer::Library } else { Layer::Application };
            let component = (!method.class.is_empty()).then(|| builder.string(&method.class));
            let signature =
                (!method.signature.is_empty()).then(|| builder.string(&method.signature));
            builder.function(Function { component, signature, layer, ..Function::named(name) })
        } else {
            let name = builder.string(&format!("0x{address:x}"));
            builder.function(Function::named(name).in_layer(Layer::Runtime))
        };
        builder.frame(Frame { address: NonZeroU64::new(address), ..Frame::of(function) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_fixtures::{damaged, draw};

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
    }

    fn object(out: &mut Vec<u8>, name: &str) {
        out.extend([5, 5, 1, 4, 0, 0, 0, 4, 0, 0, 0]);
        out.extend((name.len() as u32).to_le_bytes());
        out.extend(name.bytes());
        out.push(6);
    }

    fn block(out: &mut Vec<u8>, name: &str, body: &[u8]) {
        object(out, name);
        out.extend((body.len() as u32).to_le_bytes());
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(body);
        out.push(6);
    }

    /// A compressed event that says everything: description, thread, stack, time, length.
    fn event(metadata: u8, stack: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = vec![0x8d, metadata, 7, stack, 10, payload.len() as u8];
        out.extend(payload);
        out
    }

    fn events(events: &[Vec<u8>]) -> Vec<u8> {
        let mut out = vec![20, 0, 1, 0];
        out.resize(20, 0);
        out.extend(events.concat());
        out
    }

    fn description(id: u32, provider: &str, number: u32) -> Vec<u8> {
        let payload =
            [&id.to_le_bytes()[..], &utf16(provider), &number.to_le_bytes(), &utf16("")].concat();
        event(0, 0, &payload)
    }

    fn method(start: u64, class: &str, name: &str) -> Vec<u8> {
        let numbers =
            [&[0; 16][..], &start.to_le_bytes(), &0x10u32.to_le_bytes(), &[0; 8]].concat();
        let payload = [&numbers[..], &utf16(class), &utf16(name), &utf16("void ()")].concat();
        event(3, 0, &payload)
    }

    fn trace() -> Vec<u8> {
        let mut out = b"Nettrace\x14\0\0\0!FastSerialization.1".to_vec();
        object(&mut out, "Trace");
        for part in [2020u16, 11, 3, 25, 0, 16, 23, 949] {
            out.extend(part.to_le_bytes());
        }
        out.extend(0u64.to_le_bytes());
        out.extend(1_000_000_000u64.to_le_bytes());
        for part in [8u32, 99, 4, 1_000_000] {
            out.extend(part.to_le_bytes());
        }
        out.push(6);
        let descriptions = [
            description(1, "Microsoft-DotNETCore-SampleProfiler", 0),
            description(2, "Microsoft-Windows-DotNETRuntime", 10),
            description(3, "Microsoft-Windows-DotNETRuntimeRundown", 144),
        ];
        block(&mut out, "MetadataBlock", &events(&descriptions));
        let stack = |addresses: &[u64]| {
            let bytes: Vec<u8> =
                addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
            [&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat()
        };
        let header = [1u32.to_le_bytes(), 2u32.to_le_bytes()].concat();
        block(
            &mut out,
            "StackBlock",
            &[header, stack(&[0x2004, 0x1004]), stack(&[0x1008])].concat(),
        );
        let samples = [
            event(1, 1, &2u32.to_le_bytes()),
            event(1, 2, &1u32.to_le_bytes()),
            event(
                2,
                2,
                &[&100_000u32.to_le_bytes()[..], &[0; 6], &100_008u64.to_le_bytes()].concat(),
            ),
        ];
        block(&mut out, "EventBlock", &events(&samples));
        // The same numbers stand for other stacks now.
        let header = [1u32.to_le_bytes(), 1u32.to_le_bytes()].concat();
        block(&mut out, "StackBlock", &[header, stack(&[0x9000])].concat());
        let rest = [
            event(1, 1, &2u32.to_le_bytes()),
            method(0x1000, "App.Main", "Run"),
            method(0x2000, "", "Work"),
        ];
        block(&mut out, "EventBlock", &events(&rest));
        block(&mut out, "SPBlock", &[0; 12]);
        out.push(1);
        out
    }

    #[test]
    fn samples_get_the_names_told_at_the_end() {
        let input = Input::from_bytes(trace()).unwrap();
        assert!(sniff(&input));
        let profile = read(input, &ReadOptions::default()).unwrap();
        assert_eq!(
            draw(&profile),
            "0x9000 1 1\nApp.Main.Run 2 0\n  (unmanaged code) 1 1\n  Work 1 1\n"
        );
        let totals: Vec<_> = profile
            .metrics()
            .map(|(id, about)| (about.name.as_str(), profile.cells.total(id)))
            .collect();
        assert_eq!(totals, [("samples", 3), ("allocated", 100_008)]);
        assert_eq!(profile.samples, 3);
        assert_eq!(profile.threads[0].tid, Some(7));
        assert_eq!(profile.info.started, Some(1_606_263_383_949_000_000));
        assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
    }

    #[test]
    fn nettrace_never_panics() {
        for seed in 0..500 {
            let Ok(input) = Input::from_bytes(damaged(&trace(), seed)) else { continue };
            if sniff(&input) {
                let _ = read(input, &ReadOptions::default());
            }
        }
    }
}
