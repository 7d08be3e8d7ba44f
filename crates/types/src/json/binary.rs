//! The binary form of a document, and views of its parts. All integers are little-endian.
//!
//! | bytes            | content                               |
//! |------------------|---------------------------------------|
//! | 1                | version of the format: 1              |
//! | the rest         | a value                               |
//!
//! A value is a tag and what the tag asks for:
//!
//! | tag    | value                | after the tag                                                             |
//! |--------|----------------------|---------------------------------------------------------------------------|
//! | 0      | null                 |                                                                           |
//! | 1, 2   | false, true          |                                                                           |
//! | 3, 4   | integer              | 8 bytes, signed or unsigned                                               |
//! | 5      | double               | its 8 bytes                                                               |
//! | 6      | string               | UTF-8 up to the value's end                                               |
//! | 7      | decimal              | its text up to the value's end                                            |
//! | 8      | date                 | 4 bytes: days since 1970-01-01, signed                                    |
//! | 9, 10  | datetime, time       | 8 bytes: microseconds (of a datetime since 1970-01-01), signed            |
//! | 11     | opaque               | 1 byte: type; its bytes up to the value's end                             |
//! | 12, 13 | array                | *count*, *ends* of the values, values                                     |
//! | 14, 15 | object               | *count*, *ends* of the names, *ends* of the values, names, values         |
//!
//! Counts and ends take two bytes after an even tag, four after an odd one. An end is counted from the start of the
//! names or the values. Members are in the order of their names (shorter names first, then by bytes), so that
//! bisection finds one. A value ends where the enclosing value says; the outermost ends with the document.

use std::cmp::Ordering;

use super::node::{Members, Node, key_order};
use super::{Key, MAX_DEPTH};
use crate::decimal::Decimal;
use crate::error::{CodecError, MysqlError};
use crate::output::room_for;
use crate::temporal::{Date, DateTime, Time};

/// The version of the format.
pub(super) const VERSION: u8 = 1;
/// The longest name of a member, in bytes.
pub(super) const MAX_KEY: usize = 65_535;

/// From this size on, converting a document to a tree asks for the memory first.
const LARGE: usize = 64 << 10;
/// The overhead of an allocation in bytes.
const BLOCK_BYTES: usize = 16;
/// The number of members of an object that one allocation is sure to hold: B-tree nodes have room for 11 and are about half
/// full.
const MEMBERS_TOGETHER: usize = 6;
const MEMBERS_BYTES: usize = 11 * (size_of::<Key>() + size_of::<Node>()) + BLOCK_BYTES;

mod tag {
    pub const NULL: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const INT: u8 = 3;
    pub const UINT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const STRING: u8 = 6;
    pub const DECIMAL: u8 = 7;
    pub const DATE: u8 = 8;
    pub const DATETIME: u8 = 9;
    pub const TIME: u8 = 10;
    pub const OPAQUE: u8 = 11;
    pub const ARRAY: u8 = 12;
    pub const LARGE_ARRAY: u8 = 13;
    pub const OBJECT: u8 = 14;
    pub const LARGE_OBJECT: u8 = 15;
}

/// Encodes a tree as a document.
///
/// # Errors
/// 3151 for a name that is too long, 1041 if memory is lacking.
pub(super) fn encode(node: &Node) -> Result<Vec<u8>, MysqlError> {
    let mut extents = Vec::new();
    let length = 1 + measure(node, &mut extents)?;
    // The document is copied once more, into the shared buffer.
    room_for(length.saturating_mul(2))?;
    let mut out = Vec::new();
    out.try_reserve_exact(length).map_err(|_| MysqlError::out_of_resources())?;
    out.push(VERSION);
    put_value(node, &mut extents.iter(), &mut out);
    Ok(out)
}

/// The number of bytes that the names and the values of a container take.
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    names: usize,
    values: usize,
}

impl Extent {
    /// Returns the width of counts and ends in bytes: two if that is enough, otherwise four. Four are always enough,
    /// because packets, results and rows bound the size of a document.
    fn width(self, count: usize) -> usize {
        if self.names.max(self.values).max(count) <= u16::MAX.into() { 2 } else { 4 }
    }
}

