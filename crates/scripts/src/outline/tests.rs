//! Small scripts, and what is found in them.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::name_of;

/// One line per function: what stands where V8 has it start, and what it is called.
fn check(text: &str, name: &str, expected: &Expect) {
    let found = outline(text, name);
    let mut shown = String::new();
    for (row, function) in found.functions.iter().enumerate() {
        let line = text.lines().nth(function.start.line as usize).unwrap_or_default();
        let rest: String = line.chars().skip(function.start.column as usize).take(12).collect();
        let ScriptPlace { line, column } = function.start;
        let name = name_of(text, &found, row);
        let _ = writeln!(shown, "{line}:{column} {rest:12}  {name}");
        assert_eq!(
            found.starting_at(function.start).map(|row| &found.functions[row].start),
            Some(&function.start)
        );
    }
    expected.assert_eq(&shown);
}

#[test]
fn functions_of_all_kinds() {
    check(
        "function decl(a){}\nconst expr=function(a){}, arrow=(a)=>a, one=a=>a;\n\
         const later=async (a)=>a, lone=async a=>a; async function afn(a){} function* gen(a){}\n\
         const o={ m(a){}, get g(){return 1}, async am(a){}, *gm(a){}, ['c'+1](a){}, p:function(a){}, 'q r':(a)=>a };\n\
         class C { constructor(a){} m(a){} static s(a){} #p(a){} f=(a)=>a; }\nclass D extends C {}\n",
        "a.js",
        &expect![[r#"
            0:0 function dec  (top level)
            0:13 (a){}         decl
            1:19 (a){}, arrow  expr
            1:32 (a)=>a, one=  arrow
            1:44 a=>a;         one
            2:12 async (a)=>a  later
            2:31 async a=>a;   lone
            2:61 (a){} functi  afn
            2:80 (a){}         gen
            3:11 (a){}, get g  m
            3:23 (){return 1}  g
            3:45 (a){}, *gm(a  am
            3:55 (a){}, ['c'+  gm
            3:69 (a){}, p:fun  ['c'+1]
            3:86 (a){}, 'q r'  p
            3:99 (a)=>a };     q r
            4:0 class C { co  C
            4:21 (a){} m(a){}  C
            4:28 (a){} static  m
            4:42 (a){} #p(a){  s
            4:50 (a){} f=(a)=  #p
            4:58 (a)=>a; }     f
            5:0 class D exte  D
        "#]],
    );
}

#[test]
fn functions_without_names_are_called_by_what_holds_them() {
    check(
        "(function(){ window.onload=function(){}; })();\n\
         !function(){ setTimeout(()=>{ x(); }, 30); list.map(x=>x+1).filter((y)=>{ return y }); }();\n\
         function outer(){ return function(){ return ()=>1 } }\n\
         on('click', () => go(), function(){}); new Promise((done)=>done());\n\
         var t=[function(){}, ()=>2], u=c?function(){}:()=>3;\n\
         (()=>{})(); foo.bar['x']=function(){}; a ||= () => 4; export default () => 5;\n",
        "a.js",
        &expect![[r#"
            0:0 (function(){  (top level)
            0:9 (){ window.o  (immediate)
            0:35 (){}; })();   window.onload
            1:9 (){ setTimeo  (immediate)
            1:24 ()=>{ x(); }  setTimeout(callback)
            1:52 x=>x+1).filt  list.map(callback)
            1:67 (y)=>{ retur  filter(callback)
            2:14 (){ return f  outer
            2:33 (){ return (  outer > (returned)
            2:44 ()=>1 } }     outer > (returned) > (returned)
            3:12 () => go(),   on(callback 2)
            3:32 (){}); new P  on(callback 3)
            3:51 (done)=>done  new Promise(callback)
            4:15 (){}, ()=>2]  (element)
            4:21 ()=>2], u=c?  (element)
            4:41 (){}:()=>3;   (anonymous)
            4:46 ()=>3;        (anonymous)
            5:1 ()=>{})(); f  (immediate)
            5:33 (){}; a ||=   foo.bar['x']
            5:45 () => 4; exp  a
            5:69 () => 5;      default
        "#]],
    );
}

#[test]
fn types_are_stepped_over() {
    check(
        "export function f<T extends {a: number}>(x: T, y?: string): Promise<{b: T}> { return x }\n\
         class A<T> { private run(x: number): void { } static async go<U>(u: U): Promise<U> { return u } h = (e: Event): boolean => true; }\n\
         const g = (a: number, b = 2): string | undefined => { return '' };\n\
         declare function nothing(x: number): void;\n",
        "a.ts",
        &expect![[r#"
            0:0 export funct  (top level)
            0:40 (x: T, y?: s  f
            1:0 class A<T> {  A
            1:24 (x: number):  run
            1:64 (u: U): Prom  go
            1:100 (e: Event):   h
            2:10 (a: number,   g
        "#]],
    );
}

#[test]
fn tags_do_no_harm() {
    check(
        "export function List({ items }) {\n  return <ul className=\"x\">{items.map(i => <li key={i} onClick={() => go(i)}>Don't {i}</li>)}</ul>;\n}\n\
         const Row = () => <br />\nfunction after() { return /x/ }\n",
        "a.jsx",
        &expect![[r#"
            0:0 export funct  (top level)
            0:20 ({ items })   List
            1:38 i => <li key  List > items.map(callback)
            1:64 () => go(i)}  onClick
            3:12 () => <br />  Row
            4:14 () { return   after
        "#]],
    );
}

fn shapes(text: &str) -> Vec<u64> {
    outline(text, "a.js").functions.iter().map(|function| function.shape.hash).collect()
}

#[test]
fn names_are_no_part_of_a_shape_and_literals_are() {
    let one =
        shapes("function load(url){const r=get(url,'json');return r.items.map(i=>i.price*2)}");
    let other = shapes("function a(b){const c=d(b,\"json\");return c.items.map(e=>e.price*2);}");
    assert_eq!(one, other);
    let third = shapes("function a(b){const c=d(b,\"text\");return c.items.map(e=>e.price*2)}");
    assert_ne!(one[1], third[1]);
    assert_eq!(one[2], third[2], "what is inside did not change");
}

#[test]
fn sketches_of_edited_functions_overlap() {
    let sketch = |text: &str| outline(text, "a.js").functions[1].shape.sketch.to_vec();
    let was = sketch("function f(a){a.alpha();a.beta('x');a.gamma=a.delta+a.epsilon}");
    let is = sketch("function b(c){c.alpha();c.beta('x');c.slow();c.gamma=c.delta+c.epsilon}");
    let common = was.iter().filter(|mark| is.contains(mark)).count();
    assert!(common * 2 > is.len(), "{common} of {}", is.len());
}

#[test]
fn the_innermost_function_around_a_place() {
    let text = "var x;function a(){ var y; b(function(){ z() }); }\nq()";
    let found = outline(text, "a.js");
    let around =
        |line, column| name_of(text, &found, found.around(ScriptPlace::new(line, column)).unwrap());
    assert_eq!(around(0, 2), "(top level)");
    assert_eq!(around(0, 15), "a");
    assert_eq!(around(0, 22), "a");
    assert_eq!(around(0, 42), "a > b(callback)");
    assert_eq!(around(0, 47), "a");
    assert_eq!(around(1, 1), "(top level)");
}

proptest! {
    #[test]
    fn any_text_has_an_outline(text in "(function|class|async|=>|[a-c(){}\\[\\],;:?=`'/\n é<>.]| ){0,80}") {
        for name in ["a.js", "a.ts"] {
            let found = outline(&text, name);
            prop_assert!(!found.functions.is_empty());
            for (row, function) in found.functions.iter().enumerate() {
                prop_assert!(function.parent.is_none_or(|parent| (parent as usize) < row));
                prop_assert!(function.from <= function.start);
                let _ = name_of(&text, &found, row);
                let _ = found.around(function.start);
            }
            prop_assert!(found.functions.is_sorted_by_key(|function| function.from));
        }
    }
}
