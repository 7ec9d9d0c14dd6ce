//! What a method does, without how this one file spells it.
//!
//! Constants stand in place of their numbers and bootstrap entries in place of theirs, jumps lead to the number of an
//! instruction, and lines, stack maps and the names of local variables are left out. Names that do not tell what they
//! stand for, since the compiler numbered them or since they are on one side only, are taken out and listed
//! ([`Body::names`]): two bodies are one if their shapes are equal and these names stand for the same things, which
//! only the comparison of all classes can say.

use hashbrown::{HashMap, HashSet};

use super::class_file::{
    ACC_ABSTRACT, ACC_NATIVE, ACC_STATIC, ACC_SYNCHRONIZED, ClassError, ClassFile, Code, Constant,
    MethodInfo,
};
use super::fingerprint::{class_key, fingerprint, method_key};
use super::instructions::{GETFIELD, INVOKEDYNAMIC, Instruction, Operand, instructions};
use super::numbered::{numbered_class, numbered_method};

/// What is known of the names before any class is read.
#[derive(Default)]
pub struct KnownNames {
    /// Classes that only one side has.
    pub one_sided: HashSet<u128>,
    /// Classes whose bytes are equal on both sides: what they call by a number is still called so.
    pub equal: HashSet<u128>,
    /// Methods that have another name after: what they are called there.
    pub renamed: HashMap<u128, u128>,
}

impl KnownNames {
    /// Whether a class's name does not tell what it stands for.
    pub fn is_loose(&self, name: &[u8]) -> bool {
        if let Some(numbered) = numbered_class(name) {
            let fixed = |name: &[u8]| self.equal.contains(&class_key(name));
            return !fixed(name) && !fixed(numbered.host);
        }
        !self.one_sided.is_empty() && self.one_sided.contains(&class_key(name))
    }
}

/// A part of a class in two: what can be compared at once, and the names that cannot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    pub shape: u128,
    /// Keys of the loose names, in the order of their places.
    pub names: Box<[u128]>,
}

/// A method's body.
pub type Body = Shape;

/// A shape under construction.
#[derive(Default)]
struct Open {
    bytes: Vec<u8>,
    names: Vec<u128>,
}

/// A constant that has been looked at.
#[derive(Clone, Copy)]
enum Seen {
    Not,
    /// It is being looked at; meeting it again means that it contains itself.
    Busy,
    Done {
        shape: u128,
        first: u32,
        count: u32,
    },
}

/// Makes shapes of one class's parts.
pub struct Shaper<'a, 'b> {
    class: &'b ClassFile<'a>,
    known: &'b KnownNames,
    seen: Vec<Seen>,
    /// The loose names of all constants.
    names: Vec<u128>,
    open: Open,
    /// The number of the instruction at each byte; for the method at hand.
    numbers: Vec<u32>,
    /// How many names may still be listed: a file of constants that contain others could ask for any number.
    names_left: usize,
}

const NO_INSTRUCTION: u32 = u32::MAX;
/// Dynamic constants within dynamic constants; compilers nest two or three.
const DEEPEST: u32 = 24;
/// The largest classes known list some thousands.
const MOST_NAMES: usize = 2_000_000;

impl<'a, 'b> Shaper<'a, 'b> {
    pub fn new(class: &'b ClassFile<'a>, known: &'b KnownNames) -> Self {
        Self {
            class,
            known,
            seen: vec![Seen::Not; class.constants()],
            names: Vec::new(),
            open: Open::default(),
            numbers: Vec::new(),
            names_left: MOST_NAMES,
        }
    }

    /// What a class is beside its methods: what it extends, and its fields.
    pub fn class(&mut self) -> Result<Shape, ClassError> {
        let class = self.class;
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        if class.super_class != 0 {
            self.constant(&mut open, class.super_class)?;
        }
        for number in class.interfaces.as_chunks::<2>().0 {
            self.constant(&mut open, u16::from_be_bytes(*number))?;
        }
        for field in &class.fields {
            open.bytes.extend_from_slice(&(field.flags & !0x7).to_le_bytes());
            open.text(plain_name(field.name));
            self.descriptor(&mut open, field.descriptor)?;
            if let Some(constant) = field.constant {
                self.constant(&mut open, constant)?;
            }
        }
        Ok(self.close(open))
    }

    /// A method's parameters and result.
    pub fn signature(&mut self, descriptor: &[u8]) -> Result<Shape, ClassError> {
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        self.descriptor(&mut open, descriptor)?;
        Ok(self.close(open))
    }

