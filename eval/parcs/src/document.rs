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
        "The figures here are from {machine}, with Java 17. It had other work to do: runs took {:.1} s on the clock for \
         each second of CPU time. The profiler's times are the clock's, so whatever else ran meanwhile is in them; counts \
         of contexts and calls do not suffer from it.\n",
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
         *Renamed* holds lambdas and members of anonymous classes whose number the compiler gave anew. *Moved* is ours: the \
         same method in a class that was renamed, which the paper counts as deleted and added.\n\n",
    );
    text.push_str(&tables::code(&rows));
    text.push_str("\n## What each stage takes out (table 4)\n\n");
    text.push_str(
        "Subtrees / nodes of both trees. Means over the inputs, ours and the paper's:\n\n",
    );
    text.push_str(&tables::stage_means(&rows));
    text.push_str("\nOurs, input by input:\n\n");
    text.push_str(&tables::stages(&rows));
    text.push_str("\n## Call sites (tables 5 and 6)\n\n");
    text.push_str("Nodes taken out with and without call sites, means over the inputs:\n\n");
    text.push_str(&tables::removed(&rows));
    text.push_str("\nSizes of the trees with and without call sites, means over the inputs:\n\n");
    text.push_str(&tables::call_sites(&rows));
    let mut figures = Vec::new();
    text.push_str("\n## Overlaps (figure 7)\n\n");
    text.push_str(
        "Overlap of the common trees in percent, a bar for each input. The paper prints no numbers; its text says that \
         all are above 82 %.\n\n",
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
        "Overlaps of calls, average time and total time times both shares of the common tree, times 100. In the paper 6 \
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
    text.push_str("\n## Which method holds the change (section 3.5)\n\n");
    text.push_str(ATTRIBUTION);
    text.push_str(&tables::attribution(&rows));
    text.push_str("\n## What it takes\n\n");
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

Section 5 of `[parcs]` (see [references](references.md)) with programs, releases and a JVM of today: real Java programs, \
two close releases each, five inputs each, every call counted by call site, compared by stages. One command does all of \
it and goes on where it stopped:

```sh
cargo xtask eval parcs
```

It fetches pinned releases with Maven, builds the [exact profiler](java-agent.md) if need be, runs every release with \
every input, compares, and writes this file and its figures. Programs, inputs and versions are in \
`eval/parcs/src/programs.rs`; the paper's numbers are in `eval/parcs/src/paper.rs`. Where the paper has the same program \
(or the one it grew out of), its row stands below ours; it is another release, other input and another machine, so only \
the kind of number can be compared.

";

const WEIGHTS: &str = "\
The threshold is the overlap of total time in two runs of the release after with the same input, as in the paper, which \
gives 99.3 % for FindBugs. Pairs are adjusted until the overlap between the releases reaches it. Means over the inputs, \
in percent.

";

const ATTRIBUTION: &str = "\
The paper names the caller of an added or deleted method (stage 1) or the modified methods above a difference, nearest \
first (stage 2), and looks by hand whether they hold the change. Class files answer two parts of that: was the first \
method named changed at all, and did its change bring in a call of the subtree's root? A call that was there before can \
be new in a run when a condition changed, and a call through an interface can reach a new method: so the last column is \
a part of what is right; calls are compared by the method's name alone. Stage 3 names nobody. Sums over the inputs, at most the 1,000 costliest subtrees \
of each stage and input.

";

const COSTS: &str = "\
Means over the inputs, of the release after. CPU seconds, plain and with every call of the program's packages counted; \
seconds on the clock of the plain run; then seconds on the clock to read two profiles and to compare them by stages (paper: none printed; it stores trees in a \
database), and profiled runs that printed the same bytes as the plain run.

";

const DIFFERENCES: &str = "\
- Releases, not revisions: Maven keeps releases only, so the two versions of a program are weeks apart, not ten days. The \
paper's rows for doctorj, jaranalyzer, java2html and jruby are of releases, too.
- Recursion is folded: a call of a method that is on the stack already leads back to its context. The paper's trees grow \
with the depth of recursion, ours do not, which is why ours are smaller where programs walk trees recursively, and why \
call sites make ours grow less.
- At most 2 million contexts a run and 256 of depth; what is beyond is counted, not kept apart.
- Changes of the code are those of our comparison of class files: methods of a renamed class are *moved*, compiler-made \
numbers do not count.
- Overlaps are of self weights: nested times would count a leaf's change once for every caller.
- The JVM compiles with its first compiler only and collects with one thread, for short runs on few cores that are \
shared; times are the clock's on a busy machine, so overlaps of times are \
lower than on a quiet one, and scores with them: a score of two runs of one release says how high one can be here.
- Inputs are small, so that a plain run takes a few seconds.
- A tree here can have many roots: threads, and what the JDK calls. Definition 1 counts positions, so that one root more \
shifts all others: strict matching fares worse than in trees with a single root.
";
