//! The translation word: the frame of a page, its latch state and its version in 64 bits.
//!
//! | bits   | field   | meaning                                                                        |
//! |-------:|---------|--------------------------------------------------------------------------------|
//! |   0..7 | state   | see below                                                                      |
//! |      7 | waiting | a thread waits for the exclusive latch: no new shared latches until it got it; |
//! |        |         | in state faulting: *parked*, see [`super::pending`]                            |
//! |  8..36 | frame   | frame of the page; 0 while evicted                                             |
//! | 36..64 | version | grows when an exclusive latch is released and when the page is evicted; wraps  |
//!
//! | state  | name      | next states                                                                    |
//! |-------:|-----------|--------------------------------------------------------------------------------|
//! |      0 | evicted   | faulting (fetched, or held by [`super::pending`]), exclusive (allocated anew)  |
//! |      1 | faulting  | unlatched (read and verified), evicted (the read failed), exclusive (read, and |
//! |        |           | to be changed before anybody sees it); held without a frame: evicted           |
//! |      2 | exclusive | unlatched, evicted (freed, or dropped to make room), faulting (taken from all)  |
//! |      3 | marked    | unlatched but cooling: shared, exclusive (used again, or evicted)              |
//! |      4 | unlatched | shared, exclusive, marked                                                      |
//! | 4 + n  | shared    | n shared latches; one more, one less                                           |
//!
//! A word of zeros means "evicted", so a new chunk of the translation array needs no initialising. The layout is that
//! of vmcache (Leis et al., SIGMOD 2023) with a frame number added. A reader without a latch compares versions to
//! learn whether its reads saw one state of the page. The version wraps after 2^28 changes, so it serves one
//! uninterrupted read; it must not be stored for later comparison.

use super::arena::FrameId;

pub(crate) const EVICTED: u8 = 0;
pub(crate) const FAULTING: u8 = 1;
pub(crate) const EXCLUSIVE: u8 = 2;
pub(crate) const MARKED: u8 = 3;
pub(crate) const UNLATCHED: u8 = 4;
/// Largest number of shared latches at once. A further thread waits.
pub(crate) const MAX_SHARED: u8 = 127 - UNLATCHED;

const WAITING: u64 = 1 << 7;
const FRAME_SHIFT: u32 = 8;
const FRAME_BITS: u32 = 28;
const VERSION_SHIFT: u32 = FRAME_SHIFT + FRAME_BITS;
const FRAME_MASK: u64 = ((1 << FRAME_BITS) - 1) << FRAME_SHIFT;
const VERSION_ONE: u64 = 1 << VERSION_SHIFT;

/// Largest number of frames in a pool.
pub(crate) const MAX_FRAMES: usize = 1 << FRAME_BITS;

