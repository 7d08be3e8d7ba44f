//! The net changes of a transaction: the rows that a commit must change, one after another.

use super::history::{Aborted, Base, Encoded, KeyWrites};
use super::key_map::Iter;
use super::layers::Groups;
use super::{NOW, no_base};
use crate::error::Result;

/// A row change that a commit must make.
#[derive(Debug)]
pub(crate) struct NetChange<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) before: Option<&'a [u8]>,
    pub(crate) after: Option<&'a [u8]>,
}

/// The written rows of a table, in key order.
pub(super) enum Rows<'a> {
    None,
    Memory(Iter<'a, KeyWrites>),
    Frozen(Groups),
}

/// The changes to a table to be committed, in key order.
pub(crate) struct NetChanges<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) aborted: &'a Aborted,
}

impl NetChanges<'_> {
    /// The next row that differs from its base.
    pub(crate) fn next(&mut self) -> Result<Option<NetChange<'_>>> {
        match &mut self.rows {
            Rows::None => Ok(None),
            Rows::Memory(rows) => {
                for (key, row) in rows.by_ref() {
                    let Some(after) = row.newest(NOW, self.aborted) else { continue };
                    let Base::Is(before) = &row.base else { return Err(no_base()) };
                    if before != after {
                        let (before, after) = (before.as_deref(), after.as_deref());
                        return Ok(Some(NetChange { key, before, after }));
                    }
                }
                Ok(None)
            }
            Rows::Frozen(groups) => {
                let mut change = None;
                while change.is_none() && groups.next(self.aborted)? {
                    let row = Encoded::new(&groups.payload)?;
                    let before = row.base.ok_or_else(no_base)?;
                    let after = row.newest(NOW, self.aborted)?;
                    change = after.filter(|after| before != *after).map(|_| ());
                }
                if change.is_none() {
                    return Ok(None);
                }
                let row = Encoded::new(&groups.payload)?;
                let after = row.newest(NOW, self.aborted)?.flatten();
                Ok(Some(NetChange { key: &groups.key, before: row.base.flatten(), after }))
            }
        }
    }
}
