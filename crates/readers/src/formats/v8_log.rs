//! V8's own log with ticks: what `node --prof` writes, and what `node --prof-process --preprocess` makes of it.
//!
//! The log is a stream of lines: where code was put, moved and freed, and ticks with the addresses on the stack, which
//! mean what lay there at that time. Time is in microseconds; a tick stands for the time until the next one, the last
//! for the median gap. The names of a library's functions are not in the log: its frames are named after the library.
//! Bytecode handlers, stubs and inline caches are how V8 runs a function, so their ticks are the function's; built-ins
//! are kept. Ticks during garbage collection get the pseudo-frame that CPU profiles have for it.

mod code_map;
mod preprocessed;

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FrameId, Function, Layer, Metric, Profile, ProfileBuilder, Unit, position,
};

use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use crate::v8::{Gaps, layer_of_url, sampled_metrics};
use code_map::{Code, CodeMap};

/// The log itself.
pub const FORMAT: Format =
    Format { name: "v8 log", producers: "V8 and Node (`node --prof`)", sniff, read, tracer: None };

/// The log after V8's own processing.
pub const PREPROCESSED: Format = Format {
    name: "v8 log, preprocessed",
    producers: "Node (`node --prof-process --preprocess`)",
    sniff: preprocessed::sniff,
    read: preprocessed::read,
    tracer: None,
};

/// True for a text that starts with V8's version.
fn sniff(input: &Input) -> bool {
    input.head().starts_with(b"v8-version,")
}

fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let mut ticks = Ticks::default();
    let mut map = CodeMap::default();
    let mut interval = None;
    let mut fields = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        split_fields(line.trim_end(), &mut fields);
        let field = |at: usize| fields.get(at).map_or("", |field| &**field);
        let kept = match field(0) {
            "code-creation" => code_creation(&fields, &mut map, &mut builder),
            "code-move" => {
                address(field(1)).zip(address(field(2))).map(|(from, to)| map.shift(from, to))
            }
            "code-delete" => address(field(1)).map(|start| map.remove(start)),
            "shared-library" => shared_library(&fields, &mut map, &mut builder),
            "profiler" => {
                if field(1) == "begin" {
                    interval = field(2).parse::<i64>().ok().filter(|micros| *micros > 0);
                }
                Some(())
            }
            "v8-version" => {
                let version: Vec<_> = fields[1..].iter().take(4).map(|part| &**part).collect();
                builder.info.producer = Some(format!("V8 {}", version.join(".")));
                Some(())
            }
            "tick" => tick(&fields, &map, &mut ticks, &mut builder),
            _ => Some(()),
        };
        if kept.is_none() {
            builder.warn("damaged-lines", || {
                format!("unreadable lines were left out; the first is {line}")
            });
        }
    }
    let interval = interval.and_then(|micros| micros.checked_mul(1000));
    ticks.finish(&mut builder, interval);
    Ok(builder.finish())
}

/// Splits a line at its commas; fields may stand in quotes, and `\x2C` is a comma in a field.
fn split_fields(line: &str, fields: &mut Vec<String>) {
    fields.clear();
    let mut field = String::new();
    let mut chars = line.chars();
    let mut quoted = false;
    while let Some(next) = chars.next() {
        match next {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            '\\' => match chars.next() {
                Some('x') => {
                    let code: String = chars.by_ref().take(2).collect();
                    field.extend(u8::from_str_radix(&code, 16).ok().map(char::from));
                }
                Some('n') => field.push('\n'),
                Some(other) => field.push(other),
                None => {}
            },
            other => field.push(other),
        }
    }
    fields.push(field);
}

fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// `code-creation,<kind>,<kind number>,<time>,<address>,<size>,<name>,…`; the time is missing before V8 5.9.
fn code_creation(fields: &[String], map: &mut CodeMap, builder: &mut ProfileBuilder) -> Option<()> {
    let at = fields.iter().skip(2).position(|field| field.starts_with("0x"))? + 2;
    let start = address(fields.get(at)?)?;
    let size = fields.get(at + 1)?.parse().ok()?;
    let (kind, name) = (fields.get(1)?.as_str(), fields.get(at + 2)?.as_str());
    let code = match kind {
        "BytecodeHandler" | "Handler" | "Stub" => Code::OnBehalf,
        kind if kind.ends_with("IC") => Code::OnBehalf,
        "Builtin" | "Callback" | "RegExp" => Code::Frame(builder.named_frame(name, Layer::Runtime)),
        _ => Code::Frame(script_frame(name, builder)),
    };
    map.insert(start, size, code);
    Some(())
}

