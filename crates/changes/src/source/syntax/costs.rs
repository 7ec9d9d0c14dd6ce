//! What in a body costs time: calls by name, and which of them allocate, lock or wait.
//!
//! Names are all that a syntax tree knows; the lists are the standard libraries' words for it.

use crate::Addition;
use crate::source::names::last_part;

const ALLOCATES: &[&str] = &[
    "Arc::new",
    "Box::new",
    "Rc::new",
    "String::from",
    "aligned_alloc",
    "append",
    "calloc",
    "clone",
    "collect",
    "concat",
    "deepcopy",
    "format!",
    "make",
    "make_shared",
    "make_unique",
    "malloc",
    "new",
    "realloc",
    "strdup",
    "to_owned",
    "to_string",
    "to_vec",
    "vec!",
    "with_capacity",
];

const LOCKS: &[&str] = &[
    "EnterCriticalSection",
    "Lock",
    "RLock",
    "acquire",
    "lock",
    "lockInterruptibly",
    "lock_guard",
    "mtx_lock",
    "mutex_lock",
    "pthread_mutex_lock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_spin_lock",
    "scoped_lock",
    "shared_lock",
    "spin_lock",
    "tryLock",
    "try_lock",
    "unique_lock",
];

const WAITS: &[&str] = &[
    "Print",
    "Printf",
    "Println",
    "ReadAll",
    "ReadFile",
    "Sleep",
    "Wait",
    "WriteFile",
    "accept",
    "connect",
    "delay",
    "epoll_wait",
    "eprintln!",
    "execFileSync",
    "execSync",
    "fetch",
    "fflush",
    "fgets",
    "flush",
    "fopen",
    "fprintf",
    "fputs",
    "fread",
    "fsync",
    "fwrite",
    "getline",
    "join",
    "nanosleep",
    "open",
    "park",
    "parkNanos",
    "poll",
    "print",
    "print!",
    "printf",
    "println",
    "println!",
    "puts",
    "read",
    "readAllBytes",
    "readAllLines",
    "readFile",
    "readFileSync",
    "readLine",
    "readString",
    "read_exact",
    "read_line",
    "read_to_end",
    "read_to_string",
    "recv",
    "recvfrom",
    "select",
    "send",
    "sendto",
    "sleep",
    "sleep_for",
    "sleep_until",
    "sync_all",
    "urlopen",
    "usleep",
    "wait",
    "waitFor",
    "wait_for",
    "write",
    "writeFile",
    "writeFileSync",
    "write_all",
    "writeln!",
];

/// A call under its name, and what that name says about it.
pub(super) fn call(name: String, costs: &mut Vec<Addition>) {
    let last = last_part(&name);
    let known = |list: &[&str]| {
        list.binary_search(&last).is_ok() || list.binary_search(&name.as_str()).is_ok()
    };
    // `new` allocates where it stands alone; `Foo::new` may do anything.
    let any_new = last == "new" && ALLOCATES.binary_search(&name.as_str()).is_err();
    if known(ALLOCATES) && !any_new {
        costs.push(Addition::Allocation);
    }
    if known(LOCKS) {
        costs.push(Addition::Lock);
    }
    if known(WAITS) {
        costs.push(Addition::Wait);
    }
    costs.push(Addition::Call(name));
}

/// Whether a type's name says that making one takes a lock.
pub(super) fn is_lock_type(name: &[u8]) -> bool {
    [&b"lock_guard"[..], b"unique_lock", b"scoped_lock", b"shared_lock"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::{ALLOCATES, LOCKS, WAITS};

    #[test]
    fn lists_are_sorted_as_they_are_searched() {
        for list in [ALLOCATES, LOCKS, WAITS] {
            assert!(list.is_sorted());
        }
    }
}
