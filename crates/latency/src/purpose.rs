//! What a wait is for, as far as names tell: a lock, another thread's end, or nothing at all.
//!
//! Most waits are judged by what their thread does besides, see `idle.rs`. A few need no judgement. Who waits in the
//! code of a lock is hindered. Who joins a thread waits for all that it does, which is counted there. And runtimes have
//! threads and loops of their own that look after a program, and whose waiting says nothing about it.

/// What a wait below a frame is for. The first that is found on a stack, in this order, holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// A lock: whoever waits is hindered.
    Lock,
    /// The end of another thread.
    Join,
    /// Something for a runtime to look after.
    Service,
}

/// Where runtimes wait until there is something to do.
///
/// Go: threads without a goroutine to run, the monitor that sleeps by turns, the receiver of signals. HotSpot: the
/// loops of its own threads. Tokio and Rayon: workers without a task.
const SERVICES: &[&str] = &[
    "runtime.findRunnable",
    "runtime.findrunnable",
    "runtime.stopm",
    "runtime.stoplockedm",
    "runtime.sysmon",
    "runtime.templateThread",
    "os/signal.signal_recv",
    "WatcherThread::run",
    "WatcherThread::sleep",
    "VMThread::loop",
    "VMThread::wait_for_vm_operation",
    "CompileQueue::get",
    "MonitorDeflationThread::monitor_deflation_thread_entry",
    "ServiceThread::service_thread_entry",
    "NotificationThread::notification_thread_entry",
    "WorkerTaskDispatcher::worker_run_task",
    "tokio::runtime::scheduler::multi_thread::park::Parker::park",
    "tokio::runtime::blocking::pool::Inner::run",
    "rayon_core::sleep::Sleep::sleep",
    "rayon_core::registry::WorkerThread::wait_until_cold",
];

/// Threads that a Java virtual machine starts for itself, as the kernel knows them: by their first 15 letters.
const JVM_THREADS: &[&str] = &[
    "Attach Listener",
    "C1 CompilerThre",
    "C2 CompilerThre",
    "Common-Cleaner",
    "Finalizer",
    "G1 Conc#",
    "G1 Main Marker",
    "G1 Refine#",
    "G1 Service",
    "G1 Young RemSet",
    "GC Thread#",
    "Monitor Deflati",
    "Notification Th",
    "Reference Handl",
    "Service Thread",
    "Signal Dispatch",
    "Sweeper thread",
    "VM Periodic Tas",
    "VM Thread",
];

impl Purpose {
    /// All of them, the most telling first.
    pub(crate) const ALL: [Self; 3] = [Self::Lock, Self::Join, Self::Service];

    /// What a function of the C library tells.
    pub(crate) fn of_c_runtime(name: &str) -> Option<Self> {
        const LOCKS: [&str; 4] = ["mutex", "lll_lock", "rwlock", "spinlock"];
        const JOINS: [&str; 5] =
            ["pthread_join", "clockjoin", "timedjoin", "thrd_join", "thread::join"];
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if has(&LOCKS) {
            Some(Self::Lock)
        } else if has(&JOINS) {
            Some(Self::Join)
        } else {
            None
        }
    }

    /// What any other function tells.
    pub(crate) fn of_program(name: &str) -> Option<Self> {
        // Names may come with parameters.
        let name = name.split('(').next().unwrap_or(name);
        match name {
            "runtime.lock" | "runtime.lock2" => Some(Self::Lock),
            _ => SERVICES.contains(&name).then_some(Self::Service),
        }
    }
}

/// True for threads that a runtime starts for itself.
pub(crate) fn is_service_thread(name: &str) -> bool {
    JVM_THREADS.iter().any(|known| name.starts_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_waits_are_for() {
        for (name, expected) in [
            ("pthread_mutex_lock@@GLIBC_2.2.5", Some(Purpose::Lock)),
            ("__GI___lll_lock_wait", Some(Purpose::Lock)),
            ("__pthread_clockjoin_ex", Some(Purpose::Join)),
            ("pthread_join@@GLIBC_2.34", Some(Purpose::Join)),
            ("std::thread::join()", Some(Purpose::Join)),
            ("pthread_cond_wait@@GLIBC_2.3.2", None),
            ("join_strings", None),
        ] {
            assert_eq!(Purpose::of_c_runtime(name), expected, "{name}");
        }
        for (name, expected) in [
            ("runtime.findRunnable", Some(Purpose::Service)),
            ("runtime.lock2", Some(Purpose::Lock)),
            ("CompileQueue::get(CompilerThread*)", Some(Purpose::Service)),
            ("main.findRunnable", None),
            ("pthread_mutex_of_mine", None),
        ] {
            assert_eq!(Purpose::of_program(name), expected, "{name}");
        }
    }

    #[test]
    fn threads_of_a_virtual_machine_are_known_by_name() {
        for (name, expected) in [
            ("C2 CompilerThre", true),
            ("GC Thread#11", true),
            ("VM Thread", true),
            ("GC Threadpool", false),
            ("pool-1-thread-1", false),
            ("main", false),
        ] {
            assert_eq!(is_service_thread(name), expected, "{name}");
        }
    }
}
