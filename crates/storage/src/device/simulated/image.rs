//! The contents of one simulated file, as shared blocks: copying an image costs a pointer per block.

use crate::device::BLOCK;
use std::sync::Arc;

/// Smallest part of a write that a power cut keeps or drops as a whole, in bytes.
pub(super) const SECTOR: usize = 512;

/// A block of a file.
#[derive(Clone, Default)]
enum Block {
    /// The block has no space on the device. Reads return zeros.
    #[default]
    Hole,
    /// The block has space and was never written. Reads return zeros.
    Unwritten,
    Written(Arc<[u8; BLOCK]>),
}

/// The bytes of a file.
#[derive(Clone, Default)]
pub(super) struct Image {
    blocks: Vec<Block>,
    /// Number of blocks that are no holes.
    allocated: usize,
}

impl Image {
    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        (self.blocks.len() * BLOCK) as u64
    }

    /// Returns the bytes that the image takes on the device.
    pub fn allocated(&self) -> u64 {
        (self.allocated * BLOCK) as u64
    }

    /// Returns the bytes of `from..to` that have no space on the device.
    pub fn lacking(&self, from: u64, to: u64) -> u64 {
        let range = (from / BLOCK as u64) as usize..to.div_ceil(BLOCK as u64) as usize;
        let has = |block: &&Block| !matches!(block, Block::Hole);
        let there = self.blocks.get(range.start..range.end.min(self.blocks.len())).unwrap_or_default();
        ((range.len() - there.iter().filter(has).count()) * BLOCK) as u64
    }

    /// Grows with a hole, or cuts, to `size` bytes, a multiple of [`BLOCK`].
    pub fn resize(&mut self, size: u64) {
        let blocks = (size / BLOCK as u64) as usize;
        let cut = self.blocks.get(blocks..).unwrap_or_default();
        self.allocated -= cut.iter().filter(|block| !matches!(block, Block::Hole)).count();
        self.blocks.resize(blocks, Block::Hole);
    }

    /// Gives `from..to` space, growing the image if necessary.
    pub fn allocate(&mut self, from: u64, to: u64) {
        if to > self.size() {
            self.resize(to);
        }
        for block in &mut self.blocks[(from / BLOCK as u64) as usize..(to / BLOCK as u64) as usize] {
            if matches!(block, Block::Hole) {
                *block = Block::Unwritten;
                self.allocated += 1;
            }
        }
    }

    /// Takes the space of `from..to` away, as far as that is within the size.
    pub fn punch(&mut self, from: u64, to: u64) {
        let end = ((to / BLOCK as u64) as usize).min(self.blocks.len());
        for block in self.blocks.get_mut((from / BLOCK as u64) as usize..end).unwrap_or_default() {
            if !matches!(std::mem::take(block), Block::Hole) {
                self.allocated -= 1;
            }
        }
    }

    /// Reads whole blocks. The caller has checked that they are within the size.
    pub fn read(&self, buf: &mut [u8], offset: u64) {
        let first = (offset / BLOCK as u64) as usize;
        for (to, block) in buf.chunks_mut(BLOCK).zip(&self.blocks[first..]) {
            match block {
                Block::Written(block) => to.copy_from_slice(&block[..to.len()]),
                _ => to.fill(0),
            }
        }
    }

    /// Writes those sectors of whole blocks for which `keep` returns true. Leaves out bytes beyond the size.
    pub fn write(&mut self, data: &[u8], offset: u64, keep: &mut dyn FnMut() -> bool) {
        let first = (offset / BLOCK as u64) as usize;
        for (number, from) in data.chunks(BLOCK).enumerate() {
            let Some(block) = self.blocks.get_mut(first + number) else { return };
            if !matches!(block, Block::Written(_)) {
                self.allocated += usize::from(matches!(block, Block::Hole));
                *block = Block::Written(Arc::new([0; BLOCK]));
            }
            let Block::Written(block) = block else { continue };
            let to = Arc::make_mut(block);
            for (to, from) in to.chunks_mut(SECTOR).zip(from.chunks(SECTOR)) {
                if keep() {
                    to.copy_from_slice(from);
                }
            }
        }
    }
}
