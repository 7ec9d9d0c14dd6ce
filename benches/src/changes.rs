//! What changed in the code, in a repository made for it: a commit that touches a thousand files, and a long history of
//! one file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use perfblame_changes::{Repository, Revision, SourceIndex, source_file};

use crate::in_process::fastest;
use crate::measure::{median_of, process};
use crate::table::BenchRow;

/// Files that the large commit touches.
const FILES: usize = 1_000;
/// Functions in each of them.
const FUNCTIONS: usize = 24;
/// Commits that touch one file.
const COMMITS: usize = 400;

pub fn change_set() -> Result<Vec<BenchRow>> {
    let folder = Folder::new("changes")?;
    let mut bytes = 0;
    for number in 0..FILES {
        let (path, text) = source(number, false);
        bytes += text.len();
        folder.write(&path, &text)?;
    }
    folder.commit("before")?;
    for number in 0..FILES {
        let (path, text) = source(number, true);
        folder.write(&path, &text)?;
    }
    folder.commit("after")?;
    let repository = Repository::open(&folder.path)?;
    let (base, head) = (repository.resolve("HEAD~1")?, repository.head()?);
    let changes = repository.changes(&base, &head)?;
    if changes.functions.len() < 2 * FILES {
        bail!("{} changes were found", changes.functions.len());
    }
    let input = format!(
        "a commit of {FILES} files in 8 languages, {:.0} MB on each side; {} changed functions",
        bytes as f64 / 1e6,
        changes.functions.len()
    );
    let peer = format!("git -C '{}' diff --function-context HEAD~1 HEAD", folder.path.display());
    let (ours, peer) = turns(&peer, || {
        repository.changes(&base, &head).map_or(0, |changes| changes.functions.len())
    })?;
    let mut rows = vec![BenchRow {
        what: "change set, without our start-up".to_owned(),
        input,
        ours: format!("{ours:.2} s"),
        peer: format!("{peer:.2} s, `git diff --function-context`, hunks only"),
        result: format!("{ours:.2} s"),
        goal: "≤ 1 s".to_owned(),
        met: ours <= 1.0,
    }];
    let seconds = fastest(|| SourceIndex::of(&repository, &head).map_or(0, |index| index.len()));
    let files = format!("{FILES} files in 8 languages, {:.0} MB", bytes as f64 / 1e6);
    rows.push(crate::in_process::row("index of a revision's functions", &files, seconds, "s", 1.0));
    Ok(rows)
}

pub fn history() -> Result<Vec<BenchRow>> {
    let folder = Folder::new("history")?;
    let (path, text) = source(0, false);
    folder.write(&path, &text)?;
    folder.commit("first")?;
    for number in 0..COMMITS {
        // Another function each time; each is touched now and then.
        let marker = format!("\"step {}\"", number % FUNCTIONS);
        let text = text.replacen(&marker, &format!("\"step {number} again\""), 1);
        folder.write(&path, &text)?;
        folder.commit("next")?;
    }
    let repository = Repository::open(&folder.path)?;
    let (base, head) = (repository.resolve(&format!("HEAD~{COMMITS}"))?, repository.head()?);
    let now = std::fs::read(folder.path.join(&path))?;
    let file = source_file(&path, &now).context("a source file")?;
    let function = file.functions.get(5).context("a function")?;
    let definition = function.definition(Some(&path), file.language);
    let found = repository.commits_touching(&definition, &base, &head)?.len();
    let (first, last) = function.lines;
    let peer = format!(
        "git -C '{}' log -s -L{first},{last}:{path} HEAD~{COMMITS}..HEAD",
        folder.path.display()
    );
    let (ours, peer) = turns(&peer, || {
        repository.commits_touching(&definition, &base, &head).map_or(0, |commits| commits.len())
    })?;
    let ratio = peer / ours.max(1e-6);
    Ok(vec![BenchRow {
        what: "commits that touched a function, without our start-up".to_owned(),
        input: format!("{COMMITS} commits to a file, {found} found"),
        ours: format!("{ours:.3} s"),
        peer: format!("{peer:.3} s, `git log -L`"),
        result: format!("{ratio:.1} × as fast"),
        goal: "≥ 1 ×".to_owned(),
        met: ratio >= 1.0,
    }])
}

