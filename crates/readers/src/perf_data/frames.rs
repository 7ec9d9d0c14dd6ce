//! From addresses to frames: which function of the mapped file, which inlined ones, which lines.
//!
//! Each distinct address of a file is looked up once, whatever process it is mapped in; after that a frame of a sample
//! costs one look into a hash table.

use std::num::NonZeroU64;

use hashbrown::HashMap;
use perfblame_cct::{Frame, FrameId, Function, Layer, ProfileBuilder, StringId, position};

use super::modules::{JIT, Kind, Modules, Origin, Place, base_name};
use super::process::{Mapping, Process};
use crate::native::{Binary, JitCode, KernelSymbols, demangle, signature};

/// The frames of one address, innermost first, as a stretch of one long list.
#[derive(Clone, Copy, Debug)]
pub struct FrameRange {
    start: u32,
    end: u32,
}

/// An address to look up.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// As recorded.
    pub exact: u64,
    /// Inside the instruction: one less for return addresses, which may lie behind the end of the calling function.
    pub lookup: u64,
}

impl Address {
    /// Where the processor was.
    pub fn executing(address: u64) -> Self {
        Self { exact: address, lookup: address }
    }

    /// Where a call returns to.
    pub fn returning(address: u64) -> Self {
        Self { exact: address, lookup: address.saturating_sub(1) }
    }

    /// The same address in another count.
    pub fn moved_by(self, distance: u64) -> Self {
        let Self { exact, lookup } = self;
        Self { exact: exact.wrapping_add(distance), lookup: lookup.wrapping_add(distance) }
    }
}

/// Everything that turns addresses into frames.
pub struct FrameTable {
    list: Vec<FrameId>,
    pub modules: Modules,
    /// Frames by the keys of their places.
    seen: HashMap<u64, FrameRange>,
    /// Looked for when the first kernel address comes.
    kernel: Option<KernelSymbols>,
    kernel_looked_for: bool,
    /// Where the kernel's image started when it was recorded.
    kernel_text: Option<u64>,
    /// Programs loaded into the kernel, as records announce them.
    pub kernel_jit: JitCode,
    unknown: Option<FrameRange>,
    /// Name and signature of each mangled symbol seen.
    names: HashMap<Box<str>, (StringId, Option<StringId>)>,
}

impl FrameTable {
    /// Nothing looked up yet.
    pub fn new(origin: Origin) -> Self {
        Self {
            list: Vec::new(),
            modules: Modules::new(origin),
            seen: HashMap::new(),
            kernel: None,
            kernel_looked_for: false,
            kernel_text: None,
            kernel_jit: JitCode::default(),
            unknown: None,
            names: HashMap::new(),
        }
    }

    /// Remembers where the kernel's image was.
    pub fn set_kernel_text(&mut self, start: u64) {
        self.kernel_text.get_or_insert(start);
    }

