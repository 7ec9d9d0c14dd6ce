//! The methods that changed between two releases of a real compiler, beside what the JDK's own disassembler says.
//!
//! The check is independent on purpose: it compares `javap`'s text, and where we pair what the compiler numbered, it
//! puts a hash of the text in place of each numbered name, over and over. `PERFBLAME_ALL_CLASSES=1` compares all
//! classes, which keeps `javap` busy for minutes; otherwise every eighth outermost class with all that is in it.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use perfblame_changes::{ChangeKind, Definition};
use perfblame_classes::class_changes;
use regex::{Captures, Regex};

const RELEASES: [&str; 2] = ["20231112.0.0", "20240317.0.0"];

#[test]
fn two_releases_of_the_closure_compiler() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("classes-against-javap");
    std::fs::create_dir_all(&folder).unwrap();
    let jars = RELEASES.map(|release| jar(&folder, release));
    let all = std::env::var_os("PERFBLAME_ALL_CLASSES").is_some();
    let texts = std::thread::scope(|scope| {
        let jobs = [0, 1].map(|side| {
            let (folder, jar) = (&folder, &jars[side]);
            scope.spawn(move || disassemble(folder, jar, RELEASES[side], all))
        });
        jobs.map(|job| job.join().unwrap())
    });
    let theirs = compare(&texts[0], &texts[1]);
    let changes = class_changes(&jars[..1], &jars[1..]).unwrap();
    assert_eq!(changes.warnings, Vec::<String>::new());
    let mut ours: BTreeMap<ChangeKind, BTreeSet<String>> = BTreeMap::new();
    let mut numbered = 0;
    for change in &changes.functions {
        let method = change.after.as_ref().or(change.before.as_ref()).unwrap();
        if all || is_sampled(method.name.rsplit_once('.').unwrap().0) {
            let entry = ours.entry(change.kind).or_default();
            if is_numbered(&method.name) {
                numbered += usize::from(change.kind == ChangeKind::Modified);
            } else {
                entry.insert(spelled(method));
            }
        }
    }
    let modified = ours.get(&ChangeKind::Modified).cloned().unwrap_or_default();
    // Every ordinary method that differs is found by both, and none besides.
    assert_same(&modified, &theirs.modified, "modified");
    assert_same(ours.entry(ChangeKind::Added).or_default(), &theirs.added, "added");
    assert_same(ours.entry(ChangeKind::Deleted).or_default(), &theirs.deleted, "deleted");
    // `javap` cannot say which numbered method became which, only how many have no like.
    assert!(numbered <= theirs.numbered, "{numbered} > {}", theirs.numbered);
    println!("modified: {} and {numbered} numbered", modified.len());
    assert!(modified.len() > 20, "{modified:?}");
}

fn assert_same(ours: &BTreeSet<String>, theirs: &BTreeSet<String>, what: &str) {
    let only_ours: Vec<_> = ours.difference(theirs).collect();
    let only_theirs: Vec<_> = theirs.difference(ours).collect();
    assert!(
        only_ours.is_empty() && only_theirs.is_empty(),
        "{what}\n  only ours: {only_ours:#?}\n  only javap: {only_theirs:#?}"
    );
}

fn spelled(method: &Definition) -> String {
    format!("{}{}", method.name, method.signature.as_deref().unwrap_or_default())
}

fn is_numbered(name: &str) -> bool {
    let (class, method) = name.rsplit_once('.').unwrap();
    let numbered = |text: &str| {
        text.as_bytes().windows(2).any(|pair| pair[0] == b'$' && pair[1].is_ascii_digit())
    };
    numbered(class)
        || (method.starts_with("lambda$") || method.starts_with("access$")) && numbered(method)
}

fn jar(folder: &Path, release: &str) -> PathBuf {
    let jar = folder.join(format!("{release}.jar"));
    if !jar.exists() {
        let package = format!("google-closure-compiler-java@{release}");
        run(Command::new("npm").args(["pack", "--silent", &package]).current_dir(folder));
        let file = format!("google-closure-compiler-java-{release}.tgz");
        run(Command::new("tar").args(["xzf", &file, "package/compiler.jar"]).current_dir(folder));
        std::fs::rename(folder.join("package/compiler.jar"), &jar).unwrap();
    }
    jar
}

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    output.stdout
}

