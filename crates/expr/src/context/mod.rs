//! The inputs and outputs of an evaluation besides the rows: parameters, the time, the session, warnings.

pub(crate) mod held;

use std::collections::HashMap;
use std::sync::Arc;

use crate::block_encryption::BlockEncryption;
use crate::ir::{ProgramCall, Subquery};
use crate::locale::TimeNames;
use crate::named_locks::SharedLocks;
use crate::parsed_cache::ParsedCache;
use crate::password_strength::SharedPasswordStrength;
use crate::regexp::{Compiled, Flags};
use crate::search::{FoundRows, Scorer, ScorerKey};
use crate::user_variables::UserVariables;
use crate::xml::XPath;
use leafline_types::error::MysqlError;
use leafline_types::json::Path;
use leafline_types::memory::MemoryBudget;
use leafline_types::output::BYTES_BETWEEN_CHECKS;
use leafline_types::statement::{CancelTicker, CancelToken, Warnings};
use leafline_types::temporal::{DateRules, DateTime, Zone};
use leafline_types::value::Value;

/// The settings that evaluation depends on: flags of `sql_mode`, and some others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlMode {
    /// `STRICT_TRANS_TABLES` or `STRICT_ALL_TABLES`.
    pub strict: bool,
    /// `ERROR_FOR_DIVISION_BY_ZERO`.
    pub error_for_division_by_zero: bool,
    /// `NO_ZERO_DATE`, `NO_ZERO_IN_DATE` and `ALLOW_INVALID_DATES`.
    pub dates: DateRules,
    /// `block_encryption_mode`.
    pub block_encryption: BlockEncryption,
    /// `lc_time_names`.
    pub time_names: TimeNames,
    /// `max_allowed_packet`: the length in bytes of the longest string that a function may make.
    pub max_result: usize,
}

impl Default for SqlMode {
    /// Returns the settings of MySQL 8.0's default `sql_mode`.
    fn default() -> Self {
        SqlMode {
            strict: true,
            error_for_division_by_zero: true,
            dates: DateRules::default(),
            block_encryption: BlockEncryption::default(),
            time_names: TimeNames::ENGLISH,
            max_result: 64 << 20,
        }
    }
}

/// The session's facts, for functions such as `DATABASE()`.
#[derive(Debug, Clone, Default)]
pub struct SessionFacts {
    /// `VERSION()`.
    pub version: String,
    /// `DATABASE()`.
    pub database: Option<String>,
    /// `USER()`: the name and host that the client gave, as `name@host`.
    pub user: String,
    /// `CURRENT_USER()`: the account that the client is logged in as, as `name@host`.
    pub current_user: String,
    /// `CURRENT_ROLE()`: the active roles; empty for none.
    pub current_role: String,
    /// `CONNECTION_ID()`.
    pub connection_id: u64,
    /// `LAST_INSERT_ID()`.
    pub last_insert_id: u64,
    /// `ROW_COUNT()`.
    pub row_count: i64,
    /// `FOUND_ROWS()`.
    pub found_rows: u64,
    /// `@@warning_count`: errors, warnings and notes of the previous statement.
    pub warning_count: u64,
    /// `@@error_count`: errors of the previous statement.
    pub error_count: u64,
    /// The query attributes that the client sent with the statement, by name: `mysql_query_attribute_string()`.
    pub query_attributes: Vec<(String, Option<String>)>,
    /// The server's `GET_LOCK`s.
    pub locks: SharedLocks,
    /// The server's rules for passwords.
    pub passwords: SharedPasswordStrength,
}

/// Runs the subqueries of a statement.
pub trait SubqueryRunner {
    /// Returns the result of `subquery` for these values of its needle and of what it depends on.
    ///
    /// # Errors
    /// Errors of the subquery; 1242 if it has too many rows.
    fn answer(
        &self,
        subquery: &Subquery,
        needle: &[Value],
        outer: &[Value],
        cx: &mut EvalContext<'_>,
    ) -> Result<Value, MysqlError>;

