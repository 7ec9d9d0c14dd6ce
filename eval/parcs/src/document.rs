//! The document: our tables beside the paper's, in its order.

mod tables;

use std::fmt::Write as _;

use crate::chart::{Group, bars};
use crate::experiment::{Measured, Measurement};
use crate::programs::{PROGRAMS, Program};

/// A document with its pictures by file name.
#[derive(Clone, Debug, Default)]
pub struct Written {
    pub text: String,
    pub figures: Vec<(String, String)>,
}

/// What the machine is, in general words.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?.to_owned();
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    let memory =
        memory.map_or(String::new(), |kilobytes| format!(" and {} GB of memory", kilobytes >> 20));
    format!("a virtual machine with {cores} cores{memory}")
}

/// Programs with figures, and their rows in the table of programs.
fn with_figures(measured: &[Measured]) -> Vec<(&'static Program, &Measured)> {
    let found = measured.iter().filter(|row| !row.inputs.is_empty()).filter_map(|row| {
        Some((PROGRAMS.iter().find(|program| program.name == row.program)?, row))
    });
    found.collect()
}

/// Writes the document.
pub fn document(measured: &[Measured], machine: &str) -> Written {
    let rows = with_figures(measured);
    let mut text = String::from(INTRODUCTION);
    let _ = writeln!(
        text,
        "The figures here are from {machine}, with Java 17. It had other work to do; runs took {:.1} s of wall time for each second of CPU time. The profiler measures wall time, so other work on the machine is included; counts of contexts and calls are not affected.\n",
        tables::waiting(&rows)
    );
    text.push_str("## What the paper found, and what we find\n\n");
    text.push_str(&tables::claims(&rows));
    text.push_str("\n## Programs (table 1)\n\n");
    text.push_str(&tables::programs(&rows));
    text.push_str("\n## Sizes of calling context trees (table 2)\n\n");
    text.push_str(
        "Means over the inputs: contexts with call sites, and the depth of the stack, weighted by time.\n\n",
    );
    text.push_str(&tables::sizes(&rows));
    text.push_str("\n## Changes of the code (table 3)\n\n");
    text.push_str(
        "Classes and methods of the program's own packages before and after; methods deleted, added, modified, renamed. \
         *Renamed* contains lambdas and members of anonymous classes that the compiler renumbered. *Moved* is our addition: the same method in a renamed class, which the paper counts as deleted and added.\n\n",
    );
    text.push_str(&tables::code(&rows));
    text.push_str("\n## What each stage removes (table 4)\n\n");
    text.push_str(
        "Subtrees / nodes of both trees. Means over the inputs, ours and the paper's:\n\n",
    );
    text.push_str(&tables::stage_means(&rows));
    text.push_str("\nOurs, input by input:\n\n");
    text.push_str(&tables::stages(&rows));
    text.push_str("\n## Call sites (tables 5 and 6)\n\n");
    text.push_str("Nodes removed with and without call sites, means over the inputs:\n\n");
    text.push_str(&tables::removed(&rows));
    text.push_str("\nSizes of the trees with and without call sites, means over the inputs:\n\n");
    text.push_str(&tables::call_sites(&rows));
    let mut figures = Vec::new();
    text.push_str("\n## Overlaps (figure 7)\n\n");
    text.push_str(
        "Overlap of the common trees in percent, one bar per input. The paper prints no numbers; according to its text, all are above 82 %.\n\n",
    );
    let mut figure = |text: &mut String, file: &str, title: &str, groups: Vec<Group>| {
        let _ = writeln!(text, "![{title}](eval-parcs/{file})\n");
        figures.push((file.to_owned(), bars(title, &groups)));
    };
    let percent = |value: Option<f64>| value.unwrap_or(0.0) * 100.0;
    let groups = |of: &dyn Fn(&Measurement) -> f64| -> Vec<Group> {
        let group = |(program, row): &(&Program, &Measured)| Group {
            name: program.name.to_owned(),
            bars: row.inputs.iter().map(of).collect(),
        };
        rows.iter().map(group).collect()
    };
    let mean_time = groups(&|input| percent(input.compared.staged.mean));
    figure(&mut text, "figure-7a.svg", "Figure 7 (a): overlap of average time", mean_time);
    let calls = groups(&|input| percent(input.compared.staged.calls));
    figure(&mut text, "figure-7b.svg", "Figure 7 (b): overlap of invocation count", calls);
    text.push_str(&tables::overlaps(&rows));
    text.push_str("\n## Scores (figures 8 and 9)\n\n");
    text.push_str(
        "The score is the product of the overlaps of calls, average time and total time and of both shares of the common tree, times 100. In the paper 6 \
         of 8 programs are above 70, jruby and java2html below 4. *Without times* leaves out the two overlaps of times.\n\n",
    );
    let scores = groups(&|input| input.compared.staged.score);
    figure(&mut text, "figure-8.svg", "Figure 8: scores by input", scores);
    let both = |(program, row): &(&Program, &Measured)| Group {
        name: program.name.to_owned(),
        bars: vec![
            tables::mean(row, |input| input.compared.staged.score),
            tables::mean(row, |input| input.compared.strict),
        ],
    };
    let both: Vec<Group> = rows.iter().map(both).collect();
    figure(&mut text, "figure-9.svg", "Figure 9: relaxed (dark) and strict (light) matching", both);
    text.push_str(&tables::scores(&rows));
    text.push_str("\n## Weight matching (section 3.4)\n\n");
    text.push_str(WEIGHTS);
    text.push_str(&tables::weights(&rows));
    text.push_str("\n## Which method contains the change (section 3.5)\n\n");
    text.push_str(ATTRIBUTION);
    text.push_str(&tables::attribution(&rows));
    text.push_str("\n## What it costs\n\n");
    text.push_str(COSTS);
    text.push_str(&tables::costs(&rows));
    text.push_str("\n## What differs from the paper\n\n");
    text.push_str(DIFFERENCES);
    text.push_str("\n## What failed\n\n");
    text.push_str(&failures(measured));
    Written { text, figures }
}

