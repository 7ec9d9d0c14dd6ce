//! From methods of a chunk to functions: names as people write them, and whose code it is.

use hashbrown::HashMap;
use perfblame_cct::{Frame, FrameId, Function, FunctionId, Layer, ProfileBuilder, StringId};
use perfblame_native::{demangle, layer_of};

use super::layout::{Layout, Slots};
use super::metadata::ClassId;
use super::pools::Pools;
use crate::building::java::layer_of_class;

/// What async-profiler writes as the descriptor of functions that are not Java's.
const NATIVE_DESCRIPTORS: [&str; 2] = ["()L;", "(Lk;)L;"];

/// A frame as stacks have it: method, line, bytecode index and how it was running.
pub type Place = (u64, u32, u32, u64);

/// How a frame was running.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum FrameKind {
    Java,
    Inlined,
    /// C++ of a library or the virtual machine.
    Cpp,
    Kernel,
}

/// Where frames, methods and classes have their parts.
#[derive(Default)]
pub struct MethodLayouts {
    /// Of a frame.
    pub frame: Option<Layout>,
    method: Option<Layout>,
    class: Option<Layout>,
}

impl MethodLayouts {
    /// Layouts for the frames of stacks.
    pub fn new(pools: &mut Pools<'_>, frame_class: Option<ClassId>) -> Self {
        let keep = ["method", "lineNumber", "bytecodeIndex", "type"];
        let frame = pools.indexed_layout(frame_class, &keep);
        let class_of = |layout: &Option<Layout>| Some(layout.as_ref()?.fields[0].as_ref()?.class);
        let method = pools.indexed_layout(class_of(&frame), &["type", "name", "descriptor"]);
        let class = pools.indexed_layout(class_of(&method), &["name"]);
        Self { frame, method, class }
    }
}

/// Looks methods up, each once.
pub struct JfrMethods<'a> {
    pools: &'a Pools<'a>,
    layouts: &'a MethodLayouts,
    frames: HashMap<Place, FrameId>,
    functions: HashMap<(u64, FrameKind), Option<FoundMethod>>,
    classes: HashMap<u64, Option<StringId>>,
    kinds: HashMap<u64, FrameKind>,
    text: String,
}

#[derive(Clone, Copy)]
struct FoundMethod {
    function: FunctionId,
    /// It has neither lines nor bytecode.
    native: bool,
}

impl<'a> JfrMethods<'a> {
    pub fn new(pools: &'a Pools<'a>, layouts: &'a MethodLayouts) -> Self {
        Self {
            pools,
            layouts,
            frames: HashMap::new(),
            functions: HashMap::new(),
            classes: HashMap::new(),
            kinds: HashMap::new(),
            text: String::new(),
        }
    }

    /// The frame of a place.
    #[inline]
    pub fn frame(&mut self, builder: &mut ProfileBuilder, place: Place) -> FrameId {
        if let Some(known) = self.frames.get(&place) {
            return *known;
        }
        let frame = self.new_frame(builder, place).unwrap_or_else(|| {
            builder.warn("missing-methods", || {
                "methods that are not in a constant pool are shown as (unknown)".to_owned()
            });
            builder.named_frame("(unknown)", Layer::Runtime)
        });
        self.frames.insert(place, frame);
        frame
    }

    fn new_frame(&mut self, builder: &mut ProfileBuilder, place: Place) -> Option<FrameId> {
        let (method, line, bytecode, kind) = place;
        let kind = self.kind(kind);
        let found = if let Some(known) = self.functions.get(&(method, kind)) {
            *known
        } else {
            let found = self.new_function(builder, method, kind);
            self.functions.insert((method, kind), found);
            found
        };
        let FoundMethod { function, native } = found?;
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
                Some("C++") => FrameKind::Cpp,
                Some("Kernel") => FrameKind::Kernel,
                // `Native` is C in recordings of async-profiler, but a Java method that is native in those of a JVM:
                // the method says which.
                _ => FrameKind::Java,
            }
        })
    }

    fn new_function(
        &mut self,
        builder: &mut ProfileBuilder,
        method: u64,
        kind: FrameKind,
    ) -> Option<FoundMethod> {
        let layout = self.layouts.method.as_ref()?;
        let class_of_methods = self.layouts.frame.as_ref()?.fields[0].as_ref()?.class;
        let mut kept = Slots::default();
        layout.read(&mut self.pools.entry(class_of_methods, method)?, &mut kept)?;
        let class = self.class(builder, layout.fields[0].as_ref()?.class, kept[0]);
        let name_of_class = class.map_or("", |id| builder.symbols.text(id));
        let descriptor =
            layout.fields[2].as_ref().and_then(|field| self.pools.text(field, kept[2]));
        let native = name_of_class.is_empty()
            || matches!(kind, FrameKind::Cpp | FrameKind::Kernel)
            || descriptor.as_deref().is_some_and(|text| NATIVE_DESCRIPTORS.contains(&text));
        let layer = match kind {
            FrameKind::Kernel => Layer::Kernel,
            _ if native => native_layer(name_of_class),
            _ => layer_of_class(name_of_class),
        };
        let component = class.filter(|_| !name_of_class.is_empty());
        self.text.clear();
        if !native {
            self.text.push_str(name_of_class);
            self.text.push('.');
        }
        if let Some(field) = &layout.fields[1] {
            self.pools.append_text(field, kept[1], &mut self.text);
        }
        let name =
            if native { builder.string(&demangle(&self.text)) } else { builder.string(&self.text) };
        let signature = descriptor.filter(|text| !native && !text.is_empty());
        let signature = signature.map(|text| builder.string(&text));
        let function = Function { component, signature, layer, ..Function::named(name) };
        Some(FoundMethod { function: builder.function(function), native })
    }

    /// The name of a class, or of the library that stands in its place.
    fn class(&mut self, builder: &mut ProfileBuilder, pool: ClassId, id: u64) -> Option<StringId> {
        if let Some(known) = self.classes.get(&id) {
            return *known;
        }
        let name = self.class_name(pool, id).map(|name| builder.string(&name));
        self.classes.insert(id, name);
        name
    }

    fn class_name(&self, pool: ClassId, id: u64) -> Option<String> {
        let layout = self.layouts.class.as_ref()?;
        let mut kept = Slots::default();
        layout.read(&mut self.pools.entry(pool, id)?, &mut kept)?;
        Some(dotted(&self.pools.text(layout.fields[0].as_ref()?, kept[0])?))
    }
}

/// Packages as people write them. The slash before an address or number belongs to the name of a hidden class:
/// `Deep$$Lambda/0x00007f4118008a08`, and no identifier begins with a digit. The paths of libraries, which stand in the
/// place of classes too, stay as they are.
fn dotted(name: &str) -> String {
    if name.starts_with('/') {
        return name.to_owned();
    }
    let digit_next = |at: usize| name.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit);
    name.char_indices().map(|(at, c)| if c == '/' && !digit_next(at) { '.' } else { c }).collect()
}

/// Code without a library is the virtual machine's: its stubs, and what async-profiler says of stacks it could not walk.
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
        assert_eq!(dotted("/usr/lib/libc.so.6"), "/usr/lib/libc.so.6");
    }

    #[test]
    fn libraries_tell_whose_code_it_is() {
        assert_eq!(native_layer("libjvm.so"), Layer::Runtime);
        assert_eq!(native_layer("libc.so.6"), Layer::Library);
        assert_eq!(native_layer(""), Layer::Runtime);
    }
}
