//! What a thread waits for when it is not running.

use crate::purpose::Purpose;

/// What was waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WaitOn {
    /// A file: its data, its directory, a lock on it, the device below.
    File,
    /// A peer on the network or on this machine.
    Socket,
    /// The other end of a pipe.
    Pipe,
    /// Any of several descriptors: `poll`, `select`, `epoll_wait`.
    Poll,
    /// Another thread: a lock, a condition, a semaphore.
    Futex,
    /// Time to pass.
    Sleep,
    /// Another process to end.
    Child,
    /// A signal.
    Signal,
    /// Memory to be there.
    PageFault,
    /// A processor.
    RunQueue,
    /// Something else.
    Other,
}

impl WaitOn {
    /// All of them, in the order they are listed to users.
    pub const ALL: [Self; 11] = [
        Self::File,
        Self::Socket,
        Self::Pipe,
        Self::Poll,
        Self::Futex,
        Self::Sleep,
        Self::Child,
        Self::Signal,
        Self::PageFault,
        Self::RunQueue,
        Self::Other,
    ];

    /// The word users see.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Socket => "socket",
            Self::Pipe => "pipe",
            Self::Poll => "poll",
            Self::Futex => "futex",
            Self::Sleep => "sleep",
            Self::Child => "child process",
            Self::Signal => "signal",
            Self::PageFault => "page fault",
            Self::RunQueue => "run queue",
            Self::Other => "other",
        }
    }

    /// The inverse of [`WaitOn::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What a system call waits for by its nature: that is all it is for.
    pub(crate) fn of_call(call: &str) -> Option<Self> {
        Some(match call {
            "nanosleep" | "clock_nanosleep" => Self::Sleep,
            "futex" | "futex_wait" | "futex_waitv" | "semop" | "semtimedop" => Self::Futex,
            "poll" | "ppoll" | "select" | "pselect6" | "_newselect" | "epoll_wait"
            | "epoll_pwait" | "epoll_pwait2" | "epoll_wait_old" | "io_getevents"
            | "io_pgetevents" => Self::Poll,
            "accept" | "accept4" => Self::Socket,
            "wait4" | "waitid" | "waitpid" => Self::Child,
            "pause" | "rt_sigtimedwait" | "rt_sigsuspend" | "sigsuspend" => Self::Signal,
            "flock" => Self::File,
            _ => return None,
        })
    }

    /// What a blocked thread waits for: by its system call and, where one call serves many purposes, by the kernel
    /// functions below it, outermost first.
    pub(crate) fn of<'a>(call: Option<&str>, mut work: impl Iterator<Item = &'a str>) -> Self {
        if let Some(kind) = call.and_then(Self::of_call) {
            return kind;
        }
        match call {
            Some(
                "recvfrom" | "recvmsg" | "recvmmsg" | "recv" | "sendto" | "sendmsg" | "sendmmsg"
                | "send" | "connect" | "shutdown",
            ) => return Self::Socket,
            Some("io_uring_enter") => return Self::Poll,
            Some("fsync" | "fdatasync" | "sync" | "syncfs" | "msync" | "openat" | "open") => {
                return Self::File;
            }
            _ => {}
        }
        let told = work.find_map(|name| {
            let begins = |prefixes: &[&str]| prefixes.iter().any(|start| name.starts_with(start));
            let name_is = |part: &str| name.contains(part);
            if begins(&["sock_", "tcp_", "udp_", "unix_", "inet_", "inet6_", "sk_", "__skb_"]) {
                Some(Self::Socket)
            } else if begins(&["pipe_", "anon_pipe_", "wait_for_partner"]) {
                Some(Self::Pipe)
            } else if begins(&["futex_", "do_futex", "rt_mutex"]) {
                Some(Self::Futex)
            } else if begins(&["ep_poll", "do_sys_poll", "do_select", "eventfd_", "signalfd_"]) {
                Some(Self::Poll)
            } else if begins(&["do_wait", "do_exit"]) {
                Some(Self::Child)
            } else if begins(&["hrtimer_nanosleep", "do_nanosleep", "common_nsleep"]) {
                Some(Self::Sleep)
            } else if begins(&[
                "handle_mm_fault",
                "filemap_fault",
                "do_swap_page",
                "userfaultfd",
                "handle_userfault",
            ]) {
                Some(Self::PageFault)
            } else if begins(&[
                "ext4_",
                "xfs_",
                "btrfs_",
                "nfs_",
                "fuse_",
                "jbd2_",
                "filemap_",
                "folio_",
                "blk_",
                "submit_bio",
                "overlay",
                "ovl_",
                "generic_file_",
                "vfs_fsync",
                "wait_on_page",
                "balance_dirty",
                "tty_",
                "n_tty_",
            ]) || name_is("wait_on_buffer")
            {
                Some(Self::File)
            } else {
                None
            }
        });
        let by_default = match call {
            Some(
                "read" | "pread64" | "readv" | "preadv" | "preadv2" | "write" | "pwrite64"
                | "writev" | "pwritev" | "pwritev2" | "getdents64" | "getdents" | "stat" | "fstat"
                | "lstat" | "newfstatat" | "statx" | "unlink" | "unlinkat" | "rename" | "renameat"
                | "renameat2" | "mkdir" | "mkdirat" | "ftruncate" | "truncate" | "fallocate"
                | "sendfile64" | "copy_file_range" | "splice" | "access" | "faccessat" | "readlink"
                | "close" | "execve",
            ) => Self::File,
            _ => Self::Other,
        };
        told.unwrap_or(by_default)
    }

    /// How a wait may be meant: by what is waited for, in which system call, below which functions.
    /// `receives` where the kernel's functions tell that something is read from a peer: the call itself may be missing.
    pub(crate) fn nature(
        self,
        call: Option<&str>,
        receives: bool,
        purpose: Option<Purpose>,
    ) -> Nature {
        match (purpose, self) {
            (_, Self::File | Self::PageFault | Self::RunQueue) | (Some(Purpose::Lock), _) => {
                Nature::Work
            }
            (Some(Purpose::Join | Purpose::Service), _) => Nature::Idle,
            (None, Self::Poll | Self::Futex | Self::Signal | Self::Child) => match call {
                Some("poll" | "ppoll" | "select" | "pselect6" | "_newselect") => Nature::MaySleep,
                _ => Nature::MayIdle,
            },
            (None, Self::Socket) => match call {
                Some("accept" | "accept4") => Nature::MayIdle,
                Some("recvfrom" | "recvmsg" | "recvmmsg" | "recv" | "read" | "readv") => {
                    Nature::MayServe
                }
                None if receives => Nature::MayServe,
                _ => Nature::Work,
            },
            (None, Self::Pipe | Self::Sleep | Self::Other) => Nature::Work,
        }
    }
}

