//! The model: strings, functions, frames, threads, metrics and calling context trees.
//!
//! This is the centre of perfblame. It opens no file, reads no clock and prints nothing; readers fill it, everything
//! else asks it. A [`Profile`] is built once with a [`ProfileBuilder`] and then never changed: every operation on
//! trees makes a new one.
#![warn(missing_docs)]

mod builder;
mod ids;
mod layer;
mod metric;
mod profile;
mod strings;
mod symbols;
mod thread;
mod timeline;
mod tree;
mod values;

pub use builder::{Cursor, ProfileBuilder, Times};
pub use ids::{FrameId, FunctionId, MetricId, NodeId, OpenNode, StringId, ThreadId};
pub use layer::Layer;
pub use metric::{Measure, Metric, Unit};
pub use profile::{Info, Profile, TRUNCATED, Warning};
pub use strings::StringTable;
pub use symbols::{CallSite, Frame, Function, Symbols, position};
pub use thread::{Thread, role};
pub use timeline::{TimedCall, TimedSample, Timeline};
pub use tree::{Cct, Grain, Siblings};
pub use values::{Cell, Cells};
