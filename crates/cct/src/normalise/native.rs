//! What compilers and linkers add to the names of symbols.

use std::borrow::Cow;

/// Words that compilers append after a dot, with a number: GCC's copies of a function for constant or fewer arguments,
/// its rarely run part, and LLVM's like. What tells code apart, such as `.avx2`, is not here.
const NUMBERED: &[&str] = &[
    "llvm",
    "constprop",
    "isra",
    "part",
    "cold",
    "lto_priv",
    "clone",
    "split",
    "__uniq",
    "specialized",
    "extracted",
    "outlined",
    "hot",
    "unlikely",
];

/// Those that come without a number too. Methods of other languages can have these names, so no other dot may be left.
const BARE: &[&str] = &["cold", "localalias", "warm", "hot", "unlikely"];

/// The name without compiler suffixes, however many.
pub(super) fn without_suffixes(name: &str) -> Cow<'_, str> {
    let all = stripped(name, BARE);
    let rest = if all.contains('.') { stripped(name, &[]) } else { all };
    if rest.len() < name.len() { Cow::Owned(rest.to_owned()) } else { Cow::Borrowed(name) }
}

fn stripped<'a>(name: &'a str, bare: &[&str]) -> &'a str {
    let mut rest = name;
    while let Some(shorter) = without_last_suffix(rest, bare).filter(|rest| !rest.is_empty()) {
        rest = shorter;
    }
    rest
}

fn without_last_suffix<'a>(name: &'a str, bare: &[&str]) -> Option<&'a str> {
    // As demanglers write them: `f() [clone .cold]`, `f() (.llvm.123)`.
    if let Some(inside) = name.strip_suffix(']') {
        let (before, clone) = inside.rsplit_once(" [clone .")?;
        return (!clone.contains(['[', ' '])).then_some(before);
    }
    if let Some(inside) = name.strip_suffix(')') {
        let (before, suffix) = inside.rsplit_once(" (.")?;
        return is_suffix(suffix).then_some(before);
    }
    // As symbols: a dot and a word, then perhaps a dot and a number.
    let (before, last) = name.rsplit_once('.')?;
    if is_number(last) {
        let (before, word) = before.rsplit_once('.')?;
        return NUMBERED.contains(&word).then_some(before);
    }
    bare.contains(&last).then_some(before)
}

/// True for a word of either list, with a number if it has one.
fn is_suffix(suffix: &str) -> bool {
    match suffix.split_once('.') {
        Some((word, number)) => NUMBERED.contains(&word) && is_number(number),
        None => BARE.contains(&suffix),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// The name without the version of its symbol; a stub (`@plt`) is other code and stays.
pub(super) fn without_version(name: &str) -> Cow<'_, str> {
    let Some(at) = name.find('@').filter(|at| *at > 0) else { return Cow::Borrowed(name) };
    let version = name[at..].trim_start_matches('@');
    let is_version = version.starts_with(|c: char| c.is_ascii_uppercase())
        && version.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.')
        && (name[at..].starts_with("@@") || version.bytes().any(|b| b.is_ascii_digit()));
    if is_version { Cow::Owned(name[..at].to_owned()) } else { Cow::Borrowed(name) }
}

/// The name without Rust's hashes: `::h` and 16 digits at the end, or a crate's in brackets.
pub(super) fn without_hashes(name: &str) -> Cow<'_, str> {
    if let Some((rest, hash)) = name.split_at_checked(name.len().saturating_sub(16))
        && let Some(before) = rest.strip_suffix("::h")
        && is_hex(hash)
        && !before.is_empty()
    {
        return Cow::Owned(before.to_owned());
    }
    let mut out = String::new();
    let mut rest = name;
    let mut changed = false;
    while let Some(open) = rest.find('[') {
        let inside = &rest[open + 1..];
        match inside.bytes().take(17).position(|b| b == b']') {
            Some(close) if close >= 15 && is_hex(&inside[..close]) => {
                out.push_str(&rest[..open]);
                rest = &inside[close + 1..];
                changed = true;
            }
            _ => {
                out.push_str(&rest[..=open]);
                rest = inside;
            }
        }
    }
    if changed { Cow::Owned(out + rest) } else { Cow::Borrowed(name) }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}
