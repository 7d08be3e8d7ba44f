//! Decodes entries into columns: the innermost loop of every scan.
//!
//! `new` computes all that can be known before the first row: the offset of each key part up to the first of
//! variable length, the parts to walk over from there, and for each schema version the slots of the payload.

use std::sync::Arc;

use super::entry::{EntryFormat, Source};
use super::overflow::Missing;
use super::walked::{KeyValues, KeyWalkPart, whole};
use super::{Place, Slot, string};
use crate::codec::fixed::Fixed;
use crate::codec::narrow::{Narrow, RUN};
use crate::column::ColumnBuilder;
use crate::error::CodecError;
use crate::key::{KeyPart, decode_part, decode_value, is_restorable, skip_part};
use crate::value::{SqlType, Value};

/// Appends chosen columns of entries to column builders.
#[derive(Debug, Clone)]
pub struct RowDecoder {
    format: Arc<EntryFormat>,
    /// The types of the projected columns.
    types: Vec<SqlType>,
    /// Key parts at offsets that are the same in every key.
    key_direct: Vec<DirectPart>,
    /// Key parts found by walking over the key from `key_walk_from` on.
    key_walk: Vec<KeyWalkPart>,
    key_walk_from: usize,
    /// The payload columns, for each version of the format.
    payload: Vec<Vec<Step>>,
}

/// A key part at an offset that is the same in every key.
#[derive(Debug, Clone)]
struct DirectPart {
    at: usize,
    part: KeyPart,
    /// Its encoding, if the key always holds its value.
    fixed: Option<Fixed>,
    /// The fast reader of its value.
    narrow: Option<Narrow>,
    /// Its place in the output.
    out: usize,
}

impl DirectPart {
    /// Returns its value in a key.
    #[inline]
    fn value(&self, key: &[u8]) -> Result<Value, CodecError> {
        let part = key.get(self.at..).unwrap_or_default();
        match self.fixed {
            Some(fixed) => fixed.key_value(part, self.part.mask()),
            _ => Ok(decode_value(&self.part, part)?.0),
        }
    }

    /// Appends its value in a key.
    #[inline]
    fn append(&self, key: &[u8], out: &mut ColumnBuilder) -> Result<(), CodecError> {
        let part = key.get(self.at..).unwrap_or_default();
        let present = !self.part.nullable || self.part.marker(part)?.0;
        match self.narrow {
            _ if !present => out.push_null(),
            Some(narrow) if narrow.append(key, out) => {}
            _ => drop(decode_part(&self.part, part, out)?),
        }
        Ok(())
    }

    /// Appends its values in keys that begin with `prefix` and go on with `rests`.
    fn append_all(
        &self,
        prefix: &[u8],
        rests: &[&[u8]],
        key: &mut Vec<u8>,
        out: &mut ColumnBuilder,
    ) -> Result<(), CodecError> {
        let mut nulls = 0;
        if self.part.nullable {
            for (bit, rest) in rests.iter().enumerate() {
                let marker = match self.at.checked_sub(prefix.len()) {
                    None => prefix.get(self.at..),
                    Some(at) => rest.get(at..),
                };
                let (present, _) = self.part.marker(marker.unwrap_or_default())?;
                nulls |= u64::from(!present) << bit;
            }
        }
        if self.narrow.is_some_and(|narrow| narrow.append_all(prefix, rests, nulls, out)) {
            return Ok(());
        }
        rests.iter().try_for_each(|rest| self.append(whole(prefix, rest, key), out))
    }
}

/// The uses of a key part.
#[derive(Debug, Clone, Default)]
struct WantedPart {
    /// Its places in the output.
    outs: Vec<usize>,
    /// The number of its difference, and how many differences there are, if it has one.
    difference: Option<(usize, usize)>,
}

/// A payload column to decode.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Its place in the output.
    pub(super) out: usize,
    pub(super) from: Origin,
}

#[derive(Debug, Clone)]
pub(super) enum Origin {
    Slot(Slot),
    /// The row is older than the column, which reads as this value.
    Default(Value),
}

