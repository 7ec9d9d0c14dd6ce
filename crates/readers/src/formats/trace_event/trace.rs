//! A trace while it is being read: each event goes where its phase says.

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FrameId, Function, Layer, Metric, MetricId, Profile, ProfileBuilder, Unit, position,
};

use super::async_spans::AsyncSpans;
use super::async_stacks::Hanging;
use super::event::{RawText, TraceEvent};
use super::json_path::{enter, number_in, string_in};
use super::spans::{ItemKind, Lane, SpanItem, SpanMetrics, WritingOrder};
use super::stack_samples::StackSamples;
use super::threads::{Key, TraceThreads};
use super::v8::{CpuProfiles, Piece};
use super::waits::{WaitMetrics, WaitStep, Waits};
use crate::encodings::json::{Cursor, JsonFault, JsonKind};
use crate::format::ReadOptions;
use crate::scripts::{ScriptNames, ScriptNaming, ScriptOptions, Scripts};
use crate::v8::{Gaps, Recorded, layer_of_url, sampled_metrics, split_location};

/// Everything known of a trace so far.
pub struct ChromeTrace<'a> {
    pub builder: ProfileBuilder,
    pub threads: TraceThreads,
    pub stack_samples: StackSamples,
    profiles: CpuProfiles,
    lanes: Vec<Lane>,
    lane_of: HashMap<Key, usize>,
    last_lane: Option<(Key, usize)>,
    order: WritingOrder,
    asyncs: AsyncSpans,
    waits: Waits,
    /// What the file says about scripts.
    pub scripts: Scripts,
    options: ScriptOptions<'a>,
    hanging: Hanging,
    frames: HashMap<Box<[u8]>, FrameId>,
    frame_key: Vec<u8>,
    sampled: (MetricId, MetricId),
    spans: SpanMetrics,
    async_time: MetricId,
    waited: WaitMetrics,
    /// Events so far.
    pub events: u64,
    without_duration: u64,
    script_events: u64,
    /// What of it was recorded; all unless the file says.
    recorded: Option<Recorded>,
    left_out: u64,
    first: i64,
    last: i64,
}

impl<'a> ChromeTrace<'a> {
    pub fn new(options: &ReadOptions<'a>) -> Self {
        let mut builder = options.builder();
        let sampled = sampled_metrics(&mut builder);
        let time = builder.metric(Metric::exact("events", Unit::Nanoseconds));
        let calls = builder.metric(Metric::exact("calls", Unit::Count));
        let async_time = builder.metric(Metric::exact("async", Unit::Nanoseconds));
        let waited = WaitMetrics {
            time: builder.metric(Metric::exact("waits", Unit::Nanoseconds)),
            count: builder.metric(Metric::exact("wait-count", Unit::Count)),
            idle: builder.metric(Metric::exact("wait-idle", Unit::Nanoseconds)),
        };
        Self {
            builder,
            threads: TraceThreads::default(),
            stack_samples: StackSamples::default(),
            profiles: CpuProfiles::new(options.scripts.async_stacks),
            lanes: Vec::new(),
            lane_of: HashMap::new(),
            last_lane: None,
            order: WritingOrder::default(),
            asyncs: AsyncSpans::default(),
            waits: Waits::default(),
            scripts: Scripts::default(),
            options: options.scripts,
            hanging: Hanging::default(),
            frames: HashMap::new(),
            frame_key: Vec::new(),
            sampled,
            spans: SpanMetrics { time, calls },
            async_time,
            waited,
            events: 0,
            without_duration: 0,
            script_events: 0,
            recorded: None,
            left_out: 0,
            first: i64::MAX,
            last: i64::MIN,
        }
    }

