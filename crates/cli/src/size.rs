//! Sizes on the command line, and the default size of the buffer pool.

use leafline_sql::machine_memory;
use std::fmt;
use std::str::FromStr;

/// A number of bytes, written `4096`, `512K`, `64M`, `1G` or `1T` (powers of 1024, as in MySQL).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Size(pub u64);

const UNITS: [(char, u32); 4] = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let last = text.chars().last().map(|c| c.to_ascii_uppercase());
        let unit = UNITS.iter().find(|(name, _)| Some(*name) == last);
        let digits = if unit.is_some() { &text[..text.len() - 1] } else { text };
        let shift = unit.map_or(0, |(_, shift)| *shift);
        let wrong = || format!("'{text}' is not a size: write a number of bytes, or 512K, 64M, 1G, 1T");
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        number.checked_mul(1 << shift).map(Size).ok_or_else(wrong)
    }
}

/// Writes the size in the largest unit that gives a whole number.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |shift: u32| self.0 >> shift << shift == self.0;
        match UNITS.iter().find(|(_, shift)| self.0 > 0 && whole(*shift)) {
            Some((name, shift)) => write!(f, "{}{name}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Returns bytes in a readable form: `12.3 MiB`.
pub fn human_bytes(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{value:.1} {}", units[unit]) }
}

/// Returns the default buffer pool of a server: a quarter of the memory, from 128M to 64G.
pub fn default_server_pool() -> Size {
    let quarter = machine_memory().map_or(0, |memory| memory / 4);
    Size((quarter >> 20 << 20).clamp(128 << 20, 64 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written_in_powers_of_1024() {
        for (text, bytes) in
            [("0", 0), ("4096", 4096), ("64M", 64 << 20), ("1g", 1 << 30), ("2T", 2 << 40), ("1K", 1024)]
        {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "+1M", "64MB", "99999999T", "é"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
        for text in ["0", "1000", "512K", "1536M", "3G"] {
            assert_eq!(text.parse::<Size>().map(|size| size.to_string()), Ok(text.into()));
        }
    }

    #[test]
    fn a_server_has_a_pool_of_128_mib_at_least() {
        assert!(default_server_pool() >= Size(128 << 20));
    }

    #[test]
    fn bytes_are_rounded_for_people() {
        assert_eq!(human_bytes(1023), "1023 bytes");
        assert_eq!(human_bytes(1536), "1.5 KiB");
        assert_eq!(human_bytes(5 << 30), "5.0 GiB");
    }
}
