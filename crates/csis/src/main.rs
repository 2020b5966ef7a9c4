//! The binary: arguments and environment in, an outcome out. Everything else is a room's.

mod arguments;
mod commands;
mod terminal;

use arguments::Arguments;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let terminal = std::sync::Arc::new(terminal::Terminal::new(arguments.global.log));
    let outcome = commands::run(arguments, &terminal);
    ExitCode::from(terminal.finish(&outcome))
}