    /// The frames of a range.
    pub fn frames(&self, range: FrameRange) -> &[FrameId] {
        self.list.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    /// The frames at an address of a process.
    pub fn find(
        &mut self,
        builder: &mut ProfileBuilder,
        process: &mut Process,
        address: Address,
        time: u64,
    ) -> FrameRange {
        let place = self.modules.place(builder, process, address);
        self.find_place(builder, process, place, address, time)
    }

    /// The frames at an address whose place in a file is known already.
    pub fn find_place(
        &mut self,
        builder: &mut ProfileBuilder,
        process: &mut Process,
        place: Option<Place>,
        address: Address,
        time: u64,
    ) -> FrameRange {
        let key = place.and_then(Place::key);
        if let Some(known) = key.and_then(|key| self.seen.get(&key)) {
            return *known;
        }
        if let Some(known) = process.seen.get(&address.lookup) {
            return *known;
        }
        if let Some(place) = place
            && let Some(found) = self.find_in_binary(builder, place)
        {
            if let Some(key) = key {
                self.seen.insert(key, found);
            }
            return found;
        }
        let found = match (self.find_jit(builder, process, address, time), place) {
            (Some(found), _) => found,
            (None, Some(place)) => self.nameless(builder, place),
            (None, None) => self.unknown(builder),
        };
        // A log tells at which times an address meant what; without one it means one thing.
        if process.jit.dumps.is_empty() {
            process.seen.insert(address.lookup, found);
        }
        found
    }

    /// The frames at an address of the kernel.
    pub fn find_in_kernel(
        &mut self,
        builder: &mut ProfileBuilder,
        kernel: &mut Process,
        address: Address,
    ) -> FrameRange {
        if let Some(known) = kernel.seen.get(&address.lookup) {
            return *known;
        }
        let mapping = kernel.find(address.lookup).unwrap_or_else(|| {
            let module = self.modules.module(builder, b"[kernel.kallsyms]", None, true);
            let start = self.kernel_text.unwrap_or(0);
            Mapping::new(start, u64::MAX, start, module)
        });
        let found = self.find_kernel_symbol(builder, mapping, address);
        kernel.seen.insert(address.lookup, found);
        found
    }

    fn find_kernel_symbol(
        &mut self,
        builder: &mut ProfileBuilder,
        mapping: Mapping,
        address: Address,
    ) -> FrameRange {
        if let Some(program) = self.kernel_jit.find(address.lookup) {
            let name = builder.string(&program.name);
            let component = builder.string("[bpf]");
            let function = Function::named(name).in_component(component).in_layer(Layer::Kernel);
            return self.single(builder, function, address.exact);
        }
        let Some(module) = self.modules.get(mapping.module) else {
            return self.unknown(builder);
        };
        let (component, image) = (module.component, module.kind == Kind::Kernel);
        if image && let Some(found) = self.find_in_image(builder, mapping, address) {
            return found;
        }
        self.look_for_kernel(builder);
        // The addresses of modules are those of one boot only.
        let text = self.kernel_text;
        let symbols = self.kernel.as_ref().filter(|list| image || list.moved(text) == 0);
        let symbol = symbols.and_then(|list| list.find_symbol(address.lookup, text));
        let name = if let Some((name, _)) = symbol {
            builder.string(name)
        } else {
            let start = if image { text.unwrap_or(mapping.start) } else { mapping.start };
            let offset = address.exact.wrapping_sub(start);
            let shown = builder.symbols.text(component).trim_matches(['[', ']']);
            let name = format!("[{shown}+{offset:#x}]");
            builder.string(&name)
        };
        let function = Function::named(name).in_component(component).in_layer(Layer::Kernel);
        self.single(builder, function, address.exact)
    }

    fn look_for_kernel(&mut self, builder: &mut ProfileBuilder) {
        if self.kernel_looked_for {
            return;
        }
        self.kernel_looked_for = true;
        self.kernel = KernelSymbols::find(self.modules.kernel_build_id(), self.modules.release());
        if self.kernel.is_none() {
            builder.warn("no-kernel-symbols", || {
                "the symbols of the recorded kernel are not on this machine; its functions are named \
                 by their offset"
                    .to_owned()
            });
        }
    }

    /// Looks into the kernel's image, which is linked for another address than it was loaded at.
    fn find_in_image(
        &mut self,
        builder: &mut ProfileBuilder,
        mapping: Mapping,
        address: Address,
    ) -> Option<FrameRange> {
        let text = self.kernel_text?;
        let binary = self.modules.binary(builder, mapping.module)?;
        let linked = binary.address_of("_text").or_else(|| binary.address_of("_stext"))?;
        let address = address.moved_by(linked.wrapping_sub(text));
        binary.symbol(address.lookup)?;
        Some(self.of_binary(builder, &binary, Place { module: mapping.module, address }))
    }

    fn find_in_binary(&mut self, builder: &mut ProfileBuilder, place: Place) -> Option<FrameRange> {
        let binary = self.modules.binary(builder, place.module)?;
        Some(self.of_binary(builder, &binary, place))
    }

    /// The frames at an address of a binary: the function and those inlined into it.
    fn of_binary(
        &mut self,
        builder: &mut ProfileBuilder,
        binary: &Binary,
        place: Place,
    ) -> FrameRange {
        let Some(module) = self.modules.get(place.module) else { return self.unknown(builder) };
        let place = place.address;
        let (component, layer) = (module.component, module.layer);
        let symbol = binary.symbol(place.lookup).map(|symbol| symbol.name);
        let sources = binary.source_frames(place.lookup);
        let start = self.list.len() as u32;
        let outermost = sources.len().saturating_sub(1);
        for (row, source) in sources.iter().enumerate() {
            let inlined = row < outermost;
            let symbol = symbol.filter(|_| !inlined);
            let mangled = symbol.unwrap_or(&source.name);
            let (name, signature) = if mangled.is_empty() {
                let name = nameless_function(&module.path, binary, place);
                (builder.string(&name), None)
            } else {
                demangled(&mut self.names, builder, mangled)
            };
            let function = Function {
                name,
                component: Some(component),
                signature,
                file: source.file.as_deref().map(|file| builder.string(file)),
                line: source.start_line.and_then(|line| position(line.into())),
                column: None,
                layer,
            };
            let function = builder.function(function);
            let frame = Frame {
                file: source.line_file.as_deref().map(|file| builder.string(file)),
                column: source.column.and_then(|column| position(column.into())),
                address: NonZeroU64::new(place.exact),
                inlined,
                ..Frame::of(function).at_line(source.line.unwrap_or(0).into())
            };
            self.list.push(builder.frame(frame));
        }
        if sources.is_empty() {
            let (name, signature) = if let Some(symbol) = symbol {
                demangled(&mut self.names, builder, symbol)
            } else {
                let name = nameless_function(&module.path, binary, place);
                (builder.string(&name), None)
            };
            let function = Function {
                signature,
                ..Function::named(name).in_component(component).in_layer(layer)
            };
            return self.single(builder, function, place.exact);
        }
        FrameRange { start, end: self.list.len() as u32 }
    }

    fn find_jit(
        &mut self,
        builder: &mut ProfileBuilder,
        process: &mut Process,
        address: Address,
        time: u64,
    ) -> Option<FrameRange> {
        let jit = &mut process.jit;
        if !jit.map_looked_for {
            jit.map_looked_for = true;
            let path = format!("/tmp/perf-{}.map", process.pid);
            if let Ok(text) = std::fs::read(&path) {
                let (code, damaged) = JitCode::parse_map(&text);
                if damaged > 0 {
                    builder.warn_many("damaged-jit-lines", damaged, || {
                        format!("lines of {path} make no sense and were left out")
                    });
                }
                jit.code = code;
            }
        }
        for dump in &mut jit.dumps {
            dump.advance(time, &mut jit.code);
        }
        let found = jit.code.find(address.lookup)?;
        let line = found.line_at(address.lookup).unwrap_or(0);
        let file = found.file.clone();
        let name = builder.string(&found.name);
        let component = builder.string(JIT);
        let function = Function {
            file: file.map(|file| builder.string(&file)),
            line: found.lines.first().and_then(|line| position(line.1.into())),
            ..Function::named(name).in_component(component)
        };
        let function = builder.function(function);
        // The address says nothing beyond this run.
        let frame = builder.frame(Frame::of(function).at_line(line.into()));
        Some(self.keep(frame))
    }

    /// A function of which only the place is known.
    fn nameless(&mut self, builder: &mut ProfileBuilder, place: Place) -> FrameRange {
        let Some(module) = self.modules.get(place.module) else {
            return self.unknown(builder);
        };
        if module.kind == Kind::Anonymous {
            // Its addresses mean nothing in another run.
            let name = builder.symbols.string("[unknown]");
            let function = Function::named(name).in_component(module.component);
            return self.single(builder, function, 0);
        }
        let offset = place.address.exact;
        let name = format!("[{}+{offset:#x}]", base_name(&module.path));
        let function = Function::named(builder.symbols.string(&name))
            .in_component(module.component)
            .in_layer(module.layer);
        self.single(builder, function, offset)
    }

    /// What no mapping holds.
    pub fn unknown(&mut self, builder: &mut ProfileBuilder) -> FrameRange {
        if let Some(unknown) = self.unknown {
            return unknown;
        }
        let frame = builder.named_frame("[unknown]", Layer::Application);
        let unknown = self.keep(frame);
        self.unknown = Some(unknown);
        unknown
    }

    fn single(
        &mut self,
        builder: &mut ProfileBuilder,
        function: Function,
        address: u64,
    ) -> FrameRange {
        let function = builder.function(function);
        let frame = Frame { address: NonZeroU64::new(address), ..Frame::of(function) };
        let frame = builder.frame(frame);
        self.keep(frame)
    }

    fn keep(&mut self, frame: FrameId) -> FrameRange {
        let start = self.list.len() as u32;
        self.list.push(frame);
        FrameRange { start, end: start + 1 }
    }
}

/// Name and signature of a symbol; undoing the mangling costs more than all else about an address.
fn demangled(
    names: &mut HashMap<Box<str>, (StringId, Option<StringId>)>,
    builder: &mut ProfileBuilder,
    symbol: &str,
) -> (StringId, Option<StringId>) {
    if let Some(known) = names.get(symbol) {
        return *known;
    }
    let name = builder.string(&demangle(symbol));
    let signature = signature(symbol).map(|text| builder.string(&text));
    names.insert(symbol.into(), (name, signature));
    (name, signature)
}

/// Names a function by its object and where it starts, or by the address where not even that is known.
fn nameless_function(path: &str, binary: &Binary, place: Address) -> String {
    let start = binary.function_start(place.lookup).unwrap_or(place.exact);
    format!("[{}+{start:#x}]", base_name(path))
}
