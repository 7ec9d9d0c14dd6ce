//! Small recordings made in tests, in either encoding of integers. Tests only.

use super::header::HEADER_BYTES;
use super::scan::Integers;

/// A chunk under construction.
pub struct Drawn {
    integers: Integers,
    bytes: Vec<u8>,
}

/// Classes of a drawn chunk: id, name, fields as (name, class, is pooled, is a list).
type Described = (u64, &'static str, &'static [(&'static str, u64, bool, bool)]);

const CLASSES: &[Described] = &[
    (4, "boolean", &[]),
    (5, "int", &[]),
    (6, "long", &[]),
    (7, "java.lang.String", &[]),
    (10, "jdk.types.Symbol", &[("string", 7, false, false)]),
    (11, "java.lang.Class", &[("name", 10, true, false)]),
    (
        12,
        "jdk.types.Method",
        &[("type", 11, true, false), ("name", 10, true, false), ("descriptor", 10, true, false)],
    ),
    (13, "jdk.types.FrameType", &[("description", 7, false, false)]),
    (
        14,
        "jdk.types.StackFrame",
        &[
            ("method", 12, true, false),
            ("lineNumber", 5, false, false),
            ("bytecodeIndex", 5, false, false),
            ("type", 13, true, false),
        ],
    ),
    (15, "jdk.types.StackTrace", &[("truncated", 4, false, false), ("frames", 14, false, true)]),
    (16, "jdk.types.ThreadGroup", &[("parent", 16, true, false), ("name", 7, false, false)]),
    (
        17,
        "java.lang.Thread",
        &[
            ("osName", 7, false, false),
            ("osThreadId", 6, false, false),
            ("javaName", 7, false, false),
            ("javaThreadId", 6, false, false),
            ("group", 16, true, false),
        ],
    ),
    (20, "jdk.jfr.Timespan", &[("value", 7, false, false)]),
    (
        100,
        "jdk.ExecutionSample",
        &[
            ("startTime", 6, false, false),
            ("sampledThread", 17, true, false),
            ("stackTrace", 15, true, false),
        ],
    ),
    (
        101,
        "jdk.ThreadPark",
        &[
            ("startTime", 6, false, false),
            ("duration", 6, false, false),
            ("eventThread", 17, true, false),
            ("stackTrace", 15, true, false),
        ],
    ),
    (102, "my.Event", &[("startTime", 6, false, false), ("weights", 5, false, true)]),
    (103, "my.Stacked", &[("startTime", 6, false, false), ("stackTrace", 15, true, false)]),
];

impl Drawn {
    pub fn new(integers: Integers) -> Self {
        Self { integers, bytes: vec![0; HEADER_BYTES] }
    }

    fn integer(out: &mut Vec<u8>, integers: Integers, mut number: u64, width: usize) {
        if integers == Integers::Fixed {
            out.extend_from_slice(&number.to_be_bytes()[8 - width..]);
            return;
        }
        for _ in 0..8 {
            if number < 0x80 {
                break;
            }
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }

    fn record(&mut self, kind: u64, fields: impl FnOnce(&mut Fields)) -> usize {
        let mut out = Fields { integers: self.integers, bytes: Vec::new() };
        out.long(kind);
        fields(&mut out);
        // The size counts itself: tried until it fits.
        let mut size = Vec::new();
        let mut total = 0;
        while total != size.len() + out.bytes.len() {
            total = size.len() + out.bytes.len();
            size.clear();
            Self::integer(&mut size, self.integers, total as u64, 4);
        }
        let at = self.bytes.len();
        self.bytes.extend(size);
        self.bytes.extend(out.bytes);
        at
    }

    /// An event of class `kind` with long fields.
    pub fn event(&mut self, kind: u64, fields: &[u64]) {
        self.record(kind, |out| out.longs(fields));
    }

    /// An event that no reader knows.
    pub fn unknown_event(&mut self) {
        self.record(102, |out| {
            out.long(1);
            out.int(3);
            (0..3).for_each(|number| out.int(number));
        });
    }

    /// A checkpoint with everything events refer to: stack 1 is `main > Deep$$Lambda/0x1.run > parse`, stack 2 the same cut
    /// off above `parse`, thread 9 `worker-1` in a group.
    pub fn pools(&mut self) -> usize {
        self.record(1, |out| {
            out.longs(&[0, 0, 0]);
            out.bytes.push(0);
            out.int(7);
            out.pool(7, &[1], |out, _| out.text("a name of the pool"));
            let symbols = ["Main", "main", "()V", "a/Deep$$Lambda/0x1", "run", "parse"];
            out.pool(10, &[1, 2, 3, 4, 5, 6], |out, id| out.text(symbols[id as usize - 1]));
            out.pool(11, &[1, 2], |out, id| out.long([1, 4][id as usize - 1]));
            out.pool(12, &[1, 2, 3], |out, id| {
                let (class, name) = [(1, 2), (2, 5), (1, 6)][id as usize - 1];
                out.longs(&[class, name, 3]);
            });
            out.pool(13, &[1, 2], |out, id| out.text(["Interpreted", "Inlined"][id as usize - 1]));
            out.pool(15, &[1, 2], |out, id| {
                let frames: &[(u64, u64)] = &[(3, 30), (2, 20), (1, 10)];
                let frames = if id == 2 { &frames[..1] } else { frames };
                out.bytes.push(u8::from(id == 2));
                out.int(frames.len() as u64);
                for (method, line) in frames {
                    out.long(*method);
                    out.int(*line);
                    out.int(line + 1);
                    out.long(1 + u64::from(*method == 3));
                }
            });
            out.pool(17, &[9], |out, _| {
                out.text("os name");
                out.long(4711);
                // The Java name is a text of the pool.
                out.bytes.push(2);
                out.longs(&[1, 9, 0]);
            });
        })
    }

    /// The chunk as a file, with its metadata and header.
    pub fn finish(mut self, checkpoint: usize) -> Vec<u8> {
        let metadata = self.record(0, |out| {
            out.longs(&[0, 0, 1]);
            out.metadata();
        });
        let mut header = Vec::new();
        header.extend_from_slice(b"FLR\0\0\x02\0\x01");
        for number in [self.bytes.len(), checkpoint, metadata] {
            header.extend_from_slice(&(number as u64).to_be_bytes());
        }
        // Starts at 1000 s, lasts 2 s; tick 500 is the start, a tick is 10 ns.
        for number in [1_000_000_000_000_u64, 2_000_000_000, 500, 100_000_000] {
            header.extend_from_slice(&number.to_be_bytes());
        }
        header.extend_from_slice(&[0, 0, 0, u8::from(self.integers == Integers::Compressed)]);
        self.bytes[..HEADER_BYTES].copy_from_slice(&header);
        self.bytes
    }
}

struct Fields {
    integers: Integers,
    bytes: Vec<u8>,
}

impl Fields {
    fn long(&mut self, number: u64) {
        Drawn::integer(&mut self.bytes, self.integers, number, 8);
    }

    fn longs(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.long(*number);
        }
    }

    fn int(&mut self, number: u64) {
        Drawn::integer(&mut self.bytes, self.integers, number, 4);
    }

    /// As UTF-16 units, as the JDK writes the texts of metadata.
    fn text(&mut self, text: &str) {
        self.bytes.push(4);
        self.int(text.encode_utf16().count() as u64);
        for unit in text.encode_utf16() {
            Drawn::integer(&mut self.bytes, self.integers, u64::from(unit), 2);
        }
    }

    fn pool(&mut self, class: u64, ids: &[u64], entry: impl Fn(&mut Self, u64)) {
        self.long(class);
        self.int(ids.len() as u64);
        for id in ids {
            self.long(*id);
            entry(self, *id);
        }
    }

    fn metadata(&mut self) {
        let mut strings: Vec<String> = Vec::new();
        let mut elements = Vec::new();
        let mut string = |text: &str| {
            let known = strings.iter().position(|known| known == text);
            known.unwrap_or_else(|| {
                strings.push(text.to_owned());
                strings.len() - 1
            }) as u64
        };
        let mut element = |name: &str, attributes: &[(&str, &str)], children: usize| {
            elements.push(string(name));
            elements.push(attributes.len() as u64);
            for (key, value) in attributes {
                elements.extend([string(key), string(value)]);
            }
            elements.push(children as u64);
        };
        element("root", &[], 1);
        element("metadata", &[], CLASSES.len());
        for (id, name, fields) in CLASSES {
            element("class", &[("id", &id.to_string()), ("name", name)], fields.len());
            for (name, class, pooled, list) in *fields {
                let class = class.to_string();
                let mut attributes = vec![("name", *name), ("class", class.as_str())];
                if *pooled {
                    attributes.push(("constantPool", "true"));
                }
                if *list {
                    attributes.push(("dimension", "1"));
                }
                let span = *name == "duration";
                element("field", &attributes, usize::from(span));
                if span {
                    element("annotation", &[("class", "20"), ("value", "TICKS")], 0);
                }
            }
        }
        self.int(strings.len() as u64);
        for text in &strings {
            self.text(text);
        }
        for number in elements {
            self.int(number);
        }
    }
}
