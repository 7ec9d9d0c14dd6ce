//! Chrome traces, for DevTools, Perfetto and `chrome://tracing`: calls as complete events, samples as the CPU profile
//! that DevTools knows. Only for profiles whose times were kept: a trace is nothing but times.

use std::fmt::Write as _;
use std::io::{self, Write};

use perfblame_analysis::function_name;
use perfblame_cct::{Layer, NodeId, Profile, ThreadId, TimedSample, Timeline};

use crate::json::quoted;
use crate::threads;

/// Samples in one chunk, as many as Chrome puts into its own.
const CHUNK_SAMPLES: usize = 100;

/// Writes calls and samples by time.
pub fn write(profile: &Profile, timeline: &Timeline, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events { profile, out, first: true };
    write!(
        events.out,
        r#"{{"metadata":{{"source":"perfblame {}"}},"traceEvents":["#,
        crate::VERSION
    )?;
    events.names()?;
    for call in &timeline.calls {
        let dur = call.end.saturating_sub(call.start);
        let name = quoted(function_name(&profile.symbols, profile.function_of(call.node)));
        let extra = format!(
            r#""ts":{},"dur":{},"name":{name},"cat":"call"{}"#,
            micros(call.start),
            micros(dur),
            events.args(call.node)
        );
        events.event('X', call.thread, &extra)?;
    }
    // One profile per thread and metric that was sampled; DevTools shows the first of a thread.
    for (row, (key, samples)) in split(&timeline.samples).into_iter().enumerate() {
        events.cpu_profile(row + 1, key, &samples)?;
    }
    events.out.write_all(b"\n]}\n")
}

fn split(samples: &[TimedSample]) -> Vec<(Option<ThreadId>, Vec<TimedSample>)> {
    let Some(first) = samples.iter().map(|sample| sample.metric).min() else { return Vec::new() };
    let samples: Vec<_> = samples.iter().copied().filter(|sample| sample.metric == first).collect();
    threads::split(&samples, |sample| sample.thread)
}

struct Events<'a> {
    profile: &'a Profile,
    out: &'a mut dyn Write,
    first: bool,
}

impl Events<'_> {
    fn event(&mut self, phase: char, thread: Option<ThreadId>, extra: &str) -> io::Result<()> {
        let (pid, tid) = self.ids(thread);
        let comma = if std::mem::replace(&mut self.first, false) { "" } else { "," };
        write!(self.out, "{comma}\n{{\"ph\":\"{phase}\",\"pid\":{pid},\"tid\":{tid},{extra}}}")
    }

    /// Process and thread id; where the file has none, numbers that keep threads apart.
    fn ids(&self, thread: Option<ThreadId>) -> (u64, u64) {
        let Some(id) = thread else { return (1, 1) };
        let row = self.profile.threads.get(id.index());
        let pid = row.and_then(|thread| thread.pid).unwrap_or(1);
        (pid, row.and_then(|thread| thread.tid).unwrap_or(id.index() as u64 + 1))
    }

    fn names(&mut self) -> io::Result<()> {
        let profile = self.profile;
        let mut processes = std::collections::BTreeSet::new();
        for (id, thread) in profile.threads() {
            let name = quoted(&threads::title(profile, Some(id)));
            let extra = format!(
                r#""ts":0,"name":"thread_name","cat":"__metadata","args":{{"name":{name}}}"#
            );
            self.event('M', Some(id), &extra)?;
            let Some(process) = thread.process else { continue };
            if processes.insert((thread.pid, process)) {
                let name = quoted(profile.symbols.text(process));
                let extra = format!(
                    r#""ts":0,"name":"process_name","cat":"__metadata","args":{{"name":{name}}}"#
                );
                self.event('M', Some(id), &extra)?;
            }
        }
        Ok(())
    }

    fn args(&self, node: NodeId) -> String {
        let symbols = &self.profile.symbols;
        let function = symbols.function(self.profile.function_of(node));
        let Some(file) = function.component.or(function.file) else { return String::new() };
        let line = function.line.map_or(String::new(), |line| format!(r#","lineNumber":{line}"#));
        format!(r#","args":{{"data":{{"url":{}{line}}}}}"#, quoted(symbols.text(file)))
    }

    fn cpu_profile(
        &mut self,
        number: usize,
        thread: Option<ThreadId>,
        samples: &[TimedSample],
    ) -> io::Result<()> {
        let start = samples.first().map_or(0, |sample| sample.time);
        let id = format!(r#""id":"0x{number:x}","cat":"disabled-by-default-v8.cpu_profiler""#);
        let extra = format!(
            r#""ts":{0},"name":"Profile",{id},"args":{{"data":{{"startTime":{0}}}}}"#,
            micros(start)
        );
        self.event('P', thread, &extra)?;
        let mut known = vec![false; self.profile.tree.len()];
        let mut root_known = false;
        let mut clock = start;
        for chunk in samples.chunks(CHUNK_SAMPLES) {
            let mut nodes = Vec::new();
            if !std::mem::replace(&mut root_known, true) {
                nodes.push(
                    r#"{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","codeType":"other"}}"#
                        .to_owned(),
                );
            }
            let (mut ids, mut deltas) = (Vec::new(), Vec::new());
            for sample in chunk {
                for node in self.profile.tree.path(sample.node) {
                    if !std::mem::replace(&mut known[node.index()], true) {
                        nodes.push(self.node(node));
                    }
                }
                ids.push(node_number(sample.node).to_string());
                deltas.push(micros(sample.time.saturating_sub(clock)));
                clock = sample.time;
            }
            let extra = format!(
                r#""ts":{},"name":"ProfileChunk",{id},"args":{{"data":{{"cpuProfile":{{"nodes":[{}],"samples":[{}]}},"timeDeltas":[{}]}}}}"#,
                micros(clock),
                nodes.join(","),
                ids.join(","),
                deltas.join(",")
            );
            self.event('P', thread, &extra)?;
        }
        Ok(())
    }

    /// A node of the CPU profile. Lines count from 0 there.
    fn node(&self, node: NodeId) -> String {
        let symbols = &self.profile.symbols;
        let function = symbols.function(self.profile.function_of(node));
        let above = self.profile.tree.parent(node).map_or(1, node_number);
        let mut frame = format!(
            r#""functionName":{},"scriptId":"0","codeType":"{}""#,
            quoted(symbols.text(function.name)),
            if function.layer == Layer::Application { "JS" } else { "other" }
        );
        if let Some(url) = function.component.or(function.file) {
            let _ = write!(frame, r#","url":{}"#, quoted(symbols.text(url)));
        }
        if let Some(line) = function.line {
            let column = function.column.map_or(0, |column| column.get() - 1);
            let line = line.get() - 1;
            let _ = write!(frame, r#","lineNumber":{line},"columnNumber":{column}"#);
        }
        format!(r#"{{"id":{},"parent":{above},"callFrame":{{{frame}}}}}"#, node_number(node))
    }
}

/// 1 is the root that DevTools wants above all.
fn node_number(node: NodeId) -> usize {
    node.index() + 2
}

/// Microseconds with as many decimals as the nanoseconds need.
fn micros(nanoseconds: i64) -> String {
    crate::numbers::decimal(nanoseconds, 3)
}
