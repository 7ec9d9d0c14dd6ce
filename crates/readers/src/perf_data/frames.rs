//! From addresses to frames: which file is mapped there, which function of it, which inlined ones, which lines.
//!
//! Each distinct address is looked up once per file, and once per process until its mappings change; after that a frame
//! of a sample costs one look into a hash table.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use hashbrown::HashMap;
use perfblame_cct::{Frame, FrameId, Function, Layer, ProfileBuilder, StringId, position};

use super::process::{Mapping, ModuleId, Process};
use super::unwind::{Machine, Unwinder};
use crate::native::{
    Binary, Elf, JitCode, KernelSymbols, debug_file_of, demangle, in_perf_cache, layer_of,
    running_build_id, running_release, running_vdso, same_build, signature,
};

/// Component of code made at run time: the files that list it have the process id in their names.
const JIT: &str = "[JIT]";

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
}

/// What can be mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Kernel,
    KernelModule,
    Vdso,
    /// Memory without a file: what is there was made at run time.
    Anonymous,
    File,
}

struct Module {
    path: String,
    kind: Kind,
    component: StringId,
    layer: Layer,
    build_id: Option<Vec<u8>>,
    /// Looked for on first use.
    binary: Option<Option<Rc<Binary>>>,
    /// By address as the file states it.
    seen: HashMap<u64, FrameRange>,
}

/// What is known of the machine a recording comes from.
#[derive(Debug, Default)]
pub struct Origin {
    pub release: Option<String>,
    /// When the recording was written.
    pub written: Option<SystemTime>,
    /// Where the recording is; binaries may lie beside it.
    pub folder: Option<PathBuf>,
}

