//! Folded stacks: one line per call path with its own cost, for flame graph scripts and anything that reads text.
//!
//! The format knows names only. Contexts that differ in lines or addresses fall together first, in a tree of names, so
//! that memory follows the tree and not the length of the text.

use std::borrow::Cow;
use std::io::{self, Write};

use hashbrown::HashMap;
use perfblame_analysis::full_name;
use perfblame_cct::{FrameId, MetricId, NodeId, Profile, StringId, StringTable, ThreadId};

use crate::numbers::decimal;

/// What stands above a stack's outermost frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Roots {
    /// Nothing: the stack as it is.
    #[default]
    Bare,
    /// The name of the process, as flame graph scripts have it for `perf`.
    Process,
    /// The name of the thread.
    Thread,
}

/// How names are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// Whole.
    #[default]
    Plain,
    /// As `stackcollapse-perf` and inferno fold `perf` samples, so that folded files of theirs and ours compare:
    /// without parameters and quotes, inlined Java calls marked, spaces of thread names replaced.
    Stackcollapse,
}

/// Writes folded stacks of one metric, sorted by path.
pub fn write(
    profile: &Profile,
    metric: MetricId,
    roots: Roots,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let decimals = profile.metrics.get(metric.index()).map_or(0, |metric| metric.decimals);
    let tree = NameTree::of(profile, metric, roots, style);
    tree.each_path(|path, value| writeln!(out, "{path} {}", decimal(value, decimals)))
}

/// Folded lines with values as they are stored.
pub(crate) fn lines(profile: &Profile, metric: MetricId) -> Vec<String> {
    let tree = NameTree::of(profile, metric, Roots::Bare, Style::Plain);
    let mut lines = Vec::new();
    let pushed = tree.each_path(|path, value| {
        // A width below nothing cannot be drawn.
        if value > 0 {
            lines.push(format!("{path} {value}"));
        }
        Ok(())
    });
    debug_assert!(pushed.is_ok());
    lines
}

fn frame_name(profile: &Profile, frame: FrameId, style: Style) -> Cow<'_, str> {
    let symbols = &profile.symbols;
    let frame = symbols.frame(frame);
    let name = full_name(symbols, frame.function);
    if style == Style::Plain {
        return name;
    }
    let short = without_parameters(&name).replace(['"', '\''], "");
    let class = symbols.component(frame.function).unwrap_or("");
    let java =
        name.strip_prefix(class).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    Cow::Owned(if frame.inlined && java && !class.is_empty() { short + "_[i]" } else { short })
}

/// A name up to its parameters; Go's receivers (`.(*T)`) and C++'s anonymous namespaces are none.
fn without_parameters(name: &str) -> &str {
    let mut depth = 0;
    for (at, sign) in name.char_indices() {
        match sign {
            '<' | '{' => depth += 1,
            '>' | '}' => depth -= 1,
            '(' if depth == 0 => {
                let receiver = name[..at].ends_with('.');
                if !receiver && !name[at..].starts_with("(anonymous namespace)") {
                    return &name[..at];
                }
            }
            _ => {}
        }
    }
    name
}

/// A name as one frame of a line: separators and line breaks would make two frames or two lines of it.
fn push_name(line: &mut String, name: &str) {
    line.extend(name.chars().map(|c| match c {
        ';' => ':',
        c if c.is_control() => ' ',
        c => c,
    }));
}

/// Contexts told apart by names alone.
#[derive(Default)]
struct NameTree {
    strings: StringTable,
    name: Vec<StringId>,
    value: Vec<i64>,
    children: Vec<Vec<u32>>,
    roots: Vec<u32>,
    index: HashMap<(Option<u32>, StringId), u32>,
}

impl NameTree {
    /// Calls `each` with every path that has a value, in order.
    fn each_path(&self, mut each: impl FnMut(&str, i64) -> io::Result<()>) -> io::Result<()> {
        let mut line = String::new();
        // Nodes still to write, the next one last, each with the length of the line above it.
        let mut todo: Vec<(u32, usize)> = self.sorted(&self.roots, 0);
        while let Some((node, above)) = todo.pop() {
            line.truncate(above);
            if above > 0 {
                line.push(';');
            }
            push_name(&mut line, self.strings.get(self.name[node as usize]));
            let value = self.value[node as usize];
            if value != 0 {
                each(&line, value)?;
            }
            todo.extend(self.sorted(&self.children[node as usize], line.len()));
        }
        Ok(())
    }

