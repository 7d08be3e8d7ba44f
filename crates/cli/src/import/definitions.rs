//! Rewrites definitions of other servers for Leafline, and leaves out what it does not support.

use crate::dump::definitions::{rewritten, without_lines};
use leafline_types::{Charset, Collation};

/// Returns the statement without unsupported parts, and a list of these.
pub fn adapted(create: &str) -> (String, Vec<String>) {
    let mut left_out = Vec::new();
    let text = without_lines(create, |line| {
        let kinds = ["SPATIAL KEY", "SPATIAL INDEX", "PERIOD FOR"];
        let found = kinds.iter().any(|kind| line.starts_with(kind));
        if found {
            left_out.push(line.trim_end_matches(',').to_owned());
        }
        found
    });
    let text = rewritten(&text, |piece| words(piece, &mut left_out));
    (text, left_out)
}

/// Rewrites a piece outside of quotes: replaces unknown engines, character sets and collations.
fn words(piece: &str, left_out: &mut Vec<String>) -> String {
    let mut out = String::with_capacity(piece.len());
    let mut rest = piece;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let end = from.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(from.len());
        let (word, behind) = from.split_at(end);
        rest = behind;
        let lower = word.to_ascii_lowercase();
        match lower.as_str() {
            "engine" | "page_checksum" | "transactional" | "row_format" => {
                let value = option_value(behind);
                let is_known = value.is_none_or(|(value, _)| {
                    ["innodb", "myisam", "leafline"].contains(&value.to_ascii_lowercase().as_str())
                });
                match value {
                    Some((value, length)) if !is_known => {
                        rest = behind.get(length..).unwrap_or_default();
                        if lower == "engine" {
                            left_out.push(format!("ENGINE={value}"));
                        }
                    }
                    _ => out.push_str(word),
                }
            }
            "uuid" | "inet4" | "inet6" => {
                let ty = match lower.as_str() {
                    "uuid" => "char(36)",
                    "inet4" => "varchar(15)",
                    _ => "varchar(39)",
                };
                left_out.push(format!("{lower} (it is {ty} instead)"));
                out.push_str(ty);
            }
            _ => out.push_str(replacement_collation(&lower, left_out).unwrap_or(word)),
        }
    }
    out.push_str(rest);
    out
}

/// Returns the word behind `=`, and the length up to its end.
fn option_value(text: &str) -> Option<(&str, usize)> {
    let value = text.trim_start().strip_prefix('=')?.trim_start();
    let end = value.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(value.len());
    let length = text.len() - value.len() + end;
    Some((value.get(..end)?, length))
}

/// Returns the collation to use in place of an unknown one: MariaDB's NO PAD ones and those of UCA 14, and a few of
/// MySQL's.
fn replacement_collation(word: &str, left_out: &mut Vec<String>) -> Option<&'static str> {
    if Charset::known(word).is_some() || Collation::from_name(word).is_ok() {
        return None;
    }
    let (set, rest) = match word.split_once('_')? {
        ("uca1400", rest) => (Charset::Utf8mb4, rest),
        (set, rest) => (Charset::known(set)?, rest),
    };
    let padded = Collation::from_name(&word.replace("_nopad", ""));
    let is_binary = rest.ends_with("bin");
    let instead = match set {
        _ if !["_ci", "_cs", "_bin", "_w2"].iter().any(|end| word.ends_with(end)) => return None,
        Charset::Utf8mb4 if is_binary => Collation::Utf8mb4_0900Bin,
        Charset::Utf8mb4 if rest.contains("as_cs") || rest.ends_with("_cs") => Collation::Utf8mb4_0900AsCs,
        Charset::Utf8mb4 if rest.contains("as_ci") => Collation::Utf8mb4_0900AsCi,
        Charset::Utf8mb4 => Collation::Utf8mb4_0900AiCi,
        _ if padded.is_ok() => padded.unwrap_or(Collation::DEFAULT),
        _ if is_binary || rest.ends_with("_cs") => set.binary_collation(),
        _ => set.default_collation(),
    };
    left_out.push(format!("{word} (it is {instead} instead)"));
    Some(instead.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_parts_are_left_out_and_named() {
        let create = "CREATE TABLE `ENGINE=Aria` (\n  `a` varchar(9) CHARACTER SET cp1250 COLLATE cp1250_nopad_bin DEFAULT 'ENGINE=x',\n  `u` uuid NOT NULL,\n  \
                      SPATIAL KEY `f` (`a`),\n  KEY `k` (`a`)\n) ENGINE=Aria DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_uca1400_ai_ci PAGE_CHECKSUM=1";
        let (text, left_out) = adapted(create);
        assert_eq!(
            text,
            "CREATE TABLE `ENGINE=Aria` (\n  `a` varchar(9) CHARACTER SET cp1250 COLLATE cp1250_bin DEFAULT 'ENGINE=x',\n  `u` char(36) NOT NULL,\n  \
             KEY `k` (`a`)\n)  DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci "
        );
        assert_eq!(left_out.len(), 5, "{left_out:?}");
        let known = "CREATE TABLE t (\n  `a` int\n) ENGINE=InnoDB COLLATE=utf8mb4_0900_bin CHARSET=latin1";
        assert_eq!(adapted(known), (known.to_owned(), Vec::new()));
    }
}
