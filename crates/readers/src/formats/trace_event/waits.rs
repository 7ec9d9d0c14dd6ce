//! Time between asking and being called back: from `TimerInstall` to the first `TimerFire` of the same timer, and from
//! `ResourceSendRequest` to `ResourceFinish` of the same request. A page that waits computes nothing, so no sample and
//! no call shows it.
//!
//! The time goes to the function that asked, in the context that the event's own stack gives. Stacks come innermost
//! first, with the places of calls in place of where functions start: a function that the CPU profiles know under the
//! same name and address, and no other one, lends its start. Promises are mostly made with a function that has no name
//! (`new Promise((done) => setTimeout(done, 20))`); what such a function asks for counts as its caller's.
//!
//! A timer counts for at most the time it was set to: what it fires later, its thread was busy.
//! Work may go on meanwhile; the CPU profile of the thread that asked tells in how much of the time it did not.
//! Timers that were removed or never fired, and all but the first firing of an interval, count nothing; nor does what
//! nobody's code asked for, such as a picture that the page's text names.

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FrameId, Function, FunctionId, MetricId, ProfileBuilder, StringId, position,
};

use super::threads::{Key, TraceThreads};
use super::v8::CpuProfiles;
use crate::encodings::json::{Cursor, JsonFault, JsonKind, Number};
use crate::scripts::{ResolvedNames, ScriptNaming, Use};
use crate::v8::{Recorded, layer_of_url};

/// Frames of a stack that are kept; browsers cut theirs at 200 or less.
const DEPTH: usize = 1024;

/// What is waited for, and what was waited.
#[derive(Default, Debug)]
pub struct Waits {
    /// What of the trace was recorded; all unless said.
    recorded: Option<Recorded>,
    open: HashMap<WaitSubject, OpenWait>,
    /// Ends whose beginnings have not come; files are not always in order.
    early: HashMap<WaitSubject, i64>,
    stacks: HashMap<(Box<[StackCall]>, Option<i64>), usize>,
    /// In the order of the file.
    stack_rows: Vec<(Box<[StackCall]>, Option<i64>)>,
    /// When.
    waited: HashMap<(usize, Key), Vec<(i64, i64)>>,
    names: Vec<(usize, Key)>,
    /// Calls of a process with the functions they are in.
    located: HashMap<(i64, StackCall), Use>,
}

/// What waits are written down as.
#[derive(Clone, Copy, Debug)]
pub struct WaitMetrics {
    /// How long was waited.
    pub time: MetricId,
    /// For how many timers and requests.
    pub count: MetricId,
    /// The part of the time in which the thread that asked had nothing else to do.
    pub idle: MetricId,
}

/// A timer of a thread and page, or a request of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum WaitSubject {
    Timer(Key, Box<[u8]>, i64),
    Request(i64, Box<[u8]>),
}

#[derive(Clone, Copy, Debug)]
struct OpenWait {
    since: i64,
    stack: usize,
    thread: Key,
    /// What was asked for, in nanoseconds. A timer that fires later had to wait for its thread, which shows elsewhere.
    most: i64,
}

/// A frame of a stack: the line is where it calls the next one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct StackCall {
    name: StringId,
    url: StringId,
    line: u32,
    column: u32,
    script: i64,
}

/// What an event says about a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitStep {
    /// `TimerInstall`, `ResourceSendRequest`
    Begin,
    /// `TimerFire`, `ResourceFinish`
    End,
    /// `TimerRemove`
    Cancel,
}

impl WaitStep {
    /// What an event of this name says.
    pub fn of(name: &[u8]) -> Option<Self> {
        match name {
            b"TimerInstall" | b"ResourceSendRequest" => Some(Self::Begin),
            b"TimerFire" | b"ResourceFinish" => Some(Self::End),
            b"TimerRemove" => Some(Self::Cancel),
            _ => None,
        }
    }
}

impl Waits {
    /// Leaves out what is not part of the recording; to be said before the first event.
    pub fn only(&mut self, recorded: Recorded) {
        self.recorded = Some(recorded);
    }

    /// True when anything was waited for.
    pub fn any(&self) -> bool {
        !self.names.is_empty()
    }

