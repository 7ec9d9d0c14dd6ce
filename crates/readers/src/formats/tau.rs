//! TAU's text profiles, `profile.N.C.T`: a line per function and per call path, with calls, exclusive and inclusive cost.
//!
//! Call paths are cut to a depth chosen at run time, so a path may begin in the middle of the program: such are partial
//! stacks.

use hashbrown::{HashMap, HashSet};
use perfblame_cct::{Cursor, FrameId, Metric, Profile, ProfileBuilder, Thread, ThreadId, Unit};

use crate::building::module_frame::module_frame;
use crate::encodings::text::{self, excerpt, shown};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format =
    Format { name: "tau", producers: "TAU: profile.N.C.T", sniff, read, tracer: None };

/// True for text that begins with a number of `templated_functions`.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    text::lines(&head).next().is_some_and(|line| heading(&shown(line)).is_some())
}

/// `23 templated_functions_MULTI_TIME`: the number of lines and the metric.
fn heading(line: &str) -> Option<(u64, &str)> {
    let (count, rest) = line.trim().split_once(' ')?;
    let metric = rest.strip_prefix("templated_functions")?;
    Some((count.parse().ok()?, metric.strip_prefix("_MULTI_").unwrap_or("TIME")))
}

struct TauRow<'a> {
    path: &'a str,
    calls: i64,
    exclusive: f64,
}

/// `"main => f" 1 7 449 51781 0 GROUP="TAU_DEFAULT"`.
fn row(line: &str) -> Option<TauRow<'_>> {
    let front = line.split(" GROUP=").next()?.trim_end();
    let (path, rest) = front.strip_prefix('"')?.rsplit_once("\" ")?;
    let mut numbers = rest.split_whitespace();
    let calls: f64 = numbers.next()?.parse().ok()?;
    let _callees = numbers.next()?;
    let exclusive: f64 = numbers.next()?.parse().ok()?;
    let _inclusive: f64 = numbers.next()?.parse().ok()?;
    let good = calls.is_finite() && exclusive.is_finite() && calls.abs() < 9e18;
    good.then_some(TauRow { path, calls: calls as i64, exclusive })
}

/// Reads a profile of TAU.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let mut builder = options.builder();
    let thread = thread_of(&input, &mut builder);
    let bytes = text::read_whole(input)?;
    let mut lines = text::lines(&bytes);
    let first = lines.next().map(shown).unwrap_or_default();
    let Some((count, metric)) = heading(&first) else {
        return Err(ReadError::malformed(0, "the number of functions is missing"));
    };
    // Times are in microseconds; whatever else TAU counts, it counts in ones.
    let timed = metric.to_ascii_uppercase().contains("TIME");
    let (metric, factor) = if timed {
        (Metric::exact("wall", Unit::Nanoseconds), 1000.0)
    } else {
        (Metric::exact(metric, Unit::Count), 1.0)
    };
    let cost = builder.metric(metric);
    let calls = builder.metric(Metric::exact("calls", Unit::Count));
    let texts: Vec<_> = lines.map(shown).collect();
    let mut rows = Vec::new();
    for text in texts.iter().filter(|text| text.starts_with('"')) {
        if rows.len() as u64 >= count {
            break;
        }
        match row(text) {
            Some(row) => rows.push(row),
            None => builder.warn("damaged-lines", || {
                format!(
                    "lines without calls and costs were left out; the first is {}",
                    excerpt(text.as_bytes())
                )
            }),
        }
    }
    let parts =
        |path: &str| path.split(" => ").map(|name| name.trim().to_owned()).collect::<Vec<_>>();
    // What the call paths that end in a function account for.
    let mut below: HashMap<String, (f64, i64)> = HashMap::new();
    let mut called: HashSet<String> = HashSet::new();
    for row in rows.iter().filter(|row| row.path.contains(" => ")) {
        let Some(last) = parts(row.path).pop() else { continue };
        let sum = below.entry(last.clone()).or_default();
        sum.0 += row.exclusive;
        sum.1 = sum.1.saturating_add(row.calls);
        called.insert(last);
    }
    let mut frames: HashMap<String, FrameId> = HashMap::new();
    for row in &rows {
        let path = parts(row.path);
        let (mut exclusive, mut count) = (row.exclusive, row.calls);
        if let [name] = path.as_slice()
            && let Some((cost, calls)) = below.get(name)
        {
            exclusive -= cost;
            count = count.saturating_sub(*calls);
        }
        let stack: Vec<FrameId> = (path.iter())
            .map(|name| *frames.entry(name.clone()).or_insert_with(|| frame(&mut builder, name)))
            .collect();
        let nanos = (exclusive * factor).round().clamp(0.0, 9e18) as i64;
        let count = count.max(0);
        if nanos == 0 && count == 0 {
            continue;
        }
        let cut = path.len() > 1 && path.first().is_some_and(|first| called.contains(first));
        let at: Option<Cursor> =
            if cut { Some(builder.partial_stack(&stack)) } else { builder.stack(&stack) };
        if let Some(at) = at {
            builder.add(at, thread, cost, nanos);
            builder.add(at, thread, calls, count);
        }
    }
    builder.info.producer = Some("TAU".to_owned());
    Ok(builder.finish())
}

/// `name [{file.c} {12,1}]`, the place being optional.
fn frame(builder: &mut ProfileBuilder, text: &str) -> FrameId {
    let (name, place) = text.split_once(" [{").unwrap_or((text, ""));
    let frame = module_frame(builder, None, name, None, None);
    let Some((file, rest)) = place.split_once('}') else { return frame };
    let line = rest.trim_start().trim_start_matches('{').split([',', '}', '-']).next();
    let file = Some(builder.string(file));
    let known = *builder.symbols.frame(frame);
    let function = *builder.symbols.function(known.function);
    let line = line.and_then(|line| line.parse().ok()).and_then(perfblame_cct::position);
    let function = builder.function(perfblame_cct::Function { file, line, ..function });
    builder.frame(perfblame_cct::Frame { function, ..known })
}

/// Node, context and thread are in the file's name only.
fn thread_of(input: &Input, builder: &mut ProfileBuilder) -> Option<ThreadId> {
    let name = input.path()?.file_name()?.to_str()?;
    let mut numbers =
        name.strip_prefix("profile.")?.split('.').map(|part| part.parse::<u64>().ok());
    let (node, _, thread) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let unnamed = builder.string("");
    let process = builder.string(&format!("node {node}"));
    let ids = Thread {
        process: Some(process),
        pid: Some(node),
        tid: Some(thread),
        ..Thread::named(unnamed)
    };
    Some(builder.thread(ids))
}
