//! A histogram that was asked for: of more rows than one that is made for a plan, in so many buckets, to be kept in the catalog.
//!
//! Buckets are MySQL's: of about equal height, a value that is higher than that in one of its own, and where there are no more
//! values than buckets each by itself. The most common values among those that share a bucket are kept beside them.

use super::histogram::{
    Bucket, Counted, Frequent, Histogram, NULL_KEY, Seen, ValueCounter, distinct_values, most_common,
};
use super::sample::{SampleLimits, SampledEntries, look};
use super::table::part_of;
use crate::constraint::Bounds;
use crate::error::Result;
use crate::params::{ANALYZE_ROWS, HISTOGRAM_CHARACTERS};
use leafline_table::{ColumnDef, Core, HistogramBucket, HistogramDef, TableDef};
use leafline_types::key::encode_part;
use leafline_types::{CancelToken, SqlType, Value, value_at};
use std::sync::Arc;

/// Makes a histogram of a column, given with its position, of up to so many buckets. `now` is in microseconds since 1970.
///
/// # Errors
/// The errors of reading pages; 1317 if it was cancelled.
pub fn analyze_column(
    engine: &Core,
    table: &Arc<TableDef>,
    (column, definition): (usize, &ColumnDef),
    buckets: u16,
    now: i64,
    cancel: &CancelToken,
) -> Result<HistogramDef> {
    let rows = engine.rows_of(table) as f64;
    let share = (ANALYZE_ROWS / rows.max(1.0)).min(1.0);
    let part = part_of(definition);
    let mut values: Vec<(Vec<u8>, usize, Value)> = Vec::new();
    let mut seen = Seen { rows: 0, nulls: 0, leaves: 0, of: rows, of_leaves: 0.0 };
    for stored in table.stored() {
        let size = engine.tree(stored.clustered())?.estimate(&[], None)?;
        // Twice as many as are estimated where all are meant.
        let wanted = if share < 1.0 { size.leaves * share } else { size.leaves * 2.0 + 8.0 };
        let most =
            SampleLimits { leaves: wanted.ceil() as usize, per_leaf: usize::MAX, read: true, mean: 1.0 };
        let looked = look(engine, stored.clustered(), &Bounds::all(), &[column], most)?;
        let SampledEntries { batch, leaf_ends, .. } = looked;
        if let Some(all) = batch.columns.first() {
            let mut start = 0;
            for (leaf, end) in leaf_ends.iter().enumerate() {
                cancel.check()?;
                for row in start..*end {
                    let value = beginning(value_at(all, row, &definition.ty), definition);
                    let mut key = Vec::new();
                    encode_part(&part, &value, &mut key)?;
                    if key == NULL_KEY {
                        seen.nulls += 1;
                    } else {
                        values.push((key, seen.leaves + leaf, value));
                    }
                }
                start = *end;
            }
        }
        seen.rows += batch.rows;
        seen.leaves += leaf_ends.len();
        seen.of_leaves += size.leaves;
    }
    seen.of = seen.of.max(seen.rows as f64);
    Ok(of_values(values, seen, column, buckets, now))
}

/// As much of a string as a histogram keeps.
fn beginning(value: Value, column: &ColumnDef) -> Value {
    match &value {
        Value::String(text) if text.len() > HISTOGRAM_CHARACTERS && !matches!(column.ty, SqlType::Json) => {
            Value::string(text.chars().take(HISTOGRAM_CHARACTERS).collect::<String>())
        }
        Value::Bytes(bytes) if bytes.len() > HISTOGRAM_CHARACTERS => {
            Value::bytes(&bytes[..HISTOGRAM_CHARACTERS])
        }
        _ => value,
    }
}

fn of_values(
    mut values: Vec<(Vec<u8>, usize, Value)>,
    seen: Seen,
    column: usize,
    buckets: u16,
    now: i64,
) -> HistogramDef {
    values.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    let mut counting = ValueCounter::default();
    let mut named: Vec<Value> = Vec::new();
    for (key, leaf, value) in values {
        if counting.add(key, leaf) {
            named.push(value);
        }
    }
    let counted = counting.counted;
    let rows = seen.rows.max(1) as f64;
    let ends = bucket_ends(&counted, buckets.into());
    let distinct = distinct_values(counted.iter(), seen);
    let scale = distinct / counted.len().max(1) as f64;
    let mut made = Vec::with_capacity(ends.len());
    let mut alone = vec![false; counted.len()];
    let mut start = 0;
    for end in ends {
        let inside = &counted[start..end];
        let share = inside.iter().map(|value| value.rows).sum::<usize>() as f64 / rows;
        if let (Some(lower), Some(upper)) = (named.get(start), named.get(end - 1)) {
            let distinct = if inside.len() == 1 { 1.0 } else { (inside.len() as f64 * scale).round() };
            made.push(HistogramBucket { lower: lower.clone(), upper: upper.clone(), share, distinct });
        }
        if let (Some(alone), 1) = (alone.get_mut(start), inside.len()) {
            *alone = true;
        }
        start = end;
    }
    let common = most_common(&counted, seen).into_iter().zip(alone).map(|(common, alone)| common && !alone);
    let frequent = counted.iter().zip(named).zip(common).filter(|(_, common)| *common);
    HistogramDef {
        column,
        buckets_asked_for: buckets,
        nulls: seen.nulls as f64 / rows,
        sampling_rate: (seen.rows as f64 / seen.of.max(1.0)).min(1.0),
        updated: now,
        buckets: made,
        frequent: frequent.map(|((value, named), _)| (named, value.rows as f64 / rows)).collect(),
    }
}

