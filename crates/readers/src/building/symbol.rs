//! A frame's text, `symbol+0x1f (binary)`, as functions: who it is and whose code.
//!
//! Just-in-time compilers name their code in a perf map of their process, so the binary's name carries the process id
//! and the symbol carries what the compiler knows: class and descriptor of a Java method, file and line of a script.

use std::borrow::Cow;

use perfblame_cct::{Frame, FrameId, Function, Layer, ProfileBuilder, position};
use perfblame_native::{demangle_with_signature, layer_of};

/// The component of code made at run time: the perf map's own name differs in every run.
pub(crate) const JIT: &str = "[JIT]";

/// The name of what has none, as `perf` writes it.
pub(crate) const UNKNOWN: &str = "[unknown]";

/// One line of a call chain, without its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameText<'a> {
    pub symbol: &'a str,
    pub binary: Option<&'a str>,
    /// The compiler put it into the next frame's function; `perf` writes `(inlined)` in place of the binary.
    pub inlined: bool,
}

impl<'a> FrameText<'a> {
    /// Takes a line's text apart.
    pub(crate) fn parse(text: &'a str) -> Self {
        let text = text.trim();
        let (symbol, binary) = match binary_start(text) {
            Some(at) => {
                let binary = text.get(at + 1..text.len() - 1).unwrap_or("");
                (text.get(..at).unwrap_or("").trim_end(), Some(binary))
            }
            None => (text, None),
        };
        let inlined = binary == Some("inlined");
        let binary = binary.filter(|name| !inlined && !name.is_empty() && *name != UNKNOWN);
        Self { symbol: without_offset(symbol), binary, inlined }
    }

    /// The component the binary stands for.
    pub(crate) fn component(&self) -> Option<&'a str> {
        let binary = self.binary?;
        Some(if is_jit(binary) { JIT } else { binary.strip_suffix(" (deleted)").unwrap_or(binary) })
    }
}

/// Where the parenthesis of the binary's name opens. The name may itself hold parentheses, as in
/// `main (/tmp/a.out (deleted))`; parameters, as in `main(int)`, have no blank before them.
fn binary_start(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.last() != Some(&b')') {
        return None;
    }
    let mut open = 0usize;
    for (at, byte) in bytes.iter().enumerate().rev() {
        match byte {
            b')' => open += 1,
            b'(' => open -= 1,
            _ => continue,
        }
        if open == 0 {
            let alone = at == 0 || bytes.get(at - 1) == Some(&b' ');
            return alone.then_some(at);
        }
    }
    text.rfind(" (").map(|at| at + 1)
}

/// `main` of `main+0x1f`.
fn without_offset(symbol: &str) -> &str {
    match symbol.rfind("+0x") {
        Some(at) if is_hex(symbol.get(at + 3..).unwrap_or("")) => {
            symbol.get(..at).unwrap_or(symbol)
        }
        _ => symbol,
    }
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Perf maps, JIT dumps and memory without a file.
pub(crate) fn is_jit(binary: &str) -> bool {
    let name = binary.rsplit('/').next().unwrap_or(binary);
    let digits = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    (name.strip_prefix("perf-").is_some_and(digits) && name.strip_suffix(".map").is_some())
        || name.strip_prefix("jitted-").is_some_and(digits)
        || name.strip_prefix("jit-").is_some_and(|rest| digits(rest) && rest.contains(".dump"))
        || binary == "//anon"
        || binary.starts_with("[anon:")
        || binary.starts_with("anon_inode:")
        || binary.starts_with(JIT)
}

/// What a symbol says about its function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct NamedSymbol<'a> {
    pub name: Cow<'a, str>,
    /// The component, where the symbol knows better than the binary.
    pub component: Option<Cow<'a, str>>,
    pub signature: Option<Cow<'a, str>>,
    pub line: Option<u64>,
    pub layer: Option<Layer>,
}

/// Reads a symbol of a binary, `jit` for code made at run time.
pub(crate) fn name(symbol: &str, jit: bool) -> NamedSymbol<'_> {
    if symbol.is_empty() || symbol == UNKNOWN {
        return NamedSymbol { name: Cow::Borrowed(UNKNOWN), ..NamedSymbol::default() };
    }
    if let Some(java) = java(symbol, jit) {
        return java;
    }
    if jit && let Some(script) = script(symbol) {
        return script;
    }
    if jit && is_stub(symbol) {
        let layer = Some(Layer::Runtime);
        return NamedSymbol { name: Cow::Borrowed(symbol), layer, ..NamedSymbol::default() };
    }
    native(symbol)
}

