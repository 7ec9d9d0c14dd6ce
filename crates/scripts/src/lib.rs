//! Scripts as text: which functions they have, where those start as a JavaScript engine counts, what to call the ones
//! without a name, what is left of each when a minifier has renamed everything, and which place of the original source
//! a place in a bundle comes from.
//!
//! Nothing here knows of profiles. Scripts can be bundles of megabytes on one line, cut off in the middle or no scripts
//! at all, so everything is one pass over bytes without recursion: time and memory are linear in the text.

mod naming;
mod outline;
mod place;
mod shape;
mod source_map;
mod tokens;

pub use naming::name_of;
pub use outline::{Holder, Outline, ScriptFunction, outline};
pub use place::ScriptPlace;
pub use shape::Shape;
pub use source_map::{Found, Origin, origins};
