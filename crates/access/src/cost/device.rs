//! The device that plans are priced for: of a class, as it was measured and observed, or with values that were set.

use super::device_profile::{DeviceClass, DeviceProfile};
use super::observed::Observed;
use super::stored::{Calibrated, StoredProfile};
use std::sync::Arc;

/// Which profile is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The profile that was observed, or else measured, or else that of an NVMe disk.
    #[default]
    Auto,
    /// The defaults of a class.
    Class(DeviceClass),
    /// An NVMe disk from which every page has to be read, whatever is in memory: plans are the same everywhere and always, for tests.
    Reference,
}

impl DeviceChoice {
    /// Its name in `leafline_device`.
    pub fn name(self) -> &'static str {
        match self {
            DeviceChoice::Auto => "auto",
            DeviceChoice::Class(class) => class.name(),
            DeviceChoice::Reference => "reference",
        }
    }

    /// The choice of that name, in any case.
    pub fn from_name(name: &str) -> Option<DeviceChoice> {
        [DeviceChoice::Auto, DeviceChoice::Reference]
            .into_iter()
            .find(|choice| choice.name().eq_ignore_ascii_case(name))
            .or_else(|| DeviceClass::from_name(name).map(DeviceChoice::Class))
    }
}

/// The profile of a device at some time. Its version alone tells it from earlier ones.
#[derive(Clone, Debug, Default)]
pub struct VersionedProfile {
    /// Grows with each change.
    pub version: u64,
    /// The profile.
    pub profile: Arc<StoredProfile>,
}

impl PartialEq for VersionedProfile {
    fn eq(&self, other: &VersionedProfile) -> bool {
        self.version == other.version
    }
}

/// The device, as a session sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device {
    /// Whose profile.
    pub choice: DeviceChoice,
    /// The profile of the device at some time.
    pub known: VersionedProfile,
    /// A value in place of the profile's, microseconds: [`DeviceProfile::random_read_us`].
    pub random_read_us: Option<f64>,
    /// Likewise [`DeviceProfile::bytes_per_us`].
    pub bytes_per_us: Option<f64>,
    /// Likewise [`DeviceProfile::parallel_reads`].
    pub parallel_reads: Option<f64>,
    /// Likewise [`Calibrated::cpu`].
    pub cpu: Option<f64>,
}

impl Device {
    fn calibrated(&self) -> Option<&Calibrated> {
        self.known.profile.calibrated.as_ref().filter(|_| self.choice == DeviceChoice::Auto)
    }

    fn observed(&self) -> Observed {
        match self.choice {
            DeviceChoice::Auto => self.known.profile.observed,
            DeviceChoice::Class(_) | DeviceChoice::Reference => Observed::default(),
        }
    }

    /// The profile that was measured, or else that of the class.
    pub fn begun(&self) -> DeviceProfile {
        self.calibrated().map_or(DeviceProfile::of_class(self.class()), |calibrated| calibrated.device)
    }

    fn class(&self) -> DeviceClass {
        match self.choice {
            DeviceChoice::Class(class) => class,
            DeviceChoice::Auto | DeviceChoice::Reference => DeviceClass::Nvme,
        }
    }

    /// The times and rates of its reads.
    pub fn profile(&self) -> DeviceProfile {
        let own = self.observed().or(self.begun());
        DeviceProfile {
            random_read_us: self.random_read_us.unwrap_or(own.random_read_us),
            bytes_per_us: self.bytes_per_us.unwrap_or(own.bytes_per_us),
            parallel_reads: self.parallel_reads.unwrap_or(own.parallel_reads),
        }
    }

    /// How long the processor takes for what the constants say takes one.
    pub fn cpu(&self) -> f64 {
        self.cpu.or(self.calibrated().map(|calibrated| calibrated.cpu)).unwrap_or(1.0)
    }

    /// Whether it matters what is in memory.
    pub fn uses_residency(&self) -> bool {
        self.choice != DeviceChoice::Reference
    }

    /// Whether it has to move a head, so that several threads get in each other's way.
    pub fn has_one_arm(&self) -> bool {
        let profile = self.profile();
        profile.parallel_reads < 2.0 && profile.random_read_us >= 1_000.0
    }

    /// Where figures are from that were neither observed nor set.
    pub fn source(&self) -> String {
        match (self.calibrated(), self.choice) {
            (Some(calibrated), _) => format!("measured {}", calibrated.when),
            (None, DeviceChoice::Reference) => "reference".to_string(),
            (None, _) => format!("class {}", self.class().name()),
        }
    }

    /// Where each figure is from: the time of a random read, the rate, parallel reads, the processor.
    pub fn sources(&self) -> [String; 4] {
        let observed = self.observed();
        let figures = [
            (self.random_read_us, observed.random_read_us),
            (self.bytes_per_us, observed.bytes_per_us),
            (self.parallel_reads, observed.parallel_reads),
            (self.cpu, None),
        ];
        figures.map(|(set, observed)| match (set, observed) {
            (Some(_), _) => "set".to_string(),
            (None, Some(_)) => "observed".to_string(),
            (None, None) => self.source(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_stands_above_what_was_observed_or_measured_and_that_above_the_class() {
        let mut device = Device::default();
        assert_eq!(device.profile(), DeviceProfile::of_class(DeviceClass::Nvme));
        let profile = DeviceProfile { random_read_us: 4_000.0, bytes_per_us: 90.0, parallel_reads: 1.1 };
        let when = "2026-11-23 16:00:00".to_string();
        let calibrated = Some(Calibrated { device: profile, cpu: 2.0, when });
        let mut stored = StoredProfile { calibrated, ..StoredProfile::default() };
        device.known.profile = Arc::new(stored.clone());
        assert_eq!((device.profile(), device.cpu()), (profile, 2.0));
        assert!(device.has_one_arm() && device.source().starts_with("measured"));
        stored.observed.bytes_per_us = Some(70.0);
        device.known.profile = Arc::new(stored);
        assert_eq!(device.profile(), DeviceProfile { bytes_per_us: 70.0, ..profile });
        device.parallel_reads = Some(3.0);
        let measured = "measured 2026-11-23 16:00:00".to_string();
        assert_eq!(device.sources(), [measured.clone(), "observed".to_string(), "set".to_string(), measured]);
        device.parallel_reads = None;
        device.choice = DeviceChoice::Class(DeviceClass::SolidState);
        assert_eq!((device.profile(), device.cpu()), (DeviceProfile::of_class(DeviceClass::SolidState), 1.0));
        device.random_read_us = Some(7.0);
        assert_eq!(device.profile().random_read_us, 7.0);
        for choice in
            [DeviceChoice::Auto, DeviceChoice::Reference, DeviceChoice::Class(DeviceClass::Rotating)]
        {
            assert_eq!(DeviceChoice::from_name(&choice.name().to_uppercase()), Some(choice));
        }
    }
}
