//! What a recording adds up to: metrics, totals and what it says about itself, over all its chunks.

use perfblame_cct::{Cursor, Layer, Metric, MetricId, Profile, ProfileBuilder, ThreadId, Unit};
use std::collections::{BTreeMap, BTreeSet};

use super::events::Meter;
use super::header::ChunkHeader;
use super::settings::{Execution, Settings};
use super::stacks::JfrStack;

/// A profile under construction.
pub struct JfrRecording {
    pub builder: ProfileBuilder,
    /// Where the chunk at hand starts in the file, for messages.
    pub offset: u64,
    /// Chunks that were read.
    pub chunks: u64,
    settings: Settings,
    labels: BTreeMap<String, String>,
    /// Settings of events by event and name, and the events that occur.
    event_settings: BTreeMap<(String, String), String>,
    events: BTreeSet<String>,
    /// The metric that each meter fills in the chunk at hand, and what one sample of it adds.
    metrics: [Option<(MetricId, i64)>; Meter::COUNT],
    /// Every metric made so far, by meter: their order in the profile.
    order: BTreeSet<(Meter, MetricId)>,
    pid: Option<u64>,
    started: Option<i64>,
    duration: i64,
    /// The chunk's start and the latest event in it: what an unfinished chunk has for a duration.
    chunk: (i64, i64),
    no_stack: Option<Cursor>,
    missing_stack: Option<Cursor>,
    /// Samples of running threads or of all.
    samples: u64,
    /// Events with stacks that fill no metric, by class.
    unread: BTreeMap<String, u64>,
    /// Samples of allocations and of native methods: a recording's only ones when it has no others.
    other_samples: u64,
}

/// One event with a stack.
pub struct Moment {
    pub meter: Meter,
    /// Nanoseconds since 1970.
    pub time: i64,
    pub thread: Option<ThreadId>,
    /// The context of its stack.
    pub at: Cursor,
    /// Samples, bytes or nanoseconds, as the meter has it.
    pub number: i64,
}

impl JfrRecording {
    pub fn new(builder: ProfileBuilder) -> Self {
        Self {
            builder,
            offset: 0,
            chunks: 0,
            settings: Settings::default(),
            labels: BTreeMap::new(),
            event_settings: BTreeMap::new(),
            events: BTreeSet::new(),
            metrics: [None; Meter::COUNT],
            order: BTreeSet::new(),
            pid: None,
            started: None,
            duration: 0,
            chunk: (0, 0),
            no_stack: None,
            missing_stack: None,
            samples: 0,
            unread: BTreeMap::new(),
            other_samples: 0,
        }
    }

    /// A new chunk starts.
    pub fn begin_chunk(&mut self, header: &ChunkHeader) {
        self.end_chunk();
        self.chunks += 1;
        self.started = Some(self.started.map_or(header.start, |first| first.min(header.start)));
        self.chunk = (header.start, header.start.saturating_add(header.duration.max(0)));
    }

    fn end_chunk(&mut self) {
        let lasted = self.chunk.1.saturating_sub(self.chunk.0).max(0);
        self.duration = self.duration.saturating_add(lasted);
        self.chunk = (0, 0);
    }

    /// Process id of the virtual machine, once known.
    pub fn pid(&self) -> Option<u64> {
        self.pid
    }

    /// Settings follow that replace those known so far.
    pub fn forget_settings(&mut self) {
        self.settings = Settings::default();
    }

    /// A setting of the recording; `event` is the event it is for, when that is one we read.
    pub fn setting(&mut self, event: Option<&str>, name: &str, value: &str) {
        // 0 is how async-profiler writes its defaults.
        if value.is_empty() || value == "0" {
            return;
        }
        self.settings.set(event, name, value);
        if let (Some(event), "period" | "threshold" | "throttle" | "interval") = (event, name) {
            self.event_settings.insert((event.to_owned(), name.to_owned()), value.to_owned());
        }
    }

    /// The recording's name, which async-profiler makes its own.
    pub fn recorder(&mut self, name: &str) {
        if name.starts_with("async-profiler") {
            self.builder.info.producer = Some(name.to_owned());
        }
    }

