//! OpenTelemetry profiles: one protobuf message, or several with their lengths before them as the collector's file
//! exporter writes them; the same as JSON ([`json`]).
//!
//! The format is still moving, and files do not say which of its versions they follow. Field numbers and wire types
//! tell them apart: tables inside each profile (1.4, 1.5), in a dictionary with slices of locations (1.7), with stacks
//! (1.8, 1.9), and with a sample's fields in another order (from 1.10). Indices are read alike in all of them: row 0 of
//! a dictionary's tables is empty by convention, so that 0 means nothing there.

mod json;
mod samples;
mod tables;

use perfblame_cct::{Profile, ProfileBuilder};

use crate::encodings::json::Cursor;
use crate::encodings::protobuf::{Field, Message, ProtobufFault, ProtobufValue};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use samples::OtlpSamples;
use tables::OtlpTables;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "OTLP profiles",
    producers: "OpenTelemetry: the eBPF profiler, the collector's file exporter, async-profiler",
    sniff,
    read,
    tracer: None,
};

/// True for a message whose inner messages look like profiles, with or without its length before it.
pub fn sniff(input: &Input) -> bool {
    let head = input.head();
    looks_right(head) || framed(head).is_some_and(looks_right) || json::sniff(head)
}

/// The first message of bytes that start with a length of four bytes, which cannot start a message of ours.
fn framed(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = u32::from_be_bytes(*length);
    (length > 0 && length < 1 << 30).then(|| rest.get(..length as usize).unwrap_or(rest))
}

fn looks_right(head: &[u8]) -> bool {
    let mut found = false;
    for field in Message::beginning(head) {
        let Ok(Field { number, value: ProtobufValue::Bytes(bytes), .. }) = field else {
            return false;
        };
        match number {
            1 if looks_like_resource_profiles(bytes) => found = true,
            // Resources may come without profiles.
            1 => {}
            2 if looks_like_dictionary(bytes) => found = true,
            _ => return false,
        }
    }
    found
}

fn looks_like_resource_profiles(bytes: &[u8]) -> bool {
    let fields = Message::beginning(bytes).map_while(Result::ok);
    let scopes = fields.filter(|field| field.number == 2);
    let mut profiles =
        scopes.flat_map(|scope| Message::beginning(scope.bytes()).map_while(Result::ok));
    profiles.any(|field| field.number == 2 && looks_like_profile(field.bytes()))
}

/// Spans, log records and metrics hang in the same frame; none of them has numbers in field 1.
fn looks_like_profile(bytes: &[u8]) -> bool {
    let mut types = 0;
    for field in Message::beginning(bytes).map_while(Result::ok) {
        match (field.number, field.value) {
            (1, ProtobufValue::Bytes(inner)) => {
                let is_type = Message::beginning(inner).all(|inner| {
                    inner.is_ok_and(|inner| {
                        (1..=3).contains(&inner.number)
                            && matches!(inner.value, ProtobufValue::Varint(_))
                    })
                });
                if !is_type || inner.is_empty() {
                    return false;
                }
                types += 1;
            }
            (1, _) => return false,
            (2, ProtobufValue::Bytes(_)) | (3..=22, _) => {}
            _ => return false,
        }
    }
    types > 0
}

fn looks_like_dictionary(bytes: &[u8]) -> bool {
    let mut fields = 0;
    for field in Message::beginning(bytes).map_while(Result::ok) {
        if !(1..=7).contains(&field.number) || !matches!(field.value, ProtobufValue::Bytes(_)) {
            return false;
        }
        fields += 1;
    }
    // Every table starts with an empty row: a dictionary has several rows, or it is something else.
    fields > 3
}

/// Reads OpenTelemetry profiles.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let mut samples = OtlpSamples::default();
    let head = &bytes[..bytes.len().min(64 << 10)];
    if json::sniff(head) {
        read_json(&mut builder, &mut samples, &bytes)?;
    } else if looks_right(head) {
        read_message(&mut builder, &mut samples, Message::new(&bytes, 0))?;
    } else {
        read_framed(&mut builder, &mut samples, &bytes)?;
    }
    samples.finish(&mut builder);
    Ok(builder.finish())
}

