//! Merges sorted entries in a thread of its own, while the caller writes those merged before.
//!
//! Entries are passed on in batches. The caller gives a batch back when it has read it, and it is filled again, so that
//! a merge makes a few batches only, whatever the number of entries.

use crate::error::Result;
use crate::run::{EntrySource, Sorter};
use leafline_storage::worker::ThreadName;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// The number of bytes of entries passed on together.
const BATCH_BYTES: usize = 128 << 10;
/// The number of batches that may wait.
const WAITING: usize = 4;

/// Entries in key order.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// The ends of each entry's key and payload in `bytes`.
    ends: Vec<(usize, usize)>,
}

/// The entries that a thread merges.
struct MergedAhead {
    batches: Receiver<Result<Batch>>,
    used: Sender<Batch>,
    batch: Batch,
    /// The next entry of the batch, and where it begins.
    next: usize,
    begin: usize,
}

/// Calls `read` once with the entries of several sorters in key order. They are merged by another thread if `in_thread`
/// and if there is one.
///
/// # Errors
/// Errors of reading runs; errors of `read`.
pub(super) fn with_merged<T>(
    parts: Vec<Sorter>,
    in_thread: bool,
    mut read: impl FnMut(&mut dyn EntrySource) -> Result<T>,
) -> Result<T> {
    let mut merge = Sorter::merge(parts)?;
    if !in_thread {
        return read(&mut merge);
    }
    let done = std::thread::scope(|scope| {
        let (sender, batches) = sync_channel(WAITING);
        let (used, to_fill) = channel();
        let helper = ThreadName::Build.builder();
        let helper = helper.spawn_scoped(scope, || pass_on(&mut merge, sender, to_fill));
        let mut merged = MergedAhead { batches, used, batch: Batch::default(), next: 0, begin: 0 };
        helper.is_ok().then(|| read(&mut merged))
    });
    done.unwrap_or_else(|| read(&mut merge))
}

/// Passes on all entries of `merge`, or those before an error and the error, until the receiver is dropped.
fn pass_on(merge: &mut dyn EntrySource, sender: SyncSender<Result<Batch>>, to_fill: Receiver<Batch>) {
    loop {
        let mut batch = to_fill.try_recv().unwrap_or_default();
        let filled = batch.fill(merge);
        let is_last = batch.ends.is_empty() || filled.is_err();
        if sender.send(Ok(batch)).is_err() {
            return;
        }
        if let Err(error) = filled {
            let _ = sender.send(Err(error));
        }
        if is_last {
            return;
        }
    }
}

impl Batch {
    fn fill(&mut self, merge: &mut dyn EntrySource) -> Result<()> {
        self.bytes.clear();
        self.ends.clear();
        while self.bytes.len() < BATCH_BYTES
            && let Some((key, payload)) = merge.next()?
        {
            self.bytes.extend_from_slice(key);
            let key_end = self.bytes.len();
            self.bytes.extend_from_slice(payload);
            self.ends.push((key_end, self.bytes.len()));
        }
        Ok(())
    }
}

impl EntrySource for MergedAhead {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        while self.next == self.batch.ends.len() {
            let Ok(batch) = self.batches.recv() else { return Ok(None) };
            let used = std::mem::replace(&mut self.batch, batch?);
            // The thread may have ended.
            let _ = self.used.send(used);
            (self.next, self.begin) = (0, 0);
        }
        let (key_end, end) = self.batch.ends[self.next];
        let begin = std::mem::replace(&mut self.begin, end);
        self.next += 1;
        Ok(Some((&self.batch.bytes[begin..key_end], &self.batch.bytes[key_end..end])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_storage::Env;
    use leafline_storage::device::SimulatedEnv;
    use std::sync::Arc;

    fn sorters(env: &Arc<dyn Env>) -> Vec<Sorter> {
        let mut parts = vec![Sorter::new(env, 1 << 16), Sorter::new(env, 1 << 20)];
        for number in 0..50_000_u32 {
            let key = number.wrapping_mul(2_654_435_761).to_be_bytes();
            parts[number as usize % 2].push(&key, &number.to_le_bytes()[..number as usize % 4]).unwrap();
        }
        parts
    }

    fn read(env: &Arc<dyn Env>, in_thread: bool, most: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        with_merged(sorters(env), in_thread, |entries| {
            let mut found = Vec::new();
            while found.len() < most
                && let Some((key, payload)) = entries.next()?
            {
                found.push((key.to_vec(), payload.to_vec()));
            }
            Ok(found)
        })
        .unwrap()
    }

    #[test]
    fn a_thread_passes_on_the_entries_of_the_merge_and_ends_when_nobody_reads() {
        let env: Arc<dyn Env> = Arc::new(SimulatedEnv::new());
        let entries = read(&env, true, usize::MAX);
        assert_eq!(entries.len(), 50_000);
        assert!(entries.is_sorted());
        assert_eq!(entries, read(&env, false, usize::MAX));
        assert_eq!(read(&env, true, 10), entries[..10]);
    }

    #[test]
    fn an_error_of_the_merge_comes_behind_the_entries_before_it() {
        struct Failing(u8);
        impl EntrySource for Failing {
            fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
                self.0 += 1;
                match self.0 {
                    ..4 => Ok(Some((std::slice::from_ref(&self.0), &[]))),
                    _ => Err(crate::error::TableError::Internal("failing".into())),
                }
            }
        }
        let ((sender, batches), (used, to_fill)) = (sync_channel(WAITING), channel());
        pass_on(&mut Failing(0), sender, to_fill);
        let mut merged = MergedAhead { batches, used, batch: Batch::default(), next: 0, begin: 0 };
        for number in 1..4 {
            assert_eq!(merged.next().unwrap(), Some((&[number][..], &[][..])));
        }
        assert!(merged.next().is_err());
    }
}
