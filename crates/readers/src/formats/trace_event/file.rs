//! A trace file: where its events and other parts are, and how far a damaged one can be read.

use std::io::Read;

use super::event::TraceEvent;
use super::json_path::number_in;
use super::trace::ChromeTrace;
use crate::encodings::json::{Cursor, JsonFault, JsonKind, Stream};
use crate::error::ReadError;
use crate::v8::Recorded;

/// Failed attempts to find the next event after a damaged one before the rest is given up.
const ATTEMPTS: usize = 1000;

/// Reads a whole file into `trace`.
pub fn read<R: Read>(stream: &mut Stream<R>, trace: &mut ChromeTrace<'_>) -> Result<(), ReadError> {
    let result = match stream.peek() {
        Ok(JsonKind::Array) => read_array(stream, trace),
        Ok(_) => read_object(stream, trace),
        Err(fault) => Err(fault),
    };
    let Err(fault) = result else { return Ok(()) };
    if trace.events == 0 {
        return Err(fault.into());
    }
    let (offset, events) = (fault.offset(), trace.events);
    trace.builder.warn("cut-off", || {
        let what = ReadError::from(fault);
        match events {
            1 => format!("{what}; the event before byte {offset} was kept"),
            _ => format!("{what}; the {events} events before byte {offset} were kept"),
        }
    });
    Ok(())
}

fn read_array<R: Read>(
    stream: &mut Stream<R>,
    trace: &mut ChromeTrace<'_>,
) -> Result<(), JsonFault> {
    stream.begin_array()?;
    match read_events(stream, trace)? {
        // The closing bracket is optional: whoever writes a trace may be stopped at any time.
        FileEnd::Closed | FileEnd::Open => Ok(()),
    }
}

fn read_object<R: Read>(
    stream: &mut Stream<R>,
    trace: &mut ChromeTrace<'_>,
) -> Result<(), JsonFault> {
    stream.begin_object()?;
    loop {
        let Some(key) = stream.next_key()? else { return Ok(()) };
        let key = key.into_owned();
        match (&*key, stream.peek()?) {
            ("traceEvents", JsonKind::Array) => {
                stream.begin_array()?;
                if read_events(stream, trace)? == FileEnd::Open {
                    return Err(JsonFault::Cut { offset: stream.offset() });
                }
            }
            ("samples", JsonKind::Array) => {
                stream.begin_array()?;
                while stream.next_element()? {
                    let ChromeTrace { stack_samples, threads, builder, .. } = trace;
                    let raw = stream.raw_value()?;
                    trace.events += 1;
                    if stack_samples.read_sample(&mut Cursor::new(raw), threads, builder).is_err() {
                        damaged(trace, stream.offset());
                    }
                }
            }
            ("stackFrames", JsonKind::Object) => {
                stream.begin_object()?;
                while let Some(id) = stream.next_key()? {
                    let id = id.into_owned();
                    let raw = stream.raw_value()?;
                    let ChromeTrace { stack_samples, builder, .. } = trace;
                    if stack_samples.read_frame(&id, &mut Cursor::new(raw), builder).is_err() {
                        damaged(trace, stream.offset());
                    }
                }
            }
            ("metadata" | "otherData" | "viztracer_metadata", JsonKind::Object) => {
                if key == "viztracer_metadata" {
                    trace.builder.info.producer = Some("VizTracer".to_owned());
                }
                read_labels(stream, trace)?;
            }
            _ => stream.skip_value()?,
        }
    }
}

/// How a list of events ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileEnd {
    /// With its bracket.
    Closed,
    /// With the file, after a whole event.
    Open,
}

fn read_events<R: Read>(
    stream: &mut Stream<R>,
    trace: &mut ChromeTrace<'_>,
) -> Result<FileEnd, JsonFault> {
    loop {
        match stream.next_element() {
            Ok(true) => {}
            Ok(false) => return Ok(FileEnd::Closed),
            Err(JsonFault::Cut { .. }) => return Ok(FileEnd::Open),
            Err(fault) => return Err(fault),
        }
        let start = stream.offset();
        let mut cursor = stream.here();
        let fault = match TraceEvent::read(&mut cursor) {
            Ok(event) => {
                let end = cursor.offset();
                if trace.event(&event).is_err() {
                    damaged(trace, start);
                }
                stream.advance(end);
                continue;
            }
            Err(JsonFault::Cut { .. }) => match stream.more() {
                Ok(()) => continue,
                Err(fault) => fault,
            },
            Err(fault) => fault,
        };
        damaged(trace, start);
        find_event(stream, fault)?;
    }
}

fn damaged(trace: &mut ChromeTrace<'_>, offset: u64) {
    trace.builder.warn("damaged-records", || {
        format!("damaged records were left out, first at byte {offset}")
    });
}

