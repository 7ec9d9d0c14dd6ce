//! Which context *before* is which context *after*.
//!
//! Every matcher gives the same shape of answer, a [`Matching`]: each node has one partner on the other side or none.
//! Matchers see names, shapes and weights; what the weights mean is none of their business. All of them are
//! deterministic: the amount of work decides, never the time it takes.
#![warn(missing_docs)]

mod anchored;
mod common_tree;
mod component;
mod identity;
mod joint;
mod keyed;
mod lcs;
mod level;
mod pairs;
mod relaxed;
mod side;
mod strict;
mod wanted;

pub use anchored::{match_anchored, match_anchored_while};
pub use common_tree::{CommonTree, common_tree, matching_score, overlap};
pub use component::component_key;
pub use identity::{FunctionMatch, Identity, Why};
pub use joint::{Joint, join};
pub use keyed::match_by_key;
pub use level::{Level, LevelMatching, match_levels};
pub use pairs::{Link, Matching, Pair};
pub use relaxed::{RelaxedRules, SiblingOrder, match_relaxed, match_relaxed_by};
pub use side::{SideTree, for_both_sides};
pub use strict::match_strict;
pub use wanted::Wanted;
