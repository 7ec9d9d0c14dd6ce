//! XML, as far as profiles need it: elements, attributes and text out of bytes in memory, without a tree.
//!
//! Nothing is expanded but the five entities that XML itself knows and characters by number, so no document can grow
//! while it is read; nothing recurses; tags that do not match are the caller's to notice. Comments, instructions and
//! the document type are stepped over.

use std::borrow::Cow;

use memchr::memmem;

/// A place in XML bytes.
#[derive(Clone, Debug)]
pub struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    cut: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// `<name …>`, or `<name …/>`, after which no end comes.
    Start(Element<'a>),
    /// `</name>`
    End(&'a [u8]),
    /// What stands between tags, not decoded.
    Text(Text<'a>),
}

/// A start tag.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    /// The element's name.
    pub name: &'a [u8],
    attributes: &'a [u8],
    /// True for `<name/>`.
    pub empty: bool,
}

/// Text between tags.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    raw: &'a [u8],
    /// `<![CDATA[…]]>` holds no entities.
    literal: bool,
}

impl<'a> Text<'a> {
    /// The text with its entities replaced.
    pub fn decode(self) -> Cow<'a, str> {
        if self.literal { String::from_utf8_lossy(self.raw) } else { decode(self.raw) }
    }
}

impl<'a> Scanner<'a> {
    /// The start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        let at = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { bytes, at, cut: false }
    }

    /// Where the scanner is.
    pub fn offset(&self) -> u64 {
        self.at as u64
    }

    /// True when the bytes ended inside a tag.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The next tag or text; none at the end. Blank text is left out.
    pub fn next_event(&mut self) -> Option<Event<'a>> {
        loop {
            let rest = self.bytes.get(self.at..)?;
            if rest.is_empty() {
                return None;
            }
            if rest[0] != b'<' {
                let length = memchr::memchr(b'<', rest).unwrap_or(rest.len());
                self.at += length;
                let raw = rest[..length].trim_ascii();
                if !raw.is_empty() {
                    return Some(Event::Text(Text { raw, literal: false }));
                }
                continue;
            }
            if let Some(inner) = rest.strip_prefix(b"<![CDATA[") {
                let raw = self.until(inner, 9, b"]]>")?;
                return Some(Event::Text(Text { raw, literal: true }));
            }
            if let Some(inner) = rest.strip_prefix(b"<!--") {
                self.until(inner, 4, b"-->")?;
            } else if let Some(inner) = rest.strip_prefix(b"<?") {
                self.until(inner, 2, b"?>")?;
            } else if rest.starts_with(b"<!") {
                self.document_type(rest)?;
            } else {
                return self.tag(rest);
            }
        }
    }

    /// What stands before `end`, which follows the `opening` bytes at the scanner's place.
    fn until(&mut self, inner: &'a [u8], opening: usize, end: &[u8]) -> Option<&'a [u8]> {
        let Some(length) = memmem::find(inner, end) else { return self.cut_off() };
        self.at += opening + length + end.len();
        Some(&inner[..length])
    }

    fn cut_off<T>(&mut self) -> Option<T> {
        self.at = self.bytes.len();
        self.cut = true;
        None
    }

    /// `<!DOCTYPE name [ … ]>`: declarations in brackets, with quotes and comments that may hold any of them.
    fn document_type(&mut self, rest: &'a [u8]) -> Option<()> {
        let mut at = 2;
        let mut depth = 1usize;
        while depth > 0 {
            let Some(found) = rest[at..].iter().position(|byte| b"<>\"'".contains(byte)) else {
                return self.cut_off();
            };
            at += found;
            let skip = match rest[at] {
                _ if rest[at..].starts_with(b"<!--") => {
                    memmem::find(&rest[at..], b"-->").map(|length| length + 3)
                }
                b'<' => {
                    depth += 1;
                    Some(1)
                }
                b'>' => {
                    depth -= 1;
                    Some(1)
                }
                quote => memchr::memchr(quote, &rest[at + 1..]).map(|length| length + 2),
            };
            let Some(skip) = skip else { return self.cut_off() };
            at += skip;
        }
        self.at += at;
        Some(())
    }

    fn tag(&mut self, rest: &'a [u8]) -> Option<Event<'a>> {
        // A `>` may stand in a value.
        let mut end = 1;
        loop {
            let Some(found) = memchr::memchr3(b'>', b'"', b'\'', &rest[end..]) else {
                return self.cut_off();
            };
            end += found;
            if rest[end] == b'>' {
                break;
            }
            let Some(quoted) = memchr::memchr(rest[end], &rest[end + 1..]) else {
                return self.cut_off();
            };
            end += quoted + 2;
        }
        self.at += end + 1;
        let inner = &rest[1..end];
        if let Some(name) = inner.strip_prefix(b"/") {
            return Some(Event::End(name.trim_ascii()));
        }
        let (inner, empty) = match inner.strip_suffix(b"/") {
            Some(inner) => (inner, true),
            None => (inner, false),
        };
        let length = inner.iter().position(u8::is_ascii_whitespace).unwrap_or(inner.len());
        let (name, attributes) = inner.split_at(length);
        Some(Event::Start(Element { name, attributes, empty }))
    }

    /// The text of the element whose start tag was read last, up to the next tag.
    pub fn text(&mut self) -> Cow<'a, str> {
        let before = self.clone();
        if let Some(Event::Text(text)) = self.next_event() {
            return text.decode();
        }
        *self = before;
        Cow::Borrowed("")
    }
}