/// A function of a script: `name file:line:column`.
fn script_frame(text: &str, builder: &mut ProfileBuilder) -> FrameId {
    let place = || {
        let (rest, column) = text.rsplit_once(':')?;
        let (rest, line) = rest.rsplit_once(':')?;
        let (column, line): (u64, u64) = (column.parse().ok()?, line.parse().ok()?);
        // Accessors have two words.
        let skip = ["get ", "set ", "async "].iter().find(|word| rest.starts_with(**word));
        let skip = skip.map_or(0, |word| word.len());
        let space = rest[skip..].find(' ')? + skip;
        Some((&rest[..space], &rest[space + 1..], line, column))
    };
    let function = match place() {
        Some((name, url, line, column)) => Function {
            component: (!url.is_empty()).then(|| builder.string(url)),
            line: position(line),
            column: position(column),
            ..Function::named(builder.string(name)).in_layer(layer_of_url(url, true))
        },
        None => Function::named(builder.string(text.trim())).in_layer(layer_of_url("", false)),
    };
    let function = builder.function(function);
    builder.frame(Frame::of(function))
}

fn shared_library(
    fields: &[String],
    map: &mut CodeMap,
    builder: &mut ProfileBuilder,
) -> Option<()> {
    let (path, start, end) = (fields.get(1)?, address(fields.get(2)?)?, address(fields.get(3)?)?);
    map.insert_library(start, end, library_frame(path, builder));
    Some(())
}

fn library_frame(path: &str, builder: &mut ProfileBuilder) -> FrameId {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let layer = if file.starts_with("node") { Layer::Runtime } else { Layer::Library };
    let name = builder.string(&format!("[{file}]"));
    let component = builder.string(path);
    let function = builder.function(Function::named(name).in_component(component).in_layer(layer));
    builder.frame(Frame::of(function))
}

/// `tick,<address>,<time>,<in a callback>,<top of stack or callback>,<state>,<callers' addresses>…`
fn tick(
    fields: &[String],
    map: &CodeMap,
    ticks: &mut Ticks,
    builder: &mut ProfileBuilder,
) -> Option<()> {
    const COLLECTING: &str = "1";
    let pc = address(fields.get(1)?)?;
    let time = fields.get(2)?.parse::<i64>().ok()?.checked_mul(1000)?;
    let top = address(fields.get(4)?)?;
    let pc = if fields.get(3)? == "1" { top } else { pc };
    ticks.stack.clear();
    let mut before = pc;
    if fields.get(5)? == COLLECTING {
        ticks.stack.push(builder.named_frame("(garbage collector)", Layer::GarbageCollection));
    } else {
        map.push(pc, &mut ticks.stack);
    }
    for caller in fields.get(6..).unwrap_or_default() {
        before = match caller.as_bytes().first()? {
            b'+' => before.wrapping_add(address(&caller[1..])?),
            b'-' => before.wrapping_sub(address(&caller[1..])?),
            b'0' => address(caller)?,
            // "overflow"
            _ => continue,
        };
        map.push(before, &mut ticks.stack);
    }
    ticks.add(time, builder);
    Some(())
}

/// Ticks so far, as ids of distinct stacks.
#[derive(Default)]
struct Ticks {
    /// The stack at hand, innermost first.
    stack: Vec<FrameId>,
    stacks: Vec<Vec<FrameId>>,
    stack_of: HashMap<Vec<FrameId>, usize>,
    /// Time and stack of each.
    taken: Vec<(i64, usize)>,
}

