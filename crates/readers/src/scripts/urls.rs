//! Addresses of scripts, maps and sources: how one names another, and which are files of this machine.

use std::path::PathBuf;

/// The address that `name` stands for beside `base`.
pub fn resolve(base: &str, name: &str) -> String {
    if is_absolute(name) {
        return name.to_owned();
    }
    let base = base.split(['?', '#']).next().unwrap_or_default();
    let root = match base.find("://") {
        Some(at) => base[at + 3..].find('/').map_or(base.len(), |slash| at + 3 + slash),
        None => 0,
    };
    let (origin, path) = base.split_at(root);
    if let Some(rest) = name.strip_prefix("//") {
        let scheme = base.find("//").map_or("", |at| &base[..at]);
        return format!("{scheme}//{rest}");
    }
    let folder = match name.strip_prefix('/') {
        Some(_) => "",
        None if path.is_empty() && !origin.is_empty() => "/",
        None => path.rfind('/').map_or("", |slash| &path[..=slash]),
    };
    let whole = format!("{folder}{name}");
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            // Above the root there is nothing.
            ".." if parts == [""] => {}
            _ => parts.push(part),
        }
    }
    format!("{origin}{}", parts.join("/"))
}

/// True when an address needs no other one.
pub fn is_absolute(name: &str) -> bool {
    let scheme = name.split(['/', '?', '#']).next().unwrap_or_default();
    scheme.len() > 2 && scheme.ends_with(':') || name.starts_with("data:")
}

/// The file of this machine that an address is.
pub fn file(url: &str) -> Option<PathBuf> {
    if let Some(rest) = url.strip_prefix("file://") {
        let path = rest.strip_prefix("localhost").unwrap_or(rest);
        let path = percent_decoded(path.split(['?', '#']).next().unwrap_or_default());
        // A drive: `/C:/work`.
        let is_drive = cfg!(windows) && path.as_bytes().get(2) == Some(&b':');
        return Some(PathBuf::from(if is_drive { &path[1..] } else { &path }));
    }
    let is_path = url.starts_with('/') && !url.starts_with("//");
    let is_drive = url.as_bytes().get(1) == Some(&b':') && url.contains(['\\', '/']);
    (is_path || is_drive).then(|| PathBuf::from(url))
}

/// The path of an address, without host and query.
pub fn path_of(url: &str) -> &str {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |slash| &rest[slash..]),
        None => url,
    }
}

/// The last part of an address.
pub fn file_name(url: &str) -> &str {
    path_of(url).rsplit(['/', '\\']).next().unwrap_or_default()
}

/// Text with `%41` as the characters that stand for.
pub fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        let value = hex.filter(|_| *byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        decoded.push(value.unwrap_or(*byte));
        at += if value.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// What a `data:` address holds.
pub fn data(url: &str) -> Option<Vec<u8>> {
    let (kind, body) = url.strip_prefix("data:")?.split_once(',')?;
    if !kind.trim_end().ends_with("base64") {
        return Some(percent_decoded(body).into_bytes());
    }
    let mut decoded = Vec::with_capacity(body.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for byte in body.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => continue,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beside_addresses() {
        for (base, name, expected) in [
            ("http://a/js/app.js?v=1", "app.js.map", "http://a/js/app.js.map"),
            ("http://a/js/app.js", "../src/x.js", "http://a/src/x.js"),
            ("http://a/app.js", "../../src/x.js", "http://a/src/x.js"),
            ("http://a/js/app.js", "/maps/x.map", "http://a/maps/x.map"),
            ("http://a/js/app.js", "//cdn/x.map", "http://cdn/x.map"),
            ("http://a/app.js", "webpack:///./src/x.js", "webpack:///./src/x.js"),
            ("file:///w/dist/app.js", "../src/x.ts", "file:///w/src/x.ts"),
            ("/w/dist/app.js", "./x.js.map", "/w/dist/x.js.map"),
            ("app.js", "x.js", "x.js"),
            ("app.js", "../x.js", "../x.js"),
            ("http://a", "x.js", "http://a/x.js"),
        ] {
            assert_eq!(resolve(base, name), expected, "{name} beside {base}");
        }
    }

    #[test]
    fn data_in_addresses() {
        let plain = data("data:application/json,%7B%22a%22%3A1%7D");
        assert_eq!(plain.as_deref(), Some(&br#"{"a":1}"#[..]));
        let packed = data("data:application/json;charset=utf-8;base64,eyJhIjoxfQ==");
        assert_eq!(packed.as_deref(), Some(&br#"{"a":1}"#[..]));
        assert_eq!(data("http://a/"), None);
    }

    #[test]
    fn files_of_this_machine() {
        assert_eq!(file("file:///w/a%20b.js"), Some(PathBuf::from("/w/a b.js")));
        assert_eq!(file("/w/a.js"), Some(PathBuf::from("/w/a.js")));
        assert_eq!(file("http://a/b.js"), None);
        assert_eq!(file("node:fs"), None);
    }
}