/// `Ljava/util/HashMap;::get` and `Ljava/util/HashMap;.get(Ljava/lang/Object;)Ljava/lang/Object;`, as perf-map-agent
/// writes them, perhaps cut off.
fn java(symbol: &str, jit: bool) -> Option<NamedSymbol<'_>> {
    let rest = symbol.strip_prefix('L')?;
    if rest.contains(' ') {
        return None;
    }
    let cut = || if jit { rest.find("::").and_then(|at| rest.split_at_checked(at)) } else { None };
    let Some((class, member)) = rest.split_once(';').or_else(cut) else {
        // Cut off within the class.
        let component: Cow<'_, str> = rest.replace('/', ".").into();
        return (jit && rest.contains('/')).then(|| NamedSymbol {
            name: component.clone(),
            component: Some(component),
            ..NamedSymbol::default()
        });
    };
    let member = member.strip_prefix("::").or_else(|| member.strip_prefix('.'))?;
    let parameters = member.find('(').unwrap_or(member.len());
    let (method, descriptor) = member.split_at_checked(parameters)?;
    let class = class.replace('/', ".");
    Some(NamedSymbol {
        name: format!("{class}.{method}").into(),
        component: Some(class.into()),
        signature: (!descriptor.is_empty()).then_some(Cow::Borrowed(descriptor)),
        ..NamedSymbol::default()
    })
}

/// `LazyCompile:*name file.js:12:3`, as V8 writes them.
fn script(symbol: &str) -> Option<NamedSymbol<'_>> {
    const KINDS: [&str; 5] = ["LazyCompile:", "Function:", "JS:", "Script:", "Eval:"];
    let rest = KINDS.iter().find_map(|kind| symbol.strip_prefix(kind))?;
    // The compiler that made the code: a function has the same name in every one of them.
    let rest = rest.strip_prefix(['~', '*', '^', '+', '\'']).unwrap_or(rest);
    let (name, place) = rest.rsplit_once(' ').unwrap_or(("", rest));
    let (file, line) = source_place(place)?;
    Some(NamedSymbol {
        name: Cow::Borrowed(name),
        component: Some(Cow::Borrowed(file)),
        line: Some(line),
        ..NamedSymbol::default()
    })
}

/// `file:12` or `file:12:3`.
pub(crate) fn source_place(text: &str) -> Option<(&str, u64)> {
    let (before, last) = text.rsplit_once(':')?;
    let last: u64 = last.parse().ok()?;
    match before.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
        Some((file, line)) if !file.is_empty() => Some((file, line)),
        _ => (!before.is_empty()).then_some((before, last)),
    }
}

/// Code that virtual machines make for themselves.
fn is_stub(symbol: &str) -> bool {
    ["Interpreter", "call_stub", "Builtin:", "Stub:", "BytecodeHandler:", "StubRoutines"]
        .iter()
        .any(|known| symbol.starts_with(known))
        || symbol.ends_with(" stub")
        || symbol.ends_with("Stub")
}

/// Reads a symbol of compiled code.
pub(crate) fn native(symbol: &str) -> NamedSymbol<'_> {
    if symbol.starts_with("_Z") || symbol.starts_with("_R") || symbol.starts_with("_GLOBAL_") {
        let (name, signature) = demangle_with_signature(symbol);
        return NamedSymbol {
            name,
            signature: signature.map(Cow::Owned),
            ..NamedSymbol::default()
        };
    }
    // macOS prints what LLVM appends to a symbol in parentheses.
    let appended = symbol.ends_with(')').then(|| symbol.find(" (.llvm.")).flatten();
    let plain = appended.and_then(|at| symbol.get(..at)).unwrap_or(symbol);
    if let Some(name) = half_demangled_rust(plain) {
        return NamedSymbol { name: name.into(), ..NamedSymbol::default() };
    }
    let (name, parameters) = split_parameters(symbol);
    let signature = (!parameters.is_empty()).then_some(Cow::Borrowed(parameters));
    NamedSymbol { name: Cow::Borrowed(name), signature, ..NamedSymbol::default() }
}

