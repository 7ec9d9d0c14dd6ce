//! The texts: heap, growth and fragmentation, contention, threads, Go's counts, and Java's heap and contention.

use std::iter::Peekable;
use std::str::Lines;

use hashbrown::HashMap;
use perfblame_cct::ProfileBuilder;

use super::binary::drop_repeated_leaves;
use super::memory_map::MemoryMap;
use super::{Legacy, LegacySample, Named};
use crate::error::ReadError;

/// What a text's first line says it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LegacyKind {
    Heap,
    JavaHeap,
    Contention,
    Threads,
    /// `goroutine profile: total 3`
    Counts,
}

/// Java samples its heap about every so many bytes, and does not say so.
const JAVA_HEAP_PERIOD: i64 = 512 << 10;

fn kind(first_line: &str) -> Option<LegacyKind> {
    let line = first_line.trim();
    if line.starts_with("heap profile:") && line.contains('@') {
        return Some(LegacyKind::Heap);
    }
    if line == "--- heapz 1 ---" {
        return Some(LegacyKind::JavaHeap);
    }
    if ["--- contentionz ", "--- mutex:", "--- contention:"]
        .iter()
        .any(|start| line.starts_with(start))
    {
        return Some(LegacyKind::Contention);
    }
    if (line.starts_with("--- threadz ") && line.ends_with("---")) || thread_start(line).is_some() {
        return Some(LegacyKind::Threads);
    }
    let (name, total) = line.split_once(" profile: total ")?;
    let is_count =
        !name.is_empty() && !name.contains(char::is_whitespace) && total.parse::<u64>().is_ok();
    is_count.then_some(LegacyKind::Counts)
}

