//! Where answers go, and what an interrupt does: what is not whole yet is removed before the process ends.

use std::io::{self, Write};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use perfblame_analysis::Ask;
use perfblame_disk as disk;

use crate::failure::Failure;

/// The status shells expect of a process that was interrupted: 128 and the number of the signal.
pub const INTERRUPTED: u8 = 130;

/// Cancelled by a signal while a command ends by itself.
static ASK: LazyLock<Ask> = LazyLock::new(Ask::default);

/// True while a command ends by itself, having processes of others to end first.
static CANCELLABLE: AtomicBool = AtomicBool::new(false);

/// From now on a signal cancels what this returns instead of ending the process.
pub fn cancel_on_signals() -> &'static Ask {
    CANCELLABLE.store(true, Ordering::SeqCst);
    &ASK
}

/// Removes unfinished files when the user or the system ends us.
pub fn clean_up_on_signals() {
    // Without a handler we would still work; nothing is lost but the cleaning up.
    let _ = ctrlc::set_handler(|| {
        if CANCELLABLE.load(Ordering::SeqCst) {
            ASK.cancel();
            return;
        }
        // Held until the process is gone, so that no other file is begun or finished meanwhile.
        let _held = disk::remove_unfinished();
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
    disk::write(path, content).map_err(|error| unwritten(path, error))
}

/// Why a file could not be written, in more words than the system's where a folder is missing.
fn unwritten(path: &Path, error: io::Error) -> anyhow::Error {
    let what = format!("cannot write {}", path.display());
    match path.parent() {
        Some(folder) if error.kind() == io::ErrorKind::NotFound && !folder.exists() => Failure {
            what,
            why: format!("there is no folder {}", folder.display()),
            help: Some("create the folder first, or choose another one".to_owned()),
        }
        .into(),
        _ => anyhow::Error::new(error).context(what),
    }
}

/// Writes to standard output.
pub fn to_stdout(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    disk::print(content).context("cannot write to standard output")
}
