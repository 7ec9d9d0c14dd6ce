//! Instructions of the JVM, one by one, with the forms that only save bytes made one.

use super::class_file::{Bytes, ClassError, Code};

/// What follows the operation.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    None,
    /// An integer pushed, however it was spelled.
    Integer(i32),
    /// A local variable, and what is added to it.
    Local(u16, i16),
    /// The number of a constant, and the dimensions of an array.
    Constant(u16, u8),
    /// The kind of an array of numbers.
    ArrayOf(u8),
    /// Where it jumps to.
    Jump(i64),
    /// Where a switch jumps to.
    Switch(Switch<'a>),
}

/// A switch of either kind.
#[derive(Clone, Copy, Debug)]
pub struct Switch<'a> {
    /// Where the instruction stands.
    at: usize,
    pub default: i64,
    /// The first value of a table; none where each has its own.
    low: Option<i32>,
    rows: &'a [u8],
}

impl<'a> Switch<'a> {
    /// Values and where they lead. A table's filling, which leads where no value does, is left out.
    pub fn cases(self) -> impl Iterator<Item = (i32, i64)> + 'a {
        let width = if self.low.is_some() { 4 } else { 8 };
        self.rows.chunks_exact(width).enumerate().filter_map(move |(row, bytes)| {
            let word = |at: usize| {
                i32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
            };
            let (value, offset) = match self.low {
                Some(low) => (low.wrapping_add(row as i32), word(0)),
                None => (word(0), word(4)),
            };
            let target = self.at as i64 + i64::from(offset);
            (target != self.default).then_some((value, target))
        })
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    /// Where it stands, in bytes.
    pub at: usize,
    pub operation: u8,
    pub operand: Operand<'a>,
}

/// A pushed integer, whichever of the nine ways it was written in.
pub const PUSH: u8 = 0x10;
pub const LDC: u8 = 0x12;
const LDC2: u8 = 0x14;
const GOTO: u8 = 0xa7;
const JSR: u8 = 0xa8;
pub const SWITCH: u8 = 0xaa;
pub const GETFIELD: u8 = 0xb4;
pub const INVOKEVIRTUAL: u8 = 0xb6;
pub const INVOKEINTERFACE: u8 = 0xb9;
pub const INVOKEDYNAMIC: u8 = 0xba;
pub const NEW: u8 = 0xbb;
pub const NEWARRAY: u8 = 0xbc;
pub const ANEWARRAY: u8 = 0xbd;
pub const MONITORENTER: u8 = 0xc2;
pub const MULTIANEWARRAY: u8 = 0xc5;

/// The instructions of a method.
pub fn instructions<'a>(
    code: &Code<'a>,
) -> impl Iterator<Item = Result<Instruction<'a>, ClassError>> + use<'a> {
    let mut rest = Bytes::new(code.instructions, 0);
    let offset = code.offset;
    let mut failed = false;
    std::iter::from_fn(move || {
        if rest.left() == 0 || failed {
            return None;
        }
        let read =
            read(&mut rest).map_err(|error| ClassError { offset: offset + error.offset, ..error });
        failed = read.is_err();
        Some(read)
    })
}

fn read<'a>(rest: &mut Bytes<'a>) -> Result<Instruction<'a>, ClassError> {
    let at = rest.at();
    let jump = |offset: i64| Operand::Jump(at as i64 + offset);
    let short = |operation: u8, first: u8, to: u8| {
        // Four of each kind: `iload_0` to `iload_3`, then `lload_0` and so on.
        let place = operation - first;
        (to + place / 4, Operand::Local(u16::from(place % 4), 0))
    };
    let code = rest.u1()?;
    let (operation, operand) = match code {
        0x02..=0x08 => (PUSH, Operand::Integer(i32::from(code) - 3)),
        0x10 => (PUSH, Operand::Integer(i32::from(rest.u1()? as i8))),
        0x11 => (PUSH, Operand::Integer(i32::from(rest.u2()? as i16))),
        0x12 => (LDC, Operand::Constant(rest.u1()?.into(), 0)),
        0x13 => (LDC, Operand::Constant(rest.u2()?, 0)),
        LDC2 => (LDC2, Operand::Constant(rest.u2()?, 0)),
        0x15..=0x19 | 0x36..=0x3a | 0xa9 => (code, Operand::Local(rest.u1()?.into(), 0)),
        0x1a..=0x2d => short(code, 0x1a, 0x15),
        0x3b..=0x4e => short(code, 0x3b, 0x36),
        0x84 => (code, Operand::Local(rest.u1()?.into(), i16::from(rest.u1()? as i8))),
        0x99..=JSR | 0xc6 | 0xc7 => (code, jump(i64::from(rest.u2()? as i16))),
        0xc8 => (GOTO, jump(i64::from(rest.u4()? as i32))),
        0xc9 => (JSR, jump(i64::from(rest.u4()? as i32))),
        0xaa | 0xab => (SWITCH, Operand::Switch(read_switch(rest, at, code == 0xaa)?)),
        0xb2..=0xb8 | NEW | ANEWARRAY | 0xc0 | 0xc1 => (code, Operand::Constant(rest.u2()?, 0)),
        INVOKEINTERFACE | INVOKEDYNAMIC => {
            let constant = rest.u2()?;
            rest.u2()?;
            (code, Operand::Constant(constant, 0))
        }
        NEWARRAY => (code, Operand::ArrayOf(rest.u1()?)),
        MULTIANEWARRAY => (code, Operand::Constant(rest.u2()?, rest.u1()?)),
        0xc4 => {
            let wide = rest.u1()?;
            let local = rest.u2()?;
            match wide {
                0x84 => (wide, Operand::Local(local, rest.u2()? as i16)),
                0x15..=0x19 | 0x36..=0x3a | 0xa9 => (wide, Operand::Local(local, 0)),
                _ => return Err(rest.error("an instruction that cannot be wide")),
            }
        }
        0..=0x0f | 0x2e..=0x35 | 0x4f..=0x83 | 0x85..=0x98 | 0xac..=0xb1 | 0xbe | 0xbf => {
            (code, Operand::None)
        }
        0xc2 | 0xc3 => (code, Operand::None),
        0xca.. => return Err(rest.error("an unknown instruction")),
    };
    Ok(Instruction { at, operation, operand })
}

fn read_switch<'a>(
    rest: &mut Bytes<'a>,
    at: usize,
    is_table: bool,
) -> Result<Switch<'a>, ClassError> {
    rest.take((4 - (at + 1) % 4) % 4)?;
    let default = at as i64 + i64::from(rest.u4()? as i32);
    let first = rest.u4()? as i32;
    let (low, rows, width) = if is_table {
        let high = rest.u4()? as i32;
        (Some(first), i64::from(high) - i64::from(first) + 1, 4)
    } else {
        (None, i64::from(first), 8)
    };
    let rows = usize::try_from(rows).ok().and_then(|rows| rows.checked_mul(width));
    let rows = rows.ok_or_else(|| rest.error("a switch of negative size"))?;
    Ok(Switch { at, default, low, rows: rest.take(rows)? })
}
