//! From addresses to frames: which function of the mapped file, which inlined ones, which lines.
//!
//! Each distinct address of a file is asked for once, whatever process it is mapped in.

use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::Arc;

use hashbrown::HashMap;
use perfblame_cct::{
    Build, Frame, FrameId, Function, FunctionId, Layer, ProfileBuilder, StringId, position,
};
use perfblame_native::{
    BinaryNames, JitCode, JitDump, KernelSymbols, SymbolAt, demangle_with_signature, layer_of,
};

use super::modules::{FilePlace, JIT, MappedKind, base_name, is_jitted_object, module_name};
use super::process::ModuleId;
use super::told::{Asked, KernelTold, ModuleTold, Sought};

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
#[derive(Default)]
pub struct FrameTable {
    list: Vec<FrameId>,
    modules: Vec<Option<NamedModule>>,
    /// Code made at run time, by process.
    jit: HashMap<u32, JitState>,
    /// Looked for when the first kernel address comes.
    kernel: Option<Arc<KernelSymbols>>,
    kernel_looked_for: bool,
    pub kernel_told: KernelTold,
    /// Programs loaded into the kernel, as records announce them.
    pub kernel_jit: JitCode,
    unknown: Option<FrameRange>,
    names: Memo,
}

/// A mapped file, as it is shown.
struct NamedModule {
    path: String,
    kind: MappedKind,
    component: StringId,
    layer: Layer,
    names: Option<Rc<BinaryNames>>,
}

/// What is known of code made at run time.
#[derive(Default)]
struct JitState {
    code: JitCode,
    dumps: Vec<JitDump>,
    map_looked_for: bool,
}

/// Name and signature of a function.
type Named = (StringId, Option<StringId>);

/// The names that have been seen: undoing the mangling costs more than all else about an address.
#[derive(Default)]
struct Memo {
    by_symbol: HashMap<(ModuleId, SymbolAt), Option<Named>>,
    by_text: HashMap<Box<str>, Named>,
    /// Functions of binaries without debug information.
    functions: HashMap<(ModuleId, SymbolAt), FunctionId>,
}