/// The caller passed fewer builders than the decoder has columns.
const TOO_FEW_BUILDERS: CodecError = CodecError::Malformed { what: "number of column builders" };

impl RowDecoder {
    /// Makes a decoder of the table columns `projection`, in that order. Returns an error if the entries do not hold
    /// one of them.
    pub fn new(format: &Arc<EntryFormat>, projection: &[usize]) -> Result<Self, CodecError> {
        let mut types = Vec::with_capacity(projection.len());
        let mut wanted_parts = vec![WantedPart::default(); format.key.len()];
        let mut payload = vec![Vec::new(); format.versions.len()];
        for (out, &column) in projection.iter().enumerate() {
            let no_column = CodecError::Malformed { what: "column that the entry does not have" };
            let (Some(source), Some(definition)) = (format.sources.get(column), format.columns.get(column))
            else {
                return Err(no_column);
            };
            types.push(definition.layout.ty.clone());
            match *source {
                Source::Absent => return Err(no_column),
                Source::Key(part) => wanted_parts[part].outs.push(out),
                Source::Difference(number) => {
                    let part = format.differences.get(number).copied().ok_or(no_column)?;
                    wanted_parts[part].outs.push(out);
                    wanted_parts[part].difference = Some((number, format.differences.len()));
                }
                Source::Payload(stored) => {
                    for (steps, version) in payload.iter_mut().zip(&format.versions) {
                        let from = match version.columns.get(stored).copied().flatten() {
                            Some(slot) => Origin::Slot(version.layout.slot(slot)?.clone()),
                            None => Origin::Default(definition.default.clone()),
                        };
                        steps.push(Step { out, from });
                    }
                }
            }
        }
        let mut decoder = RowDecoder {
            format: Arc::clone(format),
            types,
            key_direct: Vec::new(),
            key_walk: Vec::new(),
            key_walk_from: 0,
            payload,
        };
        decoder.plan_key(&wanted_parts);
        Ok(decoder)
    }

    fn plan_key(&mut self, wanted: &[WantedPart]) {
        let needed = wanted.iter().rposition(|wanted| !wanted.outs.is_empty()).map_or(0, |last| last + 1);
        for (number, (part, WantedPart { outs, difference })) in
            self.format.key.iter().zip(wanted).enumerate().take(needed)
        {
            let walked = |outs: &[usize]| KeyWalkPart {
                part: part.clone(),
                difference: *difference,
                outs: outs.to_vec(),
            };
            let fixed = Fixed::of(&part.ty).filter(|_| difference.is_none());
            let (Some(value), true) = (fixed, self.key_walk.is_empty()) else {
                self.key_walk.push(walked(outs));
                continue;
            };
            let at = self.key_walk_from;
            let value = Some(value).filter(|_| is_restorable(part));
            let narrow = value.and_then(|v| Narrow::in_key(v, at + usize::from(part.nullable), part.mask()));
            let fixed = value.filter(|_| !part.nullable);
            let direct = |out: &usize| DirectPart { at, part: part.clone(), fixed, narrow, out: *out };
            self.key_direct.extend(outs.iter().map(direct));
            match part.fixed_width() {
                Some(width) => self.key_walk_from += width,
                // A part of variable length ends, and the parts behind it begin, where its bytes say.
                None if number + 1 < needed => self.key_walk.push(walked(&[])),
                None => {}
            }
        }
    }

    /// Returns the types of the projected columns.
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// Makes empty builders, one per projected column.
    pub fn builders(&self, rows: usize) -> Vec<ColumnBuilder> {
        self.types.iter().map(|ty| ColumnBuilder::with_capacity(ty, rows)).collect()
    }

    /// Appends one entry. After an error the builders are of unequal length and must be dropped. A value outside its
    /// row is an error here: [`DecodedRows`](super::DecodedRows) handles rows that may have some.
    #[inline]
    pub fn decode(&self, key: &[u8], payload: &[u8], out: &mut [ColumnBuilder]) -> Result<(), CodecError> {
        self.decode_with(key, payload, out, None)
    }

