//! The queues where threads sleep until a page's word changes.
//!
//! The table of queues is fixed; a page's number selects its queue. Waking costs one load when nobody waits. Some
//! wake-ups are spurious, because another page of the same queue changed, so waiters look at their word again.
//!
//! No wake-up is lost. A waiter announces itself, then looks at the word under the queue's mutex, then sleeps. A
//! waker changes the word, then looks whether anyone is announced, then takes the mutex to wake. All four accesses
//! are sequentially consistent, so one of the two sees the other.

use super::word::Word;
use crate::PageNo;
use crate::sync::{AtomicU64, AtomicUsize, Condvar, Mutex, store_before_load};
use std::sync::atomic::Ordering;

const QUEUES: usize = if cfg!(loom) { 1 } else { 64 };

#[repr(align(64))]
#[derive(Default)]
struct Queue {
    waiters: AtomicUsize,
    mutex: Mutex<()>,
    changed: Condvar,
}

pub(super) struct WaitTable {
    queues: Box<[Queue]>,
}

impl WaitTable {
    pub(super) fn new() -> WaitTable {
        WaitTable { queues: (0..QUEUES).map(|_| Queue::default()).collect() }
    }

    fn queue(&self, page: PageNo) -> &Queue {
        let hash = page.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        &self.queues[hash as usize % QUEUES]
    }

    /// Sleeps while `blocked` returns true for the word.
    pub(super) fn wait_while(&self, page: PageNo, word: &AtomicU64, blocked: impl Fn(Word) -> bool) {
        let queue = self.queue(page);
        queue.waiters.fetch_add(1, Ordering::SeqCst);
        store_before_load();
        let mut held = queue.mutex.lock();
        while blocked(Word(word.load(Ordering::SeqCst))) {
            queue.changed.wait(&mut held);
        }
        drop(held);
        queue.waiters.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes the threads that wait for the page. Called after the page's word was changed with `SeqCst` ordering.
    pub(super) fn wake(&self, page: PageNo) {
        let queue = self.queue(page);
        store_before_load();
        if queue.waiters.load(Ordering::SeqCst) != 0 {
            drop(queue.mutex.lock());
            queue.changed.notify_all();
        }
    }
}
