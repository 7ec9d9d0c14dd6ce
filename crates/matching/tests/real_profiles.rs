//! Real profiles: two versions of one library, and one profile under other names.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;
use std::path::Path;

use perfblame_cct::{
    Cct, Frame, FrameId, Import, MetricId, NodeId, Profile, RunSet, Symbols, merge_runs,
};
use perfblame_fixtures::{corpus, recordings};
use perfblame_matching::{Identity, Matching, SideTree, match_anchored, match_by_key};
use perfblame_readers::{Input, ReadOptions, read};

fn load(path: &Path) -> Profile {
    let input = Input::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    read(input, &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The two versions of the web sample; none where it is not.
fn web_sample() -> Option<[RunSet; 2]> {
    let sample = recordings("corpus-web-sample")?;
    let folder = |name: &str| {
        let files = (1..=3).map(|run| sample.join(name).join(format!("{run}.json.gz")));
        merge_runs(files.map(|path| load(&path)).collect())
    };
    Some([folder("old"), folder("new")])
}

/// Self weights of the first metric that has any, all runs added up.
fn weights(set: &RunSet) -> Vec<i64> {
    let metrics = (0..set.metrics.len()).map(MetricId::new);
    let total = |metric| set.runs.iter().map(|run| run.cells.total(metric)).sum::<i64>();
    let metric = metrics.into_iter().find(|metric| total(*metric) != 0);
    let metric = metric.unwrap_or(MetricId::new(0));
    let mut weights = vec![0; set.tree.len()];
    for run in &set.runs {
        for (node, _, value) in run.cells.of(metric) {
            weights[node.index()] += value;
        }
    }
    weights
}

/// How much of a side has a partner.
struct Matched {
    contexts: (usize, usize),
    weight: f64,
}

impl fmt::Display for Matched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, all) = self.contexts;
        write!(f, "{found} of {all} contexts, {:.1} % of weight", self.weight * 100.0)
    }
}

/// How much of the after side has a partner, of the nodes that `wanted` is true for.
fn matched(side: &SideTree<'_>, matching: &Matching, wanted: &dyn Fn(NodeId) -> bool) -> Matched {
    let nodes: Vec<NodeId> = side.tree.nodes().filter(|node| wanted(*node)).collect();
    let weight =
        |nodes: &[NodeId]| -> i64 { nodes.iter().map(|node| side.weights[node.index()]).sum() };
    let whole = weight(&nodes).max(1);
    let all = nodes.len();
    let found: Vec<NodeId> =
        nodes.into_iter().filter(|node| matching.before(*node).is_some()).collect();
    Matched { contexts: (found.len(), all), weight: weight(&found) as f64 / whole as f64 }
}

#[test]
fn two_versions_of_a_library() {
    let Some([old, new]) = web_sample() else { return };
    let (old_weights, new_weights) = (weights(&old), weights(&new));
    let before = SideTree { symbols: &old.symbols, tree: &old.tree, weights: &old_weights };
    let after = SideTree { symbols: &new.symbols, tree: &new.tree, weights: &new_weights };
    let by_name = Identity::by_name(&before, &after);
    let exact = match_by_key(&before, &after, &by_name);
    let identity = Identity::of(&before, &after);
    let anchored = match_anchored(&before, &after, &identity);
    let is_anonymous = |node| after.symbols.name(after.function_of(node)).is_empty();
    // What was planted is new, and below it is nothing.
    let is_old = |node| after.symbols.name(after.function_of(node)) != "dummyFn";
    let share = |matching, wanted: &dyn Fn(NodeId) -> bool| matched(&after, matching, wanted);
    println!("by name: {}", share(&exact, &is_old));
    println!("by name, anonymous: {}", share(&exact, &is_anonymous));
    println!("anchored: {}", share(&anchored, &is_old));
    println!("anchored, anonymous: {}", share(&anchored, &is_anonymous));
    assert!(share(&anchored, &is_old).weight >= 0.97);
    assert!(share(&anchored, &is_anonymous).weight >= 0.9);
    // Functions move within the file, and never past each other.
    let mut lines: Vec<_> = (identity.matches.iter())
        .map(|found| [(&before, found.before), (&after, found.after)])
        .map(|sides| sides.map(|(side, id)| side.symbols.function(id)))
        .filter(|functions| functions[0].component.is_some())
        .filter(|[was, is]| {
            was.component.map(|id| before.symbols.text(id))
                == is.component.map(|id| after.symbols.text(id))
        })
        .map(|functions| functions.map(|function| (function.component, function.line)))
        .collect();
    lines.sort();
    assert!(lines.len() > 40, "{}", lines.len());
    assert!(lines.is_sorted_by_key(|[_, is]| *is), "{lines:?}");
}