/// Every eighth outermost class.
fn is_sampled(class: &str) -> bool {
    let outermost = class.split('$').next().unwrap_or(class).replace('.', "/");
    outermost.bytes().fold(7u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into())) % 8
        == 0
}

/// What `javap` prints, kept for the next time.
fn disassemble(folder: &Path, jar: &Path, release: &str, all: bool) -> Vec<Class> {
    let kept = folder.join(format!("{release}-{}.txt", if all { "all" } else { "sample" }));
    if !kept.exists() {
        let listed = run(Command::new("unzip").args(["-Z1", &jar.display().to_string()]));
        let listed = String::from_utf8(listed).unwrap();
        let names: Vec<_> = listed
            .lines()
            .filter_map(|line| line.strip_suffix(".class"))
            .filter(|name| !name.starts_with("META-INF") && (all || is_sampled(name)))
            .collect();
        let mut text = Vec::new();
        for part in names.chunks(2000) {
            let mut javap = Command::new("javap");
            text.extend(run(javap.args(["-v", "-p", "-cp"]).arg(jar).args(part)));
        }
        std::fs::write(&kept, text).unwrap();
    }
    parse(&String::from_utf8_lossy(&std::fs::read(&kept).unwrap()))
}

#[derive(Default)]
struct Class {
    name: String,
    methods: Vec<Method>,
}

struct Method {
    name: String,
    descriptor: String,
    /// One line for each instruction and handler.
    body: Vec<String>,
}

/// Reads the text of `javap -v -p`.
fn parse(text: &str) -> Vec<Class> {
    let mut classes = Vec::new();
    for part in text.split("\nClassfile ") {
        let lines: Vec<&str> = part.lines().collect();
        let Some(this) = lines.iter().find(|line| line.starts_with("  this_class: ")) else {
            continue;
        };
        let name = this.split("// ").nth(1).unwrap().trim().to_owned();
        let open = lines.iter().position(|line| *line == "{").unwrap();
        let close = lines.iter().position(|line| *line == "}").unwrap();
        let bootstraps = bootstraps(&lines[close..]);
        let mut methods = Vec::new();
        let starts: Vec<usize> = (open + 1..close)
            .filter(|at| lines[*at].starts_with("    descriptor: "))
            .chain([close + 1])
            .collect();
        for pair in starts.windows(2) {
            let descriptor = lines[pair[0]]["    descriptor: ".len()..].to_owned();
            if !descriptor.starts_with('(') {
                continue;
            }
            let header = lines[pair[0] - 1].trim();
            let method = if header == "static {};" {
                "<clinit>".to_owned()
            } else {
                let before = header.split('(').next().unwrap();
                let word = before.rsplit([' ', '.']).next().unwrap();
                let whole = before.rsplit(' ').next().unwrap();
                if whole.replace('.', "/") == name { "<init>".to_owned() } else { word.to_owned() }
            };
            let body = body(&lines[pair[0]..pair[1] - 1], &name, &bootstraps);
            methods.push(Method { name: method, descriptor, body });
        }
        classes.push(Class { name, methods });
    }
    classes
}

fn bootstraps(lines: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut inside = false;
    let number = Regex::new(r"#\d+ ?").unwrap();
    for line in lines {
        if *line == "BootstrapMethods:" {
            inside = true;
        } else if inside && line.starts_with("  ") {
            let is_new = !line.starts_with("   ");
            let text = number.replace(line.trim(), "").into_owned();
            if is_new {
                found.push(text.split_once(": ").unwrap().1.to_owned());
            } else {
                let last = found.last_mut().unwrap();
                last.push('|');
                last.push_str(&text);
            }
        } else {
            inside = false;
        }
    }
    found
}

