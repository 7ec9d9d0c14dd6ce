//! .NET's EventPipe traces, as `dotnet-trace` and `DOTNET_EnableEventPipe` write them (`.nettrace`, format 4
//! and 5), and traces of whole machines by tools that took the format over (format 6).
//!
//! Events refer to stacks of addresses by number; the methods those addresses lie in are told at the end of the file.
//! So the blocks are walked twice: for methods, then for samples. Numbers of stacks are used again later in the file,
//! which is why stacks are taken in the order of the blocks, and threads and descriptions of events with them.

mod blocks;
mod methods;
mod modules;
#[cfg(test)]
mod tests;
mod version6;

use std::num::NonZeroU64;

use hashbrown::HashMap;
use perfblame_cct::{
    Cursor, Frame, FrameId, Function, FunctionId, Layer, Metric, MetricId, Profile, ProfileBuilder,
    Thread, ThreadId, Unit,
};
use perfblame_native::{demangle, layer_of};

use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use blocks::{
    NettraceBlock, NettraceBlockKind, NettraceBlocks, NettraceEvent, NettraceTrace, u32_at, u64_at,
};
use methods::{NettraceMethod, NettraceMethods};
use modules::NettraceModules;
use version6::{Description, ThreadRow};

/// The row of this format.
pub const FORMAT: Format = Format {
    name: "nettrace",
    producers: ".NET: dotnet-trace, dotnet-monitor, EventPipe; record-trace",
    sniff,
    read,
    tracer: None,
};

/// True for the magic of a .NET trace.
pub fn sniff(input: &Input) -> bool {
    input.head().starts_with(b"Nettrace")
}

/// Reads a trace.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let (trace, mut blocks) = NettraceBlocks::open(&bytes)?;
    let mut methods = NettraceMethods::default();
    let mut modules = NettraceModules::default();
    let mut tables = NettraceTables::default();
    for block in blocks.by_ref() {
        tables.take(&block);
        let NettraceBlock::Events(events) = block else { continue };
        for event in events.map_while(Result::ok) {
            match tables.kinds.get(&event.metadata) {
                Some(NettraceBlockKind::Method) => methods.add(event.payload),
                Some(NettraceBlockKind::System) => {
                    let Some(about) = tables.descriptions.get(&event.metadata) else { continue };
                    let pid = tables.thread(event.thread, &trace).pid.unwrap_or(0);
                    modules.add(&about.name, &about.fields, event.payload, pid);
                }
                _ => {}
            }
        }
    }
    if blocks.is_cut {
        let offset = blocks.at;
        builder.warn("cut-off", || format!("the trace is cut off or damaged at byte {offset}"));
    }
    methods.sort();
    modules.sort();
    if methods.is_empty() && modules.is_empty() {
        builder
            .warn("no-methods", || "the trace has no methods, so frames are addresses".to_owned());
    }
    let mut samples = NettraceSamples::new(&mut builder, &trace, methods, modules);
    let (_, blocks) = NettraceBlocks::open(&bytes)?;
    for block in blocks {
        tables.take(&block);
        match block {
            NettraceBlock::Stacks(stacks) => samples.take_stacks(stacks),
            NettraceBlock::Events(events) => {
                for event in events {
                    let Ok(event) = event else {
                        builder
                            .warn("damaged-records", || "invalid events were left out".to_owned());
                        break;
                    };
                    samples.take(&mut builder, &tables, &event);
                }
            }
            NettraceBlock::Metadata(_)
            | NettraceBlock::Descriptions(_)
            | NettraceBlock::Threads(_) => {}
        }
    }
    Ok(builder.finish())
}

/// What events refer to, as of the block at hand.
#[derive(Default)]
struct NettraceTables {
    kinds: HashMap<u32, NettraceBlockKind>,
    /// Of version 6 only.
    descriptions: HashMap<u32, Description>,
    threads: HashMap<u64, ThreadRow>,
}

impl NettraceTables {
    fn take(&mut self, block: &NettraceBlock<'_>) {
        match block {
            NettraceBlock::Metadata(events) => {
                for event in events.clone().map_while(Result::ok) {
                    blocks::take_metadata(&mut self.kinds, event.payload);
                }
            }
            NettraceBlock::Descriptions(body) => {
                for description in version6::descriptions(body) {
                    let id = description.id;
                    // A number may have stood for another event before.
                    match blocks::kind_of(&description.provider, description.event) {
                        Some(kind) => drop(self.kinds.insert(id, kind)),
                        None => drop(self.kinds.remove(&id)),
                    }
                    self.descriptions.insert(id, description);
                }
            }
            NettraceBlock::Threads(body) => self.threads.extend(version6::threads(body)),
            NettraceBlock::Stacks(_) | NettraceBlock::Events(_) => {}
        }
    }

    /// The thread of an event; before version 6 its number is the system's.
    fn thread(&self, index: u64, trace: &NettraceTrace) -> ThreadRow {
        let row = self.threads.get(&index).cloned();
        row.unwrap_or(ThreadRow { name: String::new(), pid: Some(trace.pid), tid: Some(index) })
    }
}

/// What turns events into values of contexts.
struct NettraceSamples<'a> {
    trace: NettraceTrace,
    methods: NettraceMethods,
    modules: NettraceModules,
    taken: MetricId,
    allocated: Option<MetricId>,
    unmanaged: FrameId,
    threads: HashMap<(Option<u64>, Option<u64>), ThreadId>,
    frames: HashMap<(u64, u64), FrameId>,
    stacks: HashMap<u32, &'a [u8]>,
    /// The context of a stack in the process it was asked for last.
    contexts: HashMap<u32, (u64, Cursor)>,
    stack: Vec<FrameId>,
}

