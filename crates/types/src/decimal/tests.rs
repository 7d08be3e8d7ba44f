//! Tests decimals against schoolbook arithmetic on decimal digits, and against MySQL's results.

use std::collections::hash_map::DefaultHasher;

use rand::Rng;
use rand::rngs::SmallRng;

use super::*;
use crate::testing;

/// A whole number as decimal digits, lowest first, without leading zeros, and a sign.
#[derive(Clone, Debug, PartialEq)]
struct School {
    negative: bool,
    digits: Vec<u8>,
}

fn trim(mut digits: Vec<u8>) -> Vec<u8> {
    while digits.last() == Some(&0) {
        digits.pop();
    }
    digits
}

fn less(a: &[u8], b: &[u8]) -> bool {
    (a.len(), a.iter().rev().collect::<Vec<_>>()) < (b.len(), b.iter().rev().collect::<Vec<_>>())
}

fn add(a: &[u8], b: &[u8]) -> Vec<u8> {
    let (mut out, mut carry) = (Vec::new(), 0);
    for i in 0..a.len().max(b.len()) + 1 {
        let t = a.get(i).unwrap_or(&0) + b.get(i).unwrap_or(&0) + carry;
        out.push(t % 10);
        carry = t / 10;
    }
    trim(out)
}

/// Returns `a - b`; a is not less than b.
fn subtract(a: &[u8], b: &[u8]) -> Vec<u8> {
    let (mut out, mut borrow) = (Vec::new(), 0i8);
    for (i, &digit) in a.iter().enumerate() {
        let t = digit as i8 - *b.get(i).unwrap_or(&0) as i8 - borrow;
        out.push(t.rem_euclid(10) as u8);
        borrow = (t < 0) as i8;
    }
    trim(out)
}

fn multiply(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut out = vec![0u32; a.len() + b.len() + 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            out[i + j] += u32::from(x * y);
        }
    }
    for i in 1..out.len() {
        out[i] += out[i - 1] / 10;
        out[i - 1] %= 10;
    }
    trim(out.into_iter().map(|d| d as u8).collect())
}

/// Divides digit by digit, by repeated subtraction.
fn divide(a: &[u8], b: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut quotient, mut rest) = (vec![0; a.len()], Vec::new());
    for i in (0..a.len()).rev() {
        rest.insert(0, a[i]);
        rest = trim(rest);
        while !less(&rest, b) {
            rest = subtract(&rest, b);
            quotient[i] += 1;
        }
    }
    (trim(quotient), rest)
}

fn shift(digits: &[u8], by: usize) -> Vec<u8> {
    trim(std::iter::repeat_n(0, by).chain(digits.iter().copied()).collect())
}

impl School {
    fn of(d: &Decimal) -> Self {
        let text = d.to_string();
        let digits = text.bytes().rev().filter(u8::is_ascii_digit).map(|b| b - b'0').collect();
        School { negative: text.starts_with('-'), digits: trim(digits) }
    }

    fn at_scale(d: &Decimal, scale: u8) -> Self {
        let s = Self::of(d);
        School { digits: shift(&s.digits, (scale - d.scale()).into()), ..s }
    }

    fn plus(&self, other: &Self) -> Self {
        if self.negative == other.negative {
            return School { negative: self.negative, digits: add(&self.digits, &other.digits) };
        }
        let (big, small) = if less(&self.digits, &other.digits) { (other, self) } else { (self, other) };
        School { negative: big.negative, digits: subtract(&big.digits, &small.digits) }
    }

    fn minus(&self, other: &Self) -> Self {
        self.plus(&School { negative: !other.negative, digits: other.digits.clone() })
    }

    /// Drops the last digits, rounding half away from zero.
    fn rounded(&self, drop: usize) -> Self {
        let up = drop > 0 && self.digits.get(drop - 1).is_some_and(|&d| d >= 5);
        let kept = self.digits.get(drop..).unwrap_or_default();
        School { negative: self.negative, digits: if up { add(kept, &[1]) } else { kept.to_vec() } }
    }

