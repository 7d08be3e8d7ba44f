//! Codes for column types in the catalog: a tag, two parameters, and some flags of the column.

use crate::bytes::ByteReader;
use crate::error::Result;
use leafline_types::{Collation, Members, SqlType};
use std::sync::Arc;

/// The flags of a column that belong to its type.
pub(super) const UNSIGNED: u8 = 8;
/// ZEROFILL of a DECIMAL, FLOAT or DOUBLE; integers with ZEROFILL have a tag of their own.
pub(super) const ZEROFILL: u8 = 32;

/// The types whose texts follow the collation.
pub(super) const ENUM: u8 = 24;
pub(super) const SET: u8 = 25;

/// The second parameter of a FLOAT or DOUBLE that declares no digits.
const NO_SCALE: u32 = 0xff;

/// Encodes a type as a tag and two parameters.
pub(super) fn type_code(ty: &SqlType) -> Result<(u8, u32, u32)> {
    Ok(match ty {
        SqlType::TinyInt { .. } => (1, 0, 0),
        SqlType::SmallInt { .. } => (2, 0, 0),
        SqlType::MediumInt { .. } => (3, 0, 0),
        SqlType::Int { .. } => (4, 0, 0),
        SqlType::BigInt { .. } => (5, 0, 0),
        SqlType::Decimal { precision, scale, .. } => (6, u32::from(*precision), u32::from(*scale)),
        SqlType::Double => (7, 0, 0),
        SqlType::Char { len } => (8, *len, 0),
        SqlType::Varchar { len } => (9, *len, 0),
        SqlType::Text { max_bytes } => (10, *max_bytes, 0),
        SqlType::Varbinary { len } => (11, *len, 0),
        SqlType::Date => (12, 0, 0),
        SqlType::DateTime { fsp } => (13, u32::from(*fsp), 0),
        SqlType::Time { fsp } => (14, u32::from(*fsp), 0),
        SqlType::Year => (15, 0, 0),
        SqlType::Boolean => (16, 0, 0),
        SqlType::Zerofill { bytes, digits } => (17, u32::from(*bytes), u32::from(*digits)),
        SqlType::Real { single, digits, .. } => {
            // Without digits the second parameter is larger than any scale.
            let (all, scale) = digits.map_or((0, NO_SCALE), |(all, scale)| (all.into(), scale.into()));
            (if *single { 18 } else { 19 }, all, scale)
        }
        SqlType::Binary { len } => (20, *len, 0),
        SqlType::Blob { max_bytes } => (21, *max_bytes, 0),
        SqlType::Timestamp { fsp } => (22, u32::from(*fsp), 0),
        SqlType::Bit { len } => (23, u32::from(*len), 0),
        SqlType::Json => (26, 0, 0),
        SqlType::Enum(members) => (ENUM, members.len() as u32, 0),
        SqlType::Set(members) => (SET, members.len() as u32, 0),
        other => {
            let what = format!("columns of type {other}");
            return Err(leafline_types::MysqlError::not_supported(what).into());
        }
    })
}

pub(super) fn type_of_code(
    from: &mut ByteReader<'_>,
    flags: u8,
    (names, collation): (Vec<String>, Collation),
) -> Result<SqlType> {
    let (unsigned, zerofill) = (flags & UNSIGNED != 0, flags & ZEROFILL != 0);
    let (tag, first, second) = (from.u8()?, from.u32()?, from.u32()?);
    let members = || match names.len() == first as usize && first > 0 {
        true => Ok(Members::new(names.clone(), collation)),
        false => Err(from.damaged("it has another number of texts")),
    };
    let small = |value: u32| u8::try_from(value).map_err(|_| from.damaged("a type's parameter is too large"));
    Ok(match tag {
        1 => SqlType::TinyInt { unsigned },
        2 => SqlType::SmallInt { unsigned },
        3 => SqlType::MediumInt { unsigned },
        4 => SqlType::Int { unsigned },
        5 => SqlType::BigInt { unsigned },
        6 => SqlType::Decimal { precision: small(first)?, scale: small(second)?, unsigned, zerofill },
        7 => SqlType::Double,
        8 => SqlType::Char { len: first },
        9 => SqlType::Varchar { len: first },
        10 => SqlType::Text { max_bytes: first },
        11 => SqlType::Varbinary { len: first },
        12 => SqlType::Date,
        13 => SqlType::DateTime { fsp: small(first)? },
        14 => SqlType::Time { fsp: small(first)? },
        15 => SqlType::Year,
        16 => SqlType::Boolean,
        17 => SqlType::Zerofill { bytes: small(first)?, digits: small(second)? },
        18 | 19 => {
            let digits = match second {
                NO_SCALE => None,
                scale => Some((small(first)?, small(scale)?)),
            };
            SqlType::Real { single: tag == 18, digits, unsigned, zerofill }
        }
        20 => SqlType::Binary { len: first },
        21 => SqlType::Blob { max_bytes: first },
        22 => SqlType::Timestamp { fsp: small(first)? },
        23 => SqlType::Bit { len: small(first)? },
        26 => SqlType::Json,
        ENUM => SqlType::Enum(Arc::new(members()?)),
        SET => SqlType::Set(Arc::new(members()?)),
        other => return Err(from.damaged(format!("type {other} is not known"))),
    })
}
