//! The function table, which holds every scalar function once.
//!
//! A function is a row of the table: its names, the number of its arguments, its type rule, and its kernel for one
//! row and perhaps a faster one for a batch. `CASE`, `IF`, `COALESCE`, `ISNULL` and `MOD` are separate nodes (see
//! [`crate::build::call`]).

mod args;
mod assignment;
mod bits;
mod calendar;
mod charset;
mod cipher;
mod clock;
mod date_format;
mod digest;
mod format;
mod json;
mod letter_case;
mod list;
mod math;
mod network;
mod radix;
mod regexp;
pub(crate) mod rounding;
mod session;
mod str_to_date;
mod string;
mod string_edit;
mod string_position;
mod temporal;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_length;
mod time_names;
mod user_lock;
mod uuid;
mod weight_string;
mod xml;

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use crate::{Datum, EvalContext, Expr, Row};
use leafline_types::error::MysqlError;
use leafline_types::json::Json;
use leafline_types::value::{ExprType, Value};

pub(crate) use assignment::{ASSIGN_VARIABLE, READ_VARIABLE};
pub(crate) use bits::bits as bits_of;
pub use cipher::BlockEncryption;
pub use format::locale_name;
pub(crate) use json::PathCache;
pub use json::table::{JsonTableColumn, JsonTableLevel, JsonTableResponse, JsonTableSource};
pub(crate) use json::values::member_name;
pub(crate) use regexp::PatternCache;
pub(crate) use temporal::NUMBER_OF_TEMPORAL_TEXT;
pub use time_names::TimeNames;
pub use user_lock::{NamedLocks, SharedLocks};
pub(crate) use xml::{XPathCache, by_variables};

/// A function, as its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(u16);

/// The volatility of a function: when its value changes while its arguments do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volatility {
    /// Never.
    Immutable,
    /// From statement to statement: `NOW()`, `DATABASE()`.
    Statement,
    /// With every evaluation: `RAND()`, `SLEEP()`.
    Volatile,
}

/// A call as a kernel sees it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The function.
    pub function: FunctionId,
    /// The arguments' expressions, for their types.
    pub args: &'a [Expr],
    /// The type of the result.
    pub ty: &'a ExprType,
    /// The row it is evaluated for, if it is evaluated for one.
    pub(crate) row: &'a dyn Row,
}

impl Call<'_> {
    /// Computes the call for one row. For every function, a result longer than both `max_allowed_packet` and its
    /// longest argument is NULL with warning 1301.
    #[inline]
    pub(crate) fn compute(&self, cx: &mut EvalContext<'_>, values: &[Value]) -> Result<Value, MysqlError> {
        let v = (self.function.definition().scalar)(cx, *self, values)?;
        if v.byte_len() > cx.sql_mode.max_result { self.bounded(cx, values, v) } else { Ok(v) }
    }

    #[cold]
    fn bounded(&self, cx: &mut EvalContext<'_>, values: &[Value], v: Value) -> Result<Value, MysqlError> {
        match &v {
            v if v.byte_len() <= args::longest(values) => {}
            Value::Json(_) => return Err(Json::too_large(cx.sql_mode.max_result)),
            _ => return self.too_long(cx),
        }
        Ok(v)
    }
}

/// Computes the type of a call, or returns the error in its arguments.
pub type TypeRule = fn(&[Expr]) -> Result<ExprType, MysqlError>;
/// Computes a call for one row.
pub type ScalarKernel = fn(&mut EvalContext<'_>, Call<'_>, &[Value]) -> Result<Value, MysqlError>;
/// Computes a call for all rows of a batch; returns None if it does not handle the types.
pub type VectorKernel =
    fn(&mut EvalContext<'_>, Call<'_>, &[Datum], usize) -> Result<Option<Datum>, MysqlError>;

