//! Rewrites definitions into a form that the server which loads them understands.
//!
//! Features that only Leafline has are put in comments that other servers ignore (`/*!99990 PACKED */`). Its engine
//! is written as InnoDB, which Leafline treats as its own. [`Compatible`] adapts further.

use super::super::args::Compatible;
use super::schema::View;
use crate::link::quoted;

/// Collations of MySQL 8, and their closest in MariaDB.
const COLLATIONS: [(&str, &str); 4] = [
    ("utf8mb4_0900_ai_ci", "utf8mb4_unicode_520_ci"),
    ("utf8mb4_0900_as_ci", "utf8mb4_unicode_520_ci"),
    ("utf8mb4_0900_as_cs", "utf8mb4_bin"),
    ("utf8mb4_0900_bin", "utf8mb4_bin"),
];

/// Returns the statement that creates a database unless it exists.
pub fn database(create: &str, compatible: Option<Compatible>) -> String {
    let create = create.replacen("CREATE DATABASE ", "CREATE DATABASE IF NOT EXISTS ", 1);
    adapted(&create, compatible)
}

/// Returns the statement that creates a table.
pub fn table(create: &str, compatible: Option<Compatible>) -> String {
    let create = match compatible {
        Some(Compatible::Mariadb) => without_lines(create, |line| {
            let is_key = ["KEY ", "UNIQUE KEY "].iter().any(|word| line.starts_with(word));
            // The text of a functional part is in parentheses of its own.
            is_key && outside_quotes(line).any(|piece| piece.contains("((") || piece.contains(",("))
        }),
        _ => create.to_owned(),
    };
    adapted(&create, compatible)
}

/// Returns the statement that creates a view. The loading account becomes its definer, because the original one may
/// not exist.
pub fn view(create: &str, compatible: Option<Compatible>) -> String {
    let start = find_outside_quotes(create, " DEFINER=");
    let parts = start.zip(find_outside_quotes(create, " SQL SECURITY "));
    match parts.and_then(|(start, end)| Some((create.get(..start)?, create.get(end..)?))) {
        Some((before, behind)) => adapted(&format!("{before}{behind}"), compatible),
        None => adapted(create, compatible),
    }
}

/// Returns the collation that the connection needs when a view of that collation is created; `None` if a server's
/// default will do.
pub fn connection_collation(collation: &str, compatible: Option<Compatible>) -> Option<String> {
    const OWN: &str = "utf8mb4_0900_ai_ci";
    if collation.is_empty() || collation == OWN {
        return None;
    }
    Some(nearest_collation(collation, compatible).to_owned())
}

/// Returns the collation, or its closest in MariaDB.
pub fn nearest_collation(collation: &str, compatible: Option<Compatible>) -> &str {
    let there = COLLATIONS.iter().filter(|_| compatible == Some(Compatible::Mariadb));
    there.into_iter().find(|(here, _)| *here == collation).map_or(collation, |(_, there)| there)
}

/// Returns an `sql_mode` without the modes that the server lacks.
pub fn sql_mode(modes: &str, compatible: Option<Compatible>) -> String {
    let lacks = |mode: &str| compatible == Some(Compatible::Mariadb) && mode == "TIME_TRUNCATE_FRACTIONAL";
    modes.split(',').filter(|mode| !lacks(mode)).collect::<Vec<_>>().join(",")
}

/// Returns the statement that creates a stored program.
pub fn program(create: &str, compatible: Option<Compatible>) -> String {
    if compatible != Some(Compatible::Mariadb) {
        return create.to_owned();
    }
    rewritten(create, |piece| {
        COLLATIONS.iter().fold(piece.to_owned(), |text, (here, there)| text.replace(here, there))
    })
}

/// Returns a view with the same columns that depends on no other.
pub fn placeholder(view: &View) -> String {
    let columns: Vec<String> = view.columns.iter().map(|name| format!("1 AS {}", quoted(name))).collect();
    format!("CREATE VIEW {} AS SELECT {}", quoted(&view.name), columns.join(", "))
}

fn adapted(text: &str, compatible: Option<Compatible>) -> String {
    rewritten(text, |piece| {
        let mut piece = piece.replace(") ENGINE=Leafline", ") ENGINE=InnoDB");
        // On servers without explicit_defaults_for_timestamp a TIMESTAMP is NOT NULL unless it says NULL.
        for digits in ["", "(1)", "(2)", "(3)", "(4)", "(5)", "(6)"] {
            let (plain, said) =
                (format!(" timestamp{digits} DEFAULT NULL"), format!(" timestamp{digits} NULL DEFAULT NULL"));
            piece = piece.replace(&plain, &said);
        }
        if compatible.is_some() {
            for word in [" /*!99990 PACKED */", " /*!99990 NOT PACKED */", " PACK_KEYS=0", " PACK_KEYS=1"] {
                piece = piece.replace(word, "");
            }
        }
        if compatible == Some(Compatible::Mariadb) {
            for (here, there) in COLLATIONS {
                piece = piece.replace(here, there);
            }
        }
        piece
    })
}

