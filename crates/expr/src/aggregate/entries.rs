//! What an aggregate that puts values together does not keep: entries that somebody else keeps and sorts, and brings again group by
//! group.

use super::KeyBuffer;

/// Entries of the rows of a batch.
#[derive(Debug, Default)]
pub(super) struct Entries {
    groups: Vec<u32>,
    values: KeyBuffer,
    keys: KeyBuffer,
    payloads: KeyBuffer,
}

/// Which entries of a group count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathering {
    /// All.
    All,
    /// Of those with the same key, the first.
    OnceByKey,
    /// Of those with the same value, the first; the key is another one.
    OnceByValue,
}

/// What a row brings to its group.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The group.
    pub group: u32,
    /// The same for entries of which one counts ([`Gathering::OnceByValue`]).
    pub value: &'a [u8],
    /// By this the entries of a group are sorted; equals as they came.
    pub key: &'a [u8],
    /// What is added.
    pub payload: &'a [u8],
}

impl Entries {
    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.values.clear();
        self.keys.clear();
        self.payloads.clear();
    }

    pub(super) fn push(&mut self, entry: Entry<'_>) {
        self.groups.push(entry.group);
        self.values.push(entry.value);
        self.keys.push(entry.key);
        self.payloads.push(entry.payload);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        self.groups.iter().enumerate().map(|(at, group)| Entry {
            group: *group,
            value: self.values.get(at),
            key: self.keys.get(at),
            payload: self.payloads.get(at),
        })
    }
}
