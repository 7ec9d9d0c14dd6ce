//! Constant pools: what events refer to by id. Checkpoints carry them, before or after the events that need them.
//!
//! A pool only remembers where each entry starts. Entries are read when an event asks for them, and most never are.

use hashbrown::HashMap;

use super::layout::{Layout, Slots};
use super::metadata::{ClassId, JfrField, Metadata, STRING};
use super::scan::{Integers, JfrScanner, JfrText};

/// The pools of a chunk.
pub struct Pools<'a> {
    bytes: &'a [u8],
    integers: Integers,
    metadata: &'a Metadata,
    by_class: HashMap<ClassId, Pool>,
    /// The pool that texts of encoding 2 refer to.
    strings: Option<ClassId>,
}

struct Pool {
    layout: Layout,
    /// Where each entry starts, by id; stays empty when nobody will ask.
    entries: Option<HashMap<u64, usize>>,
    /// Where the class keeps its text, for classes that are but a text with a name.
    text: Option<Layout>,
}

impl<'a> Pools<'a> {
    pub fn new(bytes: &'a [u8], integers: Integers, metadata: &'a Metadata) -> Self {
        let strings = metadata.classes.iter().find(|(_, class)| class.name == STRING);
        let strings = strings.map(|(id, _)| *id);
        let mut pools = Self { bytes, integers, metadata, by_class: HashMap::new(), strings };
        if let Some(strings) = strings {
            pools.index(strings);
        }
        pools
    }

    /// Announces that entries of a class will be asked for; must come before the checkpoints.
    fn index(&mut self, class: ClassId) {
        if let Some(pool) = self.pool(class) {
            pool.entries.get_or_insert_default();
        }
    }

    fn pool(&mut self, class: ClassId) -> Option<&mut Pool> {
        let Self { by_class, metadata, integers, .. } = self;
        if !by_class.contains_key(&class) {
            let layout = Layout::of(metadata, *integers, class, &[])?;
            let described = metadata.class(class)?;
            let is_text = |field: &&JfrField| {
                !field.array
                    && metadata.class(field.class).is_some_and(|class| class.name == STRING)
            };
            let text = described.fields.iter().find(is_text).and_then(|field| {
                Layout::of(metadata, *integers, class, &[&field.name]).map(Layout::without_rest)
            });
            by_class.insert(class, Pool { layout, entries: None, text });
        }
        by_class.get_mut(&class)
    }

    /// Reads the pools of the checkpoint at an offset. The error is how far it got: what comes after cannot be found,
    /// as only the layout of an entry says where the next one starts.
    pub fn read_checkpoint(&mut self, at: usize) -> Result<(), usize> {
        let mut scan = JfrScanner::new(self.bytes, self.integers, at);
        self.read_pools(&mut scan).ok_or(scan.at)
    }

    fn read_pools(&mut self, scan: &mut JfrScanner<'a>) -> Option<()> {
        let start = scan.at;
        let size = scan.int()? as usize;
        // Nothing may reach beyond the checkpoint.
        let bytes = self.bytes.get(..start.checked_add(size)?)?;
        *scan = JfrScanner::new(bytes, self.integers, scan.at);
        // Type, start, duration, distance to the checkpoint before, what kind of checkpoint it is.
        scan.longs(4)?;
        scan.byte()?;
        let mut unused = Slots::default();
        for _ in 0..scan.int()? {
            let class = scan.long()?;
            let count = scan.int()?;
            let pool = self.pool(class)?;
            for _ in 0..count {
                let id = scan.long()?;
                if let Some(entries) = &mut pool.entries {
                    entries.insert(id, scan.at);
                }
                pool.layout.read(scan, &mut unused)?;
            }
        }
        Some(())
    }

    /// A scanner at an entry.
    pub fn entry(&self, class: ClassId, id: u64) -> Option<JfrScanner<'a>> {
        let at = *self.by_class.get(&class)?.entries.as_ref()?.get(&id)?;
        Some(self.scanner(at))
    }

    /// A scanner at an offset.
    pub fn scanner(&self, at: usize) -> JfrScanner<'a> {
        JfrScanner::new(self.bytes, self.integers, at)
    }

    /// The layout of a class that keeps the fields named. Announces that entries of the class, and of the classes its
    /// kept fields refer to, will be asked for.
    pub fn indexed_layout(&mut self, class: Option<ClassId>, keep: &[&str]) -> Option<Layout> {
        let layout = Layout::of(self.metadata, self.integers, class?, keep)?;
        self.index(class?);
        for field in layout.fields.iter().flatten().filter(|field| field.pooled) {
            self.index(field.class);
        }
        Some(layout)
    }

    /// True when a class has this field last.
    pub fn ends_in(&self, class: ClassId, field: &str) -> bool {
        let last = self.metadata.class(class).and_then(|class| class.fields.last());
        last.is_some_and(|last| last.name == field)
    }

    /// How many bytes before two offsets are the same, up to a number.
    pub fn same_before(&self, first: usize, second: usize, longest: usize) -> usize {
        let (Some(first), Some(second)) = (self.bytes.get(..first), self.bytes.get(..second))
        else {
            return 0;
        };
        let mut same = 0;
        let words = first.rchunks_exact(8).zip(second.rchunks_exact(8)).take(longest / 8);
        for (first, second) in words {
            if first != second {
                break;
            }
            same += 8;
        }
        let (first, second) = (&first[..first.len() - same], &second[..second.len() - same]);
        let rest = first.iter().rev().zip(second.iter().rev()).take(longest - same);
        same + rest.take_while(|(first, second)| first == second).count()
    }

    /// Appends the text that a kept field holds; none when it has no text.
    pub fn append_text(&self, field: &JfrField, kept: u64, out: &mut String) -> Option<()> {
        let text = if field.pooled {
            self.pooled_text(field.class, kept)?
        } else {
            self.scanner(usize::try_from(kept).ok()?).text()?
        };
        // A pooled text that is itself pooled ends there: files do not do that, and a circle would have no end.
        let text = match text {
            JfrText::Pooled(id) => self.pooled_text(self.strings?, id)?,
            text => text,
        };
        match text {
            JfrText::Null | JfrText::Pooled(_) => None,
            text => {
                text.append_to(out);
                Some(())
            }
        }
    }

    fn pooled_text(&self, class: ClassId, id: u64) -> Option<JfrText<'a>> {
        let pool = self.by_class.get(&class)?;
        let mut scan = self.entry(class, id)?;
        if let Some(text) = &pool.text {
            let mut kept = Slots::default();
            text.read(&mut scan, &mut kept)?;
            scan = self.scanner(usize::try_from(kept[0]).ok()?);
        }
        scan.text()
    }

    /// The text that a kept field holds; none when it has none.
    pub fn text(&self, field: &JfrField, kept: u64) -> Option<String> {
        let mut out = String::new();
        self.append_text(field, kept, &mut out)?;
        Some(out)
    }
}
