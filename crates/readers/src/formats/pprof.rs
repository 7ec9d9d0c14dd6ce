//! pprof profiles: one protobuf message, usually packed with gzip.
//!
//! The format has no magic number, so the first fields are checked against the schema before a file is claimed. Its
//! string table may stand behind everything that refers to it: a first walk over the top level collects the tables, a
//! second one the samples. Each location becomes frames once, however many samples share it.

mod labels;
mod samples;
mod tables;

use perfblame_cct::{Metric, Profile, ProfileBuilder};

use crate::building::sample_type::{Column, add_metric, unit};
use crate::encodings::protobuf::{Field, Message, ProtobufFault, ProtobufValue};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use samples::PprofSamples;
use tables::PprofTables;

/// Sample types that we keep; the largest number seen in real files is 8.
const MAX_SAMPLE_TYPES: usize = 64;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "pprof",
    producers: "Go, google/pprof, Parca, Node pprof, Pyroscope, py-spy and most continuous profilers",
    sniff,
    read,
    tracer: None,
};

/// True for a message that follows the schema of pprof as far as it can be seen.
pub fn sniff(input: &Input) -> bool {
    let head = input.head();
    let (mut sample_types, mut records, mut texts) = (0, 0, 0);
    let mut message = Message::new(head, 0);
    loop {
        match message.next_field() {
            Ok(Some(field)) => match check(&field) {
                Plausible::No => return false,
                Plausible::SampleType => sample_types += 1,
                Plausible::Record => records += 1,
                Plausible::Text => {
                    // The first text of the table is empty, always.
                    if texts == 0 && !field.bytes().is_empty() {
                        return false;
                    }
                    texts += 1;
                }
                Plausible::Number => {}
            },
            Ok(None) => break,
            // The last field may go on behind the head; in a whole file it is damage.
            Err(_) => break,
        }
    }
    sample_types > 0 && (texts > 0 || records > 0)
}

enum Plausible {
    No,
    SampleType,
    Record,
    Text,
    Number,
}

/// Whether a field of the top level is what the schema says.
fn check(field: &Field) -> Plausible {
    // Fields of a record, as a set of bits: those that hold numbers, and those that hold bytes.
    let follows = |numbers: u32, bytes: u32| {
        let mut fields = field.message();
        let fits = fields.all(|inner| {
            inner.is_ok_and(|inner| {
                let allowed = match inner.value {
                    ProtobufValue::Varint(_) => numbers,
                    ProtobufValue::Bytes(_) => bytes,
                    _ => 0,
                };
                inner.number < 32 && allowed & (1 << inner.number) != 0
            })
        });
        fits && matches!(field.value, ProtobufValue::Bytes(_))
    };
    let of = |fits: bool, kind| if fits { kind } else { Plausible::No };
    match field.number {
        1 => of(follows(0b110, 0) && !field.bytes().is_empty(), Plausible::SampleType),
        2 => of(follows(0b110, 0b1110), Plausible::Record),
        3 => of(follows(0b111_1111_1110, 0), Plausible::Record),
        4 => of(follows(0b10_1110, 0b1_0000), Plausible::Record),
        5 => of(follows(0b11_1110, 0), Plausible::Record),
        6 => of(matches!(field.value, ProtobufValue::Bytes(_)), Plausible::Text),
        11 => of(follows(0b110, 0), Plausible::Number),
        13 => Plausible::Number,
        7..=10 | 12 | 14 | 15 => {
            of(matches!(field.value, ProtobufValue::Varint(_)), Plausible::Number)
        }
        16..=31 => Plausible::Number,
        _ => Plausible::No,
    }
}

/// Reads a pprof profile.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let (tables, fault) = PprofTables::collect(&bytes, &mut builder);
    if let Some(fault) = fault {
        if tables.strings.is_empty() {
            let help = "the file looks cut off; record or download it again";
            return Err(ReadError::from(fault).help(help));
        }
        warn_damaged(&mut builder, fault);
    }
    if tables.sample_types.is_empty() {
        return Err(ReadError::malformed(
            0,
            "there is no sample type, so the meaning of the values is unknown",
        ));
    }
    let columns = metrics(&mut builder, &tables);
    describe(&mut builder, &tables);
    let mut samples = PprofSamples::new(tables.locations(&mut builder), columns);
    for field in Message::new(&bytes, 0).map_while(Result::ok) {
        if field.number == 2 {
            samples.add(&mut builder, &tables, field);
        }
    }
    samples.finish(&mut builder, &tables);
    Ok(builder.finish())
}

