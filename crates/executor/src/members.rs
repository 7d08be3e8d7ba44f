//! The rows of a subquery that a needle is searched in: `IN (SELECT ..)`, `op ANY (SELECT ..)`.
//!
//! A search by equality looks rows up by hash if the two sides have keys that are equal exactly when the values are. Rows with
//! NULL are kept apart: they equal nothing, but make the result unknown. Without such keys, and for a needle with a NULL, the
//! needle is compared with one row after another.

use super::memo_key::{memo_key, value_bytes};
use leafline_expr::aggregate::KeyTable;
use leafline_expr::aggregate::{EncodedKeys, KeyEncoder};
use leafline_expr::build::join_keys;
use leafline_expr::subquery::compare_with_row;
use leafline_expr::{CompareDomain, CompareOp, Datum, EvalContext, Expr, ExprKind, evaluate_row};
use leafline_types::{ExprType, MysqlError, Value};
use std::collections::HashSet;

/// The distinct rows of a subquery.
pub(super) struct Members {
    keys: Option<Keys>,
    /// The number of values in the needle.
    width: usize,
    /// Rows that are compared one by one.
    rows: Vec<Vec<Value>>,
    seen: HashSet<Vec<u8>>,
    /// A row has a NULL.
    has_null: bool,
    is_empty: bool,
    bytes: usize,
}

/// Rows by their keys.
struct Keys {
    /// Key expressions over the needle, and over needle and row.
    sides: Vec<(Expr, Expr)>,
    encoder: KeyEncoder,
    encoded: EncodedKeys,
    table: KeyTable,
}

impl Members {
    /// Makes an empty set for a subquery whose columns have these types, and for this comparison.
    pub fn new(comparison: &Expr, needle: &[Expr], types: &[ExprType]) -> Members {
        Members {
            keys: keys(comparison, needle.len()).filter(|sides| sides.len() == types.len()).map(|sides| {
                Keys {
                    encoder: KeyEncoder::new(sides.iter().map(|(left, _)| &left.ty)),
                    encoded: EncodedKeys::default(),
                    table: KeyTable::default(),
                    sides,
                }
            }),
            width: needle.len(),
            rows: Vec::new(),
            seen: HashSet::new(),
            has_null: false,
            is_empty: true,
            bytes: 0,
        }
    }

    /// Adds a row.
    pub fn add(&mut self, row: Vec<Value>, cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
        self.is_empty = false;
        let has_null = row.iter().any(Value::is_null);
        self.has_null |= has_null;
        if let (Some(keys), false) = (&mut self.keys, has_null) {
            let mut values = vec![Value::Null; self.width];
            values.extend(row.iter().cloned());
            keys.encode(&values, |(_, row)| row, cx)?;
            keys.table.find_or_insert(keys.encoded.get(0));
            // A needle with a NULL is compared with all rows, unless it is one value: NULL alone needs no comparison.
            if self.width == 1 {
                return Ok(());
            }
        } else if self.keys.is_some() && self.width == 1 {
            return Ok(());
        }
        let identity = memo_key(&row);
        self.bytes += identity.len() + 64 + row.iter().map(value_bytes).sum::<usize>();
        if self.seen.insert(identity) {
            self.rows.push(row);
        }
        Ok(())
    }

    /// Returns the bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.bytes + self.keys.as_ref().map_or(0, |keys| keys.table.memory_bytes())
    }

    /// Whether the comparison is true for some row; `None` if that is unknown.
    pub fn contain(
        &self,
        comparison: &Expr,
        needle: &[Value],
        cx: &mut EvalContext<'_>,
    ) -> Result<Option<bool>, MysqlError> {
        if self.is_empty {
            return Ok(Some(false));
        }
        let needle_has_null = needle.iter().any(Value::is_null);
        if let (Some(keys), false) = (&self.keys, needle_has_null) {
            if keys.contain(needle, cx)? {
                return Ok(Some(true));
            }
            if self.width == 1 || !self.has_null {
                return Ok(if self.has_null { None } else { Some(false) });
            }
        } else if self.keys.is_some() && self.width == 1 {
            return Ok(None);
        }
        let mut unknown = false;
        for row in &self.rows {
            match compare_with_row(comparison, needle, row, cx)? {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { None } else { Some(false) })
    }
}

impl Keys {
    fn encode(
        &mut self,
        values: &[Value],
        side: impl Fn(&(Expr, Expr)) -> &Expr,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        let Keys { sides, encoder, encoded, .. } = self;
        encode(sides.iter().map(side), encoder, encoded, values, cx)
    }

    fn contain(&self, needle: &[Value], cx: &mut EvalContext<'_>) -> Result<bool, MysqlError> {
        let mut encoded = EncodedKeys::default();
        encode(self.sides.iter().map(|(left, _)| left), &self.encoder, &mut encoded, needle, cx)?;
        Ok(self.table.find(encoded.get(0)).is_some())
    }
}

fn encode<'e>(
    sides: impl Iterator<Item = &'e Expr>,
    encoder: &KeyEncoder,
    encoded: &mut EncodedKeys,
    values: &[Value],
    cx: &mut EvalContext<'_>,
) -> Result<(), MysqlError> {
    let mut columns = Vec::new();
    for side in sides {
        columns.push(Datum::Scalar(evaluate_row(side, values, cx)?));
    }
    encoder.encode(&columns, 1, encoded)
}

/// Returns the two sides of an equality of all columns as keys, if such keys exist.
fn keys(comparison: &Expr, width: usize) -> Option<Vec<(Expr, Expr)>> {
    let conjuncts: &[Expr] = match &comparison.kind {
        ExprKind::And(conjuncts) => conjuncts,
        _ => std::slice::from_ref(comparison),
    };
    conjuncts
        .iter()
        .map(|conjunct| {
            let ExprKind::Compare { op: CompareOp::Eq, left, right, domain } = &conjunct.kind else {
                return None;
            };
            let is_needle = left.as_column().is_some_and(|column| column < width);
            // A text that is not a date is not NULL, but its key would be.
            let as_date = matches!(domain, CompareDomain::Date | CompareDomain::DateTime)
                && (left.ty.sql.is_string() || right.ty.sql.is_string());
            if !is_needle || right.as_column().is_none() || as_date {
                return None;
            }
            join_keys(left.as_ref().clone(), right.as_ref().clone(), *domain)
        })
        .collect()
}
