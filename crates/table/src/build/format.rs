//! How a tree is laid out of which nobody says whether it is to be packed: as the first entries in key order, [`SAMPLE_LEAVES`] plain leaves of
//! them, show. It is packed if they take no more than half the leaves packed; what is smaller than that is plain. They are held in
//! memory until it is known.

use super::{FILL_PERCENT, finish_builder};
use crate::catalog::LaidOut;
use crate::engine::Engine;
use crate::error::Result;
use leafline_btree::{BulkBuilder, LeafCount, LeafFormat};

/// Plain leaves after which it is decided: a MiB where pages have 16 KiB.
const SAMPLE_LEAVES: u64 = 64;

/// Writes a tree.
pub(super) struct TreeWriter {
    builder: BulkBuilder,
    format: LeafFormat,
    sample: Option<Box<Sample>>,
}

/// The first entries.
struct Sample {
    plain: LeafCount,
    packed: LeafCount,
    bytes: Vec<u8>,
    /// Lengths of key and payload.
    lens: Vec<(usize, usize)>,
}

impl TreeWriter {
    /// Writes by means of `builder`, which has no entries, in the format that is said.
    pub(super) fn new(mut builder: BulkBuilder, packed: Option<bool>, page_size: usize) -> TreeWriter {
        let format = if packed == Some(true) { LeafFormat::Packed } else { LeafFormat::Plain };
        builder.lay_out(format);
        let sample = packed.is_none().then(|| {
            let [plain, packed] = [LeafFormat::Plain, LeafFormat::Packed]
                .map(|format| LeafCount::new(page_size, FILL_PERCENT, format));
            Box::new(Sample { plain, packed, bytes: Vec::new(), lens: Vec::new() })
        });
        TreeWriter { builder, format, sample }
    }

    /// Adds an entry behind the others.
    pub(super) fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<()> {
        let Some(sample) = &mut self.sample else { return Ok(self.builder.push(key, payload)?) };
        sample.plain.push(key, payload);
        sample.packed.push(key, payload);
        sample.bytes.extend_from_slice(key);
        sample.bytes.extend_from_slice(payload);
        sample.lens.push((key.len(), payload.len()));
        match sample.plain.leaves() < SAMPLE_LEAVES {
            true => Ok(()),
            false => self.decide(),
        }
    }

    fn decide(&mut self) -> Result<()> {
        let Some(sample) = self.sample.take() else { return Ok(()) };
        if sample.plain.leaves() >= SAMPLE_LEAVES && sample.packed.leaves() * 2 <= sample.plain.leaves() {
            self.format = LeafFormat::Packed;
            self.builder.lay_out(self.format);
        }
        let mut rest = sample.bytes.as_slice();
        for (key, payload) in sample.lens {
            let (entry, behind) = rest.split_at(key + payload);
            let (key, payload) = entry.split_at(key);
            self.builder.push(key, payload)?;
            rest = behind;
        }
        Ok(())
    }

    /// Writes what is left and makes the tree live.
    pub(super) fn finish(mut self, engine: &Engine) -> Result<LaidOut> {
        self.decide()?;
        Ok((finish_builder(engine, self.builder)?, self.format))
    }
}
