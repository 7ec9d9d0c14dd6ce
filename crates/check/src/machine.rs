//! What runs depend on besides the program: where any of this differs, runs are not put beside each other.

use std::process::{Command, Stdio};

use perfblame_record::Profiler;

/// Variables that change how programs run, wherever they are set.
const VARIABLES: [&str; 16] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "DYLD_LIBRARY_PATH",
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "OMP_NUM_THREADS",
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "NODE_OPTIONS",
    "NODE_ENV",
    "PYTHONPATH",
    "PYTHONOPTIMIZE",
    "GOGC",
    "GOMAXPROCS",
];

/// The machine, its kernel, the profiler's version and the variables, as texts.
pub fn surroundings(profiler: Profiler) -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut all = vec![
        std::env::consts::OS.to_owned(),
        std::env::consts::ARCH.to_owned(),
        processor(),
        cores.to_string(),
        kernel.trim().to_owned(),
        version(profiler),
    ];
    for name in VARIABLES {
        let value = std::env::var_os(name).unwrap_or_default();
        all.push(format!("{name}={}", value.to_string_lossy()));
    }
    all
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let names = ["model name", "CPU part", "Hardware", "cpu model"];
    let line = |name: &&str| text.lines().find(|line| line.starts_with(*name));
    let line = names.iter().find_map(line).and_then(|line| line.split_once(':'));
    line.map_or(String::new(), |(_, name)| name.trim().to_owned())
}

fn version(profiler: Profiler) -> String {
    let (program, option) = match profiler {
        Profiler::Perf | Profiler::OsTrace => ("perf", "--version"),
        Profiler::PySpy => ("py-spy", "--version"),
        Profiler::NodeCpuProf => ("node", "--version"),
        Profiler::Uftrace => ("uftrace", "--version"),
        Profiler::Jfr | Profiler::JavaExact => ("java", "-version"),
    };
    let output = Command::new(program).arg(option).stdin(Stdio::null()).output();
    output.map_or(String::new(), |output| {
        let text = [output.stdout, output.stderr].concat();
        format!("{} {}", profiler.name(), String::from_utf8_lossy(&text).trim())
    })
}
