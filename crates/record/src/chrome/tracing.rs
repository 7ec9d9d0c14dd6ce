//! A trace as the Performance panel records and saves it.
//!
//! The browser keeps a trace until recording ends and sends it in pieces then. They are written as they come, one event a
//! line, so neither the number of events nor the size of the file is a matter of memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::connection::{Events, Until};
use super::sampling::{self, Sampled};
use super::{ChromeError, Page};

/// What the Performance panel of Chromium 156 records.
const CATEGORIES: &[&str] = &[
    "-*",
    "blink.console",
    "blink.user_timing",
    "cppgc",
    "devtools.timeline",
    "disabled-by-default-devtools.target-rundown",
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-devtools.timeline.frame",
    "disabled-by-default-devtools.timeline.stack",
    "disabled-by-default-devtools.v8-source-rundown",
    "disabled-by-default-layout_shift.debug",
    "disabled-by-default-lighthouse",
    "disabled-by-default-v8.cpu_profiler",
    "disabled-by-default-v8.cpu_profiler.hires",
    "disabled-by-default-v8.inspector",
    "loading",
    "navigation",
    "rail",
    "v8",
    "v8.execute",
];

/// The texts of scripts.
const SOURCES: &str = "disabled-by-default-devtools.v8-source-rundown-sources";

/// What the browser keeps of a trace, in KiB; the panel asks for as much.
const BUFFER: u32 = 1_200_000;

/// The browser gives the trace out at its own pace: it takes minutes to put a large one together on a busy machine,
/// silently. When nothing at all comes for this long, or for the time that the page was given, nothing will.
const PATIENCE: Duration = Duration::from_secs(300);

/// Within which everything happened that was to be recorded, in seconds of the browser's clock, which is that of the
/// trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// When it began.
    pub start: f64,
    /// When we stopped looking.
    pub end: f64,
    /// When the last of it was done.
    pub done: f64,
}

/// What the trace's own words about itself say.
pub struct Metadata {
    /// When recording began.
    pub started: SystemTime,
    /// Where the page is.
    pub url: String,
    /// How much slower the processor was made to look.
    pub cpu_throttle: Option<f64>,
    /// What was to be recorded.
    pub interval: Interval,
    /// The browser's name and version.
    pub browser: String,
}

/// A page that is being recorded.
pub struct Recording<'p, 'a> {
    page: &'p Page<'a>,
    /// Where we take the samples ourselves.
    sampling: bool,
    complete: Events<'a>,
}

/// A trace that was written.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// How many events it has.
    pub events: u64,
    /// Its size before it was packed.
    pub bytes: u64,
    /// True when the browser's buffer was full and some is missing.
    pub lost: bool,
    /// Profiles of threads that could not be found in the trace.
    pub unplaced: usize,
}

impl<'p, 'a> Recording<'p, 'a> {
    /// Starts to record a page: with the texts of its scripts or without, with samples at the browser's own interval or
    /// another one, in microseconds.
    pub fn start(
        page: &'p Page<'a>,
        sources: bool,
        interval: Option<u32>,
    ) -> Result<Self, ChromeError> {
        let texts = sources.then_some(SOURCES);
        let all = CATEGORIES.iter().copied().chain(texts);
        // Pages of Chromium 156 crash when they are profiled while their scripts are listed.
        let wanted = |category: &&str| {
            let ours = ["v8.cpu_profiler", "v8-source-rundown"];
            interval.is_none() || !ours.iter().any(|part| category.contains(part))
        };
        let categories: Vec<&str> = all.filter(wanted).collect();
        let complete = page.session().listen(&["Tracing.tracingComplete"]);
        page.session().call(
            "Tracing.start",
            json!({
                "transferMode": "ReportEvents",
                "traceConfig": {
                    "recordMode": "recordUntilFull",
                    "traceBufferSizeInKb": BUFFER,
                    "includedCategories": categories,
                },
            }),
        )?;
        if let Some(interval) = interval {
            sampling::start(page, interval)?;
        }
        Ok(Self { page, sampling: interval.is_some(), complete })
    }

    /// Leaves a mark in the trace.
    pub fn mark(&self, name: &str) -> Result<(), ChromeError> {
        let id = format!("perfblame:{name}");
        self.page.session().call("Tracing.recordClockSyncMarker", json!({ "syncId": id }))?;
        Ok(())
    }

