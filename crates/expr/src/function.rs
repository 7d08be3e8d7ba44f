//! The row of a function in the function table, and a call as its kernels see it.

use std::fmt;

use crate::context::EvalContext;
use crate::datum::{Datum, Row};
use crate::ir::{Expr, FunctionId};
use leafline_types::error::MysqlError;
use leafline_types::json::Json;
use leafline_types::value::{ExprType, Value};

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
            v if v.byte_len() <= longest(values) => {}
            Value::Json(_) => return Err(Json::too_large(cx.sql_mode.max_result)),
            _ => return self.too_long(cx),
        }
        Ok(v)
    }

    /// Returns NULL, with a warning that the result would be too long.
    pub(crate) fn too_long(&self, cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
        let name = self.function.definition().name.to_ascii_lowercase();
        cx.warn(MysqlError::allowed_packet_overflowed(name, cx.sql_mode.max_result))?;
        Ok(Value::Null)
    }
}

/// Returns the length of the longest of some values.
pub(crate) fn longest(values: &[Value]) -> usize {
    values.iter().map(Value::byte_len).max().unwrap_or(0)
}

/// Computes the type of a call, or returns the error in its arguments.
pub type TypeRule = fn(&[Expr]) -> Result<ExprType, MysqlError>;
/// Computes a call for one row.
pub type ScalarKernel = fn(&mut EvalContext<'_>, Call<'_>, &[Value]) -> Result<Value, MysqlError>;
/// Computes a call for all rows of a batch; returns None if it does not handle the types.
pub type VectorKernel =
    fn(&mut EvalContext<'_>, Call<'_>, &[Datum], usize) -> Result<Option<Datum>, MysqlError>;

/// One function: a row of the table.
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
    /// Whether it takes texts: a number is converted to its text.
    pub texts: bool,
    /// Whether its results are truth values.
    pub condition: bool,
    /// Whether it returns text of its own, whatever its arguments are, such as a name or digits.
    pub own_text: bool,
    /// Whether it returns a date or time as text if its arguments are texts or numbers.
    pub temporal_text: bool,
    /// Whether its result is one of its arguments, or the negative of one, and so has all of that argument's digits.
    pub keeps_digits: bool,
}

impl Function {
    /// Makes an immutable function with a scalar kernel only.
    pub(crate) const fn new(
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
            texts: false,
            condition: false,
            own_text: false,
            temporal_text: false,
            keeps_digits: false,
        }
    }

    pub(crate) const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub(crate) const fn vector(mut self, kernel: VectorKernel) -> Self {
        self.vector = Some(kernel);
        self
    }

    pub(crate) const fn volatility(mut self, volatility: Volatility) -> Self {
        self.volatility = volatility;
        self
    }

    pub(crate) const fn numeric(mut self) -> Self {
        self.numeric = true;
        self
    }

    pub(crate) const fn numbers(mut self, at: &'static [usize]) -> Self {
        self.number_args = at;
        self
    }

    pub(crate) const fn bytes(mut self) -> Self {
        self.bytes = true;
        self
    }

    pub(crate) const fn documents(mut self) -> Self {
        self.documents = true;
        self
    }

    pub(crate) const fn texts(mut self) -> Self {
        self.texts = true;
        self
    }

    pub(crate) const fn condition(mut self) -> Self {
        self.condition = true;
        self
    }

    pub(crate) const fn own_text(mut self) -> Self {
        self.own_text = true;
        self
    }

    pub(crate) const fn temporal_text(mut self) -> Self {
        self.temporal_text = true;
        self
    }

    pub(crate) const fn keeps_digits(mut self) -> Self {
        self.keeps_digits = true;
        self
    }

    pub(crate) const fn special(mut self) -> Self {
        self.special = true;
        self
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
