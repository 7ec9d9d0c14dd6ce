//! What is put into scripts: slowdowns, and counters that tell how often each place is executed.

use std::ops::Range;

use anyhow::{Context, Result};

use crate::script::{Position, Script};

/// How often the inner loop of a slowdown runs. Minifiers rename everything else: by this number it is found again.
const STEPS: &str = "4999";

/// The function that takes time in a call of the platform's.
pub const SLEEPS: &str = "sleepZam";
/// The function that takes time in a condition.
pub const CHECKS: &str = "dummyZam";

/// A change of a script.
#[derive(Clone, PartialEq, Debug)]
pub enum Edit {
    /// A loop at the beginning of a function's body, which is there.
    Loop { entry: usize, ms: f64 },
    /// A call takes longer.
    Api { call: Range<usize>, ms: f64 },
    /// A condition takes longer.
    Condition { condition: Range<usize>, ms: f64 },
    /// The whole body is under a condition that takes a while.
    Guard { entry: usize, ms: f64 },
    /// A call is made several times.
    Repeat { call: Range<usize>, times: usize },
}

/// A script after an edit.
#[derive(Clone, Debug)]
pub struct Edited {
    pub text: String,
    /// The function that was changed.
    pub function: Position,
    /// The function that was added.
    pub added: Option<(&'static str, Position)>,
}

/// A loop that takes some milliseconds. The clock is asked now and then only, so that the time is the function's own.
fn waste(ms: &str) -> String {
    format!(
        "for (var zamEnd = performance.now() + {ms}, zamStep = 0; performance.now() < zamEnd;) \
         for (zamStep = 0; zamStep < {STEPS}; zamStep++);"
    )
}

fn helper(name: &str) -> String {
    format!("\nfunction {name}(zamMs) {{ {} return true; }}\n", waste("zamMs"))
}

/// Edits a script.
pub fn edit(script: &Script, edit: &Edit) -> Result<Edited> {
    let end = script.text.len();
    let (pieces, at, added) = match edit {
        Edit::Loop { entry, ms } => {
            (vec![(*entry, format!(" {} ", waste(&format!("{ms:.1}"))))], *entry, None)
        }
        Edit::Api { call, ms } => (
            vec![
                (call.start, format!("({SLEEPS}({ms:.1}), ")),
                (call.end, ")".to_owned()),
                (end, helper(SLEEPS)),
            ],
            call.start,
            Some(SLEEPS),
        ),
        Edit::Condition { condition, ms } => (
            vec![
                (condition.start, format!("{CHECKS}({ms:.1}) && (")),
                (condition.end, ")".to_owned()),
                (end, helper(CHECKS)),
            ],
            condition.start,
            Some(CHECKS),
        ),
        Edit::Guard { entry, ms } => (
            vec![(*entry, format!(" if (!{CHECKS}({ms:.1})) return; ")), (end, helper(CHECKS))],
            *entry,
            Some(CHECKS),
        ),
        Edit::Repeat { call, times } => {
            let again = format!("{}, ", &script.text[call.clone()]).repeat(*times);
            let pieces = vec![(call.start, format!("({again}")), (call.end, ")".to_owned())];
            (pieces, call.start, None)
        }
    };
    let text = script.with(pieces);
    let edited = Script::parse(text)?;
    let function = edited.function_around(at).context("no function around the edit")?.at;
    let added = added.map(|name| -> Result<_> {
        let start = edited.text.rfind(&format!("function {name}(")).context("nothing added")?;
        Ok((name, edited.function_around(start).context("no function was added")?.at))
    });
    Ok(Edited { function, added: added.transpose()?, text: edited.text })
}

/// The function around the loop of a slowdown, in a text that was minified.
pub fn find_loop(text: &str) -> Result<Position> {
    let script = Script::parse(text.to_owned())?;
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let found = (text.match_indices(STEPS)).find(|(at, _)| {
        let bytes = text.as_bytes();
        !is_digit(bytes.get(at.wrapping_sub(1))) && !is_digit(bytes.get(at + STEPS.len()))
    });
    let (at, _) = found.context("the loop is gone")?;
    Ok(script.function_around(at).context("no function around the loop")?.at)
}

/// True where the number by which a loop is found has no other meaning.
pub fn is_free(text: &str) -> bool {
    !text.contains(STEPS)
}

/// What is counted, in the order of the numbers that counters have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Calls of a function.
    Entry(usize),
    /// Executions of a call, by function and call.
    Call(usize, usize),
    /// Executions of a condition, by function and condition.
    Condition(usize, usize),
}

