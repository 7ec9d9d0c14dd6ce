//! Frames as profilers spell them, held against drawn sources.

use std::fmt::Write as _;

use expect_test::expect;

use super::{FrameQuery, SourceIndex};
use crate::FileVersion;

fn index() -> SourceIndex {
    let files = [
        ("java/src/a/b/Outer.java", "package a.b;
class Outer<T> {
    static final Map<String, String> NAMES = load();
    static { warm(); }
    void run(int a) { items.forEach(item -> use(item)); }
    void run(T a, String b) { items.forEach(item -> drop(item)); }
    Runnable r = new Runnable() {
        public void run() { go(); }
    };
    class Inner { Inner(int x) { y(x); } Inner(String x) { z(x); } }
    enum Colour { RED, GREEN; }
}
"),
        ("java/src/c/Outer.java", "package c;\nclass Outer { void run(int a) { other(); } }\n"),
        ("crates/fast-json/Cargo.toml", "[package]\nname = \"fast-json\"\n"),
        ("crates/fast-json/src/reader.rs", "pub struct Reader<T>(T);
impl<T> Reader<T> {
    pub fn new() -> Self { let f = || 1; panic!() }
}
impl<T> Visit for Reader<T> {
    fn go(&self) {}
}
pub trait Visit { fn go(&self); fn again(&self) { self.go(); } }
"),
        ("crates/slow/src/reader.rs", "impl Reader { pub fn new() -> Self { panic!() } }\n"),
        ("crates/slow/Cargo.toml", "[package]\nname = \"slow\"\n"),
        ("native/list.cpp", "namespace ns {
template <typename T> class List { void add(int a) { go(); } void add(char a) { sort(b, [](int a) { return a; }); } };
static int hidden(int a) { return a; }
}
"),
        ("native/util.c", "static int helper(int a) { return a; }\n"),
        ("native/other.c", "static int helper(int a) { return a + 1; }\n"),
        ("go.mod", "module example.com/app\n"),
        ("store/store.go", "package store
func (s *Store[K]) Get(k K) { go func() { s.load() }() }
func New() {}
"),
        ("cmd/store/store.go", "package store\nfunc New() {}\n"),
        ("app/models.py", "x = 1

class Model:
    @cached
    def save(self):
        return [y for y in self.z]

def save():
    pass
"),
        ("web/src/map.js", "class Layer {
  draw() { this.items.forEach((item) => {
      paint(item);
    });
  }
}
export const load = () => 1;
"),
    ];
    let version = |(path, text): &(&str, &str)| FileVersion {
        path: (*path).to_owned(),
        text: text.as_bytes().to_vec(),
    };
    SourceIndex::of_files(&files.iter().map(version).collect::<Vec<_>>())
}

#[test]
fn frames_of_every_kind_find_their_source() {
    let frame = |function: &'static str| FrameQuery { function, ..FrameQuery::default() };
    let at = |function, file, line| FrameQuery { file: Some(file), line, ..frame(function) };
    let with = |function, signature| FrameQuery { signature: Some(signature), ..frame(function) };
    let of = |function, component| FrameQuery { component: Some(component), ..frame(function) };
    let cases = [
        // Java.
        with("a.b.Outer.run", "(I)V"),
        with("a.b.Outer.run", "(Ljava/lang/Object;Ljava/lang/String;)V"),
        frame("a.b.Outer.run"),
        of("run", "a.b.Outer"),
        at("a.b.Outer.run", "Outer.java", Some(6)),
        frame("a.b.Outer$1.run"),
        frame("a.b.Outer.lambda$run$1"),
        frame("a.b.Outer.lambda$run$7"),
        frame("a.b.Outer.<clinit>"),
        at("a.b.Outer.<clinit>", "Outer.java", Some(4)),
        with("a.b.Outer$Inner.<init>", "(La/b/Outer;Ljava/lang/String;)V"),
        frame("a.b.Outer$Colour.<init>"),
        frame("a.b.Outer.access$000"),
        at("a.b.Outer$$Lambda$14/0x0000000800c03000.accept", "Outer.java", Some(5)),
        frame("java.util.ArrayList.forEach"),
        at("d.Outer.run", "Outer.java", Some(2)),
        // Rust.
        frame("fast_json::reader::Reader<T>::new"),
        frame("<slow::reader::Reader>::new"),
        frame("_ZN9fast_json6reader15Reader$LT$T$GT$3new17h0123456789abcdefE"),
        frame("fast_json::reader::Reader<T>::new::{{closure}}"),
        frame("<fast_json::reader::Reader<u8> as fast_json::reader::Visit>::go"),
        frame("<fast_json::reader::Reader<u8> as fast_json::reader::Visit>::again"),
        frame("core::ptr::drop_in_place<alloc::string::String>"),
        // C and C++.
        frame("void ns::List<int>::add<char>(int)"),
        with("ns::List<int>::add", "(char)"),
        frame("ns::List<int>::add(char)::{lambda(int)#1}::operator()(int) const"),
        frame("ns::hidden.constprop.0"),
        frame("helper.part.0"),
        at("helper", "/build/native/other.c", Some(1)),
        // Go.
        frame("example.com/app/store.(*Store[...]).Get.func1"),
        frame("example.com/app/store.New"),
        frame("example.com/app/cmd/store.New"),
        // Python.
        at("save", "/srv/app/models.py", Some(6)),
        at("save", "/srv/app/models.py", Some(8)),
        at("Model.save", "models.py", None),
        at("<listcomp>", "/srv/app/models.py", Some(6)),
        at("<module>", "/srv/app/models.py", Some(1)),
        // V8.
        at("draw", "https://example.com/assets/src/map.js?v=3", Some(2)),
        at("", "webpack://app/./src/map.js", Some(3)),
        of("load", "file:///srv/web/src/map.js"),
        at("gone", "map.js", Some(3)),
        frame(""),
        of("do_syscall_64", "[kernel.kallsyms]"),
    ];
    let index = index();
    let mut out = String::new();
    for frame in cases {
        let line = frame.line.map_or(String::new(), |line| format!(":{line}"));
        let place = frame.file.or(frame.component).unwrap_or("");
        let asked = format!("{}{} {place}{line}", frame.function, frame.signature.unwrap_or(""));
        let _ = writeln!(out, "{}", asked.trim_end());
        let found = index.locate(&frame);
        if found.is_empty() {
            out.push_str("    nowhere\n");
        }
        for it in found {
            let definition = it.definition;
            let (first, last) = definition.lines.unwrap();
            let signature = definition.signature.unwrap_or_default();
            let file = definition.file.unwrap();
            let _ = writeln!(
                out,
                "    {:.2} {}{signature} {file}:{first}-{last} {}",
                it.certainty, definition.name, it.why
            );
        }
    }
    expect![[r#"
        a.b.Outer.run(I)V
            0.97 a.b.Outer.run(int) java/src/a/b/Outer.java:5-5 by its full name
        a.b.Outer.run(Ljava/lang/Object;Ljava/lang/String;)V
            0.97 a.b.Outer.run(Object,String) java/src/a/b/Outer.java:6-6 by its full name
        a.b.Outer.run
            0.48 a.b.Outer.run(Object,String) java/src/a/b/Outer.java:6-6 by its full name
            0.48 a.b.Outer.run(int) java/src/a/b/Outer.java:5-5 by its full name
        run a.b.Outer
            0.48 a.b.Outer.run(Object,String) java/src/a/b/Outer.java:6-6 by its full name
            0.48 a.b.Outer.run(int) java/src/a/b/Outer.java:5-5 by its full name
        a.b.Outer.run Outer.java:6
            0.99 a.b.Outer.run(Object,String) java/src/a/b/Outer.java:6-6 file, line and name agree
        a.b.Outer$1.run
            0.80 a.b.Outer$1.run() java/src/a/b/Outer.java:8-8 by its full name
        a.b.Outer.lambda$run$1
            0.80 a.b.Outer.lambda$run$1 java/src/a/b/Outer.java:6-6 by its full name
        a.b.Outer.lambda$run$7
            0.30 a.b.Outer.run(Object,String) java/src/a/b/Outer.java:6-6 the enclosing function
            0.30 a.b.Outer.run(int) java/src/a/b/Outer.java:5-5 the enclosing function
        a.b.Outer.<clinit>
            0.97 a.b.Outer.<clinit> java/src/a/b/Outer.java:3-3 by its full name
            0.97 a.b.Outer.<clinit> java/src/a/b/Outer.java:4-4 by its full name
        a.b.Outer.<clinit> Outer.java:4
            0.99 a.b.Outer.<clinit> java/src/a/b/Outer.java:4-4 file, line and name agree
        a.b.Outer$Inner.<init>(La/b/Outer;Ljava/lang/String;)V
            0.97 a.b.Outer$Inner.<init>(String) java/src/a/b/Outer.java:10-10 by its full name
        a.b.Outer$Colour.<init>
            0.80 a.b.Outer$Colour java/src/a/b/Outer.java:11-11 the class that the compiler generated it for
        a.b.Outer.access$000
            0.50 a.b.Outer java/src/a/b/Outer.java:2-12 the class that the compiler generated it for
        a.b.Outer$$Lambda$14/0x0000000800c03000.accept Outer.java:5
            0.85 a.b.Outer.lambda$run$0 java/src/a/b/Outer.java:5-5 by file and line
        java.util.ArrayList.forEach
            nowhere
        d.Outer.run Outer.java:2
            nowhere
        fast_json::reader::Reader<T>::new
            0.95 reader::Reader::new crates/fast-json/src/reader.rs:3-3 by its full name
        <slow::reader::Reader>::new
            0.95 reader::Reader::new crates/slow/src/reader.rs:1-1 by its full name
        _ZN9fast_json6reader15Reader$LT$T$GT$3new17h0123456789abcdefE
            0.95 reader::Reader::new crates/fast-json/src/reader.rs:3-3 by its full name
        fast_json::reader::Reader<T>::new::{{closure}}
            0.76 reader::Reader::new crates/fast-json/src/reader.rs:3-3 the enclosing function
        <fast_json::reader::Reader<u8> as fast_json::reader::Visit>::go
            0.95 reader::<impl Visit for Reader<T>>::go crates/fast-json/src/reader.rs:6-6 by its full name
        <fast_json::reader::Reader<u8> as fast_json::reader::Visit>::again
            0.95 reader::Visit::again crates/fast-json/src/reader.rs:8-8 by its full name
        core::ptr::drop_in_place<alloc::string::String>
            nowhere
        void ns::List<int>::add<char>(int)
            0.95 ns::List::add(int) native/list.cpp:2-2 by its full name
        ns::List<int>::add(char)
            0.95 ns::List::add(char) native/list.cpp:2-2 by its full name
        ns::List<int>::add(char)::{lambda(int)#1}::operator()(int) const
            0.76 ns::List::add::{lambda#1} native/list.cpp:2-2 the enclosing function
        ns::hidden.constprop.0
            0.95 ns::hidden(int) native/list.cpp:3-3 by its full name
        helper.part.0
            0.47 helper native/other.c:1-1 by its full name
            0.47 helper native/util.c:1-1 by its full name
        helper /build/native/other.c:1
            0.99 helper native/other.c:1-1 file, line and name agree
        example.com/app/store.(*Store[...]).Get.func1
            0.95 store.(*Store).Get.func1 store/store.go:2-2 by its full name
        example.com/app/store.New
            0.95 store.New store/store.go:3-3 by its full name
        example.com/app/cmd/store.New
            0.95 store.New cmd/store/store.go:2-2 by its full name
        save /srv/app/models.py:6
            0.99 Model.save app/models.py:4-6 file, line and name agree
        save /srv/app/models.py:8
            0.99 save app/models.py:8-9 file, line and name agree
        Model.save models.py
            0.85 Model.save app/models.py:4-6 by file and name
        <listcomp> /srv/app/models.py:6
            0.95 Model.save app/models.py:4-6 by file and line
        <module> /srv/app/models.py:1
            0.95 <module> app/models.py:1-9 code of the file outside functions
        draw https://example.com/assets/src/map.js?v=3:2
            0.95 Layer.draw web/src/map.js:2-5 file, line and name agree
         webpack://app/./src/map.js:3
            0.95 Layer.draw.forEach(callback) web/src/map.js:2-4 by file and line
        load file:///srv/web/src/map.js
            0.85 load web/src/map.js:7-7 by file and name
        gone map.js:3
            0.50 Layer.draw.forEach(callback) web/src/map.js:2-4 by file and line

            nowhere
        do_syscall_64 [kernel.kallsyms]
            nowhere
    "#]].assert_eq(&out);
}
