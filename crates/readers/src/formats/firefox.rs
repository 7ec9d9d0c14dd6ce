//! Firefox Profiler: what the browser writes (Gecko profiles, versions 3 to 30 and beyond), what the profiler's page
//! saves (processed profiles, with and without shared tables), what DevTools' old performance panel saved around one,
//! and the text of Cleopatra, the profiler before. samply and others write processed profiles too.
//!
//! The versions differ in shape, not in meaning, so nothing is upgraded step by step: tables are read by the names of
//! their columns, whether they come as columns or as rows, and what a version lacks is unknown.
//!
//! Metrics: `samples`; `wall`, where a sample stands for the time to the next one of its thread (the last for an
//! interval; pauses of the profiler are left out); `cpu` where threads say what they used; allocations where they were
//! recorded.

mod cleopatra;
mod frames;
mod location;
mod meta;
mod table;
mod thread;

use std::borrow::Cow;

use perfblame_cct::{Profile, ProfileBuilder};

use crate::encodings::json::{self, Cursor, JsonFault, JsonKind};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use frames::{FirefoxTables, Library, Places, View};
use meta::Meta;
use thread::{FirefoxClock, RawThread};

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "Firefox Profiler",
    producers: "Firefox, Firefox Profiler, samply, Firefox DevTools",
    sniff,
    read,
    tracer: None,
};

/// True for the objects that Firefox, its profiler's page and its DevTools write.
pub fn sniff(input: &Input) -> bool {
    let head = input.head();
    let keys = json::top_level_keys(head);
    let has = |key: &str| keys.iter().any(|known| known == key);
    if keys.is_empty() || head.trim_ascii_start().starts_with(b"[") {
        return false;
    }
    if cleopatra::sniff(head) {
        return true;
    }
    // DevTools: {"label", "duration", "markers", …, "profile": {Gecko profile}}
    if keys.first().is_some_and(|key| key == "label") && has("duration") && has("markers") {
        return true;
    }
    if !["meta", "libs", "threads"].iter().any(|key| has(key)) {
        return false;
    }
    let (document, _) = json::parse_prefix(head);
    let root = document.root();
    let count = |object: Option<json::JsonValue>, known: &[&str]| {
        object.map_or(0, |object| object.entries().filter(|(key, _)| known.contains(key)).count())
    };
    let meta = ["interval", "startTime", "processType", "preprocessedProfileVersion", "stackwalk"];
    let library = root.get("libs").and_then(|libs| libs.at(0));
    let thread = root.get("threads").and_then(|threads| threads.at(0));
    let tables = ["stackTable", "frameTable", "funcTable", "stringTable", "registerTime"];
    count(root.get("meta"), &meta) >= 2
        || count(library, &["breakpadId", "debugName"]) == 2
        || count(thread, &tables) >= 2
}

/// Reads a Firefox profile.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    if cleopatra::sniff(&bytes) {
        cleopatra::read(&bytes, &mut builder)?;
        return Ok(builder.finish());
    }
    let mut reader = FirefoxReader { builder, root: None, faults: Vec::new() };
    // Each text is shorter than the file that holds it, so this ends.
    let mut texts = reader.file(&bytes);
    while let Some(text) = texts.pop() {
        texts.extend(reader.file(text.as_bytes()));
    }
    let FirefoxReader { mut builder, mut faults, .. } = reader;
    faults.sort_by_key(JsonFault::offset);
    faults.dedup_by_key(|fault| fault.offset());
    for fault in &faults {
        let what = match fault {
            JsonFault::Bad { what, .. } => what,
            JsonFault::Cut { .. } | JsonFault::Io { .. } => "the file ends",
        };
        builder.warn("damaged-json", || {
            format!("the rest of a table was left out: {what} at byte {}", fault.offset())
        });
    }
    Ok(builder.finish())
}

/// Processes inside processes that are followed: the browser nests one level, DevTools puts one around it.
const PROCESS_LEVELS: usize = 4;

struct FirefoxReader {
    builder: ProfileBuilder,
    /// What the first process says, whose clock is everybody's.
    root: Option<Meta>,
    faults: Vec<JsonFault>,
}

impl FirefoxReader {
    /// Reads a file, and hands back the texts in it that hold processes of their own: that is how Gecko wrote other
    /// processes first.
    fn file(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut todo = vec![(Cursor::new(bytes), 0)];
        let mut texts = Vec::new();
        while let Some((cursor, level)) = todo.pop() {
            if level > PROCESS_LEVELS {
                self.builder.warn("nested-processes", || {
                    "processes nested more than twice were left out".to_owned()
                });
                continue;
            }
            let mut process = FirefoxProcess::default();
            self.faults.extend(process.find(cursor).err());
            self.process(&process);
            todo.extend(process.processes.into_iter().rev().map(|cursor| (cursor, level + 1)));
            texts.extend(process.texts);
        }
        texts.reverse();
        texts
    }

