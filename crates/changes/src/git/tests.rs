//! Changes, histories and lines in real repositories.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{GitError, Repository, Revision};
use crate::{FileKind, LineFate};

/// A repository that is gone when the test ends.
struct Drawn {
    folder: PathBuf,
}

impl Drawn {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("perfblame-git-{}-{number} with blank", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let drawn = Self { folder };
        drawn.git(&["init", "-q", "-b", "main"]);
        // Settings that people have and that must not matter.
        for (key, value) in [
            ("user.name", "Ann"),
            ("user.email", "ann@example.invalid"),
            ("commit.gpgsign", "false"),
            ("core.autocrlf", "false"),
            ("diff.noprefix", "true"),
            ("diff.external", "false"),
            ("color.ui", "always"),
            ("log.showSignature", "true"),
            ("diff.renames", "false"),
            ("status.showUntrackedFiles", "no"),
        ] {
            drawn.git(&["config", key, value]);
        }
        drawn
    }

    fn git(&self, arguments: &[&str]) {
        let output = Command::new("git")
            .current_dir(&self.folder)
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/nowhere")
            .env("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn commit(&self, title: &str) -> Revision {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", title]);
        self.open().head().unwrap()
    }

    fn open(&self) -> Repository {
        Repository::open(&self.folder).unwrap()
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn kinds(drawn: &Drawn, base: &Revision, head: &Revision) -> Vec<String> {
    let changes = drawn.open().changes(base, head).unwrap();
    let functions = changes.functions.iter().map(|it| {
        let name = it.after.as_ref().or(it.before.as_ref()).unwrap();
        format!("{:?} {} {}", it.kind, name.name, name.file.as_deref().unwrap())
    });
    let files = changes.files.iter().map(|it| format!("{:?} {}", it.kind, it.path));
    let warnings = changes.warnings.iter().map(|it| format!("warning: {it}"));
    functions.chain(files).chain(warnings).collect()
}

const LONG: &str =
    "def f(a):\n    total = 0\n    for b in a:\n        total += b.size * 2\n    return total\n";

#[cfg(feature = "syntax-trees")]
#[test]
fn changes_between_commits_and_the_working_tree() {
    let drawn = Drawn::new();
    drawn.write("a b/ü.py", LONG);
    drawn.write("old.py", "def keep(a):\n    x = a.b.c.d(1, 2, 3)\n    return x\n");
    drawn.write(".gitignore", "ignored.py\n");
    let first = drawn.commit("one");
    drawn.write("a b/ü.py", LONG.replace("* 2", "* weigh(b)"));
    drawn.git(&["mv", "old.py", "new.py"]);
    drawn.write("Cargo.lock", "x");
    let second = drawn.commit("two");
    let expected =
        ["Modified f a b/ü.py", "Moved keep new.py", "Dependency Cargo.lock"].map(str::to_owned);
    assert_eq!(kinds(&drawn, &first, &second), expected);
    assert_eq!(kinds(&drawn, &second, &second), [""; 0]);
    drawn.write("a b/ü.py", LONG);
    drawn.write("untracked.py", "def u(): pass\n");
    drawn.write("ignored.py", "def i(): pass\n");
    let tree = Revision::WorkingTree;
    let expected = ["Modified f a b/ü.py", "Added u untracked.py"].map(str::to_owned);
    assert_eq!(kinds(&drawn, &second, &tree), expected);
    let expected = ["Modified f a b/ü.py", "Deleted u untracked.py"].map(str::to_owned);
    assert_eq!(kinds(&drawn, &tree, &second), expected);
    assert_eq!(kinds(&drawn, &tree, &tree), [""; 0]);
}

#[test]
fn revisions_bases_and_what_is_none() {
    let drawn = Drawn::new();
    drawn.write("a.py", LONG);
    let first = drawn.commit("one");
    drawn.git(&["checkout", "-q", "-b", "topic"]);
    drawn.write("a.py", "");
    let topic = drawn.commit("two");
    drawn.git(&["checkout", "-q", "main"]);
    drawn.write("b.py", "");
    let main = drawn.commit("three");
    drawn.git(&["checkout", "-q", "topic"]);
    let repository = drawn.open();
    assert_eq!(repository.resolve("HEAD~1").unwrap(), first);
    assert_eq!(repository.merge_base(&topic, &main).unwrap(), Some(first.clone()));
    assert_eq!(repository.main_branch().unwrap().unwrap(), ("main".to_owned(), main));
    let base = repository.default_base(&Revision::WorkingTree).unwrap();
    assert_eq!((base.revision, base.branch.as_deref()), (first.clone(), Some("main")));
    for name in ["nothing", "--all", "", "HEAD~9"] {
        assert!(matches!(repository.resolve(name), Err(GitError::NoRevision(_))), "{name}");
    }
    assert!(matches!(Repository::open(Path::new("/")), Err(GitError::NoRepository { .. })));
    assert_eq!(repository.resolve("topic").unwrap(), repository.head().unwrap());
}

#[cfg(feature = "syntax-trees")]
#[test]
fn commits_that_touched_a_function_newest_first() {
    let drawn = Drawn::new();
    let text = |f: &str, g: &str| {
        format!("def f(a):\n    x = 1\n    return {f}\n\n\ndef g(a):\n    y = 2\n    return {g}\n")
    };
    drawn.write("a.py", text("1", "1"));
    let base = drawn.commit("base");
    drawn.write("a.py", text("1", "2"));
    drawn.commit("g only");
    drawn.write("a.py", format!("import time\n\n{}", text("2", "2")));
    drawn.commit("f and a line above");
    drawn.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    drawn.write("other.py", "x = 1\n");
    drawn.commit("elsewhere");
    drawn.write("a.py", text("1", "2").replace("y = 2", "y = 3"));
    drawn.commit("g on the side");
    drawn.git(&["checkout", "-q", "main"]);
    drawn.git(&["merge", "-q", "side", "-m", "merge"]);
    drawn.git(&["mv", "a.py", "renamed.py"]);
    drawn.commit("rename");
    let merged = format!("import time\n\n{}", text("2", "2")).replace("y = 2", "y = 3");
    drawn.write("renamed.py", merged.replace("return 2\n\n", "return 3\n\n"));
    let head = drawn.commit("f again");
    drawn.write("renamed.py", merged.replace("return 2\n\n", "return 4\n\n"));

    let repository = drawn.open();
    let titles = |name: &str, head: &Revision| {
        let sources = repository.sources(head).unwrap();
        let file = sources.iter().find(|it| it.path == "renamed.py").unwrap();
        let parsed = crate::source_file(&file.path, &file.text).unwrap();
        let function = parsed.functions.iter().find(|it| it.name == name).unwrap();
        let definition = function.definition(Some(&file.path), parsed.language);
        let commits = repository.commits_touching(&definition, &base, head).unwrap();
        commits.into_iter().map(|commit| commit.title).collect::<Vec<_>>()
    };
    assert_eq!(titles("f", &head), ["f again", "f and a line above"]);
    assert_eq!(titles("g", &head), ["g on the side", "g only"]);
    let tree = Revision::WorkingTree;
    assert_eq!(titles("f", &tree), ["not committed yet", "f again", "f and a line above"]);
    assert_eq!(repository.history(&base, &head).unwrap().commits().count(), 7);
}

#[cfg(not(feature = "syntax-trees"))]
#[test]
fn without_syntax_trees_files_are_compared_by_lines() {
    let drawn = Drawn::new();
    drawn.write("a b/ü.py", LONG);
    let first = drawn.commit("one");
    drawn.write("a b/ü.py", LONG.replace("* 2", "* weigh(b)"));
    drawn.write("Cargo.lock", "x");
    let second = drawn.commit("two");
    let changes = drawn.open().changes(&first, &second).unwrap();
    let files: Vec<_> = changes.files.iter().map(|it| (it.path.as_str(), it.hunks.len())).collect();
    assert_eq!(files, [("Cargo.lock", 0), ("a b/ü.py", 1)]);
    assert_eq!((changes.functions.len(), changes.warnings.len()), (0, 1));
}

#[test]
fn lines_of_yesterday_are_found_under_a_new_name() {
    let drawn = Drawn::new();
    drawn.write("a.py", LONG);
    let base = drawn.commit("one");
    drawn.git(&["mv", "a.py", "b.py"]);
    drawn.write("b.py", format!("import x\n{LONG}"));
    let head = drawn.commit("two");
    let repository = drawn.open();
    let (path, map) = repository.line_map(&base, &head, "a.py").unwrap().unwrap();
    assert_eq!((path.as_str(), map.after(3)), ("b.py", LineFate::Same(4)));
    drawn.git(&["rm", "-q", "b.py"]);
    let gone = drawn.commit("three");
    assert_eq!(repository.line_map(&base, &gone, "a.py").unwrap(), None);
}

#[test]
fn submodules_links_and_binaries_are_stepped_over_with_a_word() {
    let drawn = Drawn::new();
    let base = drawn.commit("one");
    let Revision::Commit(id) = &base else { panic!("a commit") };
    drawn.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},vendored")]);
    std::fs::create_dir(drawn.folder.join("vendored")).unwrap();
    drawn.write("data.bin", [0, 159, 146, 150]);
    drawn.write("bad.c", [0, 1, 2]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("data.bin", drawn.folder.join("link.py")).unwrap();
    drawn.git(&["add", "data.bin", "bad.c", "link.py"]);
    drawn.git(&["commit", "-q", "-m", "two"]);
    let head = drawn.open().head().unwrap();
    let changes = drawn.open().changes(&base, &head).unwrap();
    let files: Vec<_> = changes.files.iter().map(|it| (it.path.as_str(), it.kind)).collect();
    let expected = [
        ("bad.c", FileKind::Code),
        ("data.bin", FileKind::Other),
        ("vendored", FileKind::Dependency),
    ];
    assert_eq!(files, expected);
    assert_eq!(changes.warnings.len(), 3, "{:?}", changes.warnings);
}

/// Git keeps any bytes as a name; so do we, up to how it is shown.
#[cfg(unix)]
#[cfg(feature = "syntax-trees")]
#[test]
fn names_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let drawn = Drawn::new();
    let base = drawn.commit("one");
    let name = std::ffi::OsStr::from_bytes(b"a\xff\nb.py");
    std::fs::write(drawn.folder.join(name), LONG).unwrap();
    let tree = drawn.open().changes(&base, &Revision::WorkingTree).unwrap();
    assert_eq!(tree.functions.len(), 1);
    let head = drawn.commit("two");
    let changes = drawn.open().changes(&base, &head).unwrap();
    assert_eq!(changes.functions[0].kind, crate::ChangeKind::Added);
    assert_eq!(tree.functions, changes.functions);
}