/// Returns how many bytes a value takes. Appends the extents of the containers in it, each before those inside it.
fn measure(node: &Node, extents: &mut Vec<Extent>) -> Result<usize, MysqlError> {
    let after_tag = match node {
        Node::Null | Node::Bool(_) => 0,
        Node::Int(_) | Node::UInt(_) | Node::Double(_) | Node::DateTime(_) | Node::Time(_) => 8,
        Node::Date(_) => 4,
        Node::String(s) => s.len(),
        Node::Decimal(d) => d.to_string().len(),
        Node::Opaque { bytes, .. } => 1 + bytes.len(),
        Node::Array(cells) => {
            let at = extents.len();
            extents.push(Extent::default());
            let mut extent = Extent::default();
            for cell in cells {
                extent.values += measure(cell, extents)?;
            }
            extents[at] = extent;
            extent.width(cells.len()) * (1 + cells.len()) + extent.values
        }
        Node::Object(members) => {
            let at = extents.len();
            extents.push(Extent::default());
            let mut extent = Extent::default();
            for (Key(name), value) in members {
                if name.len() > MAX_KEY {
                    return Err(MysqlError::json_key_too_big());
                }
                extent.names += name.len();
                extent.values += measure(value, extents)?;
            }
            extents[at] = extent;
            extent.width(members.len()) * (1 + 2 * members.len()) + extent.names + extent.values
        }
    };
    Ok(1 + after_tag)
}

/// Appends a value; `extents` yields the extents of its containers, in the order of [`measure`].
fn put_value(node: &Node, extents: &mut std::slice::Iter<'_, Extent>, out: &mut Vec<u8>) {
    match node {
        Node::Null => out.push(tag::NULL),
        Node::Bool(v) => out.push(if *v { tag::TRUE } else { tag::FALSE }),
        Node::Int(v) => put_tagged(tag::INT, &v.to_le_bytes(), out),
        Node::UInt(v) => put_tagged(tag::UINT, &v.to_le_bytes(), out),
        Node::Double(v) => put_tagged(tag::DOUBLE, &v.to_le_bytes(), out),
        Node::String(s) => put_tagged(tag::STRING, s.as_bytes(), out),
        Node::Decimal(d) => put_tagged(tag::DECIMAL, d.to_string().as_bytes(), out),
        Node::Date(d) => put_tagged(tag::DATE, &d.ordinal().to_le_bytes(), out),
        Node::DateTime(t) => put_tagged(tag::DATETIME, &t.ordinal().to_le_bytes(), out),
        Node::Time(t) => put_tagged(tag::TIME, &t.micros().to_le_bytes(), out),
        Node::Opaque { field_type, bytes } => {
            put_tagged(tag::OPAQUE, &[*field_type], out);
            out.extend_from_slice(bytes);
        }
        Node::Array(cells) => {
            let width = extents.next().map_or(4, |extent| extent.width(cells.len()));
            out.push(if width == 2 { tag::ARRAY } else { tag::LARGE_ARRAY });
            put_number(cells.len(), width, out);
            let mut ends = Ends::reserve(cells.len(), width, out);
            let begin = out.len();
            for cell in cells {
                put_value(cell, extents, out);
                ends.put(out.len() - begin, out);
            }
        }
        Node::Object(members) => {
            let width = extents.next().map_or(4, |extent| extent.width(members.len()));
            out.push(if width == 2 { tag::OBJECT } else { tag::LARGE_OBJECT });
            put_number(members.len(), width, out);
            let mut name_ends = Ends::reserve(members.len(), width, out);
            let mut value_ends = Ends::reserve(members.len(), width, out);
            let begin = out.len();
            for Key(name) in members.keys() {
                out.extend_from_slice(name.as_bytes());
                name_ends.put(out.len() - begin, out);
            }
            let begin = out.len();
            for value in members.values() {
                put_value(value, extents, out);
                value_ends.put(out.len() - begin, out);
            }
        }
    }
}

fn put_tagged(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn put_number(n: usize, width: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(n as u32).to_le_bytes()[..width]);
}

/// The place of ends that are filled in once they are known.
struct Ends {
    next: usize,
    width: usize,
}