impl FrameTable {
    /// The frames of a range.
    pub fn frames(&self, range: FrameRange) -> &[FrameId] {
        self.list.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    /// Takes a mapped file, and loads the names of its functions: which are handed out, with the component they are in.
    pub fn add_module(
        &mut self,
        builder: &mut ProfileBuilder,
        id: ModuleId,
        told: ModuleTold,
    ) -> (StringId, Option<Rc<BinaryNames>>) {
        let ModuleTold { path, kind, binary, build_id, object } = told;
        match &binary {
            Sought::Missing => builder.warn("missing-binaries", || {
                format!(
                    "binaries are not on this machine; the first is {path}; their functions are shown by offset"
                )
            }),
            Sought::Changed => builder.warn("changed-binaries", || {
                format!(
                    "binaries may have changed since the recording; the first is {path}; their functions are shown by offset"
                )
            }),
            _ => {}
        }
        let shown = match kind {
            MappedKind::Kernel => "[kernel.kallsyms]".to_owned(),
            MappedKind::KernelModule => module_name(&path),
            MappedKind::Anonymous => "//anon".to_owned(),
            MappedKind::Vdso => "[vdso]".to_owned(),
            MappedKind::File if is_jitted_object(&path) => JIT.to_owned(),
            MappedKind::File => path.clone(),
        };
        let in_kernel = matches!(kind, MappedKind::Kernel | MappedKind::KernelModule);
        let layer = if in_kernel { Layer::Kernel } else { layer_of(&shown) };
        let layer = object.as_ref().map_or(layer, |object| object.layer);
        let component = builder.string(&shown);
        let package = object.and_then(|object| object.package);
        let package = package.map(|text| builder.string(&text));
        let build = build_id.filter(|_| shown == path).map(|text| builder.string(&text));
        builder.symbols.set_build(component, Build { package, id: build });
        let names = binary.found().map(|binary| Rc::new(BinaryNames::of_binary(binary.clone())));
        let at = id.0 as usize;
        if self.modules.len() <= at {
            self.modules.resize_with(at + 1, || None);
        }
        if let Some(row) = self.modules.get_mut(at) {
            *row = Some(NamedModule { path, kind, component, layer, names: names.clone() });
        }
        (component, names.filter(|_| !in_kernel))
    }

    /// A process runs another program.
    pub fn forget_jit(&mut self, pid: u32) {
        self.jit.remove(&pid);
    }

    /// Takes a log of code made at run time.
    pub fn add_jit_dump(&mut self, pid: u32, dump: JitDump) {
        self.jit.entry(pid).or_default().dumps.push(dump);
    }

    /// The frame of what no mapping holds, if it has come up.
    pub fn unknown_frame(&self) -> Option<FrameId> {
        self.frames(self.unknown?).first().copied()
    }

    /// The frames at an address.
    pub fn find(&mut self, builder: &mut ProfileBuilder, asked: Asked) -> FrameRange {
        match asked {
            Asked::Unknown => self.unknown(builder),
            Asked::InBinary(place) => self.find_in_binary(builder, place),
            Asked::InKernel { module, start, address } => {
                self.find_kernel_symbol(builder, module, start, address)
            }
            Asked::Elsewhere { pid, place, address, time } => {
                match (self.find_jit(builder, pid, address, time), place) {
                    (Some(found), _) => found,
                    (None, Some(place)) => self.nameless(builder, place),
                    (None, None) => self.unknown(builder),
                }
            }
        }
    }

    fn module(&self, id: ModuleId) -> Option<&NamedModule> {
        self.modules.get(id.0 as usize)?.as_ref()
    }

    fn find_kernel_symbol(
        &mut self,
        builder: &mut ProfileBuilder,
        module: ModuleId,
        start: u64,
        address: Address,
    ) -> FrameRange {
        if let Some(program) = self.kernel_jit.find(address.lookup) {
            let name = builder.string(&program.name);
            let component = builder.string("[bpf]");
            let function = Function::named(name).in_component(component).in_layer(Layer::Kernel);
            return self.single(builder, function, address.exact);
        }
        let Some(row) = self.module(module) else {
            return self.unknown(builder);
        };
        let (component, image) = (row.component, row.kind == MappedKind::Kernel);
        if image && let Some(found) = self.find_in_image(builder, module, address) {
            return found;
        }
        self.look_for_kernel(builder);
        // The addresses of modules are those of one boot only.
        let text = self.kernel_told.text;
        let symbols = self.kernel.as_ref().filter(|list| image || list.moved(text) == 0);
        let symbol = symbols.and_then(|list| list.find_symbol(address.lookup, text));
        let name = if let Some(name) = symbol {
            builder.string(&name)
        } else {
            let start = if image { text.unwrap_or(start) } else { start };
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
        let KernelTold { build_id, release, .. } = &self.kernel_told;
        self.kernel = KernelSymbols::find(build_id.as_deref(), release.as_deref());
        if self.kernel.is_none() {
            builder.warn("no-kernel-symbols", || {
                "the symbols of the recorded kernel are not on this machine; its functions are shown by offset"
                    .to_owned()
            });
        }
    }

    /// Looks into the kernel's image, which is linked for another address than it was loaded at.
    fn find_in_image(
        &mut self,
        builder: &mut ProfileBuilder,
        module: ModuleId,
        address: Address,
    ) -> Option<FrameRange> {
        let text = self.kernel_told.text?;
        let names = self.module(module)?.names.clone()?;
        let linked = names.address_of("_text").or_else(|| names.address_of("_stext"))?;
        let address = address.moved_by(linked.wrapping_sub(text));
        names.symbol(address.lookup)?;
        Some(self.find_in_binary(builder, FilePlace { module, address }))
    }

    /// The frames at an address of a binary: the function and those inlined into it.
    fn find_in_binary(&mut self, builder: &mut ProfileBuilder, place: FilePlace) -> FrameRange {
        let module = self.modules.get(place.module.0 as usize).and_then(Option::as_ref);
        let Some((module, binary)) = module.and_then(|row| Some((row, row.names.as_ref()?))) else {
            return self.unknown(builder);
        };
        let id = place.module;
        let place = place.address;
        let (component, layer) = (module.component, module.layer);
        let at = binary.symbol(place.lookup).map(|symbol| (id, symbol));
        let sources = binary.source_frames(place.lookup);
        if sources.is_empty()
            && let Some(function) = at.and_then(|at| self.names.functions.get(&at))
        {
            let frame = Frame { address: NonZeroU64::new(place.exact), ..Frame::of(*function) };
            let frame = builder.frame(frame);
            return self.keep(frame);
        }
        let symbol = at.and_then(|at| self.names.symbol(builder, binary, at));
        let start = self.list.len() as u32;
        let outermost = sources.len().saturating_sub(1);
        for (row, source) in sources.iter().enumerate() {
            let inlined = row < outermost;
            let (name, signature) = if let Some(symbol) = symbol.filter(|_| !inlined) {
                symbol
            } else if source.name.is_empty() {
                let name = nameless_function(&module.path, binary, place);
                (builder.string(&name), None)
            } else {
                self.names.text(builder, &source.name)
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
            let (name, signature) = symbol.unwrap_or_else(|| {
                let name = nameless_function(&module.path, binary, place);
                (builder.string(&name), None)
            });
            let function = Function {
                signature,
                ..Function::named(name).in_component(component).in_layer(layer)
            };
            if let Some(at) = at.filter(|_| symbol.is_some()) {
                self.names.functions.insert(at, builder.function(function));
            }
            return self.single(builder, function, place.exact);
        }
        FrameRange { start, end: self.list.len() as u32 }
    }

    fn find_jit(
        &mut self,
        builder: &mut ProfileBuilder,
        pid: u32,
        address: Address,
        time: u64,
    ) -> Option<FrameRange> {
        let jit = self.jit.entry(pid).or_default();
        if !jit.map_looked_for {
            jit.map_looked_for = true;
            let path = format!("/tmp/perf-{pid}.map");
            if let Ok(text) = std::fs::read(&path) {
                let (code, damaged) = JitCode::parse_map(&text);
                if damaged > 0 {
                    builder.warn_many("damaged-jit-lines", damaged, || {
                        format!("unreadable lines of {path} were left out")
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
    fn nameless(&mut self, builder: &mut ProfileBuilder, place: FilePlace) -> FrameRange {
        let Some(module) = self.module(place.module) else {
            return self.unknown(builder);
        };
        if module.kind == MappedKind::Anonymous {
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
    fn unknown(&mut self, builder: &mut ProfileBuilder) -> FrameRange {
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

impl Memo {
    fn symbol(
        &mut self,
        builder: &mut ProfileBuilder,
        names: &BinaryNames,
        at: (ModuleId, SymbolAt),
    ) -> Option<Named> {
        if let Some(known) = self.by_symbol.get(&at) {
            return *known;
        }
        let name = names.name(at.1).filter(|name| !name.is_empty());
        let named = name.map(|name| self.text(builder, &name));
        self.by_symbol.insert(at, named);
        named
    }

    fn text(&mut self, builder: &mut ProfileBuilder, symbol: &str) -> Named {
        if let Some(known) = self.by_text.get(symbol) {
            return *known;
        }
        let (name, signature) = demangle_with_signature(symbol);
        let named = (builder.string(&name), signature.map(|text| builder.string(&text)));
        self.by_text.insert(symbol.into(), named);
        named
    }
}

/// Names a function by its object and where it starts, or by the address where not even that is known.
fn nameless_function(path: &str, binary: &BinaryNames, place: Address) -> String {
    let start = binary.function_start(place.lookup).unwrap_or(place.exact);
    format!("[{}+{start:#x}]", base_name(path))
}
