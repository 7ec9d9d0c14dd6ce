//! The metrics of a file: one for each unit, with as many decimals as its values need.

use hashbrown::HashMap;
use perfblame_cct::{Metric, MetricId, ProfileBuilder, Unit};

use super::FoundParts;
use super::evented::events;
use crate::encodings::json::{JsonFault, Number};

/// Decimals kept of weights that are no times; as many as a metric can show exactly.
const MOST_DECIMALS: u32 = 6;

/// The metric of each unit, and how many decimals its values are stored with.
#[derive(Default)]
pub(super) struct SpeedscopeMetrics {
    decimals: HashMap<String, u32>,
}

impl SpeedscopeMetrics {
    /// Finds how many decimals the values of a unit need. Times become nanoseconds and need none.
    pub fn measure(&mut self, profile: &FoundParts) {
        if time_scale(&profile.unit).is_some() {
            return;
        }
        let most = self.decimals.entry(profile.unit.clone()).or_default();
        let _ = profile.weights.map(|mut cursor| -> Result<(), JsonFault> {
            cursor.begin_array()?;
            while cursor.next_element()? {
                if let Some(number) = cursor.lenient_number()? {
                    *most = (*most).max(decimals(number));
                }
            }
            Ok(())
        });
        let _ = profile.events.map(|cursor| {
            events(cursor, |event| {
                *most = (*most).max(event.at.map_or(0, decimals));
            })
        });
    }

    pub fn scale(&self, unit: &str) -> u32 {
        time_scale(unit).unwrap_or_else(|| self.decimals.get(unit).copied().unwrap_or(0))
    }

    pub fn metric(&self, builder: &mut ProfileBuilder, profile: &FoundParts) -> MetricId {
        let unit = profile.unit.as_str();
        let (name, unit_of) = match unit {
            _ if time_scale(unit).is_some() => ("wall", Unit::Nanoseconds),
            "bytes" => ("bytes", Unit::Bytes),
            "none" | "" => ("weight", Unit::Count),
            other => (other, Unit::Other(other.to_owned())),
        };
        let metric = if profile.kind == "evented" {
            Metric::exact(name, unit_of)
        } else {
            Metric::sampled(name, unit_of)
        };
        let decimals = if time_scale(unit).is_some() { 0 } else { self.scale(unit) as u8 };
        builder.metric(Metric { decimals, ..metric })
    }
}

/// The power of ten that makes nanoseconds of a unit; none for what is no time.
fn time_scale(unit: &str) -> Option<u32> {
    Some(match unit {
        "nanoseconds" => 0,
        "microseconds" => 3,
        "milliseconds" => 6,
        "seconds" => 9,
        _ => return None,
    })
}

/// The smallest power of ten that makes a number whole.
fn decimals(number: Number) -> u32 {
    let whole = |decimals: &u32| {
        let fine = number.scaled(MOST_DECIMALS);
        let coarse = number.scaled(*decimals);
        let factor = 10i64.pow(MOST_DECIMALS - decimals);
        coarse.and_then(|coarse| coarse.checked_mul(factor)) == fine
    };
    if number.as_i64().is_some() {
        return 0;
    }
    (0..MOST_DECIMALS).find(whole).unwrap_or(MOST_DECIMALS)
}
