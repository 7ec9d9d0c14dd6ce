//! What a component is called wherever and whenever it was loaded: files of one page are served under other hashes,
//! libraries come in other versions, and a function in them is still the same function.

use std::borrow::Cow;

use perfblame_cct::{NameKind, NameKinds, normalise_name};

use crate::component_key;

/// The component's key without content hashes, and of jars and shared objects without the version.
pub(super) fn home(component: &str) -> Cow<'_, str> {
    let key = component_key(component);
    let clean = normalise_name(key, NameKinds::none().with(NameKind::Urls));
    match without_version(&clean) {
        Some(plain) => Cow::Owned(plain),
        None => clean,
    }
}

/// `foo-1.2.3.jar` as `foo.jar`, `libjq.so.1.0.4` as `libjq.so`, `libc-2.31.so` as `libc.so`; none for all else.
fn without_version(text: &str) -> Option<String> {
    if let Some(at) = text.rfind(".so.") {
        let version = &text[at + 4..];
        let numbers = version.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let stem = text[..at].rsplit_once('-').filter(|(_, version)| is_version(version));
        return numbers.then(|| format!("{}.so", stem.map_or(&text[..at], |(stem, _)| stem)));
    }
    let (stem, extension) = text.rsplit_once('.')?;
    if !matches!(extension, "jar" | "war" | "so" | "dylib" | "dll") {
        return None;
    }
    // The version starts at the first `-` before a digit: `foo-1.2.3-beta.jar`.
    let name_start = stem.rfind('/').map_or(0, |slash| slash + 1);
    let dashes = stem[name_start..].match_indices('-').map(|(at, _)| name_start + at);
    let cut = dashes.into_iter().find(|at| is_version(&stem[at + 1..]))?;
    (cut > name_start).then(|| format!("{}.{extension}", &stem[..cut]))
}

/// True for what starts with a digit and has a dot or nothing but digits: `1.2.3-beta`, `2`.
fn is_version(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && (digits == text.len() || text.as_bytes()[digits] == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_hashes_and_versions_are_left_out() {
        for (component, expected) in [
            ("http://127.0.0.1:8080/lib/knockout.js?v=3", "/lib/knockout.js"),
            ("https://cdn.example/a/app.3f2a1b9c.js#x", "/a/app.js"),
            ("blob:http://localhost/0b7e2a50-9a55-4c0e-8c1b-0123456789ab", "blob:"),
            ("app.3f2a1b9c.js", "app.js"),
            ("lib/foo-1.2.3.jar", "lib/foo.jar"),
            ("foo-bar-2.0-SNAPSHOT.jar", "foo-bar.jar"),
            ("/usr/lib/libjq.so.1.0.4", "/usr/lib/libjq.so"),
            ("libc-2.31.so", "libc.so"),
            ("libstdc++.so.6", "libstdc++.so"),
            ("java.util.HashMap", "java.util.HashMap"),
            ("[kernel.kallsyms]", "[kernel.kallsyms]"),
            ("-1.jar", "-1.jar"),
            ("", ""),
        ] {
            assert_eq!(home(component), expected, "{component}");
        }
    }
}