    /// Takes an event. Faults are those inside its arguments.
    pub fn event(&mut self, event: &TraceEvent<'_>) -> Result<(), JsonFault> {
        self.events += 1;
        let key = (self.threads.number(event.pid), self.threads.number(event.tid));
        match event.phase {
            b'X' | b'B' | b'E' => match event.time {
                Some(time) => {
                    self.span(event, key, time);
                    self.look(event, key, time)?;
                    if event.name.bytes == b"TimerFire" && event.phase != b'E' {
                        return self.wait(event, WaitStep::End, key);
                    }
                }
                None => self.damaged("a call without a time"),
            },
            b'b' | b'e' | b'S' | b'F' => match event.time {
                Some(time) => self.async_span(event, key, time),
                None => self.damaged("a span without a time"),
            },
            b'P' | b'I' | b'i' | b'R' => return self.instant(event, key),
            b'M' => return self.metadata(event, key),
            0 => self.damaged("an event without a phase"),
            b's' | b'f' if self.options.async_stacks => {
                self.without_duration += 1;
                if let (Some(time), Some(id)) = (event.time, event.id) {
                    self.hanging.flow(event.phase, event.name.bytes, key, time, id);
                }
            }
            _ => self.without_duration += 1,
        }
        Ok(())
    }

    /// Leaves out what is not part of the recording. Comes too late when there were events already.
    pub fn only(&mut self, recorded: Recorded) {
        if self.events == 0 {
            self.recorded = Some(recorded);
            self.profiles.only(recorded);
            self.waits.only(recorded);
        }
    }

    /// True when functions of scripts get names.
    pub fn names_scripts(&self) -> bool {
        self.options.names != ScriptNames::AsRecorded
    }

    /// Looks at calls that say more than how long they took.
    fn look(&mut self, event: &TraceEvent<'_>, key: Key, time: i64) -> Result<(), JsonFault> {
        let name = event.name.bytes;
        let Some(args) = event.args else { return Ok(()) };
        match name {
            b"ScriptCatchup" | b"ScriptCompiled" | b"LargeScriptCatchup" | b"StubScriptCatchup" => {
                self.script(key, args)?;
            }
            b"EvaluateScript" if self.names_scripts() && event.phase != b'E' => {
                let part = |name: &'static [u8]| number_in(Some(args), &[b"data", name]);
                let url = string_in(Some(args), &[b"data", b"url"])?;
                if let (Some(url), Some(line), Some(column)) =
                    (url, part(b"lineNumber")?, part(b"columnNumber")?)
                {
                    self.scripts.begins(&url, line, column);
                }
            }
            _ => {}
        }
        if self.options.async_stacks && event.phase == b'X' {
            let end = time.saturating_add(event.duration.unwrap_or(0).max(0));
            self.hanging.call(name, key, (time, end), args)?;
        }
        Ok(())
    }

    fn script(&mut self, key: Key, args: &[u8]) -> Result<(), JsonFault> {
        self.script_events += 1;
        if self.names_scripts() { self.scripts.event(key.0, args) } else { Ok(()) }
    }

    fn damaged(&mut self, what: &str) {
        self.builder.warn("damaged-records", || {
            format!("incomplete records were left out; the first is {what}")
        });
    }

    fn seen(&mut self, from: i64, to: i64) {
        self.first = self.first.min(from);
        self.last = self.last.max(to);
    }

    fn span(&mut self, event: &TraceEvent<'_>, key: Key, time: i64) {
        let lane = match self.last_lane {
            Some((last, lane)) if last == key => lane,
            _ => self.lane(key),
        };
        let (kind, end) = match event.phase {
            b'B' => (ItemKind::Begin, time),
            b'E' => (ItemKind::End, time),
            _ => {
                if event.duration.is_none() {
                    self.builder.warn("calls-without-duration", || {
                        "complete events without a duration count as calls that took no time"
                            .to_owned()
                    });
                }
                (ItemKind::Complete, time.saturating_add(event.duration.unwrap_or(0).max(0)))
            }
        };
        let (time, end) = match self.recorded {
            None => (time, end),
            // Calls that begin or end elsewhere reach to the edge.
            Some(recorded) if kind != ItemKind::Complete => {
                (recorded.nearest(time), recorded.nearest(end))
            }
            Some(recorded) => {
                let Some(part) = recorded.work(time, end) else {
                    self.left_out += 1;
                    return;
                };
                part
            }
        };
        let nameless = kind == ItemKind::End && event.name.bytes.is_empty();
        let frame = (!nameless).then(|| self.frame(event));
        self.seen(time, end);
        let Self { lanes, order, builder, spans, .. } = self;
        lanes[lane].push(SpanItem { time, end, frame, kind }, order, builder, *spans);
    }

