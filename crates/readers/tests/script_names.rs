//! Functions of scripts by the texts and maps that traces, files and folders have.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use perfblame_cct::{Grain, Layer, Profile};
use perfblame_readers::{Input, ReadOptions, ScriptNames, ScriptOptions, read};
use serde_json::{Value, json};

const BUNDLE: &str = "(()=>{function a(b){return b.map(c=>c+1)}var d=e=>{a(e)};d([])})();";

/// The bundle's map: `add` and `run` of `src/list.js`, the latter from a library.
fn map() -> Value {
    json!({
        "version": 3, "file": "app.js", "sources": ["src/list.js", "node_modules/run/run.js"],
        "names": ["add", "run"], "ignoreList": [1],
        "sourcesContent": ["export function add(list) {\n  return list.map((item) => item + 1);\n}\n", null],
        // 0:15 → 0:16 `add`; 0:27 → 1:9 `list.map`; 0:33 → 1:18 the arrow; 0:45 → `run` at 4:6; 0:47 → 4:12
        "mappings": "eAAgBA,YACP,MAAS,YCGZC,EAAM",
    })
}

fn call(name: &str, column: u32) -> Value {
    json!({"functionName": name, "scriptId": 7, "url": "http://h/js/app.js", "lineNumber": 0, "columnNumber": column})
}

fn event(name: &str, phase: &str, time: u32, args: &Value) -> Value {
    json!({"name": name, "cat": "devtools.timeline", "ph": phase, "pid": 1, "tid": 2, "ts": time, "dur": 5, "id": "0x1", "args": args})
}

/// A trace in which `d` calls `a`, which calls the arrow in it.
fn trace(text: Option<&str>, more: Vec<Value>) -> Value {
    let nodes = json!([
        {"id": 1, "callFrame": {"functionName": "(root)", "scriptId": 0}},
        {"id": 2, "parent": 1, "callFrame": call("", 0)},
        {"id": 3, "parent": 2, "callFrame": call("d", 47)},
        {"id": 4, "parent": 3, "callFrame": call("a", 16)},
        {"id": 5, "parent": 4, "callFrame": call("", 33)},
    ]);
    let chunk = json!({"data": {"cpuProfile": {"nodes": nodes, "samples": [2, 3, 4, 5]}, "timeDeltas": [1, 1, 1, 1]}});
    let mut events = vec![
        event("Profile", "P", 0, &json!({"data": {"startTime": 0}})),
        event("ProfileChunk", "P", 1, &chunk),
    ];
    if let Some(text) = text {
        let script = json!({"data": {"isolate": "1", "scriptId": 7, "sourceText": text}});
        events.push(event("ScriptCatchup", "X", 2, &script));
        let about = json!({"data": {"isolate": "1", "scriptId": 7, "url": "http://h/js/app.js", "sourceMapUrl": "app.js.map"}});
        events.push(event("ScriptCatchup", "X", 2, &about));
    }
    events.extend(more);
    json!({"metadata": {"source": "DevTools"}, "traceEvents": events})
}

fn profile(trace: &Value, scripts: ScriptOptions<'_>) -> Profile {
    let input = Input::from_bytes(trace.to_string().into_bytes()).unwrap();
    let options = ReadOptions { grain: Grain::Functions, scripts, ..ReadOptions::default() };
    read(input, &options).unwrap()
}

/// Every function of the CPU profile's tree with its component, line and column.
fn functions(trace: &Value, scripts: ScriptOptions<'_>) -> Vec<String> {
    let profile = profile(trace, scripts);
    let nodes = profile.tree.nodes().map(|node| profile.function_of(node));
    let shown = nodes.filter(|id| profile.symbols.function(*id).line.is_some()).map(|id| {
        let function = profile.symbols.function(id);
        let at = |number: Option<std::num::NonZeroU32>| number.map_or(0, std::num::NonZero::get);
        let component = profile.symbols.component(id).unwrap_or_default();
        let layer = if function.layer == Layer::Library { " library" } else { "" };
        format!(
            "{} {component}:{}:{}{layer}",
            profile.symbols.name(id),
            at(function.line),
            at(function.column)
        )
    });
    shown.collect()
}

