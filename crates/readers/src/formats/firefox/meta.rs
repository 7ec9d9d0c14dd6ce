//! What a Firefox profile says about itself: product, interval, categories, units.

use perfblame_cct::{Info, Layer};

use crate::encodings::json::{Cursor, JsonFault, JsonKind, Number};

/// The part of `meta` that reading needs.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    /// Time between two samples, in nanoseconds.
    pub interval: Option<i64>,
    /// When the process started, in nanoseconds since 1970.
    pub started: Option<i64>,
    /// The layer that each category stands for.
    pub categories: Vec<Option<Layer>>,
    /// What `threadCPUDelta` counts.
    pub cpu_unit: CpuUnit,
    /// True when the file says that names were not looked up yet.
    pub has_no_names: bool,
    /// True when the browser itself was profiled; samply and other importers put the program's name here.
    pub is_firefox: bool,
}

/// What `threadCPUDelta` counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CpuUnit {
    /// The file does not say; microseconds is what writers used before they said it.
    #[default]
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Cycles of a clock that may change.
    Cycles,
}

impl Meta {
    /// Reads `meta`; whatever is known of the recording goes to `info`.
    pub fn read(&mut self, mut cursor: Cursor, info: &mut Info) -> Result<(), JsonFault> {
        if cursor.peek()? != JsonKind::Object {
            return Ok(());
        }
        cursor.begin_object()?;
        let (mut product, mut revision, mut imported) = (None, None, None);
        let (mut begin, mut end) = (None, None);
        while let Some(key) = cursor.next_key()? {
            match &*key {
                "interval" => self.interval = milliseconds(&mut cursor)?,
                "startTime" => self.started = milliseconds(&mut cursor)?,
                "profilingStartTime" => begin = milliseconds(&mut cursor)?,
                "profilingEndTime" => end = milliseconds(&mut cursor)?,
                "categories" => self.categories = categories(&mut cursor)?,
                "sampleUnits" => self.units(&mut cursor)?,
                "product" => product = cursor.lenient_string()?,
                "misc" => revision = cursor.lenient_string()?,
                "symbolicated" if cursor.peek()? == JsonKind::Bool => {
                    self.has_no_names = !cursor.boolean()?;
                }
                "importedFrom" => imported = cursor.lenient_string()?,
                name @ ("oscpu"
                | "platform"
                | "abi"
                | "CPUName"
                | "appBuildID"
                | "sourceURL"
                | "updateChannel"
                | "version"
                | "preprocessedProfileVersion") => {
                    let name = name.to_owned();
                    if let Some(text) = text_or_number(&mut cursor)?.filter(|text| !text.is_empty())
                    {
                        info.labels.push((name, text));
                    }
                }
                _ => cursor.skip_value()?,
            }
        }
        let product = product.filter(|product| !product.is_empty());
        self.is_firefox =
            revision.is_some() || product.as_deref().is_none_or(|name| name.starts_with("Firefox"));
        let version = revision.as_deref().and_then(|text| text.strip_prefix("rv:"));
        info.producer = match (imported, &product, version) {
            (Some(importer), ..) => Some(importer.into_owned()),
            (None, Some(product), Some(version)) => Some(format!("{product} {version}")),
            (None, Some(product), None) if self.is_firefox => Some(product.to_string()),
            _ => None,
        };
        if !self.is_firefox {
            info.command = product.map(Into::into);
        }
        info.started = self.started;
        if let (Some(begin), Some(end)) = (begin, end) {
            info.duration = end.checked_sub(begin).filter(|duration| *duration >= 0);
        }
        info.labels.sort();
        Ok(())
    }

    fn units(&mut self, cursor: &mut Cursor) -> Result<(), JsonFault> {
        if cursor.peek()? != JsonKind::Object {
            return cursor.skip_value();
        }
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            if key != "threadCPUDelta" {
                cursor.skip_value()?;
                continue;
            }
            self.cpu_unit = match cursor.lenient_string()?.as_deref() {
                Some("ns") => CpuUnit::Nanoseconds,
                Some("variable CPU cycles") => CpuUnit::Cycles,
                _ => CpuUnit::Microseconds,
            };
        }
        Ok(())
    }

    /// The layer of a category, where it stands for one.
    pub fn layer(&self, category: Option<usize>) -> Option<Layer> {
        self.categories.get(category?).copied().flatten()
    }
}

/// Milliseconds in the file are nanoseconds here.
pub fn milliseconds(cursor: &mut Cursor) -> Result<Option<i64>, JsonFault> {
    Ok(cursor.lenient_number()?.and_then(|number| number.scaled(6)))
}

fn text_or_number(cursor: &mut Cursor) -> Result<Option<String>, JsonFault> {
    Ok(match cursor.peek()? {
        JsonKind::Number => cursor.number()?.as_i64().map(|number: i64| number.to_string()),
        _ => cursor.lenient_string()?.map(Into::into),
    })
}

fn categories(cursor: &mut Cursor) -> Result<Vec<Option<Layer>>, JsonFault> {
    let mut categories = Vec::new();
    if cursor.peek()? != JsonKind::Array {
        cursor.skip_value()?;
        return Ok(categories);
    }
    cursor.begin_array()?;
    while cursor.next_element()? {
        let mut layer = None;
        if cursor.peek()? == JsonKind::Object {
            cursor.begin_object()?;
            while let Some(key) = cursor.next_key()? {
                if key == "name" {
                    layer = cursor.lenient_string()?.and_then(|name| category_layer(&name));
                } else {
                    cursor.skip_value()?;
                }
            }
        } else {
            cursor.skip_value()?;
        }
        categories.push(layer);
    }
    Ok(categories)
}

fn category_layer(name: &str) -> Option<Layer> {
    Some(match name {
        "Idle" => Layer::Idle,
        "GC / CC" => Layer::GarbageCollection,
        "Kernel" => Layer::Kernel,
        _ => return None,
    })
}

/// A process or thread id: newer files have them as texts.
pub fn id(cursor: &mut Cursor) -> Result<Option<u64>, JsonFault> {
    Ok(cursor.lenient_number()?.and_then(Number::as_u64))
}
