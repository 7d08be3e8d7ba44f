//! Imports SQL as mysqldump, mariadb-dump, `leafline dump` and others write it.
//!
//! Statements run one after another. Consecutive INSERTs of rows into one table are one load ([`inserts`]).
//! Statements that lock out others (LOCK TABLES, DISABLE KEYS), and those about transactions, are skipped: nobody
//! else has the database open, and each load is a transaction.
//!
//! | module | does |
//! |---|---|
//! | `script` | splits the script into statements, comments and quoted texts |
//! | `inserts` | turns INSERTs into rows |

mod inserts;
mod script;

use super::definitions::adapted;
use super::report::{Report, is_unsupported};
use crate::failure::Failure;
use inserts::{Head, Inserts};
use leafline::Connection;
use leafline_sql::{Outcome, OwnFiles, Session};
use leafline_syntax::statement_text;
use leafline_types::error::errno;
use leafline_types::{Charset, MysqlError, TextColumns};
use script::{Script, is_open_comment};
use std::collections::BTreeSet;
use std::io::{self, Read};

/// The hint about the state after a failed import.
const STAYS: &str = "what stands before it was imported; a dump that drops its tables before it makes them can be imported again as \
                     it is, anything else into a new directory";
/// The number of characters of a statement that messages show.
const SHOWN: usize = 60;

/// The table that INSERTs fill.
struct Target {
    database: String,
    table: String,
    columns: Vec<String>,
    /// Positions of values that are skipped, ascending: the column computes them.
    computed: Vec<usize>,
}

/// Runs the scripts of an import.
pub struct SqlImport<'i> {
    pub connection: &'i mut Connection,
    /// Computes values that are not literals.
    pub calculator: &'i mut Connection,
    pub report: &'i mut Report,
    /// Tables that could not be created, and whose rows are left out.
    missing: BTreeSet<(String, String)>,
    /// The number of statements that have succeeded; the INSERTs of one load count as one.
    statements: u64,
    /// Whether the script has selected a database.
    pub says_database: bool,
}

