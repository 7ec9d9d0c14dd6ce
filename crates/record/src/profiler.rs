//! The profilers, and what can be asked of them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::OsTrace;

/// A profiler that can be driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profiler {
    /// The JVM's flight recorder: sampled, nearly free.
    Jfr,
    /// Linux perf: sampled, any program.
    Perf,
    /// Linux perf as a tracer: stacks where threads wait and what they run, any program.
    OsTrace,
    /// py-spy: sampled, Python, from outside.
    PySpy,
    /// V8's sampler inside Node: `--cpu-prof`.
    NodeCpuProf,
    /// uftrace: every call of a native program.
    Uftrace,
    /// perfblame's agent: every call of the chosen packages of a Java program.
    JavaExact,
}

impl Profiler {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Jfr,
        Self::Perf,
        Self::OsTrace,
        Self::PySpy,
        Self::NodeCpuProf,
        Self::Uftrace,
        Self::JavaExact,
    ];

    /// What people call it; also how configuration files name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jfr => "jfr",
            Self::Perf => "perf",
            Self::OsTrace => "os",
            Self::PySpy => "py-spy",
            Self::NodeCpuProf => "node-cpu-prof",
            Self::Uftrace => "uftrace",
            Self::JavaExact => "java-exact",
        }
    }

    /// The profiler of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profiler| profiler.name() == name)
    }

    /// True when every call is seen, as opposed to samples.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Uftrace | Self::JavaExact)
    }

    /// How the names of its files end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jfr => "jfr",
            Self::Perf | Self::OsTrace => "perf.data",
            Self::PySpy => "speedscope.json",
            Self::NodeCpuProf => "cpuprofile",
            Self::Uftrace => "trace.json.gz",
            Self::JavaExact => "perfblame",
        }
    }

    /// Samples per second of CPU time unless told otherwise; nothing for the exact ones.
    pub fn default_frequency(self) -> Option<u32> {
        match self {
            // The shortest period that all JVMs keep.
            Self::Jfr => Some(100),
            // Off the round number, so as not to march in step with timers.
            Self::Perf => Some(999),
            // Stacks of waiting come on top.
            Self::OsTrace => Some(499),
            // It stops the program for every sample.
            Self::PySpy => Some(200),
            Self::NodeCpuProf => Some(1000),
            Self::Uftrace | Self::JavaExact => None,
        }
    }
}

/// How to profile.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Samples per second; the profiler's usual number unless given.
    pub frequency: Option<u32>,
    /// How native stacks are walked.
    pub call_graph: CallGraph,
    /// What native samples count.
    pub event: NativeEvent,
    /// For exact Java profiles.
    pub java_exact: JavaExact,
    /// For traces of the operating system.
    pub os: OsTrace,
    /// Native recordings stop growing beyond this many bytes, while the program goes on; 2 GiB unless given, 512 MiB for
    /// traces of the operating system.
    pub size_limit: Option<u64>,
    /// Given to the profiler as they are, before the program: options of `perf record`, `py-spy record`, `uftrace
    /// record`, `java` or `node`.
    pub extra: Vec<OsString>,
    /// What trying the profiler out has told; clones share it, so that only the first run pays for it.
    pub tried: Tried,
}

/// What trying a profiler out has told.
#[derive(Clone, Default)]
pub struct Tried(pub(crate) Arc<Mutex<Outcomes>>);

impl Tried {
    /// What is known so far, a line each, to be kept for a later start on the same machine.
    pub fn lines(&self) -> String {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |(command, works): &(Vec<OsString>, WhatWorks)| {
            let words: Option<Vec<&str>> = command.iter().map(|word| word.to_str()).collect();
            let words = words?.join(BETWEEN);
            let optional = u8::from(works.optional);
            (!words.contains('\n'))
                .then(|| format!("{optional} {} {words}\n", works.own.as_nanos()))
        };
        known.iter().filter_map(line).collect()
    }

    /// Everything is to be tried out again.
    pub fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Takes up what an earlier start kept. Damaged lines are tried out again.
    pub fn take_up(&self, lines: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(lines.lines().filter_map(|line| {
            let (optional, rest) = line.split_once(' ')?;
            let (own, words) = rest.split_once(' ')?;
            let optional = match optional {
                "0" => false,
                "1" => true,
                _ => return None,
            };
            let works = WhatWorks { optional, own: Duration::from_nanos(own.parse().ok()?) };
            Some((words.split(BETWEEN).map(OsString::from).collect(), works))
        }));
    }
}

/// What stands between words of a kept command line, and in none of them.
const BETWEEN: &str = "\u{1f}";

/// What came of trying out command lines.
pub(crate) type Outcomes = Vec<(Vec<OsString>, WhatWorks)>;

impl std::fmt::Debug for Tried {
    /// Says nothing: settings are the same whatever was tried out.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Tried")
    }
}

/// What works of the options that were tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WhatWorks {
    /// The options that older versions do not know, too.
    pub optional: bool,
    /// CPU time of the profiler itself, on a program that does nothing.
    pub own: Duration,
}

/// How native stacks are walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallGraph {
    /// By frame pointers where the program and all its libraries keep them, by DWARF otherwise.
    #[default]
    Auto,
    /// By frame pointers: small and fast, wrong where they are missing.
    FramePointers,
    /// By unwinding a copy of this many bytes of stack per sample.
    Dwarf {
        /// At most 65528, a multiple of 8.
        stack: u32,
    },
}

/// What native samples count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NativeEvent {
    /// CPU time, which every machine can count and which means the same on all of them.
    #[default]
    CpuClock,
    /// Cycles of the processor; CPU time where the machine has no counter for them, which is said.
    Cycles,
}

/// For exact Java profiles.
#[derive(Clone, Debug, Default)]
pub struct JavaExact {
    /// The agent's jar; the one that is installed with perfblame unless given.
    pub agent: Option<PathBuf>,
    /// Packages to count the calls of, such as `com.shop`; all but the JDK's unless given.
    pub packages: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tried_is_kept_for_the_next_start() {
        let tried = Tried::default();
        let command = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let works = |optional, own| WhatWorks { optional, own: Duration::from_millis(own) };
        tried.0.lock().unwrap().push((command(&["perf", "-F", "9 9"]), works(true, 7)));
        tried.0.lock().unwrap().push((command(&["perf", "two\nlines"]), works(false, 1)));
        let lines = tried.lines();
        let next = Tried::default();
        next.take_up(&format!("{lines}damaged\n2 1 x\n1 x y\n"));
        let known = next.0.lock().unwrap();
        assert_eq!(known.len(), 1);
        assert_eq!(known[0].0, command(&["perf", "-F", "9 9"]));
        assert!(known[0].1.optional && known[0].1.own == Duration::from_millis(7));
    }
}