/// A value of a translation word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    #[inline]
    pub(crate) fn state(self) -> u8 {
        (self.0 & 0x7f) as u8
    }

    #[inline]
    pub(crate) fn frame(self) -> FrameId {
        FrameId(((self.0 & FRAME_MASK) >> FRAME_SHIFT) as u32)
    }

    #[cfg(test)]
    pub(crate) fn version(self) -> u32 {
        (self.0 >> VERSION_SHIFT) as u32
    }

    /// Returns whether a thread waits for the exclusive latch.
    #[inline]
    pub(crate) fn has_waiter(self) -> bool {
        self.0 & WAITING != 0
    }

    /// Returns whether the page has been read in and waits for the first thread that wants it.
    pub(crate) fn is_parked(self) -> bool {
        self.state() == FAULTING && self.has_waiter()
    }

    #[inline]
    pub(crate) fn with_waiter(self) -> Word {
        Word(self.0 | WAITING)
    }

    /// Returns the word with the same frame and version, the given state, and no waiter.
    #[inline]
    pub(crate) fn with_state(self, state: u8) -> Word {
        Word((self.0 & !0xff) | u64::from(state))
    }

    #[inline]
    pub(crate) fn with_frame(self, frame: FrameId) -> Word {
        Word((self.0 & !FRAME_MASK) | (u64::from(frame.0) << FRAME_SHIFT))
    }

    /// Returns the word with the next version.
    #[inline]
    pub(crate) fn next_version(self) -> Word {
        Word(self.0.wrapping_add(VERSION_ONE))
    }

    /// Returns the word of an evicted page: no frame, and the next version.
    pub(crate) fn evicted(self) -> Word {
        self.with_state(EVICTED).with_frame(FrameId(0)).next_version()
    }

    /// Returns whether the page is in memory, latched or not.
    #[inline]
    pub(crate) fn is_resident(self) -> bool {
        self.state() >= EXCLUSIVE
    }

    /// Returns whether bytes read while the word was `seen` are still the page's, and no thread is changing them.
    #[inline]
    pub(crate) fn is_readable_as(self, seen: Word) -> bool {
        (self.0 ^ seen.0) >> FRAME_SHIFT == 0 && self.state() > EXCLUSIVE
    }

    /// Returns whether a shared latch can be taken now.
    #[inline]
    pub(crate) fn admits_shared(self) -> bool {
        (MARKED..UNLATCHED + MAX_SHARED).contains(&self.state()) && !self.has_waiter()
    }

    /// Returns whether the number of shared latches is at its maximum.
    #[inline]
    pub(crate) fn is_shared_full(self) -> bool {
        self.state() == UNLATCHED + MAX_SHARED
    }

    /// Returns the word with one more shared latch. The word must [admit one](Self::admits_shared).
    #[inline]
    pub(crate) fn plus_shared(self) -> Word {
        match self.state() {
            MARKED => self.with_state(UNLATCHED + 1),
            _ => Word(self.0 + 1),
        }
    }

    /// Returns whether the exclusive latch can be taken now.
    #[inline]
    pub(crate) fn admits_exclusive(self) -> bool {
        matches!(self.state(), MARKED | UNLATCHED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch_each_other() {
        let word = Word(0).with_frame(FrameId((1 << 28) - 1)).with_state(UNLATCHED);
        assert_eq!((word.state(), word.frame().0, word.version()), (UNLATCHED, (1 << 28) - 1, 0));
        let shared = word.plus_shared().plus_shared().with_waiter();
        assert_eq!(
            (shared.state(), shared.frame(), shared.has_waiter()),
            (UNLATCHED + 2, word.frame(), true)
        );
        assert!(!shared.admits_shared() && !shared.admits_exclusive());
        let mut last = word;
        for _ in 0..5 {
            last = last.next_version();
        }
        assert_eq!((last.version(), last.frame(), last.state()), (5, word.frame(), UNLATCHED));
        let wrapped = Word(u64::MAX).with_state(EXCLUSIVE).evicted();
        assert_eq!((wrapped.version(), wrapped.frame().0, wrapped.state()), (0, 0, EVICTED));
    }

    #[test]
    fn a_page_is_readable_as_seen_until_somebody_may_change_it() {
        let seen = Word(0).with_frame(FrameId(5)).with_state(UNLATCHED).next_version();
        for same in [seen, seen.plus_shared(), seen.plus_shared().with_waiter(), seen.with_state(MARKED)] {
            assert!(same.is_readable_as(seen), "{same:?}");
        }
        let others = [
            seen.with_state(EXCLUSIVE),
            seen.with_state(EXCLUSIVE).with_waiter(),
            seen.next_version(),
            seen.evicted(),
            seen.evicted().with_state(FAULTING).with_frame(FrameId(5)),
            seen.evicted().with_frame(FrameId(5)).with_state(UNLATCHED),
            seen.with_frame(FrameId(4)),
        ];
        for other in others {
            assert!(!other.is_readable_as(seen), "{other:?}");
        }
    }

    #[test]
    fn zero_is_evicted_and_admits_nothing() {
        let word = Word(0);
        assert_eq!(word.state(), EVICTED);
        assert!(!word.is_resident() && !word.admits_shared() && !word.admits_exclusive());
    }

    #[test]
    fn shared_count_is_bounded() {
        let mut word = Word(0).with_state(MARKED);
        let mut latches = 0;
        while word.admits_shared() {
            word = word.plus_shared();
            latches += 1;
        }
        assert_eq!(latches, u32::from(MAX_SHARED));
        assert!(!word.has_waiter() && word.is_shared_full());
    }
}
