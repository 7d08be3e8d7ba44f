//! Rows of ALTER TABLE: converts old rows to rows of the new table, and checks rows that stay against new CHECKs.

use crate::session::Session;
use crate::session::{Now, StatementContext, bytes_for};
use crate::settings::Modes;
use crate::statement::change::{meets_checks, of_functional_index};
use leafline_btree::Direction;
use leafline_expr::evaluate_row;
use leafline_planner::binder::AlteredTable;
use leafline_planner::bound::RowRules;
use leafline_table::implicit_default;
use leafline_table::{ColumnDef, DefaultValue, IndexSpec, RowCheck, RowConverter, TableDef, TableSpec};
use leafline_types::error::errno;
use leafline_types::{MysqlError, SqlType, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The source of a column's values.
pub(super) enum Source {
    /// A column of the old row, as it is.
    Same(usize),
    /// A column of the old row, converted from its type.
    Converted(usize),
    /// One value for every row.
    Constant(Value),
    /// The value is computed from other columns.
    Computed,
    /// The column is new and has no default.
    Missing,
}

/// Converts old rows to rows of the new table.
pub(super) struct Converter<'a, 's> {
    cx: &'a mut StatementContext<'s>,
    rules: RowRules,
    old: &'a TableDef,
    columns: &'a [ColumnDef],
    /// The index name for each column that is made for a functional key part.
    indexes: BTreeMap<usize, String>,
    sources: Vec<Source>,
    /// Number of the current row, from 1.
    row: u64,
}

impl<'a, 's> Converter<'a, 's> {
    pub(super) fn new(
        cx: &'a mut StatementContext<'s>,
        rules: RowRules,
        old: &'a TableDef,
        spec: &'a TableSpec,
        from: &[Option<usize>],
    ) -> Converter<'a, 's> {
        let index_of = |column: &ColumnDef| {
            let is_part = |index: &&IndexSpec| index.parts.iter().any(|part| part.column == column.name);
            spec.indexes.iter().find(is_part).and_then(|index| index.name.clone())
        };
        let hidden = spec.columns.iter().enumerate().filter(|(_, column)| column.is_hidden());
        let indexes = hidden.filter_map(|(at, column)| Some((at, index_of(column)?))).collect();
        let mut sources = Vec::with_capacity(spec.columns.len());
        for (column, source) in spec.columns.iter().zip(from) {
            let known = source.and_then(|at| Some((at, old.columns.get(at)?)));
            sources.push(match known {
                _ if column.generated.is_some() => Source::Computed,
                Some((at, was)) if unchanged(was, column) => Source::Same(at),
                Some((at, _)) => Source::Converted(at),
                None => added(cx.now, column),
            });
        }
        Converter { cx, rules, old, columns: &spec.columns, indexes, sources, row: 0 }
    }

    /// Converts a value of an old column for its new column.
    fn converted(&mut self, value: &Value, from: &ColumnDef, to: &ColumnDef) -> Result<Value, MysqlError> {
        if value.is_null() && !to.nullable && !to.auto_increment {
            let truncated = MysqlError::data_truncated(&to.name, self.row);
            if self.cx.exec.eval.sql_mode.strict {
                let same_type = (&from.ty, from.collation) == (&to.ty, to.collation);
                return Err(if same_type { MysqlError::invalid_use_of_null() } else { truncated });
            }
            self.cx.warn(truncated);
            return implicit_default(to);
        }
        let value = bytes_for(value, from.collation, to);
        let stored = self.cx.store(&value, &from.ty, to, self.row);
        stored.map_err(|error| match error.code {
            errno::ER_DATA_TOO_LONG if cuts_field(from, to) => MysqlError::data_truncated(&to.name, self.row),
            _ => error,
        })
    }

    /// Computes the columns that depend on other columns of the row.
    fn compute(&mut self, row: &mut [Value]) -> Result<(), MysqlError> {
        let rules = std::mem::take(&mut self.rules);
        for (at, expr) in rules.defaults.iter().chain(&rules.generated) {
            let (Some(column), Some(Source::Computed)) = (self.columns.get(*at), self.sources.get(*at))
            else {
                continue;
            };
            let value = evaluate_row(expr, row, &mut self.cx.exec.eval)
                .and_then(|value| self.cx.store(&value, &expr.ty.sql, column, self.row));
            let value = value.map_err(|error| match self.indexes.get(at) {
                Some(index) => of_functional_index(error, index, self.row),
                None => error,
            })?;
            if let Some(slot) = row.get_mut(*at) {
                *slot = value;
            }
        }
        meets_checks(&rules, row, false, self.cx)?;
        self.rules = rules;
        Ok(())
    }
}

impl RowConverter for Converter<'_, '_> {
    fn convert_again(&mut self, old: Vec<Value>) -> Result<Vec<Value>, MysqlError> {
        let others = self.cx.exec.eval.warnings.another();
        let given = std::mem::replace(self.cx.exec.eval.warnings, others);
        let row = self.convert(old);
        *self.cx.exec.eval.warnings = given;
        row
    }

    fn convert(&mut self, mut old: Vec<Value>) -> Result<Vec<Value>, MysqlError> {
        self.cx.check_cancelled()?;
        self.row += 1;
        let mut row = Vec::with_capacity(self.columns.len());
        for at in 0..self.columns.len() {
            let value = match &self.sources[at] {
                Source::Same(from) => std::mem::take(&mut old[*from]),
                Source::Constant(value) => value.clone(),
                &Source::Converted(from) => {
                    let value = std::mem::take(&mut old[from]);
                    self.converted(&value, &self.old.columns[from], &self.columns[at])?
                }
                Source::Missing => implicit_default(&self.columns[at])?,
                Source::Computed => Value::Null,
            };
            row.push(value);
        }
        self.compute(&mut row)?;
        Ok(row)
    }
}

/// Returns whether MySQL copies the bytes of such a column: the types are of one kind and store their lengths in as many bytes.
/// MySQL then reports a value that is too long as truncated (1265); otherwise it reports the value as too long (1406).
fn cuts_field(from: &ColumnDef, to: &ColumnDef) -> bool {
    let bytes = |len: u32, column: &ColumnDef| len * column.collation.charset().max_bytes();
    from.collation.charset() == to.collation.charset()
        && match (&from.ty, &to.ty) {
            (SqlType::Varchar { len: old }, SqlType::Varchar { len: new }) => {
                (bytes(*old, from) > 255) == (bytes(*new, to) > 255)
            }
            (SqlType::Varbinary { len: old }, SqlType::Varbinary { len: new }) => {
                (*old > 255) == (*new > 255)
            }
            (SqlType::Char { .. }, SqlType::Char { .. }) => true,
            _ => false,
        }
}

/// Returns whether values of a column can stay as they are.
fn unchanged(old: &ColumnDef, new: &ColumnDef) -> bool {
    let charset = |column: &ColumnDef| column.collation.charset();
    let same_type = match (&old.ty, &new.ty) {
        // Members may have changed places.
        (SqlType::Enum(_) | SqlType::Set(_), _) => old.ty == new.ty,
        (old, new) => old == new,
    };
    same_type && charset(old) == charset(new) && (new.nullable || !old.nullable)
}

/// Returns the source of a new column's values.
pub(super) fn added(now: Now, column: &ColumnDef) -> Source {
    match &column.default {
        Some(DefaultValue::Constant(value)) => Source::Constant(value.clone()),
        Some(DefaultValue::Expression(_)) => Source::Computed,
        Some(DefaultValue::CurrentTimestamp) => Source::Constant(Value::DateTime(now.of(&column.ty))),
        None | Some(DefaultValue::Dropped) if column.nullable || column.auto_increment => {
            Source::Constant(Value::Null)
        }
        None | Some(DefaultValue::Dropped) => Source::Missing,
    }
}

/// Checks rows against CHECK constraints.
pub(super) struct Checks<'a, 's> {
    pub(super) cx: &'a mut StatementContext<'s>,
    pub(super) rules: RowRules,
}

impl RowCheck for Checks<'_, '_> {
    fn check(&mut self, row: &[Value]) -> Result<(), MysqlError> {
        self.cx.check_cancelled()?;
        meets_checks(&self.rules, row, false, self.cx).map(drop)
    }
}

/// Error 1292 if rows would get the date 0000-00-00 in a new column and `sql_mode` refuses that date.
pub(super) fn refuse_zero_dates(
    session: &Session,
    table: &Arc<TableDef>,
    altered: &AlteredTable,
) -> Result<(), MysqlError> {
    if !session.settings.evaluation_mode().strict || !session.settings.sql_mode.has(Modes::NO_ZERO_DATE) {
        return Ok(());
    }
    let gets_zero = |column: &&ColumnDef| {
        let has_value = column.nullable || column.default.is_some() || column.generated.is_some();
        !has_value && matches!(column.ty, SqlType::Date | SqlType::DateTime { .. })
    };
    let new = altered.spec.columns.iter().zip(&altered.sources).filter(|(_, source)| source.is_none());
    let Some(column) = new.map(|(column, _)| column).find(gets_zero) else { return Ok(()) };
    let view = session.latest_view();
    let mut has_rows = false;
    for stored in table.stored() {
        view.rows(stored)?.scan(Direction::Forward, None, |_| {
            has_rows = true;
            false
        })?;
    }
    let (kind, zero) = match column.ty {
        SqlType::Date => ("date", "0000-00-00"),
        _ => ("datetime", "0000-00-00 00:00:00"),
    };
    match has_rows {
        true => Err(MysqlError::incorrect_temporal_for_column(kind, zero, &column.name, 1)),
        false => Ok(()),
    }
}