impl Ends {
    fn reserve(count: usize, width: usize, out: &mut Vec<u8>) -> Ends {
        let next = out.len();
        out.resize(next + count * width, 0);
        Ends { next, width }
    }

    fn put(&mut self, end: usize, out: &mut [u8]) {
        let number = (end as u32).to_le_bytes();
        if let (Some(place), Some(number)) =
            (out.get_mut(self.next..self.next + self.width), number.get(..self.width))
        {
            place.copy_from_slice(number);
        }
        self.next += self.width;
    }
}

/// A value of a document; borrows the document's bytes.
#[derive(Debug, Clone, Copy)]
pub struct View<'a>(&'a [u8]);

/// The value that a view shows.
#[derive(Debug, Clone)]
pub enum Item<'a> {
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
    /// An exact number.
    Decimal(Decimal),
    /// A string.
    String(&'a str),
    /// A day.
    Date(Date),
    /// A day with a time.
    DateTime(DateTime),
    /// A span of time.
    Time(Time),
    /// Bytes, with the protocol's number of their type.
    Opaque(u8, &'a [u8]),
    /// `[..]`.
    Array(ArrayView<'a>),
    /// `{..}`.
    Object(ObjectView<'a>),
}

/// The cells of an array.
#[derive(Debug, Clone, Copy)]
pub struct ArrayView<'a> {
    values: Parts<'a>,
}

/// The members of an object.
#[derive(Debug, Clone, Copy)]
pub struct ObjectView<'a> {
    names: Parts<'a>,
    values: Parts<'a>,
}

/// Consecutive byte strings, located by their ends.
#[derive(Debug, Clone, Copy)]
struct Parts<'a> {
    ends: &'a [u8],
    width: usize,
    bytes: &'a [u8],
}

impl<'a> Parts<'a> {
    fn len(&self) -> usize {
        self.ends.len() / self.width
    }

    fn get(&self, n: usize) -> Option<&'a [u8]> {
        let end = number(self.ends, n * self.width, self.width)?;
        let start = match n.checked_sub(1) {
            Some(before) => number(self.ends, before * self.width, self.width)?,
            None => 0,
        };
        self.bytes.get(start..end)
    }
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let mut four = [0; 4];
    four[..width].copy_from_slice(bytes.get(at..at + width)?);
    Some(u32::from_le_bytes(four) as usize)
}

fn fixed<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

impl<'a> View<'a> {
    /// Views the whole of a document.
    pub(super) fn of_document(bytes: &'a [u8]) -> View<'a> {
        match bytes {
            [VERSION, value @ ..] => View(value),
            _ => View(&[]),
        }
    }

    /// Views the bytes of a value.
    pub(super) fn of_value(bytes: &'a [u8]) -> View<'a> {
        View(bytes)
    }

    /// Returns the bytes of the value.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns an identity that no other value of the document has.
    pub fn identity(self) -> *const [u8] {
        self.0
    }

    /// Returns the value; null if its bytes are malformed.
    pub fn item(self) -> Item<'a> {
        self.read().unwrap_or(Item::Null)
    }

    fn read(self) -> Option<Item<'a>> {
        let (&tag, rest) = self.0.split_first()?;
        Some(match tag {
            tag::NULL => Item::Null,
            tag::FALSE => Item::Bool(false),
            tag::TRUE => Item::Bool(true),
            tag::INT => Item::Int(i64::from_le_bytes(fixed(rest)?)),
            tag::UINT => Item::UInt(u64::from_le_bytes(fixed(rest)?)),
            tag::DOUBLE => Item::Double(f64::from_le_bytes(fixed(rest)?)),
            tag::STRING => Item::String(std::str::from_utf8(rest).ok()?),
            tag::DECIMAL => Item::Decimal(Decimal::parse(std::str::from_utf8(rest).ok()?)?),
            tag::DATE => Item::Date(Date::from_ordinal(i32::from_le_bytes(fixed(rest)?))?),
            tag::DATETIME => Item::DateTime(DateTime::from_ordinal(i64::from_le_bytes(fixed(rest)?))?),
            tag::TIME => Item::Time(Time::from_micros(i64::from_le_bytes(fixed(rest)?))?),
            tag::OPAQUE => Item::Opaque(*rest.first()?, &rest[1..]),
            tag::ARRAY | tag::LARGE_ARRAY => {
                let width = if tag == tag::ARRAY { 2 } else { 4 };
                let count = number(rest, 0, width)?;
                let (ends, bytes) = rest[width..].split_at_checked(count.checked_mul(width)?)?;
                Item::Array(ArrayView { values: Parts { ends, width, bytes } })
            }
            tag::OBJECT | tag::LARGE_OBJECT => {
                let width = if tag == tag::OBJECT { 2 } else { 4 };
                let table = number(rest, 0, width)?.checked_mul(width)?;
                let (name_ends, rest) = rest[width..].split_at_checked(table)?;
                let (value_ends, rest) = rest.split_at_checked(table)?;
                let names_end = match table.checked_sub(width) {
                    Some(last) => number(name_ends, last, width)?,
                    None => 0,
                };
                let (names, values) = rest.split_at_checked(names_end)?;
                Item::Object(ObjectView {
                    names: Parts { ends: name_ends, width, bytes: names },
                    values: Parts { ends: value_ends, width, bytes: values },
                })
            }
            _ => return None,
        })
    }

