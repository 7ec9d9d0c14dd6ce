//! What the recording was told to record: `ActiveSetting` events, in the words of the JDK and of async-profiler.

/// async-profiler writes 0 for its defaults: 10 ms of CPU time, and five times that when all threads are sampled.
const DEFAULT_INTERVAL: i64 = 10_000_000;
const DEFAULT_WALL_INTERVAL: i64 = 5 * DEFAULT_INTERVAL;

/// What is known of the settings so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The event async-profiler samples; a JVM's own recordings have no such setting.
    pub event: Option<String>,
    interval: Option<i64>,
    wall: Option<i64>,
    /// The interval of Datadog's samples of CPU time.
    datadog_cpu: Option<i64>,
    is_datadog: bool,
    /// Version of async-profiler.
    pub version: Option<String>,
}

/// What one sample of a running thread stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Execution {
    /// A JVM's own sampler, which delivers fewer samples than its period promises: only the count is certain.
    Samples,
    /// So many nanoseconds of CPU time.
    Cpu(i64),
    /// So many nanoseconds, running or not.
    Wall(i64),
    /// So many of another event, such as `cache-misses`; none when the file does not say.
    Event(String, Option<i64>),
}

impl Settings {
    /// Takes note of a setting; `event` is the event it is for, when that is one we read.
    pub fn set(&mut self, event: Option<&str>, name: &str, value: &str) {
        let nanos = || value.parse().ok().filter(|nanos| *nanos >= 0);
        self.is_datadog |= event.is_some_and(|event| event.starts_with("datadog."));
        match (event, name) {
            (Some("datadog.ExecutionSample"), "interval") => self.datadog_cpu = nanos(),
            (Some("datadog.MethodSample"), "interval") => self.wall = nanos(),
            (_, "event") if !value.is_empty() => self.event = Some(value.to_owned()),
            (_, "interval") => self.interval = nanos(),
            (_, "wall") => self.wall = nanos(),
            (_, "version") => self.version = Some(value.to_owned()),
            _ => {}
        }
    }

    /// True for recordings made by Datadog's profiler.
    pub fn is_datadog(&self) -> bool {
        self.is_datadog
    }

    /// What one of Datadog's samples of CPU time stands for, in nanoseconds, where the recording says so.
    pub fn cpu_interval(&self) -> Option<i64> {
        self.datadog_cpu.filter(|interval| *interval > 0)
    }

    /// True for recordings made by async-profiler.
    pub fn is_async_profiler(&self) -> bool {
        self.event.is_some()
    }

    /// What one `ExecutionSample` stands for.
    pub fn execution(&self) -> Execution {
        let interval = self.interval.filter(|interval| *interval > 0);
        match self.event.as_deref() {
            None => Execution::Samples,
            Some("cpu" | "itimer" | "ctimer" | "cpu-clock" | "task-clock") => {
                Execution::Cpu(interval.unwrap_or(DEFAULT_INTERVAL))
            }
            Some("wall") => Execution::Wall(self.wall_interval()),
            Some(event) => Execution::Event(event.to_owned(), interval),
        }
    }

    /// What one sample of all threads stands for, in nanoseconds.
    pub fn wall_interval(&self) -> i64 {
        let own = self.wall.filter(|wall| *wall > 0);
        let main = self.interval.filter(|interval| *interval > 0);
        let main = main.filter(|_| self.event.as_deref() == Some("wall"));
        own.or(main).unwrap_or(DEFAULT_WALL_INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in pairs {
            settings.set(None, name, value);
        }
        settings
    }

    #[test]
    fn a_sample_stands_for_what_the_settings_say() {
        let jvm = settings(&[("period", "20 ms"), ("enabled", "true")]);
        assert_eq!(jvm.execution(), Execution::Samples);
        let cpu = settings(&[("event", "itimer"), ("interval", "2000000"), ("wall", "100000000")]);
        assert_eq!(cpu.execution(), Execution::Cpu(2_000_000));
        assert_eq!(cpu.wall_interval(), 100_000_000);
        let wall = settings(&[("event", "wall"), ("interval", "0")]);
        assert_eq!(wall.execution(), Execution::Wall(50_000_000));
        let wall = settings(&[("event", "wall"), ("interval", "20000000")]);
        assert_eq!(wall.execution(), Execution::Wall(20_000_000));
        let misses = settings(&[("event", "cache-misses"), ("interval", "1000")]);
        assert_eq!(misses.execution(), Execution::Event("cache-misses".to_owned(), Some(1000)));
        let calls = settings(&[("event", "java.util.Properties.getProperty"), ("interval", "0")]);
        assert!(matches!(calls.execution(), Execution::Event(_, None)));
    }
}
