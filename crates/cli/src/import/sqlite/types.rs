//! Chooses the SQL type of a SQLite column, in which each value has its own type: a type that fits all values, as
//! close as possible to the declared one.

/// The properties of a column's values.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Facts {
    pub rows: i64,
    pub integers: i64,
    pub reals: i64,
    pub texts: i64,
    pub blobs: i64,
    pub least: i64,
    pub most: i64,
    /// The number of texts that are dates, such as `2024-12-31`, and of texts that are dates with a time of day.
    pub dates: i64,
    pub times: i64,
    /// The length of the longest text, and of the longest blob.
    pub characters: i64,
    pub bytes: i64,
    /// The largest magnitude of a number.
    pub magnitude: f64,
    /// The most digits behind the point.
    pub decimals: i64,
}

/// The chosen type, and how values are read for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    pub ty: String,
    /// The type, TEXT or BLOB, to which values of other types are converted.
    pub cast: Option<&'static str>,
    /// Whether keys hold only a prefix of it.
    pub is_long: bool,
}

/// The most characters of a text, or bytes, that a key holds as a whole.
const KEY: i64 = 768;

/// Chooses a type; `kept` says that the values are in an index.
pub fn choose(declared: &str, facts: &Facts, kept: bool) -> Chosen {
    let declared = declared.to_ascii_uppercase();
    let chosen = |ty: String| Chosen { ty, cast: None, is_long: false };
    let Facts { integers, reals, texts, blobs, .. } = *facts;
    if blobs > 0 || (texts == 0 && integers == 0 && reals == 0 && is_bytes(&declared)) {
        let cast = (texts + integers + reals > 0).then_some("BLOB");
        let length = facts.bytes.max(facts.characters * 4);
        return match kept && length <= KEY * 4 {
            true => Chosen { cast, ..chosen(format!("VARBINARY({})", length.max(255))) },
            false => Chosen { cast, is_long: true, ..chosen("LONGBLOB".into()) },
        };
    }
    if texts > 0 || (integers == 0 && reals == 0) {
        return of_texts(&declared, facts, kept);
    }
    if let Some((precision, scale)) = digits(&declared) {
        let most = 10f64.powi(i32::from(precision) - i32::from(scale));
        if facts.magnitude < most && facts.decimals <= i64::from(scale) {
            return chosen(format!("DECIMAL({precision},{scale})"));
        }
    }
    if reals > 0 {
        return chosen("DOUBLE".into());
    }
    match declared.contains("BOOL") && facts.least >= 0 && facts.most <= 1 {
        true => chosen("TINYINT(1)".into()),
        false => chosen("BIGINT".into()),
    }
}

/// Chooses a type for texts, perhaps among numbers, and for columns without a value.
fn of_texts(declared: &str, facts: &Facts, kept: bool) -> Chosen {
    let chosen = |ty: String| Chosen { ty, cast: None, is_long: false };
    let only_texts = facts.integers + facts.reals == 0;
    let is_time = declared.contains("DATETIME") || declared.contains("TIMESTAMP");
    if only_texts && is_time && facts.times + facts.dates == facts.texts {
        return chosen("DATETIME(6)".into());
    }
    if only_texts && declared == "DATE" && facts.dates == facts.texts {
        return chosen("DATE".into());
    }
    if facts.texts == 0 {
        if let Some((precision, scale)) = digits(declared) {
            return chosen(format!("DECIMAL({precision},{scale})"));
        }
        // In the order in which SQLite looks for these words.
        let kinds = [("BOOL", "TINYINT(1)"), ("INT", "BIGINT"), ("CHAR", ""), ("CLOB", ""), ("TEXT", "")];
        let numbers = [
            ("REAL", "DOUBLE"),
            ("FLOA", "DOUBLE"),
            ("DOUB", "DOUBLE"),
            ("NUM", "DOUBLE"),
            ("DEC", "DOUBLE"),
        ];
        let found = kinds.iter().chain(&numbers).find(|(word, _)| declared.contains(word));
        if let Some((_, ty)) = found.filter(|(_, ty)| !ty.is_empty()) {
            return chosen((*ty).into());
        }
    }
    let cast = (!only_texts).then_some("TEXT");
    let length =
        declared.split_once('(').and_then(|(_, rest)| rest.trim_end_matches(')').trim().parse::<i64>().ok());
    let length = length.filter(|length| (1..=16_383).contains(length) && *length >= facts.characters);
    let is_short = declared.contains("CHAR") && length.is_some();
    let most = match length.filter(|_| is_short) {
        Some(length) => length,
        None if kept && facts.characters <= 255 => 255,
        None if kept => KEY,
        None => i64::MAX,
    };
    match most {
        most if most < 16_384 && facts.characters <= most && (!kept || most <= KEY) => {
            Chosen { cast, ..chosen(format!("VARCHAR({most})")) }
        }
        _ => Chosen { cast, is_long: true, ..chosen("LONGTEXT".into()) },
    }
}

fn is_bytes(declared: &str) -> bool {
    declared.is_empty() || declared.contains("BLOB") || declared.contains("BINARY")
}

/// Returns p and s of `DECIMAL(p, s)` and `NUMERIC(p, s)`.
fn digits(declared: &str) -> Option<(u8, u8)> {
    let (name, rest) = declared.split_once('(')?;
    if !["DECIMAL", "NUMERIC"].contains(&name.trim()) {
        return None;
    }
    let (precision, scale) =
        rest.trim_end_matches(')').split_once(',').unwrap_or((rest.trim_end_matches(')'), "0"));
    let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    (precision <= 65 && scale <= 30 && scale <= precision && precision > 0).then_some((precision, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_declared_where_values_fit() {
        let integers = Facts { rows: 2, integers: 2, most: 1, magnitude: 1.0, ..Facts::default() };
        let texts = Facts { rows: 2, texts: 2, characters: 10, dates: 2, ..Facts::default() };
        let mixed = Facts { integers: 1, texts: 1, ..texts.clone() };
        let reals = Facts { rows: 1, reals: 1, magnitude: 12.5, decimals: 1, ..Facts::default() };
        let long = Facts { rows: 1, texts: 1, characters: 1000, ..Facts::default() };
        let none = Facts::default();
        for (declared, facts, kept, ty) in [
            ("INTEGER", &integers, false, "BIGINT"),
            ("boolean", &integers, false, "TINYINT(1)"),
            ("DECIMAL(10, 2)", &integers, false, "DECIMAL(10,2)"),
            ("NUMERIC(3,2)", &reals, false, "DOUBLE"),
            ("NUMERIC(3,0)", &reals, false, "DOUBLE"),
            ("NUMERIC(3,1)", &reals, false, "DECIMAL(3,1)"),
            ("date", &texts, false, "DATE"),
            ("DATETIME", &texts, true, "DATETIME(6)"),
            ("DATE", &mixed, true, "VARCHAR(255)"),
            ("VARCHAR(20)", &texts, true, "VARCHAR(20)"),
            ("VARCHAR(5)", &texts, false, "LONGTEXT"),
            ("TEXT", &long, true, "LONGTEXT"),
            ("", &none, false, "LONGBLOB"),
            ("VARCHAR(30)", &none, false, "VARCHAR(30)"),
            ("REAL", &none, false, "DOUBLE"),
        ] {
            assert_eq!(choose(declared, facts, kept).ty, ty, "{declared} {facts:?}");
        }
        assert_eq!(choose("DATE", &mixed, false).cast, Some("TEXT"));
    }
}
