//! Tracepoints: the descriptions of their fields that a recording carries, and the fields of one event.

use hashbrown::HashMap;
use perfblame_native::{ByteOrder, Bytes, until_zero};

/// Descriptions by number.
pub type Formats = HashMap<u64, TracepointFormat>;

/// The layout of one tracepoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracepointFormat {
    pub system: String,
    pub name: String,
    pub id: u64,
    pub fields: Vec<TracepointField>,
}

/// One field of a tracepoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracepointField {
    pub name: String,
    /// As the kernel declares it, without the name.
    pub declared: String,
    pub offset: usize,
    pub size: usize,
    pub signed: bool,
    /// How many elements an array has; none for a single value.
    pub array: Option<usize>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TracepointValue<'a> {
    Signed(i64),
    Unsigned(u64),
    Text(&'a [u8]),
    /// An array of numbers, or what is not understood.
    Bytes(&'a [u8]),
}

impl TracepointFormat {
    /// Reads the text of `events/SYSTEM/NAME/format`.
    pub fn parse(system: &str, text: &str) -> Option<Self> {
        let mut format = Self { system: system.to_owned(), ..Self::default() };
        let mut numbered = false;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("name:") {
                name.trim().clone_into(&mut format.name);
            } else if let Some(id) = line.strip_prefix("ID:") {
                format.id = id.trim().parse().ok()?;
                numbered = true;
            } else if line.trim_start().starts_with("field") {
                format.fields.extend(TracepointField::parse(line.trim_start()));
            }
        }
        (numbered && !format.name.is_empty()).then_some(format)
    }

    /// The value of a field in what an event passed along.
    pub fn value<'a>(
        &self,
        name: &str,
        raw: &'a [u8],
        order: ByteOrder,
    ) -> Option<TracepointValue<'a>> {
        self.fields.iter().find(|field| field.name == name)?.value(raw, order)
    }

    /// All fields of an event with their values, those common to every tracepoint first.
    pub fn values<'s, 'a: 's>(
        &'s self,
        raw: &'a [u8],
        order: ByteOrder,
    ) -> impl Iterator<Item = (&'s str, TracepointValue<'a>)> + 's {
        self.fields
            .iter()
            .filter_map(move |field| Some((field.name.as_str(), field.value(raw, order)?)))
    }
}

impl TracepointField {
    /// `field:char prev_comm[16];  offset:8;  size:16;  signed:0;`
    fn parse(line: &str) -> Option<Self> {
        let mut field = Self::default();
        for piece in line.split(';') {
            let Some((key, value)) = piece.trim().split_once(':') else { continue };
            let value = value.trim();
            match key {
                "offset" => field.offset = value.parse().ok()?,
                "size" => field.size = value.parse().ok()?,
                "signed" => field.signed = value == "1",
                _ if key.starts_with("field") => {
                    let (declared, name) = match value.rsplit_once([' ', '*']) {
                        Some((declared, name)) => (declared.trim_end(), name),
                        None => ("", value),
                    };
                    let (name, array) = match name.split_once('[') {
                        Some((name, count)) => {
                            (name, Some(count.trim_end_matches(']').parse().unwrap_or(0)))
                        }
                        None => (name, None),
                    };
                    name.clone_into(&mut field.name);
                    declared.clone_into(&mut field.declared);
                    field.array = array;
                }
                _ => {}
            }
        }
        (!field.name.is_empty()).then_some(field)
    }

    fn is_text(&self) -> bool {
        self.declared.contains("char") && !self.declared.contains("unsigned char *")
    }

    fn value<'a>(&self, raw: &'a [u8], order: ByteOrder) -> Option<TracepointValue<'a>> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        if self.declared.contains("__data_loc") || self.declared.contains("__rel_loc") {
            // Where the real value is, and how long: both in one number.
            let place = Bytes::new(bytes, order).u32()?;
            let (mut start, length) = ((place & 0xffff) as usize, (place >> 16) as usize);
            if self.declared.contains("__rel_loc") {
                start = start.checked_add(self.offset.checked_add(self.size)?)?;
            }
            let bytes = raw.get(start..start.checked_add(length)?)?;
            return Some(if self.is_text() {
                TracepointValue::Text(until_zero(bytes))
            } else {
                TracepointValue::Bytes(bytes)
            });
        }
        if self.array.is_some() {
            return Some(if self.is_text() {
                TracepointValue::Text(until_zero(bytes))
            } else {
                TracepointValue::Bytes(bytes)
            });
        }
        let mut fields = Bytes::new(bytes, order);
        let (number, bits) = match self.size {
            1 => (u64::from(fields.u8()?), 8),
            2 => (u64::from(fields.u16()?), 16),
            4 => (u64::from(fields.u32()?), 32),
            8 => (fields.u64()?, 64),
            _ => return Some(TracepointValue::Bytes(bytes)),
        };
        Some(if self.signed {
            let unused = 64 - bits;
            TracepointValue::Signed((number << unused) as i64 >> unused)
        } else {
            TracepointValue::Unsigned(number)
        })
    }
}

