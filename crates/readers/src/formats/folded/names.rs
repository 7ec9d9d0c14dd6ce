//! The text of one folded frame: profilers write marks, files and lines into it, each in its own way.

use perfblame_cct::{Frame, FrameId, Function, Layer, ProfileBuilder};

use crate::building::module_frame::{module, module_layer};
use crate::building::symbol::{is_jit, native, source_place};

/// Interns the frame a text stands for.
///
/// - FlameGraph's and async-profiler's marks (`_[k]` kernel, `_[i]` inlined, `_[j]`, `_[0]`, `_[1]` compiled code,
///   `_[w]` waker, `_[p]` Python) become layer and inlining and leave the name;
/// - `func (file.py:12)` of py-spy, `func - file.rb:12` of rbspy and `module`func` of DTrace are taken apart;
/// - `java/lang/Thread.run` becomes `java.lang.Thread.run` where what follows the last `/` is a capitalised class, so
///   that Go's `encoding/json.Marshal` stays what it is;
/// - C++ and Rust names are demangled, and parameters kept apart.
pub(crate) fn frame(builder: &mut ProfileBuilder, text: &str) -> FrameId {
    let (name, mark) = split_mark(text);
    let inlined = mark == Some('i');
    let layer = if mark == Some('k') { Layer::Kernel } else { Layer::Application };
    if let Some((name, file, line)) = placed(name) {
        let id = builder.string(name);
        let component = Some(builder.string(file));
        let function = Function { component, layer, ..Function::named(id) };
        let function = builder.function(function);
        return builder.frame(Frame { inlined, ..Frame::of(function).at_line(line) });
    }
    let (id, component, signature, layer) = if let Some((module, name)) = module(name) {
        let layer = if layer == Layer::Kernel { layer } else { module_layer(module) };
        let named = native(name);
        let signature = named.signature.as_deref().map(|text| builder.string(text));
        (builder.string(&named.name), Some(builder.string(module)), signature, layer)
    } else if let Some((class, method)) = java(name, matches!(mark, Some('j' | 'i' | '0' | '1'))) {
        let name = builder.string(&format!("{class}.{method}"));
        (name, Some(builder.string(&class)), None, layer)
    } else {
        let named = native(name);
        let signature = named.signature.as_deref().map(|text| builder.string(text));
        (builder.string(&named.name), None, signature, layer)
    };
    let function = Function { component, signature, layer, ..Function::named(id) };
    let function = builder.function(function);
    builder.frame(Frame { inlined, ..Frame::of(function) })
}

/// Interns one of austin's frames, `file:function:line`.
pub(crate) fn austin_frame(builder: &mut ProfileBuilder, text: &str) -> FrameId {
    if text == "(idle)" {
        return builder.named_frame(text, Layer::Idle);
    }
    if text == ":GC:" {
        return builder.named_frame("(garbage collector)", Layer::GarbageCollection);
    }
    let (place, line) = text.rsplit_once(':').unwrap_or((text, ""));
    let Some((file, name)) = place.rsplit_once(':') else { return frame(builder, text) };
    let id = builder.string(name);
    let component = builder.string(file);
    let function = builder.function(Function::named(id).in_component(component));
    builder.frame(Frame::of(function).at_line(line.parse().unwrap_or(0)))
}

/// A name and the letter of its mark.
fn split_mark(text: &str) -> (&str, Option<char>) {
    let Some(inner) = text.strip_suffix(']') else { return (text, None) };
    let Some((name, letter)) = inner.rsplit_once("_[") else { return (text, None) };
    let mut letters = letter.chars();
    match (letters.next(), letters.next()) {
        (Some(mark @ ('k' | 'j' | 'i' | 'w' | 'p' | '0' | '1')), None) if !name.is_empty() => {
            (name, Some(mark))
        }
        _ => (text, None),
    }
}

/// `func (file.py:12)`, `func (file.py)` and `func - file.rb:12`; line 0 where there is none.
fn placed(text: &str) -> Option<(&str, &str, u64)> {
    if let Some(inner) = text.strip_suffix(')') {
        let (name, place) = inner.rsplit_once(" (")?;
        let (file, line) = source_place(place).unwrap_or((place, 0));
        let (stem, extension) = file.rsplit_once('.')?;
        let script = (1..=4).contains(&extension.len())
            && extension.bytes().all(|letter| letter.is_ascii_alphanumeric());
        // `<module> (a.py)`, but neither `main (/tmp/a.out (deleted))` nor `f (int)`.
        return (script && !stem.is_empty() && !name.is_empty() && !is_jit(file))
            .then_some((name, file, line));
    }
    // Most names end in no digit, so that they need not be searched.
    let numbered = text.ends_with(|last: char| last.is_ascii_digit());
    let (name, place) = numbered.then(|| text.rsplit_once(" - "))??;
    let (file, line) = source_place(place)?;
    Some((name, file, line))
}

