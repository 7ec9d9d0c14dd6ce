//! How right an answer is: the metrics of section 5.2 of `[zam]`.

use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Blamed, Method};
use crate::case::Truth;
use crate::timeline::{FramePlace, Timeline};

/// How right an answer is.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Score {
    /// What is blamed.
    pub leaves: usize,
    /// Of it, what is right.
    pub right: usize,
    /// Of it, what is right, leads there part of the way, or passes through it.
    pub on_path: usize,
    /// Calls between what is on the path and the cause.
    pub distances: Vec<usize>,
    /// The longest path to the cause.
    pub longest: Option<usize>,
    pub first_right: bool,
    pub regressed: bool,
    pub nodes: usize,
    /// What is wrong, in words.
    pub wrong: Vec<String>,
    /// Wrong answers that the two releases alone give as well: they got slower, too, though not by the injection.
    pub of_release: usize,
}

/// The ways to the function that was changed, from time lines of the after side.
pub fn ways(truth: &Truth, after: &[Timeline]) -> Vec<Vec<FramePlace>> {
    let mut ways = Vec::new();
    for timeline in after {
        for (row, node) in timeline.nodes.iter().enumerate() {
            if node.place.is(&truth.function) {
                ways.push(timeline.path(row));
            }
        }
    }
    ways.sort();
    ways.dedup();
    if ways.is_empty() {
        ways.push(vec![truth.function.clone()]);
    }
    ways
}

/// Holds an answer against the truth. `release` is what the same method says of the releases without any injection.
pub fn score(
    truth: &Truth,
    ways: &[Vec<FramePlace>],
    answer: &Answer,
    method: Method,
    release: &Answer,
) -> Score {
    let mut score = Score {
        leaves: answer.blamed.len(),
        regressed: answer.regressed,
        nodes: answer.nodes,
        ..Score::default()
    };
    for (row, blamed) in answer.blamed.iter().enumerate() {
        let length = length(&blamed.path, method);
        if is_right(truth, blamed) {
            score.right += 1;
            score.on_path += 1;
            score.first_right |= row == 0;
            score.distances.push(0);
            score.longest = score.longest.max(Some(length));
            continue;
        }
        let passes = blamed.path.iter().any(|place| truth.accepts(place));
        let distance = if passes {
            Some(0)
        } else {
            ways.iter().filter_map(|way| distance(&blamed.path, way, method)).min()
        };
        if let Some(distance) = distance {
            score.on_path += 1;
            score.distances.push(distance);
            score.longest = score.longest.max(Some(length + distance));
        } else if release.blamed.iter().any(|other| other.place.is(&blamed.place)) {
            score.of_release += 1;
        }
        let name = if blamed.place.name.is_empty() { "(anonymous)" } else { &blamed.place.name };
        let at = blamed.place.at.map_or(String::new(), |at| format!(":{}", at.line));
        let ms = blamed.delta / 1e6;
        score.wrong.push(format!("{name} {}{at} {} {ms:.1} ms", blamed.place.script, blamed.kind));
    }
    score
}

/// The function, something put into it, or what the platform does for one of them.
fn is_right(truth: &Truth, blamed: &Blamed) -> bool {
    let is_native = blamed.place.script.is_empty() && !blamed.place.is_marker();
    let caller = blamed.path.len().checked_sub(2).and_then(|row| blamed.path.get(row));
    truth.accepts(&blamed.place)
        || (is_native && caller.is_some_and(|caller| truth.accepts(caller)))
}

fn counts(place: &FramePlace, method: Method) -> bool {
    !(method.prunes() && place.is_nameless())
}

fn length(path: &[FramePlace], method: Method) -> usize {
    path.iter().filter(|place| counts(place, method)).count()
}

/// Calls between the end of a path and the end of a way, if the path leads along it. Methods leave out functions without
/// a name, so a path has to follow the way, not to have all of it.
fn distance(path: &[FramePlace], way: &[FramePlace], method: Method) -> Option<usize> {
    let mut rest = way;
    let mut follows = false;
    for place in path.iter().filter(|place| !place.is_marker() && counts(place, method)) {
        let at = rest.iter().position(|other| other.is(place))?;
        rest = &rest[at + 1..];
        follows = true;
    }
    follows.then(|| length(rest, method))
}

