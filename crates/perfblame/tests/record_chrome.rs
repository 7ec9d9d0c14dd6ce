//! `perfblame record chrome` with a real Chromium, on good pages and on hostile ones: a clear word within the time given,
//! no process left, no half-written file. `cargo xtask setup` installs the browser.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;
mod site;

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use perfblame_record::chrome::{Browser, Launch, PageSettings, Until};
use run::Folder;
use serde_json::Value;
use site::Site;

const WORK: &str = "let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) % 1000003; return x;";

/// The variable that all processes of one recording have.
const MARK: &str = "PERFBLAME_TEST_MARK";

/// A recording in a folder of its own, whose processes can be told from all others.
struct Recorder {
    folder: Folder,
    /// Where profile folders are; their place is in the command lines of browsers.
    temporary: Folder,
    mark: String,
}

impl Recorder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        Self { folder: Folder::new(), temporary: Folder::new(), mark }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let words = [&["record", "chrome", "--output", "runs"], arguments].concat();
        let mut command = self.folder.perfblame(&words);
        command.env(MARK, &self.mark).env("TMPDIR", self.temporary.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Records, and sees to it that nothing is left but what was recorded.
    fn run(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().unwrap();
        self.nothing_is_left();
        output
    }

    fn records(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(output.stdout, b"");
        said
    }

    /// Fails, and leaves no file.
    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(self.recorded().is_empty(), "{said}");
        said
    }

    fn recorded(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path().join("runs")).into_iter().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn nothing_is_left(&self) {
        // What looks after crashes ends by itself, a moment after the last one it looked after.
        let asked = Instant::now();
        while !self.processes().is_empty() && asked.elapsed() < Duration::from_secs(15) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let left = self.processes();
        assert!(left.is_empty(), "left running: {left:?}");
        assert_eq!(self.temporary.files(), [""; 0], "left in the temporary folder");
        let unfinished: Vec<String> =
            self.recorded().into_iter().filter(|name| name.starts_with('.')).collect();
        assert!(unfinished.is_empty(), "{unfinished:?}");
    }

    /// Processes of ours that run, with their command lines. Browsers overwrite what is known of the environment of
    /// some.
    fn processes(&self) -> Vec<String> {
        let mark = format!("{MARK}={}\0", self.mark);
        let place = self.temporary.path().display().to_string();
        let has = |file: &Path, text: &str| {
            let bytes = std::fs::read(file).unwrap_or_default();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let ours = entries
            .filter(|path| has(&path.join("environ"), &mark) || has(&path.join("cmdline"), &place));
        ours.map(|path| {
            let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
            format!("{} {}", path.display(), String::from_utf8_lossy(&line).replace('\0', " "))
        })
        .collect()
    }

    /// What is listed of a trace.
    fn functions(&self, file: &str) -> String {
        self.folder.ok(&["show", "--functions", file])
    }

    fn trace(&self, file: &str) -> Value {
        let bytes = std::fs::read(self.folder.path().join(file)).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(&*bytes).read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

/// Waits for something that must happen.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what} does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn page(script: &str) -> String {
    format!("<!doctype html><title>page</title><body><script>{script}</script>")
}

#[test]
fn pages_frames_and_workers_are_recorded_as_the_panel_records_them() {
    let frames = format!(
        "<iframe src='http://localhost:PORT/frame'></iframe>
         <script>function planted(n) {{ {WORK} }} planted(3e7); new Worker('worker.js');</script>"
    );
    let frame = format!("<script>function inFrame(n) {{ {WORK} }} inFrame(3e7);</script>");
    let worker = format!("function inWorker(n) {{ {WORK} }} inWorker(3e7);");
    let site = Site::new(&[("/", &frames), ("/frame", &frame), ("/worker.js", &worker)]);
    let recorder = Recorder::new();
    let said = recorder.records(&["--url", &site.url("/"), "--runs", "2", "--warmup", "1"]);
    assert!(said.starts_with("recorded 2 runs with Chrome/"), "{said}");
    assert!(said.contains("next: perfblame show runs, or perfblame diff runs AFTER"), "{said}");
    assert_eq!(recorder.recorded(), ["run-1.json.gz", "run-2.json.gz"]);
    for file in ["runs/run-1.json.gz", "runs/run-2.json.gz"] {
        let functions = recorder.functions(file);
        for name in ["planted", "inFrame", "inWorker"] {
            assert!(functions.contains(name), "{name} is not in\n{functions}");
        }
    }
    let trace = recorder.trace("runs/run-1.json.gz");
    assert_eq!(trace["metadata"]["source"], "DevTools");
    let about = &trace["metadata"]["perfblame"];
    assert!(about["start"].as_i64() < about["done"].as_i64(), "{about}");
    assert!(about["done"].as_i64() <= about["end"].as_i64(), "{about}");
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |name: &'static str| events.iter().filter(move |event| event["name"] == name);
    let marks: Vec<&Value> = of("clock_sync").map(|event| &event["args"]["sync_id"]).collect();
    assert_eq!(marks, ["perfblame:start", "perfblame:end"]);
    assert_eq!(of("TracingStartedInBrowser").count(), 1);
    // Texts of scripts, for those who name functions.
    let texts = of("ScriptCatchup").chain(of("StubScriptCatchup"));
    let texts: Vec<String> = texts.map(|event| event["args"]["data"].to_string()).collect();
    assert!(texts.iter().any(|text| text.contains("function planted")), "{texts:?}");
    assert!(recorder.fails_again(&site.url("/")).contains("runs already contains runs"));
    let slowly = ["--sampling-interval", "5000", "--cpu-throttle", "2", "--viewport", "800x600"];
    let url = site.url("/");
    recorder.records(&[&["--url", &url, "--append", "--without-sources"], &slowly[..]].concat());
    assert_eq!(recorder.recorded().len(), 3);
    // Samples of our own taking are those of the same threads, and as far apart as we want them.
    let functions = recorder.functions("runs/run-3.json.gz");
    for name in ["planted", "inFrame", "inWorker"] {
        assert!(functions.contains(name), "{name} is not in\n{functions}");
    }
    let median = |file: &str| {
        let trace = recorder.trace(file);
        let chunks = trace["traceEvents"].as_array().unwrap().iter();
        let chunks = chunks.filter(|event| event["name"] == "ProfileChunk");
        let lists = chunks.filter_map(|event| event["args"]["data"]["timeDeltas"].as_array());
        let mut gaps: Vec<i64> = lists.flatten().filter_map(Value::as_i64).collect();
        gaps.sort_unstable();
        gaps[gaps.len() / 2]
    };
    let (usual, wanted) = (median("runs/run-1.json.gz"), median("runs/run-3.json.gz"));
    assert!(usual < 3000 && wanted >= 4000, "{usual} µs and {wanted} µs");
    opens_in_speedscope(&recorder.folder, "runs/run-1.json.gz");
}

impl Recorder {
    fn fails_again(&self, url: &str) -> String {
        let output = self.run(&["--url", url]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    }
}

/// Opens a trace in speedscope, in the browser that we drive ourselves.
fn opens_in_speedscope(folder: &Folder, trace: &str) {
    let index = perfblame_fixtures::tool_file("node_modules/speedscope/dist/release/index.html");
    let content = std::fs::read(folder.path().join(trace)).unwrap();
    let bytes: Vec<String> = content.iter().map(ToString::to_string).collect();
    // How speedscope's own command line hands files over.
    let script = format!(
        "speedscope.loadFileFromBase64({trace:?}, \
         btoa([{}].map(c => String.fromCharCode(c)).join('')))",
        bytes.join(",")
    );
    folder.file("open.js", script);
    let opened = folder.path().join("open.js");
    let url =
        format!("file://{}#view=sandwich&localProfilePath={}", index.display(), opened.display());
    let never = AtomicBool::new(false);
    let until = Until::after(Duration::from_secs(120), &never);
    // It draws with WebGL.
    let arguments = vec!["--enable-unsafe-swiftshader".into()];
    let browser = Browser::start(&Launch { arguments, ..Launch::default() }, until).unwrap();
    let page = browser.open(&PageSettings::default(), until).unwrap();
    page.navigate(&url).unwrap();
    let mut text = String::new();
    wait_until("speedscope's list", || {
        text = page.evaluate("document.body?.innerText ?? ''").unwrap().to_string();
        ["planted", "inFrame", "inWorker"].iter().any(|name| text.contains(name))
    });
}

#[test]
fn scripts_run_in_the_page_and_their_failures_have_a_place() {
    let app = format!(
        "<script>function planted(n) {{ {WORK} }} function early(n) {{ {WORK} }} early(3e7)</script>"
    );
    let site = Site::new(&[("/", &app)]);
    let recorder = Recorder::new();
    let file = |name, text| recorder.folder.file(name, text);
    file("good.js", "await new Promise(done => setTimeout(done, 300));\nplanted(3e7);\n");
    file("bad.js", "const wrong = 1;\n\nnothing.here();\n");
    file("later.js", "await new Promise((_, fail) => setTimeout(() => fail('no reason'), 10));\n");
    file("away.js", "location = '/elsewhere';\nawait new Promise(() => {});\n");
    let url = site.url("/");
    let said = recorder.fails(&["--url", &url, "--script", "bad.js"]);
    assert!(
        said.contains("error: bad.js failed\n  ReferenceError: nothing is not defined"),
        "{said}"
    );
    assert!(said.contains("bad.js:3:1"), "{said}");
    let said = recorder.fails(&["--url", &url, "--script", "later.js"]);
    assert!(said.contains("error: later.js failed\n  \"no reason\""), "{said}");
    let said = recorder.fails(&["--url", &url, "--script", "away.js"]);
    assert!(said.contains("the page navigated away before the script was done"), "{said}");
    recorder.records(&["--url", &url, "--script", "good.js", "--skip-load"]);
    let functions = recorder.functions("runs/run-1.json.gz");
    assert!(functions.contains("planted") && !functions.contains("early"), "{functions}");
    let trace = recorder.trace("runs/run-1.json.gz");
    let about = &trace["metadata"]["perfblame"];
    let took = about["done"].as_i64().unwrap() - about["start"].as_i64().unwrap();
    assert!(took >= 300_000, "waiting counts: {took} µs");
}

#[test]
fn dialogs_are_answered_and_endless_ones_end_with_the_time_given() {
    let leave = "onbeforeunload = event => { event.preventDefault(); return 'stay' };
        alert('one'); document.title = [confirm('two'), prompt('three', 'me')];";
    let site = Site::new(&[("/", &page(leave)), ("/endless", &page("for (;;) alert('again')"))]);
    let recorder = Recorder::new();
    let said = recorder.records(&["--url", &site.url("/")]);
    assert!(
        said.contains("3 dialogs of the page were answered with yes; the last one: \"three\""),
        "{said}"
    );
    let recorder = Recorder::new();
    let said = recorder.fails(&["--url", &site.url("/endless"), "--timeout", "12s"]);
    assert!(said.contains("exceeded the timeout of 12.0 s"), "{said}");
    assert!(
        said.contains("dialogs of the page were answered with yes; the last one: \"again\""),
        "{said}"
    );
}

#[test]
fn pages_that_hold_on_to_people_are_left() {
    let hold = page("onbeforeunload = event => { event.preventDefault(); return 'stay' };");
    let site = Site::new(&[("/", &hold), ("/there", "there")]);
    let recorder = Recorder::new();
    // Without a gesture browsers do not ask; a script has one.
    recorder.folder.file("leave.js", "setTimeout(() => { location = '/there' }, 0);\n");
    recorder.records(&["--url", &site.url("/"), "--script", "leave.js"]);
}

#[test]
fn pages_that_close_themselves_or_crash_are_said_to() {
    let site = Site::new(&[("/", &page(""))]);
    let recorder = Recorder::new();
    recorder.folder.file("close.js", "window.close();\nawait new Promise(() => {});\n");
    // Browsers let pages do that which were opened by others.
    let may = "--browser-arg=--blink-settings=allowScriptsToCloseWindows=true";
    let arguments = ["--url", &site.url("/"), "--script", "close.js", "--timeout", "20s", may];
    let said = recorder.fails(&arguments);
    assert!(said.contains("error: the page was closed"), "{said}");
    let said = recorder.fails(&["--url", "chrome://crash", "--timeout", "20s"]);
    assert!(said.contains("error: the page crashed"), "{said}");
}

#[test]
fn endless_loops_end_with_the_time_given() {
    let site = Site::new(&[("/", &page("for (;;);"))]);
    let recorder = Recorder::new();
    let began = Instant::now();
    let said = recorder.fails(&["--url", &site.url("/"), "--timeout", "3s"]);
    assert!(said.contains("exceeded the timeout of 3.0 s"), "{said}");
    assert!(said.contains("no longer responds; it may be in an endless loop"), "{said}");
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn pages_that_never_rest_are_recorded_up_to_the_limit() {
    let busy = format!("function busy(n) {{ {WORK} }} setInterval(() => busy(1e7), 0)");
    let site = Site::new(&[
        ("/network", &page("fetch('/never')")),
        ("/busy", &page(&busy)),
        ("/never", "(never)"),
    ]);
    let recorder = Recorder::new();
    let said = recorder.records(&["--url", &site.url("/network"), "--rest-limit", "1s"]);
    assert!(said.contains("the page never became idle: its network is never quiet"), "{said}");
    let recorder = Recorder::new();
    let said = recorder.records(&["--url", &site.url("/busy"), "--rest-limit", "2s"]);
    assert!(said.contains("the page never became idle: its main thread is never quiet"), "{said}");
    assert!(recorder.functions("runs/run-1.json.gz").contains("busy"));
}

#[test]
fn what_is_no_page_is_said_to_be_none() {
    let popup = page("window.open('/popup'); location = '/file.zip'");
    let site = Site::new(&[("/file.zip", "PK"), ("/", &popup), ("/popup", "popup")]);
    let recorder = Recorder::new();
    let said = recorder.fails(&["--url", &site.url("/file.zip")]);
    assert!(said.contains("it is a download, not a page"), "{said}");
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = recorder.fails(&["--url", &format!("http://{free}/")]);
    assert!(
        said.contains("connection refused: no server listens there (net::ERR_CONNECTION_REFUSED)"),
        "{said}"
    );
    let said = recorder.fails(&["--url", "http://127.0.0.1:80:80/"]);
    assert!(said.contains("error: "), "{said}");
    let said = recorder.records(&["--url", &site.url("/missing")]);
    assert!(said.contains("note: the server responded with status 404"), "{said}");
}

#[test]
fn windows_and_downloads_of_a_page_are_counted() {
    let site = Site::new(&[("/file.zip", "PK"), ("/", "<title>page</title>"), ("/popup", "popup")]);
    let recorder = Recorder::new();
    recorder.folder.file("open.js", "window.open('/popup'); location = '/file.zip';\n");
    let said = recorder.records(&["--url", &site.url("/"), "--script", "open.js"]);
    assert!(said.contains("1 window was opened by the page"), "{said}");
    assert!(said.contains("1 download was refused"), "{said}");
}

#[test]
fn traces_beyond_their_limit_are_an_error() {
    let many = "for (let i = 0; i < 50000; i++) performance.mark('mark of some length ' + i)";
    let site = Site::new(&[("/", &page(many))]);
    let recorder = Recorder::new();
    let said = recorder.fails(&["--url", &site.url("/"), "--max-size", "2M"]);
    assert!(said.contains("error: the trace is larger than 2 MB"), "{said}");
    assert!(said.contains("--max-size"), "{said}");
}

#[test]
fn a_browser_that_is_killed_and_an_interrupt_leave_nothing() {
    let site = Site::new(&[("/", &page("fetch('/never')")), ("/never", "(never)")]);
    let recorder = Recorder::new();
    let url = site.url("/");
    let rest = ["--url", &url, "--rest-limit", "100s", "--timeout", "100s"];
    // Killed from outside.
    let child = recorder.command(&rest).spawn().unwrap();
    let browser = renderer_of(&recorder, &child);
    signal("KILL", browser);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("error: the browser has ended"), "{said}");
    recorder.nothing_is_left();
    // Interrupted.
    let child = recorder.command(&rest).spawn().unwrap();
    renderer_of(&recorder, &child);
    signal("INT", child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    recorder.nothing_is_left();
    // Killed ourselves: the browser sees its pipes close.
    let mut child = recorder.command(&rest).spawn().unwrap();
    renderer_of(&recorder, &child);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the browser's end", || recorder.processes().is_empty());
    // The next one cleans up what we could not.
    recorder.records(&["--url", "about:blank"]);
}

fn signal(name: &str, process: u32) {
    let status = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(status.unwrap().success());
}

/// The browser's number, once it has a process for the page.
fn renderer_of(recorder: &Recorder, child: &Child) -> u32 {
    wait_until("a page", || {
        recorder.processes().iter().filter(|line| line.contains("--type=renderer")).count() > 0
    });
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let children = std::fs::read_to_string(children).unwrap();
    children.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn a_browser_that_runs_already_stays_as_it_was() {
    let site = Site::new(&[(
        "/",
        &format!("<script>function planted(n) {{ {WORK} }} planted(3e7)</script>"),
    )]);
    let profile = Folder::new();
    let root = if nix_is_root() { "--no-sandbox" } else { "--no-first-run" };
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    ]);
    browser.args(["--remote-debugging-port=0", root, "about:blank"]);
    browser.arg(format!("--user-data-dir={}", profile.path().display()));
    let mut browser = browser.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let port_file = profile.path().join("DevToolsActivePort");
    wait_until("a port", || {
        std::fs::read_to_string(&port_file).is_ok_and(|text| text.lines().count() >= 2)
    });
    let text = std::fs::read_to_string(&port_file).unwrap();
    let (port, path) = text.trim().split_once('\n').unwrap();
    let recorder = Recorder::new();
    let (host, socket) = (format!("127.0.0.1:{port}"), format!("ws://127.0.0.1:{port}{path}"));
    recorder.records(&["--url", &site.url("/"), "--attach", &host]);
    recorder.records(&["--url", &site.url("/"), "--append", "--attach", &socket]);
    assert!(recorder.functions("runs/run-2.json.gz").contains("planted"));
    assert!(browser.try_wait().unwrap().is_none(), "it has ended");
    browser.kill().unwrap();
    browser.wait().unwrap();
    let recorder = Recorder::new();
    let said = recorder.fails(&["--url", &site.url("/"), "--attach", &host]);
    assert!(said.contains(&format!("error: cannot attach to a browser at {host}")), "{said}");
    assert!(said.contains("--remote-debugging-port=9222"), "{said}");
}

fn nix_is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout.trim_ascii() == b"0"
}

#[test]
fn what_is_no_browser_is_said_to_be_none() {
    let recorder = Recorder::new();
    let said = recorder.fails(&["--url", "about:blank", "--browser", "/nowhere/chrome"]);
    assert!(said.contains("cannot start /nowhere/chrome\n  there is no such program"), "{said}");
    let said = recorder.fails(&["--url", "about:blank", "--browser", "/bin/false"]);
    assert!(said.contains("cannot start /bin/false"), "{said}");
}
