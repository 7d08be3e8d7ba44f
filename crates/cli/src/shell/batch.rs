//! Runs scripts: statements from `-e`, from standard input, or from a file that `source` names.
//!
//! The first error ends a script, unless it is forced. Ctrl-C ends it in any case. Statements before the error stay
//! done; a message says so, because nobody sees how far a file got.

use super::super::failure::Failure;
use super::super::script::{Command, Item, Reader};
use super::runner::{RunError, Runner};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};

/// The deepest nesting of `source`.
const MAX_DEPTH: usize = 16;

/// Runs scripts.
pub struct Batch<'r, W: Write> {
    runner: &'r mut Runner,
    force: bool,
    depth: usize,
    /// The number of statements run so far.
    done: u64,
    /// The output for results.
    pub out: std::io::BufWriter<W>,
}

/// Whether the script goes on.
enum Next {
    GoOn,
    Quit,
}

impl<'r, W: Write> Batch<'r, W> {
    /// Makes a runner that writes results to `out`; `force` goes on after errors.
    pub fn new(runner: &'r mut Runner, force: bool, out: W) -> Batch<'r, W> {
        Batch { runner, force, depth: 0, done: 0, out: std::io::BufWriter::with_capacity(1 << 16, out) }
    }

    /// Runs a script. Messages show `name`.
    pub fn run(&mut self, script: impl BufRead, name: &str) -> Result<(), Failure> {
        self.lines(script, name).map(|_| ())
    }

    fn lines(&mut self, mut script: impl BufRead, name: &str) -> Result<Next, Failure> {
        let mut reader = Reader::default();
        let mut bytes = Vec::new();
        let mut number = 0;
        loop {
            bytes.clear();
            let read = script.read_until(b'\n', &mut bytes);
            if read.map_err(|error| Failure::io(format!("cannot read {name}"), error))? == 0 {
                break;
            }
            number += 1;
            let settings = self.runner.session.settings();
            let (charset, mode) = (settings.client_charset, settings.lex_mode());
            let wrong = |_| {
                Failure::Message(format!("{name}: line {number} is not valid text in {}", charset.name()))
            };
            let line = leafline_syntax::statement_text(&bytes, charset, mode).map_err(wrong)?;
            let line = line.strip_suffix('\n').unwrap_or(&line);
            let line = line.strip_suffix('\r').unwrap_or(line);
            for item in reader.feed(line, mode) {
                if let Next::Quit = self.item(item)? {
                    return Ok(Next::Quit);
                }
            }
        }
        for item in reader.finish(self.runner.session.settings().lex_mode()) {
            if let Next::Quit = self.item(item)? {
                return Ok(Next::Quit);
            }
        }
        Ok(Next::GoOn)
    }

    fn item(&mut self, item: Item) -> Result<Next, Failure> {
        match item {
            Item::Statement(statement) => match self.runner.run(&statement, &mut self.out) {
                Ok(()) => self.done += 1,
                Err(RunError::Sql(error)) => {
                    self.flush()?;
                    let place = format!("({}) at line {}", error.state(), statement.line);
                    eprintln!("ERROR {} {place}: {}", error.code, error.message);
                    if !self.force {
                        self.report_statements_in_force();
                        return Err(Failure::Silent);
                    }
                }
                Err(error) => return Err(error.into_failure()),
            },
            Item::Command(Command::Help) => {
                let help = super::HELP;
                self.out.write_all(help.as_bytes()).map_err(Failure::output)?;
            }
            Item::Command(Command::Quit) => return Ok(Next::Quit),
            Item::Command(Command::Timing(on)) => self.runner.timing = on,
            Item::Command(Command::Source(file)) => return self.source(&file),
            Item::Command(Command::Unknown(letter)) => {
                return self.complain(&format!("unknown command '\\{letter}'"));
            }
            Item::Command(Command::Usage(usage)) => return self.complain(&format!("usage: {usage}")),
        }
        Ok(Next::GoOn)
    }

    /// Prints how many statements before an error stay done.
    fn report_statements_in_force(&mut self) {
        let statements = match self.done {
            0 => return,
            1 => "The statement before it is".to_owned(),
            many => format!("The {many} statements before it are"),
        };
        match self.runner.session.in_transaction() {
            false => eprintln!("{statements} in force."),
            true => {
                eprintln!("{statements} in force, except for the open transaction, which is rolled back.")
            }
        }
    }

    /// Runs the script in a file.
    pub fn source_file(&mut self, path: &str) -> Result<(), Failure> {
        self.source(path).and_then(|_| self.flush())
    }

    fn source(&mut self, path: &str) -> Result<Next, Failure> {
        if self.depth == MAX_DEPTH {
            return self.complain(&format!("source: files name each other {MAX_DEPTH} deep"));
        }
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) => return self.complain(&format!("source: cannot open {path}: {error}")),
        };
        self.depth += 1;
        let result = self.lines(BufReader::new(file), path);
        self.depth -= 1;
        result.map(|_| Next::GoOn)
    }

    fn complain(&mut self, message: &str) -> Result<Next, Failure> {
        self.flush()?;
        eprintln!("ERROR: {message}");
        if self.force { Ok(Next::GoOn) } else { Err(Failure::Silent) }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::output)
    }
}
