//! The formats perfblame writes, a row in a table each, and what each of them cannot hold.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use perfblame_cct::{MetricId, Profile, RunSet};

use crate::folded::{Roots, Style};
use crate::{chrome_trace, firefox, folded, pprof, speedscope};

/// A format that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Gzip-packed protocol buffers of pprof.
    Pprof,
    /// Folded stacks.
    Folded,
    /// speedscope's JSON.
    Speedscope,
    /// Processed profile of the Firefox Profiler.
    Firefox,
    /// Trace Event JSON.
    ChromeTrace,
    /// perfblame's own file.
    Perfblame,
}

/// How to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteOptions<'a> {
    /// The metric, for formats that hold one.
    pub metric: Option<MetricId>,
    /// What stands above the outermost frame, for folded stacks.
    pub roots: Roots,
    /// How names are written, for folded stacks.
    pub style: Style,
    /// The name of the profile, for formats that have one.
    pub name: &'a str,
}

/// The format cannot hold this profile.
#[derive(Debug)]
pub struct NoTimes {
    /// True when there are several runs, which do not share a clock.
    pub several_runs: bool,
}

impl fmt::Display for NoTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.several_runs {
            "a Chrome trace can hold only one run, because runs do not share a clock"
        } else {
            "a Chrome trace needs times, and this profile has none"
        })
    }
}

impl std::error::Error for NoTimes {}

impl Target {
    /// Every format, in the order users see.
    pub const ALL: [Self; 6] = [
        Self::Pprof,
        Self::Folded,
        Self::Speedscope,
        Self::Firefox,
        Self::ChromeTrace,
        Self::Perfblame,
    ];

    /// The word for `--to`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pprof => "pprof",
            Self::Folded => "folded",
            Self::Speedscope => "speedscope",
            Self::Firefox => "firefox",
            Self::ChromeTrace => "chrome",
            Self::Perfblame => "perfblame",
        }
    }

    /// How files of this format end.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Pprof => &[".pb.gz", ".pb", ".pprof"],
            Self::Folded => &[".folded", ".collapsed", ".txt"],
            Self::Speedscope => &[".speedscope.json", ".speedscope"],
            Self::Firefox => {
                &[".firefox.json", ".firefox.json.gz", ".profile.json", ".profile.json.gz"]
            }
            Self::ChromeTrace => &[".trace.json", ".trace.json.gz", ".trace"],
            Self::Perfblame => &[".perfblame"],
        }
    }

    /// What it is for, in a few words.
    pub fn opens_in(self) -> &'static str {
        match self {
            Self::Pprof => "go tool pprof, Grafana, Parca, Speedscope",
            Self::Folded => "flame graph scripts, inferno, any text tool",
            Self::Speedscope => "speedscope.app",
            Self::Firefox => "profiler.firefox.com",
            Self::ChromeTrace => "DevTools, Perfetto; needs times",
            Self::Perfblame => "perfblame; keeps runs separate and loses nothing",
        }
    }

    /// The format of a file to be written, by how its name ends.
    pub fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_lowercase();
        // The longest ending decides: `.speedscope.json` is no `.json`.
        (Self::ALL.into_iter())
            .flat_map(|target| target.extensions().iter().map(move |end| (end.len(), *end, target)))
            .filter(|(_, end, _)| name.ends_with(end))
            .max_by_key(|(length, _, _)| *length)
            .map(|(_, _, target)| target)
    }

    /// True when the format has a place for the time of each sample and call.
    pub fn holds_times(self) -> bool {
        !matches!(self, Self::Pprof | Self::Folded)
    }

    /// What is in the profile and has no place in the format, in words.
    pub fn losses(self, runs: &RunSet, options: &WriteOptions<'_>) -> Vec<String> {
        let mut losses = Vec::new();
        if runs.runs.len() > 1 && self != Self::Perfblame {
            losses.push(format!("{} runs are added up", runs.runs.len()));
        }
        let filled = (runs.metrics.iter().enumerate()).filter(|(row, _)| {
            let id = MetricId::new(*row);
            runs.runs.iter().any(|run| run.cells.of(id).next().is_some())
        });
        let left_out: Vec<&str> = filled
            .filter(|(row, _)| Some(*row) != options.metric.map(MetricId::index))
            .map(|(_, metric)| metric.name.as_str())
            .collect();
        if matches!(self, Self::Folded | Self::Firefox) && !left_out.is_empty() {
            let left_out = left_out.join(", ");
            losses.push(format!("{} can hold only one metric; left out: {left_out}", self.name()));
        }
        if self == Self::Pprof && runs.metrics.iter().any(|metric| metric.decimals > 0) {
            losses.push("fractional values are rounded".to_owned());
        }
        losses
    }

    /// Writes runs in this format.
    pub fn write(
        self,
        runs: &RunSet,
        options: &WriteOptions<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if self == Self::Perfblame {
            return perfblame_file::write_runs(runs, out);
        }
        let profile: Profile = runs.sum();
        let metric = options.metric.unwrap_or_else(|| MetricId::new(0));
        match self {
            Self::Pprof => pprof::write(&profile, out),
            Self::Folded => folded::write(&profile, metric, options.roots, options.style, out),
            Self::Speedscope => speedscope::write(&profile, options.name, out),
            Self::Firefox => firefox::write(&profile, metric, out),
            Self::ChromeTrace => match &profile.timeline {
                Some(timeline) => chrome_trace::write(&profile, timeline, out),
                None => Err(io::Error::other(NoTimes { several_runs: runs.runs.len() > 1 })),
            },
            Self::Perfblame => Ok(()),
        }
    }
}
