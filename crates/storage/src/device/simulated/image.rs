//! Contents of one simulated file, as shared blocks: copying an image costs a pointer a block.

use crate::device::BLOCK;
use std::sync::Arc;

/// Smallest part of a write that a power cut keeps or drops as a whole, in bytes.
pub(super) const SECTOR: usize = 512;

/// Bytes of a file. A block that was never written is `None`, read as zeros.
#[derive(Clone, Default)]
pub(super) struct Image {
    blocks: Vec<Option<Arc<[u8; BLOCK]>>>,
}

impl Image {
    /// Size in bytes.
    pub fn size(&self) -> u64 {
        (self.blocks.len() * BLOCK) as u64
    }

    /// Grows with zeros, or cuts, to `size` bytes, a multiple of [`BLOCK`].
    pub fn resize(&mut self, size: u64) {
        self.blocks.resize((size / BLOCK as u64) as usize, None);
    }

    /// Reads whole blocks. The caller has checked that they are within the size.
    pub fn read(&self, buf: &mut [u8], offset: u64) {
        let first = (offset / BLOCK as u64) as usize;
        for (to, block) in buf.chunks_mut(BLOCK).zip(&self.blocks[first..]) {
            match block {
                Some(block) => to.copy_from_slice(&block[..to.len()]),
                None => to.fill(0),
            }
        }
    }

    /// Writes the sectors for which `keep` holds of whole blocks within the size; what is beyond it is left out.
    pub fn write(&mut self, data: &[u8], offset: u64, keep: &mut dyn FnMut() -> bool) {
        let first = (offset / BLOCK as u64) as usize;
        for (number, from) in data.chunks(BLOCK).enumerate() {
            let Some(block) = self.blocks.get_mut(first + number) else { return };
            let block = block.get_or_insert_with(|| Arc::new([0; BLOCK]));
            let to = Arc::make_mut(block);
            for (to, from) in to.chunks_mut(SECTOR).zip(from.chunks(SECTOR)) {
                if keep() {
                    to.copy_from_slice(from);
                }
            }
        }
    }
}