/// True for a text whose first line says that it is one of ours.
pub fn sniff(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').take(50);
    let first = lines.find(|line| !is_blank_or_comment(&String::from_utf8_lossy(line)));
    first.is_some_and(|line| line.len() < 500 && kind(&String::from_utf8_lossy(line)).is_some())
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Reads one of the texts.
pub fn read(builder: &mut ProfileBuilder, text: &str) -> Result<Legacy, ReadError> {
    let mut lines = text.lines().peekable();
    while lines.next_if(|line| is_blank_or_comment(line)).is_some() {}
    let first = lines.next().unwrap_or("");
    let mut reader = LegacyTextReader { builder, legacy: Legacy::default(), lines };
    match kind(first) {
        Some(LegacyKind::Heap) => reader.heap(first)?,
        Some(LegacyKind::JavaHeap) => reader.java("heap"),
        Some(LegacyKind::Contention) => reader.contention(),
        Some(LegacyKind::Threads) => reader.threads(first),
        Some(LegacyKind::Counts) => reader.counts(first),
        None => {
            return Err(ReadError::malformed(
                0,
                "the header of a heap, contention or thread profile is missing",
            ));
        }
    }
    Ok(reader.legacy)
}

struct LegacyTextReader<'a, 'b> {
    builder: &'b mut ProfileBuilder,
    legacy: Legacy,
    lines: Peekable<Lines<'a>>,
}

impl LegacyTextReader<'_, '_> {
    fn damaged(&mut self, line: &str) {
        let line: String = line.chars().take(80).collect();
        self.builder
            .warn("damaged-lines", || format!("invalid lines were left out; the first is {line}"));
    }

    /// Skips to the memory map and reads it.
    fn memory_map(&mut self) {
        self.legacy.map = MemoryMap::read(self.lines.by_ref());
    }

    fn heap(&mut self, header: &str) -> Result<(), ReadError> {
        let damaged = || ReadError::malformed(0, "the header of the heap profile cannot be read");
        let (counts, rest) =
            heap_line(header.trim_start_matches("heap profile:")).ok_or_else(damaged)?;
        let (kind, rate) = rest.trim().split_once('/').unwrap_or((rest.trim(), ""));
        let rate: i64 = rate.parse().unwrap_or(0);
        // Go says twice its rate; v2 profiles hold what was sampled, the older ones estimates already.
        let (period, is_sampled) = match kind {
            "heapz_v2" | "heap_v2" => (rate, true),
            "heap" => (rate / 2, true),
            "heapprofile" | "growthz" | "growth" | "fragmentationz" | "fragmentation" => (1, false),
            _ => {
                let message = format!("heap profiles of the kind `{kind}` are not supported");
                return Err(ReadError::unsupported(message));
            }
        };
        let [in_use, in_use_bytes, allocated, allocated_bytes] = counts;
        let is_plain = kind != "heap" && !kind.starts_with("heap");
        let has_allocations = !is_plain
            && ((allocated != in_use && allocated != 0)
                || (allocated_bytes != in_use_bytes && allocated_bytes != 0));
        let types: &[&str] = if has_allocations {
            &["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
        } else {
            &["objects", "space"]
        };
        let units = ["count", "bytes"].into_iter().cycle();
        self.legacy.types = types.iter().copied().zip(units.map(str::to_owned)).collect();
        self.legacy.period = Some((period, "bytes"));
        let rate = if is_sampled { period } else { 1 };
        while let Some(line) = self.lines.next() {
            if self.comment(line) {
                continue;
            }
            if MemoryMap::starts_after(line) {
                self.memory_map();
                break;
            }
            let Some((counts, addresses)) = heap_line(line) else {
                self.damaged(line);
                continue;
            };
            let [in_use, in_use_bytes, allocated, allocated_bytes] = counts;
            let mut values = Vec::new();
            if has_allocations {
                values.extend(scale_heap(allocated, allocated_bytes, rate));
            }
            values.extend(scale_heap(in_use, in_use_bytes, rate));
            let addresses = call_addresses(addresses);
            self.legacy.samples.push(LegacySample { values, addresses, ..LegacySample::default() });
        }
        Ok(())
    }

    fn contention(&mut self) {
        let mut attributes = Vec::new();
        while let Some(line) =
            self.lines.next_if(|line| is_blank_or_comment(line) || line.contains('='))
        {
            if let Some((key, value)) = line.split_once('=') {
                attributes.push((key.trim(), value.trim()));
            }
        }
        let find =
            |key: &str| attributes.iter().find(|(known, _)| *known == key).map(|(_, value)| *value);
        let number = |key: &str| find(key).and_then(|value| value.parse::<i64>().ok());
        let period = number("sampling period").unwrap_or(1);
        self.legacy.duration = number("ms since reset").map(|ms| ms.saturating_mul(1_000_000));
        if let Some(discarded) = number("discarded samples").filter(|discarded| *discarded > 0) {
            let discarded = discarded.unsigned_abs();
            self.builder.warn_many("lost-samples", discarded, || {
                "the profiler discarded samples".to_owned()
            });
        }
        if find("format") == Some("java") {
            let resolution = find("resolution").unwrap_or("nanoseconds").to_owned();
            self.java_samples("contention", resolution, period);
            return;
        }
        let cycles = number("cycles/second").unwrap_or(0);
        self.legacy.types =
            vec![("contentions", "count".to_owned()), ("delay", "nanoseconds".to_owned())];
        self.legacy.period = Some((period, "count"));
        while let Some(line) = self.lines.next() {
            if self.comment(line) {
                continue;
            }
            if line.trim_start().starts_with("---") {
                if MemoryMap::starts_after(line) || self.lines.any(MemoryMap::starts_after) {
                    self.memory_map();
                }
                break;
            }
            let Some((delay, contentions, addresses)) = pair_line(line) else {
                self.damaged(line);
                continue;
            };
            let (mut delay, mut contentions) = (delay, contentions);
            if period > 0 {
                if cycles > 0 {
                    delay = (delay as f64 * period as f64 / (cycles as f64 / 1e9)) as i64;
                }
                contentions = contentions.saturating_mul(period);
            }
            let addresses = call_addresses(addresses);
            self.legacy.samples.push(LegacySample {
                values: vec![contentions, delay],
                addresses,
                ..LegacySample::default()
            });
        }
    }

    fn java(&mut self, kind: &str) {
        let mut resolution = "bytes".to_owned();
        while let Some(line) =
            self.lines.next_if(|line| is_blank_or_comment(line) || line.contains('='))
        {
            if let Some(("resolution", value)) =
                line.split_once('=').map(|(key, value)| (key.trim(), value.trim()))
            {
                value.clone_into(&mut resolution);
            }
        }
        self.java_samples(kind, resolution, 1);
    }

    fn java_samples(&mut self, kind: &str, resolution: String, period: i64) {
        let is_heap = kind == "heap";
        self.legacy.types = if is_heap {
            vec![("inuse_objects", "count".to_owned()), ("inuse_space", resolution)]
        } else {
            self.legacy.period = Some((period, "count"));
            vec![("contentions", "count".to_owned()), ("delay", resolution)]
        };
        let mut names = Vec::new();
        for line in self.lines.by_ref() {
            let Some((size, count, addresses)) = pair_line(line) else {
                names.push(line);
                continue;
            };
            let values = if is_heap {
                scale_heap(count, size, JAVA_HEAP_PERIOD).to_vec()
            } else {
                let period = period.max(1);
                vec![count.saturating_mul(period), size.saturating_mul(period)]
            };
            let addresses = hex_numbers(addresses).collect();
            self.legacy.samples.push(LegacySample { values, addresses, ..LegacySample::default() });
        }
        self.legacy.names = java_names(names.into_iter());
    }

    fn threads(&mut self, first: &str) {
        self.legacy.types = vec![("thread", "count".to_owned())];
        self.legacy.period = Some((1, "count"));
        let sample_of = |thread| LegacySample {
            values: vec![1],
            thread: Some(thread),
            ..LegacySample::default()
        };
        self.legacy.samples.extend(thread_start(first.trim()).map(sample_of));
        while let Some(line) = self.lines.next() {
            let text = line.trim();
            if MemoryMap::starts_after(text) {
                self.memory_map();
                break;
            }
            if text.starts_with("---") {
                self.legacy.samples.extend(thread_start(text).map(sample_of));
                continue;
            }
            let Some((sample, before)) = self.legacy.samples.split_last_mut() else { continue };
            if text.contains("same as previous thread") {
                if let Some(previous) = before.last() {
                    sample.addresses.clone_from(&previous.addresses);
                }
                continue;
            }
            if let Some(creator) = text.strip_prefix("creator:") {
                sample
                    .addresses
                    .extend(hex_numbers(creator).map(|address| address.wrapping_sub(1)));
                continue;
            }
            // `PC:  0x00bc8f1c: helper(arg *)`; all but the innermost are return addresses.
            let Some(address) = hex_numbers(text).next() else { continue };
            let address =
                if sample.addresses.is_empty() { address } else { address.wrapping_sub(1) };
            sample.addresses.push(address);
            let name = text
                .trim_start_matches("PC:")
                .trim_start()
                .split_once(": ")
                .map(|(_, name)| name.trim());
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                let named = Named { function: name.to_owned(), ..Named::default() };
                self.legacy.names.entry(address).or_insert(named);
            }
        }
        drop_repeated_leaves(&mut self.legacy.samples);
    }

    fn counts(&mut self, first: &str) {
        let name = first.trim().split(' ').next().unwrap_or("").to_owned();
        self.legacy.types = vec![("", "count".to_owned())];
        self.legacy.own_type = Some(name);
        self.legacy.period = Some((1, "count"));
        while let Some(line) = self.lines.next() {
            if self.comment(line) {
                continue;
            }
            if line.starts_with("---") {
                if MemoryMap::starts_after(line) || self.lines.any(MemoryMap::starts_after) {
                    self.memory_map();
                }
                break;
            }
            let parts = line
                .split_once('@')
                .and_then(|(count, rest)| Some((count.trim().parse().ok()?, rest)));
            let Some((count, addresses)) = parts else {
                self.damaged(line);
                continue;
            };
            let addresses = call_addresses(addresses);
            self.legacy.samples.push(LegacySample {
                values: vec![count],
                addresses,
                ..LegacySample::default()
            });
        }
    }

    /// True for a blank line or comment. Go puts the names of a stack into comments below it:
    /// `# 0x44cb2 main.work+0x12 /src/main.go:12`, with tabs between them.
    fn comment(&mut self, line: &str) -> bool {
        if !is_blank_or_comment(line) {
            return false;
        }
        let mut words =
            line.trim_start_matches('#').split('\t').filter(|word| !word.trim().is_empty());
        let (Some(address), Some(name)) = (words.next(), words.next()) else { return true };
        let Some(address) =
            address.trim().strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok())
        else {
            return true;
        };
        let place = words.next().unwrap_or("").trim();
        let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
        let function = name.rsplit_once("+0x").map_or(name, |(name, _)| name).trim().to_owned();
        let named = Named {
            function,
            file: file.to_owned(),
            line: line.parse().unwrap_or(0),
            is_java: false,
        };
        if let Some(sample) = self.legacy.samples.last_mut() {
            sample.named.push((address, named));
        }
        true
    }
}

