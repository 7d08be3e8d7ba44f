//! Computes and writes differences.

use super::{CaseEncoding, KIND_AT, Kind, MORE_SPACES, MORE_UNITS, MOST, NEGATIVE_ZERO, SPACES_AT};
use crate::collation::{Collation, StringUnits, Weights, trim_spaces};
use crate::error::CodecError;
use crate::key::KeyPart;
use crate::value::Value;

/// Appends the differences of the values of some parts as a payload.
pub(crate) fn append_differences<'v>(
    values: impl ExactSizeIterator<Item = (&'v KeyPart, &'v Value)>,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let (count, mut end) = (values.len(), out.len());
    for (number, (part, value)) in values.enumerate() {
        let start = out.len();
        append_difference(part, value, out)?;
        let len = out.len() - start;
        if number + 1 < count {
            if len > MOST {
                return Err(CodecError::TooLong { bytes: len, limit: MOST });
            }
            put_number(out, len);
            let number = out.len() - start - len;
            out.get_mut(start..).unwrap_or_default().rotate_right(number);
        }
        if len > 0 {
            end = out.len();
        }
    }
    out.truncate(end);
    Ok(())
}

/// Appends the difference of a value, which is NULL or of the part's type, to the value that its key implies.
pub(super) fn append_difference(part: &KeyPart, v: &Value, out: &mut Vec<u8>) -> Result<(), CodecError> {
    match v {
        Value::Null => {}
        Value::Double(d) if d.to_bits() == (-0.0f64).to_bits() => out.extend_from_slice(NEGATIVE_ZERO),
        Value::Double(_) => {}
        Value::String(s) if part.ty.is_character() => of_string(part.collation, s, out),
        _ => return Err(CodecError::mismatch(v.kind(), &part.ty)),
    }
    Ok(())
}

/// Appends a number, which is at most [`MOST`].
pub(super) fn put_number(out: &mut Vec<u8>, value: usize) {
    match value.checked_sub(128) {
        None => out.push(value as u8),
        Some(rest) => out.extend_from_slice(&(rest as u16 | 0x8000).to_be_bytes()),
    }
}

fn of_string(collation: Collation, s: &str, out: &mut Vec<u8>) {
    let text = match collation.pads_space() {
        true => s.get(..trim_spaces(s.as_bytes()).len()).unwrap_or(s),
        false => s,
    };
    let spaces = s.len() - text.len();
    let start = out.len();
    let written = spaces <= MOST
        && match collation.weights() {
            None => {
                if spaces > 0 {
                    put_header(CaseEncoding::First, spaces, out);
                }
                true
            }
            Some(weights) => of_weights(weights, text, spaces, out),
        };
    if !written || out.len() - start > 1 + s.len() {
        out.truncate(start);
        out.push(CaseEncoding::Whole as u8);
        out.extend_from_slice(s.as_bytes());
    }
}

fn put_header(way: CaseEncoding, spaces: usize, out: &mut Vec<u8>) {
    out.push(way as u8 | (spaces.min(MORE_SPACES) as u8) << SPACES_AT);
    if let Some(more) = spaces.checked_sub(MORE_SPACES) {
        put_number(out, more);
    }
}

/// A piece of a string and the units of the key that it has.
enum Piece<'s> {
    /// A character that is a form of a unit; for a unit with two forms, whether it is the second.
    Unit(Option<bool>),
    /// A text in the place of that many units.
    Text(usize, &'s str),
}

/// Matches a string, without trailing spaces under PAD SPACE, with the units of its key, and calls `each` with every
/// piece and its place. Returns false if they do not match.
fn pieces<'s>(weights: &'static Weights, s: &'s str, each: &mut impl FnMut(usize, Piece<'s>)) -> bool {
    if weights.is_simple(s.as_bytes()) {
        for (at, byte) in s.bytes().enumerate() {
            let (first, second) = weights.simple_forms(byte);
            each(
                at,
                match byte {
                    _ if byte != first && byte != second => {
                        Piece::Text(1, s.get(at..=at).unwrap_or_default())
                    }
                    _ => Piece::Unit((first != second).then_some(byte == second)),
                },
            );
        }
        return true;
    }
    let mut units = StringUnits::new(weights, s.as_bytes());
    let mut characters = s.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        // Trailing characters that compare as spaces have no weights left.
        let left = units.left();
        let end = |characters: &mut std::iter::Peekable<std::str::CharIndices<'_>>| {
            characters.peek().map_or(s.len(), |(at, _)| *at)
        };
        let weights_to = |from: usize, to: usize| weights.weights_of(s.get(from..to).unwrap_or_default());
        let mut to = end(&mut characters);
        let mut of_text = weights_to(at, to).min(left);
        let (mut of_units, mut count, mut last) = (0, 0, None);
        while of_text != of_units {
            if of_text > of_units {
                let Some(unit) = units.next() else { return false };
                of_units += unit.weights();
                (count, last) = (count + 1, Some(unit));
            } else {
                if characters.next().is_none() {
                    return false;
                }
                let from = std::mem::replace(&mut to, end(&mut characters));
                of_text = (of_text + weights_to(from, to)).min(left);
            }
        }
        let text = s.get(at..to).unwrap_or_default();
        let form = last.filter(|_| count == 1 && text.len() == character.len_utf8());
        let form = form.and_then(|unit| match Some(text.as_bytes()) {
            same if same == unit.text(false) => Some(unit.has_two_forms().then_some(false)),
            same if same == unit.text(true) => Some(Some(true)),
            _ => None,
        });
        each(at, form.map_or(Piece::Text(count, text), Piece::Unit));
    }
    units.left() == 0
}