    fn lane(&mut self, key: Key) -> usize {
        let Self { lanes, lane_of, threads, builder, .. } = self;
        let lane = *lane_of.entry(key).or_insert_with(|| {
            lanes.push(Lane::new(threads.get(key, builder)));
            lanes.len() - 1
        });
        self.last_lane = Some((key, lane));
        lane
    }

    fn async_span(&mut self, event: &TraceEvent<'_>, key: Key, time: i64) {
        let time = self.recorded.map_or(time, |recorded| recorded.nearest(time));
        let frame = self.frame(event);
        let category = event.category.text();
        let first = category.split(',').next().unwrap_or_default();
        let track = self.builder.string(&format!("async {first}"));
        let process = (!event.global_id).then_some(key.0);
        let span = self.asyncs.key(process, track, event.id.unwrap_or_default());
        self.seen(time, time);
        if matches!(event.phase, b'b' | b'S') {
            let thread = self.threads.track(key.0, track, &mut self.builder);
            let metrics = (self.async_time, self.spans.calls);
            self.asyncs.begin(span, (frame, thread), time, &mut self.builder, metrics);
        } else {
            self.asyncs.end(span, frame, time, &mut self.builder, self.async_time);
        }
    }

    fn instant(&mut self, event: &TraceEvent<'_>, key: Key) -> Result<(), JsonFault> {
        let time = event.time.unwrap_or(0);
        let piece = match event.name.bytes {
            b"Profile" => Piece::Start,
            b"ProfileChunk" => Piece::Chunk,
            b"CpuProfile" => Piece::Whole,
            b"TracingSessionIdForWorker" => return self.worker(event, key),
            b"TracingStartedInBrowser" => return self.page(event),
            b"ScriptCatchup" | b"ScriptCompiled" | b"LargeScriptCatchup" | b"StubScriptCatchup" => {
                self.without_duration += 1;
                return event.args.map_or(Ok(()), |args| self.script(key, args));
            }
            name => {
                self.without_duration += 1;
                if let Some(args) = event.args.filter(|_| self.options.async_stacks) {
                    self.hanging.ask(name, key, time, args)?;
                }
                return WaitStep::of(name).map_or(Ok(()), |step| self.wait(event, step, key));
            }
        };
        let Some(args) = event.args else { return Ok(()) };
        let id = event.id.unwrap_or_default();
        self.seen(time, time);
        self.profiles.read(piece, key, (id, time), args, &mut self.builder)
    }

    fn wait(&mut self, event: &TraceEvent<'_>, step: WaitStep, key: Key) -> Result<(), JsonFault> {
        let (Some(time), Some(args)) = (event.time, event.args) else { return Ok(()) };
        self.waits.read(step, key, time, args, &mut self.builder)
    }

    fn metadata(&mut self, event: &TraceEvent<'_>, key: Key) -> Result<(), JsonFault> {
        let wanted: &[u8] = match event.name.bytes {
            b"thread_name" | b"process_name" => b"name",
            b"process_labels" => b"labels",
            _ => return Ok(()),
        };
        let Some(name) = string_in(event.args, &[wanted])? else { return Ok(()) };
        if name.is_empty() {
            return Ok(());
        }
        match event.name.bytes {
            b"thread_name" => {
                let name = self.builder.string(&name);
                self.threads.name(key, name);
            }
            b"process_name" => {
                let name = self.builder.string(&name);
                self.threads.name_process(key.0, name);
            }
            _ => self.label("process", &name),
        }
        Ok(())
    }

    /// A worker's own address tells it from its fellows of the same thread name; one made from a blob is new each time.
    fn worker(&mut self, event: &TraceEvent<'_>, key: Key) -> Result<(), JsonFault> {
        self.without_duration += 1;
        let thread = number_in(event.args, &[b"data", b"workerThreadId"])?;
        let url = string_in(event.args, &[b"data", b"url"])?;
        if let (Some(thread), Some(url)) = (thread, url)
            && !url.is_empty()
            && !url.starts_with("blob:")
        {
            let url = self.builder.string(&url);
            self.threads.group((key.0, thread), url);
        }
        Ok(())
    }