impl Ticks {
    /// Takes the stack at hand.
    fn add(&mut self, time: i64, builder: &mut ProfileBuilder) {
        if self.stack.is_empty() {
            // Nothing known was running: what CPU profiles call the program.
            self.stack.push(builder.named_frame("(program)", Layer::Runtime));
        }
        self.stack.reverse();
        let Self { stack, stacks, stack_of, .. } = self;
        let stack = *stack_of.entry_ref(stack.as_slice()).or_insert_with(|| {
            stacks.push(stack.clone());
            stacks.len() - 1
        });
        self.taken.push((time, stack));
    }

    fn finish(mut self, builder: &mut ProfileBuilder, interval: Option<i64>) {
        let (wall, samples) = sampled_metrics(builder);
        self.taken.sort_by_key(|(time, _)| *time);
        let mut gaps = Gaps::default();
        for pair in self.taken.windows(2) {
            gaps.add(pair[1].0.saturating_sub(pair[0].0));
        }
        let usual = gaps.median();
        for (at, (time, stack)) in self.taken.iter().enumerate() {
            let next = self.taken.get(at + 1).map(|(next, _)| next.saturating_sub(*time));
            let spent = next.or(usual).unwrap_or(0);
            if let Some(cursor) = builder.stack(&self.stacks[*stack]) {
                builder.add(cursor, None, wall, spent);
                builder.add(cursor, None, samples, 1);
                builder.time_sample(*time, cursor, None, wall, spent);
            }
        }
        builder.count_samples(self.taken.len() as u64);
        if let Some(period) = interval.or(usual) {
            let metric = Metric::sampled("wall", Unit::Nanoseconds).with_period(period);
            builder.update_metric(wall, metric);
        }
        let ends = self.taken.first().zip(self.taken.last());
        builder.info.duration = ends.map(|(first, last)| last.0.saturating_sub(first.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use perfblame_fixtures::draw;

    #[test]
    fn code_is_what_lies_there_at_the_time() {
        let log = r#"v8-version,11,3,244,8,-node.38,0
shared-library,"/usr/bin/node",0x1000,0x2000,0
profiler,begin,1000
code-creation,JS,10,100,0x5000,100,main file:///a.js:1:10,0x1,~
code-creation,LazyCompile,10,100,0x6000,100,"get x\x2Cy file:///a.js:5:3",0x2,*
code-creation,BytecodeHandler,0,100,0x7000,100,Star
tick,0x6010,1000,0,0x0,0,0x5010
tick,0x7010,2000,0,0x0,0,+0x-,0x5010
tick,0x7010,3000,0,0x0,0,0x6020,0x5010
code-move,0x6000,0x8000
tick,0x8010,4000,0,0x0,0,0x5010
tick,0x1010,5000,0,0x0,6,0x1020,0x5010
tick,0x1010,6000,0,0x0,1
tick,0x9999,7000,0,0x0,5
"#;
        let input = Input::from_bytes(log.as_bytes().to_vec()).unwrap();
        let profile = crate::read(input, &ReadOptions::default()).unwrap();
        expect![[r"
            (garbage collector) 1000000 1000000
            (program) 1000000 1000000
            main 5000000 0
              [node] 1000000 1000000
              get x,y 4000000 4000000
        "]]
        .assert_eq(&draw(&profile));
        assert_eq!((profile.samples, profile.warnings.len()), (6, 1));
        assert_eq!(profile.info.producer.as_deref(), Some("V8 11.3.244.8"));
    }

    #[test]
    fn a_preprocessed_log() {
        let json = r#"{"code":[{"name":"main a.js:1:1","type":"JS","kind":"Opt","func":0},
            {"name":"Star","type":"CODE","kind":"BytecodeHandler"},{"name":"v8::Call()","type":"CPP"}],
            "functions":[{"name":"main a.js:1:1","codes":[0]}],
            "ticks":[{"tm":10,"vm":0,"s":[1,0,0,4]},{"tm":20,"vm":6,"s":[2,0,-1,99,0,8]},{"tm":30,"vm":1,"s":[2,0]}]}"#;
        let input = Input::from_bytes(json.as_bytes().to_vec()).unwrap();
        let profile = crate::read(input, &ReadOptions::default()).unwrap();
        expect![[r"
            (garbage collector) 10000 10000
            main 20000 10000
              v8::Call() 10000 10000
        "]]
        .assert_eq(&draw(&profile));
    }
}
