//! pprof: gzip-packed protocol buffers, as `go tool pprof` and most profile stores read them.
//!
//! The message is small and fixed, so it is written by hand, field by field, after `profile.proto` of google/pprof. A
//! location holds a frame and, before it, the frames inlined into it. Threads become the labels `thread`, `tid` and
//! `pid`, which pprof can show as tags.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use hashbrown::HashMap;
use perfblame_analysis::function_name;
use perfblame_cct::{FrameId, FunctionId, Metric, NodeId, Profile, StringId, Unit};

/// Writes every metric of a profile.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let message = Encoder::new(profile).encode();
    let mut packed = GzEncoder::new(out, Compression::new(6));
    packed.write_all(&message)?;
    packed.finish()?;
    Ok(())
}

/// Field numbers of `message Profile`.
mod field {
    pub const SAMPLE_TYPE: u32 = 1;
    pub const SAMPLE: u32 = 2;
    pub const MAPPING: u32 = 3;
    pub const LOCATION: u32 = 4;
    pub const FUNCTION: u32 = 5;
    pub const STRING_TABLE: u32 = 6;
    pub const TIME_NANOS: u32 = 9;
    pub const DURATION_NANOS: u32 = 10;
    pub const PERIOD_TYPE: u32 = 11;
    pub const PERIOD: u32 = 12;
    pub const COMMENT: u32 = 13;
    pub const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

struct Encoder<'a> {
    profile: &'a Profile,
    strings: Vec<&'a str>,
    string_index: HashMap<&'a str, u64>,
    functions: HashMap<FunctionId, u64>,
    mappings: HashMap<StringId, u64>,
    /// A frame with those inlined into it, outermost first.
    locations: HashMap<Vec<FrameId>, u64>,
    out: Message,
}

impl<'a> Encoder<'a> {
    fn new(profile: &'a Profile) -> Self {
        let mut encoder = Self {
            profile,
            strings: Vec::new(),
            string_index: HashMap::new(),
            functions: HashMap::new(),
            mappings: HashMap::new(),
            locations: HashMap::new(),
            out: Message::default(),
        };
        // The first string has to be the empty one.
        encoder.string("");
        encoder
    }

    fn encode(mut self) -> Vec<u8> {
        let profile = self.profile;
        for metric in &profile.metrics {
            let value_type = self.value_type(metric);
            self.out.message(field::SAMPLE_TYPE, &value_type);
        }
        let mut stacks: HashMap<NodeId, Vec<u64>> = HashMap::new();
        for cell in profile.cells.rows() {
            if cell.values.iter().all(|value| *value == 0) {
                continue;
            }
            let mut sample = Message::default();
            let stack = stacks.entry(cell.node).or_insert_with(|| self.stack(cell.node));
            sample.packed(1, stack.iter().copied());
            let values = cell.values.iter().zip(&profile.metrics);
            sample.packed(2, values.map(|(value, metric)| whole(*value, metric) as u64));
            if let Some(thread) = cell.thread.and_then(|id| profile.threads.get(id.index())) {
                let name = profile.symbols.text(thread.name);
                if !name.is_empty() {
                    let text = self.string(name);
                    self.label(&mut sample, "thread", |label| label.number(2, text));
                }
                for (key, id) in [("tid", thread.tid), ("pid", thread.pid)] {
                    if let Some(id) = id {
                        self.label(&mut sample, key, |label| label.number(3, id));
                    }
                }
                if let Some(process) = thread.process {
                    let text = self.string(profile.symbols.text(process));
                    self.label(&mut sample, "process", |label| label.number(2, text));
                }
            }
            self.out.message(field::SAMPLE, &sample);
        }
        let info = &profile.info;
        let comments = [("producer", &info.producer), ("command", &info.command)];
        let mut texts: Vec<String> = comments
            .into_iter()
            .filter_map(|(key, value)| Some(format!("{key}: {}", value.as_ref()?)))
            .collect();
        texts.extend(info.labels.iter().map(|(key, value)| format!("{key}: {value}")));
        // Comments are strings of their own, after those of the profile.
        let first_comment = self.strings.len() as u64;
        self.out.packed(field::COMMENT, (0..texts.len() as u64).map(|row| first_comment + row));
        if let Some(started) = info.started {
            self.out.number(field::TIME_NANOS, started as u64);
        }
        if let Some(duration) = info.duration {
            self.out.number(field::DURATION_NANOS, duration as u64);
        }
        if let Some(metric) = profile.metrics.iter().find(|metric| metric.period.is_some()) {
            let value_type = self.value_type_known(metric);
            self.out.message(field::PERIOD_TYPE, &value_type);
            self.out.number(field::PERIOD, metric.period.unwrap_or(0) as u64);
        }
        if let Some(metric) = profile.metrics.first() {
            let name = self.string_index.get(metric.name.as_str()).copied().unwrap_or(0);
            self.out.number(field::DEFAULT_SAMPLE_TYPE, name);
        }
        for text in self.strings.iter().copied().chain(texts.iter().map(String::as_str)) {
            self.out.bytes(field::STRING_TABLE, text.as_bytes());
        }
        self.out.bytes
    }

