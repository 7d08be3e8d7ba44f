//! RESOURCE_GROUPS.

use super::{SchemaTable, name_column, number_column, text_column};
use crate::resource_group::ranges_text;
use crate::session::Session;
use leafline_types::{SqlType, Value};

pub(super) fn table(session: &Session) -> SchemaTable {
    let columns = vec![
        name_column("RESOURCE_GROUP_NAME"),
        name_column("RESOURCE_GROUP_TYPE"),
        number_column("RESOURCE_GROUP_ENABLED", SqlType::BIGINT),
        text_column("VCPU_IDS", SqlType::Varchar { len: 4096 }),
        number_column("THREAD_PRIORITY", SqlType::BIGINT),
    ];
    let groups = session.instance.resource_groups().all();
    let row = |group: &std::sync::Arc<crate::resource_group::ResourceGroup>| {
        let state = group.state.read();
        vec![
            Value::string(group.name.as_str()),
            Value::string(if group.of_system { "SYSTEM" } else { "USER" }),
            Value::Int(state.enabled.into()),
            Value::string(ranges_text(&state.controls.processors)),
            Value::Int(state.controls.priority.into()),
        ]
    };
    SchemaTable { columns, rows: groups.iter().map(row).collect() }
}
