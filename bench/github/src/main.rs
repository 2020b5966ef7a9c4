//! `bench-github --port PORT [--scene FILE.json]`: the in-memory GitHub as a process, for runs of whole workflows.
//!
//! It prints its address and serves until it is killed. `GET /_bench/state` shows what it holds, `GET /_bench/calls`
//! what it was asked.

use csis_bench_github::GitHub;
use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "usage: bench-github [--port PORT] [--scene FILE.json] [--public-url URL]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            _ = writeln!(std::io::stderr(), "bench-github: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let (mut port, mut scene, mut url) = (0, None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"));
        match name.as_str() {
            "--port" => port = value()?.parse().map_err(|_| format!("--port takes a number\n{USAGE}"))?,
            "--scene" => scene = Some(value()?),
            "--public-url" => url = Some(value()?),
            _ => return Err(USAGE.into()),
        }
    }
    let github = GitHub::start_on(port);
    if let Some(path) = scene {
        let json = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        github.load_scene(&json).map_err(|error| format!("{path}: {error}"))?;
    }
    if let Some(url) = url {
        github.public_url(&url);
    }
    _ = writeln!(std::io::stdout(), "{}", github.url());
    _ = std::io::stdout().flush();
    loop {
        std::thread::park();
    }
}
