//! Screens: conditions tested on the bytes of rows, before anything is decoded.
//!
//! A screen passes every row for which the conditions are TRUE, and often others: where it cannot test a condition,
//! or cannot read a row directly (a row older than the column, or with the value outside the row). So the conditions
//! are evaluated again on the rows that pass, and a screen only influences how much is decoded.
//!
//! | condition                                       | test                                                               |
//! |-------------------------------------------------|--------------------------------------------------------------------|
//! | on one column of at most 8 bytes, as `encoded` compiles it | ranges of the number that the bytes of its key would be   |
//! | comparison of two such columns of one type      | these numbers compared                                             |
//! | string compared with a constant, IN, LIKE       | by collation, set or pattern                                       |
//! | AND, OR of these                                | all, any                                                           |
//!
//! In addition, numbers of columns can be looked up in sets ([`RowPrefilter::require`]): only rows in the sets are
//! wanted.
//!
//! Conditions are used in their order, up to the first whose evaluation can be observed (for example by an error):
//! those behind it must not remove rows that it would see.

use std::ops::Bound;
use std::sync::Arc;

use crate::encoded::EncodedTest;
use crate::{CompareDomain, CompareOp, Expr, ExprKind, InSet, LikePattern, push_down_not};
use leafline_types::codec::narrow::Narrow;
use leafline_types::collation::Collation;
use leafline_types::key::KeyPart;
use leafline_types::row::{self, EntryFormat, Layouts, NumberSet, Slot};

/// Conditions on rows of a table.
#[derive(Debug, Clone, Default)]
pub struct RowPrefilter {
    /// The layouts that rows may have.
    layouts: Layouts,
    /// A screen for each layout.
    screens: Vec<LayoutScreen>,
}

/// Conditions on rows of one layout.
#[derive(Debug, Clone, Default)]
struct LayoutScreen {
    tests: Vec<Test>,
    /// Columns whose numbers are looked up in sets.
    members: Vec<(Number, Arc<NumberSet>)>,
}

/// A test of a condition.
#[derive(Debug, Clone)]
enum Test {
    Number(NumberTest),
    /// Compares two columns by their numbers.
    Pair(CompareOp, Number, Number),
    Text(Slot, TextTest),
    All(Vec<Test>),
    Any(Vec<Test>),
}

/// A column of at most 8 bytes, read as a number that orders as its values do.
#[derive(Debug, Clone, Copy)]
struct Number {
    null: Option<(usize, u8)>,
    narrow: Narrow,
}

/// The values for which a condition on a column is TRUE.
#[derive(Debug, Clone)]
struct NumberTest {
    column: Number,
    /// Whether it is TRUE for NULL.
    null_passes: bool,
    /// The first and last number of each range.
    ranges: Vec<(u64, u64)>,
}

#[derive(Debug, Clone)]
enum TextTest {
    Compare(CompareOp, Collation, Box<[u8]>),
    In(Arc<InSet>, bool),
    Like(Arc<LikePattern>, bool),
}

/// The columns of a table by their numbers in conditions, in rows of one layout.
struct Columns<'f> {
    format: &'f EntryFormat,
    layout: usize,
    columns: &'f [usize],
}

impl RowPrefilter {
    /// Makes a screen of conditions whose column numbers are positions in `columns`, which holds ordinals of the
    /// table's columns. Parameters must have been bound.
    pub fn new<'e>(
        format: &EntryFormat,
        columns: &[usize],
        conditions: impl IntoIterator<Item = &'e Expr>,
    ) -> RowPrefilter {
        let unnoticed = conditions.into_iter().take_while(|condition| !condition.may_raise());
        let conditions: Vec<Expr> = unnoticed.map(|condition| push_down_not(condition.clone())).collect();
        let screen = |layout| {
            let columns = Columns { format, layout, columns };
            let tests = conditions.iter().filter_map(|condition| columns.test(condition)).collect();
            LayoutScreen { tests, members: Vec::new() }
        };
        let screens = (0..format.layouts().count()).map(screen).collect();
        RowPrefilter { layouts: format.layouts().clone(), screens }
    }

    /// Makes rows fail whose column (an ordinal of the table's columns) is NULL, or a number that is not in the set.
    /// Returns false if the bytes of the column are not a number.
    pub fn require(&mut self, format: &EntryFormat, column: usize, set: &Arc<NumberSet>) -> bool {
        let mut is_number = false;
        for (layout, screen) in self.screens.iter_mut().enumerate() {
            let number = Columns { format, layout, columns: &[column] }.number(0);
            is_number |= number.is_some();
            screen.members.extend(number.map(|number| (number, set.clone())));
        }
        is_number
    }

    /// Ends the looking up of numbers.
    pub fn forget_members(&mut self) {
        self.screens.iter_mut().for_each(|screen| screen.members.clear());
    }

    /// Whether it passes all rows.
    pub fn is_empty(&self) -> bool {
        self.screens.iter().all(|screen| screen.tests.is_empty() && screen.members.is_empty())
    }

    /// Returns a bit for each of up to 64 rows (payloads of the clustered index) that passes, and how many were
    /// removed because a number is not in its set.
    pub fn passing(&self, rows: &[&[u8]]) -> (u64, PrefilterCounts) {
        let mut left = u64::MAX.checked_shr(u64::BITS - rows.len() as u32).unwrap_or(0);
        let (mut passing, mut removed) = (0, PrefilterCounts::default());
        for (layout, screen) in self.screens.iter().enumerate().rev() {
            let these = bits_where(left, rows, |row| self.layouts.of(row) == Ok(layout));
            left &= !these;
            passing |= screen.passing(rows, these, &mut removed);
            if left == 0 {
                break;
            }
        }
        (passing | left, removed)
    }
}

