//! Restores values from the bytes of their keys and their differences.

use super::{CaseEncoding, KIND_AT, MORE_SPACES, MORE_UNITS, NEGATIVE_ZERO, SPACES_AT, WAY};
use crate::codec::fixed::Fixed;
use crate::collation::key_strings::decode_string;
use crate::collation::{Collation, KeyUnits, Weights, weights_len};
use crate::error::CodecError;
use crate::key::{KeyPart, encode_part};
use crate::value::Value;

const MALFORMED: CodecError = CodecError::Malformed { what: "difference of a string to its key" };

/// The unread part of a difference, or of a payload.
struct Bytes<'d>(&'d [u8]);

impl<'d> Bytes<'d> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<usize> {
        match self.byte()? {
            one @ 0..128 => Some(one.into()),
            first => Some((usize::from(first & 0x7f) << 8 | usize::from(self.byte()?)) + 128),
        }
    }

    fn take(&mut self, len: usize) -> Option<&'d [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn text(&mut self, len: usize) -> Option<&'d str> {
        std::str::from_utf8(self.take(len)?).ok()
    }

    fn character(&mut self) -> Option<&'d str> {
        let len = match self.0.first()? {
            0..0x80 => 1,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        self.text(len)
    }
}

/// Returns difference `number` of `count` in a payload. Each but the last has its length before it, as a number; the
/// payload ends behind the last that is not empty.
#[inline]
pub(crate) fn difference_of(payload: &[u8], number: usize, count: usize) -> Result<&[u8], CodecError> {
    let mut rest = Bytes(payload);
    for before in 0..=number {
        if before + 1 == count || rest.0.is_empty() {
            return Ok(rest.0);
        }
        let difference = rest.number().and_then(|len| rest.take(len)).ok_or(MALFORMED)?;
        if before == number {
            return Ok(difference);
        }
    }
    Err(MALFORMED)
}

/// Returns how many bytes a difference takes in a payload; `is_last` says that it belongs to the last part.
pub(crate) fn difference_len(difference: &[u8], is_last: bool) -> usize {
    let len = difference.len();
    len + if is_last { 0 } else { 1 + usize::from(len >= 128) }
}

/// Restores the value of a part that is not NULL, and returns it with the length of its key bytes. `body` begins
/// behind the marker.
pub(crate) fn restore_value(
    part: &KeyPart,
    body: &[u8],
    difference: &[u8],
) -> Result<(Value, usize), CodecError> {
    if let Some(fixed) = Fixed::of(&part.ty) {
        let number = fixed.ordered_value(body, part.mask())?;
        return match difference {
            [] => Ok((Value::Double(number), fixed.width())),
            NEGATIVE_ZERO if number == 0.0 => Ok((Value::Double(-0.0), fixed.width())),
            _ => Err(CodecError::Malformed { what: "difference of a number to its key" }),
        };
    }
    let mut text = Vec::new();
    let len = restore_text(part, body, difference, &mut text)?;
    let text = String::from_utf8(text).map_err(|_| MALFORMED)?;
    Ok((Value::String(text.into()), len))
}

/// Appends the string of a part that is not NULL, and returns the length of its key bytes. `body` begins behind the
/// marker. Appends valid UTF-8; after an error the appended bytes are arbitrary.
#[inline]
pub(crate) fn restore_text(
    part: &KeyPart,
    body: &[u8],
    difference: &[u8],
    out: &mut Vec<u8>,
) -> Result<usize, CodecError> {
    let mask = part.mask();
    let Some(weights) = part.collation.weights() else {
        return restore_padded(part.collation, (body, mask), difference, out);
    };
    let start = out.len();
    if let Some(case) = PlainCase::of(difference)
        && let Some(len) = weights.append_plain((body, mask), case.is_second(), out)
    {
        case.set(weights, start, out);
        return Ok(len);
    }
    out.truncate(start);
    let len = weights_len(body, mask).ok_or(MALFORMED)?;
    restore_units(weights, (body, mask), difference, out)?;
    Ok(len)
}

/// A difference that gives the forms of characters by a way alone, without bits, spaces or edits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainCase(CaseEncoding);

impl PlainCase {
    /// Returns the way of `difference` if it is nothing else.
    #[inline]
    pub(crate) fn of(difference: &[u8]) -> Option<PlainCase> {
        Some(PlainCase(match difference {
            [] => CaseEncoding::First,
            [1] => CaseEncoding::Initial,
            [2] => CaseEncoding::Second,
            [3] => CaseEncoding::Words,
            _ => return None,
        }))
    }

