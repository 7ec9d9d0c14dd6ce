//! The calling context tree of one trace for Graphviz, as far as its first paths go.

use std::io::{self, Write};

use perfblame_analysis::Inferred;

use crate::numbers::counted;
use crate::pa_cct;

/// Writes the tree for Graphviz. The answer must have its paths.
pub fn infer_dot(answer: &Inferred, out: &mut dyn Write) -> io::Result<()> {
    let left_out = answer.paths.len().saturating_sub(pa_cct::PATHS);
    let more = if left_out > 0 {
        let paths = counted(left_out as u64, "path", "paths");
        format!(", {paths} with the lowest cost left out")
    } else {
        String::new()
    };
    let input = answer.input.replace('\\', "\\\\").replace('"', "\\\"");
    writeln!(out, "digraph perfblame {{")?;
    writeln!(out, "  graph [label=\"{input}: call paths by latency{more}\", labelloc=t];")?;
    writeln!(out, "  node [shape=box];")?;
    pa_cct::dot(&answer.paths, false, out)?;
    writeln!(out, "}}")
}
