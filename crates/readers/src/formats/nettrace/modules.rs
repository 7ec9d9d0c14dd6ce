//! The code of whole machines: mappings and symbols of each process, as the provider `Universal.System` tells them.

use hashbrown::HashMap;

use super::version6::EventFields;

/// Addresses from here on are the kernel's.
const KERNEL: u64 = 1 << 63;

/// A range of addresses of a process and what it is called.
#[derive(Debug)]
struct Range {
    pid: u64,
    start: u64,
    /// The first address behind it.
    end: u64,
    name: String,
}

/// What the trace tells of processes.
#[derive(Default)]
pub struct NettraceModules {
    mappings: Vec<Range>,
    symbols: Vec<Range>,
    /// The process of a mapping.
    owners: HashMap<u64, u64>,
    processes: HashMap<u64, String>,
}

/// What is known of an address.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ModulePlace<'a> {
    pub function: Option<&'a str>,
    pub file: Option<&'a str>,
    pub is_kernel: bool,
}

impl NettraceModules {
    /// Takes an event of the provider; `pid` is the process it is about unless it says otherwise.
    pub fn add(&mut self, event: &str, fields: &EventFields, payload: &[u8], pid: u64) {
        let range = |pid: u64, name: &str| {
            Some(Range {
                pid,
                start: fields.number(payload, "StartAddress")?,
                // Whether the last address is part of it is not said. If it is not, it is the first of a neighbour.
                end: fields.number(payload, "EndAddress")?.checked_add(1)?,
                name: fields.text(payload, name)?,
            })
        };
        match event {
            "ProcessCreate" | "ExistingProcess" => {
                if let Some(name) = fields.text(payload, "Name") {
                    self.processes.insert(pid, name);
                }
            }
            "ProcessMapping" => {
                let pid = fields.number(payload, "ProcessId").unwrap_or(pid);
                if let Some(id) = fields.number(payload, "Id") {
                    self.owners.insert(id, pid);
                }
                self.mappings.extend(range(pid, "FileName"));
            }
            "ProcessSymbol" => {
                let mapping = fields.number(payload, "MappingId");
                let owner = mapping.and_then(|id| self.owners.get(&id)).copied();
                self.symbols.extend(range(owner.unwrap_or(pid), "Name"));
            }
            _ => {}
        }
    }

    /// Puts everything into the order of addresses; call it before [`NettraceModules::find`].
    pub fn sort(&mut self) {
        for ranges in [&mut self.mappings, &mut self.symbols] {
            ranges.sort_by(|one, other| {
                (one.pid, one.start, one.end).cmp(&(other.pid, other.start, other.end))
            });
        }
    }

    /// True when the trace tells of none.
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty() && self.symbols.is_empty()
    }

    /// The name of a process.
    pub fn process(&self, pid: u64) -> Option<&str> {
        self.processes.get(&pid).map(String::as_str)
    }

    /// What lies at an address of a process. The kernel is the same for all, and told for one.
    pub fn find(&self, pid: u64, address: u64) -> ModulePlace<'_> {
        let is_kernel = address >= KERNEL;
        let pids = [Some(pid), is_kernel.then_some(0)];
        let pids = || pids.into_iter().flatten();
        let function = pids().find_map(|pid| find(&self.symbols, pid, address));
        let file = pids().find_map(|pid| find(&self.mappings, pid, address));
        ModulePlace { function, file, is_kernel }
    }
}

fn find(ranges: &[Range], pid: u64, address: u64) -> Option<&str> {
    let after = ranges.partition_point(|range| (range.pid, range.start) <= (pid, address));
    let range = ranges.get(after.checked_sub(1)?)?;
    let holds = range.pid == pid && address < range.end && !range.name.is_empty();
    holds.then_some(range.name.as_str())
}
