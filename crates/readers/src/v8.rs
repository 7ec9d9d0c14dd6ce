//! What profiles and traces of V8 share: its sampled call tree, its JSON, its names of functions.

mod call_frame;
mod gaps;
mod idle;
mod recorded;
mod sampled_tree;
mod wire;

use perfblame_cct::{Metric, MetricId, ProfileBuilder, Unit};

use crate::format::ReadOptions;
use crate::scripts::{ScriptNames, ScriptNaming, Scripts};

pub use call_frame::{CallFrame, layer_of_url, split_location};
pub use gaps::Gaps;
pub use idle::Idle;
pub use recorded::Recorded;
pub use sampled_tree::SampledTree;
pub use wire::V8Chunk;

/// Gives the functions of a profile that says nothing about its scripts the names that files of this machine know.
pub fn name_functions(
    trees: &mut [SampledTree],
    options: &ReadOptions,
    builder: &mut ProfileBuilder,
) {
    if options.scripts.names == ScriptNames::AsRecorded {
        return;
    }
    let by_time = builder.keeps_times();
    for tree in trees.iter_mut() {
        tree.close(by_time);
    }
    let uses = trees.iter().flat_map(|tree| tree.uses(0, builder)).collect();
    let positions: Vec<_> = trees.iter().flat_map(|tree| tree.positions(0, builder)).collect();
    let naming = ScriptNaming::new(Scripts::default(), options.scripts, uses, builder);
    let names = naming.finish(&positions, builder);
    for tree in trees {
        tree.rename(&names, 0, builder);
    }
}

/// The two metrics of sampled time, in the order they are shown.
pub fn sampled_metrics(builder: &mut ProfileBuilder) -> (MetricId, MetricId) {
    let wall = builder.metric(Metric::sampled("wall", Unit::Nanoseconds));
    let samples = builder.metric(Metric::sampled("samples", Unit::Count).with_period(1));
    (wall, samples)
}
