//! Histograms that ANALYZE TABLE ... UPDATE HISTOGRAM has made. They are part of a table's definition, and
//! of the catalog.
//!
//! A histogram is divided into pieces. Each piece is a row of the catalog with the key: 8, table id u64,
//! position of the column u16, number of the piece u16 (big-endian). The payloads of the pieces, each
//! without its format byte, form together:
//!
//! | field                | type                                                                                     |
//! |----------------------|------------------------------------------------------------------------------------------|
//! | buckets asked for    | u16                                                                                      |
//! | share of NULLs       | f64, as its bits u64                                                                     |
//! | share of rows seen   | f64                                                                                      |
//! | when                 | i64: microseconds since 1970, UTC                                                        |
//! | buckets              | u32 count, each: least and greatest value, share of the rows f64, distinct values f64     |
//! | most common values   | u32 count, each: value, share of the rows f64                                            |
//!
//! A value is a length (u32) and a row of the column alone, which is taken as nullable. Values of strings
//! are their first 42 characters.

use super::column::ColumnDef;
use super::definition::{HistogramBucket, HistogramDef, TableDef};
use super::row::CatalogRow;
use crate::bytes::{ByteReader, ByteWriter};
use crate::error::Result;
use leafline_types::{ColumnLayout, RowLayout, Value};
use std::sync::Arc;

/// The first byte of the key.
pub(super) const HISTOGRAM: u8 = 8;
const FORMAT: u8 = 1;
/// The length of a piece in bytes, which fits into half of the smallest page.
const PIECE: usize = 1024;

impl TableDef {
    /// The histogram of a column.
    pub fn histogram(&self, column: usize) -> Option<&Arc<HistogramDef>> {
        self.histograms.iter().find(|histogram| histogram.column == column)
    }

    /// Takes over the histograms of the table before an alteration, for columns that keep their name, type
    /// and collation.
    pub(crate) fn keep_histograms(&mut self, before: &TableDef) {
        let kept = before.histograms.iter().filter_map(|histogram| {
            let old = before.columns.get(histogram.column)?;
            let is_same =
                |new: &ColumnDef| (&new.name, &new.ty, new.collation) == (&old.name, &old.ty, old.collation);
            let column = self.columns.iter().position(is_same)?;
            Some(Arc::new(HistogramDef { column, ..(**histogram).clone() }))
        });
        self.histograms = kept.collect();
    }
}

fn layout(column: &ColumnDef) -> RowLayout {
    let layout = ColumnLayout { ty: column.ty.clone(), nullable: true, collation: column.collation };
    RowLayout::new(0, &[layout])
}

/// The catalog rows of a table's histograms.
pub(super) fn rows(table: &TableDef) -> Result<Vec<CatalogRow>> {
    let mut rows = Vec::new();
    for histogram in &table.histograms {
        let Some(column) = table.columns.get(histogram.column) else { continue };
        let bytes = encode(histogram, column)?;
        for (number, piece) in bytes.chunks(PIECE).enumerate() {
            let mut key = vec![HISTOGRAM];
            key.extend_from_slice(&table.id.0.to_be_bytes());
            key.extend_from_slice(&(histogram.column as u16).to_be_bytes());
            key.extend_from_slice(&(number as u16).to_be_bytes());
            rows.push(CatalogRow { key, payload: [&[FORMAT], piece].concat() });
        }
    }
    Ok(rows)
}

fn encode(histogram: &HistogramDef, column: &ColumnDef) -> Result<Vec<u8>> {
    let layout = layout(column);
    let value = |out: &mut ByteWriter, value: &Value| -> Result<()> {
        let mut row = Vec::new();
        layout.encode(std::slice::from_ref(value), &mut row)?;
        out.bytes(&row);
        Ok(())
    };
    let mut out = ByteWriter::default();
    out.u16(histogram.buckets_asked_for).u64(histogram.nulls.to_bits());
    out.u64(histogram.sampling_rate.to_bits()).i64(histogram.updated);
    out.u32(histogram.buckets.len() as u32);
    for bucket in &histogram.buckets {
        value(&mut out, &bucket.lower)?;
        value(&mut out, &bucket.upper)?;
        out.u64(bucket.share.to_bits()).u64(bucket.distinct.to_bits());
    }
    out.u32(histogram.frequent.len() as u32);
    for (frequent, share) in &histogram.frequent {
        value(&mut out, frequent)?;
        out.u64(share.to_bits());
    }
    Ok(out.finish())
}

