//! Runs statements in a database of this process or on a server, without a difference for the caller.

use super::address::Address;
use super::failure::Failure;
use super::open;
use super::remote::Client;
use super::size::Size;
use super::socket;
use leafline::{Connection, Database, Error};
use leafline_sql::{Outcome, OwnFiles, RowStream, Session};
use leafline_types::TextColumns;
use std::ops::Range;
use std::path::Path;

/// Where statements run.
pub enum Place {
    /// In a database that this process has opened.
    Own(Database),
    /// On a server.
    Server(Address),
}

/// The values of a row, as text; None is NULL.
#[derive(Clone, Copy)]
pub struct Cells<'r> {
    bytes: &'r [u8],
    places: &'r [Option<Range<usize>>],
}

impl<'r> Cells<'r> {
    /// Returns the value at a position; `None` for NULL.
    pub fn get(&self, at: usize) -> Option<&'r [u8]> {
        self.places.get(at).cloned().flatten().and_then(|place| self.bytes.get(place))
    }

    /// Returns the value at a position as a string: names and texts of definitions are UTF-8. NULL is empty.
    pub fn text(&self, at: usize) -> String {
        String::from_utf8_lossy(self.get(at).unwrap_or_default()).into_owned()
    }
}

/// A connection to either.
pub enum Link {
    Own(Box<Connection>),
    Server(Box<Client>),
}

impl Place {
    /// Opens the database in `dir`, or finds the server that has it open.
    ///
    /// # Errors
    /// There is no database; another process has it open and does not serve it.
    pub fn of_directory(dir: &Path, pool: Size) -> Result<Place, Failure> {
        let set = leafline::OpenOptions::new().create(false);
        let options = open::with_progress(set).buffer_pool_size(pool.0);
        let socket = socket::of_directory(dir);
        match options.open(dir) {
            Ok(database) => {
                open::tell(database.instance().engine().store().recovery_report());
                Ok(Place::Own(database))
            }
            Err(Error::AlreadyOpen { .. }) if socket.exists() => {
                Ok(Place::Server(Address::of_socket(socket)))
            }
            Err(Error::AlreadyOpen { path }) => Err(Failure::Message(format!(
                "{}; `leafline dump --socket PATH` asks the server at that socket",
                open::already_open(&path)
            ))),
            Err(other) => Err(other.into()),
        }
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// 1040, or those of the server.
    pub fn connect(&self) -> Result<Link, Failure> {
        match self {
            Place::Own(database) => Ok(Link::Own(Box::new(database.connect()?))),
            Place::Server(address) => Client::connect(address).map(|client| Link::Server(Box::new(client))),
        }
    }
}

impl Link {
    /// Returns the number of the connection.
    pub fn id(&mut self) -> u64 {
        match self {
            Link::Own(connection) => connection.session().connection_id(),
            Link::Server(client) => client.id(),
        }
    }

    /// Whether it is a connection to Leafline.
    pub fn is_leafline(&self) -> bool {
        match self {
            Link::Own(_) => true,
            Link::Server(client) => client.version().contains("leafline"),
        }
    }

    /// Runs a statement and passes each of its rows to `row`; of CALL the rows of all results.
    ///
    /// # Errors
    /// Errors of the statement, of the connection, and of `row`; after the latter the connection is unusable.
    pub fn query(
        &mut self,
        sql: &str,
        row: &mut dyn FnMut(Cells<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Link::Own(connection) => {
                let session = connection.session();
                let mut next = Some(session.execute_with_files(sql, &mut OwnFiles)?);
                while let Some(outcome) = next {
                    if let Outcome::Rows(stream) = outcome {
                        pass(stream, session, row)?;
                    }
                    next = session.next_result()?;
                }
            }
            Link::Server(client) => {
                let mut places = Vec::new();
                let mut answer = client.query(sql)?;
                loop {
                    while answer.next(&mut places)? {
                        row(Cells { bytes: answer.bytes(), places: &places })?;
                    }
                    if !answer.next_result()? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs a statement and ignores its rows, if it has any.
    ///
    /// # Errors
    /// The errors of [`query`](Self::query).
    pub fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.query(sql, &mut |_| Ok(()))
    }

    /// Returns a column of the only row of a statement.
    ///
    /// # Errors
    /// The errors of [`query`](Self::query); an error if there is no row.
    pub fn value(&mut self, sql: &str, at: usize) -> Result<String, Failure> {
        let mut value = None;
        self.query(sql, &mut |cells| {
            value = Some(cells.text(at));
            Ok(())
        })?;
        value.ok_or_else(|| Failure::Message(format!("no answer to {sql}")))
    }
}

/// Passes each row of a result in this process to `row`.
fn pass(
    mut stream: RowStream,
    session: &mut Session,
    row: &mut dyn FnMut(Cells<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let types = stream.types();
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    while let Some(batch) = stream.next_batch(session)? {
        let values = TextColumns::new(&batch, &types);
        for at in 0..batch.rows {
            bytes.clear();
            places.clear();
            for column in 0..types.len() {
                let start = bytes.len();
                let there = values.append(at, column, &mut bytes);
                places.push(there.then_some(start..bytes.len()));
            }
            row(Cells { bytes: &bytes, places: &places })?;
        }
    }
    Ok(())
}

/// Returns a name in backquotes.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Returns a string literal, valid in any `sql_mode` without NO_BACKSLASH_ESCAPES.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
