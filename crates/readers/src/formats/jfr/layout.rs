//! A class's fields as a list of steps: what to pass over, what to keep.
//!
//! A layout is made once per class and chunk and then run over every event and pool entry, so that reading costs no
//! look-up by name.

use super::metadata::{ClassId, JfrField, Metadata, STRING};
use super::scan::{Integers, JfrScanner};

/// Fields that one layout can keep.
pub const SLOTS: usize = 8;

/// Structures inside structures that we follow; a class that holds itself would have no end.
const MAX_DEPTH: usize = 16;

/// Steps of one layout at most: a few nested classes multiply.
const MAX_STEPS: usize = 4096;

/// What a layout kept: a number, or the offset at which a text, list or structure starts.
pub type Slots = [u64; SLOTS];

/// How to walk over one value of a class.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    steps: Vec<Step>,
    /// The kept fields, by slot; none where the class has no such field.
    pub fields: [Option<JfrField>; SLOTS],
}

#[derive(Clone, Debug)]
enum Step {
    /// So many compressed integers to pass over.
    Integers(usize),
    /// So many bytes to pass over.
    Bytes(usize),
    Text,
    List(Vec<Step>),
    /// Keeps an integer of this width.
    KeepInteger(usize, usize),
    KeepByte(usize),
    /// Keeps the offset of what follows.
    KeepOffset(usize),
}

impl Layout {
    /// The layout of a class, keeping the fields named; none when the class is not described or has no end.
    pub fn of(
        metadata: &Metadata,
        integers: Integers,
        class: ClassId,
        keep: &[&str],
    ) -> Option<Self> {
        let mut layout = Self::default();
        let mut plan = LayoutPlan { metadata, integers, left: MAX_STEPS };
        let described = metadata.class(class)?;
        if described.fields.is_empty() {
            plan.value(class, &mut layout.steps, 0)?;
        }
        for field in &described.fields {
            match keep.iter().position(|name| *name == field.name) {
                Some(slot) if slot < SLOTS && layout.fields[slot].is_none() => {
                    plan.keep(field, slot, &mut layout.steps)?;
                    layout.fields[slot] = Some(field.clone());
                }
                _ => plan.field(field, &mut layout.steps, 0)?,
            }
        }
        Some(layout)
    }

    /// The same layout without what comes after the last kept field: an event's size says where it ends.
    pub fn without_rest(mut self) -> Self {
        let kept = |step: &Step| {
            matches!(step, Step::KeepInteger(..) | Step::KeepByte(_) | Step::KeepOffset(_))
        };
        let end = self.steps.iter().rposition(kept).map_or(0, |last| last + 1);
        self.steps.truncate(end);
        self
    }

    /// Walks over a value and keeps what was asked for; none when it does not fit into the bytes.
    #[inline]
    pub fn read(&self, scan: &mut JfrScanner<'_>, kept: &mut Slots) -> Option<()> {
        walk(&self.steps, scan, kept)
    }
}

fn walk(steps: &[Step], scan: &mut JfrScanner<'_>, kept: &mut Slots) -> Option<()> {
    for step in steps {
        match step {
            Step::Integers(count) => scan.skip_integers(*count)?,
            Step::Bytes(count) => drop(scan.take(*count)?),
            Step::Text => drop(scan.text()?),
            Step::KeepInteger(slot, width) => kept[*slot] = scan.integer(*width)?,
            Step::KeepByte(slot) => kept[*slot] = u64::from(scan.byte()?),
            Step::KeepOffset(slot) => kept[*slot] = scan.at as u64,
            Step::List(element) => {
                let count = scan.int()? as usize;
                match element.as_slice() {
                    // A list of nothing would otherwise be as long as it claims.
                    [] => {}
                    [Step::Integers(each)] => scan.skip_integers(each.checked_mul(count)?)?,
                    [Step::Bytes(each)] => drop(scan.take(each.checked_mul(count)?)?),
                    element => {
                        for _ in 0..count {
                            walk(element, scan, kept)?;
                        }
                    }
                }
            }
        }
    }
    Some(())
}

struct LayoutPlan<'a> {
    metadata: &'a Metadata,
    integers: Integers,
    left: usize,
}

impl LayoutPlan<'_> {
    fn keep(&mut self, field: &JfrField, slot: usize, steps: &mut Vec<Step>) -> Option<()> {
        let width = if field.pooled { Some(8) } else { self.width(field.class) };
        match width {
            Some(1) if !field.array => steps.push(Step::KeepByte(slot)),
            Some(width) if !field.array => steps.push(Step::KeepInteger(slot, width)),
            _ => {
                steps.push(Step::KeepOffset(slot));
                self.field(field, steps, 0)?;
            }
        }
        Some(())
    }

    /// Width of an integer class.
    fn width(&self, class: ClassId) -> Option<usize> {
        match self.metadata.class(class)?.name.as_str() {
            "boolean" | "byte" => Some(1),
            "short" | "char" => Some(2),
            "int" => Some(4),
            "long" => Some(8),
            _ => None,
        }
    }

    fn field(&mut self, field: &JfrField, steps: &mut Vec<Step>, depth: usize) -> Option<()> {
        // Counted here and not only where steps are made: classes without fields make none, however many there are.
        self.left = self.left.checked_sub(1)?;
        if field.array {
            let mut element = Vec::new();
            self.one(field, &mut element, depth + 1)?;
            steps.push(Step::List(element));
            return Some(());
        }
        self.one(field, steps, depth)
    }

    fn one(&mut self, field: &JfrField, steps: &mut Vec<Step>, depth: usize) -> Option<()> {
        if field.pooled {
            push(steps, self.integer(8));
            return Some(());
        }
        self.value(field.class, steps, depth)
    }

    fn value(&mut self, class: ClassId, steps: &mut Vec<Step>, depth: usize) -> Option<()> {
        let metadata = self.metadata;
        let described = metadata.class(class)?;
        match (described.name.as_str(), self.width(class)) {
            (_, Some(1)) => push(steps, Step::Bytes(1)),
            (_, Some(width)) => push(steps, self.integer(width)),
            ("float", _) => push(steps, Step::Bytes(4)),
            ("double", _) => push(steps, Step::Bytes(8)),
            (STRING, _) => push(steps, Step::Text),
            _ if depth >= MAX_DEPTH => return None,
            _ => {
                for field in &described.fields {
                    self.field(field, steps, depth + 1)?;
                }
            }
        }
        Some(())
    }

    fn integer(&self, width: usize) -> Step {
        match self.integers {
            Integers::Compressed => Step::Integers(1),
            Integers::Fixed => Step::Bytes(width),
        }
    }
}

/// Neighbours that are only passed over become one step.
fn push(steps: &mut Vec<Step>, step: Step) {
    match (steps.last_mut(), step) {
        (Some(Step::Integers(before)), Step::Integers(more)) => *before += more,
        (Some(Step::Bytes(before)), Step::Bytes(more)) => *before += more,
        (_, step) => steps.push(step),
    }
}
