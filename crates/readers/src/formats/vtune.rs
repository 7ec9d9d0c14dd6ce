//! VTune's hotspots exported as CSV: functions indented by depth, with their own time.

use perfblame_cct::{Metric, Profile, Unit};

use crate::building::module_frame::module_frame;
use crate::building::outline::Outline;
use crate::encodings::csv::fields;
use crate::encodings::text::{self, excerpt, shown};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "vtune",
    producers: "Intel VTune: -report top-down -format csv",
    sniff,
    read,
    tracer: None,
};

/// True for text whose first line names the columns of VTune's top-down report.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    text::lines(&head).next().is_some_and(|line| VtuneColumns::of(&shown(line)).is_some())
}

struct VtuneColumns {
    separator: char,
    stack: usize,
    time: usize,
    module: Option<usize>,
}

impl VtuneColumns {
    fn of(line: &str) -> Option<Self> {
        if !line.contains("Function Stack") {
            return None;
        }
        [',', '\t', ';', '|'].into_iter().find_map(|separator| {
            let names = fields(line, separator);
            let find = |wanted: &str| names.iter().position(|name| name.starts_with(wanted));
            let (stack, time) = (find("Function Stack")?, find("CPU Time:Self")?);
            Some(Self { separator, stack, time, module: find("Module") })
        })
    }
}

/// Reads VTune's top-down report.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = text::read_whole(input)?;
    let mut builder = options.builder();
    let mut lines = text::lines(&bytes);
    let columns = lines.next().and_then(|line| VtuneColumns::of(&shown(line)));
    let Some(columns) = columns else {
        return Err(ReadError::malformed(
            0,
            "the columns `Function Stack` and `CPU Time:Self` are missing",
        ));
    };
    let cpu = builder.metric(Metric::sampled("cpu", Unit::Nanoseconds));
    let mut outline = Outline::default();
    for line in lines.filter(|line| !line.is_empty()) {
        let text = shown(line);
        let row = fields(&text, columns.separator);
        let seconds = row.get(columns.time).and_then(|time| seconds(time));
        let (Some(function), Some(time)) = (row.get(columns.stack), seconds) else {
            builder.warn("damaged-lines", || {
                format!(
                    "lines without function and time were left out; the first is {}",
                    excerpt(line)
                )
            });
            continue;
        };
        let name = function.trim_start();
        let indent = function.len() - name.len();
        // The first line is the sum of all.
        if name == "Total" && indent == 0 && time == 0 {
            continue;
        }
        let module = columns.module.and_then(|at| row.get(at)).map(AsRef::as_ref);
        let module = module.filter(|module| *module != "[Unknown]");
        let frame = module_frame(&mut builder, module, name, None, None);
        let at = outline.enter(&mut builder, indent, frame);
        if time > 0 {
            builder.add(at, None, cpu, time);
        }
    }
    builder.info.producer = Some("VTune".to_owned());
    Ok(builder.finish())
}

/// `0.015` or `0.015s` in nanoseconds.
fn seconds(text: &str) -> Option<i64> {
    let seconds: f64 = text.trim().trim_end_matches('s').parse().ok()?;
    let nanos = (seconds * 1e9).round();
    (nanos.is_finite() && (0.0..9e18).contains(&nanos)).then_some(nanos as i64)
}