    fn string(&mut self, text: &'a str) -> u64 {
        let Self { strings, string_index, .. } = self;
        *string_index.entry(text).or_insert_with(|| {
            strings.push(text);
            strings.len() as u64 - 1
        })
    }

    fn value_type(&mut self, metric: &'a Metric) -> Message {
        self.string(&metric.name);
        self.string(unit_name(&metric.unit));
        self.value_type_known(metric)
    }

    fn value_type_known(&self, metric: &Metric) -> Message {
        let known = |text: &str| self.string_index.get(text).copied().unwrap_or(0);
        let mut value_type = Message::default();
        value_type.number(1, known(&metric.name));
        value_type.number(2, known(unit_name(&metric.unit)));
        value_type
    }

    fn label(&mut self, sample: &mut Message, key: &'static str, value: impl FnOnce(&mut Message)) {
        let mut label = Message::default();
        label.number(1, self.string(key));
        value(&mut label);
        sample.message(3, &label);
    }

    /// Location ids of a context, innermost first.
    fn stack(&mut self, node: NodeId) -> Vec<u64> {
        let tree = &self.profile.tree;
        let mut stack = Vec::new();
        // Inlined frames wait for the frame whose code they are in, which comes next on the way up.
        let mut group: Vec<FrameId> = Vec::new();
        for node in tree.ancestors(node) {
            let frame = tree.frame(node);
            group.push(frame);
            if !self.profile.symbols.frame(frame).inlined {
                stack.push(self.location(&group));
                group.clear();
            }
        }
        if !group.is_empty() {
            stack.push(self.location(&group));
        }
        stack
    }

    /// The location of frames that share an address, innermost first.
    fn location(&mut self, group: &[FrameId]) -> u64 {
        if let Some(id) = self.locations.get(group) {
            return *id;
        }
        let id = self.locations.len() as u64 + 1;
        self.locations.insert(group.to_vec(), id);
        let symbols = &self.profile.symbols;
        let mut location = Message::default();
        location.number(1, id);
        let frames = group.iter().map(|frame| symbols.frame(*frame));
        if let Some(address) = frames.clone().filter_map(|frame| frame.address).next_back() {
            let component = frames
                .clone()
                .filter_map(|frame| symbols.function(frame.function).component)
                .next_back();
            if let Some(component) = component {
                location.number(2, self.mapping(component));
            }
            location.number(3, address.get());
        }
        for frame in frames {
            let mut line = Message::default();
            line.number(1, self.function(frame.function));
            line.number(2, frame.line.map_or(0, |line| u64::from(line.get())));
            line.number(3, frame.column.map_or(0, |column| u64::from(column.get())));
            location.message(4, &line);
        }
        self.out.message(field::LOCATION, &location);
        id
    }

    fn mapping(&mut self, component: StringId) -> u64 {
        if let Some(id) = self.mappings.get(&component) {
            return *id;
        }
        let id = self.mappings.len() as u64 + 1;
        self.mappings.insert(component, id);
        let mut mapping = Message::default();
        mapping.number(1, id);
        mapping.number(5, self.string(self.profile.symbols.text(component)));
        // Has functions, file names, line numbers and inlined frames: names are known, nobody need look for them.
        for flag in 7..=10 {
            mapping.number(flag, 1);
        }
        self.out.message(field::MAPPING, &mapping);
        id
    }

    fn function(&mut self, function: FunctionId) -> u64 {
        if let Some(id) = self.functions.get(&function) {
            return *id;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert(function, id);
        let symbols = &self.profile.symbols;
        let row = symbols.function(function);
        let name = self.string(function_name(symbols, function));
        let mut message = Message::default();
        message.number(1, id);
        message.number(2, name);
        let system_name = row.signature.map_or(name, |text| self.string(symbols.text(text)));
        message.number(3, system_name);
        if let Some(file) = row.file.or(row.component) {
            message.number(4, self.string(symbols.text(file)));
        }
        message.number(5, row.line.map_or(0, |line| u64::from(line.get())));
        self.out.message(field::FUNCTION, &message);
        id
    }
}

/// Fractions are rounded: pprof knows whole numbers only.
fn whole(stored: i64, metric: &Metric) -> i64 {
    if metric.decimals == 0 { stored } else { metric.shown(stored).round() as i64 }
}

fn unit_name(unit: &Unit) -> &str {
    match unit {
        Unit::Nanoseconds => "nanoseconds",
        unit => unit.name(),
    }
}

/// A protocol buffers message under construction.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// A number; 0 is what an absent field means.
    fn number(&mut self, field: u32, number: u64) {
        if number != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(number);
        }
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.bytes);
    }

    fn packed(&mut self, field: u32, numbers: impl Iterator<Item = u64>) {
        let mut packed = Self::default();
        for number in numbers {
            packed.varint(number);
        }
        if !packed.bytes.is_empty() {
            self.bytes(field, &packed.bytes);
        }
    }
}