/// Seconds of ours in this process and of a peer's process, medians of turns.
fn turns(peer: &str, ours: impl Fn() -> usize) -> Result<(f64, f64)> {
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let start = Instant::now();
        std::hint::black_box(ours());
        own.push(start.elapsed().as_secs_f64());
        others.push(process(peer)?.seconds);
    }
    Ok((median_of(own), median_of(others)))
}

/// A file in one of the languages, the same each time; after, every fifth function has a loop more.
fn source(number: usize, after: bool) -> (String, String) {
    type Frame = fn(&str, &str) -> String;
    let languages: [(&str, &str, &str, Frame); 8] = [
        ("java", "package made;\n\nclass Made {\n", "}\n", |name, body| {
            format!(
                "    int {name}(int first, String second) {{\n{body}        return first;\n    }}\n\n"
            )
        }),
        ("js", "'use strict';\n\n", "", |name, body| {
            format!("function {name}(first, second) {{\n{body}        return first;\n}}\n\n")
        }),
        ("ts", "export class Made {\n", "}\n", |name, body| {
            format!(
                "    {name}(first: number, second: string): number {{\n{body}        return first;\n    }}\n\n"
            )
        }),
        ("rs", "impl Made {\n", "}\n", |name, body| {
            format!(
                "    fn {name}(&self, first: i64, second: &str) -> i64 {{\n{body}        return first;\n    }}\n\n"
            )
        }),
        ("c", "#include <stdio.h>\n\n", "", |name, body| {
            format!(
                "static int {name}(int first, const char *second) {{\n{body}        return first;\n}}\n\n"
            )
        }),
        ("cpp", "namespace made {\n\n", "}\n", |name, body| {
            format!(
                "int Made::{name}(int first, std::string second) {{\n{body}        return first;\n}}\n\n"
            )
        }),
        ("py", "class Made:\n", "", |name, body| {
            let body = body.replace(" {\n", ":\n").replace("        }\n", "").replace(';', "");
            let body = body.replace("if (", "if ").replace("while (", "while ").replace("):", ":");
            format!("    def {name}(self, first, second):\n{body}        return first\n\n")
        }),
        ("go", "package made\n\n", "", |name, body| {
            let body = body.replace("while (", "for (");
            format!(
                "func {name}(first int, second string) int {{\n{body}        return first\n}}\n\n"
            )
        }),
    ];
    let (extension, head, tail, frame) = languages[number % languages.len()];
    let mut text = head.to_owned();
    for row in 0..FUNCTIONS {
        let mut body = String::new();
        for step in 0..6 {
            let _ = writeln!(
                body,
                "        first = weigh{row}(first, second, {step}, \"step {row}\");"
            );
            let _ = writeln!(
                body,
                "        if (first > limit{step}) {{\n            record{number}(first, second);\n        }}"
            );
        }
        if after && row % 5 == 0 {
            let _ = writeln!(
                body,
                "        while (first < {number}) {{\n            first = slower(first, second);\n        }}"
            );
        }
        text.push_str(&frame(&format!("task{row}"), &body));
    }
    text.push_str(tail);
    (format!("src/part{}/made{number}.{extension}", number % 20), text)
}

/// A repository that is removed in the end.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new(name: &str) -> Result<Self> {
        let path =
            std::env::temp_dir().join(format!("perfblame-bench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        let folder = Self { path };
        folder.git(&["init", "--quiet"])?;
        Ok(folder)
    }

    fn git(&self, arguments: &[&str]) -> Result<()> {
        let name = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"];
        let settings = ["-c", "commit.gpgsign=false", "-c", "gc.auto=0"];
        let status = Command::new("git")
            .arg("-C")
            .arg(&self.path)
            .args(name)
            .args(settings)
            .args(arguments)
            .status()?;
        if status.success() { Ok(()) } else { bail!("git {arguments:?} failed") }
    }

    fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.path.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        Ok(std::fs::write(path, text)?)
    }

    fn commit(&self, title: &str) -> Result<Revision> {
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--message", title])?;
        Ok(Repository::open(&self.path)?.head()?)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
