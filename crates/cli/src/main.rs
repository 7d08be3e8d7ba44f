//! The `leafline` binary: its verbs, one file or folder each.
//!
//! | module | does |
//! |---|---|
//! | `args` | the command line |
//! | `shell` | runs SQL, typed or from a script |
//! | `serve` | serves the MySQL protocol |
//! | `tpch` | generates the tables of TPC-H |
//! | `check` | checks a database |
//! | `inspect` | shows the layout of trees in the file |
//! | `repair` | builds new trees for damaged ones |
//! | `advise` | proposes indexes |
//! | `calibrate` | measures disk and processor |
//! | `backup`, `restore` | copy pages and log, and make databases of the copies |
//! | `dump` | writes tables as SQL, CSV, Parquet |
//! | `demo` | shows index condition pushdown |
//! | `open` | opens a database for a verb |
//! | `existing` | opens a database that exists, without the instance above the engine |
//! | `failure` | why a verb ends early |
//! | `import` | imports dumps, files and servers |
//! | `link`, `remote`, `address` | run statements in a database, or on a server |
//! | `socket` | where the server of a directory listens |
//! | `snapshot` | connections that share a snapshot |
//! | `script` | reads lines, splits statements and commands |
//! | `output` | writes rows as tables, CSV, JSON |
//! | `progress` | bars for long work |
//! | `size` | sizes such as `64M`, and the machine's memory |

mod address;
mod advise;
mod args;
mod backup;
mod calibrate;
mod check;
mod demo;
mod dump;
mod existing;
mod failure;
mod import;
mod inspect;
mod link;
mod open;
mod output;
mod presence;
mod progress;
mod remote;
mod repair;
mod restore;
mod script;
mod serve;
mod shell;
mod size;
mod snapshot;
mod socket;
mod tpch;
mod watch;

use args::{Arguments, Verb};
use leafline::CountingAllocator;
use std::alloc::System;
use std::ffi::OsString;
use std::process::ExitCode;

/// Counts memory, so that `leafline_server_memory` limits that of all statements together.
#[global_allocator]
static MEMORY: CountingAllocator<System> = CountingAllocator(System);

fn main() -> ExitCode {
    leafline::tune_allocator();
    run(std::env::args_os().collect())
}

/// Runs the command line `words`, the program's name first.
fn run(words: Vec<OsString>) -> ExitCode {
    let arguments = match Arguments::from_words(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            // To clap, help and version are errors, too; it knows where each goes and the exit code.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            return if error.print().is_ok() { ExitCode::from(code) } else { ExitCode::FAILURE };
        }
    };
    let result = match &arguments.verb {
        Verb::Shell(options) => shell::run(options),
        Verb::Serve(options) => serve::run(options),
        Verb::Tpch(options) => tpch::run(options),
        Verb::Advise(options) => advise::run(options),
        Verb::Calibrate(options) => calibrate::run(options),
        Verb::Check(options) => check::run(options),
        Verb::Inspect(options) => inspect::run(options),
        Verb::Repair(options) => repair::run(options),
        Verb::Backup(options) => backup::run(options),
        Verb::Restore(options) => restore::run(options),
        Verb::Dump(options) => dump::run(options),
        Verb::Import(options) => import::run(options),
        Verb::Demo(options) => demo::run(options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let text = failure.to_string();
            if !text.is_empty() {
                eprintln!("leafline: {text}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}
