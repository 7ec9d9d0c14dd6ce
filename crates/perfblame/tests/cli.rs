//! The command line as users and programs meet it: errors, exit status, help, inputs, interrupts.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use std::io::{Read, Write as _};
use std::process::Stdio;

use expect_test::{Expect, expect};
use run::{Folder, samples};
use serde_json::Value;

const SERVER: &str = "\
main;serve;accept;sys_accept 12
main;serve;handle;parse_request;read_line 31
main;serve;handle;parse_request 9
main;serve;handle;render;alloc::vec::Vec<T>::extend_from_slice 118
main;serve;handle;render 22
main;serve;log;write 8
";

const PPROF: &str = "pprof/google-report-sample.cpu.pb.gz";

fn check_error(arguments: &[&str], expected: &Expect) {
    let folder = Folder::new();
    folder.file("server.folded", SERVER);
    folder.file("empty.pb.gz", "");
    folder.file("letter.txt", "Dear reader,\nthis is no profile.\n");
    folder.file("letters/a.txt", "Dear reader,\nthis is no profile.\n");
    std::fs::create_dir(folder.path().join("nothing")).unwrap();
    let whole = std::fs::read(perfblame_fixtures::samples().join(PPROF)).unwrap();
    std::fs::write(folder.path().join("cut.pb.gz"), &whole[..whole.len() / 2]).unwrap();
    expected.assert_eq(&folder.fails(arguments));
}

