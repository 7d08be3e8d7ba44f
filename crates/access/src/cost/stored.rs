//! The profile of a device, as it is kept in the database's directory: measurements, and what was observed since.
//!
//! ```text
//! leafline device profile 2
//! device 2049
//! measured 2026-11-23 16:10:00
//! random_read_us 40.1
//! bytes_per_us 965.2
//! parallel_reads 3.9
//! cpu 1.07
//! observed_random_read_us 48.8
//! observed_bytes_per_us 902.5
//! observed_parallel_reads 4.2
//! ```
//! Lines of a name and a value, in any order, names that are not known ignored; padded with zeros to whole blocks of 4 KiB, as direct I/O wants
//! it. Lines from `measured` to `cpu` are there if it was measured, each of the others if the figure was observed. A file of version 1 has none of these.
//! It belongs to one device: in a directory that was moved to another it is not used.

use super::device_profile::DeviceProfile;
use super::observed::Observed;
use crate::params::MAX_PARALLEL_READS;
use leafline_storage::Env;
use leafline_storage::device::{Measured, small_file};
use std::io;

/// The file.
pub const FILE: &str = "device-profile";
const HEAD: &str = "leafline device profile 2";
const OLD_HEAD: &str = "leafline device profile 1";
/// A file of more bytes is none of ours.
const LARGEST: u64 = 1 << 16;

/// A device, as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrated {
    /// The measurements of the device.
    pub device: DeviceProfile,
    /// How long this processor takes for what the [constants](super::CpuCosts) say takes one.
    pub cpu: f64,
    /// When: UTC.
    pub when: String,
}

/// The observed figures of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredProfile {
    /// If it was measured.
    pub calibrated: Option<Calibrated>,
    /// The figures that reads have shown since.
    pub observed: Observed,
}

impl DeviceProfile {
    /// As it was measured.
    pub fn of_measured(measured: &Measured, page_bytes: usize) -> DeviceProfile {
        let transfer = page_bytes as f64 / measured.bytes_per_us;
        let random_read_us = (measured.single_read_us - transfer).max(0.1);
        // A batch does not save the transfer.
        let each = (measured.batched_read_us - transfer).max(random_read_us / MAX_PARALLEL_READS);
        let parallel_reads = (random_read_us / each).clamp(1.0, MAX_PARALLEL_READS);
        DeviceProfile { random_read_us, bytes_per_us: measured.bytes_per_us, parallel_reads }
    }
}

impl StoredProfile {
    /// Writes it into a database's directory.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn write(&self, env: &dyn Env) -> io::Result<()> {
        let mut text = format!("{HEAD}\ndevice {}\n", env.device().unwrap_or(0));
        if let Some(Calibrated { device, cpu, when }) = &self.calibrated {
            let DeviceProfile { random_read_us, bytes_per_us, parallel_reads } = device;
            text += &format!(
                "measured {when}\nrandom_read_us {random_read_us}\nbytes_per_us {bytes_per_us}\n\
                 parallel_reads {parallel_reads}\ncpu {cpu}\n"
            );
        }
        for (name, figure) in figures(&self.observed) {
            if let Some(figure) = figure {
                text += &format!("observed_{name} {figure}\n");
            }
        }
        small_file::replace(env, FILE, text.as_bytes())
    }

    /// Whether the file in a database's directory, if there is one, says nothing of another device than what it would be replaced by: an
    /// emulated device has no number, and takes the place of no real one.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn may_write(env: &dyn Env) -> io::Result<bool> {
        if env.device().is_some() {
            return Ok(true);
        }
        let Some(bytes) = small_file::read(env, FILE, LARGEST)? else { return Ok(true) };
        let text = String::from_utf8_lossy(&bytes);
        let mut named = text.lines().filter_map(|line| line.split_once(' '));
        Ok(named.any(|line| line == ("device", "0")))
    }

    /// The profile in a database's directory, if there is one and it is of the device that the directory is on.
    ///
    /// # Errors
    /// The errors of the file system. A file that says something else is as none.
    pub fn read(env: &dyn Env) -> io::Result<Option<StoredProfile>> {
        let Some(bytes) = small_file::read(env, FILE, LARGEST)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes);
        Ok(StoredProfile::from_text(text.trim_end_matches('\0'), env.device().unwrap_or(0)))
    }

    fn from_text(text: &str, device: u64) -> Option<StoredProfile> {
        let mut lines = text.lines();
        if !lines.next().is_some_and(|head| [HEAD, OLD_HEAD].contains(&head)) {
            return None;
        }
        let named: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(' ')).collect();
        let value = |name: &str| named.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let number =
            |name: &str| value(name)?.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
        if value("device")?.parse() != Ok(device) {
            return None;
        }
        let calibrated = match value("measured") {
            Some(when) => Some(Calibrated {
                device: DeviceProfile {
                    random_read_us: number("random_read_us")?,
                    bytes_per_us: number("bytes_per_us")?,
                    parallel_reads: number("parallel_reads")?,
                },
                cpu: number("cpu")?,
                when: when.to_string(),
            }),
            None => None,
        };
        let observed = Observed {
            random_read_us: number("observed_random_read_us"),
            bytes_per_us: number("observed_bytes_per_us"),
            parallel_reads: number("observed_parallel_reads"),
        };
        Some(StoredProfile { calibrated, observed })
    }
}

/// The figures that can be observed, by the names of their lines.
fn figures(observed: &Observed) -> [(&'static str, Option<f64>); 3] {
    [
        ("random_read_us", observed.random_read_us),
        ("bytes_per_us", observed.bytes_per_us),
        ("parallel_reads", observed.parallel_reads),
    ]
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
        let calibrated = Calibrated { device, cpu: 1.25, when: "2026-11-23 16:10:00".to_string() };
        let observed = Observed { random_read_us: Some(48.5), parallel_reads: Some(3.0), bytes_per_us: None };
        let only_observed = StoredProfile { calibrated: None, observed };
        only_observed.write(&env).expect("a written profile");
        assert_eq!(StoredProfile::read(&env).expect("a profile"), Some(only_observed));
        let profile = StoredProfile { calibrated: Some(calibrated), observed };
        profile.write(&env).expect("a written profile");
        profile.write(&env).expect("a profile written again");
        assert_eq!(StoredProfile::read(&env).expect("a profile"), Some(profile.clone()));
        let bytes = small_file::read(&env, FILE, LARGEST).expect("a look").expect("the file");
        let text = String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_string();
        assert_eq!(StoredProfile::from_text(&text, 0), Some(profile.clone()));
        let old: String = text
            .lines()
            .filter(|line| !line.starts_with("observed"))
            .map(|line| format!("{line}\n"))
            .collect();
        let old = StoredProfile::from_text(&old.replace("profile 2", "profile 1"), 0);
        assert_eq!(old, Some(StoredProfile { observed: Observed::default(), ..profile }));
        assert!(StoredProfile::may_write(&env).expect("a look"), "it is of no device, too");
        small_file::replace(&env, FILE, text.replace("device 0", "device 7").as_bytes()).expect("a file");
        assert!(!StoredProfile::may_write(&env).expect("a look"));
        assert_eq!(StoredProfile::from_text(&text, 7), None, "of another device");
        for (from, to) in [
            ("profile 2", "profile 9"),
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
