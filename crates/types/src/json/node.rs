//! A document as a tree.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::decimal::Decimal;
use crate::temporal::{Date, DateTime, Time};

/// The name of a member. Names order by their length in bytes, then by their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(pub String);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        key_order(&self.0, &other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares two names in the order of members.
pub(super) fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// The members of an object.
pub type Members = BTreeMap<Key, Node>;

/// A value of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number above the range of `Int`.
    UInt(u64),
    /// A number with a point or exponent.
    Double(f64),
    /// An exact number, from SQL.
    Decimal(Decimal),
    /// A string.
    String(String),
    /// A day, from SQL.
    Date(Date),
    /// A day with a time, from SQL.
    DateTime(DateTime),
    /// A span of time, from SQL.
    Time(Time),
    /// Bytes, from SQL.
    Opaque {
        /// The protocol's number of the bytes' SQL type.
        field_type: u8,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// `[..]`.
    Array(Vec<Node>),
    /// `{..}`.
    Object(Members),
}

impl Node {
    /// Returns how deep the value is; a scalar is 1 deep.
    pub fn depth(&self) -> usize {
        match self {
            Node::Array(cells) => 1 + cells.iter().map(Node::depth).max().unwrap_or(0),
            Node::Object(members) => 1 + members.values().map(Node::depth).max().unwrap_or(0),
            _ => 1,
        }
    }

    /// Returns the cells of an array; any other value is the only cell.
    pub fn into_cells(self) -> Vec<Node> {
        match self {
            Node::Array(cells) => cells,
            other => vec![other],
        }
    }

    /// Merges two values as JSON_MERGE_PRESERVE does: members of one name are merged, arrays are concatenated, and a
    /// value that is not an array counts as an array of itself.
    pub fn merged_preserving(self, other: Node) -> Node {
        match (self, other) {
            (Node::Object(mut left), Node::Object(right)) => {
                for (key, value) in right {
                    let merged = match left.remove(&key) {
                        Some(known) => known.merged_preserving(value),
                        None => value,
                    };
                    left.insert(key, merged);
                }
                Node::Object(left)
            }
            (left, right) => {
                let mut cells = left.into_cells();
                cells.extend(right.into_cells());
                Node::Array(cells)
            }
        }
    }

    /// Applies a merge patch (RFC 7396): a member that is null in the patch is removed; other members replace or
    /// patch the member of their name; a patch that is not an object replaces the whole value.
    pub fn patched(self, patch: Node) -> Node {
        let Node::Object(changes) = patch else { return patch };
        let mut members = match self {
            Node::Object(members) => members,
            _ => Members::new(),
        };
        for (key, change) in changes {
            if change == Node::Null {
                members.remove(&key);
                continue;
            }
            let old = members.remove(&key).unwrap_or(Node::Null);
            members.insert(key, old.patched(change));
        }
        Node::Object(members)
    }
}
