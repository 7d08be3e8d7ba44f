//! Chooses the layout of a tree for which nobody has specified whether it is packed. The first entries in
//! key order decide, as many as fill [`SAMPLE_LEAVES`] plain leaves: the tree is packed if they take at
//! most half as many leaves when packed. A smaller tree is plain. The sample is kept in memory until the
//! decision.

use super::{FILL_PERCENT, finish_builder};
use crate::catalog::LaidOut;
use crate::core::Core;
use crate::error::Result;
use leafline_btree::{BulkBuilder, LeafCount, LeafFormat};

/// The number of plain leaves after which the layout is decided: 1 MiB with pages of 16 KiB.
const SAMPLE_LEAVES: u64 = 64;

/// Writes a tree in the layout it chooses.
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
    /// The lengths of each key and payload.
    lens: Vec<(usize, usize)>,
}

impl TreeWriter {
    /// Writes through `builder`, which must be empty. `packed` specifies the layout; `None` leaves it to
    /// the sample.
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

    /// Adds an entry after the others.
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

    /// Writes the remaining entries and makes the tree live.
    pub(super) fn finish(mut self, core: &Core) -> Result<LaidOut> {
        self.decide()?;
        Ok((finish_builder(core, self.builder)?, self.format))
    }
}
