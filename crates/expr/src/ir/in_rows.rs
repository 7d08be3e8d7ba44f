//! A constant list of rows in which a row is looked up: `(a, b) IN ((1, 2), (3, 4))`.
//!
//! Rows without NULL are found by a hash of keys: the values of a row, each converted into its column's domain. Rows
//! with NULL, usually few, are compared one by one.

use std::collections::HashSet;
use std::sync::Arc;

use super::in_set::InSet;
use super::{CompareDomain, Expr, ExprKind};
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::statement::{CancelTicker, CancelToken};
use leafline_types::value::Value;

/// Rows that are compared between two checks for cancellation.
const ROWS_BETWEEN_CHECKS: usize = 4096;

/// One column of the rows.
#[derive(Debug, Clone)]
pub struct RowColumn {
    /// The values, all literal, one for each row.
    pub list: Arc<[Expr]>,
    /// The domain of the comparison with these values.
    pub domain: CompareDomain,
    /// The values as a set.
    set: Arc<InSet>,
}

/// A constant list of rows.
#[derive(Debug, Clone)]
pub struct RowList {
    columns: Vec<RowColumn>,
    /// The keys of the rows without NULL.
    keys: HashSet<Box<[u8]>>,
    /// The numbers of the rows with NULL.
    with_null: Vec<usize>,
}

impl RowList {
    /// Makes a list of rows whose columns are the lists of these conditions, each a `needle IN (list)`; returns it
    /// with the needles. None if a list is not all literal, or has a value that needs conversion.
    pub(crate) fn new(columns: Vec<Expr>) -> Option<(Vec<Expr>, RowList)> {
        let mut needles = Vec::with_capacity(columns.len());
        let mut lists = Vec::with_capacity(columns.len());
        for column in columns {
            let ExprKind::InList { needle, list, negated: false, domain, set: Some(set) } = column.kind
            else {
                return None;
            };
            needles.push(*needle);
            lists.push(RowColumn { list, domain, set });
        }
        let rows = lists.first()?.list.len();
        if lists.iter().any(|column| column.list.len() != rows) {
            return None;
        }
        let mut list = RowList { columns: lists, keys: HashSet::with_capacity(rows), with_null: Vec::new() };
        let mut key = Vec::new();
        for row in 0..rows {
            key.clear();
            let mut has_null = false;
            for column in &list.columns {
                match column.list.get(row)?.as_literal()? {
                    Value::Null => has_null = true,
                    v => put_key(v, column.domain, &mut key)?,
                }
            }
            match has_null {
                true => list.with_null.push(row),
                false => drop(list.keys.insert(key.as_slice().into())),
            }
        }
        Some((needles, list))
    }

