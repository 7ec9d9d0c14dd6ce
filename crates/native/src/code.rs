//! The machine code of traced programs, as far as it is at hand: where a call that is at one place can be next.
//!
//! Nothing is read before somebody asks. A hostile binary cannot make it costly: functions that are too long are not
//! read, and when all questions together have taken so many steps, nothing is known any more.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use hashbrown::HashMap;
use perfblame_cct::{Code, Frame, FrameId, Layer, StringId, Symbols, Work};

use crate::binary::{Binary, BinaryNames};
use crate::flow::{Callee, CodeWalk, Destination, FunctionFlow, UNKNOWN_WORK, walk};

/// The longest function that is read: more than that of any interpreter's loop.
const LONGEST: u64 = 256 << 10;

/// Bytes that are decoded and turns that are followed, for a whole trace: about a second. As many again to guess how much
/// code does, which is the first to be given up.
const STEPS: u64 = 1 << 26;

/// So many functions that only jump to the next one are followed.
const MOST_JUMPS: usize = 4;

/// More than this is much, however much it is.
const MOST_WORK: f64 = 1e6;

const NEVER_RETURNS: Work = Work { amounts: [0.0; Work::DEPTHS], odds: 0.0 };

/// The code of components.
#[derive(Default)]
pub struct CodeTable {
    /// None where there is no binary, or more than one.
    objects: HashMap<StringId, Option<CodeObject>>,
    /// Components are paths of files that can be looked for.
    of_files: bool,
    spent: u64,
    weighed: u64,
}

/// A binary.
struct CodeObject {
    names: Rc<BinaryNames>,
    /// Addresses are offsets in the file, which need not be the one that was traced.
    offsets: bool,
    /// By start.
    functions: HashMap<u64, Option<Rc<FunctionFlow>>>,
    /// What functions do with all that they call, by start; none while it is being found out.
    work: HashMap<u64, Option<Work>>,
    /// Return addresses that lie behind a call, and others.
    right: u64,
    wrong: u64,
}

impl CodeTable {
    /// Of files that texts name, where they are at hand.
    pub fn of_files() -> Self {
        Self { of_files: true, ..Self::default() }
    }

    /// The binary of a component is known.
    pub fn add(&mut self, component: StringId, names: &Rc<BinaryNames>) {
        let entry = self.objects.entry(component);
        let known = entry.or_insert_with(|| Some(CodeObject::new(names.clone(), false)));
        // Two builds under one name cannot be told apart.
        if known.as_ref().is_some_and(|known| !known.names.is_of(names)) {
            *known = None;
        }
    }

    /// The binary of a frame, and where in it the frame is.
    fn object(&mut self, symbols: &Symbols, frame: &Frame) -> Option<(StringId, u64)> {
        let function = symbols.function(frame.function);
        let (component, address) = (function.component?, frame.address?.get());
        if function.layer == Layer::Kernel || self.spent >= STEPS {
            return None;
        }
        if self.of_files {
            let find = || CodeObject::open(symbols.text(component));
            self.objects.entry(component).or_insert_with(find);
        }
        let Self { objects, spent, .. } = self;
        let object = objects.get_mut(&component)?.as_mut()?;
        if !object.offsets {
            return Some((component, address));
        }
        // The address may be behind the end of what is loaded.
        let linked = object.names.address_of_offset(address.checked_sub(1)?)?.checked_add(1)?;
        let function = object.function(linked, spent);
        Some((component, function.map_or(linked, |function| function.behind_call(linked))))
    }

    fn follows(&mut self, symbols: &Symbols, from: &Frame, to: &Frame) -> Option<bool> {
        let (object, start) = self.object(symbols, from)?;
        let other = symbols.function(to.function).component != Some(object);
        let goal = if other { None } else { Some(self.object(symbols, to)?.1) };
        let Self { objects, spent, .. } = self;
        let object = objects.get_mut(&object)?.as_mut()?;
        if goal == Some(start) && !object.looks_right(start, spent) {
            return None;
        }
        let mut steps = STEPS.saturating_sub(*spent);
        let most = steps;
        let walked = walk(&mut |address| object.function(address, spent), start, goal, &mut steps);
        *spent = spent.saturating_add(most - steps);
        match walked {
            CodeWalk::Leads => None,
            // What another object jumps to is taken to be code of another object.
            CodeWalk::LeadsAway => Some(other),
            CodeWalk::Stays => Some(false),
        }
    }

    fn calls(&mut self, symbols: &Symbols, caller: &Frame, callee: &Frame) -> Option<bool> {
        let (object, address) = self.object(symbols, caller)?;
        let same = symbols.function(callee.function).component == Some(object);
        let inside = if same { self.object(symbols, callee) } else { None };
        let Self { objects, spent, .. } = self;
        let object = objects.get_mut(&object)?.as_mut()?;
        let mut target = object.function(address.checked_sub(1)?, spent)?.called_before(address)?;
        if object.function(target, spent)?.is_stub_at(target) {
            return None;
        }
        let (_, callee) = if same { inside? } else { return Some(false) };
        let range = object.names.function_range(callee.checked_sub(1)?)?;
        for _ in 0..MOST_JUMPS {
            if (range.start..range.end).contains(&target) {
                return Some(true);
            }
            // What does nothing but jump to another one has no frame.
            match object.function(target, spent)?.jumps_on(target) {
                Some(next) => target = next,
                None => break,
            }
        }
        Some(false)
    }
}

