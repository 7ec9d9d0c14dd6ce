//! The files that are mapped: what kind each is, what it is called, and where its binary is on this machine.
//!
//! Places are counted in the file's own addresses, so that all processes that map a file share what is known of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use hashbrown::HashMap;
use perfblame_native::{
    Binary, Elf, debug_file_of, hex, in_perf_cache, running_build_id, running_release,
    running_vdso, same_build,
};

use super::frames::Address;
use super::objects::{self, Objects};
use super::process::{ModuleId, Process};
use super::told::{ModuleTold, Outbox, Sought, Told};

/// Component of code made at run time: the files that list it have the process id in their names.
pub const JIT: &str = "[JIT]";

/// What can be mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MappedKind {
    Kernel,
    KernelModule,
    Vdso,
    /// Memory without a file: what is there was made at run time.
    Anonymous,
    File,
}

/// One mapped file.
struct MappedModule {
    path: String,
    kind: MappedKind,
    build_id: Option<Vec<u8>>,
    binary: Sought,
}

/// An address of a file: as it is linked, or an offset in the file where the binary is not here.
#[derive(Clone, Copy, Debug)]
pub struct FilePlace {
    pub module: ModuleId,
    pub address: Address,
}

impl FilePlace {
    /// A number that is this place and no other, outside of the addresses that programs use; none for addresses beyond
    /// reason.
    pub fn key(self) -> Option<u64> {
        key(self.module, self.address.lookup)
    }
}

/// The number of an address of a file.
pub fn key(module: ModuleId, address: u64) -> Option<u64> {
    (address >> 40 == 0 && module.0 >> 22 == 0)
        .then_some(1 << 63 | u64::from(module.0) << 40 | address)
}

/// What is known of the machine a recording comes from.
#[derive(Debug, Default)]
pub struct Origin {
    pub release: Option<String>,
    /// When the recording was written.
    pub written: Option<SystemTime>,
    /// Where the recording is; binaries may lie beside it.
    pub folder: Option<PathBuf>,
    /// What was known of mapped files where they were recorded.
    pub objects: Objects,
}

/// All mapped files.
pub struct Modules {
    rows: Vec<MappedModule>,
    index: HashMap<(Vec<u8>, Option<Vec<u8>>), ModuleId>,
    origin: Origin,
    same_release: bool,
}

impl Modules {
    /// Nothing mapped yet.
    pub fn new(origin: Origin) -> Self {
        let here = running_release();
        let same_release = here.is_some() && here == origin.release;
        Self { rows: Vec::new(), index: HashMap::new(), origin, same_release }
    }

    /// Learns the kernel's release late, from a stream.
    pub fn set_release(&mut self, release: &str) {
        self.same_release = running_release().as_deref() == Some(release);
        self.origin.release = Some(release.to_owned());
    }

    /// The kernel's release, as recorded.
    pub fn release(&self) -> Option<&str> {
        self.origin.release.as_deref()
    }

    /// Finds or adds a mapped file.
    pub fn module(&mut self, name: &[u8], build_id: Option<&[u8]>, in_kernel: bool) -> ModuleId {
        let key = (name.to_vec(), build_id.map(<[u8]>::to_vec));
        if let Some(known) = self.index.get(&key) {
            return *known;
        }
        let path = String::from_utf8_lossy(name).into_owned();
        let kind = kind_of(&path, in_kernel);
        let build_id = build_id.map(<[u8]>::to_vec);
        let id = ModuleId(self.rows.len() as u32);
        self.rows.push(MappedModule { path, kind, build_id, binary: Sought::NotYet });
        self.index.insert(key, id);
        id
    }

    /// The build id of the kernel, where the recording states it.
    pub fn kernel_build_id(&self) -> Option<&[u8]> {
        self.rows.iter().find(|module| module.kind == MappedKind::Kernel)?.build_id.as_deref()
    }

    /// Where an address of a process is in the file that is mapped there; none where nothing is mapped.
    pub fn place(
        &mut self,
        outbox: &mut Outbox,
        process: &mut Process,
        address: Address,
    ) -> Option<FilePlace> {
        let mapping = process.find(address.lookup)?;
        let shift = if let Some(shift) = mapping.shift {
            shift
        } else {
            let start = mapping.start;
            let offset = address.lookup.wrapping_sub(start).wrapping_add(mapping.offset);
            let binary = self.binary(outbox, mapping.module);
            let linked = binary.and_then(|binary| binary.address_of_offset(offset));
            let shift = linked.unwrap_or(offset).wrapping_sub(address.lookup);
            process.learn_shift(start, shift);
            shift
        };
        Some(FilePlace { module: mapping.module, address: address.moved_by(shift) })
    }

