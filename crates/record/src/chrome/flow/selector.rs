//! How a flow names an element: by style sheet rules, accessible name, text, XPath, or rules that see through shadow
//! roots; a chain of these descends from one shadow root into the next.

use std::fmt;

/// One way to find an element. The parts of a chain descend: each is searched for below what the one before it found,
/// within its shadow root where it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector(pub Vec<SelectorPart>);

/// A part of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorPart {
    /// How to read the text.
    pub kind: SelectorKind,
    /// What to look for, without the prefix that names the kind.
    pub text: String,
}

/// Languages of selectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectorKind {
    /// A CSS selector, which is what a text without a prefix is.
    Css,
    /// An accessible name, a role, or both.
    Aria,
    /// Text that the innermost element contains.
    Text,
    /// An XPath expression.
    XPath,
    /// A CSS selector that is matched in all shadow roots.
    Pierce,
}

const PREFIXES: [(&str, SelectorKind); 5] = [
    ("css/", SelectorKind::Css),
    ("aria/", SelectorKind::Aria),
    ("text/", SelectorKind::Text),
    ("xpath/", SelectorKind::XPath),
    ("pierce/", SelectorKind::Pierce),
];

impl SelectorKind {
    /// The word in front of the slash.
    pub fn word(self) -> &'static str {
        match self {
            Self::Css => "css",
            Self::Aria => "aria",
            Self::Text => "text",
            Self::XPath => "xpath",
            Self::Pierce => "pierce",
        }
    }
}

impl SelectorPart {
    /// Reads a text with or without a prefix.
    pub fn new(text: &str) -> Self {
        for (prefix, kind) in PREFIXES {
            if let Some(rest) = text.strip_prefix(prefix) {
                return Self { kind, text: rest.to_owned() };
            }
        }
        Self { kind: SelectorKind::Css, text: text.to_owned() }
    }
}

impl fmt::Display for SelectorPart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind != SelectorKind::Css {
            write!(out, "{}/", self.kind.word())?;
        }
        out.write_str(&self.text)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, part) in self.0.iter().enumerate() {
            if number > 0 {
                out.write_str(" ▸ ")?;
            }
            part.fmt(out)?;
        }
        Ok(())
    }
}

/// What an `aria/` selector asks for: `Save[role="button"]` is a button named *Save*.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Aria {
    pub name: Option<String>,
    pub role: Option<String>,
}

/// Reads an `aria/` selector. What stands outside of `[name="…"]` and `[role="…"]` is the name. Says what is wrong with
/// one that nothing can match.
pub fn aria(text: &str) -> Result<Aria, String> {
    let mut aria = Aria::default();
    let mut outside = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let (before, from) = rest.split_at(open);
        outside.push_str(before);
        if let Some((attribute, value, after)) = attribute(from) {
            match attribute {
                "name" => aria.name = Some(value.to_owned()),
                "role" => aria.role = Some(value.to_owned()),
                other => return Err(format!("`name` or `role` in brackets, not `{other}`")),
            }
            rest = after;
        } else {
            outside.push('[');
            rest = from.get(1..).unwrap_or_default();
        }
    }
    outside.push_str(rest);
    if !outside.is_empty() && aria.name.as_deref().unwrap_or_default().is_empty() {
        aria.name = Some(outside);
    }
    if aria.name.is_none() && aria.role.is_none() {
        return Err("a name or a role".to_owned());
    }
    Ok(aria)
}

/// `[ word = "value" ]` at the start of a text, and what follows it.
fn attribute(text: &str) -> Option<(&str, &str, &str)> {
    let text = text.strip_prefix('[')?.trim_start();
    let end = text.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))?;
    let (word, text) = text.split_at(end);
    let text = text.trim_start().strip_prefix('=')?.trim_start();
    let quote = text.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    let text = text.get(1..)?;
    let (value, text) = text.split_at(text.find(quote)?);
    let text = text.get(1..)?.trim_start().strip_prefix(']')?;
    (!word.is_empty()).then_some((word, value, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_name_the_kind() {
        let kinds = ["#a", "aria/a", "text/a", "xpath///a", "pierce/a", "css/#a", "other/a"];
        let kinds: Vec<_> = kinds.iter().map(|text| SelectorPart::new(text)).collect();
        let shown: Vec<_> =
            kinds.iter().map(|part| format!("{} {}", part.kind.word(), part.text)).collect();
        let wanted =
            ["css #a", "aria a", "text a", "xpath //a", "pierce a", "css #a", "css other/a"];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn chains_are_shown_as_they_descend() {
        let chain = Selector(vec![SelectorPart::new("my-app"), SelectorPart::new("aria/Save")]);
        assert_eq!(chain.to_string(), "my-app ▸ aria/Save");
    }

    #[track_caller]
    fn check(text: &str, name: Option<&str>, role: Option<&str>) {
        let wanted = Aria { name: name.map(str::to_owned), role: role.map(str::to_owned) };
        assert_eq!(aria(text), Ok(wanted));
    }

    #[test]
    fn aria_has_a_name_and_a_role() {
        check("Save", Some("Save"), None);
        check("Save[role=\"button\"]", Some("Save"), Some("button"));
        check("[role='image']", None, Some("image"));
        check("[ name = \"\" ][role=\"button\"]", Some(""), Some("button"));
        check("[1] of [2]", Some("[1] of [2]"), None);
        check("[role=\"a", Some("[role=\"a"), None);
        check("é[", Some("é["), None);
        assert!(aria("x[level=\"2\"]").is_err());
        assert!(aria("").is_err());
    }
}