/// A profile with another order of siblings, other names and other lines in some components.
struct Disguised {
    symbols: Symbols,
    tree: Cct,
    weights: Vec<i64>,
    /// The original of each node, by row.
    original: Vec<NodeId>,
}

/// What is changed in the components.
#[derive(Clone, Copy)]
struct Disguise {
    letters: bool,
    places: Lines,
    order: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    Same,
    Shifted,
    Unknown,
}

fn disguise(side: &SideTree<'_>, components: &[&str], how: Disguise) -> Disguised {
    let mut symbols = Symbols::default();
    let mut import = Import::new(side.symbols);
    let mut frames: Vec<Option<FrameId>> = vec![None; side.symbols.frames().len()];
    let mut names: HashMap<String, String> = HashMap::new();
    let mut image = |symbols: &mut Symbols, frame: FrameId| {
        *frames[frame.index()].get_or_insert_with(|| {
            let function = side.symbols.frame(frame).function;
            let component = side.symbols.component(function);
            let changed = component.is_some_and(|component| components.contains(&component));
            let imported = import.function(symbols, function);
            let mut function = *symbols.function(imported);
            if changed && how.letters {
                let name = symbols.text(function.name).to_owned();
                // Functions of one name get one name, those without any none, as minifiers do.
                if !name.is_empty() {
                    let next = letters(names.len() * 7 + 3);
                    let short = names.entry(name).or_insert(next).clone();
                    function.name = symbols.string(&short);
                }
            }
            if changed && how.places == Lines::Shifted {
                let shifted = |line: NonZeroU32| line.saturating_add(13 + line.get() / 200 * 4);
                function.line = function.line.map(shifted);
            }
            if changed && how.places == Lines::Unknown && !symbols.text(function.name).is_empty() {
                (function.line, function.column) = (None, None);
            }
            let function = symbols.intern_function(function);
            symbols.intern_frame(Frame::of(function))
        })
    };
    let mut todo: Vec<(NodeId, Option<NodeId>)> = Vec::new();
    let push = |todo: &mut Vec<_>, nodes: Vec<NodeId>, parent: Option<NodeId>| {
        let nodes = nodes.into_iter().map(|node| (node, parent));
        // The last one pushed comes first.
        if how.order { todo.extend(nodes) } else { todo.extend(nodes.rev()) }
    };
    push(&mut todo, side.tree.roots().collect(), None);
    let (mut parents, mut labels, mut original) = (Vec::new(), Vec::new(), Vec::new());
    while let Some((node, parent)) = todo.pop() {
        let row = NodeId::new(original.len());
        parents.push(parent);
        labels.push(image(&mut symbols, side.tree.frame(node)));
        original.push(node);
        push(&mut todo, side.tree.children(node).collect(), Some(row));
    }
    let tree = Cct::from_preorder(side.tree.grain(), parents, labels);
    let weights = original.iter().map(|node| side.weights[node.index()]).collect();
    Disguised { symbols, tree, weights, original }
}

fn letters(mut number: usize) -> String {
    let mut name = String::new();
    loop {
        name.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return name;
        }
    }
}