#[test]
fn line_ends_of_the_working_tree_do_not_matter() {
    let drawn = Drawn::new();
    drawn.write("a.py", LONG);
    let base = drawn.commit("one");
    drawn.write("a.py", LONG.replace('\n', "\r\n"));
    assert_eq!(kinds(&drawn, &base, &Revision::WorkingTree), [""; 0]);
}

/// The base that `diff --repo` takes, which must be the one that `check` takes.
fn base(drawn: &Drawn) -> Result<String, &'static str> {
    let repository = drawn.open();
    let scratch = repository.common().to_owned();
    let of_diff = repository.default_base(&Revision::WorkingTree);
    let of_check = repository.working_tree(&scratch).and_then(|head| repository.base_of(&head));
    let of_diff = of_diff.map(|base| match base.revision {
        Revision::Commit(id) => id,
        Revision::WorkingTree => "working tree".to_owned(),
    });
    let of_check = of_check.map(|base| base.commit);
    assert_eq!(of_diff, of_check);
    of_diff.map_err(|error| error.code())
}

fn id(revision: &Revision) -> Result<String, &'static str> {
    match revision {
        Revision::Commit(id) => Ok(id.clone()),
        Revision::WorkingTree => Err("no commit"),
    }
}

#[test]
fn everybody_compares_with_the_same_base() {
    let upstream = Drawn::new();
    upstream.write("a.py", LONG);
    let first = upstream.commit("one");
    assert_eq!(base(&upstream), Err("nothing-before"), "a first commit");
    upstream.write("a.py", LONG.replace("* 2", "* 3"));
    assert_eq!(base(&upstream), id(&first), "main with changes");
    let second = upstream.commit("two");
    assert_eq!(base(&upstream), id(&first), "main without changes");
    // Written again with the same content: nothing changed.
    upstream.write("a.py", LONG.replace("* 2", "* 3"));
    assert_eq!(base(&upstream), id(&first));
    upstream.write("new.py", LONG);
    assert_eq!(base(&upstream), id(&second), "an untracked file is a change");

    let clone = |options: &[&str]| {
        let drawn = Drawn::new();
        let from = format!("file://{}", upstream.folder.display());
        std::fs::remove_dir_all(drawn.folder.join(".git")).unwrap();
        drawn.git(&[&["clone", "-q"], options, &[&from, "."]].concat());
        drawn.git(&["config", "user.name", "Ann"]);
        drawn.git(&["config", "user.email", "ann@example.invalid"]);
        drawn
    };
    let feature = clone(&[]);
    feature.git(&["checkout", "-q", "-b", "feature"]);
    feature.write("b.py", LONG);
    feature.commit("three");
    feature.write("b.py", "");
    let fourth = feature.commit("four");
    assert_eq!(base(&feature), id(&second), "a branch of origin/main");
    feature.write("b.py", LONG);
    assert_eq!(base(&feature), id(&second), "the same with changes");
    feature.git(&["checkout", "-q", "--force", "--detach", "HEAD~1"]);
    assert_eq!(base(&feature), id(&second), "a detached head");
    feature.git(&["checkout", "-q", "--detach", "origin/main"]);
    assert_eq!(base(&feature), id(&first), "a detached head on the main branch");
    let head = feature.open().resolve("feature").unwrap();
    assert_eq!(head, fourth);
    let of_branch = feature.open().default_base(&head).unwrap();
    assert_eq!(of_branch.revision, second, "of another branch than the one checked out");
    assert_eq!(of_branch.branch.as_deref(), Some("origin/HEAD"));

    let shallow = clone(&["--depth", "1"]);
    assert_eq!(base(&shallow), Err("nothing-before"));
    shallow.write("a.py", "");
    assert_eq!(base(&shallow), id(&second), "its only commit");
}

