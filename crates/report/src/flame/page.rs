//! A flame graph as one page that needs no network: zoom, search, metrics, threads.
//!
//! Contexts too small to see are cut, and one box per caller stands for them.

use std::io::{self, Write};

use hashbrown::HashMap;
use perfblame_analysis::function_name;
use perfblame_cct::{FunctionId, Layer, MetricId, NodeId, Profile, role_totals};
use serde::Serialize;

use crate::page::{Metric, json_for_script, write_page};

/// Contexts below this share of every metric are not drawn: half a pixel on a screen of a thousand.
const CUT_SHARE: f64 = 0.0005;

/// Roles that can be chosen apart; the others are together.
const ROLES: usize = 24;

const PAGE: &str = include_str!("page.html");
const PAGE_JS: &str = include_str!("page.js");

/// What the page says besides the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlamePage<'a> {
    /// Its title, usually the name of the file.
    pub title: &'a str,
    /// What the profile is, in a line.
    pub about: &'a str,
    /// The metric to begin with.
    pub metric: MetricId,
}

#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    about: &'a str,
    version: &'static str,
    /// Contexts that were cut, and the share below which they were.
    cut: usize,
    cut_share: f64,
    metric: usize,
    metrics: Vec<Metric<'a>>,
    layers: [&'static str; Layer::ALL.len()],
    roles: Vec<Role>,
    functions: Vec<Function<'a>>,
    /// Parent of each node, -1 for a root; parents come first.
    parent: Vec<i64>,
    /// Function of each node; -n stands for n contexts that were cut.
    function: Vec<i64>,
    series: Vec<Series>,
}

#[derive(Serialize)]
struct Role {
    name: String,
    threads: usize,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    place: String,
    layer: usize,
}

/// Own values of one metric on the threads of one role.
#[derive(Serialize)]
struct Series {
    metric: usize,
    role: usize,
    node: Vec<u32>,
    value: Vec<i64>,
}

/// Writes the page.
pub fn flame_html(profile: &Profile, page: FlamePage<'_>, out: &mut dyn Write) -> io::Result<()> {
    let data = json_for_script(&data(profile, page))?;
    let title = escaped(page.title);
    write_page(PAGE, &[("title", &title), ("data", &data), ("page.js", PAGE_JS)], out)
}

/// A text as content of an HTML element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn data<'a>(profile: &'a Profile, page: FlamePage<'a>) -> Data<'a> {
    let kept = Kept::of(profile);
    let mut functions = Vec::new();
    let mut numbers: HashMap<FunctionId, usize> = HashMap::new();
    let (mut parent, mut function) = (Vec::new(), Vec::new());
    for row in &kept.rows {
        parent.push(row.parent.map_or(-1, |parent| parent as i64));
        function.push(match row.what {
            What::Cut(contexts) => -(contexts as i64),
            What::Node(node) => {
                let id = profile.function_of(node);
                let number = *numbers.entry(id).or_insert_with(|| {
                    functions.push(describe(profile, id));
                    functions.len() - 1
                });
                number as i64
            }
        });
    }
    let (roles, role_of) = roles(profile, page.metric);
    let mut series = Vec::new();
    for (metric, _) in profile.metrics() {
        let mut values: HashMap<(usize, u32), i64> = HashMap::new();
        for (node, thread, value) in profile.cells.of(metric) {
            let role = thread.and_then(|thread| role_of.get(thread.index()).copied()).unwrap_or(0);
            let place = kept.place[node.index()];
            *values.entry((role, place)).or_default() += value;
        }
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_unstable();
        for ((role, node), value) in values {
            let known = series
                .last()
                .is_some_and(|last: &Series| last.metric == metric.index() && last.role == role);
            if !known {
                series.push(Series {
                    metric: metric.index(),
                    role,
                    node: Vec::new(),
                    value: Vec::new(),
                });
            }
            if let Some(last) = series.last_mut() {
                last.node.push(node);
                last.value.push(value);
            }
        }
    }
    Data {
        title: page.title,
        about: page.about,
        version: crate::VERSION,
        cut: kept.cut,
        cut_share: CUT_SHARE,
        metric: page.metric.index(),
        metrics: profile.metrics.iter().map(Metric::of).collect(),
        layers: Layer::ALL.map(Layer::name),
        roles,
        functions,
        parent,
        function,
        series,
    }
}

fn describe(profile: &Profile, id: FunctionId) -> Function<'_> {
    let symbols = &profile.symbols;
    let function = symbols.function(id);
    let place = match (function.file.or(function.component), function.line) {
        (Some(file), Some(line)) => format!("{}:{line}", symbols.text(file)),
        (Some(file), None) => symbols.text(file).to_owned(),
        (None, _) => String::new(),
    };
    let layer = Layer::ALL.iter().position(|layer| *layer == function.layer).unwrap_or(0);
    Function { name: function_name(symbols, id), place, layer }
}