/// Reads the descriptions that `perf record` and `trace-cmd` put into their files; none when they make no sense from
/// the start. What is cut off costs what comes after the cut.
pub fn parse_tracing_data(bytes: &[u8]) -> Option<Formats> {
    let magic = bytes.get(..10)?;
    if magic != b"\x17\x08\x44tracing" {
        return None;
    }
    let mut head = Bytes::new(bytes.get(10..)?, ByteOrder::Little);
    head.text();
    let order = if head.u8()? == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let mut fields = Bytes::new(head.rest(), order);
    fields.skip(1 + 4)?;
    let mut formats = Formats::new();
    // Whatever was read before the first thing that makes no sense is kept.
    let _ = parse_events(&mut fields, &mut formats);
    Some(formats)
}

fn parse_events(fields: &mut Bytes<'_>, formats: &mut Formats) -> Option<()> {
    for _ in ["header_page", "header_event"] {
        fields.text();
        let size = fields.u64()?;
        fields.take_u64(size)?;
    }
    let own = fields.u32()?;
    parse_system("ftrace", own, fields, formats)?;
    let systems = fields.u32()?;
    for _ in 0..systems {
        let system = String::from_utf8_lossy(fields.text()).into_owned();
        let count = fields.u32()?;
        parse_system(&system, count, fields, formats)?;
    }
    Some(())
}

fn parse_system(
    system: &str,
    count: u32,
    fields: &mut Bytes<'_>,
    formats: &mut Formats,
) -> Option<()> {
    for _ in 0..count {
        let size = fields.u64()?;
        let text = String::from_utf8_lossy(fields.take_u64(size)?);
        if let Some(format) = TracepointFormat::parse(system, &text) {
            formats.insert(format.id, format);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = "name: sched_switch\nID: 316\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:long prev_state;\toffset:24;\tsize:8;\tsigned:1;\n\
        \tfield:__data_loc char[] next;\toffset:32;\tsize:4;\tsigned:0;\n\
        \tfield:unsigned long args[1];\toffset:36;\tsize:8;\tsigned:0;\n\
        \nprint fmt: \"prev_comm=%s\", REC->prev_comm\n";

    fn event() -> Vec<u8> {
        let mut raw = vec![0; 44];
        raw[0] = 60;
        raw[4..8].copy_from_slice(&(-2i32).to_le_bytes());
        raw[8..13].copy_from_slice(b"bash\0");
        raw[24..32].copy_from_slice(&(-1i64).to_le_bytes());
        raw[32..36].copy_from_slice(&(0x2c_u32 | 5 << 16).to_le_bytes());
        raw.extend(b"next\0");
        raw
    }

    #[test]
    fn a_description_gives_the_fields_of_an_event() {
        let format = TracepointFormat::parse("sched", SWITCH).unwrap();
        assert_eq!(
            (format.name.as_str(), format.id, format.fields.len()),
            ("sched_switch", 316, 6)
        );
        let raw = event();
        let values: Vec<_> = format.values(&raw, ByteOrder::Little).collect();
        assert_eq!(
            values,
            [
                ("common_type", TracepointValue::Unsigned(60)),
                ("common_pid", TracepointValue::Signed(-2)),
                ("prev_comm", TracepointValue::Text(b"bash")),
                ("prev_state", TracepointValue::Signed(-1)),
                ("next", TracepointValue::Text(b"next")),
                ("args", TracepointValue::Bytes(&[0; 8])),
            ]
        );
        assert_eq!(format.value("nothing", &raw, ByteOrder::Little), None);
    }

    #[test]
    fn an_event_that_is_cut_off_loses_fields_only() {
        let format = TracepointFormat::parse("sched", SWITCH).unwrap();
        let raw = event();
        for cut in 0..raw.len() {
            assert!(format.values(&raw[..cut], ByteOrder::Little).count() <= 6);
        }
        assert_eq!(format.values(&raw[..8], ByteOrder::Little).count(), 2);
    }

    #[test]
    fn tracing_data_lists_systems() {
        let mut bytes = b"\x17\x08\x44tracing0.6\0\0\x08".to_vec();
        bytes.extend(4096u32.to_le_bytes());
        for name in ["header_page", "header_event"] {
            bytes.extend(name.as_bytes());
            bytes.push(0);
            bytes.extend(3u64.to_le_bytes());
            bytes.extend(b"abc");
        }
        bytes.extend(0u32.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(b"sched\0");
        bytes.extend(1u32.to_le_bytes());
        bytes.extend((SWITCH.len() as u64).to_le_bytes());
        bytes.extend(SWITCH.as_bytes());
        let formats = parse_tracing_data(&bytes).unwrap();
        assert_eq!(formats[&316].system, "sched");
        for cut in 0..bytes.len() {
            let _ = parse_tracing_data(&bytes[..cut]);
        }
        assert_eq!(parse_tracing_data(b"nothing of the kind"), None);
    }
}
