//! From a tree that tells much apart to one that tells less apart: what was stored with every frame is asked for by
//! function, or without its times.

use perfblame_cct::{Cursor, MetricId, Profile, ProfileBuilder, ThreadId, Times};

use crate::format::ReadOptions;

/// The profile as `options` want it. A tree stored coarser than it is asked for stays as it is, and says so by its
/// grain.
pub fn regrain(mut profile: Profile, options: &ReadOptions) -> Profile {
    if options.times == Times::Drop {
        profile.timeline = None;
    }
    if profile.tree.grain() <= options.grain {
        return profile;
    }
    let mut builder = ProfileBuilder::new(options.grain, options.times);
    builder.symbols = profile.symbols;
    builder.info = profile.info;
    let threads: Vec<ThreadId> =
        profile.threads.iter().map(|thread| builder.thread(*thread)).collect();
    let thread = |id: Option<ThreadId>| id.and_then(|id| threads.get(id.index()).copied());
    let metrics: Vec<MetricId> =
        profile.metrics.iter().map(|metric| builder.metric(metric.clone())).collect();
    for warning in profile.warnings {
        builder.warn_many(&warning.code, warning.count, || warning.message);
    }
    let mut cursors: Vec<Cursor> = Vec::with_capacity(profile.tree.len());
    for node in profile.tree.nodes() {
        let frame = profile.tree.frame(node);
        let cursor = match profile.tree.parent(node) {
            Some(parent) => builder.child(cursors[parent.index()], frame),
            None => builder.root(frame),
        };
        cursors.push(cursor);
    }
    for (row, metric) in metrics.iter().enumerate() {
        for (node, on, value) in profile.cells.of(MetricId::new(row)) {
            builder.add(cursors[node.index()], thread(on), *metric, value);
        }
    }
    builder.count_samples(profile.samples);
    for sample in profile.timeline.iter().flat_map(|timeline| &timeline.samples) {
        let at = cursors[sample.node.index()];
        let metric = metrics[sample.metric.index()];
        builder.time_sample(sample.time, at, thread(sample.thread), metric, sample.value);
    }
    for call in profile.timeline.iter().flat_map(|timeline| &timeline.calls) {
        builder.time_call(call.start, call.end, cursors[call.node.index()], thread(call.thread));
    }
    builder.finish()
}
