//! A recording as it goes by: records in, a profile out.

use hashbrown::HashMap;
use perfblame_cct::{
    FrameId, Layer, Measure, Metric, MetricId, Profile, ProfileBuilder, TRUNCATED, Thread,
    ThreadId, Unit,
};

use super::frames::FrameTable;
use super::header::Recording;
use super::modules::Origin;
use super::process::{Mapping, Process, ThreadState};
use super::rounds::Rounds;
use super::sample::{Sample, time_of};
use super::stream::{Damage, Record, Unpacker, kind};
use super::unwind::{Ending, Machine, UnwindTables};
use crate::format::ReadOptions;
use crate::native::{ByteOrder, Bytes, JitFunction, until_zero};

const KERNEL_PID: u32 = u32::MAX;

pub(super) const MISC_MODE: u16 = 7;
pub(super) const MODE_KERNEL: u16 = 1;
const MODE_GUEST_KERNEL: u16 = 4;
const MODE_GUEST_USER: u16 = 5;
const MISC_MMAP_DATA: u16 = 1 << 13;
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;

const RECORD_KSYMBOL: u32 = 17;

/// Everything that is known so far.
pub struct Session {
    rounds: Rounds,
    unpacker: Unpacker,
    core: Core,
}

/// What the records have told.
pub struct Core {
    pub(super) order: ByteOrder,
    recording: Recording,
    pub(super) builder: ProfileBuilder,
    pub(super) frames: FrameTable,
    pub(super) processes: HashMap<u32, Process>,
    pub(super) kernel: Process,
    threads: HashMap<u32, ThreadState>,
    /// How often each process has got a name.
    renamed: HashMap<u32, u32>,
    /// By event; none for those that exist for their other records.
    metrics: Vec<Option<EventMetric>>,
    samples: Option<MetricId>,
    /// Values of counter groups at their last sample.
    last_values: HashMap<u64, u64>,
    pub(super) machine: Option<Machine>,
    pub(super) tables: Option<UnwindTables>,
    pub(super) stack: Vec<FrameId>,
    span: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct EventMetric {
    metric: MetricId,
    /// What a sample stands for that does not say so itself.
    fixed_period: u64,
}

impl Session {
    /// Starts with what a file's header says, or with nothing.
    pub fn new(
        order: ByteOrder,
        recording: Recording,
        origin: Origin,
        options: &ReadOptions,
    ) -> Self {
        let mut core = Core {
            order,
            builder: ProfileBuilder::new(options.grain, options.times),
            frames: FrameTable::new(origin),
            processes: HashMap::new(),
            kernel: Process::new(KERNEL_PID),
            threads: HashMap::new(),
            renamed: HashMap::new(),
            metrics: Vec::new(),
            samples: None,
            last_values: HashMap::new(),
            machine: None,
            tables: None,
            stack: Vec::new(),
            span: None,
            recording,
        };
        core.learn_origin();
        Self { rounds: Rounds::default(), unpacker: Unpacker::new(order), core }
    }

    /// Takes the next record of the input.
    pub fn take(&mut self, record: Record<'_>) {
        let Self { rounds, unpacker, core } = self;
        match record.kind {
            kind::COMPRESSED => {
                unpacker.unpack(record.body, |record| take_plain(rounds, core, record));
            }
            kind::COMPRESSED2 => {
                // The size comes first, as the record is padded.
                let mut fields = Bytes::new(record.body, core.order);
                let packed = fields.u64().and_then(|size| fields.take_u64(size));
                match packed {
                    Some(packed) => {
                        unpacker.unpack(packed, |record| take_plain(rounds, core, record));
                    }
                    None => core.damaged(),
                }
            }
            _ => take_plain(rounds, core, record),
        }
    }

