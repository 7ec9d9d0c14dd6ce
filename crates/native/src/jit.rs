//! Code made at run time, and the two ways its makers tell profilers about it: a text file with one line per function
//! (`/tmp/perf-PID.map`) and a binary log (`jit-PID.dump`) with times, as code is moved and its memory used again.

use std::collections::BTreeMap;

use crate::bytes::{ByteOrder, Bytes};

/// Functions by address; a later one takes the place of those it overlaps.
#[derive(Debug, Default)]
pub struct JitCode {
    functions: BTreeMap<u64, JitFunction>,
}

/// One function made at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JitFunction {
    pub start: u64,
    pub end: u64,
    pub name: String,
    /// Address and line of each piece, by address.
    pub lines: Vec<(u64, u32)>,
    /// Source file of the first line.
    pub file: Option<String>,
}

impl JitCode {
    /// Reads the text form. Lines that make no sense are counted.
    pub fn parse_map(text: &[u8]) -> (Self, u64) {
        let mut code = Self::default();
        let mut damaged = 0;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let parsed = str::from_utf8(line).ok().and_then(|line| {
                let mut words = line.splitn(3, ' ');
                let start = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
                let size = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
                Some((start, size, words.next()?.trim_end()))
            });
            match parsed {
                Some((start, size, name)) => code.insert(JitFunction {
                    start,
                    end: start.saturating_add(size),
                    name: name.to_owned(),
                    lines: Vec::new(),
                    file: None,
                }),
                None => damaged += 1,
            }
        }
        (code, damaged)
    }

    /// Adds a function in place of those whose memory it takes.
    pub fn insert(&mut self, function: JitFunction) {
        let (start, end) = (function.start, function.end);
        if end <= start {
            return;
        }
        if let Some((_, before)) = self.functions.range_mut(..start).next_back() {
            before.end = before.end.min(start);
        }
        let covered: Vec<u64> = self.functions.range(start..end).map(|(start, _)| *start).collect();
        for start in covered {
            self.functions.remove(&start);
        }
        self.functions.insert(start, function);
    }

    fn relocate(&mut self, from: u64, to: u64, size: u64) {
        if let Some(mut function) = self.functions.remove(&from) {
            for line in &mut function.lines {
                line.0 = line.0.wrapping_sub(from).wrapping_add(to);
            }
            function.start = to;
            function.end = to.saturating_add(size);
            self.insert(function);
        }
    }

    /// The function that holds an address.
    pub fn find(&self, address: u64) -> Option<&JitFunction> {
        let (_, function) = self.functions.range(..=address).next_back()?;
        (address < function.end).then_some(function)
    }
}

impl JitFunction {
    /// The source line at an address.
    pub fn line_at(&self, address: u64) -> Option<u32> {
        let after = self.lines.partition_point(|line| line.0 <= address);
        self.lines.get(after.checked_sub(1)?).map(|line| line.1)
    }
}

/// The binary log, played back as time goes on.
#[derive(Debug)]
pub struct JitDump {
    bytes: Vec<u8>,
    order: ByteOrder,
    at: usize,
    /// Lines announced for the next function at this address.
    announced: Option<Announced>,
}

impl JitDump {
    /// Takes the bytes of a log; none when it is no such log.
    pub fn parse(bytes: Vec<u8>) -> Option<Self> {
        let order = match bytes.get(..4)? {
            b"DTiJ" => ByteOrder::Little,
            b"JiTD" => ByteOrder::Big,
            _ => return None,
        };
        let mut fields = Bytes::new(bytes.get(8..)?, order);
        let size = fields.u32()? as usize;
        Some(Self { bytes, order, at: size.max(40), announced: None })
    }

    /// Plays back what happened up to `time`. Returns true when something changed.
    pub fn advance(&mut self, time: u64, code: &mut JitCode) -> bool {
        let mut changed = false;
        loop {
            let Some(head) = self.bytes.get(self.at..) else { return changed };
            let mut fields = Bytes::new(head, self.order);
            let header = (|| Some((fields.u32()?, fields.u32()? as usize, fields.u64()?)))();
            let Some((kind, size, when)) = header else { return changed };
            if when > time || size < 16 {
                return changed;
            }
            let Some(body) = head.get(16..size) else { return changed };
            let body = Bytes::new(body, self.order);
            match kind {
                0 => {
                    if let Some(mut function) = load(body) {
                        if let Some((at, lines, file)) = self.announced.take()
                            && at == function.start
                        {
                            function.lines = lines;
                            function.file = file;
                        }
                        code.insert(function);
                        changed = true;
                    }
                }
                1 => {
                    if let Some((from, to, size)) = moved(body) {
                        code.relocate(from, to, size);
                        changed = true;
                    }
                }
                2 => self.announced = debug_info(body),
                _ => {}
            }
            self.at += size;
        }
    }
}