/// One function.
pub struct Function {
    /// Its name, in upper case.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// The fewest arguments.
    pub min_args: usize,
    /// The most arguments.
    pub max_args: usize,
    /// The rule for the type of its result.
    pub type_rule: TypeRule,
    /// The kernel for one row.
    pub scalar: ScalarKernel,
    /// The faster kernel for a batch.
    pub vector: Option<VectorKernel>,
    /// When its value changes while its arguments do not.
    pub volatility: Volatility,
    /// Whether its syntax in SQL is not `name(args)`.
    pub special: bool,
    /// Whether it computes with exact numbers: an argument with a quotient then has all its digits.
    pub numeric: bool,
    /// The arguments that are numbers, such as lengths and positions, among others: hexadecimal and bit literals are
    /// numbers there.
    pub number_args: &'static [usize],
    /// Whether it takes bytes: text arguments are converted to the bytes of their character set.
    pub bytes: bool,
    /// Whether it takes documents: arguments of type JSON are not converted to text, and conditions are truth values.
    pub documents: bool,
}

/// The functions whose results are truth values.
const CONDITIONS: &[&str] = &[
    "IS_IPV4",
    "IS_IPV4_COMPAT",
    "IS_IPV4_MAPPED",
    "IS_IPV6",
    "IS_UUID",
    "JSON_CONTAINS",
    "JSON_CONTAINS_PATH",
    "JSON_OVERLAPS",
    "JSON_SCHEMA_VALID",
    "JSON_VALID",
    "MEMBER OF",
    "REGEXP_LIKE",
];

impl Function {
    /// Whether its results are truth values.
    pub fn is_condition(&self) -> bool {
        CONDITIONS.contains(&self.name)
    }

    /// Makes an immutable function with a scalar kernel only.
    const fn new(
        name: &'static str,
        (min_args, max_args): (usize, usize),
        type_rule: TypeRule,
        scalar: ScalarKernel,
    ) -> Self {
        Function {
            name,
            aliases: &[],
            min_args,
            max_args,
            type_rule,
            scalar,
            vector: None,
            volatility: Volatility::Immutable,
            special: false,
            numeric: false,
            number_args: &[],
            bytes: false,
            documents: false,
        }
    }

    const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn vector(mut self, kernel: VectorKernel) -> Self {
        self.vector = Some(kernel);
        self
    }

    const fn volatility(mut self, volatility: Volatility) -> Self {
        self.volatility = volatility;
        self
    }

    const fn numeric(mut self) -> Self {
        self.numeric = true;
        self
    }

    const fn numbers(mut self, at: &'static [usize]) -> Self {
        self.number_args = at;
        self
    }

    const fn bytes(mut self) -> Self {
        self.bytes = true;
        self
    }

    const fn documents(mut self) -> Self {
        self.documents = true;
        self
    }

    const fn special(mut self) -> Self {
        self.special = true;
        self
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

static TABLE: LazyLock<Vec<&'static Function>> = LazyLock::new(|| {
    [
        math::FUNCTIONS,
        rounding::FUNCTIONS,
        bits::FUNCTIONS,
        format::FUNCTIONS,
        string::FUNCTIONS,
        string_position::FUNCTIONS,
        string_edit::FUNCTIONS,
        radix::FUNCTIONS,
        list::FUNCTIONS,
        regexp::FUNCTIONS,
        temporal::FUNCTIONS,
        calendar::FUNCTIONS,
        clock::FUNCTIONS,
        str_to_date::FUNCTIONS,
        digest::FUNCTIONS,
        cipher::FUNCTIONS,
        charset::FUNCTIONS,
        network::FUNCTIONS,
        uuid::FUNCTIONS,
        weight_string::FUNCTIONS,
        xml::FUNCTIONS,
        session::FUNCTIONS,
        assignment::FUNCTIONS,
        user_lock::FUNCTIONS,
        json::values::FUNCTIONS,
        json::schema::FUNCTIONS,
        json::search::FUNCTIONS,
        json::modify::FUNCTIONS,
    ]
    .into_iter()
    .flatten()
    .collect()
});

static NAMES: LazyLock<HashMap<&'static str, FunctionId>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for (n, function) in TABLE.iter().enumerate() {
        for name in std::iter::once(&function.name).chain(function.aliases) {
            names.insert(*name, FunctionId(n as u16));
        }
    }
    names
});

/// Returns every function.
pub fn table() -> impl Iterator<Item = &'static Function> {
    TABLE.iter().copied()
}

/// Returns the function of that name, in any case.
pub fn lookup(name: &str) -> Option<FunctionId> {
    NAMES.get(name.to_ascii_uppercase().as_str()).copied()
}

impl FunctionId {
    /// Returns its row of the table.
    pub fn definition(self) -> &'static Function {
        TABLE[usize::from(self.0)]
    }
}