    fn page(&mut self, event: &TraceEvent<'_>) -> Result<(), JsonFault> {
        self.without_duration += 1;
        let mut cursor = Cursor::new(event.args.unwrap_or(b"{}"));
        if !enter(&mut cursor, b"data")? || !enter(&mut cursor, b"frames")? {
            return Ok(());
        }
        if cursor.peek()? != JsonKind::Array {
            return Ok(());
        }
        cursor.begin_array()?;
        while cursor.next_element()? {
            let frame = cursor.raw_value()?;
            let url = string_in(Some(frame), &[b"url"])?.unwrap_or_default();
            if !url.is_empty() && !url.starts_with("about:") && self.builder.info.command.is_none()
            {
                self.builder.info.command = Some(url);
            }
        }
        Ok(())
    }

    /// Something the file says about itself.
    pub fn label(&mut self, key: &str, text: &str) {
        self.builder.info.labels.push((key.to_owned(), text.to_owned()));
    }

    /// The frame of an event's name and category.
    fn frame(&mut self, event: &TraceEvent<'_>) -> FrameId {
        // Hermes' arguments hold little else; Chrome's are long and never looked at here.
        let hermes = event.args.filter(|args| args.len() < 4096 && contains(args, b"\"funcLine\""));
        self.frame_key.clear();
        self.frame_key.extend_from_slice(event.name.bytes);
        self.frame_key.push(0);
        // py-spy's category is its own name.
        let is_py_spy = event.category.bytes == b"py-spy";
        let file = event.args.filter(|_| is_py_spy);
        let file = file.and_then(|args| string_in(Some(args), &[b"filename"]).ok().flatten());
        self.frame_key.extend_from_slice(match (hermes, &file) {
            (Some(args), _) => args,
            (None, Some(file)) => file.as_bytes(),
            (None, None) => event.category.bytes,
        });
        if let Some(frame) = self.frames.get(&*self.frame_key) {
            return *frame;
        }
        let function = match hermes.and_then(|args| self.hermes_function(event.name, args).ok()) {
            Some(function) => function,
            None if is_py_spy => {
                let component = file.map(|file| self.builder.string(&file));
                Function { component, ..Function::named(self.builder.string(&event.name.text())) }
            }
            None => self.named_function(event),
        };
        let function = self.builder.function(function);
        let frame = self.builder.frame(Frame::of(function));
        self.frames.insert(self.frame_key.as_slice().into(), frame);
        frame
    }

    fn named_function(&mut self, event: &TraceEvent<'_>) -> Function {
        let (name, category) = (event.name.text(), event.category.text());
        if let Some((name, file, line, column)) = split_location(&name) {
            return Function {
                component: Some(self.builder.string(file)),
                line: line.and_then(position),
                column: column.and_then(position),
                ..Function::named(self.builder.string(name))
            };
        }
        let function = Function::named(self.builder.string(&name));
        // VizTracer's functions without a file are the interpreter's; its category says nothing.
        if category.eq_ignore_ascii_case("fee") {
            return function.in_layer(Layer::Runtime);
        }
        let layer = layer_of_event(&name, &category);
        let component = (!category.is_empty()).then(|| self.builder.string(&category));
        Function { component, layer, ..function }
    }

    /// Hermes puts the place of a function into the arguments.
    fn hermes_function(&mut self, name: RawText<'_>, args: &[u8]) -> Result<Function, JsonFault> {
        let url = string_in(Some(args), &[b"url"])?.unwrap_or_default();
        let line = number_in(Some(args), &[b"funcLine"])?;
        let column = number_in(Some(args), &[b"funcColumn"])?;
        let at = |number: Option<i64>| number.and_then(|number| position(number.try_into().ok()?));
        let component = (!url.is_empty()).then(|| self.builder.string(&url));
        let name = self.builder.string(&name.text());
        let layer = layer_of_url(&url, line.is_some());
        let function = Function::named(name).in_layer(layer);
        Ok(Function { component, line: at(line), column: at(column), ..function })
    }

