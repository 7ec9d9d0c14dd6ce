//! Names of profiles taken apart: demangled, without what compilers and linkers add, as a list of parts.
//!
//! Profilers spell one function in many ways (`foo::bar<int>(int) const`, `<a::Foo<T> as a::Bar>::baz`,
//! `a/b/pkg.(*T[...]).M.func1`); what they have in common is the order of the parts. Names of definitions go through
//! the same reading, so both sides end up alike.

/// Longer names are machine-made beyond use.
const MAX_NAME: usize = 16 << 10;

/// A name as its parts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Symbol {
    /// Module, namespace, package, type, function, closure; outermost first.
    pub parts: Vec<String>,
    /// The trait whose method it is.
    pub of_trait: Option<String>,
    /// Import path of a Go package, up to the package.
    pub path: Option<String>,
}

impl Symbol {
    pub fn last(&self) -> &str {
        self.parts.last().map_or("", String::as_str)
    }
}

/// Marks of copies that compilers make, of versions and of links.
const SUFFIXES: &[&str] = &[
    ".part.",
    ".constprop.",
    ".isra.",
    ".cold",
    ".llvm.",
    ".lto_priv.",
    ".localalias",
    ".clone.",
    "@@",
    "@plt",
    "@GLIBC",
];

/// Parts in angle brackets that are names and not types.
const BRACKETED: &[&str] = &[
    "init",
    "clinit",
    "lambda",
    "locals",
    "module",
    "listcomp",
    "genexpr",
    "dictcomp",
    "setcomp",
    "static_initializer",
    "anonymous",
    "instance_members_initializer",
    "static_fields_initializer",
];

/// Takes a name apart.
pub(super) fn symbol(name: &str) -> Symbol {
    let name = demangled(name.get(..MAX_NAME).unwrap_or(name).trim());
    let mut name = name.as_str();
    for suffix in SUFFIXES {
        if let Some(at) = name.find(suffix).filter(|at| *at > 0) {
            name = &name[..at];
        }
    }
    for word in ["get ", "set ", "async ", "static ", "new "] {
        name = name.strip_prefix(word).unwrap_or(name);
    }
    let name = without_brackets(name).replace("glob..", "init.");
    let (path, name) = go_path(&name);
    let mut found = SymbolReader::default().read(name);
    found.path = path;
    // Rust's hash of a build.
    let hash = |part: &str| {
        part.len() == 17
            && part.starts_with('h')
            && part[1..].bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    if found.parts.len() > 1 && hash(found.last()) {
        found.parts.pop();
    }
    // Go's wrappers of methods, of `go` and of `defer`.
    if let Some(last) = found.parts.last_mut() {
        let plain = last.strip_suffix("-fm").unwrap_or(last);
        let plain = plain.split("-range").next().unwrap_or(plain).to_owned();
        *last = plain;
    }
    let wrapper = |part: &str| ["gowrap", "deferwrap"].iter().any(|word| numbered(part, word));
    if found.parts.len() > 1 && wrapper(found.last()) {
        found.parts.pop();
    }
    found
}

/// Whether a part is a word and a number.
pub(super) fn numbered(part: &str, word: &str) -> bool {
    part.strip_prefix(word)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|digit| digit.is_ascii_digit()))
}

fn demangled(name: &str) -> String {
    let plain = name.strip_prefix('_').filter(|rest| rest.starts_with("_ZN")).unwrap_or(name);
    if plain.starts_with("_R") || plain.starts_with("_ZN") {
        let stem = plain.split('.').next().unwrap_or(plain);
        if let Ok(found) = rustc_demangle::try_demangle(stem) {
            return format!("{found:#}");
        }
    }
    if plain.starts_with("_Z")
        && plain.len() < 4096
        && let Ok(found) = cpp_demangle::Symbol::new(plain.split('.').next().unwrap_or(plain))
        && let Ok(text) = found.demangle_with_options(
            &cpp_demangle::DemangleOptions::new().no_params().no_return_type(),
        )
    {
        return text;
    }
    name.to_owned()
}

/// Drops `[…]`: Go's type arguments, C++'s tags.
fn without_brackets(name: &str) -> String {
    if !name.contains('[') || name.contains("operator[") {
        return name.to_owned();
    }
    let mut depth = 0_u32;
    let mut plain = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    plain
}

