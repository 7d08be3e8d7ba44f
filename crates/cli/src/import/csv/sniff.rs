//! Finds the type that fits all values of a column.

use leafline_types::Date;

/// The properties of the values seen so far.
#[derive(Clone, Debug)]
pub struct Sniffed {
    /// The narrowest kind that fits all of them; `None` if all are NULL.
    kind: Option<Kind>,
    /// The most digits before the point and behind it.
    digits: (usize, usize),
    characters: usize,
    bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Integer,
    Unsigned,
    Decimal,
    Double,
    Date,
    DateTime,
    /// Bytes as `0x..`.
    Bytes,
    Text,
}

impl Sniffed {
    pub fn new() -> Sniffed {
        Sniffed { kind: None, digits: (0, 0), characters: 0, bytes: 0 }
    }

    /// Takes another value into account.
    pub fn add(&mut self, value: &str) {
        self.bytes = self.bytes.max(value.len());
        if self.characters < value.len() {
            self.characters = self.characters.max(value.chars().count());
        }
        if self.kind == Some(Kind::Text) {
            return;
        }
        let kind = self.kind_of(value);
        self.kind = Some(match self.kind {
            None => kind,
            Some(before) if before == kind => kind,
            Some(before) => common(before, kind),
        });
    }

    fn kind_of(&mut self, value: &str) -> Kind {
        let unsigned = value.strip_prefix('-').unwrap_or(value);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // Numbers with leading zeros are codes, which a number type would damage.
        let is_whole = is_digits(whole) && (whole == "0" || !whole.starts_with('0'));
        if is_whole && (is_digits(fraction) || !unsigned.contains('.')) {
            self.digits = (self.digits.0.max(whole.len()), self.digits.1.max(fraction.len()));
            return match () {
                () if unsigned.contains('.') => Kind::Decimal,
                () if value.parse::<i64>().is_ok() => Kind::Integer,
                () if value.parse::<u64>().is_ok() => Kind::Unsigned,
                () => Kind::Decimal,
            };
        }
        if unsigned.starts_with(|c: char| c.is_ascii_digit())
            && unsigned.contains(['e', 'E'])
            && value.parse::<f64>().is_ok_and(f64::is_finite)
        {
            return Kind::Double;
        }
        if is_bytes(value) {
            return Kind::Bytes;
        }
        match value.get(..10).filter(|date| is_date(date)) {
            Some(_) if value.len() == 10 => Kind::Date,
            Some(_) if value.get(10..).is_some_and(is_time) => Kind::DateTime,
            _ => Kind::Text,
        }
    }

    /// Returns the column's type; `key` says that it is in the primary key.
    pub fn ty(&self, key: bool) -> String {
        let (whole, fraction) = self.digits;
        match self.kind {
            Some(Kind::Integer) => "BIGINT".into(),
            Some(Kind::Unsigned) => "BIGINT UNSIGNED".into(),
            Some(Kind::Decimal) if whole + fraction <= 65 && fraction <= 30 => {
                format!("DECIMAL({},{fraction})", whole + fraction)
            }
            Some(Kind::Decimal | Kind::Double) => "DOUBLE".into(),
            Some(Kind::Date) => "DATE".into(),
            Some(Kind::DateTime) => "DATETIME(6)".into(),
            Some(Kind::Bytes) if key => format!("VARBINARY({})", self.bytes / 2),
            Some(Kind::Bytes) => "LONGBLOB".into(),
            Some(Kind::Text) if key => format!("VARCHAR({})", self.characters.max(1)),
            None | Some(Kind::Text) if self.characters <= 255 => "VARCHAR(255)".into(),
            None | Some(Kind::Text) => "LONGTEXT".into(),
        }
    }
}

/// Returns the kind that fits the values of both.
fn common(one: Kind, other: Kind) -> Kind {
    use Kind::{Date, DateTime, Decimal, Double, Integer, Text, Unsigned};
    match (one.min(other), one.max(other)) {
        // A negative value does not fit together with one beyond the signed range.
        (Integer, Unsigned) => Decimal,
        (Integer | Unsigned, Decimal) => Decimal,
        (Integer | Unsigned | Decimal, Double) => Double,
        (Date, DateTime) => DateTime,
        _ => Text,
    }
}

/// Whether it is bytes as `0x..`.
pub fn is_bytes(value: &str) -> bool {
    let digits = value.strip_prefix("0x");
    digits.is_some_and(|digits| digits.len() % 2 == 0 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_date(text: &str) -> bool {
    let number = |range: std::ops::Range<usize>| {
        text.get(range).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse::<u16>().ok()
    };
    let dashes = text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    dashes
        && matches!((year, month, day), (Some(year), Some(month), Some(day))
            if Date::from_civil(year, month as u8, day as u8).is_some())
}

/// Whether it is ` 12:34:56` or `T12:34:56.789`.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let two = |at: usize, most: u8| {
        let digits = bytes.get(at..at + 2).filter(|digits| digits.iter().all(u8::is_ascii_digit));
        digits.is_some_and(|digits| digits.iter().fold(0, |n, digit| n * 10 + (digit - b'0')) <= most)
    };
    let fraction = bytes.get(9..).unwrap_or_default();
    let is_fraction = fraction.is_empty()
        || (fraction.len() <= 7
            && fraction.starts_with(b".")
            && fraction.iter().skip(1).all(u8::is_ascii_digit));
    matches!(bytes.first(), Some(b' ' | b'T'))
        && two(1, 23)
        && bytes.get(3) == Some(&b':')
        && two(4, 59)
        && bytes.get(6) == Some(&b':')
        && two(7, 59)
        && is_fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_fit_all_values() {
        for (values, expected) in [
            (&["1", "-20"][..], "BIGINT"),
            (&["18446744073709551615", "1"], "DECIMAL(20,0)"),
            (&["18446744073709551615"], "BIGINT UNSIGNED"),
            (&["1.50", "100"], "DECIMAL(5,2)"),
            (&["1.5", "1e9"], "DOUBLE"),
            (&["007", "1"], "VARCHAR(255)"),
            (&["2024-02-29"], "DATE"),
            (&["2024-02-29", "2024-01-01T23:59:59.123456"], "DATETIME(6)"),
            (&["2024-02-30"], "VARCHAR(255)"),
            (&["0x00FF", "0x"], "LONGBLOB"),
            (&["x", "1"], "VARCHAR(255)"),
            (&[], "VARCHAR(255)"),
        ] {
            let mut sniffed = Sniffed::new();
            values.iter().for_each(|value| sniffed.add(value));
            assert_eq!(sniffed.ty(false), expected, "{values:?}");
        }
        let mut long = Sniffed::new();
        long.add(&"é".repeat(300));
        assert_eq!((long.ty(false), long.ty(true)), ("LONGTEXT".into(), "VARCHAR(300)".into()));
    }
}
