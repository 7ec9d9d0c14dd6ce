//! The metrics of an inferred profile, written when all events have gone by: latency, waiting as a whole and by kind, and
//! the number of calls.

use perfblame_cct::{Layer, Metric, MetricId, ProfileBuilder, Unit};

use crate::off_cpu::Wait;
use crate::tally::Tally;
use crate::wait::WaitOn;
use crate::{FOR_WORK, INSTANCES, LATENCY, RUN_QUEUE, WAITING};

/// Writes what threads did and what they waited for into the profile; `between` is how far apart threads were looked at.
pub(crate) fn settle(builder: &mut ProfileBuilder, tally: Tally, waits: &[Wait], between: i64) {
    let mut time = |name: &str| builder.metric(Metric::exact(name, Unit::Nanoseconds));
    let (latency, waiting) = (time(LATENCY), time(WAITING));
    let within_work = |wait: &Wait| !wait.idle && wait.on != WaitOn::RunQueue;
    let waiting_on = WaitOn::ALL.map(|on| {
        let any = waits.iter().any(|wait| within_work(wait) && wait.on == on);
        any.then(|| time(&format!("{WAITING} on {}", on.name())))
    });
    let instances = builder.metric(Metric::exact(INSTANCES, Unit::Count));
    let mut keep: Vec<MetricId> = vec![latency, waiting];
    keep.extend(waiting_on.iter().flatten());
    keep.push(instances);
    builder.choose_metrics(&keep);
    let metric = MetricId::new;
    let (latency, waiting, instances) = (metric(0), metric(1), metric(keep.len() - 1));
    builder.set_period(latency, between);
    tally.settle(builder, latency, instances);
    for wait in waits {
        let (at, thread) = (builder.cursor(wait.node), Some(wait.thread));
        let aside = match wait.on {
            _ if wait.idle => Some(FOR_WORK),
            WaitOn::RunQueue => Some(RUN_QUEUE),
            _ => None,
        };
        if let Some(name) = aside {
            let frame = builder.named_frame(name, Layer::Idle);
            let aside = builder.child(at, frame);
            builder.add(aside, thread, latency, wait.total);
            continue;
        }
        builder.add(at, thread, latency, wait.total);
        builder.add(at, thread, waiting, wait.total);
        let before = waiting_on[..wait.on as usize].iter().flatten().count();
        builder.add(at, thread, metric(2 + before), wait.total);
    }
}