/// Rewrites the text outside of quotes.
pub fn rewritten(text: &str, mut rewrite: impl FnMut(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    for (is_quoted, piece) in pieces(text) {
        match is_quoted {
            true => out.push_str(piece),
            false => out.push_str(&rewrite(piece)),
        }
    }
    out
}

fn outside_quotes(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).into_iter().filter(|(is_quoted, _)| !is_quoted).map(|(_, piece)| piece)
}

/// Returns where a word first occurs outside of quotes.
fn find_outside_quotes(text: &str, word: &str) -> Option<usize> {
    let mut start = 0;
    pieces(text).into_iter().find_map(|(is_quoted, piece)| {
        let at = piece.find(word).filter(|_| !is_quoted).map(|at| start + at);
        start += piece.len();
        at
    })
}

/// Splits the text where quotes begin and end; returns with each piece whether it is quoted.
fn pieces(text: &str) -> Vec<(bool, &str)> {
    let mut pieces = Vec::new();
    let (mut start, mut quote, mut escaped) = (0, None, false);
    for (at, byte) in text.bytes().enumerate() {
        match quote {
            _ if escaped => escaped = false,
            Some(b'\'' | b'"') if byte == b'\\' => escaped = true,
            Some(open) if byte == open => {
                pieces.push((true, text.get(start..=at).unwrap_or_default()));
                (start, quote) = (at + 1, None);
            }
            None if matches!(byte, b'\'' | b'"' | b'`') => {
                pieces.push((false, text.get(start..at).unwrap_or_default()));
                (start, quote) = (at, Some(byte));
            }
            _ => {}
        }
    }
    pieces.push((quote.is_some(), text.get(start..).unwrap_or_default()));
    pieces
}

/// Removes some lines from a CREATE TABLE that has a line for each column and key.
pub fn without_lines(create: &str, mut leave_out: impl FnMut(&str) -> bool) -> String {
    let Some((head, rest)) = create.split_once("(\n") else { return create.to_owned() };
    let Some((body, tail)) = rest.split_once("\n)") else { return create.to_owned() };
    let kept: Vec<&str> = body
        .split('\n')
        .filter(|line| !leave_out(line.trim_start()))
        .map(|line| line.strip_suffix(',').unwrap_or(line))
        .collect();
    format!("{head}(\n{}\n){tail}", kept.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "CREATE TABLE `t ) ENGINE=Leafline` (\n  `a` int DEFAULT NULL COMMENT ' PACK_KEYS=1',\n  `b` varchar(9) COLLATE utf8mb4_0900_as_cs,\n  \
                         KEY `k` (`a`) /*!99990 PACKED */,\n  KEY `f` ((lower(`b`)),`a`)\n) ENGINE=Leafline DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci PACK_KEYS=1";

    #[test]
    fn views_keep_all_but_their_definer() {
        let body = "VIEW `v VIEW w` AS select ' DEFINER=' AS ` SQL SECURITY `";
        let create = format!(
            "CREATE ALGORITHM=MERGE DEFINER=`a VIEW SQL SECURITY ``b`@`%` SQL SECURITY INVOKER {body}"
        );
        assert_eq!(view(&create, None), format!("CREATE ALGORITHM=MERGE SQL SECURITY INVOKER {body}"));
        assert_eq!(view("CREATE VIEW `v` AS select 1", None), "CREATE VIEW `v` AS select 1");
    }

    #[test]
    fn definitions_are_written_for_other_servers() {
        assert_eq!(table(TABLE, None), TABLE.replace("\n) ENGINE=Leafline", "\n) ENGINE=InnoDB"));
        let mysql = table(TABLE, Some(Compatible::Mysql));
        assert!(mysql.contains("KEY `k` (`a`),\n") && mysql.ends_with("utf8mb4_0900_ai_ci"), "{mysql}");
        assert!(mysql.contains("`t ) ENGINE=Leafline`") && mysql.contains("' PACK_KEYS=1'"), "{mysql}");
        let mariadb = table(TABLE, Some(Compatible::Mariadb));
        assert!(
            mariadb.contains("KEY `k` (`a`)\n) ENGINE=InnoDB") && mariadb.ends_with("utf8mb4_unicode_520_ci")
        );
        assert!(mariadb.contains("COLLATE utf8mb4_bin"), "{mariadb}");
    }
}
