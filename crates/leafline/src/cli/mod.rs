//! The verbs of the `leafline` binary, one file each.
//!
//! | module | is |
//! |---|---|
//! | `args` | the command line |
//! | `size` | sizes such as `64M`, and how much memory there is |
//! | `script` | lines in, statements and commands out |
//! | `output` | rows as tables, CSV, JSON |

mod args;
mod output;
mod script;
mod size;
mod tpch;

use args::{Arguments, Verb};
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command line `words`, the program's name first.
pub fn run(words: Vec<OsString>) -> ExitCode {
    let arguments = match Arguments::from_words(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are errors to clap, too; it knows where each goes and what to exit with.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            return if error.print().is_ok() { ExitCode::from(code) } else { ExitCode::FAILURE };
        }
    };
    match arguments.verb {
        Verb::Shell(_) | Verb::Serve(_) | Verb::Tpch(_) | Verb::Demo(_) => {
            eprintln!("leafline: sessions are not connected to the command line yet");
            ExitCode::FAILURE
        }
    }
}
