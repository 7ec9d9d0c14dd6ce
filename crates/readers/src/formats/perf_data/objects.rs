//! What `perfblame record os` adds to a recording: whose code each mapped file is, which package brought it, and how long
//! threads waited for a processor.
//!
//! All are known on the machine that is recorded, and perf writes none of it. They stand behind everything that the header
//! of the file speaks of, so that perf itself does not notice: lines of text, their length as eight bytes, little end
//! first, and eight letters.
//!
//! ```text
//! LAYER TAB PACKAGE TAB PATH NEWLINE
//! run-queue TAB THREAD TAB UNTIL TAB NANOSECONDS NEWLINE
//! ```

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use hashbrown::HashMap;
use perfblame_cct::Layer;
use perfblame_native::{hex, layer_of};

/// The last bytes of a recording that has such lines.
const MAGIC: &[u8; 8] = b"PBOBJCT1";

/// More than any process maps.
const LARGEST: u64 = 16 << 20;

/// Where the binaries of recordings are that were made to be taken elsewhere, beside the recordings.
pub const FOLDER: &str = "objects";

/// A mapped file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// Whose code it is.
    pub layer: Layer,
    /// What brought it, with its version.
    pub package: Option<String>,
}

/// Mapped files by their paths.
pub type Objects = HashMap<String, Object>;

/// A thread had to wait for a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunDelay {
    /// Until when, in nanoseconds on the recording's clock.
    pub time: i64,
    /// The thread's number.
    pub thread: u64,
    /// How long since the last time.
    pub nanos: i64,
}

/// All that was added.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Added {
    /// What is known of mapped files.
    pub objects: Objects,
    /// How long threads waited for processors, by time.
    pub delays: Vec<RunDelay>,
}

/// How a mapped file came into a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It is the program.
    Program,
    /// The program, or one of its libraries, names it.
    Needed,
    /// Nothing names it: it was loaded by code.
    Loaded,
}

/// Whose code a file is, by its name and by how it came into the process.
pub fn layer_by_role(path: &str, role: Role) -> Layer {
    let base = path.rsplit('/').next().unwrap_or(path);
    let stem = base.split(['.', '-']).next().unwrap_or(base);
    if ["libc", "libpthread", "libm", "libdl", "librt", "ld"].contains(&stem) {
        return Layer::Runtime;
    }
    match (layer_of(path), role) {
        (Layer::Library, Role::Loaded) => Layer::Plugin,
        (layer, _) => layer,
    }
}

/// The name of a file in [`FOLDER`]; two files of one name have different builds.
pub fn file_name(path: &str, build_id: &[u8]) -> String {
    let base = path.rsplit('/').next().unwrap_or(path);
    format!("{base}-{}", hex(build_id))
}

/// The first word of lines about threads.
const RUN_QUEUE: &str = "run-queue";

/// Adds to a complete recording what is known of its mapped files and of its threads.
pub fn append(
    file: &Path,
    objects: &[(String, Object)],
    delays: impl IntoIterator<Item = RunDelay>,
) -> io::Result<()> {
    let mut text = String::new();
    for (path, object) in objects {
        let package = object.package.as_deref().unwrap_or_default();
        // Lines end at line ends, whatever names hold.
        if [path, package].iter().any(|text| text.contains(['\n', '\t'])) {
            continue;
        }
        let _ = writeln!(text, "{}\t{package}\t{path}", object.layer.name());
    }
    for RunDelay { time, thread, nanos } in delays {
        let _ = writeln!(text, "{RUN_QUEUE}\t{thread}\t{time}\t{nanos}");
    }
    let size = (text.len() as u64).to_le_bytes();
    let mut file = OpenOptions::new().append(true).open(file)?;
    file.write_all(&[text.as_bytes(), &size, MAGIC].concat())
}

/// What was added; nothing where nothing was.
pub fn read(file: &mut (impl Read + Seek + ?Sized)) -> Added {
    lines(file).map_or_else(|_| Added::default(), |text| parse(&text))
}