    /// Converts the value to a tree. Values nested deeper than a document may be read as null.
    ///
    /// # Errors
    /// 1041 if there is no memory for the tree of a long document.
    pub fn to_node(self) -> Result<Node, MysqlError> {
        if self.0.len() >= LARGE {
            room_for(self.tree_bytes(MAX_DEPTH))?;
        }
        Ok(self.node_within(MAX_DEPTH))
    }

    /// Estimates the memory that its tree takes, in bytes.
    fn tree_bytes(self, depth: usize) -> usize {
        let Some(depth) = depth.checked_sub(1) else { return 0 };
        size_of::<Node>()
            + match self.item() {
                Item::Array(array) => array.iter().map(|v| v.tree_bytes(depth)).sum::<usize>() + BLOCK_BYTES,
                Item::Object(object) => {
                    let members = object
                        .iter()
                        .map(|(name, v)| name.len() + BLOCK_BYTES + v.tree_bytes(depth))
                        .sum::<usize>();
                    members + MEMBERS_BYTES * (1 + object.len() / MEMBERS_TOGETHER)
                }
                Item::String(s) => s.len() + BLOCK_BYTES,
                Item::Opaque(_, bytes) => bytes.len() + BLOCK_BYTES,
                _ => 0,
            }
    }

    fn node_within(self, depth: usize) -> Node {
        match self.item() {
            Item::Null => Node::Null,
            Item::Bool(v) => Node::Bool(v),
            Item::Int(v) => Node::Int(v),
            Item::UInt(v) => Node::UInt(v),
            Item::Double(v) => Node::Double(v),
            Item::Decimal(d) => Node::Decimal(d),
            Item::String(s) => Node::String(s.to_owned()),
            Item::Date(d) => Node::Date(d),
            Item::DateTime(t) => Node::DateTime(t),
            Item::Time(t) => Node::Time(t),
            Item::Opaque(field_type, bytes) => Node::Opaque { field_type, bytes: bytes.to_vec() },
            Item::Array(_) | Item::Object(_) if depth == 0 => Node::Null,
            Item::Array(array) => Node::Array(array.iter().map(|cell| cell.node_within(depth - 1)).collect()),
            Item::Object(object) => {
                let member =
                    |(name, value): (&str, View<'_>)| (Key(name.to_owned()), value.node_within(depth - 1));
                Node::Object(object.iter().map(member).collect::<Members>())
            }
        }
    }

    /// Returns how deep the value is; a scalar is 1 deep.
    pub fn depth(self) -> usize {
        self.depth_within(MAX_DEPTH)
    }

    fn depth_within(self, limit: usize) -> usize {
        let Some(limit) = limit.checked_sub(1) else { return 0 };
        1 + match self.item() {
            Item::Array(array) => array.iter().map(|v| v.depth_within(limit)).max().unwrap_or(0),
            Item::Object(object) => object.iter().map(|(_, v)| v.depth_within(limit)).max().unwrap_or(0),
            _ => 0,
        }
    }
}

impl<'a> ArrayView<'a> {
    /// Returns the number of cells.
    pub fn len(self) -> usize {
        self.values.len()
    }

