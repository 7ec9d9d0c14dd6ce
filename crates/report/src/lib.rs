//! Answers to text, JSON, Markdown, SARIF, SVG, HTML and the formats of other tools.
//!
//! Everything here takes an answer or a profile and a place to write to; nothing asks, measures or decides.

mod bisect;
mod call_path;
mod check_html;
mod check_json;
mod check_markdown;
mod check_sarif;
mod check_text;
mod check_words;
pub mod chrome_trace;
mod convert;
mod diff_dot;
mod diff_html;
mod diff_json;
mod diff_markdown;
mod diff_sarif;
mod diff_text;
mod diff_words;
mod dot_strip;
pub mod firefox;
mod flame;
pub mod folded;
mod guides;
mod headline;
mod heat_map;
mod infer_dot;
mod infer_html;
mod infer_json;
mod infer_text;
mod json;
mod layout;
mod numbers;
mod pa_cct;
mod page;
pub mod pprof;
mod show_text;
pub mod speedscope;
mod stage_words;
mod threads;
mod tree_text;
mod wire;

pub use bisect::{bisect_json, bisect_text};
pub use check_html::check_html;
pub use check_json::check_json;
pub use check_markdown::check_markdown;
pub use check_sarif::check_sarif;
pub use check_text::check_text;
pub use convert::{NoTimes, Target, WriteOptions};
pub use diff_dot::diff_dot;
pub use diff_html::diff_html;
pub use diff_json::diff_json;
pub use diff_markdown::diff_markdown;
pub use diff_sarif::diff_sarif;
pub use diff_text::{DiffLook, diff_text};
pub use flame::{FlamePage, flame_html, flame_svg};
pub use folded::{Roots, Style};
pub use infer_dot::infer_dot;
pub use infer_html::infer_html;
pub use infer_json::infer_json;
pub use infer_text::{InferLook, infer_text};
pub use layout::Look;
pub use show_text::{Section, about, show_text};
pub use wire::show_json;

/// Named in files we write as their exporter.
const VERSION: &str = env!("CARGO_PKG_VERSION");
