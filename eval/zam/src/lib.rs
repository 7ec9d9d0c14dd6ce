//! The experiment of `[zam]`, rerun: slowdowns injected into real web applications, time lines of scripted visits, and
//! what each method makes of them.
//!
//! Whoever injects knows the truth; whoever is asked sees files. Scripts are edited by their syntax trees ([`script`],
//! [`inject`]), functions drawn from what a visit samples ([`survey`], [`draw`]), visits recorded as users do
//! ([`record`]), and the truth about a recorded time line is read by code of its own ([`timeline`]).

pub mod answer;
pub mod app;
pub mod bugs;
pub mod case;
pub mod document;
pub mod draw;
pub mod evaluate;
pub mod inject;
pub mod npm;
pub mod plan;
pub mod record;
pub mod score;
pub mod script;
pub mod serve;
pub mod site;
pub mod survey;
pub mod table;
pub mod timeline;
pub mod work;
