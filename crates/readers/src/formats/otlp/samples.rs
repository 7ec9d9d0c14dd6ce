//! Samples of OpenTelemetry profiles: values of contexts, with threads and processes from attributes.

use hashbrown::HashMap;
use perfblame_cct::{FrameId, Metric, ProfileBuilder, Thread, ThreadId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::tables::{Attribute, OtlpTables, attribute};
use crate::building::label_summary::label_summary;
use crate::building::sample_type::{self, Column, add_metric, unit, value_type};
use crate::encodings::protobuf::{Field, ProtobufFault, ProtobufValue};

/// Distinct values of all attributes that are counted.
const MAX_VALUES: usize = 10_000;

/// What is kept from profile to profile.
#[derive(Default)]
pub struct OtlpSamples {
    metrics: HashMap<(String, String), Column>,
    taken: Vec<String>,
    resource: Vec<Attribute>,
    counts: BTreeMap<(String, String), u64>,
    stack: Vec<FrameId>,
    seen: u64,
}

/// How the fields of a sample are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FieldNumbers {
    /// 1.4 to 1.7: start and length of a slice of locations, values, attributes, link, times.
    Slices,
    /// 1.8 and 1.9: stack, values, attributes, link, times.
    ValuesFirst,
    /// From 1.10 on: stack, attributes, link, values, times.
    ValuesLast,
}

impl FieldNumbers {
    /// Numbers of the fields for values, attributes and times.
    fn fields(self) -> (u32, u32, u32) {
        match self {
            Self::Slices => (3, 4, 6),
            Self::ValuesFirst => (2, 3, 5),
            Self::ValuesLast => (4, 2, 5),
        }
    }
}

#[derive(Default)]
struct OtlpHeader<'a> {
    types: Vec<(i64, i64)>,
    period_type: Option<(i64, i64)>,
    period: i64,
    locations: Vec<u64>,
    samples: Vec<Field<'a>>,
}

impl OtlpSamples {
    /// True when no sample was read so far.
    pub fn is_empty(&self) -> bool {
        self.seen == 0
    }

    /// Forgets the resource before.
    pub fn start_resource(&mut self) {
        self.resource.clear();
    }

    /// Takes what is said of a resource: the process, container or service.
    pub fn take_resource(
        &mut self,
        builder: &mut ProfileBuilder,
        tables: Option<&OtlpTables>,
        resource: Field,
    ) -> Result<(), ProtobufFault> {
        for field in resource.message() {
            let field = field?;
            if field.number == 1 {
                let attribute = attribute(field, |index| {
                    tables.map_or_else(String::new, |tables| tables.text(index).into_owned())
                })?;
                let known = matches!(
                    attribute.key.as_str(),
                    "service.name"
                        | "container.id"
                        | "process.pid"
                        | "process.executable.name"
                        | "process.command"
                        | "host.name"
                        | "service.version"
                );
                if known && !attribute.value.is_empty() {
                    if attribute.key == "process.command" && builder.info.command.is_none() {
                        builder.info.command = Some(attribute.value.clone());
                    }
                    self.resource.push(attribute);
                }
            }
        }
        Ok(())
    }

    /// Takes the samples of one profile.
    pub fn take_profile(
        &mut self,
        builder: &mut ProfileBuilder,
        tables: Option<&OtlpTables>,
        profile: Field,
    ) -> Result<(), ProtobufFault> {
        let own;
        let (tables, order, header) = match tables {
            Some(tables) if tables.has_stacks() => {
                let header = header(builder, profile, &[3, 4, 5, 6, 0])?;
                (tables, sample_order(profile, &header), header)
            }
            Some(tables) => {
                (tables, FieldNumbers::Slices, header(builder, profile, &[4, 5, 6, 7, 3])?)
            }
            None => {
                own = OtlpTables::of_profile(builder, profile);
                (&own, FieldNumbers::Slices, header(builder, profile, &[11, 12, 13, 14, 5])?)
            }
        };
        let columns = self.columns(builder, tables, &header);
        if columns.is_empty() {
            builder.warn("profiles-without-type", || {
                "profiles without a metric were left out".to_owned()
            });
            return Ok(());
        }
        for sample in &header.samples {
            if let Err(fault) = self.take_sample(builder, tables, &header, order, &columns, *sample)
            {
                super::warn_damaged(builder, fault);
            }
        }
        Ok(())
    }