    /// Returns the rows that a search finds; `number` is that of the subquery that counts its words. With `most`,
    /// only so many with the highest scores are needed. A search runs once in an execution.
    ///
    /// # Errors
    /// 1064 for a query that InnoDB's grammar does not have; errors of reading the index.
    fn search(
        &self,
        number: usize,
        most: Option<usize>,
        cx: &mut EvalContext<'_>,
    ) -> Result<Arc<FoundRows>, MysqlError>;
}

/// Runs the stored functions that a statement calls.
pub trait ProgramRunner {
    /// Returns the result of a call with these arguments.
    ///
    /// # Errors
    /// Errors of the function's statements.
    fn call(&self, call: &ProgramCall, args: &[Value], cx: &mut EvalContext<'_>)
    -> Result<Value, MysqlError>;
}

/// The context of one execution of a statement, for its expressions.
pub struct EvalContext<'a> {
    /// The values of the parameters.
    pub parameters: &'a [Value],
    /// In a subquery: the values of the enclosing queries' rows that it uses.
    pub outer: &'a [Value],
    /// Runs the subqueries of the statement; None while it is planned.
    pub subqueries: Option<&'a dyn SubqueryRunner>,
    /// Runs the stored functions that the statement calls; None while it is planned, and where none can be called.
    pub programs: Option<&'a dyn ProgramRunner>,
    /// `NOW()`: fixed for the statement, in the session's time zone.
    pub now: DateTime,
    /// The moment of `now` in UTC.
    pub utc_now: DateTime,
    /// The session's time zone.
    pub zone: &'a Zone,
    /// The session's mode.
    pub sql_mode: SqlMode,
    /// Whether the statement stores what it computes (INSERT, UPDATE, DELETE): then, in strict mode, a division by
    /// zero or a text that is not a number is an error, not a warning.
    pub stores: bool,
    /// The session.
    pub session: &'a SessionFacts,
    /// The list that warnings are added to.
    pub warnings: &'a mut Warnings,
    /// Checked per batch, and by functions that wait.
    pub cancel: &'a CancelToken,
    /// The memory budget of the statement.
    pub memory: &'a MemoryBudget,
    /// Whether the statement has IGNORE: a subquery of more than one row is then NULL, with a warning.
    pub ignores: bool,
    /// Whether the statement assigns user variables in its expressions: those that assign or read them are then
    /// evaluated row by row, in order, not a column at a time.
    pub row_by_row: bool,
    /// The state that calls keep from row to row.
    pub state: CallState,
}

/// The state that calls keep from row to row of one execution.
#[derive(Debug, Clone, Default)]
pub struct CallState {
    pub(crate) random: RandomState,
    /// Compiled patterns of regular expressions.
    pub(crate) patterns: ParsedCache<(String, Flags), Compiled, 8>,
    /// Parsed paths into documents.
    pub(crate) paths: ParsedCache<String, Path, 16>,
    /// Parsed XPath expressions.
    pub(crate) xpaths: ParsedCache<Box<[u8]>, XPath, 8>,
    /// Searches for words, with the weights of the words.
    pub(crate) searches: ParsedCache<ScorerKey, Scorer, 8>,
    pub(crate) held: held::Held,
    /// The session's user variables, lent to the evaluation.
    pub variables: UserVariables,
    /// The last argument of `LAST_INSERT_ID(value)`.
    pub last_insert_id: Option<u64>,
}

impl<'a> EvalContext<'a> {
    /// Makes a context for a statement that only reads, with the default mode and no parameters, in UTC.
    pub fn new(
        now: DateTime,
        session: &'a SessionFacts,
        warnings: &'a mut Warnings,
        cancel: &'a CancelToken,
    ) -> Self {
        EvalContext {
            parameters: &[],
            outer: &[],
            subqueries: None,
            programs: None,
            now,
            utc_now: now,
            zone: &Zone::UTC,
            sql_mode: SqlMode::default(),
            stores: false,
            session,
            warnings,
            cancel,
            memory: MemoryBudget::unlimited(),
            ignores: false,
            row_by_row: false,
            state: CallState::default(),
        }
    }

