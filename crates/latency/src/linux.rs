//! What functions of the Linux kernel are for, by their names.
//!
//! Stacks taken in the kernel begin with how it was entered, and those taken at a context switch end with how the
//! scheduler was reached. Neither says what the program did: the same read shows under different entry functions at
//! its begin, at its end and while it waits, and a program that computes would be seen to spend its time in an
//! interrupt. Names are those of x86 and ARM kernels from 4.x on.

/// What a function is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KernelRole {
    /// Leads from user code to the system call, or watches that.
    Entry,
    /// The body of a system call; its name without prefix is in the second half of the function's.
    Call,
    /// An interrupt: what lies below was not called by what is above.
    Interrupt,
    /// Memory that was not there was touched.
    Fault,
    /// The kernel is about to go back to user code.
    Return,
    /// The thread gives up its processor.
    Scheduler,
    /// What writes the trace: work for us, not for the program.
    Tracer,
    /// Anything else: work.
    Work,
}

const CALL_PREFIXES: &[&str] = &[
    "__x64_sys_",
    "__ia32_compat_sys_",
    "__ia32_sys_",
    "__x32_compat_sys_",
    "__arm64_compat_sys_",
    "__arm64_sys_",
    "__riscv_sys_",
    "__s390x_sys_",
    "__se_compat_sys_",
    "__se_sys_",
    "__do_sys_",
    "SyS_",
];

const FAULTS: &[&str] = &[
    "asm_exc_page_fault",
    "exc_page_fault",
    "page_fault",
    "async_page_fault",
    "do_page_fault",
    "__do_page_fault",
    "do_user_addr_fault",
    "el0_da",
    "el0_ia",
    "do_mem_abort",
];

const ENTRIES: &[&str] = &[
    "do_syscall_64",
    "x64_sys_call",
    "ia32_sys_call",
    "syscall_exit_work",
    "do_fast_syscall_32",
    "__do_fast_syscall_32",
    "do_int80_syscall_32",
    "do_int80_emulation",
    "invoke_syscall",
    "do_el0_svc",
    "do_syscall_trace_enter",
    "do_syscall_trace_leave",
    "system_call_fastpath",
    "tracesys",
    "tracesys_phase2",
];

const ENTRY_PREFIXES: &[&str] = &[
    "entry_SYS",
    "entry_INT80",
    "syscall_trace_enter",
    "syscall_enter_from_user_mode",
    "el0_svc",
    "el0t_64_sync",
    "el0t_32_sync",
];

const TRACER_PREFIXES: &[&str] = &[
    "perf_",
    "__perf_",
    "__traceiter_",
    "trace_event_",
    "trace_call_bpf",
    "bpf_trace_",
    "__bpf_trace_",
    "ftrace_",
];

const RETURNS: &[&str] = &[
    "irqentry_exit_to_user_mode",
    "exit_to_user_mode",
    "exit_to_user_mode_loop",
    "exit_to_user_mode_prepare",
    "exit_to_usermode_loop",
    "prepare_exit_to_usermode",
    "syscall_exit_to_user_mode",
    "syscall_return_slowpath",
    "do_notify_resume",
    "work_pending",
    "ret_to_user",
];

const INTERRUPTS: &[&str] = &[
    "common_interrupt",
    "apic_timer_interrupt",
    "reschedule_interrupt",
    "ret_from_intr",
    "retint_user",
    "retint_kernel",
    "irq_exit",
    "irq_exit_rcu",
    "do_IRQ",
];

const INTERRUPT_PREFIXES: &[&str] = &[
    "asm_sysvec_",
    "sysvec_",
    "asm_common_interrupt",
    "asm_exc_",
    "smp_apic_timer",
    "el0t_64_irq",
    "el0_interrupt",
    "el0_irq",
    "el1h_64_irq",
    "el1_interrupt",
    "el1_irq",
];

const SCHEDULERS: &[&str] = &[
    "schedule",
    "__schedule",
    "__cond_resched",
    "_cond_resched",
    "schedule_idle",
    "io_schedule",
    "finish_task_switch",
];

