//! EXPLAIN's `key_len`: the bytes of the used key parts in MySQL's key format, which differs from Leafline's. Users read from it
//! how many parts are used.

use leafline_access::AccessPath;
use leafline_types::{Collation, KeyPart, SqlType};

/// Bytes of the longest character of utf8mb4.
const CHARACTER_BYTES: u64 = 4;
/// Bytes of the digits of a decimal that do not fill a group of nine.
const DECIMAL_REST: [u64; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Returns the length of the used parts; of the whole key if it is read without bounds.
pub(super) fn key_len(path: &AccessPath) -> u64 {
    let used = match path.constraint.used_parts() {
        0 => path.index.parts.len(),
        used => used,
    };
    let parts = path.index.key_parts.iter().take(used);
    parts.map(|part| part_len(&kept(part), part.collation) + u64::from(part.nullable)).sum()
}

/// Returns the type of the part of its column that a key part holds.
fn kept(part: &KeyPart) -> SqlType {
    match (part.prefix, &part.ty) {
        (Some(len), SqlType::Char { .. }) => SqlType::Char { len },
        (Some(len), SqlType::Binary { .. }) => SqlType::Binary { len },
        (Some(len), ty) if ty.is_character() => SqlType::Varchar { len },
        (Some(len), _) => SqlType::Varbinary { len },
        (None, ty) => ty.clone(),
    }
}

fn part_len(ty: &SqlType, collation: Collation) -> u64 {
    let character = if collation == Collation::Binary { 1 } else { CHARACTER_BYTES };
    match ty {
        SqlType::Decimal { precision, scale, .. } => {
            let digits = |digits: u8| u64::from(digits / 9) * 4 + DECIMAL_REST[usize::from(digits % 9)];
            digits(precision.saturating_sub(*scale)) + digits(*scale)
        }
        SqlType::Real { single: true, .. } => 4,
        SqlType::Double | SqlType::Real { .. } => 8,
        SqlType::Year => 1,
        SqlType::Timestamp { fsp } => 4 + u64::from(fsp.div_ceil(2)),
        SqlType::Enum(members) => 1 + u64::from(members.len() > 255),
        SqlType::Set(members) => match members.len().div_ceil(8) {
            bytes @ 0..=4 => bytes as u64,
            _ => 8,
        },
        SqlType::Binary { len } => u64::from(*len),
        SqlType::Blob { max_bytes } => u64::from(*max_bytes) + 2,
        SqlType::Time { fsp } => 3 + u64::from(fsp.div_ceil(2)),
        SqlType::Char { len } => u64::from(*len) * character,
        SqlType::Varchar { len } => u64::from(*len) * character + 2,
        SqlType::Varbinary { len } => u64::from(*len) + 2,
        SqlType::Text { max_bytes } => u64::from(*max_bytes) + 2,
        SqlType::Date => 3,
        SqlType::DateTime { fsp } => 5 + u64::from(fsp.div_ceil(2)),
        integer => integer.integer_width().unwrap_or(0) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_manual() {
        let len = |ty: SqlType| part_len(&ty, Collation::Utf8mb4Bin);
        assert_eq!(len(SqlType::Int { unsigned: false }), 4);
        assert_eq!(len(SqlType::decimal(15, 2)), 7);
        assert_eq!(len(SqlType::decimal(10, 0)), 5);
        assert_eq!(len(SqlType::Char { len: 10 }), 40);
        assert_eq!(len(SqlType::Varchar { len: 20 }), 82);
        assert_eq!(len(SqlType::DateTime { fsp: 6 }), 8);
        assert_eq!(len(SqlType::Date), 3);
    }
}
