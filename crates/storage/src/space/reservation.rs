//! Reservations: pages and log bytes set aside so that what follows cannot run out.
use std::marker::PhantomData;

/// Pages and log bytes set aside; given back when dropped.
pub struct Reservation {
    _p: PhantomData<()>,
}

impl Reservation {
    /// Pages that can still be allocated.
    pub fn pages(&self) -> usize {
        todo!()
    }

    /// Log bytes that can still be appended.
    pub fn log_bytes(&self) -> usize {
        todo!()
    }
}