    fn columns(
        &mut self,
        builder: &mut ProfileBuilder,
        tables: &OtlpTables,
        header: &OtlpHeader,
    ) -> Vec<Column> {
        let mut columns = Vec::new();
        for (kind, word) in &header.types {
            let (name, word) = (tables.text(*kind).into_owned(), tables.text(*word).into_owned());
            let known = self.metrics.get(&(name.clone(), word.clone()));
            if let Some(column) = known {
                columns.push(*column);
                continue;
            }
            let (unit, scale) = unit(&word);
            let mut metric = Metric::sampled(&name, unit);
            if let Some((_, period_word)) = header.period_type {
                let (period_unit, period_scale) = sample_type::unit(&tables.text(period_word));
                if period_unit == metric.unit && header.period != 0 {
                    metric = metric.with_period(header.period.saturating_mul(period_scale));
                }
            }
            let column = Column { metric: add_metric(builder, &mut self.taken, metric), scale };
            self.metrics.insert((name, word), column);
            columns.push(column);
        }
        if let Some((kind, word)) = header.period_type {
            let text = format!("{} {} {}", tables.text(kind), header.period, tables.text(word));
            let label = ("period".to_owned(), text.trim().to_owned());
            if header.period != 0 && !builder.info.labels.contains(&label) {
                builder.info.labels.push(label);
            }
        }
        columns
    }

    fn take_sample(
        &mut self,
        builder: &mut ProfileBuilder,
        tables: &OtlpTables,
        header: &OtlpHeader,
        order: FieldNumbers,
        columns: &[Column],
        sample: Field,
    ) -> Result<(), ProtobufFault> {
        let (values_field, attributes_field, times_field) = order.fields();
        let (mut first, mut second) = (0, 0);
        let (mut values, mut attributes, mut times) = (Vec::new(), Vec::new(), Vec::new());
        for field in sample.message() {
            let field = field?;
            match field.number {
                number if number == values_field => {
                    for value in field.varints() {
                        values.push(value? as i64);
                    }
                }
                number if number == attributes_field => {
                    for index in field.varints() {
                        attributes.push(index?);
                    }
                }
                number if number == times_field && order == FieldNumbers::Slices => {
                    for time in field.varints() {
                        times.push(time? as i64);
                    }
                }
                number if number == times_field => {
                    times.extend(field.fixed64s().map(|time| time as i64));
                }
                1 => first = field.uint(),
                2 => second = field.uint(),
                _ => {}
            }
        }
        self.find_stack(builder, tables, header, order, first, second)?;
        let at = if let Some(at) = builder.stack(&self.stack) {
            at
        } else {
            builder.warn("samples-without-stack", || {
                "samples without a stack are kept as truncated".to_owned()
            });
            builder.truncated_root()
        };
        let thread = self.thread(builder, tables, &attributes);
        self.count(tables, &attributes);
        if order == FieldNumbers::Slices && columns.len() > 1 {
            for (value, column) in values.iter().zip(columns) {
                builder.add(at, thread, column.metric, value.saturating_mul(column.scale));
            }
        } else if let Some(Column { metric, scale }) = columns.first().copied() {
            // A time without a value is one event; several values go with as many times.
            if values.is_empty() {
                values.resize(times.len(), 1);
            }
            let sum = values.iter().fold(0i64, |sum, value| sum.saturating_add(*value));
            builder.add(at, thread, metric, sum.saturating_mul(scale));
            if builder.keeps_times() && values.len() == times.len() {
                for (time, value) in times.iter().zip(&values) {
                    builder.time_sample(*time, at, thread, metric, value.saturating_mul(scale));
                }
            }
        }
        let taken = times.len().max(1) as u64;
        self.seen += taken;
        builder.count_samples(taken);
        Ok(())
    }

    /// Puts the frames of a sample into `stack`, outermost first.
    fn find_stack(
        &mut self,
        builder: &mut ProfileBuilder,
        tables: &OtlpTables,
        header: &OtlpHeader,
        order: FieldNumbers,
        first: u64,
        second: u64,
    ) -> Result<(), ProtobufFault> {
        let mut locations = Vec::new();
        if order == FieldNumbers::Slices {
            let slice =
                usize::try_from(first).ok().zip(usize::try_from(first.saturating_add(second)).ok());
            let slice = slice.and_then(|(start, end)| header.locations.get(start..end));
            locations.extend_from_slice(slice.unwrap_or(&[]));
        } else if let Some(stack) = tables.stack(first) {
            for field in stack.message() {
                let field = field?;
                if field.number == 1 {
                    for index in field.varints() {
                        locations.push(index?);
                    }
                }
            }
        }
        self.stack.clear();
        for location in locations.iter().rev() {
            if let Some(frames) = tables.location(*location) {
                self.stack.extend_from_slice(frames);
            } else {
                builder.warn("unknown-locations", || {
                    "samples refer to locations that are not in the file".to_owned()
                });
            }
        }
        Ok(())
    }

