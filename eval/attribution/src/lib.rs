//! Slowdowns injected into commits of real projects, and what `perfblame check` says of them.
//!
//! Whoever injects knows the truth; whoever is asked sees two revisions. So nothing here looks at code the way perfblame
//! does: functions are found by indentation ([`functions`]), edits are made on lines of text ([`edits`], [`slowdowns`]),
//! and `perfblame check` is called as users call it ([`ask`]).

pub mod ask;
pub mod baseline;
pub mod case;
pub mod edits;
pub mod functions;
pub mod language;
pub mod making;
pub mod project;
pub mod slowdowns;
pub mod table;
pub mod workshop;
