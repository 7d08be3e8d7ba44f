//! Writes a DOUBLE into a string column that is too short for all of its digits, with as many digits as fit.
//!
//! MySQL writes the number plainly or with an exponent, whichever keeps more digits; if both keep as many, plainly
//! between 10^-15 and 10^15. The results were compared with MariaDB's for each width.

/// The digits of a number, without trailing zeros. `point` is how many of them are before the point; if negative, how
/// many zeros follow the point.
struct Digits {
    digits: String,
    point: i32,
}

/// Numbers with up to this many digits before the point, or zeros behind it, are written plainly.
const MOST_PLAIN: i32 = 15;

impl Digits {
    /// Reads the output of `format!("{:e}")`.
    fn of_scientific(text: &str) -> Digits {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let digits = match digits.trim_end_matches('0') {
            "" => "0".to_owned(),
            digits => digits.to_owned(),
        };
        Digits { digits, point: exponent.parse::<i32>().unwrap_or(0) + 1 }
    }

    /// Returns the fewest digits that read back as the same number, but at most `most`.
    fn shortest(number: f64, most: i32) -> Digits {
        let shortest = Digits::of_scientific(&format!("{number:e}"));
        if shortest.len() <= most.max(1) { shortest } else { Digits::rounded(number, most) }
    }

    /// Returns the digits of the number rounded to `count` digits.
    fn rounded(number: f64, count: i32) -> Digits {
        let behind = (count.max(1) - 1) as usize;
        Digits::of_scientific(&format!("{number:.behind$e}"))
    }

    /// Returns the digits of the number rounded to `places` places behind the point; no digits if it rounds to 0.
    fn rounded_at(number: f64, places: i32) -> Digits {
        let places = places.max(0) as usize;
        let text = format!("{number:.places$}");
        let whole = text.split('.').next().map_or(0, str::len) as i32;
        let all: String = text.chars().filter(char::is_ascii_digit).collect();
        let digits = all.trim_start_matches('0');
        let point = whole - (all.len() - digits.len()) as i32;
        Digits { digits: digits.trim_end_matches('0').to_owned(), point }
    }

    fn len(&self) -> i32 {
        self.digits.len() as i32
    }
}

/// Writes the number in at most `width` characters, and returns whether it fits, if need be with fewer digits. If it
/// does not, the text is cut.
pub(super) fn fitted(number: f64, width: usize) -> (String, bool) {
    let is_negative = number < 0.0;
    let mut room = width.min(64) as i32 - i32::from(is_negative);
    let number = number.abs();
    let digits = Digits::shortest(number, room);
    let (len, point) = (digits.len(), digits.point);
    let exponent_len = 1 + i32::from(point >= 101 || point <= -99) + i32::from(point >= 11 || point <= -9);
    let plain_len = match point {
        ..=0 => len - point + 2,
        _ if point < len => len + 1,
        _ => point,
    };
    let has_room = plain_len <= room;
    let only_exponent = point < 0 && room <= 2 - point && room >= 3 + exponent_len;
    let keeps_more_plainly = (-2..=room).contains(&point) && !only_exponent;
    let is_plain = match has_room {
        true => point > -MOST_PLAIN && (point <= MOST_PLAIN || len > point),
        false => keeps_more_plainly,
    };
    let sign = if is_negative { "-" } else { "" };
    let (text, fits) = if is_plain {
        room -= i32::from(point < len) + if point <= 0 { 1 - point } else { 0 };
        let fits = room >= len || room >= point;
        let digits = match room < len {
            true => Digits::rounded_at(number, room.max(point) - point),
            false => digits,
        };
        (plainly(sign, &digits), fits)
    } else {
        room -= i32::from(point < 1) + 1 + exponent_len + i32::from(len > 1);
        let digits = if room < len { Digits::rounded(number, room) } else { digits };
        (with_exponent(sign, &digits), room > 0)
    };
    (text.chars().take(width).collect(), fits)
}

