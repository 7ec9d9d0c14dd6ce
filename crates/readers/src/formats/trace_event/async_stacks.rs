//! Callbacks under those who asked for them: what a timer calls hangs below the function that set it, with a frame such
//! as `(timer)` between the two.
//!
//! A trace links them in three ways: timers and animation frames have numbers; tasks of the inspector have arrows
//! (flows) from where they were scheduled to where they run; and each such moment has a number under which the CPU
//! profile knows the stack. Samples then belong to the innermost callback that was running when they were taken.
//!
//! Whoever asked was mostly called back too, so callbacks hang under callbacks, in the order of time. A function that
//! asks again and again from its own callback hangs under its first request: chains of timers would have no end.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use perfblame_cct::{Cursor as Context, Layer, MetricId, OpenNode, ProfileBuilder, ThreadId};

use super::json_path::{number_in, string_in};
use super::threads::{Key, TraceThreads};
use super::v8::CpuProfiles;
use crate::encodings::json::JsonFault;

/// Requests and callbacks.
#[derive(Default, Debug)]
pub struct Hanging {
    /// Requests by what they will be called back for, in the order of the file.
    requests: BTreeMap<Subject, Vec<Request>>,
    callbacks: Vec<Callback>,
    /// Tasks that were scheduled, by thread and time, and their arrows.
    scheduled: HashMap<(Key, i64), (i64, String)>,
    arrow_from: HashMap<Arrow, Vec<(Key, i64)>>,
    arrow_to: HashMap<(Key, i64), Arrow>,
}

