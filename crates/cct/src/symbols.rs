//! Functions and frames, interned: the code locations a tree's nodes refer to.
//!
//! A function is *who*, a frame is *where in it*. Trees come in three grains (see [`Grain`](crate::Grain)), and each
//! grain labels its nodes with frames that carry just what the grain needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher, Hash};
use std::num::{NonZeroU32, NonZeroU64};

use crate::{FrameId, FunctionId, Layer, ScriptShapes, StringId, StringTable, layer_by_name};

/// A function: its name and the component that holds it.
///
/// Everything here is part of its identity within one profile, the position too: files of one bundle hold many
/// anonymous functions, told apart only by where they start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Function {
    /// Name as users know it, demangled; empty for an anonymous function.
    pub name: StringId,
    /// File, class, module, jar, shared object or kernel.
    pub component: Option<StringId>,
    /// Parameter and result types where the language overloads names.
    pub signature: Option<StringId>,
    /// Source file, when it is not the component.
    pub file: Option<StringId>,
    /// Line where the function starts, counted from 1.
    pub line: Option<NonZeroU32>,
    /// Column where the function starts, counted from 1.
    pub column: Option<NonZeroU32>,
    /// Whose code it is.
    pub layer: Layer,
}

impl Function {
    /// A function known by its name alone.
    pub fn named(name: StringId) -> Self {
        Self {
            name,
            component: None,
            signature: None,
            file: None,
            line: None,
            column: None,
            layer: Layer::default(),
        }
    }

    /// The same function in `component`.
    pub fn in_component(self, component: StringId) -> Self {
        Self { component: Some(component), ..self }
    }

    /// The same function in `layer`.
    pub fn in_layer(self, layer: Layer) -> Self {
        Self { layer, ..self }
    }
}

/// The place in the caller from which a frame was called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CallSite {
    /// Source line and, where known, column.
    Line(NonZeroU32, Option<NonZeroU32>),
    /// Bytecode index.
    Bytecode(u32),
    /// Return address.
    Address(NonZeroU64),
}

/// A code location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Frame {
    /// The function the location is in.
    pub function: FunctionId,
    /// Source file of the line, when it is not the function's.
    pub file: Option<StringId>,
    /// Line being executed, counted from 1.
    pub line: Option<NonZeroU32>,
    /// Column being executed, counted from 1.
    pub column: Option<NonZeroU32>,
    /// Bytecode index being executed.
    pub bytecode: Option<u32>,
    /// Instruction address being executed.
    pub address: Option<NonZeroU64>,
    /// The compiler put this function's body into its caller's.
    pub inlined: bool,
    /// Where in the caller this frame was called; only in trees of grain [`CallSites`](crate::Grain::CallSites).
    pub call_site: Option<CallSite>,
}

impl Frame {
    /// The function without a place in it.
    pub fn of(function: FunctionId) -> Self {
        Self {
            function,
            file: None,
            line: None,
            column: None,
            bytecode: None,
            address: None,
            inlined: false,
            call_site: None,
        }
    }

    /// The same function at `line`; 0 and numbers beyond 32 bits mean unknown.
    pub fn at_line(self, line: u64) -> Self {
        Self { line: position(line), ..self }
    }

    /// This location as the call site of whatever it calls, by the most exact of what is known.
    pub fn as_call_site(&self) -> Option<CallSite> {
        if let Some(bytecode) = self.bytecode {
            return Some(CallSite::Bytecode(bytecode));
        }
        if let Some(line) = self.line {
            return Some(CallSite::Line(line, self.column));
        }
        self.address.map(CallSite::Address)
    }
}

/// A line or column number as files write it: 0 and what does not fit mean unknown.
pub fn position(number: u64) -> Option<NonZeroU32> {
    u32::try_from(number).ok().and_then(NonZeroU32::new)
}

/// The strings, functions and frames of a profile.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// All texts.
    pub strings: StringTable,
    functions: Interned<Function>,
    frames: Interned<Frame>,
    builds: BTreeMap<StringId, Build>,
    shapes: BTreeMap<StringId, Arc<ScriptShapes>>,
}