    /// Takes an event's arguments.
    pub fn read(
        &mut self,
        step: WaitStep,
        thread: Key,
        time: i64,
        args: &[u8],
        builder: &mut ProfileBuilder,
    ) -> Result<(), JsonFault> {
        let mut read = Arguments::default();
        read.object(&mut Cursor::new(args), builder)?;
        let subject = match (read.timer, read.request) {
            (Some(timer), _) => WaitSubject::Timer(thread, read.page.into(), timer),
            (None, Some(request)) => WaitSubject::Request(thread.0, request.into()),
            (None, None) => return Ok(()),
        };
        match step {
            WaitStep::Begin => {
                let early = self.early.remove(&subject).filter(|end| *end >= time);
                let calls = kept(&read.stack, builder);
                if calls.is_empty() {
                    // Whoever had the number before will not be called back any more.
                    self.open.remove(&subject);
                    return Ok(());
                }
                let most = read.timeout.map_or(i64::MAX, |ms| ms.saturating_mul(1_000_000));
                let stack = self.stack(calls, read.moment);
                let open = OpenWait { since: time, stack, thread, most };
                match early {
                    Some(end) => self.waited(open, end),
                    None => drop(self.open.insert(subject, open)),
                }
            }
            WaitStep::End => match self.open.remove(&subject) {
                Some(open) if open.since <= time => self.waited(open, time),
                _ => drop(self.early.entry(subject).or_insert(time)),
            },
            WaitStep::Cancel => drop(self.open.remove(&subject)),
        }
        Ok(())
    }

    fn stack(&mut self, calls: &[StackCall], moment: Option<i64>) -> usize {
        let key = (Box::from(calls), moment);
        if let Some(row) = self.stacks.get(&key) {
            return *row;
        }
        self.stacks.insert(key.clone(), self.stack_rows.len());
        self.stack_rows.push(key);
        self.stack_rows.len() - 1
    }

    fn waited(&mut self, open: OpenWait, end: i64) {
        let most = open.since.saturating_add(open.most.max(0));
        let (since, end) = (open.since, end.clamp(open.since, most));
        let part = match self.recorded {
            Some(recorded) => recorded.work(since, end),
            None => Some((since, end)),
        };
        let Some((since, end)) = part else { return };
        let key = (open.stack, open.thread);
        let times = self.waited.entry(key).or_insert_with(|| {
            self.names.push(key);
            Vec::new()
        });
        times.push((since, end));
    }

    /// Finds the functions that calls are in, where the scripts' texts tell.
    pub fn locate(&mut self, naming: &mut ScriptNaming<'_>, builder: &mut ProfileBuilder) {
        for (stack, thread) in &self.names {
            for call in &self.stack_rows[*stack].0 {
                let key = (thread.0, *call);
                if !self.located.contains_key(&key) {
                    let script = ((thread.0, call.script), call.url);
                    let place = (call.line, call.column);
                    if let Some(of) = naming.function_around(script, call.name, place, builder) {
                        self.located.insert(key, of);
                    }
                }
            }
        }
    }

    /// Hands everything to the builder, once it knows all functions of the CPU profiles. Those know the whole stack of
    /// the moment in newer traces, whose own stacks end early.
    pub fn finish(
        &self,
        builder: &mut ProfileBuilder,
        (profiles, names): (&mut CpuProfiles, &ResolvedNames),
        threads: &mut TraceThreads,
        metrics: WaitMetrics,
    ) {
        if !self.any() {
            return;
        }
        let known = known_functions(builder);
        let mut frames: HashMap<(i64, StackCall), FrameId> = HashMap::new();
        for (stack, thread) in &self.names {
            let (calls, moment) = &self.stack_rows[*stack];
            let mut at = moment.and_then(|moment| profiles.asking_at(thread.0, moment, builder));
            let is_whole = at.is_some();
            for call in calls.iter().rev().filter(|_| !is_whole) {
                let key = (thread.0, *call);
                let frame = *frames.entry(key).or_insert_with(|| match self.located.get(&key) {
                    Some(of) => builder.frame(Frame::of(names.function(*of))),
                    None => frame_of(*call, &known, builder),
                });
                at = Some(match at {
                    Some(caller) => builder.child(caller, frame),
                    None => builder.root(frame),
                });
            }
            let times = self.waited.get(&(*stack, *thread)).map_or(&[][..], Vec::as_slice);
            let (mut time, mut idle) = (0i64, 0i64);
            for (since, end) in times {
                let waited = end.saturating_sub(*since);
                time = time.saturating_add(waited);
                // Of a thread without a profile nothing is known that it could have done.
                let nothing = profiles.idle_within(*thread, (*since, *end)).unwrap_or(waited);
                idle = idle.saturating_add(nothing);
            }
            if let Some(at) = at {
                let thread = threads.get(*thread, builder);
                builder.add(at, Some(thread), metrics.time, time);
                builder.add(at, Some(thread), metrics.count, times.len() as i64);
                builder.add(at, Some(thread), metrics.idle, idle);
            }
        }
    }
}

