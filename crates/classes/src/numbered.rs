//! Names that the compiler numbered.
//!
//! `lambda$run$3`, `access$000` and `Outer$1` say in which order the compiler came across them, not what they are. One
//! more lambda at the top of a class renames all below it; so they are told apart by their bodies.

/// Where a class name's last numbered part is: `Outer$1` after `Outer`, `Outer$2Local` too.
pub struct Numbered<'a> {
    /// The class around it.
    pub host: &'a [u8],
    /// Its number; 0 for one that does not fit.
    pub number: u64,
    /// What follows the number: a local class's own name.
    pub rest: &'a [u8],
}

/// The numbered part of a class's name, from the last one that there is: none for classes that a person named.
pub fn numbered_class(name: &[u8]) -> Option<Numbered<'_>> {
    let mut found = None;
    let mut at = 0;
    while let Some(place) = name.get(at..)?.iter().position(|byte| *byte == b'$') {
        let dollar = at + place;
        at = dollar + 1;
        let digits = name[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 && dollar > 0 {
            found = Some((dollar, at + digits));
        }
    }
    let (dollar, end) = found?;
    Some(Numbered {
        host: &name[..dollar],
        number: number(&name[dollar + 1..end]),
        rest: &name[end..],
    })
}

/// A method that the compiler numbered: its name without the number, and the number.
pub fn numbered_method(name: &[u8]) -> Option<(&[u8], u64)> {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (stem, digits) = name.split_at(name.len() - digits);
    let numbered = !digits.is_empty()
        && stem.ends_with(b"$")
        && (stem.starts_with(b"lambda$")
            || stem == b"access$"
            // As Scala calls them.
            || stem.starts_with(b"$anonfun$"));
    numbered.then(|| (stem, number(digits)))
}

fn number(digits: &[u8]) -> u64 {
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{numbered_class, numbered_method};

    #[test]
    fn numbers_are_the_compilers() {
        let class = |name: &str| {
            numbered_class(name.as_bytes()).map(|found| {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                (text(found.host), found.number, text(found.rest))
            })
        };
        assert_eq!(class("a/Outer$1"), Some(("a/Outer".into(), 1, String::new())));
        assert_eq!(class("a/Outer$2Local"), Some(("a/Outer".into(), 2, "Local".into())));
        assert_eq!(class("a/Outer$2$13"), Some(("a/Outer$2".into(), 13, String::new())));
        assert_eq!(class("a/Outer$2$In"), Some(("a/Outer".into(), 2, "$In".into())));
        assert_eq!(class("a/Outer$Inner"), None);
        assert_eq!(class("a/B2"), None);
        assert_eq!(class("$1"), None);
        let method = |name: &str| numbered_method(name.as_bytes()).map(|(_, number)| number);
        assert_eq!(method("lambda$run$3"), Some(3));
        assert_eq!(method("access$1200"), Some(1200));
        assert_eq!(method("access$run"), None);
        assert_eq!(method("lambda$3run"), None);
        assert_eq!(method("md5"), None);
        assert_eq!(method("this$0"), None);
    }
}