/// Class and method of `java/lang/Thread.run`, and of `Main.run` where a mark says that it is `compiled`.
fn java(text: &str, compiled: bool) -> Option<(String, &str)> {
    let (package, last) = match text.rsplit_once('/') {
        // A lambda's class has a slash of its own: `Main$$Lambda/0x0000.run`.
        Some((before, last)) if last.starts_with("0x") && before.contains("$$Lambda") => {
            let start = before.rfind('/').map_or(0, |at| at + 1);
            (before.get(..start.saturating_sub(1))?, text.get(start..)?)
        }
        Some((package, last)) => (package, last),
        None if compiled => ("", text),
        None => return None,
    };
    let (class, method) = last.split_once('.')?;
    let word = |text: &str, more: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_alphanumeric() || "_$".contains(c) || more.contains(c))
    };
    let good = class.starts_with(|first: char| first.is_uppercase() || first == '$')
        && word(class, "/-")
        && word(method, "<>-")
        && package.split('/').all(|part| package.is_empty() || word(part, "-"));
    let class = || match package {
        "" => class.to_owned(),
        _ => format!("{}.{class}", package.replace('/', ".")),
    };
    good.then(|| (class(), method))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use perfblame_cct::{Grain, Times};
    use std::fmt::Write as _;

    #[test]
    fn every_profilers_frames_are_taken_apart() {
        let mut builder = ProfileBuilder::new(Grain::Frames, Times::Drop);
        let mut out = String::new();
        for text in [
            "main",
            "vfs_read_[k]",
            "java/io/PrintStream.println_[i]",
            "java/lang/Thread.<init>_[0]",
            "Main$$Lambda/0x00007f.run",
            "a/b/Main$$Lambda/0x00007f.run",
            "BusyClient.run_[j]",
            "encoding/json.Marshal",
            "net/http.(*conn).serve",
            "<module> (app/main.py:12)",
            "handler (server.py)",
            "block in run - /usr/lib/ruby/x.rb:7",
            "libc.so.1`read+0x1f",
            "genunix`read",
            "_ZN3foo3barEi",
            "CompileBroker::invoke(CompileTask*)",
            "thread (12)",
            "_[k]",
            "a_[x]",
            "`",
            "",
        ] {
            let frame = frame(&mut builder, text);
            let frame = *builder.symbols.frame(frame);
            let function = *builder.symbols.function(frame.function);
            let text_of = |id| builder.symbols.text(id);
            let _ = write!(out, "{text:?}: {}", text_of(function.name));
            for (word, id) in [("in", function.component), ("as", function.signature)] {
                if let Some(id) = id {
                    let _ = write!(out, " {word} {}", text_of(id));
                }
            }
            if let Some(line) = frame.line {
                let _ = write!(out, " line {line}");
            }
            if frame.inlined {
                out.push_str(" inlined");
            }
            let _ = writeln!(out, " ({})", function.layer.name());
        }
        expect![[r#"
            "main": main (application)
            "vfs_read_[k]": vfs_read (kernel)
            "java/io/PrintStream.println_[i]": java.io.PrintStream.println in java.io.PrintStream inlined (application)
            "java/lang/Thread.<init>_[0]": java.lang.Thread.<init> in java.lang.Thread (application)
            "Main$$Lambda/0x00007f.run": Main$$Lambda/0x00007f.run in Main$$Lambda/0x00007f (application)
            "a/b/Main$$Lambda/0x00007f.run": a.b.Main$$Lambda/0x00007f.run in a.b.Main$$Lambda/0x00007f (application)
            "BusyClient.run_[j]": BusyClient.run in BusyClient (application)
            "encoding/json.Marshal": encoding/json.Marshal (application)
            "net/http.(*conn).serve": net/http.(*conn).serve (application)
            "<module> (app/main.py:12)": <module> in app/main.py line 12 (application)
            "handler (server.py)": handler in server.py (application)
            "block in run - /usr/lib/ruby/x.rb:7": block in run in /usr/lib/ruby/x.rb line 7 (application)
            "libc.so.1`read+0x1f": read in libc.so.1 (library)
            "genunix`read": read in genunix (kernel)
            "_ZN3foo3barEi": foo::bar as (int) (application)
            "CompileBroker::invoke(CompileTask*)": CompileBroker::invoke as (CompileTask*) (application)
            "thread (12)": thread (12) (application)
            "_[k]": _[k] (application)
            "a_[x]": a_[x] (application)
            "`": ` (application)
            "":  (application)
        "#]].assert_eq(&out);
    }
}
