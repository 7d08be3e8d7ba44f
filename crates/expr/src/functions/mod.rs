//! The function table: every scalar function, once.
//!
//! A function is a row of the table: its names, how many arguments it takes, the rule for its type, and how it is
//! computed, for one row and perhaps, faster, for a batch. `CASE`, `IF`, `COALESCE`, `ISNULL` and `MOD` are nodes of
//! their own (see [`crate::build::call`]).

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
pub use user_lock::UserLocks;
pub(crate) use xml::{XPathCache, by_variables};

/// A function, by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(u16);

/// How often the value of a function changes while its arguments do not.
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
    /// Which function.
    pub function: FunctionId,
    /// The arguments' expressions, for their types.
    pub args: &'a [Expr],
    /// The type of the result.
    pub ty: &'a ExprType,
    /// The row it is evaluated for, where it is evaluated for one.
    pub(crate) row: &'a dyn Row,
}

impl Call<'_> {
    /// Computes the call for one row. A result that is longer than `max_allowed_packet`, and than what it was made of, is
    /// NULL with warning 1301, whatever the function.
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

/// Computes the type of a call, or finds its arguments wrong.
pub type TypeRule = fn(&[Expr]) -> Result<ExprType, MysqlError>;
/// Computes a call for one row.
pub type ScalarKernel = fn(&mut EvalContext<'_>, Call<'_>, &[Value]) -> Result<Value, MysqlError>;
/// Computes a call for all rows of a batch; None where it does not know the types at hand.
pub type VectorKernel =
    fn(&mut EvalContext<'_>, Call<'_>, &[Datum], usize) -> Result<Option<Datum>, MysqlError>;

/// One function.
pub struct Function {
    /// Its name, in upper case.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// The least number of arguments.
    pub min_args: usize,
    /// The greatest number of arguments.
    pub max_args: usize,
    /// The type of its result.
    pub type_rule: TypeRule,
    /// How it is computed.
    pub scalar: ScalarKernel,
    /// How it is computed faster.
    pub vector: Option<VectorKernel>,
    /// How often it changes.
    pub volatility: Volatility,
    /// Whether SQL has a syntax of its own for it, and not `name(args)`.
    pub special: bool,
    /// Whether it computes with exact numbers: an argument with a quotient has all its digits then.
    pub numeric: bool,
    /// Where it takes numbers, such as lengths and places, among other arguments: literals of digits and bits are numbers there.
    pub number_args: &'static [usize],
    /// Whether it takes bytes: arguments of text are those of their character set.
    pub bytes: bool,
    /// Whether it takes documents: arguments of type JSON are no text, conditions are truth values.
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

    /// An immutable function with a scalar kernel only.
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

/// Every function.
pub fn table() -> impl Iterator<Item = &'static Function> {
    TABLE.iter().copied()
}

/// The function of that name, in any case.
pub fn lookup(name: &str) -> Option<FunctionId> {
    NAMES.get(name.to_ascii_uppercase().as_str()).copied()
}

impl FunctionId {
    /// What the table says of it.
    pub fn definition(self) -> &'static Function {
        TABLE[usize::from(self.0)]
    }
}
