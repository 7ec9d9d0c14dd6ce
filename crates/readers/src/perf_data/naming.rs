//! The naming thread: what the walking thread tells becomes a profile.

use perfblame_cct::{
    FrameId, Layer, Metric, MetricId, Profile, ProfileBuilder, TRUNCATED, Thread, ThreadId, Unit,
};

use super::frames::{FrameRange, FrameTable};
use super::session::Ended;
use super::told::{Batch, SampleTold, Slot, ThreadTold, Told};
use crate::format::ReadOptions;

/// A profile in the making.
pub struct Naming {
    builder: ProfileBuilder,
    frames: FrameTable,
    /// The frames of each slot.
    slots: Vec<FrameRange>,
    threads: Vec<ThreadId>,
    /// By event; none for those that exist for their other records.
    metrics: Vec<Option<MetricId>>,
    samples: Option<MetricId>,
    stack: Vec<FrameId>,
}

impl Naming {
    /// Nothing told yet.
    pub fn new(options: &ReadOptions) -> Self {
        Self {
            builder: options.builder(),
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
                Told::Module(id, module) => frames.add_module(builder, id, module),
                Told::Metric(metric) => {
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
    pub fn finish(mut self, ended: &Ended) -> Profile {
        self.samples();
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
        self.builder.finish()
    }
}
