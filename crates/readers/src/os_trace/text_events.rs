//! Events that a text tells line by line, with their stacks: what the readers of tracers' texts have in common.
//!
//! A reader says when an event begins, what frames it has and when it is whole; here it becomes an event of a trace, or
//! a sample of a profile for those who only want to look.

use hashbrown::HashMap;
use perfblame_cct::{
    EventSink, FrameId, Function, Layer, Metric, MetricId, Placement, Profile, ProfileBuilder,
    Thread, ThreadId, Unit,
};

use super::{Emitter, Traced, no_stacks};
use crate::building::byte_memo::ByteMemo;
use crate::building::module_frame::module_frame;
use crate::encodings::text::{self, Blocks, excerpt, shown};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions, TraceRead};
use crate::input::Input;

/// The kernel, as perf calls it.
const KERNEL: &str = "[kernel.kallsyms]";

/// What an event of a text says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Says {
    /// The named system call begins.
    Enter,
    /// The named system call ends.
    Exit,
    /// The named system call from begin to end; how long it took, where that is known.
    Call(Option<i64>),
    /// Something else.
    Plain(Traced<'static>),
}

/// An event of which more may be told.
#[derive(Debug)]
pub(crate) struct TextEvent {
    pub(crate) time: i64,
    pub(crate) tid: Option<u64>,
    thread: ThreadId,
    says: Says,
    /// The system call's name.
    call: String,
    /// Innermost first.
    stack: Vec<FrameId>,
}

/// Reads the lines of one kind of text.
pub(crate) trait Lines {
    /// The next line.
    fn line(&mut self, events: &mut TextEvents<'_>, line: &[u8]);
    /// That was all.
    fn end(&mut self, events: &mut TextEvents<'_>);
}

/// Takes events and their frames.
pub(crate) struct TextEvents<'s> {
    pub(crate) builder: ProfileBuilder,
    trace: Option<Emitter<'s>>,
    frames: ByteMemo<FrameId>,
    threads: HashMap<Option<u64>, (ThreadId, Vec<u8>)>,
    stacks: u64,
    span: Option<(i64, i64)>,
}

/// Reads a text as a trace where there is a sink, as a profile where there is none; and how many stacks it has.
pub(crate) fn read_lines(
    input: Input,
    options: &ReadOptions,
    sink: Option<&mut dyn EventSink>,
    mut lines: impl Lines,
) -> Result<(Profile, Placement, u64), ReadError> {
    let mut blocks = Blocks::new(input)?;
    let mut events = TextEvents {
        builder: options.builder(),
        trace: sink.map(Emitter::sorting),
        frames: ByteMemo::new(),
        threads: HashMap::new(),
        stacks: 0,
        span: None,
    };
    while let Some(block) = blocks.next()? {
        for line in text::lines(block) {
            lines.line(&mut events, line);
        }
    }
    lines.end(&mut events);
    let TextEvents { mut builder, trace, stacks, span, .. } = events;
    blocks.warn_if_cut_off(&mut builder);
    if let Some(trace) = trace {
        trace.finish(&mut builder);
    }
    builder.info.duration = span.map(|(first, last)| last.saturating_sub(first));
    let (profile, placement) = builder.finish_placed();
    Ok((profile, placement, stacks))
}

/// Reads a text that is of no use without stacks, as a profile: how often each stack was seen.
pub(crate) fn read_stacks(
    input: Input,
    options: &ReadOptions,
    format: &Format,
    lines: impl Lines,
) -> Result<Profile, ReadError> {
    let (profile, _, stacks) = read_lines(input, options, None, lines)?;
    if stacks == 0 { Err(no_stacks(format)) } else { Ok(profile) }
}

/// Hands the events of such a text to `sink`.
pub(crate) fn read_stack_events(
    input: Input,
    options: &ReadOptions,
    sink: &mut dyn EventSink,
    format: &Format,
    lines: impl Lines,
) -> Result<TraceRead, ReadError> {
    match read_lines(input, options, Some(sink), lines)? {
        (_, _, 0) => Err(no_stacks(format)),
        (profile, placement, _) => Ok(TraceRead::Trace(Box::new(profile), placement)),
    }
}

impl TextEvents<'_> {
    /// A new event; it counts when it is whole.
    pub(crate) fn begin(
        &mut self,
        time: i64,
        (pid, tid): (Option<u64>, Option<u64>),
        comm: &[u8],
        says: Says,
        call: &str,
    ) -> TextEvent {
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
        let thread = self.thread(pid, tid, comm);
        TextEvent { time, tid, thread, says, call: call.to_owned(), stack: Vec::new() }
    }