/// A stack, innermost first, without the nameless functions that stand inside the function that asked.
fn kept<'c>(stack: &'c [StackCall], builder: &ProfileBuilder) -> &'c [StackCall] {
    let nameless = |call: &&StackCall| builder.symbols.text(call.name).is_empty();
    let inner = stack.iter().take_while(nameless).count();
    match stack.get(inner) {
        Some(named) if stack[..inner].iter().all(|call| call.url == named.url) => &stack[inner..],
        _ => stack,
    }
}

/// Functions by name and address; none where several share them.
type Known = HashMap<(StringId, StringId), Option<FunctionId>>;

fn known_functions(builder: &ProfileBuilder) -> Known {
    let mut known = Known::new();
    for (id, function) in builder.symbols.functions() {
        let (Some(url), Some(_)) = (function.component, function.line) else { continue };
        known.entry((function.name, url)).and_modify(|one| *one = None).or_insert(Some(id));
    }
    known
}

fn frame_of(call: StackCall, known: &Known, builder: &mut ProfileBuilder) -> FrameId {
    let nameless = builder.symbols.text(call.name).is_empty();
    // One nameless function that was sampled says nothing about all the others of its script.
    let found = known.get(&(call.name, call.url)).copied().flatten().filter(|found| {
        let start = builder.symbols.function(*found).line.map_or(0, std::num::NonZero::get);
        !nameless && (call.line == 0 || start <= call.line)
    });
    let function = found.unwrap_or_else(|| {
        let url = builder.symbols.text(call.url);
        let layer = layer_of_url(url, true);
        let component = (!url.is_empty()).then_some(call.url);
        let function = Function::named(call.name).in_layer(layer);
        builder.function(Function { component, ..function })
    });
    builder.frame(Frame::of(function))
}

/// What is known of a wait from an event's arguments, wherever in them it stands.
#[derive(Default)]
struct Arguments<'a> {
    timer: Option<i64>,
    /// In milliseconds.
    timeout: Option<i64>,
    request: Option<&'a [u8]>,
    page: &'a [u8],
    stack: Vec<StackCall>,
    /// What CPU profiles call the moment.
    moment: Option<i64>,
}

impl<'a> Arguments<'a> {
    /// Walks the objects that Chrome's versions have put stacks into: `data`, `beginData`, `initiator` and its `stack`.
    fn object(
        &mut self,
        cursor: &mut Cursor<'a>,
        builder: &mut ProfileBuilder,
    ) -> Result<(), JsonFault> {
        if cursor.peek()? != JsonKind::Object {
            return Ok(());
        }
        cursor.begin_object()?;
        let mut inside = 0;
        loop {
            let Some(key) = cursor.next_raw_key()? else {
                if inside == 0 {
                    return Ok(());
                }
                inside -= 1;
                continue;
            };
            match (key, cursor.peek()?) {
                (b"data" | b"beginData" | b"initiator" | b"stack", JsonKind::Object) => {
                    cursor.begin_object()?;
                    inside += 1;
                }
                (b"timerId", _) => {
                    self.timer = cursor.lenient_number()?.and_then(Number::as_i64);
                }
                (b"timeout", _) => {
                    self.timeout = cursor.lenient_number()?.and_then(Number::as_i64);
                }
                (b"sampleTraceId", _) => {
                    self.moment = cursor.lenient_number()?.and_then(Number::as_i64);
                }
                (b"requestId", _) => self.request = Some(cursor.raw_value()?),
                (b"frame", _) => self.page = cursor.raw_value()?,
                (b"stackTrace", JsonKind::Array) => self.calls(cursor, 0, builder)?,
                // The protocol's lines count from 0.
                (b"callFrames", JsonKind::Array) => self.calls(cursor, 1, builder)?,
                _ => cursor.skip_value()?,
            }
        }
    }

