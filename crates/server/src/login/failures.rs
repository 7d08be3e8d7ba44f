//! Slows down guessing of passwords.
//!
//! Each address has a count of logins that failed one after the other. A login that succeeds resets the count, and so does time.
//! After the third failure each login from the address waits before its password is checked, right or wrong, twice as long each
//! time. Only a few logins wait at one time; the others are turned away. In the long run an address can therefore guess about
//! once a second, however many logins it makes at once, and other addresses notice nothing. All clients of the Unix socket count
//! as one address, and so do all of an IPv6 network of 64 bits.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Failures without a wait: people mistype.
const FREE: u32 = 3;
/// The wait after the last free failure.
const FIRST: Duration = Duration::from_millis(250);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(4);
/// Most logins of an address that wait at one time.
const WAITING: u32 = 4;
/// Time after which failures are forgotten, without another failure.
const MEMORY: Duration = Duration::from_secs(600);
/// Most addresses with a count. Beyond them, the ones that failed longest ago are forgotten.
const ADDRESSES: usize = 10_000;

/// The address of a login; `None` is the Unix socket.
type Address = Option<IpAddr>;

#[derive(Debug)]
struct Record {
    failures: u32,
    waiting: u32,
    last: Instant,
}

/// The failures of all addresses.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<HashMap<Address, Record>>);

/// A login that has to wait. Dropping it ends the wait.
#[derive(Debug)]
pub(crate) struct Wait<'f> {
    failures: &'f Failures,
    address: Address,
    /// Time to wait.
    pub(crate) time: Duration,
}

impl Failures {
    /// Begins a login from `address`. Returns its wait if the login has to wait, and `Err` if too many logins from the address wait
    /// already.
    pub(crate) fn begin(&self, address: Address, now: Instant) -> Result<Option<Wait<'_>>, ()> {
        let address = network(address);
        let mut records = self.0.lock();
        let Some(record) = records.get_mut(&address) else { return Ok(None) };
        if now.saturating_duration_since(record.last) > MEMORY {
            record.failures = 0;
        }
        let Some(doublings) = record.failures.checked_sub(FREE) else { return Ok(None) };
        if record.waiting >= WAITING {
            return Err(());
        }
        record.waiting += 1;
        let time = FIRST.saturating_mul(1 << doublings.min(16)).min(LONGEST);
        Ok(Some(Wait { failures: self, address, time }))
    }

    /// Counts a login that failed.
    pub(crate) fn failed(&self, address: Address, now: Instant) {
        let mut records = self.0.lock();
        if records.len() >= ADDRESSES {
            forget(&mut records);
        }
        let record = records.entry(network(address)).or_insert(Record { failures: 0, waiting: 0, last: now });
        record.failures = record.failures.saturating_add(1);
        record.last = now;
    }

    /// Resets the count after a login that succeeded.
    pub(crate) fn succeeded(&self, address: Address) {
        if let Some(record) = self.0.lock().get_mut(&network(address)) {
            record.failures = 0;
        }
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(record) = self.failures.0.lock().get_mut(&self.address) {
            record.waiting = record.waiting.saturating_sub(1);
        }
    }
}

/// Forgets the older half of the addresses, except where a login waits.
fn forget(records: &mut HashMap<Address, Record>) {
    let mut times: Vec<Instant> = records.values().map(|record| record.last).collect();
    times.sort_unstable();
    if let Some(&middle) = times.get(times.len() / 2) {
        records.retain(|_, record| record.waiting > 0 || record.last > middle);
    }
}

/// Returns the address that the failures are counted for: for IPv6 the network of 64 bits.
fn network(address: Address) -> Address {
    address.map(|address| match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & !u128::from(u64::MAX)).into()),
        v4 => v4,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Some(text.parse().expect("an address"))
    }

    #[test]
    fn waits_grow_end_with_success_and_are_the_addresses_own() {
        let (failures, now) = (Failures::default(), Instant::now());
        let here = address("10.0.0.1");
        let wait = |at| failures.begin(here, at).map(|wait| wait.map(|wait| wait.time.as_millis()));
        let mut waits = Vec::new();
        for _ in 0..10 {
            waits.push(wait(now));
            failures.failed(here, now);
        }
        let expected = [None, None, None, Some(250), Some(500), Some(1000), Some(2000), Some(4000)];
        assert_eq!(waits[..8], expected.map(Ok));
        assert_eq!(waits[8..], [Ok(Some(4000)); 2]);
        for other in [address("10.0.0.2"), None, address("::1")] {
            assert!(matches!(failures.begin(other, now), Ok(None)), "{other:?}");
        }
        assert!(matches!(failures.begin(address("::ffff:10.0.0.1"), now), Ok(Some(_))), "the same, mapped");
        assert_eq!(wait(now + MEMORY + Duration::from_secs(1)), Ok(None), "forgotten");
        failures.failed(here, now);
        failures.succeeded(here);
        assert_eq!(wait(now), Ok(None));
    }

    #[test]
    fn few_wait_at_one_time() {
        let (failures, now) = (Failures::default(), Instant::now());
        (0..FREE).for_each(|_| failures.failed(address("fe80::1"), now));
        let mut waits: Vec<_> =
            (0..WAITING).map(|n| failures.begin(address(&format!("fe80::{n}")), now)).collect();
        assert!(waits.iter().all(|wait| matches!(wait, Ok(Some(_)))), "{waits:?}");
        assert!(failures.begin(address("fe80::7"), now).is_err());
        waits.pop();
        assert!(failures.begin(address("fe80::7"), now).is_ok());
    }

    #[test]
    fn memory_is_bounded() {
        let (failures, now) = (Failures::default(), Instant::now());
        for n in 0..3 * ADDRESSES as u32 {
            failures.failed(Some(IpAddr::V4(n.into())), now + Duration::from_millis(n.into()));
        }
        assert!(failures.0.lock().len() <= ADDRESSES);
    }
}
