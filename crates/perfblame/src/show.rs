//! `perfblame show`: what is in a profile.

use std::io::{self, Write};
use std::path::Path;

use perfblame_analysis::{
    Chains, Detail, InputOptions, Selection, ShowQuery, ShowQuestion, Shown, SortBy, Source,
    Summary, TreeLimits, expand, show,
};
use perfblame_cct::{Grain, MetricId};
use perfblame_report::{
    FlamePage, Look, Section, about, flame_html, flame_svg, show_json, show_text,
};

use crate::args::{Format, ShowArgs, Sort, names};
use crate::failure::Failure;
use crate::output;
use crate::progress::asking;
use crate::terminal::Terminal;

/// Whoever names the least share wants all rows above it, as far as anybody reads on.
const ALL_ABOVE_A_SHARE: usize = 10_000;

/// Reads, asks, renders.
pub fn run(args: &ShowArgs, terminal: &Terminal) -> anyhow::Result<()> {
    let question = args.question()?;
    let total = question.sources.iter().map(Source::size).sum();
    let Shown { summary, selection } = asking(terminal, total, |ask| show(&question, ask))?;
    for path in &args.flame {
        flame(path, &selection, &summary)?;
        terminal.note(&format!("wrote the flame graph to {}", path.display()));
    }
    let sections = args.sections();
    match &args.output {
        Some(path) => {
            let look = Look { colour: false, ..terminal.look };
            output::write(path, |out| args.render(&summary, &sections, look, out))
        }
        None => output::to_stdout(|out| args.render(&summary, &sections, terminal.look, out)),
    }
}

/// Writes a flame graph; how the file's name ends decides which kind.
fn flame(path: &Path, selection: &Selection, summary: &Summary) -> anyhow::Result<()> {
    let metric = selection.metric.unwrap_or_else(|| MetricId::new(0));
    let title = match &*summary.runs {
        [run] => run.name.clone(),
        runs => format!("{} runs", runs.len()),
    };
    let ends = |end: &str| path.extension().is_some_and(|known| known.eq_ignore_ascii_case(end));
    if ends("svg") {
        return output::write(path, |out| flame_svg(&selection.profile, metric, &title, out));
    }
    if ends("html") || ends("htm") {
        let about = about(summary);
        let page = FlamePage { title: &title, about: &about, metric };
        return output::write(path, |out| flame_html(&selection.profile, page, out));
    }
    Err(Failure {
        what: format!("cannot tell the kind of flame graph from {}", path.display()),
        why: String::new(),
        help: Some("use a name that ends in .svg or .html".to_owned()),
    }
    .into())
}

impl ShowArgs {
    fn question(&self) -> anyhow::Result<ShowQuestion> {
        Ok(ShowQuestion {
            sources: expand(&self.profiles)?,
            inputs: InputOptions { names: names(self.no_normalise), ..self.scripts.inputs() },
            grain: if self.call_sites { Grain::CallSites } else { Grain::Functions },
            query: self.query(),
        })
    }

    /// What was asked for, or the verdict and its evidence.
    fn sections(&self) -> Vec<Section> {
        let asked = [
            (self.tree, Section::Tree),
            (self.callers.is_some(), Section::Callers),
            (self.callees.is_some(), Section::Callees),
            (self.functions, Section::Functions),
            (self.threads, Section::Threads),
        ];
        let asked: Vec<_> =
            asked.into_iter().filter(|(asked, _)| *asked).map(|(_, section)| section).collect();
        let standard = [Section::Verdict, Section::HotPath, Section::Functions, Section::Roles];
        let chosen = if asked.is_empty() { standard.to_vec() } else { asked };
        [vec![Section::Tasks], chosen].concat()
    }

    fn query(&self) -> ShowQuery {
        let lists = self.tree || self.functions || self.callers.is_some() || self.callees.is_some();
        let usual = if lists { ShowQuery::long() } else { ShowQuery::default() };
        let limit = self.limit.map(|rows| if rows == 0 { usize::MAX } else { rows });
        let rows = self.min.map_or(usual.tree.rows, |_| ALL_ABOVE_A_SHARE);
        ShowQuery {
            metric: self.metric.clone(),
            tasks: self.task.clone(),
            root: self.root.clone(),
            callers: self.callers.clone(),
            callees: self.callees.clone(),
            thread: self.thread.clone(),
            sort: match self.sort {
                Sort::OwnCost => SortBy::SelfCost,
                Sort::Inclusive => SortBy::Inclusive,
            },
            functions: limit.unwrap_or(usual.functions),
            tree: TreeLimits {
                min_share: self.min.map_or(usual.tree.min_share, |least| least / 100.0),
                rows: limit.unwrap_or(rows),
                chains: if self.tree { Chains::Whole } else { Chains::Folded },
            },
            detail: if self.tree { Detail::Whole } else { Detail::Overview },
        }
    }

    fn render(
        &self,
        summary: &Summary,
        sections: &[Section],
        look: Look,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self.format {
            Format::Text => show_text(summary, sections, look, out),
            Format::Json => show_json(summary, sections, out),
        }
    }
}