const SCHEDULER_PREFIXES: &[&str] = &[
    "schedule_timeout",
    "schedule_hrtimeout",
    "schedule_preempt_disabled",
    "io_schedule_",
    "preempt_schedule",
    "__schedule",
];

/// What a kernel function is for.
pub(crate) fn role(name: &str) -> KernelRole {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if FAULTS.contains(&name) {
        KernelRole::Fault
    } else if RETURNS.contains(&name) {
        KernelRole::Return
    } else if INTERRUPTS.contains(&name) || begins(INTERRUPT_PREFIXES) {
        KernelRole::Interrupt
    } else if ENTRIES.contains(&name) || begins(ENTRY_PREFIXES) {
        KernelRole::Entry
    } else if begins(TRACER_PREFIXES) {
        KernelRole::Tracer
    } else if SCHEDULERS.contains(&name) || begins(SCHEDULER_PREFIXES) {
        KernelRole::Scheduler
    } else if call_name(name).is_some() {
        KernelRole::Call
    } else {
        KernelRole::Work
    }
}

/// True where the scheduler is asked for by a thread that could go on.
pub(crate) fn gives_way(name: &str) -> bool {
    name.ends_with("cond_resched") || name.starts_with("preempt_schedule")
}

/// The system call whose body a function is: `read` for `__x64_sys_read`.
pub(crate) fn call_name(name: &str) -> Option<&str> {
    let call = CALL_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    Some(plain_call(call))
}

/// The name under which a system call is known, whatever the kernel calls its body.
pub(crate) fn plain_call(call: &str) -> &str {
    match call {
        "newstat" => "stat",
        "newfstat" => "fstat",
        "newlstat" => "lstat",
        "newuname" => "uname",
        "sendfile" => "sendfile64",
        other => other.strip_suffix("_time32").unwrap_or(other),
    }
}

/// True for the library that makes system calls on behalf of everybody, and what comes with it: nobody means *it* by
/// "who waits".
pub(crate) fn is_c_runtime(component: &str) -> bool {
    let base = component.rsplit('/').next().unwrap_or(component);
    let base = base.strip_suffix(" (deleted)").unwrap_or(base);
    if matches!(base, "[vdso]" | "[vsyscall]") {
        return true;
    }
    let stem = base.split(['.', '-']).next().unwrap_or(base);
    let shared = base.contains(".so") || base.contains(".musl-");
    shared
        && matches!(
            stem,
            "libc" | "ld" | "libpthread" | "librt" | "libdl" | "libstdc++" | "libc++" | "libgcc_s"
        )
        || base.starts_with("ld-linux")
        || base.starts_with("ld-musl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_known_by_name() {
        for (name, expected) in [
            ("entry_SYSCALL_64_after_hwframe", KernelRole::Entry),
            ("__x64_sys_futex", KernelRole::Call),
            ("futex_wait_queue", KernelRole::Work),
            ("__schedule", KernelRole::Scheduler),
            ("schedule_hrtimeout_range_clock", KernelRole::Scheduler),
            ("asm_sysvec_apic_timer_interrupt", KernelRole::Interrupt),
            ("asm_exc_page_fault", KernelRole::Fault),
            ("asm_exc_nmi", KernelRole::Interrupt),
            ("irqentry_exit_to_user_mode", KernelRole::Return),
            ("perf_swevent_event", KernelRole::Tracer),
            ("schedule_page_writeback", KernelRole::Work),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
        assert_eq!(call_name("__x64_sys_newfstat"), Some("fstat"));
        assert_eq!(call_name("ksys_read"), None);
    }

    #[test]
    fn the_c_library_is_known_by_its_file() {
        for (component, expected) in [
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", true),
            ("/usr/lib/x86_64-linux-gnu/libc-2.31.so", true),
            ("/lib64/ld-linux-x86-64.so.2", true),
            ("/usr/lib/libstdc++.so.6.0.30", true),
            ("/lib/ld-musl-x86_64.so.1", true),
            ("[vdso]", true),
            ("/usr/lib/libcrypto.so.3", false),
            ("/usr/bin/ld", false),
            ("/usr/bin/nginx", false),
        ] {
            assert_eq!(is_c_runtime(component), expected, "{component}");
        }
    }
}