    /// Returns the text of the decimal; None beyond 65 digits.
    fn decimal(&self, scale: u8) -> Option<String> {
        if self.digits.len() > 65 {
            return None;
        }
        let mut text: Vec<u8> = self.digits.iter().map(|d| d + b'0').collect();
        while text.len() <= scale.into() {
            text.push(b'0');
        }
        if scale > 0 {
            text.insert(scale.into(), b'.');
        }
        if self.negative && !self.digits.is_empty() {
            text.push(b'-');
        }
        text.reverse();
        String::from_utf8(text).ok()
    }
}

fn random(rng: &mut SmallRng) -> Decimal {
    let scale = rng.random_range(0..=30u8);
    let most = if rng.random_bool(0.5) { 65 } else { 18 };
    let digits = testing::digits(rng, most);
    let padded = format!("{digits:0>width$}", width = usize::from(scale) + 1);
    let (whole, fraction) = padded.split_at(padded.len() - usize::from(scale));
    let sign = if rng.random() { "-" } else { "" };
    let d = Decimal::parse(&format!("{sign}{whole}.{fraction}")).unwrap();
    assert_eq!(d.scale(), scale);
    d
}

fn shown(d: Option<Decimal>) -> Option<String> {
    d.map(|d| d.to_string())
}

#[test]
fn add_subtract_multiply_agree_with_schoolbook() {
    let mut rng = testing::rng("add_subtract_multiply");
    for _ in 0..testing::iterations(5_000) {
        let (a, b) = (random(&mut rng), random(&mut rng));
        let scale = a.scale().max(b.scale());
        let (x, y) = (School::at_scale(&a, scale), School::at_scale(&b, scale));
        assert_eq!(shown(a.checked_add(&b)), x.plus(&y).decimal(scale), "{a} + {b}");
        assert_eq!(shown(a.checked_sub(&b)), x.minus(&y).decimal(scale), "{a} - {b}");

        let (x, y) = (School::of(&a), School::of(&b));
        let exact = a.scale() + b.scale();
        let product = School { negative: x.negative != y.negative, digits: multiply(&x.digits, &y.digits) };
        let product = product.rounded(exact.saturating_sub(30).into());
        assert_eq!(shown(a.checked_mul(&b)), product.decimal(exact.min(30)), "{a} * {b}");
    }
}

#[test]
fn divide_and_remainder_agree_with_schoolbook() {
    let mut rng = testing::rng("divide_and_remainder");
    for _ in 0..testing::iterations(1_000) {
        let (a, b) = (random(&mut rng), random(&mut rng));
        if b.is_zero() {
            assert!(
                a.checked_div(&b, 4).is_none()
                    && a.checked_div_within(&b, 4).is_none()
                    && a.checked_rem(&b).is_none()
            );
            continue;
        }
        let (x, y) = (School::of(&a), School::of(&b));
        let negative = x.negative != y.negative;
        let quotient = |scale: u8| {
            // a / b * 10^scale, with both brought to whole numbers of one scale.
            let dividend = shift(&x.digits, (scale + b.scale()).into());
            let divisor = shift(&y.digits, a.scale().into());
            School { negative, digits: divide(&dividend, &divisor).0 }.decimal(scale)
        };
        let least = (a.scale() + 4).min(30);
        let expected = quotient(division_scale(a.scale(), b.scale(), 4)).or_else(|| quotient(least));
        assert_eq!(shown(a.checked_div_within(&b, 4)), expected, "{a} / {b}");
        let to = rng.random_range(0..=30);
        let ten_times = |s: School| School {
            digits: divide(
                &shift(&s.digits, (to + b.scale() + 1).into()),
                &shift(&y.digits, a.scale().into()),
            )
            .0,
            ..s
        };
        let rounded = School { negative, ..ten_times(x.clone()).rounded(1) }.decimal(to);
        assert_eq!(shown(a.checked_div(&b, to)), rounded, "{a} / {b} to {to} digits");
        assert_eq!(shown(a.checked_div_integer(&b)), quotient(0), "{a} DIV {b}");

        let scale = a.scale().max(b.scale());
        let (x, y) = (School::at_scale(&a, scale), School::at_scale(&b, scale));
        let rest = School { negative: x.negative, digits: divide(&x.digits, &y.digits).1 };
        assert_eq!(shown(a.checked_rem(&b)), rest.decimal(scale), "{a} % {b}");
    }
}