    /// The binary of a module, if it is here and the one that was recorded. The module is told on the first call.
    pub fn binary(&mut self, outbox: &mut Outbox, id: ModuleId) -> Option<&Arc<Binary>> {
        let at = id.0 as usize;
        if let Sought::NotYet = self.rows.get(at)?.binary {
            let module = self.rows.get(at)?;
            let (path, build_id) = (module.path.as_str(), module.build_id.as_deref());
            let found = match module.kind {
                MappedKind::File => self.open_file(path, build_id),
                MappedKind::Vdso => found(self.open_vdso(build_id)),
                // The image with its debug information, where a distribution's package has brought it.
                MappedKind::Kernel => found(build_id.and_then(debug_file_of).map(Binary::of_elf)),
                MappedKind::KernelModule | MappedKind::Anonymous => Sought::Nowhere,
            };
            let module = self.rows.get_mut(at)?;
            module.binary = found.clone();
            let (path, kind) = (module.path.clone(), module.kind);
            let build_id = module.build_id.as_deref().map(hex);
            let object = self.origin.objects.get(path.as_str()).cloned();
            outbox
                .tell(Told::Module(id, ModuleTold { path, kind, binary: found, build_id, object }));
        }
        self.rows.get(at)?.binary.found()
    }

    fn open_file(&self, path: &str, build_id: Option<&[u8]>) -> Sought {
        let found = match build_id {
            Some(build_id) => {
                let beside = (self.origin.folder.as_deref())
                    .map(|folder| folder.join(base_name(path)))
                    .filter(|beside| beside != Path::new(path));
                let brought = (self.origin.folder.as_deref()).map(|folder| {
                    folder.join(objects::FOLDER).join(objects::file_name(path, build_id))
                });
                Binary::open(Path::new(path), Some(build_id))
                    .or_else(|| Binary::open(&beside?, Some(build_id)))
                    .or_else(|| Binary::open(&brought?, Some(build_id)))
                    .or_else(|| Binary::open(&in_perf_cache(build_id, "elf")?, Some(build_id)))
                    .or_else(|| debug_file_of(build_id).map(Binary::of_elf))
            }
            None if self.is_trusted(Path::new(path)) => Binary::open(Path::new(path), None),
            None => None,
        };
        match found {
            Some(binary) => Sought::Found(Arc::new(binary)),
            None if Path::new(path).is_file() => Sought::Changed,
            None => Sought::Missing,
        }
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
        let elf = Elf::from_bytes(running_vdso()?, Path::new("[vdso]"))?;
        let same = match build_id {
            Some(build_id) => elf.build_id().is_some_and(|here| same_build(&here, build_id)),
            None => match (self.kernel_build_id(), running_build_id()) {
                (Some(recorded), Some(here)) => same_build(recorded, &here),
                _ => self.same_release,
            },
        };
        same.then(|| Binary::of_elf(elf))
    }
}

fn found(binary: Option<Binary>) -> Sought {
    binary.map_or(Sought::Nowhere, |binary| Sought::Found(Arc::new(binary)))
}

/// The last part of a path.
pub fn base_name(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path).trim_matches(['[', ']'])
}

fn kind_of(path: &str, in_kernel: bool) -> MappedKind {
    if in_kernel {
        let image = path.starts_with("[kernel") || path.starts_with("[guest.kernel");
        return if image { MappedKind::Kernel } else { MappedKind::KernelModule };
    }
    let anonymous =
        ["//anon", "/dev/zero", "/anon_hugepage", "[heap]", "[stack", "[anon", "/SYSV", "/memfd:"];
    if path == "[vdso]" {
        MappedKind::Vdso
    } else if path.is_empty() || anonymous.iter().any(|start| path.starts_with(start)) {
        MappedKind::Anonymous
    } else {
        MappedKind::File
    }
}

/// `/lib/modules/6.1.0/kernel/fs/xfs/xfs.ko.xz` is `[xfs]`.
pub fn module_name(path: &str) -> String {
    let base = base_name(path);
    let stem = base.find(".ko").and_then(|end| base.get(..end)).unwrap_or(base);
    format!("[{}]", stem.replace('-', "_"))
}

/// Objects that `perf inject` makes from a log of code made at run time.
pub fn is_jitted_object(path: &str) -> bool {
    let base = base_name(path);
    base.starts_with("jitted-") && base.contains(".so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_names_tell_what_they_are() {
        assert_eq!(kind_of("[kernel.kallsyms]_text", true), MappedKind::Kernel);
        assert_eq!(kind_of("/lib/modules/6.1/xfs.ko", true), MappedKind::KernelModule);
        assert_eq!(kind_of("//anon", false), MappedKind::Anonymous);
        assert_eq!(kind_of("/memfd:doublemapper (deleted)", false), MappedKind::Anonymous);
        assert_eq!(kind_of("[vdso]", false), MappedKind::Vdso);
        assert_eq!(kind_of("/usr/bin/ls", false), MappedKind::File);
        assert_eq!(module_name("/lib/modules/6.1/kernel/drivers/net/e1000-e.ko.xz"), "[e1000_e]");
        assert_eq!(module_name("[xfs]"), "[xfs]");
        assert_eq!(base_name("/usr/lib/libc.so.6 (deleted)"), "libc.so.6");
    }
}
