//! Which classes a program has, and where each one is: folders, jars, and jars in jars.
//!
//! The order is the class path's: of two classes of one name the JVM takes the first, and so does this. Nothing is
//! unpacked here but archives in archives; names, sizes and checksums come from the lists.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Crc;
use hashbrown::HashMap;
use perfblame_archive::{Archive, Bytes, ZipError};
use perfblame_words::counted;

use super::class_file::{MAGIC, name_of};
use super::fingerprint::class_key;
use super::parallel::in_parallel;
use super::{ClassOptions, ClassesError};

/// A class that the JVM would find.
pub struct Found {
    pub key: u128,
    pub crc: u32,
    pub size: u64,
    place: ClassPlace,
}

enum ClassPlace {
    File(PathBuf),
    Archive(Arc<Jar>, usize),
}

/// A jar, or a jar in a jar.
struct Jar {
    /// How to call it: `app.jar!/BOOT-INF/lib/a.jar`.
    name: String,
    archive: Archive<Bytes>,
}

impl Jar {
    fn open(name: String, bytes: Vec<u8>) -> Result<Self, ZipError> {
        Ok(Self { name, archive: Archive::of_bytes(Bytes::from(bytes))? })
    }
}

/// All classes of one side.
#[derive(Default)]
pub struct Classes {
    pub found: Vec<Found>,
    pub by_key: HashMap<u128, usize>,
    pub warnings: Warnings,
    archives: usize,
    /// Bytes that all classes will unpack to.
    unpacked: u64,
    /// Bytes of archives that had to be unpacked from archives.
    nested: u64,
    shadowed: usize,
    left_out: usize,
}

/// Sentences about what could not be read. A broken archive could say thousands; after some they are counted.
#[derive(Default)]
pub struct Warnings {
    said: Vec<String>,
    more: usize,
}

const MOST_WARNINGS: usize = 50;

impl Warnings {
    pub fn say(&mut self, warning: String) {
        if self.said.len() < MOST_WARNINGS {
            self.said.push(warning);
        } else {
            self.more += 1;
        }
    }

    pub fn finish(mut self, side: &str) -> Vec<String> {
        if self.more > 0 {
            let more = counted(self.more as u64, "more file", "more files");
            self.said.push(format!("{side}: {more} could not be read"));
        }
        self.said
    }
}

/// What is read at most. Real programs stay far below; archives that were made to burst do not.
const LARGEST_CLASS: u64 = 64 << 20;
const LARGEST_MANIFEST: u64 = 16 << 20;
const MOST_NESTED: u64 = 2 << 30;
const MOST_UNPACKED: u64 = 16 << 30;
const DEEPEST_ARCHIVE: usize = 4;
/// Lists can repeat each other: a small archive of archives of archives names any number of them.
const MOST_ARCHIVES: usize = 20_000;

/// Finds the classes in folders, archives and class files.
pub fn find_classes(
    paths: &[PathBuf],
    options: &ClassOptions,
    side: &'static str,
) -> Result<Classes, ClassesError> {
    let mut classes = Classes::default();
    for path in paths {
        let metadata = std::fs::metadata(path)
            .map_err(|source| ClassesError::Read { path: path.clone(), source })?;
        if metadata.is_dir() {
            folder(&mut classes, path, options)?;
            continue;
        }
        let bytes = std::fs::read(path)
            .map_err(|source| ClassesError::Read { path: path.clone(), source })?;
        if bytes.starts_with(&MAGIC) {
            files(&mut classes, vec![path.clone()]);
            continue;
        }
        let archive = Jar::open(path.display().to_string(), bytes)
            .map_err(|what| ClassesError::NoArchive { path: path.clone(), what })?;
        add_archive(&mut classes, archive, options);
    }
    classes.say_what_is_missing(side);
    if classes.found.is_empty() {
        return Err(ClassesError::NoClasses { side, paths: paths.to_vec() });
    }
    Ok(classes)
}

/// Finds the classes in an archive that is in memory.
pub fn find_in_archive(
    bytes: Vec<u8>,
    options: &ClassOptions,
    side: &'static str,
) -> Result<Classes, ClassesError> {
    let mut classes = Classes::default();
    let path = || PathBuf::from(side);
    let archive = Jar::open(side.to_owned(), bytes)
        .map_err(|what| ClassesError::NoArchive { path: path(), what })?;
    add_archive(&mut classes, archive, options);
    classes.say_what_is_missing(side);
    Ok(classes)
}

