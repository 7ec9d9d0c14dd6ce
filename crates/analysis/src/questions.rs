//! Questions as a front end asks them: inputs in, an answer out.
//!
//! What a method needs of its inputs follows from the question, so that a server, an editor and the command line read
//! them alike. The steps in between ([`load`], [`part_of`], [`diff`], [`select`], [`summarise`], [`lines`]) are public
//! for whoever holds loaded runs already.

use std::path::PathBuf;

use perfblame_cct::{Grain, Side, Sides, Times};
use perfblame_readers::ScriptNames;

use crate::ask::{Ask, Phase};
use crate::{
    AskError, CodeChanges, Diff, DiffQuery, DiffTree, FileCosts, LinesQuery, LoadError,
    LoadErrorKind, LoadOptions, Loaded, Method, Names, Part, ScriptLoading, Selection, ShowQuery,
    Source, Summary, Traces, diff, diff_with_tree, is_inferred, lines, load, part_of, select,
    summarise,
};

/// How inputs are read, whatever is asked of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InputOptions {
    /// Whether names that change from run to run are made alike.
    pub names: Names,
    /// Folders with source maps.
    pub source_maps: Vec<PathBuf>,
    /// Whether callbacks hang under those who asked for them, where the trace links the two.
    pub async_stacks: bool,
}

impl InputOptions {
    fn scripts(&self, named: ScriptNames) -> ScriptLoading {
        let names = match self.names {
            Names::Normalised => named,
            Names::AsRecorded => ScriptNames::AsRecorded,
        };
        ScriptLoading { names, maps: self.source_maps.clone(), async_stacks: self.async_stacks }
    }
}

/// What made it slower.
#[derive(Debug, Default)]
pub struct CompareQuestion {
    /// The runs of each side.
    pub sources: Sides<Vec<Source>>,
    /// How they are read.
    pub inputs: InputOptions,
    /// Folders with source maps of one side alone; they come first, as both sides' maps mostly have the same names.
    pub source_maps: Sides<Vec<PathBuf>>,
    /// The part of the runs that is compared.
    pub part: Part,
    /// What is compared, and how. Its list of changes is taken from `code` where that has one.
    pub query: DiffQuery,
    /// What changed in the code.
    pub code: CodeChanges,
}

/// What is in profiles.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShowQuestion {
    /// The runs.
    pub sources: Vec<Source>,
    /// How they are read.
    pub inputs: InputOptions,
    /// What tells contexts apart.
    pub grain: Grain,
    /// What to show.
    pub query: ShowQuery,
}

/// What the lines of a source file cost.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LinesQuestion {
    /// The runs.
    pub sources: Vec<Source>,
    /// How they are read.
    pub inputs: InputOptions,
    /// Which file, and what of it.
    pub query: LinesQuery,
}

/// What is in profiles, with the profile that flame graphs are drawn from.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The answer.
    pub summary: Summary,
    /// The part of the runs that it is about.
    pub selection: Selection,
}

impl DiffQuery {
    /// How inputs are read for this question.
    pub fn load_options(&self, inputs: &InputOptions) -> LoadOptions {
        LoadOptions {
            names: inputs.names,
            // The order of calls, which this method goes by, differs from run to run.
            times: match self.method {
                Method::CriticalGraph => Times::Keep,
                _ => Times::Drop,
            },
            grain: match self.method {
                Method::Stages => Grain::CallSites,
                _ => Grain::Functions,
            },
            // Events can still be compared as such, by the name of their metric.
            traces: match &self.metric {
                Some(metric) if !is_inferred(metric) => Traces::AsProfiles,
                _ => Traces::Infer,
            },
            // The method drops functions without a name, as its authors do.
            scripts: inputs.scripts(match self.method {
                Method::CriticalGraph => ScriptNames::Mapped,
                _ => ScriptNames::Full,
            }),
            ..LoadOptions::default()
        }
    }
}

/// Compares two sides; suspects come with the code changes that explain them, where sources are known.
pub fn compare(question: &CompareQuestion, ask: &Ask) -> Result<Diff, AskError> {
    if question.code.sources.is_some() {
        return compare_with_tree(question, ask).map(|(diff, _)| diff);
    }
    let Sides { before, after } = read_sides(question, ask)?;
    Ok(diff(&before, &after, &question.whole_query(), ask)?)
}

/// Compares two sides, and draws both trees as one.
pub fn compare_with_tree(
    question: &CompareQuestion,
    ask: &Ask,
) -> Result<(Diff, DiffTree), AskError> {
    let Sides { before, after } = read_sides(question, ask)?;
    let (mut diff, tree) = diff_with_tree(&before, &after, &question.whole_query(), ask)?;
    if let Some(sources) = &question.code.sources {
        ask.enter(Phase::Attributing)?;
        let found = sources.findings(&diff, &tree).put_into(&mut diff);
        diff.warnings.extend(found.warning());
    }
    Ok((diff, tree))
}

/// Answers what is in profiles.
pub fn show(question: &ShowQuestion, ask: &Ask) -> Result<Shown, AskError> {
    let options = LoadOptions {
        grain: question.grain,
        names: question.inputs.names,
        scripts: question.inputs.scripts(ScriptNames::Full),
        ..LoadOptions::default()
    };
    let loaded = load(&question.sources, options, ask)?;
    ask.enter(Phase::Selecting)?;
    let selection = select(&loaded, &question.query)?;
    ask.enter(Phase::Explaining)?;
    let summary = summarise(&selection, &question.query)?;
    Ok(Shown { summary, selection })
}

/// Answers what the lines of a source file cost.
pub fn show_lines(question: &LinesQuestion, ask: &Ask) -> Result<FileCosts, AskError> {
    let options = LoadOptions {
        names: question.inputs.names,
        scripts: question.inputs.scripts(ScriptNames::Full),
        ..question.query.load_options()
    };
    let loaded = load(&question.sources, options, ask)?;
    ask.enter(Phase::Explaining)?;
    Ok(lines(&loaded, &question.query)?)
}

impl CompareQuestion {
    fn whole_query(&self) -> DiffQuery {
        let query = self.query.clone();
        DiffQuery { changes: self.code.functions.clone().or(query.changes), ..query }
    }
}

/// Both sides, read at the same time, and only what the question is about.
fn read_sides(question: &CompareQuestion, ask: &Ask) -> Result<Sides<Loaded>, AskError> {
    let CompareQuestion { sources, inputs, source_maps, part, query, code } = question;
    if sources.iter().all(|side| side.contains(&Source::Stdin)) {
        return Err(AskError::StdinOnBothSides);
    }
    if code.functions.is_some() && code.sources.is_none() {
        query.method.goes_by_changes_alone()?;
    }
    let read = |side: Side| {
        let mut options = query.load_options(inputs);
        options.scripts.maps.splice(0..0, source_maps[side].iter().cloned());
        load(&sources[side], options, ask)
    };
    let (before, after) = std::thread::scope(|scope| {
        let before = scope.spawn(|| read(Side::Before));
        let after = read(Side::After);
        (before.join(), after)
    });
    let before = before.unwrap_or_else(|_| {
        let name = sources.before.first().map(Source::name).unwrap_or_default();
        Err(LoadError::new(name, LoadErrorKind::NotRead))
    });
    let (before, after) = (before?, after?);
    ask.enter(Phase::Selecting)?;
    let cut = |side, loaded| part_of(loaded, part).map_err(|error| AskError::Part { side, error });
    Ok(Sides::new(cut(Side::Before, before)?, cut(Side::After, after)?))
}
