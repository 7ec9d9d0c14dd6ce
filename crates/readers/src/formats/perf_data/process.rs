//! Processes as the records tell of them: what is mapped where, which threads run under which name.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use hashbrown::HashMap;
use perfblame_native::JitDump;

use super::told::Slot;

/// A row of the table of mapped files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ModuleId(pub u32);

/// A stretch of memory that holds a file's code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    /// Offset in the file of the first byte.
    pub offset: u64,
    pub module: ModuleId,
    /// From addresses in memory to those the file is linked for, once known.
    pub shift: Option<u64>,
}

impl Mapping {
    /// A mapping of `offset` and what follows it in a file.
    pub fn new(start: u64, end: u64, offset: u64, module: ModuleId) -> Self {
        Self { start, end, offset, module, shift: None }
    }
}

/// What is mapped in one process.
#[derive(Default)]
pub struct Process {
    pub pid: u32,
    /// By start, without overlaps; shared with the process it was forked from until one of them changes.
    mappings: Rc<BTreeMap<u64, Mapping>>,
    /// The mapping of the last address looked up; the next is often near.
    last: Option<Mapping>,
    /// The addresses seen since the mappings last changed, where no file has them.
    pub seen: HashMap<u64, Slot>,
    /// Logs of code made at run time: they tell at which times an address meant what.
    pub jit_dumps: usize,
}

impl Process {
    /// A process of which nothing is known yet.
    pub fn new(pid: u32) -> Self {
        Self { pid, ..Self::default() }
    }

    /// A process that starts as a copy of another.
    pub fn forked(&self, pid: u32) -> Self {
        Self { pid, mappings: self.mappings.clone(), ..Self::default() }
    }

    /// Adds a mapping in place of what it overlaps.
    pub fn map(&mut self, new: Mapping) {
        if new.end <= new.start {
            return;
        }
        let mappings = Rc::make_mut(&mut self.mappings);
        let before = mappings.range(..new.start).next_back().map(|(_, before)| *before);
        let covered = mappings.range(new.start..new.end).map(|(start, _)| *start);
        let covered: Vec<u64> = covered.collect();
        let removed = covered.iter().filter_map(|start| mappings.remove(start)).last();
        if let Some(before) = before.filter(|before| before.end > new.start) {
            mappings.insert(before.start, Mapping { end: new.start, ..before });
        }
        // What goes on behind the new mapping.
        if let Some(after) = removed.or(before).filter(|after| after.end > new.end) {
            let offset = after.offset.wrapping_add(new.end - after.start);
            mappings.insert(new.end, Mapping { start: new.end, offset, ..after });
        }
        mappings.insert(new.start, new);
        self.forget();
    }

    /// Another program takes the process over.
    pub fn exec(&mut self) {
        self.mappings = Rc::default();
        self.jit_dumps = 0;
        self.forget();
    }

    fn forget(&mut self) {
        self.seen.clear();
        self.last = None;
    }

    /// The end of the last mapping.
    pub fn end_of_code(&self) -> u64 {
        self.mappings.last_key_value().map_or(0, |(_, mapping)| mapping.end)
    }

    /// The mapping that holds an address.
    pub fn find(&mut self, address: u64) -> Option<Mapping> {
        if let Some(last) = self.last.filter(|last| (last.start..last.end).contains(&address)) {
            return Some(last);
        }
        let (_, mapping) = self.mappings.range(..=address).next_back()?;
        self.last = (address < mapping.end).then_some(*mapping);
        self.last
    }

    /// Remembers where the file of a mapping is linked.
    pub fn learn_shift(&mut self, start: u64, shift: u64) {
        if let Some(mapping) = Rc::make_mut(&mut self.mappings).get_mut(&start) {
            mapping.shift = Some(shift);
        }
        self.last = None;
    }

    /// Reads a log of code made at run time that the process has announced by mapping it.
    pub fn add_jit_dump(&mut self, path: &str) -> Option<JitDump> {
        /// A process has one; a few more are one per runtime in it.
        const MOST: usize = 8;
        if self.jit_dumps >= MOST {
            return None;
        }
        let dump = std::fs::read(Path::new(path)).ok().and_then(JitDump::parse)?;
        self.jit_dumps += 1;
        Some(dump)
    }
}

/// A thread and the name it has now.
#[derive(Clone, Debug, Default)]
pub struct ThreadState {
    pub pid: u32,
    pub name: Option<String>,
    /// The row it has under this name, and which name of its process that row has.
    pub row: Option<(u32, u32)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_takes_the_place_of_what_it_overlaps() {
        let mut process = Process::new(1);
        let mapping = |start, end, module| Mapping::new(start, end, start, ModuleId(module));
        process.map(mapping(100, 200, 1));
        process.map(mapping(200, 300, 2));
        process.map(mapping(150, 250, 3));
        process.map(mapping(10, 20, 4));
        process.map(mapping(160, 170, 5));
        process.map(mapping(5, 5, 6));
        let rows: Vec<_> =
            process.mappings.values().map(|m| (m.start, m.end, m.offset, m.module.0)).collect();
        assert_eq!(
            rows,
            [
                (10, 20, 10, 4),
                (100, 150, 100, 1),
                (150, 160, 150, 3),
                (160, 170, 160, 5),
                (170, 250, 170, 3),
                (250, 300, 250, 2),
            ]
        );
        assert_eq!(process.find(169).map(|m| m.module.0), Some(5));
        assert_eq!(process.find(99), None);
        process.map(mapping(0, 1000, 7));
        assert_eq!(process.mappings.len(), 1);
    }
}