    /// Appends one entry like [`decode`](Self::decode), but notes values outside the row, with NULL in their places.
    #[inline]
    pub(super) fn decode_with(
        &self,
        key: &[u8],
        payload: &[u8],
        out: &mut [ColumnBuilder],
        mut missing: Option<&mut Vec<Missing>>,
    ) -> Result<(), CodecError> {
        for direct in &self.key_direct {
            direct.append(key, out.get_mut(direct.out).ok_or(TOO_FEW_BUILDERS)?)?;
        }
        if !self.key_walk.is_empty() {
            self.walk_key(key, payload, out)?;
        }
        for step in self.payload_steps(payload)? {
            let builder = out.get_mut(step.out).ok_or(TOO_FEW_BUILDERS)?;
            match &step.from {
                Origin::Slot(slot) => match slot.append(payload, builder) {
                    Ok(()) => {}
                    Err(CodecError::InOverflow) => {
                        let missing = missing.as_deref_mut().ok_or(CodecError::InOverflow)?;
                        note_missing(slot, payload, (step.out, builder), missing)?;
                    }
                    Err(error) => return Err(error),
                },
                Origin::Default(value) => builder.push_value(value)?,
            }
        }
        Ok(())
    }

    /// Whether it reads keys at all.
    pub fn reads_keys(&self) -> bool {
        !(self.key_direct.is_empty() && self.key_walk.is_empty())
    }

    /// Appends up to 64 entries, column by column. Their keys begin with `prefix` and go on with `rests`, which may
    /// be left empty if [`reads_keys`](Self::reads_keys) is false. `key` is a buffer for whole keys. Otherwise like
    /// [`decode_with`](Self::decode_with).
    pub(super) fn decode_all(
        &self,
        (prefix, rests): (&[u8], &[&[u8]]),
        payloads: &[&[u8]],
        key: &mut Vec<u8>,
        out: &mut [ColumnBuilder],
        missing: &mut Vec<Missing>,
    ) -> Result<(), CodecError> {
        debug_assert!(payloads.len() <= RUN);
        let steps = match self.payload.last() {
            Some(steps) if steps.is_empty() => Some(steps),
            _ => self.format.version_of_all(payloads).and_then(|version| self.payload.get(version)),
        };
        let steps = match steps {
            Some(steps) => steps,
            None => {
                let mut rests = rests.iter();
                return payloads.iter().try_for_each(|payload| {
                    let key = rests.next().map_or(&[][..], |rest| whole(prefix, rest, key));
                    self.decode_with(key, payload, out, Some(&mut *missing))
                });
            }
        };
        for direct in &self.key_direct {
            direct.append_all(prefix, rests, key, out.get_mut(direct.out).ok_or(TOO_FEW_BUILDERS)?)?;
        }
        match self.key_walk.as_slice() {
            [] => {}
            [walked @ KeyWalkPart { difference: Some(_), outs, .. }]
                if self.key_walk_from == 0 && outs.len() == 1 =>
            {
                for to in outs {
                    let to = out.get_mut(*to).ok_or(TOO_FEW_BUILDERS)?;
                    walked.append_all((prefix, rests), payloads, key, to)?;
                }
            }
            _ => {
                let mut entries = rests.iter().zip(payloads);
                entries
                    .try_for_each(|(rest, payload)| self.walk_key(whole(prefix, rest, key), payload, out))?;
            }
        }
        for step in steps {
            let builder = out.get_mut(step.out).ok_or(TOO_FEW_BUILDERS)?;
            match &step.from {
                Origin::Slot(slot) => slot.append_all(payloads, step.out, builder, missing)?,
                Origin::Default(value) => payloads.iter().try_for_each(|_| builder.push_value(value))?,
            }
        }
        Ok(())
    }

    /// Appends the key parts that are found by walking over the key.
    #[inline]
    fn walk_key(&self, key: &[u8], payload: &[u8], out: &mut [ColumnBuilder]) -> Result<(), CodecError> {
        let mut rest = key.get(self.key_walk_from..).unwrap_or_default();
        for walked in &self.key_walk {
            let mut len = None;
            for to in &walked.outs {
                let to = out.get_mut(*to).ok_or(TOO_FEW_BUILDERS)?;
                len = Some(match walked.difference_in(payload)? {
                    Some(difference) => walked.append(rest, difference, to)?,
                    None => decode_part(&walked.part, rest, to)?,
                });
            }
            let len = match len {
                Some(len) => len,
                None => skip_part(&walked.part, rest)?,
            };
            rest = rest.get(len..).unwrap_or_default();
        }
        Ok(())
    }

