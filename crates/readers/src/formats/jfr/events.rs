//! Which events are read, and what each counts for. Everything else in a recording is passed over by its size.

/// The metrics a recording can fill, the most telling first: the order in which a profile lists them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Meter {
    /// Samples of running threads; the recording's settings say what one stands for.
    Execution,
    /// Samples at the end of a span of CPU time, which each of them tells.
    CpuTime,
    /// Samples at the end of a span of CPU time, which the recording's settings tell.
    CpuSamples,
    /// Samples of all threads, running or not.
    Wall,
    /// Samples of threads in native methods.
    Native,
    /// Bytes that sampled allocations stand for.
    Allocated,
    /// Bytes of allocation buffers, and of objects too large for one.
    AllocatedBuffers,
    /// Bytes that allocations sampled by Datadog's profiler stand for.
    AllocatedDatadog,
    /// Bytes of sampled objects that were alive at the end.
    Live,
    /// Sampled objects that have been alive for long.
    OldObjects,
    /// Bytes of those objects, without what they refer to.
    OldBytes,
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
    /// The number in a field times the one in another, which has fractions: how many like it the event stands for.
    Weighted(&'static str, &'static str),
    /// The time span in a field.
    Span(&'static str),
}

impl Amount {
    /// The fields it is made of.
    pub fn fields(self) -> [&'static str; 2] {
        match self {
            Self::One => ["", ""],
            Self::Samples(field) | Self::Number(field) | Self::Span(field) => [field, ""],
            Self::Weighted(field, weight) => [field, weight],
        }
    }
}

/// What is done with an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventUse {
    /// It has a stack and fills a metric, or two of them; the second only where the event has the field for it.
    Samples(&'static [(Meter, Amount)]),
    /// It tells about the recording.
    About(About),
    /// It has a stack and is only counted.
    Unread,
}

impl EventUse {
    /// The metrics it fills, and with what.
    pub fn measures(&self) -> &[(Meter, Amount)] {
        match self {
            Self::Samples(measures) => measures,
            Self::About(_) | Self::Unread => &[],
        }
    }
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
const EVENTS: &[(&str, EventUse)] = &[
    ("ExecutionSample", EventUse::Samples(&[(Meter::Execution, Amount::One)])),
    ("CPUTimeSample", EventUse::Samples(&[(Meter::CpuTime, Amount::Span("samplingPeriod"))])),
    ("WallClockSample", EventUse::Samples(&[(Meter::Wall, Amount::Samples("samples"))])),
    // What became `WallClockSample` in async-profiler 3.
    ("WallClockSleeping", EventUse::Samples(&[(Meter::Wall, Amount::Samples("samplesCount"))])),
    ("NativeMethodSample", EventUse::Samples(&[(Meter::Native, Amount::One)])),
    ("ObjectAllocationSample", EventUse::Samples(&[(Meter::Allocated, Amount::Number("weight"))])),
    // One event per allocation buffer: the object that did not fit stands for all that filled the buffer before.
    (
        "ObjectAllocationInNewTLAB",
        EventUse::Samples(&[(Meter::AllocatedBuffers, Amount::Number("tlabSize"))]),
    ),
    (
        "ObjectAllocationOutsideTLAB",
        EventUse::Samples(&[(Meter::AllocatedBuffers, Amount::Number("allocationSize"))]),
    ),
    ("LiveObject", EventUse::Samples(&[(Meter::Live, Amount::Number("allocationSize"))])),
    (
        "OldObjectSample",
        EventUse::Samples(&[
            (Meter::OldObjects, Amount::One),
            // Since JDK 20.
            (Meter::OldBytes, Amount::Number("objectSize")),
        ]),
    ),
    ("Malloc", EventUse::Samples(&[(Meter::Malloc, Amount::Number("size"))])),
    ("Free", EventUse::Samples(&[(Meter::Frees, Amount::One)])),
    ("JavaMonitorEnter", EventUse::Samples(&[(Meter::Blocked, Amount::Span("duration"))])),
    ("NativeLock", EventUse::Samples(&[(Meter::Blocked, Amount::Span("duration"))])),
    ("JavaMonitorWait", EventUse::Samples(&[(Meter::Waited, Amount::Span("duration"))])),
    ("ThreadPark", EventUse::Samples(&[(Meter::Waited, Amount::Span("duration"))])),
    ("ThreadSleep", EventUse::Samples(&[(Meter::Waited, Amount::Span("duration"))])),
    ("SocketRead", EventUse::Samples(&[(Meter::InputOutput, Amount::Span("duration"))])),
    ("SocketWrite", EventUse::Samples(&[(Meter::InputOutput, Amount::Span("duration"))])),
    ("FileRead", EventUse::Samples(&[(Meter::InputOutput, Amount::Span("duration"))])),
    ("FileWrite", EventUse::Samples(&[(Meter::InputOutput, Amount::Span("duration"))])),
    ("FileForce", EventUse::Samples(&[(Meter::InputOutput, Amount::Span("duration"))])),
    ("ActiveSetting", EventUse::About(About::Setting)),
    ("ActiveRecording", EventUse::About(About::Recording)),
    ("JVMInformation", EventUse::About(About::Machine)),
    ("Log", EventUse::About(About::Log)),
    ("CPUTimeSamplesLost", EventUse::About(About::LostSamples)),
    ("DataLoss", EventUse::About(About::LostData)),
];

/// The events of Datadog's profiler, which stands beside the JDK's own and has other fields.
const DATADOG: &[(&str, EventUse)] = &[
    ("ExecutionSample", EventUse::Samples(&[(Meter::CpuSamples, Amount::Samples("weight"))])),
    ("MethodSample", EventUse::Samples(&[(Meter::Wall, Amount::Samples("weight"))])),
    (
        "ObjectSample",
        EventUse::Samples(&[(Meter::AllocatedDatadog, Amount::Weighted("size", "weight"))]),
    ),
    ("HeapLiveObject", EventUse::Samples(&[(Meter::Live, Amount::Weighted("size", "weight"))])),
    (
        "NativeMemoryAllocation",
        EventUse::Samples(&[(Meter::Malloc, Amount::Weighted("size", "weight"))]),
    ),
];

/// What is done with the events of a class; none for those that are passed over unless they have a stack. Programs
/// define events of their own, so only the packages of the JDK (up to 10 another than since), of async-profiler and of
/// Datadog's profiler count.
pub fn use_of(class: &str) -> Option<EventUse> {
    let (events, name) = if let Some(name) = class.strip_prefix("datadog.") {
        (DATADOG, name)
    } else {
        let mut packages = ["jdk.", "com.oracle.jdk.", "profiler."].iter();
        (EVENTS, packages.find_map(|package| class.strip_prefix(package))?)
    };
    events.iter().find(|(event, _)| *event == name).map(|(_, purpose)| *purpose)
}
