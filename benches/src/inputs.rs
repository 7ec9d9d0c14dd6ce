//! The inputs, recorded from real programs or lengthened from real files, once; they stay in a folder outside the
//! project until it is deleted.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Where inputs are kept: `PERFBLAME_BENCH_DATA`, or a folder in the user's cache.
fn folder() -> Result<PathBuf> {
    let cache = || std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let default = || Some(cache().or_else(home)?.join("perfblame/bench"));
    let folder = std::env::var_os("PERFBLAME_BENCH_DATA").map(PathBuf::from).or_else(default);
    let folder = folder.context("neither PERFBLAME_BENCH_DATA, XDG_CACHE_HOME nor HOME is set")?;
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The file of this name, made by `make` when it is not there yet. Nothing half-made is left behind.
pub fn made(name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let path = folder()?.join(name);
    if !path.exists() {
        eprintln!("making {name} …");
        let unfinished = path.with_extension("unfinished");
        make(&unfinished).with_context(|| format!("cannot make {name}"))?;
        fs::rename(&unfinished, &path)?;
    }
    Ok(path)
}

fn run(program: &str, arguments: &[&str]) -> Result<()> {
    let output =
        Command::new(program).args(arguments).output().with_context(|| program.to_owned())?;
    if !output.status.success() {
        bail!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The compiler at work, sampled with copies of its stacks.
pub fn perf_data() -> Result<PathBuf> {
    made("rustc.perf.data", |out| {
        let program = folder()?.join("program.rs");
        fs::write(&program, rust_program(2500))?;
        // Into a file of its own: a compiler replaces what it writes to, even the null device.
        let library = text(&folder()?.join("program.rlib"));
        let (out, program) = (text(out), text(&program));
        let record = [
            "record",
            "-q",
            "-e",
            "cpu-clock",
            "-F",
            "1499",
            "--call-graph",
            "dwarf,8192",
            "-o",
            &out,
            "--",
        ];
        let compiler = real_rustc()?;
        let compile =
            [&compiler, "-O", "--edition", "2024", "--crate-type", "lib", "-o", &library, &program];
        run("perf", &[&record[..], &compile].concat())
    })
}

/// The compiler itself: `rustc` on the search path may be a wrapper that starts it.
fn real_rustc() -> Result<String> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output()?;
    Ok(format!("{}/bin/rustc", String::from_utf8_lossy(&output.stdout).trim()))
}

fn rust_program(functions: usize) -> String {
    let mut program = String::new();
    for number in 0..functions {
        let _ = writeln!(
            program,
            "pub fn f{number}(words: &[String]) -> std::collections::BTreeMap<String, Vec<u{}>> {{
                let mut map = std::collections::BTreeMap::new();
                for (place, word) in words.iter().enumerate().filter(|(_, word)| word.len() > {number}) {{
                    map.entry(word.trim().to_lowercase()).or_insert_with(Vec::new).push((place + {number}) as _);
                }}
                map
            }}",
            [8, 16, 32, 64][number % 4],
        );
    }
    program
}

/// 200 MB of `perf script` text. The recording is repeated with other function names each time, so that stacks of one
/// copy are not found in another.
pub fn perf_script() -> Result<PathBuf> {
    let data = perf_data()?;
    let once = made("rustc.perf-script.txt", |out| {
        let output =
            Command::new("perf").args(["script", "--no-inline", "-i", &text(&data)]).output()?;
        Ok(fs::write(out, output.stdout)?)
    })?;
    made("long.perf-script.txt", |out| lengthen(&once, out, 200 << 20))
}

/// 200 MB of folded stacks.
pub fn folded() -> Result<PathBuf> {
    let script = perf_script()?;
    let once = made("long.folded-once.txt", |out| {
        let output =
            Command::new("inferno-collapse-perf").args(["-n", "1", &text(&script)]).output()?;
        Ok(fs::write(out, output.stdout)?)
    })?;
    made("long.folded.txt", |out| lengthen(&once, out, 200 << 20))
}

/// 200 MB of folded stacks, each of them once, as programs that fold write them: every copy of the recording is
/// another thread's, whose name is the root.
pub fn distinct_folded() -> Result<PathBuf> {
    folded()?;
    made("threads.folded.txt", |out| {
        let once = fs::read_to_string(folder()?.join("long.folded-once.txt"))?;
        let mut out = BufWriter::new(File::create(out)?);
        for thread in 0..(200usize << 20).div_ceil(once.len().max(1)) {
            for line in once.lines() {
                writeln!(out, "rustc-{thread};{line}")?;
            }
        }
        Ok(out.flush()?)
    })
}