fn warn_damaged(builder: &mut ProfileBuilder, fault: ProtobufFault) {
    builder.warn("damaged-records", || {
        format!("invalid records were left out, first at byte {}", fault.offset)
    });
}

/// Adds the metrics, the one that pprof shows by default first: the one the file names, else its last.
fn metrics(builder: &mut ProfileBuilder, tables: &PprofTables) -> Vec<Column> {
    let types = &tables.sample_types;
    let named = types.iter().position(|(kind, _)| {
        tables.default_sample_type != 0 && *kind == tables.default_sample_type
    });
    let first = named.unwrap_or(types.len() - 1);
    let order = std::iter::once(first).chain((0..types.len()).filter(|row| *row != first));
    let period_unit = tables.period_type.map(|(_, word)| unit(&tables.text(word)));
    let mut columns: Vec<Option<Column>> = vec![None; types.len()];
    let mut taken = Vec::new();
    for row in order {
        let (kind, word) = types[row];
        let (unit, scale) = unit(&tables.text(word));
        let mut metric = Metric::sampled(&tables.text(kind), unit);
        // The period is in its own unit, that of some of the metrics.
        if let Some((period_unit, period_scale)) = &period_unit
            && *period_unit == metric.unit
            && tables.period != 0
        {
            metric = metric.with_period(tables.period.saturating_mul(*period_scale));
        }
        let metric = add_metric(builder, &mut taken, metric);
        columns[row] = Some(Column { metric, scale });
    }
    columns.into_iter().flatten().collect()
}

