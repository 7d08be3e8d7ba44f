//! Files: the environment that a database lives in, and the ways to read pages from it.
//!
//! [`Env`] is a directory of files, [`File`] an open file. The engine reaches the disk through these two traits only,
//! so that a test can run on [`SimulatedEnv`] (memory, power cuts, torn writes, injected errors) and an experiment on
//! [`ModelledEnv`] (the access times of a disk that the machine lacks). [`IoQueue`] reads and writes many pages at
//! once.

mod aligned;
mod direct;
mod directory;
mod env;
mod measure;
mod modelled;
mod queue;
mod read_times;
mod request;
#[cfg(target_os = "linux")]
mod ring;
mod simulated;
pub mod small_file;
mod threads;

pub use aligned::AlignedBuf;
pub use directory::DirectoryEnv;
pub use env::{BLOCK, Env, File, LockGuard, OpenMode};
pub use measure::{Measured, measure};
pub use modelled::{DiskModel, ModelCounts, ModelledEnv};
pub use queue::{IoQueue, PageRead};
pub use read_times::{ReadSamples, ReadTimes, Sizes};
pub use request::{QueueStats, ReadTarget};
pub use simulated::{Fault, Operation, OperationCounts, SimulatedEnv};
