//! SQL types, values, and the type information of expressions.

mod members;
mod origin;
mod sql_type;
#[expect(clippy::module_inception, reason = "the file holds the type of that name")]
mod value;
mod value_ref;

pub use members::Members;
pub use origin::Origin;
pub use sql_type::{Coercibility, ExprType, SqlType};
pub use value::Value;
pub use value_ref::ValueRef;
