//! The tables of OpenTelemetry profiles, be they in a dictionary or in a profile, and the frames they become.

use std::borrow::Cow;
use std::num::NonZeroU64;

use perfblame_cct::{Frame, FrameId, Function, Layer, ProfileBuilder, position};
use perfblame_native::{demangle, layer_of};

use crate::building::module_frame::unsymbolised_function;
use crate::encodings::protobuf::{Field, ProtobufFault, ProtobufValue};

/// An attribute with its value as text.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Attribute {
    pub key: String,
    pub value: String,
}

/// Tables with all locations made into frames, outermost first.
#[derive(Default)]
pub struct OtlpTables<'a> {
    strings: Vec<&'a [u8]>,
    pub attributes: Vec<Attribute>,
    frames: Vec<FrameId>,
    location_ends: Vec<u32>,
    stacks: Vec<Field<'a>>,
}

#[derive(Clone, Copy, Default)]
struct OtlpMapping {
    start: u64,
    offset: u64,
    file: i64,
}

#[derive(Clone, Copy, Default)]
struct FunctionRow {
    name: i64,
    system_name: i64,
    file: i64,
    line: u64,
}

/// Where the tables stand: field numbers in their message.
struct OtlpLayout {
    mappings: u32,
    locations: u32,
    functions: u32,
    strings: u32,
    attributes: u32,
    stacks: u32,
    /// Attributes of a location.
    location_attributes: u32,
}

const DICTIONARY: OtlpLayout = OtlpLayout {
    mappings: 1,
    locations: 2,
    functions: 3,
    strings: 5,
    attributes: 6,
    stacks: 7,
    location_attributes: 4,
};

/// Versions 1.4 and 1.5.
const PROFILE: OtlpLayout = OtlpLayout {
    mappings: 3,
    locations: 4,
    functions: 6,
    strings: 10,
    attributes: 7,
    stacks: u32::MAX,
    location_attributes: 5,
};

impl<'a> OtlpTables<'a> {
    /// The tables of a dictionary.
    pub fn of_dictionary(builder: &mut ProfileBuilder, dictionary: Field<'a>) -> Self {
        Self::collect(builder, dictionary, &DICTIONARY)
    }

    /// The tables of a profile that carries its own.
    pub fn of_profile(builder: &mut ProfileBuilder, profile: Field<'a>) -> Self {
        Self::collect(builder, profile, &PROFILE)
    }

    fn collect(builder: &mut ProfileBuilder, message: Field<'a>, layout: &OtlpLayout) -> Self {
        let mut tables = Self::default();
        let (mut mappings, mut functions, mut locations, mut attributes) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for field in message.message() {
            let field = match field {
                Ok(field) => field,
                Err(fault) => {
                    super::warn_damaged(builder, fault);
                    break;
                }
            };
            match field.number {
                number if number == layout.strings => tables.strings.push(field.bytes()),
                number if number == layout.mappings => {
                    mappings.push(or_empty(builder, mapping(field)));
                }
                number if number == layout.functions => {
                    functions.push(or_empty(builder, function(field)));
                }
                number if number == layout.locations => locations.push(field),
                number if number == layout.attributes => attributes.push(field),
                number if number == layout.stacks => tables.stacks.push(field),
                _ => {}
            }
        }
        for field in attributes {
            let attribute = attribute(field, |index| tables.text(index).into_owned());
            let attribute = or_empty(builder, attribute);
            tables.attributes.push(attribute);
        }
        for location in locations {
            let start = tables.frames.len();
            let added = tables.add_location(builder, layout, &mappings, &functions, location);
            if let Err(fault) = added {
                super::warn_damaged(builder, fault);
            }
            // The innermost line comes first in the file.
            tables.frames[start..].reverse();
            tables.location_ends.push(tables.frames.len() as u32);
        }
        tables
    }

    fn add_location(
        &mut self,
        builder: &mut ProfileBuilder,
        layout: &OtlpLayout,
        mappings: &[OtlpMapping],
        functions: &[FunctionRow],
        location: Field,
    ) -> Result<(), ProtobufFault> {
        let (mut mapping, mut address, mut lines) = (None, 0, Vec::new());
        let mut is_kernel = false;
        for field in location.message() {
            let field = field?;
            match field.number {
                1 => mapping = mappings.get(field.uint() as usize).copied(),
                2 => address = field.uint(),
                3 => lines.push(line(field)?),
                number if number == layout.location_attributes => {
                    for index in field.varints() {
                        let attribute = self.attributes.get(index? as usize);
                        is_kernel |= attribute.is_some_and(|attribute| {
                            attribute.key == "profile.frame.type" && attribute.value == "kernel"
                        });
                    }
                }
                _ => {}
            }
        }
        let mapping = mapping.unwrap_or_default();
        let binary = self.text(mapping.file);
        let address_in_frame = NonZeroU64::new(address);
        let unsymbolised = |builder: &mut ProfileBuilder| {
            let function =
                unsymbolised_function(builder, &binary, mapping.start, mapping.offset, address);
            builder.frame(Frame { address: address_in_frame, ..Frame::of(function) })
        };
        if lines.is_empty() {
            let frame = unsymbolised(builder);
            self.frames.push(frame);
        }
        let mut left = lines.len();
        for (row, line, column) in lines {
            left -= 1;
            let row = functions.get(row as usize).copied().unwrap_or_default();
            let name = match self.text(row.name) {
                Cow::Borrowed("") => self.text(row.system_name),
                name => name,
            };
            let frame = if name.is_empty() {
                unsymbolised(builder)
            } else {
                let name = demangle(&name);
                let file = self.text(row.file);
                let mut function =
                    Function { line: position(row.line), ..Function::named(builder.string(&name)) };
                if !binary.is_empty() {
                    function.component = Some(builder.string(&binary));
                    function.file = (!file.is_empty()).then(|| builder.string(&file));
                    function.layer = layer_of(&binary);
                } else if !file.is_empty() {
                    function.component = Some(builder.string(&file));
                }
                if is_kernel {
                    function.layer = Layer::Kernel;
                }
                let function = builder.function(function);
                builder.frame(Frame {
                    line: position(line),
                    column: position(column),
                    address: address_in_frame,
                    inlined: left > 0,
                    ..Frame::of(function)
                })
            };
            self.frames.push(frame);
        }
        Ok(())
    }

