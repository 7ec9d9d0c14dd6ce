//! What a flight recorder is told to record.
//!
//! A file of settings is the one way that all versions understand; periods on the command line came with 17. The events
//! are those with a stack and a cost, and what explains a recording: collections, losses, threads, the machine. Unknown
//! events are ignored by a JVM that does not have them.

use std::fmt::Write as _;

/// Events with a stack that are worth the time they took, from this long on.
const WAITING: &[&str] = &[
    "jdk.JavaMonitorEnter",
    "jdk.JavaMonitorWait",
    "jdk.ThreadPark",
    "jdk.ThreadSleep",
    "jdk.VirtualThreadPinned",
    "jdk.SocketRead",
    "jdk.SocketWrite",
    "jdk.FileRead",
    "jdk.FileWrite",
    "jdk.FileForce",
];

/// Events that explain a recording.
const AROUND: &[&str] = &[
    "jdk.ActiveRecording",
    "jdk.ActiveSetting",
    "jdk.DataLoss",
    "jdk.DumpReason",
    "jdk.GarbageCollection",
    "jdk.GCPhasePause",
    "jdk.JVMInformation",
    "jdk.OSInformation",
    "jdk.CPUInformation",
    "jdk.Shutdown",
    "jdk.ThreadStart",
    "jdk.ThreadEnd",
];

/// The settings, for this many samples per second.
pub fn settings(frequency: u32) -> String {
    let period = (1000 / frequency.max(1)).max(1);
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration version=\"2.0\">\n",
    );
    let mut event = |name: &str, settings: &[(&str, &str)]| {
        let _ = write!(text, "<event name=\"{name}\"><setting name=\"enabled\">true</setting>");
        for (key, value) in settings {
            let _ = write!(text, "<setting name=\"{key}\">{value}</setting>");
        }
        text.push_str("</event>\n");
    };
    event("jdk.ExecutionSample", &[("period", &format!("{period} ms"))]);
    event("jdk.NativeMethodSample", &[("period", "20 ms")]);
    // Since 16; the JVM thins them out by itself.
    event("jdk.ObjectAllocationSample", &[("throttle", "300/s"), ("stackTrace", "true")]);
    for name in WAITING {
        event(name, &[("threshold", "10 ms"), ("stackTrace", "true")]);
    }
    for name in AROUND {
        event(name, &[]);
    }
    text.push_str("</configuration>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_is_that_of_the_frequency() {
        assert!(settings(100).contains("\"jdk.ExecutionSample\"><setting name=\"enabled\">true</setting><setting name=\"period\">10 ms<"));
        assert!(settings(0).contains("1000 ms"));
        assert!(settings(u32::MAX).contains(">1 ms<"));
    }
}
