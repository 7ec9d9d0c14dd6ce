//! Where code can go from a place without returning: the jumps within functions and from one to another.
//!
//! A stack that is at one place of a function and later at another may be one call or two. If no way leads from the
//! first place to the second, the call has returned meanwhile and there was another one. So an answer is either sure or
//! there is none: a jump to an address that is computed, code that cannot be read, a function that can be entered in
//! its middle (`setjmp`, exceptions) and one that is too long to follow may lead anywhere.
//!
//! Of a function only the instructions are kept that do not simply go on to the next. Only x86-64 is read.

mod loops;
mod work;

pub use work::{Destination, UNKNOWN as UNKNOWN_WORK};

use std::rc::Rc;

use hashbrown::HashSet;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

/// The instructions of a function that lead elsewhere, by address.
#[derive(Clone, Debug)]
pub struct FunctionFlow {
    start: u64,
    turns: Vec<Turn>,
    /// It can go on at a place that nothing in it leads to.
    entered_midway: bool,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    at: u64,
    /// Behind it.
    next: u64,
    kind: JumpKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum JumpKind {
    /// Calls what is at this address, or anything.
    Call(Option<u64>),
    Jump(u64),
    Branch(u64),
    /// Jumps to what a pointer at a fixed place says: a function of another object.
    Away,
    /// Jumps anywhere, or does what nobody knows.
    Anywhere,
    /// Calls what does not return.
    LastCall(u64),
    /// Nothing comes behind it.
    End,
}

impl JumpKind {
    fn is_call(self) -> bool {
        matches!(self, Self::Call(_) | Self::LastCall(_))
    }
}

/// What a function does that is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// It returns once, as most do.
    Plain,
    /// It does not return.
    NeverReturns,
    /// It returns more than once.
    ReturnsTwice,
}

impl Callee {
    /// By the name of its symbol.
    pub fn named(name: &str) -> Self {
        let name = name.split('@').next().unwrap_or(name);
        match name {
            "abort" | "exit" | "_exit" | "_Exit" | "quick_exit" | "__stack_chk_fail"
            | "__assert_fail" | "__chk_fail" | "__fortify_fail" | "longjmp" | "_longjmp"
            | "siglongjmp" | "__longjmp_chk" | "pthread_exit" | "__cxa_throw" | "__cxa_rethrow"
            | "_Unwind_Resume" => Self::NeverReturns,
            "setjmp" | "_setjmp" | "__setjmp" | "sigsetjmp" | "__sigsetjmp" | "getcontext"
            | "swapcontext" | "vfork" | "__vfork" => Self::ReturnsTwice,
            _ => Self::Plain,
        }
    }
}

