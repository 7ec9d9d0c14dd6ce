//! One profile made of another: the same values in another tree. Relabelling, pruning and views differ only in where
//! each node goes, so they build the new tree and leave the rest to this.

use crate::{
    Grain, NodeId, OpenNode, OpenTree, Profile, Symbols, TimedCall, TimedSample, Timeline,
};

/// Carries threads, metrics, values and times of `profile` over into `tree`. `image` says for each node, by row, where
/// its values go; those of a node without an image are left out.
pub(crate) fn rebuild(
    profile: &Profile,
    symbols: Symbols,
    grain: Grain,
    tree: OpenTree,
    image: &[Option<OpenNode>],
) -> Profile {
    let (tree, placement) = tree.freeze(grain);
    let place =
        |node: NodeId| image.get(node.index()).copied().flatten().map(|node| placement.of(node));
    Profile {
        tree,
        symbols,
        cells: profile.cells.moved(place),
        threads: profile.threads.clone(),
        metrics: profile.metrics.clone(),
        samples: profile.samples,
        timeline: profile.timeline.as_ref().map(|times| moved_times(times, place)),
        info: profile.info.clone(),
        warnings: profile.warnings.clone(),
    }
}

/// The same times at the nodes' places; order within equal times follows the new rows.
pub(crate) fn moved_times(times: &Timeline, place: impl Fn(NodeId) -> Option<NodeId>) -> Timeline {
    let samples = times.samples.iter();
    let calls = times.calls.iter();
    let mut moved = Timeline {
        samples: samples
            .filter_map(|sample| Some(TimedSample { node: place(sample.node)?, ..*sample }))
            .collect(),
        calls: calls
            .filter_map(|call| Some(TimedCall { node: place(call.node)?, ..*call }))
            .collect(),
    };
    moved.sort();
    moved
}