fn body(lines: &[&str], class: &str, bootstraps: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for flag in ["ACC_STATIC", "ACC_SYNCHRONIZED", "ACC_NATIVE", "ACC_ABSTRACT"] {
        if lines.iter().any(|line| line.starts_with("    flags:") && line.contains(flag)) {
            out.push(flag.to_owned());
        }
    }
    let Some(start) = lines.iter().position(|line| *line == "    Code:") else { return out };
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut raw: Vec<(Option<&str>, &str)> = Vec::new();
    let (mut in_switch, mut in_code, mut in_handlers) = (false, true, false);
    for line in &lines[start + 2..] {
        let trimmed = line.trim();
        // Far into a method, instructions stand as far to the left as headings.
        let is_heading = line.starts_with("      ")
            && !line.starts_with("       ")
            && !trimmed.starts_with(|first: char| first.is_ascii_digit());
        if is_heading {
            in_code = false;
            in_handlers = trimmed == "Exception table:";
        } else if in_handlers && !trimmed.starts_with("from") {
            raw.push((Some("handler"), trimmed));
        } else if in_code && in_switch {
            in_switch = trimmed != "}";
            if in_switch {
                raw.push((Some("case"), trimmed));
            }
        } else if in_code {
            let (at, rest) = trimmed.split_once(": ").unwrap();
            let count = numbers.len();
            numbers.insert(at, count);
            in_switch = rest.starts_with("tableswitch") || rest.starts_with("lookupswitch");
            raw.push((None, rest));
        }
    }
    let target = |at: &str| numbers.get(at).map_or_else(|| "end".to_owned(), usize::to_string);
    let mut defaults: Vec<&str> = Vec::new();
    for (kind, text) in raw.iter().rev() {
        if *kind == Some("case")
            && let Some(to) = text.strip_prefix("default: ")
        {
            defaults.push(to);
        }
    }
    for (kind, text) in raw {
        match kind {
            Some("case") => {
                let (value, to) = text.split_once(": ").unwrap();
                if value == "default" {
                    out.push(format!("default {}", target(to)));
                    defaults.pop();
                } else if defaults.last() != Some(&to) {
                    out.push(format!("case {value} {}", target(to)));
                }
            }
            Some(_) => {
                let words: Vec<&str> = text.split_whitespace().collect();
                let places: Vec<String> = words[..3].iter().map(|at| target(at)).collect();
                out.push(format!("handler {} {}", places.join(" "), words[3..].join(" ")));
            }
            None => out.push(instruction(text, class, bootstraps, &target)),
        }
    }
    out
}

fn instruction(
    text: &str,
    class: &str,
    bootstraps: &[String],
    target: &impl Fn(&str) -> String,
) -> String {
    let (head, comment) = text.split_once("// ").unwrap_or((text, ""));
    let mut words = head.split_whitespace();
    let operation = words.next().unwrap();
    let operation =
        operation.strip_suffix("_w").filter(|_| operation != "ldc2_w").unwrap_or(operation);
    let operand = words.next().unwrap_or_default();
    if operation.contains("switch") {
        return "switch".to_owned();
    }
    if operation.starts_with("if") || operation == "goto" || operation == "jsr" {
        return format!("{operation} {}", target(operand));
    }
    if !operand.starts_with('#') {
        return head.trim().to_owned();
    }
    let comment = comment.trim_end();
    for kind in ["Method ", "InterfaceMethod ", "Field "] {
        if let Some(member) = comment.strip_prefix(kind) {
            let has_class = member.split(':').next().unwrap().contains('.');
            let owner = if has_class { String::new() } else { format!("{class}.") };
            return format!("{operation} {owner}{member}");
        }
    }
    if let Some(call) = comment.strip_prefix("InvokeDynamic #") {
        let (number, rest) = call.split_once(':').unwrap();
        let bootstrap = &bootstraps[number.parse::<usize>().unwrap()];
        return format!("{operation} {rest} {bootstrap}");
    }
    format!("{operation} {comment}")
}

#[derive(Default)]
struct Theirs {
    modified: BTreeSet<String>,
    added: BTreeSet<String>,
    deleted: BTreeSet<String>,
    numbered: usize,
}

