//! Asynchronous spans: begun on one thread, ended on another, overlapping freely.
//!
//! Spans of one id nest in each other and in nothing else. All ids of a category share a track per process, which
//! stands beside the threads under the name `async <category>`. Their time is a metric of its own: added to the
//! threads' time it would count the same moments many times over.
//!
//! Threads are not in order among each other, so an end can come before its begin; it is kept for it.

use std::hash::BuildHasher;

use hashbrown::HashMap;
use perfblame_cct::{Cursor, FrameId, MetricId, ProfileBuilder, StringId, ThreadId};

/// What tells stacks of spans apart: a hash of process, category and id, as ids are too many to keep.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SpanKey(u64);

/// Ends kept for begins that may still come.
const EARLY_ENDS: usize = 1 << 16;

/// All asynchronous spans.
#[derive(Default, Debug)]
pub struct AsyncSpans {
    open: HashMap<SpanKey, Vec<OpenAsyncSpan>>,
    early: HashMap<(SpanKey, FrameId), Vec<i64>>,
    early_count: usize,
    unfinished: u64,
    /// True once there was one.
    pub any: bool,
}

#[derive(Clone, Copy, Debug)]
struct OpenAsyncSpan {
    frame: FrameId,
    at: Cursor,
    track: ThreadId,
    start: i64,
    /// Time that spans inside have used up.
    inside: i64,
}

impl AsyncSpans {
    /// The key of an id; of no process when it is one of the whole trace.
    pub fn key(&self, process: Option<i64>, category: StringId, id: &[u8]) -> SpanKey {
        SpanKey(self.open.hasher().hash_one((process, category, id)))
    }

    /// A span begins.
    pub fn begin(
        &mut self,
        key: SpanKey,
        (frame, track): (FrameId, ThreadId),
        time: i64,
        builder: &mut ProfileBuilder,
        (metric, calls): (MetricId, MetricId),
    ) {
        self.any = true;
        let stack = self.open.entry(key).or_default();
        let at = match stack.last() {
            Some(outer) => builder.child(outer.at, frame),
            None => builder.root(frame),
        };
        builder.add(at, Some(track), calls, 1);
        stack.push(OpenAsyncSpan { frame, at, track, start: time, inside: 0 });
        if let Some(ends) = self.early.get_mut(&(key, frame))
            && let Some(found) = ends.iter().position(|end| *end >= time)
        {
            let end = ends.swap_remove(found);
            if ends.is_empty() {
                self.early.remove(&(key, frame));
            }
            self.early_count -= 1;
            self.end(key, frame, end, builder, metric);
        }
    }

    /// A span ends.
    pub fn end(
        &mut self,
        key: SpanKey,
        frame: FrameId,
        time: i64,
        builder: &mut ProfileBuilder,
        metric: MetricId,
    ) {
        let found = self.open.get(&key).and_then(|stack| {
            stack.iter().rposition(|open| open.frame == frame && open.start <= time)
        });
        let (Some(row), Some(stack)) = (found, self.open.get_mut(&key)) else {
            if self.early_count < EARLY_ENDS {
                self.early_count += 1;
                self.early.entry((key, frame)).or_default().push(time);
            } else {
                self.unfinished += 1;
            }
            return;
        };
        let open = stack.remove(row);
        let spent = time.saturating_sub(open.start);
        if let Some(outer) = row.checked_sub(1).and_then(|outer| stack.get_mut(outer)) {
            outer.inside = outer.inside.saturating_add(spent);
        }
        if stack.is_empty() {
            self.open.remove(&key);
        }
        let own = spent.saturating_sub(open.inside).max(0);
        builder.add(open.at, Some(open.track), metric, own);
        builder.time_call(open.start, time, open.at, Some(open.track));
    }

    /// Says how many spans lack a begin or an end.
    pub fn finish(&self, builder: &mut ProfileBuilder) {
        let open: usize = self.open.values().map(Vec::len).sum();
        let count = self.unfinished + open as u64 + self.early_count as u64;
        if count > 0 {
            builder.warn_many("unfinished-async", count, || {
                "asynchronous spans without a begin or an end have no duration".to_owned()
            });
        }
    }
}