impl FunctionFlow {
    /// Reads the code of a function that starts at `start`; `callee` says what functions at an address do.
    pub fn read(
        start: u64,
        code: &[u8],
        entered_midway: bool,
        mut callee: impl FnMut(u64) -> Callee,
    ) -> Self {
        let mut flow = Self { start, turns: Vec::new(), entered_midway };
        let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            let (at, next) = (instruction.ip(), instruction.next_ip());
            if instruction.is_invalid() {
                flow.turns.push(Turn { at, next, kind: JumpKind::Anywhere });
                break;
            }
            let Some(mut kind) = kind_of(&instruction) else { continue };
            if let JumpKind::Call(Some(target)) = kind {
                match callee(target) {
                    Callee::Plain => {}
                    Callee::NeverReturns => kind = JumpKind::LastCall(target),
                    Callee::ReturnsTwice => flow.entered_midway = true,
                }
            }
            flow.turns.push(Turn { at, next, kind });
        }
        flow
    }

    /// The call that returns to an address.
    fn call_before(&self, address: u64) -> Option<usize> {
        let row = self.turns.partition_point(|turn| turn.next < address);
        let turn = self.turns.get(row)?;
        (turn.next == address && turn.kind.is_call()).then_some(row)
    }

    /// The first turn at or behind an address.
    fn turn_from(&self, address: u64) -> Option<usize> {
        let row = self.turns.partition_point(|turn| turn.at < address);
        (row < self.turns.len()).then_some(row)
    }

    /// What the function calls, so far as that is said.
    pub fn callees(&self) -> impl Iterator<Item = u64> {
        self.turns.iter().filter_map(|turn| match turn.kind {
            JumpKind::Call(target) => target,
            _ => None,
        })
    }

    /// The address itself, or that behind the call in whose last byte it is: some tracers write return addresses one
    /// less than they are, so that they lie in the function that called.
    pub fn behind_call(&self, address: u64) -> u64 {
        let row = self.turns.partition_point(|turn| turn.next <= address);
        let turn = self.turns.get(row);
        let within = |turn: &&Turn| turn.kind.is_call() && turn.at < address;
        let next = turn.filter(within).map(|turn| turn.next);
        next.filter(|next| *next == address + 1).unwrap_or(address)
    }

    /// True where nothing follows the call that returns to this address.
    fn ends_before(&self, address: u64) -> bool {
        let turn = self.call_before(address).and_then(|row| self.turns.get(row));
        turn.is_some_and(|turn| matches!(turn.kind, JumpKind::LastCall(_)))
    }

    /// How many instructions lead elsewhere.
    pub fn turns(&self) -> u64 {
        self.turns.len() as u64
    }

    /// True where a call returns to this address.
    pub fn returns_to(&self, address: u64) -> bool {
        self.call_before(address).is_some()
    }

    /// What the call before an address calls, where it says so.
    pub fn called_before(&self, address: u64) -> Option<u64> {
        match self.turns.get(self.call_before(address)?)?.kind {
            JumpKind::Call(target) => target,
            JumpKind::LastCall(target) => Some(target),
            _ => None,
        }
    }

    /// Where the code at an address jumps to, out of the function, before anything else happens.
    pub fn jumps_on(&self, address: u64) -> Option<u64> {
        let turn = self.turns.get(self.turn_from(address)?)?;
        let inside = |target: &u64| (self.start..turn.next).contains(target);
        match turn.kind {
            JumpKind::Jump(target) => Some(target).filter(|target| !inside(target)),
            _ => None,
        }
    }

    /// True where the code at an address does nothing but go to another object.
    pub fn is_stub_at(&self, address: u64) -> bool {
        let turn = self.turn_from(address).and_then(|row| self.turns.get(row));
        turn.is_some_and(|turn| turn.kind == JumpKind::Away && turn.at - address < 16)
    }
}

fn kind_of(instruction: &Instruction) -> Option<JumpKind> {
    let near = instruction.op0_kind() == OpKind::NearBranch64;
    let target = near.then(|| instruction.near_branch_target());
    match (instruction.flow_control(), target) {
        (FlowControl::Next, _) if instruction.mnemonic() == Mnemonic::Hlt => Some(JumpKind::End),
        (FlowControl::Next, _) => None,
        (FlowControl::ConditionalBranch, Some(target)) => Some(JumpKind::Branch(target)),
        (FlowControl::UnconditionalBranch, Some(target)) => Some(JumpKind::Jump(target)),
        // System calls are among these.
        (FlowControl::Call, target) => Some(JumpKind::Call(target)),
        (FlowControl::IndirectCall, _) => Some(JumpKind::Call(None)),
        (FlowControl::IndirectBranch, _) if instruction.is_ip_rel_memory_operand() => {
            Some(JumpKind::Away)
        }
        (FlowControl::Return | FlowControl::Exception, _) => Some(JumpKind::End),
        _ => Some(JumpKind::Anywhere),
    }
}

/// What a walk through code found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeWalk {
    /// It leads to the place that was asked for, or may.
    Leads,
    /// It surely does not; code of other objects may come behind it.
    LeadsAway,
    /// It surely does not, and stays in this object.
    Stays,
}