fn read_json(
    builder: &mut ProfileBuilder,
    samples: &mut OtlpSamples,
    bytes: &[u8],
) -> Result<(), ReadError> {
    let mut cursor = Cursor::new(bytes);
    loop {
        let offset = cursor.offset();
        let message = match json::next_message(&mut cursor) {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(()),
            Err(error) if samples.is_empty() => return Err(error),
            Err(_) => {
                builder.warn("cut-off", || {
                    format!("the text is cut off or damaged in the object at byte {offset}")
                });
                return Ok(());
            }
        };
        read_message(builder, samples, Message::new(&message, offset))?;
    }
}

fn read_framed(
    builder: &mut ProfileBuilder,
    samples: &mut OtlpSamples,
    bytes: &[u8],
) -> Result<(), ReadError> {
    let mut rest = bytes;
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let offset = (bytes.len() - after.len()) as u64;
        let length = u32::from_be_bytes(*length) as usize;
        let message = after.get(..length);
        if message.is_none() {
            builder.warn("cut-off", || format!("the last message, at byte {offset}, is cut off"));
        }
        let message = message.unwrap_or(after);
        let read = read_message(builder, samples, Message::new(message, offset));
        match read {
            Err(error) if samples.is_empty() => return Err(error),
            Err(_) => builder
                .warn("damaged-records", || format!("a message at byte {offset} cannot be read")),
            Ok(()) => {}
        }
        rest = &after[message.len()..];
    }
    Ok(())
}

fn warn_damaged(builder: &mut ProfileBuilder, fault: ProtobufFault) {
    builder.warn("damaged-records", || {
        format!("invalid records were left out, first at byte {}", fault.offset)
    });
}

/// Reads one message: its dictionary first, wherever it stands.
fn read_message(
    builder: &mut ProfileBuilder,
    samples: &mut OtlpSamples,
    message: Message,
) -> Result<(), ReadError> {
    let mut dictionary = None;
    let mut resources = Vec::new();
    for field in message {
        match field {
            Ok(field) if field.number == 1 => resources.push(field),
            Ok(field) if field.number == 2 => dictionary = Some(field),
            Ok(_) => {}
            Err(fault) if resources.is_empty() => return Err(fault.into()),
            Err(fault) => warn_damaged(builder, fault),
        }
    }
    let tables = dictionary.map(|dictionary| OtlpTables::of_dictionary(builder, dictionary));
    for resource in resources {
        let result = read_resource(builder, samples, tables.as_ref(), resource);
        if let Err(fault) = result {
            warn_damaged(builder, fault);
        }
    }
    Ok(())
}