    /// Returns the value of a subquery for given values of its operands.
    pub(crate) fn answer(
        &mut self,
        subquery: &Subquery,
        needle: &[Value],
        outer: &[Value],
    ) -> Result<Value, MysqlError> {
        let runner =
            self.subqueries.ok_or_else(|| MysqlError::internal("a subquery where none can be run"))?;
        runner.answer(subquery, needle, outer, self)
    }

    /// Returns the rows that a search finds; see [`SubqueryRunner::search`].
    ///
    /// # Errors
    /// The errors of the search.
    pub fn search(&mut self, number: usize, most: Option<usize>) -> Result<Arc<FoundRows>, MysqlError> {
        let runner = self.subqueries.ok_or_else(|| MysqlError::internal("a search where none can be run"))?;
        runner.search(number, most, self)
    }

    /// Returns the result of a stored function for given arguments.
    pub(crate) fn call(&mut self, call: &ProgramCall, args: &[Value]) -> Result<Value, MysqlError> {
        let runner = self
            .programs
            .ok_or_else(|| MysqlError::internal("a stored function where none can be called"))?;
        runner.call(call, args, self)
    }

    /// Makes a counter of bytes examined in long values, which checks for cancellation as it counts.
    pub(crate) fn steps(&self) -> CancelTicker<'a> {
        CancelTicker::new(self.cancel, BYTES_BETWEEN_CHECKS)
    }

    /// Adds a warning; returns it as an error if the statement stores values in strict mode.
    pub(crate) fn warn(&mut self, e: MysqlError) -> Result<(), MysqlError> {
        if self.stores && self.sql_mode.strict && e.fails_in_strict_mode() {
            return Err(e);
        }
        self.warnings.warn(e);
        Ok(())
    }

    /// Reports a division by zero, whose result is NULL.
    pub(crate) fn division_by_zero(&mut self) -> Result<(), MysqlError> {
        if self.sql_mode.error_for_division_by_zero {
            self.warn(MysqlError::division_by_zero())
        } else {
            Ok(())
        }
    }
}

/// The generators of `RAND()`: one for the statement, and one for each `RAND(n)` in it.
///
/// It is MySQL's generator, so that `RAND(1)` returns MySQL's numbers.
#[derive(Debug, Clone, Default)]
pub struct RandomState {
    statement: Option<Generator>,
    seeded: HashMap<usize, (i64, Generator)>,
}

#[derive(Debug, Clone)]
struct Generator {
    first: u64,
    second: u64,
}

const MODULUS: u64 = 0x3FFF_FFFF;

impl Generator {
    fn new(first: u64, second: u64) -> Self {
        Generator { first: first % MODULUS, second: second % MODULUS }
    }

    fn from_seed(seed: i64) -> Self {
        let seed = seed as u32;
        Self::new(
            seed.wrapping_mul(0x10001).wrapping_add(55_555_555).into(),
            seed.wrapping_mul(0x1000_0001).into(),
        )
    }

    fn next(&mut self) -> f64 {
        self.first = (self.first * 3 + self.second) % MODULUS;
        self.second = (self.first + self.second + 33) % MODULUS;
        self.first as f64 / MODULUS as f64
    }
}

impl RandomState {
    /// Returns the next number of `RAND()`, at least 0 and below 1.
    pub(crate) fn next(&mut self) -> f64 {
        self.statement
            .get_or_insert_with(|| {
                use std::hash::{BuildHasher, RandomState};
                Generator::new(RandomState::new().hash_one(0u8), RandomState::new().hash_one(1u8))
            })
            .next()
    }

    /// Returns the next number of the `RAND(seed)` that `call` identifies within the statement. The sequence restarts
    /// when the seed changes, so that with a column as seed each row has a number of its own.
    pub(crate) fn next_seeded(&mut self, call: usize, seed: i64, constant: bool) -> f64 {
        let state = self.seeded.entry(call).or_insert_with(|| (seed, Generator::from_seed(seed)));
        if !constant || state.0 != seed {
            *state = (seed, Generator::from_seed(seed));
        }
        state.1.next()
    }
}