/// How a wait may be meant, before it is known what else its thread does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Nature {
    /// Its thread is hindered.
    Work,
    /// Its thread may have nothing to do.
    MayIdle,
    /// The same, or it sleeps: some system calls that wait for descriptors are a way to do that.
    MaySleep,
    /// A server may wait for the next request of a client, and a client for an answer.
    MayServe,
    /// It is nobody's concern.
    Idle,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_kernel_functions_tell_what_is_waited_for() {
        for (call, work, expected) in [
            (Some("futex"), &["do_futex"][..], WaitOn::Futex),
            (Some("clock_nanosleep"), &[], WaitOn::Sleep),
            (Some("read"), &["vfs_read", "sock_read_iter"], WaitOn::Socket),
            (Some("read"), &["vfs_read", "pipe_read"], WaitOn::Pipe),
            (Some("read"), &["vfs_read", "ext4_file_read_iter"], WaitOn::File),
            (Some("read"), &[], WaitOn::File),
            (Some("mmap"), &["rwsem_down_write_slowpath"], WaitOn::Other),
            (None, &["handle_mm_fault", "filemap_fault"], WaitOn::PageFault),
            (None, &[], WaitOn::Other),
        ] {
            assert_eq!(WaitOn::of(call, work.iter().copied()), expected, "{call:?} {work:?}");
        }
    }

    #[test]
    fn kinds_are_known_by_their_names() {
        for kind in WaitOn::ALL {
            assert_eq!(WaitOn::from_name(kind.name()), Some(kind));
        }
    }
}
