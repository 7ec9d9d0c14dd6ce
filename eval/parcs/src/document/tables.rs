//! The tables, as Markdown.

use std::fmt::Write as _;

use perfblame_cct::{Side, Sides};

use crate::attribution::Named;
use crate::compare::Taken;
use crate::experiment::{Measured, Measurement};
use crate::paper::{PAPER, PaperRow};
use crate::programs::Program;

/// Programs that have figures.
pub type Rows<'a> = [(&'static Program, &'a Measured)];

/// The mean of something over the inputs of a program.
pub fn mean(row: &Measured, of: impl Fn(&Measurement) -> f64) -> f64 {
    row.inputs.iter().map(of).sum::<f64>() / row.inputs.len().max(1) as f64
}

fn head(columns: &[&str]) -> String {
    let mut text = format!("| {} |\n|---|", columns.join(" | "));
    text.push_str(&"---:|".repeat(columns.len() - 1));
    text.push('\n');
    text
}

fn line(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// The paper's row for a program, where it has one.
fn in_paper(program: &Program) -> Option<&'static PaperRow> {
    PAPER.iter().find(|row| Some(row.name) == program.in_paper)
}

/// Ours, the paper's row for it below, and the paper's other programs in the end.
fn beside(
    rows: &Rows<'_>,
    columns: &[&str],
    ours: impl Fn(&Program, &Measured) -> Vec<String>,
    paper: impl Fn(&PaperRow) -> Vec<String>,
) -> String {
    let mut text = head(columns);
    let named = |name: String, cells: Vec<String>| [vec![name], cells].concat();
    let quoted = |row: &PaperRow| named(format!("*{}, paper*", row.name), paper(row));
    let mut shown = Vec::new();
    for (program, measured) in rows {
        line(&mut text, &named(program.name.to_owned(), ours(program, measured)));
        if let Some(row) = in_paper(program) {
            line(&mut text, &quoted(row));
            shown.push(row.name);
        }
    }
    for row in PAPER.iter().filter(|row| !shown.contains(&row.name)) {
        line(&mut text, &quoted(row));
    }
    text
}

