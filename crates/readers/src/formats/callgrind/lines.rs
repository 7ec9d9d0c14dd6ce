//! The lines of a callgrind file: headers, names, calls, costs.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use perfblame_cct::{Grain, ProfileBuilder};

use super::graph::{CallgrindGraph, CostPlace, FunctionKey};

/// Events and positions that we keep per line; real files have at most 13 and 2.
const MAX_COLUMNS: usize = 64;

/// A name of one file, by its row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NameId(u32);

impl NameId {
    /// No name was given.
    pub const NONE: Self = Self(0);
}

/// All names of a file.
#[derive(Clone, Default)]
pub struct CallgrindNames {
    texts: Vec<String>,
    index: HashMap<String, NameId>,
}

impl CallgrindNames {
    fn intern(&mut self, text: &str) -> NameId {
        if text.is_empty() {
            return NameId::NONE;
        }
        if let Some(name) = self.index.get(text) {
            return *name;
        }
        self.texts.push(text.to_owned());
        let name = NameId(self.texts.len() as u32);
        self.index.insert(text.to_owned(), name);
        name
    }

    /// The text of a name; empty for none.
    pub fn text(&self, name: NameId) -> &str {
        (name.0 as usize)
            .checked_sub(1)
            .and_then(|row| self.texts.get(row))
            .map_or("", String::as_str)
    }

    /// The text of a name that says something.
    pub fn known(&self, name: NameId) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty() && *text != "???" && *text != "~")
    }
}

/// Tables of compressed names, one per kind: objects, files, functions.
#[derive(Default)]
struct Compressed {
    names: HashMap<u64, NameId>,
}

/// What a file holds.
#[derive(Default)]
pub struct CallgrindFile {
    pub events: Vec<String>,
    pub creator: Option<String>,
    pub command: Option<String>,
    pub pid: Option<u64>,
    pub descriptions: Vec<(String, String)>,
    /// What the costs add up to by the file's own account; empty when it does not say.
    pub totals: Vec<i64>,
    /// By thread; none where the file does not tell threads apart.
    pub graphs: BTreeMap<Option<u64>, CallgrindGraph>,
}

/// What the next line of numbers is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Cost,
    /// The place and inclusive cost of calls to a function.
    Calls {
        callee: u32,
        count: i64,
    },
    /// Where a jump comes from: a position without cost.
    Jump,
}

/// Reads line by line.
pub struct Parser {
    grain: Grain,
    file: CallgrindFile,
    names: CallgrindNames,
    objects: Compressed,
    files: Compressed,
    functions: Compressed,
    has_address: bool,
    has_line: bool,
    thread: Option<u64>,
    object: NameId,
    source: NameId,
    function: Option<u32>,
    callee_object: Option<NameId>,
    callee_source: Option<NameId>,
    callee: NameId,
    next: Next,
    positions: Vec<u64>,
    costs: Vec<i64>,
    /// Totals of the part at hand; `totals:` at its end outranks `summary:` at its start.
    part_totals: Vec<i64>,
    part_has_totals: bool,
}

impl Parser {
    pub fn new(grain: Grain) -> Self {
        Self {
            grain,
            file: CallgrindFile::default(),
            names: CallgrindNames::default(),
            objects: Compressed::default(),
            files: Compressed::default(),
            functions: Compressed::default(),
            has_address: false,
            has_line: true,
            thread: None,
            object: NameId::NONE,
            source: NameId::NONE,
            function: None,
            callee_object: None,
            callee_source: None,
            callee: NameId::NONE,
            next: Next::Cost,
            positions: Vec::new(),
            costs: Vec::new(),
            part_totals: Vec::new(),
            part_has_totals: false,
        }
    }

    /// Takes one line, which starts at `offset`.
    pub fn line(&mut self, builder: &mut ProfileBuilder, line: &[u8], offset: u64) {
        let line = line.trim_ascii();
        let understood = match line.first() {
            None | Some(b'#') => true,
            Some(b'0'..=b'9' | b'+' | b'-' | b'*') => self.numbers(line),
            Some(_) => {
                let text = String::from_utf8_lossy(line);
                self.words(&text)
            }
        };
        if !understood {
            builder.warn("damaged-lines", || {
                format!("invalid lines were left out, first at byte {offset}")
            });
        }
    }

