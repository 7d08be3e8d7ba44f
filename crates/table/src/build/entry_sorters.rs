//! Sorts the entries of several secondary indexes, made from rows: in the caller's thread, or in threads
//! that share the rows.
//!
//! Rows arrive one after another and are passed on in batches. As long as there are few, the caller's
//! thread does the work, so that small builds start no threads. After that each thread takes batches and
//! sorts into sorters of its own, one for each index. The results of all threads are merged at the end. All
//! sorts together stay within the memory of the build.

use super::control::BuildControl;
use crate::catalog::{IndexDef, TableDef};
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::derived::{DerivedFrom, for_each_entry};
use crate::index::words_entry::{TextsOutside, WordEntries};
use crate::limits::Limits;
use crate::run::Sorter;
use leafline_storage::Env;
use leafline_storage::worker::ThreadName;
use leafline_types::MysqlError;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// The number of bytes of rows passed on together.
const BATCH_BYTES: usize = 256 << 10;
/// The number of batches that may wait, for each thread.
const WAITING: usize = 2;
/// The number of batches that the caller sorts before it starts threads.
const ALONE: usize = 8;

/// Rows as keys and payloads, one after another.
#[derive(Default)]
struct RowBatch {
    bytes: Vec<u8>,
    /// The ends of each row's key and payload in `bytes`.
    ends: Vec<(usize, usize)>,
    /// The texts stored outside rows, each with the number of its row.
    outside: Vec<(usize, TextsOutside)>,
    bytes_outside: usize,
}

/// The data that all threads share.
struct Work {
    table: Arc<TableDef>,
    indexes: Vec<Arc<IndexDef>>,
    limits: Limits,
    env: Arc<dyn Env>,
    /// The memory of each sort, in bytes.
    memory: u64,
    batches: Mutex<Option<Receiver<RowBatch>>>,
}

/// Sorts the entries of indexes.
pub(crate) struct EntrySorters {
    work: Arc<Work>,
    threads: usize,
    batch: RowBatch,
    batches: usize,
    own: Vec<Sorter>,
    words: WordEntries,
    sender: Option<SyncSender<RowBatch>>,
    helpers: Vec<JoinHandle<Result<Vec<Sorter>>>>,
}