fn describe(builder: &mut ProfileBuilder, tables: &PprofTables) {
    builder.info.started = (tables.time != 0).then_some(tables.time);
    builder.info.duration = (tables.duration != 0).then_some(tables.duration);
    let mut labels = Vec::new();
    for comment in &tables.comments {
        labels.push(("comment".to_owned(), tables.text(*comment).into_owned()));
    }
    for (name, text) in [
        ("drop frames", tables.drop_frames),
        ("keep frames", tables.keep_frames),
        ("documentation", tables.doc_url),
    ] {
        let text = tables.text(text);
        if !text.is_empty() {
            labels.push((name.to_owned(), text.into_owned()));
        }
    }
    if let Some((kind, word)) = tables.period_type {
        let text = format!("{} {} {}", tables.text(kind), tables.period, tables.text(word));
        labels.push(("period".to_owned(), text.trim().to_owned()));
    }
    // The first mapping is the program itself, by convention.
    builder.info.command = tables.program();
    builder.info.labels.extend(labels);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encodings::protobuf::Writer;
    use expect_test::{Expect, expect};
    use perfblame_cct::{Grain, Times};
    use perfblame_fixtures::draw;
    use std::fmt::Write as _;

    const STRINGS: &[&str] = &[
        "",
        "samples",
        "count",
        "cpu",
        "milliseconds",
        "/bin/prog",
        "main",
        "_ZN3foo3barEi",
        "main.c",
        "thread_name",
        "worker-1",
        "thread_id",
        "42",
        "request",
        "/checkout",
        "/lib/libz.so.1",
    ];

    fn text(name: &str) -> i64 {
        STRINGS.iter().position(|known| *known == name).unwrap() as i64
    }

    fn line(function: i64, line: i64) -> Writer {
        Writer::default().int(1, function).int(2, line)
    }

    /// Two binaries, three locations: `main`, one with an inlined function, one without a name.
    fn profile() -> Writer {
        let w = Writer::default;
        let value_type = |kind, unit| w().int(1, text(kind)).int(2, text(unit));
        w().message(1, value_type("samples", "count"))
            .message(1, value_type("cpu", "milliseconds"))
            .message(3, w().int(1, 1).int(2, 0x1000).int(3, 0x2000).int(5, text("/bin/prog")))
            .message(
                3,
                w().int(1, 2)
                    .int(2, 0x8000)
                    .int(3, 0x9000)
                    .int(4, 0x100)
                    .int(5, text("/lib/libz.so.1")),
            )
            .message(4, w().int(1, 1).int(2, 1).int(3, 0x1010).message(4, line(1, 12)))
            .message(
                4,
                w().int(1, 900_000)
                    .int(2, 1)
                    .int(3, 0x1020)
                    .message(4, line(2, 7))
                    .message(4, line(1, 14)),
            )
            .message(4, w().int(1, 3).int(2, 2).int(3, 0x8042))
            .message(5, w().int(1, 1).int(2, text("main")).int(4, text("main.c")).int(5, 10))
            .message(5, w().int(1, 2).int(3, text("_ZN3foo3barEi")).int(4, text("main.c")))
            .message(11, value_type("cpu", "milliseconds"))
            .int(12, 10)
            .int(9, 1_700_000_000_000_000_000)
            .int(10, 2_000_000_000)
    }

    fn with_strings(mut profile: Writer) -> Vec<u8> {
        for text in STRINGS {
            profile = profile.bytes(6, text.as_bytes());
        }
        profile.finish()
    }

    fn sample(locations: &[i64], values: &[i64]) -> Writer {
        Writer::default().packed(1, locations).packed(2, values)
    }

    fn check(bytes: Vec<u8>, options: &ReadOptions, expected: &Expect) {
        let input = Input::from_bytes(bytes).unwrap();
        assert!(sniff(&input));
        let profile = read(input, options).unwrap();
        let mut out = format!("{} samples\n", profile.samples);
        for (id, metric) in profile.metrics() {
            let total = profile.cells.total(id);
            let _ = writeln!(
                out,
                "{} {} {total} period {:?}",
                metric.name,
                metric.unit.name(),
                metric.period
            );
        }
        for node in profile.tree.nodes() {
            let frame = profile.symbols.frame(profile.tree.frame(node));
            let function = profile.symbols.function(frame.function);
            let depth = profile.tree.ancestors(node).count();
            let _ = writeln!(
                out,
                "{:depth$}{} in {:?} {:?} line {:?} at {:?} {:?}{}",
                "",
                profile.name_of(node),
                profile.symbols.component(frame.function).unwrap_or(""),
                function.layer,
                function.line,
                frame.line,
                frame.address,
                if frame.inlined { " inlined" } else { "" },
            );
        }
        for (_, thread) in profile.threads() {
            let _ = writeln!(out, "thread {} {:?}", profile.symbols.text(thread.name), thread.tid);
        }
        for (key, value) in &profile.info.labels {
            let _ = writeln!(out, "{key}: {value}");
        }
        for warning in &profile.warnings {
            let _ = writeln!(out, "{} {}: {}", warning.count, warning.code, warning.message);
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn frames_inlined_functions_and_addresses() {
        let bytes = profile()
            .message(2, sample(&[3, 900_000, 1], &[2, 20]))
            .message(2, sample(&[1], &[-1, -10]));
        let options =
            ReadOptions { grain: Grain::Frames, times: Times::Drop, ..ReadOptions::default() };
        check(
            with_strings(bytes),
            &options,
            &expect![[r#"
            2 samples
            cpu ns 10000000 period Some(10000000)
            samples count 1 period None
             main in "/bin/prog" Application line Some(10) at Some(12) Some(4112)
              main in "/bin/prog" Application line Some(10) at Some(14) Some(4128)
               foo::bar in "/bin/prog" Application line None at Some(7) Some(4128) inlined
                libz.so.1+0x142 in "/lib/libz.so.1" Library line None at None Some(32834)
            period: cpu 10 milliseconds
        "#]],
        );
    }

    #[test]
    fn labels_name_threads_and_are_counted() {
        let w = Writer::default;
        let label = |key, value| w().int(1, text(key)).int(2, text(value));
        let bytes = profile()
            .message(
                2,
                sample(&[1], &[1, 10])
                    .message(3, label("thread_name", "worker-1"))
                    .message(3, label("thread_id", "42"))
                    .message(3, label("request", "/checkout")),
            )
            .message(
                2,
                sample(&[1], &[1, 10])
                    .message(3, w().int(1, text("request")).int(3, 5).int(4, text("count"))),
            );
        check(
            with_strings(bytes),
            &ReadOptions::default(),
            &expect![[r#"
            2 samples
            cpu ns 20000000 period Some(10000000)
            samples count 2 period None
             main in "/bin/prog" Application line Some(10) at None None
            thread worker-1 Some(42)
            label request: 2 samples, 2 values: /checkout (1), 5 count (1)
            period: cpu 10 milliseconds
        "#]],
        );
    }

    #[test]
    fn damage_is_counted() {
        let cut = Writer::default().bytes(1, &[0x80]);
        let bytes = profile()
            .message(2, sample(&[1, 77], &[1, 10]))
            .message(2, sample(&[], &[1, 10]))
            .message(2, sample(&[1], &[1]))
            .message(2, cut);
        check(
            with_strings(bytes),
            &ReadOptions::default(),
            &expect![[r#"
                3 samples
                cpu ns 20000000 period Some(10000000)
                samples count 3 period None
                 [unknown] in "" Application line None at None None
                  main in "/bin/prog" Application line Some(10) at None None
                 (truncated) in "" Runtime line None at None None
                 main in "/bin/prog" Application line Some(10) at None None
                period: cpu 10 milliseconds
                1 unknown-locations: samples refer to locations that are not in the file
                1 samples-without-stack: samples without a stack are kept as truncated
                1 samples-with-odd-values: samples have more or fewer values than the file has sample types
                1 damaged-records: invalid records were left out, first at byte 161
            "#]],
        );
    }

    #[test]
    fn a_file_cut_before_its_strings_is_an_error() {
        let mut bytes = profile().finish();
        bytes.truncate(bytes.len() - 2);
        let error = read(Input::from_bytes(bytes).unwrap(), &ReadOptions::default()).unwrap_err();
        expect!["at byte 126: a record needs 4 bytes, 3 left"].assert_eq(&error.to_string());
    }

    #[test]
    fn other_messages_are_not_claimed() {
        let w = Writer::default;
        for bytes in [
            // An OTLP message: field 1 holds messages, not numbers.
            w().message(1, w().message(1, w().message(1, w().bytes(1, b"service.name")))).finish(),
            b"\n\nmain;foo 1\n".to_vec(),
            w().int(1, 5).finish(),
            w().bytes(6, b"first text is not empty").message(1, w().int(1, 1)).finish(),
        ] {
            assert!(!sniff(&Input::from_bytes(bytes.clone()).unwrap()), "{bytes:?}");
        }
    }

    #[test]
    fn a_real_profile() {
        let path = perfblame_fixtures::samples().join("pprof/speedscope-simple.prof");
        let profile = read(Input::open(&path).unwrap(), &ReadOptions::default()).unwrap();
        expect![[r"
            runtime.main 1360000000 0
              main.main 1360000000 0
                main.alpha 260000000 260000000
                main.beta 250000000 250000000
                main.delta 580000000 220000000
                  main.alpha 220000000 220000000
                  main.beta 140000000 140000000
                main.gamma 270000000 270000000
            runtime.morestack 110000000 0
              runtime.newstack 110000000 0
                runtime.duffcopy 110000000 110000000
            runtime.mstart 20000000 0
              runtime.mstart1 20000000 0
                runtime.sysmon 20000000 0
                  runtime.usleep 20000000 20000000
            runtime.timerproc 10000000 0
              runtime.goroutineReady 10000000 0
                runtime.goready 10000000 0
                  runtime.systemstack 10000000 0
                    runtime.goready.func1 10000000 0
                      runtime.ready 10000000 0
                        runtime.wakep 10000000 0
                          runtime.startm 10000000 0
                            runtime.notewakeup 10000000 0
                              runtime.semawakeup 10000000 0
                                runtime.mach_semrelease 10000000 0
                                  runtime.mach_semaphore_signal 10000000 10000000
        "]]
        .assert_eq(&draw(&profile));
    }
}
