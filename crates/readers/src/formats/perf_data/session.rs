//! A recording as it goes by: records in, samples with walked stacks out.

use hashbrown::HashMap;
use perfblame_cct::{Leaving, Measure, Metric, Unit};
use perfblame_native::{
    ByteOrder, Bytes, JitFunction, StackEnding, UnwindMachine, UnwindTables, until_zero,
};
use perfblame_words::counted;

use super::header::Recording;
use super::modules::{Modules, Origin};
use super::os_events::OsEvents;
use super::process::{Mapping, Process, ThreadState};
use super::rounds::Rounds;
use super::sample::{Sample, id_of, time_of};
use super::stacks::{Recent, Seen};
use super::stream::{Damage, Record, Unpacker, kind};
use super::told::{KernelTold, Outbox, SampleTold, Slot, ThreadTold, Told};
use crate::os_trace::is_os_event;

const KERNEL_PID: u32 = u32::MAX;

pub(super) const MISC_MODE: u16 = 7;
pub(super) const MODE_KERNEL: u16 = 1;
const MODE_GUEST_KERNEL: u16 = 4;
const MODE_GUEST_USER: u16 = 5;
const MISC_MMAP_DATA: u16 = 1 << 13;
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;

const RECORD_KSYMBOL: u32 = 17;

/// Who says that events were lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    AsItHappens,
    InTheEnd,
}

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
    pub(super) outbox: Outbox,
    pub(super) modules: Modules,
    pub(super) seen: Seen,
    pub(super) recent: Recent,
    pub(super) processes: HashMap<u32, Process>,
    pub(super) kernel: Process,
    /// Where the kernel's image started when it was recorded.
    pub(super) kernel_text: Option<u64>,
    pub(super) kernel_told: Option<KernelTold>,
    threads: HashMap<u32, ThreadState>,
    /// Threads told so far.
    thread_rows: u32,
    /// How often each process has got a name.
    renamed: HashMap<u32, u32>,
    /// What a sample of an event stands for that does not say so itself; none for events that exist for their other
    /// records.
    fixed_periods: Vec<Option<u64>>,
    /// Values of counter groups at their last sample.
    last_values: HashMap<u64, u64>,
    pub(super) machine: Option<UnwindMachine>,
    pub(super) tables: Option<UnwindTables>,
    pub(super) stack: Vec<Slot>,
    values: Vec<(u32, u64)>,
    span: Option<(u64, u64)>,
    os_events: OsEvents,
    /// Events that were lost, by who says so.
    lost: [u64; 2],
}

/// What is left to say when all records are read.
pub struct Ended {
    pub recording: Recording,
    /// The times of the first and the last sample.
    pub span: Option<(u64, u64)>,
}

