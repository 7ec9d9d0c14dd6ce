//! The naming thread: what the walking thread tells becomes a profile.

use perfblame_cct::{
    FrameId, Layer, Leaving, Metric, MetricId, Placement, Profile, ProfileBuilder, TRUNCATED,
    Thread, ThreadId, Unit,
};

use super::frames::{FrameRange, FrameTable};
use super::session::Ended;
use super::told::{Batch, SampleTold, Slot, ThreadTold, Told, TracedTold};
use crate::format::ReadOptions;
use crate::os_trace::{Emitter, Traced};

/// A profile in the making.
pub struct Naming<'s> {
    builder: ProfileBuilder,
    trace: Option<Emitter<'s>>,
    calls: Vec<String>,
    frames: FrameTable,
    /// The frames of each slot.
    slots: Vec<FrameRange>,
    threads: Vec<ThreadId>,
    /// By event; none for those that exist for their other records.
    metrics: Vec<Option<MetricId>>,
    samples: Option<MetricId>,
    stack: Vec<FrameId>,
}

impl<'s> Naming<'s> {
    /// Nothing told yet; samples are handed on as events, if somebody takes them.
    pub fn new(options: &ReadOptions, trace: Option<Emitter<'s>>) -> Self {
        Self {
            builder: options.builder(),
            trace,
            calls: Vec::new(),
            frames: FrameTable::default(),
            slots: Vec::new(),
            threads: Vec::new(),
            metrics: Vec::new(),
            samples: None,
            stack: Vec::new(),
        }
    }

    /// Takes what was told.
    pub fn take(&mut self, batch: Batch) {
        let Batch { told, slots, values } = batch;
        let (mut slots, mut values) = (slots.as_slice(), values.as_slice());
        for told in told {
            let Self { builder, frames, .. } = self;
            match told {
                Told::Module(id, module) => {
                    let (component, names) = frames.add_module(builder, id, module);
                    if let (Some(trace), Some(names)) = (&mut self.trace, names) {
                        trace.add_binary(component, &names);
                    }
                }
                Told::Metric(metric) => {
                    let metric = metric.filter(|_| self.trace.is_none());
                    let metric = metric.map(|metric| builder.metric(metric));
                    self.metrics.push(metric);
                }
                Told::Thread(thread) => self.thread(thread),
                Told::NewProgram(pid) => frames.forget_jit(pid),
                Told::JitDump(pid, dump) => frames.add_jit_dump(pid, dump),
                Told::Kernel(kernel) => frames.kernel_told = kernel,
                Told::KernelProgram(program) => frames.kernel_jit.insert(program),
                Told::Slot(asked) => {
                    let found = frames.find(builder, asked);
                    self.slots.push(found);
                }
                Told::Sample(sample) => {
                    let taken = slots.split_at_checked(sample.slots as usize);
                    let (stack, other_slots) = taken.unwrap_or((slots, &[]));
                    let taken = values.split_at_checked(sample.values as usize);
                    let (own, other_values) = taken.unwrap_or((values, &[]));
                    (slots, values) = (other_slots, other_values);
                    self.sample(sample, stack, own);
                }
                Told::IsTrace(true) => {}
                Told::IsTrace(false) => self.trace = None,
                Told::CallName(name) => self.calls.push(name),
                Told::Switch { thread, time, left } => self.switch(thread, time, left),
                Told::Lost(events) => {
                    if let Some(trace) = &mut self.trace {
                        trace.lost(builder, events);
                    }
                }
                Told::Warning { code: "lost-samples", .. } if self.trace.is_some() => {}
                Told::Warning { code, count, message } => {
                    builder.warn_many(code, count, || message.into_owned());
                }
            }
        }
    }

    fn thread(&mut self, told: ThreadTold) {
        let name = self.builder.string(&told.name);
        let process = told.process.map(|name| self.builder.string(&name));
        let row = self.builder.thread(Thread {
            name,
            process,
            pid: Some(told.pid.into()),
            tid: Some(told.tid.into()),
            group: None,
        });
        self.threads.push(row);
    }

    fn sample(&mut self, sample: SampleTold, stack: &[Slot], values: &[(u32, u64)]) {
        let cut = self.fill_stack(sample, stack) | sample.cut;
        if cut {
            // What the builder does for partial stacks, and remembered like a whole one.
            self.stack.push(self.builder.named_frame(TRUNCATED, Layer::Runtime));
        }
        self.stack.reverse();
        let thread = self.threads.get(sample.thread as usize).copied();
        if self.trace.is_some() {
            return self.hand_on(sample, thread);
        }
        let Some(at) = self.builder.stack(&self.stack) else { return };
        let samples = self.samples();
        let time = sample.time.and_then(|time| i64::try_from(time).ok());
        for (event, value) in values {
            let Some(metric) = self.metrics.get(*event as usize).copied().flatten() else {
                continue;
            };
            let value = i64::try_from(*value).unwrap_or(i64::MAX);
            self.builder.add(at, thread, metric, value);
            if let Some(time) = time {
                self.builder.time_sample(time, at, thread, metric, value);
            }
        }
        self.builder.add(at, thread, samples, 1);
        self.builder.count_samples(1);
    }

