//! The file of digests in the database's directory, so that advice covers statements from before the database
//! was opened.
//!
//! [`crate::upkeep`] writes it, and opening reads it. The file is a hint: a missing or damaged one does no
//! harm. If there are more digests than fit, the ones with the most time are kept.
//!
//! | offset | bytes | field of `statement-digests` |
//! |-------:|------:|---|
//! |      0 |     8 | magic "LEAFDIG2" |
//! |      8 |     4 | crc32c of bytes 12.. up to the end of the list |
//! |     12 |     4 | zero |
//! |     16 |     8 | bytes of the list |
//! |     24 |     8 | number of digests |
//! |     32 |       | digests, one after the other; then zeros to the end of the block |
//!
//! A digest is [`NUMBERS`] numbers of 8 bytes, in the order of [`numbers`]; three texts: database, text, and
//! the sample statement with its literal values; and its times. A text is its length in 4 bytes ([`NONE`] for
//! no text) and its bytes in UTF-8. The times are the number of classes with executions, in 4 bytes, and for
//! each of them its number and its count, in 4 bytes each. The last plan is stored by its digest, 0 for none,
//! with the time of the last change, [`i64::MIN`] for no change.

use super::histogram::{CLASSES, Histogram};
use super::{Counts, Digest, Digests, Key, Plans};
use leafline_storage::Env;
use leafline_storage::device::small_file;
use leafline_storage::page::bytes;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Name of the file.
const FILE: &str = "statement-digests";
const MAGIC: &[u8; 8] = b"LEAFDIG2";
/// Magic of a file without times.
const FORMER: &[u8; 8] = b"LEAFDIG1";
const HEADER: usize = 32;
/// Number of a digest's numbers.
const NUMBERS: usize = 20;
/// Limit of the list in bytes.
const MOST_BYTES: usize = 8 << 20;
/// The length that stands for no text.
const NONE: u32 = u32::MAX;

impl Digests {
    /// Adds the digests of a database's directory; none if the file is missing or has an older format.
    ///
    /// # Errors
    /// Why the file cannot be used.
    pub fn with_stored(self, env: &dyn Env) -> Result<Digests, String> {
        let whole = small_file::read(env, FILE, (HEADER + MOST_BYTES).next_multiple_of(1 << 16) as u64);
        match whole.map_err(|error| format!("{FILE} cannot be read: {error}"))? {
            Some(whole) if bytes::array_at(&whole, 0) == Some(*FORMER) => Ok(self),
            Some(whole) => decode(&whole, self.most).ok_or_else(|| format!("{FILE} is damaged")),
            None => Ok(self),
        }
    }

    /// Writes the digests to a database's directory unless their checksum is `last`. Returns their checksum.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn save(&self, env: &dyn Env, last: Option<u32>) -> io::Result<u32> {
        let (bytes, sum) = encode(self);
        if last != Some(sum) {
            small_file::replace(env, FILE, &bytes)?;
        }
        Ok(sum)
    }

    /// Removes the file.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn forget(env: &dyn Env) -> io::Result<()> {
        if env.exists(FILE)? { env.remove(FILE) } else { Ok(()) }
    }
}

