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

  setup             install what the end-to-end tests need (Debian packages, Go and npm tools), build the Java agent
  test              set up, then format, lints, unit and end-to-end tests, docs, tidy checks
  test --unit       format, lints, unit tests and tidy checks; installs nothing
  sandbox PROGRAM [ARGUMENT…]
                    run a program as the tests run: empty home, empty temporary folder, no left-over tools
  tidy              check what compilers do not: links, headers, samples, fuzz targets
  bench [NAME…]     run the benches (or those named) beside their peers and rewrite their rows in docs/benchmarks.md
  eval attribution [OPTION…]
                    inject slowdowns into commits of real projects, check them and rewrite docs/eval-attribution.md; goes
                    on where it stopped; options as of perfblame-eval-attribution
  eval planted [OPTION…]
                    plant slowdowns in noisy runs and rewrite docs/accuracy.md; options as of perfblame-eval-planted
  eval introperf [OPTION…]
                    rerun the IntroPerf experiments on programs of Debian and rewrite docs/eval-introperf.md; goes on
                    where it stopped; options as of perfblame-eval-introperf
  eval parcs [OPTION…]
                    rerun the PARCS experiment on real Java programs and rewrite docs/eval-parcs.md; goes on where it
                    stopped; options as of perfblame-eval-parcs
  eval zam [OPTION…]
                    inject slowdowns into web applications, record visits and rewrite docs/eval-zam.md; goes on where it
                    stopped; options as of perfblame-eval-zam
  fuzz [--seconds N] [TARGET…]
                    run every fuzz target (or those named) for N seconds each, 60 unless told
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
