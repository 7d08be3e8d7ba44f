//! SQL types, the values of them, and what is known of an expression's type.

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
