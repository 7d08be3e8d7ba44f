//! Entries: the values that a closed aggregate does not keep itself. The caller keeps and sorts them, and passes them
//! back group by group.

use super::KeyBuffer;

/// The entries of the rows of a batch.
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
    /// All entries.
    All,
    /// The first of the entries with one key.
    OnceByKey,
    /// The first of the entries with one value, which is not the key.
    OnceByValue,
}

/// The entry that a row adds to its group.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The group.
    pub group: u32,
    /// Equal for entries of which only one counts ([`Gathering::OnceByValue`]).
    pub value: &'a [u8],
    /// The key by which the entries of a group are sorted; entries with equal keys stay in the order of their
    /// arrival.
    pub key: &'a [u8],
    /// The value to add.
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
