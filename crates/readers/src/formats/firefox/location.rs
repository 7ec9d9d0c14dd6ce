//! What a frame's text says, as Gecko writes it: `name (url:line:column)`, `symbol (in library)`, an address, or a label.

/// A frame's text, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location<'a> {
    /// A script's function; the name of a script's outermost code is empty.
    Script {
        /// The function's name.
        name: &'a str,
        /// The script.
        url: &'a str,
        /// Where the function starts, counted from 1.
        line: Option<u64>,
        /// Where the function starts, as the file counts.
        column: Option<u64>,
    },
    /// A symbol of a library.
    Native {
        /// The symbol.
        name: &'a str,
        /// The library's name.
        library: &'a str,
    },
    /// An address without a symbol.
    Address(u64),
    /// What the browser calls what it is doing.
    Label(&'a str),
}

/// Brackets tried before a text is taken for a label, so that no text takes long.
const MOST_BRACKETS: usize = 32;

/// Takes a frame's text apart.
pub fn parse(text: &str) -> Location<'_> {
    if let Some(address) = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok())
    {
        return Location::Address(address);
    }
    if let Some(inner) = text.strip_suffix(')') {
        if let Some((name, library)) = inner.rsplit_once(" (in ") {
            return Location::Native { name, library };
        }
        // The name may contain blanks and brackets, and so may the url: `get x (http://host/a (1).js:3)`.
        for (at, _) in inner.match_indices(" (").take(MOST_BRACKETS) {
            let (name, place) = (&inner[..at], &inner[at + 2..]);
            if let Some((url, line, column)) = script(place) {
                return Location::Script { name, url, line: Some(line), column };
            }
        }
    }
    if let Some((url, line, column)) = script(text)
        && !text.contains(' ')
    {
        return Location::Script { name: "", url, line: Some(line), column };
    }
    if is_url(text) && !text.contains(' ') {
        return Location::Script { name: "", url: text, line: None, column: None };
    }
    Location::Label(text)
}

/// `url:line` or `url:line:column`. Of scripts loaded by others (`loader.js -> script.js:3`) the last counts.
fn script(place: &str) -> Option<(&str, u64, Option<u64>)> {
    let place = place.rsplit(" -> ").next().unwrap_or(place);
    let (rest, last) = place.rsplit_once(':')?;
    let last: u64 = last.parse().ok()?;
    let (url, line, column) = match rest.rsplit_once(':').map(|(url, line)| (url, line.parse())) {
        Some((url, Ok(line))) => (url, line, Some(last)),
        _ => (rest, last, None),
    };
    is_url(url).then_some((url, line, column))
}

/// `scheme:…` or the name of the engine's own scripts.
fn is_url(text: &str) -> bool {
    if text == "self-hosted" {
        return true;
    }
    let Some((scheme, _)) = text.split_once(':') else { return false };
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
    let starts = |start: &str| text.starts_with(start);
    scheme.len() > 1
        && scheme.bytes().all(known)
        && (text[scheme.len()..].starts_with("://")
            || ["file:", "data:", "blob:", "javascript:", "about:", "jar:", "moz-"]
                .into_iter()
                .any(starts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_kinds() {
        let script = |name, url, line, column| Location::Script { name, url, line, column };
        for (text, expected) in [
            ("a (file:///x/simple.js:1)", script("a", "file:///x/simple.js", Some(1), None)),
            ("o (http://h:80/a.js:1:87)", script("o", "http://h:80/a.js", Some(1), Some(87))),
            (
                "emit (resource://base-loader.js -> resource://event-emitter.js:254)",
                script("emit", "resource://event-emitter.js", Some(254), None),
            ),
            ("next (self-hosted:1217)", script("next", "self-hosted", Some(1217), None)),
            ("t/< (file:///a (1).js:1:180)", script("t/<", "file:///a (1).js", Some(1), Some(180))),
            ("file:///x/simple.js:1", script("", "file:///x/simple.js", Some(1), None)),
            ("resource://a/b.js", script("", "resource://a/b.js", None, None)),
            (
                "frobnicate (chrome://blargh:34)",
                script("frobnicate", "chrome://blargh", Some(34), None),
            ),
            (
                "js::RunScript(JSContext *, int) (in mozjs.dll)",
                Location::Native { name: "js::RunScript(JSContext *, int)", library: "mozjs.dll" },
            ),
            ("0x100000f84", Location::Address(0x1_0000_0f84)),
            ("Startup::XRE_Main", Location::Label("Startup::XRE_Main")),
            ("(root)", Location::Label("(root)")),
            ("Load 32: https://x/1", Location::Label("Load 32: https://x/1")),
            ("", Location::Label("")),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