    /// A method's body, and a number for each instruction when `words` are asked for; those leave out where it jumps to.
    pub fn body(
        &mut self,
        method: &MethodInfo<'a>,
        mut words: Option<&mut Vec<u32>>,
    ) -> Result<(Body, usize), ClassError> {
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        let kept = ACC_STATIC | ACC_SYNCHRONIZED | ACC_NATIVE | ACC_ABSTRACT;
        open.bytes.extend_from_slice(&(method.flags & kept).to_le_bytes());
        let Some(code) = &method.code else { return Ok((self.close(open), 0)) };
        let count = self.number(code)?;
        for instruction in instructions(code) {
            let instruction = instruction?;
            let start = open.bytes.len();
            open.bytes.push(instruction.operation);
            self.operand(&mut open, method, code, &instruction)?;
            if let Some(words) = &mut words {
                let end = match instruction.operand {
                    Operand::Jump(_) | Operand::Switch(_) => start + 1,
                    _ => open.bytes.len(),
                };
                words.push(fingerprint(&open.bytes[start..end]) as u32);
            }
        }
        for handler in code.handlers.as_chunks::<8>().0 {
            let place = |at: usize| u16::from_be_bytes([handler[at], handler[at + 1]]);
            open.bytes.push(0xff);
            for at in [0, 2, 4] {
                self.target(&mut open, code, i64::from(place(at)))?;
            }
            if place(6) != 0 {
                self.constant(&mut open, place(6))?;
            }
        }
        Ok((self.close(open), count))
    }

    /// Numbers the instructions.
    fn number(&mut self, code: &Code<'a>) -> Result<usize, ClassError> {
        self.numbers.clear();
        self.numbers.resize(code.instructions.len() + 1, NO_INSTRUCTION);
        let mut count = 0;
        for instruction in instructions(code) {
            self.numbers[instruction?.at] = count;
            count += 1;
        }
        // A handler's stretch may end where the code does.
        self.numbers[code.instructions.len()] = count;
        Ok(count as usize)
    }

    fn target(&self, open: &mut Open, code: &Code<'_>, target: i64) -> Result<(), ClassError> {
        let number = usize::try_from(target).ok().and_then(|target| self.numbers.get(target));
        match number {
            Some(&number) if number != NO_INSTRUCTION => {
                open.bytes.extend_from_slice(&number.to_le_bytes());
                Ok(())
            }
            _ => Err(ClassError { offset: code.offset, what: "a jump to an invalid place" }),
        }
    }

    fn operand(
        &mut self,
        open: &mut Open,
        method: &MethodInfo<'a>,
        code: &Code<'a>,
        instruction: &Instruction<'a>,
    ) -> Result<(), ClassError> {
        match instruction.operand {
            Operand::None => {}
            Operand::Integer(value) => open.bytes.extend_from_slice(&value.to_le_bytes()),
            Operand::Local(local, more) => {
                open.bytes.extend_from_slice(&local.to_le_bytes());
                open.bytes.extend_from_slice(&more.to_le_bytes());
            }
            Operand::ArrayOf(kind) => open.bytes.push(kind),
            Operand::Jump(target) => self.target(open, code, target)?,
            Operand::Switch(switch) => {
                self.target(open, code, switch.default)?;
                for (value, target) in switch.cases() {
                    open.bytes.extend_from_slice(&value.to_le_bytes());
                    self.target(open, code, target)?;
                }
            }
            Operand::Constant(number, dimensions) => {
                open.bytes.push(dimensions);
                if (GETFIELD..INVOKEDYNAMIC).contains(&instruction.operation)
                    && let Ok([class, name, descriptor]) = self.class.member(number)
                    && name == method.name
                    && descriptor == method.descriptor
                    && class == self.class.name
                {
                    // It calls itself, whatever it is called.
                    open.bytes.push(b'=');
                    return Ok(());
                }
                if let Constant::Integer(value) = self.class.constant(number)? {
                    // As if it had been pushed.
                    let last = open.bytes.len() - 2;
                    open.bytes.truncate(last);
                    open.bytes.push(super::instructions::PUSH);
                    open.bytes.extend_from_slice(&value.to_le_bytes());
                    return Ok(());
                }
                self.constant(open, number)?;
            }
        }
        Ok(())
    }

    fn constant(&mut self, open: &mut Open, number: u16) -> Result<(), ClassError> {
        let (shape, first, count) = self.look_at(number, DEEPEST)?;
        open.bytes.extend_from_slice(&shape.to_le_bytes());
        self.spend(count as usize)?;
        open.names.extend_from_slice(&self.names[first as usize..(first + count) as usize]);
        Ok(())
    }

    fn spend(&mut self, names: usize) -> Result<(), ClassError> {
        let left = self.names_left.checked_sub(names);
        self.names_left =
            left.ok_or(ClassError { offset: 0, what: "constants that repeat without end" })?;
        Ok(())
    }