    /// The thread that the attributes of a sample and its resource tell of.
    fn thread(
        &self,
        builder: &mut ProfileBuilder,
        tables: &OtlpTables,
        attributes: &[u64],
    ) -> Option<ThreadId> {
        let of_sample =
            attributes.iter().filter_map(|index| tables.attributes.get(*index as usize));
        let all: Vec<&Attribute> = of_sample.chain(&self.resource).collect();
        let find = |keys: &[&str]| {
            let found =
                keys.iter().find_map(|key| all.iter().find(|attribute| attribute.key == *key));
            found.map(|attribute| attribute.value.as_str()).filter(|value| !value.is_empty())
        };
        let name = find(&["thread.name"]);
        let process = find(&["process.executable.name", "service.name"]);
        let group = find(&["service.name", "container.id"]);
        let pid = find(&["process.pid"]).and_then(|text| text.parse().ok());
        let tid = find(&["thread.id"]).and_then(|text| text.parse().ok());
        let (name, tid) = match name.and_then(bracketed) {
            Some((name, number)) => (Some(name), tid.or(Some(number))),
            None => (name, tid),
        };
        let known = name.is_some()
            || process.is_some()
            || group.is_some()
            || pid.is_some()
            || tid.is_some();
        known.then(|| {
            let name = builder.string(name.unwrap_or(""));
            let process = process.map(|text| builder.string(text));
            let group = group.map(|text| builder.string(text));
            builder.thread(Thread { name, process, pid, tid, group })
        })
    }

    fn count(&mut self, tables: &OtlpTables, attributes: &[u64]) {
        for index in attributes {
            let Some(Attribute { key, value }) = tables.attributes.get(*index as usize) else {
                continue;
            };
            if matches!(
                key.as_str(),
                "" | "thread.name" | "thread.id" | "process.pid" | "process.executable.name"
            ) {
                continue;
            }
            let key = (key.clone(), value.clone());
            if self.counts.len() < MAX_VALUES || self.counts.contains_key(&key) {
                *self.counts.entry(key).or_insert(0) += 1;
            }
        }
    }

    /// Writes what was counted into the profile's labels.
    pub fn finish(self, builder: &mut ProfileBuilder) {
        let is_full = self.counts.len() >= MAX_VALUES;
        let mut by_key: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
        for ((key, value), count) in self.counts {
            by_key.entry(key).or_default().push((value, count));
        }
        for (key, mut values) in by_key {
            values.sort_by_key(|(_, count)| Reverse(*count));
            let samples = values.iter().map(|(_, count)| count).sum();
            let text = label_summary(samples, values.len(), is_full, values.into_iter());
            builder.info.labels.push((format!("label {key}"), text));
        }
        builder.info.labels.sort();
    }
}

/// async-profiler writes name and number of a thread as one: `[main tid=7]`.
fn bracketed(name: &str) -> Option<(&str, u64)> {
    let (name, tid) = name.strip_prefix('[')?.strip_suffix(']')?.rsplit_once(" tid=")?;
    Some((name, tid.parse().ok()?))
}

/// What a profile says before its samples; `numbers` are those of time, duration, period type, period, locations.
fn header<'a>(
    builder: &mut ProfileBuilder,
    profile: Field<'a>,
    numbers: &[u32; 5],
) -> Result<OtlpHeader<'a>, ProtobufFault> {
    let mut header = OtlpHeader::default();
    let [time, duration, period_type, period, locations] = *numbers;
    for field in profile.message() {
        let field = field?;
        match field.number {
            1 => header.types.push(value_type(field)?),
            2 => header.samples.push(field),
            number if number == time && field.int() > 0 => {
                let started = builder.info.started.unwrap_or(i64::MAX).min(field.int());
                builder.info.started = Some(started);
            }
            number if number == duration && field.int() > 0 => {
                let duration = builder.info.duration.unwrap_or(0).max(field.int());
                builder.info.duration = Some(duration);
            }
            number if number == period_type => header.period_type = Some(value_type(field)?),
            number if number == period => header.period = field.int(),
            number if number == locations => {
                for index in field.varints() {
                    header.locations.push(index?);
                }
            }
            _ => {}
        }
    }
    Ok(header)
}

/// Tells 1.8 and 1.9 from what came after. Repeated numbers are packed, the link is a single one; only async-profiler
/// packs nothing.
fn sample_order(profile: Field, header: &OtlpHeader) -> FieldNumbers {
    // Only in 1.8 is field 8 bytes.
    let is_old = |field: Field| field.number == 8 && matches!(field.value, ProtobufValue::Bytes(_));
    if profile.message().map_while(Result::ok).any(is_old) {
        return FieldNumbers::ValuesFirst;
    }
    for sample in &header.samples {
        let mut single = [false; 6];
        let mut packed = [false; 6];
        for field in sample.message().map_while(Result::ok) {
            let among = if matches!(field.value, ProtobufValue::Bytes(_)) {
                &mut packed
            } else {
                &mut single
            };
            if let Some(row) = among.get_mut(field.number as usize) {
                *row = true;
            }
        }
        let has_times = single[5] || packed[5];
        if packed[3] {
            return FieldNumbers::ValuesFirst;
        }
        if packed[4] || single[3] {
            return FieldNumbers::ValuesLast;
        }
        if single[4] {
            // A link where lists are packed or a sample has only times; else it is the one value.
            let is_link = packed[2] || !single[2] && has_times;
            return if is_link { FieldNumbers::ValuesFirst } else { FieldNumbers::ValuesLast };
        }
        // A sample has values or times; what stands alone must be values.
        if (single[2] || packed[2]) && !has_times {
            return FieldNumbers::ValuesFirst;
        }
    }
    FieldNumbers::ValuesLast
}
