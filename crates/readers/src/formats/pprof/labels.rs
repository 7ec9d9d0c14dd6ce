//! Labels of pprof samples. Those that name a thread or process make threads, those that hold a time place the sample,
//! all others are counted and summed up: a label per request would make more contexts than samples.

use std::cmp::Reverse;

use hashbrown::HashMap;
use perfblame_cct::{ProfileBuilder, StringId, Thread, ThreadId};

use super::tables::PprofTables;
use crate::building::label_summary::label_summary;
use crate::encodings::protobuf::{Field, ProtobufFault};

/// Distinct values that are counted per key.
const MAX_VALUES: usize = 10_000;

/// What a key means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning {
    ThreadName,
    ThreadId,
    ProcessName,
    ProcessId,
    Time,
    Other,
}

fn meaning(key: &str) -> Meaning {
    match key {
        "thread_name" | "thread name" | "thread" | "comm" => Meaning::ThreadName,
        "thread_id" | "thread id" | "tid" => Meaning::ThreadId,
        "process_name" | "process name" | "process" => Meaning::ProcessName,
        "process_id" | "process id" | "pid" => Meaning::ProcessId,
        "end_timestamp_ns" | "timestamp_ns" => Meaning::Time,
        _ => Meaning::Other,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum LabelValue {
    Text(i64),
    /// A number and its unit.
    Number(i64, i64),
}

#[derive(Default)]
struct LabelValues {
    counts: HashMap<LabelValue, u64>,
    samples: u64,
    uncounted: u64,
}

/// The labels of the sample at hand, and counts of all so far.
#[derive(Default)]
pub struct Labels {
    meanings: HashMap<i64, Meaning>,
    texts: HashMap<i64, StringId>,
    name: Option<StringId>,
    tid: Option<u64>,
    process: Option<StringId>,
    pid: Option<u64>,
    time: Option<i64>,
    others: Vec<(i64, LabelValue)>,
    counts: HashMap<i64, LabelValues>,
}

impl Labels {
    /// Forgets the labels of the sample before.
    pub fn start(&mut self) {
        (self.name, self.tid, self.process, self.pid, self.time) = (None, None, None, None, None);
        self.others.clear();
    }

    /// Takes one label of the sample.
    pub fn add(
        &mut self,
        builder: &mut ProfileBuilder,
        tables: &PprofTables,
        label: Field,
    ) -> Result<(), ProtobufFault> {
        let (mut key, mut text, mut number, mut unit) = (0, 0, 0, 0);
        for field in label.message() {
            let field = field?;
            match field.number {
                1 => key = field.int(),
                2 => text = field.int(),
                3 => number = field.int(),
                4 => unit = field.int(),
                _ => {}
            }
        }
        let value =
            if text != 0 { LabelValue::Text(text) } else { LabelValue::Number(number, unit) };
        let meaning = *self.meanings.entry(key).or_insert_with(|| meaning(&tables.text(key)));
        match (meaning, value) {
            (Meaning::ThreadName, LabelValue::Text(text)) => {
                self.name = Some(self.text(builder, tables, text));
            }
            (Meaning::ProcessName, LabelValue::Text(text)) => {
                self.process = Some(self.text(builder, tables, text));
            }
            (Meaning::ThreadId, value) => self.tid = id(tables, value),
            (Meaning::ProcessId, value) => self.pid = id(tables, value),
            (Meaning::Time, LabelValue::Number(time, _)) => self.time = Some(time),
            _ => self.others.push((key, value)),
        }
        Ok(())
    }

    fn text(&mut self, builder: &mut ProfileBuilder, tables: &PprofTables, index: i64) -> StringId {
        *self.texts.entry(index).or_insert_with(|| builder.string(&tables.text(index)))
    }

    /// The thread the labels name.
    pub fn thread(&self, builder: &mut ProfileBuilder) -> Option<ThreadId> {
        let named = self.name.is_some()
            || self.tid.is_some()
            || self.process.is_some()
            || self.pid.is_some();
        named.then(|| {
            let name = self.name.unwrap_or_else(|| builder.string(""));
            let thread =
                Thread { name, process: self.process, pid: self.pid, tid: self.tid, group: None };
            builder.thread(thread)
        })
    }

    /// When the sample was taken.
    pub fn time(&self) -> Option<i64> {
        self.time
    }

    /// Counts the labels that have no meaning of their own.
    pub fn count(&mut self) {
        for (key, value) in &self.others {
            let values = self.counts.entry(*key).or_default();
            values.samples += 1;
            if values.counts.len() < MAX_VALUES || values.counts.contains_key(value) {
                *values.counts.entry(*value).or_insert(0) += 1;
            } else {
                values.uncounted += 1;
            }
        }
    }

    /// Writes what was counted into the profile's labels: per key how many values there are and the most frequent.
    pub fn summarise(self, builder: &mut ProfileBuilder, tables: &PprofTables) {
        let mut keys: Vec<(i64, LabelValues)> = self.counts.into_iter().collect();
        keys.sort_by_key(|(key, _)| *key);
        for (key, values) in keys {
            let counts = values.counts.into_iter();
            let mut counts: Vec<(LabelValue, u64)> = counts.collect();
            counts.sort_by_key(|(value, count)| (Reverse(*count), *value));
            let named = counts.iter().map(|(value, count)| {
                let text = match value {
                    LabelValue::Text(index) => tables.text(*index).into_owned(),
                    LabelValue::Number(number, unit) => {
                        format!("{number} {}", tables.text(*unit)).trim_end().to_owned()
                    }
                };
                (text, *count)
            });
            let text = label_summary(values.samples, counts.len(), values.uncounted > 0, named);
            builder.info.labels.push((format!("label {}", tables.text(key)), text));
        }
        builder.info.labels.sort();
    }
}

/// A thread or process id, which some write as text.
fn id(tables: &PprofTables, value: LabelValue) -> Option<u64> {
    match value {
        LabelValue::Number(number, _) => u64::try_from(number).ok(),
        LabelValue::Text(index) => tables.text(index).trim().parse().ok(),
    }
}