    /// A constant's shape and where its names are; each constant is looked at once.
    fn look_at(&mut self, number: u16, depth: u32) -> Result<(u128, u32, u32), ClassError> {
        match self.seen.get(usize::from(number)) {
            Some(Seen::Done { shape, first, count }) => return Ok((*shape, *first, *count)),
            Some(Seen::Not) if depth > 0 => {}
            Some(_) => return Err(ClassError { offset: 0, what: "a constant within itself" }),
            None => {
                return Err(ClassError {
                    offset: 0,
                    what: "an index of a constant is out of range",
                });
            }
        }
        self.seen[usize::from(number)] = Seen::Busy;
        let mut open = Open::default();
        let nested = |this: &mut Self, open: &mut Open, number: u16| {
            let (shape, first, count) = this.look_at(number, depth - 1)?;
            open.bytes.extend_from_slice(&shape.to_le_bytes());
            this.spend(count as usize)?;
            open.names.extend_from_slice(&this.names[first as usize..(first + count) as usize]);
            Ok::<(), ClassError>(())
        };
        match self.class.constant(number)? {
            Constant::Utf8(text) => open.tagged(b'U', text),
            Constant::Integer(value) => open.tagged(b'I', &value.to_le_bytes()),
            Constant::Number(tag, bits) => open.tagged(tag, bits),
            Constant::String(text) => open.tagged(b'S', self.class.utf8(text)?),
            Constant::Class(name) => {
                let name = self.class.utf8(name)?;
                open.bytes.push(b'C');
                if name.starts_with(b"[") {
                    self.descriptor(&mut open, name)?;
                } else {
                    self.class_name(&mut open, name);
                }
            }
            Constant::Member(..) => self.member(&mut open, number)?,
            Constant::NameAndType(..) => {
                let (name, descriptor) = self.class.name_and_type(number)?;
                open.tagged(b'N', name);
                self.descriptor(&mut open, descriptor)?;
            }
            Constant::MethodHandle(kind, member) => {
                open.tagged(b'H', &[kind]);
                nested(self, &mut open, member)?;
            }
            Constant::MethodType(descriptor) => {
                open.bytes.push(b'T');
                self.descriptor(&mut open, self.class.utf8(descriptor)?)?;
            }
            Constant::Dynamic(bootstrap, name_and_type) => {
                open.bytes.push(b'D');
                nested(self, &mut open, name_and_type)?;
                let class = self.class;
                let (handle, arguments) = *class
                    .bootstraps
                    .get(usize::from(bootstrap))
                    .ok_or(ClassError { offset: 0, what: "a missing bootstrap entry" })?;
                nested(self, &mut open, handle)?;
                for argument in arguments.as_chunks::<2>().0 {
                    nested(self, &mut open, u16::from_be_bytes(*argument))?;
                }
            }
            Constant::Other(name) => open.tagged(b'O', self.class.utf8(name)?),
        }
        let (shape, first) = (fingerprint(&open.bytes), self.names.len() as u32);
        self.spend(open.names.len())?;
        self.names.extend_from_slice(&open.names);
        let count = open.names.len() as u32;
        self.seen[usize::from(number)] = Seen::Done { shape, first, count };
        Ok((shape, first, count))
    }

    fn member(&mut self, open: &mut Open, number: u16) -> Result<(), ClassError> {
        let [class, name, descriptor] = self.class.member(number)?;
        open.bytes.push(b'M');
        if descriptor.starts_with(b"(") && numbered_method(name).is_some() {
            open.bytes.push(b'#');
            open.names.push(method_key(class, name, descriptor));
            return Ok(());
        }
        if !self.known.renamed.is_empty()
            && let Some(after) = self.known.renamed.get(&method_key(class, name, descriptor))
        {
            open.bytes.push(b'@');
            open.bytes.extend_from_slice(&after.to_le_bytes());
            return Ok(());
        }
        if class.starts_with(b"[") {
            self.descriptor(open, class)?;
        } else {
            self.class_name(open, class);
        }
        open.text(plain_name(name));
        self.descriptor(open, descriptor)
    }

    fn class_name(&mut self, open: &mut Open, name: &[u8]) {
        if self.known.is_loose(name) {
            open.bytes.push(b'#');
            if let Some(numbered) = numbered_class(name) {
                open.text(numbered.rest);
            }
            open.names.push(class_key(name));
        } else {
            open.text(name);
        }
    }

    fn descriptor(&mut self, open: &mut Open, descriptor: &[u8]) -> Result<(), ClassError> {
        let mut at = 0;
        while let Some(&byte) = descriptor.get(at) {
            open.bytes.push(byte);
            at += 1;
            if byte == b'L' {
                let rest = &descriptor[at..];
                let end = rest.iter().position(|byte| *byte == b';').unwrap_or(rest.len());
                self.class_name(open, &rest[..end]);
                at += end;
            }
        }
        self.spend(descriptor.len() / 64)
    }

    fn close(&mut self, open: Open) -> Shape {
        let shape = Shape { shape: fingerprint(&open.bytes), names: open.names.as_slice().into() };
        self.open = open;
        shape
    }
}

/// A name without what the compiler put into it: the map of an enumeration carries that one's name, which may be
/// loose. Which enumeration it is, the call beside it tells.
fn plain_name(name: &[u8]) -> &[u8] {
    const MAP: &[u8] = b"$SwitchMap$";
    if name.starts_with(MAP) { MAP } else { name }
}

impl Open {
    fn clear(&mut self) {
        self.bytes.clear();
        self.names.clear();
    }

    fn text(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(text);
    }

    fn tagged(&mut self, tag: u8, text: &[u8]) {
        self.bytes.push(tag);
        self.text(text);
    }
}
