//! The tour shows what its commands print. Blocks whose numbers vary need real tools: they run in the end-to-end suite,
//! which compares the words around the numbers.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot read the tour has failed")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use expect_test::expect_file;

const VARIES: &str = "<!-- numbers vary -->";

/// A block of commands, each with the lines below it.
struct Block {
    varies: bool,
    commands: Vec<(String, Vec<String>)>,
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The tour, with every block in place of its lines.
fn parts() -> Vec<Result<Block, String>> {
    let tour = std::fs::read_to_string(project().join("docs/tour.md")).unwrap();
    let mut parts = Vec::new();
    let mut lines = tour.lines();
    while let Some(line) = lines.next() {
        if line != "```console" {
            parts.push(Err(line.to_owned()));
            continue;
        }
        let varies = matches!(parts.last(), Some(Err(above)) if above == VARIES);
        let mut commands: Vec<(String, Vec<String>)> = Vec::new();
        for line in lines.by_ref().take_while(|line| *line != "```") {
            match line.strip_prefix("$ ") {
                Some(command) => commands.push((command.to_owned(), Vec::new())),
                None => commands.last_mut().expect("a command first").1.push(line.to_owned()),
            }
        }
        parts.push(Ok(Block { varies, commands }));
    }
    parts
}

/// Runs shell commands in the project, with this perfblame.
fn run(script: &str) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_perfblame")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("sh")
        .args(["-ec", script])
        .current_dir(project())
        .env("PATH", format!("{}:{path}", programs.display()))
        .envs([("GIT_AUTHOR_NAME", "Tour"), ("GIT_AUTHOR_EMAIL", "tour@example.org")])
        .envs([("GIT_COMMITTER_NAME", "Tour"), ("GIT_COMMITTER_EMAIL", "tour@example.org")])
        .output()
        .unwrap()
}

#[test]
fn the_tour_shows_what_its_commands_print() {
    let mut tour = String::new();
    for part in parts() {
        match part {
            Err(line) => writeln!(tour, "{line}").unwrap(),
            Ok(block) => {
                tour.push_str("```console\n");
                for (command, shown) in &block.commands {
                    writeln!(tour, "$ {command}").unwrap();
                    let printed = if block.varies {
                        shown.join("\n")
                    } else {
                        String::from_utf8(run(command).stdout).unwrap()
                    };
                    if !printed.trim().is_empty() {
                        writeln!(tour, "{}", printed.trim_end()).unwrap();
                    }
                }
                tour.push_str("```\n");
            }
        }
    }
    expect_file!["../../../docs/tour.md"].assert_eq(&tour);
}

#[cfg(feature = "e2e")]
#[test]
fn what_varies_has_the_words_that_are_shown() {
    let folder = std::env::temp_dir().join(format!("perfblame-tour-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let here = |text: &str| text.replace("/tmp/", &format!("{}/", folder.display()));
    for block in parts().into_iter().flatten().filter(|block| block.varies) {
        let script: Vec<String> = block.commands.iter().map(|(command, _)| here(command)).collect();
        // What the last command prints is all that a block prints.
        let shown: Vec<String> = block.commands.last().unwrap().1.iter().map(|l| here(l)).collect();
        let output = run(&script.join("\n"));
        let printed = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        let printed = printed.concat();
        let words: Vec<String> = printed.lines().map(without_numbers).collect();
        // The rest is left out where the tour says `…`.
        for line in shown.iter().filter(|line| *line != "…") {
            assert!(words.contains(&without_numbers(line)), "{line}\nis not in\n{printed}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A line in which every word with a digit is the same.
#[cfg(feature = "e2e")]
fn without_numbers(line: &str) -> String {
    let is_number = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    let words = line.split_whitespace().map(|word| if is_number(word) { "N" } else { word });
    words.collect::<Vec<&str>>().join(" ")
}
