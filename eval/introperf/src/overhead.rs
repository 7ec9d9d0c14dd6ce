//! Figure 9: what tracing costs, on programs that have nothing but work to do.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::exact::median;
use crate::machine::{CLIENTS_RUN_ON, PROGRAMS_RUN_ON, install, shell};
use perfblame_eval_steps::Work;

/// How a program is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traced {
    Not,
    /// Every system call, its end and every switch, with 8 KiB of stack.
    Fully,
    /// As `perfblame record os` does by itself.
    ByDefault,
}

impl Traced {
    /// In the order of a round.
    pub const ALL: [Self; 3] = [Self::Not, Self::Fully, Self::ByDefault];

    fn recorder(self, perfblame: &Path, out: &Path) -> Vec<String> {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let out = out.display().to_string();
        match self {
            Self::Not => Vec::new(),
            Self::Fully => {
                let perf = "perf record -q -k mono -m 32768 -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit \
                            -e sched:sched_switch --call-graph dwarf,8192 -o";
                [words(perf), vec![out], words("--")].concat()
            }
            Self::ByDefault => {
                let perfblame = perfblame.display().to_string();
                [vec![perfblame], words("record os -o"), vec![out], words("--")].concat()
            }
        }
    }
}

/// Something that is timed.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub name: &'static str,
    pub what: &'static str,
    packages: &'static [&'static str],
    prepare: &'static str,
    command: &'static [&'static str],
    /// Asks a server and prints how much work it did a second; without it the program's own time counts.
    client: Option<&'static str>,
}

/// A server, a database and a compressor, as in the paper.
pub const LOADS: &[Load] = &[
    Load {
        name: "nginx",
        what: "wrk, 8 connections, 3 s",
        packages: &["nginx", "wrk", "curl"],
        prepare: r#"mkdir -p pages logs; head -c 4000 /dev/zero | tr '\0' 'a' > pages/index.html
cat > nginx.conf <<END
daemon off; master_process off; pid $PWD/nginx.pid; error_log $PWD/error.log;
events { worker_connections 64; }
http { access_log off; keepalive_requests 1000000; server { listen 127.0.0.1:18743; root $PWD/pages; } }
END
chmod -R a+rX ."#,
        command: &["/usr/sbin/nginx", "-p", ".", "-c", "nginx.conf"],
        client: Some(
            r"for i in $(seq 200); do curl -s http://127.0.0.1:18743/ >/dev/null && break; sleep 0.05; done
wrk -t1 -c8 -d3s http://127.0.0.1:18743/index.html | awk '/Requests\/sec/ { print $2 }'
kill -QUIT $(cat nginx.pid)",
        ),
    },
    Load {
        name: "sqlite3",
        what: "4,000 transactions in a file, then queries",
        packages: &["sqlite3"],
        prepare: r#"awk 'BEGIN { print "PRAGMA synchronous = OFF; CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INT);"
for (i = 0; i < 4000; i++) print "INSERT INTO t(b, c) VALUES(\x27row " i "\x27, " (i * 7919) % 1000 ");"
for (i = 0; i < 150; i++) print "SELECT count(*), sum(length(b)) FROM t WHERE c % 97 = " i % 97 ";" }' > load.sql"#,
        command: &["/usr/bin/sqlite3", "-cmd", ".timer on", "load.db"],
        client: None,
    },
    Load {
        name: "7z",
        what: "built-in benchmark, one thread, one pass",
        packages: &["p7zip-full"],
        prepare: "",
        command: &["/usr/lib/p7zip/7z", "b", "1", "-mmt1", "-md20"],
        client: None,
    },
];

/// What was measured, each round in turn.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct OverheadRow {
    pub load: String,
    /// Seconds for the same work, by [`Traced::ALL`].
    pub rounds: Vec<[f64; 3]>,
}

impl OverheadRow {
    /// The median of how many times as long it takes, against the same round without tracing.
    pub fn ratio(&self, traced: Traced) -> f64 {
        let column = Traced::ALL.iter().position(|each| *each == traced).unwrap_or(0);
        median(self.rounds.iter().map(|round| round[column] / round[0].max(1e-9)).collect())
    }
}