impl RowBatch {
    fn each(&self, mut each: impl FnMut(DerivedFrom<'_>) -> Result<()>) -> Result<()> {
        let mut begin = 0;
        let mut outside = self.outside.iter().peekable();
        for (number, &(key_end, end)) in self.ends.iter().enumerate() {
            let of_row = outside.next_if(|(row, _)| *row == number);
            each(DerivedFrom {
                key: &self.bytes[begin..key_end],
                payload: &self.bytes[key_end..end],
                outside: of_row.map_or(&[], |(_, texts)| texts),
            })?;
            begin = end;
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.outside.clear();
        self.bytes_outside = 0;
    }
}

impl Work {
    fn sorters(&self) -> Vec<Sorter> {
        self.indexes.iter().map(|_| Sorter::new(&self.env, self.memory)).collect()
    }

    fn sort(&self, batch: &RowBatch, sorters: &mut [Sorter], words: &mut WordEntries) -> Result<()> {
        let limits = &self.limits;
        batch.each(|row| {
            for (index, sorter) in self.indexes.iter().zip(&mut *sorters) {
                for_each_entry(&self.table, index, row, words, &mut |entry| match entry.fits(limits) {
                    true => sorter.push(entry.key, entry.payload),
                    false => Err(MysqlError::key_too_long(limits.max_key).into()),
                })?;
            }
            Ok(())
        })
    }

    fn help(&self) -> Result<Vec<Sorter>> {
        let (mut sorters, mut words) = (self.sorters(), WordEntries::default());
        while let Some(batch) = self.next_batch() {
            if let Err(error) = self.sort(&batch, &mut sorters, &mut words) {
                // Wakes a sender that waits for room, because this thread takes no more batches.
                *self.batches.lock() = None;
                return Err(error);
            }
        }
        // Each thread sorts what it still has in memory, which the caller would sort alone.
        sorters.iter_mut().for_each(Sorter::sort);
        Ok(sorters)
    }

    fn next_batch(&self) -> Option<RowBatch> {
        self.batches.lock().as_ref()?.recv().ok()
    }
}

impl EntrySorters {
    /// Makes sorters for `indexes` of `table`.
    pub(crate) fn new(
        core: &Core,
        table: &TableDef,
        indexes: Vec<Arc<IndexDef>>,
        control: &BuildControl,
    ) -> EntrySorters {
        let threads = if indexes.is_empty() { 0 } else { control.threads };
        let sorts = indexes.len().max(1) * (threads + 1);
        // Batches take memory, too.
        let batches = (threads * (WAITING + 1) + 1) * BATCH_BYTES;
        let least = control.memory_bytes / 4;
        let memory = control.memory_bytes.saturating_sub(batches as u64).max(least) / sorts as u64;
        let work = Arc::new(Work {
            table: Arc::new(table.clone()),
            indexes,
            limits: core.limits,
            env: core.env.clone(),
            memory,
            batches: Mutex::new(None),
        });
        EntrySorters {
            own: work.sorters(),
            words: WordEntries::default(),
            work,
            threads,
            batch: RowBatch::default(),
            batches: 0,
            sender: None,
            helpers: Vec::new(),
        }
    }

    /// Adds the entries of a row, whose texts outside it are `outside`.
    pub(crate) fn push(&mut self, key: &[u8], payload: &[u8], outside: TextsOutside) -> Result<()> {
        if self.own.is_empty() {
            return Ok(());
        }
        let batch = &mut self.batch;
        batch.bytes.extend_from_slice(key);
        let key_end = batch.bytes.len();
        batch.bytes.extend_from_slice(payload);
        if !outside.is_empty() {
            batch.bytes_outside += outside.iter().map(|(_, text)| text.len()).sum::<usize>();
            batch.outside.push((batch.ends.len(), outside));
        }
        batch.ends.push((key_end, batch.bytes.len()));
        if batch.bytes.len() + batch.bytes_outside >= BATCH_BYTES { self.hand_on() } else { Ok(()) }
    }

    fn hand_on(&mut self) -> Result<()> {
        self.batches += 1;
        if self.threads > 0 && self.sender.is_none() && self.batches > ALONE {
            self.start()?;
        }
        let Some(sender) = &self.sender else {
            self.work.sort(&self.batch, &mut self.own, &mut self.words)?;
            self.batch.clear();
            return Ok(());
        };
        let batch = std::mem::take(&mut self.batch);
        match sender.send(batch) {
            Ok(()) => Ok(()),
            // A thread has failed; joining it returns its error.
            Err(_) => self.join().map(drop),
        }
    }

    fn start(&mut self) -> Result<()> {
        let (sender, receiver) = sync_channel(self.threads * WAITING);
        *self.work.batches.lock() = Some(receiver);
        for _ in 0..self.threads {
            let work = self.work.clone();
            let helper = ThreadName::Build.builder().spawn(move || work.help());
            match helper {
                Ok(helper) => self.helpers.push(helper),
                // Fewer threads suffice, or the caller alone.
                Err(_) => break,
            }
        }
        self.sender = (!self.helpers.is_empty()).then_some(sender);
        Ok(())
    }

    fn join(&mut self) -> Result<Vec<Vec<Sorter>>> {
        self.sender = None;
        let mut sorted = Vec::new();
        let mut failed = None;
        for helper in self.helpers.drain(..) {
            let ended = helper.join();
            match ended
                .unwrap_or_else(|_| Err(TableError::Internal("a thread of a build has panicked".into())))
            {
                Ok(sorters) => sorted.push(sorters),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(sorted), Err)
    }

    /// The sorters of each index, one from each thread.
    pub(crate) fn finish(mut self) -> Result<Vec<Vec<Sorter>>> {
        self.work.sort(&self.batch, &mut self.own, &mut self.words)?;
        let mut parts: Vec<Vec<Sorter>> =
            std::mem::take(&mut self.own).into_iter().map(|sorter| vec![sorter]).collect();
        for sorters in self.join()? {
            parts.iter_mut().zip(sorters).for_each(|(part, sorter)| part.push(sorter));
        }
        Ok(parts)
    }
}

impl Drop for EntrySorters {
    fn drop(&mut self) {
        // Threads that are still working remove their own files.
        let _ = self.join();
    }
}