    pub fn finish(mut self) -> CallgrindFile {
        self.end_part();
        // Every graph needs the names to make frames; there is one per thread, mostly one.
        for graph in self.file.graphs.values_mut() {
            graph.names = self.names.clone();
        }
        self.file
    }

    fn words(&mut self, line: &str) -> bool {
        // `fn=name` and `key: value`; names may hold both signs, keys neither.
        let Some(sign) = line.find(['=', ':']) else { return false };
        let (key, value) = (&line[..sign], line[sign + 1..].trim_start());
        if line.as_bytes()[sign] == b'=' {
            self.assignment(key, value)
        } else {
            self.header(key, value)
        }
    }

    fn assignment(&mut self, key: &str, value: &str) -> bool {
        // How wide a row is must be known before the first.
        if self.file.events.is_empty() {
            return false;
        }
        match key {
            "ob" => self.object = name(&mut self.objects, &mut self.names, value),
            "fl" | "fi" | "fe" => self.source = name(&mut self.files, &mut self.names, value),
            "fn" => {
                let name = name(&mut self.functions, &mut self.names, value);
                let key = FunctionKey { object: self.object, file: self.source, name };
                self.function = Some(self.graph().function(key));
            }
            "cob" => self.callee_object = Some(name(&mut self.objects, &mut self.names, value)),
            "cfl" | "cfi" => {
                self.callee_source = Some(name(&mut self.files, &mut self.names, value));
            }
            "cfn" | "cfni" => self.callee = name(&mut self.functions, &mut self.names, value),
            "calls" | "rcalls" => return self.calls(value),
            "jump" | "jcnd" => self.next = Next::Jump,
            // Where a cycle or caller chain comes from, and what later versions may add.
            "frfn" | "jfi" | "jfn" => {}
            _ => return false,
        }
        true
    }

    fn calls(&mut self, value: &str) -> bool {
        let mut words = value.split_ascii_whitespace();
        let Some(count) = words.next().and_then(number) else { return false };
        let key = FunctionKey {
            object: self.callee_object.take().unwrap_or(self.object),
            file: self
                .callee_source
                .take()
                .filter(|file| *file != NameId::NONE)
                .unwrap_or(self.source),
            name: self.callee,
        };
        let callee = self.graph().function(key);
        if self.has_line {
            let target = words.nth(usize::from(self.has_address));
            let last = self.positions.get(usize::from(self.has_address)).copied().unwrap_or(0);
            if let Some(line) = target.and_then(|word| subposition(word, last)) {
                self.graph().starts_at(callee, line);
            }
        }
        self.next = Next::Calls { callee, count };
        true
    }

    fn header(&mut self, key: &str, value: &str) -> bool {
        match key {
            "creator" => self.file.creator = Some(value.to_owned()),
            "cmd" => self.file.command = Some(value.to_owned()),
            "pid" => self.file.pid = value.parse().ok(),
            "positions" => {
                self.has_address =
                    value.split_ascii_whitespace().any(|word| word == "instr" || word == "addr");
                self.has_line = value.split_ascii_whitespace().any(|word| word == "line");
            }
            "events" => {
                if self.file.events.is_empty() {
                    let words = value.split_ascii_whitespace().take(MAX_COLUMNS);
                    self.file.events = words.map(str::to_owned).collect();
                }
            }
            "summary" | "totals" => {
                let numbers = value.split_ascii_whitespace().take(MAX_COLUMNS);
                let numbers: Vec<i64> = numbers.map_while(number).collect();
                let is_totals = key == "totals";
                if is_totals || !self.part_has_totals {
                    self.part_totals = numbers;
                    self.part_has_totals = is_totals;
                }
            }
            "thread" => {
                self.thread = value.parse().ok();
                // Rows of functions are those of another graph now.
                (self.function, self.next) = (None, Next::Cost);
            }
            "part" => self.end_part(),
            "desc" => {
                if let Some((key, value)) =
                    value.split_once(':').filter(|(_, value)| !value.trim().is_empty())
                {
                    let label = (key.trim().to_owned(), value.trim().to_owned());
                    if self.file.descriptions.len() < MAX_COLUMNS
                        && !self.file.descriptions.contains(&label)
                    {
                        self.file.descriptions.push(label);
                    }
                }
            }
            "version" | "event" | "target" => {}
            _ => return false,
        }
        true
    }

