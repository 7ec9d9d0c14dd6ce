//! Drawn traces of each version of the wire.

use super::*;
use perfblame_fixtures::{draw, read_damaged};

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

fn object(out: &mut Vec<u8>, name: &str) {
    out.extend([5, 5, 1, 4, 0, 0, 0, 4, 0, 0, 0]);
    out.extend((name.len() as u32).to_le_bytes());
    out.extend(name.bytes());
    out.push(6);
}

fn block(out: &mut Vec<u8>, name: &str, body: &[u8]) {
    object(out, name);
    out.extend((body.len() as u32).to_le_bytes());
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend(body);
    out.push(6);
}

/// A compressed event that says everything: description, thread, stack, time, length.
fn event(metadata: u8, stack: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0x8d, metadata, 7, stack, 10, payload.len() as u8];
    out.extend(payload);
    out
}

fn events(events: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![20, 0, 1, 0];
    out.resize(20, 0);
    out.extend(events.concat());
    out
}

fn description(id: u32, provider: &str, number: u32) -> Vec<u8> {
    let payload =
        [&id.to_le_bytes()[..], &utf16(provider), &number.to_le_bytes(), &utf16("")].concat();
    event(0, 0, &payload)
}

fn method(start: u64, class: &str, name: &str) -> Vec<u8> {
    let numbers = [&[0; 16][..], &start.to_le_bytes(), &0x10u32.to_le_bytes(), &[0; 8]].concat();
    let payload = [&numbers[..], &utf16(class), &utf16(name), &utf16("void ()")].concat();
    event(3, 0, &payload)
}

fn trace() -> Vec<u8> {
    let mut out = b"Nettrace\x14\0\0\0!FastSerialization.1".to_vec();
    object(&mut out, "Trace");
    for part in [2020u16, 11, 3, 25, 0, 16, 23, 949] {
        out.extend(part.to_le_bytes());
    }
    out.extend(0u64.to_le_bytes());
    out.extend(1_000_000_000u64.to_le_bytes());
    for part in [8u32, 99, 4, 1_000_000] {
        out.extend(part.to_le_bytes());
    }
    out.push(6);
    let descriptions = [
        description(1, "Microsoft-DotNETCore-SampleProfiler", 0),
        description(2, "Microsoft-Windows-DotNETRuntime", 10),
        description(3, "Microsoft-Windows-DotNETRuntimeRundown", 144),
    ];
    block(&mut out, "MetadataBlock", &events(&descriptions));
    let stack = |addresses: &[u64]| {
        let bytes: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
        [&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat()
    };
    let header = [1u32.to_le_bytes(), 2u32.to_le_bytes()].concat();
    block(&mut out, "StackBlock", &[header, stack(&[0x2004, 0x1004]), stack(&[0x1008])].concat());
    let samples = [
        event(1, 1, &2u32.to_le_bytes()),
        event(1, 2, &1u32.to_le_bytes()),
        event(2, 2, &[&100_000u32.to_le_bytes()[..], &[0; 6], &100_008u64.to_le_bytes()].concat()),
    ];
    block(&mut out, "EventBlock", &events(&samples));
    // The same numbers stand for other stacks now.
    let header = [1u32.to_le_bytes(), 1u32.to_le_bytes()].concat();
    block(&mut out, "StackBlock", &[header, stack(&[0x9000])].concat());
    let rest = [
        event(1, 1, &2u32.to_le_bytes()),
        method(0x1000, "App.Main", "Run"),
        method(0x2000, "", "Work"),
    ];
    block(&mut out, "EventBlock", &events(&rest));
    block(&mut out, "SPBlock", &[0; 12]);
    out.push(1);
    out
}

#[test]
fn samples_get_the_names_told_at_the_end() {
    let input = Input::from_bytes(trace()).unwrap();
    assert!(sniff(&input));
    let profile = read(input, &ReadOptions::default()).unwrap();
    assert_eq!(
        draw(&profile),
        "0x9000 1 1\nApp.Main.Run 2 0\n  (unmanaged code) 1 1\n  Work 1 1\n"
    );
    let totals: Vec<_> = profile
        .metrics()
        .map(|(id, about)| (about.name.as_str(), profile.cells.total(id)))
        .collect();
    assert_eq!(totals, [("samples", 3), ("allocated", 100_008)]);
    assert_eq!(profile.samples, 3);
    assert_eq!(profile.threads[0].tid, Some(7));
    assert_eq!(profile.info.started, Some(1_606_263_383_949_000_000));
    assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
}

fn block_6(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.extend((body.len() as u32 | u32::from(kind) << 24).to_le_bytes());
    out.extend(body);
}

fn text_6(text: &str) -> Vec<u8> {
    [&[text.len() as u8], text.as_bytes()].concat()
}

fn row_6(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u16).to_le_bytes()[..], body].concat()
}

/// A description whose fields are numbers of variable length, but for texts.
fn description_6(id: u8, provider: &str, name: &str, fields: &[&str]) -> Vec<u8> {
    let mut body = [&[id][..], &text_6(provider), &[0], &text_6(name)].concat();
    body.extend((fields.len() as u16).to_le_bytes());
    for field in fields {
        // A list of UTF-8 units, or a number without a sign.
        let kind: &[u8] = if field.ends_with("Name") { &[19, 23] } else { &[21] };
        body.extend(row_6(&[&text_6(field), kind].concat()));
    }
    body.extend([0, 0]);
    row_6(&body)
}

