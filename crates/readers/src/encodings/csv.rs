//! Lines of comma-separated values.

use std::borrow::Cow;

/// The fields of a line; quotes are taken off, and a separator within them is none.
pub(crate) fn fields(line: &str, separator: char) -> Vec<Cow<'_, str>> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        // Blanks before a quote are part of the field: trees are indented that way.
        let start = rest.trim_start_matches(' ');
        if let Some(quoted) = start.strip_prefix('"') {
            let mut text = " ".repeat(rest.len() - start.len());
            let mut inside = quoted;
            loop {
                let Some(end) = inside.find('"') else {
                    text.push_str(inside);
                    inside = "";
                    break;
                };
                text.push_str(inside.get(..end).unwrap_or(""));
                inside = inside.get(end + 1..).unwrap_or("");
                if let Some(after) = inside.strip_prefix('"') {
                    text.push('"');
                    inside = after;
                } else {
                    break;
                }
            }
            let end = inside.find(separator).unwrap_or(inside.len());
            text.push_str(inside.get(..end).unwrap_or(""));
            fields.push(Cow::Owned(text));
            rest = inside.get(end..).unwrap_or("");
        } else {
            let end = rest.find(separator).unwrap_or(rest.len());
            fields.push(Cow::Borrowed(rest.get(..end).unwrap_or("")));
            rest = rest.get(end..).unwrap_or("");
        }
        match rest.strip_prefix(separator) {
            Some(after) => rest = after,
            None => return fields,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn quotes_hold_separators() {
        assert_eq!(fields("a,\"b,c\",,\"d\"\"e\"x,", ','), ["a", "b,c", "", "d\"ex", ""]);
        assert_eq!(fields("  \"a,b\",1", ','), ["  a,b", "1"]);
        assert_eq!(fields("", ','), [""]);
        assert_eq!(fields("\"open", ','), ["open"]);
    }
}