impl Classes {
    fn say_what_is_missing(&mut self, side: &str) {
        if self.shadowed > 0 {
            self.warnings.say(format!(
            "{side}: {} in several places with different contents; the first counts, as in the JVM",
            counted(self.shadowed as u64, "class is", "classes are")
        ));
        }
        if self.left_out > 0 {
            self.warnings.say(format!(
                "{side}: {} left out, because the classes unpack to more than {} GB in total",
                counted(self.left_out as u64, "class or archive was", "classes or archives were"),
                MOST_UNPACKED >> 30
            ));
        }
    }

    /// The bytes of a class.
    pub fn read(&self, index: usize) -> Result<Vec<u8>, String> {
        match &self.found[index].place {
            ClassPlace::File(path) => {
                std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
            }
            ClassPlace::Archive(jar, entry) => (jar.archive)
                .read(*entry, LARGEST_CLASS, &MAGIC)
                .map_err(|reason| format!("{}: {reason}", self.name(index))),
        }
    }

    /// What to call a class in a message.
    pub fn name(&self, index: usize) -> String {
        match &self.found[index].place {
            ClassPlace::File(path) => path.display().to_string(),
            ClassPlace::Archive(jar, entry) => {
                format!("{}!/{}", jar.name, jar.archive.members[*entry].name)
            }
        }
    }

    fn add(&mut self, found: Found) {
        if self.unpacked.saturating_add(found.size) > MOST_UNPACKED {
            self.left_out += 1;
            return;
        }
        if let Some(first) = self.by_key.get(&found.key) {
            let first = &self.found[*first];
            self.shadowed += usize::from((first.crc, first.size) != (found.crc, found.size));
            return;
        }
        self.unpacked += found.size;
        self.by_key.insert(found.key, self.found.len());
        self.found.push(found);
    }
}

/// Class files below a folder first, then the archives, each in the order of their names. Folders have no versions:
/// what lies in `META-INF` is not loaded.
fn folder(classes: &mut Classes, path: &Path, options: &ClassOptions) -> Result<(), ClassesError> {
    let (mut class_files, mut archives) = (Vec::new(), Vec::new());
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        let unread = |source| ClassesError::Read { path: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let path = entry.path();
            // Links to folders are not followed, since they can lead in circles.
            if entry.file_type().map_err(unread)?.is_dir() {
                if entry.file_name() != "META-INF" {
                    open.push(path);
                }
            } else if extension(&path.to_string_lossy()) == "class" {
                if entry.file_name() != "module-info.class" {
                    class_files.push(path);
                }
            } else if is_archive(&path.to_string_lossy()) {
                archives.push(path);
            }
        }
    }
    class_files.sort();
    archives.sort();
    files(classes, class_files);
    for path in archives {
        let opened = std::fs::read(&path).map_err(|error| error.to_string()).and_then(|bytes| {
            Jar::open(path.display().to_string(), bytes).map_err(|error| error.to_string())
        });
        match opened {
            Ok(archive) => add_archive(classes, archive, options),
            Err(error) => classes.warnings.say(format!("{}: {error}", path.display())),
        }
    }
    Ok(())
}