/// The pieces of one table's histograms, added in the order of their keys.
#[derive(Default)]
pub(super) struct Pieces(Vec<(usize, Vec<u8>)>);

impl Pieces {
    /// Adds a piece of the histogram of the column at this position.
    pub(super) fn add(&mut self, column: u16, payload: &[u8]) -> Result<()> {
        let mut from = ByteReader::new("catalog histogram", payload);
        from.format(FORMAT)?;
        let column = usize::from(column);
        match self.0.last_mut().filter(|(last, _)| *last == column) {
            Some((_, bytes)) => bytes.extend_from_slice(from.rest()),
            None => self.0.push((column, from.rest().to_vec())),
        }
        Ok(())
    }

    /// Decodes the histograms. An unreadable histogram is left out, because it can be made again and no row
    /// depends on it.
    pub(super) fn finish(self, columns: &[ColumnDef]) -> Vec<Arc<HistogramDef>> {
        let decoded = self.0.into_iter().filter_map(|(column, bytes)| {
            let definition = columns.get(column)?;
            decode(&bytes, column, definition).ok()
        });
        decoded.map(Arc::new).collect()
    }
}

fn decode(bytes: &[u8], column: usize, definition: &ColumnDef) -> Result<HistogramDef> {
    let layout = layout(definition);
    let mut from = ByteReader::new("catalog histogram", bytes);
    let share = |from: &mut ByteReader<'_>| -> Result<f64> {
        let number = f64::from_bits(from.u64()?);
        if number.is_finite() && number >= 0.0 { Ok(number) } else { Err(from.damaged("a share is none")) }
    };
    let value = |from: &mut ByteReader<'_>| -> Result<Value> { Ok(layout.decode_value(from.bytes()?, 0)?) };
    let (buckets_asked_for, nulls, sampling_rate) = (from.u16()?, share(&mut from)?, share(&mut from)?);
    let updated = from.i64()?;
    let mut buckets = Vec::new();
    for _ in 0..from.u32()? {
        let (lower, upper) = (value(&mut from)?, value(&mut from)?);
        let (share, distinct) = (share(&mut from)?, share(&mut from)?);
        buckets.push(HistogramBucket { lower, upper, share, distinct });
    }
    let mut frequent = Vec::new();
    for _ in 0..from.u32()? {
        frequent.push((value(&mut from)?, share(&mut from)?));
    }
    from.end()?;
    Ok(HistogramDef { column, buckets_asked_for, nulls, sampling_rate, updated, buckets, frequent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::{Collation, SqlType};

    #[test]
    fn a_histogram_of_many_pieces_is_read_back() {
        let text = ColumnDef::new("c", SqlType::Varchar { len: 50 }, true, Collation::Utf8mb4Bin);
        let name = |number: usize| Value::string(format!("{number:042}"));
        let bucket = |number: usize| HistogramBucket {
            lower: name(number * 2),
            upper: name(number * 2 + 1),
            share: 0.01,
            distinct: 2.0,
        };
        let histogram = HistogramDef {
            column: 3,
            buckets_asked_for: 100,
            nulls: 0.25,
            sampling_rate: 0.5,
            updated: 1_700_000_000_000_000,
            buckets: (0..90).map(bucket).collect(),
            frequent: vec![(name(7), 0.009)],
        };
        let bytes = encode(&histogram, &text).unwrap();
        let mut pieces = Pieces::default();
        for piece in bytes.chunks(PIECE) {
            pieces.add(3, &[&[FORMAT], piece].concat()).unwrap();
        }
        let columns = vec![text.clone(), text.clone(), text.clone(), text];
        assert_eq!(pieces.finish(&columns), [Arc::new(histogram)]);
        // A truncated histogram is left out.
        let mut pieces = Pieces::default();
        pieces.add(3, &[&[FORMAT], &bytes[..PIECE]].concat()).unwrap();
        assert_eq!(pieces.finish(&columns), []);
        assert!(Pieces::default().add(3, &[9, 0]).is_err());
    }
}
