//! The primitives that the protocols of pool and log are made of, so that a model checker can replace them.
//!
//! Normally these are the atomics of the standard library and the locks of `parking_lot` under other names. With
//! `--cfg loom` they are those of [loom](https://docs.rs/loom), which runs a test in every order that the language's
//! memory model allows (`pool::model`, `log::model`; `.ci/run` shows how). Counters and other values on which no
//! decision of the protocol depends are plain atomics.

#[cfg(not(loom))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, fence};

#[cfg(loom)]
pub(crate) use checked::{Condvar, Mutex, MutexGuard};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, fence};

/// Orders a store before a later load of another variable, both of them sequentially consistent. That is enough for
/// the processor, so this does nothing. Loom treats sequentially consistent accesses as weaker ones and needs a
/// fence.
#[inline]
pub(crate) fn store_before_load() {
    #[cfg(loom)]
    fence(std::sync::atomic::Ordering::SeqCst);
}

/// Loom's locks with the interface of `parking_lot`.
#[cfg(loom)]
mod checked {
    use std::ops::{Deref, DerefMut};

    #[derive(Debug)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    /// Empty only while a condition is waited for, or `unlocked` runs.
    pub(crate) struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>, &'a Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.locked()), self)
        }

        fn locked(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().expect("no thread of a model panics")
        }
    }

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Mutex<T> {
            Mutex::new(T::default())
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_deref().expect("not waiting")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_deref_mut().expect("not waiting")
        }
    }

    impl<T> MutexGuard<'_, T> {
        pub(crate) fn unlocked<R>(guard: &mut Self, run: impl FnOnce() -> R) -> R {
            drop(guard.0.take());
            let result = run();
            guard.0 = Some(guard.1.locked());
            result
        }
    }

    #[derive(Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Default for Condvar {
        fn default() -> Condvar {
            Condvar(loom::sync::Condvar::new())
        }
    }

    impl Condvar {
        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let held = guard.0.take().expect("not waiting");
            guard.0 = Some(self.0.wait(held).expect("no thread of a model panics"));
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
