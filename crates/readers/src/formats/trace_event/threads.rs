//! Processes and threads of a trace: numbers in every event, names whenever they come.

use hashbrown::HashMap;
use perfblame_cct::{ProfileBuilder, StringId, Thread, ThreadId};

use super::event::Id;

/// Process and thread as numbers; names that stand for numbers are numbered far below zero.
pub type Key = (i64, i64);

/// The threads seen so far.
#[derive(Default, Debug)]
pub struct TraceThreads {
    named: HashMap<Box<[u8]>, i64>,
    ids: HashMap<Key, ThreadId>,
    order: Vec<(Key, ThreadId)>,
    names: HashMap<Key, StringId>,
    groups: HashMap<Key, StringId>,
    processes: HashMap<i64, StringId>,
    /// Tracks that are no threads, by process and name.
    tracks: HashMap<(i64, StringId), ThreadId>,
}

impl TraceThreads {
    /// The number of a process or thread.
    pub fn number(&mut self, id: Id<'_>) -> i64 {
        match id {
            Id::Number(number) => number,
            Id::Text(text) => {
                if let Some(number) = self.named.get(text) {
                    return *number;
                }
                let number = i64::MIN + self.named.len() as i64;
                self.named.insert(text.into(), number);
                number
            }
        }
    }

    /// Names a thread.
    pub fn name(&mut self, key: Key, name: StringId) {
        self.names.insert(key, name);
    }

    /// Names a process.
    pub fn name_process(&mut self, pid: i64, name: StringId) {
        self.processes.insert(pid, name);
    }

    /// Says what a thread belongs to.
    pub fn group(&mut self, key: Key, group: StringId) {
        self.groups.insert(key, group);
    }

    /// The thread in the profile.
    pub fn get(&mut self, key: Key, builder: &mut ProfileBuilder) -> ThreadId {
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        // Numbers below zero have no place in a thread: a text keeps them apart until the names are known.
        let odd = key.0 < 0 || key.1 < 0;
        let name =
            builder.string(&if odd { format!("{}/{}", key.0, key.1) } else { String::new() });
        let id = builder.thread(thread(key, name));
        self.ids.insert(key, id);
        self.order.push((key, id));
        id
    }

    /// A track of a process that is no thread.
    pub fn track(&mut self, pid: i64, name: StringId, builder: &mut ProfileBuilder) -> ThreadId {
        *self.tracks.entry((pid, name)).or_insert_with(|| {
            builder.thread(Thread { pid: u64::try_from(pid).ok(), ..Thread::named(name) })
        })
    }

    /// Tells the builder all names.
    pub fn finish(&self, builder: &mut ProfileBuilder) {
        let mut texts: Vec<_> = self.named.iter().map(|(text, number)| (*number, text)).collect();
        texts.sort_unstable();
        let text_of = |number: i64| {
            let at = texts.binary_search_by_key(&number, |(number, _)| *number).ok()?;
            Some(String::from_utf8_lossy(texts[at].1))
        };
        for (key, id) in &self.order {
            // uftrace names a thread as if it were a process of its own.
            let own = (key.1, key.1);
            let elsewhere = || self.names.get(&own).filter(|_| !self.ids.contains_key(&own));
            let name = match (self.names.get(key).or_else(elsewhere), text_of(key.1)) {
                (Some(name), _) => *name,
                (None, text) => builder.string(&text.unwrap_or_default()),
            };
            let mut known = thread(*key, name);
            known.group = self.groups.get(key).copied();
            known.process = match (self.processes.get(&key.0), text_of(key.0)) {
                (Some(name), _) => Some(*name),
                (None, text) => text.map(|text| builder.string(&text)),
            };
            builder.update_thread(*id, known);
        }
        let mut tracks: Vec<_> = self.tracks.iter().collect();
        tracks.sort_unstable();
        for ((pid, _), id) in tracks {
            if let Some(known) = builder.known_thread(*id) {
                let process = self.processes.get(pid).copied();
                builder.update_thread(*id, Thread { process, ..known });
            }
        }
    }
}

fn thread(key: Key, name: StringId) -> Thread {
    let (pid, tid) = (u64::try_from(key.0).ok(), u64::try_from(key.1).ok());
    Thread { pid, tid, ..Thread::named(name) }
}