fn plainly(sign: &str, Digits { digits, point }: &Digits) -> String {
    if digits.is_empty() {
        return "0".to_owned();
    }
    match usize::try_from(*point) {
        Ok(0) | Err(_) => format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
        Ok(point) if point >= digits.len() => format!("{sign}{digits}{}", "0".repeat(point - digits.len())),
        Ok(point) => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
    }
}

fn with_exponent(sign: &str, Digits { digits, point }: &Digits) -> String {
    let (first, others) = digits.split_at(1);
    let dot = if others.is_empty() { "" } else { "." };
    format!("{sign}{first}{dot}{others}e{}", point - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts that MariaDB stores; `!` marks those that it reports as too long.
    #[test]
    fn as_many_digits_are_written_as_there_is_room_for() {
        let cases: [(f64, &str); 15] = [
            (1.0 / 3.0, "1:0! 2:0 3:0.3 4:0.33 5:0.333 6:0.3333 7:0.33333 8:0.333333 9:0.3333333"),
            (2.0 / 3.0, "1:1! 2:1 3:0.7 4:0.67 5:0.667 6:0.6667 7:0.66667 8:0.666667 9:0.6666667"),
            (-1.0 / 3.0, "1:0! 3:0 4:-0.3 5:-0.33 6:-0.333 7:-0.3333 8:-0.33333 9:-0.333333 10:-0.3333333"),
            (123456.789, "1:1! 2:1e! 3:1e5! 4:1e5 5:1.2e5 6:123457 8:123456.8 9:123456.79 10:123456.789"),
            (1e15 / 3.0, "1:3! 2:3e! 3:3e1! 4:3e14! 5:3e14 6:3.3e14 7:3.33e14 8:3.333e14 9:3.3333e14"),
            (1e20 / 3.0, "1:3! 2:3e! 3:3e1! 4:3e19! 5:3e19 6:3.3e19 7:3.33e19 8:3.333e19 9:3.3333e19"),
            (-1.5e20, "1:-! 2:-2! 3:-2e! 4:-2e2! 5:-2e20! 6:-2e20 7:-1.5e20"),
            (1.5e20, "1:2! 2:2e! 3:2e2! 4:2e20! 5:2e20 6:1.5e20"),
            (1e-5 / 3.0, "1:3! 2:3e! 3:3e-! 4:3e-6! 5:3e-6 6:3.3e-6 7:3.33e-6 8:3.333e-6 9:3.3333e-6"),
            (-1e-10 / 3.0, "1:-! 2:-3! 3:-3e! 4:-3e-! 5:-3e-1! 6:-3e-11! 7:-3e-11 8:-3.3e-11 9:-3.33e-11"),
            (0.05, "1:0! 2:0 3:0.1 4:0.05"),
            (99999.95, "1:1! 2:1e! 3:1e5 6:100000 7:99999.9 8:99999.95"),
            (1e-100 / 3.0, "1:3! 2:3e! 3:3e-! 4:3e-1! 5:3e-10! 6:3e-101! 7:3e-101 8:3.3e-101 9:3.33e-101"),
            (999_999_999_999_999.9, "1:1! 2:1e! 3:1e1! 4:1e15 16:1000000000000000 17:999999999999999.9"),
            (0.01 / 3.0, "1:0! 2:0 4:3e-3! 5:0.003 6:0.0033 7:0.00333 8:0.003333 9:0.0033333 10:0.00333333"),
        ];
        for (number, texts) in cases {
            for (width, expected) in texts.split(' ').filter_map(|case| case.split_once(':')) {
                let (text, fits) = fitted(number, width.parse().unwrap());
                let shown = format!("{text}{}", if fits { "" } else { "!" });
                assert_eq!(shown, expected, "{number} in {width}");
            }
        }
    }

    #[test]
    fn with_enough_room_it_is_the_text_of_the_number() {
        for number in [0.1, -0.1, 1.0 / 3.0, 1e15, 1e14, 1e22, 5e-324, f64::MAX, 123.456, 1e-15, 1e-16, 0.0] {
            assert_eq!(fitted(number, 30), (crate::double::f64_text(number), true));
        }
    }
}