impl LayoutScreen {
    /// Returns the rows of `these` that pass.
    fn passing(&self, rows: &[&[u8]], these: u64, removed: &mut PrefilterCounts) -> u64 {
        let passing = self.tests.iter().fold(these, |left, test| test.passing(rows, left));
        if self.members.is_empty() {
            return passing;
        }
        let members = self.members.iter().fold(passing, |left, (number, set)| {
            bits_where(left, rows, |row| match number.get(row) {
                Read::Value(v) => set.may_have(v),
                Read::Null => false,
                Read::Unreadable => true,
            })
        });
        removed.rows += (passing & !members).count_ones();
        removed.of += passing.count_ones();
        members
    }
}

/// The effect of looking numbers up in sets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrefilterCounts {
    /// The number of rows that it removed.
    pub rows: u32,
    /// The number of rows that were looked up.
    pub of: u32,
}

/// Returns the bits of `of` whose rows satisfy `f`.
#[inline(always)]
fn bits_where(of: u64, rows: &[&[u8]], f: impl Fn(&[u8]) -> bool) -> u64 {
    let (mut left, mut passing) = (of, 0);
    while left != 0 {
        let at = left.trailing_zeros();
        left &= left - 1;
        passing |= u64::from(rows.get(at as usize).is_some_and(|row| f(row))) << at;
    }
    passing
}

impl Test {
    /// Returns the rows of `left` that pass.
    fn passing(&self, rows: &[&[u8]], left: u64) -> u64 {
        match self {
            Test::Number(test) => match (test.column.null, test.ranges.as_slice()) {
                (None, &[(first, last)]) => {
                    let narrow = test.column.narrow;
                    bits_where(left, rows, |row| {
                        narrow.ordered(row).is_none_or(|v| v.wrapping_sub(first) <= last - first)
                    })
                }
                _ => bits_where(left, rows, |row| test.passes(row)),
            },
            Test::Pair(op, a, b) => bits_where(left, rows, |row| match (a.get(row), b.get(row)) {
                (Read::Value(a), Read::Value(b)) => op.holds(a.cmp(&b)),
                (Read::Unreadable, _) | (_, Read::Unreadable) => true,
                _ => false,
            }),
            Test::Text(slot, test) => bits_where(left, rows, |row| match slot.text(row) {
                Ok(Some(text)) => test.passes(text),
                Ok(None) => false,
                Err(_) => true,
            }),
            Test::All(tests) => tests.iter().fold(left, |left, test| test.passing(rows, left)),
            Test::Any(tests) => {
                tests.iter().fold(0, |passing, test| passing | test.passing(rows, left & !passing))
            }
        }
    }
}

/// The number in a row.
enum Read {
    Value(u64),
    Null,
    /// The screen cannot read it; the decoder has to.
    Unreadable,
}

impl Number {
    #[inline]
    fn get(&self, row: &[u8]) -> Read {
        match row::is_null(self.null, row) {
            Ok(true) => Read::Null,
            Ok(false) => self.narrow.ordered(row).map_or(Read::Unreadable, Read::Value),
            Err(_) => Read::Unreadable,
        }
    }
}

impl NumberTest {
    #[inline]
    fn passes(&self, row: &[u8]) -> bool {
        match self.column.get(row) {
            Read::Value(v) => self.ranges.iter().any(|(first, last)| *first <= v && v <= *last),
            Read::Null => self.null_passes,
            Read::Unreadable => true,
        }
    }
}

impl TextTest {
    fn passes(&self, text: &[u8]) -> bool {
        match self {
            TextTest::Compare(CompareOp::Eq | CompareOp::NullSafeEq, collation, c) => {
                collation.equal(text, c)
            }
            TextTest::Compare(CompareOp::Ne, collation, c) => !collation.equal(text, c),
            TextTest::Compare(op, collation, c) => op.holds(collation.compare(text, c)),
            TextTest::In(set, negated) => set.contains_bytes(text) != *negated,
            TextTest::Like(pattern, negated) => pattern.matches(text) != *negated,
        }
    }
}