fn full(maps: &[PathBuf]) -> ScriptOptions<'_> {
    ScriptOptions { names: ScriptNames::Full, maps, ..ScriptOptions::default() }
}

const BY_TEXT: [&str; 4] = [
    "(top level) http://h/js/app.js:1:1",
    "d http://h/js/app.js:1:48",
    "a http://h/js/app.js:1:17",
    "a > b.map(callback) http://h/js/app.js:1:34",
];

const BY_MAP: [&str; 4] = [
    "(top level) http://h/js/app.js:1:1",
    "run http://h/js/node_modules/run/run.js:5:7 library",
    "add http://h/js/src/list.js:1:20",
    "add > list.map(callback) http://h/js/src/list.js:2:19",
];

#[test]
fn what_has_no_name_is_called_by_what_holds_it() {
    assert_eq!(functions(&trace(Some(BUNDLE), Vec::new()), full(&[])), BY_TEXT);
    let recorded = functions(&trace(Some(BUNDLE), Vec::new()), ScriptOptions::NONE);
    assert_eq!(recorded[3], " http://h/js/app.js:1:34");
    let without = functions(&trace(None, Vec::new()), full(&[]));
    assert_eq!(without[3], " http://h/js/app.js:1:34");
}

#[test]
fn a_text_in_pieces_is_one_text() {
    let piece = |index: usize, text: &str| {
        let data = json!({"data": {"scriptId": 7, "splitIndex": index, "splitCount": 2, "sourceText": text}});
        event("LargeScriptCatchup", "X", 2, &data)
    };
    let (first, second) = BUNDLE.split_at(30);
    for start in [0, 1] {
        let pieces = vec![piece(start + 1, second), piece(start, first)];
        assert_eq!(functions(&trace(None, pieces), full(&[])), BY_TEXT);
    }
}

#[test]
fn maps_in_the_text_in_the_trace_and_in_folders() {
    let mut encoded = String::new();
    for byte in map().to_string().bytes() {
        write!(encoded, "%{byte:02x}").unwrap();
    }
    let plain = format!("{BUNDLE}\n//# sourceMappingURL=data:application/json,{encoded}");
    let mut inline = trace(Some(&plain), Vec::new());
    // The address that the engine saw is the text's own.
    inline["traceEvents"].as_array_mut().unwrap().pop();
    assert_eq!(functions(&inline, full(&[])), BY_MAP);

    let mut saved = trace(Some(BUNDLE), Vec::new());
    saved["metadata"]["sourceMaps"] =
        json!([{"url": "http://h/js/app.js", "sourceMapUrl": "app.js.map", "sourceMap": map()}]);
    assert_eq!(functions(&saved, full(&[])), BY_MAP);

    let folder = Temporary::new("maps");
    folder.write("deep/er/app.js.map", &map().to_string());
    let maps = [folder.0.clone()];
    assert_eq!(functions(&trace(Some(BUNDLE), Vec::new()), full(&maps)), BY_MAP);
    // Without the script's text, names come from the map alone.
    let bare = functions(&trace(None, Vec::new()), full(&maps));
    assert_eq!(bare[2..], BY_MAP[2..]);
    let beside = folder.0.join("deep/er");
    let options = ScriptOptions { beside: Some(&beside), ..full(&[]) };
    assert_eq!(functions(&trace(Some(BUNDLE), Vec::new()), options), BY_MAP);
}

#[test]
fn methods_that_drop_the_nameless_still_get_sources() {
    let mut saved = trace(Some(BUNDLE), Vec::new());
    saved["metadata"]["sourceMaps"] = json!([{"url": "http://h/js/app.js", "sourceMap": map()}]);
    let options = ScriptOptions { names: ScriptNames::Mapped, ..ScriptOptions::default() };
    let found = functions(&saved, options);
    assert_eq!(found[2], BY_MAP[2]);
    assert_eq!(found[3], " http://h/js/src/list.js:2:19");
    assert_eq!(found[0], " http://h/js/app.js:1:1");
}