/// A number with at most one decimal and its thousands apart.
fn number(value: f64) -> String {
    let whole = value.abs().trunc() as u64;
    let mut digits = whole.to_string();
    let mut at = digits.len();
    while at > 3 {
        at -= 3;
        digits.insert(at, ',');
    }
    let tenths = ((value.abs() - whole as f64) * 10.0).round() as u64;
    match tenths {
        0 => digits,
        10 => number(whole as f64 + 1.0),
        tenths => format!("{digits}.{tenths}"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn share(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    format!("{part} of {whole} ({:.0} %)", part as f64 / whole as f64 * 100.0)
}

/// What the paper says in its text, and what we find.
pub fn claims(rows: &Rows<'_>) -> String {
    let programs = rows.len();
    let inputs = || rows.iter().flat_map(|(_, row)| &row.inputs);
    let count = |of: &dyn Fn(&Measured) -> bool| rows.iter().filter(|(_, row)| of(row)).count();
    let covered = count(&|row| mean(row, |input| input.compared.staged.shares.before) > 0.85);
    let good = count(&|row| mean(row, |input| input.compared.staged.score) > 70.0);
    let steady = count(&|row| mean(row, |input| input.compared.staged.score_of_calls()) > 70.0);
    let better = count(&|row| {
        let score = mean(row, |input| input.compared.staged.score);
        score > mean(row, |input| input.compared.strict) + 0.5
    });
    let least = |of: fn(&Taken) -> Option<f64>| {
        let values = inputs().filter_map(|input| of(&input.compared.staged));
        percent(values.fold(1.0, f64::min))
    };
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let grown = |row: &Measured, side: Side| {
        let with = mean(row, |input| input.compared.nodes[side] as f64);
        let without = mean(row, |input| input.compared.nodes_without_sites[side] as f64);
        if without > 0.0 { (with / without - 1.0) * 100.0 } else { 0.0 }
    };
    let growth = rows.iter().map(|(_, row)| {
        let Sides { before, after } = Sides::of(|side| grown(row, side));
        f64::midpoint(before, after)
    });
    let growth: f64 = growth.sum();
    let renamed: usize = rows.iter().map(|(_, row)| row.code.renamed).sum();
    let same = |of: fn(&Taken) -> Option<f64>| {
        percent(median(inputs().filter_map(|input| of(input.compared.same.as_ref()?)).collect()))
    };
    let stable = inputs().filter_map(|input| input.compared.same.as_ref());
    let stable = stable.filter(|same| same.removed() == 0).count();
    let compared = inputs().filter(|input| input.compared.same.is_some()).count();
    let mut text = head(&["question", "paper", "ours"]);
    let rows: [[String; 3]; 8] = [
        [
            "common tree has more than 85 % of the nodes before".into(),
            "6 of 8 programs".into(),
            format!("{covered} of {programs} programs"),
        ],
        [
            "lowest overlap of average time".into(),
            "above 82 %".into(),
            format!("{} %", least(|taken| taken.mean)),
        ],
        [
            "lowest overlap of invocation count".into(),
            "above 82 %".into(),
            format!("{} %", least(|taken| taken.calls)),
        ],
        [
            "score above 70".into(),
            "6 of 8 programs".into(),
            format!("{good} of {programs} programs; without times {steady}"),
        ],
        [
            "relaxed matching scores better than strict".into(),
            "8 of 8, 4 of them clearly".into(),
            format!("{better} of {programs} by more than half a point"),
        ],
        [
            "call sites make trees larger, on average".into(),
            "by 295 %".into(),
            format!("by {:.0} %", growth / programs.max(1) as f64),
        ],
        ["methods that were only renamed".into(), "none".into(), renamed.to_string()],
        [
            "two runs of one release: overlap of total time".into(),
            "99.3 % (FindBugs)".into(),
            format!(
                "median {} %, of calls {} %; {stable} of {compared} pairs of trees are the same",
                same(|taken| taken.total),
                same(|taken| taken.calls)
            ),
        ],
    ];
    for row in rows {
        line(&mut text, &row);
    }
    text
}

pub fn programs(rows: &Rows<'_>) -> String {
    let mut text = String::from(
        "| program | what | before | after | runs with each input | inputs |\n|---|---|---|---|---|---|\n",
    );
    for (program, measured) in rows {
        let inputs: Vec<&str> = measured.inputs.iter().map(|input| input.input.as_str()).collect();
        let Sides { before, after } = program.releases;
        let runs = measured.inputs.first().map_or_else(Sides::default, |input| input.cost.runs);
        let runs = format!("{} + {}", runs.before, runs.after);
        line(
            &mut text,
            &[program.name, program.what, before, after, &runs, &inputs.join(", ")]
                .map(str::to_owned),
        );
    }
    text
}

pub fn sizes(rows: &Rows<'_>) -> String {
    let columns = ["program", "nodes before", "nodes after", "depth before", "depth after"];
    let cells = |nodes: Sides<f64>, depth: Sides<f64>| -> Vec<String> {
        nodes.map(number).into_iter().chain(depth.map(|depth| format!("{depth:.1}"))).collect()
    };
    beside(
        rows,
        &columns,
        |_, row| {
            let nodes = |side| mean(row, |input| input.compared.nodes[side] as f64);
            let depth = |side| mean(row, |input| input.compared.depth[side]);
            cells(Sides::of(nodes), Sides::of(depth))
        },
        |row| cells(row.nodes, row.depth),
    )
}

pub fn code(rows: &Rows<'_>) -> String {
    let columns = [
        "program",
        "classes before",
        "classes after",
        "methods before",
        "methods after",
        "deleted",
        "added",
        "modified",
        "renamed",
        "moved",
    ];
    beside(
        rows,
        &columns,
        |_, row| {
            let code = &row.code;
            let sizes = code.classes.into_iter().chain(code.methods);
            let changes = [code.deleted, code.added, code.modified, code.renamed, code.moved];
            sizes.chain(changes).map(|count| number(count as f64)).collect()
        },
        |row| {
            let counts = row.code.iter().map(|count| number(f64::from(*count)));
            counts.chain([String::new()]).collect()
        },
    )
}

fn counts(taken: &Taken) -> [(usize, usize); 4] {
    [taken.deleted, taken.added, taken.modified, taken.side_effects]
}

pub fn stage_means(rows: &Rows<'_>) -> String {
    let columns = ["program", "common tree %", "deleted", "added", "modified", "side effects"];
    beside(
        rows,
        &columns,
        |_, row| {
            let mut cells = vec![percent(mean(row, |input| input.compared.staged.shares.before))];
            for stage in 0..4 {
                let subtrees = mean(row, |input| counts(&input.compared.staged)[stage].0 as f64);
                let nodes = mean(row, |input| counts(&input.compared.staged)[stage].1 as f64);
                cells.push(format!("{} / {}", number(subtrees), number(nodes)));
            }
            cells
        },
        |row| {
            let (share, counts) = row.mean_stages();
            let pairs =
                counts.chunks(2).map(|pair| format!("{} / {}", number(pair[0]), number(pair[1])));
            [format!("{share:.1}")].into_iter().chain(pairs).collect()
        },
    )
}

pub fn stages(rows: &Rows<'_>) -> String {
    let columns = [
        "program, input",
        "common tree",
        "% of before",
        "% of after",
        "deleted",
        "added",
        "modified",
        "side effects",
    ];
    let mut text = head(&columns);
    for (program, measured) in rows {
        for input in &measured.inputs {
            let taken = &input.compared.staged;
            let mut cells = vec![
                format!("{}, {}", program.name, input.input),
                number(taken.common as f64),
                format!("{:.2}", taken.shares.before * 100.0),
                format!("{:.2}", taken.shares.after * 100.0),
            ];
            let pair = |(subtrees, nodes): (usize, usize)| {
                format!("{} / {}", number(subtrees as f64), number(nodes as f64))
            };
            cells.extend(counts(taken).map(pair));
            line(&mut text, &cells);
        }
    }
    text
}

pub fn removed(rows: &Rows<'_>) -> String {
    beside(
        rows,
        &["program", "with call sites", "without"],
        |_, row| {
            vec![
                number(mean(row, |input| input.compared.staged.removed() as f64)),
                number(mean(row, |input| input.compared.without_sites.removed() as f64)),
            ]
        },
        |row| row.removed.map(number).to_vec(),
    )
}

pub fn call_sites(rows: &Rows<'_>) -> String {
    let columns = [
        "program",
        "before, with",
        "before, without",
        "larger by %",
        "after, with",
        "after, without",
        "larger by %",
    ];
    let cells = |with: Sides<f64>, without: Sides<f64>| -> Vec<String> {
        let one = |(with, without): (f64, f64)| {
            let more = if without > 0.0 { (with / without - 1.0) * 100.0 } else { 0.0 };
            [number(with), number(without), format!("{more:.1}")]
        };
        with.zip(without).into_iter().flat_map(one).collect()
    };
    beside(
        rows,
        &columns,
        |_, row| {
            let with = |side| mean(row, |input| input.compared.nodes[side] as f64);
            let without = |side| mean(row, |input| input.compared.nodes_without_sites[side] as f64);
            cells(Sides::of(with), Sides::of(without))
        },
        |row| cells(row.nodes, row.without_sites),
    )
}

pub fn overlaps(rows: &Rows<'_>) -> String {
    let columns = [
        "program",
        "calls",
        "average time",
        "total time",
        "calls, same release",
        "average time, same release",
        "total time, same release",
        "nodes that differ, same release",
    ];
    let mut text = head(&columns);
    for (program, row) in rows {
        let between = |of: fn(&Taken) -> Option<f64>| {
            percent(mean(row, |input| of(&input.compared.staged).unwrap_or(0.0)))
        };
        let same = |of: fn(&Taken) -> Option<f64>| {
            percent(mean(row, |input| input.compared.same.as_ref().and_then(of).unwrap_or(0.0)))
        };
        let cells = [
            program.name.to_owned(),
            between(|taken| taken.calls),
            between(|taken| taken.mean),
            between(|taken| taken.total),
            same(|taken| taken.calls),
            same(|taken| taken.mean),
            same(|taken| taken.total),
            number(mean(row, |input| {
                input.compared.same.as_ref().map_or(0.0, |same| same.removed() as f64)
            })),
        ];
        line(&mut text, &cells);
    }
    text
}

pub fn scores(rows: &Rows<'_>) -> String {
    let columns = [
        "program",
        "relaxed",
        "lowest",
        "highest",
        "strict",
        "two runs of one release",
        "relaxed, without times",
        "two runs, without times",
        "strict common tree %",
    ];
    let mut text = head(&columns);
    for (program, row) in rows {
        let scores = || row.inputs.iter().map(|input| input.compared.staged.score);
        let shown = |score: f64| format!("{score:.1}");
        let same = |of: fn(&Taken) -> f64| {
            shown(mean(row, |input| input.compared.same.as_ref().map_or(0.0, of)))
        };
        let cells = [
            program.name.to_owned(),
            shown(mean(row, |input| input.compared.staged.score)),
            shown(scores().fold(100.0, f64::min)),
            shown(scores().fold(0.0, f64::max)),
            shown(mean(row, |input| input.compared.strict)),
            same(|taken| taken.score),
            shown(mean(row, |input| input.compared.staged.score_of_calls())),
            same(Taken::score_of_calls),
            percent(mean(row, |input| input.compared.strict_share)),
        ];
        line(&mut text, &cells);
    }
    text
}

pub fn weights(rows: &Rows<'_>) -> String {
    let columns = [
        "program",
        "overlap",
        "threshold",
        "pairs adjusted",
        "overlap after",
        "a largest difference, its shares",
    ];
    let mut text = head(&columns);
    for (program, row) in rows {
        let of = |of: fn(&crate::compare::Weights) -> f64| {
            mean(row, |input| input.compared.weights.as_ref().map_or(0.0, of))
        };
        let full = row.inputs.iter().filter_map(|input| input.compared.weights.as_ref());
        let full = full.filter(|weights| weights.full).count();
        let mut listed = row.inputs.iter().filter_map(|input| input.compared.weights.as_ref());
        let first = listed.find_map(|weights| weights.first.first());
        let first = first.map_or("none".to_owned(), |(name, before, after)| {
            format!("`{name}` {} → {}", percent(*before), percent(*after))
        });
        let mut adjusted = number(of(|weights| weights.adjusted as f64));
        if full > 0 {
            let _ = write!(adjusted, " (not enough with {full} inputs)");
        }
        let cells = [
            program.name.to_owned(),
            percent(of(|weights| weights.overlap)),
            percent(of(|weights| weights.threshold)),
            adjusted,
            percent(of(|weights| weights.overlap_after)),
            first,
        ];
        line(&mut text, &cells);
    }
    text
}

pub fn attribution(rows: &Rows<'_>) -> String {
    let columns = [
        "program, stage",
        "subtrees",
        "first method named was changed",
        "it is the direct caller",
        "methods named per subtree",
        "new subtrees whose root it newly calls",
    ];
    let mut text = head(&columns);
    let mut all = [Named::default(), Named::default()];
    let cells = |name: String, named: &Named| {
        let each =
            if named.subtrees == 0 { 0.0 } else { named.candidates as f64 / named.subtrees as f64 };
        vec![
            name,
            number(named.subtrees as f64),
            share(named.changed, named.subtrees),
            share(named.caller, named.subtrees),
            format!("{each:.1}"),
            share(named.calls, named.after),
        ]
    };
    for (program, row) in rows {
        let mut own = [Named::default(), Named::default()];
        for input in &row.inputs {
            own[0].add(&input.compared.attribution.stage_1);
            own[1].add(&input.compared.attribution.stage_2);
        }
        for (stage, named) in own.iter().enumerate() {
            all[stage].add(named);
            line(&mut text, &cells(format!("{}, {}", program.name, stage + 1), named));
        }
    }
    for (stage, named) in all.iter().enumerate() {
        line(&mut text, &cells(format!("**all, {}**", stage + 1), named));
    }
    let sums = |of: usize| -> usize {
        let weights = rows.iter().flat_map(|(_, row)| &row.inputs);
        weights.filter_map(|input| Some(input.compared.weights.as_ref()?.side_effects[of])).sum()
    };
    let (always, sometimes, unknown) = (sums(0), sums(1), sums(2));
    let _ = writeln!(
        text,
        "\nStage 3 leaves {} subtrees (all runs together): {always} are in all runs of their side (side effects), \
         {sometimes} only in some of them (chance), {unknown} are on a side with one run, which cannot decide.",
        always + sometimes + unknown
    );
    text
}

/// How long runs took on the clock for each second of CPU time: what else the machine had to do.
pub fn waiting(rows: &Rows<'_>) -> f64 {
    let sum = |of: fn(&Measurement) -> f64| -> f64 {
        rows.iter().flat_map(|(_, row)| &row.inputs).map(of).sum()
    };
    let cpu = sum(|input| input.cost.cpu[0] + input.cost.cpu[1]);
    if cpu > 0.0 { sum(|input| input.cost.wall[0] + input.cost.wall[1]) / cpu } else { 0.0 }
}

pub fn costs(rows: &Rows<'_>) -> String {
    let columns = [
        "program",
        "plain CPU s",
        "profiled CPU s",
        "times",
        "plain wall s",
        "calls counted",
        "read s",
        "compare s",
        "class files s",
        "same output",
    ];
    let mut text = head(&columns);
    for (program, row) in rows {
        let [plain, profiled] = [0, 1].map(|which| mean(row, |input| input.cost.cpu[which]));
        let printed =
            |which: usize| row.inputs.iter().map(|input| input.cost.printed[which]).sum::<usize>();
        let cells = [
            program.name.to_owned(),
            format!("{plain:.1}"),
            format!("{profiled:.1}"),
            format!("{:.1}", if plain > 0.0 { profiled / plain } else { 0.0 }),
            format!("{:.1}", mean(row, |input| input.cost.wall[0])),
            number(mean(row, |input| input.compared.calls.after).round()),
            format!("{:.2}", mean(row, |input| input.compared.seconds[0])),
            format!("{:.2}", mean(row, |input| input.compared.seconds[1])),
            format!("{:.2}", row.code.seconds),
            format!("{} of {}", printed(1), printed(0)),
        ];
        line(&mut text, &cells);
    }
    text
}
