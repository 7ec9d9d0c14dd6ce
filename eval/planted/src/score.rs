//! How right an answer is: ZAM's four metrics (section 5.2 of `[zam]`), distance to cause, first suspect, false alarms.

use perfblame_analysis::Verdict;

use crate::answer::{Answer, Blamed, Tested};
use crate::plant::{Cause, Expected, Truth};
use crate::program::Key;

/// How one answer does.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own, with yes or no")]
pub struct Score {
    pub verdict: Verdict,
    /// Planted causes.
    pub causes: usize,
    /// Causes of which a blamed function is the one.
    pub node_found: usize,
    /// Causes to which a blamed path leads at least part of the way.
    pub path_found: usize,
    /// Blamed functions.
    pub leaves: usize,
    /// Those that are a cause.
    pub node_right: usize,
    /// Those that are a cause or on the way to one.
    pub path_right: usize,
    /// Calls between the end of each path that leads to a cause and the cause, added up.
    pub distance: usize,
    pub first_right: bool,
    /// One of the first three blamed functions is a cause.
    pub among_three: bool,
    pub verdict_right: bool,
    /// Something is blamed, or called regressed, where nothing is slower.
    pub false_alarm: bool,
    /// What was only moved, wrapped, renamed or shifted is blamed.
    pub decoy_blamed: bool,
}

/// Scores an answer. With one run on each side an answer is a best guess and says so: only a verdict can be a false
/// alarm then.
pub fn score(answer: &Answer, truth: &Truth, runs: (usize, usize), tested: Tested) -> Score {
    let pruned = |path: &[Key]| -> Vec<Key> {
        path.iter().filter(|key| !tested.prunes() || has_name(key)).cloned().collect()
    };
    let causes: Vec<Cause> = (truth.causes.iter())
        .map(|cause| Cause {
            functions: cause.functions.clone(),
            paths: cause.paths.iter().map(|path| pruned(path)).collect(),
        })
        .collect();
    let mut score = Score {
        verdict: answer.verdict,
        causes: causes.len(),
        node_found: 0,
        path_found: 0,
        leaves: answer.blamed.len(),
        node_right: 0,
        path_right: 0,
        distance: 0,
        first_right: false,
        among_three: false,
        verdict_right: match truth.expected {
            Expected::Regressed => answer.verdict == Verdict::Regressed,
            Expected::Improved => answer.verdict == Verdict::Improved,
            Expected::Neither => !matches!(answer.verdict, Verdict::Regressed | Verdict::Improved),
        },
        false_alarm: false,
        decoy_blamed: false,
    };
    for cause in &causes {
        let node = answer.blamed.iter().any(|blamed| is_cause(cause, blamed));
        let path = answer.blamed.iter().any(|blamed| distance(cause, blamed).is_some());
        score.node_found += usize::from(node);
        score.path_found += usize::from(path);
    }
    for (row, blamed) in answer.blamed.iter().enumerate() {
        let node = causes.iter().any(|cause| is_cause(cause, blamed));
        let distance = causes.iter().filter_map(|cause| distance(cause, blamed)).min();
        score.node_right += usize::from(node);
        score.path_right += usize::from(distance.is_some());
        score.distance += distance.unwrap_or(0);
        score.first_right |= row == 0 && node;
        score.among_three |= row < 3 && node;
        let decoy = truth.decoys.iter().any(|decoy| decoy.is_meant_by(&blamed.function));
        score.decoy_blamed |= decoy && distance.is_none();
    }
    let listed = !answer.blamed.is_empty() && runs.0 + runs.1 > 2;
    score.false_alarm =
        truth.expected != Expected::Regressed && (listed || answer.verdict == Verdict::Regressed);
    score
}

fn is_cause(cause: &Cause, blamed: &Blamed) -> bool {
    cause.functions.iter().any(|function| function.is_meant_by(&blamed.function))
}

/// Calls between the end of a blamed path and the cause; none when it does not lead there.
fn distance(cause: &Cause, blamed: &Blamed) -> Option<usize> {
    if is_cause(cause, blamed) {
        return Some(0);
    }
    let leads = |path: &&Vec<Key>| {
        path.len() >= blamed.path.len()
            && path.iter().zip(&blamed.path).all(|(key, named)| key.is_meant_by(named))
    };
    let lengths = cause.paths.iter().filter(leads).map(Vec::len);
    lengths.min().filter(|_| !blamed.path.is_empty()).map(|length| length - blamed.path.len())
}