/// `--- Thread 7f794ab90940 (name: main/14748) stack: ---`: name and id.
fn thread_start(line: &str) -> Option<(String, Option<u64>)> {
    let rest = line.strip_prefix("--- Thread ")?;
    let (_, name) = rest.split_once("(name: ")?;
    let (name, _) = name.rsplit_once(") stack:")?;
    Some(match name.rsplit_once('/') {
        Some((name, id)) => (name.to_owned(), id.parse().ok()),
        None => (name.to_owned(), None),
    })
}

/// `1: 9216 [ 1: 9216] @ 0x…`: the four numbers, and what follows the sign.
fn heap_line(line: &str) -> Option<([i64; 4], &str)> {
    let (numbers, rest) = line.split_once('@')?;
    let mut numbers = numbers.split([' ', ':', '[', ']', '\t']).filter(|word| !word.is_empty());
    let mut next = || numbers.next()?.parse::<i64>().ok();
    let found = [next()?, next()?, next()?, next()?];
    numbers.next().is_none().then_some((found, rest))
}

/// `19490304 27 @ 0x…`: the two numbers, and what follows the sign.
fn pair_line(line: &str) -> Option<(i64, i64, &str)> {
    let (numbers, rest) = line.split_once('@')?;
    let mut numbers = numbers.split_ascii_whitespace();
    let mut next = || numbers.next()?.parse::<i64>().ok();
    let found = (next()?, next()?, rest);
    numbers.next().is_none().then_some(found)
}