    /// Ends the recording.
    pub fn finish(mut self, damage: Damage) -> Profile {
        let core = &mut self.core;
        self.rounds.finish(|_, record| core.handle(record));
        let unpacked = self.unpacker.damaged + u64::from(self.unpacker.left_over() > 0);
        if unpacked > 0 {
            core.builder.warn_many("damaged-compression", unpacked, || {
                "compressed pieces could not be unpacked; the records in them are missing"
                    .to_owned()
            });
        }
        if damage.gaps > 0 {
            core.builder.warn_many("damaged-records", damage.gaps, || {
                format!(
                    "no record could be made out at byte {}; {} bytes were passed over",
                    damage.first_gap.unwrap_or(0),
                    damage.skipped
                )
            });
        }
        if damage.cut {
            core.builder.warn("truncated", || {
                "the file ends inside a record; what came before it was read".to_owned()
            });
        }
        if core.recording.damaged > 0 {
            core.builder.warn_many("damaged-header", core.recording.damaged, || {
                "parts of the header make no sense and were left out".to_owned()
            });
        }
        core.describe();
        self.core.builder.finish()
    }
}

/// Takes a record that is not packed: at once, or when its time has come.
fn take_plain(rounds: &mut Rounds, core: &mut Core, record: Record<'_>) {
    match record.kind {
        kind::FINISHED_ROUND => rounds.finish_round(|_, record| core.handle(record)),
        1..=kind::LAST_OF_KERNEL => match core.time_of(record) {
            Some(time) if time != 0 && time != u64::MAX => {
                if rounds.push(time, record) {
                    rounds.overflow(|_, record| core.handle(record));
                }
            }
            _ => core.handle(record),
        },
        _ => core.take_header_record(record),
    }
}

impl Core {
    fn damaged(&mut self) {
        self.builder.warn("damaged-records", || {
            "records are shorter than what they claim to hold and were left out".to_owned()
        });
    }

    /// Notes on which machine the recording was made, as soon as it says so.
    fn learn_origin(&mut self) {
        if let Some(arch) = &self.recording.arch {
            self.machine = Machine::named(arch);
        }
        if let Some(release) = self.recording.release.clone() {
            self.frames.modules.set_release(&release);
        }
    }

    fn time_of(&self, record: Record<'_>) -> Option<u64> {
        let event = self.recording.event_of(record, self.order)?.1;
        time_of(record.kind == kind::SAMPLE, record.body, &event.attr, self.order)
    }

    /// Takes a record of perf's own.
    fn take_header_record(&mut self, record: Record<'_>) {
        if record.kind == kind::AUXTRACE {
            self.builder.warn("hardware-trace", || {
                "traces of the processor (Intel PT, ARM SPE) are not decoded; `perf script --itrace` \
                 does that"
                    .to_owned()
            });
        }
        if self.recording.take_record(record, self.order) {
            self.learn_origin();
        }
    }

    /// Takes a record of the kernel's, in the order of time.
    fn handle(&mut self, record: Record<'_>) {
        let fields = Bytes::new(record.body, self.order);
        let fine = match record.kind {
            kind::SAMPLE => self.sample(record),
            kind::MMAP => self.mmap(record, fields),
            kind::MMAP2 => self.mmap2(record, fields),
            kind::COMM => self.comm(record, fields),
            kind::FORK => self.fork(fields),
            kind::LOST => self.lost(fields, 8),
            kind::LOST_SAMPLES => self.lost(fields, 0),
            kind::THROTTLE => {
                self.builder.warn("throttled", || {
                    "the kernel held sampling back as it took too much time; rates are uneven"
                        .to_owned()
                });
                Some(())
            }
            RECORD_KSYMBOL => self.kernel_symbol(fields),
            _ => Some(()),
        };
        if fine.is_none() {
            self.damaged();
        }
    }

    fn lost(&mut self, mut fields: Bytes<'_>, skip: usize) -> Option<()> {
        fields.skip(skip)?;
        let lost = fields.u64()?;
        // Records of eBPF writers and old kernels can be zero; a count beyond reason is damage.
        if lost > 1 << 48 {
            return None;
        }
        if lost > 0 {
            self.builder.warn_many("lost-samples", lost, || {
                "the recorder could not keep up and lost events; record with a larger buffer \
                 (`perf record -m`) or a lower rate"
                    .to_owned()
            });
        }
        Some(())
    }

    fn kernel_symbol(&mut self, mut fields: Bytes<'_>) -> Option<()> {
        const UNREGISTERED: u16 = 1;
        let start = fields.u64()?;
        let size = fields.u32()?;
        fields.u16()?;
        let flags = fields.u16()?;
        let name = String::from_utf8_lossy(fields.text()).into_owned();
        if flags & UNREGISTERED == 0 {
            let end = start.saturating_add(size.into());
            let function = JitFunction { start, end, name, lines: Vec::new(), file: None };
            self.frames.kernel_jit.insert(function);
            self.kernel.seen.clear();
        }
        Some(())
    }

