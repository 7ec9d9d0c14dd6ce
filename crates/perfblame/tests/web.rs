//! `perfblame web` with a real Chromium and real servers.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use std::path::{Path, PathBuf};
use std::process::Output;

use run::Folder;
use serde_json::Value;

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    path.canonicalize().unwrap().display().to_string()
}

fn web(folder: &Folder, arguments: &[&str]) -> Output {
    let words = [&["web", "--recordings", "runs"], arguments].concat();
    folder.perfblame(&words).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(output)))
}

fn recorded(folder: &Folder, side: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.path().join("runs").join(side)).into_iter().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn two_folders_and_the_function_that_made_the_page_slower() {
    let folder = Folder::new();
    let (before, after) = (example("web-orders/before"), example("web-orders/after"));
    let output =
        web(&folder, &["--serve", &before, &after, "--format", "json", "--html", "page.html"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let answer = answer(&output);
    assert_eq!(answer["verdict"], "regressed", "{answer}");
    assert_eq!(answer["suspects"][0]["function"], "customerOf", "{answer}");
    assert!(said(&output).contains("runs per side"), "{}", said(&output));
    // Every run can be looked at again, by others too.
    let runs = answer["before"]["runs"].as_u64().unwrap();
    for side in ["before", "after"] {
        assert_eq!(recorded(&folder, side).len() as u64, runs);
    }
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("customerOf"));
    let again = folder.perfblame(&["diff", "runs/before", "runs/after", "--format", "json"]);
    let again = self::answer(&{ again }.output().unwrap());
    assert_eq!(again["suspects"][0]["function"], "customerOf", "{again}");
}

#[test]
fn servers_are_started_and_ended() {
    let folder = Folder::new();
    let serve = |side: &str| {
        let site = example(&format!("web-orders/{side}"));
        format!(
            "echo {{port}} > {side}.port; python3 -m http.server --bind 127.0.0.1 --directory '{site}' {{port}}"
        )
    };
    let (before, after) = (serve("before"), serve("after"));
    let arguments = ["--before-cmd", &before, "--after-cmd", &after, "--format", "json"];
    let output = web(&folder, &arguments);
    assert_eq!(answer(&output)["suspects"][0]["function"], "customerOf", "{}", said(&output));
    for side in ["before", "after"] {
        let port = std::fs::read_to_string(folder.path().join(format!("{side}.port"))).unwrap();
        let port: u16 = port.trim().parse().unwrap();
        assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "{port} still answers");
    }
}

#[test]
fn what_fails_says_which_side_and_leaves_no_trace() {
    let folder = Folder::new();
    let (before, missing) = (example("web-orders/before"), "no/such/folder");
    let output = web(&folder, &["--serve", &before, missing]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("cannot serve no/such/folder"), "{}", said(&output));

    let output =
        web(&folder, &["--before-cmd", "echo broken {port}; exit 1", "--after-cmd", "true {port}"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("broken"), "{}", said(&output));

    let script = folder.path().join("fails.js");
    std::fs::write(&script, "throw new Error('out of stock')").unwrap();
    let output = web(&folder, &["--serve", &before, &before, "--script", "fails.js"]);
    assert_eq!(output.status.code(), Some(2));
    let said = said(&output);
    assert!(said.contains("before") && said.contains("out of stock"), "{said}");
    assert!(recorded(&folder, "before").is_empty());
}

#[test]
fn a_flow_is_replayed_at_both_sides() {
    let folder = Folder::new();
    let (before, after) = (example("web-orders/before"), example("web-orders/after"));
    let flow = example("web-orders/flow.json");
    let output = web(
        &folder,
        &["--serve", &before, &after, "--flow", &flow, "--max-runs", "3", "--format", "json"],
    );
    let answer = answer(&output);
    assert_eq!(answer["suspects"][0]["function"], "customerOf", "{answer}");
    // What is typed calls it too, not only what is loaded.
    let paths = answer["suspects"][0]["contexts"].as_u64().unwrap();
    assert!(paths >= 3, "{answer}");
}
