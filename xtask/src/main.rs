//! What a contributor runs: `cargo xtask test` is exactly what CI runs, the rest is for the days between.

mod bench;
mod bless;
mod eval;
mod fuzz;
mod sandbox;
mod setup;
mod shell;
mod test;
mod tidy;

use anyhow::{Result, bail};

const USAGE: &str = "\
usage: cargo xtask <command>

  setup             install the tools of the end-to-end tests (Debian packages, Go and npm tools), build the Java agent
  test              set up, then format, lints, unit and end-to-end tests, docs, tidy checks, a few
                    seconds of each fuzz target
  test --unit       format, lints, unit tests and tidy checks; installs nothing
  sandbox PROGRAM [ARGUMENT…]
                    run a program as the tests run: empty home, empty temporary folder, no left-over tools
  tidy              check what compilers do not check: links, headers, samples, fuzz targets
  bench [NAME…]     run all benches (or the named ones) and their peers, and update docs/benchmarks.md
  eval attribution [OPTION…]
                    inject slowdowns into commits of real projects, check them and rewrite docs/eval-attribution.md;
                    continues where it stopped; takes the options of perfblame-eval-attribution
  eval planted [OPTION…]
                    plant slowdowns in noisy runs and rewrite docs/accuracy.md; takes the options of
                    perfblame-eval-planted
  eval introperf [OPTION…]
                    rerun the IntroPerf experiments on programs of Debian and rewrite docs/eval-introperf.md;
                    continues where it stopped; takes the options of perfblame-eval-introperf
  eval parcs [OPTION…]
                    rerun the PARCS experiment on real Java programs and rewrite docs/eval-parcs.md; continues
                    where it stopped; takes the options of perfblame-eval-parcs
  eval recorded [OPTION…]
                    plant slowdowns into recorded runs of real programs and rewrite docs/eval-recorded.md, or record
                    the runs with `--record busy` or `--record quiet`; takes the options of perfblame-eval-recorded
  eval zam [OPTION…]
                    inject slowdowns into web applications, record visits and rewrite docs/eval-zam.md; continues
                    where it stopped; takes the options of perfblame-eval-zam
  fuzz [--seconds N] [TARGET…]
                    run all fuzz targets (or the named ones) for N seconds each; default 60
  bless             rewrite snapshots and generated documents
";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["setup"] => setup::run(),
        ["test"] => test::everything(),
        ["test", "--unit"] => test::unit(),
        ["sandbox", program, rest @ ..] => sandbox::run(program, rest),
        ["tidy"] => tidy::run(),
        ["bench", names @ ..] => bench::run(names),
        ["eval", "attribution", rest @ ..] => eval::attribution(rest),
        ["eval", "introperf", rest @ ..] => eval::introperf(rest),
        ["eval", "parcs", rest @ ..] => eval::parcs(rest),
        ["eval", "planted", rest @ ..] => eval::planted(rest),
        ["eval", "recorded", rest @ ..] => eval::recorded(rest),
        ["eval", "zam", rest @ ..] => eval::zam(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["bless"] => bless::run(),
        [] | ["help" | "--help" | "-h"] => {
            eprint!("{USAGE}");
            Ok(())
        }
        _ => bail!("unknown command: {}\n\n{USAGE}", words.join(" ")),
    }
}
