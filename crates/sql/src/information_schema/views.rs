//! `information_schema.VIEWS`.

use super::{CATALOG, Columns, Rows, long_text, name_column, text, text_column, yes_no};
use crate::binder::is_updatable_view;
use crate::session::Session;
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

pub(super) fn rows(session: &Session) -> Result<Rows, MysqlError> {
    let catalog = session.instance.engine().catalog();
    let views = catalog.databases().flat_map(|database| catalog.views(&database.name));
    let row = |view: &std::sync::Arc<leafline_table::ViewDef>| {
        let collation = session.settings.collation;
        let named = [CATALOG, &view.database, &view.name, &view.query, view.check_option.name()].map(text);
        let rest = [
            yes_no(is_updatable_view(view, &session.bind_context(&[]))),
            text("root@%"),
            text("DEFINER"),
            text(collation.charset().name()),
            text(collation.name()),
        ];
        [&named[..], &rest].concat()
    };
    Ok(views.map(row).collect())
}
