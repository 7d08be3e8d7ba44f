//! One client: it is greeted and let in, then its commands are run one after the other until it leaves.

use crate::auth;
use crate::client_file::FilesOfClient;
use crate::protocol::binary::{ParameterType, put_block_row, put_row, read_parameters};
use crate::protocol::bytes::{NULL, Reader, put_string};
use crate::protocol::capability as cap;
use crate::protocol::column::put_column;
use crate::protocol::handshake::{Answer, Greeting, put_switch, read_change_user};
use crate::protocol::packet::{PacketStream, WireError};
use crate::protocol::reply::{self, put_error};
use crate::protocol::{command, status};
use crate::watcher::Activity;
use leafline_sql::accounts::Login;
use leafline_sql::accounts::password::{CHALLENGE_BYTES, Verdict};
use leafline_sql::parser::split_statements;
use leafline_sql::session::settings::Modes;
use leafline_sql::session::{Outcome, RowStream, Session};
use leafline_sql::text_format::{TextColumns, append_text};
use leafline_sql::{Chunk, ChunkValues, ColumnMeta, Done, Instance};
use leafline_types::statement::CancelReason;
use leafline_types::{Batch, Charset, MysqlError, SqlType};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Arc;

/// The prepared statements that have parameters or may have.
type Parameters = HashMap<u32, PreparedParameters>;

/// What is kept of a prepared statement's parameters between packets.
#[derive(Default)]
struct PreparedParameters {
    count: usize,
    types: Vec<ParameterType>,
    long_data: Vec<Option<Vec<u8>>>,
    /// A parameter got more than `max_allowed_packet`: the execution is refused.
    is_too_long: bool,
}

/// Where a client is.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// For messages: `localhost` or an address.
    pub(crate) host: String,
    /// On this machine: a Unix socket or a loopback address.
    pub(crate) local: bool,
}

/// A stream that can be told how long to wait for the client.
pub(crate) trait Stream: Read + Write {
    /// Reads fail after `seconds` without a byte; `None` waits for ever.
    fn set_read_timeout(&self, seconds: Option<u64>) -> std::io::Result<()>;
    /// Writes fail after `seconds` in which the client took nothing.
    fn set_write_timeout(&self, seconds: u64) -> std::io::Result<()>;
}

/// How long a client may take for its part of the handshake, in seconds.
const HANDSHAKE_SECONDS: u64 = 10;
/// Longest packet of the handshake, in bytes: nobody has been let in yet.
const HANDSHAKE_PACKET: usize = 64 << 10;
/// How often a wait for a client that reads nothing looks whether it is to end, in seconds.
const WRITE_SECONDS: u64 = 1;

