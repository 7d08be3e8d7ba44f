//! PARTITION BY for random tables: every method, over columns of every kind that it takes.

use super::kinds::Column;
use super::tables::{IDS, Index, Part};
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

/// Sometimes partitions a table so that every row has a partition. Unique keys without the partitioning column become
/// plain ones.
pub fn divided(columns: &[Column], indexes: &mut [Index], random: &mut SmallRng) -> String {
    if random.random_ratio(2, 3) {
        return String::new();
    }
    let primary = indexes.iter().find(|index| index.name == "PRIMARY");
    let candidates: Vec<usize> = match primary {
        Some(primary) => primary.parts.iter().map(|part| part.column).collect(),
        None => (0..columns.len()).collect(),
    };
    let Some(&column) = candidates.choose(random) else { return String::new() };
    let Some(clause) = by(&columns[column], random) else { return String::new() };
    for index in indexes.iter_mut().filter(|index| index.name != "PRIMARY") {
        let has = |part: &Part| part.column == column && part.prefix.is_none();
        index.unique = index.unique && index.parts.iter().any(has);
    }
    clause
}

fn by(column: &Column, random: &mut SmallRng) -> Option<String> {
    let (name, ty) = (&column.name, column.kind().ty);
    let count = random.random_range(1..9);
    let by_key = |random: &mut SmallRng| {
        let linear = if random.random() { "LINEAR " } else { "" };
        format!(" PARTITION BY {linear}KEY ({name}) PARTITIONS {count}")
    };
    let is_integer = ty.contains("INT");
    let ends = [-40, 3, 100, 700, (IDS / 2).into(), 6000];
    // Bounds are of the column's type.
    let ends = if ty.contains("UNSIGNED") { &ends[1..] } else { &ends };
    let is_counted = ["id", "u", "rev", "g"].contains(&name.as_str());
    Some(match random.random_range(0..5) {
        _ if ty == "TEXT" => return None,
        0 => by_key(random),
        1 if is_integer => {
            let linear = if random.random() { "LINEAR " } else { "" };
            format!(" PARTITION BY {linear}HASH ({name}) PARTITIONS {count}")
        }
        2 if is_counted => {
            let lists =
                "PARTITION a VALUES IN (0, NULL), PARTITION b VALUES IN (2, 3), PARTITION c VALUES IN (4, 1)";
            format!(" PARTITION BY LIST ({name} % 5) ({lists})")
        }
        _ if is_integer => ranges("RANGE", name, ends),
        3 if ty == "DATE" || ty == "DATETIME" => {
            let by = if random.random() { "YEAR" } else { "TO_DAYS" };
            let ends: &[i64] = if by == "YEAR" { &[2000, 2010, 2020] } else { &[730_000, 736_000, 738_000] };
            ranges("RANGE", &format!("{by}({name})"), ends)
        }
        4 if ty == "DATE" || ty == "DATETIME" => columns(name, &["1999-12-31", "2010-06-01", "2020-02-29"]),
        _ if ty.starts_with("VARCHAR") || ty.starts_with("CHAR") => columns(name, &["a", "b5", "k"]),
        _ => by_key(random),
    })
}

fn ranges(method: &str, of: &str, ends: &[i64]) -> String {
    let parts = (0..).zip(ends).map(|(at, end)| format!("PARTITION p{at} VALUES LESS THAN ({end}), "));
    format!(
        " PARTITION BY {method} ({of}) ({}PARTITION m VALUES LESS THAN MAXVALUE)",
        parts.collect::<String>()
    )
}

fn columns(of: &str, ends: &[&str]) -> String {
    let parts = (0..).zip(ends).map(|(at, end)| format!("PARTITION p{at} VALUES LESS THAN ('{end}'), "));
    let parts: String = parts.collect();
    format!(" PARTITION BY RANGE COLUMNS ({of}) ({parts}PARTITION m VALUES LESS THAN (MAXVALUE))")
}
