//! Profiles of the time before pprof had a file format: gperftools' binary CPU profiles, and texts of heap, growth,
//! contention and threads by gperftools, Go and Java servers.
//!
//! All of them are lists of values with a stack of addresses, followed by a memory map or by names. Values are scaled
//! the way pprof does it: a heap sample stands for all the allocations that the sampler let pass, a contention for the
//! period between two of them. Where Go and threadz print names beside the addresses, they are used.

mod binary;
mod memory_map;
mod text;

use std::num::NonZeroU64;

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FrameId, Function, Layer, Metric, Profile, ProfileBuilder, Thread, ThreadId, position,
};
use perfblame_native::demangle;

use crate::building::module_frame::unsymbolised_function;
use crate::building::sample_type::{Column, add_metric, unit};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use memory_map::MemoryMap;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "pprof legacy",
    producers: "gperftools CPU and heap profilers, old Go and Java servers (heap, contention, threads)",
    sniff,
    read,
    tracer: None,
};

/// True for the header of a binary CPU profile, or a first line that only these texts have.
pub fn sniff(input: &Input) -> bool {
    binary::sniff(input.head()) || text::sniff(input.head())
}

/// Reads a legacy profile.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let legacy = if binary::sniff(&bytes) {
        binary::read(&mut builder, &bytes)?
    } else {
        text::read(&mut builder, &String::from_utf8_lossy(&bytes))?
    };
    legacy.add_to(&mut builder);
    Ok(builder.finish())
}

