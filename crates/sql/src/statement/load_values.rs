//! Loads rows that a program gives as values. Imports use it.
//!
//! The load is a LOAD DATA without a file. Values are converted as the `sql_mode` says, rows get defaults and generated values,
//! and keys, CHECKs and foreign keys are checked. A load of an empty table builds trees, like any other. The load stores all
//! rows or none.

use super::change::{self, LoadInput};
use crate::plans::Work;
use crate::row_source::RowSource;
use crate::session::{Outcome, Session};
use leafline_syntax::ast::{Ident, LoadField, LoadSource, Span, StatementKind};
use leafline_types::MysqlError;

impl Session {
    /// Runs `sql`, a LOAD DATA, with `rows` in the place of its file.
    pub(crate) fn run_values(
        &mut self,
        sql: &str,
        columns: &[String],
        rows: &mut dyn RowSource,
    ) -> Result<Outcome, MysqlError> {
        let mut statement = self.parse(sql)?;
        let StatementKind::Load(load) = &mut statement.kind else {
            return Err(MysqlError::internal("a load of values that is none"));
        };
        let ident = |name: &String| Ident { value: name.clone(), span: Span::default() };
        load.source = LoadSource::Values;
        load.fields = Some(columns.iter().map(|name| LoadField::Column(ident(name))).collect());
        self.warnings.clear();
        let planned = self.plan_statement(&statement, sql, Some(&[]))?;
        let planned = planned.ok_or_else(|| MysqlError::internal("a load that is not planned"))?;
        let Work::Insert { insert, .. } = &*planned.work else {
            return Err(MysqlError::internal("a load that inserts nothing"));
        };
        self.count_towards(&planned.digest, Some(&planned.facts), None);
        self.begin_calls(&planned);
        let (insert, mut rows) = (&**insert, Some(rows));
        self.write(|session, transaction| {
            // The program does not give the rows again, so the statement cannot begin anew after a conflict.
            let rows = rows.take().ok_or_else(MysqlError::deadlock)?;
            change::insert(
                session,
                transaction,
                insert,
                (None, Some(LoadInput::Rows(rows))),
                &planned.parts,
                &[],
            )
        })
        .map(Outcome::Done)
    }
}
