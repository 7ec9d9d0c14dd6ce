//! Servers whose threads wait for work, recorded by `perfblame record os` for a short and for a long time. Requests
//! became slower meanwhile: what made them slower comes first, and no thread that waits for work is blamed.
//! `cargo xtask setup` installs perf, Go and Java.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use run::Folder;
use serde_json::Value;

const REQUESTS: u32 = 20;

/// Milliseconds of a recording, before and after.
const LENGTHS: [u64; 2] = [700, 2_800];

fn tool(folder: &Folder, words: &[&str]) {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder.path());
    command.env("GOCACHE", folder.path().join("cache")).env("GO111MODULE", "off");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Asks the server whose port is in this file, all along its life.
fn ask(port: &Path, length: u64) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let number = loop {
        if let Ok(text) = std::fs::read_to_string(port) {
            break text.parse::<u16>().unwrap();
        }
        assert!(Instant::now() < deadline, "the server did not start");
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut server = TcpStream::connect(("127.0.0.1", number)).unwrap();
    for _ in 0..REQUESTS {
        let begun = Instant::now();
        let mut byte = [b'?'];
        // It ends when its time is over.
        if server.write_all(&byte).and_then(|()| server.read_exact(&mut byte)).is_err() {
            return;
        }
        let each = Duration::from_millis(length * 3 / 4 / u64::from(REQUESTS));
        std::thread::sleep(each.saturating_sub(begun.elapsed()));
    }
}

/// Records two runs of each side by turns; `command` makes the command of a side from its length.
fn recorded(folder: &Folder, more: &[&str], command: impl Fn(usize, &str) -> Vec<String>) -> Value {
    for run in 1..=2 {
        for (side, name) in ["before", "after"].into_iter().enumerate() {
            let port = folder.path().join("port");
            let _ = std::fs::remove_file(&port);
            let length = LENGTHS[side];
            let asking = std::thread::spawn(move || ask(&port, length));
            let mut words = vec!["record", "os", "--ignore-failure", "--output", name];
            words.extend_from_slice(more);
            if run > 1 {
                words.push("--append");
            }
            words.push("--");
            let command = command(side, &length.to_string());
            words.extend(command.iter().map(String::as_str));
            let done = folder.run(&words);
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert_eq!(done.status.code(), Some(0), "{said}");
            asking.join().unwrap();
        }
    }
    let done = folder.run(&["diff", "before", "after", "--format", "json"]);
    serde_json::from_slice(&done.stdout).unwrap()
}

/// The first suspect is one of these, or called by one; nobody waits longer.
#[track_caller]
fn check_computes(diff: &Value, causes: &[&str]) {
    assert_eq!(diff["verdict"], "regressed", "{diff}");
    let suspects = diff["suspects"].as_array().unwrap();
    let path = suspects[0]["path"].to_string();
    assert!(causes.iter().any(|cause| path.contains(cause)), "{diff}");
    for suspect in suspects {
        assert_ne!(suspect["kind"], "waits", "{diff}");
    }
}

fn compiled(folder: &Folder, mode: &str, costs: [(&str, &str); 2]) {
    folder.file("server.c", include_str!("idle/server.c"));
    for (name, (cost, nap)) in ["before.bin", "after.bin"].iter().zip(costs) {
        let defines = [format!("-DMODE={mode}"), format!("-DCOST={cost}"), format!("-DNAP={nap}")];
        let mut words = vec!["cc", "-O1", "-fno-inline", "-pthread", "-o", name, "server.c"];
        words.extend(defines.iter().map(String::as_str));
        tool(folder, &words);
    }
}

/// The server in C, with one way to wait for connections and requests.
fn server_in_c(mode: &str, more: &[&str], costs: [(&str, &str); 2]) -> Value {
    let folder = Folder::new();
    compiled(&folder, mode, costs);
    recorded(&folder, more, |side, length| {
        let name = ["before.bin", "after.bin"][side];
        std::fs::copy(folder.path().join(name), folder.path().join("server")).unwrap();
        ["./server", "port", length].map(str::to_owned).into()
    })
}

const SLOWER: [(&str, &str); 2] = [("400000", "0"), ("12000000", "0")];

#[test]
fn an_accept_loop_with_a_thread_for_each_connection_is_idle() {
    check_computes(&server_in_c("ACCEPT", &[], SLOWER), &["encode"]);
}

#[test]
fn an_epoll_loop_with_a_pool_that_waits_for_a_condition_is_idle() {
    check_computes(&server_in_c("EPOLL", &[], SLOWER), &["encode"]);
}

#[test]
fn a_poll_loop_with_a_pool_that_waits_for_a_semaphore_is_idle() {
    check_computes(&server_in_c("POLL", &[], SLOWER), &["encode"]);
}

#[test]
fn with_system_calls_in_the_trace_as_well() {
    check_computes(&server_in_c("POLL", &["--full"], SLOWER), &["encode"]);
}

/// The same servers; now it is a wait within requests that became longer.
#[test]
fn a_wait_within_requests_is_found_among_threads_that_wait_for_work() {
    for mode in ["ACCEPT", "EPOLL", "POLL"] {
        let diff = server_in_c(mode, &[], [("400000", "0"), ("400000", "30")]);
        assert_eq!(diff["verdict"], "regressed", "{mode}: {diff}");
        let suspects = diff["suspects"].as_array().unwrap();
        assert_eq!(suspects.len(), 1, "{mode}: {diff}");
        assert_eq!(suspects[0]["function"], "settle", "{mode}: {diff}");
        assert_eq!(suspects[0]["kind"], "waits", "{mode}: {diff}");
    }
}

#[test]
fn threads_of_python_are_idle() {
    let folder = Folder::new();
    folder.file("server.py", include_str!("idle/server.py"));
    let diff = recorded(&folder, &[], |side, length| {
        let cost = ["1000", "50000"][side];
        ["python3", "server.py", "port", length, cost].map(str::to_owned).into()
    });
    check_computes(&diff, &["pbkdf2", "PBKDF2"]);
}

#[test]
fn threads_of_go_are_idle() {
    let folder = Folder::new();
    folder.file("server.go", include_str!("idle/server.go"));
    tool(&folder, &["go", "build", "-o", "server", "server.go"]);
    let diff = recorded(&folder, &[], |side, length| {
        let cost = ["400000", "12000000"][side];
        ["./server", "port", length, cost].map(str::to_owned).into()
    });
    check_computes(&diff, &["main.encode"]);
}

#[test]
fn threads_of_java_are_idle() {
    let folder = Folder::new();
    folder.file("Server.java", include_str!("idle/Server.java"));
    tool(&folder, &["javac", "Server.java"]);
    let diff = recorded(&folder, &[], |side, length| {
        let cost = ["1", "16"][side];
        ["java", "-cp", ".", "Server", "port", length, cost].map(str::to_owned).into()
    });
    // Compiled Java has no names in such a trace.
    check_computes(&diff, &["thread_entry"]);
}
