//! Results as Arrow streams, by the PyCapsule interface: batches are passed without a copy.
//!
//! A stream of a cursor's rows reads them when its consumer asks for them, in the consumer's thread. The consumer may
//! have the interpreter, or may be a thread that the interpreter's owner waits for (as polars' are), so nothing here
//! asks for the interpreter.

use crate::error::raised_by_api;
use crate::handle::{Failure, Handle};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use leafline::ArrowLayout;
use leafline_sql::Chunk;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::VecDeque;
use std::ffi::CStr;
use std::sync::Arc;

const STREAM: &CStr = c"arrow_array_stream";

/// Rows as an Arrow stream that can be read once, or complete batches.
#[pyclass(frozen, module = "leafline")]
pub(crate) struct ArrowStream {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl ArrowStream {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> ArrowStream {
        ArrowStream { schema, batches }
    }
}

#[pymethods]
impl ArrowStream {
    /// Returns a capsule with an `ArrowArrayStream`. The rows are not cast to another schema.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows this to a producer that cannot cast.
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        capsule(py, Box::new(RecordBatchIterator::new(batches, self.schema.clone())))
    }
}

/// Makes a capsule of a reader.
pub(crate) fn capsule(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// The remaining rows of a cursor, as batches.
pub(crate) struct Batches {
    handle: Arc<Handle>,
    number: u64,
    layout: ArrowLayout,
    /// Chunks that were read already; the first `skip` rows of the first are consumed.
    chunks: VecDeque<Arc<Chunk>>,
    skip: usize,
    ended: bool,
}

impl Batches {
    /// Makes the batches of remaining rows: `chunks` without the first `skip` rows, then those that the session has
    /// under `number`.
    pub(crate) fn new(
        handle: Arc<Handle>,
        number: u64,
        layout: ArrowLayout,
        chunks: VecDeque<Arc<Chunk>>,
        skip: usize,
    ) -> Batches {
        Batches { handle, number, layout, chunks, skip, ended: false }
    }

    /// Returns the next batch; `more` asks the session for rows.
    fn next_by<E>(
        &mut self,
        more: impl Fn(&Handle, u64) -> Result<Option<Arc<Chunk>>, E>,
        failed: impl Fn(leafline::Error) -> E,
    ) -> Result<Option<RecordBatch>, E> {
        while !self.ended {
            let chunk = match self.chunks.pop_front() {
                Some(chunk) => Some(chunk),
                None => more(&self.handle, self.number)?,
            };
            let Some(chunk) = chunk else {
                self.ended = true;
                break;
            };
            let batch = self.layout.record_batch(&chunk).map_err(&failed)?;
            let skip = std::mem::take(&mut self.skip);
            if skip < batch.num_rows() {
                return Ok(Some(batch.slice(skip, batch.num_rows() - skip)));
            }
        }
        Ok(None)
    }

    /// Returns the next batch, for a caller that has the interpreter.
    pub(crate) fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let more = |handle: &Handle, number| handle.run(py, |open| open.next_chunk(number));
        self.next_by(more, |error| raised_by_api(&error))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let more = |handle: &Handle, number| handle.run_blindly(|open| open.next_chunk(number));
        let next = self.next_by(more, Failure::Api).transpose();
        self.ended |= !matches!(next, Some(Ok(_)));
        next.map(|next| next.map_err(|failure| ArrowError::ComputeError(failure.to_string())))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.layout.schema()
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.handle.discard(self.number);
    }
}
