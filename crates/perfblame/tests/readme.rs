//! What the README shows is what its command prints.
#![allow(clippy::unwrap_used, reason = "a test that cannot read the README has failed")]

use std::path::Path;
use std::process::Command;

#[test]
fn the_first_example_prints_what_the_readme_shows() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(project.join("README.md")).unwrap();
    let block = readme.split("```console\n$ perfblame ").nth(1).unwrap();
    let (command, rest) = block.split_once('\n').unwrap();
    let shown = rest.split("\n```").next().unwrap();
    let page = std::env::temp_dir().join(format!("perfblame-readme-{}.html", std::process::id()));
    let arguments: Vec<&str> = (command.split(' '))
        .map(|word| if word == "report.html" { page.to_str().unwrap() } else { word })
        .collect();
    let output = Command::new(env!("CARGO_BIN_EXE_perfblame"))
        .args(arguments)
        .current_dir(&project)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), shown);
    assert_eq!(output.status.code(), Some(1), "a slowdown was found");
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.contains("jv_array_concat"));
    std::fs::remove_file(page).unwrap();
}
