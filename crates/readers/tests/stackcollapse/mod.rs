//! Folds a profile the way stackcollapse-perf and inferno fold the text of `perf script`, to compare with theirs.
//!
//! They put the process in front of each stack, mark kernel and JIT frames by a suffix, and cut names to be drawn;
//! our model keeps process, layer and whole name apart.

#![allow(clippy::unwrap_used, dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use perfblame_cct::{FrameId, Layer, MetricId, Profile, ThreadId};

/// Stack text to value.
pub type Folded = BTreeMap<String, i64>;

/// Their options.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on their command line")]
#[derive(Clone, Copy, Default)]
pub struct Options {
    pub pid: bool,
    pub tid: bool,
    pub kernel: bool,
    pub jit: bool,
    pub addresses: bool,
}

/// Parses folded text.
pub fn parse(text: &str) -> Folded {
    let mut folded = Folded::new();
    for line in text.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        *folded.entry(stack.to_owned()).or_default() += count.parse::<i64>().unwrap();
    }
    folded
}

/// Folds one metric of a profile.
pub fn fold(profile: &Profile, metric: MetricId, options: Options) -> Folded {
    let mut folded = Folded::new();
    for (node, thread, value) in profile.cells.of(metric) {
        let mut parts = vec![root(profile, thread, options)];
        for node in profile.tree.path(node) {
            parts.push(frame(profile, profile.tree.frame(node), options));
        }
        *folded.entry(parts.join(";")).or_default() += value;
    }
    folded
}

fn root(profile: &Profile, thread: Option<ThreadId>, options: Options) -> String {
    let Some(thread) = thread.map(|id| profile.threads[id.index()]) else { return String::new() };
    let mut root = profile.symbols.text(thread.name).replace(' ', "_");
    let id = |id: Option<u64>| id.map_or("?".to_owned(), |id| id.to_string());
    if options.tid {
        let _ = write!(root, "-{}/{}", id(thread.pid), id(thread.tid));
    } else if options.pid {
        let _ = write!(root, "-{}", id(thread.pid));
    }
    root
}

fn frame(profile: &Profile, frame: FrameId, options: Options) -> String {
    let symbols = &profile.symbols;
    let frame = symbols.frame(frame);
    let function = symbols.function(frame.function);
    let component = symbols.component(frame.function);
    let mut name = symbols.text(function.name).to_owned();
    let address = frame.address.map_or(0, std::num::NonZeroU64::get);
    if name == "[unknown]" {
        let base = component.map(|path| path.rsplit('/').next().unwrap_or(path));
        name = match (base, options.addresses) {
            (None, true) => format!("[unknown <{address:x}>]"),
            (None, false) => name,
            (Some(base), true) => format!("[{base} <{address:x}>]"),
            (Some(base), false) => format!("[{base}]"),
        };
    } else {
        name = tidy(&name);
    }
    // Java and script functions are known by class or file; what remains of JIT code has this component.
    let jit = component == Some("[JIT]") || is_java(&name, component) || function.line.is_some();
    // Theirs goes by the bracket.
    let kernel = function.layer == Layer::Kernel || component == Some("[vdso]");
    if frame.inlined && is_java(&name, component) {
        name += "_[i]";
    } else if options.kernel && kernel {
        name += "_[k]";
    } else if options.jit && jit {
        name += "_[j]";
    }
    name
}

fn is_java(name: &str, component: Option<&str>) -> bool {
    component.is_some_and(|class| {
        name.strip_prefix(class).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Names cut at the parameters, without quotes and semicolons.
pub fn tidy(name: &str) -> String {
    let mut end = name.len();
    let mut depth = 0;
    for (at, sign) in name.char_indices() {
        match sign {
            '<' | '{' => depth += 1,
            '>' | '}' => depth -= 1,
            '(' if depth == 0 => {
                let go = name[..at].ends_with('.');
                if !go && !name[at..].starts_with("(anonymous namespace)") {
                    end = at;
                    break;
                }
            }
            _ => {}
        }
    }
    name[..end].replace(';', ":").replace(['"', '\''], "")
}
