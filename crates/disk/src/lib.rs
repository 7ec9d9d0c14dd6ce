//! Files and folders that are there whole or not at all.
//!
//! A file grows beside its target under a name of its own and takes the target's name at the end, which is one step for
//! the file system. Until then it is on a list; an error removes it on the way out, and whoever handles interrupts
//! removes what is on the list before the process ends ([`remove_unfinished`]).
#![warn(missing_docs)]

mod scratch;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use scratch::Scratch;

/// Files that are not whole yet.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn list() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all files that are not whole yet. No file is begun or finished as long as the answer is held: hold it until
/// the process ends.
pub fn remove_unfinished() -> impl Drop {
    let unfinished = list();
    for path in unfinished.iter() {
        let _ = std::fs::remove_file(path);
    }
    unfinished
}

/// Writes to standard output.
pub fn print(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    content(&mut out).and_then(|()| out.flush())
}

/// Writes a file whole or not at all.
pub fn write(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // What is not a plain file (a terminal, a pipe, /dev/null) has no half-written state and must not be replaced.
    if path.symlink_metadata().is_ok_and(|data| !data.is_file() && !data.is_symlink()) {
        let mut out = BufWriter::new(File::options().write(true).open(path)?);
        return content(&mut out).and_then(|()| out.flush());
    }
    // A link keeps pointing where it points.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let unfinished = Unfinished::beside(&path);
    let mut out = BufWriter::new(File::create_new(&unfinished.path)?);
    content(&mut out).and_then(|()| out.flush())?;
    drop(out);
    unfinished.finish()
}

/// Writes these bytes whole or not at all.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, |out| out.write_all(bytes))
}

/// A place beside a target for a file that is not whole yet. Dropping it removes the file.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
    target: PathBuf,
}

impl Unfinished {
    /// A place that nobody else has. The file is still to be made.
    pub fn beside(target: &Path) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = target.file_name().map_or_else(Default::default, |name| name.to_string_lossy());
        let name = format!(".{name}.{}-{number}.unfinished", std::process::id());
        let path = target.with_file_name(name);
        list().push(path.clone());
        Self { path, target: target.to_owned() }
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file is whole: gives it its name.
    pub fn finish(self) -> io::Result<()> {
        std::fs::rename(&self.path, &self.target)
        // Dropping takes it off the list; there is nothing to remove any more.
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut list = list();
        list.retain(|path| *path != self.path);
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("perfblame-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn files(&self) -> usize {
            std::fs::read_dir(&self.0).unwrap().count()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let folder = Folder::new("whole");
        let target = folder.0.join("out.txt");
        write_bytes(&target, b"before").unwrap();
        let failed = write(&target, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "before");
        assert_eq!(folder.files(), 1);
        assert!(write_bytes(&folder.0.join("missing/out.txt"), b"").is_err());
    }

    #[test]
    fn what_another_program_writes_is_there_at_the_end() {
        let folder = Folder::new("others");
        let target = folder.0.join("out.txt");
        let unfinished = Unfinished::beside(&target);
        std::fs::write(unfinished.path(), "by another program").unwrap();
        assert!(!target.exists());
        unfinished.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "by another program");
        let unfinished = Unfinished::beside(&target);
        std::fs::write(unfinished.path(), "half").unwrap();
        drop(unfinished);
        assert_eq!(folder.files(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_keeps_pointing_where_it_points() {
        let folder = Folder::new("links");
        let (target, link) = (folder.0.join("out.txt"), folder.0.join("link"));
        write_bytes(&target, b"before").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write_bytes(&link, b"after").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "after");
        write_bytes(Path::new("/dev/null"), b"nothing").unwrap();
    }
}
