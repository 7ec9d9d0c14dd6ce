//! Before against after as one page that needs no network: the answer, the suspects, both trees as one flame graph, the
//! calls that lead to the suspects, the ranked paths.
//!
//! The tree is what is large: its columns travel packed (see `columns`), and beyond a bound small contexts are drawn
//! together (see `fold`), which the page says.

mod columns;
mod data;
mod fold;
mod stages;

use std::io::{self, Write};

use perfblame_analysis::{Diff, DiffTree, RankedPath, ranked_paths};

use crate::diff_words::is_time;
use crate::pa_cct;
use crate::page::{json_for_script, write_page};

const PAGE: &str = include_str!("diff_html/page.html");
const PARTS: &[(&str, &str)] = &[
    ("page.css", include_str!("diff_html/page.css")),
    ("answer.js", include_str!("diff_html/answer.js")),
    ("tree.js", include_str!("diff_html/tree.js")),
    ("graph.js", include_str!("diff_html/graph.js")),
    ("paths.js", include_str!("diff_html/paths.js")),
    ("stages.js", include_str!("diff_html/stages.js")),
    ("start.js", include_str!("diff_html/start.js")),
];

/// Writes the page.
pub fn diff_html(diff: &Diff, tree: &DiffTree, out: &mut dyn Write) -> io::Result<()> {
    // Whatever the method, the heat map shows where along the calls the cost is.
    let ranked =
        if diff.paths.is_empty() { ranked_paths(tree, &diff.metric).0 } else { Vec::new() };
    let paths = if ranked.is_empty() { &diff.paths } else { &ranked };
    let data = json_for_script(&data::page_data(diff, tree, paths))?;
    let calls = if is_time(&diff.metric) { calls(paths) } else { String::new() };
    write_page(PAGE, &[PARTS, &[("data", &data), ("calls", &calls)]].concat(), out)
}

/// The calls of the first paths, both sides on top of each other.
fn calls(paths: &[RankedPath]) -> String {
    if paths.is_empty() {
        return String::new();
    }
    format!(
        "  <section id=\"calls\"><h2>Calls of the first {}</h2><p class=\"note\">The thicker a line, the more the callee costs, including its own callees on these paths: red after, blue before. The slowest function of each path is bold.</p><div class=\"sheet\" tabindex=\"0\">{}</div></section>\n",
        match paths.len().min(pa_cct::PATHS) {
            1 => "path".to_owned(),
            shown => format!("{shown} paths"),
        },
        pa_cct::svg(paths, true)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_analysis::{
        DiffRow, Estimate, Fate, FunctionTable, FunctionView, Method, SideTotals, Verdict,
    };
    use perfblame_cct::{Metric, Unit};
    use serde_json::Value;

    /// A chain of functions, each called by the one before it.
    fn chain(names: &[&str]) -> (Diff, DiffTree) {
        let functions = names
            .iter()
            .map(|name| FunctionView { name: (*name).to_owned(), ..FunctionView::default() });
        let row = |row: usize| DiffRow {
            parent: row.checked_sub(1).map(|parent| parent as u32),
            function: row as u32,
            before: 1.0,
            after: 2.0,
            fate: Fate::Kept,
        };
        let tree =
            DiffTree { functions: functions.collect(), rows: (0..names.len()).map(row).collect() };
        let diff = Diff {
            method: Method::Suspects,
            metric: Metric::sampled("samples", Unit::Count),
            verdict: Verdict::Unchanged,
            before: SideTotals::default(),
            after: SideTotals::default(),
            change: Estimate { median: 0.0, low: f64::NAN, high: f64::NAN },
            p_value: None,
            threshold: 0.0,
            normalised: None,
            suspects: Vec::new(),
            improvements: Vec::new(),
            moved: Vec::new(),
            minor: (0, 0.0),
            runtime: Vec::new(),
            unexplained: 0.0,
            runs_needed: None,
            noticed: None,
            functions: FunctionTable::default(),
            graph: None,
            paths: Vec::new(),
            stages: None,
            warnings: Vec::new(),
        };
        (diff, tree)
    }

    fn page((diff, tree): &(Diff, DiffTree)) -> String {
        let mut out = Vec::new();
        diff_html(diff, tree, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The data element of a page.
    fn data(page: &str) -> Value {
        let (_, rest) = page.split_once("id=\"data\">").unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn names_are_data() {
        let names = ["</script><script>alert(1)</script>", "\"><img onerror=alert(2)>", "{{data}}"];
        let text = page(&chain(&names));
        assert_eq!(data(&text)["functions"]["name"], serde_json::json!(names));
        assert!(!text.contains("alert(1)</") && !text.contains("<img"));
        assert_eq!(text.matches("<script").count(), 2);
    }

    #[test]
    fn the_page_needs_no_network() {
        let text = page(&chain(&["main"]));
        assert!(text.contains("default-src 'none'"));
        for address in ["http://", "https://", "//cdn", "@import", "url("] {
            // The one address is the name space of SVG.
            let found = text.replace("http://www.w3.org/2000/svg", "").contains(address);
            assert!(!found, "{address}");
        }
    }

    #[test]
    fn trees_travel_packed() {
        let mut diff = chain(&["main", "parse", "parse"]);
        diff.1.rows[2].parent = Some(0);
        diff.1.rows[2].fate = Fate::New;
        // The last two functions are the same one.
        let tree = data(&page(&diff))["tree"].take();
        assert_eq!(tree["boxes"], 3);
        assert_eq!(tree["parent"], columns::packed([0, 1, 2]));
        assert_eq!(tree["function"], columns::packed_signed([0, 1, 1]));
        assert_eq!(tree["fate"], columns::packed([0, 0, 1]));
        assert_eq!(tree["folded"], serde_json::json!([0, 0.0, 0.0]));
    }

    #[test]
    fn empty_answers_and_deep_trees_are_pages_too() {
        assert_eq!(data(&page(&chain(&[])))["tree"]["boxes"], 0);
        let deep = vec!["f"; 100_000];
        assert_eq!(data(&page(&chain(&deep)))["tree"]["boxes"], 100_000);
    }
}