/// Encodes the file; returns its bytes and checksum.
fn encode(digests: &Digests) -> (Vec<u8>, u32) {
    let counted = digests.all().into_iter().map(|digest| (digest.counts(), digest));
    let mut counted: Vec<(Counts, Arc<Digest>)> =
        counted.filter(|(counts, _)| counts.executions > 0).collect();
    let weight = |counts: &Counts| (counts.time, counts.executions);
    counted.sort_by(|(a, of_a), (b, of_b)| {
        weight(b).cmp(&weight(a)).then_with(|| (&of_a.schema, &of_a.text).cmp(&(&of_b.schema, &of_b.text)))
    });
    let mut list = vec![0; HEADER];
    let mut count: u64 = 0;
    for (counts, digest) in counted {
        let before = list.len();
        numbers(&counts, &digest.plans()).iter().for_each(|number| list.extend(number.to_le_bytes()));
        for text in [digest.schema.as_deref(), digest.text.as_deref(), digest.sample()] {
            let length = text.map_or(NONE, |text| u32::try_from(text.len()).unwrap_or(NONE));
            list.extend(length.to_le_bytes());
            list.extend(text.unwrap_or_default().bytes());
        }
        let times = digest.times();
        let times = || times.iter().enumerate().filter(|(_, count)| **count > 0);
        list.extend((times().count() as u32).to_le_bytes());
        times().for_each(|(class, count)| {
            list.extend((class as u32).to_le_bytes());
            list.extend(count.to_le_bytes());
        });
        if list.len() > HEADER + MOST_BYTES {
            list.truncate(before);
            break;
        }
        count += 1;
    }
    let length = (list.len() - HEADER) as u64;
    bytes::put(&mut list, 0, MAGIC);
    bytes::put(&mut list, 16, &length.to_le_bytes());
    bytes::put(&mut list, 24, &count.to_le_bytes());
    let sum = crc32c::crc32c(list.get(12..).unwrap_or_default());
    bytes::put(&mut list, 8, &sum.to_le_bytes());
    (list, sum)
}

/// The numbers of a digest, as stored.
fn numbers(counts: &Counts, plans: &Plans) -> [u64; NUMBERS] {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    [
        counts.executions,
        nanoseconds(counts.time),
        nanoseconds(counts.least_time),
        nanoseconds(counts.most_time),
        nanoseconds(counts.lock_time),
        counts.errors,
        counts.warnings,
        counts.rows_affected,
        counts.rows_sent,
        counts.rows_examined,
        counts.pages_read,
        counts.files,
        counts.no_index_used,
        counts.rows_estimated.to_bits(),
        counts.q_error.to_bits(),
        counts.first_seen.cast_unsigned(),
        counts.last_seen.cast_unsigned(),
        plans.count,
        plans.changed.unwrap_or(i64::MIN).cast_unsigned(),
        plans.last().unwrap_or(0),
    ]
}

fn of_numbers(numbers: [u64; NUMBERS]) -> (Counts, Plans) {
    let [
        executions,
        time,
        least_time,
        most_time,
        lock_time,
        errors,
        warnings,
        rows_affected,
        rows_sent,
        rows_examined,
        pages_read,
        files,
        no_index_used,
        rows_estimated,
        q_error,
        first_seen,
        last_seen,
        plans,
        changed,
        last_plan,
    ] = numbers;
    let counts = Counts {
        executions,
        time: Duration::from_nanos(time),
        least_time: Duration::from_nanos(least_time),
        most_time: Duration::from_nanos(most_time),
        lock_time: Duration::from_nanos(lock_time),
        errors,
        warnings,
        rows_affected,
        rows_sent,
        rows_examined,
        pages_read,
        files,
        no_index_used,
        rows_estimated: f64::from_bits(rows_estimated),
        q_error: f64::from_bits(q_error),
        first_seen: first_seen.cast_signed(),
        last_seen: last_seen.cast_signed(),
    };
    let changed = Some(changed.cast_signed()).filter(|changed| *changed != i64::MIN);
    (counts, Plans::of(plans, changed, Some(last_plan).filter(|last| *last != 0)))
}

/// Decodes a file; `None` if it is damaged.
fn decode(whole: &[u8], most: usize) -> Option<Digests> {
    let length = usize::try_from(bytes::u64_at(whole, 16)?).ok()?;
    let covered = whole.get(12..HEADER.checked_add(length)?)?;
    if bytes::array_at(whole, 0)? != *MAGIC || bytes::u32_at(whole, 8)? != crc32c::crc32c(covered) {
        return None;
    }
    let mut reader = Reader { list: whole.get(HEADER..HEADER + length)?, at: 0 };
    let mut known: HashMap<Key, Arc<Digest>> = HashMap::new();
    let mut others = Arc::default();
    for _ in 0..bytes::u64_at(whole, 24)? {
        let mut numbers = [0; NUMBERS];
        for number in &mut numbers {
            *number = bytes::u64_at(reader.list, reader.skip(8)?)?;
        }
        let (schema, text, sample) = (reader.text()?, reader.text()?, reader.text()?);
        let times = reader.times()?;
        let (counts, plans) = of_numbers(numbers);
        let digest = Arc::new(Digest {
            schema: schema.clone(),
            text: text.clone(),
            sample: sample.map_or_else(OnceLock::new, OnceLock::from),
            counts: Mutex::new(counts),
            plans: Mutex::new(plans),
            times,
            ..Digest::default()
        });
        match text {
            Some(text) if known.len() < most => drop(known.insert((schema, text), digest)),
            Some(_) => {}
            None => others = digest,
        }
    }
    Some(Digests { known: RwLock::new(known), others, most })
}