impl<'a> Element<'a> {
    /// The value of an attribute, decoded.
    pub fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        self.raw_attribute(name).map(decode)
    }

    /// The value of an attribute as a number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        str::from_utf8(self.raw_attribute(name)?).ok()?.trim().parse().ok()
    }

    /// The value of an attribute as it stands in the file.
    pub fn raw_attribute(&self, name: &str) -> Option<&'a [u8]> {
        self.attributes().find(|(known, _)| *known == name.as_bytes()).map(|(_, value)| value)
    }

    /// Names and values, as they stand in the file.
    pub fn attributes(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut rest = self.attributes;
        std::iter::from_fn(move || {
            let equals = memchr::memchr(b'=', rest)?;
            let name = rest[..equals].trim_ascii();
            let after = rest[equals + 1..].trim_ascii_start();
            let (quote, value) = after.split_first()?;
            let length = memchr::memchr(*quote, value)?;
            rest = &value[length + 1..];
            Some((name, &value[..length]))
        })
    }
}

/// Replaces entities. Invalid UTF-8 becomes U+FFFD, an entity that XML does not know stays as it is.
fn decode(raw: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(raw);
    if !text.contains('&') {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        // The longest that is known is `&#x10FFFF;`.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let known = end.and_then(|end| Some((entity(&rest[1..end])?, end)));
        let (character, end) = known.unwrap_or(('&', 0));
        out.push(character);
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    fn walk(bytes: &[u8]) -> String {
        let mut scanner = Scanner::new(bytes);
        let mut out = String::new();
        while let Some(event) = scanner.next_event() {
            let _ = match event {
                Event::Start(element) => {
                    let name = element.name.escape_ascii();
                    let _ = write!(out, "<{name}");
                    for (name, _) in element.attributes() {
                        let name = str::from_utf8(name).unwrap_or("?");
                        let _ = write!(out, " {name}={:?}", element.attribute(name));
                    }
                    writeln!(out, "{}", if element.empty { "/>" } else { ">" })
                }
                Event::End(name) => writeln!(out, "</{}>", name.escape_ascii()),
                Event::Text(text) => writeln!(out, "{:?}", text.decode()),
            };
        }
        if scanner.is_cut() {
            out += "cut off\n";
        }
        out
    }

    #[test]
    fn elements_attributes_and_text() {
        let text = r#"<?xml version="1.0"?><!DOCTYPE x [<!-- > ' --><!ELEMENT a (b)*><!ENTITY e "<>]">]>
            <a one='1 > 0' two = "&lt;&#65;&#x42;&amp;&nope;" three=""><!-- <b/> -->te&gt;xt<b/><![CDATA[<&amp;]]> </a >"#;
        expect![[r#"
            <a one=Some("1 > 0") two=Some("<AB&&nope;") three=Some("")>
            "te>xt"
            <b/>
            "<&amp;"
            </a>
        "#]]
        .assert_eq(&walk(text.as_bytes()));
        expect![[r"
            cut off
        "]]
        .assert_eq(&walk(br#"<a b="1"#));
        expect![[r"
            cut off
        "]]
        .assert_eq(&walk(b"<!DOCTYPE x ["));
    }

    proptest! {
        #[test]
        fn any_bytes_end_somewhere(
            bytes in prop::collection::vec(prop::sample::select(b"<>/!-[]=\"'&;a ?#x\xc3".to_vec()), 0..80)
        ) {
            let _ = walk(&bytes);
        }
    }
}
