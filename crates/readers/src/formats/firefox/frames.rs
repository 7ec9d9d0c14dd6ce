//! From rows of `frameTable` to frames, and from rows of `stackTable` to contexts, each once.

use std::borrow::Cow;
use std::num::NonZeroU64;

use perfblame_cct::{Cursor, Frame, FrameId, Function, Layer, ProfileBuilder, StringId, position};
use perfblame_native as native;

use super::location::{self, Location};
use super::meta::Meta;
use super::table::FirefoxTable;

/// A library of a process.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// Its name without path.
    pub name: String,
    /// Where it is in memory; only Gecko's files say so.
    pub start: u64,
    /// One past its last address.
    pub end: u64,
}

/// The tables that stacks refer to. Newer files share them between threads.
#[derive(Debug, Default)]
pub struct FirefoxTables<'a> {
    /// All texts.
    pub strings: Option<Vec<Cow<'a, str>>>,
    /// Stacks: a frame and the stack it was called from.
    pub stacks: Option<FirefoxTable<'a>>,
    /// Frames: a function, or a text, and a line.
    pub frames: Option<FirefoxTable<'a>>,
    /// Functions; Gecko's files have none.
    pub functions: Option<FirefoxTable<'a>>,
    /// Where functions come from: libraries, urls, extensions.
    pub resources: Option<FirefoxTable<'a>>,
    /// Files of functions, in the newest files.
    pub sources: Option<FirefoxTable<'a>>,
}

/// A view on a thread's tables and, where it has none of its own, the shared ones.
#[derive(Clone, Copy)]
pub struct View<'t, 'a> {
    /// The thread's own.
    pub own: &'t FirefoxTables<'a>,
    /// Those of the whole profile.
    pub shared: &'t FirefoxTables<'a>,
    /// Libraries of the process.
    pub libraries: &'t [Library],
    /// What is known of the process.
    pub meta: &'t Meta,
}

impl<'t, 'a> View<'t, 'a> {
    fn pick<T>(self, of: impl Fn(&'t FirefoxTables<'a>) -> Option<&'t T>) -> Option<&'t T> {
        of(self.own).or_else(|| of(self.shared))
    }

    fn text(self, row: Option<usize>) -> Option<&'t str> {
        self.pick(|tables| tables.strings.as_ref())?.get(row?).map(|text| &**text)
    }

    /// True when frames or stacks are the thread's own.
    pub fn has_own_stacks(self) -> bool {
        self.own.stacks.is_some() || self.own.frames.is_some() || self.own.functions.is_some()
    }
}

/// Frames and contexts that have been looked up.
#[derive(Debug, Default)]
pub struct Places {
    frames: Vec<Option<FrameId>>,
    stacks: Vec<Option<Cursor>>,
}

impl Places {
    /// Looks up every stack. A stack's caller stands before it; where it does not, the file is damaged and the stack
    /// begins anew.
    pub fn fill(&mut self, view: View, builder: &mut ProfileBuilder) {
        let Some(stacks) = view.pick(|tables| tables.stacks.as_ref()) else { return };
        for row in self.stacks.len()..stacks.len() {
            let frame = stacks.row("frame", row).and_then(|frame| self.frame(frame, view, builder));
            let Some(frame) = frame else {
                builder.warn("unknown-frames", || {
                    "stacks were cut where their frame does not exist".to_owned()
                });
                let above = stacks.row("prefix", row).and_then(|above| self.stack(above));
                self.stacks.push(above);
                continue;
            };
            let prefix = stacks.row("prefix", row);
            let caller = prefix.and_then(|above| self.stack(above));
            if prefix.is_some_and(|above| above >= row) {
                builder.warn("broken-stacks", || {
                    "stacks whose callers come after them were read without callers".to_owned()
                });
            }
            self.stacks.push(Some(match caller {
                Some(caller) => builder.child(caller, frame),
                None => builder.root(frame),
            }));
        }
    }

    /// The context of a stack.
    pub fn stack(&self, row: usize) -> Option<Cursor> {
        self.stacks.get(row).copied().flatten()
    }

    fn frame(&mut self, row: usize, view: View, builder: &mut ProfileBuilder) -> Option<FrameId> {
        let frames = view.pick(|tables| tables.frames.as_ref())?;
        if row >= frames.len() {
            return None;
        }
        if self.frames.len() < frames.len() {
            self.frames.resize(frames.len(), None);
        }
        if let Some(known) = self.frames[row] {
            return Some(known);
        }
        let category = view.meta.layer(frames.row("category", row));
        let made = match frames.row("func", row) {
            Some(function) => processed(view, function, category, builder)?,
            None => gecko(view, frames, row, category, builder)?,
        };
        let frame = builder.frame(Frame {
            line: frames.number("line", row).and_then(position),
            column: frames.number("column", row).and_then(position),
            address: frames.number("address", row).or(made.1).and_then(NonZeroU64::new),
            inlined: frames.number("inlineDepth", row).is_some_and(|depth| depth > 0),
            ..Frame::of(made.0)
        });
        self.frames[row] = Some(frame);
        Some(frame)
    }
}

