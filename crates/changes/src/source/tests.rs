//! Functions of every language, and files that are no help.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::{BodyHash, FunctionKind, SourceFile, source_file};
use crate::Addition;

fn parse(path: &str, text: &str) -> SourceFile {
    source_file(path, text.as_bytes()).expect("a known language")
}

/// The one place that draws a file: a line per function with its extent, kind and what it costs.
fn check_functions(path: &str, text: &str, expected: &Expect) {
    let file = parse(path, text);
    let mut out = String::new();
    for function in &file.functions {
        let kind = match function.kind {
            FunctionKind::Named => "",
            FunctionKind::Closure => " closure",
            FunctionKind::Initialiser => " initialiser",
        };
        let signature = function.signature.as_deref().unwrap_or("");
        let (first, last) = function.lines;
        let _ = write!(out, "{}{signature} {first}-{last}{kind}", function.name);
        for cost in &function.costs {
            let _ = match cost {
                Addition::Call(name) => write!(out, " {name}()"),
                other => write!(out, " {other:?}"),
            };
        }
        out.push('\n');
    }
    if let Some(line) = file.first_error {
        let _ = writeln!(out, "error in line {line}");
    }
    if let Some(sentence) = file.incomplete {
        let _ = writeln!(out, "{sentence}");
    }
    expected.assert_eq(&out);
}