#[test]
fn rounding_agrees_with_schoolbook() {
    let mut rng = testing::rng("rounding");
    for _ in 0..testing::iterations(5_000) {
        let a = random(&mut rng);
        let x = School::of(&a);
        let to = rng.random_range(-40..=30i32);
        let drop = (i32::from(a.scale()) - to).max(0) as usize;
        let grow = (to - i32::from(a.scale())).max(0).max(-to) as usize;
        let back = |s: School| School { digits: shift(&s.digits, grow), ..s }.decimal(to.max(0) as u8);
        assert_eq!(shown(a.round(to)), back(x.rounded(drop)), "ROUND({a}, {to})");
        let cut = School { digits: x.digits.get(drop..).unwrap_or_default().to_vec(), ..x };
        assert_eq!(shown(a.truncate(to)), back(cut), "TRUNCATE({a}, {to})");
    }
}

#[test]
fn order_equality_and_hash_agree_with_the_difference() {
    let hash = |d: &Decimal| {
        let mut h = DefaultHasher::new();
        d.hash(&mut h);
        h.finish()
    };
    let mut rng = testing::rng("order");
    for _ in 0..testing::iterations(5_000) {
        let a = random(&mut rng);
        let b = if rng.random_bool(0.3) {
            a.round(rng.random_range(0..=30)).unwrap_or(a.clone())
        } else {
            random(&mut rng)
        };
        let scale = a.scale().max(b.scale());
        let difference = School::at_scale(&a, scale).minus(&School::at_scale(&b, scale));
        let expected = match (difference.digits.is_empty(), difference.negative) {
            (true, _) => Ordering::Equal,
            (_, true) => Ordering::Less,
            _ => Ordering::Greater,
        };
        assert_eq!(a.cmp(&b), expected, "{a} <=> {b}");
        if expected == Ordering::Equal {
            assert_eq!(hash(&a), hash(&b), "{a} = {b}");
        }
    }
}

#[test]
fn text_goes_both_ways() {
    let mut rng = testing::rng("text");
    for _ in 0..testing::iterations(5_000) {
        let a = random(&mut rng);
        let back = Decimal::parse(&a.to_string()).unwrap();
        assert_eq!((&back, back.scale()), (&a, a.scale()));
        assert_eq!(back.to_string(), a.to_string());
        let exponent = rng.random_range(-20..20);
        let plain = a.to_string();
        let scale = i32::from(a.scale()) - exponent;
        if let Some(moved) = Decimal::parse(&format!("{plain}e{exponent}"))
            && (0..=30).contains(&scale)
        {
            assert_eq!((moved.unscaled(), moved.scale()), (a.unscaled(), scale as u8), "{plain}e{exponent}");
        }
    }
}

