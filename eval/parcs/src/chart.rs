//! Bars as SVG: a group for each program, a bar for each input or method.

use std::fmt::Write as _;

/// A group of bars, in percent.
#[derive(Clone, Debug)]
pub struct Group {
    pub name: String,
    pub bars: Vec<f64>,
}

const HEIGHT: f64 = 160.0;
const BAR: f64 = 10.0;
const GAP: f64 = 24.0;
const LEFT: f64 = 40.0;
const TOP: f64 = 28.0;
/// For names, which stand askew.
const FOOT: f64 = 84.0;
/// Told apart by lightness, too.
const COLOURS: [&str; 5] = ["#1b4965", "#2f7ea0", "#5fa8d3", "#8fc9e3", "#bee9e8"];

/// Draws the groups.
pub fn bars(title: &str, groups: &[Group]) -> String {
    let width: f64 = groups.iter().map(|group| group.bars.len() as f64 * BAR + GAP).sum();
    let (all_width, all_height) = (LEFT + width + GAP, TOP + HEIGHT + FOOT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {all_width:.0} {all_height:.0}\" \
         width=\"{all_width:.0}\" height=\"{all_height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"{LEFT}\" y=\"16\" font-size=\"13\">{title}</text>\n"
    );
    for percent in [0.0, 25.0, 50.0, 75.0, 100.0] {
        let y = TOP + HEIGHT * (1.0 - percent / 100.0);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{percent:.0}</text>",
            LEFT + width,
            LEFT - 6.0,
            y + 4.0
        );
    }
    let mut x = LEFT + GAP / 2.0;
    for group in groups {
        for (row, bar) in group.bars.iter().enumerate() {
            let height = HEIGHT * bar.clamp(0.0, 100.0) / 100.0;
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"{}\"/>",
                x + row as f64 * BAR,
                TOP + HEIGHT - height,
                BAR - 1.0,
                COLOURS[row % COLOURS.len()]
            );
        }
        let middle = x + group.bars.len() as f64 * BAR / 2.0;
        let y = TOP + HEIGHT + 14.0;
        let _ = writeln!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{y:.1}\" text-anchor=\"end\" transform=\"rotate(-35 {middle:.1} {y:.1})\">{}</text>",
            group.name
        );
        x += group.bars.len() as f64 * BAR + GAP;
    }
    svg.push_str("</svg>\n");
    svg
}
