//! The device that plans are priced for: of a class, as it was measured, or with values that were set.

use super::params::{DeviceClass, DeviceProfile};
use super::stored::StoredProfile;
use std::sync::Arc;

/// Which profile is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// What was measured; an NVMe disk if nothing was.
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

/// The device, as a session sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device {
    /// Whose profile.
    pub choice: DeviceChoice,
    /// What was measured.
    pub measured: Option<Arc<StoredProfile>>,
    /// A value in place of the profile's, microseconds: [`DeviceProfile::random_read_us`].
    pub random_read_us: Option<f64>,
    /// Likewise [`DeviceProfile::bytes_per_us`].
    pub bytes_per_us: Option<f64>,
    /// Likewise [`DeviceProfile::parallel_reads`].
    pub parallel_reads: Option<f64>,
    /// Likewise [`StoredProfile::cpu`].
    pub cpu: Option<f64>,
}

impl Device {
    fn stored(&self) -> Option<&StoredProfile> {
        self.measured.as_deref().filter(|_| self.choice == DeviceChoice::Auto)
    }

    fn class(&self) -> DeviceClass {
        match self.choice {
            DeviceChoice::Class(class) => class,
            DeviceChoice::Auto | DeviceChoice::Reference => DeviceClass::Nvme,
        }
    }

    /// What its reads cost.
    pub fn profile(&self) -> DeviceProfile {
        let own = self.stored().map_or(DeviceProfile::of_class(self.class()), |stored| stored.device);
        DeviceProfile {
            random_read_us: self.random_read_us.unwrap_or(own.random_read_us),
            bytes_per_us: self.bytes_per_us.unwrap_or(own.bytes_per_us),
            parallel_reads: self.parallel_reads.unwrap_or(own.parallel_reads),
        }
    }

    /// How long the processor takes for what the constants say takes one.
    pub fn cpu(&self) -> f64 {
        self.cpu.or(self.stored().map(|stored| stored.cpu)).unwrap_or(1.0)
    }

    /// Whether it matters what is in memory.
    pub fn uses_residency(&self) -> bool {
        self.choice != DeviceChoice::Reference
    }

    /// Does it have to move a head, so that several threads get in each other's way?
    pub fn has_one_arm(&self) -> bool {
        let profile = self.profile();
        profile.parallel_reads < 2.0 && profile.random_read_us >= 1_000.0
    }

    /// Where the profile is from.
    pub fn source(&self) -> String {
        match (self.stored(), self.choice) {
            (Some(stored), _) => format!("measured {}", stored.measured),
            (None, DeviceChoice::Reference) => "reference".to_string(),
            (None, _) => format!("class {}", self.class().name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_stands_above_what_was_measured_and_that_above_the_class() {
        let mut device = Device::default();
        assert_eq!(device.profile(), DeviceProfile::of_class(DeviceClass::Nvme));
        let profile = DeviceProfile { random_read_us: 4_000.0, bytes_per_us: 90.0, parallel_reads: 1.1 };
        let stored = StoredProfile { device: profile, cpu: 2.0, measured: "2026-11-23 16:00:00".to_string() };
        device.measured = Some(Arc::new(stored));
        assert_eq!((device.profile(), device.cpu()), (profile, 2.0));
        assert!(device.has_one_arm() && device.source().starts_with("measured"));
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
