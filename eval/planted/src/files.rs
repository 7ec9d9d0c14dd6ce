//! Runs as files, in formats that real profilers write.

mod cpuprofile;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::num::NonZeroU32;
use std::path::Path;

use anyhow::{Context, Result};
use perfblame_cct::{
    Frame, Function, Grain, Metric, MetricId, Profile, ProfileBuilder, Times, Unit, merge_runs,
};
use perfblame_report::{Target, WriteOptions};

use crate::noise::RunOf;
use crate::program::Program;
use crate::random::Random;

/// A format that runs are written in. All say how many samples there were, which decides how far values scatter;
/// speedscope's, one weighted stack for each context when converted, does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileFormat {
    Folded,
    Pprof,
    Perfblame,
    Cpuprofile,
}

impl FileFormat {
    pub const ALL: [Self; 4] = [Self::Folded, Self::Pprof, Self::Perfblame, Self::Cpuprofile];

    /// How its files end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Folded => "folded",
            Self::Pprof => "pb.gz",
            Self::Perfblame => "perfblame",
            Self::Cpuprofile => "cpuprofile",
        }
    }

    /// Files say what a sample stands for, or how long it took; others only count.
    pub fn tells_period(self) -> bool {
        self != Self::Folded
    }

    /// Files say where a function starts, down to the column: bundles hold many functions in one line.
    pub fn tells_columns(self) -> bool {
        matches!(self, Self::Perfblame | Self::Cpuprofile)
    }

    fn target(self) -> Target {
        match self {
            Self::Folded => Target::Folded,
            Self::Pprof => Target::Pprof,
            Self::Perfblame | Self::Cpuprofile => Target::Perfblame,
        }
    }
}

/// Writes one run.
pub fn write(
    path: &Path,
    format: FileFormat,
    program: &Program,
    run: &RunOf,
    random: &mut Random,
) -> Result<()> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    let mut out = BufWriter::new(file);
    if format == FileFormat::Cpuprofile {
        cpuprofile::write(program, run, random, &mut out)?;
    } else {
        let runs = merge_runs(vec![profile(format, program, run)]);
        let options = WriteOptions {
            metric: Some(MetricId::new(0)),
            name: "profile",
            ..WriteOptions::default()
        };
        format.target().write(&runs, &options, &mut out)?;
    }
    out.flush()?;
    Ok(())
}

fn profile(format: FileFormat, program: &Program, run: &RunOf) -> Profile {
    let mut builder = ProfileBuilder::new(Grain::Frames, Times::Drop);
    let count = Metric::sampled("samples", Unit::Count).with_period(1);
    let time = Metric::sampled("cpu", Unit::Nanoseconds).with_period(run.period);
    let metrics: Vec<(MetricId, i64)> = match format {
        FileFormat::Folded => vec![(builder.metric(count), 1)],
        _ => vec![(builder.metric(time), run.period), (builder.metric(count), 1)],
    };
    let mut frames = vec![None; program.functions.len()];
    let mut cursors = vec![None; program.nodes.len()];
    for row in &run.order {
        let function = program.nodes[*row].function;
        let frame = *frames[function].get_or_insert_with(|| {
            let known = &program.functions[function];
            let name = builder.string(&known.name);
            let mut text = |text: &Option<String>| text.as_ref().map(|text| builder.string(text));
            let function = Function {
                component: text(&known.component),
                signature: text(&known.signature),
                file: text(&known.file),
                line: known.line.and_then(NonZeroU32::new),
                column: known.column.and_then(NonZeroU32::new),
                layer: known.layer,
                ..Function::named(name)
            };
            let function = builder.function(function);
            builder.frame(Frame::of(function))
        });
        let cursor = match run.parent[*row].and_then(|parent| cursors[parent]) {
            Some(parent) => builder.child(parent, frame),
            None => builder.root(frame),
        };
        cursors[*row] = Some(cursor);
        let samples = run.samples[*row];
        if samples > 0 {
            for (metric, each) in &metrics {
                builder.add(cursor, None, *metric, (samples as i64).saturating_mul(*each));
            }
            builder.count_samples(samples);
        }
    }
    builder.finish()
}
