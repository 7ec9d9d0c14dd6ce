//! The call tree that Visual Studio's profiler exports as CSV: level, function, number of calls, elapsed times.

use perfblame_cct::{Metric, Profile, Thread, ThreadId, Unit};

use crate::building::module_frame::module_frame;
use crate::building::outline::Outline;
use crate::encodings::csv::fields;
use crate::encodings::text::{self, excerpt, shown};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "vsprof",
    producers: "Visual Studio: CallTreeSummary of VSPerfReport",
    sniff,
    read,
    tracer: None,
};

/// True for text whose first line names the columns of the report.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    text::lines(&head).next().is_some_and(|line| VsprofColumns::of(&shown(line)).is_some())
}

struct VsprofColumns {
    level: usize,
    function: usize,
    calls: usize,
    /// Average own time of a call, in milliseconds.
    own: Option<usize>,
    module: Option<usize>,
}

impl VsprofColumns {
    fn of(line: &str) -> Option<Self> {
        let names = fields(line, ',');
        let find = |wanted: &str| names.iter().position(|name| name.trim() == wanted);
        Some(Self {
            level: find("Level")?,
            function: find("Function Name")?,
            calls: find("Number of Calls")?,
            own: find("Avg Elapsed Exclusive Time"),
            module: find("Module Name"),
        })
    }
}

/// Reads the call tree report of Visual Studio.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = text::read_whole(input)?;
    let mut builder = options.builder();
    let mut lines = text::lines(&bytes);
    let Some(columns) = lines.next().and_then(|line| VsprofColumns::of(&shown(line))) else {
        return Err(ReadError::malformed(0, "the columns of a call tree report are missing"));
    };
    let wall = columns.own.map(|_| builder.metric(Metric::exact("wall", Unit::Nanoseconds)));
    let calls = builder.metric(Metric::exact("calls", Unit::Count));
    let mut outline = Outline::default();
    let mut thread: Option<ThreadId> = None;
    for line in lines.filter(|line| !line.is_empty()) {
        let text = shown(line);
        let row = fields(&text, ',');
        let at = |column: usize| row.get(column).map(|field| field.trim());
        let level = at(columns.level).and_then(|level| level.parse::<usize>().ok());
        let count = at(columns.calls).and_then(grouped);
        let (Some(level), Some(count), Some(name)) = (level, count, at(columns.function)) else {
            builder.warn("damaged-lines", || {
                format!(
                    "lines without level and calls were left out; the first is {}",
                    excerpt(line)
                )
            });
            continue;
        };
        let module = columns.module.and_then(at);
        // The outermost level is the process.
        if level == 0 {
            let process = builder.string(name);
            let unnamed = builder.string("");
            thread =
                Some(builder.thread(Thread { process: Some(process), ..Thread::named(unnamed) }));
            outline.close_to(&mut builder, 0, |_, _, _| {});
            continue;
        }
        let frame = module_frame(&mut builder, module, name, None, None);
        let context = outline.enter(&mut builder, level, frame);
        builder.add(context, thread, calls, count);
        let own =
            columns.own.and_then(at).and_then(|text| text.replace(',', "").parse::<f64>().ok());
        if let (Some(wall), Some(own)) = (wall, own) {
            let nanos = (own * 1e6 * count as f64).round();
            if nanos.is_finite() && (0.0..9e18).contains(&nanos) {
                builder.add(context, thread, wall, nanos as i64);
            }
        }
    }
    builder.info.producer = Some("Visual Studio profiler".to_owned());
    Ok(builder.finish())
}

/// `2,893,824`.
fn grouped(text: &str) -> Option<i64> {
    text.replace(',', "").parse().ok().filter(|number| *number >= 0)
}
