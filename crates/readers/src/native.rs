//! Native code: what readers of different formats know alike about binaries, their symbols and whose code they are.

mod component;
mod demangle;

pub use component::layer_of;
pub use demangle::{demangle, signature};