/// What ZAM's pruning keeps.
fn has_name(key: &Key) -> bool {
    !key.is_anonymous() && key.name.chars().count() > 1
}

/// A rate with its Wilson interval at 95 %.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rate {
    pub hits: usize,
    pub of: usize,
}

impl Rate {
    pub fn add(&mut self, hits: usize, of: usize) {
        self.hits += hits;
        self.of += of;
    }

    /// None when there is nothing to divide by.
    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.hits as f64 / self.of as f64)
    }

    /// Where the true rate lies with 95 % confidence.
    pub fn interval(self) -> Option<(f64, f64)> {
        const Z: f64 = 1.959_964;
        let (rate, n) = (self.value()?, self.of as f64);
        let middle = (rate + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let half = Z / (1.0 + Z * Z / n) * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
        Some(((middle - half).max(0.0), (middle + half).min(1.0)))
    }
}

/// Scores of many cases, added up.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    pub cases: usize,
    pub node_recall: Rate,
    pub path_recall: Rate,
    pub node_precision: Rate,
    pub path_precision: Rate,
    /// Over paths that lead to a cause.
    pub distance: Rate,
    pub first_right: Rate,
    pub among_three: Rate,
    pub verdict_right: Rate,
    pub inconclusive: Rate,
    pub false_alarm: Rate,
    pub decoy_blamed: Rate,
}

impl Sum {
    pub fn add(&mut self, score: &Score) {
        self.cases += 1;
        self.node_recall.add(score.node_found, score.causes);
        self.path_recall.add(score.path_found, score.causes);
        self.node_precision.add(score.node_right, score.leaves);
        self.path_precision.add(score.path_right, score.leaves);
        self.distance.add(score.distance, score.path_right);
        self.first_right.add(score.first_right.into(), usize::from(score.causes > 0));
        self.among_three.add(score.among_three.into(), usize::from(score.causes > 0));
        self.verdict_right.add(score.verdict_right.into(), 1);
        self.inconclusive.add((score.verdict == Verdict::Inconclusive).into(), 1);
        self.false_alarm.add(score.false_alarm.into(), 1);
        self.decoy_blamed.add(score.decoy_blamed.into(), 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key { name: name.to_owned(), component: None, line: None }
    }

    fn blamed(path: &[&str]) -> Blamed {
        let path: Vec<Key> = path.iter().map(|name| key(name)).collect();
        Blamed { function: path.last().cloned().unwrap(), path, p_value: None }
    }

    fn truth() -> Truth {
        let path = ["root", "query", "layer", "utf"].map(key).to_vec();
        let cause = Cause { functions: vec![key("utf")], paths: vec![path] };
        Truth {
            causes: vec![cause],
            decoys: vec![key("draw")],
            expected: Expected::Regressed,
            size: 0.1,
        }
    }

    #[test]
    fn part_of_the_way_is_a_path_and_no_node() {
        let answer = Answer {
            verdict: Verdict::Regressed,
            blamed: vec![blamed(&["root", "query"]), blamed(&["root", "draw"])],
            change: None,
        };
        let score = score(&answer, &truth(), (3, 3), Tested::Suspects);
        assert_eq!((score.node_found, score.path_found), (0, 1));
        assert_eq!((score.node_right, score.path_right, score.leaves), (0, 1, 2));
        assert_eq!(score.distance, 2);
        assert!(score.decoy_blamed && score.verdict_right && !score.first_right);
        assert!(!score.among_three);
    }

    #[test]
    fn the_function_anywhere_is_a_node() {
        let answer = Answer {
            verdict: Verdict::Inconclusive,
            blamed: vec![blamed(&["main", "utf"]), blamed(&["root", "other"])],
            change: None,
        };
        let score = score(&answer, &truth(), (3, 3), Tested::Suspects);
        assert_eq!((score.node_found, score.node_right, score.distance), (1, 1, 0));
        assert!(score.first_right && !score.verdict_right && !score.decoy_blamed);
        assert!(score.among_three);
    }

    #[test]
    fn a_rate_has_an_interval() {
        let (low, high) = Rate { hits: 190, of: 200 }.interval().unwrap();
        assert!((low - 0.9104).abs() < 1e-3 && (high - 0.9726).abs() < 1e-3, "{low} {high}");
        assert!(Rate::default().interval().is_none());
    }
}
