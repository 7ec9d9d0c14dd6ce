//! Two revisions as a page: the comparison's own page for one workload, a page of pages for several.

use std::io::{self, Write};

use perfblame_analysis::{Check, Compared, Comparison};

use crate::check_words::{comparison_line, gravest_first, revisions};
use crate::diff_html::diff_html;
use crate::diff_markdown::entities;

/// Writes a check as one page that needs nothing else.
pub fn check_html(check: &Check, out: &mut dyn Write) -> io::Result<()> {
    let sorted = gravest_first(check);
    if let [only] = &*sorted
        && let Some(compared) = only.compared()
    {
        return diff_html(&compared.diff, &compared.tree, out);
    }
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>perfblame check</title>\n\
         <style>body{{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:90rem;padding:0 1rem;\
         color-scheme:light dark}}iframe{{width:100%;height:80vh;border:1px solid #8886}}\
         summary{{cursor:pointer;font-weight:600;padding:.4rem 0}}pre{{overflow:auto}}</style></head><body>\n\
         <h1>perfblame check</h1>\n<p>{}</p>\n",
        entities(&revisions(check))
    )?;
    for (row, comparison) in sorted.iter().enumerate() {
        let open = if row == 0 { " open" } else { "" };
        let line = entities(&comparison_line(comparison, true));
        writeln!(out, "<details{open}><summary>{line}</summary>")?;
        match comparison.compared() {
            Some(compared) => frame(comparison, compared, out)?,
            None => {
                for (_, failure) in check.failed().filter(|(it, _)| it == comparison) {
                    writeln!(out, "<pre>{}</pre>", entities(&failure.why))?;
                }
            }
        }
        writeln!(out, "</details>")?;
    }
    out.write_all(b"</body></html>\n")
}

fn frame(comparison: &Comparison, compared: &Compared, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Vec::new();
    diff_html(&compared.diff, &compared.tree, &mut page)?;
    let page = String::from_utf8_lossy(&page);
    // Within an attribute only these two mean something.
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    let title = entities(&comparison.title()).replace('"', "&quot;");
    writeln!(out, "<iframe title=\"{title}\" loading=\"lazy\" srcdoc=\"{page}\"></iframe>")
}
