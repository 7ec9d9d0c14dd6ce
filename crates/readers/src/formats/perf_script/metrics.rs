//! What a sample of an event is worth.
//!
//! `perf script` prints a sample's period or leaves it out; the comment lines at the top may tell it instead. One event
//! without any period is a number of samples. Clocks count nanoseconds of processor time.

use perfblame_cct::{Measure, Metric, MetricId, ProfileBuilder, Unit};

use super::comments::Comments;
use crate::encodings::text::shown;

/// The values of one sample: its event's own and the number of samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worth {
    /// The event's metric and the sample's value in it; none where only samples are counted.
    pub event: Option<(MetricId, i64)>,
    /// The metric that counts samples.
    pub samples: MetricId,
}

struct EventMetric {
    name: Vec<u8>,
    metric: Option<MetricId>,
    /// The period of every sample so far; none once two differ.
    period: Option<i64>,
    /// From the comments, for samples that have none of their own.
    usual: Option<i64>,
}

/// The events of a file and their metrics.
#[derive(Default)]
pub(crate) struct PerfScriptMetrics {
    events: Vec<EventMetric>,
    samples: Option<MetricId>,
    last: usize,
}

impl PerfScriptMetrics {
    /// What a sample of `event` with `period` is worth.
    pub(crate) fn worth(
        &mut self,
        builder: &mut ProfileBuilder,
        comments: &Comments,
        event: &[u8],
        period: Option<u64>,
    ) -> Worth {
        let row = match self.events.get(self.last) {
            Some(last) if last.name == event => self.last,
            _ => self.find(builder, comments, event, period),
        };
        self.last = row;
        let samples = match self.samples {
            Some(samples) => samples,
            None => builder.metric(Metric::sampled("samples", Unit::Count)),
        };
        self.samples = Some(samples);
        let Some(event) = self.events.get_mut(row) else { return Worth { event: None, samples } };
        let own = period.and_then(|period| i64::try_from(period).ok());
        let value = own.or(event.usual).unwrap_or(1);
        if event.period != Some(value) {
            event.period = None;
        }
        Worth { event: event.metric.map(|metric| (metric, value)), samples }
    }

    fn find(
        &mut self,
        builder: &mut ProfileBuilder,
        comments: &Comments,
        event: &[u8],
        period: Option<u64>,
    ) -> usize {
        if let Some(row) = self.events.iter().position(|known| known.name == event) {
            return row;
        }
        let name = shown(event);
        let usual = comments.period(&name, is_clock(&name));
        let own = period.and_then(|period| i64::try_from(period).ok());
        // So far all samples were of one event, and the number of samples was all there was to say of it.
        if let [first] = self.events.as_mut_slice()
            && first.metric.is_none()
            && let Some(samples) = self.samples
        {
            let metric = builder.metric(counted(&shown(&first.name)));
            builder.copy_metric(samples, metric);
            first.metric = Some(metric);
        }
        let metric = if own.is_some() || usual.is_some() {
            Some(builder.metric(weighed(&name)))
        } else {
            (!self.events.is_empty()).then(|| builder.metric(counted(&name)))
        };
        self.events.push(EventMetric {
            name: event.to_vec(),
            metric,
            period: own.or(usual).or(Some(1)),
            usual,
        });
        self.events.len() - 1
    }

    /// At the end of the file: notes the periods that never changed.
    pub(crate) fn finish(&self, builder: &mut ProfileBuilder) {
        for event in &self.events {
            let Some(metric) = event.metric else { continue };
            let same = |other: &&EventMetric| other.metric == Some(metric);
            if self.events.iter().filter(same).count() > 1 || event.period == Some(1) {
                continue;
            }
            if let Some(known) = builder.known_metric(metric).cloned() {
                builder.update_metric(metric, Metric { period: event.period, ..known });
            }
        }
    }
}

/// `cpu-clock` and `task-clock`, with whatever modifiers.
fn is_clock(event: &str) -> bool {
    matches!(event.split(':').next(), Some("cpu-clock" | "task-clock" | "cpu_clock" | "task_clock"))
}

/// Tracepoints and probes are named `group:event`; every one of them is seen.
fn measure(event: &str) -> Measure {
    let mut parts = event.split(':');
    let modifiers = |part: &str| part.bytes().all(|letter| b"ukhHGIpPSDWeb".contains(&letter));
    match (parts.next(), parts.next()) {
        (Some(_), Some(second)) if !modifiers(second) => Measure::Exact,
        _ => Measure::Sampled,
    }
}

/// The metric of an event whose samples have periods.
fn weighed(event: &str) -> Metric {
    if is_clock(event) {
        return Metric::sampled("cpu", Unit::Nanoseconds);
    }
    Metric { measure: measure(event), ..Metric::sampled(event, Unit::Count) }
}

/// The metric of an event of which we only know how many samples there are.
fn counted(event: &str) -> Metric {
    let event = if event.is_empty() { "unnamed" } else { event };
    match measure(event) {
        Measure::Exact => Metric::exact(event, Unit::Count),
        Measure::Sampled => Metric::sampled(event, Unit::Other("samples".to_owned())),
    }
}
