//! From stacks of a chunk to contexts of the profile, each looked at once.

use hashbrown::HashMap;
use perfblame_cct::{Cursor, FrameId, ProfileBuilder};

use super::layout::{Layout, Slots};
use super::metadata::ClassId;
use super::methods::{JfrMethods, MethodLayouts};
use super::pools::Pools;

/// Threads whose last stack is kept; a program with many more makes them anew for every task.
const MAX_BEFORE: usize = 1024;

/// Where stacks have their parts.
pub struct StackLayouts {
    class: ClassId,
    stack: Option<Layout>,
    /// Nothing follows the frames of a stack, so its end is theirs.
    frames_end_the_stack: bool,
    methods: MethodLayouts,
}

impl StackLayouts {
    /// Layouts for the stacks of events.
    pub fn new(pools: &mut Pools<'_>, class: Option<ClassId>) -> Self {
        let stack = pools.indexed_layout(class, &["truncated", "frames"]);
        let frames = stack.as_ref().and_then(|stack| stack.fields[1].as_ref());
        // Frames are written into their stack by every version so far.
        let frames = frames.filter(|frames| frames.array && !frames.pooled);
        let methods = MethodLayouts::new(pools, frames.map(|field| field.class));
        let frames_end_the_stack = class.is_some_and(|class| pools.ends_in(class, "frames"));
        Self { class: class.unwrap_or_default(), stack, frames_end_the_stack, methods }
    }
}

/// What a stack id stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JfrStack {
    At(Cursor),
    /// The event has no stack.
    None,
    /// The event refers to a stack that is in no pool, or not readable.
    Missing,
}

/// A stack, outermost frame first, and where it ends in the chunk.
#[derive(Default)]
struct Before {
    frames: Vec<Placed>,
    end: usize,
    partial: bool,
}

/// A frame of a stack: its context, and how many bytes before the end of the stack it starts.
struct Placed {
    cursor: Cursor,
    from_end: usize,
}

/// Looks stacks up.
pub struct JfrStacks<'a> {
    pools: &'a Pools<'a>,
    layouts: &'a StackLayouts,
    methods: JfrMethods<'a>,
    known: HashMap<u64, JfrStack>,
    /// The stack before on each thread, by thread.
    before: HashMap<u64, Before>,
    /// The frames of the stack at hand that the one before does not have, innermost first, and how many bytes before
    /// its end they start.
    now: Vec<(FrameId, usize)>,
}

impl<'a> JfrStacks<'a> {
    pub fn new(pools: &'a Pools<'a>, layouts: &'a StackLayouts) -> Self {
        Self {
            pools,
            layouts,
            methods: JfrMethods::new(pools, &layouts.methods),
            known: HashMap::new(),
            before: HashMap::new(),
            now: Vec::new(),
        }
    }

    /// The context of a stack. The thread only says which stack it probably resembles.
    pub fn stack(&mut self, builder: &mut ProfileBuilder, id: u64, thread: u64) -> JfrStack {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let stack = match self.pools.entry(self.layouts.class, id) {
            None if id == 0 => JfrStack::None,
            None => JfrStack::Missing,
            Some(_) => {
                if self.before.len() > MAX_BEFORE {
                    self.before.clear();
                }
                let mut before = self.before.remove(&thread).unwrap_or_default();
                let stack = self.new_stack(builder, id, &mut before);
                self.before.insert(thread, before);
                stack.unwrap_or(JfrStack::Missing)
            }
        };
        self.known.insert(id, stack);
        stack
    }

    fn new_stack(
        &mut self,
        builder: &mut ProfileBuilder,
        id: u64,
        before: &mut Before,
    ) -> Option<JfrStack> {
        let layout = self.layouts.stack.as_ref()?;
        let layout_of_frame = self.layouts.methods.frame.as_ref()?;
        let mut entry = self.pools.entry(self.layouts.class, id)?;
        let mut kept = Slots::default();
        layout.read(&mut entry, &mut kept)?;
        let end = entry.at;
        let partial = kept[0] != 0;
        let mut scan = self.pools.scanner(usize::try_from(kept[1]).ok()?);
        let count = scan.int()? as usize;
        let same = self.same_bytes(before, partial, end);
        let mut shared = 0;
        self.now.clear();
        while self.now.len() < count {
            let from_end = end.saturating_sub(scan.at);
            if from_end <= same {
                let place = before.frames.binary_search_by_key(&from_end, |outer| outer.from_end);
                shared = place.map_or(0, |place| place + 1);
                if self.now.len() + shared == count {
                    break;
                }
                shared = 0;
            }
            let mut kept = Slots::default();
            layout_of_frame.read(&mut scan, &mut kept)?;
            let place = (kept[0], kept[1] as u32, kept[2] as u32, kept[3]);
            self.now.push((self.methods.frame(builder, place), from_end));
        }
        before.frames.truncate(shared);
        before.end = end;
        while let Some((frame, from_end)) = self.now.pop() {
            let cursor = match before.frames.last() {
                Some(outer) => builder.child(outer.cursor, frame),
                None if partial => {
                    let root = builder.truncated_root();
                    builder.child(root, frame)
                }
                None => builder.root(frame),
            };
            before.frames.push(Placed { cursor, from_end });
        }
        Some(
            before.frames.last().map_or(JfrStack::None, |innermost| JfrStack::At(innermost.cursor)),
        )
    }

    /// How many bytes at the end of the stack before are those of a stack that ends here. Frames are written innermost
    /// first and stacks share their outer ones, so what the same bytes stand for need not be looked up again.
    fn same_bytes(&self, before: &mut Before, partial: bool, end: usize) -> usize {
        if partial != before.partial {
            before.frames.clear();
            before.partial = partial;
        }
        let longest = before.frames.last().map_or(0, |innermost| innermost.from_end);
        if self.layouts.frames_end_the_stack {
            self.pools.same_before(before.end, end, longest)
        } else {
            0
        }
    }
}