fn lines(file: &mut (impl Read + Seek + ?Sized)) -> io::Result<String> {
    let end = file.seek(SeekFrom::End(0))?;
    let Some(at) = end.checked_sub(16) else { return Ok(String::new()) };
    file.seek(SeekFrom::Start(at))?;
    let mut tail = [0; 16];
    file.read_exact(&mut tail)?;
    let (size, magic) = tail.split_at(8);
    let size = u64::from_le_bytes(size.try_into().unwrap_or_default());
    let start = at.checked_sub(size).filter(|_| magic == MAGIC && size <= LARGEST);
    let Some(start) = start else { return Ok(String::new()) };
    file.seek(SeekFrom::Start(start))?;
    // The length lies within the file, as was checked.
    let mut text = vec![0; usize::try_from(size).unwrap_or(0)];
    file.read_exact(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn parse(text: &str) -> Added {
    let mut added = Added::default();
    for line in text.lines() {
        let mut fields = line.splitn(3, '\t');
        let (Some(kind), Some(second), Some(rest)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        if kind == RUN_QUEUE {
            added.delays.extend(delay(second, rest));
        } else if let Some(layer) = Layer::from_name(kind) {
            let package = (!second.is_empty()).then(|| second.to_owned());
            added.objects.insert(rest.to_owned(), Object { layer, package });
        }
    }
    added.delays.sort_by_key(|delay| (delay.time, delay.thread));
    added
}

fn delay(thread: &str, rest: &str) -> Option<RunDelay> {
    let (time, nanos) = rest.split_once('\t')?;
    let (time, nanos): (i64, i64) = (time.parse().ok()?, nanos.parse().ok()?);
    let thread = thread.parse().ok()?;
    (nanos >= 0).then_some(RunDelay { time, thread, nanos })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_read_again() {
        let name = format!("perfblame-objects-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, b"PERFILE2 and the rest").unwrap();
        let plain = read(&mut std::fs::File::open(&path).unwrap());
        assert_eq!(plain, Added::default());
        let plugin = Object { layer: Layer::Plugin, package: Some("libfoo1 1.2-3".to_owned()) };
        let own = Object { layer: Layer::Application, package: None };
        let odd = Object { layer: Layer::Library, package: None };
        let objects = [
            ("/usr/lib/libfoo.so".to_owned(), plugin.clone()),
            ("/home/me/app".to_owned(), own.clone()),
            ("/a\nb".to_owned(), odd),
        ];
        let delay = |time| RunDelay { time, thread: 7, nanos: 500 };
        append(&path, &objects, [delay(90), delay(20)]).unwrap();
        let read = read(&mut std::fs::File::open(&path).unwrap());
        assert_eq!(read.objects.len(), 2);
        assert_eq!(read.objects.get("/usr/lib/libfoo.so"), Some(&plugin));
        assert_eq!(read.objects.get("/home/me/app"), Some(&own));
        assert_eq!(read.delays, [delay(20), delay(90)]);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn lengths_beyond_the_file_are_not_believed() {
        let mut bytes = b"kernel\t\t/x\n".to_vec();
        for size in [12, 1 << 60, u64::MAX] {
            let mut file = bytes.clone();
            file.extend(u64::to_le_bytes(size));
            file.extend(MAGIC);
            assert_eq!(read(&mut io::Cursor::new(file)), Added::default());
        }
        bytes.extend(u64::to_le_bytes(11));
        bytes.extend(MAGIC);
        assert_eq!(read(&mut io::Cursor::new(bytes)).objects.len(), 1);
    }

    #[test]
    fn roles_tell_plug_ins_from_libraries() {
        for (path, role, layer) in [
            ("/usr/bin/app", Role::Program, Layer::Application),
            ("/usr/bin/python3.11", Role::Program, Layer::Runtime),
            ("/usr/lib/libz.so.1.2.13", Role::Needed, Layer::Library),
            ("/usr/lib/app/mod_slow.so", Role::Loaded, Layer::Plugin),
            ("/usr/lib/libc.so.6", Role::Needed, Layer::Runtime),
            ("/usr/lib/libm.so.6", Role::Loaded, Layer::Runtime),
            ("/usr/lib/jvm/lib/server/libjvm.so", Role::Loaded, Layer::Runtime),
            ("/usr/lib/libcurl.so.4", Role::Needed, Layer::Library),
        ] {
            assert_eq!(layer_by_role(path, role), layer, "{path}");
        }
    }
}
