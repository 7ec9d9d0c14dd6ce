//! From a stack as it was taken to the calls that a program is in: how the kernel is entered, left and interrupted is
//! taken out, a system call has one frame whenever it is seen, and names are without what compilers append.
//!
//! The function of the C library that makes a system call goes too: it does nothing else, and who it was called by is
//! whom users look for.

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FrameId, Function, FunctionId, Layer, Leaving, NameKinds, ProfileBuilder, StringId,
    TRUNCATED, normalise_name,
};

use crate::SYSCALL;
use crate::linux::{self, KernelRole};
use crate::purpose::Purpose;

/// Where a thread is with respect to system calls at an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Within {
    /// A system call begins or ends; none where one ends whose begin was not seen.
    Edge(Option<StringId>),
    /// Anywhere; in this system call, if it is in the kernel and nothing better is known.
    Anywhere(Option<StringId>),
}

/// Whose code a frame is, as far as waiting goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameOwner {
    /// The program, its libraries and plug-ins.
    User,
    /// The C library and what comes with it.
    CRuntime,
    /// A system call.
    Call,
    /// Work of the kernel.
    Kernel,
}

/// What is known of a frame.
#[derive(Clone, Copy, Debug)]
struct Known {
    kind: KnownKind,
    /// The frame to take instead.
    clean: FrameId,
    /// Of the frame to take.
    function: FunctionId,
    /// What a wait below this frame is for, where its name tells.
    purpose: Option<Purpose>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum KnownKind {
    /// The outermost frames are missing here.
    Truncated,
    /// No name and no object: where a walk ended.
    Nowhere,
    User,
    CRuntime,
    Kernel(KernelRole),
    /// The frame of a system call, made here.
    Call,
}

/// What became of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cleaned {
    /// Where the frame of the system call is.
    pub(crate) call: Option<usize>,
    /// The function that makes it and was left out.
    pub(crate) by: Option<FrameId>,
    /// The system call, by name.
    pub(crate) call_name: Option<StringId>,
    /// The outermost frames are missing.
    pub(crate) cut: bool,
    /// There is a frame that is no kernel's.
    pub(crate) user: bool,
    /// There was a page fault on the way.
    pub(crate) fault: bool,
    /// What its thread waits for, where frames tell.
    pub(crate) purpose: Option<Purpose>,
}

/// The program's part of the last stack of a thread, as it was taken and cleaned. Most of the next one is the same, and
/// need not be looked at again.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastStack {
    taken: Vec<FrameId>,
    clean: Vec<FrameId>,
    /// So many of the outermost frames taken are none.
    nowhere: usize,
    cut: bool,
    /// Where the first frame is that tells what its thread waits for, by purpose.
    purposes: [Option<usize>; Purpose::ALL.len()],
}

impl LastStack {
    /// Keeps the part that is the same in `stack`, and says how many frames that is.
    fn keep_common(&mut self, stack: &[FrameId]) -> usize {
        let same = self.taken.iter().zip(stack).take_while(|(last, now)| last == now).count();
        if same <= self.nowhere {
            self.taken.clear();
            self.clean.clear();
            (self.nowhere, self.cut, self.purposes) = (0, false, Default::default());
            return 0;
        }
        self.taken.truncate(same);
        self.clean.truncate(same - self.nowhere);
        self.purposes = self.purposes.map(|first| first.filter(|at| *at < same));
        same
    }

    fn purpose(&self) -> Option<Purpose> {
        Purpose::ALL.into_iter().find(|purpose| self.purposes[*purpose as usize].is_some())
    }
}

/// Cleans stacks, and remembers what frames are.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    known: Vec<Option<Known>>,
    calls: HashMap<StringId, FrameId>,
    truncated: Option<FrameId>,
}

