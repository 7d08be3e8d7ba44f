//! The prompt: history, and statements of several lines.

use super::super::failure::Failure;
use super::super::script::{Command, Item, Reader, Statement};
use super::batch::Batch;
use super::completion::Completion;
use super::runner::{RunError, Runner};
use leafline_sql::session::Session;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use std::io::Write as _;
use std::path::PathBuf;

/// The most entries of the history file.
const HISTORY_ENTRIES: usize = 10_000;
const HISTORY_FILE: &str = ".leafline_history";

/// The line editor.
pub type LineEditor = Editor<Completion, FileHistory>;

fn broken(error: ReadlineError) -> Failure {
    Failure::Message(format!("the terminal does not work: {error}"))
}

/// Makes the line editor, which controls the terminal.
pub fn editor(session: &Session) -> Result<LineEditor, Failure> {
    let config = Config::builder()
        .max_history_size(HISTORY_ENTRIES)
        .and_then(|config| config.history_ignore_dups(true))
        .map_err(broken)?
        .completion_type(CompletionType::List)
        .auto_add_history(false)
        .build();
    let mut editor: LineEditor = Editor::with_config(config).map_err(broken)?;
    editor.set_helper(Some(Completion::new(session.instance().clone())));
    Ok(editor)
}

/// Reads and runs statements until the user quits.
pub fn run(runner: &mut Runner, mut editor: LineEditor, force: bool) -> Result<(), Failure> {
    let history = history_file();
    if let Some(path) = &history {
        // A new user has no history; one that cannot be read must not prevent the start.
        let _ = editor.load_history(path);
    }
    println!("{}. Type 'help;' for help, Ctrl-D to leave.\n", greeting());
    let mut prompt = Prompt { runner, force, reader: Reader::default(), typed: Vec::new() };
    loop {
        let text = prompt.text();
        if let Some(helper) = editor.helper_mut() {
            helper.set_database(prompt.runner.session.database());
        }
        match editor.readline(&text) {
            Ok(line) => {
                let (go_on, entry) = prompt.line(&line)?;
                if let Some(entry) = entry.filter(|entry| may_be_kept(entry)) {
                    editor.add_history_entry(entry).map_err(broken)?;
                    if let Some(path) = &history {
                        // If the home cannot be written to, only the history is lost.
                        let _ = editor.append_history(path);
                    }
                }
                if !go_on {
                    return Ok(());
                }
            }
            Err(ReadlineError::Interrupted) => prompt.forget(),
            Err(ReadlineError::Signal(_)) => {}
            Err(ReadlineError::Eof) => {
                println!("Bye");
                return Ok(());
            }
            Err(error) => return Err(broken(error)),
        }
    }
}

fn greeting() -> String {
    format!("Leafline {}", env!("CARGO_PKG_VERSION"))
}

fn history_file() -> Option<PathBuf> {
    std::env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(|home| PathBuf::from(home).join(HISTORY_FILE))
}

/// Whether an entry may be kept in the history; statements with a password may not.
fn may_be_kept(entry: &str) -> bool {
    let upper = entry.to_ascii_uppercase();
    !["IDENTIFIED", "PASSWORD"].iter().any(|word| upper.contains(word))
}

struct Prompt<'r> {
    runner: &'r mut Runner,
    force: bool,
    reader: Reader,
    /// The lines of the statement that is being typed.
    typed: Vec<String>,
}

impl Prompt<'_> {
    fn text(&self) -> String {
        let first = match self.runner.session.database() {
            Some(database) => format!("leafline {database}> "),
            None => "leafline> ".to_owned(),
        };
        if self.reader.is_empty() {
            return first;
        }
        let width = first.chars().count() - 1;
        format!("{:>width$} ", self.reader.continuation())
    }

    fn forget(&mut self) {
        self.reader.clear();
        self.typed.clear();
    }

    /// Takes a line; returns whether to go on, and the whole statement for the history once it ends.
    fn line(&mut self, line: &str) -> Result<(bool, Option<String>), Failure> {
        if !line.trim().is_empty() || !self.typed.is_empty() {
            self.typed.push(line.to_owned());
        }
        let items = self.reader.feed(line, self.runner.session.settings().lex_mode());
        let mut go_on = true;
        for item in items {
            go_on = self.item(item)?;
            if !go_on {
                break;
            }
        }
        let whole = self.reader.is_empty() && !self.typed.is_empty();
        let entry = whole.then(|| std::mem::take(&mut self.typed).join("\n"));
        Ok((go_on, entry))
    }

    fn item(&mut self, item: Item) -> Result<bool, Failure> {
        match item {
            Item::Statement(statement) => self.statement(&statement)?,
            Item::Command(Command::Quit) => {
                println!("Bye");
                return Ok(false);
            }
            Item::Command(Command::Help) => println!("{}", super::HELP),
            Item::Command(Command::Timing(on)) => {
                self.runner.timing = on;
                println!("Timing is {}.\n", if on { "on" } else { "off" });
            }
            Item::Command(Command::Source(path)) => {
                let mut batch = Batch::new(self.runner, self.force, std::io::stdout());
                match batch.source_file(&path) {
                    Ok(()) | Err(Failure::Silent | Failure::Interrupted) => {}
                    Err(failure) => println!("ERROR: {failure}\n"),
                }
            }
            Item::Command(Command::Unknown(letter)) => println!("ERROR: unknown command '\\{letter}'\n"),
            Item::Command(Command::Usage(usage)) => println!("Usage: {usage}\n"),
        }
        Ok(true)
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Failure> {
        let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        match self.runner.run(statement, &mut out) {
            Ok(()) => Ok(()),
            Err(RunError::Sql(error) | RunError::Interrupted(error)) => {
                writeln!(out, "{error}\n").and_then(|()| out.flush()).map_err(Failure::output)
            }
            Err(error) => Err(error.into_failure()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_do_not_go_to_the_history() {
        assert!(may_be_kept("SELECT 1"));
        assert!(!may_be_kept("alter user root identified by 'x'"));
        assert!(!may_be_kept("SET PASSWORD = 'x'"));
    }
}
