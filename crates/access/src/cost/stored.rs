//! The profile of a device that was measured, as it is kept in the database's directory.
//!
//! ```text
//! leafline device profile 1
//! device 2049
//! measured 2026-11-23 16:10:00
//! random_read_us 40.1
//! bytes_per_us 965.2
//! parallel_reads 3.9
//! cpu 1.07
//! ```
//! Lines of a name and a value, in any order, names that are not known ignored; padded with zeros to whole blocks of 4 KiB, as direct I/O wants
//! it. It belongs to one device: in a directory that was moved to another it is not used.

use super::params::DeviceProfile;
use leafline_storage::Env;
use leafline_storage::device::{Measured, small_file};
use std::io;

/// The file.
pub const FILE: &str = "device-profile";
const HEAD: &str = "leafline device profile 1";
/// A file of more bytes is none of ours.
const LARGEST: u64 = 1 << 16;

/// A profile that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredProfile {
    /// What was measured of the device.
    pub device: DeviceProfile,
    /// How long this processor takes for what the [constants](super::CpuCosts) say takes one.
    pub cpu: f64,
    /// When: UTC.
    pub measured: String,
}

impl DeviceProfile {
    /// As it was measured.
    pub fn of_measured(measured: &Measured, page_bytes: usize) -> DeviceProfile {
        let transfer = page_bytes as f64 / measured.bytes_per_us;
        let random_read_us = (measured.single_read_us - transfer).max(0.1);
        // What a batch saves is not the transfer.
        let each = (measured.batched_read_us - transfer).max(random_read_us / MOST_PARALLEL);
        let parallel_reads = (random_read_us / each).clamp(1.0, MOST_PARALLEL);
        DeviceProfile { random_read_us, bytes_per_us: measured.bytes_per_us, parallel_reads }
    }
}

/// Reads at once beyond which the time of none matters.
const MOST_PARALLEL: f64 = 64.0;

impl StoredProfile {
    /// Writes it into a database's directory.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, env: &dyn Env) -> io::Result<()> {
        let DeviceProfile { random_read_us, bytes_per_us, parallel_reads } = self.device;
        let text = format!(
            "{HEAD}\ndevice {}\nmeasured {}\nrandom_read_us {random_read_us}\nbytes_per_us {bytes_per_us}\n\
             parallel_reads {parallel_reads}\ncpu {}\n",
            env.device().unwrap_or(0),
            self.measured,
            self.cpu
        );
        small_file::replace(env, FILE, text.as_bytes())
    }

    /// The profile in a database's directory, if there is one and it was measured on the device that the directory is on.
    ///
    /// # Errors
    /// Those of the file system. A file that says something else is as none.
    pub fn read(env: &dyn Env) -> io::Result<Option<StoredProfile>> {
        let Some(bytes) = small_file::read(env, FILE, LARGEST)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes);
        Ok(StoredProfile::from_text(text.trim_end_matches('\0'), env.device().unwrap_or(0)))
    }

    fn from_text(text: &str, device: u64) -> Option<StoredProfile> {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return None;
        }
        let named: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(' ')).collect();
        let value = |name: &str| named.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let number =
            |name: &str| value(name)?.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
        if value("device")?.parse() != Ok(device) {
            return None;
        }
        Some(StoredProfile {
            device: DeviceProfile {
                random_read_us: number("random_read_us")?,
                bytes_per_us: number("bytes_per_us")?,
                parallel_reads: number("parallel_reads")?,
            },
            cpu: number("cpu")?,
            measured: value("measured")?.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_storage::device::SimulatedEnv;

    #[test]
    fn a_profile_is_read_as_it_was_written_and_nothing_else_is() {
        let env = SimulatedEnv::new();
        assert_eq!(StoredProfile::read(&env).expect("a look"), None);
        let measured = Measured { single_read_us: 56.0, batched_read_us: 26.0, bytes_per_us: 1_000.0 };
        let device = DeviceProfile::of_measured(&measured, 16_000);
        assert_eq!(
            device,
            DeviceProfile { random_read_us: 40.0, bytes_per_us: 1_000.0, parallel_reads: 4.0 }
        );
        let profile = StoredProfile { device, cpu: 1.25, measured: "2026-11-23 16:10:00".to_string() };
        profile.write(&env).expect("a written profile");
        profile.write(&env).expect("a profile written again");
        assert_eq!(StoredProfile::read(&env).expect("a profile"), Some(profile.clone()));
        let bytes = small_file::read(&env, FILE, LARGEST).expect("a look").expect("the file");
        let text = String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_string();
        assert_eq!(StoredProfile::from_text(&text, 0), Some(profile));
        assert_eq!(StoredProfile::from_text(&text, 7), None, "of another device");
        for (from, to) in [
            ("profile 1", "profile 9"),
            ("cpu 1.25", "cpu -1"),
            ("cpu 1.25", "cpu inf"),
            ("bytes_per_us", "x"),
        ] {
            assert_eq!(StoredProfile::from_text(&text.replace(from, to), 0), None, "{to}");
        }
    }

    #[test]
    fn a_disk_with_one_arm_serves_one_read_at_a_time() {
        let measured = Measured { single_read_us: 5_160.0, batched_read_us: 5_160.0, bytes_per_us: 105.0 };
        let profile = DeviceProfile::of_measured(&measured, 16_384);
        assert_eq!(profile.parallel_reads, 1.0);
    }
}