impl Columns<'_> {
    fn test(&self, condition: &Expr) -> Option<Test> {
        self.number_test(condition).or_else(|| match &condition.kind {
            // A condition that cannot be tested passes all rows: it may be left out of an AND, but not of an OR.
            ExprKind::And(list) => {
                let tests: Vec<Test> = list.iter().filter_map(|c| self.test(c)).collect();
                (!tests.is_empty()).then_some(Test::All(tests))
            }
            ExprKind::Or(list) => list.iter().map(|c| self.test(c)).collect::<Option<_>>().map(Test::Any),
            ExprKind::Compare { op, left, right, domain: CompareDomain::String(collation) } => {
                let (op, column, constant) = match (left.as_column(), right.as_column()) {
                    (Some(column), None) => (*op, column, right.as_literal()?),
                    (None, Some(column)) => (op.swapped(), column, left.as_literal()?),
                    _ => return None,
                };
                let test = TextTest::Compare(op, *collation, constant.as_bytes()?.into());
                Some(Test::Text(self.string(column)?, test))
            }
            ExprKind::Compare { op, left, right, domain } => self.pair(*op, left, right, *domain),
            ExprKind::InList { needle, negated, set: Some(set), .. } if set.is_string() => {
                let column = self.string(needle.as_column()?)?;
                match *negated && set.has_null() {
                    true => None,
                    false => Some(Test::Text(column, TextTest::In(set.clone(), *negated))),
                }
            }
            ExprKind::Like { value, negated, compiled: Some(pattern), .. } => {
                let column = self.string(value.as_column()?)?;
                Some(Test::Text(column, TextTest::Like(pattern.clone(), *negated)))
            }
            _ => None,
        })
    }

    fn slot(&self, column: usize) -> Option<&Slot> {
        self.format.slot_in(self.layout, *self.columns.get(column)?)
    }

    fn string(&self, column: usize) -> Option<Slot> {
        self.slot(column).filter(|slot| slot.ty().is_string()).cloned()
    }

    fn number(&self, column: usize) -> Option<Number> {
        let slot = self.slot(column)?;
        let narrow = slot.narrow().filter(Narrow::has_order)?;
        Some(Number { null: slot.null_bit(), narrow })
    }

    /// Makes a test of two columns of one type, whose numbers compare as their values do.
    fn pair(&self, op: CompareOp, left: &Expr, right: &Expr, domain: CompareDomain) -> Option<Test> {
        use CompareDomain::{Date, DateTime, Decimal, Integer, Time};
        let (a, b) = (left.as_column()?, right.as_column()?);
        let same = matches!(domain, Integer | Decimal | Date | DateTime | Time)
            && op != CompareOp::NullSafeEq
            && self.slot(a)?.ty() == self.slot(b)?.ty();
        let (a, b) = (self.number(a)?, self.number(b)?);
        (same && a.narrow.orders_as(&b.narrow)).then_some(Test::Pair(op, a, b))
    }

    /// Makes a test of a condition on one column, from the ranges of its key bytes.
    fn number_test(&self, condition: &Expr) -> Option<Test> {
        let mut columns = condition.columns().into_iter();
        let (Some(column), None) = (columns.next(), columns.next()) else { return None };
        let slot = self.slot(column)?;
        let number = self.number(column)?;
        let mut part = KeyPart::new(slot.ty().clone());
        part.nullable = slot.null_bit().is_some();
        let encoded = EncodedTest::compile(condition, column, &part)?;
        let mut test = NumberTest { column: number, null_passes: false, ranges: Vec::new() };
        for range in encoded.ranges() {
            // With a marker in front, NULL is the least: `[0]`.
            let (from_null, first) = match &range.lower {
                Bound::Unbounded => (part.nullable, 0),
                Bound::Included(bytes) => match number_of(bytes, part.nullable)? {
                    Some(v) => (false, v),
                    None => (true, 0),
                },
                Bound::Excluded(bytes) => match number_of(bytes, part.nullable)? {
                    Some(u64::MAX) => continue,
                    Some(v) => (false, v + 1),
                    None => (false, 0),
                },
            };
            test.null_passes |= from_null;
            let last = match &range.upper {
                Bound::Unbounded => Some(u64::MAX),
                Bound::Included(bytes) => number_of(bytes, part.nullable)?,
                Bound::Excluded(bytes) => number_of(bytes, part.nullable)?.and_then(|v| v.checked_sub(1)),
            };
            test.ranges.extend(last.filter(|last| first <= *last).map(|last| (first, last)));
        }
        Some(Test::Number(test))
    }
}

/// Returns the number that the bytes of a key part stand for; the inner None is NULL. None for bytes of another
/// length.
pub(crate) fn number_of(bytes: &[u8], nullable: bool) -> Option<Option<u64>> {
    let value = match (nullable, bytes) {
        (true, [0]) => return Some(None),
        (true, [1, value @ ..]) => value,
        (true, _) => return None,
        (false, value) => value,
    };
    let mut wide = [0; 8];
    wide.get_mut(8usize.checked_sub(value.len())?..)?.copy_from_slice(value);
    Some(Some(u64::from_be_bytes(wide)))
}

#[cfg(test)]
mod tests;