    /// A text of the string table; empty for an index outside of it.
    pub fn text(&self, index: i64) -> Cow<'a, str> {
        let bytes = usize::try_from(index).ok().and_then(|index| self.strings.get(index));
        bytes.map_or(Cow::Borrowed(""), |bytes| String::from_utf8_lossy(bytes))
    }

    /// The frames of a location, outermost first.
    pub fn location(&self, index: u64) -> Option<&[FrameId]> {
        let row = usize::try_from(index).ok()?;
        let end = *self.location_ends.get(row)?;
        let start = if row == 0 { 0 } else { self.location_ends[row - 1] };
        self.frames.get(start as usize..end as usize)
    }

    /// The locations of a stack, innermost first.
    pub fn stack(&self, index: u64) -> Option<&Field<'a>> {
        self.stacks.get(usize::try_from(index).ok()?)
    }

    /// True when there is a table of stacks, as from version 1.8 on.
    pub fn has_stacks(&self) -> bool {
        // What stands in its place before are pairs of numbers.
        let packed =
            |field: &Field| field.message().all(|inner| inner.is_ok_and(|inner| inner.number == 1));
        !self.stacks.is_empty() && self.stacks.iter().take(16).all(packed)
    }
}

/// A row that cannot be read keeps its place in the table: others are found by counting.
fn or_empty<T: Default>(builder: &mut ProfileBuilder, row: Result<T, ProtobufFault>) -> T {
    row.unwrap_or_else(|fault| {
        super::warn_damaged(builder, fault);
        T::default()
    })
}

fn mapping(field: Field) -> Result<OtlpMapping, ProtobufFault> {
    let mut mapping = OtlpMapping::default();
    for field in field.message() {
        let field = field?;
        match field.number {
            1 => mapping.start = field.uint(),
            3 => mapping.offset = field.uint(),
            4 => mapping.file = field.int(),
            _ => {}
        }
    }
    Ok(mapping)
}

fn function(field: Field) -> Result<FunctionRow, ProtobufFault> {
    let mut function = FunctionRow::default();
    for field in field.message() {
        let field = field?;
        match field.number {
            1 => function.name = field.int(),
            2 => function.system_name = field.int(),
            3 => function.file = field.int(),
            4 => function.line = field.uint(),
            _ => {}
        }
    }
    Ok(function)
}

fn line(field: Field) -> Result<(u64, u64, u64), ProtobufFault> {
    let mut line = (0, 0, 0);
    for field in field.message() {
        let field = field?;
        match field.number {
            1 => line.0 = field.uint(),
            2 => line.1 = field.uint(),
            3 => line.2 = field.uint(),
            _ => {}
        }
    }
    Ok(line)
}

/// An attribute; its key is a text, or the index of one.
pub fn attribute(field: Field, text: impl Fn(i64) -> String) -> Result<Attribute, ProtobufFault> {
    let mut attribute = Attribute::default();
    for field in field.message() {
        let field = field?;
        match (field.number, field.value) {
            (1, ProtobufValue::Bytes(_)) => attribute.key = field.text().into_owned(),
            (1, _) => attribute.key = text(field.int()),
            (2, _) => attribute.value = any_value(field, &text)?,
            // A resource's key may be an index from version 1.10 on; in tables of attributes this is the unit.
            (3, _) if attribute.key.is_empty() => attribute.key = text(field.int()),
            _ => {}
        }
    }
    Ok(attribute)
}

/// Texts, numbers and truth values; lists and maps are not worth showing in a profile.
fn any_value(field: Field, text: impl Fn(i64) -> String) -> Result<String, ProtobufFault> {
    let mut shown = String::new();
    for field in field.message() {
        let field = field?;
        shown = match field.number {
            1 => field.text().into_owned(),
            2 => (field.uint() != 0).to_string(),
            3 => field.int().to_string(),
            4 => f64::from_bits(field.uint()).to_string(),
            // The index of a text, from version 1.10 on.
            8 => text(field.int()),
            _ => continue,
        };
    }
    Ok(shown)
}
