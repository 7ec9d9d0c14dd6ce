//! Files written whole or not at all.
//!
//! A file grows beside its target under a name of its own and takes the target's name at the end, which is one step for
//! the file system. Until then it is on a list; an interrupt or a request to end removes what is on the list before it
//! ends the process, and an error removes it on the way out.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

/// Files that are not whole yet.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The status shells expect of a process that was interrupted: 128 and the number of the signal.
pub const INTERRUPTED: u8 = 130;

/// Set by a signal while a command ends by itself.
static CANCELLED: AtomicBool = AtomicBool::new(false);

/// True while a command ends by itself, having processes of others to end first.
static CANCELLABLE: AtomicBool = AtomicBool::new(false);

/// From now on a signal sets what this returns instead of ending the process.
pub fn cancel_on_signals() -> &'static AtomicBool {
    CANCELLABLE.store(true, Ordering::SeqCst);
    &CANCELLED
}

/// Removes unfinished files when the user or the system ends us.
pub fn clean_up_on_signals() {
    // Without a handler we would still work; nothing is lost but the cleaning up.
    let _ = ctrlc::set_handler(|| {
        if CANCELLABLE.load(Ordering::SeqCst) {
            CANCELLED.store(true, Ordering::SeqCst);
            return;
        }
        // Held until the process is gone, so that no other file is begun or finished meanwhile.
        let unfinished = UNFINISHED.lock();
        for path in unfinished.iter().flat_map(|paths| paths.iter()) {
            let _ = std::fs::remove_file(path);
        }
        #[expect(clippy::exit, reason = "this is what ending on a signal means")]
        std::process::exit(INTERRUPTED.into());
    });
}

/// Writes a file whole or not at all; `-` is standard output.
pub fn write(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    if path.as_os_str() == "-" {
        return to_stdout(content);
    }
    let cannot = || format!("cannot write {}", path.display());
    // What is no plain file (a terminal, a pipe, /dev/null) has no half-written state and must not be replaced.
    if path.symlink_metadata().is_ok_and(|data| !data.is_file() && !data.is_symlink()) {
        let mut out = BufWriter::new(File::options().write(true).open(path).with_context(cannot)?);
        return content(&mut out).and_then(|()| out.flush()).with_context(cannot);
    }
    // A link keeps pointing where it points.
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let unfinished = Unfinished::create(path).with_context(cannot)?;
    let mut out = BufWriter::new(&unfinished.file);
    content(&mut out).and_then(|()| out.flush()).with_context(cannot)?;
    drop(out);
    unfinished.finish(path).with_context(cannot)
}

/// Writes to standard output.
pub fn to_stdout(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    content(&mut out).and_then(|()| out.flush()).context("cannot write to standard output")
}

/// A file on the list; dropping it removes it.
struct Unfinished {
    path: PathBuf,
    file: File,
}

impl Unfinished {
    fn create(target: &Path) -> io::Result<Self> {
        let name = target.file_name().map_or_else(Default::default, |name| name.to_string_lossy());
        let path = target.with_file_name(format!(".{name}.{}.unfinished", std::process::id()));
        let mut list = UNFINISHED.lock().map_err(|_| io::Error::other("a writer failed"))?;
        let file = File::create_new(&path)?;
        list.push(path.clone());
        Ok(Self { path, file })
    }

    fn finish(self, target: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, target)
        // Dropping takes it off the list; there is nothing to remove any more.
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Ok(mut list) = UNFINISHED.lock() {
            list.retain(|path| *path != self.path);
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("perfblame-output-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let target = folder.join("out.txt");
        write(&target, |out| out.write_all(b"before")).unwrap();
        let failed = write(&target, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "before");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
