//! The comment lines that `perf script --header` puts first: where, when and how the recording was made.

use perfblame_cct::Info;

use crate::os_trace::syscalls::SyscallMachine;

/// What the comments say.
#[derive(Debug, Default)]
pub(crate) struct Comments {
    /// Name of an event, and what its `{ sample_period, sample_freq }` is.
    events: Vec<(String, Rate)>,
    machine: SyscallMachine,
}

#[derive(Clone, Copy, Debug)]
enum Rate {
    Period(u64),
    Frequency(u64),
}

/// No recording has more kinds of events; a damaged one might seem to.
const MOST_EVENTS: usize = 10_000;

impl Comments {
    /// Takes one comment line, without its `#`.
    pub(crate) fn line(&mut self, line: &str, info: &mut Info) {
        let Some((key, value)) = line.split_once(':') else { return };
        let (key, value) = (key.trim(), value.trim());
        if value.is_empty() {
            return;
        }
        let label = |info: &mut Info, key: &str| {
            if !info.labels.iter().any(|(known, _)| known == key) {
                info.labels.push((key.to_owned(), value.to_owned()));
                info.labels.sort();
            }
        };
        match key {
            "cmdline" => info.command = Some(profiled_command(value)),
            "perf version" => info.producer = Some(format!("perf {value}")),
            "hostname" => label(info, "host"),
            "captured on" => label(info, "captured"),
            "os release" => label(info, "kernel"),
            "arch" => {
                self.machine = SyscallMachine::named(value);
                label(info, "architecture");
            }
            "cpudesc" => label(info, "processor"),
            "nrcpus online" => label(info, "processors"),
            "total memory" => label(info, "memory"),
            "event" => self.event(value),
            _ => {}
        }
    }

    /// The machine that the recording was made on.
    pub(crate) fn machine(&self) -> SyscallMachine {
        self.machine
    }

    fn event(&mut self, text: &str) {
        let Some(rest) = text.strip_prefix("name = ") else { return };
        let Some((name, rest)) = rest.split_once(", ") else { return };
        let number = |key: &str| -> Option<u64> {
            let at = rest.find(key)? + key.len();
            let digits = rest.get(at..)?;
            digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        let by_frequency = number(", freq = ") == Some(1);
        let Some(number) = number("{ sample_period, sample_freq } = ").filter(|number| *number > 0)
        else {
            return;
        };
        let rate = if by_frequency { Rate::Frequency(number) } else { Rate::Period(number) };
        if self.events.len() < MOST_EVENTS {
            self.events.push((name.to_owned(), rate));
        }
    }

    /// What a sample of an event stands for. A clock that is to tick so many times a second has a period; a counter
    /// that is to overflow so many times a second has not.
    pub(crate) fn period(&self, event: &str, clock: bool) -> Option<i64> {
        let (_, rate) = self.events.iter().find(|(name, _)| name == event)?;
        match *rate {
            Rate::Period(period) => i64::try_from(period).ok().filter(|period| *period > 1),
            Rate::Frequency(times) if clock => i64::try_from(1_000_000_000 / times).ok(),
            Rate::Frequency(_) => None,
        }
    }
}

/// The command that was profiled, where `perf record` started it; else the call of `perf` itself.
fn profiled_command(cmdline: &str) -> String {
    match cmdline.split_once(" -- ") {
        Some((_, command)) => command.to_owned(),
        None => cmdline.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_tell_the_rate_of_events() {
        let mut info = Info::default();
        let mut comments = Comments::default();
        for line in [
            " cmdline : /usr/bin/perf record -e cycles -a -- sleep 1 ",
            " hostname : box",
            " perf version : 4.13.0",
            " event : name = cycles, , id = { 550 }, size = 112, { sample_period, sample_freq } = 100000000, sample_type = IP",
            " event : name = cpu-clock, , { sample_period, sample_freq } = 1000, sample_type = IP, freq = 1, task = 1",
            " event : name = instructions, , { sample_period, sample_freq } = 4000, disabled = 1, freq = 1",
            " nonsense",
        ] {
            comments.line(line, &mut info);
        }
        assert_eq!(info.command.as_deref(), Some("sleep 1"));
        assert_eq!(info.producer.as_deref(), Some("perf 4.13.0"));
        assert_eq!(info.labels, [("host".to_owned(), "box".to_owned())]);
        assert_eq!(comments.period("cycles", false), Some(100_000_000));
        assert_eq!(comments.period("cpu-clock", true), Some(1_000_000));
        assert_eq!(comments.period("instructions", false), None);
        assert_eq!(comments.period("faults", false), None);
    }
}
