//! What is compared where nobody says.
//!
//! Most profiles have the program's own time as their first metric. Node's have the clock on the wall, and on a machine
//! with other work that is other programs' time, too: two runs of the same code then differ by more than most changes
//! do. How often the program was seen running does not grow while it waits for a processor, so that is what is compared.
//! py-spy has nothing better than the clock: its samples are as many as its period fits into the time on the wall.

use perfblame_analysis::{MinDelta, Quantity};
use perfblame_cct::Warning;
use perfblame_record::Profiler;

use crate::Failure;
use crate::config::Workload;
use crate::sequential::{SetBy, cannot_compare};

/// What is compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metric {
    /// The metric; the profile's first one when there is none.
    pub name: Option<String>,
    /// That it was chosen, and how to choose another.
    pub note: Option<Warning>,
}

impl Metric {
    /// What the workload names, or what this profiler is best compared by.
    pub fn of(workload: &Workload, profiler: Profiler) -> Self {
        match (&workload.metric, steadier(profiler)) {
            (Some(name), _) => Self { name: Some(name.clone()), note: None },
            (None, None) => Self { name: None, note: None },
            (None, Some((chosen, first))) => {
                let message = format!(
                    "comparing {chosen}, because {} measures {first} time, which grows when other programs run; `--metric {first}` or `metric = \"{first}\"` in perfblame.toml compares time",
                    profiler.name()
                );
                let code = "metric-chosen".to_owned();
                let note = Warning { code, message, count: 1 };
                Self { name: Some(chosen.to_owned()), note: Some(note) }
            }
        }
    }
}

/// Refuses a least difference in a unit that the metric does not have, as far as the metric is known before a run.
pub fn refuse_foreign_unit(
    least: Option<MinDelta>,
    metric: Option<&str>,
    first: Option<&str>,
    set_by: SetBy,
) -> Result<(), Failure> {
    let (Some(least), Some(metric)) = (least, metric.or(first)) else { return Ok(()) };
    let Some(quantity) = Quantity::of_metric(metric) else { return Ok(()) };
    least.fits(metric, &quantity.unit()).map_err(|error| cannot_compare(error, set_by))
}

/// The metric that is compared by profiles of this profiler when nobody names one, where that is always the same.
pub fn usual_metric(profiler: Profiler) -> Option<&'static str> {
    match profiler {
        Profiler::Perf => Some("cpu"),
        Profiler::PySpy => Some("wall"),
        Profiler::NodeCpuProf => Some("samples"),
        // Some JVMs sample CPU time and others count samples; traces and exact profiles have several first metrics.
        Profiler::Jfr | Profiler::OsTrace | Profiler::Uftrace | Profiler::JavaExact => None,
    }
}

/// The metric to compare instead of the first one of this profiler's profiles, and that first one.
fn steadier(profiler: Profiler) -> Option<(&'static str, &'static str)> {
    (profiler == Profiler::NodeCpuProf).then_some(("samples", "wall"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::Config;

    fn of(line: &str, profiler: Profiler) -> Metric {
        let text = format!("[[workload]]\nname = \"a\"\nrun = \"a\"\n{line}\n");
        Metric::of(&Config::parse(&text).unwrap().workloads[0], profiler)
    }

    #[test]
    fn samples_of_node_are_compared_and_that_is_said() {
        let metric = of("", Profiler::NodeCpuProf);
        assert_eq!(metric.name.as_deref(), Some("samples"));
        expect![[r#"comparing samples, because node-cpu-prof measures wall time, which grows when other programs run; `--metric wall` or `metric = "wall"` in perfblame.toml compares time"#]]
            .assert_eq(&metric.note.unwrap().message);
    }

    #[test]
    fn a_unit_that_the_metric_does_not_have_is_refused() {
        let refused = |least: &str, metric: Option<&str>, profiler: Option<Profiler>| {
            let least = Some(perfblame_analysis::Amount::parse(least).unwrap().into());
            refuse_foreign_unit(least, metric, profiler.and_then(usual_metric), SetBy::Config).err()
        };
        let failure = refused("5MB", None, Some(Profiler::Perf)).unwrap();
        assert_eq!(failure.what, "`min-delta` in perfblame.toml does not fit the metric");
        assert_eq!(failure.why, "it is a size, but cpu is measured in ns");
        assert!(refused("5ms", None, Some(Profiler::NodeCpuProf)).is_some());
        assert!(refused("5ms", Some("allocated"), None).is_some());
        for fits in ["5ms", "2%", "1000"] {
            assert_eq!(refused(fits, Some("wall"), Some(Profiler::NodeCpuProf)), None, "{fits}");
        }
        assert_eq!(refused("5MB", None, Some(Profiler::Jfr)), None, "it is known after a run");
        assert_eq!(refused("5MB", Some("heartbeats"), Some(Profiler::Perf)), None);
    }

    #[test]
    fn whoever_names_a_metric_gets_it() {
        let wall = Metric { name: Some("wall".to_owned()), note: None };
        assert_eq!(of("metric = \"wall\"", Profiler::NodeCpuProf), wall);
        assert_eq!(of("", Profiler::Perf), Metric { name: None, note: None });
    }
}