    /// The virtual machine and its program.
    pub fn machine(&mut self, name: &str, version: &str, arguments: &str, pid: u64) {
        self.pid = (pid != 0).then_some(pid).or(self.pid);
        if !arguments.is_empty() {
            self.builder.info.command = Some(arguments.to_owned());
        }
        // The version of HotSpot is a sentence that begins with its name.
        let machine =
            if version.contains(name) { version.to_owned() } else { format!("{name} {version}") };
        // When and with which compiler it was built is of no use here.
        let machine = machine.split(", built on").next().unwrap_or_default().trim();
        if !machine.is_empty() {
            self.labels.insert("jvm".to_owned(), machine.to_owned());
        }
    }

    /// A message of async-profiler.
    pub fn log(&mut self, level: &str, message: &str) {
        if matches!(level, "WARN" | "ERROR") {
            self.builder.warn("profiler-log", || format!("message of the profiler: {message}"));
        }
    }

    /// The CPU-time sampler could not keep up.
    pub fn lost_samples(&mut self, count: u64) {
        self.builder.warn_many("lost-samples", u64::from(count as u32), || {
            "the JVM's CPU-time sampler lost samples".to_owned()
        });
    }

    /// Buffers were dropped.
    pub fn lost_data(&mut self, bytes: u64) {
        self.builder.warn_many("lost-bytes", bytes, || {
            "bytes of events were lost, because the recording's buffers were full".to_owned()
        });
    }

    /// Samples of an event follow in this chunk.
    pub fn announce(&mut self, event: &str, meter: Meter) {
        self.events.insert(event.to_owned());
        let metric = self.metric(meter);
        self.metrics[meter as usize] = Some(metric);
        self.order.insert((meter, metric.0));
    }

    /// The metric that a meter fills under the settings of the chunk, and what its numbers are to be multiplied with.
    fn metric(&mut self, meter: Meter) -> (MetricId, i64) {
        let nanos = |name: &str| Metric::exact(name, Unit::Nanoseconds);
        let (metric, each) = match meter {
            Meter::Execution => match self.settings.execution() {
                Execution::Samples => (Metric::sampled("samples", Unit::Count), 1),
                Execution::Cpu(each) => (time_sampled("cpu", each), each),
                Execution::Wall(each) => (time_sampled("wall", each), each),
                Execution::Event(name, Some(each)) => {
                    (Metric::sampled(&name, Unit::Count).with_period(each), each)
                }
                Execution::Event(name, None) => (Metric::sampled(&name, Unit::Count), 1),
            },
            Meter::CpuTime => (Metric::sampled("cpu", Unit::Nanoseconds), 1),
            Meter::CpuSamples => match self.settings.cpu_interval() {
                Some(each) => (time_sampled("cpu (Datadog)", each), each),
                None => (Metric::sampled("samples (Datadog)", Unit::Count), 1),
            },
            Meter::Wall => {
                let each = self.settings.wall_interval();
                (time_sampled("wall", each), each)
            }
            Meter::Native => (Metric::sampled("native", Unit::Count), 1),
            Meter::Allocated => (Metric::sampled("allocated", Unit::Bytes), 1),
            Meter::AllocatedBuffers => (Metric::sampled("allocated (buffers)", Unit::Bytes), 1),
            Meter::AllocatedDatadog => (Metric::sampled("allocated (Datadog)", Unit::Bytes), 1),
            Meter::Live => (Metric::sampled("live", Unit::Bytes), 1),
            Meter::OldObjects => (Metric::sampled("old objects", Unit::Count), 1),
            Meter::OldBytes => (Metric::sampled("old bytes", Unit::Bytes), 1),
            Meter::Malloc => (Metric::sampled("malloc", Unit::Bytes), 1),
            Meter::Frees => (Metric::sampled("frees", Unit::Count), 1),
            Meter::Blocked => (nanos("blocked"), 1),
            // async-profiler records parks on locks only: there, a parked thread is a blocked one.
            Meter::Waited if self.settings.is_async_profiler() => (nanos("blocked"), 1),
            Meter::Waited => (nanos("waited"), 1),
            Meter::InputOutput => (nanos("io"), 1),
        };
        (self.builder.metric(metric), each)
    }

    /// The context of an event with this stack.
    pub fn place(&mut self, stack: JfrStack) -> Cursor {
        let Self { builder, no_stack, missing_stack, .. } = self;
        match stack {
            JfrStack::At(at) => at,
            JfrStack::None => placeholder(builder, no_stack, "(no stack)"),
            JfrStack::Missing => {
                builder.warn("missing-stacks", || {
                    "events whose stack is not in a constant pool are kept under (missing stack)"
                        .to_owned()
                });
                placeholder(builder, missing_stack, "(missing stack)")
            }
        }
    }

