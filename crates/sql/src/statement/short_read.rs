//! Short reads: runs a planned SELECT of a few rows along one access path again, from the parameters to the rows, without
//! operators.
//!
//! Each later execution of a plan tries a short read (`ShortRead` in [`crate::plans`]). If the short read does not suffice,
//! operators run as usual, and some executions pass before the next try.

use crate::plans::Planned;
use crate::result::ColumnMeta;
use crate::session::{Chunk, ChunkValues, RowStream, Session, shown_value};
use leafline_executor::resolve_limit;
use leafline_types::{MysqlError, RowBlock, Value};
use std::sync::Arc;

impl Session {
    /// Returns a chunk for rows. Reuses the chunk of the last rows if no caller holds it any more.
    fn rows_for(&mut self, columns: &Arc<[ColumnMeta]>) -> Arc<Chunk> {
        if let Some(mut kept) = self.kept_rows.take()
            && let Some(chunk) = Arc::get_mut(&mut kept)
        {
            if !Arc::ptr_eq(&chunk.columns, columns) {
                chunk.columns = columns.clone();
            }
            return kept;
        }
        Arc::new(Chunk { columns: columns.clone(), values: ChunkValues::Rows(RowBlock::default()) })
    }

    /// Runs a planned statement by a short read; `None` if its operators have to run.
    ///
    /// # Errors
    /// MySQL's.
    pub(crate) fn read_short(
        &mut self,
        planned: &Planned,
        parameters: &[Value],
    ) -> Result<Option<RowStream>, MysqlError> {
        let mut way = planned.short_way();
        let query = || planned.query().filter(|(plan, _)| !plan.locks_rows() && planned.is_plain());
        let Some(read) = way.ready(query)? else { return Ok(None) };
        let (skip, deliver) = match &read.limit {
            Some(limit) => resolve_limit(limit, parameters)?,
            None => (0, u64::MAX),
        };
        let most = usize::try_from(skip.saturating_add(deliver)).unwrap_or(usize::MAX);
        self.limit_time(planned.time_limit(&self.settings));
        let view = self.read_view().with_read_ahead(self.settings.read_ahead);
        let columns = &read.columns;
        let mut chunk = self.rows_for(columns);
        let Some(Chunk { values: ChunkValues::Rows(rows), .. }) = Arc::get_mut(&mut chunk) else {
            return Ok(None);
        };
        if !read.scan.read(parameters, most, &view, &self.cancel, &mut self.counters.access, rows)? {
            way.rest();
            return Ok(None);
        }
        if skip > 0 {
            rows.cut(usize::try_from(skip).unwrap_or(usize::MAX), usize::MAX);
        }
        for column in &read.converted {
            if let Some(meta) = columns.get(*column) {
                let zone = self.settings.time_zone.zone();
                rows.replace(*column, |value| {
                    Ok::<_, MysqlError>(shown_value(value.to_value(), &meta.ty, zone))
                })?;
            }
        }
        let count = rows.rows() as u64;
        self.facts.found_rows = count;
        self.facts.row_count = -1;
        self.counters.rows_sent += count;
        self.kept_rows = Some(chunk.clone());
        Ok(Some(RowStream::whole(chunk)))
    }
}