/// Return addresses, moved back into the calls.
fn call_addresses(text: &str) -> Vec<u64> {
    hex_numbers(text).map(|address| address.wrapping_sub(1)).collect()
}

fn hex_numbers(text: &str) -> impl Iterator<Item = u64> {
    text.split("0x").skip(1).filter_map(|rest| {
        let end = rest.find(|sign: char| !sign.is_ascii_hexdigit()).unwrap_or(rest.len());
        u64::from_str_radix(&rest[..end], 16).ok()
    })
}

/// What a sampled allocation stands for: a block of average size is sampled with probability 1 − exp(−size/rate).
fn scale_heap(count: i64, size: i64, rate: i64) -> [i64; 2] {
    if count == 0 || rate <= 1 {
        return [count, size];
    }
    if size == 0 {
        return [0, 0];
    }
    let average = size as f64 / count as f64;
    let scale = 1.0 / (1.0 - (-average / rate as f64).exp());
    [(count as f64 * scale) as i64, (size as f64 * scale) as i64]
}

/// Java's names: ` 0x00000003 com.example.Type.method (Source.java:12)`.
pub fn java_names<'a>(lines: impl Iterator<Item = &'a str>) -> HashMap<u64, Named> {
    let mut names = HashMap::new();
    for line in lines {
        let parts =
            line.trim().strip_prefix("0x").and_then(|rest| rest.split_once(char::is_whitespace));
        let Some((address, text)) = parts else { continue };
        let Ok(address) = u64::from_str_radix(address, 16) else { continue };
        let text = text.trim();
        let mut named = Named { is_java: true, ..Named::default() };
        match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
            Some((function, place)) => {
                function.trim().clone_into(&mut named.function);
                match place.rsplit_once(':').map(|(file, line)| (file, line.parse::<i64>())) {
                    Some((file, Ok(line))) => {
                        file.clone_into(&mut named.file);
                        named.line = u64::try_from(line).unwrap_or(0);
                    }
                    _ => place.rsplit('/').next().unwrap_or(place).clone_into(&mut named.file),
                }
            }
            None if text.contains("generated stub/JIT") => "STUB".clone_into(&mut named.function),
            None => text.clone_into(&mut named.function),
        }
        names.insert(address, named);
    }
    names
}
