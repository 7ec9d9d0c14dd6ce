//! Debug information: which functions were inlined at an address, and the source lines.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use addr2line::{Context, LookupContinuation, LookupResult};
use gimli::{AttributeValue, EndianArcSlice, Reader as _, RunTimeEndian, SectionId, UnitOffset};

use crate::bytes::{ByteOrder, until_zero};
use crate::elf::Elf;
use crate::locate;

type Slice = EndianArcSlice<RunTimeEndian>;

/// Declarations refer to each other; real chains have two or three links.
const LONGEST_CHAIN: usize = 8;

/// Functions inlined at one address; real code has tens.
const DEEPEST_INLINING: usize = 512;

/// The debug information of one binary.
pub struct Dwarf {
    context: Arc<Mutex<Context<Slice>>>,
}

/// What tells one state of a file from another.
#[derive(Clone, PartialEq, Eq)]
struct FileKey {
    path: PathBuf,
    build_id: Vec<u8>,
    bytes: u64,
    changed: SystemTime,
}

impl FileKey {
    fn of(elf: &Elf) -> Option<Self> {
        let about = std::fs::metadata(&elf.path).ok()?;
        Some(Self {
            path: elf.path.clone(),
            build_id: elf.build_id()?,
            bytes: about.len(),
            changed: about.modified().ok()?,
        })
    }
}

/// Files whose debug information is kept: runs of one program are read one after the other, and unpacking that of a C
/// library takes longer than all the rest of a short recording.
const KEPT: usize = 16;

type Shelf = Vec<(FileKey, Arc<Mutex<Context<Slice>>>)>;

/// The latest ones, the newest last. It knows files by all that can change with them, so no answer depends on it.
static SHELF: Mutex<Shelf> = Mutex::new(Vec::new());

fn shelf() -> MutexGuard<'static, Shelf> {
    SHELF.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One function at an address: a real one, or one whose body the compiler put into its caller's.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceFrame {
    /// Symbol name, still mangled; empty when unknown.
    pub name: String,
    /// Source file of the function.
    pub file: Option<String>,
    /// Line where the function is declared.
    pub start_line: Option<u32>,
    /// Source file being executed, where it is not the function's.
    pub line_file: Option<String>,
    /// Line being executed.
    pub line: Option<u32>,
    /// Column being executed.
    pub column: Option<u32>,
}

impl Dwarf {
    /// The debug information of a file; none when it has none.
    pub fn of_elf(elf: &Elf) -> Option<Self> {
        elf.section(b".debug_info")?;
        let key = FileKey::of(elf);
        if let Some(key) = &key {
            let mut shelf = shelf();
            if let Some(row) = shelf.iter().position(|(known, _)| known == key) {
                let kept = shelf.remove(row);
                let context = Arc::clone(&kept.1);
                shelf.push(kept);
                return Some(Self { context });
            }
        }
        let mut dwarf = load(elf);
        // Distributions move what many files share into one (`dwz`).
        if let Some(link) = elf.section_bytes(b".gnu_debugaltlink") {
            let name = until_zero(&link);
            let build_id = link.get(name.len() + 1..).unwrap_or_default();
            let name = Path::new(str::from_utf8(name).ok()?);
            let beside = elf.path.parent().map(|folder| folder.join(name));
            let shared = locate::debug_file_of(build_id)
                .or_else(|| beside.and_then(|path| Elf::open(&path)))
                .filter(|shared| shared.section(b".debug_info").is_some());
            if let Some(shared) = shared {
                dwarf.set_sup(load(&shared));
            }
        }
        let context = Arc::new(Mutex::new(Context::from_dwarf(dwarf).ok()?));
        if let Some(key) = key {
            let mut shelf = shelf();
            let over = (shelf.len() + 1).saturating_sub(KEPT);
            shelf.drain(..over);
            shelf.push((key, Arc::clone(&context)));
        }
        Some(Self { context })
    }

    /// The functions at an address, innermost first; empty when it is not covered.
    pub fn frames(&self, address: u64) -> Vec<SourceFrame> {
        let mut found = Vec::new();
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lookup = context.find_frames(address);
        let frames = loop {
            match lookup {
                LookupResult::Output(frames) => break frames,
                LookupResult::Load { load, continuation } => {
                    lookup = continuation.resume(split_dwarf(&load));
                }
            }
        };
        let Ok(mut frames) = frames else { return found };
        let unit = context.find_dwarf_and_unit(address).skip_all_loads();
        while let Ok(Some(frame)) = frames.next() {
            if found.len() >= DEEPEST_INLINING {
                break;
            }
            let mut source = SourceFrame::default();
            if let Some(name) = frame.function.as_ref().and_then(|name| name.raw_name().ok()) {
                source.name = name.into_owned();
            }
            if let Some(place) = &frame.location {
                source.line_file = place.file.map(str::to_owned);
                source.line = place.line;
                source.column = place.column;
            }
            if let (Some(unit), Some(offset)) = (&unit, frame.dw_die_offset) {
                declaration(unit, offset, &mut source);
            }
            if source.file.is_none() || source.file == source.line_file {
                source.file = source.file.or(source.line_file.take());
                source.line_file = None;
            }
            found.push(source);
        }
        found
    }
}