    fn calls(
        &mut self,
        cursor: &mut Cursor<'a>,
        first_line: i64,
        builder: &mut ProfileBuilder,
    ) -> Result<(), JsonFault> {
        // The same stack may stand in two places.
        self.stack.clear();
        cursor.begin_array()?;
        while cursor.next_element()? {
            if cursor.peek()? != JsonKind::Object || self.stack.len() >= DEPTH {
                cursor.skip_value()?;
                continue;
            }
            let empty = builder.string("");
            let mut call = StackCall { name: empty, url: empty, line: 0, column: 0, script: 0 };
            cursor.begin_object()?;
            while let Some(key) = cursor.next_raw_key()? {
                match key {
                    b"functionName" => {
                        call.name = builder.string(&cursor.lenient_string()?.unwrap_or_default());
                    }
                    b"url" => {
                        call.url = builder.string(&cursor.lenient_string()?.unwrap_or_default());
                    }
                    b"lineNumber" => call.line = from_one(cursor, first_line)?,
                    b"columnNumber" => call.column = from_one(cursor, first_line)?,
                    b"scriptId" => {
                        let script = cursor.lenient_number()?.and_then(Number::as_i64);
                        call.script = script.unwrap_or(0);
                    }
                    _ => cursor.skip_value()?,
                }
            }
            self.stack.push(call);
        }
        Ok(())
    }
}

/// A line or column, counted from 1; 0 for none.
fn from_one(cursor: &mut Cursor<'_>, first: i64) -> Result<u32, JsonFault> {
    let number = cursor.lenient_number()?.and_then(Number::as_i64);
    let number = number.and_then(|number| number.checked_add(first)?.try_into().ok());
    Ok(number.and_then(position).map_or(0, std::num::NonZero::get))
}

#[cfg(test)]
mod tests {
    use perfblame_cct::Profile;

    use crate::{Input, ReadOptions, read};

    const APP: &str = r#""url":"http://a/app.js""#;

    fn event(name: &str, phase: &str, time: i64, args: &str) -> String {
        format!(
            r#"{{"name":"{name}","ph":"{phase}","cat":"devtools.timeline","pid":1,"tid":2,"ts":{time},"dur":5,"args":{args}}}"#
        )
    }