impl Code for CodeTable {
    fn is_at_hand(&self) -> bool {
        (self.of_files || !self.objects.is_empty()) && self.spent < STEPS
    }

    fn can_follow(&mut self, symbols: &Symbols, from: FrameId, to: FrameId) -> bool {
        let (from, to) = (*symbols.frame(from), *symbols.frame(to));
        self.follows(symbols, &from, &to).unwrap_or(true)
    }

    fn work(
        &mut self,
        symbols: &Symbols,
        from: Option<FrameId>,
        to: Option<FrameId>,
        odds: f64,
    ) -> Option<Work> {
        let (from, to) = (from.map(|from| *symbols.frame(from)), to.map(|to| *symbols.frame(to)));
        let mut place = |frame: Option<Frame>| match frame {
            Some(frame) => self.object(symbols, &frame).map(Some),
            None => Some(None),
        };
        let (from, to) = (place(from)?, place(to)?);
        let (object, within) = to.or(from)?;
        if from.is_some_and(|from| from.0 != object) {
            return None;
        }
        let Self { objects, weighed, .. } = self;
        if *weighed >= STEPS {
            return None;
        }
        let object = objects.get_mut(&object)?.as_mut()?;
        // The address may be behind the end of a function that calls what never returns.
        let function = object.function(within.checked_sub(1)?, weighed)?;
        object.total_work(&function, weighed);
        let destination = to.map_or(Destination::Return, |(_, to)| Destination::Place(to, odds));
        let called = |target| object.known_work(target);
        function.work(from.map(|(_, from)| from), destination, called, weighed)
    }

    fn can_call(&mut self, symbols: &Symbols, caller: FrameId, callee: FrameId) -> bool {
        let (caller, callee) = (*symbols.frame(caller), *symbols.frame(callee));
        callee.inlined || self.calls(symbols, &caller, &callee).unwrap_or(true)
    }
}

impl CodeObject {
    fn new(names: Rc<BinaryNames>, offsets: bool) -> Self {
        Self { names, offsets, functions: HashMap::new(), work: HashMap::new(), right: 0, wrong: 0 }
    }

    fn open(path: &str) -> Option<Self> {
        if !path.starts_with('/') {
            return None;
        }
        let binary = Arc::new(Binary::open(Path::new(path), None)?);
        Some(Self::new(Rc::new(BinaryNames::of_binary(binary)), true))
    }

    /// Whether this is the binary that was traced, by its return addresses: in another build they hardly ever lie
    /// behind a call.
    fn looks_right(&mut self, address: u64, spent: &mut u64) -> bool {
        if !self.offsets {
            return true;
        }
        let function = address.checked_sub(1).and_then(|before| self.function(before, spent));
        if function.is_some_and(|function| function.returns_to(address)) {
            self.right += 1;
        } else {
            self.wrong += 1;
        }
        self.wrong.saturating_mul(8) <= self.right
    }

    /// The function that holds an address.
    fn function(&mut self, address: u64, spent: &mut u64) -> Option<Rc<FunctionFlow>> {
        let range = self.names.function_range(address)?;
        if let Some(known) = self.functions.get(&range.start) {
            return known.clone();
        }
        let flow = self.read(range.start, range.end, range.catches, spent).map(Rc::new);
        self.functions.insert(range.start, flow.clone());
        flow
    }

    /// What a function does, as far as it has been found out; what another object does nobody knows.
    fn known_work(&self, address: u64) -> Work {
        let range = self.names.function_range(address);
        let known = range.filter(|range| range.start == address);
        known.and_then(|range| *self.work.get(&range.start)?).unwrap_or(UNKNOWN_WORK)
    }

    /// Finds out what the functions that a function calls do, and those that they call.
    fn total_work(&mut self, function: &FunctionFlow, spent: &mut u64) {
        let mut open: Vec<u64> = function.callees().collect();
        while let Some(start) = open.last().copied() {
            let known = self.work.get(&start).copied();
            let range = self.names.function_range(start).filter(|range| range.start == start);
            let flow = if range.is_some() { self.function(start, spent) } else { None };
            let (None | Some(None), Some(flow), true) = (known, flow, *spent < STEPS) else {
                open.pop();
                continue;
            };
            *spent = spent.saturating_add(flow.turns() + 1);
            if known.is_none() {
                self.work.insert(start, None);
                // One that calls itself, by whatever way, counts once.
                open.extend(flow.callees().filter(|callee| !self.work.contains_key(callee)));
            } else {
                let called = |target| self.known_work(target);
                let work = flow.work(None, Destination::Return, called, spent);
                let Work { amounts, odds } = work.unwrap_or(NEVER_RETURNS);
                let amounts = amounts.map(|amount| amount.min(MOST_WORK));
                self.work.insert(start, Some(Work { amounts, odds }));
                open.pop();
            }
        }
    }

    fn read(&self, start: u64, end: u64, catches: bool, spent: &mut u64) -> Option<FunctionFlow> {
        let size = end.checked_sub(start)?;
        if size > LONGEST || *spent >= STEPS {
            return None;
        }
        *spent = spent.saturating_add(size);
        let code = self.names.code(start, size)?;
        let callee = |target| {
            let symbol = self.names.symbol(target).filter(|symbol| symbol.start == target);
            let name = symbol.and_then(|symbol| self.names.name(symbol));
            name.map_or(Callee::Plain, |name| Callee::named(&name))
        };
        Some(FunctionFlow::read(start, &code, catches, callee))
    }
}