    /// Everything is read.
    pub fn finish(mut self) -> Profile {
        let builder = &mut self.builder;
        let sampled = self.profiles.any() || self.stack_samples.any();
        let mut gaps = Gaps::default();
        self.profiles.close(builder);
        let uses = self.profiles.uses(builder);
        let mut naming = ScriptNaming::new(self.scripts, self.options, uses, builder);
        self.waits.locate(&mut naming, builder);
        let names = naming.finish(&self.profiles.positions(builder), builder);
        self.profiles.rename(&names, builder);
        self.profiles.finish(builder, &mut self.threads, self.sampled, &mut gaps);
        if self.options.async_stacks {
            self.hanging.finish(builder, &mut self.profiles, &mut self.threads, self.sampled);
        }
        let sampled_span = self.stack_samples.span();
        self.stack_samples.finish(builder, &mut self.threads, self.sampled, &mut gaps);
        for lane in &mut self.lanes {
            lane.finish(builder, self.spans);
        }
        self.asyncs.finish(builder);
        let known = (&mut self.profiles, &names);
        self.waits.finish(builder, known, &mut self.threads, self.waited);
        self.threads.finish(builder);
        let (wall, samples) = self.sampled;
        let SpanMetrics { time, calls } = self.spans;
        if let Some(period) = gaps.median() {
            let metric = Metric::sampled("wall", Unit::Nanoseconds).with_period(period);
            builder.update_metric(wall, metric);
        }
        let mut keep = Vec::new();
        if sampled {
            keep.extend([wall, samples]);
        } else {
            builder.update_metric(time, Metric::exact("wall", Unit::Nanoseconds));
        }
        if !sampled || !self.lanes.is_empty() || self.asyncs.any {
            keep.extend([time, calls]);
        }
        keep.extend(self.asyncs.any.then_some(self.async_time));
        if self.waits.any() {
            keep.extend([self.waited.time, self.waited.count]);
            keep.extend(self.profiles.any().then_some(self.waited.idle));
        }
        builder.choose_metrics(&keep);
        let mut label = |key: &str, count: u64| {
            if count > 0 {
                builder.info.labels.push((key.to_owned(), count.to_string()));
            }
        };
        label("events", self.events);
        label("events without duration", self.without_duration);
        label("scripts", self.script_events);
        label("calls outside of the recording", self.left_out);
        label("samples outside of the recording", self.profiles.left_out());
        builder.info.labels.sort();
        builder.info.labels.dedup();
        if let Some((first, last)) = sampled_span {
            self.first = self.first.min(first);
            self.last = self.last.max(last);
        }
        if let Some(recorded) = self.recorded {
            builder.info.duration = Some(recorded.duration());
        } else if self.first <= self.last {
            builder.info.duration = Some(self.last.saturating_sub(self.first));
        }
        self.builder.finish()
    }
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    memchr::memmem::find(bytes, what).is_some()
}

/// Whose time an event of Chrome is. Its categories are the browser's own, but for those that carry the page's marks
/// and calls into the page's code; other writers' events are the program's.
fn layer_of_event(name: &str, category: &str) -> Layer {
    const BROWSER: [&str; 12] = [
        "devtools",
        "disabled-by-default",
        "toplevel",
        "blink",
        "v8",
        "cc",
        "viz",
        "gpu",
        "loading",
        "ipc",
        "mojom",
        "base",
    ];
    const PAGE: [&str; 3] = ["blink.user_timing", "blink.console", "user_timing"];
    if matches!(name, "FunctionCall" | "EvaluateScript") || PAGE.contains(&category) {
        return Layer::Application;
    }
    if matches!(name, "MinorGC" | "MajorGC" | "[GC Young Gen]" | "GCEvent")
        || name.starts_with("V8.GC")
        || name.starts_with("BlinkGC")
        || name.starts_with("CppGC")
    {
        return Layer::GarbageCollection;
    }
    let first = category.split(',').next().unwrap_or_default();
    let family = first.split(['.', '_']).next().unwrap_or_default();
    let browser = BROWSER.contains(&family) || first.starts_with("disabled-by-default");
    if browser { Layer::Runtime } else { Layer::Application }
}
