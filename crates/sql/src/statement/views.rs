//! CREATE VIEW, ALTER VIEW and DROP VIEW.

use super::account::check_name;
use super::definitions::database_of;
use crate::accounts::definer_of;
use crate::result::Done;
use crate::session::Session;
use leafline_planner::binder::view_def;
use leafline_syntax::ast::{CreateView, DropView, ViewVerb};
use leafline_types::MysqlError;

pub(super) fn create_view(session: &mut Session, create: &CreateView, sql: &str) -> Result<Done, MysqlError> {
    let database = database_of(session, &create.name)?;
    let name = &create.name.name.value;
    let catalog = session.instance.engine().catalog();
    let altered = match create.verb {
        ViewVerb::Alter => {
            Some(catalog.view(&database, name).ok_or_else(|| match catalog.table(&database, name) {
                Some(_) => MysqlError::wrong_object(&database, name, "VIEW"),
                None => MysqlError::no_such_table(&database, name),
            })?)
        }
        ViewVerb::Create | ViewVerb::CreateOrReplace => None,
    };
    let altered = altered.map(|view| view.as_ref());
    let (view, warning) = view_def((create, altered), &database, sql, &session.bind_context(&[]))?;
    let definer = definer_of(&view);
    check_name(&definer)?;
    session.instance.engine().ddl().create_view(view, create.verb != ViewVerb::Create)?;
    if (create.definer.is_some() || altered.is_some()) && !session.instance.accounts().has_definer(&definer) {
        session.warnings.note(MysqlError::no_such_definer(&definer.user, &definer.host));
    }
    warning.into_iter().for_each(|warning| session.warnings.warn(warning));
    Ok(Done::default())
}

pub(super) fn drop_view(session: &mut Session, drop: &DropView) -> Result<Done, MysqlError> {
    let mut names = Vec::with_capacity(drop.views.len());
    for view in &drop.views {
        names.push((database_of(session, view)?, view.name.value.as_str()));
    }
    let names: Vec<(&str, &str)> = names.iter().map(|(database, name)| (database.as_str(), *name)).collect();
    for missing in session.instance.engine().ddl().drop_views(&names, drop.if_exists)? {
        session.warnings.note(MysqlError::unknown_table(missing));
    }
    Ok(Done::default())
}