/// Everything that turns addresses into frames.
pub struct FrameTable {
    list: Vec<FrameId>,
    modules: Vec<Module>,
    index: HashMap<(Vec<u8>, Option<Vec<u8>>), ModuleId>,
    origin: Origin,
    same_release: bool,
    kernel: Option<Option<KernelSymbols>>,
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
        let here = running_release();
        let same_release = here.is_some() && here == origin.release;
        Self {
            list: Vec::new(),
            modules: Vec::new(),
            index: HashMap::new(),
            origin,
            same_release,
            kernel: None,
            kernel_text: None,
            kernel_jit: JitCode::default(),
            unknown: None,
            names: HashMap::new(),
        }
    }

    /// Learns the kernel's release late, from a stream.
    pub fn set_release(&mut self, release: &str) {
        self.same_release = running_release().as_deref() == Some(release);
        self.origin.release = Some(release.to_owned());
    }

    /// The module of a mapped file.
    pub fn module(
        &mut self,
        builder: &mut ProfileBuilder,
        name: &[u8],
        build_id: Option<&[u8]>,
        in_kernel: bool,
    ) -> ModuleId {
        let key = (name.to_vec(), build_id.map(<[u8]>::to_vec));
        if let Some(known) = self.index.get(&key) {
            return *known;
        }
        let path = String::from_utf8_lossy(name).into_owned();
        let kind = kind_of(&path, in_kernel);
        let shown = match kind {
            Kind::Kernel => "[kernel.kallsyms]".to_owned(),
            Kind::KernelModule => module_name(&path),
            Kind::Anonymous => "//anon".to_owned(),
            Kind::Vdso => "[vdso]".to_owned(),
            Kind::File if is_jitted_object(&path) => JIT.to_owned(),
            Kind::File => path.clone(),
        };
        let layer = if in_kernel { Layer::Kernel } else { layer_of(&shown) };
        let component = builder.string(&shown);
        let build_id = build_id.map(<[u8]>::to_vec);
        let id = ModuleId(self.modules.len() as u32);
        let seen = HashMap::new();
        self.modules.push(Module { path, kind, component, layer, build_id, binary: None, seen });
        self.index.insert(key, id);
        id
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
        if let Some(known) = process.seen.get(&address.lookup) {
            return *known;
        }
        let mapping = process.find(address.lookup);
        if let Some(mapping) = mapping
            && let Some(found) = self.find_mapped(builder, mapping, address)
        {
            process.seen.insert(address.lookup, found);
            return found;
        }
        if let Some(found) = self.find_jit(builder, process, address, time) {
            // A log tells at which times an address meant what; without one it means one thing.
            if process.jit.dumps.is_empty() {
                process.seen.insert(address.lookup, found);
            }
            return found;
        }
        let found = match mapping {
            Some(mapping) => self.nameless(builder, mapping, address),
            None => self.unknown(builder),
        };
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
            let module = self.module(builder, b"[kernel.kallsyms]", None, true);
            let start = self.kernel_text.unwrap_or(0);
            Mapping { start, end: u64::MAX, offset: start, module }
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
        let Some(module) = self.modules.get(mapping.module.0 as usize) else {
            return self.unknown(builder);
        };
        let (component, kind) = (module.component, module.kind);
        let image = kind == Kind::Kernel;
        let build_id = if image { module.build_id.clone() } else { None };
        if image && let Some(found) = self.find_in_image(builder, mapping.module, address) {
            return found;
        }
        if self.kernel.is_none() {
            let build_id = build_id.or_else(|| self.kernel_build_id());
            let found = KernelSymbols::find(build_id.as_deref(), self.origin.release.as_deref());
            if found.is_none() {
                builder.warn("no-kernel-symbols", || {
                    "the symbols of the recorded kernel are not on this machine; its functions are \
                     named by their offset"
                        .to_owned()
                });
            }
            self.kernel = Some(found);
        }
        let symbols = self.kernel.as_ref().and_then(Option::as_ref);
        // The addresses of modules are those of one boot only.
        let usable = symbols.filter(|s| image || s.moved(self.kernel_text) == 0);
        if let Some((name, _)) =
            usable.and_then(|symbols| symbols.find_symbol(address.lookup, self.kernel_text))
        {
            let name = builder.string(name);
            let function = Function::named(name).in_component(component).in_layer(Layer::Kernel);
            return self.single(builder, function, address.exact);
        }
        let start = if image { self.kernel_text.unwrap_or(mapping.start) } else { mapping.start };
        let offset = address.exact.wrapping_sub(start);
        let name =
            format!("[{}+{offset:#x}]", builder.symbols.text(component).trim_matches(['[', ']']));
        let name = builder.string(&name);
        let function = Function::named(name).in_component(component).in_layer(Layer::Kernel);
        self.single(builder, function, address.exact)
    }

    fn kernel_build_id(&self) -> Option<Vec<u8>> {
        self.modules.iter().find(|m| m.kind == Kind::Kernel)?.build_id.clone()
    }

    /// Looks into the kernel's image with its debug information, where a distribution's package has brought it.
    fn find_in_image(
        &mut self,
        builder: &mut ProfileBuilder,
        id: ModuleId,
        address: Address,
    ) -> Option<FrameRange> {
        let text = self.kernel_text?;
        let module = self.modules.get_mut(id.0 as usize)?;
        if module.binary.is_none() {
            let found = module.build_id.as_deref().and_then(debug_file_of);
            module.binary = Some(found.map(|elf| Rc::new(Binary::of_elf(elf))));
        }
        let binary = module.binary.clone()??;
        let linked = binary.address_of("_text").or_else(|| binary.address_of("_stext"))?;
        let moved = linked.wrapping_sub(text);
        let moved = Address {
            exact: address.exact.wrapping_add(moved),
            lookup: address.lookup.wrapping_add(moved),
        };
        binary.symbol(moved.lookup)?;
        Some(self.of_binary(builder, &binary, id, moved))
    }

    fn find_mapped(
        &mut self,
        builder: &mut ProfileBuilder,
        mapping: Mapping,
        address: Address,
    ) -> Option<FrameRange> {
        let binary = self.binary(builder, mapping.module)?;
        let place = place_in_file(&binary, mapping, address)?;
        let module = self.modules.get(mapping.module.0 as usize)?;
        if let Some(known) = module.seen.get(&place.lookup) {
            return Some(*known);
        }
        let known =
            binary.symbol(place.lookup).is_some() || binary.function_start(place.lookup).is_some();
        if !known && module.kind != Kind::File {
            return None;
        }
        let found = self.of_binary(builder, &binary, mapping.module, place);
        self.modules.get_mut(mapping.module.0 as usize)?.seen.insert(place.lookup, found);
        Some(found)
    }

    /// The frames at an address of a binary: the function and those inlined into it.
    fn of_binary(
        &mut self,
        builder: &mut ProfileBuilder,
        binary: &Binary,
        id: ModuleId,
        place: Address,
    ) -> FrameRange {
        let Some(module) = self.modules.get(id.0 as usize) else { return self.unknown(builder) };
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
    fn nameless(
        &mut self,
        builder: &mut ProfileBuilder,
        mapping: Mapping,
        address: Address,
    ) -> FrameRange {
        let Some(module) = self.modules.get(mapping.module.0 as usize) else {
            return self.unknown(builder);
        };
        if module.kind == Kind::Anonymous {
            // Its addresses mean nothing in another run.
            let name = builder.symbols.string("[unknown]");
            let function = Function::named(name).in_component(module.component);
            return self.single(builder, function, 0);
        }
        let offset = address.exact.wrapping_sub(mapping.start).wrapping_add(mapping.offset);
        let name = builder.symbols.string(&format!("[{}+{offset:#x}]", base_name(&module.path)));
        let function = Function::named(name).in_component(module.component).in_layer(module.layer);
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

    /// The binary of a module, if it is here and the one that was recorded.
    fn binary(&mut self, builder: &mut ProfileBuilder, id: ModuleId) -> Option<Rc<Binary>> {
        let module = self.modules.get(id.0 as usize)?;
        if let Some(known) = &module.binary {
            return known.clone();
        }
        let (path, kind, build_id) = (module.path.clone(), module.kind, module.build_id.clone());
        let found = match kind {
            Kind::File => self.open_file(builder, &path, build_id.as_deref()),
            Kind::Vdso => self.open_vdso(build_id.as_deref()),
            Kind::Kernel | Kind::KernelModule | Kind::Anonymous => None,
        };
        let found = found.map(Rc::new);
        self.modules.get_mut(id.0 as usize)?.binary = Some(found.clone());
        found
    }

    fn open_file(
        &self,
        builder: &mut ProfileBuilder,
        path: &str,
        build_id: Option<&[u8]>,
    ) -> Option<Binary> {
        let found = match build_id {
            Some(build_id) => {
                let beside = (self.origin.folder.as_deref())
                    .map(|folder| folder.join(base_name(path)))
                    .filter(|beside| beside != Path::new(path));
                Binary::open(Path::new(path), Some(build_id))
                    .or_else(|| Binary::open(&beside?, Some(build_id)))
                    .or_else(|| Binary::open(&in_perf_cache(build_id, "elf")?, Some(build_id)))
                    .or_else(|| debug_file_of(build_id).map(Binary::of_elf))
            }
            None if self.is_trusted(Path::new(path)) => Binary::open(Path::new(path), None),
            None => None,
        };
        if found.is_none() {
            if Path::new(path).is_file() {
                builder.warn("changed-binaries", || {
                    format!(
                        "binaries are not, or may not be, those that were recorded, first: {path}; their \
                         functions are named by their offset"
                    )
                });
            } else {
                builder.warn("missing-binaries", || {
                    format!(
                        "binaries are not on this machine, first: {path}; their functions are named by \
                         their offset"
                    )
                });
            }
        }
        found
    }

    /// Without a build id a binary is taken for the recorded one on the same system, if it is older than the recording.
    fn is_trusted(&self, path: &Path) -> bool {
        let changed = std::fs::metadata(path).and_then(|about| about.modified()).ok();
        let older = match (changed, self.origin.written) {
            (Some(changed), Some(written)) => changed <= written,
            (Some(_), None) => true,
            (None, _) => false,
        };
        older && self.same_release
    }

    fn open_vdso(&self, build_id: Option<&[u8]>) -> Option<Binary> {
        let cached = build_id.and_then(|id| in_perf_cache(id, "vdso"));
        if let Some(elf) = cached.and_then(|path| Elf::open(&path)) {
            return Some(Binary::of_elf(elf));
        }
        let mut elf = Elf::from_bytes(running_vdso()?, Path::new("[vdso]"))?;
        let same = match build_id {
            Some(build_id) => elf.build_id().is_some_and(|here| same_build(&here, build_id)),
            None => {
                let recorded = self.kernel_build_id();
                let here = running_build_id();
                match (recorded, here) {
                    (Some(recorded), Some(here)) => same_build(&recorded, &here),
                    _ => self.same_release,
                }
            }
        };
        same.then(|| Binary::of_elf(elf))
    }

    /// The unwind tables of everything a process has mapped.
    pub fn unwinder_of(
        &mut self,
        builder: &mut ProfileBuilder,
        process: &Process,
        machine: Machine,
    ) -> Unwinder {
        let mut unwinder = Unwinder::new(machine);
        for mapping in process.mappings() {
            let Some(binary) = self.binary(builder, mapping.module) else { continue };
            let first = Address::executing(mapping.start);
            if let Some(place) = place_in_file(&binary, *mapping, first)
                && let Some(bias) = mapping.start.checked_sub(place.exact)
            {
                unwinder.add(mapping.start, mapping.end, bias, binary.unwind_sections());
            }
        }
        unwinder
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

/// The address that a binary's own tables use.
fn place_in_file(binary: &Binary, mapping: Mapping, address: Address) -> Option<Address> {
    let offset = address.lookup.wrapping_sub(mapping.start).wrapping_add(mapping.offset);
    let lookup = binary.address_of_offset(offset)?;
    let exact = lookup.wrapping_add(address.exact.wrapping_sub(address.lookup));
    Some(Address { exact, lookup })
}

/// Names a function by its object and where it starts, or by the address where not even that is known.
fn nameless_function(path: &str, binary: &Binary, place: Address) -> String {
    let start = binary.function_start(place.lookup).unwrap_or(place.exact);
    format!("[{}+{start:#x}]", base_name(path))
}

fn base_name(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path).trim_matches(['[', ']'])
}

fn kind_of(path: &str, in_kernel: bool) -> Kind {
    if in_kernel {
        let image = path.starts_with("[kernel") || path.starts_with("[guest.kernel");
        return if image { Kind::Kernel } else { Kind::KernelModule };
    }
    let anonymous =
        ["//anon", "/dev/zero", "/anon_hugepage", "[heap]", "[stack", "[anon", "/SYSV", "/memfd:"];
    if path == "[vdso]" {
        Kind::Vdso
    } else if path.is_empty() || anonymous.iter().any(|start| path.starts_with(start)) {
        Kind::Anonymous
    } else {
        Kind::File
    }
}

/// `/lib/modules/6.1.0/kernel/fs/xfs/xfs.ko.xz` is `[xfs]`.
fn module_name(path: &str) -> String {
    let base = base_name(path);
    let stem = base.find(".ko").and_then(|end| base.get(..end)).unwrap_or(base);
    format!("[{}]", stem.replace('-', "_"))
}

/// Objects that `perf inject` makes from a log of code made at run time.
fn is_jitted_object(path: &str) -> bool {
    let base = base_name(path);
    base.starts_with("jitted-") && base.contains(".so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_names_tell_what_they_are() {
        assert_eq!(kind_of("[kernel.kallsyms]_text", true), Kind::Kernel);
        assert_eq!(kind_of("/lib/modules/6.1/xfs.ko", true), Kind::KernelModule);
        assert_eq!(kind_of("//anon", false), Kind::Anonymous);
        assert_eq!(kind_of("/memfd:doublemapper (deleted)", false), Kind::Anonymous);
        assert_eq!(kind_of("[vdso]", false), Kind::Vdso);
        assert_eq!(kind_of("/usr/bin/ls", false), Kind::File);
        assert_eq!(module_name("/lib/modules/6.1/kernel/drivers/net/e1000-e.ko.xz"), "[e1000_e]");
        assert_eq!(module_name("[xfs]"), "[xfs]");
        assert_eq!(base_name("/usr/lib/libc.so.6 (deleted)"), "libc.so.6");
    }
}
