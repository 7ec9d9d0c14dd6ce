//! Functions of real bundles, recorded by a real Chromium: under their authors' names where there are source maps, and
//! matched by their code where there are none. `bundle/README.md` says what the page does.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use std::path::{Path, PathBuf};
use std::process::Command;

use run::Folder;
use serde_json::Value;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bundle").join(name)
}

/// Runs a program of npm: a script for Node, or with some installations a binary.
fn tool(program: &str, arguments: &[&str]) {
    let program = perfblame_fixtures::tools().join("node_modules").join(program);
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A folder with the page and its bundle, made of the module `entry`.
fn bundle(folder: &Folder, side: &str, entry: &str, arguments: &[&str]) -> String {
    let into = folder.path().join(side);
    std::fs::create_dir_all(&into).unwrap();
    std::fs::copy(source("index.html"), into.join("index.html")).unwrap();
    let entry = source("src").join(entry).display().to_string();
    let out = format!("--outfile={}", into.join("shop.js").display());
    tool(
        "esbuild/bin/esbuild",
        &[&[&*entry, "--bundle", &*out, "--log-level=error"], arguments].concat(),
    );
    into.display().to_string()
}

fn web(folder: &Folder, before: &str, after: &str) -> Value {
    let serve = ["--serve", before, after, "--timeout", "180s", "--format", "json"];
    let words = [&["web", "--recordings", "runs"], &serve[..]].concat();
    let output = folder.run(&words);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().filter_map(|entry| entry[key].as_str()).collect()
}

#[test]
fn a_minified_bundle_is_reported_in_original_names() {
    let folder = Folder::new();
    let minify = ["--minify", "--sourcemap"];
    let before = bundle(&folder, "before", "main.js", &minify);
    let after = bundle(&folder, "after", "main-after.js", &minify);
    let answer = web(&folder, &before, &after);
    let first = &answer["suspects"][0];
    // The loop is in what `rankByDistance` hands to `map`.
    assert_eq!(first["function"], "rankByDistance > results.map(callback)", "{answer}");
    assert!(first["component"].as_str().unwrap().ends_with("/src/slow.js"), "{first}");
    assert_eq!(first["line"], 3, "{first}");
    assert_eq!(first["kind"], "new");
    let path = texts(&first["path"], "function");
    let named: Vec<&str> = path.iter().copied().filter(|name| !name.starts_with('(')).collect();
    assert_eq!(named, ["main", "rankByDistance", "rankByDistance > results.map(callback)"]);

    // The traces alone know no names, and the map lies where the user says.
    let run = folder.path().join("runs/before").display().to_string();
    let shown = folder.ok(&["show", &run, "--functions", "--limit", "0", "--source-maps", &before]);
    // Which of them a sample meets is chance, but not that none is met. Methods keep their names in bundles.
    let names = ["buildCatalogue", "tokenise", "priceCart", "applyCoupon"];
    let met = names.iter().filter(|name| shown.contains(**name)).count();
    assert!(met >= 2, "{shown}");
    assert!(shown.contains("catalogue.js:") || shown.contains("index.js:"), "{shown}");
    let bare = folder.ok(&["show", &run, "--functions", "--limit", "0"]);
    let met = names.iter().filter(|name| bare.contains(**name)).count();
    assert!(met == 0 && bare.contains("shop.js"), "{bare}");
}

#[test]
fn without_maps_the_injected_function_is_found_in_another_build() {
    for minifier in ["esbuild", "terser"] {
        let folder = Folder::new();
        let before = bundle(&folder, "before", "main.js", &["--minify"]);
        let after = if minifier == "esbuild" {
            bundle(&folder, "after", "main-after.js", &["--minify"])
        } else {
            let after = bundle(&folder, "after", "main-after.js", &[]);
            let script = format!("{after}/shop.js");
            tool(
                "terser/bin/terser",
                &[&script, "--compress", "--mangle", "--toplevel", "--output", &script],
            );
            after
        };
        let answer = web(&folder, &before, &after);
        assert_eq!(answer["verdict"], "regressed", "{answer}");
        let first = &answer["suspects"][0];
        assert_eq!(first["kind"], "new", "{minifier}: {answer}");
        let script = std::fs::read_to_string(format!("{after}/shop.js")).unwrap();
        // It is the function with the square root, whatever it is called.
        let [line, column] = ["line", "column"].map(|key| first[key].as_u64());
        let text = script.lines().nth(line.unwrap() as usize - 1).unwrap();
        if let Some(column) = column {
            let rest = &text[column as usize - 1..];
            assert!(rest[..200.min(rest.len())].contains("Math.sqrt"), "{minifier}: {first}");
        }
        assert!(first["function"].as_str().unwrap().ends_with("(callback)"), "{minifier}: {first}");
        assert_eq!(answer["suspects"].as_array().unwrap().len(), 1, "{minifier}: {answer}");
    }
}