/// Compares the texts, with hashes in place of numbered names.
fn compare(before: &[Class], after: &[Class]) -> Theirs {
    let names = Regex::new(
        r"(?x) (?<method> [\w/$]+ \. (?: lambda\$[^\s:()]*\$\d+ | access\$\d+ ) : [^\s|]* )
             | (?<class> [\w/]+ (?: \$\w+ )*? \$\d [\w$]* )",
    )
    .unwrap();
    let sides = [before, after].map(|classes| tokens(classes, &names));
    let shared: BTreeSet<u64> = {
        let of = |side: usize| sides[side].values().copied().collect::<BTreeSet<u64>>();
        of(0).intersection(&of(1)).copied().collect()
    };
    let mut theirs = Theirs::default();
    let mut maps: [BTreeMap<String, u64>; 2] = Default::default();
    let mut numbered: [BTreeMap<String, i64>; 2] = Default::default();
    for (side, classes) in [before, after].into_iter().enumerate() {
        for class in classes {
            for method in class.methods.iter().filter(|method| method.name != "$deserializeLambda$")
            {
                let name = format!("{}.{}", class.name.replace('/', "."), method.name);
                let text = substituted(&method.body, &names, |name| match sides[side].get(name) {
                    Some(token) if shared.contains(token) => token.to_string(),
                    Some(_) => "!".to_owned(),
                    None => name.to_owned(),
                });
                if is_numbered(&name) {
                    let host = class.name.split('$').next().unwrap();
                    let own = if class.name.contains('$') { method.name.as_str() } else { "" };
                    let own = if own.starts_with("lambda$") { "" } else { own };
                    *numbered[side].entry(format!("{host} {own} {}", hash(&text))).or_default() +=
                        1;
                } else {
                    maps[side].insert(format!("{name}{}", method.descriptor), hash(&text));
                }
            }
        }
    }
    for (name, text) in &maps[0] {
        match maps[1].get(name) {
            Some(other) if other != text => drop(theirs.modified.insert(name.clone())),
            Some(_) => {}
            None => drop(theirs.deleted.insert(name.clone())),
        }
    }
    theirs.added = maps[1].keys().filter(|name| !maps[0].contains_key(*name)).cloned().collect();
    // Of what is numbered, as many are modified at most as are without a like on either side.
    let left = |side: usize| -> i64 {
        let other = &numbered[1 - side];
        numbered[side]
            .iter()
            .map(|(key, count)| (count - other.get(key).unwrap_or(&0)).max(0))
            .sum()
    };
    theirs.numbered = usize::try_from(left(0).min(left(1))).unwrap();
    theirs
}

/// A hash of the text for each numbered name.
fn tokens(classes: &[Class], names: &Regex) -> HashMap<String, u64> {
    let mut tokens: HashMap<String, u64> = HashMap::new();
    for _ in 0..4 {
        let mut next = HashMap::new();
        for class in classes {
            let mut whole = Vec::new();
            for method in &class.methods {
                let text = substituted(&method.body, names, |name| match tokens.get(name) {
                    Some(token) => token.to_string(),
                    None if tokens.is_empty() => "#".to_owned(),
                    None => name.to_owned(),
                });
                let name = format!("{}.{}", class.name.replace('/', "."), method.name);
                let is_own =
                    method.name.starts_with("lambda$") || method.name.starts_with("access$");
                if is_own && is_numbered(&name) {
                    let key = format!("{}.{}:{}", class.name, method.name, method.descriptor);
                    next.insert(key, hash(&text));
                } else {
                    whole.push(format!("{}{text:?}", method.name));
                }
            }
            if is_numbered(&format!("{}.x", class.name)) {
                whole.sort();
                next.insert(class.name.clone(), hash(&whole));
            }
        }
        tokens = next;
    }
    tokens
}

fn substituted(body: &[String], names: &Regex, put: impl Fn(&str) -> String) -> Vec<String> {
    let put = |found: &Captures<'_>| put(&found[0]);
    body.iter()
        .map(|line| {
            // Text in quotes is the program's own.
            if line.starts_with("ldc String") || !line.contains('$') {
                line.clone()
            } else {
                names.replace_all(line, put).into_owned()
            }
        })
        .collect()
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
