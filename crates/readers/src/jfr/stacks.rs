//! From the ids of a chunk to contexts and threads of the profile: each stack, method and thread is looked at once.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use perfblame_cct::{
    Cursor, Frame, FrameId, Function, FunctionId, Layer, ProfileBuilder, StringId, Thread, ThreadId,
};

use super::layout::{Layout, Slots};
use super::metadata::ClassId;
use super::pools::Pools;
use crate::native::{demangle, layer_of};

/// How deep thread groups nest at most; a group that is its own ancestor would have no end.
const MAX_GROUPS: usize = 32;

/// The layouts on the way from an event to names.
pub struct Layouts {
    stack_class: ClassId,
    thread_class: ClassId,
    stack: Option<Layout>,
    frame: Option<Layout>,
    method: Option<Layout>,
    class: Option<Layout>,
    thread: Option<Layout>,
    group: Option<Layout>,
}

impl Layouts {
    /// Layouts of the classes that events' stacks and threads have. Announces to the pools what will be asked for.
    pub fn new(
        pools: &mut Pools<'_>,
        stack_class: Option<ClassId>,
        thread_class: Option<ClassId>,
    ) -> Self {
        let mut open = |class: Option<ClassId>, keep: &[&str]| {
            let layout = pools.layout(class?, keep)?;
            pools.index(class?);
            for field in layout.fields.iter().flatten().filter(|field| field.pooled) {
                pools.index(field.class);
            }
            Some(layout)
        };
        let class_of = |layout: &Option<Layout>, slot: usize| {
            layout.as_ref()?.fields[slot].as_ref().map(|field| field.class)
        };
        let stack = open(stack_class, &["truncated", "frames"]);
        let frame = open(class_of(&stack, 1), &["method", "lineNumber", "bytecodeIndex", "type"]);
        let method = open(class_of(&frame, 0), &["type", "name", "descriptor"]);
        let class = open(class_of(&method, 0), &["name"]);
        let thread = open(
            thread_class,
            &["osName", "osThreadId", "javaName", "javaThreadId", "group", "virtual"],
        );
        let group = open(class_of(&thread, 4), &["parent", "name"]);
        Self {
            stack_class: stack_class.unwrap_or_default(),
            thread_class: thread_class.unwrap_or_default(),
            stack,
            frame,
            method,
            class,
            thread,
            group,
        }
    }
}

/// How a frame was running.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum FrameKind {
    Java,
    Inlined,
    /// Compiled C or C++ of a library; or, in recordings of a JVM, a Java method that is native.
    Native,
    /// The virtual machine itself.
    Machine,
    Kernel,
}

/// What a stack id stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stack {
    At(Cursor),
    /// The event has no stack.
    None,
    /// The event refers to a stack that is in no pool, or not readable.
    Missing,
}

/// Looks ids up.
pub struct Stacks<'a> {
    pools: &'a Pools<'a>,
    layouts: &'a Layouts,
    stacks: HashMap<u64, Stack>,
    frames: HashMap<(u64, u32, u32, u64), Option<FrameId>>,
    functions: HashMap<(u64, FrameKind), Option<(FunctionId, bool)>>,
    classes: HashMap<u64, Option<StringId>>,
    kinds: HashMap<u64, FrameKind>,
    threads: HashMap<u64, Option<ThreadId>>,
    pid: Option<u64>,
    /// The stack before, outermost frame first: neighbours in a pool share most of their outer frames.
    before: Vec<(FrameId, Cursor)>,
    before_is_partial: bool,
    /// The stack at hand, innermost frame first.
    now: Vec<FrameId>,
    text: String,
}

impl<'a> Stacks<'a> {
    pub fn new(pools: &'a Pools<'a>, layouts: &'a Layouts, pid: Option<u64>) -> Self {
        Self {
            pools,
            layouts,
            stacks: HashMap::new(),
            frames: HashMap::new(),
            functions: HashMap::new(),
            classes: HashMap::new(),
            kinds: HashMap::new(),
            threads: HashMap::new(),
            pid,
            before: Vec::new(),
            before_is_partial: false,
            now: Vec::new(),
            text: String::new(),
        }
    }

    /// The context of a stack.
    pub fn stack(&mut self, builder: &mut ProfileBuilder, id: u64) -> Stack {
        if let Some(known) = self.stacks.get(&id) {
            return *known;
        }
        let stack = match self.pools.entry(self.layouts.stack_class, id) {
            None if id == 0 => Stack::None,
            None => Stack::Missing,
            Some(_) => self.read_stack(builder, id).unwrap_or(Stack::Missing),
        };
        self.stacks.insert(id, stack);
        stack
    }

