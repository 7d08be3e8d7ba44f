//! The text of doubles, as MySQL writes them.

use std::fmt::Write;

/// Doubles with the point more than this many digits away are printed with an exponent.
const MOST_PLAIN_DIGITS: i32 = 15;

/// Writes a double with the fewest digits that read back as the same double: plainly from 10^-15 up to 15 digits,
/// otherwise with an exponent (`1e15`, `1.5e-20`).
pub(crate) fn f64_text(d: f64) -> String {
    if !d.is_finite() {
        return d.to_string();
    }
    let scientific = format!("{d:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    // Digits before the point: 0 for 0.1, -1 for 0.01.
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    if (1 - MOST_PLAIN_DIGITS..=MOST_PLAIN_DIGITS).contains(&point) {
        let mut plain = String::new();
        // Display writes the shortest plain form of a double.
        let _ = write!(plain, "{d}");
        return plain;
    }
    format!("{mantissa}e{exponent}")
}