impl<'a> NettraceSamples<'a> {
    fn new(
        builder: &mut ProfileBuilder,
        trace: &NettraceTrace,
        methods: NettraceMethods,
        modules: NettraceModules,
    ) -> Self {
        let taken = builder.metric(Metric::sampled("samples", Unit::Count));
        builder.info.producer = Some(".NET EventPipe".to_owned());
        builder.info.started = trace.started;
        builder.info.labels.push(("pid".to_owned(), trace.pid.to_string()));
        builder.info.labels.push(("processors".to_owned(), trace.processors.to_string()));
        let unmanaged = builder.named_frame("(unmanaged code)", Layer::Runtime);
        Self {
            trace: *trace,
            methods,
            modules,
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

    fn take_stacks(&mut self, stacks: blocks::NettraceStacks<'a>) {
        for (id, stack) in stacks {
            self.stacks.insert(id, stack);
            self.contexts.remove(&id);
        }
    }

    fn take(
        &mut self,
        builder: &mut ProfileBuilder,
        tables: &NettraceTables,
        event: &NettraceEvent,
    ) {
        let (metric, value, is_unmanaged) = match tables.kinds.get(&event.metadata) {
            // 1 is code that the runtime does not manage, 2 is managed code.
            Some(NettraceBlockKind::Sample) => (self.taken, 1, u32_at(event.payload, 0) == Some(1)),
            Some(NettraceBlockKind::Allocation) => {
                // The amount of 32 bits comes first, that of 64 bits behind it where there is one.
                let amount =
                    u64_at(event.payload, 10).or_else(|| u32_at(event.payload, 0).map(u64::from));
                let metric = *self.allocated.get_or_insert_with(|| {
                    builder.metric(Metric::sampled("allocated", Unit::Bytes))
                });
                (metric, i64::try_from(amount.unwrap_or(0)).unwrap_or(i64::MAX), false)
            }
            Some(NettraceBlockKind::Valued) => {
                let Some(about) = tables.descriptions.get(&event.metadata) else { return };
                let value = about.fields.number(event.payload, "Value").unwrap_or(1);
                let count = i64::try_from(value).unwrap_or(i64::MAX);
                let (metric, value) = match about.name.as_str() {
                    "cpu" => (self.taken, count),
                    // How long the thread was away.
                    "cswitch" => {
                        let metric = Metric::exact("blocked", Unit::Nanoseconds);
                        (builder.metric(metric), self.trace.span(value))
                    }
                    name => (builder.metric(Metric::exact(name, Unit::Count)), count),
                };
                (metric, value, false)
            }
            _ => return,
        };
        let thread = tables.thread(event.thread, &self.trace);
        let at = self.context(builder, thread.pid.unwrap_or(0), event.stack);
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
        let thread = self.thread(builder, &thread);
        builder.add(at, Some(thread), metric, value);
        builder.time_sample(self.trace.nanoseconds(event.time), at, Some(thread), metric, value);
        if metric == self.taken {
            builder.count_samples(value.unsigned_abs());
        }
    }

    fn thread(&mut self, builder: &mut ProfileBuilder, row: &ThreadRow) -> ThreadId {
        let (pid, tid) = (row.pid, row.tid);
        *self.threads.entry((pid, tid)).or_insert_with(|| {
            let name = builder.string(&row.name);
            let process = pid.and_then(|pid| self.modules.process(pid));
            let process = process.map(|name| builder.string(name));
            builder.thread(Thread { pid, tid, process, ..Thread::named(name) })
        })
    }

    fn context(&mut self, builder: &mut ProfileBuilder, pid: u64, id: u32) -> Option<Cursor> {
        if let Some((_, at)) = self.contexts.get(&id).filter(|(known, _)| *known == pid) {
            return Some(*at);
        }
        let addresses = *self.stacks.get(&id)?;
        self.stack.clear();
        for address in addresses.chunks_exact(self.trace.pointer).rev() {
            let address = address.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            let frame = if let Some(frame) = self.frames.get(&(pid, address)) {
                *frame
            } else {
                let frame = self.frame(builder, pid, address);
                self.frames.insert((pid, address), frame);
                frame
            };
            self.stack.push(frame);
        }
        let at = builder.stack(&self.stack)?;
        self.contexts.insert(id, (pid, at));
        Some(at)
    }

    fn frame(&self, builder: &mut ProfileBuilder, pid: u64, address: u64) -> FrameId {
        let function = if let Some(method) = self.methods.find(address) {
            managed(builder, method)
        } else {
            let place = self.modules.find(pid, address);
            let name = match place.function {
                Some(name) => builder.string(&demangle(name)),
                None => builder.string(&format!("0x{address:x}")),
            };
            let layer = match place.file {
                _ if place.is_kernel => Layer::Kernel,
                Some(file) => layer_of(file),
                None if place.function.is_some() => Layer::Application,
                None => Layer::Runtime,
            };
            let component = place.file.map(|file| builder.string(file));
            builder.function(Function { component, layer, ..Function::named(name) })
        };
        builder.frame(Frame { address: NonZeroU64::new(address), ..Frame::of(function) })
    }
}

fn managed(builder: &mut ProfileBuilder, method: &NettraceMethod) -> FunctionId {
    let name = match method.class.as_str() {
        "" => builder.string(&method.name),
        class => builder.string(&format!("{class}.{}", method.name)),
    };
    let is_library = ["System.", "Microsoft.", "Internal.", "Interop"]
        .iter()
        .any(|start| method.class.starts_with(start));
    let layer = if is_library { Layer::Library } else { Layer::Application };
    let component = (!method.class.is_empty()).then(|| builder.string(&method.class));
    let signature = (!method.signature.is_empty()).then(|| builder.string(&method.signature));
    builder.function(Function { component, signature, layer, ..Function::named(name) })
}