    fn read_stack(&mut self, builder: &mut ProfileBuilder, id: u64) -> Option<Stack> {
        let (layout, frame) = (self.layouts.stack.as_ref()?, self.layouts.frame.as_ref()?);
        let frames = layout.fields[1].as_ref()?;
        if !frames.array || frames.pooled {
            return None;
        }
        let mut kept = Slots::default();
        layout.read(&mut self.pools.entry(self.layouts.stack_class, id)?, &mut kept)?;
        let partial = kept[0] != 0;
        let mut scan = self.pools.scanner(usize::try_from(kept[1]).ok()?);
        self.now.clear();
        for _ in 0..scan.int()? {
            let mut kept = Slots::default();
            frame.read(&mut scan, &mut kept)?;
            let key = (kept[0], kept[1] as u32, kept[2] as u32, kept[3]);
            let frame = match self.frames.get(&key) {
                Some(known) => *known,
                None => {
                    let frame = self.frame(builder, key);
                    self.frames.insert(key, frame);
                    frame
                }
            };
            let frame = frame.unwrap_or_else(|| {
                builder.warn("missing-methods", || {
                    "frames whose method is in no constant pool are shown as (unknown)".to_owned()
                });
                builder.named_frame("(unknown)", Layer::Runtime)
            });
            self.now.push(frame);
        }
        Some(self.walk(builder, partial).map_or(Stack::None, Stack::At))
    }

    /// Walks from the root to the innermost frame, beginning where this stack leaves the one before.
    fn walk(&mut self, builder: &mut ProfileBuilder, partial: bool) -> Option<Cursor> {
        if partial != self.before_is_partial {
            self.before.clear();
            self.before_is_partial = partial;
        }
        let outer = self.now.iter().rev();
        let shared = outer.clone().zip(&self.before).take_while(|(now, (old, _))| *now == old);
        let shared = shared.count();
        self.before.truncate(shared);
        for frame in outer.skip(shared) {
            let cursor = match self.before.last() {
                Some((_, parent)) => builder.child(*parent, *frame),
                None if partial => {
                    let root = builder.truncated_root();
                    builder.child(root, *frame)
                }
                None => builder.root(*frame),
            };
            self.before.push((*frame, cursor));
        }
        self.before.last().map(|(_, cursor)| *cursor)
    }

    fn frame(
        &mut self,
        builder: &mut ProfileBuilder,
        (method, line, bytecode, kind): (u64, u32, u32, u64),
    ) -> Option<FrameId> {
        let kind = self.kind(kind);
        let (function, native) = match self.functions.entry((method, kind)) {
            Entry::Occupied(known) => (*known.get())?,
            Entry::Vacant(_) => {
                let function = self.function(builder, method, kind);
                self.functions.insert((method, kind), function);
                function?
            }
        };
        let mut frame = Frame::of(function);
        // Negative numbers mean unknown; so does whatever is written for code that has neither lines nor bytecode.
        if !native {
            frame = frame.at_line(u64::try_from(line as i32).unwrap_or(0));
            frame.bytecode = u32::try_from(bytecode as i32).ok();
        }
        frame.inlined = kind == FrameKind::Inlined;
        Some(builder.frame(frame))
    }

    fn kind(&mut self, id: u64) -> FrameKind {
        let Self { kinds, layouts, pools, .. } = self;
        *kinds.entry(id).or_insert_with(|| {
            let field = layouts.frame.as_ref().and_then(|frame| frame.fields[3].as_ref());
            match field.and_then(|field| pools.text(field, id)).as_deref() {
                Some("Inlined") => FrameKind::Inlined,
                Some("Native") => FrameKind::Native,
                Some("C++") => FrameKind::Machine,
                Some("Kernel") => FrameKind::Kernel,
                _ => FrameKind::Java,
            }
        })
    }

    /// The function of a method, and whether it is outside Java.
    fn function(
        &mut self,
        builder: &mut ProfileBuilder,
        method: u64,
        kind: FrameKind,
    ) -> Option<(FunctionId, bool)> {
        let layout = self.layouts.method.as_ref()?;
        let class = layout.fields[0].as_ref()?;
        let mut kept = Slots::default();
        layout.read(&mut self.pools.entry(class_of_method(self.layouts)?, method)?, &mut kept)?;
        let component = match self.classes.get(&kept[0]) {
            Some(known) => *known,
            None => {
                let name = self.class_name(builder, class.class, kept[0]);
                self.classes.insert(kept[0], name);
                name
            }
        };
        let descriptor =
            layout.fields[2].as_ref().and_then(|field| self.pools.text(field, kept[2]));
        self.text.clear();
        if let Some(field) = &layout.fields[1] {
            self.pools.append_text(field, kept[1], &mut self.text);
        }
        let name_of_class = component.map_or("", |id| builder.symbols.text(id));
        let native = name_of_class.is_empty()
            || matches!(kind, FrameKind::Machine | FrameKind::Kernel)
            || descriptor.as_deref().is_some_and(|text| NATIVE_DESCRIPTORS.contains(&text));
        let layer = match kind {
            FrameKind::Kernel => Layer::Kernel,
            _ if native => native_layer(name_of_class),
            _ => java_layer(name_of_class),
        };
        let name = if native {
            demangle(&self.text).into_owned()
        } else {
            format!("{name_of_class}.{}", self.text)
        };
        let component = component.filter(|id| !builder.symbols.text(*id).is_empty());
        let name = builder.string(&name);
        let signature = descriptor.filter(|text| !native && !text.is_empty());
        let signature = signature.map(|text| builder.string(&text));
        let function = Function { component, signature, layer, ..Function::named(name) };
        Some((builder.function(function), native))
    }