/// Serves one client until it leaves. Errors of the connection end it and are not reported anywhere: the client is gone.
pub(crate) fn serve<S: Stream>(
    stream: S,
    instance: &Arc<Instance>,
    number: u64,
    peer: &Peer,
    activity: &Activity,
) -> Result<(), WireError> {
    stream.set_read_timeout(Some(HANDSHAKE_SECONDS))?;
    stream.set_write_timeout(WRITE_SECONDS)?;
    let mut packets = PacketStream::new(stream, HANDSHAKE_PACKET);
    let result = match log_in(&mut packets, instance, number, peer) {
        Ok(Some((session, capabilities))) => {
            packets.let_in(session.cancel_token());
            let mut connection = Connection {
                packets,
                session,
                capabilities,
                parameters: Parameters::new(),
                peer: peer.clone(),
            };
            let result = connection.run(activity);
            packets = connection.packets;
            result
        }
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(WireError::Protocol(error)) = &result {
        packets.write(|out| put_error(out, error))?;
        packets.flush()?;
    }
    result
}

/// The handshake. `None` if the client was turned away.
fn log_in<S: Stream>(
    packets: &mut PacketStream<S>,
    instance: &Arc<Instance>,
    number: u64,
    peer: &Peer,
) -> Result<Option<(Session, u32)>, WireError> {
    let challenge = auth::challenge()?;
    let greeting = Greeting {
        version: &instance.facts().version,
        connection_id: number,
        challenge: &challenge,
        status: status::AUTOCOMMIT,
        plugin: auth::PLUGIN,
    };
    packets.write(|out| greeting.put(out))?;
    let mut packet = Vec::new();
    if !packets.read(&mut packet)? {
        return Ok(None);
    }
    let answer = Answer::read(&packet).map_err(WireError::Protocol)?;
    let admitted = match authenticate(packets, instance, &answer, &challenge, peer)? {
        Ok(()) => instance.new_session(number, &answer.user, &peer.host).and_then(|mut session| {
            session.greet(answer.collation);
            if let Some(database) = &answer.database {
                session.set_database(database)?;
            }
            Ok(session)
        }),
        Err(error) => Err(error),
    };
    match admitted {
        Ok(session) => {
            let ok = reply::Ok { status: status_of(&session, false), ..reply::Ok::default() };
            packets.write(|out| ok.put(out))?;
            packets.flush()?;
            Ok(Some((session, answer.capabilities)))
        }
        Err(error) => {
            packets.write(|out| put_error(out, &error))?;
            packets.flush()?;
            Ok(None)
        }
    }
}

/// Checks the answer to the challenge, asking for it again where the client used another plugin. The inner result is for
/// the client.
fn authenticate<S: Stream>(
    packets: &mut PacketStream<S>,
    instance: &Arc<Instance>,
    answer: &Answer,
    challenge: &[u8; CHALLENGE_BYTES],
    peer: &Peer,
) -> Result<Result<(), MysqlError>, WireError> {
    let mut given = answer.authentication.clone();
    if answer.capabilities & cap::PLUGIN_AUTH != 0
        && answer.plugin.as_deref().is_some_and(|plugin| plugin != auth::PLUGIN)
    {
        packets.write(|out| put_switch(out, auth::PLUGIN, challenge))?;
        if !packets.read(&mut given)? {
            return Ok(Err(MysqlError::bad_handshake()));
        }
    }
    let using = if given.is_empty() { "NO" } else { "YES" };
    let denied = || MysqlError::access_denied(&answer.user, &peer.host, using);
    let is_right = match instance.accounts().login(&answer.user) {
        None => false,
        Some(Login::Locked(_)) => {
            return Ok(Err(MysqlError::account_locked(&answer.user, &peer.host)));
        }
        Some(Login::Password(password)) if password.is_none() && !peer.local => false,
        Some(Login::Password(password)) => password.check_answer(challenge, &given) == Verdict::Right,
    };
    Ok(if is_right { Ok(()) } else { Err(denied()) })
}

fn status_of(session: &Session, more_results: bool) -> u16 {
    let mut bits = 0;
    if session.in_transaction() {
        bits |= status::IN_TRANSACTION;
    }
    if session.autocommit() {
        bits |= status::AUTOCOMMIT;
    }
    if session.settings().sql_mode.has(Modes::NO_BACKSLASH_ESCAPES) {
        bits |= status::NO_BACKSLASH_ESCAPES;
    }
    if more_results {
        bits |= status::MORE_RESULTS;
    }
    bits
}

struct Connection<S> {
    packets: PacketStream<S>,
    session: Session,
    capabilities: u32,
    parameters: Parameters,
    peer: Peer,
}

impl<S: Stream> Connection<S> {
    fn run(&mut self, activity: &Activity) -> Result<(), WireError> {
        let (mut packet, mut timeout) = (Vec::new(), None);
        loop {
            self.packets.begin_command();
            self.packets.set_patience(self.session.settings().net_write_timeout.div_ceil(WRITE_SECONDS));
            self.packets.set_max_packet(self.session.settings().max_packet_bytes());
            let wait_timeout = Some(self.session.settings().wait_timeout);
            if wait_timeout != timeout {
                self.packets.stream().set_read_timeout(wait_timeout)?;
                timeout = wait_timeout;
            }
            if !self.packets.read(&mut packet)? || packet.first() == Some(&command::QUIT) {
                return Ok(());
            }
            activity.change();
            let result = self.run_command(&packet).and_then(|()| self.packets.flush());
            activity.change();
            result?;
            if self.session.cancel_token().reason() == Some(CancelReason::ConnectionKilled) {
                return Ok(());
            }
        }
    }

    /// A statement, or several.
    fn statement_text<'b>(&self, body: &'b [u8]) -> Result<Cow<'b, str>, MysqlError> {
        let settings = self.session.settings();
        match settings.client_charset {
            Charset::Latin1 => text(body, Charset::Latin1),
            _ => leafline_sql::parser::statement_text(body, settings.lex_mode()),
        }
    }

    /// Runs one command. What goes wrong with it is told to the client; only a broken connection is an error.
    fn run_command(&mut self, packet: &[u8]) -> Result<(), WireError> {
        let (&code, body) =
            packet.split_first().ok_or_else(|| WireError::Protocol(MysqlError::malformed_packet()))?;
        let result = match code {
            command::QUERY => return self.query(body),
            command::INIT_DB => text(body, self.session.settings().client_charset)
                .and_then(|name| self.session.set_database(&name)),
            command::PING | command::SET_OPTION => Ok(()),
            command::STATISTICS => {
                let seconds = self.session.instance().uptime_seconds();
                return self
                    .packets
                    .write(|out| out.extend_from_slice(format!("Uptime: {seconds}").as_bytes()));
            }
            command::RESET_CONNECTION => {
                self.session.reset();
                self.parameters.clear();
                Ok(())
            }
            command::CHANGE_USER => return self.change_user(body),
            command::STMT_PREPARE => return self.prepare(body),
            command::STMT_EXECUTE => return self.execute(body),
            command::STMT_SEND_LONG_DATA => {
                // This command has no answer, not even an error: it comes with the execution.
                self.add_long_data(body);
                return Ok(());
            }
            command::STMT_CLOSE => {
                if let Ok(id) = Reader::new(body).u32() {
                    self.session.close_prepared(id);
                    self.parameters.remove(&id);
                }
                return Ok(());
            }
            command::STMT_RESET => {
                Reader::new(body).u32().and_then(|id| match self.parameters.get_mut(&id) {
                    Some(parameters) => {
                        parameters.long_data.clear();
                        parameters.is_too_long = false;
                        Ok(())
                    }
                    None => Err(MysqlError::unknown_statement_handler(id, "mysqld_stmt_reset")),
                })
            }
            command::FIELD_LIST => Err(MysqlError::not_supported("COM_FIELD_LIST")),
            _ => Err(MysqlError::unknown_command()),
        };
        match result {
            Ok(()) => self.send_done(&Done::default(), false),
            Err(error) => self.send_error(&error),
        }
    }

    fn send_error(&mut self, error: &MysqlError) -> Result<(), WireError> {
        self.packets.write(|out| put_error(out, error))
    }

    fn send_done(&mut self, done: &Done, more: bool) -> Result<(), WireError> {
        let found = self.capabilities & cap::FOUND_ROWS != 0;
        let ok = reply::Ok {
            affected: if found { done.matched } else { done.affected },
            last_insert_id: done.insert_id,
            status: status_of(&self.session, more),
            warnings: self.warning_count(),
            info: &done.info,
        };
        self.packets.write(|out| ok.put(out))
    }

    fn warning_count(&self) -> u16 {
        u16::try_from(self.session.warnings().count()).unwrap_or(u16::MAX)
    }

    /// COM_QUERY: one statement, or several if the client may send them.
    fn query(&mut self, body: &[u8]) -> Result<(), WireError> {
        let text = match self.statement_text(body) {
            Ok(text) => text,
            Err(error) => return self.send_error(&error),
        };
        let sql = &*text;
        let statements = match self.capabilities & cap::MULTI_STATEMENTS {
            0 => vec![sql],
            _ => split_statements(sql, self.session.settings().lex_mode()),
        };
        let statements = if statements.is_empty() { vec![sql] } else { statements };
        let last = statements.len() - 1;
        for (at, statement) in statements.into_iter().enumerate() {
            let more = at < last;
            let sent = match self.run_statement(statement)? {
                Ok(Outcome::Done(done)) => {
                    self.send_done(&done, more)?;
                    true
                }
                Ok(Outcome::Rows(rows)) => self.send_rows(rows, more, false)?,
                Err(error) => {
                    self.send_error(&error)?;
                    false
                }
            };
            if !sent {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Runs a statement, which may ask the client for a file if it gives files.
    fn run_statement(&mut self, statement: &str) -> Result<Result<Outcome, MysqlError>, WireError> {
        if self.capabilities & cap::LOCAL_FILES == 0 {
            return Ok(self.session.execute(statement));
        }
        let mut files = FilesOfClient::new(&mut self.packets);
        let outcome = self.session.execute_with_files(statement, &mut files);
        files.finish()?;
        Ok(outcome)
    }

    /// Sends rows as they come. False if they ended with an error, which the client has been told.
    fn send_rows(&mut self, mut rows: RowStream, more: bool, binary: bool) -> Result<bool, WireError> {
        self.send_columns(rows.columns(), true)?;
        let mut types = rows.types();
        let charset = self.session.settings().results_charset;
        let charset = charset.filter(|charset| !matches!(charset, Charset::Binary | Charset::Utf8mb4));
        if charset.is_some() {
            let text = types.iter_mut().filter(|ty| ty.is_character());
            text.for_each(|ty| *ty = SqlType::Varbinary { len: u32::MAX });
        }
        loop {
            let chunk = match charset {
                Some(charset) => rows.next_batch(&mut self.session).map(|batch| {
                    let columns = rows.columns().clone();
                    let values = |batch: Batch| ChunkValues::Columns(batch.in_charset(charset));
                    batch.map(|batch| Arc::new(Chunk { columns, values: values(batch) }))
                }),
                None => rows.next_chunk(&mut self.session),
            };
            match chunk {
                Ok(Some(chunk)) => self.send_values(&chunk.values, &types, binary)?,
                Ok(None) => break,
                Err(error) => {
                    self.send_error(&error)?;
                    return Ok(false);
                }
            }
        }
        let end = reply::Ok {
            status: status_of(&self.session, more),
            warnings: self.warning_count(),
            ..reply::Ok::default()
        };
        let capabilities = self.capabilities;
        self.packets.write(|out| end.put_end_of_rows(capabilities, out))?;
        Ok(true)
    }

    fn send_values(
        &mut self,
        values: &ChunkValues,
        types: &[SqlType],
        binary: bool,
    ) -> Result<(), WireError> {
        match values {
            ChunkValues::Columns(batch) if binary => {
                (0..batch.rows).try_for_each(|row| self.packets.write(|out| put_row(out, batch, row, types)))
            }
            ChunkValues::Rows(rows) if binary => (0..rows.rows())
                .try_for_each(|row| self.packets.write(|out| put_block_row(out, rows, row, types))),
            ChunkValues::Columns(batch) => {
                let columns = TextColumns::new(batch, types);
                self.send_text(batch.rows, types.len(), |row, column, out| columns.append(row, column, out))
            }
            ChunkValues::Rows(rows) => self.send_text(rows.rows(), types.len(), |row, column, out| {
                types.get(column).is_some_and(|ty| append_text(rows.get(row, column), ty, out))
            }),
        }
    }

    /// Sends rows of the text protocol, whose values `append` gives: false for NULL.
    fn send_text(
        &mut self,
        rows: usize,
        columns: usize,
        append: impl Fn(usize, usize, &mut Vec<u8>) -> bool,
    ) -> Result<(), WireError> {
        let mut value = Vec::new();
        for row in 0..rows {
            self.packets.write(|out| {
                for column in 0..columns {
                    value.clear();
                    if append(row, column, &mut value) {
                        put_string(out, &value);
                    } else {
                        out.push(NULL);
                    }
                }
            })?;
        }
        Ok(())
    }

    /// Sends column definitions, with their number first where rows follow, and the EOF that older clients expect.
    fn send_columns(&mut self, columns: &[ColumnMeta], with_count: bool) -> Result<(), WireError> {
        if with_count {
            let count = columns.len() as u64;
            self.packets.write(|out| crate::protocol::bytes::put_length(out, count))?;
        }
        let results = self.session.settings().results_collation();
        for column in columns {
            self.packets.write(|out| put_column(out, column, results))?;
        }
        if self.capabilities & cap::DEPRECATE_EOF == 0 {
            let eof = reply::Ok { status: status_of(&self.session, false), ..reply::Ok::default() };
            self.packets.write(|out| eof.put_eof(out))?;
        }
        Ok(())
    }

    fn prepare(&mut self, body: &[u8]) -> Result<(), WireError> {
        let sql = self.statement_text(body);
        let prepared = match sql.and_then(|sql| self.session.prepare(&sql)) {
            Ok(prepared) => prepared,
            Err(error) => return self.send_error(&error),
        };
        let warnings = self.warning_count();
        let (columns, parameters) = (prepared.columns.len() as u16, prepared.parameters as u16);
        self.packets.write(|out| {
            out.push(0);
            out.extend_from_slice(&prepared.id.to_le_bytes());
            out.extend_from_slice(&columns.to_le_bytes());
            out.extend_from_slice(&parameters.to_le_bytes());
            out.push(0);
            out.extend_from_slice(&warnings.to_le_bytes());
        })?;
        if prepared.parameters > 0 {
            let parameter = leafline_sql::result::column("?", SqlType::Varchar { len: 16_383 });
            self.send_columns(&vec![parameter; prepared.parameters], false)?;
        }
        if !prepared.columns.is_empty() {
            self.send_columns(&prepared.columns, false)?;
        }
        let kept = PreparedParameters { count: prepared.parameters, ..PreparedParameters::default() };
        self.parameters.insert(prepared.id, kept);
        Ok(())
    }

    fn execute(&mut self, body: &[u8]) -> Result<(), WireError> {
        let mut reader = Reader::new(body);
        let charset = self.session.settings().client_charset;
        let read = || -> Result<_, MysqlError> {
            let (id, cursor) = (reader.u32()?, reader.u8()?);
            reader.u32()?;
            if cursor != 0 {
                return Err(MysqlError::not_supported("cursors of prepared statements"));
            }
            let kept = self.parameters.get_mut(&id);
            let kept =
                kept.ok_or_else(|| MysqlError::unknown_statement_handler(id, "mysqld_stmt_execute"))?;
            if std::mem::take(&mut kept.is_too_long) {
                kept.long_data.clear();
                return Err(MysqlError::unknown_error(
                    "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
                     'max_allowed_packet' bytes",
                ));
            }
            let (types, long_data) = (&mut kept.types, &kept.long_data);
            let values = read_parameters(&mut reader, kept.count, types, long_data, charset)?;
            kept.long_data.clear();
            Ok((id, values))
        };
        let mut read = read;
        let outcome = read().and_then(|(id, values)| self.session.execute_prepared(id, &values));
        match outcome {
            Ok(Outcome::Done(done)) => self.send_done(&done, false),
            Ok(Outcome::Rows(rows)) => self.send_rows(rows, false, true).map(|_| ()),
            Err(error) => self.send_error(&error),
        }
    }

    fn add_long_data(&mut self, body: &[u8]) {
        let mut reader = Reader::new(body);
        let (Ok(id), Ok(parameter)) = (reader.u32(), reader.u16()) else { return };
        let Some(kept) = self.parameters.get_mut(&id) else { return };
        let parameter = usize::from(parameter);
        if parameter >= kept.count {
            return;
        }
        if kept.long_data.len() <= parameter {
            kept.long_data.resize(parameter + 1, None);
        }
        if let Some(slot) = kept.long_data.get_mut(parameter) {
            let data = slot.get_or_insert_default();
            let part = reader.rest();
            if data.len() + part.len() <= self.session.settings().max_packet_bytes() {
                data.extend_from_slice(part);
            } else {
                kept.is_too_long = true;
            }
        }
    }

    fn change_user(&mut self, body: &[u8]) -> Result<(), WireError> {
        let mut answer = match read_change_user(body, self.capabilities) {
            Ok(answer) => answer,
            Err(error) => return Err(WireError::Protocol(error)),
        };
        // The challenge of the greeting is used up: a new one goes out with the request to switch to our plugin.
        let challenge = auth::challenge()?;
        answer.plugin = Some(String::new());
        let instance = self.session.instance().clone();
        if let Err(error) = authenticate(&mut self.packets, &instance, &answer, &challenge, &self.peer)? {
            return Err(WireError::Protocol(error));
        }
        self.session.reset();
        self.session.greet(answer.collation);
        self.parameters.clear();
        match answer.database.map(|database| self.session.set_database(&database)) {
            Some(Err(error)) => Err(WireError::Protocol(error)),
            _ => self.send_done(&Done::default(), false),
        }
    }
}

/// What the client has sent, as UTF-8.
fn text(bytes: &[u8], charset: Charset) -> Result<Cow<'_, str>, MysqlError> {
    if charset == Charset::Latin1 {
        return Ok(Charset::decode_latin1(bytes).into());
    }
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
        let at = error.valid_up_to();
        let wrong: String = bytes.iter().skip(at).take(6).map(|byte| format!("\\x{byte:02X}")).collect();
        MysqlError::invalid_character_string("utf8mb4", wrong)
    })
}