    /// Parts of a file are separate accounts: their totals add up.
    fn end_part(&mut self) {
        let totals = &mut self.file.totals;
        if totals.len() < self.part_totals.len() {
            totals.resize(self.part_totals.len(), 0);
        }
        for (slot, total) in totals.iter_mut().zip(self.part_totals.drain(..)) {
            *slot = slot.saturating_add(total);
        }
        self.part_has_totals = false;
    }

    fn numbers(&mut self, line: &[u8]) -> bool {
        let positions = usize::from(self.has_address) + usize::from(self.has_line);
        let events = self.file.events.len();
        self.positions.resize(positions, 0);
        self.costs.resize(events, 0);
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        for slot in &mut self.positions {
            let word = words.next().and_then(|word| str::from_utf8(word).ok());
            let Some(value) = word.and_then(|word| subposition(word, *slot)) else { return false };
            *slot = value;
        }
        let next = std::mem::replace(&mut self.next, Next::Cost);
        if next == Next::Jump {
            return true;
        }
        // Values left out at the end of a line are 0.
        for slot in &mut self.costs {
            *slot = match words.next() {
                None => 0,
                Some(word) => match cost(word, *slot) {
                    Some(value) => value,
                    None => return false,
                },
            };
        }
        let Some(function) = self.function else { return false };
        let address =
            if self.has_address { self.positions.first().copied().unwrap_or(0) } else { 0 };
        let line = if self.has_line { self.positions.last().copied().unwrap_or(0) } else { 0 };
        let place = CostPlace { function, file: self.source, line, address };
        let (grain, width) = (self.grain, events);
        let graph = self
            .file
            .graphs
            .entry(self.thread)
            .or_insert_with(|| CallgrindGraph::new(grain, width));
        match next {
            Next::Calls { callee, count } => graph.add_calls(place, callee, count, &self.costs),
            _ => graph.add_cost(place, &self.costs),
        }
        true
    }

    fn graph(&mut self) -> &mut CallgrindGraph {
        let (grain, width) = (self.grain, self.file.events.len());
        self.file.graphs.entry(self.thread).or_insert_with(|| CallgrindGraph::new(grain, width))
    }
}

/// A name that may be compressed: `(7) text` defines, `(7)` refers.
fn name(table: &mut Compressed, names: &mut CallgrindNames, value: &str) -> NameId {
    let compressed = value.strip_prefix('(').and_then(|rest| {
        let (id, text) = rest.split_once(')')?;
        Some((id.parse::<u64>().ok()?, text.trim()))
    });
    match compressed {
        Some((id, "")) => table.names.get(&id).copied().unwrap_or_else(|| names.intern(value)),
        Some((id, text)) => {
            let name = names.intern(text);
            table.names.insert(id, name);
            name
        }
        None => names.intern(value),
    }
}

/// A line or address: absolute, `+n` or `-n` relative to the last, `*` the same.
fn subposition(word: &str, last: u64) -> Option<u64> {
    match word.as_bytes().first()? {
        b'*' => Some(last),
        b'+' => last.checked_add(unsigned(&word[1..])?),
        b'-' => last.checked_sub(unsigned(&word[1..])?),
        _ => unsigned(word),
    }
}

fn unsigned(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    }
}

fn number(word: &str) -> Option<i64> {
    unsigned(word).and_then(|value| i64::try_from(value).ok()).or_else(|| word.parse().ok())
}

/// A cost. Some producers compress costs the way positions are.
fn cost(word: &[u8], last: i64) -> Option<i64> {
    // The usual case first: this is most of the file.
    if word.len() < 18 && word.iter().all(u8::is_ascii_digit) {
        return Some(word.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')));
    }
    let word = str::from_utf8(word).ok()?;
    match word.as_bytes().first()? {
        b'*' => Some(last),
        b'+' => last.checked_add(number(&word[1..])?),
        b'-' => last.checked_sub(number(&word[1..])?),
        _ => number(word),
    }
}