    fn class_name(
        &mut self,
        builder: &mut ProfileBuilder,
        class: ClassId,
        id: u64,
    ) -> Option<StringId> {
        let layout = self.layouts.class.as_ref()?;
        let mut kept = Slots::default();
        layout.read(&mut self.pools.entry(class, id)?, &mut kept)?;
        let name = self.pools.text(layout.fields[0].as_ref()?, kept[0])?;
        Some(builder.string(&dotted(&name)))
    }

    /// The thread of an id; none when the event has none, or it is in no pool.
    pub fn thread(&mut self, builder: &mut ProfileBuilder, id: u64) -> Option<ThreadId> {
        if let Some(known) = self.threads.get(&id) {
            return *known;
        }
        let thread = self.read_thread(builder, id);
        self.threads.insert(id, thread);
        thread
    }

    fn read_thread(&mut self, builder: &mut ProfileBuilder, id: u64) -> Option<ThreadId> {
        let layout = self.layouts.thread.as_ref()?;
        let mut kept = Slots::default();
        layout.read(&mut self.pools.entry(self.layouts.thread_class, id)?, &mut kept)?;
        let text = |slot: usize| {
            let text = self.pools.text(layout.fields[slot].as_ref()?, kept[slot])?;
            (!text.is_empty()).then_some(text)
        };
        let name = text(2).or_else(|| text(0)).unwrap_or_default();
        // A virtual thread runs on many system threads; its own id is the Java one.
        let (system, java, is_virtual) = (kept[1], kept[3], kept[5] != 0);
        let tid = if system == 0 || is_virtual { java } else { system };
        let group = self.group_path(kept[4]);
        let name = builder.string(&name);
        let group = group.map(|path| builder.string(&path));
        let tid = (tid != 0).then_some(tid);
        Some(builder.thread(Thread { pid: self.pid, tid, group, ..Thread::named(name) }))
    }

    /// The names of a thread's group and the groups around it, outermost first.
    fn group_path(&self, mut id: u64) -> Option<String> {
        let layout = self.layouts.group.as_ref()?;
        let class = self.layouts.thread.as_ref()?.fields[4].as_ref()?.class;
        let mut names = Vec::new();
        while let Some(mut scan) = self.pools.entry(class, id) {
            let mut kept = Slots::default();
            layout.read(&mut scan, &mut kept)?;
            names.extend(self.pools.text(layout.fields[1].as_ref()?, kept[1]));
            if kept[0] == id || names.len() >= MAX_GROUPS {
                break;
            }
            id = kept[0];
        }
        names.reverse();
        (!names.is_empty()).then(|| names.join("/"))
    }
}

fn class_of_method(layouts: &Layouts) -> Option<ClassId> {
    layouts.frame.as_ref()?.fields[0].as_ref().map(|field| field.class)
}

/// What async-profiler writes as the descriptor of functions that are not Java's.
const NATIVE_DESCRIPTORS: [&str; 2] = ["()L;", "(Lk;)L;"];

/// Packages as people write them. The slash before an address or number belongs to the name of a hidden class:
/// `Deep$$Lambda/0x00007f4118008a08`, and no identifier begins with a digit.
/// The paths of libraries, which stand in the place of classes too, stay as they are.
fn dotted(name: &str) -> String {
    if name.starts_with('/') {
        return name.to_owned();
    }
    let digit_next = |at: usize| name.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit);
    name.char_indices().map(|(at, c)| if c == '/' && !digit_next(at) { '.' } else { c }).collect()
}

/// Classes that come with the JDK are a library; all others are taken for the program's own.
fn java_layer(class: &str) -> Layer {
    const LIBRARY: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];
    if LIBRARY.iter().any(|package| class.starts_with(package)) {
        Layer::Library
    } else {
        Layer::Application
    }
}

fn native_layer(library: &str) -> Layer {
    if library.is_empty() { Layer::Runtime } else { layer_of(library) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names_get_dots_between_packages_only() {
        assert_eq!(dotted("java/util/HashMap$Node"), "java.util.HashMap$Node");
        assert_eq!(dotted("a/Deep$$Lambda/0x000c142a10"), "a.Deep$$Lambda/0x000c142a10");
        assert_eq!(
            dotted("Deep$$Lambda$87+0x00007f4118008a08/182259421"),
            "Deep$$Lambda$87+0x00007f4118008a08/182259421"
        );
    }
}
