//! What `perf script` prints of a trace, read without any of perfblame's own readers: the plain implementation of the
//! paper must not profit from them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A stack that the kernel took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelStack {
    pub thread: u32,
    /// Nanoseconds of the monotonic clock.
    pub time: u64,
    /// `raw_syscalls:sys_enter` and the like.
    pub kind: String,
    /// Outermost first.
    pub stack: Vec<Frame>,
}

/// A frame of a stack.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Frame {
    /// None in a stripped object.
    pub symbol: Option<String>,
    /// The file's name without its folder.
    pub object: String,
    /// In user code an offset in the object.
    pub address: u64,
}

impl Frame {
    /// A name that is the same in every run.
    pub fn name(&self) -> String {
        match &self.symbol {
            Some(symbol) => format!("{symbol} ({})", self.object),
            None => format!("[{}+{:#x}]", self.object, self.address),
        }
    }
}

/// The events of a `perf.data`, in the order of time.
pub fn events(trace: &Path) -> Result<Vec<KernelStack>> {
    let output = Command::new("perf")
        .args(["script", "--ns", "--no-inline", "-F", "comm,pid,tid,time,event,ip,sym,dso", "-i"])
        .arg(trace)
        .output()
        .context("cannot start perf")?;
    if !output.status.success() {
        bail!("{}: {}", trace.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads the text.
pub fn parse(text: &str) -> Vec<KernelStack> {
    let mut events: Vec<KernelStack> = Vec::new();
    for line in text.lines() {
        if line.trim().is_empty() {
            continue;
        }
        if line.starts_with(['\t', ' ']) && is_frame(line) {
            if let (Some(event), Some(frame)) = (events.last_mut(), frame(line)) {
                event.stack.push(frame);
            }
        } else if let Some(event) = header(line) {
            events.push(event);
        }
    }
    for event in &mut events {
        event.stack.reverse();
    }
    // The sort is stable: of one time, the first that was written comes first.
    events.sort_by_key(|event| event.time);
    events
}

fn is_frame(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    line.trim_end().ends_with(')') && u64::from_str_radix(first, 16).is_ok()
}

/// `comm pid/tid seconds.nanoseconds: event:`, where the command may hold anything.
fn header(line: &str) -> Option<KernelStack> {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.windows(3).find_map(|three| {
        let (process, thread) = three[0].split_once('/')?;
        process.parse::<u32>().ok()?;
        let thread = thread.parse().ok()?;
        let (seconds, fraction) = three[1].strip_suffix(':')?.split_once('.')?;
        let nanos: u64 = format!("{fraction:0<9}").parse().ok()?;
        let time = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)?;
        let kind = three[2].trim_end_matches(':').to_owned();
        Some(KernelStack { thread, time, kind, stack: Vec::new() })
    })
}

fn frame(line: &str) -> Option<Frame> {
    let (address, rest) = line.trim().split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let (symbol, object) = rest.rsplit_once(" (")?;
    let object = object.trim_end_matches(')').trim_end_matches(" (deleted)");
    if object == "[unknown]" {
        return None;
    }
    let object = object.rsplit('/').next().unwrap_or(object).to_owned();
    let symbol = (symbol != "[unknown]").then(|| symbol.to_owned());
    Some(Frame { symbol, object, address })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_their_stack_outermost_first() {
        let text = "\
:jq a/3 7/9   12.000000005: raw_syscalls:sys_enter: 
\tffff1 do_syscall_64 ([kernel.kallsyms])
\t   1a write (/usr/lib/libc.so.6)
\t   2b [unknown] (/usr/bin/jq)
\t    0 [unknown] ([unknown])

jq 7/7   11.5: sched:sched_switch: 
\t   2b main (/usr/bin/jq)
";
        let events = parse(text);
        let shown: Vec<String> = events
            .iter()
            .map(|event| {
                let stack: Vec<String> = event.stack.iter().map(Frame::name).collect();
                format!("{} {} {}: {}", event.thread, event.time, event.kind, stack.join(" > "))
            })
            .collect();
        expect_test::expect![[r"
            7 11500000000 sched:sched_switch: main (jq)
            9 12000000005 raw_syscalls:sys_enter: [jq+0x2b] > write (libc.so.6) > do_syscall_64 ([kernel.kallsyms])"]]
        .assert_eq(&shown.join("\n"));
    }
}