    fn install(time: i64, timer: i64, functions: &[&str]) -> String {
        let call = |name: &&str| format!(r#"{{"functionName":"{name}",{APP},"lineNumber":9}}"#);
        let calls: Vec<String> = functions.iter().map(call).collect();
        let stack = calls.join(",");
        let args =
            format!(r#"{{"data":{{"timerId":{timer},"frame":"F","stackTrace":[{stack}]}}}}"#);
        event("TimerInstall", "I", time, &args)
    }

    fn of_timer(name: &str, phase: &str, time: i64, timer: i64) -> String {
        event(name, phase, time, &format!(r#"{{"data":{{"timerId":{timer},"frame":"F"}}}}"#))
    }

    fn profile(events: &[String]) -> Profile {
        let text = format!(r#"{{"traceEvents":[{}]}}"#, events.join(","));
        read(Input::from_bytes(text.into_bytes()).unwrap(), &ReadOptions::default()).unwrap()
    }

    /// Path, start line and microseconds of every context that waited.
    fn waits(events: &[String]) -> Vec<(String, Option<u32>, i64)> {
        let profile = profile(events);
        let Some(row) = profile.metrics.iter().position(|metric| metric.name == "waits") else {
            return Vec::new();
        };
        let own = profile.self_values(perfblame_cct::MetricId::new(row));
        let nodes = profile.tree.nodes().filter(|node| own[node.index()] != 0);
        let shown = nodes.map(|node| {
            let names: Vec<&str> =
                profile.tree.path(node).into_iter().map(|at| profile.name_of(at)).collect();
            let line = profile.symbols.function(profile.function_of(node)).line;
            (names.join(" > "), line.map(std::num::NonZero::get), own[node.index()] / 1000)
        });
        shown.collect()
    }

    #[test]
    fn a_timer_waits_for_whoever_installed_it() {
        let events = [
            install(100, 1, &["", "sleep", "load"]),
            install(150, 2, &["sleep", "draw"]),
            of_timer("TimerFire", "X", 400, 1),
            of_timer("TimerFire", "X", 450, 2),
            // An interval's later firings.
            of_timer("TimerFire", "X", 950, 2),
        ];
        let expected =
            [("load > sleep".to_owned(), None, 300), ("draw > sleep".to_owned(), None, 300)];
        let mut found = waits(&events);
        found.sort_by(|a, b| b.0.cmp(&a.0));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_late_timer_counts_for_what_was_asked() {
        let late =
            install(0, 1, &["sleep"]).replace(r#""timerId":1"#, r#""timerId":1,"timeout":20"#);
        let events = [late, of_timer("TimerFire", "X", 400_000, 1)];
        assert_eq!(waits(&events), [("sleep".to_owned(), None, 20_000)]);
    }

    #[test]
    fn what_is_removed_or_never_fires_or_has_no_stack_counts_nothing() {
        let events = [
            install(100, 1, &["sleep"]),
            of_timer("TimerRemove", "I", 200, 1),
            of_timer("TimerFire", "X", 300, 1),
            install(400, 2, &["sleep"]),
            install(400, 3, &[]),
            of_timer("TimerFire", "X", 500, 3),
        ];
        assert_eq!(waits(&events), []);
        let names: Vec<String> =
            profile(&events).metrics.into_iter().map(|metric| metric.name).collect();
        assert_eq!(names, ["wall", "calls"]);
    }

    #[test]
    fn events_need_not_be_in_order_and_numbers_come_again() {
        let events = [
            of_timer("TimerFire", "X", 300, 1),
            install(100, 1, &["first"]),
            // After another page was loaded into the frame.
            install(1000, 1, &["second"]),
            of_timer("TimerFire", "X", 1050, 1),
        ];
        let expected = [("first".to_owned(), None, 200), ("second".to_owned(), None, 50)];
        let mut found = waits(&events);
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn requests_wait_for_whoever_sent_them() {
        let stack = format!(r#"[{{"functionName":"fetchAll",{APP},"lineNumber":3}}]"#);
        let send = |id: u32, inner: &str| {
            event(
                "ResourceSendRequest",
                "I",
                100,
                &format!(r#"{{"data":{{"requestId":"{id}",{inner}}}}}"#),
            )
        };
        let finish = |id: u32| {
            event("ResourceFinish", "I", 170, &format!(r#"{{"data":{{"requestId":"{id}"}}}}"#))
        };
        let events = [
            send(1, &format!(r#""stackTrace":{stack}"#)),
            send(
                2,
                &format!(r#""initiator":{{"type":"script","stack":{{"callFrames":{stack}}}}}"#),
            ),
            send(3, r#""initiator":{"type":"parser"}"#),
            finish(1),
            finish(2),
            finish(3),
        ];
        assert_eq!(waits(&events), [("fetchAll".to_owned(), None, 140)]);
    }

    #[test]
    fn a_function_the_profile_knows_lends_its_line() {
        let node = |id: u32, parent: &str, name: &str, line: u32| {
            format!(
                r#"{{"id":{id},{parent}"callFrame":{{"functionName":"{name}",{APP},"lineNumber":{line},"columnNumber":0}}}}"#
            )
        };
        let nodes = [
            node(1, "", "(root)", 0),
            node(2, r#""parent":1,"#, "sleep", 6),
            node(3, r#""parent":1,"#, "twice", 1),
            node(4, r#""parent":1,"#, "twice", 2),
            node(5, r#""parent":1,"#, "later", 20),
        ];
        let args = format!(
            r#"{{"data":{{"cpuProfile":{{"nodes":[{}],"samples":[2,3,4,5]}},"timeDeltas":[1,1,1,1]}}}}"#,
            nodes.join(",")
        );
        let chunk = event("ProfileChunk", "P", 1, &args).replace(r#""ts""#, r#""id":"0x1","ts""#);
        let mut events = vec![chunk];
        for (timer, name) in (1..).zip(["sleep", "twice", "later"]) {
            events.push(install(100, timer, &[name]));
            events.push(of_timer("TimerFire", "X", 100 + timer, timer));
        }
        let mut found = waits(&events);
        found.sort();
        let expected = [
            // Begins after the call that would be in it.
            ("later".to_owned(), None, 3),
            ("sleep".to_owned(), Some(7), 1),
            ("twice".to_owned(), None, 2),
        ];
        assert_eq!(found, expected);
    }
}
