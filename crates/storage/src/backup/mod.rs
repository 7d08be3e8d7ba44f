//! Backups: copies of an open store while it is changed, whole or of what has changed since another backup; and stores made of them.
//!
//! | module | is |
//! |---|---|
//! | `source` | [`Backup`]: making one |
//! | `restore` | [`Restore`]: a store made of backups; [`Verification`]: is a backup whole? |
//! | `manifest` | [`Manifest`]: what a backup is |
//! | `extents` | its pages |
//! | `log_copy` | its part of the log |
//! | `stream` | files with a length and a checksum |
//!
//! A backup is a directory:
//!
//! | file | holds |
//! |---|---|
//! | `pages` | pages, as they were when they were copied |
//! | `log` | the redo log from the redo position of a checkpoint at the beginning to the backup's end |
//! | `commits/<n>`, `quarantine/<n>` | files of the crate above, as they were at the end |
//! | `manifest` | what it is, and that all of it is there |
//!
//! # Why that is the database as of the end
//! Pages are copied from `data`, past the pool, while they are written: one is newer than the other. That is what a crash leaves, and what
//! redo is for: **no page lacks a change before the redo position, and none is newer than the end**, which is decided when all are copied.
//! What can get in the way of that:
//!
//! - *A page is read while it is written.* Its checksum is wrong; it is read again, at last while nothing of the pool is written. What never
//!   was written, because it is new, is changed in memory then, and is taken from there. What is in use and cannot be had in any of these ways
//!   is damaged: an error, and no backup.
//! - *Pages are freed and used again.* As before a crash: the log formats them, or they hold nothing that matters. The use of an extent is
//!   looked at when it is copied; what is used later is made by the log.
//! - *Pages are written past the log* ([`crate::space`], files `bulk` and `fresh`), behind the place that the backup has come to. They are noted and copied
//!   again, at last while none is written, so that each tree that is in use at the end is there.
//! - *Free space goes back to the file system.* Then the log would speak of pages that are not there; so none goes meanwhile.
//! - *The file grows.* Extents that are new have nothing but what the log says, and what is written past it. How many extents it has is looked at together with the end, while it cannot change.
//! - *The log is given back.* It is kept from where the backup reads it. As it is copied whenever a piece of it is there, little is kept,
//!   and who writes waits for a backup only where that cannot keep up with the log.
//! - *Files of the crate above come and go.* It sees to it that those of the moment of the end are there when it adds them.
//!
//! # What an incremental backup has
//! The pages that were changed last after the parent's *redo position*: those changed before it are in the parent as they are now. Pages written past
//! the log are stamped with an LSN up to which the log is durable as they are written, and a backup begins when none is being written whose stamp
//! lies before its redo position. So those that came too late for a backup are found by the next one. The log of the parent is not needed any more: what it changed is
//! on pages, and these are in the backup. Pages that the parent has and that are free by now stay as the parent had them.

mod extents;
mod log_copy;
mod manifest;
mod restore;
mod source;
mod stream;

pub use manifest::Manifest;
pub use restore::{Restore, Verification};
pub use source::Backup;