/// The roles to choose from, and the role of each thread.
fn roles(profile: &Profile, metric: MetricId) -> (Vec<Role>, Vec<usize>) {
    let mut roles = Vec::new();
    let mut role_of = vec![0; profile.threads.len()];
    let totals = role_totals(profile, metric);
    for total in &totals {
        if roles.len() >= ROLES {
            break;
        }
        for thread in &total.threads {
            role_of[thread.index()] = roles.len();
        }
        let name = if total.role.is_empty() { "(unnamed)".to_owned() } else { total.role.clone() };
        roles.push(Role { name, threads: total.threads.len() });
    }
    let known: Vec<usize> =
        totals.iter().take(ROLES).flat_map(|total| &total.threads).map(|id| id.index()).collect();
    if known.len() < profile.threads.len() && !profile.threads.is_empty() {
        let mut is_known = vec![false; profile.threads.len()];
        for row in known {
            is_known[row] = true;
        }
        let others = is_known.iter().filter(|known| !**known).count();
        for (row, _) in is_known.iter().enumerate().filter(|(_, known)| !**known) {
            role_of[row] = roles.len();
        }
        roles.push(Role { name: "(others)".to_owned(), threads: others });
    }
    (roles, role_of)
}

enum What {
    Node(NodeId),
    /// Stands for this many contexts.
    Cut(usize),
}

struct FlameRow {
    parent: Option<usize>,
    what: What,
}

/// The contexts that are drawn, parents first.
struct Kept {
    rows: Vec<FlameRow>,
    /// The row where each node's own value goes.
    place: Vec<u32>,
    cut: usize,
}

impl Kept {
    fn of(profile: &Profile) -> Self {
        let tree = &profile.tree;
        let mut large = vec![false; tree.len()];
        for (metric, _) in profile.metrics() {
            let inclusive = profile.inclusive_values(metric);
            let whole = profile.cells.total(metric).unsigned_abs() as f64;
            for (large, value) in large.iter_mut().zip(inclusive) {
                *large |= value != 0 && value.unsigned_abs() as f64 >= whole * CUT_SHARE;
            }
        }
        let mut kept = Self { rows: Vec::new(), place: Vec::with_capacity(tree.len()), cut: 0 };
        // The row that stands for what was cut below each row; outermost contexts have one, too.
        let mut rest: HashMap<Option<usize>, usize> = HashMap::new();
        let mut is_cut = vec![false; tree.len()];
        for node in tree.nodes() {
            let above = tree.parent(node);
            if let Some(above) = above.filter(|above| is_cut[above.index()]) {
                let place = kept.place[above.index()];
                is_cut[node.index()] = true;
                kept.count(place);
                kept.place.push(place);
                continue;
            }
            let parent = above.map(|above| kept.place[above.index()] as usize);
            if large[node.index()] {
                kept.place.push(kept.rows.len() as u32);
                kept.rows.push(FlameRow { parent, what: What::Node(node) });
                continue;
            }
            is_cut[node.index()] = true;
            let row = *rest.entry(parent).or_insert_with(|| {
                kept.rows.push(FlameRow { parent, what: What::Cut(0) });
                kept.rows.len() - 1
            });
            kept.count(row as u32);
            kept.place.push(row as u32);
        }
        kept
    }

    fn count(&mut self, row: u32) {
        self.cut += 1;
        if let Some(FlameRow { what: What::Cut(contexts), .. }) = self.rows.get_mut(row as usize) {
            *contexts += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_cct::{Frame, Function, Grain, ProfileBuilder, Times, Unit};

    #[test]
    fn small_contexts_are_cut_without_losing_their_cost() {
        let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
        let metric = builder.metric(perfblame_cct::Metric::sampled("samples", Unit::Count));
        let mut frame = |name: &str| {
            let name = builder.string(name);
            let function = builder.function(Function::named(name));
            builder.frame(Frame::of(function))
        };
        let stacks =
            [vec!["main", "large"], vec!["main", "small", "smaller"], vec!["main", "tiny"]];
        let stacks = stacks.map(|names| names.into_iter().map(&mut frame).collect::<Vec<_>>());
        for (stack, value) in stacks.iter().zip([100_000, 3, 2]) {
            builder.sample(stack, None, metric, value);
        }
        let profile = builder.finish();
        let data = data(&profile, FlamePage { title: "t", about: "a", metric });
        assert_eq!(data.cut, 3);
        assert_eq!(data.parent, [-1, 0, 0]);
        // The last box stands for three contexts.
        assert_eq!(data.function, [0, 1, -3]);
        let series = &data.series[0];
        assert_eq!((&series.node[..], &series.value[..]), (&[1, 2][..], &[100_000, 5][..]));
    }
}
