//! Functions of profiles in the sources of a revision.

use perfblame_cct::Layer;
use perfblame_changes::{Addition, FrameQuery, SourceIndex, Why};

use super::{Located, Sources};
use crate::FunctionView;

/// What is less sure could be another function, and a wrong blame is worse than none.
const SURE: f64 = 0.5;

impl Sources for SourceIndex {
    fn locate(&self, function: &FunctionView) -> Option<Located> {
        if matches!(function.layer, Layer::Kernel | Layer::Idle | Layer::GarbageCollection) {
            return None;
        }
        let query = FrameQuery {
            function: if function.name == "(anonymous)" { "" } else { &function.name },
            component: function.component.as_deref(),
            signature: None,
            file: function.file.as_deref(),
            line: function.line,
        };
        let found = Self::locate(self, &query).into_iter().next()?;
        // Libraries have functions of the same names.
        let by_chance = found.why == Why::NameOnly && function.layer != Layer::Application;
        if found.certainty < SURE || by_chance {
            return None;
        }
        let calls = self.costs(&found.definition).iter().filter_map(|cost| match cost {
            Addition::Call(name) => Some(name.clone()),
            _ => None,
        });
        Some(Located { calls: calls.collect(), definition: found.definition })
    }
}
