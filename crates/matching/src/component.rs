//! What of a component's name stays the same from version to version.
//!
//! Two versions of a web application are served from other hosts and ports, with other query strings, and their workers
//! are started from blobs with random ids; what stays is the path of the url. Content hashes inside file names are not
//! handled here: `perfblame_cct::normalise` makes those equal on loading.

/// Stands for every script that was made on the fly: its url is a random id.
const BLOB: &str = "blob:";

/// Stands for every script whose url holds its text.
const DATA: &str = "data:";

/// The part of a component's name by which it is known on both sides: the path of a web page's script, the file of a
/// `file:` url, any other url without its query. Names that are no urls stay as they are.
pub fn component_key(component: &str) -> &str {
    if component.starts_with(BLOB) {
        return BLOB;
    }
    if component.starts_with(DATA) {
        return DATA;
    }
    let Some((scheme, rest)) = component.split_once("://") else { return component };
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if scheme.is_empty() || !scheme.bytes().all(is_scheme) {
        return component;
    }
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    // Elsewhere the host says whose code it is: an extension's id, a bundle's name.
    if !["http", "https", "file"].iter().any(|web| scheme.eq_ignore_ascii_case(web)) {
        return &component[..component.len() - rest.len() + end];
    }
    match rest[..end].find('/') {
        Some(slash) => &rest[slash..end],
        None => "/",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_script_is_known_by_its_path() {
        for (component, expected) in [
            ("http://127.0.0.1:8137/lib/knockout.js", "/lib/knockout.js"),
            ("https://next.example.org/lib/knockout.js?v=2#x", "/lib/knockout.js"),
            ("https://example.org", "/"),
            ("https://example.org?page=1", "/"),
            ("https://example.org/a?to=https://b/c", "/a"),
            ("HTTP://example.org/app.js", "/app.js"),
            ("file:///home/me/app.js", "/home/me/app.js"),
            ("blob:https://example.org/1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", "blob:"),
            ("blob:null/#", "blob:"),
            ("data:text/javascript,f()", "data:"),
            ("chrome-extension://abc/content.js?x", "chrome-extension://abc/content.js"),
            ("webpack://shop/./src/cart.js?1f3a", "webpack://shop/./src/cart.js"),
            ("node:internal/timers", "node:internal/timers"),
            ("libc.so.6", "libc.so.6"),
            ("org.example.Cart", "org.example.Cart"),
            ("weird name://x?y", "weird name://x?y"),
            ("", ""),
        ] {
            assert_eq!(component_key(component), expected, "{component}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_key_and_the_key_is_its_own(text in ".*", url in "[a-z]{0,5}://[a-z?#/:]*") {
            for component in [text, url] {
                let key = component_key(&component);
                prop_assert_eq!(component_key(key), key);
            }
        }
    }
}
