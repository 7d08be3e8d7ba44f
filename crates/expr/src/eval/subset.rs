//! Evaluation for some rows of a batch only: the others must raise no error and no warning.

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_select::filter::{FilterBuilder, FilterPredicate};

use super::super::ir::{CompareDomain, Expr, ExprKind};
use super::Datum;
use super::lanes::TruthColumn;
use leafline_types::column::Batch;
use leafline_types::error::MysqlError;
use leafline_types::value::SqlType;

/// Strings of at most this many characters are short, however many rows a batch has.
const SHORT_TEXT: u32 = 1024;

/// Some rows of a batch.
pub(super) struct Subset {
    filter: FilterPredicate,
    bits: BooleanBuffer,
}

impl Subset {
    pub(super) fn new(bits: BooleanBuffer) -> Self {
        let filter = FilterBuilder::new(&BooleanArray::new(bits.clone(), None)).optimize().build();
        Subset { filter, bits }
    }

    pub(super) fn rows(&self) -> usize {
        self.filter.count()
    }

    /// Returns a batch in which the columns that `e` reads have only these rows; other columns are unchanged.
    pub(super) fn batch(&self, batch: &Batch, e: &Expr) -> Result<Batch, MysqlError> {
        let mut columns = batch.columns.clone();
        for c in e.columns() {
            if let Some(column) = columns.get_mut(c) {
                *column = self.array(column)?;
            }
        }
        Ok(Batch { columns, rows: self.rows() })
    }

    fn array(&self, array: &ArrayRef) -> Result<ArrayRef, MysqlError> {
        self.filter.filter(array).map_err(MysqlError::internal)
    }

    /// Returns these rows of a datum.
    pub(super) fn datum(&self, datum: &Datum) -> Result<Datum, MysqlError> {
        Ok(match datum {
            Datum::Array(array) => Datum::Array(self.array(array)?),
            scalar => scalar.clone(),
        })
    }

    /// Spreads the truths of these rows over all rows; the others have `rest`.
    pub(super) fn scatter(&self, truths: TruthColumn, rest: Option<bool>) -> BooleanArray {
        let part = truths.into_array(self.rows());
        let rows = self.bits.len();
        let mut values = BooleanBufferBuilder::new(rows);
        values.append_n(rows, rest == Some(true));
        let mut valid = BooleanBufferBuilder::new(rows);
        valid.append_n(rows, rest.is_some());
        for (n, row) in self.bits.set_indices().enumerate() {
            values.set_bit(row, part.value(n));
            valid.set_bit(row, part.is_valid(n));
        }
        BooleanArray::new(values.finish(), Some(valid.finish().into()))
    }
}

impl Expr {
    /// Whether evaluating it may make values of unbounded length: some computed part of it is a string whose type
    /// does not bound its length.
    pub(super) fn may_make_long(&self) -> bool {
        self.any(&mut |e| match &e.kind {
            ExprKind::Literal(_) | ExprKind::Column(_) | ExprKind::Parameter(_) | ExprKind::Outer(_) => false,
            _ => match e.ty.sql {
                SqlType::Text { .. } | SqlType::Blob { .. } | SqlType::Json => true,
                SqlType::Char { len } | SqlType::Varchar { len } => len > SHORT_TEXT,
                SqlType::Binary { len } | SqlType::Varbinary { len } => len > SHORT_TEXT,
                _ => false,
            },
        })
    }

    /// Whether evaluating it for a row can be observed: by an error, by a warning, or because it is volatile.
    pub fn may_raise(&self) -> bool {
        self.any(&mut |e| match &e.kind {
            ExprKind::Call { .. }
            | ExprKind::Negate(_)
            | ExprKind::Subquery(_)
            | ExprKind::Program(_)
            | ExprKind::Match(_) => true,
            ExprKind::Cast { operand } => !is_identity_conversion(&operand.ty.sql, &e.ty.sql),
            ExprKind::Arithmetic { op, .. } => {
                use super::super::ir::ArithmeticOp::{Add, Multiply, Subtract};
                let exact = matches!(e.ty.sql, SqlType::Decimal { precision, .. } if precision < 65);
                !(exact && matches!(op, Add | Subtract | Multiply)) || reads_text(e)
            }
            ExprKind::Compare { domain, .. } | ExprKind::InList { domain, .. } => {
                !matches!(domain, CompareDomain::String(_)) && reads_text(e)
            }
            ExprKind::InRows { list, .. } => {
                let is_text = |domain: CompareDomain| matches!(domain, CompareDomain::String(_));
                !list.columns().iter().all(|column| is_text(column.domain)) && reads_text(e)
            }
            ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Xor(..) | ExprKind::Not(_) => reads_text(e),
            ExprKind::IsTruth { .. } => reads_text(e),
            ExprKind::Case { whens, otherwise, .. } => {
                let results = whens.iter().map(|w| &w.result).chain(otherwise.iter().map(|e| &**e));
                results.into_iter().any(|r| converts_bytes(r, e)) || reads_text(e)
            }
            ExprKind::Coalesce(list) => list.iter().any(|r| converts_bytes(r, e)),
            _ => false,
        })
    }
}

/// Whether an operand is text, which may not be a number or date.
fn reads_text(e: &Expr) -> bool {
    let mut found = false;
    e.for_each_child(&mut |child| found |= child.ty.sql.is_string());
    found
}

fn converts_bytes(from: &Expr, to: &Expr) -> bool {
    to.ty.sql.is_character() && !from.ty.sql.is_character() && from.ty.sql.is_string()
}

/// Whether every value of one type is, unchanged, a value of the other.
pub(super) fn is_identity_conversion(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (a, b) if a == b => true,
        (a, SqlType::BigInt { unsigned }) if a.is_integer() => a.is_unsigned() == *unsigned,
        (a, SqlType::Text { max_bytes: u32::MAX }) => a.is_character(),
        (a, SqlType::Varbinary { len: u32::MAX }) => a.is_bytes(),
        (SqlType::Varbinary { len }, SqlType::Varbinary { len: longer }) => len <= longer,
        (SqlType::Char { len } | SqlType::Varchar { len }, SqlType::Varchar { len: longer }) => len <= longer,
        (SqlType::DateTime { fsp }, SqlType::DateTime { fsp: finer })
        | (SqlType::Time { fsp }, SqlType::Time { fsp: finer }) => fsp <= finer,
        (a, SqlType::Double) => a.is_real(),
        _ => false,
    }
}
