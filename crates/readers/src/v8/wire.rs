//! The JSON of V8's profiles: nodes, samples, times. The same shapes stand in `.cpuprofile` files, in the
//! `ProfileChunk` and `CpuProfile` events of traces, and, with sizes for times, in heap profiles.

use perfblame_cct::{FrameId, ProfileBuilder};

use super::CallFrame;
use crate::encodings::json::{Cursor, JsonFault, JsonKind, Number};

/// One node of a call tree.
#[derive(Clone, Copy, Debug)]
pub struct WireNode {
    /// V8's number of the node; nodes without one are numbered below zero.
    pub id: i64,
    /// V8's number of its caller's node.
    pub parent: Option<i64>,
    /// The function.
    pub frame: FrameId,
    /// V8's number of its script; 0 for none.
    pub script: i64,
    /// Samples that hit it, for profiles that list no samples.
    pub hits: i64,
    /// Bytes allocated in it, in heap profiles.
    pub self_size: i64,
    /// True for V8's `(root)`, which is no function.
    pub is_root: bool,
}

/// What one event or file says.
#[derive(Default, Debug)]
pub struct V8Chunk {
    /// New nodes.
    pub nodes: Vec<WireNode>,
    /// (caller, callee) where callers list their callees.
    pub edges: Vec<(i64, i64)>,
    /// Node of each sample.
    pub samples: Vec<i64>,
    /// Nanoseconds since the sample before, or since the start.
    pub deltas: Vec<i64>,
    /// Nanoseconds on V8's clock, in old files.
    pub timestamps: Vec<i64>,
    /// Line being executed at each sample, counted from 1; 0 for unknown.
    pub lines: Vec<i64>,
    /// Column being executed at each sample, counted from 1; 0 for unknown.
    pub columns: Vec<i64>,
    /// Nodes that were current when something else in the trace happened, by the number it has there.
    pub moments: Vec<(i64, i64)>,
    /// When the profile started, in nanoseconds.
    pub start: Option<i64>,
    /// When it ended, in nanoseconds.
    pub end: Option<i64>,
    /// Numbers for nodes that have none.
    unnumbered: i64,
}

/// A node whose fields are being read while its callees may already have begun.
#[derive(Default)]
struct OpenNode<'a> {
    id: Option<i64>,
    parent: Option<i64>,
    call: CallFrame<'a>,
    hits: i64,
    self_size: i64,
    /// Rows of its nested callees.
    nested: Vec<usize>,
    /// Numbers of the callees it lists. Its own number may follow them.
    listed: Vec<i64>,
}