    /// Returns the columns, from left to right.
    pub fn columns(&self) -> &[RowColumn] {
        &self.columns
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.list.len())
    }

    /// Returns the values of a row.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = &Expr> {
        self.columns.iter().filter_map(move |column| column.list.get(row))
    }

    /// Whether both have the same rows in the same order.
    pub(crate) fn is_same(&self, other: &RowList) -> bool {
        let same = |a: &RowColumn, b: &RowColumn| {
            a.domain == b.domain && (Arc::ptr_eq(&a.list, &b.list) || a.list == b.list)
        };
        self.columns.len() == other.columns.len()
            && self.columns.iter().zip(&other.columns).all(|(a, b)| same(a, b))
    }

    /// Whether a row is in the list: `Some(None)` if NULLs leave that unknown; `None` if a value has to be converted
    /// first. `key` is a buffer for the row's key.
    ///
    /// # Errors
    /// 1317 or 3024 if the statement has to end.
    pub(crate) fn contains(
        &self,
        row: &[Value],
        key: &mut Vec<u8>,
        cancel: &CancelToken,
    ) -> Result<Option<Option<bool>>, MysqlError> {
        key.clear();
        let mut has_null = false;
        for (v, column) in row.iter().zip(&self.columns) {
            match v {
                Value::Null => has_null = true,
                v => {
                    if put_key(v, column.domain, key).is_none() {
                        return Ok(None);
                    }
                }
            }
        }
        if !has_null && self.keys.contains(key.as_slice()) {
            return Ok(Some(Some(true)));
        }
        let unknown = match has_null {
            false => self.is_like_any(row, self.with_null.iter().copied(), cancel)?,
            true => {
                self.may_contain(row) && {
                    let compared = row.iter().filter(|v| !v.is_null()).count();
                    let lists_have_null = !self.with_null.is_empty();
                    // With at most one value to compare, and no NULL in the list, the sets have decided.
                    (compared < 2 && !lists_have_null) || self.is_like_any(row, 0..self.rows(), cancel)?
                }
            }
        };
        Ok(Some(if unknown { None } else { Some(false) }))
    }

    /// Whether each value that is not NULL is in its column, or may be.
    fn may_contain(&self, row: &[Value]) -> bool {
        row.iter()
            .zip(&self.columns)
            .all(|(v, column)| v.is_null() || column.set.has_null() || column.set.contains(v) != Some(false))
    }

    /// Whether one of these rows equals `row` wherever neither has NULL.
    fn is_like_any(
        &self,
        row: &[Value],
        rows: impl Iterator<Item = usize>,
        cancel: &CancelToken,
    ) -> Result<bool, MysqlError> {
        let mut steps = CancelTicker::new(cancel, ROWS_BETWEEN_CHECKS);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for known in rows {
            steps.take(1)?;
            let is_like = row.iter().zip(&self.columns).all(|(v, column)| {
                let member = column.list.get(known).and_then(Expr::as_literal).unwrap_or(&Value::Null);
                if v.is_null() || member.is_null() {
                    return true;
                }
                ours.clear();
                theirs.clear();
                put_key(v, column.domain, &mut ours).is_some()
                    && put_key(member, column.domain, &mut theirs).is_some()
                    && ours == theirs
            });
            if is_like {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Appends bytes that are equal exactly if values are equal in the domain; None for NULL, and for a value that is not
/// of the domain's own kinds.
fn put_key(v: &Value, domain: CompareDomain, out: &mut Vec<u8>) -> Option<()> {
    match domain {
        CompareDomain::Integer => out.extend_from_slice(&v.as_integer()?.to_le_bytes()),
        CompareDomain::Decimal => {
            let d = match v {
                Value::Int(v) => Decimal::from_i64(*v),
                Value::UInt(v) => Decimal::from_u64(*v),
                Value::Decimal(d) => d.clone(),
                _ => return None,
            };
            put_decimal(&d, out);
        }
        CompareDomain::Double => {
            let d = match v {
                Value::Int(v) => *v as f64,
                Value::UInt(v) => *v as f64,
                Value::Decimal(d) => d.to_f64(),
                Value::Double(d) => *d,
                _ => return None,
            };
            // 0.0 and -0.0 are equal.
            out.extend_from_slice(&(d + 0.0).to_bits().to_le_bytes());
        }
        CompareDomain::String(collation) => {
            let mut room = Vec::new();
            let key = collation.hash_key(v.as_bytes()?, &mut room);
            out.extend_from_slice(&key.len().to_le_bytes());
            out.extend_from_slice(key);
        }
        CompareDomain::Date => match v {
            Value::Date(d) => out.extend_from_slice(&d.ordinal().to_le_bytes()),
            _ => return None,
        },
        CompareDomain::DateTime => match v {
            Value::Date(d) => out.extend_from_slice(&d.to_datetime().ordinal().to_le_bytes()),
            Value::DateTime(t) => out.extend_from_slice(&t.ordinal().to_le_bytes()),
            _ => return None,
        },
        CompareDomain::Time => match v {
            Value::Time(t) => out.extend_from_slice(&t.micros().to_le_bytes()),
            _ => return None,
        },
        CompareDomain::Json => return None,
    }
    Some(())
}

/// Appends the shortest text of a decimal: without trailing zeros, and zero without sign.
fn put_decimal(d: &Decimal, out: &mut Vec<u8>) {
    let text = d.to_string();
    let digits = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    let digits = if digits == "-0" { "0" } else { digits };
    out.extend_from_slice(&digits.len().to_le_bytes());
    out.extend_from_slice(digits.as_bytes());
}
