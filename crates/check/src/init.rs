//! `perfblame init`: looks at what the project is, and writes a `perfblame.toml` that works as it is where that can be.

use std::fmt::Write as _;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::home::entries;

/// What was found out about a project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Project {
    /// What it is, in words.
    pub kind: String,
    /// Builds it.
    pub build: Option<String>,
    /// Variables that make profiles better.
    pub environment: Vec<(String, String)>,
    /// Names and commands.
    pub workloads: Vec<(String, String)>,
}

/// More than these would take too long.
const MOST: usize = 4;

/// Knows one kind of project.
type Looks = fn(&Path) -> Option<Project>;

/// Looks at a folder.
pub fn look(root: &Path) -> Project {
    let kinds: [(&str, Looks); 8] = [
        ("Cargo.toml", cargo),
        ("pom.xml", maven),
        ("build.gradle", gradle),
        ("build.gradle.kts", gradle),
        ("go.mod", go),
        ("package.json", npm),
        ("CMakeLists.txt", cmake),
        ("Makefile", make),
    ];
    let mut found = kinds.iter().filter(|(file, _)| root.join(file).is_file());
    let mut project =
        found.find_map(|(_, of)| of(root)).or_else(|| python(root)).unwrap_or_default();
    project.workloads.truncate(MOST);
    project
}

