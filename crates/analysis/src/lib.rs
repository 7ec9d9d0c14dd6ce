//! The façade: questions in, plain answers out.
//!
//! A front end makes a question and calls one function: [`compare`] says what made it slower, [`infer`] infers function
//! latencies, [`show`] says what is in profiles, [`show_lines`] what the lines of a source file cost, and
//! [`code_changes`] finds out what changed in the code. Inputs are [`Source`]s: files, standard input, or bytes in
//! memory; [`expand`] makes them of what a user named. An [`Ask`] goes along: it says how far the answer is, and
//! cancels it. A question without an answer is an [`AskError`], which has a code, data and a [`Hint`].
//!
//! Answers are structs with public fields in the user's words, taken from data that no longer changes; rendering them
//! is another crate's business.
#![warn(missing_docs)]

mod amount;
mod ask;
mod attribute;
mod check;
mod code;
mod diff;
mod error;
mod find;
mod growing;
mod infer;
mod lines;
mod load;
mod names;
mod part;
mod questions;
mod show;
mod sources;
mod tree_view;

pub use amount::{Amount, AmountError, Quantity};
pub use ask::{Ask, Cancelled, Phase, Progress};
pub use attribute::{Attribution, Blame, Code, Findings, Located, Sources, attribute};
pub use check::{
    BisectState, BisectStep, Bisection, Check, Compared, Comparison, FailureView, Outcome,
    RevisionView,
};
pub use code::{ChangedSources, CodeChanges, CodeError, CodeSource, code_changes, newest_commit};
pub use diff::{
    Candidate, ChangedFunction, ChangedKind, CodeChange, CodePlace, CriticalGraph, CriticalNode,
    Diff, DiffError, DiffQuery, DiffRow, DiffTree, Estimate, Fate, FunctionChange, FunctionTable,
    HeatScale, Method, MinDelta, Normalize, PartTotal, PathFunction, RankedPath, RuntimeCost, Side,
    SideTotals, Sides, StagePart, StageReason, StagedSubtree, Stages, Suspect, SuspectKind,
    Threshold, Verdict, WeightChange, diff, diff_with_tree, is_busy, is_waiting, ranked_paths,
};
pub use error::{AskError, Hint};
pub use find::{FindError, find_function};
pub use growing::GrowingRuns;
pub use infer::{
    CallView, FunctionLatency, InferQuery, Inferred, LatencyNode, LatencyTree, Mode, RoleTime,
    WaitTotal, WaitView, infer, is_inferred,
};
pub use lines::{
    CallCost, CalleeAtLine, FileCosts, FunctionInFile, LineCost, LinesError, LinesQuery,
    OwnAndCalls, ThreadShare, lines,
};
pub use load::{
    LoadError, LoadErrorKind, LoadOptions, Loaded, Names, PartialStacks, ScriptLoading, Traces,
    load,
};
pub use names::{full_name, function_name};
pub use part::{Part, part_of};
pub use perfblame_latency::{Continuity, Latency, WaitOn};
pub use perfblame_readers::ScriptNames;
pub use questions::{
    CompareQuestion, InputOptions, LinesQuestion, ShowQuestion, Shown, compare, compare_with_tree,
    show, show_lines,
};
pub use show::{
    Detail, FunctionCost, FunctionView, LayerCost, MetricTotal, Neighbours, RoleCost, RunTotal,
    Selection, ShowError, ShowQuery, SortBy, Summary, TaskCost, ThreadCost, ThreadView,
    choose_metric, select, summarise,
};
pub use sources::{Source, expand};
pub use tree_view::{Chains, TreeLimits, TreeRow, TreeView};