    fn thread(&mut self, pid: Option<u64>, tid: Option<u64>, comm: &[u8]) -> ThreadId {
        let Self { builder, threads, .. } = self;
        let nameless = comm.is_empty() || comm == b"<...>";
        let (thread, known) = threads.entry(tid).or_insert_with(|| {
            let name = builder.string(&shown(if nameless { &[] } else { comm }));
            let thread = Thread { pid, tid, ..Thread::named(name) };
            (builder.thread(thread), comm.to_vec())
        });
        // A thread that runs another program is called otherwise, and still the same thread.
        if !nameless && known.as_slice() != comm {
            comm.clone_into(known);
            let name = builder.string(&shown(comm));
            if let Some(before) = builder.known_thread(*thread) {
                builder.update_thread(*thread, Thread { name, ..before });
            }
        }
        *thread
    }

    /// The next frame of an event, further out than those before: `text` as the tracer wrote it, `take_apart` into
    /// object, symbol and address where it is new.
    pub(crate) fn frame(
        &mut self,
        event: &mut TextEvent,
        text: &[u8],
        take_apart: impl FnOnce(&str) -> FrameParts,
    ) {
        let frame = match self.frames.find(text) {
            Ok(frame) => frame,
            Err(hash) => {
                let parts = take_apart(&shown(text));
                let object = parts.object.as_deref().or(parts.kernel.then_some(KERNEL));
                let layer = parts.kernel.then_some(Layer::Kernel);
                let place = parts.place();
                let symbol = place.as_deref().unwrap_or(&parts.symbol);
                let frame = module_frame(&mut self.builder, object, symbol, layer, parts.address);
                self.frames.insert(hash, text, frame);
                frame
            }
        };
        event.stack.push(frame);
    }

    /// The event is whole.
    pub(crate) fn end(&mut self, event: TextEvent) {
        let TextEvent { time, thread, says, call, mut stack, .. } = event;
        stack.reverse();
        self.stacks += u64::from(!stack.is_empty());
        let Self { builder, trace: Some(trace), .. } = self else {
            return self.sample(time, thread, says, &call, stack);
        };
        builder.count_samples(1);
        match says {
            Says::Enter => trace.event(builder, (time, thread), Traced::Enter(&call), &stack),
            Says::Exit => trace.event(builder, (time, thread), Traced::Exit(&call), &stack),
            Says::Plain(traced) => trace.event(builder, (time, thread), traced, &stack),
            Says::Call(took) => {
                trace.event(builder, (time, thread), Traced::Enter(&call), &stack);
                if let Some(took) = took {
                    let end = time.saturating_add(took);
                    trace.event(builder, (end, thread), Traced::Exit(&call), &stack);
                }
            }
        }
    }

    /// The event as a sample: calls with their time, anything else by number.
    fn sample(
        &mut self,
        time: i64,
        thread: ThreadId,
        says: Says,
        call: &str,
        mut stack: Vec<FrameId>,
    ) {
        let builder = &mut self.builder;
        let Says::Call(took) = says else {
            let Some(at) = builder.stack(&stack) else { return };
            let samples = builder.metric(Metric::sampled("samples", Unit::Count));
            builder.count_samples(1);
            builder.add(at, Some(thread), samples, 1);
            return builder.time_sample(time, at, Some(thread), samples, 1);
        };
        let (name, component) = (builder.string(call), builder.string("[syscall]"));
        let function = Function::named(name).in_component(component).in_layer(Layer::Kernel);
        let function = builder.function(function);
        stack.push(builder.frame(perfblame_cct::Frame::of(function)));
        let Some(at) = builder.stack(&stack) else { return };
        let [wall, calls]: [MetricId; 2] = [("wall", Unit::Nanoseconds), ("calls", Unit::Count)]
            .map(|(name, unit)| builder.metric(Metric::exact(name, unit)));
        builder.add(at, Some(thread), calls, 1);
        if let Some(took) = took {
            builder.add(at, Some(thread), wall, took);
            builder.time_call(time, time.saturating_add(took), at, Some(thread));
        }
    }

    /// Events are missing here.
    pub(crate) fn lost(&mut self, events: u64) {
        match &mut self.trace {
            Some(trace) => trace.lost(&mut self.builder, events),
            None => self.builder.warn_many("lost-samples", events, || {
                "the tracer lost events; trace less, or use larger buffers".to_owned()
            }),
        }
    }

    /// A line that is no part of an event.
    pub(crate) fn damaged(&mut self, line: &[u8]) {
        self.builder.warn("damaged-lines", || {
            format!(
                "lines that do not belong to an event were left out; the first is {}",
                excerpt(line)
            )
        });
    }
}

/// What a frame's text says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FrameParts {
    pub(crate) object: Option<String>,
    /// Empty where there is only an address.
    pub(crate) symbol: String,
    /// In the object where one is named and `in_object`, else in the process.
    pub(crate) address: Option<u64>,
    pub(crate) in_object: bool,
    pub(crate) kernel: bool,
}

impl FrameParts {
    /// Functions without a name are told apart by where they are in their object.
    fn place(&self) -> Option<String> {
        let (object, address) = (self.object.as_deref()?, self.address?);
        let base = object.rsplit('/').next().unwrap_or(object);
        let nameless = self.symbol.is_empty() && self.in_object && !object.starts_with('[');
        nameless.then(|| format!("[{base}+{address:#x}]"))
    }
}