/// The longest walk.
const LONGEST: u64 = 1 << 16;

/// Whether code at `from` can come to `to` without returning; both are behind calls, or where the processor was.
/// `functions` gives the function that holds an address. Takes what it costs from `steps`.
pub fn walk(
    functions: &mut impl FnMut(u64) -> Option<Rc<FunctionFlow>>,
    from: u64,
    to: Option<u64>,
    steps: &mut u64,
) -> CodeWalk {
    let goal = match to.map(|to| Goal::new(functions, to, to == from)) {
        None => None,
        Some(Some(goal)) => Some(goal),
        Some(None) => return CodeWalk::Leads,
    };
    let mut reached: HashSet<(u64, usize)> = HashSet::new();
    // A call at the very end of a function does not return.
    let caller = from.checked_sub(1).and_then(&mut *functions);
    let ends = caller.is_some_and(|caller| {
        caller.ends_before(from)
            || caller.returns_to(from)
                && functions(from).is_none_or(|next| next.start != caller.start)
    });
    let mut places = if ends { Vec::new() } else { vec![from] };
    let mut away = false;
    let mut left = LONGEST.min(*steps);
    while let Some(place) = places.pop() {
        let Some(function) = functions(place) else { return CodeWalk::Leads };
        if function.entered_midway {
            return CodeWalk::Leads;
        }
        let mut entered = place;
        let Some(first) = function.turn_from(place) else { return CodeWalk::Leads };
        let mut falls = false;
        for (row, turn) in function.turns.iter().enumerate().skip(first) {
            if left == 0 {
                return CodeWalk::Leads;
            }
            left -= 1;
            *steps = steps.saturating_sub(1);
            if goal.as_ref().is_some_and(|goal| goal.is_met(function.start, row, entered)) {
                return CodeWalk::Leads;
            }
            falls = false;
            if !reached.insert((function.start, row)) {
                break;
            }
            match turn.kind {
                JumpKind::Call(_) => {}
                JumpKind::Branch(target) => {
                    places.push(target);
                    falls = true;
                }
                JumpKind::Jump(target) => {
                    places.push(target);
                    break;
                }
                JumpKind::Away => {
                    away = true;
                    break;
                }
                JumpKind::Anywhere => return CodeWalk::Leads,
                JumpKind::LastCall(_) | JumpKind::End => break,
            }
            entered = turn.next;
        }
        // Behind the last call, which does not return then, there is nothing; anything else is no usual code.
        if falls {
            return CodeWalk::Leads;
        }
    }
    if away { CodeWalk::LeadsAway } else { CodeWalk::Stays }
}

/// What has to be reached.
struct Goal {
    address: u64,
    /// The call that returns there, by the start of its function and its row.
    call: Option<(u64, usize)>,
    /// The first turn from there on, where the place itself may be executed.
    turn: Option<(u64, usize)>,
}

impl Goal {
    fn new(
        functions: &mut impl FnMut(u64) -> Option<Rc<FunctionFlow>>,
        address: u64,
        again: bool,
    ) -> Option<Self> {
        // The address may be behind the end of a function that calls what never returns.
        let before = functions(address.checked_sub(1)?);
        let call =
            before.and_then(|function| Some((function.start, function.call_before(address)?)));
        if again {
            // Whoever is there already needs a call to come there again.
            return call.map(|_| Self { address, call, turn: None });
        }
        let turn = functions(address)
            .and_then(|function| Some((function.start, function.turn_from(address)?)));
        (call.is_some() || turn.is_some()).then_some(Self { address, call, turn })
    }

    fn is_met(&self, function: u64, row: usize, entered: u64) -> bool {
        self.call == Some((function, row))
            || self.turn == Some((function, row)) && entered <= self.address
    }
}

#[cfg(test)]
mod tests;