    /// Whether all characters have their second form; otherwise the caller appends first forms.
    #[inline]
    pub(crate) fn is_second(self) -> bool {
        self.0 == CaseEncoding::Second
    }

    /// Whether characters appended by [`is_second`](Self::is_second) need no further change.
    #[inline]
    pub(crate) fn is_set(self) -> bool {
        matches!(self.0, CaseEncoding::First | CaseEncoding::Second)
    }

    /// Changes the ASCII characters of a string, which begins at `start`, to the forms that the way gives.
    #[inline]
    pub(crate) fn set(self, weights: &'static Weights, start: usize, out: &mut [u8]) {
        if !self.is_set() {
            Case { weights, way: self.0, bits: &[], start, standing: 0 }.set(start, out);
        }
    }
}

/// Restores a string of a PAD SPACE collation without weights.
fn restore_padded(
    collation: Collation,
    (key, mask): (&[u8], u8),
    difference: &[u8],
    out: &mut Vec<u8>,
) -> Result<usize, CodecError> {
    let (text, len) = decode_string(collation, key, mask)?;
    let (way, spaces, rest) = header(difference)?;
    match way {
        CaseEncoding::Whole => out.extend_from_slice(text_of(rest.0)?),
        CaseEncoding::First if rest.0.is_empty() => {
            out.extend_from_slice(text_of(text.as_ref())?);
            out.resize(out.len() + spaces, b' ');
        }
        _ => return Err(MALFORMED),
    }
    Ok(len)
}

fn text_of(bytes: &[u8]) -> Result<&[u8], CodecError> {
    std::str::from_utf8(bytes).map(str::as_bytes).map_err(|_| MALFORMED)
}

/// Reads the way and the count of trailing spaces; returns them with the rest.
fn header(difference: &[u8]) -> Result<(CaseEncoding, usize, Bytes<'_>), CodecError> {
    let mut rest = Bytes(difference);
    let Some(header) = rest.byte() else { return Ok((CaseEncoding::First, 0, rest)) };
    let way = match header & WAY {
        0 => CaseEncoding::First,
        1 => CaseEncoding::Initial,
        2 => CaseEncoding::Second,
        3 => CaseEncoding::Words,
        4 => CaseEncoding::Bits,
        5 => CaseEncoding::Whole,
        _ => return Err(MALFORMED),
    };
    let mut spaces = usize::from(header >> SPACES_AT);
    if spaces == MORE_SPACES {
        spaces += rest.number().ok_or(MALFORMED)?;
    }
    Ok((way, spaces, rest))
}

/// An edit and the units before it.
struct Edit<'d> {
    /// Units since the last edit.
    passed: usize,
    what: What<'d>,
}

enum What<'d> {
    OtherForm,
    /// A text in the place of that many units.
    Text(usize, &'d str),
}

