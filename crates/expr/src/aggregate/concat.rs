//! GROUP_CONCAT.
//!
//! Without an order, texts are appended as they arrive. Otherwise they are kept with their sort keys until the end;
//! DISTINCT without ORDER BY sorts by the values, as MySQL's tree of values does. A result longer than
//! `group_concat_max_len` is cut at a character, with one warning for each group; nothing behind the cut is kept.
//!
//! When memory runs out, the caller *closes* the aggregate: it then returns the texts of further rows as [`Entries`],
//! and the caller passes them back in their order when their group is finished.

use std::sync::Arc;

use super::distinct::Distinct;
use super::entries::{Entries, Entry, Gathering};
use super::{AggregateCall, EncodedKeys, Groups, KeyEncoder};
use crate::{Datum, EvalContext, eval_operand as operand};
use leafline_types::error::MysqlError;
use leafline_types::output::room_for;
use leafline_types::value::{SqlType, Value};

/// The options of GROUP_CONCAT. Its arguments are the values, then the keys of ORDER BY.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConcatOptions {
    /// The number of arguments that are values to join.
    pub values: usize,
    /// Whether the order is descending, for each of the other arguments.
    pub descending: Vec<bool>,
    /// The text between the values of two rows.
    pub separator: Arc<str>,
    /// The most bytes of a result.
    pub max_length: usize,
}

/// From this size on a text grows by an eighth at a time.
const LARGE_TEXT: usize = 8 << 20;

/// The texts of groups.
#[derive(Debug)]
pub(super) struct Concat {
    /// The number of arguments that are values to join.
    values: usize,
    cut: Cut,
    /// The types of the values.
    types: Vec<SqlType>,
    /// Encodes the sort keys, if there is an order.
    order: Option<KeyEncoder>,
    keys: EncodedKeys,
    /// Finds the rows that repeat values, under DISTINCT.
    distinct: Option<Distinct>,
    /// Whether the values themselves are the sort keys.
    by_values: bool,
    groups: Vec<Group>,
    bytes: usize,
    closed: bool,
    /// The entries of the last batch, once the aggregate is closed.
    entries: Entries,
}

/// The separator between texts, and the limit of the result.
#[derive(Debug)]
struct Cut {
    separator: Arc<str>,
    max_length: usize,
    /// Whether the result is text, which is cut between characters.
    characters: bool,
}

/// A sort key and a text.
type Waiting = (Box<[u8]>, Box<[u8]>);

#[derive(Debug, Default)]
struct Group {
    /// Texts that wait to be sorted; once the group is being finished, in reverse order.
    waiting: Vec<Waiting>,
    finishing: bool,
    text: Vec<u8>,
    rows: u64,
    cut: bool,
}

impl Concat {
    pub(super) fn new(call: &AggregateCall, options: &ConcatOptions) -> Self {
        let (values, order) = call.args.split_at(options.values.min(call.args.len()));
        let by_values = call.distinct && order.is_empty();
        let ordered = order.iter().map(|e| &e.ty).zip(options.descending.iter().copied());
        let order = if by_values {
            Some(KeyEncoder::ordered(values.iter().map(|e| (&e.ty, false))))
        } else {
            (!order.is_empty()).then(|| KeyEncoder::ordered(ordered))
        };
        Concat {
            values: options.values,
            cut: Cut {
                separator: options.separator.clone(),
                max_length: options.max_length,
                characters: call.ty.sql.is_character(),
            },
            types: values.iter().map(|e| e.ty.sql.clone()).collect(),
            order,
            keys: EncodedKeys::default(),
            distinct: call.distinct.then(|| Distinct::new(values)),
            by_values,
            groups: Vec::new(),
            bytes: 0,
            closed: false,
            entries: Entries::default(),
        }
    }

    pub(super) fn grow(&mut self, groups: usize) {
        self.groups.resize_with(groups, Group::default);
    }

    pub(super) fn update(
        &mut self,
        groups: Groups<'_>,
        rows: usize,
        args: &[Datum],
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        let (values, order) = args.split_at(self.values.min(args.len()));
        let fresh: Option<Vec<u32>> = match &mut self.distinct {
            Some(distinct) => Some(distinct.first_seen(groups, rows, values)?.rows()),
            None => None,
        };
        if let Some(encoder) = &self.order {
            encoder.encode(if self.by_values { values } else { order }, rows, &mut self.keys)?;
        }
        if self.closed {
            self.give_out(groups, rows, values);
            return Ok(());
        }
        let all = 0..rows as u32;
        let chosen: Box<dyn Iterator<Item = u32>> = match fresh {
            Some(fresh) => Box::new(fresh.into_iter()),
            None => Box::new(all),
        };
        let mut text = Vec::new();
        let mut steps = cx.steps();
        for row in chosen {
            let row = row as usize;
            if !put_values(values, &self.types, row, self.cut.max_length, &mut text) {
                continue;
            }
            steps.take(1 + text.len())?;
            let group = &mut self.groups[groups.of(row)];
            let before = group.text.len();
            if self.order.is_some() {
                let key: Box<[u8]> = self.keys.get(row).into();
                self.bytes += key.len() + text.len() + size_of::<Waiting>();
                group.waiting.push((key, text.as_slice().into()));
            } else {
                group.append(&text, &self.cut, cx)?;
                self.bytes += group.text.len() - before;
            }
        }
        Ok(())
    }

