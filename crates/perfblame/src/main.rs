//! The command line: parse, ask, render.

mod args;
mod changes_file;
mod check;
mod code_changes;
mod completions;
mod convert;
mod diff;
mod diff_output;
mod failure;
mod hook;
mod infer;
mod output;
mod progress;
mod record;
mod show;
mod symbolize;
mod terminal;
mod watching;
mod web;

use std::process::ExitCode;

use clap::Parser;

/// Profiles are built from many buffers that grow: the system allocator gives each back to the kernel and asks for it
/// again, page by page.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = args::Args::parse();
    output::clean_up_on_signals();
    let terminal = terminal::Terminal::of(&args.global);
    let result = match &args.command {
        args::Command::Show(args) => show::run(args, &terminal).map(|()| ExitCode::SUCCESS),
        args::Command::Diff(args) => diff::run(args, &terminal),
        args::Command::Infer(args) => infer::run(args, &terminal).map(|()| ExitCode::SUCCESS),
        args::Command::Record(args) => record::run(args, &terminal),
        args::Command::Web(args) => web::run(args, &terminal),
        args::Command::Check(args) => check::run(args, &terminal),
        args::Command::Bisect(args) => check::bisect(args, &terminal),
        args::Command::Init(args) => check::init(args, &terminal).map(|()| ExitCode::SUCCESS),
        args::Command::Hook(args) => hook::run(args, &terminal),
        args::Command::Convert(args) => convert::run(args, &terminal).map(|()| ExitCode::SUCCESS),
        args::Command::Symbolize(args) => {
            symbolize::run(args, &terminal).map(|()| ExitCode::SUCCESS)
        }
        args::Command::Completions(args) => completions::run(args).map(|()| ExitCode::SUCCESS),
    };
    match result {
        Ok(status) => status,
        // Whoever reads us has seen enough.
        Err(error) if failure::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::complain(&failure::explained(&error, terminal.colour_errors));
            ExitCode::from(2)
        }
    }
}