fn read_resource(
    builder: &mut ProfileBuilder,
    samples: &mut OtlpSamples,
    tables: Option<&OtlpTables>,
    resource: Field,
) -> Result<(), ProtobufFault> {
    // What a resource is may be told after its profiles.
    samples.start_resource();
    for field in resource.message() {
        let field = field?;
        if field.number == 1 {
            samples.take_resource(builder, tables, field)?;
        }
    }
    for scope in resource.message().map_while(Result::ok).filter(|field| field.number == 2) {
        for field in scope.message() {
            let field = field?;
            match field.number {
                1 => take_scope(builder, field)?,
                2 => samples.take_profile(builder, tables, field)?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn take_scope(builder: &mut ProfileBuilder, scope: Field) -> Result<(), ProtobufFault> {
    let (mut name, mut version) = (String::new(), String::new());
    for field in scope.message() {
        let field = field?;
        match field.number {
            1 => name = field.text().into_owned(),
            2 => version = field.text().into_owned(),
            _ => {}
        }
    }
    let producer = format!("{name} {version}").trim().to_owned();
    if builder.info.producer.is_none() && !producer.is_empty() {
        builder.info.producer = Some(producer);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encodings::protobuf::Writer;
    use perfblame_fixtures::draw;

    const STRINGS: &[&str] =
        &["", "cpu", "nanoseconds", "/bin/prog", "main", "work", "main.c", "thread.name"];

    fn w() -> Writer {
        Writer::default()
    }

    fn text(name: &str) -> i64 {
        STRINGS.iter().position(|known| *known == name).unwrap() as i64
    }

    fn cpu() -> Writer {
        w().int(1, text("cpu")).int(2, text("nanoseconds"))
    }

    /// Tables under the given field numbers: mappings, locations, functions, strings.
    fn tables(mut into: Writer, numbers: [u32; 4]) -> Writer {
        let [mappings, locations, functions, strings] = numbers;
        for text in STRINGS {
            into = into.bytes(strings, text.as_bytes());
        }
        into.message(mappings, w())
            .message(mappings, w().int(1, 0x1000).int(4, text("/bin/prog")))
            .message(functions, w())
            .message(functions, w().int(1, text("main")).int(3, text("main.c")).int(4, 3))
            .message(functions, w().int(1, text("work")).int(3, text("main.c")))
            .message(locations, w())
            .message(locations, w().int(1, 1).int(2, 0x1010).message(3, w().int(1, 1).int(2, 5)))
            .message(locations, w().int(1, 1).int(2, 0x1020).message(3, w().int(1, 2).int(2, 9)))
    }

    fn request(profile: Writer, dictionary: Option<Writer>) -> Vec<u8> {
        let scope = w().message(1, w().bytes(1, b"profiler")).message(2, profile);
        let service = w().bytes(1, b"service.name").message(2, w().bytes(1, b"shop"));
        let resource = w().message(1, w().message(1, service)).message(2, scope);
        let message = w().message(1, resource);
        dictionary
            .into_iter()
            .fold(message, |message, dictionary| message.message(2, dictionary))
            .finish()
    }

    /// Every version holds 20 ns in `work` below `main` and 7 ns in `main`, on one thread.
    fn check(bytes: Vec<u8>, samples: u64) {
        let input = Input::from_bytes(bytes).unwrap();
        assert!(sniff(&input) && !crate::formats::pprof::sniff(&input));
        let profile = read(input, &ReadOptions::default()).unwrap();
        assert_eq!(draw(&profile), "main 27 7\n  work 20 20\n");
        assert_eq!(profile.metrics[0].name, "cpu");
        assert_eq!(profile.samples, samples);
        let (_, thread) = profile.threads().next().unwrap();
        assert_eq!(profile.symbols.text(thread.name), "t1");
        assert_eq!(thread.group.map(|group| profile.symbols.text(group)), Some("shop"));
        assert_eq!(profile.info.producer.as_deref(), Some("profiler"));
        assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
    }

    fn thread_attribute(key: Writer) -> Writer {
        key.message(2, w().bytes(1, b"t1"))
    }

    #[test]
    fn version_1_4_has_tables_in_each_profile() {
        let profile = tables(w().message(1, cpu()), [3, 4, 6, 10])
            .message(7, thread_attribute(w().bytes(1, b"thread.name")))
            .packed(5, &[2, 1])
            .message(2, w().int(1, 0).int(2, 2).packed(3, &[20]).packed(4, &[0]))
            .message(2, w().int(1, 1).int(2, 1).packed(3, &[7]).packed(4, &[0]));
        check(request(profile, None), 2);
    }

    #[test]
    fn version_1_7_has_a_dictionary_and_slices() {
        let dictionary = tables(w(), [1, 2, 3, 5])
            .message(6, thread_attribute(w().bytes(1, b"thread.name")))
            .message(7, w().int(1, 1).int(2, 2));
        let profile = w()
            .message(1, cpu())
            .packed(3, &[2, 1])
            .message(2, w().int(2, 2).packed(3, &[20]).packed(4, &[0]))
            .message(2, w().int(1, 1).int(2, 1).packed(3, &[7]).packed(4, &[0]));
        check(request(profile, Some(dictionary)), 2);
    }

    fn with_stacks() -> Writer {
        tables(w(), [1, 2, 3, 5])
            .message(6, w())
            .message(6, thread_attribute(w().int(1, text("thread.name"))))
            .message(7, w())
            .message(7, w().packed(1, &[2, 1]))
            .message(7, w().packed(1, &[1]))
    }

    #[test]
    fn version_1_9_has_stacks() {
        let profile = w()
            .message(1, cpu())
            .message(2, w().int(1, 1).packed(2, &[20]).packed(3, &[1]))
            .message(2, w().int(1, 2).packed(2, &[7]).packed(3, &[1]));
        check(request(profile, Some(with_stacks())), 2);
    }

    #[test]
    fn version_1_10_has_values_after_attributes() {
        let profile = w()
            .message(1, cpu())
            .message(
                2,
                w().int(1, 1).packed(2, &[1]).packed(4, &[15, 5]).fixed64(5, 100).fixed64(5, 200),
            )
            .message(2, w().int(1, 2).packed(2, &[1]).packed(4, &[7]));
        check(request(profile, Some(with_stacks())), 3);
    }

    #[test]
    fn lists_need_not_be_packed() {
        let profile = w()
            .message(1, cpu())
            .message(2, w().int(1, 1).int(2, 1).int(4, 20))
            .message(2, w().int(1, 2).int(2, 1).int(4, 7));
        check(request(profile, Some(with_stacks())), 2);
    }

    #[test]
    fn messages_may_have_their_length_before_them() {
        let sample = |stack, value| w().int(1, stack).packed(2, &[1]).packed(4, &[value]);
        let mut bytes = Vec::new();
        for (stack, value) in [(1, 20), (2, 7)] {
            let profile = w().message(1, cpu()).message(2, sample(stack, value));
            let message = request(profile, Some(with_stacks()));
            bytes.extend((message.len() as u32).to_be_bytes());
            bytes.extend(message);
        }
        check(bytes, 2);
    }

    /// What `with_stacks` holds, as JSON, with a sample of 20 ns and one of 7 ns.
    const JSON: &str = r#"{"resourceProfiles": [{"resource": {"attributes": [
        {"key": "service.name", "value": {"stringValue": "shop"}},
        {"key": "list", "value": {"arrayValue": {"values": [{"intValue": "1"}]}}}]},
        "scopeProfiles": [{"scope": {"name": "profiler"}, "profiles": [{
        "sampleType": {"typeStrindex": 1, "unitStrindex": 2},
        "samples": [
            {"stackIndex": 1, "attributeIndices": [1], "values": ["15", 5], "linkIndex": 1,
             "timestampsUnixNano": ["1700000000000000100", "1700000000000000200"]},
            {"stackIndex": 2, "attribute_indices": [1], "values": ["7"]}],
        "timeUnixNano": "1700000000000000000", "durationNano": "1000",
        "profileId": "5b8efff798038103d269b633813fc60c"}]}]}],
        "dictionary": {
        "mappingTable": [{}, {"memoryStart": "4096", "filenameStrindex": 3}],
        "locationTable": [{}, {"mappingIndex": 1, "address": "4112", "lines": [{"functionIndex": 1, "line": "5"}]},
            {"mappingIndex": 1, "address": "18446744073709551615", "lines": [{"functionIndex": 2}]}],
        "functionTable": [{}, {"nameStrindex": 4, "filenameStrindex": 6}, {"nameStrindex": 5}],
        "linkTable": [{}, {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174"}],
        "stringTable": ["", "cpu", "nanoseconds", "/bin/prog", "main", "work", "main.c", "thread.name"],
        "attributeTable": [{}, {"keyStrindex": 7, "value": {"stringValue": "t1"}}],
        "stackTable": [{}, {"locationIndices": [2, 1]}, {"locationIndices": [1]}]}}"#;

    #[test]
    fn json_is_read_like_the_message_it_stands_for() {
        check(JSON.as_bytes().to_vec(), 3);
        let old = JSON.replace("\"samples\"", "\"sample\"").replace("\"lines\"", "\"line\"");
        check(old.into_bytes(), 3);
    }

    #[test]
    fn json_may_be_one_object_per_line_and_cut_off() {
        let line = JSON.replace('\n', " ");
        let bytes = format!("{line}\n{line}\n{}", &line[..1000]).into_bytes();
        let profile = read(Input::from_bytes(bytes).unwrap(), &ReadOptions::default()).unwrap();
        assert_eq!(draw(&profile), "main 54 14\n  work 40 40\n");
        assert_eq!(profile.warnings[0].code, "cut-off");
    }

    #[test]
    fn json_of_old_versions_gets_a_clear_error() {
        let text = r#"{"resourceProfiles": [{"scopeProfiles": [{"profiles": [
            {"sample": [{"locationsStartIndex": 0, "locationsLength": 2, "value": ["7"]}]}]}]}]}"#;
        let input = Input::from_bytes(text.as_bytes().to_vec()).unwrap();
        assert!(sniff(&input));
        let error = read(input, &ReadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "this is OpenTelemetry JSON from before version 1.8");
    }

    #[test]
    fn traces_and_logs_are_not_claimed() {
        let span = w().bytes(1, &[7; 16]).bytes(2, &[8; 8]).bytes(5, b"GET /");
        let log = w().fixed64(1, 5).bytes(3, b"INFO");
        let metric = w().bytes(1, b"requests").bytes(3, b"1");
        for record in [span, log, metric] {
            assert!(!sniff(&Input::from_bytes(request(record, None)).unwrap()));
        }
    }
}