/// Name and parameters of a C++ function as `perf` prints it: `foo::bar(int) const` is `foo::bar` and `(int) const`,
/// `(anonymous namespace)::f` and Go's `pkg.(*T).method` have no parameters.
pub(crate) fn split_parameters(symbol: &str) -> (&str, &str) {
    let whole = (symbol, "");
    let mut end = symbol.len();
    for suffix in [" const", " volatile", " &&", " &"] {
        if let Some(rest) = symbol.get(..end).and_then(|text| text.strip_suffix(suffix)) {
            end = rest.len();
        }
    }
    let Some(text) = symbol.get(..end).filter(|text| text.ends_with(')')) else { return whole };
    let mut open = 0usize;
    for (at, byte) in text.bytes().enumerate().rev() {
        match byte {
            b')' => open += 1,
            b'(' => open -= 1,
            _ => continue,
        }
        if open == 0 {
            let (name, parameters) = symbol.split_at_checked(at).unwrap_or(whole);
            let named = !name.is_empty() && !name.ends_with([' ', ':', '.']);
            // `operator()` is a name, `operator()(int)` has parameters.
            let operator = name.ends_with("operator") && parameters.starts_with("()");
            return if named && !operator { (name, parameters) } else { whole };
        }
    }
    whole
}

/// Old `perf` takes Rust's old names for C++ and stops half way: `_$LT$T$GT$::new::h0123456789abcdef`.
pub(crate) fn half_demangled_rust(symbol: &str) -> Option<String> {
    let (path, hash) = symbol.split_at_checked(symbol.len().checked_sub(16)?)?;
    let path = path.strip_suffix("::h")?;
    if !is_hex(hash) {
        return None;
    }
    let mut out = String::with_capacity(path.len());
    for (row, part) in path.split("::").enumerate() {
        if row > 0 {
            out.push_str("::");
        }
        let part = if part.starts_with("_$") { part.get(1..).unwrap_or(part) } else { part };
        let mut rest = part;
        while let Some(first) = rest.chars().next() {
            let escape = rest.strip_prefix('$').and_then(|rest| rest.split_once('$'));
            if let Some((sign, after)) = escape
                && let Some(meaning) = rust_escape(sign)
            {
                out.push(meaning);
                rest = after;
            } else if let Some(after) = rest.strip_prefix("..") {
                out.push_str("::");
                rest = after;
            } else {
                out.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or("");
            }
        }
    }
    Some(out)
}

fn rust_escape(sign: &str) -> Option<char> {
    Some(match sign {
        "SP" => '@',
        "BP" => '*',
        "RF" => '&',
        "LT" => '<',
        "GT" => '>',
        "LP" => '(',
        "RP" => ')',
        "C" => ',',
        _ => char::from_u32(u32::from_str_radix(sign.strip_prefix('u')?, 16).ok()?)?,
    })
}

/// Whose code a binary holds. Programs loaded into the kernel have a binary of their own name.
fn layer(binary: &str) -> Layer {
    if binary.starts_with("bpf_prog_") { Layer::Kernel } else { layer_of(binary) }
}