#[cfg(feature = "syntax-trees")]
#[test]
fn the_commit_that_deleted_a_function_is_found() {
    let drawn = Drawn::new();
    let function = |name: &str, body: &str| {
        format!(
            "function {name}(list) {{\n  let sum = 0;\n  for (const it of list) sum += {body};\n  return sum;\n}}\n\n"
        )
    };
    let [first, second, third] = ["it.size", "it.weight * 2", "it.price"];
    let start = function("f", first) + &function("g", second) + &function("h", third);
    drawn.write("a.js", &start);
    drawn.write("gone.js", function("whole", first));
    let base = drawn.commit("base");
    drawn.write("a.js", start.replace("it.weight * 2", "it.weight * 3"));
    drawn.commit("change g");
    drawn.git(&["mv", "a.js", "b.js"]);
    drawn.commit("rename the file");
    drawn.git(&["checkout", "-q", "-b", "side"]);
    drawn.write("b.js", function("f", first) + &function("h", third));
    drawn.commit("delete g");
    drawn.git(&["checkout", "-q", "main"]);
    drawn.git(&["rm", "-q", "gone.js"]);
    drawn.commit("delete the file");
    drawn.git(&["merge", "-q", "side", "-m", "merge"]);
    drawn.write("b.js", function("f", "it.size + 1") + &function("h", third));
    let head = drawn.commit("change f");
    drawn.write("b.js", function("f", "it.size + 1"));

    let repository = drawn.open();
    let commits = |head: &Revision| {
        let changes = repository.changes(&base, head).unwrap();
        let history = repository.history(&base, head).unwrap();
        let described = |change: &crate::FunctionChange| {
            let name = &change.after.as_ref().or(change.before.as_ref()).unwrap().name;
            let commit = history.newest(change).unwrap();
            format!("{:?} {name}: {}", change.kind, commit.map_or(String::new(), |it| it.title))
        };
        changes.functions.iter().map(described).collect::<Vec<_>>()
    };
    let expected =
        ["Moved f: change f", "Moved h: ", "Deleted g: delete g", "Deleted whole: delete the file"];
    assert_eq!(commits(&head), expected);
    let uncommitted = commits(&Revision::WorkingTree);
    assert!(uncommitted.contains(&"Deleted h: not committed yet".to_owned()), "{uncommitted:?}");
    assert!(uncommitted.contains(&"Deleted g: delete g".to_owned()), "{uncommitted:?}");
}