/// Where the buckets end: as low as so many buckets allow.
fn bucket_ends(counted: &[Counted], buckets: usize) -> Vec<usize> {
    if counted.len() <= buckets {
        return (1..=counted.len()).collect();
    }
    let ends = |height: usize| {
        let (mut ends, mut inside) = (Vec::new(), 0);
        for (at, value) in counted.iter().enumerate() {
            if inside > 0 && inside + value.rows > height {
                ends.push(at);
                inside = 0;
            }
            inside += value.rows;
        }
        ends.push(counted.len());
        ends
    };
    let (mut low, mut high) = (1, counted.iter().map(|value| value.rows).sum::<usize>().max(1));
    while low < high {
        let middle = low.midpoint(high);
        match ends(middle).len() <= buckets {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    ends(high)
}

impl Histogram {
    /// The values of a definition. `None` if they are not of the column's type.
    pub(super) fn of_definition(definition: &HistogramDef, column: &ColumnDef) -> Option<Histogram> {
        let part = part_of(column);
        let key = |value: &Value| {
            let mut key = Vec::new();
            encode_part(&part, value, &mut key).ok().map(|()| key)
        };
        let mut frequent = Vec::new();
        let mut buckets = Vec::new();
        for bucket in &definition.buckets {
            let (lower, upper) = (key(&bucket.lower)?, key(&bucket.upper)?);
            match lower == upper {
                true => frequent.push(Frequent { key: lower, share: bucket.share }),
                false => {
                    buckets.push(Bucket { lower, upper, share: bucket.share, distinct: bucket.distinct });
                }
            }
        }
        for (value, share) in &definition.frequent {
            let key = key(value)?;
            let at = buckets.partition_point(|bucket| bucket.upper < key);
            if let Some(bucket) = buckets.get_mut(at).filter(|bucket| bucket.lower <= key) {
                bucket.share = (bucket.share - share).max(0.0);
                bucket.distinct = (bucket.distinct - 1.0).max(1.0);
            }
            frequent.push(Frequent { key, share: *share });
        }
        frequent.sort_by(|a, b| a.key.cmp(&b.key));
        let per_value = buckets.iter().map(|bucket| bucket.share / bucket.distinct.max(1.0));
        let unseen =
            if definition.sampling_rate < 1.0 { per_value.fold(f64::INFINITY, f64::min) } else { 0.0 };
        let unseen = if unseen.is_finite() { unseen / 2.0 } else { 0.0 };
        Some(Histogram::new(definition.nulls, frequent, buckets, unseen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::Collation;

    fn analyzed(numbers: &[i64], nulls: usize, buckets: u16) -> HistogramDef {
        let key = |number: i64| [&[1][..], &(number as u64 ^ (1 << 63)).to_be_bytes()].concat();
        let values = numbers.iter().enumerate();
        let values = values.map(|(at, number)| (key(*number), at / 100, Value::Int(*number))).collect();
        let rows = numbers.len() + nulls;
        let seen = Seen { rows, nulls, leaves: rows.div_ceil(100), of: rows as f64, of_leaves: 1.0 };
        of_values(values, seen, 0, buckets, 5)
    }

    #[test]
    fn few_values_have_a_bucket_each() {
        let histogram = analyzed(&[3, 1, 3, 2, 3], 5, 3);
        let bucket = |value, share| HistogramBucket {
            lower: Value::Int(value),
            upper: Value::Int(value),
            share,
            distinct: 1.0,
        };
        assert_eq!(histogram.buckets, [bucket(1, 0.1), bucket(2, 0.1), bucket(3, 0.3)]);
        assert_eq!((histogram.nulls, histogram.sampling_rate), (0.5, 1.0));
        assert_eq!(histogram.frequent, []);
    }

    #[test]
    fn buckets_are_of_equal_height_and_common_values_are_known() {
        let numbers: Vec<i64> =
            (0..1000).map(|at| if at % 4 == 0 { 500 } else { at }).chain(vec![77; 30]).collect();
        let histogram = analyzed(&numbers, 0, 10);
        assert!(histogram.buckets.len() <= 10);
        let shares: f64 = histogram.buckets.iter().map(|bucket| bucket.share).sum();
        assert!((shares - 1.0).abs() < 1e-9);
        let alone = histogram.buckets.iter().find(|bucket| bucket.lower == bucket.upper).expect("one");
        assert_eq!((&alone.lower, alone.distinct), (&Value::Int(500), 1.0));
        assert_eq!(histogram.frequent.first().map(|(value, _)| value), Some(&Value::Int(77)));
        let column = ColumnDef::new("n", SqlType::BIGINT, false, Collation::Binary);
        let known = Histogram::of_definition(&histogram, &column).expect("numbers");
        assert_eq!(known.distinct(), 751.0);
        let share = |number: i64| {
            let mut key = Vec::new();
            encode_part(&part_of(&column), &Value::Int(number), &mut key).expect("a number");
            known.share_of_value(&key)
        };
        assert!((share(500) - 250.0 / 1030.0).abs() < 1e-9);
        assert!((share(77) - 31.0 / 1030.0).abs() < 1e-9);
        assert!((share(301) - 1.0 / 1030.0).abs() < 0.0003);
    }
}