    /// Makes entries of the rows of a batch, except those that repeat a known value and those whose text would be cut
    /// off.
    fn give_out(&mut self, groups: Groups<'_>, rows: usize, values: &[Datum]) {
        self.entries.clear();
        let mut text = Vec::new();
        let mut give = |row: usize, value: &[u8]| {
            let group = groups.of(row);
            let is_cut = self.order.is_none() && self.groups.get(group).is_some_and(|group| group.cut);
            if is_cut || !put_values(values, &self.types, row, self.cut.max_length, &mut text) {
                return;
            }
            let key = if self.order.is_some() { self.keys.get(row) } else { &[] };
            self.entries.push(Entry { group: group as u32, value, key, payload: &text });
        };
        match &self.distinct {
            Some(distinct) => distinct.left_out().for_each(|(row, value)| {
                // Sorted by the values, equal ones are neighbours.
                give(row as usize, if self.by_values { &[] } else { value });
            }),
            None => (0..rows).for_each(|row| give(row, &[])),
        }
    }

    /// Keeps nothing of further rows.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.distinct.iter_mut().for_each(Distinct::close);
    }

    /// Returns which of its entries count.
    pub(super) fn gathering(&self) -> Gathering {
        match (&self.distinct, self.by_values) {
            (None, _) => Gathering::All,
            (_, true) => Gathering::OnceByKey,
            (_, false) => Gathering::OnceByValue,
        }
    }

    pub(super) fn entries(&self) -> &Entries {
        &self.entries
    }

    /// Adds an entry to its group; entries arrive in the order of their keys.
    pub(super) fn take_back(&mut self, entry: Entry<'_>, cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
        let Concat { groups, cut, .. } = self;
        let Some(group) = groups.get_mut(entry.group as usize) else { return Ok(()) };
        group.sort();
        // Among texts with equal keys, the kept ones are older.
        while let Some((key, _)) = group.waiting.last()
            && **key <= *entry.key
            && let Some((_, text)) = group.waiting.pop()
        {
            group.append(&text, cut, cx)?;
        }
        group.append(entry.payload, cut, cx)
    }

    /// Returns the result of a group and drops its state.
    pub(super) fn finish(
        &mut self,
        group: usize,
        ty: &SqlType,
        cx: &mut EvalContext<'_>,
    ) -> Result<Value, MysqlError> {
        let mut group = self.groups.get_mut(group).map(std::mem::take).unwrap_or_default();
        group.sort();
        while let Some((_, text)) = group.waiting.pop() {
            group.append(&text, &self.cut, cx)?;
        }
        // The value is a copy of the text.
        room_for(group.text.len())?;
        Ok(match (group.rows, ty.is_character()) {
            (0, _) => Value::Null,
            (_, true) => Value::string(String::from_utf8_lossy(&group.text).into_owned()),
            (_, false) => Value::bytes(group.text),
        })
    }

    /// Resets the state after all groups are finished.
    pub(super) fn clear(&mut self) {
        self.groups = Vec::new();
        self.bytes = 0;
        self.closed = false;
        self.entries.clear();
        self.distinct.iter_mut().for_each(Distinct::clear);
    }

    pub(super) fn memory(&self) -> usize {
        let distinct = self.distinct.as_ref().map_or(0, Distinct::memory);
        self.bytes + self.groups.capacity() * size_of::<Group>() + distinct
    }
}

/// Joins the texts of a row's values, as far as a result of at most `most` bytes shows them, and one byte more, which
/// tells that it is cut. Returns false if one is NULL.
fn put_values(values: &[Datum], types: &[SqlType], row: usize, most: usize, out: &mut Vec<u8>) -> bool {
    out.clear();
    values.iter().zip(types).all(|(datum, ty)| {
        let v = datum.value(row, ty);
        match operand::text(&v, ty) {
            Some(text) => {
                let left = most.saturating_add(1).saturating_sub(out.len());
                out.extend_from_slice(&text[..text.len().min(left)]);
                true
            }
            None => false,
        }
    })
}

impl Group {
    /// Sorts the waiting texts in reverse order. Rows with equal keys stay in the order of their arrival.
    fn sort(&mut self) {
        if !std::mem::replace(&mut self.finishing, true) {
            self.waiting.sort_by(|a, b| a.0.cmp(&b.0));
            self.waiting.reverse();
        }
    }

    fn append(&mut self, text: &[u8], cut: &Cut, cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
        self.rows += 1;
        if self.cut {
            return Ok(());
        }
        if self.text.capacity() - self.text.len() < cut.separator.len() + text.len() {
            room_for(self.text.len() + cut.separator.len() + text.len())?;
        }
        if self.rows > 1 {
            self.text.extend_from_slice(cut.separator.as_bytes());
        }
        if self.text.len() >= LARGE_TEXT && self.text.capacity() - self.text.len() < text.len() {
            // Doubling the buffer would exceed the accounted memory.
            self.text.reserve_exact(text.len().max(self.text.len() / 8));
        }
        self.text.extend_from_slice(text);
        if self.text.len() > cut.max_length {
            let mut end = cut.max_length;
            while cut.characters && end > 0 && self.text[end] & 0xC0 == 0x80 {
                end -= 1;
            }
            self.text.truncate(end);
            self.cut = true;
            cx.warn(MysqlError::cut_by_group_concat(self.rows))?;
        }
        Ok(())
    }
}
