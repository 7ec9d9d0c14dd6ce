//! What a chunk says of its own layout: a tree of elements that names every class with its fields.
//!
//! Nothing about the layout of an event or a pool entry is built into the reader; it all comes from here. That is why
//! recordings of any JDK, and of programs that imitate one, read alike.

use hashbrown::HashMap;

use super::scan::{Integers, JfrScanner};

/// Elements nest four deep in practice: root, metadata, class, field, annotation.
const MAX_DEPTH: usize = 16;

/// The class of texts, whose values are written in a way of their own.
pub const STRING: &str = "java.lang.String";

/// The id of a class within a chunk.
pub type ClassId = u64;

/// A class: the type of an event, of a pool entry, of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    pub name: String,
    pub fields: Vec<JfrField>,
}

/// One field of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JfrField {
    pub name: String,
    pub class: ClassId,
    /// The value is the id of an entry in the pool of `class`.
    pub pooled: bool,
    /// The value is a counted list.
    pub array: bool,
    /// Unit of a time span.
    pub timespan: Timespan,
}

/// The unit of a duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timespan {
    /// The chunk's clock; what a field without an annotation is taken for.
    #[default]
    Ticks,
    /// So many nanoseconds.
    Nanos(i64),
}

/// All classes of a chunk.
#[derive(Debug, Default)]
pub struct Metadata {
    pub classes: HashMap<ClassId, Class>,
}

impl Metadata {
    /// Reads the metadata event at an offset; none when there is none that makes sense.
    pub fn read(bytes: &[u8], integers: Integers, at: usize) -> Option<Self> {
        let mut scan = JfrScanner::new(bytes, integers, at);
        let size = scan.int()? as usize;
        // Nothing may reach beyond the event.
        let bytes = bytes.get(..at.checked_add(size)?)?;
        let mut scan = JfrScanner::new(bytes, integers, scan.at);
        if scan.long()? != 0 {
            return None;
        }
        // Start, duration, id of this metadata.
        scan.longs(3)?;
        let count = scan.int()? as usize;
        let mut strings = Vec::new();
        for _ in 0..count {
            let mut text = String::new();
            scan.text()?.append_to(&mut text);
            strings.push(text);
        }
        MetadataElements { scan, strings }.read()
    }

    /// The class that a field's value has.
    pub fn class(&self, id: ClassId) -> Option<&Class> {
        self.classes.get(&id)
    }
}

struct MetadataElements<'a> {
    scan: JfrScanner<'a>,
    strings: Vec<String>,
}

/// What an element that is still open describes.
enum OpenElement {
    Class(ClassId, Class),
    Field(JfrField),
    Other,
}

impl MetadataElements<'_> {
    fn read(mut self) -> Option<Metadata> {
        let mut metadata = Metadata::default();
        let mut class_names: HashMap<ClassId, String> = HashMap::new();
        // Annotations come before the class that defines them: units are put in at the end.
        let mut annotations: Vec<(ClassId, usize, ClassId, String)> = Vec::new();
        let mut open: Vec<(OpenElement, u32)> = Vec::new();
        loop {
            let element = self.element()?;
            let children = self.scan.int()?;
            if let OpenElement::Other = element.open {
                let annotated = (element.name == "annotation").then_some(()).and_then(|()| {
                    let [.., (OpenElement::Class(id, class), _), (OpenElement::Field(_), _)] =
                        open.as_slice()
                    else {
                        return None;
                    };
                    Some((*id, class.fields.len()))
                });
                if let Some((class, field)) = annotated {
                    annotations.push((class, field, element.class, element.value));
                }
            }
            open.push((element.open, children));
            if open.len() > MAX_DEPTH {
                return None;
            }
            // Close whatever has no more children.
            while let Some((_, 0)) = open.last() {
                match (open.pop()?.0, open.last_mut()) {
                    (OpenElement::Field(field), Some((OpenElement::Class(_, class), _))) => {
                        class.fields.push(field);
                    }
                    (OpenElement::Class(id, class), _) => {
                        class_names.insert(id, class.name.clone());
                        metadata.classes.insert(id, class);
                    }
                    _ => {}
                }
                if let Some((_, left)) = open.last_mut() {
                    *left -= 1;
                }
            }
            if open.is_empty() {
                break;
            }
        }
        for (class, field, annotation, unit) in annotations {
            if !class_names.get(&annotation).is_some_and(|name| name.ends_with(".Timespan")) {
                continue;
            }
            let field = metadata.classes.get_mut(&class).and_then(|c| c.fields.get_mut(field));
            if let Some(field) = field {
                field.timespan = match unit.as_str() {
                    "NANOSECONDS" => Timespan::Nanos(1),
                    "MICROSECONDS" => Timespan::Nanos(1_000),
                    "MILLISECONDS" => Timespan::Nanos(1_000_000),
                    "SECONDS" => Timespan::Nanos(1_000_000_000),
                    _ => Timespan::Ticks,
                };
            }
        }
        (!metadata.classes.is_empty()).then_some(metadata)
    }

    fn string(&mut self) -> Option<&str> {
        let row = self.scan.int()? as usize;
        self.strings.get(row).map(String::as_str)
    }

    /// An element with its attributes.
    fn element(&mut self) -> Option<MetadataElement> {
        let name = self.string()?.to_owned();
        let mut element =
            MetadataElement { name, open: OpenElement::Other, class: 0, value: String::new() };
        let (mut id, mut field) = (0, JfrField::default());
        for _ in 0..self.scan.int()? {
            let key = self.string()?.to_owned();
            let value = self.string()?;
            match key.as_str() {
                "name" => value.clone_into(&mut field.name),
                "id" => id = value.parse::<i64>().ok()? as ClassId,
                "class" => field.class = value.parse::<i64>().ok()? as ClassId,
                "constantPool" => field.pooled = value == "true",
                "dimension" => field.array = value.parse::<u32>().ok()? > 0,
                // An annotation's values are numbered: `value-0`.
                "value" | "value-0" => value.clone_into(&mut element.value),
                _ => {}
            }
        }
        element.class = field.class;
        match element.name.as_str() {
            "class" => {
                element.open =
                    OpenElement::Class(id, Class { name: field.name, fields: Vec::new() });
            }
            "field" => element.open = OpenElement::Field(field),
            _ => {}
        }
        Some(element)
    }
}

struct MetadataElement {
    name: String,
    open: OpenElement,
    class: ClassId,
    value: String,
}
