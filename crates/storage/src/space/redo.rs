//! The redo handler of the space manager's records: hands each record to the kind of page that it changes.

use super::record::SpaceRecord;
use super::{directory, map_page};
use crate::{RedoError, RedoHandler, page};

/// The redo handler of the space manager's records.
pub(crate) struct SpaceRedo;

impl RedoHandler for SpaceRedo {
    fn redo(&self, kind: u8, page: &mut [u8], payload: &[u8]) -> Result<(), RedoError> {
        let record = SpaceRecord::decode(kind, payload).ok_or("malformed record of the space manager")?;
        match record {
            SpaceRecord::InitPage { page: page_no, kind, owner } => {
                page::initialise(page, page_no, kind, owner);
                Ok(())
            }
            SpaceRecord::SetPages { .. } | SpaceRecord::ClearPages { .. } => map_page::redo(&record, page),
            _ => directory::redo(&record, page),
        }
    }
}
