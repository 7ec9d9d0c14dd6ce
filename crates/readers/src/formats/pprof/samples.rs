//! Samples of a pprof profile: values of contexts.
//!
//! A stack is known by its bytes in the file: the same bytes are the same context, found without decoding them. Stacks
//! seen for the first time share their outer frames with the one before more often than not, and walk on from there.

use hashbrown::HashMap;
use perfblame_cct::{Cursor, FrameId, Layer, ProfileBuilder};

use super::labels::Labels;
use super::tables::{Locations, PprofTables};
use super::warn_damaged;
use crate::building::sample_type::Column;
use crate::encodings::protobuf::{Field, ProtobufFault, ProtobufValue};

/// What turns sample messages into values of contexts.
pub struct PprofSamples<'a> {
    locations: Locations,
    columns: Vec<Column>,
    labels: Labels,
    seen: HashMap<&'a [u8], Cursor>,
    /// The last stack that was walked, outermost frame first.
    path: Vec<(FrameId, Cursor)>,
    stack: Vec<FrameId>,
    ids: Vec<u32>,
    values: Vec<i64>,
    unknown: Option<FrameId>,
}

impl<'a> PprofSamples<'a> {
    pub fn new(locations: Locations, columns: Vec<Column>) -> Self {
        Self {
            locations,
            columns,
            labels: Labels::default(),
            seen: HashMap::new(),
            path: Vec::new(),
            stack: Vec::new(),
            ids: Vec::new(),
            values: Vec::new(),
            unknown: None,
        }
    }

    /// Adds one sample.
    pub fn add(&mut self, builder: &mut ProfileBuilder, tables: &PprofTables, sample: Field<'a>) {
        let at = match self.collect(builder, tables, sample) {
            Ok(at) => at,
            Err(fault) => {
                warn_damaged(builder, fault);
                return;
            }
        };
        if self.values.len() != self.columns.len() {
            builder.warn("samples-with-odd-values", || {
                "samples have more or fewer values than the file has sample types".to_owned()
            });
        }
        let thread = self.labels.thread(builder);
        let time = self.labels.time().filter(|_| builder.keeps_times());
        for (value, column) in self.values.iter().zip(&self.columns) {
            if *value != 0 {
                let value = value.saturating_mul(column.scale);
                builder.add(at, thread, column.metric, value);
                if let Some(time) = time {
                    builder.time_sample(time, at, thread, column.metric, value);
                }
            }
        }
        self.labels.count();
        builder.count_samples(1);
    }

    /// Writes what labels were found into the profile.
    pub fn finish(self, builder: &mut ProfileBuilder, tables: &PprofTables) {
        self.labels.summarise(builder, tables);
    }

    /// Takes values and labels, and finds the context.
    fn collect(
        &mut self,
        builder: &mut ProfileBuilder,
        tables: &PprofTables,
        sample: Field<'a>,
    ) -> Result<Cursor, ProtobufFault> {
        self.ids.clear();
        self.values.clear();
        self.labels.start();
        // Ids come in one packed piece from every writer of today; the format allows any number.
        let mut packed: Option<Field<'a>> = None;
        for field in sample.message() {
            let field = field?;
            match field.number {
                1 if packed.is_none()
                    && self.ids.is_empty()
                    && matches!(field.value, ProtobufValue::Bytes(_)) =>
                {
                    packed = Some(field);
                }
                1 => {
                    if let Some(before) = packed.take() {
                        self.decode(before)?;
                    }
                    self.decode(field)?;
                }
                2 => {
                    for value in field.varints() {
                        self.values.push(value? as i64);
                    }
                }
                3 => self.labels.add(builder, tables, field)?,
                _ => {}
            }
        }
        let Some(packed) = packed else { return Ok(self.walk(builder)) };
        if let Some(at) = self.seen.get(packed.bytes()) {
            return Ok(*at);
        }
        self.decode(packed)?;
        let at = self.walk(builder);
        // What needs a warning needs it each time.
        if self.unknown.is_none() && !self.stack.is_empty() {
            self.seen.insert(packed.bytes(), at);
        }
        Ok(at)
    }

    fn decode(&mut self, ids: Field) -> Result<(), ProtobufFault> {
        for id in ids.varints() {
            self.ids.push(self.locations.row(id?));
        }
        Ok(())
    }

    /// The context of the locations at hand.
    fn walk(&mut self, builder: &mut ProfileBuilder) -> Cursor {
        self.stack.clear();
        for row in self.ids.iter().rev() {
            if let Some(frames) = self.locations.frames(*row) {
                self.stack.extend_from_slice(frames);
            } else {
                let named = || builder.named_frame("[unknown]", Layer::Application);
                let unknown = *self.unknown.get_or_insert_with(named);
                self.stack.push(unknown);
                builder.warn("unknown-locations", || {
                    "samples refer to locations that are not in the file".to_owned()
                });
            }
        }
        let shared =
            self.path.iter().zip(&self.stack).take_while(|((known, _), frame)| known == *frame);
        let shared = shared.count();
        self.path.truncate(shared);
        for frame in &self.stack[shared..] {
            let at = match self.path.last() {
                Some((_, caller)) => builder.child(*caller, *frame),
                None => builder.root(*frame),
            };
            self.path.push((*frame, at));
        }
        if let Some((_, at)) = self.path.last() {
            return *at;
        }
        builder.warn("samples-without-stack", || {
            "samples without a stack are kept as truncated".to_owned()
        });
        builder.truncated_root()
    }
}