/// `github.com/a/b/store.(*T).M` is `store.(*T).M` of `github.com/a/b/store`.
fn go_path(name: &str) -> (Option<String>, &str) {
    let Some(slash) = name.rfind('/') else { return (None, name) };
    let (before, rest) = (&name[..slash], &name[slash + 1..]);
    let plain = |letter: char| letter.is_alphanumeric() || "._-~/%".contains(letter);
    if !before.chars().all(plain) || !rest.contains('.') {
        return (None, name);
    }
    let package = rest.split('.').next().unwrap_or(rest);
    (Some(format!("{before}/{package}")), rest)
}

#[derive(Default)]
struct SymbolReader {
    found: Symbol,
    part: String,
}

impl SymbolReader {
    fn read(mut self, name: &str) -> Symbol {
        let letters: Vec<char> = name.chars().collect();
        let mut at = 0;
        let mut parameters = false;
        while let Some(&letter) = letters.get(at) {
            let next = letters.get(at + 1).copied();
            match letter {
                ':' if next == Some(':') => {
                    self.end();
                    parameters = false;
                    at += 2;
                    continue;
                }
                '.' => {
                    self.end();
                    parameters = false;
                }
                _ if self.part == "operator"
                    && !letter.is_alphanumeric()
                    && letter != ' '
                    && (letter != '(' || next == Some(')')) =>
                {
                    // The operator itself: all signs up to the parameters.
                    let from = at;
                    while letters.get(at).is_some_and(|it| !it.is_alphanumeric() && *it != ' ') {
                        if letters[at] == '(' && (at > from || letters.get(at + 1) != Some(&')')) {
                            break;
                        }
                        self.part.push(letters[at]);
                        at += 1;
                    }
                    continue;
                }
                '<' => {
                    let end = balanced(&letters, at, '<', '>');
                    let inside: String = letters[at + 1..end.max(at + 1)].iter().collect();
                    // In the midst of a name, these are arguments of generics.
                    let named = inside.starts_with("impl ") || BRACKETED.contains(&inside.as_str());
                    if self.part.is_empty() && (named || self.found.parts.is_empty()) {
                        self.bracketed(&inside);
                    }
                    at = end + 1;
                    continue;
                }
                '(' => {
                    let end = balanced(&letters, at, '(', ')');
                    let inside: String = letters[at + 1..end.max(at + 1)].iter().collect();
                    if !self.part.is_empty() {
                        // A JavaScript callback keeps what says so.
                        if ["callback", "argument"].contains(&inside.as_str()) {
                            self.part.extend(["(", &inside, ")"]);
                        } else {
                            parameters = true;
                        }
                    } else if let Some(receiver) = inside.strip_prefix('*') {
                        self.part.push_str(receiver);
                    } else {
                        self.part.extend(["(", &inside, ")"]);
                    }
                    at = end + 1;
                    continue;
                }
                '{' => {
                    let end = balanced(&letters, at, '{', '}');
                    let inside: String = letters[at + 1..end.max(at + 1)].iter().collect();
                    self.part.push_str(&closure(&inside));
                    at = end + 1;
                    continue;
                }
                // What follows parameters is `const` and the like; what precedes a name its result's type.
                ' ' if parameters => {}
                ' ' if self.part == "operator" => self.part.push(' '),
                ' ' => {
                    self.found.parts.clear();
                    self.part.clear();
                }
                _ if parameters => {}
                '&' | '*' if self.part.is_empty() => {}
                _ => self.part.push(letter),
            }
            at += 1;
        }
        self.end();
        self.found
    }

    fn end(&mut self) {
        let part = std::mem::take(&mut self.part);
        if !part.is_empty() && part != "<locals>" && part != "{impl}" {
            self.found.parts.push(part);
        }
    }

