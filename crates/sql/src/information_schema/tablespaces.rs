//! `information_schema.INNODB_TABLESPACES`: the one file that holds all tables. The first columns are
//! MySQL's; the others describe pages that belong to no table. TABLES and INNODB_INDEX_STATS describe the
//! pages of tables.

use super::{Columns, Rows, SystemView, count_column, name_column, text};
use crate::accounts::Privilege;
use leafline_storage::{SpaceUsage, device::BLOCK};
use leafline_table::TableError;
use leafline_types::{MysqlError, Value};

pub(super) fn columns() -> Columns {
    vec![
        count_column("SPACE"),
        name_column("NAME"),
        count_column("FLAG"),
        name_column("ROW_FORMAT"),
        count_column("PAGE_SIZE"),
        count_column("ZIP_PAGE_SIZE"),
        name_column("SPACE_TYPE"),
        count_column("FS_BLOCK_SIZE"),
        count_column("FILE_SIZE"),
        count_column("ALLOCATED_SIZE"),
        count_column("AUTOEXTEND_SIZE"),
        name_column("SERVER_VERSION"),
        count_column("SPACE_VERSION"),
        name_column("ENCRYPTION"),
        name_column("STATE"),
        count_column("FREE_SIZE"),
        count_column("SHARED_FREE_SIZE"),
    ]
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    system.access.check_any(&[Privilege::Process])?;
    let store = system.instance.engine().store();
    let page = store.page_size() as u64;
    let allocated = store.allocated_bytes().map_err(TableError::from)?;
    let SpaceUsage { file_pages, free_pages, shared_free_pages } = store.space_usage();
    Ok(vec![vec![
        Value::UInt(0),
        text("data"),
        Value::UInt(0),
        text("Dynamic"),
        Value::UInt(page),
        Value::UInt(0),
        text("General"),
        Value::UInt(BLOCK as u64),
        Value::UInt(file_pages * page),
        Value::UInt(allocated),
        Value::UInt(0),
        text(system.instance.facts().version.as_str()),
        Value::UInt(1),
        text("N"),
        text("normal"),
        Value::UInt(free_pages * page),
        Value::UInt(shared_free_pages * page),
    ]])
}
