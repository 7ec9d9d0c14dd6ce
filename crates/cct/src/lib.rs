//! The model: strings, functions, frames, threads, metrics and calling context trees.
//!
//! This is the centre of perfblame. It opens no file, reads no clock and prints nothing; readers fill it, everything
//! else asks it. A [`Profile`] is built once with a [`ProfileBuilder`] and then never changed: every operation on
//! trees makes a new one.
#![warn(missing_docs)]

mod builder;
mod content_id;
mod dump;
mod events;
mod ids;
mod import;
mod labels;
mod layer;
mod method_metrics;
mod metric;
mod normalise;
mod open_tree;
mod partial;
mod profile;
mod prune;
mod rebuild;
mod recursion;
mod relabel;
mod run_groups;
mod run_set_builder;
mod runs;
mod script_shapes;
mod siphash;
mod stack_memo;
mod strings;
mod symbols;
mod tasks;
mod thread;
mod timeline;
mod totals;
mod tree;
mod union;
mod values;
mod view;
mod whose_code;

pub use perfblame_sides::{Side, Sides};

pub use builder::{Cursor, ProfileBuilder, Times};
pub use content_id::{ContentId, content_ids, function_id};
pub use dump::dump;
pub use events::{Code, EventKind, EventSink, Leaving, StackEvent, UnknownCode, Work};
pub use ids::{FrameId, FunctionId, MetricId, NodeId, OpenNode, StringId, ThreadId};
pub use import::Import;
pub use layer::Layer;
pub use method_metrics::{Invocation, MethodMetrics, Scope, method_metrics};
pub use metric::{Measure, Metric, Unit};
pub use normalise::{NameKind, NameKinds, normalise, normalise_name, rename};
pub use open_tree::{OpenTree, Placement};
pub use partial::{MATCH_THRESHOLD, PartialReport, PartialStacks, merge_partial_stacks};
pub use profile::{Info, Profile, TRUNCATED, Warning};
pub use prune::{DEEPER, PRUNED, fold_recursion, limit_depth, prune};
pub use recursion::{nearest_above, recursive_parents};
pub use relabel::{coarsen, map_labels, relabel};
pub use run_groups::RunGroup;
pub use run_set_builder::RunSetBuilder;
pub use runs::{Run, RunSet, merge, merge_runs};
pub use script_shapes::{FunctionShape, ScriptShapes};
pub use strings::StringTable;
pub use symbols::{Build, CallSite, Frame, Function, Symbols, position};
pub use tasks::{Pattern, Specification, TaskDefinition, TaskError, Tasks, tasks};
pub use thread::{Thread, role};
pub use timeline::{TimedCall, TimedSample, Timeline};
pub use totals::{
    Neighbour, RoleTotal, Total, callees, callers, component_totals, function_totals, group_totals,
    hot_path, layer_totals, role_totals, thread_group_totals, thread_totals,
};
pub use tree::{Cct, Grain, Siblings};
pub use values::{Cell, Cells};
pub use view::{callers_tree, rooted_at, within};
pub use whose_code::{is_library_class, is_library_file, layer_by_name};
