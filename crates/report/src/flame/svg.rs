//! A flame graph as SVG, drawn by inferno from folded lines, coloured by layer.

use std::io::{self, Write};

use inferno::flamegraph::color::{Color, PaletteMap};
use inferno::flamegraph::{Options, from_lines};
use perfblame_analysis::full_name;
use perfblame_cct::{Layer, MetricId, Profile, Unit};

use crate::folded::lines;

/// Writes a flame graph of one metric.
pub fn flame_svg(
    profile: &Profile,
    metric: MetricId,
    title: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lines = lines(profile, metric);
    let mut palette = palette(profile);
    let mut options = Options::default();
    title.clone_into(&mut options.title);
    options.palette_map = Some(&mut palette);
    if let Some(row) = profile.metrics.get(metric.index()) {
        let scale = 10f64.powi(-i32::from(row.decimals));
        (options.factor, options.count_name) = match &row.unit {
            Unit::Nanoseconds => (scale * 1e-6, "ms".to_owned()),
            Unit::Bytes => (scale, "bytes".to_owned()),
            Unit::Count | Unit::Other(_) => (scale, row.name.clone()),
        };
    }
    if lines.is_empty() {
        return Err(io::Error::other("there is nothing to draw: the metric has no values"));
    }
    from_lines(&mut options, lines.iter().map(String::as_str), out).map_err(io::Error::other)
}

/// A colour per function: a tone per layer, a little lighter or darker by name so that neighbours can be told apart.
fn palette(profile: &Profile) -> PaletteMap {
    let mut palette = PaletteMap::default();
    for (id, function) in profile.symbols.functions() {
        let (r, g, b) = match function.layer {
            Layer::Application => (229, 128, 77),
            Layer::Library => (120, 166, 222),
            Layer::Plugin => (200, 130, 210),
            Layer::Runtime => (110, 190, 180),
            Layer::Kernel => (225, 185, 90),
            Layer::Idle => (190, 190, 190),
            Layer::GarbageCollection => (140, 190, 110),
        };
        let name = full_name(&profile.symbols, id);
        let hash = name.bytes().fold(17u32, |hash, byte| hash.wrapping_mul(31) ^ u32::from(byte));
        let lighter = |tone: u8| tone.saturating_add((hash >> 3) as u8 % 27);
        palette.insert(&*name, Color { r: lighter(r), g: lighter(g), b: lighter(b) });
    }
    palette
}
