//! Flame graphs: an SVG by inferno, and a page of our own to click through.

mod page;
mod svg;

pub use page::{FlamePage, flame_html};
pub use svg::flame_svg;
