//! Variables that decide what a statement means where it does not say: the mode of WEEK, what follows COMMIT,
//! the form of EXPLAIN, whether a table needs a primary key.

use super::{Variable, flag, number, on_off, settable, switch, text, word};
use leafline_syntax::ast::{Completion, ExplainFormat};
use leafline_types::{MysqlError, Value};

/// The variables in the order of their names.
pub(super) const VARIABLES: &[Variable] = &[
    settable(
        "completion_type",
        |s, _| {
            text(COMPLETIONS.iter().find(|(_, known)| *known == s.completion).map_or("", |(name, _)| name))
        },
        |s, v| one_of("completion_type", &v, &COMPLETIONS).map(|completion| s.completion = completion),
    ),
    number(
        "default_week_format",
        (0, 7),
        |s, _| Value::UInt(s.default_week_format.into()),
        |s, n| s.default_week_format = u8::try_from(n).unwrap_or(0),
    ),
    settable(
        "explain_format",
        |s, _| {
            text(FORMATS.iter().find(|(_, known)| *known == s.explain_format).map_or("", |(name, _)| name))
        },
        |s, v| one_of("explain_format", &v, &FORMATS).map(|format| s.explain_format = format),
    ),
    switch(
        "sql_require_primary_key",
        |s, _| on_off(s.requires_primary_key),
        |s, v| flag("sql_require_primary_key", &v).map(|on| s.requires_primary_key = on),
    ),
];

const COMPLETIONS: [(&str, Completion); 3] = [
    ("NO_CHAIN", Completion { chain: Some(false), release: Some(false) }),
    ("CHAIN", Completion { chain: Some(true), release: Some(false) }),
    ("RELEASE", Completion { chain: Some(false), release: Some(true) }),
];

/// The words by their numbers. DEFAULT is another name of the first.
const FORMATS: [(&str, ExplainFormat); 4] = [
    ("TRADITIONAL", ExplainFormat::Traditional),
    ("DEFAULT", ExplainFormat::Traditional),
    ("JSON", ExplainFormat::Json),
    ("TREE", ExplainFormat::Tree),
];

/// The meaning of a word or of its number.
fn one_of<T: Copy>(name: &str, value: &Value, words: &[(&str, T)]) -> Result<T, MysqlError> {
    let found = match value.as_integer() {
        Some(number) => usize::try_from(number).ok().and_then(|number| words.get(number)),
        None => words.iter().find(|(known, _)| known.eq_ignore_ascii_case(&word(value))),
    };
    found.map(|(_, meant)| *meant).ok_or_else(|| MysqlError::wrong_value_for_variable(name, word(value)))
}