/// An arrow of a process, by its number.
type Arrow = (i64, Box<[u8]>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Subject {
    Timer(Key, String, i64),
    Frame(Key, String, i64),
}

#[derive(Clone, Copy, Debug)]
struct Request {
    time: i64,
    moment: i64,
}

#[derive(Debug)]
struct Callback {
    thread: Key,
    start: i64,
    end: i64,
    /// What it is for; none for a task, which an arrow leads to.
    subject: Option<Subject>,
}

/// A callback whose requester is known.
struct Linked {
    start: i64,
    end: i64,
    kind: String,
    process: i64,
    request: Request,
    asked_on: Key,
}

impl Hanging {
    /// Something was asked for.
    pub fn ask(
        &mut self,
        name: &[u8],
        thread: Key,
        time: i64,
        args: &[u8],
    ) -> Result<(), JsonFault> {
        let number: &[u8] = match name {
            b"TimerInstall" => b"timerId",
            b"RequestAnimationFrame" => b"id",
            _ => return Ok(()),
        };
        let part = |name: &[u8]| number_in(Some(args), &[b"data", name]);
        let page = string_in(Some(args), &[b"data", b"frame"])?.unwrap_or_default();
        if let (Some(number), Some(moment)) = (part(number)?, part(b"sampleTraceId")?) {
            let subject = match name {
                b"TimerInstall" => Subject::Timer(thread, page, number),
                _ => Subject::Frame(thread, page, number),
            };
            self.requests.entry(subject).or_default().push(Request { time, moment });
        }
        Ok(())
    }

    /// A call that may be a callback, or schedule one.
    pub fn call(
        &mut self,
        name: &[u8],
        thread: Key,
        (start, end): (i64, i64),
        args: &[u8],
    ) -> Result<(), JsonFault> {
        let subject = match name {
            b"TimerFire" | b"FireAnimationFrame" => {
                let is_timer = name == b"TimerFire";
                let number: &[u8] = if is_timer { b"timerId" } else { b"id" };
                let page = string_in(Some(args), &[b"data", b"frame"])?.unwrap_or_default();
                let Some(number) = number_in(Some(args), &[b"data", number])? else {
                    return Ok(());
                };
                Some(if is_timer {
                    Subject::Timer(thread, page, number)
                } else {
                    Subject::Frame(thread, page, number)
                })
            }
            b"v8::Debugger::AsyncTaskScheduled" => {
                let moment = number_in(Some(args), &[b"data", b"sampleTraceId"])?;
                let task = string_in(Some(args), &[b"taskName"])?;
                if let (Some(moment), Some(task)) = (moment, task) {
                    self.scheduled.insert((thread, start), (moment, task));
                }
                return Ok(());
            }
            b"v8::Debugger::AsyncTaskRun" => None,
            _ => return Ok(()),
        };
        self.callbacks.push(Callback { thread, start, end, subject });
        Ok(())
    }

    /// An arrow begins or ends.
    pub fn flow(&mut self, phase: u8, name: &[u8], thread: Key, time: i64, id: &[u8]) {
        if name != b"v8::Debugger::AsyncTaskScheduled" {
            return;
        }
        let arrow = (thread.0, Box::from(id));
        if phase == b's' {
            self.arrow_from.entry(arrow).or_default().push((thread, time));
        } else {
            self.arrow_to.insert((thread, time), arrow);
        }
    }

    /// Hands all samples to the builder, each below whoever asked for it.
    pub fn finish(
        &mut self,
        builder: &mut ProfileBuilder,
        profiles: &mut CpuProfiles,
        threads: &mut TraceThreads,
        metrics: (MetricId, MetricId),
    ) {
        for requests in self.requests.values_mut() {
            requests.sort_by_key(|request| request.time);
        }
        let mut callbacks = std::mem::take(&mut self.callbacks);
        // Outer ones first.
        callbacks.sort_by_key(|callback| (callback.start, std::cmp::Reverse(callback.end)));
        let mut linked: BTreeMap<Key, Vec<Linked>> = BTreeMap::new();
        for callback in &callbacks {
            if let Some(link) = self.linked(callback) {
                linked.entry(callback.thread).or_default().push(link);
            }
        }
        let mut trees: Vec<_> = profiles.trees().collect();
        // Contexts that callbacks hang below, by thread and row of the callback.
        let mut below: HashMap<(Key, usize), Context> = HashMap::new();
        let mut order: Vec<(i64, Key, usize)> = Vec::new();
        for (thread, links) in &linked {
            order.extend(links.iter().enumerate().map(|(row, link)| (link.start, *thread, row)));
        }
        order.sort_unstable();
        for (_, thread, row) in order {
            let link = &linked[&thread][row];
            let asked = trees.iter_mut().find_map(|(of, tree)| {
                let asking = tree.row_at(link.request.moment).filter(|_| of.0 == link.process)?;
                Some((tree, asking))
            });
            let Some((tree, asking)) = asked else { continue };
            let Some(asking) = tree.asking(asking, builder) else { continue };
            let around = innermost(linked.get(&link.asked_on), link.request.time)
                .and_then(|outer| below.get(&(link.asked_on, outer)).copied());
            let context = tree.hang(asking, around, builder);
            let frame = builder.named_frame(&link.kind, Layer::Runtime);
            let context = match same_request(context, frame, builder) {
                Some(first) => first,
                None => builder.child(context, frame),
            };
            below.insert((thread, row), context);
        }
        for (thread, tree) in &mut trees {
            if tree.is_empty() {
                continue;
            }
            let links = linked.get(thread);
            let on = threads.get(*thread, builder);
            let mut memo: HashMap<(Option<OpenNode>, u32), Context> = HashMap::new();
            let samples: Vec<_> = tree.samples().collect();
            for (time, row, duration) in samples {
                let around = innermost(links, time)
                    .filter(|_| !tree.is_pseudo(row, builder))
                    .and_then(|callback| below.get(&(*thread, callback)).copied());
                let key = (around.map(Context::node), row);
                let at = *memo.entry(key).or_insert_with(|| tree.hang(row, around, builder));
                add(builder, at, on, metrics, (time, duration));
            }
        }
    }

    fn linked(&self, callback: &Callback) -> Option<Linked> {
        let Callback { thread, start, end, subject } = callback;
        let (request, kind, asked_on) = if let Some(subject) = subject {
            let requests = self.requests.get(subject)?;
            let after = requests.partition_point(|request| request.time <= *start);
            let kind = match subject {
                Subject::Timer(..) => "(timer)",
                Subject::Frame(..) => "(animation frame)",
            };
            (*requests.get(after.checked_sub(1)?)?, kind.to_owned(), *thread)
        } else {
            let arrow = self.arrow_to.get(&(*thread, *start))?;
            let from = self.arrow_from.get(arrow)?;
            let (asked_on, time) = *from.iter().rev().find(|(_, time)| time <= start)?;
            let (moment, task) = self.scheduled.get(&(asked_on, time))?;
            let kind = match task.as_str() {
                "setTimeout" | "setInterval" => "(timer)".to_owned(),
                "requestAnimationFrame" => "(animation frame)".to_owned(),
                task => format!("({task})"),
            };
            (Request { time, moment: *moment }, kind, asked_on)
        };
        Some(Linked { start: *start, end: *end, kind, process: thread.0, request, asked_on })
    }
}

fn add(
    builder: &mut ProfileBuilder,
    at: Context,
    thread: ThreadId,
    (wall, samples): (MetricId, MetricId),
    (time, duration): (i64, i64),
) {
    builder.add(at, Some(thread), wall, duration);
    builder.add(at, Some(thread), samples, 1);
    if builder.keeps_times() {
        builder.time_sample(time, at, Some(thread), wall, duration);
    }
}

/// Callbacks that are looked back at: they nest, but not deeply.
const LOOK_BACK: usize = 32;

/// The row of the innermost callback of a thread that ran at a time.
fn innermost(links: Option<&Vec<Linked>>, time: i64) -> Option<usize> {
    let links = links?;
    let after = links.partition_point(|link| link.start <= time);
    let back = links[..after].iter().enumerate().rev().take(LOOK_BACK);
    back.filter(|(_, link)| link.end > time).map(|(row, _)| row).next()
}

/// The callbacks of an earlier request of the same function from the same place, above this context.
fn same_request(
    context: Context,
    frame: perfblame_cct::FrameId,
    builder: &ProfileBuilder,
) -> Option<Context> {
    let (asking, kind) =
        (builder.function_of(context.node()), builder.symbols.frame(frame).function);
    let mut at = Some(context.node());
    while let Some(node) = at {
        let outer = builder.parent(node);
        if builder.function_of(node) == kind
            && outer.is_some_and(|outer| builder.function_of(outer) == asking)
        {
            return Some(builder.cursor(node));
        }
        at = outer;
    }
    None
}