impl<'i> SqlImport<'i> {
    pub fn new(
        connection: &'i mut Connection,
        calculator: &'i mut Connection,
        report: &'i mut Report,
    ) -> SqlImport<'i> {
        let missing = BTreeSet::new();
        SqlImport { connection, calculator, report, missing, statements: 0, says_database: false }
    }

    /// Runs a script, which messages call `name`.
    ///
    /// # Errors
    /// A statement cannot be run; the message has its line.
    pub fn run(&mut self, input: impl Read, name: &str) -> Result<(), Failure> {
        self.run_script(input, name).map_err(|failure| match failure {
            Failure::Message(text) if self.statements > 0 => Failure::Message(format!("{text}\n{STAYS}")),
            failure => failure,
        })
    }

    fn run_script(&mut self, input: impl Read, name: &str) -> Result<(), Failure> {
        let mut script = Script::new(input);
        loop {
            let place = |line: u64| format!("{name}, line {line}");
            let failed = |line: u64, error: io::Error| match error.kind() {
                _ if is_open_comment(&error) => Failure::Message(format!("{name}: {error}")),
                io::ErrorKind::UnexpectedEof => Failure::Message(format!(
                    "{}: the file ends within a statement: it was cut off",
                    place(line)
                )),
                _ => Failure::io(place(line), error),
            };
            script.skip_to_statement().map_err(|error| failed(script.line, error))?;
            let line = script.line;
            let head = Head::find(&mut script).map_err(|error| failed(line, error))?;
            let mut filled = None;
            if let Some(head) = head {
                if let Some(target) = self.target(&head) {
                    self.load(&mut script, head, &target, name)?;
                    self.statements += 1;
                    continue;
                }
                let current = || self.connection.session().database().map(str::to_owned);
                filled = Some((head.database.clone().or_else(current).unwrap_or_default(), head.table));
            }
            let mode = self.connection.session().settings().lex_mode();
            let charset = self.connection.session().settings().client_charset;
            let statement = script.statement(charset, mode).map_err(|error| failed(line, error))?;
            let Some(statement) = statement else {
                if self.statements == 0 {
                    eprintln!("Warning: there is no statement in {name}");
                }
                return Ok(());
            };
            let text = statement_text(&statement, charset, mode).map_err(|_| {
                Failure::Message(format!("{}: this is not valid text in {}", place(line), charset.name()))
            })?;
            self.statement(text.trim(), &place(line), filled)?;
            self.statements += 1;
        }
    }

    /// Returns the table that a load of INSERTs with such a head fills; `None` if they run unchanged.
    fn target(&mut self, head: &Head) -> Option<Target> {
        let session = self.connection.session();
        if !is_unicode(session.settings().client_charset) {
            return None;
        }
        let database = head.database.clone().or_else(|| session.database().map(str::to_owned))?;
        if self.missing.contains(&(database.clone(), head.table.clone())) {
            // The statement fails, and is reported then.
            return None;
        }
        let table = session.instance().engine().table(&database, &head.table).ok()?;
        let visible = || table.named_columns().map(|(_, column)| column).filter(|column| !column.invisible);
        let mut columns = match &head.columns {
            Some(columns) => columns.clone(),
            None => visible().map(|column| column.name.clone()).collect(),
        };
        // MariaDB's dumps contain values of generated columns, and MariaDB ignores them, too.
        let is_generated = |name: &String| {
            let column = table.column(name).and_then(|at| table.columns.get(at));
            column.is_some_and(|column| column.generated.is_some())
        };
        let computed: Vec<usize> =
            columns.iter().enumerate().filter(|(_, name)| is_generated(name)).map(|(at, _)| at).collect();
        columns.retain(|name| !is_generated(name));
        Some(Target { database, table: head.table.clone(), columns, computed })
    }

    /// Loads the rows of INSERTs with that head.
    fn load(
        &mut self,
        script: &mut Script<impl Read>,
        head: Head,
        target: &Target,
        name: &str,
    ) -> Result<(), Failure> {
        let Target { database, table, columns, computed } = target;
        let first = script.line;
        let mode = self.connection.session().settings().lex_mode();
        follow(self.connection.session(), self.calculator.session())?;
        let mut inserts = Inserts::new(script, (head, computed), mode, self.calculator);
        let loaded = self.connection.session().load_values((database, table), columns, &mut inserts);
        let last = inserts.line;
        match loaded {
            Ok(done) => {
                self.report.loaded(database, table, done.affected);
                Ok(())
            }
            Err(error) => Err(Failure::Message(format!(
                "{name}, line {last}: table {database}.{table}: {error}\nnone of the rows from line {first} on are in it"
            ))),
        }
    }

    /// Runs a statement, which inserts rows into the table `filled` if that is given.
    fn statement(
        &mut self,
        text: &str,
        place: &str,
        filled: Option<(String, String)>,
    ) -> Result<(), Failure> {
        if is_passed_over(text) {
            return Ok(());
        }
        self.says_database |= bare_words(text).starts_with("USE ");
        if takes_back(text) {
            return Err(Failure::Message(format!(
                "{place}: an import commits as it goes, and cannot take back what it has done\nin {}",
                excerpt(text)
            )));
        }
        let session = self.connection.session();
        let error = match run(session, text) {
            Ok(rows) => {
                if let Some((database, table)) = filled {
                    self.report.loaded(&database, &table, rows);
                }
                return Ok(());
            }
            Err(error) => error,
        };
        let failed = |error: &MysqlError| Failure::Message(format!("{place}: {error}\nin {}", excerpt(text)));
        let words = bare_words(text);
        if let Some(table) =
            words.strip_prefix("INSERT INTO ").filter(|_| error.code == errno::ER_NO_SUCH_TABLE)
        {
            let table = table.split_whitespace().next().unwrap_or_default().to_lowercase();
            let is_missing = self.missing.iter().any(|(_, name)| table.contains(&name.to_lowercase()));
            if is_missing {
                return Ok(());
            }
        }
        if !is_unsupported(&error) {
            return Err(failed(&error));
        }
        if words.starts_with("DROP ") {
            // An object that cannot exist need not be dropped.
            return Ok(());
        }
        if words.starts_with("CREATE TABLE") {
            let (adapted, left_out) = adapted(text);
            if self.report.skips && !left_out.is_empty() {
                match run(session, &adapted) {
                    Ok(_) => {
                        let what = format!("{place}: {}", title(text));
                        return left_out.iter().try_for_each(|why| self.report.leave_out(what.clone(), why));
                    }
                    Err(error) if !is_unsupported(&error) => return Err(failed(&error)),
                    Err(_) => {}
                }
            }
            if let (Some(database), Some(name)) = (session.database().map(str::to_owned), table_name(text)) {
                self.missing.insert((database, name));
            }
        }
        let why = match error.code {
            errno::ER_NOT_SUPPORTED_YET => "it is not supported".to_owned(),
            _ => error.to_string(),
        };
        self.report.leave_out(format!("{place}: {}", title(text)), &why)
    }
}

