//! The function table, which holds every scalar function once.
//!
//! A function is a row of the table ([`Function`]): its names, the number of its arguments, its type rule, its kernel
//! for one row and perhaps a faster one for a batch, and flags. `CASE`, `IF`, `COALESCE`, `ISNULL` and `MOD` are separate nodes (see
//! [`crate::build::call`]).

mod args;
mod assignment;
mod bits;
mod calendar;
mod charset;
mod cipher;
mod clock;
mod date_format;
mod date_parts;
mod digest;
mod format;
mod json;
mod list;
mod math;
mod network;
mod password;
mod radix;
mod regexp;
pub(crate) mod rounding;
mod session;
mod str_to_date;
mod string;
mod string_edit;
mod string_position;
mod temporal;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_length;
mod user_lock;
mod uuid;
mod weight_string;
mod xml;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::function::Function;
use crate::ir::FunctionId;

pub(crate) use bits::bits as bits_of;
pub use json::table::{JsonTableColumn, JsonTableLevel, JsonTableResponse, JsonTableSource};
pub(crate) use json::values::member_name;

static TABLE: LazyLock<Vec<&'static Function>> = LazyLock::new(|| {
    [
        math::FUNCTIONS,
        rounding::FUNCTIONS,
        bits::FUNCTIONS,
        format::FUNCTIONS,
        string::FUNCTIONS,
        string_position::FUNCTIONS,
        string_edit::FUNCTIONS,
        radix::FUNCTIONS,
        list::FUNCTIONS,
        regexp::FUNCTIONS,
        temporal::FUNCTIONS,
        calendar::FUNCTIONS,
        clock::FUNCTIONS,
        str_to_date::FUNCTIONS,
        digest::FUNCTIONS,
        cipher::FUNCTIONS,
        charset::FUNCTIONS,
        network::FUNCTIONS,
        uuid::FUNCTIONS,
        weight_string::FUNCTIONS,
        xml::FUNCTIONS,
        session::FUNCTIONS,
        password::FUNCTIONS,
        assignment::FUNCTIONS,
        user_lock::FUNCTIONS,
        json::values::FUNCTIONS,
        json::schema::FUNCTIONS,
        json::search::FUNCTIONS,
        json::modify::FUNCTIONS,
    ]
    .into_iter()
    .flatten()
    .collect()
});

static NAMES: LazyLock<HashMap<&'static str, FunctionId>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for (n, function) in TABLE.iter().enumerate() {
        for name in std::iter::once(&function.name).chain(function.aliases) {
            names.insert(*name, FunctionId(n as u16));
        }
    }
    names
});

/// Returns every function.
pub fn table() -> impl Iterator<Item = &'static Function> {
    TABLE.iter().copied()
}

impl FunctionId {
    /// Returns the function of that name, in any case.
    pub fn named(name: &str) -> Option<FunctionId> {
        NAMES.get(name.to_ascii_uppercase().as_str()).copied()
    }

    /// Returns its row of the table.
    pub fn definition(self) -> &'static Function {
        TABLE[usize::from(self.0)]
    }
}