impl Cleaner {
    /// Puts the calls of `stack`, outermost first, into `out`; `last` is the last stack of the same thread.
    pub(crate) fn clean(
        &mut self,
        builder: &mut ProfileBuilder,
        stack: &[FrameId],
        within: Within,
        last: &mut LastStack,
        out: &mut Vec<FrameId>,
    ) -> Cleaned {
        let user = self.clean_user(builder, stack, last);
        out.clear();
        out.extend_from_slice(&last.clean);
        let mut cleaned = Cleaned {
            cut: last.cut,
            user: !out.is_empty(),
            purpose: last.purpose(),
            ..Cleaned::default()
        };
        let (mut entered, mut kernel) = (false, false);
        let mut body = None;
        let mut kernel_at = 0;
        for frame in &stack[user..] {
            let known = self.known(builder, *frame);
            match known.kind {
                KnownKind::Truncated => cleaned.cut = true,
                KnownKind::Nowhere => {
                    if !out.is_empty() {
                        out.push(known.clean);
                    }
                }
                KnownKind::User | KnownKind::CRuntime => {
                    cleaned.user = true;
                    cleaned.purpose = cleaned.purpose.or(known.purpose);
                    out.push(known.clean);
                }
                KnownKind::Call => {}
                KnownKind::Kernel(role) => {
                    if !kernel {
                        kernel = true;
                        kernel_at = out.len();
                    }
                    match role {
                        KernelRole::Entry => entered = true,
                        KernelRole::Call => {
                            if body.is_none() {
                                entered = true;
                                body = call_of(builder, known.function);
                            }
                        }
                        KernelRole::Fault => cleaned.fault = true,
                        KernelRole::Return => {
                            out.truncate(kernel_at);
                            (entered, cleaned.fault, body) = (false, false, None);
                            break;
                        }
                        KernelRole::Interrupt | KernelRole::Scheduler | KernelRole::Tracer => break,
                        KernelRole::Work => out.push(known.clean),
                    }
                }
            }
        }
        if !kernel {
            kernel_at = out.len();
        }
        let call = match within {
            Within::Edge(call) => {
                out.truncate(kernel_at);
                call
            }
            Within::Anywhere(current) => match body {
                Some(call) => Some(call),
                None if entered => current,
                None => None,
            },
        };
        let edge = matches!(within, Within::Edge(_));
        if call.is_some() || edge {
            let innermost = kernel_at.checked_sub(1).and_then(|at| out.get(at)).copied();
            let wraps = innermost.is_some_and(|frame| self.place(frame) == FrameOwner::CRuntime);
            if wraps && kernel_at > 1 {
                kernel_at -= 1;
                cleaned.by = Some(out.remove(kernel_at));
            }
        }
        if let Some(call) = call {
            out.insert(kernel_at, self.call_frame(builder, call));
            (cleaned.call, cleaned.call_name) = (Some(kernel_at), Some(call));
        }
        cleaned
    }

    /// Cleans the program's part of a stack, up to the kernel's, and says how many frames that is.
    fn clean_user(
        &mut self,
        builder: &mut ProfileBuilder,
        stack: &[FrameId],
        last: &mut LastStack,
    ) -> usize {
        let mut at = last.keep_common(stack);
        while let Some(frame) = stack.get(at) {
            let known = self.known(builder, *frame);
            match known.kind {
                // At the outer end it is where the walk ended; further in, a function like any other.
                KnownKind::Truncated | KnownKind::Nowhere if last.clean.is_empty() => {
                    last.cut |= known.kind == KnownKind::Truncated;
                    last.nowhere += 1;
                }
                KnownKind::User | KnownKind::CRuntime | KnownKind::Nowhere => {
                    if let Some(purpose) = known.purpose {
                        last.purposes[purpose as usize].get_or_insert(at);
                    }
                    last.clean.push(known.clean);
                }
                _ => break,
            }
            last.taken.push(*frame);
            at += 1;
        }
        at
    }

    /// The frame that stands for outermost frames that are missing.
    pub(crate) fn truncated(&mut self, builder: &mut ProfileBuilder) -> FrameId {
        *self.truncated.get_or_insert_with(|| builder.named_frame(TRUNCATED, Layer::Runtime))
    }

    /// Whose code a cleaned frame is.
    pub(crate) fn place(&self, frame: FrameId) -> FrameOwner {
        match self.known.get(frame.index()).copied().flatten().map(|known| known.kind) {
            Some(KnownKind::CRuntime) => FrameOwner::CRuntime,
            Some(KnownKind::Call) => FrameOwner::Call,
            Some(KnownKind::Kernel(_)) => FrameOwner::Kernel,
            _ => FrameOwner::User,
        }
    }

    /// Why a thread leaves its processor, by its stack as it was taken; nothing is known where that is outside of the
    /// kernel.
    pub(crate) fn leaving(&mut self, builder: &mut ProfileBuilder, stack: &[FrameId]) -> Leaving {
        let mut leaving = Leaving::Unsaid;
        for frame in stack {
            let known = self.known(builder, *frame);
            let KnownKind::Kernel(role) = known.kind else { continue };
            let name = builder.symbols.name(known.function);
            if matches!(role, KernelRole::Return | KernelRole::Interrupt) || linux::gives_way(name)
            {
                return Leaving::Preempted;
            }
            if name == "do_task_dead" {
                return Leaving::Exited;
            }
            leaving = Leaving::Blocked;
        }
        leaving
    }