#[test]
fn java_names_are_those_of_the_compiler() {
    check_functions(
        "src/Outer.java",
        r#"package a.b;

import java.util.List;

public class Outer<T extends Comparable<T>> {
    private static final int LIMIT = 10;
    private static final List<String> NAMES = load();
    private final Object lock = new Object();
    static { warm(); }
    { count = 1; }

    public Outer(int size) { this.size = size; }

    @Override
    public <K> void run(final T first, K second, List<? extends T>[] rest, int... more) {
        items.forEach(item -> other.map(x -> x + 1));
        new Thread(new Runnable() {
            public void run() { synchronized (lock) { work(() -> 1); } }
        }).start();
        class Local { void go() {} }
        for (int i = 0; i < more.length; i++) { Thread.sleep(1); }
    }

    synchronized void quick() {}

    abstract void nothing();

    static class Inner {
        Inner() {}
        class Deeper { int value() { return 1; } }
    }

    enum Colour {
        RED { int code() { return 1; } }, GREEN;
        int code() { return 0; }
    }

    record Point(int x, int y) { Point { check(x); } }
}

interface Shape { double PI = Math.acos(-1); default double area() { return PI; } }
"#,
        &expect![[r#"
            a.b.Outer.<clinit> 7-7 initialiser load()
            a.b.Outer.<init> 8-8 initialiser Object.<init>() Allocation
            a.b.Outer.<clinit> 9-9 initialiser warm()
            a.b.Outer.<init> 10-10 initialiser
            a.b.Outer.<init>(int) 12-12
            a.b.Outer.run(Comparable,Object,List[],int[]) 14-22 Runnable.<init>() Thread.<init>() Thread.sleep() items.forEach() start() Loop Allocation Allocation Wait
            a.b.Outer.lambda$run$1 16-16 closure other.map()
            a.b.Outer.lambda$run$0 16-16 closure
            a.b.Outer$1.run() 18-18 work() Lock
            a.b.Outer$1.lambda$run$0 18-18 closure
            a.b.Outer$1Local.go() 20-20
            a.b.Outer.quick() 24-24 Lock
            a.b.Outer$Inner.<init>() 29-29
            a.b.Outer$Inner$Deeper.value() 30-30
            a.b.Outer$Colour$1.code() 34-34
            a.b.Outer$Colour.code() 35-35
            a.b.Outer$Point.<init> 38-38 check()
            a.b.Shape.<clinit> 41-41 initialiser Math.acos()
            a.b.Shape.area() 41-41
        "#]],
    );
}

#[test]
fn scripts_name_functions_by_what_holds_them() {
    check_functions(
        "lib/map.js",
        r"
function plain(a) { return a.map(x => x + 1).filter(function (y) { return y; }); }
const arrow = async (a) => { await fetch(a); };
class Layer extends Base {
  static #count = 0;
  constructor(size) { super(size); this.items = new Array(size); }
  get size() { return this._size; }
  handler = (event) => { this.draw(event); };
  static { setup(); }
  async *walk() { for (const item of this.items) yield item; }
}
Layer.prototype.draw = function () { for (;;) {} };
module.exports.load = () => fs.readFileSync('x');
const api = { get(id) { return id; }, 'post-it': function () {}, nested: { deep: () => 1 } };
(function () { inside(); })();
export default () => 1;
items.sort((a, b) => a - b).sort((a, b) => b - a);
",
        &expect![[r#"
            plain 2-2 filter() map()
            plain.map(callback) 2-2 closure
            plain.filter(callback) 2-2 closure
            arrow 3-3 fetch() Wait Wait
            Layer.constructor 6-6 Array() Allocation
            Layer.size 7-7
            Layer.handler 8-8 draw()
            Layer.<static_initializer> 9-9 initialiser setup()
            Layer.walk 10-10 Loop
            Layer.draw 12-12 Loop
            load 13-13 fs.readFileSync() Wait
            api.get 14-14
            api.post-it 14-14
            api.nested.deep 14-14
            (anonymous) 15-15 closure inside()
            default 16-16
            sort(callback) 17-17 closure
            sort(callback)#2 17-17 closure
        "#]],
    );
    check_functions(
        "src/view.tsx",
        r"
export class View<T> {
  private readonly cache: Map<string, T> = new Map();
  constructor(private size: number) {}
  render(props: Props): JSX.Element { return <a onClick={() => go(props)}>text</a>; }
  overloaded(a: string): void;
  overloaded(a: number): void;
  overloaded(a: any): void { use(a as string); }
}
namespace Tools { export function mend<T>(it: T): T { return it; } }
const useThing = useCallback((a: number) => a, []);
",
        &expect![[r#"
            View.constructor 4-4
            View.render 5-5
            View.render.onClick 5-5 go()
            View.overloaded 8-8 use()
            Tools.mend 10-10
            useCallback(callback) 11-11 closure
        "#]],
    );
}

#[test]
fn rust_names_have_module_type_and_trait() {
    check_functions(
        "crates/x/src/reader/json.rs",
        r#"
use std::fmt;

#[inline]
pub fn read(text: &str) -> Vec<u8> {
    let parts = text.split(',').map(|part| part.to_owned()).collect::<Vec<_>>();
    for part in &parts { println!("{part}"); }
    fn helper() {}
    parts.concat()
}

impl<'a, T> Parser<'a, T> {
    #[must_use]
    pub fn new() -> Self { Self { lock: Mutex::new(0), name: String::from("x") } }
    async fn next(&mut self) { self.lock.lock().unwrap(); loop { self.step().await; } }
}

impl<'a> fmt::Display for Parser<'a, u8> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result { write!(out, "") }
}

impl From<u8> for Token { fn from(it: u8) -> Self { Token(Box::new(it)) } }

trait Visit { fn visit(&self) { (|| || 1)(); } fn required(&self); }

mod inner { pub fn deep() {} }
"#,
        &expect![[r#"
            reader::json::read 5-10 collect() concat() map() println!() split() Loop Allocation Allocation Wait
            reader::json::read::{closure#0} 6-6 closure to_owned() Allocation
            reader::json::read::helper 8-8
            reader::json::Parser::new 14-14 Mutex::new() String::from() Allocation
            reader::json::Parser::next 15-15 lock() step() unwrap() Loop Lock Wait
            reader::json::<impl fmt::Display for Parser<u8>>::fmt 19-19 write!()
            reader::json::<impl From<u8> for Token>::from 22-22 Box::new() Token() Allocation
            reader::json::Visit::visit 24-24
            reader::json::Visit::visit::{closure#0} 24-24 closure
            reader::json::Visit::visit::{closure#0}::{closure#0} 24-24 closure
            reader::json::inner::deep 26-26
        "#]],
    );
}

#[test]
fn c_and_cpp_names_have_namespaces_and_classes() {
    check_functions(
        "src/list.c",
        r"
#include <stdlib.h>
static struct node *make_node(int value, const char *name) {
    struct node *made = malloc(sizeof *made);
    while (value--) { pthread_mutex_lock(&big); }
    return made;
}
int declared(void);
void (*signal(int sig, void (*func)(int)))(int) { return 0; }
",
        &expect![[r#"
            make_node 3-7 malloc() pthread_mutex_lock() Loop Allocation Lock
            signal 9-9
        "#]],
    );
    check_functions(
        "src/list.cpp",
        r"
namespace a::b {
template <typename T>
class List : Base {
public:
    List() = default;
    explicit List(int size) : size_(size) { items_ = new T[size]; }
    ~List() { delete[] items_; }
    int size() const { return this->size_; }
    bool operator==(const List& other) const { return true; }
    operator bool() const { return true; }
    void add(T value, std::vector<int> const& more = nothing());
};
template <typename T>
void List<T>::add(T value, std::vector<int> const& more) {
    std::lock_guard<std::mutex> guard(mutex_);
    for (auto& item : more) { std::sort(more.begin(), more.end(), [&](int a, int b) { return a < b; }); }
}
namespace { int hidden(int* array[], unsigned long n) { return n; } }
}
int main(int argc, char** argv) { return a::b::hidden(0, 1); }
",
        &expect![[r#"
            a::b::List::List(int) 7-7 T() Allocation
            a::b::List::~List() 8-8
            a::b::List::size() 9-9
            a::b::List::operator==(const List&) 10-10
            a::b::List::operator bool 11-11
            a::b::List::add(T,std::vector<int>const&) 14-18 begin() end() std::sort() Loop Lock
            a::b::List::add::{lambda#1} 17-17 closure
            a::b::(anonymous namespace)::hidden(int**,unsigned long) 19-19
            main(int,char**) 21-21 a::b::hidden()
        "#]],
    );
}

#[test]
fn python_names_are_qualified() {
    check_functions(
        "app/models.py",
        r"
import time

class Model(Base):
    limit = compute()

    @property
    @cache
    def size(self) -> int:
        return len([x for x in self.items])

    async def save(self, *args, key=None, **kw):
        with self.lock:
            time.sleep(1)
        def inner(x):
            return sorted(x, key=lambda y: y.z)
        await inner(args)

    class Meta:
        def name(self): pass

def top():
    while True: pass
",
        &expect![[r#"
            Model.size 7-10 len() Loop Allocation
            Model.save 12-17 inner() time.sleep() Lock Wait Wait
            Model.save.<locals>.inner 15-16 sorted()
            Model.save.<locals>.inner.<locals>.<lambda> 16-16 closure
            Model.Meta.name 20-20
            top 22-23 Loop
        "#]],
    );
}

#[test]
fn go_names_have_package_and_receiver() {
    check_functions(
        "store/store.go",
        r"
package store

import (
	`sync`
)

type Store[K comparable] struct { mu sync.Mutex }

var handler = func() {}

func (s *Store[K]) Get(key K) int {
	s.mu.Lock()
	defer func() { s.mu.Unlock() }()
	for i := 0; i < 3; i++ {
		go func() { func() { <-s.ready }() }()
	}
	return len(make([]int, 3))
}

func (s Store[K]) Len() int { return 0 }

func New[K comparable]() *Store[K] { return &Store[K]{} }
",
        &expect![[r#"
            store.init.func1 10-10 closure
            store.(*Store).Get 12-19 Lock() len() make() Loop Allocation Lock
            store.(*Store).Get.func1 14-14 closure Unlock()
            store.(*Store).Get.func2 16-16 closure
            store.(*Store).Get.func2.1 16-16 closure Wait
            store.Store.Len 21-21
            store.New 23-23 Allocation
        "#]],
    );
}

#[test]
fn a_file_with_errors_still_gives_its_functions() {
    check_functions(
        "Broken.java",
        "class Broken { void first() { call(; } void second() { other(); } ",
        &expect![[r#"
            Broken.first() 1-1
            Broken.second() 1-1 other()
            error in line 1
        "#]],
    );
}

fn hashes(path: &str, text: &str) -> Vec<(BodyHash, BodyHash)> {
    parse(path, text).functions.iter().map(|it| (it.exact, it.loose)).collect()
}

/// How two spellings of one file compare: by both hashes of their functions.
#[track_caller]
fn check_same(path: &str, before: &str, after: &str, exact: bool, loose: bool) {
    let (before, after) = (hashes(path, before), hashes(path, after));
    assert!(!before.is_empty());
    assert_eq!(before.len(), after.len());
    let firsts = before.iter().zip(&after).all(|(before, after)| before.0 == after.0);
    let seconds = before.iter().zip(&after).all(|(before, after)| before.1 == after.1);
    assert_eq!((firsts, seconds), (exact, loose), "exact, loose");
}

#[test]
fn layout_and_comments_change_neither_hash() {
    check_same(
        "A.java",
        "class A { int f(int a) { return a + 1; } }",
        "class A {\n  // one more\n  int f(int a) {\n    return a /* here */ + 1;\n  }\n}",
        true,
        true,
    );
    check_same(
        "a.py",
        "def f(a):\n  if a:\n    g(a)\n  h()\n",
        "def f(a):\n    # why\n    if a:\n        g(a)\n\n    h()\n",
        true,
        true,
    );
    check_same(
        "a.go",
        "package a\nfunc f(a int) { g(a); h() }",
        "package a\n\nfunc f(a int) {\n\tg(a) // so\n\th()\n}\n",
        false,
        true,
    );
    check_same(
        "a.rs",
        "fn f(a: u8) -> u8 { a + 1 }",
        "fn f(\n    a: u8,\n) -> u8 {\n    a + 1 // so\n}",
        false,
        true,
    );
    check_same(
        "a.cpp",
        "int f(int a){return a+1;}",
        "int f( int a )\n{\n  return a + 1;\n}",
        true,
        true,
    );
}

#[test]
fn refactorings_change_only_the_exact_hash() {
    check_same(
        "A.java",
        "class A { int f(int a, List<String> b) { int c = a; return x + c; } }",
        "class A { public final int f(final int q, List<Integer> b) { final int d = (q); return (this.x + d); } }",
        false,
        true,
    );
    check_same(
        "A.java",
        "class A { void f(int x) { this.x = x; } }",
        "class A { void f(int y) { this.x = y; } }",
        false,
        true,
    );
    check_same(
        "A.java",
        "class A { void f(int x) { this.x = x; } }",
        "class A { void f(int x) { x = x; } }",
        false,
        false,
    );
    check_same(
        "a.ts",
        "function f(a: number) { const b = a; return (b) + 'x' }",
        "function f(c: any) { const d = c; return d + \"x\"; }",
        false,
        true,
    );
    check_same(
        "a.rs",
        "fn f(a: u8) -> u8 { let b = a; (b + 1) * 2 }",
        "pub fn f(c: u8) -> u8 { let d = c; ((d + 1)) * 2 }",
        false,
        true,
    );
    check_same(
        "a.c",
        "int f(int a) { int b = a; return b; }",
        "int f(int c) { int d = (c); return d; }",
        false,
        true,
    );
    check_same(
        "a.cpp",
        "int A::f(int a) { return this->x + a; }",
        "int A::f(int b) { return x + b; }",
        false,
        true,
    );
    check_same(
        "a.py",
        "def f(self, a):\n  b = a\n  return (b)\n",
        "def f(self, c: int):\n  d = c\n  return d\n",
        false,
        true,
    );
    check_same(
        "a.go",
        "package a\nfunc f(a int) int { b := a; return (b) }",
        "package a\nfunc f(c int) int { d := c; return d }",
        false,
        true,
    );
    check_same(
        "a.js",
        "const f = (a) => items.map(x => x + a);",
        "const f = (b) => items.map(y => y + b);",
        false,
        true,
    );
}

#[test]
fn what_matters_changes_both_hashes() {
    check_same(
        "A.java",
        "class A { int f() { return (a + b) * c; } }",
        "class A { int f() { return a + b * c; } }",
        false,
        false,
    );
    check_same(
        "A.java",
        "class A { void f() { a(); } }",
        "class A { synchronized void f() { a(); } }",
        false,
        false,
    );
    check_same(
        "A.java",
        "class A { int f(int a, int b) { return a - b; } }",
        "class A { int f(int a, int b) { return b - a; } }",
        false,
        false,
    );
    check_same(
        "a.py",
        "def f(a):\n  if a:\n    g()\n  h()\n",
        "def f(a):\n  if a:\n    g()\n    h()\n",
        false,
        false,
    );
    check_same("a.js", "function f() { return\n x; }", "function f() { return x; }", false, false);
    check_same(
        "a.js",
        "function f() { return `a ${b} c`; }",
        "function f() { return `a ${b} d`; }",
        false,
        false,
    );
    check_same(
        "a.rs",
        "#[inline]\nfn f() { g(); }",
        "#[inline(never)]\nfn f() { g(); }",
        false,
        false,
    );
    check_same("a.py", "@cache\ndef f(): pass", "def f(): pass", false, false);
    check_same(
        "a.c",
        "char *f(void) { return \"a\"; }",
        "char *f(void) { return \"b\"; }",
        false,
        false,
    );
    check_same(
        "a.go",
        "package a\nfunc f() string { return `a` }",
        "package a\nfunc f() string { return `b` }",
        false,
        false,
    );
}

/// Numbers as `javac` 17 gives them.
#[test]
fn lambdas_are_numbered_as_the_compiler_does() {
    let text = "package p;
class T {
    static Supplier<Integer> s = () -> 1;
    Supplier<Integer> i = () -> 2;
    T() { Runnable r = () -> {}; }
    void m(int a) {
        Runnable x = () -> { Runnable y = () -> { Runnable z = () -> print(a); }; Runnable w = () -> {}; };
        Object o = new Object() { public String toString() { Runnable q = () -> {}; return \"\" + new Object() { void v() {} }; } };
        Runnable last = () -> { new Object() { void u() {} }; };
    }
    void n() { class L { void l() {} } new L(); Function<Integer, Integer> f = b -> b + 1; }
    void k() { class L { void l() {} } }
    static { Runnable r = () -> {}; }
}
";
    check_functions(
        "p/T.java",
        text,
        &expect![[r#"
        p.T.<clinit> 3-3 initialiser
        p.T.lambda$static$0 3-3 closure
        p.T.<init> 4-4 initialiser
        p.T.lambda$new$1 4-4 closure
        p.T.<init>() 5-5
        p.T.lambda$new$2 5-5 closure
        p.T.m(int) 6-10 Object.<init>() Allocation
        p.T.lambda$m$6 7-7 closure
        p.T.lambda$m$4 7-7 closure
        p.T.lambda$m$3 7-7 closure print() Wait
        p.T.lambda$m$5 7-7 closure
        p.T$1.toString() 8-8 Object.<init>() Allocation
        p.T$1.lambda$toString$0 8-8 closure
        p.T$1$1.v() 8-8
        p.T.lambda$m$7 9-9 closure Object.<init>() Allocation
        p.T$2.u() 9-9
        p.T.n() 11-11 L.<init>() Allocation
        p.T$1L.l() 11-11
        p.T.lambda$n$8 11-11 closure
        p.T.k() 12-12
        p.T$2L.l() 12-12
        p.T.<clinit> 13-13 initialiser
        p.T.lambda$static$9 13-13 closure
    "#]],
    );
}

#[test]
fn depth_and_size_do_no_harm() {
    let deep = 20_000;
    let nested = |open: &str, close: &str| format!("{}{}", open.repeat(deep), close.repeat(deep));
    let texts = [
        ("a.js", nested("(", ")")),
        ("a.js", nested("function f() {", "}")),
        ("a.js", "a => ".repeat(deep)),
        ("A.java", format!("class A {{ void f() {{ {} }} }}", nested("{", "}"))),
        ("A.java", nested("class A {", "}")),
        ("a.rs", format!("fn f() {{ {} }}", nested("[", "]"))),
        ("a.c", format!("int f() {{ return {}1{}; }}", "(".repeat(deep), ")".repeat(deep))),
        ("a.cpp", nested("namespace a {", "}")),
        ("a.py", format!("x = {}", nested("[", "]"))),
        ("a.go", format!("package a\nfunc f() {{ {} }}", nested("{", "}"))),
        ("a.ts", "<".repeat(deep)),
        ("a.c", "#if\n".repeat(deep)),
    ];
    for (path, text) in texts {
        let file = parse(path, &text);
        let longest = file.functions.iter().map(|it| it.name.len()).max().unwrap_or(0);
        assert!(longest < 10_000, "{path}");
    }
    let large = "x".repeat(super::MAX_FILE_BYTES + 1);
    assert!(parse("a.c", &large).incomplete.is_some());
}

#[test]
fn a_text_that_is_no_text() {
    for path in ["a.java", "a.js", "a.tsx", "a.rs", "a.c", "a.cpp", "a.py", "a.go"] {
        let bytes: Vec<u8> = (0..=255).cycle().take(5_000).collect();
        let _ = source_file(path, &bytes);
        let _ = source_file(path, b"\xff\xfe f() { \xc3 }");
        assert!(source_file(path, b"").expect("a known language").functions.is_empty());
    }
}