/// Runs rounds of all ways to run, one after the other.
pub fn row(work: &Work, load: &Load, rounds: usize, perfblame: &Path) -> Result<OverheadRow> {
    install(load.packages)?;
    let folder = work.place(&["overhead", load.name, "x"])?;
    let folder = folder.parent().context("no folder")?.to_owned();
    shell(load.prepare, &folder)?;
    let mut row = OverheadRow { load: load.name.to_owned(), rounds: Vec::new() };
    for _ in 0..rounds {
        let mut round = [0.0; 3];
        for (slot, traced) in round.iter_mut().zip(Traced::ALL) {
            *slot = seconds(load, &folder, traced, perfblame)?;
        }
        row.rounds.push(round);
    }
    Ok(row)
}

/// Seconds for an amount of work that is the same each time.
fn seconds(load: &Load, folder: &Path, traced: Traced, perfblame: &Path) -> Result<f64> {
    let out = folder.join("trace");
    let _ = fs::remove_dir_all(&out);
    let _ = fs::remove_file(&out);
    let _ = fs::remove_file(folder.join("load.db"));
    let mut words = vec!["taskset".to_owned(), "-c".to_owned(), PROGRAMS_RUN_ON.to_owned()];
    words.extend(traced.recorder(perfblame, &out));
    words.extend(load.command.iter().map(|&word| word.to_owned()));
    let start = Instant::now();
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .current_dir(folder)
        .stdin(match load.name {
            "sqlite3" => Stdio::from(fs::File::open(folder.join("load.sql"))?),
            _ => Stdio::null(),
        })
        .stdout(fs::File::create(folder.join("stdout"))?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| words.join(" "))?;
    let Some(client) = load.client else {
        return inner_seconds(load, folder, &mut child, start);
    };
    let asked = Command::new("taskset")
        .args(["-c", CLIENTS_RUN_ON, "sh", "-c", client])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    wait(&mut child)?;
    let rate: f64 = String::from_utf8_lossy(&asked.stdout).trim().parse().unwrap_or(0.0);
    if rate <= 0.0 {
        bail!("{}: no answers: {}", load.name, String::from_utf8_lossy(&asked.stderr).trim());
    }
    Ok(1.0 / rate)
}

/// The program's own time on the clock: how long a recorder starts up and writes is not the program's.
fn inner_seconds(load: &Load, folder: &Path, child: &mut Child, start: Instant) -> Result<f64> {
    wait(child)?;
    let text = fs::read_to_string(folder.join("stdout")).unwrap_or_default();
    told_seconds(load.name, &text)
        .or_else(|| (load.name != "7z").then(|| start.elapsed().as_secs_f64()))
        .with_context(|| format!("{}: it does not say how fast it was", load.name))
}

/// What a program says of itself: the database its time, the compressor its speed.
fn told_seconds(name: &str, text: &str) -> Option<f64> {
    match name {
        "sqlite3" => {
            let real = text.lines().filter_map(|line| line.strip_prefix("Run Time: real "));
            let sum: f64 =
                real.filter_map(|rest| rest.split_whitespace().next()?.parse::<f64>().ok()).sum();
            (sum > 0.0).then_some(sum)
        }
        "7z" => {
            let total = text.lines().find(|line| line.starts_with("Tot:"))?;
            let rating: f64 = total.split_whitespace().last()?.parse().ok()?;
            (rating > 0.0).then(|| 1000.0 / rating)
        }
        _ => None,
    }
}

fn wait(child: &mut Child) -> Result<()> {
    let start = Instant::now();
    while child.try_wait()?.is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            let _ = child.kill();
            let _ = child.wait();
            bail!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_within_rounds() {
        let rounds = vec![[1.0, 2.0, 1.1], [2.0, 6.0, 2.1], [1.0, 2.5, 1.0]];
        let row = OverheadRow { load: "x".to_owned(), rounds };
        assert!((row.ratio(Traced::Fully) - 2.5).abs() < 1e-9);
        assert!((row.ratio(Traced::ByDefault) - 1.05).abs() < 1e-9);
    }

    #[test]
    fn programs_tell_their_speed() {
        let text =
            "Run Time: real 0.25 user 0.1 sys 0.0\n7\nRun Time: real 0.50 user 0.2 sys 0.1\n";
        assert_eq!(told_seconds("sqlite3", text), Some(0.75));
        assert_eq!(told_seconds("7z", "Avr: 1\nTot:             98   4000   2000\n"), Some(0.5));
    }
}