#[test]
fn literals_as_mysql_reads_them() {
    for (text, shown) in [
        ("1.50", "1.50"),
        ("-.5", "-0.5"),
        ("5.", "5"),
        ("007", "7"),
        ("-0.00", "0.00"),
        ("+1e2", "100"),
        ("1.5e-3", "0.0015"),
        ("0e100", "0"),
        ("1E+1", "10"),
        ("0.1234567890123456789012345678905", "0.123456789012345678901234567891"),
        ("0.0000000000000000000000000000005", "0.000000000000000000000000000001"),
        ("0.00000000000000000000000000000049", "0.000000000000000000000000000000"),
    ] {
        assert_eq!(shown, Decimal::parse(text).unwrap().to_string(), "{text}");
    }
    for text in ["", "-", ".", "1e", "1x", " 1", "1e400", "e5", "--1", "1.2.3"] {
        assert!(Decimal::parse(text).is_none(), "{text}");
    }
    let found = Decimal::parse_prefix(b"12.5abc");
    assert_eq!((found.value.to_string().as_str(), found.consumed, found.rounded), ("12.5", 4, false));
    assert_eq!(Decimal::parse_prefix(b"1e+x").consumed, 1);
    assert_eq!(Decimal::parse_prefix(b".x").consumed, 0);
    let found = Decimal::parse_prefix(format!("-{}", "9".repeat(66)).as_bytes());
    assert!(found.overflow && found.value == Decimal::max_value(65, 0).negate());
    // One digit too many, part of them a fraction: rounding the last one away carries into a longer number.
    let nines = format!("{}.{}", "9".repeat(40), "9".repeat(26));
    assert_eq!(
        Decimal::parse(&nines).unwrap().to_string(),
        format!("1{}.{}", "0".repeat(40), "0".repeat(24))
    );
}

#[test]
fn results_as_mysql_gives_them() {
    let d = |s: &str| Decimal::parse(s).unwrap();
    let div = |a: &str, b: &str, scale| {
        d(a).checked_div_within(&d(b), 4).unwrap().round(scale).unwrap().to_string()
    };
    assert_eq!(div("2.00000", "3", 9), "0.666666666");
    assert_eq!(div("2.0000", "3", 8), "0.66666667");
    assert_eq!(div("2", "3", 4), "0.6667");
    let third = d("1").checked_div_within(&d("3"), 4).unwrap();
    assert_eq!(third.checked_mul(&d("3")).unwrap().round(4).unwrap().to_string(), "1.0000");
    assert_eq!(d("-5.5").checked_rem(&d("2")).unwrap().to_string(), "-1.5");
    assert_eq!(d("5.25").checked_rem(&d("-2")).unwrap().to_string(), "1.25");
    assert_eq!(d("-5.5").checked_div_integer(&d("2")).unwrap().to_string(), "-2");
    assert_eq!(d("-2.5").round(0).unwrap().to_string(), "-3");
    assert_eq!(d("1250").round(-2).unwrap().to_string(), "1300");
    assert_eq!(d("-1.2").floor().unwrap().to_string(), "-2");
    assert_eq!(d("1.2").ceil().unwrap().to_string(), "2");
    assert_eq!(d("9.99").to_i64(), Some(10));
    assert_eq!(d("18446744073709551615").to_u64(), Some(u64::MAX));
    assert_eq!(d("18446744073709551615.5").to_u64(), None);
    assert!(
        d("999.99").fits(5, 2) && !d("999.995").fits(5, 2) && d("1.500").fits(2, 1) && !d("100").fits(4, 2)
    );
    assert_eq!(Decimal::max_value(5, 2).to_string(), "999.99");
}

#[test]
fn doubles_go_both_ways() {
    for (v, shown) in
        [(0.1, "0.1"), (-2.5e-3, "-0.0025"), (1e20, "100000000000000000000"), (123456.789, "123456.789")]
    {
        let d = Decimal::from_f64(v).unwrap();
        assert_eq!(d.to_string(), shown);
        assert_eq!(d.to_f64(), v);
    }
    assert!(Decimal::from_f64(f64::NAN).is_none() && Decimal::from_f64(1e66).is_none());
    let mut rng = testing::rng("doubles");
    for _ in 0..testing::iterations(5_000) {
        let a = random(&mut rng);
        assert_eq!(a.to_f64(), a.to_string().parse::<f64>().unwrap(), "{a}");
    }
}