impl Session {
    /// Starts with what a file's header says, or with nothing.
    pub fn new(order: ByteOrder, recording: Recording, origin: Origin, outbox: Outbox) -> Self {
        let mut core = Core {
            order,
            outbox,
            modules: Modules::new(origin),
            seen: Seen::default(),
            recent: Recent::default(),
            processes: HashMap::new(),
            kernel: Process::new(KERNEL_PID),
            kernel_text: None,
            kernel_told: None,
            threads: HashMap::new(),
            thread_rows: 0,
            renamed: HashMap::new(),
            fixed_periods: Vec::new(),
            last_values: HashMap::new(),
            machine: None,
            tables: None,
            stack: Vec::new(),
            values: Vec::new(),
            span: None,
            os_events: OsEvents::default(),
            lost: [0; 2],
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
    pub fn finish(mut self, damage: Damage) -> Ended {
        let core = &mut self.core;
        self.rounds.finish(|_, record| core.handle(record));
        let unpacked = self.unpacker.damaged + u64::from(self.unpacker.left_over() > 0);
        if unpacked > 0 {
            core.outbox.warn_many(
                "damaged-compression",
                unpacked,
                "compressed pieces could not be unpacked; the records in them are missing",
            );
        }
        if damage.gaps > 0 {
            core.outbox.warn_many(
                "damaged-records",
                damage.gaps,
                format!(
                    "no readable record at byte {}; {} skipped",
                    damage.first_gap.unwrap_or(0),
                    counted(damage.skipped, "byte was", "bytes were")
                ),
            );
        }
        if damage.cut {
            core.outbox
                .warn("truncated", "the file ends inside a record; the part before it was read");
        }
        if core.recording.damaged > 0 {
            core.outbox.warn_many(
                "damaged-header",
                core.recording.damaged,
                "unreadable parts of the header were left out",
            );
        }
        core.create_metrics();
        core.outbox.flush();
        Ended { recording: self.core.recording, span: self.core.span }
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
        self.outbox
            .warn("damaged-records", "records that are shorter than their contents were left out");
    }

    /// Notes on which machine the recording was made, as soon as it says so.
    fn learn_origin(&mut self) {
        if let Some(arch) = &self.recording.arch {
            self.machine = UnwindMachine::named(arch);
        }
        if let Some(release) = self.recording.release.clone() {
            self.modules.set_release(&release);
        }
    }

    fn time_of(&self, record: Record<'_>) -> Option<u64> {
        let event = self.recording.event_of(record, self.order)?.1;
        time_of(record.kind == kind::SAMPLE, record.body, &event.attr, self.order)
    }

    /// Takes a record of perf's own.
    fn take_header_record(&mut self, record: Record<'_>) {
        if record.kind == kind::AUXTRACE {
            self.outbox.warn("hardware-trace", "traces of the processor (Intel PT, ARM SPE) are not decoded; `perf script --itrace` \
                 does that");
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
            kind::LOST => self.lost(fields, Loss::AsItHappens),
            kind::LOST_SAMPLES => self.lost(fields, Loss::InTheEnd),
            kind::THROTTLE => {
                self.outbox.warn(
                    "throttled",
                    "the kernel throttled sampling because it took too much time; rates are uneven",
                );
                Some(())
            }
            kind::SWITCH | kind::SWITCH_CPU_WIDE => {
                self.switch(record);
                Some(())
            }
            RECORD_KSYMBOL => self.kernel_symbol(fields),
            _ => Some(()),
        };
        if fine.is_none() {
            self.damaged();
        }
    }

    /// The kernel says what it loses as it happens, and perf in the end what was lost of each event: mostly the same
    /// events, so that only what goes beyond the other's count is new.
    fn lost(&mut self, mut fields: Bytes<'_>, loss: Loss) -> Option<()> {
        if loss == Loss::AsItHappens {
            fields.skip(8)?;
        }
        let lost = fields.u64()?;
        // Records of eBPF writers and old kernels can be zero; a count beyond reason is damage.
        if lost > 1 << 48 {
            return None;
        }
        let told = self.lost[0].max(self.lost[1]);
        let sum = &mut self.lost[loss as usize];
        *sum = sum.saturating_add(lost);
        let new = self.lost[0].max(self.lost[1]) - told;
        if lost > 0 && (new > 0 || loss == Loss::AsItHappens) {
            // Calls end where events are missing, also where these were counted before.
            self.outbox.tell(Told::Lost(new));
        }
        if new > 0 {
            self.outbox.warn_many(
                "lost-samples",
                new,
                "the recorder could not keep up and lost events; record with a larger buffer \
                 (`perf record -m`) or a lower rate",
            );
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
            self.outbox.tell(Told::KernelProgram(function));
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
            self.kernel_text.get_or_insert(if offset >> 63 == 1 { offset } else { start });
        }
        let module = self.modules.module(name, build_id, in_kernel);
        let mapping = Mapping::new(start, start.saturating_add(length), offset, module);
        if in_kernel {
            self.kernel.map(mapping);
            return;
        }
        let process = self.processes.entry(pid).or_insert_with(|| Process::new(pid));
        process.map(mapping);
        self.recent.forget();
        if let Ok(path) = str::from_utf8(name)
            && path.rsplit('/').next().is_some_and(|base| base.starts_with("jit-"))
            && path.strip_suffix(".dump").is_some()
            && let Some(dump) = process.add_jit_dump(path)
        {
            self.outbox.tell(Told::JitDump(pid, dump));
        }
    }

    fn comm(&mut self, record: Record<'_>, mut fields: Bytes<'_>) -> Option<()> {
        let (pid, tid) = (fields.u32()?, fields.u32()?);
        let name = String::from_utf8_lossy(until_zero(fields.rest())).into_owned();
        if record.misc & MISC_COMM_EXEC != 0
            && let Some(process) = self.processes.get_mut(&pid)
        {
            process.exec();
            self.recent.forget();
            self.outbox.tell(Told::NewProgram(pid));
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
            self.recent.forget();
            let process = match self.processes.get(&parent_pid) {
                Some(parent) => parent.forked(pid),
                None => Process::new(pid),
            };
            if self.processes.insert(pid, process).is_some() {
                self.outbox.tell(Told::NewProgram(pid));
            }
        }
        Some(())
    }

    fn sample(&mut self, record: Record<'_>) -> Option<()> {
        let (row, event) = self.recording.event_of(record, self.order)?;
        let attr = event.attr.clone();
        let sample = Sample::parse(record.body, &attr, self.order)?;
        let thread = self.thread(sample.pid, sample.tid);
        let collected = self.collect_stack(&sample, record.misc, &attr);
        self.create_metrics();
        self.values.clear();
        if sample.group.is_empty() {
            if let Some(fixed_period) = self.fixed_periods.get(row).copied().flatten() {
                self.values.push((row as u32, sample.period.unwrap_or(fixed_period)));
            }
        } else {
            // One sample carries what all counters of its group counted since the last one.
            for (id, value) in &sample.group {
                let before = self.last_values.insert(*id, *value).unwrap_or(0);
                let event = self.recording.event_with_id(*id).unwrap_or(row);
                self.values.push((event as u32, value.saturating_sub(before)));
            }
        }
        let traced = {
            let Self { os_events, recording, outbox, order, .. } = self;
            os_events.traced(recording, row, &sample, *order, outbox)
        };
        let told = SampleTold {
            traced,
            thread,
            time: sample.time,
            cut: collected.ending == StackEnding::Cut,
            sure: collected.sure,
            slots: 0,
            values: 0,
        };
        self.outbox.sample(told, &self.stack, &self.values);
        if let Some(time) = sample.time {
            let (first, last) = self.span.unwrap_or((time, time));
            self.span = Some((first.min(time), last.max(time)));
        }
        Some(())
    }

    /// A switch that was recorded beside the events: `perf record --switch-events`.
    fn switch(&mut self, record: Record<'_>) {
        const OUT: u16 = 1 << 13;
        const PREEMPTED: u16 = 1 << 14;
        let Some((_, event)) = self.recording.event_of(record, self.order) else { return };
        let Some((pid, tid, time)) = id_of(record.body, &event.attr, self.order) else { return };
        let left = (record.misc & OUT != 0).then_some(if record.misc & PREEMPTED != 0 {
            Leaving::Preempted
        } else {
            Leaving::Blocked
        });
        let thread = self.thread(pid, tid);
        self.outbox.tell(Told::Switch { thread, time, left });
    }

    /// A metric per event, in the file's order.
    fn create_metrics(&mut self) {
        if self.fixed_periods.is_empty() {
            let events = self.recording.events.iter();
            let traced =
                events.map(|event| self.recording.event_name(event)).any(|name| is_os_event(&name));
            self.outbox.tell(Told::IsTrace(traced));
        }
        while let Some(event) = self.recording.events.get(self.fixed_periods.len()) {
            let attr = &event.attr;
            if attr.is_dummy() {
                self.fixed_periods.push(None);
                self.outbox.tell(Told::Metric(None));
                continue;
            }
            let name = self.recording.event_name(event);
            let first_clock = attr.is_clock()
                && !(self.recording.events.iter().take(self.fixed_periods.len()))
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
            self.fixed_periods.push(Some(fixed_period));
            self.outbox.tell(Told::Metric(Some(metric)));
        }
    }

    /// The number of a thread under the name it has now.
    fn thread(&mut self, pid: u32, tid: u32) -> u32 {
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
        let row = self.thread_rows;
        self.thread_rows += 1;
        self.outbox.tell(Told::Thread(ThreadTold { name, process, pid, tid }));
        if let Some(state) = self.threads.get_mut(&tid) {
            state.row = Some((row, named));
        }
        row
    }
}
