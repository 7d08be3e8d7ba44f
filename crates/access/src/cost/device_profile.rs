//! Constants of the cost model: each with its unit and where it comes from.
//!
//! A profile starts from the class of the device. The absolute values matter less than their ratios: random to
//! sequential read decides between index and scan, CPU per row between covering and not.

use std::time::Duration;

/// The kind of device that holds the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceClass {
    /// A disk with one head.
    Rotating,
    /// A SATA solid state disk or a network volume.
    SolidState,
    /// An NVMe disk or a local virtio volume.
    Nvme,
}

impl DeviceClass {
    /// Its name in `leafline_device`.
    pub fn name(self) -> &'static str {
        match self {
            DeviceClass::Rotating => "hdd",
            DeviceClass::SolidState => "ssd",
            DeviceClass::Nvme => "nvme",
        }
    }

    /// The class of that name, in any case.
    pub fn from_name(name: &str) -> Option<DeviceClass> {
        [DeviceClass::Rotating, DeviceClass::SolidState, DeviceClass::Nvme]
            .into_iter()
            .find(|class| class.name().eq_ignore_ascii_case(name))
    }

    /// The class of a device that takes so long for a seek.
    pub fn of_seek(seek: Duration) -> DeviceClass {
        match seek.as_micros() {
            1_000.. => DeviceClass::Rotating,
            100.. => DeviceClass::SolidState,
            _ => DeviceClass::Nvme,
        }
    }
}

/// How long the device takes, by the way it is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceProfile {
    /// Time of one random page read with nothing else in flight, without the transfer, microseconds.
    pub random_read_us: f64,
    /// Transfer rate of large sequential reads, bytes per microsecond (= MB/s).
    pub bytes_per_us: f64,
    /// Random reads the device serves at once: a batch of n takes n / depth times as long as one.
    pub parallel_reads: f64,
}

impl DeviceProfile {
    /// Defaults of a device class.
    ///
    /// Rotating: 7,200 rpm, 5 ms a seek, 100 MiB/s, one arm. Solid state: 0.2 ms, 250 MiB/s, 4 at once. NVMe: what `fio`
    /// shows of a virtio volume at 16 KiB: 340 MB/s at depth 1 (48 us, of which 16 transfer), 620 MB/s at 32, 965 MB/s
    /// sequential.
    pub fn of_class(class: DeviceClass) -> DeviceProfile {
        match class {
            DeviceClass::Rotating => {
                DeviceProfile { random_read_us: 5_000.0, bytes_per_us: 105.0, parallel_reads: 1.0 }
            }
            DeviceClass::SolidState => {
                DeviceProfile { random_read_us: 200.0, bytes_per_us: 262.0, parallel_reads: 4.0 }
            }
            DeviceClass::Nvme => {
                DeviceProfile { random_read_us: 40.0, bytes_per_us: 965.0, parallel_reads: 4.0 }
            }
        }
    }
}

/// CPU time of the steps of execution, microseconds. Source: user time of scans, covering ranges, ranges of 23,000 and 113,000 rows
/// fetched, and lookups of 19,000 outer rows on TPC-H's lineitem (600,000 rows, in memory), one core of a virtual machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuCosts {
    /// Walking to the next entry of a leaf and comparing its key with the bound.
    pub entry: f64,
    /// A pushed condition on one entry.
    pub condition: f64,
    /// Decoding one row or entry into columns.
    pub decode: f64,
    /// Finding one row of a sorted batch on its leaf.
    pub fetch: f64,
    /// Descending from the root to a leaf in memory: one seek.
    pub seek: f64,
    /// From an entry that fails to where the next can be, in the same leaf.
    pub leap: f64,
    /// Latching and leaving one resident leaf.
    pub leaf: f64,
    /// Evaluating the rest of a WHERE clause on one row.
    pub filter: f64,
    /// Sorting: per row and per doubling of their number.
    pub sort: f64,
    /// Putting one row into a hash table.
    pub hash_build: f64,
    /// Looking one row up in a hash table.
    pub hash_probe: f64,
    /// Handing one row through an operator.
    pub row: f64,
}

impl CpuCosts {
    /// Returns the times on a processor that takes so many times as long.
    #[must_use]
    pub fn times(self, factor: f64) -> CpuCosts {
        CpuCosts {
            entry: self.entry * factor,
            condition: self.condition * factor,
            decode: self.decode * factor,
            fetch: self.fetch * factor,
            seek: self.seek * factor,
            leap: self.leap * factor,
            leaf: self.leaf * factor,
            filter: self.filter * factor,
            sort: self.sort * factor,
            hash_build: self.hash_build * factor,
            hash_probe: self.hash_probe * factor,
            row: self.row * factor,
        }
    }

    /// The constants by name.
    pub fn named(&self) -> [(&'static str, f64); 12] {
        [
            ("cpu_entry", self.entry),
            ("cpu_condition", self.condition),
            ("cpu_decode", self.decode),
            ("cpu_fetch", self.fetch),
            ("cpu_seek", self.seek),
            ("cpu_leap", self.leap),
            ("cpu_leaf", self.leaf),
            ("cpu_filter", self.filter),
            ("cpu_sort", self.sort),
            ("cpu_hash_build", self.hash_build),
            ("cpu_hash_probe", self.hash_probe),
            ("cpu_row", self.row),
        ]
    }
}

impl Default for CpuCosts {
    fn default() -> CpuCosts {
        CpuCosts {
            entry: 0.015,
            condition: 0.03,
            decode: 0.07,
            fetch: 0.85,
            seek: 2.5,
            leap: 0.2,
            leaf: 0.5,
            filter: 0.02,
            sort: 0.03,
            hash_build: 0.15,
            hash_probe: 0.08,
            row: 0.01,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_known_by_name_and_by_seek() {
        for class in [DeviceClass::Rotating, DeviceClass::SolidState, DeviceClass::Nvme] {
            assert_eq!(DeviceClass::from_name(&class.name().to_uppercase()), Some(class));
            let seek = Duration::from_micros(DeviceProfile::of_class(class).random_read_us as u64);
            assert_eq!(DeviceClass::of_seek(seek), class);
        }
        assert_eq!(DeviceClass::from_name("floppy"), None);
    }
}