/// The stacks of [`distinct_folded`] in a later run: other counts, and one function that takes three times as long.
pub fn folded_after() -> Result<PathBuf> {
    let before = distinct_folded()?;
    made("threads.folded-after.txt", |out| {
        let mut out = BufWriter::new(File::create(out)?);
        for (number, line) in (0u64..).zip(BufReader::new(File::open(&before)?).lines()) {
            let line = line?;
            let Some((stack, count)) = line.rsplit_once(' ') else { continue };
            let count: u64 = count.parse()?;
            // A ninth of the counts goes up by a tenth, a ninth goes down.
            let chance = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let noisy = match chance % 9 {
                0 => count + count.div_ceil(10),
                1 => count - count / 10,
                _ => count,
            };
            let slow = stack.ends_with(";malloc");
            writeln!(out, "{stack} {}", if slow { 3 * noisy } else { noisy })?;
        }
        Ok(out.flush()?)
    })
}

/// Repeats a text until it has `size` bytes, each time with other names: `rustc_` becomes `rustc1_`, `rustc2_`, ….
fn lengthen(from: &Path, to: &Path, size: u64) -> Result<()> {
    let once = String::from_utf8_lossy(&fs::read(from)?).into_owned();
    let mut out = BufWriter::new(File::create(to)?);
    let mut written = 0;
    for copy in 0.. {
        let text = once
            .replace("rustc_", &format!("rustc{copy}_"))
            .replace("core::", &format!("core{copy}::"));
        out.write_all(text.as_bytes())?;
        written += text.len() as u64;
        if written >= size || once.is_empty() {
            break;
        }
    }
    Ok(out.flush()?)
}

/// A pprof file of the same recording.
pub fn pprof() -> Result<PathBuf> {
    let script = perf_script()?;
    made("long.pb.gz", |out| {
        run(&crate::peers::perfblame()?, &["convert", "--to", "pprof", &text(&script), &text(out)])
    })
}

/// A Java compiler at work, recorded by the JVM; the recording is repeated until it has 24 MB.
pub fn jfr() -> Result<PathBuf> {
    let once = made("javac.jfr", |out| {
        let folder = folder()?.join("java");
        fs::create_dir_all(&folder)?;
        let mut arguments = vec![
            format!("-XX:StartFlightRecording=settings=profile,filename={}", out.display()),
            "-XX:FlightRecorderOptions=stackdepth=512".to_owned(),
            "-m".to_owned(),
            "jdk.compiler/com.sun.tools.javac.Main".to_owned(),
            "-d".to_owned(),
            text(&folder.join("classes")),
        ];
        for class in 0..150 {
            let path = folder.join(format!("C{class}.java"));
            fs::write(&path, java_class(class))?;
            arguments.push(text(&path));
        }
        run("java", &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    })?;
    made("long.jfr", |out| {
        let once = fs::read(&once)?;
        let mut long = File::create(out)?;
        // Chunks are independent: recordings one after the other are a recording.
        for _ in 0..(24usize << 20).div_ceil(once.len().max(1)) {
            long.write_all(&once)?;
        }
        Ok(())
    })
}

fn java_class(number: usize) -> String {
    let mut class =
        format!("import java.util.*; import java.util.stream.*; public class C{number} {{\n");
    for method in 0..12 {
        let _ = writeln!(
            class,
            "Map<String, List<Integer>> m{method}(List<String> in) {{ return in.stream().filter(s -> s.length() > \
             {method}).collect(Collectors.groupingBy(s -> s.trim(), TreeMap::new, Collectors.mapping(s -> s.length() * \
             {number}, Collectors.toList()))); }}"
        );
    }
    class + "}\n"
}

/// A Chrome trace of 1 GB: real ones one after the other, later copies later in time.
pub fn chrome_trace() -> Result<PathBuf> {
    made("long.trace.json", |out| {
        let corpus = perfblame_fixtures::corpus().map(|corpus| corpus.join("chrome-trace"));
        let folder = corpus.unwrap_or_else(|| perfblame_fixtures::samples().join("chrome"));
        let mut sources: Vec<PathBuf> = fs::read_dir(&folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| is_large(path))
            .collect();
        sources.sort();
        if sources.is_empty() {
            bail!("no traces in {}", folder.display());
        }
        let mut long = BufWriter::new(File::create(out)?);
        long.write_all(b"{\"traceEvents\":[\n")?;
        let mut written = 0u64;
        for (copy, source) in sources.iter().cycle().enumerate() {
            for line in BufReader::new(opened(source)?).lines() {
                let line = line?;
                // One event per line is how Chrome writes them.
                let Some(event) = line
                    .trim_end_matches(',')
                    .strip_prefix("{\"")
                    .filter(|rest| rest.ends_with('}'))
                else {
                    continue;
                };
                if !event.contains("\"ph\":") || event.starts_with("traceEvents") {
                    continue;
                }
                let event = later(&format!("{{\"{event}"), copy as u64);
                if written > 0 {
                    long.write_all(b",\n")?;
                }
                long.write_all(event.as_bytes())?;
                written += event.len() as u64 + 2;
            }
            if written >= 1 << 30 || (copy > sources.len() && written == 0) {
                break;
            }
        }
        long.write_all(b"\n]}\n")?;
        Ok(long.flush()?)
    })
}

fn is_large(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.len() > 100_000)
        && path.to_string_lossy().contains(".json")
}

