//! `leafline shell`: runs SQL typed at a prompt, given with `-e`, or from standard input.
//!
//! | module | does |
//! |---|---|
//! | `runner` | runs one statement and writes its result |
//! | `batch` | runs scripts: `-e`, standard input, `source` |
//! | `prompt` | reads typed statements, which may take several lines, and keeps a history |
//! | `completion` | handles Tab |
//! | `interrupt` | handles Ctrl-C |

mod batch;
mod completion;
mod interrupt;
mod prompt;
mod runner;

use super::args::{Format, ShellOptions};
use super::failure::Failure;
use super::open;
use batch::Batch;
use interrupt::Interrupts;
use runner::Runner;
use std::io::{BufReader, IsTerminal as _, Write as _};

/// The text of `help`.
const HELP: &str = "\
A statement ends with ; (or \\g); with \\G its rows are shown one column a line.
  help, \\h        this text
  quit, exit, \\q  ends the shell (Ctrl-D too)
  \\c              forgets what was typed of a statement (Ctrl-C too)
  use NAME        makes a database the current one
  source FILE     runs the statements in a file (\\. FILE)
  delimiter XX    ends statements with XX instead of ; (\\d XX), for the bodies of stored programs
  timing on|off   whether results tell how long they took
Ctrl-C stops a running statement. Tab completes keywords and the names of databases, tables and columns.
SHOW DATABASES; SHOW TABLES; SHOW COLUMNS FROM t; SHOW STATUS; EXPLAIN SELECT ..; EXPLAIN ANALYZE SELECT ..;
";

/// Runs the verb.
pub fn run(options: &ShellOptions) -> Result<(), Failure> {
    let database = open::database(
        &open::options(&options.open, options.buffer_pool_size, options.disk),
        &options.open.dir,
    )?;
    let mut session = database.instance().connect()?;
    if let Some(name) = &options.database {
        session.set_database(name)?;
    }
    let typed = options.execute.is_empty() && std::io::stdin().is_terminal();
    let editor = if typed { Some(prompt::editor(&session)?) } else { None };
    // After the editor, which also installs a handler of SIGINT but does not need it: at the prompt Ctrl-C is a key.
    let interrupts = Interrupts::install()?;
    let for_people = std::io::stdout().is_terminal();
    let format = options.format.unwrap_or(if for_people { Format::Table } else { Format::Tab });
    let mut runner = Runner::new(session, interrupts, format, !options.skip_column_names);
    let result = if let Some(editor) = editor {
        runner.summaries = true;
        prompt::run(&mut runner, editor, options.force)
    } else {
        let mut batch = Batch::new(&mut runner, options.force, std::io::stdout().lock());
        let result = if options.execute.is_empty() {
            batch.run(BufReader::new(std::io::stdin().lock()), "standard input")
        } else {
            options.execute.iter().try_for_each(|sql| batch.run(sql.as_bytes(), "-e"))
        };
        result.and(batch.out.flush().map_err(Failure::output))
    };
    drop(runner);
    let closed = database.close();
    result.and(closed.map_err(Failure::from))
}