    fn process(&mut self, process: &FirefoxProcess) {
        let Self { builder, root, faults } = self;
        let mut meta = Meta::default();
        if let Some(cursor) = process.meta {
            let mut info = perfblame_cct::Info::default();
            faults.extend(meta.read(cursor, &mut info).err());
            if root.is_none() {
                builder.info = info;
                *root = Some(meta.clone());
            }
        }
        // The browser's own profiles come so too, but there most functions are JavaScript's.
        if meta.has_no_names && !meta.is_firefox {
            builder.warn("addresses-only", || {
                "native functions are addresses, because the file has no symbols; load it with `samply load` on the machine that recorded it, and download it from the profiler's page"
                    .to_owned()
            });
        }
        let offset = match (meta.started, root.as_ref().and_then(|root| root.started)) {
            (Some(own), Some(first)) => own.saturating_sub(first),
            _ => 0,
        };
        let libraries = process.libs.map(libraries).unwrap_or_default();
        let mut places = Places::default();
        let clock = FirefoxClock { offset, paused: process.paused.clone() };
        for cursor in &process.threads {
            let (mut thread, fault) = RawThread::read(*cursor);
            faults.extend(fault);
            thread.take_faults(faults);
            let own_libraries = thread.libs.map(self::libraries);
            let view = View {
                own: &thread.tables,
                shared: &process.shared,
                libraries: own_libraries.as_deref().unwrap_or(&libraries),
                meta: &meta,
            };
            thread.add(view, &mut places, &clock, builder);
        }
    }
}

/// Where the parts of one process begin.
#[derive(Default)]
struct FirefoxProcess<'a> {
    meta: Option<Cursor<'a>>,
    libs: Option<Cursor<'a>>,
    shared: FirefoxTables<'a>,
    threads: Vec<Cursor<'a>>,
    processes: Vec<Cursor<'a>>,
    /// Processes that are written as texts among the threads.
    texts: Vec<String>,
    paused: Vec<(i64, i64)>,
}

impl<'a> FirefoxProcess<'a> {
    fn find(&mut self, mut cursor: Cursor<'a>) -> Result<(), JsonFault> {
        if cursor.peek()? != JsonKind::Object {
            return Ok(());
        }
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            let value = cursor;
            match (&*key, cursor.peek()?) {
                ("threads", JsonKind::Array) => {
                    cursor.begin_array()?;
                    while cursor.next_element()? {
                        if cursor.peek()? == JsonKind::String {
                            self.texts.extend(cursor.lenient_string()?.map(Cow::into_owned));
                        } else {
                            // What is cut off is read as far as it goes.
                            self.threads.push(cursor);
                            cursor.skip_value()?;
                        }
                    }
                    continue;
                }
                ("processes", JsonKind::Array) => {
                    cursor.begin_array()?;
                    while cursor.next_element()? {
                        self.processes.push(cursor);
                        cursor.skip_value()?;
                    }
                    continue;
                }
                ("shared", JsonKind::Object) => {
                    cursor.begin_object()?;
                    while let Some(key) = cursor.next_key()? {
                        self.shared.take(&key, cursor);
                        cursor.skip_value()?;
                    }
                    continue;
                }
                ("meta", _) => self.meta = Some(value),
                ("libs", _) => self.libs = Some(value),
                // DevTools' wrapper is a process with nothing but an inner one.
                ("profile", _) => self.processes.push(value),
                ("pausedRanges", _) => self.paused = thread::paused(value),
                _ => {}
            }
            cursor.skip_value()?;
        }
        Ok(())
    }
}

fn strings(mut cursor: Cursor<'_>) -> Vec<Cow<'_, str>> {
    let mut strings = Vec::new();
    let mut fill = || -> Result<(), JsonFault> {
        cursor.begin_array()?;
        while cursor.next_element()? {
            strings.push(cursor.lenient_string()?.unwrap_or_default());
        }
        Ok(())
    };
    // The thread that holds the table meets the same fault, and says so.
    let _ = fill();
    strings
}

/// The libraries of a process by their start; old files have them as a text that holds JSON.
fn libraries(cursor: Cursor) -> Vec<Library> {
    let mut cursor = cursor;
    let mut libraries = Vec::new();
    if cursor.peek().is_ok_and(|kind| kind == JsonKind::String) {
        if let Ok(Some(text)) = cursor.lenient_string() {
            let _ = fill_libraries(Cursor::new(text.as_bytes()), &mut libraries);
        }
    } else {
        let _ = fill_libraries(cursor, &mut libraries);
    }
    libraries
}

fn fill_libraries(mut cursor: Cursor, libraries: &mut Vec<Library>) -> Result<(), JsonFault> {
    cursor.begin_array()?;
    while cursor.next_element()? {
        let mut library = Library::default();
        if cursor.peek()? == JsonKind::Object {
            cursor.begin_object()?;
            while let Some(key) = cursor.next_key()? {
                match &*key {
                    "name" => {
                        let name = cursor.lenient_string()?.unwrap_or_default();
                        // Old files have the path here.
                        let name = name.rsplit(['/', '\\']).next();
                        library.name = name.unwrap_or_default().into();
                    }
                    "start" => library.start = number(&mut cursor)?,
                    "end" => library.end = number(&mut cursor)?,
                    _ => cursor.skip_value()?,
                }
            }
        } else {
            cursor.skip_value()?;
        }
        libraries.push(library);
    }
    Ok(())
}

fn number(cursor: &mut Cursor) -> Result<u64, JsonFault> {
    Ok(cursor.lenient_number()?.and_then(json::Number::as_u64).unwrap_or(0))
}

#[cfg(test)]
mod tests;
