//! The rows of a piece as a stream.
//!
//! Leafline reads synchronously: a blocking thread with its own connection reads each piece and sends batches through
//! a channel that holds [`BATCHES_AHEAD`]. A consumer that does not take them pauses the thread; a consumer that
//! drops the stream ends it: at the next batch, or within [`LOOK`] if no row is found for long. So a stream holds at
//! most that many batches of up to 8,192 rows, however much is read.

use crate::arrays;
use crate::snapshot::{Snapshot, connect, failed};
use arrow::array::cast::AsArray;
use arrow::array::types::TimestampMicrosecondType;
use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::metrics::BaselineMetrics;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use leafline::{Pieces, Watch};
use leafline_arrow_array::RecordBatch as TheirBatch;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Sender;

/// The most batches that wait to be taken.
const BATCHES_AHEAD: usize = 2;
/// The time between two checks whether the consumer still exists.
const LOOK: Duration = Duration::from_millis(20);

/// The input of a stream.
pub(crate) struct Piece {
    pub snapshot: Arc<Snapshot>,
    pub pieces: Arc<Pieces>,
    pub number: usize,
    pub most_rows: Option<usize>,
    pub schema: SchemaRef,
}

/// Begins to read; must be called within a runtime of tokio.
pub(crate) fn read(piece: Piece, metrics: BaselineMetrics) -> SendableRecordBatchStream {
    let mut builder = RecordBatchReceiverStreamBuilder::new(piece.schema.clone(), BATCHES_AHEAD);
    let sender = builder.tx();
    builder.spawn_blocking(move || {
        let result = send_all(&piece, &metrics, &sender);
        metrics.done();
        match result {
            // The consumer has gone.
            Err(_) if sender.is_closed() => Ok(()),
            result => result,
        }
    });
    builder.build()
}

fn send_all(piece: &Piece, metrics: &BaselineMetrics, sender: &Sender<Result<RecordBatch>>) -> Result<()> {
    let mut connection = connect(&piece.snapshot.database)?;
    let handle = connection.interrupt_handle();
    let waiting = sender.clone();
    let watch: Watch = Arc::new(move || waiting.is_closed());
    let mut left = piece.most_rows.unwrap_or(usize::MAX);
    let mut batches =
        handle.watched(LOOK, &watch, || piece.pieces.read(piece.number, &mut connection)).map_err(failed)?;
    while left > 0 && !sender.is_closed() {
        let timer = metrics.elapsed_compute().timer();
        let Some(next) = handle.watched(LOOK, &watch, || batches.next()) else { break };
        let mut batch = converted(&next.map_err(failed)?, &piece.schema)?;
        drop(timer);
        if batch.num_rows() > left {
            batch = batch.slice(0, left);
        }
        left -= batch.num_rows();
        metrics.record_output(batch.num_rows());
        if sender.blocking_send(Ok(batch)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Converts a batch; without columns to show, only its number of rows remains.
fn converted(batch: &TheirBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        columns.push(typed(arrays::array(column)?, field)?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

/// Converts a column to the declared type: the table may have been changed since it was opened.
fn typed(array: ArrayRef, field: &Field) -> Result<ArrayRef> {
    match (array.data_type(), field.data_type()) {
        (given, wanted) if given == wanted => Ok(array),
        (
            DataType::Timestamp(TimeUnit::Microsecond, None),
            DataType::Timestamp(TimeUnit::Microsecond, zone),
        ) => Ok(Arc::new(
            array.as_primitive::<TimestampMicrosecondType>().clone().with_timezone_opt(zone.clone()),
        )),
        (given, wanted) => {
            let name = field.name();
            exec_err!("column '{name}' is {given} and was {wanted} when the table was opened: open it again")
        }
    }
}
