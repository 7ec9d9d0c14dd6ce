//! Symbols of one table found or added in another, each once.

use crate::{Build, Frame, FrameId, Function, FunctionId, StringId, Symbols, Thread};

/// Translates the ids of one table of symbols into those of another.
pub struct Import<'a> {
    from: &'a Symbols,
    strings: Vec<Option<StringId>>,
    functions: Vec<Option<FunctionId>>,
    frames: Vec<Option<FrameId>>,
}

impl<'a> Import<'a> {
    /// Starts with nothing translated.
    pub fn new(from: &'a Symbols) -> Self {
        Self {
            from,
            strings: vec![None; from.strings.len()],
            functions: vec![None; from.functions().len()],
            frames: vec![None; from.frames().len()],
        }
    }

    /// A text, found or added in `into`, which must be the same table in every call.
    pub fn string(&mut self, into: &mut Symbols, id: StringId) -> StringId {
        let known = &mut self.strings[id.index()];
        *known.get_or_insert_with(|| into.string(self.from.text(id)))
    }

    /// A function with its texts.
    pub fn function(&mut self, into: &mut Symbols, id: FunctionId) -> FunctionId {
        if let Some(known) = self.functions[id.index()] {
            return known;
        }
        let function = *self.from.function(id);
        let mut string = |id| self.string(into, id);
        let function = Function {
            name: string(function.name),
            component: function.component.map(&mut string),
            signature: function.signature.map(&mut string),
            file: function.file.map(&mut string),
            ..function
        };
        if let (Some(from), Some(to)) = (self.from.function(id).component, function.component) {
            let build = self.from.build(from);
            let package = build.package.map(|id| self.string(into, id));
            let id = build.id.map(|id| self.string(into, id));
            into.set_build(to, Build { package, id });
            if let Some(shapes) = self.from.shapes(from) {
                into.set_shapes(to, shapes.clone());
            }
        }
        let new = into.intern_function(function);
        self.functions[id.index()] = Some(new);
        new
    }

    /// A frame with its function and texts.
    pub fn frame(&mut self, into: &mut Symbols, id: FrameId) -> FrameId {
        if let Some(known) = self.frames[id.index()] {
            return known;
        }
        let frame = *self.from.frame(id);
        let file = frame.file.map(|id| self.string(into, id));
        let function = self.function(into, frame.function);
        let new = into.intern_frame(Frame { function, file, ..frame });
        self.frames[id.index()] = Some(new);
        new
    }

    /// A thread with its texts.
    pub fn thread(&mut self, into: &mut Symbols, thread: Thread) -> Thread {
        Thread {
            name: self.string(into, thread.name),
            process: thread.process.map(|id| self.string(into, id)),
            group: thread.group.map(|id| self.string(into, id)),
            ..thread
        }
    }
}