    /// Hands a sample on as an event.
    fn hand_on(&mut self, sample: SampleTold, thread: Option<ThreadId>) {
        let time = sample.time.and_then(|time| i64::try_from(time).ok());
        let (Some(time), Some(thread), Some(trace)) = (time, thread, &mut self.trace) else {
            self.builder.warn("events-without-time", || {
                "events without a time were left out; `perf record -T` records it".to_owned()
            });
            return;
        };
        let call = |number: u32| self.calls.get(number as usize).map_or("unknown", String::as_str);
        let traced = match sample.traced {
            TracedTold::Enter(number) => Traced::Enter(call(number)),
            TracedTold::Exit(number) => Traced::Exit(call(number)),
            TracedTold::Switch(leaving, next) => Traced::Switch(leaving, Some(next.into())),
            TracedTold::Wakeup(tid) => Traced::Wakeup(tid.into()),
            TracedTold::PageFault => Traced::PageFault,
            TracedTold::Tick => Traced::Tick,
            TracedTold::Other => Traced::Other,
        };
        trace.event(&mut self.builder, (time, thread), traced, &self.stack);
        self.builder.count_samples(1);
    }

    fn switch(&mut self, thread: u32, time: u64, left: Option<Leaving>) {
        let thread = self.threads.get(thread as usize).copied();
        let Self { builder, trace, .. } = self;
        if let (Some(trace), Some(thread), Ok(time)) = (trace, thread, i64::try_from(time)) {
            let traced = left.map_or(Traced::SwitchIn, |left| Traced::Switch(left, None));
            trace.event(builder, (time, thread), traced, &[]);
        }
    }

    /// Puts the frames of a stack into `self.stack`, innermost first. Following frame pointers through code that does
    /// not keep them ends at an address where no code is: the callers are missing. Returns true when such frames were
    /// dropped.
    fn fill_stack(&mut self, sample: SampleTold, stack: &[Slot]) -> bool {
        self.stack.clear();
        let sure = sample.sure.map_or(stack.len(), |sure| stack.len().min(sure as usize));
        let (sure, unsure) = stack.split_at(sure);
        self.push_frames(sure);
        let kept = self.stack.len();
        self.push_frames(unsure);
        let whole = self.stack.len();
        let unknown = self.frames.unknown_frame();
        while self.stack.len() > kept && self.stack.last().copied() == unknown {
            self.stack.pop();
        }
        self.stack.len() < whole
    }

    fn push_frames(&mut self, slots: &[Slot]) {
        for slot in slots {
            if let Some(range) = self.slots.get(slot.0 as usize) {
                self.stack.extend_from_slice(self.frames.frames(*range));
            }
        }
    }

    /// The number of samples, behind the metrics of the events that were known before the first one.
    fn samples(&mut self) -> MetricId {
        let Self { builder, samples, .. } = self;
        *samples.get_or_insert_with(|| builder.metric(Metric::sampled("samples", Unit::Count)))
    }

    /// Writes down what the file says about itself.
    ///
    /// Where events were handed on, also where each context went.
    pub fn finish(mut self, ended: &Ended) -> (Profile, Option<Placement>) {
        let is_trace = self.trace.is_some();
        match self.trace.take() {
            Some(trace) => trace.finish(&mut self.builder),
            None => {
                self.samples();
            }
        }
        let Ended { recording, span } = ended;
        let info = &mut self.builder.info;
        let version = recording.version.as_deref().unwrap_or_default();
        info.producer = Some(format!("perf {version}").trim_end().to_owned());
        info.command.clone_from(&recording.command);
        let span = span.or(recording.times);
        info.duration = span.and_then(|(first, last)| i64::try_from(last.checked_sub(first)?).ok());
        if let (Some((wall, clock)), Some((first, _))) = (recording.clocks, span) {
            let started = i128::from(wall) - i128::from(clock) + i128::from(first);
            info.started = i64::try_from(started).ok();
        }
        let cpus = recording.cpus.map(|count| count.to_string());
        let events: Vec<_> =
            recording.events.iter().map(|event| recording.event_name(event)).collect();
        let labels = [
            ("arch", recording.arch.clone()),
            ("cpu", recording.cpu.clone()),
            ("cpus", cpus),
            ("events", (!events.is_empty()).then(|| events.join(", "))),
            ("host", recording.hostname.clone()),
            ("kernel", recording.release.clone()),
        ];
        info.labels =
            labels.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?))).collect();
        let (profile, placement) = self.builder.finish_placed();
        (profile, is_trace.then_some(placement))
    }
}