fn files(classes: &mut Classes, paths: Vec<PathBuf>) {
    let read = in_parallel(&paths, |path| {
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        let name = name_of(&bytes).map_err(|error| error.to_string())?;
        let mut crc = Crc::new();
        crc.update(&bytes);
        Ok::<_, String>(name.map(|name| (class_key(name), crc.sum(), bytes.len() as u64)))
    });
    for (path, read) in paths.into_iter().zip(read) {
        match read {
            Ok(Some((key, crc, size))) => {
                classes.add(Found { key, crc, size, place: ClassPlace::File(path) });
            }
            Ok(None) => {}
            Err(error) => classes.warnings.say(format!("{}: {error}", path.display())),
        }
    }
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn is_archive(name: &str) -> bool {
    let extension = extension(name);
    ["jar", "war", "ear", "jmod"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

fn is_module(jar: &Jar) -> bool {
    extension(&jar.name).eq_ignore_ascii_case("jmod")
}

fn add_archive(classes: &mut Classes, jar: Jar, options: &ClassOptions) {
    // Depth first, so that the order is the one of the lists.
    let mut open = vec![(Arc::new(jar), 0usize)];
    while let Some((jar, depth)) = open.pop() {
        classes.archives += 1;
        if classes.archives > MOST_ARCHIVES {
            classes.left_out += 1;
            continue;
        }
        for (name, entry) in chosen(&jar, options, &mut classes.warnings) {
            let listed = &jar.archive.members[entry];
            let place = ClassPlace::Archive(Arc::clone(&jar), entry);
            classes.add(Found {
                key: class_key(name.as_bytes()),
                crc: listed.crc,
                size: listed.size,
                place,
            });
        }
        let mut nested = Vec::new();
        for (index, entry) in jar.archive.members.iter().enumerate() {
            // What a module carries beside its classes is for other programs.
            if !is_archive(&entry.name) || is_module(&jar) {
                continue;
            }
            let said = |reason: &str| format!("{}!/{}: {reason}", jar.name, entry.name);
            if depth == DEEPEST_ARCHIVE {
                classes.warnings.say(said("archives are nested too deeply"));
                continue;
            }
            if classes.nested.saturating_add(entry.size) > MOST_NESTED {
                classes.left_out += 1;
                continue;
            }
            match jar.archive.nested(index, MOST_NESTED) {
                Ok(opened) => {
                    classes.nested += entry.size;
                    let name = format!("{}!/{}", jar.name, entry.name);
                    nested.push((Arc::new(Jar { name, archive: opened }), depth + 1));
                }
                Err(reason) => classes.warnings.say(said(&reason.to_string())),
            }
        }
        open.extend(nested.into_iter().rev());
    }
}

/// The classes of an archive by name. Of the copies for several Java versions in an archive that says
/// `Multi-Release: true`, the one that a JVM of the wanted version would load: the highest that is not above it. Of two
/// entries of one name the JVM finds the last.
fn chosen(jar: &Jar, options: &ClassOptions, warnings: &mut Warnings) -> Vec<(String, usize)> {
    let versioned = is_multi_release(jar, warnings);
    let mut best: BTreeMap<&str, (u32, usize)> = BTreeMap::new();
    let mut repeated = 0;
    for (index, entry) in jar.archive.members.iter().enumerate() {
        let Some(path) = entry.name.strip_suffix(".class") else { continue };
        let (path, version) = match path.strip_prefix("META-INF/versions/") {
            Some(rest) => {
                let Some((version, rest)) = rest.split_once('/') else { continue };
                let Ok(version) = version.parse::<u32>() else { continue };
                let wanted = options.java_release.is_none_or(|release| version <= release);
                if !versioned || version < 9 || !wanted {
                    continue;
                }
                (rest, version)
            }
            None if path.starts_with("META-INF/") => continue,
            None => (path, 0),
        };
        let prefixes: &[&str] =
            if is_module(jar) { &["classes/"] } else { &["BOOT-INF/classes/", "WEB-INF/classes/"] };
        let name = prefixes.iter().find_map(|prefix| path.strip_prefix(prefix)).unwrap_or(path);
        if name == "module-info" {
            continue;
        }
        let place = best.entry(name).or_insert((version, index));
        if place.1 != index {
            repeated += usize::from(place.0 == version);
            if version >= place.0 {
                *place = (version, index);
            }
        }
    }
    if repeated > 0 {
        warnings.say(format!(
            "{}: {} listed more than once; the last counts, as in the JVM",
            jar.name,
            counted(repeated as u64, "class is", "classes are")
        ));
    }
    let mut chosen: Vec<_> =
        best.into_iter().map(|(name, (_, index))| (name.to_owned(), index)).collect();
    chosen.sort_by_key(|(_, index)| *index);
    chosen
}

fn is_multi_release(jar: &Jar, warnings: &mut Warnings) -> bool {
    let is_manifest = |name: &str| name.eq_ignore_ascii_case("META-INF/MANIFEST.MF");
    let found = jar.archive.members.iter().position(|entry| is_manifest(&entry.name));
    let Some(index) = found else { return false };
    match jar.archive.read(index, LARGEST_MANIFEST, b"") {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            // Only the first section speaks of the archive itself.
            text.lines().take_while(|line| !line.trim_end().is_empty()).any(|line| {
                line.split_once(':').is_some_and(|(name, value)| {
                    name.eq_ignore_ascii_case("Multi-Release")
                        && value.trim().eq_ignore_ascii_case("true")
                })
            })
        }
        Err(reason) => {
            warnings.say(format!("{}!/META-INF/MANIFEST.MF: {reason}", jar.name));
            false
        }
    }
}