/// Neither a browser nor a server is needed for this answer.
#[test]
fn a_foreign_unit_is_refused_before_the_first_visit() {
    check_error(
        &["web", "--serve", "letters", "letters", "--min-delta", "5MB"],
        &expect![[r"
            error: `--min-delta` does not fit the metric
              it is a size, but wall is measured in ns
              help: a percentage or a number without a unit always works
        "]],
    );
    check_error(
        &["web", "--serve", "letters", "letters", "--metric", "samples", "--min-delta", "5ms"],
        &expect![[r"
            error: `--min-delta` does not fit the metric
              it is a time, but samples is measured in count
              help: a percentage or a number without a unit always works
        "]],
    );
}

#[test]
fn errors_say_what_failed_why_and_what_to_do() {
    check_error(
        &["show", "run-41.pb.gz"],
        &expect![[r"
        error: cannot read run-41.pb.gz
          there is no such file
    "]],
    );
    check_error(
        &["show", "empty.pb.gz"],
        &expect![[r"
        error: cannot read empty.pb.gz
          the file is empty
    "]],
    );
    check_error(
        &["show", "cut.pb.gz"],
        &expect![[r"
        error: cannot read cut.pb.gz
          pprof: incomplete deflate stream
          help: the file looks cut off or damaged; get a complete copy
    "]],
    );
    check_error(
        &["show", "letter.txt"],
        &expect![[r"
        error: cannot read letter.txt
          not a profile or trace in any format that perfblame supports
          help: `perfblame --help` lists the formats
    "]],
    );
    check_error(
        &["show", "nothing"],
        &expect![[r"
        error: cannot read nothing
          there is no file in this folder
    "]],
    );
    check_error(
        &["show", "letters"],
        &expect![[r"
        error: cannot read letters/a.txt
          no file in this folder is a profile
    "]],
    );
    check_error(
        &["show", "*.jfr"],
        &expect![[r"
        error: cannot read *.jfr
          no file matches this pattern
    "]],
    );
    check_error(
        &["show", "-", "-"],
        &expect![[r"
        error: cannot read standard input
          it is given twice
    "]],
    );
    check_error(
        &["show", "server.folded", "--callers", "a"],
        &expect![[r"
        error: 7 functions match `a`
          main
          handle
          alloc::vec::Vec<T>::extend_from_slice
          parse_request
          read_line
          accept
          sys_accept
          help: give the full name of one of them
    "]],
    );
    check_error(
        &["show", "server.folded", "--callers", "hnadle"],
        &expect![[r"
        error: no function matches `hnadle`
          help: did you mean handle?
    "]],
    );
    check_error(
        &["show", "server.folded", "--callees", "zzz"],
        &expect![[r#"
            error: no function matches `zzz`
              help: `perfblame show --functions` lists all functions
        "#]],
    );
    check_error(
        &["show", "server.folded", "--metric", "wall"],
        &expect![[r"
        error: the profile has no metric `wall`
          help: it has samples
    "]],
    );
    check_error(
        &["show", "server.folded", "--thread", "main"],
        &expect![[r"
        error: no thread's name contains `main`
          its threads have no names
          help: remove `--thread`
    "]],
    );
    check_error(
        &["show", "server.folded", "--task", "regex:("],
        &expect![[r#"
            error: invalid task `regex:(`
              invalid regular expression: regex parse error:
                  (
                  ^
              error: unclosed group
              help: as in `--task 'regex:^com.shop.(?<part>[^.]+) as shop-${part}'`
        "#]],
    );
    check_error(
        &["show", "server.folded", "--task", "zzz"],
        &expect![[r#"
            error: no function starts the task `zzz`
              a prefix must match the start of a function's name or component
              help: `perfblame show --functions` lists all functions
        "#]],
    );
    check_error(
        &["show", "server.folded", "--flame", "x.png"],
        &expect![[r#"
            error: cannot tell the kind of flame graph from x.png
              help: use a name that ends in .svg or .html
        "#]],
    );
    check_error(
        &["show", "server.folded", "-o", "no/such/folder.txt"],
        &expect![[r"
        error: cannot write no/such/folder.txt
          there is no folder no/such
          help: create the folder first, or choose another one
    "]],
    );
    check_error(
        &["convert", "server.folded", "out.json"],
        &expect![[r#"
            error: cannot tell the format of out.json
              help: give `--to`, or use a name that ends in .pb.gz, .folded, .speedscope.json, .firefox.json, .trace.json, .perfblame
        "#]],
    );
    check_error(
        &["convert", "server.folded", "-"],
        &expect![[r#"
            error: cannot tell the format of standard output
              help: give `--to`, or use a name that ends in .pb.gz, .folded, .speedscope.json, .firefox.json, .trace.json, .perfblame
        "#]],
    );
    check_error(
        &["convert", "server.folded", "out.trace.json"],
        &expect![[r"
        error: cannot write out.trace.json
          a Chrome trace needs times, and this profile has none
          help: `--to speedscope` and `--to firefox` do not need times
    "]],
    );
    check_error(
        &["convert", "server.folded", "server.folded", "server.folded"],
        &expect![[r"
        error: server.folded would be overwritten
          it is a profile, but the last argument is the output file
          help: give a new file as the last argument, or `--force` to replace this one
    "]],
    );
}

#[test]
fn wrong_usage_fails_with_2() {
    let folder = Folder::new();
    for arguments in
        [&["show"][..], &["show", "x", "--min", "200"], &["nonsense"], &["convert", "a"]]
    {
        let errors = folder.fails(arguments);
        assert!(errors.starts_with("error: "), "{errors}");
    }
}

#[test]
fn help_has_examples_and_formats() {
    let folder = Folder::new();
    let help = folder.ok(&["--help"]);
    for text in ["Examples:", "show", "convert", "completions", "Exit status", "folded", "jfr"] {
        assert!(help.contains(text), "{text} is not in\n{help}");
    }
    let commands = "show diff infer record check bisect init hook convert symbolize completions";
    for command in commands.split(' ') {
        for flag in ["--help", "-h"] {
            let help = folder.ok(&[command, flag]);
            assert!(help.contains("Examples:\n  perfblame "), "{help}");
        }
    }
    for format in perfblame_readers::FORMATS {
        assert!(help.contains(format.name), "{}", format.name);
    }
    // The list is shown once: the others say where.
    for command in ["show", "convert"] {
        let help = folder.ok(&[command, "--help"]);
        assert!(!help.contains("hprof text") && help.contains("`perfblame --help`"), "{help}");
    }
}

#[test]
fn completions_know_the_options() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(folder.ok(&["completions", shell]).contains("callers"), "{shell}");
    }
}

#[test]
fn standard_input_folders_patterns_and_packed_files_are_inputs() {
    let folder = Folder::new();
    let output = folder.piped(&["show", "-", "--format", "json"], SERVER.as_bytes());
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["samples"], 200);
    assert_eq!(json["inputs"][0]["name"], "standard input");

    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, SERVER.as_bytes()).unwrap();
    folder.file("runs/b.folded.gz", packed.finish().unwrap());
    folder.file("runs/a.folded", SERVER);
    folder.file("runs/README", "nothing to see here");
    folder.file("runs/.hidden", "nothing to see here");
    let json: Value =
        serde_json::from_str(&folder.ok(&["show", "runs", "--format", "json"])).unwrap();
    assert_eq!((&json["runs"], &json["samples"]), (&2.into(), &400.into()));
    assert_eq!(json["inputs"][0]["name"], "runs/a.folded");
    assert_eq!(json["warnings"][0]["code"], "no-profile");
    assert_eq!(json["warnings"][0]["count"], 1);

    let json: Value =
        serde_json::from_str(&folder.ok(&["show", "runs/*.folded*", "--format", "json"])).unwrap();
    assert_eq!((&json["runs"], &json["nodes"]), (&2.into(), &11.into()));
}

#[test]
fn a_closed_pipe_is_a_normal_end() {
    let folder = Folder::new();
    let many: Vec<_> = (0..20_000).map(|row| format!("main;function_number_{row} 1")).collect();
    folder.file("many.folded", many.join("\n"));
    for arguments in [
        &["show", "many.folded", "--functions", "--limit", "20000"][..],
        &["show", "many.folded", "--functions", "--limit", "20000", "--format", "json"],
        &["convert", "many.folded", "-", "--to", "folded"],
        &["convert", "many.folded", "-", "--to", "speedscope"],
    ] {
        let mut command = folder.perfblame(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut byte = [0];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut byte).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn several_inputs_never_replace_the_last_by_accident() {
    let folder = Folder::new();
    folder.file("a.folded", SERVER);
    folder.file("b.folded", SERVER);
    folder.file("c.folded", "main 1\n");
    folder.fails(&["convert", "a.folded", "b.folded", "c.folded"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("c.folded")).unwrap(), "main 1\n");
    folder.ok(&["convert", "-q", "a.folded", "b.folded", "c.folded", "--force"]);
    let text = std::fs::read_to_string(folder.path().join("c.folded")).unwrap();
    assert!(text.contains("main;serve;log;write 16\n"), "{text}");
    assert_eq!(folder.files(), ["a.folded", "b.folded", "c.folded"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing_behind() {
    let folder = Folder::new();
    let mut command = folder.perfblame(&["convert", "-", "out.pb.gz"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Pipes hold 64 KB: once a megabyte went in, it is reading, and it would wait for the rest for ever.
    let mut input = child.stdin.take().unwrap();
    input.write_all("main;serve 1\n".repeat(80_000).as_bytes()).unwrap();
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(input);
    assert!(folder.files().is_empty());
}

#[cfg(unix)]
#[test]
fn an_interrupt_during_the_writing_leaves_nothing_behind() {
    let folder = Folder::new();
    // Few contexts and many lines make little to read and much to write: a stack of a thousand for each of them.
    let deep = "frame;".repeat(1000);
    let lines: Vec<_> = (0..4000).map(|row| format!("[t tid={row}];{deep}leaf{row} 1")).collect();
    folder.file("in.folded", lines.join("\n"));
    folder.file("out.speedscope.json", "what was there before");
    let arguments = ["convert", "-q", "in.folded", "out.speedscope.json"];
    let mut child = folder.perfblame(&arguments).stderr(Stdio::piped()).spawn().unwrap();
    let is_writing = || {
        let names = folder.files();
        let unfinished = names.iter().find(|name| name.ends_with(".unfinished"));
        unfinished.is_some_and(|name| {
            // It may be gone by now.
            folder.path().join(name).metadata().is_ok_and(|file| file.len() > 0)
        })
    };
    while !is_writing() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it was seen writing");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folder.files(), ["in.folded", "out.speedscope.json"]);
    let kept = std::fs::read_to_string(folder.path().join("out.speedscope.json")).unwrap();
    assert_eq!(kept, "what was there before");
}

#[test]
fn damaged_files_never_make_it_panic() {
    let folder = Folder::new();
    let (mut shown, mut refused) = (0, 0);
    for (seed, sample) in (0..).zip(samples()) {
        let bytes = std::fs::read(&sample).unwrap();
        for seed in seed * 4..seed * 4 + 4 {
            folder.file("damaged", perfblame_fixtures::damaged(&bytes, seed));
            let output = folder.run(&["show", "damaged"]);
            let errors = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 2)), "{} {seed}: {code:?} {errors}", sample.display());
            assert!(
                code == Some(0) || errors.starts_with("error: cannot read damaged\n  "),
                "{errors}"
            );
            *if code == Some(0) { &mut shown } else { &mut refused } += 1;
        }
    }
    assert!(shown > 50 && refused > 0, "{shown} were shown, {refused} were refused");
}