#[test]
fn a_profile_of_node_finds_scripts_and_maps_beside_them() {
    let folder = Temporary::new("node");
    folder.write("app.js", &format!("{BUNDLE}\n//# sourceMappingURL=app.js.map\n"));
    let profile = |folder: &Path| {
        let url = format!("file://{}/app.js", folder.display());
        let mut nodes =
            trace(None, Vec::new())["traceEvents"][1]["args"]["data"]["cpuProfile"]["nodes"]
                .clone();
        for node in nodes.as_array_mut().unwrap() {
            if node["callFrame"]["url"].is_string() {
                node["callFrame"]["url"] = json!(url);
            }
        }
        json!({"nodes": nodes, "startTime": 0, "endTime": 9, "samples": [2, 3, 4, 5], "timeDeltas": [1, 1, 1, 1]})
    };
    let local = |names: &[&str]| -> Vec<String> {
        let here = format!("file://{}", folder.0.display());
        names.iter().map(|name| name.replace("http://h/js", &here)).collect()
    };
    assert_eq!(functions(&profile(&folder.0), full(&[])), local(&BY_TEXT));
    folder.write("app.js.map", &map().to_string());
    assert_eq!(functions(&profile(&folder.0), full(&[])), local(&BY_MAP));
    // A file that was changed since says nothing about the functions it had.
    std::fs::remove_file(folder.0.join("app.js.map")).unwrap();
    folder.write("app.js", "let x = 1; // another text\nfunction other() {}");
    assert_eq!(
        functions(&profile(&folder.0), full(&[]))[3],
        local(&[" http://h/js/app.js:1:34"])[0]
    );
}

#[test]
fn callbacks_hang_under_those_who_asked() {
    let ask = |time: u32, timer: u32, moment: u32| {
        event(
            "TimerInstall",
            "I",
            time,
            &json!({"data": {"timerId": timer, "frame": "F", "timeout": 1, "sampleTraceId": moment}}),
        )
    };
    let fire = |time: u32, timer: u32, duration: u32| {
        let mut fire =
            event("TimerFire", "X", time, &json!({"data": {"timerId": timer, "frame": "F"}}));
        fire["dur"] = json!(duration);
        fire
    };
    let mut nodes =
        trace(None, Vec::new())["traceEvents"][1]["args"]["data"]["cpuProfile"]["nodes"].clone();
    nodes
        .as_array_mut()
        .unwrap()
        .push(json!({"id": 6, "parent": 1, "callFrame": call("tick", 33)}));
    // `a` sets a timer, whose callback `tick` sets it again, and again.
    let chunk = json!({"data": {"cpuProfile": {"nodes": nodes, "samples": [4, 6, 6, 6, 4], "trace_ids": {"101": 4, "102": 6, "103": 6}}, "timeDeltas": [10, 100, 100, 100, 100]}});
    let events = json!([
        event("Profile", "P", 0, &json!({"data": {"startTime": 0}})),
        event("ProfileChunk", "P", 1, &chunk),
        ask(10, 1, 101),
        fire(105, 1, 20),
        ask(110, 2, 102),
        fire(205, 2, 20),
        ask(210, 3, 103),
        fire(305, 3, 20),
    ]);
    let trace = json!({"traceEvents": events});
    let options = ScriptOptions { async_stacks: true, ..full(&[]) };
    let profile = profile(&trace, options);
    let wall = profile.self_values(profile.metric("samples").unwrap());
    let mut shown: Vec<String> = Vec::new();
    for node in profile.tree.nodes().filter(|node| wall[node.index()] > 0) {
        let path: Vec<&str> =
            profile.tree.path(node).into_iter().map(|at| profile.name_of(at)).collect();
        shown.push(format!("{} {}", path.join(" > "), wall[node.index()]));
    }
    let expected = [
        " > d > a 2",
        " > d > a > (timer) > tick 1",
        " > d > a > (timer) > tick > (timer) > tick 2",
    ];
    assert_eq!(shown, expected);
}

/// A folder that goes with the test.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("perfblame-scripts-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
