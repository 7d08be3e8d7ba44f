//! JSON_ARRAYAGG and JSON_OBJECTAGG: the values of groups, NULL among them, in the order in which rows come. Of members of one
//! name the last counts.

use arrow_array::ArrayRef;

use super::Groups;
use crate::column::ColumnBuilder;
use crate::convert::to_json;
use crate::error::MysqlError;
use crate::expr::{Datum, Expr};
use crate::functions::member_name;
use crate::json::node::Members;
use crate::json::{Json, Node};
use crate::value::{SqlType, Value};

/// The documents of groups.
#[derive(Debug)]
pub(super) struct Documents {
    /// The types of the arguments: a value, or a name and a value.
    types: Vec<SqlType>,
    /// None without rows.
    groups: Vec<Option<Node>>,
    bytes: usize,
}

impl Documents {
    pub(super) fn new(args: &[Expr]) -> Self {
        let types = args.iter().map(|arg| arg.ty.sql.clone()).collect();
        Documents { types, groups: Vec::new(), bytes: 0 }
    }

    pub(super) fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, None);
    }

    /// Error 3158 for a name that is NULL.
    pub(super) fn update(
        &mut self,
        groups: Groups<'_>,
        rows: usize,
        args: &[Datum],
    ) -> Result<(), MysqlError> {
        for row in 0..rows {
            let mut values = args.iter().zip(&self.types).map(|(arg, ty)| (arg.value(row, ty), ty));
            let group = &mut self.groups[groups.of(row)];
            let (Some((first, ty)), second) = (values.next(), values.next()) else { continue };
            match second {
                None => {
                    let cell = document(&first, ty, &mut self.bytes)?;
                    match group.get_or_insert_with(|| Node::Array(Vec::new())) {
                        Node::Array(cells) => cells.push(cell),
                        other => *other = Node::Array(vec![cell]),
                    }
                }
                Some((second, value_type)) => {
                    let name = member_name(&first, ty)?;
                    let value = document(&second, value_type, &mut self.bytes)?;
                    self.bytes += name.0.len();
                    match group.get_or_insert_with(|| Node::Object(Members::new())) {
                        Node::Object(members) => drop(members.insert(name, value)),
                        other => *other = Node::Object(Members::from([(name, value)])),
                    }
                }
            }
        }
        Ok(())
    }

    /// The document of a group.
    pub(super) fn value(&self, group: usize) -> Result<Value, MysqlError> {
        match self.groups.get(group) {
            Some(Some(node)) => Json::new(node).map(Value::Json),
            _ => Ok(Value::Null),
        }
    }

    pub(super) fn finish(&mut self, ty: &SqlType) -> Result<ArrayRef, MysqlError> {
        let mut out = ColumnBuilder::with_capacity(ty, self.groups.len());
        for group in 0..self.groups.len() {
            out.push_value(&self.value(group)?)?;
        }
        self.groups = Vec::new();
        self.bytes = 0;
        Ok(out.finish())
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes + self.groups.capacity() * size_of::<Option<Node>>()
    }
}

/// The value as part of a document, whose memory is noted.
fn document(v: &Value, ty: &SqlType, bytes: &mut usize) -> Result<Node, MysqlError> {
    let json = to_json(v, ty)?;
    *bytes += json.as_bytes().len() + size_of::<Node>();
    Ok(json.to_node())
}