    /// The function of a cleaned frame.
    pub(crate) fn function(&self, frame: FrameId) -> Option<FunctionId> {
        self.known.get(frame.index()).copied().flatten().map(|known| known.function)
    }

    fn known(&mut self, builder: &mut ProfileBuilder, frame: FrameId) -> Known {
        if let Some(Some(known)) = self.known.get(frame.index()) {
            return *known;
        }
        let known = look_at(builder, frame);
        self.remember(frame, known);
        if known.clean != frame {
            self.remember(known.clean, known);
        }
        known
    }

    fn remember(&mut self, frame: FrameId, known: Known) {
        if self.known.len() <= frame.index() {
            self.known.resize(frame.index() + 1, None);
        }
        if let Some(row) = self.known.get_mut(frame.index()) {
            *row = Some(known);
        }
    }

    fn call_frame(&mut self, builder: &mut ProfileBuilder, call: StringId) -> FrameId {
        if let Some(frame) = self.calls.get(&call) {
            return *frame;
        }
        let component = builder.string(SYSCALL);
        let function = Function::named(call).in_component(component).in_layer(Layer::Kernel);
        let function = builder.function(function);
        let frame = builder.frame(Frame::of(function));
        self.calls.insert(call, frame);
        self.remember(
            frame,
            Known { kind: KnownKind::Call, clean: frame, function, purpose: None },
        );
        frame
    }
}

/// The system call whose body this function is.
fn call_of(builder: &mut ProfileBuilder, function: FunctionId) -> Option<StringId> {
    let name = linux::call_name(builder.symbols.name(function))?.to_owned();
    Some(builder.string(&name))
}