/// Runs a statement to its end and drops the rows of all its results; returns how many rows it has changed.
fn run(session: &mut Session, text: &str) -> Result<u64, MysqlError> {
    let mut next = Some(session.execute_with_files(text, &mut OwnFiles)?);
    let mut changed = 0;
    while let Some(outcome) = next {
        match outcome {
            Outcome::Rows(mut rows) => while rows.next_batch(session)?.is_some() {},
            Outcome::Done(done) => changed = done.affected,
        }
        next = session.next_result()?;
    }
    Ok(changed)
}

/// Makes another session read literals and times as the first one does.
fn follow(session: &mut Session, other: &mut Session) -> Result<(), Failure> {
    if let Some(database) = session.database() {
        other.set_database(database)?;
    }
    let Outcome::Rows(mut rows) = session.execute("SELECT QUOTE(@@sql_mode), QUOTE(@@time_zone)")? else {
        return Ok(());
    };
    let types = rows.types();
    while let Some(batch) = rows.next_batch(session)? {
        let values = TextColumns::new(&batch, &types);
        let (mut mode, mut zone) = (Vec::new(), Vec::new());
        values.append(0, 0, &mut mode);
        values.append(0, 1, &mut zone);
        let (mode, zone) = (String::from_utf8_lossy(&mode), String::from_utf8_lossy(&zone));
        other.execute(&format!("SET sql_mode = {mode}, time_zone = {zone}"))?;
    }
    Ok(())
}

/// Returns the words of a statement in upper case, without the marks of comments.
fn bare_words(text: &str) -> String {
    let mut start: String = text.chars().take(400).collect();
    start.make_ascii_uppercase();
    let mut words = Vec::new();
    for word in start.split_whitespace() {
        let word = match word.strip_prefix("/*!").or_else(|| word.strip_prefix("/*M!")) {
            Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
            None => word,
        };
        let word = word.trim_end_matches("*/");
        if !word.is_empty() {
            words.push(word);
        }
    }
    words.join(" ")
}

/// Whether a statement only locks out others, or is about transactions.
fn is_passed_over(text: &str) -> bool {
    let words = bare_words(text);
    let begins = [
        "LOCK TABLES ",
        "UNLOCK TABLES",
        "COMMIT",
        "BEGIN",
        "START TRANSACTION",
        "SET AUTOCOMMIT",
        "FLUSH TABLES",
    ];
    begins.iter().any(|begin| words.starts_with(begin))
        || (words.starts_with("ALTER TABLE ")
            && (words.ends_with("DISABLE KEYS") || words.ends_with("ENABLE KEYS")))
}

/// Whether text of a client with that character set is UTF-8, or bytes.
fn is_unicode(charset: Charset) -> bool {
    charset.is_utf8()
}

/// Whether a statement rolls others back, or prepares for that.
fn takes_back(text: &str) -> bool {
    let words = bare_words(text);
    ["ROLLBACK", "SAVEPOINT ", "RELEASE SAVEPOINT "].iter().any(|begin| words.starts_with(begin))
}

/// Returns what a statement creates, as `TRIGGER name`, or the beginning of a statement that creates nothing.
fn title(text: &str) -> String {
    const KINDS: [&str; 8] = ["TABLE", "VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "USER", "ROLE"];
    let is_kind = |word: &str| KINDS.iter().any(|kind| kind.eq_ignore_ascii_case(word));
    let mut words = text.split_whitespace().map(|word| word.trim_end_matches("*/"));
    let first = bare_words(text);
    match (first.starts_with("CREATE "), words.find(|word| is_kind(word)), words.next()) {
        (true, Some(kind), Some(name)) => {
            let name = name.split('(').next().unwrap_or_default();
            format!("{} {name}", kind.to_ascii_uppercase())
        }
        _ => excerpt(text),
    }
}

/// Returns the beginning of a statement.
fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Returns the name in a CREATE TABLE.
fn table_name(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('`')?;
    let (name, _) = rest.split_once('`')?;
    Some(name.to_owned())
}
