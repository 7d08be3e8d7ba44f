//! Writes rows as INSERT statements, and the settings before and after them.

use super::schema::{Kind, Table};
use crate::link::{Cells, quoted};
use std::io::{self, Write};

/// The size in bytes after which another statement begins. MySQL's clients send no more at once, and every server
/// accepts it.
const STATEMENT: usize = 1 << 20;

/// The character set of the dump.
pub const NAMES: &str = "/*!40101 SET NAMES utf8mb4 */;\n";

/// Settings that the rest relies on: no checks against other tables, UTC, and an `sql_mode` in which 0 is a number
/// and dates are taken unchecked.
pub const BEFORE: &str = "/*!40101 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE, TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES' */;
";

/// Restores the earlier settings. The last line says that the dump is complete.
pub const BEHIND: &str = "
/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;
/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;
/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */;
-- Dump completed
";

/// Writes the rows of a table.
pub struct Inserts<'t> {
    table: &'t Table,
    start: String,
    statement: Vec<u8>,
}

impl<'t> Inserts<'t> {
    pub fn new(table: &'t Table) -> Inserts<'t> {
        let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
        let start = format!("INSERT INTO {} ({}) VALUES\n(", quoted(&table.name), columns.join(","));
        Inserts { table, start, statement: Vec::with_capacity(STATEMENT + (64 << 10)) }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn row(&mut self, cells: Cells<'_>, out: &mut dyn Write) -> io::Result<()> {
        let into = &mut self.statement;
        into.extend_from_slice(if into.is_empty() { self.start.as_bytes() } else { b",\n(" });
        for (at, column) in self.table.columns.iter().enumerate() {
            if at > 0 {
                into.push(b',');
            }
            match cells.get(at) {
                None => into.extend_from_slice(b"NULL"),
                Some(value) => append(value, column.kind, into),
            }
        }
        into.push(b')');
        if into.len() >= STATEMENT { self.flush(out) } else { Ok(()) }
    }

    /// Writes the pending statement.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn flush(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.statement.is_empty() {
            return Ok(());
        }
        self.statement.extend_from_slice(b";\n");
        out.write_all(&self.statement)?;
        self.statement.clear();
        // The memory of one long row is not kept.
        self.statement.shrink_to(4 * STATEMENT);
        Ok(())
    }
}

/// Appends a value as a literal.
fn append(value: &[u8], kind: Kind, out: &mut Vec<u8>) {
    match kind {
        Kind::Float => out.extend_from_slice(single(value).as_bytes()),
        kind if kind.is_number() => out.extend_from_slice(value),
        Kind::Binary if value.is_empty() => out.extend_from_slice(b"''"),
        Kind::Binary => {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            out.extend_from_slice(b"0x");
            let digit = |half: u8| DIGITS.get(usize::from(half)).copied().unwrap_or(b'0');
            out.extend(value.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
        }
        _ => {
            out.push(b'\'');
            let mut rest = value;
            let escaped = |byte: &u8| matches!(byte, 0 | b'\n' | b'\r' | 0x1a | b'\'' | b'\\');
            while let Some(at) = rest.iter().position(escaped) {
                let (plain, behind) = rest.split_at(at);
                out.extend_from_slice(plain);
                let letter = match behind.first() {
                    Some(0) => b'0',
                    Some(b'\n') => b'n',
                    Some(b'\r') => b'r',
                    Some(0x1a) => b'Z',
                    Some(other) => *other,
                    None => break,
                };
                out.extend_from_slice(&[b'\\', letter]);
                rest = behind.get(1..).unwrap_or_default();
            }
            out.extend_from_slice(rest);
            out.push(b'\'');
        }
    }
}

/// Returns the shortest text of a FLOAT that was read as DOUBLE.
pub fn single(value: &[u8]) -> String {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
    match number.map(|number| number as f32) {
        Some(number) if number == 0.0 || (1e-5..1e15).contains(&number.abs()) => number.to_string(),
        Some(number) => format!("{number:e}"),
        None => String::from_utf8_lossy(value).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_literals() {
        for (value, kind, expected) in [
            (&b"a'b\\c\n\r\0\x1a\"`"[..], Kind::Text, r#"'a\'b\\c\n\r\0\Z"`'"#),
            (b"", Kind::Text, "''"),
            (b"", Kind::Binary, "''"),
            (b"\x00\xff'", Kind::Binary, "0x00FF27"),
            (b"-12.50", Kind::Decimal { precision: 9, scale: 2 }, "-12.50"),
            (b"0.10000000149011612", Kind::Float, "0.1"),
            (b"1.5000000170217692e-20", Kind::Float, "1.5e-20"),
            (b"2024-01-01", Kind::Date, "'2024-01-01'"),
        ] {
            let mut out = Vec::new();
            append(value, kind, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
