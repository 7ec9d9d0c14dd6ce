//! The tables of a pprof profile: strings, functions, mappings, locations, and the frames they become.

use std::borrow::Cow;
use std::num::NonZeroU64;

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FrameId, Function, FunctionId, Layer, ProfileBuilder, is_library_file, position,
};
use perfblame_native::{demangle, layer_of};

use super::MAX_SAMPLE_TYPES;
use crate::building::module_frame::unsymbolised_function;
use crate::building::sample_type::value_type;
use crate::encodings::protobuf::{Field, Message, ProtobufFault};

/// A row that refers to nothing.
const NOWHERE: u32 = u32::MAX;

/// Everything in the file but the samples. Texts are indices into `strings`.
#[derive(Default)]
pub struct PprofTables<'a> {
    pub strings: Vec<&'a [u8]>,
    /// Type and unit of each value of a sample.
    pub sample_types: Vec<(i64, i64)>,
    pub default_sample_type: i64,
    pub period_type: Option<(i64, i64)>,
    pub period: i64,
    pub time: i64,
    pub duration: i64,
    pub drop_frames: i64,
    pub keep_frames: i64,
    pub doc_url: i64,
    pub comments: Vec<i64>,
    functions: Vec<FunctionRow>,
    function_ids: Ids,
    mappings: Vec<MappingRow>,
    mapping_ids: Ids,
    locations: Vec<Field<'a>>,
    /// Samples seen on the way.
    pub samples: u64,
}

#[derive(Clone, Copy, Default)]
struct FunctionRow {
    name: i64,
    system_name: i64,
    file: i64,
    line: i64,
}

#[derive(Clone, Copy, Default)]
struct MappingRow {
    start: u64,
    offset: u64,
    file: i64,
}

impl<'a> PprofTables<'a> {
    /// Walks over the top level. A fault is where the walk had to stop.
    pub fn collect(bytes: &'a [u8], builder: &mut ProfileBuilder) -> (Self, Option<ProtobufFault>) {
        let mut tables = Self::default();
        let mut fault = None;
        for field in Message::new(bytes, 0) {
            match field {
                Ok(field) => {
                    if let Err(fault) = tables.add(field) {
                        super::warn_damaged(builder, fault);
                    }
                }
                Err(found) => fault = Some(found),
            }
        }
        (tables, fault)
    }

    fn add(&mut self, field: Field<'a>) -> Result<(), ProtobufFault> {
        match field.number {
            1 => {
                let found = value_type(field)?;
                if self.sample_types.len() < MAX_SAMPLE_TYPES {
                    self.sample_types.push(found);
                }
            }
            2 => self.samples += 1,
            3 => self.add_mapping(field)?,
            4 => self.locations.push(field),
            5 => self.add_function(field)?,
            6 => self.strings.push(field.bytes()),
            7 => self.drop_frames = field.int(),
            8 => self.keep_frames = field.int(),
            9 => self.time = field.int(),
            10 => self.duration = field.int(),
            11 => self.period_type = Some(value_type(field)?),
            12 => self.period = field.int(),
            13 => {
                for comment in field.varints() {
                    self.comments.push(comment? as i64);
                }
            }
            14 => self.default_sample_type = field.int(),
            15 => self.doc_url = field.int(),
            _ => {}
        }
        Ok(())
    }

    fn add_mapping(&mut self, field: Field<'a>) -> Result<(), ProtobufFault> {
        let (mut id, mut row) = (0, MappingRow::default());
        for field in field.message() {
            let field = field?;
            match field.number {
                1 => id = field.uint(),
                2 => row.start = field.uint(),
                4 => row.offset = field.uint(),
                5 => row.file = field.int(),
                _ => {}
            }
        }
        self.mapping_ids.set(id, self.mappings.len());
        self.mappings.push(row);
        Ok(())
    }

    fn add_function(&mut self, field: Field<'a>) -> Result<(), ProtobufFault> {
        let (mut id, mut row) = (0, FunctionRow::default());
        for field in field.message() {
            let field = field?;
            match field.number {
                1 => id = field.uint(),
                2 => row.name = field.int(),
                3 => row.system_name = field.int(),
                4 => row.file = field.int(),
                5 => row.line = field.int(),
                _ => {}
            }
        }
        self.function_ids.set(id, self.functions.len());
        self.functions.push(row);
        Ok(())
    }