/// Fills in where a function is declared.
fn declaration(unit: &gimli::UnitRef<'_, Slice>, offset: UnitOffset, source: &mut SourceFrame) {
    let mut offset = offset;
    for _ in 0..LONGEST_CHAIN {
        let Ok(entry) = unit.entry(offset) else { return };
        if source.start_line.is_none() {
            let line = entry.attr_value(gimli::DW_AT_decl_line);
            source.start_line = line.and_then(|line| u32::try_from(line.udata_value()?).ok());
        }
        if source.file.is_none()
            && let Some(AttributeValue::FileIndex(file)) = entry.attr_value(gimli::DW_AT_decl_file)
        {
            source.file = file_name(unit, file);
        }
        if source.start_line.is_some() && source.file.is_some() {
            return;
        }
        let next = entry
            .attr_value(gimli::DW_AT_abstract_origin)
            .or_else(|| entry.attr_value(gimli::DW_AT_specification));
        match next {
            Some(AttributeValue::UnitRef(next)) => offset = next,
            Some(AttributeValue::DebugInfoRef(next)) => {
                let Some(next) = next.to_unit_offset(&unit.header) else { return };
                offset = next;
            }
            _ => return,
        }
    }
}

fn file_name(unit: &gimli::UnitRef<'_, Slice>, file: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(file)?;
    let mut path = String::new();
    if let Some(folder) = &unit.comp_dir {
        path = folder.to_string_lossy().ok()?.into_owned();
    }
    let text = |value| unit.attr_string(value).ok();
    if file.directory_index() != 0
        && let Some(folder) = file.directory(header).and_then(text)
    {
        push_path(&mut path, &folder.to_string_lossy().ok()?);
    }
    push_path(&mut path, &text(file.path_name())?.to_string_lossy().ok()?);
    Some(path)
}

/// As the library joins paths that it makes itself, so that both are equal when they mean the same.
fn push_path(path: &mut String, piece: &str) {
    if piece.starts_with('/') || piece.get(1..3) == Some(":\\") {
        path.clear();
    } else if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(piece);
}

fn load(elf: &Elf) -> gimli::Dwarf<Slice> {
    let order = match elf.order {
        ByteOrder::Little => RunTimeEndian::Little,
        ByteOrder::Big => RunTimeEndian::Big,
    };
    let section = |id: SectionId| -> Result<Slice, std::convert::Infallible> {
        let wanted = matches!(
            id,
            SectionId::DebugAbbrev
                | SectionId::DebugAddr
                | SectionId::DebugAranges
                | SectionId::DebugInfo
                | SectionId::DebugLine
                | SectionId::DebugLineStr
                | SectionId::DebugRanges
                | SectionId::DebugRngLists
                | SectionId::DebugStr
                | SectionId::DebugStrOffsets
        );
        let bytes = if wanted {
            elf.shared_bytes(id.name().as_bytes()).or_else(|| {
                // The parts that a compiler split off keep their sections under other names.
                elf.shared_bytes(id.dwo_name()?.as_bytes())
            })
        } else {
            None
        };
        Ok(Slice::new(bytes.unwrap_or_else(|| Arc::from([])), order))
    };
    let Ok(dwarf) = gimli::Dwarf::load(section);
    dwarf
}

/// The part of the debug information that the compiler left in a file of its own (`-gsplit-dwarf`).
fn split_dwarf(load_from: &addr2line::SplitDwarfLoad<Slice>) -> Option<Arc<gimli::Dwarf<Slice>>> {
    let text = |slice: &Slice| Some(slice.to_string_lossy().ok()?.into_owned());
    let folder = load_from.comp_dir.as_ref().and_then(text).unwrap_or_default();
    let path = Path::new(&folder).join(text(load_from.path.as_ref()?)?);
    let elf = Elf::open(&path)?;
    let mut dwarf = load(&elf);
    dwarf.make_dwo(&load_from.parent);
    Some(Arc::new(dwarf))
}