    /// An event with a stack.
    pub fn sample(&mut self, moment: &Moment) {
        let Some((metric, each)) = self.metrics[moment.meter as usize] else { return };
        let Self { builder, .. } = self;
        let at = moment.at;
        let value = moment.number.saturating_mul(each);
        builder.add(at, moment.thread, metric, value);
        builder.time_sample(moment.time, at, moment.thread, metric, value);
        match moment.meter {
            Meter::Wall | Meter::CpuSamples => {
                self.samples = self.samples.saturating_add(moment.number.unsigned_abs());
            }
            Meter::Execution | Meter::CpuTime => self.samples += 1,
            // Every such event was seen: none is a sample. An old object is counted where its number is.
            Meter::Blocked | Meter::Waited | Meter::InputOutput | Meter::OldBytes => {}
            _ => self.other_samples += 1,
        }
        self.chunk.1 = self.chunk.1.max(moment.time);
    }

    /// An event with a stack that fills no metric.
    pub fn unread(&mut self, event: &str) {
        match self.unread.get_mut(event) {
            Some(count) => *count += 1,
            None => drop(self.unread.insert(event.to_owned(), 1)),
        }
    }

    /// Says which events with stacks were passed over, the most frequent first.
    fn note_unread(&mut self) {
        let mut unread: Vec<_> = self.unread.iter().collect();
        unread.sort_by_key(|(event, count)| (std::cmp::Reverse(**count), *event));
        let total = unread.iter().map(|(_, count)| **count).sum();
        let counts: Vec<_> =
            unread.iter().map(|(event, count)| format!("{count} of type {event}")).collect();
        if total > 0 {
            self.builder.warn_many("unread-events", total, || {
                format!("events with stacks were not read: {}", counts.join(", "))
            });
        }
    }

    /// The profile.
    pub fn finish(mut self) -> Profile {
        self.end_chunk();
        self.note_unread();
        self.name_metrics();
        let samples = if self.samples > 0 { self.samples } else { self.other_samples };
        let Self { mut builder, settings, mut labels, events, order, .. } = self;
        builder.count_samples(samples);
        // A metric can be filled by two meters; the more telling one gives its place.
        let mut metrics: Vec<MetricId> = Vec::new();
        for (_, metric) in order {
            if !metrics.contains(&metric) {
                metrics.push(metric);
            }
        }
        builder.choose_metrics(&metrics);
        let info = &mut builder.info;
        if info.producer.is_none() {
            let name = if settings.is_datadog() { "Datadog profiler" } else { "async-profiler" };
            let ours = settings.event.is_some() || settings.is_datadog();
            let version = settings.version.filter(|_| ours);
            info.producer = version.map(|version| format!("{name} {version}"));
        }
        if info.producer.is_none() {
            info.producer = labels.remove("jvm");
        }
        // As the JDK writes settings on its command line.
        for ((event, name), value) in self.event_settings {
            if events.contains(&event) {
                labels.insert(format!("{event}#{name}"), value);
            }
        }
        info.started = self.started;
        info.duration = Some(self.duration);
        info.labels = labels.into_iter().collect();
        builder.finish()
    }

    /// Allocations and CPU time can be estimated in several ways in one recording, which must not be added up. The
    /// most telling one goes by the plain name.
    fn name_metrics(&mut self) {
        let ids: Vec<MetricId> = self.order.iter().map(|(_, id)| *id).collect();
        for id in &ids {
            let known = |id: &MetricId| self.builder.known_metric(*id).cloned();
            let Some(metric) = known(id) else { continue };
            let Some((plain, _)) = metric.name.split_once(" (") else { continue };
            if !ids.iter().filter_map(known).any(|other| other.name == plain) {
                let name = plain.to_owned();
                self.builder.update_metric(*id, Metric { name, ..metric });
            }
        }
    }
}

fn time_sampled(name: &str, each: i64) -> Metric {
    Metric::sampled(name, Unit::Nanoseconds).with_period(each)
}

fn placeholder(builder: &mut ProfileBuilder, known: &mut Option<Cursor>, name: &str) -> Cursor {
    *known.get_or_insert_with(|| {
        let frame = builder.named_frame(name, Layer::Runtime);
        builder.root(frame)
    })
}
