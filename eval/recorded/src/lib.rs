//! Trust, measured on recorded noise: real programs recorded many times, slowdowns planted into their runs, and how
//! often each method names them.
//!
//! `eval/planted` draws its runs from a model, so a method that assumes the model finds itself right. Here nothing about
//! the noise is assumed: [`recording`] runs [`programs`] under real profilers, [`pool`] reads what is kept of them,
//! [`case`] splits the runs of one program into two sides at random and plants into one, [`splice`] writes the planted
//! cost into the recorded runs. Planting, methods and scores are those of [`perfblame_eval_planted`].

pub mod case;
pub mod document;
pub mod evaluate;
pub mod machine;
pub mod pool;
pub mod programs;
pub mod recording;
pub mod splice;