/// Which build of a component it is, and whom to tell about it. Not part of a function's identity: both can differ
/// between two runs that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Build {
    /// What the system's package manager calls what brought it, with the version: `zlib1g 1:1.2.13`.
    pub package: Option<StringId>,
    /// The number that a linker gave to just these bytes, in hexadecimal.
    pub id: Option<StringId>,
}

impl Symbols {
    /// Finds or adds a text.
    pub fn string(&mut self, text: &str) -> StringId {
        self.strings.intern(text)
    }

    /// Finds or adds a function.
    pub fn intern_function(&mut self, function: Function) -> FunctionId {
        FunctionId::new(self.functions.intern(function))
    }

    /// Finds or adds a frame.
    pub fn intern_frame(&mut self, frame: Frame) -> FrameId {
        FrameId::new(self.frames.intern(frame))
    }

    /// The text of `id`.
    pub fn text(&self, id: StringId) -> &str {
        self.strings.get(id)
    }

    /// The function of `id`.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions.rows[id.index()]
    }

    /// The frame of `id`.
    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames.rows[id.index()]
    }

    /// The name of a function; empty when it has none.
    pub fn name(&self, id: FunctionId) -> &str {
        self.text(self.function(id).name)
    }

    /// The component of a function, when it has one.
    pub fn component(&self, id: FunctionId) -> Option<&str> {
        self.function(id).component.map(|id| self.text(id))
    }

    /// What is known of the build of a component.
    pub fn build(&self, component: StringId) -> Build {
        self.builds.get(&component).copied().unwrap_or_default()
    }

    /// Says which build a component is; what is not said stays as it was.
    pub fn set_build(&mut self, component: StringId, build: Build) {
        if build == Build::default() {
            return;
        }
        let known = self.builds.entry(component).or_default();
        known.package = build.package.or(known.package);
        known.id = build.id.or(known.id);
    }

    /// What the functions of a script look like, where its text was known.
    pub fn shapes(&self, component: StringId) -> Option<&Arc<ScriptShapes>> {
        self.shapes.get(&component)
    }

    /// All scripts of which is known what their functions look like, in the order of their ids.
    pub fn all_shapes(&self) -> impl Iterator<Item = (StringId, &ScriptShapes)> + Clone {
        self.shapes.iter().map(|(component, shapes)| (*component, &**shapes))
    }

    /// Says what the functions of a script look like; who came first stays.
    pub fn set_shapes(&mut self, component: StringId, shapes: Arc<ScriptShapes>) {
        self.shapes.entry(component).or_insert(shapes);
    }

    /// The package of a function's component, where that is known.
    pub fn package(&self, id: FunctionId) -> Option<&str> {
        self.build(self.function(id).component?).package.map(|id| self.text(id))
    }

    /// Keeps only these frames, in this order: frame `used[row]` becomes row `row`.
    pub(crate) fn keep_frames(&mut self, used: &[FrameId]) {
        let before = std::mem::take(&mut self.frames);
        for frame in used {
            self.frames.intern(before.rows[frame.index()]);
        }
    }

    /// Tells libraries from the program, by their names.
    pub(crate) fn settle_layers(&mut self) {
        let text = |id: Option<StringId>| id.map(|id| self.strings.get(id));
        let told: Vec<(usize, Layer)> = (self.functions.rows.iter().enumerate())
            .filter(|(_, function)| function.layer == Layer::Application)
            .filter_map(|(row, function)| {
                let name = self.strings.get(function.name);
                let layer = layer_by_name(name, text(function.component), text(function.file))?;
                Some((row, layer))
            })
            .collect();
        if told.is_empty() {
            return;
        }
        for (row, layer) in told {
            self.functions.rows[row].layer = layer;
        }
        self.functions.index_again();
    }

    /// Makes room for the symbols of another table, most of which are new here.
    pub fn reserve_for(&mut self, other: &Self) {
        self.strings.reserve_for(&other.strings);
        self.functions.reserve(other.functions.rows.len());
        self.frames.reserve(other.frames.rows.len());
    }

    /// Gives back memory that was reserved for growing.
    pub fn shrink_to_fit(&mut self) {
        self.strings.shrink_to_fit();
        self.functions.rows.shrink_to_fit();
        self.frames.rows.shrink_to_fit();
    }

    /// Memory behind the table, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.strings.heap_bytes() + self.functions.heap_bytes() + self.frames.heap_bytes()
    }

    /// All functions with their ids.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = (FunctionId, &Function)> {
        self.functions
            .rows
            .iter()
            .enumerate()
            .map(|(row, function)| (FunctionId::new(row), function))
    }

    /// All frames with their ids.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = (FrameId, &Frame)> {
        self.frames.rows.iter().enumerate().map(|(row, frame)| (FrameId::new(row), frame))
    }
}

