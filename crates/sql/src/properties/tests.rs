//! Prints the row of each kind of statement as a line of text, so that a changed row shows in
//! `statements.txt`.

use super::{Changes, Commits, Diagnostics, Properties, Runs, SlowLogging, properties};
use leafline_syntax::LexMode;
use std::fmt::Write;

/// Formats the properties except the privileges, which `accounts/tests.rs` checks.
fn shown(properties: &Properties<'_>) -> String {
    let mut text = format!("{:?}", properties.command);
    let mut add = |word: &str, is: bool| {
        if is {
            let _ = write!(text, " {word}");
        }
    };
    add("planned", properties.runs == Runs::Planned);
    add("commits", properties.commits == Commits::First);
    add("definitions", matches!(properties.changes, Changes::Definitions(_)));
    add("accounts", matches!(properties.changes, Changes::Accounts));
    add("diagnostics", properties.diagnostics == Diagnostics::OfBefore);
    add("admin", properties.logging == SlowLogging::Administrative);
    text
}

#[test]
fn each_kind_of_statement_has_the_properties_that_it_had() {
    for line in include_str!("statements.txt").lines() {
        let (sql, expected) = line.rsplit_once(" | ").unwrap();
        let statement = leafline_syntax::parse(sql, LexMode::default()).unwrap();
        assert_eq!(shown(&properties(&statement.kind)), expected, "{sql}");
    }
}
