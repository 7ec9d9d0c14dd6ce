//! The pipe through which perf takes orders while it records.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Two named pipes in the folder of what is unfinished: for orders, and for perf's word that it has taken one.
pub struct Control {
    orders: PathBuf,
    answers: PathBuf,
    /// Open from the start, as perf does not wait for somebody to listen.
    listening: File,
}

impl Control {
    /// Makes the pipes; nothing where the file system has none.
    pub fn create(scratch: &Path) -> Option<Self> {
        let (orders, answers) = (scratch.join("control"), scratch.join("answers"));
        for path in [&orders, &answers] {
            nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).ok()?;
        }
        let listening =
            File::options().read(true).custom_flags(nix::libc::O_NONBLOCK).open(&answers).ok()?;
        Some(Self { orders, answers, listening })
    }

    /// As perf wants to hear of it.
    pub fn option(&self) -> OsString {
        let mut option = OsString::from("--control=fifo:");
        option.push(&self.orders);
        option.push(",");
        option.push(&self.answers);
        option
    }

    /// Gives an order; true when perf will get it.
    pub fn say(&self, order: &str) -> bool {
        // perf keeps the pipe open for reading; without a reader, opening fails instead of waiting for one.
        let open =
            File::options().write(true).custom_flags(nix::libc::O_NONBLOCK).open(&self.orders);
        open.and_then(|mut pipe| pipe.write_all(format!("{order}\n").as_bytes())).is_ok()
    }

    /// True when perf has answered since the last time it was asked.
    pub fn answered(&self) -> bool {
        let mut answer = [0; 256];
        (&self.listening).read(&mut answer).is_ok_and(|size| size > 0)
    }
}