/// The function of a row, and the address that its text stands for.
type Made = (perfblame_cct::FunctionId, Option<u64>);

fn processed(
    view: View,
    row: usize,
    category: Option<Layer>,
    builder: &mut ProfileBuilder,
) -> Option<Made> {
    let functions = view.pick(|tables| tables.functions.as_ref())?;
    if row >= functions.len() {
        return None;
    }
    let name = view.text(functions.row("name", row)).unwrap_or_default();
    let file = functions.row("fileName", row).or_else(|| {
        let sources = view.pick(|tables| tables.sources.as_ref())?;
        sources.row("filename", functions.row("source", row)?)
    });
    let file = view.text(file);
    let is_script = functions.number("isJS", row) == Some(1);
    let library = functions.row("resource", row).and_then(|resource| {
        let resources = view.pick(|tables| tables.resources.as_ref())?;
        // 1 stands for a library; older files have rows for everything else without the columns.
        if resources.number("type", resource) != Some(1) {
            return None;
        }
        let known = resources.row("lib", resource).and_then(|lib| view.libraries.get(lib));
        known.map(|library| library.name.as_str()).or(view.text(resources.row("name", resource)))
    });
    let start = |name| functions.number(name, row).and_then(position);
    let function = if is_script || (library.is_none() && file.is_some_and(is_script_url)) {
        let function = script(name, file.unwrap_or_default(), builder);
        Function { line: start("lineNumber"), column: start("columnNumber"), ..function }
    } else if let Some(library) = library {
        let mut function = of_library(name, library, view.meta, builder);
        function.file = file.map(|file| builder.string(file));
        function.line = start("lineNumber");
        function
    } else {
        let mut function = label(name, category, view.meta, builder);
        function.component = file.map(|file| builder.string(file));
        function
    };
    Some((builder.function(function), None))
}

fn gecko(
    view: View,
    frames: &FirefoxTable,
    row: usize,
    category: Option<Layer>,
    builder: &mut ProfileBuilder,
) -> Option<Made> {
    let text = view.text(frames.row("location", row))?;
    let mut address = None;
    let function = match location::parse(text) {
        Location::Script { name, url, line, column } => Function {
            line: line.and_then(position),
            column: column.and_then(position),
            ..script(name, url, builder)
        },
        Location::Native { name, library } => of_library(name, library, view.meta, builder),
        Location::Address(absolute) => {
            // Gecko's files list libraries by their start.
            let after = view.libraries.partition_point(|library| library.start <= absolute);
            let library = after.checked_sub(1).and_then(|row| view.libraries.get(row));
            let library = library.filter(|library| absolute < library.end);
            address = Some(absolute - library.map_or(0, |library| library.start));
            match library {
                Some(library) => of_library(text, &library.name, view.meta, builder),
                None => label(text, category, view.meta, builder),
            }
        }
        Location::Label(text) => label(text, category, view.meta, builder),
    };
    Some((builder.function(function), address))
}

fn is_script_url(file: &str) -> bool {
    matches!(location::parse(file), Location::Script { .. })
}

fn script(name: &str, url: &str, builder: &mut ProfileBuilder) -> Function {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| url.starts_with(prefix));
    let layer = if starts(&["resource:", "chrome:", "self-hosted", "about:"]) {
        Layer::Runtime
    } else if starts(&["moz-extension:", "chrome-extension:"]) {
        Layer::Plugin
    } else {
        Layer::Application
    };
    let component: Option<StringId> = (!url.is_empty()).then(|| builder.string(url));
    Function { component, layer, ..Function::named(builder.string(name)) }
}

fn of_library(name: &str, library: &str, meta: &Meta, builder: &mut ProfileBuilder) -> Function {
    let layer = match native::layer_of(library) {
        // What belongs to the browser, when the browser is not what is being worked on.
        Layer::Application if meta.is_firefox => Layer::Runtime,
        layer => layer,
    };
    Function {
        component: Some(builder.string(library)),
        layer,
        ..Function::named(builder.string(&native::demangle(name)))
    }
}

fn label(
    name: &str,
    category: Option<Layer>,
    meta: &Meta,
    builder: &mut ProfileBuilder,
) -> Function {
    let otherwise =
        if meta.is_firefox || name == "(root)" { Layer::Runtime } else { Layer::Application };
    let name = builder.string(&native::demangle(name));
    Function::named(name).in_layer(category.unwrap_or(otherwise))
}