    /// Ends recording and writes the trace.
    pub fn finish(
        self,
        path: &Path,
        metadata: &Metadata,
        limit: Option<u64>,
    ) -> Result<Written, ChromeError> {
        let sampled = if self.sampling { sampling::stop(self.page)? } else { Sampled::default() };
        let sampled = Arc::new(Mutex::new(sampled));
        let progress = Arc::new(Progress::default());
        let writer = Writer::create(path, metadata).map_err(ChromeError::file("write", path))?;
        let writer = Arc::new(Mutex::new(Some(writer)));
        let connection = self.page.session().connection();
        let (sink, counted) = (Arc::clone(&writer), Arc::clone(&progress));
        let looking = self.sampling.then(|| Arc::clone(&sampled));
        connection.set_trace_sink(Some(Box::new(move |events| {
            if let Some(looking) = &looking {
                let mut sampled = looking.lock().unwrap_or_else(PoisonError::into_inner);
                for event in events {
                    sampled.see(event);
                }
            }
            let mut writer = sink.lock().unwrap_or_else(PoisonError::into_inner);
            let written = writer.as_mut().map(|writer| writer.events(events, limit));
            match written {
                Some(Ok(bytes)) => {
                    counted.bytes.store(bytes, Ordering::Relaxed);
                    counted.events.fetch_add(events.len() as u64, Ordering::Relaxed);
                    if limit.is_some_and(|limit| bytes > limit) {
                        *writer = None;
                    }
                }
                Some(Err(error)) => {
                    *counted.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    *writer = None;
                }
                None => {}
            }
        })));
        let ended = collect(self.page, self.complete, &progress, limit);
        connection.set_trace_sink(None);
        let lost = match ended {
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Unwritten(source)) => {
                return Err(ChromeError::File { what: "write", path: path.to_owned(), source });
            }
            Ok(lost) => lost,
        };
        let writer = writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (profiles, unplaced) = sampled.lock().unwrap_or_else(PoisonError::into_inner).events();
        if let Some(mut writer) = writer {
            let profiles: Vec<&RawValue> = profiles.iter().map(|event| &**event).collect();
            writer.events(&profiles, None).map_err(ChromeError::file("write", path))?;
            writer.finish().map_err(ChromeError::file("write", path))?;
        }
        let (events, bytes) = (&progress.events, &progress.bytes);
        let bytes = bytes.load(Ordering::Relaxed);
        Ok(Written { events: events.load(Ordering::Relaxed), bytes, lost, unplaced })
    }
}

/// Waits while the trace comes in; true when some of it was lost.
fn collect<'a>(
    page: &Page<'a>,
    complete: Events<'a>,
    progress: &Progress,
    limit: Option<u64>,
) -> Result<bool, Stop> {
    let session = page.session();
    let cancel = session.until().cancel;
    let patience = PATIENCE.max(session.until().given);
    session.with(Until::after(patience, cancel)).call("Tracing.end", json!({}))?;
    // Not by the time the page was given: it is done.
    let complete = complete.with(Until::after(Duration::MAX, cancel));
    let (mut seen, mut since) = (0, Instant::now());
    loop {
        let next = complete.next_within(Duration::from_millis(200));
        let bytes = progress.bytes.load(Ordering::Relaxed);
        if let Some(error) = progress.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(Stop::Unwritten(error));
        }
        if let Some(limit) = limit.filter(|limit| bytes > *limit) {
            return Err(Stop::Failed(ChromeError::TooLarge { limit }));
        }
        match next {
            Ok(Some(event)) => return Ok(event.params["dataLossOccurred"] == true),
            Ok(None) => {}
            Err(error) => return Err(Stop::Failed(error)),
        }
        if bytes > seen {
            (seen, since) = (bytes, Instant::now());
        } else if since.elapsed() > patience {
            return Err(Stop::Failed(ChromeError::TimedOut {
                doing: "fetching the trace".to_owned(),
                after: patience,
                why: format!("the browser sent {} MB of it, then stopped", bytes / 1_000_000),
            }));
        }
    }
}

/// Why a trace is not complete.
enum Stop {
    Failed(ChromeError),
    Unwritten(io::Error),
}

impl From<ChromeError> for Stop {
    fn from(error: ChromeError) -> Self {
        Self::Failed(error)
    }
}

#[derive(Default)]
struct Progress {
    events: AtomicU64,
    bytes: AtomicU64,
    failed: Mutex<Option<io::Error>>,
}

/// A file that grows by events.
struct Writer {
    out: GzEncoder<BufWriter<File>>,
    bytes: u64,
    first: bool,
}

impl Writer {
    fn create(path: &Path, metadata: &Metadata) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 16, File::create_new(path)?);
        let mut out = GzEncoder::new(file, Compression::default());
        let head = format!("{{\"metadata\": {:#},\n\"traceEvents\": [\n", metadata.to_json());
        out.write_all(head.as_bytes())?;
        Ok(Self { out, bytes: head.len() as u64, first: true })
    }

    /// Adds some events as they are; returns how many bytes there are.
    fn events(&mut self, events: &[&RawValue], limit: Option<u64>) -> io::Result<u64> {
        for event in events {
            let between: &[u8] = if std::mem::take(&mut self.first) { b"" } else { b",\n" };
            self.out.write_all(between)?;
            self.out.write_all(event.get().as_bytes())?;
            self.bytes += (between.len() + event.get().len()) as u64;
            if limit.is_some_and(|limit| self.bytes > limit) {
                break;
            }
        }
        Ok(self.bytes)
    }

    fn finish(mut self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")?;
        self.out.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

impl Metadata {
    fn to_json(&self) -> Value {
        let micros = |seconds: f64| (seconds * 1e6).round() as i64;
        json!({
            "source": "DevTools",
            "startTime": iso(self.started),
            "hardwareConcurrency": std::thread::available_parallelism().map_or(1, usize::from),
            "dataOrigin": "TraceEvents",
            "cpuThrottling": self.cpu_throttle.unwrap_or(1.0),
            "perfblame": {
                "url": self.url,
                "browser": self.browser,
                // Microseconds, as the times of events.
                "start": micros(self.interval.start),
                "done": micros(self.interval.done),
                "end": micros(self.interval.end),
            },
        })
    }
}

/// As JavaScript writes times: `2026-11-15T22:47:45.123Z`.
fn iso(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        since.subsec_millis()
    )
}

/// The date so many days after 1970 began.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_javascript_writes_them() {
        let at = |millis| iso(SystemTime::UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399_999), "2000-02-28T23:59:59.999Z");
        assert_eq!(at(951_868_800_000), "2000-03-01T00:00:00.000Z");
        assert_eq!(at(1_794_696_465_123), "2026-11-14T22:47:45.123Z");
    }
}