    /// A text of the string table; empty for an index outside of it.
    pub fn text(&self, index: i64) -> Cow<'a, str> {
        let bytes = usize::try_from(index).ok().and_then(|index| self.strings.get(index));
        bytes.map_or(Cow::Borrowed(""), |bytes| String::from_utf8_lossy(bytes))
    }

    /// The file of the first mapping: the program, by convention.
    pub fn program(&self) -> Option<String> {
        let file = self.text(self.mappings.first()?.file);
        (!file.is_empty() && !file.starts_with('[')).then(|| file.into_owned())
    }

    /// Makes frames of all locations.
    pub fn locations(&self, builder: &mut ProfileBuilder) -> Locations {
        let mut made = Locations::default();
        let mut functions = HashMap::new();
        for (row, location) in self.locations.iter().enumerate() {
            let start = made.frames.len();
            let mut id = 0;
            if let Err(fault) =
                self.add_frames(builder, &mut functions, location, &mut id, &mut made.frames)
            {
                super::warn_damaged(builder, fault);
            }
            // The innermost line comes first in the file; whatever it was inlined into follows.
            made.frames[start..].reverse();
            made.ends.push(made.frames.len() as u32);
            made.ids.set(id, row);
        }
        made
    }

    fn add_frames(
        &self,
        builder: &mut ProfileBuilder,
        functions: &mut HashMap<(u32, u32), FunctionId>,
        location: &Field,
        id: &mut u64,
        frames: &mut Vec<FrameId>,
    ) -> Result<(), ProtobufFault> {
        let (mut mapping, mut address) = (NOWHERE, 0);
        // Lines may precede the address and mapping they need.
        let mut lines = 0;
        for field in location.message() {
            let field = field?;
            match field.number {
                1 => *id = field.uint(),
                2 => mapping = self.mapping_ids.get(field.uint()),
                3 => address = field.uint(),
                4 => lines += 1,
                _ => {}
            }
        }
        if lines == 0 {
            frames.push(self.unsymbolised(builder, mapping, address));
            return Ok(());
        }
        let mut left = lines;
        for field in location.message().map_while(Result::ok).filter(|field| field.number == 4) {
            left -= 1;
            let (mut function, mut line, mut column) = (NOWHERE, 0, 0);
            for field in field.message() {
                let field = field?;
                match field.number {
                    1 => function = self.function_ids.get(field.uint()),
                    2 => line = field.uint(),
                    3 => column = field.uint(),
                    _ => {}
                }
            }
            let known = self.functions.get(function as usize);
            let Some(row) = known.filter(|row| row.name != 0 || row.system_name != 0) else {
                frames.push(self.unsymbolised(builder, mapping, address));
                continue;
            };
            let function = *functions
                .entry((function, mapping))
                .or_insert_with(|| self.function(builder, *row, mapping));
            frames.push(builder.frame(Frame {
                line: position(line),
                column: position(column),
                address: NonZeroU64::new(address),
                inlined: left > 0,
                ..Frame::of(function)
            }));
        }
        Ok(())
    }

    fn function(&self, builder: &mut ProfileBuilder, row: FunctionRow, mapping: u32) -> FunctionId {
        let name = self.text(if row.name == 0 { row.system_name } else { row.name });
        let name = demangle(&name);
        let file = self.text(row.file);
        let binary = self
            .mappings
            .get(mapping as usize)
            .map_or(Cow::Borrowed(""), |row| self.text(row.file));
        let layer = layer(&name, &file, &binary);
        let mut function = Function {
            line: position(row.line as u64),
            layer,
            ..Function::named(builder.string(&name))
        };
        if !binary.is_empty() {
            function.component = Some(builder.string(&binary));
            function.file = (!file.is_empty()).then(|| builder.string(&file));
        } else if !file.is_empty() {
            function.component = Some(builder.string(&file));
        }
        builder.function(function)
    }

    /// A location that nobody has put names to: binary and offset in its file, so that runs agree on it.
    fn unsymbolised(&self, builder: &mut ProfileBuilder, mapping: u32, address: u64) -> FrameId {
        let row = self.mappings.get(mapping as usize);
        let binary = row.map_or(Cow::Borrowed(""), |row| self.text(row.file));
        let (start, offset) = row.map_or((0, 0), |row| (row.start, row.offset));
        let function = unsymbolised_function(builder, &binary, start, offset, address);
        builder.frame(Frame { address: NonZeroU64::new(address), ..Frame::of(function) })
    }
}

/// Whose code it is. The binary decides; Go puts everything into one, so there the source file does.
fn layer(name: &str, file: &str, binary: &str) -> Layer {
    match name {
        "(idle)" => return Layer::Idle,
        "(program)" | "(root)" => return Layer::Runtime,
        "(garbage collector)" | "Garbage Collection" => return Layer::GarbageCollection,
        _ => {}
    }
    let extension = file.rsplit('.').next();
    if matches!(extension, Some("go" | "s")) {
        if name.starts_with("runtime.gcBgMarkWorker") {
            return Layer::GarbageCollection;
        }
        if name.starts_with("runtime.") || name.starts_with("runtime/internal/") {
            return Layer::Runtime;
        }
        if is_library_file(file) || file.contains("/vendor/") {
            return Layer::Library;
        }
    }
    if file.starts_with("node:internal") {
        return Layer::Runtime;
    }
    if binary.is_empty() { Layer::Application } else { layer_of(binary) }
}

/// From the file's ids to rows. Most files count from 1; some use addresses.
#[derive(Default)]
struct Ids {
    dense: Vec<u32>,
    sparse: HashMap<u64, u32>,
}

impl Ids {
    fn set(&mut self, id: u64, row: usize) {
        // Twice what has been seen plus some: ids cannot make the table grow beyond the file.
        if id < 1_024 + 2 * row as u64 {
            let id = id as usize;
            if self.dense.len() <= id {
                self.dense.resize(id + 1, NOWHERE);
            }
            self.dense[id] = row as u32;
        } else {
            self.sparse.insert(id, row as u32);
        }
    }

    fn get(&self, id: u64) -> u32 {
        let dense = usize::try_from(id).ok().and_then(|id| self.dense.get(id)).copied();
        match dense {
            Some(row) if row != NOWHERE => row,
            _ if self.sparse.is_empty() => NOWHERE,
            _ => self.sparse.get(&id).copied().unwrap_or(NOWHERE),
        }
    }
}

/// The frames of all locations, outermost first.
#[derive(Default)]
pub struct Locations {
    ids: Ids,
    frames: Vec<FrameId>,
    ends: Vec<u32>,
}

impl Locations {
    /// The row of a location id.
    pub fn row(&self, id: u64) -> u32 {
        self.ids.get(id)
    }

    /// The frames of a row; none for a location that is not there.
    pub fn frames(&self, row: u32) -> Option<&[FrameId]> {
        let end = *self.ends.get(row as usize)?;
        let start = if row == 0 { 0 } else { self.ends[row as usize - 1] };
        self.frames.get(start as usize..end as usize)
    }
}
