//! GROUP_CONCAT.
//!
//! Without an order, texts are put together as they come. Otherwise they are kept with their sort keys until the end;
//! DISTINCT without ORDER BY sorts by the values, as MySQL's tree of them does. What is longer than
//! `group_concat_max_len` is cut at a character, with one warning for each group.

use std::sync::Arc;

use arrow_array::ArrayRef;

use super::distinct::Distinct;
use super::{AggregateCall, EncodedKeys, Groups, KeyEncoder};
use crate::column::ColumnBuilder;
use crate::error::MysqlError;
use crate::expr::{Datum, EvalContext, eval_operand as operand};
use crate::value::{SqlType, Value};

/// What GROUP_CONCAT says besides its arguments, which are the values and then the keys of ORDER BY.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConcatOptions {
    /// How many of the arguments are put together.
    pub values: usize,
    /// Whether the order is descending, for each of the other arguments.
    pub descending: Vec<bool>,
    /// What is between the texts.
    pub separator: Arc<str>,
    /// The most bytes of a result.
    pub max_length: usize,
}

/// The texts of groups.
#[derive(Debug)]
pub(super) struct Concat {
    options: ConcatOptions,
    /// The types of the values.
    types: Vec<SqlType>,
    /// Encodes the keys to sort by, if there is an order.
    order: Option<KeyEncoder>,
    keys: EncodedKeys,
    /// Finds the rows that repeat values.
    distinct: Option<Distinct>,
    /// Sorted by the values themselves.
    by_values: bool,
    groups: Vec<Group>,
    bytes: usize,
}

/// A sort key, and a text.
type Waiting = (Box<[u8]>, Box<[u8]>);

#[derive(Debug, Default)]
struct Group {
    /// Texts that wait to be sorted.
    waiting: Vec<Waiting>,
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
            Some(KeyEncoder::new(values.iter().map(|e| &e.ty)))
        } else {
            (!order.is_empty()).then(|| KeyEncoder::ordered(ordered))
        };
        Concat {
            options: options.clone(),
            types: values.iter().map(|e| e.ty.sql.clone()).collect(),
            order,
            keys: EncodedKeys::default(),
            distinct: call.distinct.then(|| Distinct::new(values)),
            by_values,
            groups: Vec::new(),
            bytes: 0,
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
        let (values, order) = args.split_at(self.options.values.min(args.len()));
        let fresh: Option<Vec<u32>> = match &mut self.distinct {
            Some(distinct) => Some(distinct.first_seen(groups, rows, values)?.rows()),
            None => None,
        };
        if let Some(encoder) = &self.order {
            encoder.encode(if self.by_values { values } else { order }, rows, &mut self.keys)?;
        }
        let all = 0..rows as u32;
        let chosen: Box<dyn Iterator<Item = u32>> = match fresh {
            Some(fresh) => Box::new(fresh.into_iter()),
            None => Box::new(all),
        };
        let mut text = Vec::new();
        for row in chosen {
            let row = row as usize;
            if !put_values(values, &self.types, row, &mut text) {
                continue;
            }
            let group = &mut self.groups[groups.of(row)];
            let before = group.text.len();
            if self.order.is_some() {
                let key: Box<[u8]> = self.keys.get(row).into();
                self.bytes += key.len() + text.len() + size_of::<Waiting>();
                group.waiting.push((key, text.as_slice().into()));
            } else {
                group.append(&text, &self.options, cx);
                self.bytes += group.text.len() - before;
            }
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, ty: &SqlType, cx: &mut EvalContext<'_>) -> Result<ArrayRef, MysqlError> {
        let groups = std::mem::take(&mut self.groups);
        self.bytes = 0;
        let mut out = ColumnBuilder::with_capacity(ty, groups.len());
        for mut group in groups {
            let mut waiting = std::mem::take(&mut group.waiting);
            // Rows of equal keys stay as they came.
            waiting.sort_by(|a, b| a.0.cmp(&b.0));
            waiting.iter().for_each(|(_, text)| group.append(text, &self.options, cx));
            let v = match (group.rows, ty.is_character()) {
                (0, _) => Value::Null,
                (_, true) => Value::string(String::from_utf8_lossy(&group.text).into_owned()),
                (_, false) => Value::bytes(group.text),
            };
            out.push_value(&v)?;
        }
        if let Some(distinct) = &mut self.distinct {
            distinct.clear();
        }
        Ok(out.finish())
    }

    pub(super) fn memory(&self) -> usize {
        let distinct = self.distinct.as_ref().map_or(0, Distinct::memory);
        self.bytes + self.groups.capacity() * size_of::<Group>() + distinct
    }
}

/// Puts the texts of a row's values together; false if one is NULL.
fn put_values(values: &[Datum], types: &[SqlType], row: usize, out: &mut Vec<u8>) -> bool {
    out.clear();
    values.iter().zip(types).all(|(datum, ty)| {
        let v = datum.value(row, ty);
        match operand::text(&v, ty) {
            Some(text) => {
                out.extend_from_slice(&text);
                true
            }
            None => false,
        }
    })
}

impl Group {
    fn append(&mut self, text: &[u8], options: &ConcatOptions, cx: &mut EvalContext<'_>) {
        self.rows += 1;
        if self.cut {
            return;
        }
        if self.rows > 1 {
            self.text.extend_from_slice(options.separator.as_bytes());
        }
        self.text.extend_from_slice(text);
        if self.text.len() > options.max_length {
            let mut end = options.max_length;
            while end > 0 && self.text[end] & 0xC0 == 0x80 {
                end -= 1;
            }
            self.text.truncate(end);
            self.cut = true;
            cx.warnings.warn(MysqlError::cut_by_group_concat(self.rows));
        }
    }
}
