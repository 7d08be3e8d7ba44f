//! JSON_ARRAYAGG and JSON_OBJECTAGG: collect the values of groups, NULL among them, in the order of rows. Of members
//! with one name the last counts. A document is no larger than `max_allowed_packet` (1301).
//!
//! When memory runs out, the caller *closes* the aggregate: it then returns the values of further rows as
//! [`Entries`], and the caller passes them back in their order when their group is finished.

use super::Groups;
use super::entries::{Entries, Entry};
use crate::functions::member_name;
use crate::{Datum, EvalContext, Expr};
use leafline_types::convert::to_json;
use leafline_types::error::MysqlError;
use leafline_types::json::node::{Key, Members};
use leafline_types::json::{Json, Node};
use leafline_types::value::{SqlType, Value};

/// The documents of groups.
#[derive(Debug)]
pub(super) struct Documents {
    /// The types of the arguments: a value, or a name and a value.
    types: Vec<SqlType>,
    groups: Vec<Group>,
    bytes: usize,
    /// `max_allowed_packet`.
    most: usize,
    closed: bool,
    /// The entries of the last batch, once the aggregate is closed.
    entries: Entries,
}

#[derive(Debug, Default)]
struct Group {
    /// None before the first row.
    document: Option<Node>,
    /// At least the bytes of its values: members that replaced others count, too, until the document is measured.
    size: usize,
    /// The document is measured again once `size` exceeds this.
    measured: usize,
}

impl Documents {
    pub(super) fn new(args: &[Expr]) -> Self {
        let types = args.iter().map(|arg| arg.ty.sql.clone()).collect();
        Documents {
            types,
            groups: Vec::new(),
            bytes: 0,
            most: usize::MAX,
            closed: false,
            entries: Entries::default(),
        }
    }

    pub(super) fn grow(&mut self, groups: usize) {
        self.groups.resize_with(groups, Group::default);
    }

    /// Takes in the rows of a batch. Error 3158 for a name that is NULL.
    pub(super) fn update(
        &mut self,
        groups: Groups<'_>,
        rows: usize,
        args: &[Datum],
        cx: &EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        self.most = cx.sql_mode.max_result;
        self.entries.clear();
        let mut payload = Vec::new();
        for row in 0..rows {
            let mut values = args.iter().zip(&self.types).map(|(arg, ty)| (arg.value(row, ty), ty));
            let (Some((first, ty)), second) = (values.next(), values.next()) else { continue };
            let (name, value) = match second {
                None => (None, to_json(&first, ty)?),
                Some((second, value_type)) => (Some(member_name(&first, ty)?), to_json(&second, value_type)?),
            };
            if !self.closed {
                let group = &mut self.groups[groups.of(row)];
                self.bytes += group.add(name, &value, self.most)?;
                continue;
            }
            payload.clear();
            if let Some(Key(name)) = name {
                payload.extend_from_slice(&(name.len() as u32).to_le_bytes());
                payload.extend_from_slice(name.as_bytes());
            }
            payload.extend_from_slice(value.as_bytes());
            let group = groups.of(row) as u32;
            self.entries.push(Entry { group, value: &[], key: &[], payload: &payload });
        }
        Ok(())
    }

    /// Keeps nothing of further rows.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn entries(&self) -> &Entries {
        &self.entries
    }

    /// Adds an entry to its group; entries arrive in the order of their rows.
    pub(super) fn take_back(&mut self, entry: Entry<'_>) -> Result<(), MysqlError> {
        let mut payload = entry.payload;
        let mut name = None;
        if self.types.len() > 1 {
            let parts = payload.split_first_chunk::<4>().and_then(|(length, rest)| {
                let (name, value) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                Some((std::str::from_utf8(name).ok()?, value))
            });
            let (text, value) = parts.ok_or_else(|| MysqlError::internal("a member without its name"))?;
            (name, payload) = (Some(Key(text.to_owned())), value);
        }
        if let Some(group) = self.groups.get_mut(entry.group as usize) {
            group.add(name, &Json::from_bytes(payload), self.most)?;
        }
        Ok(())
    }

    /// Returns the document of a group.
    pub(super) fn value(&self, group: usize) -> Result<Value, MysqlError> {
        self.groups.get(group).map_or(Ok(Value::Null), |group| group.value(self.most))
    }

    /// Returns the document of a group and drops its state.
    pub(super) fn finish(&mut self, group: usize) -> Result<Value, MysqlError> {
        let group = self.groups.get_mut(group).map(std::mem::take).unwrap_or_default();
        group.value(self.most)
    }

    /// Resets the state after all groups are finished.
    pub(super) fn clear(&mut self) {
        self.groups = Vec::new();
        self.bytes = 0;
        self.closed = false;
        self.entries.clear();
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes + self.groups.capacity() * size_of::<Group>()
    }
}

impl Group {
    /// Adds a cell or a member. Returns about how many bytes of memory it takes.
    fn add(&mut self, name: Option<Key>, value: &Json, most: usize) -> Result<usize, MysqlError> {
        let named = name.as_ref().map_or(0, |name| name.0.len() + size_of::<Key>());
        self.size += value.as_bytes().len() + name.as_ref().map_or(0, |name| name.0.len());
        let node = value.to_node()?;
        match (&mut self.document, name) {
            (Some(Node::Array(cells)), None) => cells.push(node),
            (Some(Node::Object(members)), Some(name)) => drop(members.insert(name, node)),
            (document, None) => *document = Some(Node::Array(vec![node])),
            (document, Some(name)) => *document = Some(Node::Object(Members::from([(name, node)]))),
        }
        if self.size > most.max(self.measured) {
            self.measure(most)?;
        }
        Ok(named + value.as_bytes().len() + size_of::<Node>())
    }

    /// Computes the size of the document. That takes as long as making it, so it is only done again after an eighth
    /// of `most` has been added.
    fn measure(&mut self, most: usize) -> Result<(), MysqlError> {
        if let Some(Node::Object(members)) = &self.document {
            let size = |(name, value): (&Key, &Node)| {
                Json::new(value).map(|value| name.0.len() + value.as_bytes().len())
            };
            self.size = members.iter().map(size).sum::<Result<usize, _>>()?;
        }
        self.measured = self.size + most / 8;
        match self.size > most {
            true => Err(Json::too_large(most)),
            false => Ok(()),
        }
    }

    fn value(&self, most: usize) -> Result<Value, MysqlError> {
        let Some(node) = &self.document else { return Ok(Value::Null) };
        Json::new(node)?.no_larger_than(most).map(Value::Json)
    }
}
