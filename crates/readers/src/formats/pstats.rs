//! Profiles of Python's `cProfile` and `profile`: a dictionary in Python's own `marshal` format.
//!
//! The dictionary goes from (file, line, name) to calls, own time, time including callees, and the same per caller: a
//! call graph. Times are seconds; they become whole nanoseconds, as the clock had.

mod marshal;

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, Function, Layer, Metric, Profile, ProfileBuilder, Unit, is_library_file, position,
};

use crate::building::call_graph::{CallGraph, GraphFunction};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use marshal::{PythonValue, PythonValues, ValueId};

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "pstats",
    producers: "Python's cProfile and profile",
    sniff,
    read,
    tracer: None,
};

/// True for a marshalled dictionary whose first key is a tuple. No JSON starts like this.
pub fn sniff(input: &Input) -> bool {
    let kind = |at: usize| input.head().get(at).map(|byte| byte & 0x7f);
    kind(0) == Some(b'{') && matches!(kind(1), Some(b'(' | b')')) && {
        // A tuple of three: file, line, name.
        let (length, next) = if kind(1) == Some(b')') {
            (input.head().get(2).copied(), 3)
        } else {
            (input.head().get(2).copied(), 6)
        };
        length == Some(3)
            && matches!(kind(next), Some(b'z' | b'Z' | b'a' | b'A' | b's' | b't' | b'u'))
    }
}

/// Reads a profile.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let (values, root) = PythonValues::read(&bytes)?;
    let PythonValue::Dict(entries) = values.get(root) else {
        return Err(ReadError::malformed(0, "the profile is not a dictionary"));
    };
    let mut builder = options.builder();
    let wall = builder.metric(Metric::exact("wall", Unit::Nanoseconds));
    let calls = builder.metric(Metric::exact("calls", Unit::Count));
    let mut graph = CallGraph::new(options.grain, vec![wall], Some(calls));
    let mut functions = Functions { values: &values, known: HashMap::new() };
    for (key, entry) in entries {
        let parts = functions.find(&mut builder, &mut graph, *key).zip(stats(&values, *entry));
        let Some((function, stats)) = parts else {
            builder.warn("damaged-records", || {
                "entries that are not statistics of a function were left out".to_owned()
            });
            continue;
        };
        let site = graph.entry_of(function);
        graph.add_self(site, &[stats.own]);
        for (caller, edge) in stats.callers {
            let Some(caller) = functions.find(&mut builder, &mut graph, caller) else { continue };
            let (count, inclusive) = edge_of(&values, edge);
            let from = graph.entry_of(caller);
            graph.add_calls(from, function, count, &[inclusive]);
        }
    }
    builder.info.producer = Some("Python cProfile".to_owned());
    graph.expand(&mut builder, None);
    Ok(builder.finish())
}

struct Stats {
    own: i64,
    callers: Vec<(ValueId, ValueId)>,
}

/// (calls without recursion, calls, own time, time with callees, callers).
fn stats(values: &PythonValues, entry: ValueId) -> Option<Stats> {
    let PythonValue::Tuple(parts) = values.get(entry) else { return None };
    let own = nanoseconds(values.number(*parts.get(2)?)?);
    let callers = match parts.get(4).map(|callers| values.get(*callers)) {
        Some(PythonValue::Dict(callers)) => callers.clone(),
        _ => Vec::new(),
    };
    Some(Stats { own, callers })
}

/// What one caller called and paid: (calls, calls without recursion, own time, time with callees), or from `profile`
/// the number of calls alone.
fn edge_of(values: &PythonValues, edge: ValueId) -> (i64, i64) {
    match values.get(edge) {
        PythonValue::Tuple(parts) => {
            let number = |place: usize| {
                parts.get(place).and_then(|part| values.number(*part)).unwrap_or(0.0)
            };
            (number(0) as i64, nanoseconds(number(3)))
        }
        PythonValue::Int(count) => (*count, 0),
        _ => (0, 0),
    }
}

fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

struct Functions<'a> {
    values: &'a PythonValues,
    known: HashMap<(String, u64, String), GraphFunction>,
}