/// A compressed event with thread, stack and labels.
fn event_6(metadata: u8, thread: u8, stack: u8, payload: &[u8]) -> Vec<u8> {
    [&[0x9d, metadata, thread, stack, 10, 3, payload.len() as u8][..], payload].concat()
}

fn trace_6() -> Vec<u8> {
    let mut out = b"Nettrace\0\0\0\0\x06\0\0\0\x01\0\0\0".to_vec();
    let mut about = Vec::new();
    for part in [2025u16, 11, 3, 25, 0, 16, 23, 949] {
        about.extend(part.to_le_bytes());
    }
    about.extend(0u64.to_le_bytes());
    about.extend(1_000_000u64.to_le_bytes());
    about.extend(8u32.to_le_bytes());
    about.extend(1u32.to_le_bytes());
    about.extend([text_6("HardwareThreadCount"), text_6("4")].concat());
    block_6(&mut out, version6::TRACE, &about);
    let descriptions = [
        vec![0, 0],
        description_6(1, "Universal.Events", "cpu", &["Value"]),
        description_6(2, "Universal.Events", "cswitch", &["Value"]),
        description_6(3, "Universal.System", "ProcessCreate", &["NamespaceId", "Name"]),
        description_6(
            4,
            "Universal.System",
            "ProcessMapping",
            &["Id", "StartAddress", "EndAddress", "FileOffset", "FileName", "MetadataId"],
        ),
        description_6(
            5,
            "Universal.System",
            "ProcessSymbol",
            &["Id", "MappingId", "StartAddress", "EndAddress", "Name"],
        ),
    ];
    block_6(&mut out, version6::METADATA, &descriptions.concat());
    // Kinds: name, process, thread, one that nobody knows.
    let threads = [
        row_6(&[&[0, 1][..], &text_6("worker"), &[2, 50, 3, 51]].concat()),
        row_6(&[1, 2, 60, 3, 61, 99, 1, 2]),
    ];
    block_6(&mut out, version6::THREADS, &threads.concat());
    let stack = |addresses: &[u64]| {
        let bytes: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
        [&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat()
    };
    let stacks = [
        &1u32.to_le_bytes()[..],
        &2u32.to_le_bytes(),
        &stack(&[0x18, 0x11]),
        &stack(&[u64::MAX - 9, 0x11]),
    ];
    block_6(&mut out, version6::STACKS, &stacks.concat());
    block_6(&mut out, 200, b"of a later version");
    let name = |text: &str| row_6(text.as_bytes());
    let events_of = [
        event_6(3, 0, 0, &[&[50][..], &name("server")].concat()),
        event_6(4, 0, 0, &[&[7, 0x10, 0x1f, 0][..], &name("/app/server"), &[0]].concat()),
        event_6(5, 0, 0, &[&[1, 7, 0x10, 0x14][..], &name("main")].concat()),
        event_6(5, 0, 0, &[&[2, 7, 0x15, 0x1a][..], &name("work")].concat()),
        event_6(1, 0, 1, &[2]),
        event_6(1, 1, 1, &[1]),
        event_6(2, 0, 2, &[30]),
    ];
    block_6(&mut out, version6::EVENTS, &events(&events_of));
    block_6(&mut out, version6::END, &[]);
    out
}

#[test]
fn version_6_tells_of_whole_machines() {
    let input = Input::from_bytes(trace_6()).unwrap();
    assert!(sniff(&input));
    let profile = read(input, &ReadOptions::default()).unwrap();
    // The other process has no code that the trace tells of.
    assert_eq!(
        draw(&profile),
        "0x11 1 0\n  0x18 1 1\nmain 2 0\n  0xfffffffffffffff6 0 0\n  work 2 2\n"
    );
    let totals: Vec<_> = profile
        .metrics()
        .map(|(id, about)| (about.name.as_str(), profile.cells.total(id)))
        .collect();
    assert_eq!(totals, [("samples", 3), ("blocked", 30_000)]);
    let threads: Vec<_> = (profile.threads.iter())
        .map(|thread| {
            let process = thread.process.map(|name| profile.symbols.text(name));
            (profile.symbols.text(thread.name), process, thread.pid, thread.tid)
        })
        .collect();
    assert_eq!(
        threads,
        [("worker", Some("server"), Some(50), Some(51)), ("", None, Some(60), Some(61))]
    );
    let layers = profile.symbols.functions().filter(|(_, row)| row.layer == Layer::Kernel);
    assert_eq!(layers.count(), 1);
    assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
}

#[test]
fn later_versions_get_a_clear_error() {
    let mut bytes = trace_6();
    bytes[12] = 7;
    let error = read(Input::from_bytes(bytes).unwrap(), &ReadOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "at byte 8: this version (7) of .NET's trace format is not supported; versions 4 to 6 are"
    );
}

#[test]
fn nettrace_never_panics() {
    for whole in [trace(), trace_6()] {
        let outcome = read_damaged(&whole, 0..500, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
        assert!(outcome.refused > 0);
    }
}