/// Moves from a damaged event to the next whole one. A lost quote or brace can make the rest of the file look like part
/// of one event, so candidates are looked for inside of it too.
fn find_event<R: Read>(stream: &mut Stream<R>, fault: JsonFault) -> Result<(), JsonFault> {
    for _ in 0..ATTEMPTS {
        if !stream.next_record()? {
            return Err(fault);
        }
        match stream.peek_record() {
            Ok(raw) => {
                if TraceEvent::read(&mut Cursor::new(raw)).is_ok_and(|event| event.phase != 0) {
                    return Ok(());
                }
            }
            Err(fault @ JsonFault::Io { .. }) => return Err(fault),
            Err(_) => {}
        }
    }
    Err(fault)
}

/// Keeps what is short and plain; scripts, source maps and field trials are counted.
fn read_labels<R: Read>(
    stream: &mut Stream<R>,
    trace: &mut ChromeTrace<'_>,
) -> Result<(), JsonFault> {
    stream.begin_object()?;
    while let Some(key) = stream.next_key()? {
        let key = key.into_owned();
        match stream.peek()? {
            JsonKind::String => {
                let text = stream.string()?;
                if text.len() <= 200 {
                    let text = text.into_owned();
                    keep_label(trace, &key, &text);
                }
            }
            JsonKind::Number | JsonKind::Bool => {
                let raw = stream.raw_value()?;
                let text = String::from_utf8_lossy(raw).into_owned();
                keep_label(trace, &key, &text);
            }
            JsonKind::Array => {
                stream.begin_array()?;
                let mut count = 0u64;
                while stream.next_element()? {
                    count += 1;
                    if !trace.names_scripts() || !matches!(&*key, "sourceMaps" | "resources") {
                        stream.skip_value()?;
                        continue;
                    }
                    let raw = stream.raw_value()?;
                    let read = match &*key {
                        "sourceMaps" => trace.scripts.map(raw),
                        _ => trace.scripts.resource(raw),
                    };
                    if read.is_err() {
                        damaged(trace, stream.offset());
                    }
                }
                if count > 0 {
                    trace.label(&key, &count.to_string());
                }
            }
            JsonKind::Object if key == "perfblame" => {
                let raw = stream.raw_value()?;
                match recorded(raw) {
                    Ok(Some(recorded)) => trace.only(recorded),
                    Ok(None) => {}
                    Err(_) => damaged(trace, stream.offset()),
                }
            }
            JsonKind::Object | JsonKind::Null => stream.skip_value()?,
        }
    }
    Ok(())
}

/// What `record chrome` notes about the recording.
fn recorded(raw: &[u8]) -> Result<Option<Recorded>, JsonFault> {
    let at = |key: &'static [u8]| number_in(Some(raw), &[key]);
    let (Some(start), Some(done), Some(end)) = (at(b"start")?, at(b"done")?, at(b"end")?) else {
        return Ok(None);
    };
    Ok(Recorded::from_micros(start, done, end))
}

fn keep_label(trace: &mut ChromeTrace<'_>, key: &str, text: &str) {
    let info = &mut trace.builder.info;
    match key {
        "source" | "bazel_version" => info.producer = Some(text.to_owned()),
        "version" => {
            let name = info.producer.take().unwrap_or_default();
            info.producer = Some(format!("{name} {text}").trim_start().to_owned());
        }
        "product-version" | "user-agent" if info.producer.is_none() => {
            info.producer = Some(text.to_owned());
        }
        "command_line" => info.command = Some(text.to_owned()),
        "startTime" => info.started = unix_time(text),
        _ => {}
    }
    if !text.is_empty() {
        trace.label(key, text);
    }
}

/// Nanoseconds since 1970 of a time such as `2023-12-13T11:35:47.208Z`.
fn unix_time(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let mut time = time.splitn(3, ':');
    let (hour, minute) = (time.next()?.parse::<i64>().ok()?, time.next()?.parse::<i64>().ok()?);
    let second = crate::encodings::json::Number::from_text(time.next()?).scaled(9)?;
    if !(1970..=2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years that begin in March have their leap day last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let seconds = (days - 719_468) * 86_400 + hour * 3600 + minute * 60;
    seconds.checked_mul(1_000_000_000)?.checked_add(second)
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_of_day() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00.000Z", Some(0)),
            ("2000-02-29T12:00:01.5Z", Some(951_825_601)),
            ("2023-12-13T11:35:47.208Z", Some(1_702_467_347)),
            ("yesterday", None),
        ] {
            let time = super::unix_time(text).map(|time| time / 1_000_000_000);
            assert_eq!(time, seconds, "{text}");
        }
    }
}
