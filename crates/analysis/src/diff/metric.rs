//! Which metric is compared: it must be there on both sides, in the same unit.

use perfblame_cct::{Metric, MetricId, RunSet, Side, Sides};

use super::DiffError;

/// The metric of both sides.
pub(super) struct Chosen {
    pub(super) ids: Sides<MetricId>,
    pub(super) metric: Metric,
}

/// The metric that was asked for, or the first that both sides have and one has values of.
pub(super) fn choose(
    before: &RunSet,
    after: &RunSet,
    wanted: Option<&str>,
) -> Result<Chosen, DiffError> {
    let partner = |metric: &Metric| {
        let same = |other: &Metric| other.name == metric.name && other.unit == metric.unit;
        after.metrics.iter().position(same).map(MetricId::new)
    };
    let has_values =
        |set: &RunSet, metric: MetricId| set.runs.iter().any(|run| run.cells.total(metric) != 0);
    let rows = before.metrics.iter().enumerate();
    let common: Vec<(MetricId, MetricId)> =
        rows.filter_map(|(row, metric)| Some((MetricId::new(row), partner(metric)?))).collect();
    let chosen = |(before_metric, after_metric): (MetricId, MetricId)| Chosen {
        ids: Sides { before: before_metric, after: after_metric },
        metric: before.metrics[before_metric.index()].clone(),
    };
    if let Some(wanted) = wanted {
        let name = |pair: &(MetricId, MetricId)| before.metrics[pair.0.index()].name.clone();
        return common.iter().find(|pair| name(pair) == wanted).copied().map(chosen).ok_or_else(
            || DiffError::Metric {
                side: if before.metric(wanted).is_none() { Side::Before } else { Side::After },
                wanted: wanted.to_owned(),
                known: common.iter().map(name).collect(),
            },
        );
    }
    let valued =
        |pair: &&(MetricId, MetricId)| has_values(before, pair.0) || has_values(after, pair.1);
    let names = |set: &RunSet| set.metrics.iter().map(|metric| metric.name.clone()).collect();
    let first = common.iter().find(valued).or(common.first());
    first
        .copied()
        .map(chosen)
        .ok_or_else(|| DiffError::NothingInCommon { before: names(before), after: names(after) })
}
