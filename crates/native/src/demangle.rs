//! Names of Rust and C++ symbols as people write them.
//!
//! As `perf` does it: without parameters and result, so that a recording read from `perf.data` and the same one read
//! from the text of `perf script` name their functions alike. Overloads are told apart by their signature. What
//! compilers append (`.part.0`, `.llvm.123`) stays; the model strips it on demand.

use std::borrow::Cow;
use std::fmt;

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// A few bytes of substitutions can stand for gigabytes of text. Real names of template libraries stay below this.
const LONGEST: usize = 64 << 10;

/// Deeper than real symbols nest, and shallow enough for a thread's stack.
const DEEPEST: u32 = 160;

/// The name of a symbol; the symbol itself where it is not mangled.
pub fn demangle(symbol: &str) -> Cow<'_, str> {
    if let Some(name) = rust(symbol) {
        return Cow::Owned(name);
    }
    cpp(symbol).and_then(|cpp| cpp.name()).map_or(Cow::Borrowed(symbol), Cow::Owned)
}

/// What tells a C++ function from others of its name: parameter types and qualifiers, such as `(int) const`.
pub fn signature(symbol: &str) -> Option<String> {
    if rust(symbol).is_some() {
        return None;
    }
    demangle_with_signature(symbol).1
}

/// Both in one go: taking a symbol apart is most of the work.
pub fn demangle_with_signature(symbol: &str) -> (Cow<'_, str>, Option<String>) {
    if let Some(name) = rust(symbol) {
        return (Cow::Owned(name), None);
    }
    let Some(cpp) = cpp(symbol) else { return (Cow::Borrowed(symbol), None) };
    match cpp.name() {
        Some(name) => {
            let signature = cpp.signature(&name);
            (Cow::Owned(name), signature)
        }
        None => (Cow::Borrowed(symbol), None),
    }
}

fn rust(symbol: &str) -> Option<String> {
    // Old Rust names are C++ names that end in a hash.
    let legacy = || {
        let hash = symbol.find("17h").and_then(|at| symbol.get(at + 3..at + 20));
        symbol.starts_with("_ZN")
            && hash.is_some_and(|hash| {
                hash.ends_with('E') && hash.bytes().take(16).all(|b| b.is_ascii_hexdigit())
            })
    };
    if !symbol.starts_with("_R") && !legacy() {
        return None;
    }
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    let mut out = Bounded(String::new());
    fmt::write(&mut out, format_args!("{name:#}")).ok()?;
    Some(out.0)
}

/// Splits a C++ symbol from what the compiler or linker appended.
fn cpp_base(symbol: &str) -> Option<(&str, &str)> {
    if !(symbol.starts_with("_Z") || symbol.starts_with("___Z") || symbol.starts_with("_GLOBAL_")) {
        return None;
    }
    let end = symbol.find(['.', '@']).unwrap_or(symbol.len());
    symbol.split_at_checked(end)
}

/// A C++ symbol, taken apart.
struct Cpp<'a> {
    parsed: Symbol<&'a str>,
    suffix: &'a str,
}

fn cpp(symbol: &str) -> Option<Cpp<'_>> {
    let (base, suffix) = cpp_base(symbol)?;
    let limits = ParseOptions::default().recursion_limit(DEEPEST);
    let parsed = Symbol::new_with_options(base, &limits).ok()?;
    Some(Cpp { parsed, suffix })
}

impl Cpp<'_> {
    fn written(&self, options: DemangleOptions) -> Option<String> {
        let mut out = Bounded(String::new());
        self.parsed.structured_demangle(&mut out, &options.recursion_limit(DEEPEST)).ok()?;
        (!out.0.is_empty()).then_some(out.0)
    }

    /// The name with what was appended to the symbol.
    fn name(&self) -> Option<String> {
        let mut name = self.written(DemangleOptions::new().no_params().no_return_type())?;
        name.push_str(self.suffix);
        Some(name)
    }

    /// What follows the name.
    fn signature(&self, name: &str) -> Option<String> {
        let whole = self.written(DemangleOptions::new().no_return_type())?;
        let rest = whole.strip_prefix(name.strip_suffix(self.suffix)?)?;
        (!rest.is_empty()).then(|| rest.to_owned())
    }
}

/// Text that refuses to grow without end.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.0.len().saturating_add(piece.len()) > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(piece);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    #[test]
    fn names_read_as_people_write_them() {
        for (symbol, name) in [
            ("main", "main"),
            ("_ZN3foo3barEi", "foo::bar"),
            ("_ZN3foo3barEi.part.0", "foo::bar.part.0"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back",
            ),
            ("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_Z", "_Z"),
            ("_ZN", "_ZN"),
            ("__libc_start_main@@GLIBC_2.34", "__libc_start_main@@GLIBC_2.34"),
            ("", ""),
        ] {
            assert_eq!(demangle(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn overloads_differ_in_their_signature() {
        assert_eq!(signature("_ZNK3foo3barEi").as_deref(), Some("(int) const"));
        assert_eq!(signature("_ZN3foo3barEd.cold").as_deref(), Some("(double)"));
        assert_eq!(signature("main"), None);
    }

    #[test]
    fn a_name_that_unfolds_without_end_stays_mangled() {
        // Each pointer-to-function type takes the one before it twice.
        let mut symbol = String::from("_Z1fPFvvE");
        for step in 0..60u8 {
            let seq =
                char::from(if step % 36 < 10 { b'0' + step % 36 } else { b'A' + step % 36 - 10 });
            let _ = write!(symbol, "PFvS{seq}_S{seq}_E");
        }
        assert!(demangle(&symbol).len() <= LONGEST);
        assert!(signature(&symbol).is_none_or(|text| text.len() <= LONGEST));
    }
}
