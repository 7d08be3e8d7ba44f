//! Notices clients that have gone while their statement runs.
//!
//! A connection's thread neither reads nor writes while a statement runs, so it does not notice that its client has gone. One
//! thread therefore polls the sockets of the connections whose command has lasted from one tick to the next. A shorter command
//! costs two atomic additions. Without connections the thread sleeps.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Time between two polls.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// Counts the beginnings and ends of a connection's commands: odd while one runs.
#[derive(Clone, Default)]
pub(crate) struct Activity(Arc<AtomicU64>);

impl Activity {
    /// Counts the beginning or the end of a command.
    pub(crate) fn change(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the count while a command runs.
    fn running(&self) -> Option<u64> {
        let count = self.0.load(Ordering::Relaxed);
        (count % 2 == 1).then_some(count)
    }
}

/// The watcher's state of a connection from tick to tick.
#[derive(Default)]
pub(crate) struct Watched {
    /// Counts the commands of the connection's thread.
    pub(crate) activity: Activity,
    /// The command that ran at the last tick.
    last: Option<u64>,
}

impl Watched {
    /// Returns whether the running command ran at the last tick already.
    pub(crate) fn is_long(&mut self) -> bool {
        let running = self.activity.running();
        std::mem::replace(&mut self.last, running) == running && running.is_some()
    }
}

/// Returns the sockets whose peer has gone.
pub(crate) fn deserted<N: Copy, S: AsFd>(sockets: &[(N, S)]) -> Vec<N> {
    if sockets.is_empty() {
        return Vec::new();
    }
    let mut polled: Vec<PollFd<'_>> =
        sockets.iter().map(|(_, socket)| PollFd::new(socket, PollFlags::RDHUP)).collect();
    // After a failure the next tick polls again.
    if poll(&mut polled, Some(&Timespec::default())).is_err() {
        return Vec::new();
    }
    let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    let found = sockets.iter().zip(&polled).filter(|(_, polled)| polled.revents().intersects(gone));
    found.map(|((number, _), _)| *number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_command_is_long_from_its_second_tick_on() {
        let mut watched = Watched::default();
        let activity = watched.activity.clone();
        let mut ticks = |changes| {
            (0..changes).for_each(|_| activity.change());
            watched.is_long()
        };
        assert_eq!(
            [0, 1, 0, 0, 1, 0, 1, 2, 0].map(&mut ticks),
            [false, false, true, true, false, false, false, false, true]
        );
    }

    #[test]
    fn sockets_are_deserted_whose_other_end_is_closed_whatever_is_still_to_be_read() {
        let pairs: Vec<_> = (0..4).map(|_| UnixStream::pair().expect("a pair")).collect();
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for (number, (a, b)) in pairs.into_iter().enumerate() {
            near.push((number, a));
            far.push(b);
        }
        assert_eq!(deserted(&near), [0; 0]);
        far[1].write_all(b"quit").expect("sent");
        far[2].write_all(b"next").expect("sent");
        drop(far.drain(..2));
        assert_eq!(deserted(&near), [0, 1]);
        assert_eq!(deserted::<u8, UnixStream>(&[]), [0; 0]);
    }
}