    /// Appends the values of one entry to `out`.
    pub fn decode_values(&self, key: &[u8], payload: &[u8], out: &mut Vec<Value>) -> Result<(), CodecError> {
        let start = out.len();
        out.resize(start + self.types.len(), Value::Null);
        self.key_values(key, payload, out.get_mut(start..).unwrap_or_default())?;
        for step in self.payload_steps(payload)? {
            out[start + step.out] = match &step.from {
                Origin::Slot(slot) => slot.value(payload)?,
                Origin::Default(value) => value.clone(),
            };
        }
        Ok(())
    }

    /// Passes the values that the key holds to `out`; some of them need the payload.
    #[inline]
    pub(super) fn key_values(
        &self,
        key: &[u8],
        payload: &[u8],
        out: &mut (impl KeyValues + ?Sized),
    ) -> Result<(), CodecError> {
        for direct in &self.key_direct {
            out.put(direct.out, direct.value(key)?);
        }
        let mut rest = key.get(self.key_walk_from..).unwrap_or_default();
        for walked in &self.key_walk {
            let len = match (walked.outs.as_slice(), walked.difference_in(payload)?) {
                ([], _) => skip_part(&walked.part, rest)?,
                (_, Some(difference)) => walked.pass_to_outputs(rest, difference, out)?,
                (outs, None) => {
                    let (value, len) = decode_value(&walked.part, rest)?;
                    outs.iter().for_each(|to| out.put(*to, value.clone()));
                    len
                }
            };
            rest = rest.get(len..).unwrap_or_default();
        }
        Ok(())
    }

    #[inline]
    pub(super) fn payload_steps(&self, payload: &[u8]) -> Result<&[Step], CodecError> {
        match self.payload.as_slice() {
            // No column of the payload is wanted in any version.
            [first, ..] if first.is_empty() => Ok(&[]),
            versions => Ok(&versions[self.format.version_of(payload)?]),
        }
    }
}

impl Slot {
    /// Appends the values of up to 64 rows of the layout; notes those outside their rows as of column `column`.
    fn append_all(
        &self,
        rows: &[&[u8]],
        column: usize,
        out: &mut ColumnBuilder,
        missing: &mut Vec<Missing>,
    ) -> Result<(), CodecError> {
        let mut nulls = 0;
        if self.null.is_some() {
            for (at, row) in rows.iter().enumerate() {
                nulls |= u64::from(self.is_null(row)?) << at;
            }
        }
        if let Some(narrow) = &self.narrow
            && narrow.append_all(&[], rows, nulls, out)
        {
            return Ok(());
        }
        if let (Place::String { end_at, start_at, strings_at }, ColumnBuilder::Utf8(texts)) =
            (self.place, &mut *out)
        {
            let mut strings: [&[u8]; RUN] = [&[]; RUN];
            let found = strings.iter_mut().zip(rows).try_for_each(|(to, row)| {
                *to = string(row, end_at, start_at, strings_at)?;
                Ok(())
            });
            match found {
                Ok(()) => return texts.append_all(&strings[..rows.len()], nulls),
                Err(CodecError::InOverflow) => {}
                Err(error) => return Err(error),
            }
        }
        for row in rows {
            match self.append(row, out) {
                Ok(()) => {}
                Err(CodecError::InOverflow) => note_missing(self, row, (column, out), missing)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Notes a value that is outside its row.
#[cold]
fn note_missing(
    slot: &Slot,
    payload: &[u8],
    (column, builder): (usize, &mut ColumnBuilder),
    missing: &mut Vec<Missing>,
) -> Result<(), CodecError> {
    let reference = slot.overflow(payload)?.ok_or(CodecError::InOverflow)?;
    missing.push(Missing { column, row: builder.len(), reference });
    builder.push_null();
    Ok(())
}
