//! Prices of access paths, in microseconds.
//!
//! Pages are counted by where they are: in memory they cost a latch and a search; on the device they
//! cost what its class makes of the way they are asked for (one by one, in a sorted batch, one after
//! the other). Rows cost CPU. [`device_profile`] names every price with its unit and source; [`pages`]
//! turns "so many rows of such a tree, in such an order" into pages and time.

pub mod device;
pub mod device_profile;
pub mod observed;
pub mod pages;
pub mod stored;

pub use device::{Device, DeviceChoice, VersionedProfile};
pub use device_profile::{CpuCosts, DeviceClass, DeviceProfile};
pub use observed::{Observed, Observer};
pub use pages::{Sweeps, batched_fetch_us, distinct_pages, entry_change_us, point_read_us, scan_us};
pub use stored::{Calibrated, StoredProfile};

/// Everything a price depends on besides the data.
#[derive(Clone, Debug, PartialEq)]
pub struct CostModel {
    /// The device that holds the pages that are not in memory.
    pub device: DeviceProfile,
    /// CPU time of the steps of execution.
    pub cpu: CpuCosts,
    /// Bytes in a page.
    pub page_bytes: f64,
    /// Pages that the buffer pool holds: a tree of more is read again by each sweep over it.
    pub pool_pages: f64,
    /// Believe what the dive saw of the buffer pool; off: price every page as if on the device, so that plans are the
    /// same whatever was read before, as tests of plans want them.
    pub use_residency: bool,
}

impl CostModel {
    /// The model for a class of device and a page size.
    pub fn new(class: DeviceClass, page_bytes: usize) -> CostModel {
        let device = Device { choice: DeviceChoice::Class(class), ..Device::default() };
        CostModel::of_device(&device, page_bytes)
    }

    /// The model for a device, as it was chosen, and a page size.
    pub fn of_device(device: &Device, page_bytes: usize) -> CostModel {
        CostModel {
            device: device.profile(),
            cpu: CpuCosts::default().times(device.cpu()),
            page_bytes: page_bytes as f64,
            pool_pages: f64::INFINITY,
            use_residency: device.uses_residency(),
        }
    }

    /// Returns the model with a buffer pool of so many bytes.
    #[must_use]
    pub fn with_pool(self, bytes: u64) -> CostModel {
        CostModel { pool_pages: bytes as f64 / self.page_bytes, ..self }
    }

    /// The share of a tree's pages to price as resident, given what was observed.
    pub fn resident(&self, observed_fraction: f64) -> f64 {
        if self.use_residency { observed_fraction.clamp(0.0, 1.0) } else { 0.0 }
    }
}
