//! Tests what transactions see of each other: the anomalies of Adya's theses, by scripts after Hermitage (Martin
//! Kleppmann) and in random histories; and statements that meet the locks of others.

mod anomalies;
mod clients;
mod covering;
mod foreign_keys;
mod history;
mod locking;
mod metadata;
mod ranges;
#[path = "../support/rows.rs"]
mod rows;
mod seeds;
#[path = "../support/settings.rs"]
mod settings;