    fn mmap(&mut self, record: Record<'_>, mut fields: Bytes<'_>) -> Option<()> {
        let (pid, _tid) = (fields.u32()?, fields.u32()?);
        let (start, length, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
        // Behind the name is when the record was written.
        let name = until_zero(fields.rest());
        if record.misc & MISC_MMAP_DATA == 0 {
            self.map(record, pid, (start, length, offset), name, None);
        }
        Some(())
    }

    fn mmap2(&mut self, record: Record<'_>, mut fields: Bytes<'_>) -> Option<()> {
        const EXECUTABLE: u32 = 4;
        let (pid, _tid) = (fields.u32()?, fields.u32()?);
        let (start, length, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let identity = fields.take(24)?;
        let protection = fields.u32()?;
        fields.u32()?;
        // Behind the name is when the record was written.
        let name = until_zero(fields.rest());
        let build_id = if record.misc & MISC_MMAP_BUILD_ID != 0 {
            let size = usize::from(*identity.first()?).min(20);
            identity.get(4..4 + size)
        } else {
            None
        };
        let data =
            record.misc & MISC_MMAP_DATA != 0 || (protection != 0 && protection & EXECUTABLE == 0);
        if !data {
            self.map(record, pid, (start, length, offset), name, build_id);
        }
        Some(())
    }

    fn map(
        &mut self,
        record: Record<'_>,
        pid: u32,
        (start, length, offset): (u64, u64, u64),
        name: &[u8],
        build_id: Option<&[u8]>,
    ) {
        let mode = record.misc & MISC_MODE;
        let in_kernel = pid == KERNEL_PID || mode == MODE_KERNEL;
        if matches!(mode, MODE_GUEST_KERNEL | MODE_GUEST_USER) {
            return;
        }
        let listed = || {
            let ids = &self.recording.build_ids;
            // The kernel's image is mapped under the name of its first symbol.
            let short = name.strip_suffix(b"_text").or_else(|| name.strip_suffix(b"_stext"));
            ids.get(name).or_else(|| ids.get(short?)).map(Vec::as_slice)
        };
        let build_id = build_id.or_else(listed);
        if in_kernel && (name.starts_with(b"[kernel") || name.starts_with(b"[guest.kernel")) {
            self.frames.set_kernel_text(if offset >> 63 == 1 { offset } else { start });
        }
        let module = self.frames.modules.module(&mut self.builder, name, build_id, in_kernel);
        let mapping = Mapping::new(start, start.saturating_add(length), offset, module);
        if in_kernel {
            self.kernel.map(mapping);
            return;
        }
        let process = self.processes.entry(pid).or_insert_with(|| Process::new(pid));
        process.map(mapping);
        if let Ok(path) = str::from_utf8(name)
            && path.rsplit('/').next().is_some_and(|base| base.starts_with("jit-"))
            && path.strip_suffix(".dump").is_some()
        {
            process.add_jit_dump(path);
        }
    }

    fn comm(&mut self, record: Record<'_>, mut fields: Bytes<'_>) -> Option<()> {
        let (pid, tid) = (fields.u32()?, fields.u32()?);
        let name = String::from_utf8_lossy(until_zero(fields.rest())).into_owned();
        if record.misc & MISC_COMM_EXEC != 0
            && let Some(process) = self.processes.get_mut(&pid)
        {
            process.exec();
        }
        self.threads.insert(tid, ThreadState { pid, name: Some(name), row: None });
        if pid == tid {
            // The other threads belong to a process of another name from now on.
            *self.renamed.entry(pid).or_default() += 1;
        }
        Some(())
    }

    fn fork(&mut self, mut fields: Bytes<'_>) -> Option<()> {
        let (pid, parent_pid) = (fields.u32()?, fields.u32()?);
        let (tid, parent_tid) = (fields.u32()?, fields.u32()?);
        let name = self.threads.get(&parent_tid).and_then(|parent| parent.name.clone());
        // At the start perf lists all threads, with their names before their parents.
        let known = self.threads.get(&tid).is_some_and(|thread| thread.pid == pid);
        if !known || name.is_some() {
            self.threads.insert(tid, ThreadState { pid, name, row: None });
        }
        if pid != parent_pid {
            let process = match self.processes.get(&parent_pid) {
                Some(parent) => parent.forked(pid),
                None => Process::new(pid),
            };
            self.processes.insert(pid, process);
        }
        Some(())
    }

    fn sample(&mut self, record: Record<'_>) -> Option<()> {
        let (row, event) = self.recording.event_of(record, self.order)?;
        let attr = event.attr.clone();
        let sample = Sample::parse(record.body, &attr, self.order)?;
        let thread = self.thread(sample.pid, sample.tid);
        let ending = self.collect_stack(&sample, record.misc, &attr);
        if ending == Ending::Cut {
            // What the builder does for partial stacks, and remembered like a whole one.
            self.stack.push(self.builder.named_frame(TRUNCATED, Layer::Runtime));
        }
        self.stack.reverse();
        let at = self.builder.stack(&self.stack)?;
        self.create_metrics();
        if sample.group.is_empty() {
            if let Some(metric) = self.metrics.get(row).copied().flatten() {
                let value = sample.period.unwrap_or(metric.fixed_period);
                self.add(at, thread, metric.metric, value, sample.time);
            }
        } else {
            // One sample carries what all counters of its group counted since the last one.
            for (id, value) in &sample.group {
                let before = self.last_values.insert(*id, *value).unwrap_or(0);
                let event = self.recording.event_with_id(*id).unwrap_or(row);
                if let Some(metric) = self.metrics.get(event).copied().flatten() {
                    let value = value.saturating_sub(before);
                    self.add(at, thread, metric.metric, value, sample.time);
                }
            }
        }
        if let Some(samples) = self.samples {
            self.builder.add(at, Some(thread), samples, 1);
        }
        self.builder.count_samples(1);
        if let Some(time) = sample.time {
            let (first, last) = self.span.unwrap_or((time, time));
            self.span = Some((first.min(time), last.max(time)));
        }
        Some(())
    }

    fn add(
        &mut self,
        at: perfblame_cct::Cursor,
        thread: ThreadId,
        metric: MetricId,
        value: u64,
        time: Option<u64>,
    ) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.builder.add(at, Some(thread), metric, value);
        if let Some(time) = time.and_then(|time| i64::try_from(time).ok()) {
            self.builder.time_sample(time, at, Some(thread), metric, value);
        }
    }

    /// A metric per event, in the file's order, then the number of samples.
    fn create_metrics(&mut self) {
        while let Some(event) = self.recording.events.get(self.metrics.len()) {
            let attr = &event.attr;
            if attr.is_dummy() {
                self.metrics.push(None);
                continue;
            }
            let name = self.recording.event_name(event);
            let first_clock = attr.is_clock()
                && !(self.recording.events.iter().take(self.metrics.len()))
                    .any(|earlier| earlier.attr.is_clock());
            let shown = if first_clock { "cpu" } else { name.as_str() };
            let unit = if attr.is_clock() { Unit::Nanoseconds } else { Unit::Count };
            let fixed_period = match (attr.is_frequency(), attr.is_clock()) {
                (false, _) => attr.period.max(1),
                (true, true) => 1_000_000_000 / attr.period.max(1),
                (true, false) => 1,
            };
            let mut metric = Metric::sampled(shown, unit);
            if attr.is_exact() {
                metric.measure = Measure::Exact;
            }
            if !attr.is_frequency() || attr.is_clock() {
                metric.period = i64::try_from(fixed_period).ok();
            }
            let metric = self.builder.metric(metric);
            self.metrics.push(Some(EventMetric { metric, fixed_period }));
        }
        if self.samples.is_none() {
            self.samples = Some(self.builder.metric(Metric::sampled("samples", Unit::Count)));
        }
    }

    fn thread(&mut self, pid: u32, tid: u32) -> ThreadId {
        let state = self.threads.entry(tid).or_default();
        // Numbers are given again; a record of the new owner may be missing.
        if state.pid != pid {
            *state = ThreadState { pid, ..ThreadState::default() };
        }
        let named = self.renamed.get(&pid).copied().unwrap_or(0);
        if let Some((row, _)) = state.row.filter(|row| row.1 == named) {
            return row;
        }
        let idle = (pid == 0 && tid == 0).then_some("swapper");
        let name = state.name.clone().unwrap_or_else(|| idle.unwrap_or("").to_owned());
        let process = self.threads.get(&pid).and_then(|main| main.name.clone());
        let name = self.builder.string(&name);
        let process = process.map(|name| self.builder.string(&name));
        let row = self.builder.thread(Thread {
            name,
            process,
            pid: Some(pid.into()),
            tid: Some(tid.into()),
            group: None,
        });
        if let Some(state) = self.threads.get_mut(&tid) {
            state.row = Some((row, named));
        }
        row
    }

    /// Writes down what the file says about itself.
    fn describe(&mut self) {
        self.create_metrics();
        let recording = &self.recording;
        let info = &mut self.builder.info;
        let version = recording.version.as_deref().unwrap_or_default();
        info.producer = Some(format!("perf {version}").trim_end().to_owned());
        info.command.clone_from(&recording.command);
        let span = self.span.or(recording.times);
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
    }
}