impl Functions<'_> {
    fn find(
        &mut self,
        builder: &mut ProfileBuilder,
        graph: &mut CallGraph,
        key: ValueId,
    ) -> Option<GraphFunction> {
        let PythonValue::Tuple(parts) = self.values.get(key) else { return None };
        let [file, line, name] = parts[..] else { return None };
        let file = self.values.text(file)?;
        let name = self.values.text(name)?;
        let line = self.values.number(line)? as u64;
        let key = (file.to_owned(), line, name.to_owned());
        if let Some(function) = self.known.get(&key) {
            return Some(*function);
        }
        let mut function = Function {
            line: position(line),
            layer: layer(file),
            ..Function::named(builder.string(name))
        };
        // Built-in functions have no file.
        if file != "~" && !file.is_empty() {
            function.component = Some(builder.string(file));
        }
        let function = builder.function(function);
        let frame = builder.frame(Frame::of(function));
        let function = graph.function(frame);
        self.known.insert(key, function);
        Some(function)
    }
}

/// Whose code a Python file is.
fn layer(file: &str) -> Layer {
    if file == "~" || file.starts_with("<frozen ") {
        return Layer::Runtime;
    }
    if is_library_file(file) { Layer::Library } else { Layer::Application }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use perfblame_fixtures::{draw, read_damaged, samples};

    #[test]
    fn a_real_profile() {
        let input = Input::open(&samples().join("pstats/recursion.pstats")).unwrap();
        assert!(sniff(&input));
        let profile = read(input, &ReadOptions::default()).unwrap();
        let names: Vec<String> = draw(&profile)
            .lines()
            .map(|line| line.rsplitn(3, ' ').nth(2).unwrap_or("").to_owned())
            .collect();
        expect![[r"
            <built-in method builtins.exec>
              <module>
                main
                  <built-in method builtins.len>
                  <built-in method builtins.print>
                  <built-in method builtins.sorted>
                  even
                    odd
                      even
                  fib
                    fib
                  fill
                    <listcomp>
            <method 'disable' of '_lsprof.Profiler' objects>"]]
        .assert_eq(&names.join("\n"));
        expect!["[333975, 495]"].assert_eq(&format!(
            "{:?}",
            profile.metrics().map(|(id, _)| profile.cells.total(id)).collect::<Vec<_>>()
        ));
    }

    /// The same dictionary as Python 2 and Python 3 write it: interned texts by number, references by number.
    #[test]
    fn texts_may_be_references() {
        let key = |file: &[u8], line: u8, name: &[u8]| {
            [b"(\x03\0\0\0", file, b"i", &[line, 0, 0, 0], name].concat()
        };
        let stats = |own: f64, total: f64, callers: &[u8]| {
            let number = b"i\x01\0\0\0";
            [
                b"(\x05\0\0\0",
                &number[..],
                number,
                b"g",
                &own.to_le_bytes(),
                b"g",
                &total.to_le_bytes(),
                callers,
            ]
            .concat()
        };
        let edge = |total: f64| {
            [
                b"(\x04\0\0\0i\x03\0\0\0i\x03\0\0\0g",
                &0.0f64.to_le_bytes()[..],
                b"g",
                &total.to_le_bytes(),
            ]
            .concat()
        };
        let python_2 = [
            b"{".to_vec(),
            key(b"t\x04\0\0\0a.py", 1, b"t\x04\0\0\0main"),
            stats(0.25, 1.0, b"{0"),
            key(b"R\0\0\0\0", 5, b"t\x04\0\0\0work"),
            stats(
                0.75,
                0.75,
                &[b"{".to_vec(), key(b"R\0\0\0\0", 1, b"R\x01\0\0\0"), edge(0.75), b"0".to_vec()]
                    .concat(),
            ),
            b"0".to_vec(),
        ]
        .concat();
        let python_3 = [
            b"{".to_vec(),
            key(b"\xda\x04a.py", 1, b"\xda\x04main"),
            stats(0.25, 1.0, b"{0"),
            key(b"r\0\0\0\0", 5, b"z\x04work"),
            stats(
                0.75,
                0.75,
                &[b"{".to_vec(), key(b"r\0\0\0\0", 1, b"r\x01\0\0\0"), edge(0.75), b"0".to_vec()]
                    .concat(),
            ),
            b"0".to_vec(),
        ]
        .concat();
        for bytes in [python_2, python_3] {
            let input = Input::from_bytes(bytes).unwrap();
            assert!(sniff(&input));
            let profile = read(input, &ReadOptions::default()).unwrap();
            assert_eq!(draw(&profile), "main 1000000000 250000000\n  work 750000000 750000000\n");
        }
    }

    #[test]
    fn pstats_never_panics() {
        let bytes = std::fs::read(samples().join("pstats/recursion.pstats")).unwrap();
        let outcome = read_damaged(&bytes, 0..500, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
        assert!(outcome.refused > 0);
    }
}
