//! From threads of a chunk to threads of the profile, with the groups that the program put them in.

use hashbrown::HashMap;
use perfblame_cct::{ProfileBuilder, Thread, ThreadId};

use super::layout::{Layout, Slots};
use super::metadata::ClassId;
use super::pools::Pools;

/// How deep thread groups nest at most; a group that is its own ancestor would have no end.
const MAX_GROUPS: usize = 32;

/// Slots of a thread.
const KEEP: [&str; 6] = ["osName", "osThreadId", "javaName", "javaThreadId", "group", "virtual"];
const OS_NAME: usize = 0;
const OS_ID: usize = 1;
const JAVA_NAME: usize = 2;
const JAVA_ID: usize = 3;
const GROUP: usize = 4;
const VIRTUAL: usize = 5;

/// Where threads and groups have their parts.
pub struct ThreadLayouts {
    class: ClassId,
    thread: Option<Layout>,
    group: Option<Layout>,
}

impl ThreadLayouts {
    /// Layouts for the threads of events.
    pub fn new(pools: &mut Pools<'_>, class: Option<ClassId>) -> Self {
        let thread = pools.indexed_layout(class, &KEEP);
        let group = thread.as_ref().and_then(|thread| thread.fields[GROUP].as_ref());
        let group = pools.indexed_layout(group.map(|field| field.class), &["parent", "name"]);
        Self { class: class.unwrap_or_default(), thread, group }
    }
}

/// Looks threads up, each once.
pub struct JfrThreads<'a> {
    pools: &'a Pools<'a>,
    layouts: &'a ThreadLayouts,
    pid: Option<u64>,
    known: HashMap<u64, Option<ThreadId>>,
}

impl<'a> JfrThreads<'a> {
    pub fn new(pools: &'a Pools<'a>, layouts: &'a ThreadLayouts, pid: Option<u64>) -> Self {
        Self { pools, layouts, pid, known: HashMap::new() }
    }

    /// The thread of an id; none when it is in no pool.
    pub fn thread(&mut self, builder: &mut ProfileBuilder, id: u64) -> Option<ThreadId> {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let thread = self.new_thread(builder, id);
        self.known.insert(id, thread);
        thread
    }

    fn new_thread(&self, builder: &mut ProfileBuilder, id: u64) -> Option<ThreadId> {
        let layout = self.layouts.thread.as_ref()?;
        let mut kept = Slots::default();
        layout.read(&mut self.pools.entry(self.layouts.class, id)?, &mut kept)?;
        let text = |slot: usize| {
            let text = self.pools.text(layout.fields[slot].as_ref()?, kept[slot])?;
            (!text.is_empty()).then_some(text)
        };
        let name = text(JAVA_NAME).or_else(|| text(OS_NAME)).unwrap_or_default();
        // A virtual thread runs on many system threads; its own id is the Java one.
        let is_virtual = kept[VIRTUAL] != 0;
        let tid = if kept[OS_ID] == 0 || is_virtual { kept[JAVA_ID] } else { kept[OS_ID] };
        let group =
            self.group_path(layout.fields[GROUP].as_ref().map(|group| group.class), kept[GROUP]);
        let name = builder.string(&name);
        let group = group.map(|path| builder.string(&path));
        let tid = (tid != 0).then_some(tid);
        Some(builder.thread(Thread { pid: self.pid, tid, group, ..Thread::named(name) }))
    }

    /// The names of a thread's group and the groups around it, outermost first.
    fn group_path(&self, class: Option<ClassId>, mut id: u64) -> Option<String> {
        let layout = self.layouts.group.as_ref()?;
        let mut names = Vec::new();
        for _ in 0..MAX_GROUPS {
            let Some(mut scan) = self.pools.entry(class?, id) else { break };
            let mut kept = Slots::default();
            layout.read(&mut scan, &mut kept)?;
            names.extend(self.pools.text(layout.fields[1].as_ref()?, kept[1]));
            id = kept[0];
        }
        names.reverse();
        (!names.is_empty()).then(|| names.join("/"))
    }
}
