//! Pages: one file each, without network. What they share is here: looks, numbers, the flame graph on a canvas.
//!
//! A page gets its data as JSON and puts names in as text, so that names from a profile are never part of its markup or
//! code. Style sheets and scripts are files of their own beside the templates, which name them in double braces.

use std::io::{self, Write};

use perfblame_cct::Unit;
use serde::Serialize;

const BASE_CSS: &str = include_str!("page/base.css");
const BASE_JS: &str = include_str!("page/base.js");
const FLAME_GRAPH_JS: &str = include_str!("page/flame_graph.js");

/// A metric as pages know it.
#[derive(Serialize)]
pub struct Metric<'a> {
    name: &'a str,
    unit: &'a str,
    decimals: u8,
}

impl<'a> Metric<'a> {
    pub fn of(metric: &'a perfblame_cct::Metric) -> Self {
        let unit = match &metric.unit {
            Unit::Other(unit) => unit,
            unit => unit.name(),
        };
        Self { name: &metric.name, unit, decimals: metric.decimals }
    }
}

/// Data as the content of a script element. What could end the element or a line of script never appears as such.
pub fn json_for_script(data: &impl Serialize) -> io::Result<String> {
    let json = serde_json::to_string(data)?;
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            letter => out.push(letter),
        }
    }
    Ok(out)
}

/// Writes a template with each `{{name}}` replaced by the part of that name.
pub fn write_page(template: &str, parts: &[(&str, &str)], out: &mut dyn Write) -> io::Result<()> {
    let shared = [("base.css", BASE_CSS), ("base.js", BASE_JS), ("flame_graph.js", FLAME_GRAPH_JS)];
    let mut pieces = template.split("{{");
    out.write_all(pieces.next().unwrap_or("").as_bytes())?;
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        let part = parts.iter().chain(&shared).find(|part| part.0 == name);
        let (_, text) = part.ok_or_else(|| io::Error::other(format!("no part {name}")))?;
        out.write_all(text.as_bytes())?;
        out.write_all(rest.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_leave_its_element() {
        let names = ["</script><script>alert(1)</script>", "a&b", "line\u{2028}end"];
        let json = json_for_script(&names).unwrap();
        assert!(!json.contains(['<', '>', '&', '\u{2028}']), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), names);
    }
}