    /// `<A as B>`, `<impl B for A>`, `<impl A>`, `<A>` and names such as `<init>`.
    fn bracketed(&mut self, inside: &str) {
        if BRACKETED.contains(&inside) {
            self.part = format!("<{inside}>");
            return;
        }
        let (of_type, of_trait) = if let Some(rest) = inside.strip_prefix("impl ") {
            match split_outside(rest, " for ") {
                Some((of_trait, of_type)) => (of_type, Some(of_trait)),
                None => (rest, None),
            }
        } else {
            match split_outside(inside, " as ") {
                Some((of_type, of_trait)) => (of_type, Some(of_trait)),
                None => (inside, None),
            }
        };
        let path = |name: &str| -> Vec<String> {
            let name = name.trim().trim_start_matches(['&', '*']).trim_start();
            let name = ["mut ", "const ", "dyn "]
                .iter()
                .fold(name, |name, word| name.strip_prefix(word).unwrap_or(name));
            let name = crate::source::without_generics(name);
            name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        self.found.parts.extend(path(of_type));
        if let Some(of_trait) = of_trait {
            self.found.of_trait = path(of_trait).pop();
        }
    }
}

/// `{{closure}}`, `{closure#2}`, `{lambda(int)#1}`, each as we name them.
fn closure(inside: &str) -> String {
    let inside = inside.trim_matches(['{', '}']);
    let (name, number) = inside.rsplit_once('#').unwrap_or((inside, ""));
    let name = name.split(['(', ':', '_']).next().unwrap_or(name);
    match name {
        "closure" | "lambda" if !number.is_empty() => format!("{{{name}#{number}}}"),
        _ => format!("{{{name}}}"),
    }
}

/// Where the bracket that opens at `from` closes, or the end.
fn balanced(letters: &[char], from: usize, open: char, close: char) -> usize {
    let mut depth = 0_u32;
    for (at, &letter) in letters.iter().enumerate().skip(from) {
        if letter == open {
            depth += 1;
        } else if letter == close && letters.get(at.wrapping_sub(1)) != Some(&'-') {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    letters.len()
}

/// Splits at a word that stands in no brackets.
fn split_outside<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let mut depth = 0_i32;
    let mut previous = ' ';
    for (at, letter) in text.char_indices() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' if previous != '-' => depth -= 1,
            ')' | ']' => depth -= 1,
            _ if depth == 0 && text[at..].starts_with(word) => {
                return Some((&text[..at], &text[at + word.len()..]));
            }
            _ => {}
        }
        previous = letter;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::symbol;

    fn parts(name: &str) -> String {
        let found = symbol(name);
        let of_trait = found.of_trait.map_or(String::new(), |it| format!(" of {it}"));
        let path = found.path.map_or(String::new(), |it| format!(" in {it}"));
        format!("{}{of_trait}{path}", found.parts.join(" "))
    }

    #[test]
    fn spellings_of_one_function_have_the_same_parts() {
        let cases = [
            ("foo.part.0", "foo"),
            ("foo.constprop.0.isra.0", "foo"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("_ZN3foo3barEi.cold", "foo bar"),
            ("void ns::List<int>::add<char>(int, std::vector<int> const&) const", "ns List add"),
            ("ns::f(int)::{lambda(int)#1}::operator()(int) const", "ns f {lambda#1} operator()"),
            ("a::operator<<(std::ostream&, int)", "a operator<<"),
            ("a::B::operator->() const", "a B operator->"),
            ("a::B::~B()", "a B ~B"),
            ("(anonymous namespace)::hidden", "(anonymous namespace) hidden"),
            ("std::string f[abi:cxx11](int)", "f"),
            ("rust::m::S<T>::inh", "rust m S inh"),
            (
                "<rust::m::S<u8>>::inh::<<rust::m::S<u8> as rust::m::Tr>::go::{closure#0}>",
                "rust m S inh",
            ),
            ("<rust::m::S<T> as rust::m::Tr>::go::{{closure}}", "rust m S go {closure} of Tr"),
            ("m::<impl Tr for S<T>>::go", "m S go of Tr"),
            ("core::fmt::Write::write_fmt::h0123456789abcdef", "core fmt Write write_fmt"),
            ("_RNvCs1234_7mycrate3foo", "mycrate foo"),
            (
                "github.com/a/b/store.(*Store[...]).Get.func1",
                "store Store Get func1 in github.com/a/b/store",
            ),
            ("main.main.func1.gowrap2", "main main func1"),
            ("store.glob..func1", "store init func1"),
            ("net/http.(*conn).serve", "http conn serve in net/http"),
            ("a.b.Outer$Inner.<init>", "a b Outer$Inner <init>"),
            ("Model.save.<locals>.inner", "Model save inner"),
            ("get size", "size"),
            ("items.forEach(callback)#2", "items forEach(callback)#2"),
        ];
        for (name, expected) in cases {
            assert_eq!(parts(name), expected, "{name}");
        }
    }

    #[test]
    fn no_name_is_too_strange() {
        for name in [
            "",
            "<",
            ">",
            "((((",
            "{",
            "::",
            "...",
            "a<b",
            "operator",
            "operator(",
            "[",
            "_ZN",
            "h",
            "é::ß<",
        ] {
            let _ = symbol(name);
        }
        let _ = symbol(&"<".repeat(100_000));
        let _ = symbol(&"é".repeat(100_000));
    }
}
