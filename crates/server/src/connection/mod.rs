//! Serves one client: lets the client in, then runs its commands one after the other until it leaves.

mod cursor;
mod fields;
mod prepared;
mod results;

use crate::client_file::FilesOfClient;
use crate::convert::{state_changes, status_of};
use crate::login::{Gate, LoggedIn, Peer, challenge};
use crate::transport::Transport;
use crate::watcher::Activity;
use leafline_protocol::binary::parameter::read_attributes;
use leafline_protocol::bytes::Reader;
use leafline_protocol::handshake::HandshakeResponse;
use leafline_protocol::packet::PacketStream;
use leafline_protocol::reply::{OkPacket, put_error, put_error_in};
use leafline_protocol::{WireError, capability as cap, command, status};
use leafline_sql::session::{Outcome, Session};
use leafline_sql::status::Command;
use leafline_sql::{Done, Instance};
use leafline_syntax::split_statements;
use leafline_types::statement::CancelReason;
use leafline_types::{Charset, MysqlError};
use prepared::Parameters;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// Longest packet of the handshake, in bytes: the client is not trusted yet.
const HANDSHAKE_PACKET: usize = 64 << 10;
/// Timeouts of writes in a row after which a client that has not been let in is cut off.
const HANDSHAKE_PATIENCE: u64 = 10;
/// Most bytes of the packet buffer that an idle connection keeps.
const KEPT_PACKET: usize = 64 << 10;
/// The options of COM_SET_OPTION.
const MULTI_STATEMENTS_ON: u16 = 0;
const MULTI_STATEMENTS_OFF: u16 = 1;
/// Seconds after which a write that waits for the client checks whether the session is to end.
const WRITE_SECONDS: u64 = 1;

/// Serves one client until it leaves. Calls `logged_in` when the client is let in. An error ends the connection and need not be
/// reported, because the client is gone.
pub(crate) fn serve(
    transport: Transport,
    (gate, peer): (&Gate, &Peer),
    instance: &Arc<Instance>,
    number: u64,
    activity: &Activity,
    logged_in: impl FnOnce(),
) -> Result<(), WireError> {
    transport.set_write_timeout(WRITE_SECONDS)?;
    let mut packets = PacketStream::new(transport, HANDSHAKE_PACKET);
    packets.set_patience(HANDSHAKE_PATIENCE);
    let result = match gate.admit(&mut packets, instance, number, peer, logged_in) {
        Ok(Some(LoggedIn { session, capabilities })) => {
            packets.let_in(session.cancel_token());
            let parameters = Parameters::new();
            let mut connection = Connection { packets, session, capabilities, parameters, gate, peer };
            connection.allow_several_results();
            let result = connection.run(activity);
            packets = connection.packets;
            result
        }
        Ok(None) => {
            instance.count_aborted(false);
            Ok(())
        }
        Err(error) => {
            instance.count_aborted(false);
            Err(error)
        }
    };
    if let Err(WireError::Protocol(error)) = &result {
        packets.write(|out| put_error(out, error))?;
        packets.flush()?;
    }
    result
}

struct Connection<'c> {
    packets: PacketStream<Transport>,
    session: Session,
    capabilities: u32,
    parameters: Parameters,
    gate: &'c Gate,
    peer: &'c Peer,
}