fn load(mut fields: Bytes<'_>) -> Option<JitFunction> {
    fields.skip(8 + 8)?;
    let start = fields.u64()?;
    let size = fields.u64()?;
    fields.u64()?;
    let name = String::from_utf8_lossy(fields.text()).into_owned();
    Some(JitFunction {
        start,
        end: start.saturating_add(size),
        name,
        lines: Vec::new(),
        file: None,
    })
}

fn moved(mut fields: Bytes<'_>) -> Option<(u64, u64, u64)> {
    fields.skip(8 + 8)?;
    let from = fields.u64()?;
    let to = fields.u64()?;
    Some((from, to, fields.u64()?))
}

type Announced = (u64, Vec<(u64, u32)>, Option<String>);

fn debug_info(mut fields: Bytes<'_>) -> Option<Announced> {
    let start = fields.u64()?;
    let count = fields.u64()?;
    let mut lines = Vec::new();
    let mut file: Option<String> = None;
    for _ in 0..count {
        let Some(address) = fields.u64() else { break };
        let (Some(line), Some(_)) = (fields.u32(), fields.u32()) else { break };
        let name = fields.text();
        // A lone 0xff repeats the name before it. Some versions of V8 write what is left of a name whose memory is in
        // other use already.
        if file.is_none()
            && let Ok(name) = str::from_utf8(name)
            && !name.is_empty()
            && !name.contains(char::is_control)
        {
            file = Some(name.to_owned());
        }
        lines.push((address, line));
    }
    lines.sort_unstable();
    Some((start, lines, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_code_takes_the_place_of_what_it_overlaps() {
        let (code, damaged) = JitCode::parse_map(
            b"1000 100 LazyCompile:~f a b.js:1\n0x1080 10 g\nnonsense\n1010 8 h\n",
        );
        assert_eq!(damaged, 1);
        let name = |address| code.find(address).map(|function| function.name.as_str());
        assert_eq!(name(0x1004), Some("LazyCompile:~f a b.js:1"));
        assert_eq!(name(0x1011), Some("h"));
        assert_eq!(name(0x1084), Some("g"));
        assert_eq!(name(0x1090), None);
    }

    #[test]
    fn remains_of_a_file_name_are_none() {
        let announce = |name: &[u8]| {
            let mut body = [0x1000u64, 1, 0x1000].map(u64::to_le_bytes).concat();
            body.extend([7u32, 0].map(u32::to_le_bytes).concat());
            body.extend(name);
            body.push(0);
            debug_info(Bytes::new(&body, ByteOrder::Little)).unwrap()
        };
        assert_eq!(announce(b"a/f.js"), (0x1000, vec![(0x1000, 7)], Some("a/f.js".to_owned())));
        for name in [&b"]h\x02"[..], b"y\xe2l", b"\xff", b""] {
            assert_eq!(announce(name), (0x1000, vec![(0x1000, 7)], None));
        }
    }

    #[test]
    fn a_log_is_played_back_up_to_a_time() {
        let mut log = b"DTiJ\x01\0\0\0\x28\0\0\0".to_vec();
        log.resize(40, 0);
        let record = |kind: u32, time: u64, body: &[u8]| {
            let mut bytes = kind.to_le_bytes().to_vec();
            bytes.extend((16 + body.len() as u32).to_le_bytes());
            bytes.extend(time.to_le_bytes());
            bytes.extend(body);
            bytes
        };
        let mut body = 0x1000u64.to_le_bytes().to_vec();
        body.extend(1u64.to_le_bytes());
        body.extend(0x1000u64.to_le_bytes());
        body.extend(7u32.to_le_bytes());
        body.extend(0u32.to_le_bytes());
        body.extend(b"f.js\0");
        log.extend(record(2, 5, &body));
        let code_record = |name: &[u8]| {
            let mut body = vec![0; 16];
            for number in [0x1000u64, 0x20, 1] {
                body.extend(number.to_le_bytes());
            }
            body.extend(name);
            body
        };
        log.extend(record(0, 5, &code_record(b"first\0")));
        log.extend(record(0, 9, &code_record(b"second\0")));
        let mut dump = JitDump::parse(log.clone()).unwrap();
        let mut code = JitCode::default();
        assert!(dump.advance(6, &mut code));
        let first = code.find(0x1008).unwrap();
        assert_eq!((first.name.as_str(), first.line_at(0x1008)), ("first", Some(7)));
        assert!(dump.advance(u64::MAX, &mut code));
        assert_eq!(code.find(0x1008).unwrap().name, "second");
        for cut in 0..log.len() {
            if let Some(mut dump) = JitDump::parse(log[..cut].to_vec()) {
                dump.advance(u64::MAX, &mut JitCode::default());
            }
        }
    }
}