fn failures(measured: &[Measured]) -> String {
    let mut text = String::new();
    for program in PROGRAMS {
        let Some(row) = measured.iter().find(|row| row.program == program.name) else {
            let _ = writeln!(text, "- {}: no figures, its runs were not finished", program.name);
            continue;
        };
        for failed in &row.failed {
            let _ = writeln!(text, "- {} {failed}", program.name);
        }
        let cut = row.inputs.iter().filter(|input| input.compared.not_kept > 0).count();
        if cut > 0 {
            let _ = writeln!(
                text,
                "- {}: with {cut} of {} inputs the profiler met its bounds or had something to say about its profile; \
                 calls beyond them are counted in one context below their caller",
                program.name,
                row.inputs.len()
            );
        }
    }
    if text.is_empty() { "Nothing.\n".to_owned() } else { text }
}

const INTRODUCTION: &str = "\
# The PARCS experiment, rerun

We repeat section 5 of `[parcs]` (see [references](references.md)) with current programs, releases and a current JVM: real Java programs, two neighbouring releases each, five inputs each, every call counted by call site, compared by stages. One command runs everything and continues where it stopped:

```sh
cargo xtask eval parcs
```

It fetches pinned releases with Maven, builds the [exact profiler](java-agent.md) if necessary, runs every release with every input, compares, and writes this file and its figures. Programs, inputs and versions are in \
`eval/parcs/src/programs.rs`; the paper's numbers are in `eval/parcs/src/paper.rs`. If the paper has the same program (or its predecessor), its row is below ours. Release, input and machine differ, so only the order of magnitude can be compared.

";

const WEIGHTS: &str = "\
The threshold is the overlap of total time between two runs of the release after with the same input, as in the paper, which has 99.3 % for FindBugs. Pairs are adjusted until the overlap between the releases reaches it. Means over the inputs, in percent.

";

const ATTRIBUTION: &str = "\
The paper names the caller of an added or deleted method (stage 1) or the modified methods above a difference, nearest \
first (stage 2), and checks by hand whether they contain the change. Class files answer two parts of that question: did the first named method change at all, and did its change add a call of the subtree's root? An old call can be new in a run if a condition changed, and a call through an interface can reach a new method. So the last column is a lower bound; calls are compared only by the method's name. Stage 3 names no method. Sums over the inputs, at most the 1,000 most expensive subtrees of each stage and input.

";

const COSTS: &str = "\
Means over the inputs, for the release after: CPU seconds of a plain run and with every call of the program's packages counted; wall seconds of the plain run; wall seconds to read two profiles and to compare them by stages (the paper prints none; it stores trees in a database); and profiled runs that printed the same bytes as the plain run.

";

const DIFFERENCES: &str = "\
- Releases, not revisions: Maven keeps only releases, so the two versions of a program are weeks apart, not ten days. The paper's rows for doctorj, jaranalyzer, java2html and jruby are also releases.
- Recursion is folded: a call of a method that is already on the stack leads back to its context. The paper's trees grow with the depth of recursion; ours do not. So ours are smaller if programs walk trees recursively, and call sites make them grow less.
- At most 2 million contexts per run and a depth of 256; calls beyond that are counted, but not kept separate.
- Code changes come from our comparison of class files: methods of a renamed class are *moved*, and numbers given by the compiler do not count.
- Overlaps use self weights: inclusive times would count a leaf's change once for every caller.
- The JVM uses only its first compiler and one collector thread, for short runs on few shared cores. Times are wall times on a busy machine, so overlaps of times, and with them scores, are lower than on a quiet machine. The score of two runs of one release shows how high a score can be here.
- Inputs are small, so that a plain run takes a few seconds.
- A tree here can have many roots: threads, and methods that the JDK calls. Definition 1 counts positions, so one more root shifts all others. Strict matching therefore does worse than in trees with a single root.
";
