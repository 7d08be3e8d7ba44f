//! `information_schema.VIEWS`.

use super::{CATALOG, Columns, Rows, SYS, SystemView, long_text, name_column, text, text_column, yes_no};
use crate::accounts::{Privilege, definer_of};
use leafline_planner::Authority;
use leafline_planner::binder::is_updatable_view;
use leafline_syntax::AccountId;
use leafline_table::CheckOption;
use leafline_types::{MysqlError, SqlType};

pub(super) fn columns() -> Columns {
    vec![
        name_column("TABLE_CATALOG"),
        name_column("TABLE_SCHEMA"),
        name_column("TABLE_NAME"),
        long_text("VIEW_DEFINITION"),
        name_column("CHECK_OPTION"),
        name_column("IS_UPDATABLE"),
        text_column("DEFINER", SqlType::Varchar { len: 288 }),
        name_column("SECURITY_TYPE"),
        name_column("CHARACTER_SET_CLIENT"),
        name_column("COLLATION_CONNECTION"),
    ]
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let visible = system.visible();
    let row = |view: &std::sync::Arc<leafline_table::ViewDef>| {
        let collation = view.collation;
        // The query is shown to accounts with SHOW VIEW alone.
        let shown = system.access.on_table(&view.database, &view.name).has(Privilege::ShowView);
        let query = if shown { view.query.as_str() } else { "" };
        let named = [CATALOG, &view.database, &view.name, query, view.check_option.name()].map(text);
        let rest = [
            yes_no(is_updatable_view(view, &system.binding)),
            text(definer_of(view).plain().as_str()),
            text(if view.by_invoker { "INVOKER" } else { "DEFINER" }),
            text(collation.charset().name()),
            text(collation.name()),
        ];
        [&named[..], &rest].concat()
    };
    // MySQL's `sys` has views.
    let in_sys = visible.computed().filter(|table| table.database == SYS).map(|table| {
        let collation = system.settings.collation;
        let query = table.view_query();
        let named = [CATALOG, table.database, table.name, &query, CheckOption::None.name()].map(text);
        let definer = AccountId::root().plain();
        let rest =
            ["NO", definer.as_str(), "INVOKER", collation.charset().name(), collation.name()].map(text);
        [&named[..], &rest].concat()
    });
    Ok(visible.views().map(row).chain(in_sys).collect())
}
