//! Every rendering of a comparison, of answers made by hand.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "diff/answers.rs"]
mod answers;
#[path = "diff/dot.rs"]
mod dot;
#[cfg(feature = "e2e")]
#[path = "diff/graphviz.rs"]
mod graphviz;
#[path = "diff/json.rs"]
mod json;
#[path = "diff/markdown.rs"]
mod markdown;
#[path = "diff/sarif.rs"]
mod sarif;
#[path = "diff/schema.rs"]
mod schema;
#[path = "diff/text.rs"]
mod text;
#[cfg(feature = "e2e")]
#[path = "diff/validated.rs"]
mod validated;
