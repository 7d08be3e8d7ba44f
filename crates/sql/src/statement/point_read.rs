//! Runs the point plan of a kept SELECT: from the parameters to the rows, without operators.

use crate::plans::Planned;
use crate::result::ColumnMeta;
use crate::session::{Chunk, ChunkValues, RowStream, Session, shown_value};
use leafline_executor::PointAnswer;
use leafline_types::{MysqlError, RowBlock, Value};
use std::sync::Arc;

impl Session {
    /// Returns a chunk for rows. Reuses the chunk of the last rows if no caller holds it any more.
    fn rows_for(&mut self, columns: &Arc<[ColumnMeta]>) -> Arc<Chunk> {
        if let Some(mut kept) = self.kept.rows.take()
            && let Some(chunk) = Arc::get_mut(&mut kept)
        {
            if !Arc::ptr_eq(&chunk.columns, columns) {
                chunk.columns = columns.clone();
            }
            return kept;
        }
        Arc::new(Chunk { columns: columns.clone(), values: ChunkValues::Rows(RowBlock::default()) })
    }

    /// Runs the point plan of a planned SELECT; `None` if it has none, or if its operators have to run.
    ///
    /// # Errors
    /// MySQL's.
    pub(crate) fn read_point(
        &mut self,
        planned: &Planned,
        parameters: &[Value],
    ) -> Result<Option<RowStream>, MysqlError> {
        let Some((rows, columns)) = planned.point_query() else { return Ok(None) };
        let mut kept = planned.kept_read(rows, columns)?;
        let Some(kept) = &mut *kept else { return Ok(None) };
        if !kept.reader.is_ready() {
            return Ok(None);
        }
        self.limit_time(planned.time_limit(&self.settings));
        let characteristics = self.kept_characteristics();
        let view = self.read_view().with_read_ahead(self.settings.read_ahead);
        let mut chunk = self.rows_for(columns);
        let Some(Chunk { values: ChunkValues::Rows(rows), .. }) = Arc::get_mut(&mut chunk) else {
            return Ok(None);
        };
        let answer = kept.reader.read(parameters, &view, &self.cancel, &mut self.counters.access, rows)?;
        if answer == PointAnswer::NeedsOperators {
            self.restore_characteristics(characteristics);
            return Ok(None);
        }
        for column in &kept.converted {
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
        self.kept.rows = Some(chunk.clone());
        Ok(Some(RowStream::whole(chunk)))
    }
}
