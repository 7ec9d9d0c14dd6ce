//! The Trace Event format: what Chrome's tracing, DevTools, Perfetto, uftrace, VizTracer, rustc, Bazel, Hermes and many
//! others write. Read as a stream: memory grows with the tree, not with the file.
//!
//! What is made of the events:
//!
//! | phases | become |
//! |---|---|
//! | `X`, `B`, `E` | calls, nested per process and thread, see [`spans`]: metrics `events` (time) and `calls` |
//! | `b`, `e`, and the older `S`, `F` | spans of their own on a track per process and category: metric `async`, so that what overlaps freely cannot spoil the nesting or the totals of threads, see [`async_spans`] |
//! | `P` and `I` named `Profile`, `ProfileChunk`, `CpuProfile` | V8's sampled call trees: metrics `wall` and `samples`, see [`v8`] |
//! | `M` | names of processes and threads |
//! | `samples` with `stackFrames` beside the events | sampled stacks, as V8's, see [`stack_samples`] |
//! | `TimerInstall` to `TimerFire`, `ResourceSendRequest` to `ResourceFinish` | metrics `waits`, `wait-count` and `wait-idle`, for the function that asked, see [`waits`] |
//! | instants, counters, flows, objects | no time: counted, in the label `events without duration` |
//!
//! Where the file says what of it is the recording, as those of our recorder do, the rest is left out, see [`Recorded`].
//!
//! In a file without samples, `events` is named `wall`: it is the time there is. Times are microseconds in every file,
//! whole or not, as numbers or as strings; `displayTimeUnit` is for viewers. Arguments are not part of a name. A file
//! may end anywhere after an event, as the format allows.

mod async_spans;
mod async_stacks;
mod event;
mod file;
mod json_path;
mod spans;
mod stack_samples;
mod threads;
mod trace;
mod v8;
mod waits;

use perfblame_cct::Profile;

use crate::encodings::json::{Stream, top_level_keys};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use crate::read_ahead::ReadAhead;
#[cfg(doc)]
use crate::v8::Recorded;

/// The row of Chrome's own traces in the table: the same reader, another name.
pub const CHROME: Format = Format {
    name: "chrome trace",
    producers: "Chrome and DevTools (Performance panel, chrome://tracing), Puppeteer, Lighthouse",
    sniff: sniff_chrome,
    read,
    tracer: None,
};

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "trace event",
    producers: "Perfetto (JSON), uftrace, VizTracer, rustc, Bazel, Hermes and others",
    sniff,
    read,
    tracer: None,
};

/// True for traces of Chrome and DevTools.
fn sniff_chrome(input: &Input) -> bool {
    is_trace(input) && is_chrome(input.head())
}

/// True for traces of everyone else.
pub fn sniff(input: &Input) -> bool {
    is_trace(input) && !is_chrome(input.head())
}

/// True for an object with `traceEvents` and for an array of events.
fn is_trace(input: &Input) -> bool {
    const EVENT_KEYS: [&str; 15] = [
        "args", "cat", "dur", "id", "id2", "name", "ph", "pid", "s", "tdur", "tid", "ts", "tts",
        "bp", "scope",
    ];
    let head = input.head();
    let keys = top_level_keys(head);
    let has = |key: &str| keys.iter().any(|known| known == key);
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    match text.first() {
        Some(b'{') if has("traceEvents") => true,
        // DevTools puts its metadata first, and that can be long.
        Some(b'{') => !input.is_whole() && has("metadata") && contains(head, b"\"DevTools\""),
        Some(b'[') => {
            has("ph") || (has("args") && keys.iter().all(|key| EVENT_KEYS.contains(&&**key)))
        }
        _ => false,
    }
}

fn is_chrome(head: &[u8]) -> bool {
    const SIGNS: [&[u8]; 8] = [
        b"\"DevTools\"",
        b"CrBrowserMain",
        b"CrRendererMain",
        b"devtools.timeline",
        b"disabled-by-default-",
        b"\"blink",
        b"chrome-bitness",
        b"\"toplevel\"",
    ];
    SIGNS.iter().any(|sign| contains(head, sign))
}

fn contains(head: &[u8], sign: &[u8]) -> bool {
    memchr::memmem::find(head, sign).is_some()
}

/// Reads a trace.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let mut trace = trace::ChromeTrace::new(options);
    let mut stream = Stream::new(ReadAhead::new(input.into_stream()?));
    file::read(&mut stream, &mut trace)?;
    Ok(trace.finish())
}