impl<'d> Edit<'d> {
    /// Reads the next edit, if there is one.
    fn read(rest: &mut Bytes<'d>) -> Result<Option<Edit<'d>>, CodecError> {
        match rest.byte() {
            None => Ok(None),
            Some(first) => Self::behind(first, rest).map(Some).ok_or(MALFORMED),
        }
    }

    fn behind(first: u8, rest: &mut Bytes<'d>) -> Option<Edit<'d>> {
        let mut passed = usize::from(first) & MORE_UNITS;
        if passed == MORE_UNITS {
            passed += rest.number()?;
        }
        let what = match first >> KIND_AT {
            0 => What::OtherForm,
            1 => What::Text(1, rest.character()?),
            2 => What::Text(0, rest.character()?),
            _ => {
                let (units, len) = (rest.number()?, rest.number()?);
                What::Text(units, rest.text(len)?)
            }
        };
        Some(Edit { passed, what })
    }
}

/// Restores a string from the units of its key.
fn restore_units(
    weights: &'static Weights,
    (key, mask): (&[u8], u8),
    difference: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let (way, spaces, mut rest) = header(difference)?;
    if way == CaseEncoding::Whole {
        out.extend_from_slice(text_of(rest.0)?);
        return Ok(());
    }
    let mut bits = Bytes(&[]);
    if way == CaseEncoding::Bits {
        bits.0 = rest.number().and_then(|len| rest.take(len)).ok_or(MALFORMED)?;
    }
    let start = out.len();
    let mut case = Case { weights, way, bits: bits.0, start, standing: 0 };
    let mut units = KeyUnits::new(weights, key, mask);
    let mut edit = Edit::read(&mut rest)?;
    loop {
        let most = edit.as_ref().map_or(usize::MAX, |edit| edit.passed);
        let plain = match case.is_same() {
            Some(second) => units.append_many(most, second, out).ok_or(MALFORMED)?,
            None => {
                let from = out.len();
                let plain = units.append_plain(most, false, out);
                case.set(from, out);
                plain
            }
        };
        let mut other = false;
        if let Some(Edit { passed, what }) = &mut edit {
            *passed -= plain.min(*passed);
            match (*passed, what) {
                (0, What::Text(replaced, text)) => {
                    for _ in 0..*replaced {
                        units.next().ok_or(MALFORMED)?;
                    }
                    out.extend_from_slice(text.as_bytes());
                    edit = Edit::read(&mut rest)?;
                    continue;
                }
                (0, What::OtherForm) => {
                    other = true;
                    edit = Edit::read(&mut rest)?;
                }
                _ => *passed -= 1,
            }
        }
        let Some(unit) = units.next() else {
            if other || edit.is_some() || units.has_failed() {
                return Err(MALFORMED);
            }
            break;
        };
        let second = unit.has_two_forms() && case.is_second(out) != other;
        out.extend_from_slice(unit.text(second).ok_or(MALFORMED)?);
    }
    out.resize(out.len() + spaces, b' ');
    Ok(())
}

/// The forms of characters that have two.
struct Case<'d> {
    weights: &'static Weights,
    way: CaseEncoding,
    bits: &'d [u8],
    /// The offset of the string in the output.
    start: usize,
    /// The number of preceding characters that have two forms.
    standing: usize,
}

impl Case<'_> {
    /// Whether the next such character, behind `out`, has the second form.
    #[inline]
    fn is_second(&mut self, out: &[u8]) -> bool {
        let standing = self.standing;
        self.standing += 1;
        match self.way {
            CaseEncoding::Bits => {
                self.bits.get(standing / 8).is_some_and(|byte| byte >> (standing % 8) & 1 != 0)
            }
            way => way.is_second(standing, out.get(self.start..).unwrap_or_default()),
        }
    }

    /// Returns whether all further such characters have the second form; None if that depends on the character.
    #[inline]
    fn is_same(&self) -> Option<bool> {
        match self.way {
            CaseEncoding::First | CaseEncoding::Whole => Some(false),
            CaseEncoding::Second => Some(true),
            CaseEncoding::Initial => (self.standing > 0).then_some(false),
            CaseEncoding::Words | CaseEncoding::Bits => None,
        }
    }

    /// Changes the characters from `from` on, which are first forms and ASCII, to the forms that the way gives.
    #[inline]
    fn set(&mut self, from: usize, out: &mut [u8]) {
        let bits = |character: u8| self.weights.case_bits(character);
        if self.way == CaseEncoding::Words {
            for at in from..out.len() {
                let (before, behind) = out.split_at_mut(at);
                if let Some(character) = behind.first_mut()
                    && CaseEncoding::Words.is_second(0, before.get(self.start..).unwrap_or_default())
                {
                    *character ^= bits(*character);
                }
            }
            return;
        }
        let mut standing = self.standing;
        for character in out.get_mut(from..).unwrap_or_default() {
            let bits = bits(*character);
            let second = match self.way {
                CaseEncoding::Bits => {
                    self.bits.get(standing / 8).copied().unwrap_or(0) >> (standing % 8) & 1 != 0
                }
                way => way.is_second(standing, &[]),
            };
            *character ^= if second { bits } else { 0 };
            standing += usize::from(bits != 0);
        }
        self.standing = standing;
    }
}

/// Checks that a part of a key, with its marker, and a difference are those of the value that they restore; returns
/// the length of the part.
pub(crate) fn verify(part: &KeyPart, key: &[u8], difference: &[u8]) -> Result<usize, CodecError> {
    let (present, marker) = part.marker(key)?;
    let (value, len) = match present {
        true => restore_value(part, key.get(marker..).unwrap_or_default(), difference)?,
        false => (Value::Null, 0),
    };
    let (mut bytes, mut written) = (Vec::new(), Vec::new());
    encode_part(part, &value, &mut bytes)?;
    super::append_difference(part, &value, &mut written)?;
    let same = key.get(..marker + len) == Some(&bytes[..]) && written == difference;
    if same { Ok(marker + len) } else { Err(MALFORMED) }
}