/// The text of the file.
pub fn text(project: &Project) -> String {
    let mut text = String::from(
        "# Configuration of `perfblame check`. docs/check.md of perfblame describes every key.\n",
    );
    if !project.kind.is_empty() {
        let _ = writeln!(text, "# Written by `perfblame init`, which found {}.", project.kind);
    }
    text.push_str(
        "\n# Builds a checkout, in a shell at its root. The checkout has no files that git ignores.\n",
    );
    let _ = match &project.build {
        Some(build) => writeln!(text, "build = {}", quoted(build)),
        None => writeln!(text, "# build = \"make\""),
    };
    if !project.environment.is_empty() {
        text.push_str("# Set for building and running.\n");
        let pairs: Vec<String> = project
            .environment
            .iter()
            .map(|(name, value)| format!("{name} = {}", quoted(value)))
            .collect();
        let _ = writeln!(text, "environment = {{ {} }}", pairs.join(", "));
    }
    text.push_str(
        "# Runs per side: the minimum, and the maximum while the answer is not clear.\n\
         # runs = { min = 3, max = 20 }\n\
         # Time for the runs of one input, both sides together.\n\
         budget = \"5min\"\n\
         # Ignore smaller differences. By default the threshold comes from the noise.\n\
         # min-delta = \"2%\"\n",
    );
    if project.workloads.is_empty() {
        text.push_str(
            "\n# The program to run: something that takes about a second.\n\
             [[workload]]\nname = \"main\"\nrun = \"./program {input}\"\ninputs = [\"small.txt\"]\n",
        );
        return text;
    }
    for (name, run) in &project.workloads {
        let _ = write!(text, "\n[[workload]]\nname = {}\nrun = {}\n", quoted(name), quoted(run));
    }
    text.push_str(
        "# With inputs, one comparison each:\n# run = \"program {input}\"\n# inputs = [\"data/small.json\", \"data/large.json\"]\n\
         # A program that prints times or addresses:\n# output = \"ignore\"\n",
    );
    text
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{:04X}", letter as u32);
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Names of files in a folder that end so, without the end.
fn stems(folder: &Path, end: &str) -> Vec<String> {
    let files = entries(folder).into_iter().filter(|path| path.is_file());
    let ours = files.filter(|path| path.extension().is_some_and(|it| it == end));
    ours.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
}

fn folder_name(root: &Path) -> String {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    root.file_name().map_or("main".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[expect(clippy::unnecessary_wraps, reason = "a row of the table of kinds")]
fn cargo(root: &Path) -> Option<Project> {
    let manifest = read(&root.join("Cargo.toml"));
    let package = |text: &str| -> Option<String> {
        let table = DeTable::parse(text).ok()?;
        let package = table.get_ref().get("package")?.get_ref().as_table()?.get("name")?;
        Some(package.get_ref().as_str()?.to_owned())
    };
    // Programs with names of their own.
    let bins = |text: &str| -> Vec<String> {
        let Ok(table) = DeTable::parse(text) else { return Vec::new() };
        let bins = table.get_ref().get("bin").and_then(|bins| bins.get_ref().as_array());
        let name = |bin: &toml::Spanned<DeValue<'_>>| {
            Some(bin.get_ref().as_table()?.get("name")?.get_ref().as_str()?.to_owned())
        };
        bins.into_iter().flat_map(|bins| bins.iter()).filter_map(name).collect()
    };
    let mut folders = vec![root.to_owned()];
    folders.extend(entries(&root.join("crates")));
    let (mut workloads, mut examples) = (Vec::new(), false);
    for folder in &folders {
        let text = if folder == root { manifest.clone() } else { read(&folder.join("Cargo.toml")) };
        let Some(name) = package(&text) else { continue };
        if folder.join("src/main.rs").is_file() {
            workloads.push((name.clone(), format!("target/release/{name}")));
        }
        for bin in bins(&text).into_iter().chain(stems(&folder.join("src/bin"), "rs")) {
            let workload = (bin.clone(), format!("target/release/{bin}"));
            if !workloads.contains(&workload) {
                workloads.push(workload);
            }
        }
    }
    if workloads.is_empty() {
        for example in stems(&root.join("examples"), "rs") {
            examples = true;
            workloads.push((example.clone(), format!("target/release/examples/{example}")));
        }
    }
    let build = if examples { "cargo build --release --examples" } else { "cargo build --release" };
    Some(Project {
        kind: "a Cargo project".to_owned(),
        build: Some(build.to_owned()),
        // Each checkout builds into its own folder, wherever the user's builds go.
        environment: [
            ("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only"),
            ("CARGO_TARGET_DIR", "target"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        workloads,
    })
}

/// What stands in the first element of a name, at the top or anywhere.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let start = xml.find(&open)? + open.len();
    let length = xml.get(start..)?.find(&close)?;
    Some(xml.get(start..start + length)?.trim())
}

fn maven(root: &Path) -> Option<Project> {
    let pom = read(&root.join("pom.xml"));
    // A parent has a name and a version, too, and comes first.
    let own = match (pom.find("<parent>"), pom.find("</parent>")) {
        (Some(start), Some(end)) if start < end => format!("{}{}", &pom[..start], &pom[end..]),
        _ => pom.clone(),
    };
    let name = element(&own, "artifactId")?;
    let file = match element(&own, "finalName").filter(|name| !name.contains('$')) {
        Some(name) => name.to_owned(),
        None => format!("{name}-{}", element(&own, "version").or(element(&pom, "version"))?),
    };
    // A jar starts only where the build writes its main class into it.
    let starts = pom.contains("<mainClass>") || pom.contains("<Main-Class>");
    let main = if starts { None } else { main_class(&root.join("src/main/java")) };
    let run = match main {
        Some(class) => format!("java -cp target/classes {class}"),
        None => format!("java -jar target/{file}.jar"),
    };
    Some(Project {
        kind: "a Maven project".to_owned(),
        build: Some("mvn -q -DskipTests package".to_owned()),
        workloads: vec![(name.to_owned(), run)],
        ..Project::default()
    })
}

/// Source files that are looked at for one.
const MOST_SOURCES: usize = 5_000;

/// The first class with a main method below a folder.
fn main_class(sources: &Path) -> Option<String> {
    let mut open = vec![sources.to_owned()];
    let mut seen = 0;
    while let Some(folder) = open.pop() {
        let (folders, files): (Vec<_>, Vec<_>) =
            entries(&folder).into_iter().partition(|path| path.is_dir());
        for file in files.iter().filter(|file| file.extension().is_some_and(|it| it == "java")) {
            seen += 1;
            if seen > MOST_SOURCES {
                return None;
            }
            if read(file).contains("public static void main(") {
                let class = file.strip_prefix(sources).ok()?.with_extension("");
                let parts: Vec<_> = class.iter().map(|part| part.to_string_lossy()).collect();
                return Some(parts.join("."));
            }
        }
        open.extend(folders.into_iter().rev());
    }
    None
}

#[expect(clippy::unnecessary_wraps, reason = "a row of the table of kinds")]
fn gradle(root: &Path) -> Option<Project> {
    let settings = ["settings.gradle", "settings.gradle.kts"].map(|file| read(&root.join(file)));
    let name = settings.iter().find_map(|text| {
        let line = text.lines().find(|line| line.trim_start().starts_with("rootProject.name"))?;
        let name = line.split_once('=')?.1.trim();
        Some(name.trim_matches(['"', '\'']).to_owned())
    });
    let name = name.unwrap_or_else(|| folder_name(root));
    let wrapper = if root.join("gradlew").is_file() { "./gradlew" } else { "gradle" };
    Some(Project {
        kind: "a Gradle project".to_owned(),
        build: Some(format!("{wrapper} -q installDist")),
        workloads: vec![(name.clone(), format!("build/install/{name}/bin/{name}"))],
        ..Project::default()
    })
}

fn go(root: &Path) -> Option<Project> {
    let module = read(&root.join("go.mod"));
    let name = module.lines().find_map(|line| line.strip_prefix("module "))?.trim();
    let name = name.rsplit('/').next().unwrap_or(name);
    let mut workloads = Vec::new();
    if root.join("main.go").is_file() {
        workloads.push((name.to_owned(), format!("perfblame-bin/{name}")));
    }
    for folder in entries(&root.join("cmd")) {
        if folder.join("main.go").is_file() {
            let name = folder_name(&folder);
            workloads.push((name.clone(), format!("perfblame-bin/{name}")));
        }
    }
    Some(Project {
        kind: "a Go module".to_owned(),
        build: Some("mkdir -p perfblame-bin && go build -o perfblame-bin/ ./...".to_owned()),
        workloads,
        ..Project::default()
    })
}

fn npm(root: &Path) -> Option<Project> {
    let package: serde_json::Value =
        serde_json::from_str(&read(&root.join("package.json"))).ok()?;
    let mut workloads = Vec::new();
    let scripts = package["scripts"].as_object();
    for (name, line) in scripts.into_iter().flatten() {
        // A profiler wants the program itself, not npm around it.
        let line = line.as_str().unwrap_or_default().trim();
        if (name.starts_with("bench") || name.starts_with("perf")) && line.starts_with("node ") {
            workloads.push((name.clone(), line.to_owned()));
        }
    }
    if workloads.is_empty() {
        let folders = ["bench", "benchmark", "benchmarks", "examples"];
        for folder in folders {
            for script in stems(&root.join(folder), "js") {
                workloads.push((script.clone(), format!("node {folder}/{script}.js")));
            }
        }
    }
    let bin = package["bin"].as_object().and_then(|bins| bins.values().next()?.as_str());
    let bin = package["bin"].as_str().or(bin);
    let main = package["main"].as_str().or(bin).unwrap_or("index.js");
    if workloads.is_empty() && root.join(main).is_file() {
        let name = package["name"].as_str().unwrap_or("main").to_owned();
        workloads.push((name, format!("node {main}")));
    }
    let depends = ["dependencies", "devDependencies"]
        .iter()
        .any(|key| package[*key].as_object().is_some_and(|it| !it.is_empty()));
    let install = if root.join("package-lock.json").is_file() { "npm ci" } else { "npm install" };
    let builds = scripts.is_some_and(|scripts| scripts.contains_key("build"));
    let build = match (depends, builds) {
        (false, false) => None,
        (true, false) => Some(install.to_owned()),
        (false, true) => Some("npm run build".to_owned()),
        (true, true) => Some(format!("{install} && npm run build")),
    };
    Some(Project { kind: "an npm package".to_owned(), build, workloads, ..Project::default() })
}

#[expect(clippy::unnecessary_wraps, reason = "a row of the table of kinds")]
fn cmake(root: &Path) -> Option<Project> {
    let text = read(&root.join("CMakeLists.txt"));
    let mut workloads = Vec::new();
    for part in text.split("add_executable(").skip(1) {
        let name = part.split_whitespace().next().unwrap_or_default().trim_end_matches(')');
        if !name.is_empty() && !name.contains('$') {
            workloads.push((name.to_owned(), format!("perfblame-build/{name}")));
        }
    }
    Some(Project {
        kind: "a CMake project".to_owned(),
        build: Some(
            "cmake -S . -B perfblame-build -DCMAKE_BUILD_TYPE=RelWithDebInfo && cmake --build perfblame-build"
                .to_owned(),
        ),
        workloads,
        ..Project::default()
    })
}

#[expect(clippy::unnecessary_wraps, reason = "a row of the table of kinds")]
fn make(root: &Path) -> Option<Project> {
    let text = read(&root.join("Makefile"));
    let mut workloads: Vec<(String, String)> = Vec::new();
    // A target that is made of sources or objects, and has no ending, is a program.
    for line in text.lines().filter(|line| !line.starts_with(['\t', '#', '.', ' '])) {
        let Some((target, needs)) = line.split_once(':') else { continue };
        let target = target.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
        let compiled = needs
            .split_whitespace()
            .any(|file| [".c", ".o", ".cc", ".cpp", ".cxx"].iter().any(|end| file.ends_with(end)));
        if compiled && !target.is_empty() && target.chars().all(plain) {
            workloads.push((target.replace('/', "-"), format!("./{target}")));
        }
    }
    Some(Project {
        kind: "a Makefile".to_owned(),
        build: Some("make".to_owned()),
        workloads,
        ..Project::default()
    })
}

fn python(root: &Path) -> Option<Project> {
    let manifest = read(&root.join("pyproject.toml"));
    let table = DeTable::parse(&manifest).ok()?;
    let name = table.get_ref().get("project").and_then(|project| {
        let DeValue::Table(project) = project.get_ref() else { return None };
        Some(project.get("name")?.get_ref().as_str()?.replace('-', "_"))
    });
    let mut workloads = Vec::new();
    for folder in ["bench", "benchmark", "benchmarks"] {
        for script in stems(&root.join(folder), "py") {
            workloads.push((script.clone(), format!("python3 {folder}/{script}.py")));
        }
    }
    let mut environment = Vec::new();
    for folder in ["", "src"] {
        let has_main = |name: &&String| root.join(folder).join(name).join("__main__.py").is_file();
        if let Some(name) = name.as_ref().filter(has_main) {
            workloads.push((name.clone(), format!("python3 -m {name}")));
            if !folder.is_empty() {
                // It is not installed where it is checked.
                environment.push(("PYTHONPATH".to_owned(), folder.to_owned()));
            }
            break;
        }
    }
    for script in ["main", "app"] {
        if workloads.is_empty() && root.join(format!("{script}.py")).is_file() {
            workloads.push((script.to_owned(), format!("python3 {script}.py")));
        }
    }
    if manifest.is_empty() && workloads.is_empty() {
        return None;
    }
    let kind = "a Python project".to_owned();
    Some(Project { kind, environment, workloads, ..Project::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn check_init(files: &[(&str, &str)]) -> Vec<(Option<String>, String, String)> {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let root =
            std::env::temp_dir().join(format!("perfblame-init-{}-{number}", std::process::id()));
        for (name, content) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let text = text(&look(&root));
        let _ = std::fs::remove_dir_all(&root);
        let config = Config::parse(&text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
        let workloads = config.workloads.into_iter();
        workloads.map(|it| (it.build, it.name, it.run.shown())).collect()
    }

    fn row(build: &str, name: &str, run: &str) -> (Option<String>, String, String) {
        (Some(build.to_owned()).filter(|it| !it.is_empty()), name.to_owned(), run.to_owned())
    }

    #[test]
    fn projects_are_known_by_their_files() {
        assert_eq!(
            check_init(&[("Cargo.toml", "[package]\nname = \"app\"\n"), ("src/main.rs", "")]),
            [row("cargo build --release", "app", "target/release/app")]
        );
        assert_eq!(
            check_init(&[
                ("Cargo.toml", "[package]\nname = \"lib\"\n"),
                ("examples/one.rs", ""),
                ("examples/two.rs", "")
            ])
            .len(),
            2
        );
        let pom = "<project><parent><artifactId>p</artifactId><version>1</version></parent>\
                   <artifactId>shop</artifactId><version>2.0</version></project>";
        assert_eq!(
            check_init(&[("pom.xml", pom)]),
            [row("mvn -q -DskipTests package", "shop", "java -jar target/shop-2.0.jar")]
        );
        assert_eq!(
            check_init(&[
                ("build.gradle", ""),
                ("settings.gradle", "rootProject.name = 'shop'\n"),
                ("gradlew", "")
            ]),
            [row("./gradlew -q installDist", "shop", "build/install/shop/bin/shop")]
        );
        assert_eq!(
            check_init(&[("go.mod", "module example.org/tool\n"), ("main.go", "")])[0].2,
            "perfblame-bin/tool"
        );
        assert_eq!(
            check_init(&[("package.json", r#"{"scripts":{"bench":"node bench.js --all"}}"#)]),
            [row("", "bench", "node bench.js --all")]
        );
        assert_eq!(
            check_init(&[("Makefile", "CC = gcc\nall: app\napp: main.o \\\n\t$(CC)\nclean:\n")]),
            [row("make", "app", "./app")]
        );
        assert_eq!(
            check_init(&[("CMakeLists.txt", "project(x)\nadd_executable(tool main.c)\n")])[0].2,
            "perfblame-build/tool"
        );
        assert_eq!(
            check_init(&[
                ("pyproject.toml", "[project]\nname = \"my-tool\"\n"),
                ("my_tool/__main__.py", "")
            ]),
            [row("", "my_tool", "python3 -m my_tool")]
        );
    }

    #[test]
    fn a_folder_of_anything_gets_a_file_to_fill_in() {
        assert_eq!(check_init(&[("notes.txt", "")]), [row("", "main", "./program {input}")]);
    }
}