impl Connection<'_> {
    fn run(&mut self, activity: &Activity) -> Result<(), WireError> {
        let mut packet = Vec::new();
        loop {
            self.packets.begin_command();
            let settings = self.session.settings();
            self.packets.set_patience(settings.net_write_timeout.div_ceil(WRITE_SECONDS));
            self.packets.set_max_packet(settings.max_packet_bytes());
            self.packets.stream_mut().set_read_timeouts(settings.wait_timeout, settings.net_read_timeout);
            match self.packets.read(&mut packet) {
                Ok(true) if packet.first() != Some(&command::QUIT) => {}
                Ok(says_so) => {
                    if !says_so {
                        self.session.instance().count_aborted(true);
                    }
                    return Ok(());
                }
                Err(WireError::Io(error)) if has_timed_out(&error) && self.packets.stream().is_idle() => {
                    return self.end_idle();
                }
                Err(error) => {
                    self.session.instance().count_aborted(true);
                    return Err(error);
                }
            }
            self.count_traffic();
            activity.change();
            let result = self.run_command(&packet).and_then(|()| self.packets.flush());
            activity.change();
            self.count_traffic();
            result?;
            // The client has got the error that broke the session.
            if self.session.is_broken() {
                return Ok(());
            }
            if packet.capacity() > KEPT_PACKET {
                packet = Vec::new();
            }
            if self.session.cancel_token().reason() == Some(CancelReason::ConnectionKilled) {
                return Ok(());
            }
        }
    }

    /// Adds the bytes since the last call to the session's counters.
    fn count_traffic(&mut self) {
        let (received, sent) = self.packets.take_traffic();
        self.session.count_bytes(received, sent);
    }

    /// Sends the error of `wait_timeout`. The client reads it when it sends its next command.
    fn end_idle(&mut self) -> Result<(), WireError> {
        self.packets.begin_unasked_answer();
        self.send_error(&MysqlError::client_interaction_timeout())?;
        self.packets.flush()
    }

    /// Decodes the text of a statement, or of several.
    fn statement_text<'b>(&self, body: &'b [u8]) -> Result<Cow<'b, str>, MysqlError> {
        let settings = self.session.settings();
        leafline_syntax::statement_text(body, settings.client_charset, settings.lex_mode())
    }

    /// Runs one command. The client gets the errors of the command; only a broken connection is an error here.
    fn run_command(&mut self, packet: &[u8]) -> Result<(), WireError> {
        let (&code, body) =
            packet.split_first().ok_or_else(|| WireError::Protocol(MysqlError::malformed_packet()))?;
        if let Some(counted) = counted(code) {
            self.session.count_protocol_command(counted);
        }
        let result = match code {
            command::QUERY => return self.query(body),
            command::INIT_DB => text(body, self.session.settings().client_charset)
                .and_then(|name| self.session.set_database(&name)),
            command::PING => Ok(()),
            command::SET_OPTION => match Reader::new(body).u16() {
                Ok(option @ (MULTI_STATEMENTS_ON | MULTI_STATEMENTS_OFF)) => {
                    return self.set_multi_statements(option == MULTI_STATEMENTS_ON);
                }
                _ => Err(MysqlError::unknown_command()),
            },
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
                // This command has no answer. The execution reports its error.
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
                        parameters.cursor = None;
                        Ok(())
                    }
                    None => Err(MysqlError::unknown_statement_handler(id, "mysqld_stmt_reset")),
                })
            }
            command::STMT_FETCH => return self.fetch(body),
            command::FIELD_LIST => return self.list_fields(body),
            _ => Err(MysqlError::unknown_command()),
        };
        match result {
            Ok(()) => self.send_done(&Done::default(), false),
            Err(error) => self.send_error(&error),
        }
    }

    /// Runs COM_SET_OPTION. The answer is an end-of-rows packet.
    fn set_multi_statements(&mut self, on: bool) -> Result<(), WireError> {
        self.capabilities &= !cap::MULTI_STATEMENTS;
        if on {
            self.capabilities |= cap::MULTI_STATEMENTS;
        }
        self.allow_several_results();
        let end = OkPacket { status: self.status(false), ..OkPacket::default() };
        let capabilities = self.capabilities;
        self.packets.write(|out| end.put_end_of_rows(capabilities, out))
    }

    fn send_error(&mut self, error: &MysqlError) -> Result<(), WireError> {
        let results = self.session.settings().results_charset.filter(|charset| !charset.is_utf8());
        self.packets.write(|out| put_error_in(out, error, results))
    }

    fn send_done(&mut self, done: &Done, more: bool) -> Result<(), WireError> {
        let found = self.capabilities & cap::FOUND_ROWS != 0;
        let changes = self.session.take_state_changes();
        let ok = OkPacket {
            affected: if found { done.matched } else { done.affected },
            last_insert_id: done.insert_id,
            status: self.status(more),
            warnings: self.warning_count(),
            info: (&done.info).into(),
            changes: state_changes(&changes),
        };
        self.packets.write(|out| ok.put(out))
    }

    fn warning_count(&self) -> u16 {
        u16::try_from(self.session.warnings().count()).unwrap_or(u16::MAX)
    }

    /// Runs COM_QUERY: one statement, or several if the client may send several.
    fn query(&mut self, body: &[u8]) -> Result<(), WireError> {
        let mut reader = Reader::new(body);
        if self.capabilities & cap::QUERY_ATTRIBUTES != 0 {
            match read_attributes(&mut reader, self.session.settings().client_charset) {
                Ok(attributes) => self.session.set_query_attributes(attributes),
                Err(error) => return self.send_error(&error),
            }
        }
        let text = match self.statement_text(reader.rest()) {
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
            let outcome = self.run_statement(statement)?;
            if !self.send_results(outcome, more, false)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Runs a statement. LOAD DATA LOCAL asks the client for a file if the client sends files.
    fn run_statement(&mut self, statement: &str) -> Result<Result<Outcome, MysqlError>, WireError> {
        if self.capabilities & cap::LOCAL_FILES == 0 {
            return Ok(self.session.execute(statement));
        }
        let mut files = FilesOfClient::new(&mut self.packets);
        let outcome = self.session.execute_with_files(statement, &mut files);
        files.finish()?;
        Ok(outcome)
    }

    /// Tells the session whether the client reads several results. A client that may send several statements
    /// does, as in MySQL.
    fn allow_several_results(&mut self) {
        let allowed = self.capabilities & (cap::MULTI_RESULTS | cap::MULTI_STATEMENTS) != 0;
        self.session.allow_several_results(allowed);
    }

    /// Returns the server status of an answer.
    fn status(&self, more_results: bool) -> u16 {
        status_of(&self.session) | if more_results { status::MORE_RESULTS } else { 0 }
    }

    fn change_user(&mut self, body: &[u8]) -> Result<(), WireError> {
        let mut answer = match HandshakeResponse::read_change_user(body, self.capabilities) {
            Ok(answer) => answer,
            Err(error) => return Err(WireError::Protocol(error)),
        };
        // The challenge of the greeting is used up. A new one goes out with the request to switch to the account's plugin.
        answer.plugin = Some(String::new());
        let instance = self.session.instance().clone();
        let authenticated =
            self.gate.authenticate(&mut self.packets, &instance, &answer, &challenge()?, self.peer)?;
        self.packets.stream_mut().set_deadline(None);
        let (account, proof) = authenticated.map_err(WireError::Protocol)?;
        let changed = self.session.change_user(&answer.user, &self.peer.host, account);
        changed.map_err(WireError::Protocol)?;
        self.packets.let_in(self.session.cancel_token());
        self.session.described(answer.attributes);
        self.session.greet(answer.collation);
        self.allow_several_results();
        self.parameters.clear();
        match answer.database.map(|database| self.session.set_database(&database)) {
            Some(Err(error)) => Err(WireError::Protocol(error)),
            _ => self.send_done(&Done { info: proof, ..Done::default() }, false),
        }
    }
}

/// Returns the counter of a command that is no statement.
fn counted(code: u8) -> Option<Command> {
    Some(match code {
        command::INIT_DB => Command::ChangeDatabase,
        command::FIELD_LIST => Command::ShowFields,
        command::STMT_PREPARE => Command::StmtPrepare,
        command::STMT_EXECUTE => Command::StmtExecute,
        command::STMT_SEND_LONG_DATA => Command::StmtSendLongData,
        command::STMT_CLOSE => Command::StmtClose,
        command::STMT_RESET => Command::StmtReset,
        command::STMT_FETCH => Command::StmtFetch,
        command::PING
        | command::STATISTICS
        | command::CHANGE_USER
        | command::SET_OPTION
        | command::RESET_CONNECTION => Command::AdminCommands,
        _ => return None,
    })
}

fn has_timed_out(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

/// Converts a text of the client to UTF-8.
fn text(bytes: &[u8], charset: Charset) -> Result<Cow<'_, str>, MysqlError> {
    if !charset.is_utf8() {
        return charset.decode(bytes).map(Cow::Owned);
    }
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
        let at = error.valid_up_to();
        let wrong: String = bytes.iter().skip(at).take(6).map(|byte| format!("\\x{byte:02X}")).collect();
        MysqlError::invalid_character_string("utf8mb4", wrong)
    })
}
