//! What was wrong with the inputs: said once, however many runs it was wrong with.

use perfblame_cct::{Side, Sides, Warning};

use crate::Loaded;

/// The warnings of all runs. The same on several runs is one with the sum of their counts; the same on both sides
/// names neither.
pub(super) fn of_inputs(before: &Loaded, after: &Loaded) -> Vec<Warning> {
    let mut gathered: Vec<(Warning, Sides<bool>)> = Vec::new();
    for (side, loaded) in [(Side::Before, before), (Side::After, after)] {
        for warning in loaded.runs.runs.iter().flat_map(|run| &run.warnings) {
            let same = |known: &&mut (Warning, Sides<bool>)| {
                known.0.code == warning.code && known.0.message == warning.message
            };
            match gathered.iter_mut().find(same) {
                Some((known, sides)) => {
                    known.count = known.count.saturating_add(warning.count);
                    sides[side] = true;
                }
                None => gathered.push((warning.clone(), Sides::of(|one| one == side))),
            }
        }
    }
    let said = |(warning, sides): (Warning, Sides<bool>)| match sides {
        Sides { before: true, after: true } => warning,
        Sides { before, .. } => {
            let side = if before { Side::Before } else { Side::After };
            Warning { message: format!("{side}: {}", warning.message), ..warning }
        }
    };
    gathered.into_iter().map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_cct::merge_runs;
    use perfblame_fixtures::profile;

    #[test]
    fn the_same_warning_is_said_once() {
        let side = |runs: &[&[&str]]| {
            let run = |messages: &&[&str]| {
                let mut run = profile("main");
                run.warnings = (messages.iter())
                    .map(|message| Warning {
                        code: "code".to_owned(),
                        message: (*message).to_owned(),
                        count: 2,
                    })
                    .collect();
                run
            };
            let runs = merge_runs(runs.iter().map(run).collect());
            Loaded { names: Vec::new(), runs }
        };
        let (before, after) = (side(&[&["cut", "lost"], &["lost"]]), side(&[&["cut"], &["late"]]));
        let said = of_inputs(&before, &after);
        let said: Vec<_> = said.iter().map(|said| (said.message.as_str(), said.count)).collect();
        assert_eq!(said, [("cut", 4), ("before: lost", 4), ("after: late", 2)]);
    }
}