/// A script that counts, and what; numbers begin at `first`.
pub fn count(script: &Script, first: usize) -> (String, Vec<Counted>) {
    let mut counted = Vec::new();
    let mut pieces = Vec::new();
    let mut number = |what| {
        counted.push(what);
        first + counted.len() - 1
    };
    // Where several begin at one byte the outer one has to come first: bodies, conditions, then calls.
    for (row, function) in script.functions.iter().enumerate() {
        if let Some(entry) = function.entry {
            pieces.push((entry, format!(" zamCount({}); ", number(Counted::Entry(row)))));
        }
    }
    for (row, function) in script.functions.iter().enumerate() {
        for (at, condition) in function.conditions.iter().enumerate() {
            let number = number(Counted::Condition(row, at));
            pieces.push((condition.start, format!("zamCount({number}) && (")));
            pieces.push((condition.end, ")".to_owned()));
        }
    }
    for (row, function) in script.functions.iter().enumerate() {
        for (at, call) in function.calls.iter().enumerate() {
            let number = number(Counted::Call(row, at));
            pieces.push((call.span.start, format!("(zamCount({number}), ")));
            pieces.push((call.span.end, ")".to_owned()));
        }
    }
    (script.with(pieces), counted)
}

/// What a page that counts has in its head.
pub const COUNTERS: &str = "<script>
var zamCounts = [];
function zamCount(number) {
  zamCounts[number] = (zamCounts[number] | 0) + 1;
  return true;
}
function zamReport() {
  var request = new XMLHttpRequest();
  var counts = zamCounts.slice();
  var seen = document.body.innerText.length + \" characters, \" + document.querySelectorAll(\"*\").length + \" elements\";
  request.open(\"POST\", \"/report\", false);
  request.send(JSON.stringify({ counts: counts, errors: visit.errors, seen: seen }));
  return true;
}
</script>
";

/// Calls of these are calls of the platform's, unless the script has a function of that name.
pub const PLATFORM: &[&str] = &[
    "abs",
    "addEventListener",
    "appendChild",
    "apply",
    "arc",
    "assign",
    "beginPath",
    "bind",
    "ceil",
    "charAt",
    "charCodeAt",
    "cloneNode",
    "concat",
    "contains",
    "cos",
    "create",
    "createDocumentFragment",
    "createElement",
    "createElementNS",
    "createTextNode",
    "defineProperty",
    "exec",
    "fill",
    "floor",
    "focus",
    "freeze",
    "fromCharCode",
    "getAttribute",
    "getBoundingClientRect",
    "getComputedStyle",
    "getElementById",
    "getElementsByTagName",
    "getOwnPropertyNames",
    "hasAttribute",
    "hasOwnProperty",
    "indexOf",
    "insertBefore",
    "isArray",
    "isNaN",
    "join",
    "keys",
    "lastIndexOf",
    "lineTo",
    "match",
    "max",
    "measureText",
    "min",
    "moveTo",
    "now",
    "parseFloat",
    "parseInt",
    "pop",
    "pow",
    "push",
    "querySelector",
    "querySelectorAll",
    "removeAttribute",
    "removeChild",
    "replace",
    "requestAnimationFrame",
    "restore",
    "round",
    "save",
    "search",
    "setAttribute",
    "setTimeout",
    "setTransform",
    "shift",
    "sin",
    "slice",
    "splice",
    "split",
    "sqrt",
    "stringify",
    "stroke",
    "substr",
    "substring",
    "test",
    "toLowerCase",
    "toUpperCase",
    "toString",
    "trim",
    "unshift",
];

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const TEXT: &str = "function f(a) { if (g(a)) { return document.createElement(a); } }\n";

    fn script() -> Script {
        Script::parse(TEXT.to_owned()).unwrap()
    }

    #[test]
    fn loops_calls_and_conditions_take_longer() {
        let script = script();
        let function = &script.functions[0];
        let call = function.calls[1].span.clone();
        let loop_ =
            edit(&script, &Edit::Loop { entry: function.entry.unwrap(), ms: 150.0 }).unwrap();
        expect![[r#"
            function f(a) { for (var zamEnd = performance.now() + 150.0, zamStep = 0; performance.now() < zamEnd;) for (zamStep = 0; zamStep < 4999; zamStep++);  if (g(a)) { return document.createElement(a); } }
        "#]]
        .assert_eq(&loop_.text);
        assert_eq!(find_loop(&loop_.text).unwrap(), loop_.function);
        let api = edit(&script, &Edit::Api { call: call.clone(), ms: 1.0 }).unwrap();
        assert!(api.text.contains("return (sleepZam(1.0), document.createElement(a));"));
        assert_eq!(api.added, Some((SLEEPS, Position { line: 3, column: 18 })));
        let condition = function.conditions[0].clone();
        let checked = edit(&script, &Edit::Condition { condition, ms: 10.0 }).unwrap();
        assert!(checked.text.contains("if (dummyZam(10.0) && (g(a))) {"));
        let again = edit(&script, &Edit::Repeat { call, times: 2 }).unwrap();
        let call = "document.createElement(a)";
        assert!(again.text.contains(&format!("return ({call}, {call}, {call});")));
        assert_eq!(again.function, Position { line: 1, column: 11 });
    }

    #[test]
    fn everything_is_counted() {
        let (text, counted) = count(&script(), 7);
        expect![[r#"
            function f(a) { zamCount(7);  if (zamCount(8) && ((zamCount(9), g(a)))) { return (zamCount(10), document.createElement(a)); } }
        "#]]
        .assert_eq(&text);
        assert_eq!(counted.len(), 4);
        assert_eq!(counted[3], Counted::Call(0, 1));
    }
}
