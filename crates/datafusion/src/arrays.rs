//! Passes Leafline's arrays to DataFusion without a copy.
//!
//! The two use different releases of `arrow`. Both support Arrow's C data interface: a structure for the buffers of
//! an array, and one for its type. DataFusion's arrays keep the buffers of Leafline's alive.

#![allow(unsafe_code)]

use arrow::array::{ArrayRef, make_array};
use arrow::datatypes::DataType;
use datafusion::error::{DataFusionError, Result};
use leafline_arrow_array::Array as _;

/// The structures of Leafline's release.
use leafline_arrow_array::ffi as theirs;

/// Converts the type of a Leafline array.
pub(crate) fn data_type(of: &dyn leafline_arrow_array::Array) -> Result<DataType> {
    let schema = theirs::FFI_ArrowSchema::try_from(of.data_type()).map_err(failed)?;
    Ok(DataType::try_from(&schema_of(schema))?)
}

/// Converts a Leafline array.
pub(crate) fn array(of: &leafline_arrow_array::ArrayRef) -> Result<ArrayRef> {
    let (array, schema) = theirs::to_ffi(&of.to_data()).map_err(failed)?;
    // SAFETY: both are the `struct ArrowArray` of the C data interface, which has one layout and one way to be released; it moves.
    let array = unsafe { std::mem::transmute::<theirs::FFI_ArrowArray, arrow::ffi::FFI_ArrowArray>(array) };
    // SAFETY: the array was exported with this schema, and is valid for the interface because it was a valid array of
    // the exporting library.
    let data = unsafe { arrow::ffi::from_ffi(array, &schema_of(schema)) }?;
    Ok(make_array(data))
}

fn schema_of(schema: theirs::FFI_ArrowSchema) -> arrow::ffi::FFI_ArrowSchema {
    // SAFETY: both are the `struct ArrowSchema` of the C data interface, which has one layout and one way to be released; it moves.
    unsafe { std::mem::transmute::<theirs::FFI_ArrowSchema, arrow::ffi::FFI_ArrowSchema>(schema) }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