/// What all of these profiles hold.
#[derive(Default)]
struct Legacy {
    /// Type and unit of each value; pprof shows the last by default.
    types: Vec<(&'static str, String)>,
    /// For types that are not among the known ones.
    own_type: Option<String>,
    /// What one sample stands for, with its unit.
    period: Option<(i64, &'static str)>,
    duration: Option<i64>,
    samples: Vec<LegacySample>,
    map: MemoryMap,
    names: HashMap<u64, Named>,
    labels: Vec<(String, String)>,
}

#[derive(Clone, Default)]
struct LegacySample {
    values: Vec<i64>,
    /// Innermost first.
    addresses: Vec<u64>,
    /// Innermost first; where there are names they stand for the addresses.
    named: Vec<(u64, Named)>,
    /// Name and id of the thread.
    thread: Option<(String, Option<u64>)>,
}

/// What a file says of an address.
#[derive(Clone, Default, PartialEq, Eq)]
struct Named {
    function: String,
    file: String,
    line: u64,
    is_java: bool,
}

impl Legacy {
    fn add_to(self, builder: &mut ProfileBuilder) {
        let columns = self.columns(builder);
        builder.info.duration = self.duration;
        builder.info.command = self.map.program().map(str::to_owned);
        builder.info.labels.extend(self.labels.iter().cloned());
        let mut frames: HashMap<u64, FrameId> = HashMap::new();
        let mut threads: HashMap<(String, Option<u64>), ThreadId> = HashMap::new();
        let mut stack = Vec::new();
        for sample in &self.samples {
            stack.clear();
            if sample.named.is_empty() {
                for address in sample.addresses.iter().rev() {
                    let frame =
                        *frames.entry(*address).or_insert_with(|| self.frame(builder, *address));
                    stack.push(frame);
                }
            } else {
                for (address, name) in sample.named.iter().rev() {
                    stack.push(self.named_frame(builder, *address, name));
                }
            }
            let at = if let Some(at) = builder.stack(&stack) {
                at
            } else {
                builder.warn("samples-without-stack", || {
                    "samples without a stack are kept as truncated".to_owned()
                });
                builder.truncated_root()
            };
            let thread = sample.thread.as_ref().map(|thread| {
                *threads.entry(thread.clone()).or_insert_with(|| {
                    let name = builder.string(&thread.0);
                    builder.thread(Thread { tid: thread.1, ..Thread::named(name) })
                })
            });
            for (value, column) in sample.values.iter().zip(&columns) {
                if *value != 0 {
                    builder.add(at, thread, column.metric, value.saturating_mul(column.scale));
                }
            }
            builder.count_samples(1);
        }
    }

    fn columns(&self, builder: &mut ProfileBuilder) -> Vec<Column> {
        let mut columns = vec![None; self.types.len()];
        let mut taken = Vec::new();
        let last = self.types.len().saturating_sub(1);
        for row in std::iter::once(last).chain(0..last).take(self.types.len()) {
            let (name, word) = &self.types[row];
            let name = self.own_type.as_deref().unwrap_or(name);
            let (unit, scale) = unit(word);
            let mut metric = Metric::sampled(name, unit);
            if let Some((period, word)) = self.period {
                let (period_unit, period_scale) = crate::building::sample_type::unit(word);
                if period_unit == metric.unit && period > 0 {
                    metric = metric.with_period(period.saturating_mul(period_scale));
                }
            }
            columns[row] = Some(Column { metric: add_metric(builder, &mut taken, metric), scale });
        }
        columns.into_iter().flatten().collect()
    }

    fn frame(&self, builder: &mut ProfileBuilder, address: u64) -> FrameId {
        if let Some(name) = self.names.get(&address) {
            return self.named_frame(builder, address, name);
        }
        let (binary, start, offset) = self.map.find(address).unwrap_or(("", 0, 0));
        let function = unsymbolised_function(builder, binary, start, offset, address);
        builder.frame(Frame { address: NonZeroU64::new(address), ..Frame::of(function) })
    }

    fn named_frame(&self, builder: &mut ProfileBuilder, address: u64, named: &Named) -> FrameId {
        let name = demangle(&named.function);
        let mut function = Function::named(builder.string(&name));
        let file = (!named.file.is_empty()).then(|| builder.string(&named.file));
        if named.is_java {
            // `java.util.HashMap.get`: the class is the component.
            match name.rsplit_once('.') {
                Some((class, _)) => {
                    function.component = Some(builder.string(class));
                    function.file = file;
                }
                None => function.component = file,
            }
            function.layer = match &*name {
                "GC" => Layer::GarbageCollection,
                "VM" | "Compile" | "STUB" => Layer::Runtime,
                _ => Layer::Application,
            };
        } else if let Some((binary, _, _)) = self.map.find(address) {
            function.component = Some(builder.string(binary));
            function.file = file;
            function.layer = perfblame_native::layer_of(binary);
        } else {
            function.component = file;
            if name.starts_with("runtime.") {
                function.layer = Layer::Runtime;
            }
        }
        let function = builder.function(function);
        // Java's addresses are row numbers of its table of names.
        let address = NonZeroU64::new(address).filter(|_| !named.is_java);
        builder.frame(Frame { address, line: position(named.line), ..Frame::of(function) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use perfblame_fixtures::draw;

    fn check(bytes: Vec<u8>, expected: &Expect) {
        let input = Input::from_bytes(bytes).unwrap();
        assert!(sniff(&input));
        let profile = read(input, &ReadOptions::default()).unwrap();
        let metric = &profile.metrics[0];
        let warnings: Vec<_> =
            profile.warnings.iter().map(|w| format!("{} {}\n", w.count, w.code)).collect();
        let about = format!("{} {} {:?}\n", metric.name, metric.unit.name(), metric.period);
        expected.assert_eq(&format!("{about}{}{}", draw(&profile), warnings.concat()));
    }

    /// A CPU profile of two samples; the second address is that of the signal handler.
    fn cpu(word: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
        let words = [
            0, 3, 0, 10_000, 0, 3, 3, 0x1001, 0x9001, 0x1101, 1, 3, 0x1002, 0x9001, 0x1201, 0, 1, 0,
        ];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(word).collect();
        bytes.extend(b"00001000-00002000 r-xp 00000000 08:01 12 /bin/prog\n");
        bytes
    }

    #[test]
    fn words_of_either_size_and_end() {
        let kinds: [fn(u64) -> Vec<u8>; 4] = [
            |word| (word as u32).to_le_bytes().to_vec(),
            |word| (word as u32).to_be_bytes().to_vec(),
            |word| word.to_le_bytes().to_vec(),
            |word| word.to_be_bytes().to_vec(),
        ];
        for kind in kinds {
            let expected = expect![[r"
                cpu ns Some(10000000)
                prog+0x100 30000000 0
                  prog+0x1 30000000 30000000
                prog+0x200 10000000 0
                  prog+0x2 10000000 10000000
            "]];
            check(cpu(kind), &expected);
        }
    }

    #[test]
    fn a_cut_cpu_profile_keeps_its_samples() {
        let mut bytes = cpu(|word| word.to_le_bytes().to_vec());
        bytes.truncate(8 * 14);
        check(
            bytes,
            &expect![[r"
            cpu ns Some(10000000)
            0x1100 30000000 0
              0x9000 30000000 0
                0x1001 30000000 30000000
            1 cut-off
        "]],
        );
    }

    #[test]
    fn go_s_comments_name_the_frames() {
        let text = "goroutine profile: total 3\n2 @ 0x44cb3 0x45045\n#\t0x44cb2\tmain.wait+0x12\t/src/main.go:7\n\
            #\t0x45044\tmain.main+0x44\t/src/main.go:20\n\n1 @ 0x45045\n#\t0x45044\tmain.main+0x44\t/src/main.go:20\n\
            bad line\n";
        check(
            text.as_bytes().to_vec(),
            &expect![[r"
            goroutine count Some(1)
            main.main 3 1
              main.wait 2 2
            1 damaged-lines
        "]],
        );
    }

    #[test]
    fn heaps_are_scaled_to_what_was_allocated() {
        let text = "heap profile: 1: 9216 [ 3: 20000] @ heap_v2/524288\n 1: 9216 [ 3: 20000] @ 0x11 0x21\n\
            MAPPED_LIBRARIES:\n00000010-00000100: /bin/prog\n";
        check(
            text.as_bytes().to_vec(),
            &expect![[r"
            inuse_space bytes Some(524288)
            prog+0x10 528909 0
              prog+0x0 528909 528909
        "]],
        );
    }

    #[test]
    fn other_texts_are_not_claimed() {
        for text in [
            "heap profile\n",
            "a profile: total x\n",
            "--- Thread\n",
            "two words profile: total 3\n",
            "",
        ] {
            assert!(!sniff(&Input::from_bytes(text.as_bytes().to_vec()).unwrap()), "{text}");
        }
    }
}