/// A position in the list.
struct Reader<'l> {
    list: &'l [u8],
    at: usize,
}

impl Reader<'_> {
    /// Skips `count` bytes; returns where they begin.
    fn skip(&mut self, count: usize) -> Option<usize> {
        let from = self.at;
        self.at = from.checked_add(count)?;
        Some(from)
    }

    /// Reads a number of 4 bytes.
    fn number(&mut self) -> Option<u32> {
        bytes::u32_at(self.list, self.skip(4)?)
    }

    /// Reads times; `None` if they are malformed.
    fn times(&mut self) -> Option<Histogram> {
        let times = Histogram::default();
        for _ in 0..self.number()? {
            let (class, count) = (self.number()? as usize, self.number()?);
            if class >= CLASSES {
                return None;
            }
            times.set(class, count);
        }
        Some(times)
    }

    /// Reads a text; `None` if it is malformed, `Some(None)` for no text.
    #[expect(clippy::option_option, reason = "a text that is left out is not one that is damaged")]
    fn text(&mut self) -> Option<Option<Box<str>>> {
        let length = self.number()?;
        if length == NONE {
            return Some(None);
        }
        let from = self.skip(length as usize)?;
        let text = std::str::from_utf8(self.list.get(from..self.at)?).ok()?;
        Some(Some(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ExecutionFigures, PointReadRun, Used};
    use super::*;
    use leafline_storage::device::SimulatedEnv;
    use leafline_syntax::LexMode;

    const MOST: usize = 10_000;

    fn point_read(rows: u64) -> PointReadRun {
        PointReadRun { rows, pages_read: 1, no_index_used: true, is_timed: false }
    }

    /// Statements of several databases, one of them too long to be kept as a sample.
    fn digests() -> Digests {
        let digests = Digests::new(MOST);
        for (number, schema) in [(3, Some("d")), (1, None), (7, Some("e")), (500, Some("d"))] {
            let sql = format!("SELECT '\u{e9}' AS `a\nb`, {}1", "a, ".repeat(number));
            let digest = digests.of(schema, &sql, LexMode::default());
            digest.show(0, || Some(format!("{sql} /* {} */", "x".repeat(number * 5))));
            digest.count_point_read(point_read(2), || (Duration::from_micros(number as u64), 9));
            digest.count(ExecutionFigures {
                more: 0,
                time: Duration::from_micros(number as u64),
                ended: -(number as i64),
                failed: number == 3,
                rows_affected: 1,
                warnings: 4,
                no_index_used: true,
                used: Used {
                    rows_sent: 5,
                    rows_examined: 9,
                    pages_read: 3,
                    lock_time: Duration::from_micros(2),
                    files: 1,
                },
                estimated: Some((2.5, true)),
            });
            (0..number as u64 % 4).for_each(|plan| digest.note_plan(plan + 1, plan as i64));
        }
        digests.others.count_point_read(point_read(11), || (Duration::from_secs(1), 9));
        digests
    }

    fn shown(digests: &Digests) -> Vec<String> {
        let all = digests.all().into_iter().filter(|digest| digest.counts().executions > 0);
        let show = |digest: Arc<Digest>| {
            let Plans { count, changed, .. } = digest.plans();
            let plans = (count, changed, digest.plans().last());
            let (sample, counts, times) = (digest.sample(), digest.counts(), digest.times());
            format!("{:?} {:?} {sample:?} {counts:?} {plans:?} {times:?}", digest.schema, digest.text)
        };
        let mut all: Vec<String> = all.map(show).collect();
        all.sort();
        all
    }

    #[test]
    fn digests_are_read_back_as_they_were_and_counted_on() {
        let env = SimulatedEnv::new();
        assert!(shown(&Digests::new(MOST).with_stored(&env).unwrap()).is_empty(), "there is no file");
        let digests = digests();
        let sum = digests.save(&env, None).unwrap();
        let read = Digests::new(MOST).with_stored(&env).unwrap();
        assert_eq!(shown(&read), shown(&digests));
        assert_eq!(shown(&read).len(), 5);
        env.remove(FILE).unwrap();
        assert_eq!(read.save(&env, Some(sum)).unwrap(), sum);
        assert!(!env.exists(FILE).unwrap(), "nothing has changed");
        let of = |digests: &Digests| digests.of(Some("e"), "SELECT x", LexMode::default());
        of(&read).count_point_read(point_read(1), || (Duration::from_micros(1), 9));
        assert_ne!(read.save(&env, Some(sum)).unwrap(), sum);
        assert_eq!(of(&Digests::new(MOST).with_stored(&env).unwrap()).counts().executions, 1);
        Digests::forget(&env).unwrap();
        Digests::forget(&env).unwrap();
        assert!(shown(&Digests::new(MOST).with_stored(&env).unwrap()).is_empty());
    }

    #[test]
    fn a_file_that_is_damaged_is_as_good_as_none() {
        let env = SimulatedEnv::new();
        digests().save(&env, None).unwrap();
        let (whole, _) = encode(&digests());
        for at in (0..whole.len()).step_by(97).chain([8, 12, 16, 17, 23, 24, whole.len() - 1]) {
            let copy = env.snapshot();
            copy.damage(FILE, at as u64, &mut |bytes| bytes[0] ^= 1).unwrap();
            let reason = Digests::new(MOST).with_stored(&copy).err();
            assert_eq!(reason.as_deref(), Some("statement-digests is damaged"), "byte {at}");
        }
        for length in 0..whole.len() {
            assert!(decode(&whole[..length], MOST).is_none(), "{length} bytes");
        }
        // A file without times is ignored silently.
        let mut former = whole.clone();
        bytes::put(&mut former, 0, FORMER);
        let copy = SimulatedEnv::new();
        small_file::replace(&copy, FILE, &former).unwrap();
        assert!(shown(&Digests::new(MOST).with_stored(&copy).unwrap()).is_empty());
        // A valid checksum does not make the list complete.
        let mut short = whole.clone();
        bytes::put(&mut short, 24, &6u64.to_le_bytes());
        let sum = crc32c::crc32c(&short[12..]);
        bytes::put(&mut short, 8, &sum.to_le_bytes());
        assert!(decode(&short, MOST).is_none());
    }

    #[test]
    fn of_too_many_digests_those_are_kept_that_took_most_time() {
        let digests = Digests::new(MOST);
        for number in 0..4500 {
            let sql = format!("SELECT c{number}, {} FROM t", "name, ".repeat(150));
            let digest = digests.of(None, &sql, LexMode::default());
            digest.show(0, || Some(sql.repeat(2)));
            digest.count(ExecutionFigures {
                time: Duration::from_nanos(number),
                ended: 1,
                ..ExecutionFigures::default()
            });
        }
        let (whole, _) = encode(&digests);
        assert!((MOST_BYTES - 4000..=MOST_BYTES + HEADER).contains(&whole.len()));
        let kept = decode(&whole, MOST).unwrap().all();
        let least =
            kept.iter().map(|digest| digest.counts().time).filter(|time| *time > Duration::ZERO).min();
        // One digest stands for all statements beyond the limit.
        assert_eq!(least, Some(Duration::from_nanos(4500 - (kept.len() as u64 - 1))));
    }
}