#[derive(Clone)]
struct Interned<T> {
    rows: Vec<T>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), index: HashTable::new(), hasher: DefaultHashBuilder::default() }
    }
}

impl<T> Interned<T> {
    fn heap_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<T>() + self.index.allocation_size()
    }
}

impl<T: Copy + Eq + Hash> Interned<T> {
    fn reserve(&mut self, more: usize) {
        let Self { rows, index, hasher } = self;
        rows.reserve(more);
        index.reserve(more, |row| hasher.hash_one(rows[*row as usize]));
    }

    /// After rows have changed. Of rows that became equal, the first is found.
    fn index_again(&mut self) {
        let Self { rows, index, hasher } = self;
        index.clear();
        for (row, value) in rows.iter().enumerate() {
            let hash = hasher.hash_one(value);
            if index.find(hash, |known| rows[*known as usize] == *value).is_none() {
                index.insert_unique(hash, row as u32, |row| hasher.hash_one(rows[*row as usize]));
            }
        }
    }

    fn intern(&mut self, value: T) -> usize {
        let Self { rows, index, hasher } = self;
        let hash = hasher.hash_one(value);
        if let Some(row) = index.find(hash, |row| rows[*row as usize] == value) {
            return *row as usize;
        }
        let row = rows.len();
        rows.push(value);
        index.insert_unique(hash, row as u32, |row| hasher.hash_one(rows[*row as usize]));
        row
    }
}

impl<T> std::fmt::Debug for Interned<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Interned({} rows)", self.rows.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_functions_and_frames_are_one(rows in prop::collection::vec((0u8..4, prop::option::of(0u8..3), 0u64..3), 0..40)) {
            let mut symbols = Symbols::default();
            let mut distinct = std::collections::BTreeSet::new();
            for (name, component, line) in &rows {
                let name = symbols.string(&name.to_string());
                let component = component.map(|text| symbols.string(&format!("lib{text}")));
                let function = Function { component, ..Function::named(name) };
                let id = symbols.intern_function(function);
                prop_assert_eq!(symbols.function(id), &function);
                prop_assert_eq!(symbols.intern_function(function), id);
                let frame = Frame::of(id).at_line(*line);
                let id = symbols.intern_frame(frame);
                prop_assert_eq!(symbols.frame(id), &frame);
                prop_assert_eq!(symbols.intern_frame(frame), id);
                distinct.insert(frame);
            }
            prop_assert_eq!(symbols.frames().len(), distinct.len());
        }
    }

    #[test]
    fn the_most_exact_place_is_the_call_site() {
        let frame = Frame::of(FunctionId::new(0));
        assert_eq!(frame.as_call_site(), None);
        let address = Frame { address: NonZeroU64::new(16), ..frame };
        assert_eq!(address.as_call_site(), NonZeroU64::new(16).map(CallSite::Address));
        let line = address.at_line(3);
        assert_eq!(line.as_call_site(), position(3).map(|line| CallSite::Line(line, None)));
        let bytecode = Frame { bytecode: Some(0), ..line };
        assert_eq!(bytecode.as_call_site(), Some(CallSite::Bytecode(0)));
        assert_eq!(frame.at_line(0).line, None, "line 0 means unknown");
        assert_eq!(frame.at_line(u64::MAX).line, None, "so does what does not fit");
    }
}