/// Looks at a frame for the first time.
fn look_at(builder: &mut ProfileBuilder, frame: FrameId) -> Known {
    let exact = *builder.symbols.frame(frame);
    let function = *builder.symbols.function(exact.function);
    let name = builder.symbols.text(function.name);
    let component = function.component.map(|id| builder.symbols.text(id));
    let kind = if name == TRUNCATED {
        KnownKind::Truncated
    } else if function.layer == Layer::Kernel {
        KnownKind::Kernel(linux::role(name))
    } else if component.is_none() && (name.is_empty() || name == "[unknown]") {
        KnownKind::Nowhere
    } else if component.is_some_and(linux::is_c_runtime) {
        KnownKind::CRuntime
    } else {
        KnownKind::User
    };
    let purpose = match kind {
        KnownKind::CRuntime => Purpose::of_c_runtime(name),
        KnownKind::User => Purpose::of_program(name),
        _ => None,
    };
    let plain = normalise_name(name, NameKinds::default());
    let plain = (plain != name).then(|| plain.into_owned());
    let Some(plain) = plain else {
        return Known { kind, clean: frame, function: exact.function, purpose };
    };
    let name = builder.string(&plain);
    let function = builder.function(Function { name, ..function });
    let clean = builder.frame(Frame { function, ..exact });
    Known { kind, clean, function, purpose }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use perfblame_cct::{Grain, Times};
    use proptest::prelude::*;

    fn frame(builder: &mut ProfileBuilder, word: &str) -> FrameId {
        let (name, component) = word.split_once('@').unwrap_or((word, "/bin/app"));
        let (component, layer) = match component {
            "k" => (Some("[kernel.kallsyms]"), Layer::Kernel),
            "libc" => (Some("/lib/libc.so.6"), Layer::Library),
            "" => (None, Layer::Application),
            other => (Some(other), Layer::Application),
        };
        let name = builder.string(name);
        let component = component.map(|component| builder.string(component));
        let function = Function { component, ..Function::named(name) }.in_layer(layer);
        let function = builder.function(function);
        builder.frame(Frame::of(function))
    }

    /// Cleans a stack of `name` (application), `name@libc` and `name@k` (kernel) frames, outermost first.
    #[track_caller]
    fn check(stack: &str, within: &str, expected: &Expect) {
        let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
        let frames: Vec<FrameId> =
            stack.split_whitespace().map(|word| frame(&mut builder, word)).collect();
        let call = |builder: &mut ProfileBuilder, name: &str| Some(builder.string(name));
        let within = match within.split_once(' ') {
            Some(("edge", name)) => Within::Edge(call(&mut builder, name)),
            Some((_, name)) => Within::Anywhere(call(&mut builder, name)),
            None if within == "edge" => Within::Edge(None),
            None => Within::Anywhere(None),
        };
        let mut out = Vec::new();
        let mut cleaner = Cleaner::default();
        cleaner.clean(&mut builder, &frames, within, &mut LastStack::default(), &mut out);
        let names: Vec<_> = out
            .iter()
            .map(|frame| builder.symbols.name(builder.symbols.frame(*frame).function))
            .collect();
        expected.assert_eq(&names.join(" "));
    }

    #[test]
    fn a_system_call_has_one_frame_whenever_it_is_seen() {
        let entry = "main work read@libc entry_SYSCALL_64_after_hwframe@k do_syscall_64@k";
        let expected = expect!["main work read"];
        check(&format!("{entry} syscall_trace_enter@k"), "edge read", &expected);
        check(&format!("{entry} syscall_exit_work@k"), "edge read", &expected);
        check(&format!("{entry} syscall_exit_work@k"), "edge", &expect!["main work"]);
        check(
            &format!("{entry} __x64_sys_read@k ksys_read@k pipe_read@k schedule@k __schedule@k"),
            "anywhere",
            &expect!["main work read ksys_read pipe_read"],
        );
        check(&format!("{entry} schedule@k"), "anywhere read", &expected);
    }

    #[test]
    fn interrupts_are_nobodys_doing() {
        for interrupted in [
            "asm_sysvec_apic_timer_interrupt@k irqentry_exit_to_user_mode@k schedule@k",
            "asm_exc_page_fault@k irqentry_exit_to_user_mode@k schedule@k __schedule@k",
            "entry_SYSCALL_64_after_hwframe@k do_syscall_64@k syscall_exit_to_user_mode@k schedule@k",
        ] {
            check(&format!("main work {interrupted}"), "anywhere", &expect!["main work"]);
        }
        check(
            "main write@libc do_syscall_64@k __x64_sys_write@k ext4_write@k asm_sysvec_apic_timer_interrupt@k \
             preempt_schedule_irq@k __schedule@k",
            "anywhere",
            &expect!["main write ext4_write"],
        );
    }

    #[test]
    fn why_a_thread_leaves_is_told_by_its_stack() {
        let call = "main read@libc entry_SYSCALL_64_after_hwframe@k do_syscall_64@k";
        let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
        let mut cleaner = Cleaner::default();
        for (stack, expected) in [
            (format!("{call} __x64_sys_read@k pipe_read@k schedule@k"), Leaving::Blocked),
            (format!("{call} __x64_sys_write@k __cond_resched@k"), Leaving::Preempted),
            (format!("{call} syscall_exit_to_user_mode@k schedule@k"), Leaving::Preempted),
            (format!("{call} __x64_sys_exit_group@k do_exit@k do_task_dead@k"), Leaving::Exited),
            ("main asm_sysvec_apic_timer_interrupt@k schedule@k".to_owned(), Leaving::Preempted),
            ("main work".to_owned(), Leaving::Unsaid),
            (String::new(), Leaving::Unsaid),
        ] {
            let frames: Vec<FrameId> =
                stack.split_whitespace().map(|word| frame(&mut builder, word)).collect();
            assert_eq!(cleaner.leaving(&mut builder, &frames), expected, "{stack}");
        }
    }

    #[test]
    fn what_compilers_append_is_no_part_of_a_name() {
        check(
            "main parse.part.0 sort.isra.0 qsort@@GLIBC_2.2.5",
            "anywhere",
            &expect!["main parse sort qsort"],
        );
    }

    proptest! {
        /// What is remembered of the last stack never changes what becomes of the next.
        #[test]
        fn the_last_stack_makes_no_difference(stacks in prop::collection::vec(prop::collection::vec(0usize..9, 0..8), 1..12)) {
            let words = [
                "main", "work", "read@libc", "pthread_mutex_lock@libc", "[unknown]@", "(truncated)@", "vfs_read@k",
                "do_syscall_64@k", "irq_exit@k",
            ];
            let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
            let frames = words.map(|word| frame(&mut builder, word));
            let mut cleaner = Cleaner::default();
            let mut last = LastStack::default();
            for stack in stacks {
                let stack: Vec<FrameId> = stack.iter().map(|at| frames[*at]).collect();
                let (mut one, mut other) = (Vec::new(), Vec::new());
                let (within, mut fresh) = (Within::Anywhere(None), LastStack::default());
                let known = cleaner.clean(&mut builder, &stack, within, &mut last, &mut one);
                let anew = cleaner.clean(&mut builder, &stack, within, &mut fresh, &mut other);
                prop_assert_eq!((known, one), (anew, other));
            }
        }
    }
}