/// The two heaviest components that have a name.
fn heaviest<'a>(side: &SideTree<'a>) -> Vec<&'a str> {
    let mut weights: HashMap<&str, i64> = HashMap::new();
    for node in side.tree.nodes() {
        let component = side.symbols.component(side.function_of(node));
        if let Some(component) = component.filter(|text| text.contains('/')) {
            *weights.entry(component).or_default() += side.weights[node.index()];
        }
    }
    let mut weights: Vec<_> = weights.into_iter().collect();
    weights.sort_by_key(|(component, weight)| (-weight, *component));
    weights.into_iter().take(2).map(|(component, _)| component).collect()
}

/// Parts of the disguised components' weight that found the right partner and a wrong one.
fn recognised(
    side: &SideTree<'_>,
    components: &[&str],
    disguised: &Disguised,
    expected: impl Fn(NodeId) -> Option<NodeId>,
    before: &SideTree<'_>,
) -> (f64, f64) {
    let Disguised { symbols, tree, weights, original } = disguised;
    let after = SideTree { symbols, tree, weights };
    let matching = match_anchored(before, &after, &Identity::of(before, &after));
    let (mut all, mut right, mut wrong) = (0i64, 0i64, 0i64);
    for node in tree.nodes() {
        let was = original[node.index()];
        let component = side.symbols.component(side.function_of(was));
        if component.is_some_and(|component| components.contains(&component)) {
            let weight = weights[node.index()];
            let Some(truth) = expected(was) else { continue };
            all += weight;
            match matching.before(node) {
                Some(partner) if partner == truth => right += weight,
                Some(_) => wrong += weight,
                None => {}
            }
        }
    }
    let share = |part: i64| part as f64 / all.max(1) as f64;
    (share(right), share(wrong))
}

const DISGUISES: [(&str, Disguise); 5] = [
    ("letters", Disguise { letters: true, places: Lines::Same, order: false }),
    ("lines", Disguise { letters: false, places: Lines::Shifted, order: true }),
    ("letters and lines", Disguise { letters: true, places: Lines::Shifted, order: false }),
    ("letters, lines and order", Disguise { letters: true, places: Lines::Shifted, order: true }),
    ("letters without lines", Disguise { letters: true, places: Lines::Unknown, order: true }),
];

#[test]
fn a_minified_profile_is_recognised() {
    let Some(corpus) = corpus() else { return };
    for file in [
        "cpuprofile/chrome65-sucrase.cpuprofile.gz",
        "chrome-trace/devtools-react-console-timestamp.json.gz",
        "chrome-trace/devtools-web-dev-initial-url.json.gz",
        "chrome-trace/devtools-threejs-gpu.json.gz",
    ] {
        let set = merge_runs(vec![load(&corpus.join(file))]);
        let weights = weights(&set);
        let side = SideTree { symbols: &set.symbols, tree: &set.tree, weights: &weights };
        let components = heaviest(&side);
        for (what, how) in DISGUISES {
            let disguised = disguise(&side, &components, how);
            let (right, wrong) = recognised(&side, &components, &disguised, Some, &side);
            println!("{file}, {what}: {:.1} % right, {:.1} % wrong", right * 100.0, wrong * 100.0);
            assert!(right >= 0.95 || how.places == Lines::Unknown, "{file}, {what}: {right}");
            assert!(wrong <= 0.01, "{file}, {what}: {wrong}");
        }
    }
}

#[test]
fn another_version_is_recognised_when_minified() {
    let Some([old, new]) = web_sample() else { return };
    let (old_weights, new_weights) = (weights(&old), weights(&new));
    let before = SideTree { symbols: &old.symbols, tree: &old.tree, weights: &old_weights };
    let after = SideTree { symbols: &new.symbols, tree: &new.tree, weights: &new_weights };
    let by_names = match_anchored(&before, &after, &Identity::of(&before, &after));
    let components = heaviest(&after);
    for (what, how) in DISGUISES {
        let disguised = disguise(&after, &components, how);
        let expected = |node| by_names.before(node);
        let (right, wrong) = recognised(&after, &components, &disguised, expected, &before);
        println!("{what}: {:.1} % right, {:.1} % wrong", right * 100.0, wrong * 100.0);
        assert!(right >= 0.95 || how.places == Lines::Unknown, "{what}: {right}");
        assert!(wrong <= 0.01, "{what}: {wrong}");
    }
}