fn opened(path: &Path) -> Result<Box<dyn Read>> {
    let file = File::open(path)?;
    let packed = path.extension().is_some_and(|end| end == "gz");
    Ok(if packed { Box::new(flate2::read::MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// An event of copy number `copy`: a hundred seconds later than in the copy before, profiles under ids of their own.
fn later(event: &str, copy: u64) -> String {
    let shift = copy * 100_000_000;
    let mut out = String::with_capacity(event.len() + 16);
    let mut rest = event;
    while let Some(at) = ["\"ts\":", "\"startTime\":", "\"endTime\":"]
        .iter()
        .filter_map(|key| Some(rest.find(key)? + key.len()))
        .min()
    {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        match after[..digits].parse::<u64>() {
            Ok(time) if time > 0 => {
                let _ = write!(out, "{}", time + shift);
            }
            _ => out.push_str(&after[..digits]),
        }
        rest = &after[digits..];
    }
    out.push_str(rest);
    if out.contains("\"Profile\"") || out.contains("\"ProfileChunk\"") {
        out = out.replace("\"id\":\"0x", &format!("\"id\":\"0x{copy:x}0"));
    }
    out
}

/// A release of a real compiler: a jar of 7,000 classes.
pub fn closure_compiler(release: &str) -> Result<PathBuf> {
    made(&format!("closure-compiler-{release}.jar"), |out| {
        let folder = folder()?.join("unpacked");
        fs::create_dir_all(&folder)?;
        let (package, place) = (format!("google-closure-compiler-java@{release}"), text(&folder));
        run("npm", &["pack", "--silent", "--pack-destination", &place, &package])?;
        let packed = text(&folder.join(format!("google-closure-compiler-java-{release}.tgz")));
        run("tar", &["xzf", &packed, "-C", &place, "package/compiler.jar"])?;
        fs::copy(folder.join("package/compiler.jar"), out)?;
        Ok(fs::remove_dir_all(&folder)?)
    })
}

/// The classes in a jar, as `javap` wants them named.
pub fn listed_classes(jar: &Path) -> Result<Vec<String>> {
    let output = Command::new("unzip").args(["-Z1", &text(jar)]).output().context("unzip")?;
    let listed = String::from_utf8_lossy(&output.stdout);
    let names = listed.lines().filter_map(|line| line.strip_suffix(".class"));
    Ok(names.filter(|name| !name.starts_with("META-INF")).map(str::to_owned).collect())
}

/// A bundle with its source map, a profile of it at work, and what the peer finds in the map.
pub struct Bundle {
    /// Where the peer is installed.
    pub tools: String,
    pub script: String,
    pub map: String,
    pub profile: String,
    pub answers: String,
}

/// The program that is bundled: a compiler that compiles a library.
const BUNDLED: &str = "
import ts from 'typescript';
import * as three from 'three';
import { readFileSync } from 'node:fs';
const text = readFileSync(process.argv[2], 'utf8') + `;var revision = ${three.REVISION};`;
for (const target of [ts.ScriptTarget.ES5, ts.ScriptTarget.ES2020]) {
  const done = ts.transpileModule(text, { compilerOptions: { target, module: ts.ModuleKind.CommonJS } });
  console.log(done.outputText.length);
}
";

/// The TypeScript compiler and three.js in one minified script, profiled by Node. `script` prepares the peer's answers.
pub fn bundle(script: &str) -> Result<Bundle> {
    let tools = perfblame_fixtures::tools();
    let folder = folder()?.join("bundle");
    let file = |name: &str| text(&folder.join(name));
    let (script_file, map, answers) =
        (file("bundle.js"), file("bundle.js.map"), file("answers.txt"));
    let profile = made("bundle.cpuprofile", |out| {
        fs::create_dir_all(&folder)?;
        let place = text(&folder);
        let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", &place];
        run("npm", &[&install[..], &["typescript@5.9.3", "three@0.150.0"]].concat())?;
        let entry = file("main.mjs");
        fs::write(&entry, BUNDLED)?;
        let bundled = format!("--outfile={script_file}");
        let esbuild = text(&tools.join("node_modules/esbuild/bin/esbuild"));
        let how = ["--bundle", "--minify", "--sourcemap", "--platform=node", "--log-level=error"];
        run(&esbuild, &[&how[..], &[&entry, &bundled]].concat())?;
        let library = file("node_modules/three/build/three.module.js");
        let (profile, name) =
            (format!("--cpu-prof-dir={place}"), "--cpu-prof-name=made.cpuprofile");
        let profiler = ["--cpu-prof", "--cpu-prof-interval", "100", name, &profile];
        run("node", &[&profiler[..], &[&script_file, &library]].concat())?;
        Ok(fs::rename(file("made.cpuprofile"), out)?)
    })?;
    let (tools, profile) = (text(&tools), text(&profile));
    run("node", &[script, "prepare", &tools, &profile, &map, &answers])?;
    Ok(Bundle { tools, script: script_file, map, profile, answers })
}