/// Counts how well each way fits a string.
#[derive(Default)]
struct Forms {
    /// The number of characters that have two forms.
    standing: usize,
    /// The number of these up to the last second form.
    to_last_second: usize,
    /// The number of these that differ from the form that each of the ways 0 to 3 gives.
    others: [usize; 4],
    /// Whether there are texts.
    edited: bool,
}

const PLAIN_WAYS: [CaseEncoding; 4] =
    [CaseEncoding::First, CaseEncoding::Initial, CaseEncoding::Second, CaseEncoding::Words];

impl Forms {
    fn take(&mut self, before: &[u8], piece: &Piece<'_>) {
        match piece {
            Piece::Unit(None) => {}
            Piece::Unit(Some(second)) => {
                for (way, others) in PLAIN_WAYS.iter().zip(&mut self.others) {
                    *others += usize::from(way.is_second(self.standing, before) != *second);
                }
                self.standing += 1;
                if *second {
                    self.to_last_second = self.standing;
                }
            }
            Piece::Text(..) => self.edited = true,
        }
    }

    /// Returns the cheapest way, and the length of its bits in bytes.
    fn best(&self) -> (CaseEncoding, usize) {
        let (mut best, mut least) = (CaseEncoding::First, self.others[0]);
        for (way, others) in PLAIN_WAYS.into_iter().zip(self.others) {
            if others < least {
                (best, least) = (way, others);
            }
        }
        let bits = self.to_last_second.div_ceil(8);
        if bits + 1 < least { (CaseEncoding::Bits, bits) } else { (best, 0) }
    }
}

/// Writes the difference of a string, given without its `spaces` trailing spaces; returns false if it would not be
/// shorter than the string.
fn of_weights(weights: &'static Weights, s: &str, spaces: usize, out: &mut Vec<u8>) -> bool {
    if spaces == 0 && weights.is_plain(s.as_bytes()) {
        return true;
    }
    let mut forms = Forms::default();
    let together = pieces(weights, s, &mut |at, piece| {
        forms.take(s.as_bytes().get(..at).unwrap_or_default(), &piece);
    });
    let (way, bytes) = forms.best();
    if !together || bytes > MOST {
        return false;
    }
    if !forms.edited && spaces == 0 && way == CaseEncoding::First && forms.others[0] == 0 {
        return true;
    }
    put_header(way, spaces, out);
    let bits_at = match way {
        CaseEncoding::Bits => {
            put_number(out, bytes);
            out.resize(out.len() + bytes, 0);
            out.len() - bytes
        }
        _ => 0,
    };
    let mut edits = Edits { out, passed: 0, possible: true };
    let mut standing = 0;
    pieces(weights, s, &mut |at, piece| match piece {
        Piece::Unit(None) => edits.passed += 1,
        Piece::Unit(Some(second)) => {
            let before = s.as_bytes().get(..at).unwrap_or_default();
            match way {
                CaseEncoding::Bits => {
                    if second && let Some(byte) = edits.out.get_mut(bits_at + standing / 8) {
                        *byte |= 1 << (standing % 8);
                    }
                    edits.passed += 1;
                }
                _ if way.is_second(standing, before) != second => edits.put(Kind::OtherForm),
                _ => edits.passed += 1,
            }
            standing += 1;
        }
        Piece::Text(units, text) => edits.text(units, text),
    });
    edits.possible
}

/// Writes edits.
struct Edits<'o> {
    out: &'o mut Vec<u8>,
    /// Units since the last edit.
    passed: usize,
    /// Whether all numbers could be written.
    possible: bool,
}

impl Edits<'_> {
    fn put(&mut self, kind: Kind) {
        let passed = std::mem::take(&mut self.passed);
        self.out.push(passed.min(MORE_UNITS) as u8 | (kind as u8) << KIND_AT);
        if let Some(more) = passed.checked_sub(MORE_UNITS) {
            self.number(more);
        }
    }

    fn number(&mut self, number: usize) {
        self.possible &= number <= MOST;
        put_number(self.out, number.min(MOST));
    }

    fn text(&mut self, units: usize, text: &str) {
        let is_one = text.chars().nth(1).is_none();
        match (units, is_one) {
            (1, true) => self.put(Kind::Character),
            (0, true) => self.put(Kind::Inserted),
            _ => {
                self.put(Kind::Text);
                self.number(units);
                self.number(text.len());
            }
        }
        self.out.extend_from_slice(text.as_bytes());
    }
}