/// Many scores.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    pub cases: usize,
    pub found: usize,
    pub led: usize,
    pub first: usize,
    pub leaves: usize,
    pub right: usize,
    pub on_path: usize,
    pub of_release: usize,
    pub nodes: usize,
    distances: Vec<usize>,
    longest: Vec<usize>,
}

impl Sum {
    /// Adds them up.
    pub fn of<'s>(scores: impl IntoIterator<Item = &'s Score>) -> Self {
        let mut sum = Self::default();
        for score in scores {
            sum.cases += 1;
            sum.found += usize::from(score.right > 0);
            sum.led += usize::from(score.on_path > 0);
            sum.first += usize::from(score.first_right);
            sum.leaves += score.leaves;
            sum.right += score.right;
            sum.on_path += score.on_path;
            sum.of_release += score.of_release;
            sum.nodes += score.nodes;
            sum.distances.extend(&score.distances);
            sum.longest.extend(score.longest);
        }
        sum
    }

    pub fn node_recall(&self) -> Option<f64> {
        share(self.found, self.cases)
    }

    pub fn path_recall(&self) -> Option<f64> {
        share(self.led, self.cases)
    }

    pub fn node_precision(&self) -> Option<f64> {
        share(self.right, self.leaves)
    }

    pub fn path_precision(&self) -> Option<f64> {
        share(self.on_path, self.leaves)
    }

    /// The same, where what differs between the releases anyway is no mistake.
    pub fn path_precision_of_code(&self) -> Option<f64> {
        share(self.on_path, self.leaves.saturating_sub(self.of_release))
    }

    pub fn first_right(&self) -> Option<f64> {
        share(self.first, self.cases)
    }

    pub fn distance(&self) -> Option<f64> {
        share(self.distances.iter().sum(), self.distances.len())
    }

    pub fn longest(&self) -> Option<f64> {
        share(self.longest.iter().sum(), self.longest.len())
    }
}

fn share(part: usize, of: usize) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::InjectionKind;
    use crate::script::Position;

    fn place(name: &str, line: u32) -> FramePlace {
        let at = Some(Position { line, column: 1 });
        FramePlace { name: name.to_owned(), script: "/a.js".to_owned(), at }
    }

    fn blamed(path: &[FramePlace]) -> Blamed {
        let place = path[path.len() - 1].clone();
        Blamed { place, path: path.to_vec(), delta: 1e6, kind: "slower".to_owned() }
    }

    #[test]
    fn leaves_are_right_on_the_way_or_wrong() {
        let (main, fold, cause) = (place("main", 1), place("", 2), place("cause", 3));
        let truth = Truth {
            app: String::new(),
            case: String::new(),
            kind: InjectionKind::Loop,
            what: String::new(),
            function: cause.clone(),
            also: Vec::new(),
            executions: 1,
            each: 100.0,
        };
        let now = FramePlace { name: "now".to_owned(), script: String::new(), at: None };
        let ways = [vec![main.clone(), fold, cause.clone()]];
        let answer = Answer {
            regressed: true,
            nodes: 9,
            blamed: vec![
                blamed(&[main.clone(), cause.clone()]),
                blamed(&[main.clone(), cause, now]),
                blamed(std::slice::from_ref(&main)),
                blamed(&[main, place("other", 9)]),
            ],
        };
        let scored = |method| score(&truth, &ways, &answer, method, &Answer::default());
        let score = scored(Method::Suspects);
        assert_eq!((score.leaves, score.right, score.on_path), (4, 2, 3));
        assert_eq!(score.distances, [0, 0, 2]);
        assert!(score.first_right);
        assert_eq!(score.wrong.len(), 2);
        // The function without a name is not between them where such are left out.
        assert_eq!(scored(Method::CriticalGraph).distances, [0, 0, 1]);
        let sum = Sum::of([&score]);
        assert_eq!((sum.node_recall(), sum.node_precision()), (Some(1.0), Some(0.5)));
    }
}
