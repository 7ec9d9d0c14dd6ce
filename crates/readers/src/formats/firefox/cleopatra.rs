//! Cleopatra's files, which the profiler of 2013 saved: samples as lists of numbers, and a table from numbers to texts.

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FrameId, Function, Layer, Metric, MetricId, ProfileBuilder, Unit, position,
};
use perfblame_native as native;

use super::location::{self, Location};
use crate::encodings::json::{Cursor, JsonFault, JsonKind, Number};
use crate::error::ReadError;

/// What the files say they are.
const FORMAT: &str = "profileJSONWithSymbolicationTable,1";

/// True when the file says it is Cleopatra's.
pub fn sniff(head: &[u8]) -> bool {
    let found = || -> Result<bool, JsonFault> {
        let mut cursor = Cursor::new(head);
        cursor.begin_object()?;
        let first = cursor.next_key()?;
        Ok(first.is_some_and(|key| key == "format")
            && cursor.lenient_string()?.is_some_and(|format| format == FORMAT))
    };
    found().unwrap_or(false)
}

/// Reads a file into `builder`.
pub fn read(bytes: &[u8], builder: &mut ProfileBuilder) -> Result<(), ReadError> {
    builder.info.producer = Some("Cleopatra".to_owned());
    let mut parts = CleopatraParts::default();
    let fault = parts.find(Cursor::new(bytes)).err();
    let Some(samples) = parts.samples else {
        let what = "it contains no samples";
        return Err(ReadError::malformed(bytes.len() as u64, what).help("the file looks cut off"));
    };
    let mut reader = CleopatraReader {
        frames: HashMap::new(),
        count: builder.metric(Metric::sampled("samples", Unit::Count)),
        wall: builder.metric(Metric {
            period: parts.interval,
            ..Metric::sampled("wall", Unit::Nanoseconds)
        }),
        interval: parts.interval.unwrap_or(0),
    };
    if let Some(symbols) = parts.symbols {
        let _ = reader.symbols(symbols, builder);
    }
    let inner = reader.samples(samples, builder).err();
    if let Some(fault) = inner.or(fault) {
        builder.warn("damaged-json", || {
            format!("the rest was left out: not readable at byte {}", fault.offset())
        });
    }
    Ok(())
}

#[derive(Default)]
struct CleopatraParts<'a> {
    samples: Option<Cursor<'a>>,
    symbols: Option<Cursor<'a>>,
    interval: Option<i64>,
}

impl<'a> CleopatraParts<'a> {
    fn find(&mut self, mut cursor: Cursor<'a>) -> Result<(), JsonFault> {
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            match &*key {
                "profileJSON" => self.samples = Some(cursor),
                "symbolicationTable" => self.symbols = Some(cursor),
                "meta" if cursor.peek()? == JsonKind::Object => {
                    let mut meta = cursor;
                    meta.begin_object()?;
                    while let Some(key) = meta.next_key()? {
                        if key == "interval" {
                            self.interval = super::meta::milliseconds(&mut meta)?;
                        } else {
                            meta.skip_value()?;
                        }
                    }
                }
                _ => {}
            }
            cursor.skip_value()?;
        }
        Ok(())
    }
}

struct CleopatraReader {
    frames: HashMap<u64, FrameId>,
    count: MetricId,
    wall: MetricId,
    interval: i64,
}

impl CleopatraReader {
    fn symbols(
        &mut self,
        mut cursor: Cursor,
        builder: &mut ProfileBuilder,
    ) -> Result<(), JsonFault> {
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            let text = cursor.lenient_string()?.unwrap_or_default();
            if let Ok(number) = key.parse() {
                self.frames.insert(number, frame(&text, builder));
            }
        }
        Ok(())
    }

    fn samples(&self, mut cursor: Cursor, builder: &mut ProfileBuilder) -> Result<(), JsonFault> {
        let mut stack = Vec::new();
        // A sample stands for the time to the next one, so it is added when that is known.
        let mut last: Option<(Vec<FrameId>, Option<i64>)> = None;
        cursor.begin_array()?;
        let walked = loop {
            match cursor.next_element() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(fault) => break Err(fault),
            }
            let time = match self.sample(&mut cursor, &mut stack, builder) {
                Ok(time) => time,
                Err(fault) => break Err(fault),
            };
            if let Some((frames, started)) = last.take() {
                self.add(&frames, started, time, builder);
            }
            last = Some((stack.clone(), time));
        };
        if let Some((frames, started)) = last {
            self.add(&frames, started, None, builder);
        }
        walked
    }

    /// Reads `{"frames": […], "extraInfo": {"time": …}}` and says when it was taken.
    fn sample(
        &self,
        cursor: &mut Cursor,
        stack: &mut Vec<FrameId>,
        builder: &mut ProfileBuilder,
    ) -> Result<Option<i64>, JsonFault> {
        stack.clear();
        let mut time = None;
        if cursor.peek()? != JsonKind::Object {
            cursor.skip_value()?;
            return Ok(None);
        }
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            match &*key {
                "frames" if cursor.peek()? == JsonKind::Array => {
                    cursor.begin_array()?;
                    while cursor.next_element()? {
                        let id = cursor.lenient_number()?.and_then(Number::as_u64);
                        match id.and_then(|id| self.frames.get(&id)) {
                            Some(frame) => stack.push(*frame),
                            None => builder.warn("unknown-frames", || {
                                "frames that are not in the symbol table were left out of stacks"
                                    .to_owned()
                            }),
                        }
                    }
                }
                "extraInfo" if cursor.peek()? == JsonKind::Object => {
                    cursor.begin_object()?;
                    while let Some(key) = cursor.next_key()? {
                        if key == "time" {
                            time = super::meta::milliseconds(cursor)?;
                        } else {
                            cursor.skip_value()?;
                        }
                    }
                }
                _ => cursor.skip_value()?,
            }
        }
        Ok(time)
    }

    fn add(
        &self,
        frames: &[FrameId],
        started: Option<i64>,
        ended: Option<i64>,
        builder: &mut ProfileBuilder,
    ) {
        builder.count_samples(1);
        let Some(at) = builder.stack(frames) else {
            return builder.warn("empty-stacks", || {
                "samples without a stack are counted but have no place in the tree".to_owned()
            });
        };
        let spent = match (started, ended) {
            (Some(started), Some(ended)) => ended.saturating_sub(started).max(0),
            _ => self.interval,
        };
        builder.add(at, None, self.count, 1);
        builder.add(at, None, self.wall, spent);
        if let Some(time) = started {
            builder.time_sample(time, at, None, self.wall, spent);
        }
    }
}

fn frame(text: &str, builder: &mut ProfileBuilder) -> FrameId {
    let function = match location::parse(text) {
        Location::Script { name, url, line, column } => Function {
            line: line.and_then(position),
            column: column.and_then(position),
            component: Some(builder.string(url)),
            ..Function::named(builder.string(name))
        },
        Location::Native { name, library } => Function {
            component: Some(builder.string(library)),
            layer: match native::layer_of(library) {
                Layer::Application => Layer::Runtime,
                layer => layer,
            },
            ..Function::named(builder.string(name))
        },
        Location::Address(_) | Location::Label(_) => {
            Function::named(builder.string(text)).in_layer(Layer::Runtime)
        }
    };
    let function = builder.function(function);
    builder.frame(Frame::of(function))
}