    fn of(profile: &Profile, metric: MetricId, roots: Roots, style: Style) -> Self {
        let mut tree = Self::default();
        let mut places: HashMap<(Option<u32>, NodeId), u32> = HashMap::new();
        let mut names: HashMap<FrameId, StringId> = HashMap::new();
        for (node, thread, value) in profile.cells.of(metric) {
            let top = thread.and_then(|thread| tree.top(profile, thread, roots, style));
            let mut above = top;
            // Down from the nearest ancestor that has a place already.
            let mut missing = Vec::new();
            for ancestor in profile.tree.ancestors(node) {
                if let Some(place) = places.get(&(top, ancestor)) {
                    above = Some(*place);
                    break;
                }
                missing.push(ancestor);
            }
            for node in missing.into_iter().rev() {
                let frame = profile.tree.frame(node);
                let name = *names
                    .entry(frame)
                    .or_insert_with(|| tree.strings.intern(&frame_name(profile, frame, style)));
                let place = tree.child(above, name);
                places.insert((top, node), place);
                above = Some(place);
            }
            if let Some(place) = above {
                let slot = &mut tree.value[place as usize];
                *slot = slot.saturating_add(value);
            }
        }
        tree
    }

    fn top(
        &mut self,
        profile: &Profile,
        thread: ThreadId,
        roots: Roots,
        style: Style,
    ) -> Option<u32> {
        let thread = profile.threads.get(thread.index())?;
        let name = match roots {
            Roots::Bare => return None,
            Roots::Thread => thread.name,
            Roots::Process => thread.process.unwrap_or(thread.name),
        };
        let name = profile.symbols.text(name);
        let name = match style {
            Style::Plain => self.strings.intern(name),
            Style::Stackcollapse => self.strings.intern(&name.replace(' ', "_")),
        };
        Some(self.child(None, name))
    }

    fn child(&mut self, parent: Option<u32>, name: StringId) -> u32 {
        let Self { name: names, value, children, roots, index, .. } = self;
        *index.entry((parent, name)).or_insert_with(|| {
            let node = names.len() as u32;
            names.push(name);
            value.push(0);
            children.push(Vec::new());
            match parent {
                Some(parent) => children[parent as usize].push(node),
                None => roots.push(node),
            }
            node
        })
    }

    /// Last name first, as the writer takes them from the end.
    fn sorted(&self, nodes: &[u32], above: usize) -> Vec<(u32, usize)> {
        let mut nodes: Vec<_> = nodes.iter().map(|node| (*node, above)).collect();
        let name = |node: u32| self.strings.get(self.name[node as usize]);
        nodes.sort_unstable_by(|a, b| name(b.0).cmp(name(a.0)).then(b.0.cmp(&a.0)));
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use perfblame_cct::{Frame, Function, Grain, Metric, ProfileBuilder, Thread, Times, Unit};

    fn check(profile: &Profile, roots: Roots, expected: &Expect) {
        let mut out = Vec::new();
        write(profile, MetricId::new(0), roots, Style::Plain, &mut out).unwrap();
        expected.assert_eq(&String::from_utf8(out).unwrap());
    }

    #[test]
    fn paths_come_out_sorted_with_their_own_cost() {
        let profile = perfblame_fixtures::profile(
            "main  main  main  main
             write parse parse parse
             .     .     alloc alloc",
        );
        check(
            &profile,
            Roots::Bare,
            &expect![[r"
                main;parse 1
                main;parse;alloc 2
                main;write 1
            "]],
        );
    }

    #[test]
    fn names_end_before_their_parameters() {
        for (name, expected) in [
            (
                "std::function<void (int)>::operator()(int) const",
                "std::function<void (int)>::operator",
            ),
            ("(anonymous namespace)::parse(char*)", "(anonymous namespace)::parse"),
            ("net.(*conn).Read", "net.(*conn).Read"),
            ("main", "main"),
        ] {
            assert_eq!(without_parameters(name), expected);
        }
    }

    #[test]
    fn separators_in_names_threads_and_lines_are_no_frames() {
        let mut builder = ProfileBuilder::new(Grain::Frames, Times::Drop);
        let metric =
            builder.metric(Metric { decimals: 2, ..Metric::sampled("samples", Unit::Count) });
        let thread = Thread::named(builder.string("worker-1"));
        let thread = builder.thread(thread);
        let name = builder.string("RegExp: a;b\nc");
        let function = builder.function(Function::named(name));
        for (line, value) in [(3, 50), (4, 75)] {
            let frame = builder.frame(Frame::of(function).at_line(line));
            builder.sample(&[frame], Some(thread), metric, value);
        }
        let profile = builder.finish();
        check(&profile, Roots::Bare, &expect![["RegExp: a:b c 1.25\n"]]);
        check(&profile, Roots::Thread, &expect![["worker-1;RegExp: a:b c 1.25\n"]]);
    }
}