    /// Whether there are no cells.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the cell at `n`.
    pub fn get(self, n: usize) -> Option<View<'a>> {
        if n < self.len() { self.values.get(n).map(View) } else { None }
    }

    /// Iterates over the cells.
    pub fn iter(self) -> impl Iterator<Item = View<'a>> {
        (0..self.len()).filter_map(move |n| self.get(n))
    }
}

impl<'a> ObjectView<'a> {
    /// Returns the number of members.
    pub fn len(self) -> usize {
        self.values.len()
    }

    /// Whether there are no members.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    fn name(self, n: usize) -> &'a str {
        self.names.get(n).and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default()
    }

    /// Iterates over the members in the order of their names.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, View<'a>)> {
        (0..self.len()).filter_map(move |n| Some((self.name(n), View(self.values.get(n)?))))
    }

    /// Returns the value of the member named `name`.
    pub fn get(self, name: &str) -> Option<View<'a>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match key_order(self.name(middle), name) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return self.values.get(middle).map(View),
            }
        }
        None
    }
}

/// Checks that the bytes form a document.
pub(super) fn verify(bytes: &[u8]) -> Result<(), CodecError> {
    let malformed = CodecError::Malformed { what: "JSON document" };
    match bytes {
        [VERSION, value @ ..] if is_well_formed(View(value), MAX_DEPTH) => Ok(()),
        _ => Err(malformed),
    }
}

fn is_well_formed(view: View<'_>, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let parts_are = |parts: Parts<'_>| {
        let whole = parts.len() == 0 && parts.bytes.is_empty()
            || number(parts.ends, parts.ends.len().saturating_sub(parts.width), parts.width)
                == Some(parts.bytes.len());
        whole && (0..parts.len()).all(|n| parts.get(n).is_some())
    };
    match view.read() {
        None => false,
        Some(Item::Null | Item::Bool(_)) => view.0.len() == 1,
        Some(Item::Array(array)) => {
            parts_are(array.values) && array.iter().all(|cell| is_well_formed(cell, depth))
        }
        Some(Item::Object(object)) => {
            let named = |n: usize| object.names.get(n).is_some_and(|name| std::str::from_utf8(name).is_ok());
            parts_are(object.names)
                && parts_are(object.values)
                && (0..object.len()).all(named)
                && (1..object.len()).all(|n| key_order(object.name(n - 1), object.name(n)).is_lt())
                && object.iter().all(|(_, value)| is_well_formed(value, depth))
        }
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Json;

    #[test]
    fn documents_come_back_as_they_went() {
        let long = format!("[{}{{\"k\": \"{}\"}}]", "1, ".repeat(3000), "x".repeat(70_000));
        for text in [
            "null",
            "[]",
            "{}",
            "[1, -2, 1.5, \"a\", true, false, null, 18446744073709551615]",
            "{\"\": 0, \"b\": {\"é\": []}, \"aa\": 1}",
            &long,
        ] {
            let json = Json::parse(text).unwrap();
            json.verify().unwrap();
            assert_eq!(json.to_string(), *text);
            assert_eq!(Json::new(&json.to_node().unwrap()).unwrap(), json);
        }
    }

    #[test]
    fn damage_is_noticed_and_read_without_a_panic() {
        let json = Json::parse("{\"a\": [1, {\"b\": \"text\"}], \"bb\": 2.5}").unwrap();
        let bytes = json.as_bytes();
        let mut noticed = 0;
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.to_vec();
                damaged[at] ^= 1 << bit;
                let damaged = Json::from_bytes(&damaged);
                noticed += usize::from(damaged.verify().is_err());
                let _ = (damaged.to_string(), damaged.view().depth());
            }
            let cut = Json::from_bytes(&bytes[..at]);
            assert!(cut.verify().is_err(), "{at}");
            let _ = cut.to_string();
        }
        assert!(noticed > 100, "{noticed}");
    }
}