/// Interns the frames of one line, innermost first, and appends them: Java's compilers write the callees they
/// inlined into the symbol, `caller->callee`.
pub(crate) fn intern(
    builder: &mut ProfileBuilder,
    text: &FrameText<'_>,
    address: Option<u64>,
    frames: &mut Vec<FrameId>,
) {
    let component = text.component();
    let jit = component == Some(JIT);
    let parts = || text.symbol.split("->");
    let chain = jit && text.symbol.contains("->") && parts().all(|part| !part.is_empty());
    let whole = [text.symbol];
    let symbols: Vec<&str> = if chain { parts().collect() } else { whole.to_vec() };
    for (row, symbol) in symbols.iter().enumerate().rev() {
        let named = name(symbol, jit);
        let layer = named.layer.unwrap_or_else(|| layer(component.unwrap_or("")));
        let id = builder.string(&named.name);
        let component = named.component.as_deref().or(component);
        let component = component.map(|name| builder.string(name));
        let signature = named.signature.as_deref().map(|text| builder.string(text));
        let line = named.line.and_then(position);
        let function = Function { component, signature, line, layer, ..Function::named(id) };
        let function = builder.function(function);
        frames.push(builder.frame(Frame {
            address: address.and_then(std::num::NonZeroU64::new),
            inlined: text.inlined || row > 0,
            ..Frame::of(function)
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_symbol_and_binary() {
        for (line, symbol, component, inlined) in [
            ("main+0x1f (/bin/true)", "main", Some("/bin/true"), false),
            ("main (/tmp/a b (deleted))", "main", Some("/tmp/a b"), false),
            ("[unknown] ([unknown])", "[unknown]", None, false),
            ("[unknown] ([kernel.kallsyms])", "[unknown]", Some("[kernel.kallsyms]"), false),
            (" ()", "", None, false),
            ("(/bin/true)", "", Some("/bin/true"), false),
            ("main", "main", None, false),
            ("foo(int, char (*)[3])", "foo(int, char (*)[3])", None, false),
            ("foo(int) (/bin/true)", "foo(int)", Some("/bin/true"), false),
            ("mmap64 (inlined)", "mmap64", None, true),
            ("Interpreter+0x17 (/tmp/perf-10487.map)", "Interpreter", Some(JIT), false),
            ("a::b+0xzz (x)", "a::b+0xzz", Some("x"), false),
            (") (", ") (", None, false),
            (")", ")", None, false),
            ("))", "))", None, false),
        ] {
            let text = FrameText::parse(line);
            assert_eq!((text.symbol, text.component(), text.inlined), (symbol, component, inlined));
        }
    }

    #[test]
    fn symbols_of_languages_are_known() {
        let check = |symbol, jit, expected: &str| {
            let named = name(symbol, jit);
            let parts = [
                named.component.as_deref().map(|text| format!(" in {text}")),
                named.signature.as_deref().map(|text| format!(" as {text}")),
                named.line.map(|line| format!(" line {line}")),
                named.layer.map(|layer| format!(" {}", layer.name())),
            ];
            let text = parts.into_iter().flatten().fold(named.name.to_string(), |a, b| a + &b);
            assert_eq!(text, expected, "{symbol}");
        };
        check(
            "Ljava/io/PrintStream;::println",
            true,
            "java.io.PrintStream.println in java.io.PrintStream",
        );
        check("LCounter;::countTo", true, "Counter.countTo in Counter");
        check("Lio/netty/A$B;.run(I)V", true, "io.netty.A$B.run in io.netty.A$B as (I)V");
        check(
            "Lorg/mozilla/gen/file__home",
            true,
            "org.mozilla.gen.file__home in org.mozilla.gen.file__home",
        );
        check("LayoutTest", true, "LayoutTest");
        check(
            "LazyCompile:~body_0 evalmachine.<anonymous>:1",
            true,
            "body_0 in evalmachine.<anonymous> line 1",
        );
        check("LazyCompile:*get x node:fs:12:3", true, "get x in node:fs line 12");
        check("Script:~ /a.js:1:1", true, " in /a.js line 1");
        check("Builtin:ArrayPush", true, "Builtin:ArrayPush runtime");
        check("Interpreter", true, "Interpreter runtime");
        check(
            "StealTask::do_it(GCTaskManager*, unsigned int)",
            false,
            "StealTask::do_it as (GCTaskManager*, unsigned int)",
        );
        check(
            "(anonymous namespace)::f(void (*)(int)) const",
            false,
            "(anonymous namespace)::f as (void (*)(int)) const",
        );
        check("a::operator()", false, "a::operator()");
        check("a::operator()(int)", false, "a::operator() as (int)");
        check("regexp/syntax.(*parser).push", false, "regexp/syntax.(*parser).push");
        check("main.(*T)", false, "main.(*T)");
        check("_Z5gammav", false, "gamma as ()");
        check("_ZN3foo3barEi", false, "foo::bar as (int)");
        check(
            "log::set_logger::_$u7b$$u7b$closure$u7d$$u7d$::hcb7821323b596727",
            false,
            "log::set_logger::{{closure}}",
        );
        check(
            "_$LT$core..result..Result$LT$T$C$$u20$E$GT$$GT$::and_then::h47fa4b8545196b9b",
            false,
            "<core::result::Result<T, E>>::and_then",
        );
    }
}
