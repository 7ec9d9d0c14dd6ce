//! Where a function is, in the words of SARIF: a place in a file as a URI, a name as a logical location, and a
//! fingerprint of a call path.

use std::fmt::Write as _;

use perfblame_analysis::FunctionView;
use serde::Serialize;
use serde_json::{Value, json};

/// Endings of files that hold source, for components without a folder.
const SOURCE: [&str; 30] = [
    "js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "cts", "vue", "svelte", "py", "rb", "php", "rs",
    "go", "c", "h", "cc", "cpp", "cxx", "hpp", "java", "kt", "scala", "cs", "swift", "m", "mm",
    "hs", "lua",
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_location: Option<Value>,
    logical_locations: [LogicalLocation<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation<'a> {
    name: &'a str,
    fully_qualified_name: String,
    kind: &'static str,
}

/// A function's name, and its place where file and line are known.
pub fn location(function: &FunctionView) -> Location<'_> {
    let component = function.component.as_deref();
    let file = function.file.as_deref().or(component.filter(|name| is_source(name)));
    let place =
        file.zip(function.line).and_then(|(file, line)| place_in_file(file, line, function.column));
    let qualified = match component {
        Some(component) if !function.name.starts_with(component) => {
            format!("{component}::{}", function.name)
        }
        _ => function.name.clone(),
    };
    Location {
        physical_location: place,
        logical_locations: [LogicalLocation {
            name: &function.name,
            fully_qualified_name: qualified,
            kind: "function",
        }],
    }
}

/// A line of a file as a physical location; none for a line that cannot be.
pub fn place_in_file(file: &str, line: u32, column: Option<u32>) -> Option<Value> {
    if file.is_empty() || line == 0 {
        return None;
    }
    let mut region = json!({ "startLine": line });
    if let Some(column) = column.filter(|column| *column > 0) {
        region["startColumn"] = column.into();
    }
    Some(json!({ "artifactLocation": { "uri": uri(file) }, "region": region }))
}

/// Whether a component is a file with source: classes, modules and shared objects are components, too.
fn is_source(component: &str) -> bool {
    let name = component.rsplit(['/', '\\']).next().unwrap_or(component);
    let name = name.split(['?', '#']).next().unwrap_or(name);
    let known = |end: &str| SOURCE.iter().any(|known| end.eq_ignore_ascii_case(known));
    // `com.shop.h` is a class of an obfuscated program.
    let package = |stem: &str, end: &str| end.len() == 1 && stem.contains('.');
    name.rsplit_once('.').is_some_and(|(stem, end)| known(end) && !package(stem, end))
        || component.contains("://")
}

/// A path or address as a URI: relative paths stay relative to wherever the source is.
fn uri(file: &str) -> String {
    let drive = |file: &str| {
        let mut letters = file.chars();
        letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next() == Some(':')
    };
    if let Some((scheme, rest)) = file.split_once("://")
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    {
        // What is escaped already stays as it is, and so do queries: bundlers put them in their addresses.
        return format!("{scheme}://{}", encoded(rest, "/?#:@!$&'()*+,;=%~"));
    }
    let path = file.replace('\\', "/");
    if drive(&path) {
        return format!("file:///{}", encoded(&path, "/:~"));
    }
    if path.starts_with('/') {
        return format!("file://{}", encoded(&format!("/{}", path.trim_start_matches('/')), "/~"));
    }
    encoded(path.trim_start_matches("./"), "/~")
}

/// A text with everything but letters, digits and some others as `%` and hexadecimal digits.
fn encoded(text: &str, also: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let c = char::from(*byte);
        let escape = |digits: &[u8]| digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit);
        let keeps = match c {
            '%' => also.contains('%') && bytes.get(at + 1..at + 3).is_some_and(escape),
            c => c.is_ascii_alphanumeric() || "-._".contains(c) || also.contains(c),
        };
        if keeps {
            out.push(c);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The same for the same names along a path; lines and costs do not matter.
pub fn fingerprint(path: &[&FunctionView]) -> String {
    let names = path.iter().flat_map(|it| [it.component.as_deref().unwrap_or(""), &*it.name]);
    // The end of a text counts, so that `a`, `bc` is not `ab`, `c`.
    let bytes = names.flat_map(|name| name.bytes().chain([0]));
    format!("{:016x}", perfblame_keys::hash(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_become_uris() {
        for (file, expected) in [
            ("src/layer.js", "src/layer.js"),
            ("./a b/ü.rs", "a%20b/%C3%BC.rs"),
            ("/usr/src/x.c", "file:///usr/src/x.c"),
            ("//server/x.c", "file:///server/x.c"),
            (r"C:\dir\x.cs", "file:///C:/dir/x.cs"),
            ("https://a.example/b%20c/<x>.js?v=1", "https://a.example/b%20c/%3Cx%3E.js?v=1"),
            ("webpack://app/./src/100%.js", "webpack://app/./src/100%25.js"),
            ("odd:name.js", "odd%3Aname.js"),
            ("javascript:alert(1)", "javascript%3Aalert%281%29"),
        ] {
            assert_eq!(uri(file), expected);
        }
    }

    #[test]
    fn only_source_is_a_place() {
        let known = |component: &str| is_source(component);
        assert!(known("layer.js") && known("src/a.RS") && known("https://a.example/app"));
        assert!(
            !known("libc.so.6")
                && !known("com.shop.Order")
                && !known("com.shop.h")
                && !known("[kernel]")
        );
    }

    #[test]
    fn fingerprints_are_of_names_alone() {
        let function = |name: &str, line| FunctionView {
            name: name.to_owned(),
            line: Some(line),
            ..FunctionView::default()
        };
        let (a, moved, b) = (function("a", 1), function("a", 9), function("b", 1));
        assert_eq!(fingerprint(&[&a, &b]), fingerprint(&[&moved, &b]));
        assert_ne!(fingerprint(&[&a, &b]), fingerprint(&[&b, &a]));
    }
}
