//! Which events are read, and what each counts for. Everything else in a recording is passed over by its size.

/// The metrics a recording can fill, the most telling first: the order in which a profile lists them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Meter {
    /// Samples of running threads; the recording's settings say what one stands for.
    Execution,
    /// Samples at the end of a span of CPU time.
    CpuTime,
    /// Samples of all threads, running or not.
    Wall,
    /// Samples of threads in native methods.
    Native,
    /// Bytes that sampled allocations stand for.
    Allocated,
    /// Bytes of allocation buffers, and of objects too large for one.
    AllocatedBuffers,
    /// Bytes of sampled objects that were alive at the end.
    Live,
    /// Bytes asked from the system's allocator.
    Malloc,
    /// Calls that gave memory back to it.
    Frees,
    /// Time to get a lock.
    Blocked,
    /// Time in wait, park and sleep.
    Waited,
    /// Time in reads and writes.
    InputOutput,
}

impl Meter {
    /// How many meters there are.
    pub const COUNT: usize = Self::InputOutput as usize + 1;
}

/// What one event adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// One sample.
    One,
    /// As many samples as a field says.
    Samples(&'static str),
    /// The number in a field.
    Number(&'static str),
    /// The time span in a field.
    Span(&'static str),
}

/// What is done with an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// It has a stack and fills a metric.
    Sample(Meter, Amount),
    /// It tells about the recording.
    About(About),
}

/// Events that tell about the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    Setting,
    Recording,
    Machine,
    Log,
    LostSamples,
    LostData,
}

impl About {
    /// The fields that matter, by slot.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Setting => &["id", "name", "value"],
            Self::Recording => &["name"],
            Self::Machine => &["jvmName", "jvmVersion", "javaArguments", "pid"],
            Self::Log => &["level", "message"],
            Self::LostSamples => &["lostSamples"],
            Self::LostData => &["amount"],
        }
    }
}

/// The events that are read, by name without package.
const EVENTS: &[(&str, Use)] = &[
    ("ExecutionSample", Use::Sample(Meter::Execution, Amount::One)),
    ("CPUTimeSample", Use::Sample(Meter::CpuTime, Amount::Span("samplingPeriod"))),
    ("WallClockSample", Use::Sample(Meter::Wall, Amount::Samples("samples"))),
    // What became `WallClockSample` in async-profiler 3.
    ("WallClockSleeping", Use::Sample(Meter::Wall, Amount::Samples("samplesCount"))),
    ("NativeMethodSample", Use::Sample(Meter::Native, Amount::One)),
    ("ObjectAllocationSample", Use::Sample(Meter::Allocated, Amount::Number("weight"))),
    // One event per allocation buffer: the object that did not fit stands for all that filled the buffer before.
    ("ObjectAllocationInNewTLAB", Use::Sample(Meter::AllocatedBuffers, Amount::Number("tlabSize"))),
    (
        "ObjectAllocationOutsideTLAB",
        Use::Sample(Meter::AllocatedBuffers, Amount::Number("allocationSize")),
    ),
    ("LiveObject", Use::Sample(Meter::Live, Amount::Number("allocationSize"))),
    ("Malloc", Use::Sample(Meter::Malloc, Amount::Number("size"))),
    ("Free", Use::Sample(Meter::Frees, Amount::One)),
    ("JavaMonitorEnter", Use::Sample(Meter::Blocked, Amount::Span("duration"))),
    ("NativeLock", Use::Sample(Meter::Blocked, Amount::Span("duration"))),
    ("JavaMonitorWait", Use::Sample(Meter::Waited, Amount::Span("duration"))),
    ("ThreadPark", Use::Sample(Meter::Waited, Amount::Span("duration"))),
    ("ThreadSleep", Use::Sample(Meter::Waited, Amount::Span("duration"))),
    ("SocketRead", Use::Sample(Meter::InputOutput, Amount::Span("duration"))),
    ("SocketWrite", Use::Sample(Meter::InputOutput, Amount::Span("duration"))),
    ("FileRead", Use::Sample(Meter::InputOutput, Amount::Span("duration"))),
    ("FileWrite", Use::Sample(Meter::InputOutput, Amount::Span("duration"))),
    ("FileForce", Use::Sample(Meter::InputOutput, Amount::Span("duration"))),
    ("ActiveSetting", Use::About(About::Setting)),
    ("ActiveRecording", Use::About(About::Recording)),
    ("JVMInformation", Use::About(About::Machine)),
    ("Log", Use::About(About::Log)),
    ("CPUTimeSamplesLost", Use::About(About::LostSamples)),
    ("DataLoss", Use::About(About::LostData)),
];

/// What is done with the events of a class; none for those that are passed over. Programs define events of their own,
/// so only the packages of the JDK (up to 10 another than since) and of async-profiler count.
pub fn use_of(class: &str) -> Option<Use> {
    let name = ["jdk.", "com.oracle.jdk.", "profiler."]
        .iter()
        .find_map(|package| class.strip_prefix(package))?;
    EVENTS.iter().find(|(event, _)| *event == name).map(|(_, purpose)| *purpose)
}