impl V8Chunk {
    /// Forgets everything but the memory it holds.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.edges.clear();
        self.samples.clear();
        self.deltas.clear();
        self.timestamps.clear();
        self.lines.clear();
        self.columns.clear();
        self.moments.clear();
        self.start = None;
        self.end = None;
    }

    /// Reads an object with any of the known fields. On a fault, what was read stays.
    pub fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        builder: &mut ProfileBuilder,
    ) -> Result<(), JsonFault> {
        cursor.begin_object()?;
        // `cpuProfile` inside `data` is one level down and brings no new kind of field.
        let mut inside = 0;
        loop {
            let Some(key) = cursor.next_raw_key()? else {
                if inside == 0 {
                    return Ok(());
                }
                inside -= 1;
                continue;
            };
            let kind = cursor.peek()?;
            match (key, kind) {
                (b"cpuProfile" | b"profile", JsonKind::Object) => {
                    cursor.begin_object()?;
                    inside += 1;
                }
                (b"nodes", JsonKind::Array) => {
                    cursor.begin_array()?;
                    while cursor.next_element()? {
                        self.read_node(cursor, builder)?;
                    }
                }
                (b"head", JsonKind::Object) => self.read_node(cursor, builder)?,
                (b"samples", JsonKind::Array) => numbers(cursor, &mut self.samples, 0)?,
                (b"timeDeltas", JsonKind::Array) => numbers(cursor, &mut self.deltas, 3)?,
                (b"timestamps", JsonKind::Array) => numbers(cursor, &mut self.timestamps, 3)?,
                (b"lines", JsonKind::Array) => numbers(cursor, &mut self.lines, 0)?,
                (b"columns", JsonKind::Array) => numbers(cursor, &mut self.columns, 0)?,
                (b"trace_ids", JsonKind::Object) => {
                    cursor.begin_object()?;
                    while let Some(key) = cursor.next_raw_key()? {
                        let moment = str::from_utf8(key).ok().and_then(|key| key.parse().ok());
                        let node = cursor.lenient_number()?.and_then(Number::as_i64);
                        self.moments.extend(moment.zip(node));
                    }
                }
                (b"startTime", _) => self.start = time(cursor)?,
                (b"endTime", _) => self.end = time(cursor)?,
                _ => cursor.skip_value()?,
            }
        }
    }

    /// Reads a node and, where callees are nested in it, all below, without recursion.
    pub fn read_node(
        &mut self,
        cursor: &mut Cursor<'_>,
        builder: &mut ProfileBuilder,
    ) -> Result<(), JsonFault> {
        if cursor.peek()? != JsonKind::Object {
            return cursor.skip_value();
        }
        cursor.begin_object()?;
        let mut open = vec![OpenNode::default()];
        while let Some(node) = open.last_mut() {
            let Some(key) = cursor.next_raw_key()? else {
                let Some(node) = open.pop() else { break };
                let row = self.close_node(node, builder);
                let Some(caller) = open.last_mut() else { break };
                caller.nested.push(row);
                // Nested nodes stand in an array: go on with the next, or with the caller's fields.
                if next_nested(cursor, &mut caller.listed)? {
                    open.push(OpenNode::default());
                }
                continue;
            };
            match key {
                b"id" => node.id = cursor.lenient_number()?.and_then(Number::as_i64),
                b"parent" => node.parent = cursor.lenient_number()?.and_then(Number::as_i64),
                b"hitCount" => node.hits = whole(cursor)?,
                b"selfSize" => node.self_size = whole(cursor)?,
                b"callFrame" => read_call_frame(cursor, &mut node.call)?,
                b"children" if cursor.peek()? == JsonKind::Array => {
                    cursor.begin_array()?;
                    if next_nested(cursor, &mut node.listed)? {
                        open.push(OpenNode::default());
                    }
                }
                _ => call_field(cursor, key, &mut node.call)?,
            }
        }
        Ok(())
    }

    fn close_node(&mut self, node: OpenNode<'_>, builder: &mut ProfileBuilder) -> usize {
        let id = node.id.unwrap_or_else(|| {
            self.unnumbered -= 1;
            self.unnumbered
        });
        self.edges.extend(node.listed.iter().map(|callee| (id, *callee)));
        for row in node.nested {
            if let Some(callee) = self.nodes.get_mut(row) {
                callee.parent = Some(id);
            }
        }
        let frame = node.call.intern(builder);
        self.nodes.push(WireNode {
            id,
            parent: node.parent,
            frame,
            script: node.call.script,
            hits: node.hits,
            self_size: node.self_size,
            is_root: node.call.name == "(root)",
        });
        self.nodes.len() - 1
    }

    /// Old files say `startTime` in seconds and give a time for each sample; some give none at all.
    pub fn repair_times(&mut self, builder: &mut ProfileBuilder) {
        if self.deltas.is_empty() && !self.timestamps.is_empty() {
            // One more time than samples: the first is the start.
            if self.timestamps.len() == self.samples.len() + 1 {
                self.start = Some(self.timestamps.remove(0));
            } else {
                self.start = self.timestamps.first().copied();
            }
            let mut before = self.start.unwrap_or(0);
            for time in &self.timestamps {
                self.deltas.push(time.saturating_sub(before));
                before = *time;
            }
            // Seconds beside microseconds: no end that could be trusted.
            self.end = self.end.filter(|end| *end >= before);
        }
        if self.deltas.len() < self.samples.len() {
            let missing = self.samples.len() - self.deltas.len();
            let span = self.end.zip(self.start).map_or(0, |(end, start)| end.saturating_sub(start));
            let used: i64 = self.deltas.iter().fold(0, |sum, delta| sum.saturating_add(*delta));
            let step = span.saturating_sub(used).max(0) / missing as i64;
            builder.warn_many("samples-without-times", missing as u64, || {
                "samples without a time were spread evenly over the rest of the profile".to_owned()
            });
            self.deltas.resize(self.samples.len(), step);
        }
    }
}

/// Goes on in an array of callees: true when we stepped into a nested one, false at the array's end.
fn next_nested(cursor: &mut Cursor<'_>, listed: &mut Vec<i64>) -> Result<bool, JsonFault> {
    while cursor.next_element()? {
        match cursor.peek()? {
            JsonKind::Object => {
                cursor.begin_object()?;
                return Ok(true);
            }
            JsonKind::Number => listed.push(whole(cursor)?),
            _ => cursor.skip_value()?,
        }
    }
    Ok(false)
}

fn read_call_frame<'a>(cursor: &mut Cursor<'a>, call: &mut CallFrame<'a>) -> Result<(), JsonFault> {
    if cursor.peek()? != JsonKind::Object {
        return cursor.skip_value();
    }
    cursor.begin_object()?;
    while let Some(key) = cursor.next_raw_key()? {
        call_field(cursor, key, call)?;
    }
    Ok(())
}

fn call_field<'a>(
    cursor: &mut Cursor<'a>,
    key: &[u8],
    call: &mut CallFrame<'a>,
) -> Result<(), JsonFault> {
    match key {
        b"functionName" => call.name = cursor.lenient_string()?.unwrap_or_default(),
        b"url" => call.url = cursor.lenient_string()?.unwrap_or_default(),
        b"lineNumber" => call.line = cursor.lenient_number()?.and_then(Number::as_u64),
        b"columnNumber" => call.column = cursor.lenient_number()?.and_then(Number::as_u64),
        b"scriptId" => call.script = whole(cursor)?,
        _ => cursor.skip_value()?,
    }
    Ok(())
}

fn whole(cursor: &mut Cursor<'_>) -> Result<i64, JsonFault> {
    Ok(cursor.lenient_number()?.and_then(Number::as_i64).unwrap_or(0))
}

/// Microseconds as nanoseconds.
fn time(cursor: &mut Cursor<'_>) -> Result<Option<i64>, JsonFault> {
    Ok(cursor.lenient_number()?.and_then(|number| number.scaled(3)))
}

fn numbers(cursor: &mut Cursor<'_>, into: &mut Vec<i64>, decimals: u32) -> Result<(), JsonFault> {
    cursor.begin_array()?;
    while cursor.next_element()? {
        into.push(cursor.lenient_number()?.and_then(|number| number.scaled(decimals)).unwrap_or(0));
    }
    Ok(())
}
