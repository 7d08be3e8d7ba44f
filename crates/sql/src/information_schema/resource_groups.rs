//! `information_schema.RESOURCE_GROUPS`.

use super::{Columns, Rows, SystemView, name_column, number_column, text, text_column};
use crate::accounts::Privilege;
use crate::resource_group::ranges_text;
use leafline_types::{MysqlError, SqlType, Value};

pub(super) fn columns() -> Columns {
    vec![
        name_column("RESOURCE_GROUP_NAME"),
        name_column("RESOURCE_GROUP_TYPE"),
        number_column("RESOURCE_GROUP_ENABLED", SqlType::BIGINT),
        text_column("VCPU_IDS", SqlType::Varchar { len: 4096 }),
        number_column("THREAD_PRIORITY", SqlType::BIGINT),
    ]
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let wanted = [Privilege::ResourceGroupAdmin, Privilege::ResourceGroupUser];
    if system.access.check_any(&wanted).is_err() {
        return Ok(Rows::new());
    }
    let groups = system.instance.resource_groups().all();
    let row = |group: &std::sync::Arc<crate::resource_group::ResourceGroup>| {
        let state = group.state.read();
        vec![
            text(group.name.as_str()),
            text(if group.of_system { "SYSTEM" } else { "USER" }),
            Value::Int(state.enabled.into()),
            text(ranges_text(&state.controls.processors).as_str()),
            Value::Int(state.controls.priority.into()),
        ]
    };
    Ok(groups.iter().map(row).collect())
}
