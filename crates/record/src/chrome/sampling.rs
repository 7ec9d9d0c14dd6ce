//! Samples at an interval of one's own.
//!
//! The profiler behind a trace has one interval, which nothing changes: in Chromium 156 neither the category
//! `v8.cpu_profiler.hires` nor V8's option for it. So where another interval is wanted, the trace is taken without
//! samples, every page, frame and worker is profiled through the protocol, and the profiles are put into the trace as
//! the events that the browser would have written. What is told of a profile does not include its thread: a time stamp
//! that the thread itself leaves in the trace has it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{ChromeError, Page, Session};

/// What the time stamps of threads are called, before their number.
const STAMP: &str = "perfblame:thread:";

/// Samples in an event.
const PIECE: usize = 1000;

/// The ids of our profiles in the trace, so far from those of the browser's own.
const FIRST_ID: usize = 0x1000;

/// Profiles that were taken, by the number of their time stamp, and whose threads are found in the trace.
#[derive(Default)]
pub struct Sampled {
    profiles: Vec<Profile>,
    /// Process and thread, by number.
    threads: BTreeMap<usize, (i64, i64)>,
}

#[derive(Deserialize)]
struct Stopped {
    profile: Profile,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    nodes: Vec<Node>,
    start_time: f64,
    #[serde(default)]
    samples: Vec<u64>,
    #[serde(default)]
    time_deltas: Vec<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    id: u64,
    call_frame: Box<RawValue>,
    #[serde(default)]
    children: Vec<u64>,
}

/// Starts to sample a page and all it has and will have.
pub fn start(page: &Page<'_>, micros: u32) -> Result<(), ChromeError> {
    let calls = vec![
        ("Profiler.enable", json!({})),
        ("Profiler.setSamplingInterval", json!({ "interval": micros })),
        ("Profiler.start", json!({})),
    ];
    // Those that come from now on.
    page.session().connection().attendant(|attendant| attendant.each_target.clone_from(&calls));
    for (method, params) in &calls {
        page.session().call(method, params.clone())?;
        for attached in page.attached() {
            page.session_of(&attached).send(method, params);
        }
    }
    Ok(())
}

/// Ends sampling, and has each thread leave its time stamp.
pub fn stop(page: &Page<'_>) -> Result<Sampled, ChromeError> {
    page.session().connection().attendant(|attendant| attendant.each_target.clear());
    let attached = page.attached();
    let others = attached.iter().map(|attached| page.session_of(attached));
    let sessions: Vec<Session<'_>> = [page.session().clone()].into_iter().chain(others).collect();
    let mut profiles = Vec::new();
    let mut stamped = Vec::new();
    for session in sessions {
        match session.call_for::<Stopped>("Profiler.stop", &json!({})) {
            Ok(stopped) => {
                profiles.push(stopped.profile);
                stamped.push(session);
            }
            // It has no profiler, or went away.
            Err(ChromeError::Refused { .. } | ChromeError::Closed) => {}
            Err(error) => return Err(error),
        }
    }
    for (number, session) in stamped.iter().enumerate() {
        session.evaluate(&format!("console.timeStamp('{STAMP}{number}')"))?;
    }
    Ok(Sampled { profiles, threads: BTreeMap::new() })
}

impl Sampled {
    /// Looks for a thread's time stamp.
    pub fn see(&mut self, event: &RawValue) {
        if memchr::memmem::find(event.get().as_bytes(), STAMP.as_bytes()).is_none() {
            return;
        }
        let Ok(event) = serde_json::from_str::<Value>(event.get()) else { return };
        let message = event["args"]["data"]["message"].as_str();
        let number = message.and_then(|text| text.strip_prefix(STAMP)?.parse().ok());
        if let (Some(number), Some(process), Some(thread)) =
            (number, event["pid"].as_i64(), event["tid"].as_i64())
            && event["name"] == "TimeStamp"
        {
            self.threads.insert(number, (process, thread));
        }
    }

    /// The profiles as events; the second is how many have no thread and are left out.
    pub fn events(&self) -> (Vec<Box<RawValue>>, usize) {
        let mut events = Vec::new();
        for (number, profile) in self.profiles.iter().enumerate() {
            if let Some(thread) = self.threads.get(&number) {
                profile.write(number, *thread, &mut events);
            }
        }
        let events = events.iter().filter_map(|event| serde_json::value::to_raw_value(event).ok());
        (events.collect(), self.profiles.len().saturating_sub(self.threads.len()))
    }
}

impl Profile {
    fn write(&self, number: usize, (process, thread): (i64, i64), events: &mut Vec<Value>) {
        let start = self.start_time.round() as i64;
        let event = |name: &str, time: i64, data: Value| {
            json!({
                "args": { "data": data },
                "cat": "disabled-by-default-v8.cpu_profiler",
                "id": format!("{:#x}", FIRST_ID + number),
                "name": name, "ph": "P", "pid": process, "tid": thread, "ts": time,
            })
        };
        events.push(event("Profile", start, json!({ "startTime": start })));
        let mut parents = BTreeMap::new();
        for node in &self.nodes {
            parents.extend(node.children.iter().map(|child| (*child, node.id)));
        }
        let nodes: Vec<Value> = self
            .nodes
            .iter()
            .map(|node| {
                let mut shown = json!({ "id": node.id, "callFrame": &node.call_frame });
                if let Some(parent) = parents.get(&node.id) {
                    shown["parent"] = (*parent).into();
                }
                shown
            })
            .collect();
        let mut time = start;
        let mut nodes = Some(nodes);
        for (samples, deltas) in self.samples.chunks(PIECE).zip(self.time_deltas.chunks(PIECE)) {
            time = deltas.iter().fold(time, |time, delta| time.saturating_add(*delta));
            let mut profile = json!({ "samples": samples });
            if let Some(nodes) = nodes.take() {
                profile["nodes"] = nodes.into();
            }
            let data = json!({ "cpuProfile": profile, "timeDeltas": deltas });
            events.push(event("ProfileChunk", time, data));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_become_the_events_of_their_thread() {
        let profile = r#"{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},
            {"id":2,"callFrame":{"functionName":"planted"}}],
            "startTime":1000,"endTime":2000,"samples":[2,2],"timeDeltas":[10,20]}"#;
        let profiles = vec![serde_json::from_str(profile).unwrap()];
        let mut sampled = Sampled { profiles, ..Sampled::default() };
        assert_eq!(sampled.events().1, 1);
        let stamp = r#"{"name":"TimeStamp","pid":7,"tid":8,"args":{"data":{"message":"perfblame:thread:0"}}}"#;
        sampled.see(&RawValue::from_string(stamp.to_owned()).unwrap());
        let (events, left_out) = sampled.events();
        assert_eq!((events.len(), left_out), (2, 0));
        let chunk: Value = serde_json::from_str(events[1].get()).unwrap();
        assert_eq!(
            (&chunk["pid"], &chunk["tid"], &chunk["ts"]),
            (&json!(7), &json!(8), &json!(1030))
        );
        assert_eq!(chunk["args"]["data"]["cpuProfile"]["nodes"][1]["parent"], 1);
        assert_eq!(chunk["args"]["data"]["timeDeltas"], json!([10, 20]));
    }
}
