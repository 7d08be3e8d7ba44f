//! Backups: copies of an open store that is being changed, of all of it or of its changes since another backup; and
//! restoring them.
//!
//! | module | holds |
//! |---|---|
//! | `source` | [`Backup`]: makes a backup |
//! | `restore` | [`Restore`]: makes a store from backups; [`Verification`]: checks that a backup is whole |
//! | `manifest` | [`Manifest`]: the description of a backup |
//! | `extents` | the file of pages |
//! | `log_copy` | the file of the log |
//! | `stream` | files with a length and a checksum |
//!
//! A backup is a directory:
//!
//! | file | holds |
//! |---|---|
//! | `pages` | pages, each as it was when it was copied |
//! | `log` | the redo log from the redo position of a checkpoint at the beginning to the backup's end |
//! | `commits/<n>`, `quarantine/<n>` | files of the crate above, as they were at the end |
//! | `manifest` | the description of the backup, and the proof that all of it is there |
//!
//! # Why a restored backup is the database as of the backup's end
//! Pages are copied from `data`, past the pool, while they are being written, so one copy is newer than another. A
//! crash leaves pages in such a state, and redo is made for it: **no page lacks a change before the redo position,
//! and none is newer than the end**, which is decided when all pages are copied. The backup treats each obstacle:
//!
//! - *A page is read while it is written.* Its checksum is wrong, and it is read again, at last while the pool writes
//!   nothing. A page that was never written, because it is new, is changed in memory, and is copied from there. A
//!   page in use that cannot be had in any of these ways is damaged: the backup fails.
//! - *Pages are freed and used again.* As before a crash, the log formats them, or their content does not matter. The
//!   backup looks at the use of an extent when it copies it; the log makes pages that come into use later.
//! - *Pages are written past the log* ([`crate::allocation`], files `bulk` and `fresh`), behind the place that the backup
//!   has come to. They are recorded and copied again, at last while none is written, so that the backup has all of
//!   each tree that is in use at the end.
//! - *Free space goes back to the file system.* Then the log would speak of pages that are gone, so none goes back
//!   while a backup is made.
//! - *The file grows.* The content of new extents comes from the log, or from writes past it. Their number is read
//!   together with the end, while it cannot change.
//! - *The log is given back.* It is kept from where the backup reads it. As it is copied whenever a piece of it is
//!   there, little is kept, and writers wait for a backup only if it cannot keep up with the log.
//! - *Files of the crate above come and go.* That crate ensures that the files as of the end are there when it adds
//!   them.
//!
//! # The content of an incremental backup
//! It has the pages that were last changed after the parent's *redo position*; the parent has the pages that were
//! changed before it, as they are now. Pages written past the log are stamped with an LSN up to which the log is
//! durable as they are written, and a backup begins when none is being written whose stamp lies before its redo
//! position. So a page that is written too late for a backup is in the next one. The log of the parent is not needed
//! any more: the pages that it changed are in the incremental backup. Pages that the parent has and that are free by
//! now stay as the parent had them.

mod extents;
mod log_copy;
mod manifest;
mod restore;
mod source;
mod stream;

pub use manifest::Manifest;
pub use restore::{Restore, Verification};
pub use source::Backup;
