//! Before against after as one page that needs no network: the answer, the suspects, both trees as one flame graph, the
//! calls that lead to the suspects, the ranked paths.
//!
//! The tree is what is large: its columns travel packed (see `columns`), and beyond a bound small contexts are drawn
//! together (see `fold`), which the page says.

mod columns;
mod data;
mod fold;

use std::io::{self, Write};

use perfblame_analysis::Diff;

use crate::page::{json_for_script, write_page};

const PAGE: &str = include_str!("diff_html/page.html");
const PARTS: &[(&str, &str)] = &[
    ("page.css", include_str!("diff_html/page.css")),
    ("answer.js", include_str!("diff_html/answer.js")),
    ("tree.js", include_str!("diff_html/tree.js")),
    ("graph.js", include_str!("diff_html/graph.js")),
    ("paths.js", include_str!("diff_html/paths.js")),
    ("start.js", include_str!("diff_html/start.js")),
];

/// Writes the page.
pub fn diff_html(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    let data = json_for_script(&data::page_data(diff))?;
    write_page(PAGE, &[PARTS, &[("data", &data)]].concat(), out)
}
