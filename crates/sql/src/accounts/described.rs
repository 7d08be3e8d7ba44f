//! SHOW PRIVILEGES: the contexts of each privilege in MySQL's words, by which tools sort them.

use super::{Privilege, Privileges, Reach};
use crate::result::RowSet;
use leafline_types::Value;

const SERVER: &str = "Server Admin";

/// SHOW PRIVILEGES.
pub(crate) fn privileges() -> RowSet {
    let mut rows = RowSet::text(["Privilege", "Context", "Comment"]);
    let mut push = |name: &str, context: &str, comment: &str| {
        rows.push([name, context, comment].map(Value::string).to_vec());
    };
    let mut described: Vec<Privilege> = (Privileges::STATIC | Privilege::GrantOption).iter().collect();
    described.sort_by_key(|privilege| privilege.name());
    for privilege in described {
        let (context, comment) = about(privilege);
        push(&sentence(privilege.name()), context, comment);
    }
    push("Usage", SERVER, "Nothing but to connect");
    Privileges::DYNAMIC.iter().for_each(|privilege| push(privilege.name(), SERVER, ""));
    rows
}

/// Changes a name to lower case, but for its first letter.
fn sentence(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().into_iter().chain(letters.map(|letter| letter.to_ascii_lowercase())).collect()
}

fn about(privilege: Privilege) -> (&'static str, &'static str) {
    use Privilege::*;
    match privilege {
        Alter => ("Tables", "To alter tables"),
        AlterRoutine => ("Functions,Procedures", "To alter and drop routines"),
        Create => ("Databases,Tables,Indexes", "To create databases and tables"),
        CreateRoutine => ("Databases", "To create routines"),
        CreateTemporaryTables => ("Databases", "To create temporary tables"),
        CreateView => ("Tables", "To create views"),
        Delete => ("Tables", "To delete rows"),
        Drop => ("Databases,Tables", "To drop databases, tables and views"),
        Event => (SERVER, "To create, alter and drop events"),
        Execute => ("Functions,Procedures", "To execute routines"),
        File => ("File access on server", "To read and write files of the server"),
        GrantOption => ("Databases,Tables,Functions,Procedures", "To grant the privileges that one has"),
        Index => ("Tables", "To create and drop indexes"),
        Insert => ("Tables", "To insert rows"),
        LockTables => ("Databases", "To lock tables that one may read"),
        References => ("Databases,Tables", "To refer to tables by foreign keys"),
        Select => ("Tables", "To read rows"),
        ShowView => ("Tables", "To see the definitions of views"),
        Trigger => ("Tables", "To use triggers"),
        Update => ("Tables", "To update rows"),
        privilege if privilege.reach() == Reach::Global => (SERVER, ""),
        _ => ("Databases", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_privilege_is_listed_once() {
        let rows = privileges().rows;
        let all = Privileges::EVERYTHING.iter().count();
        assert_eq!(rows.len(), all + 1, "and USAGE");
        let names: Vec<_> = rows.iter().filter_map(|row| row[0].as_str()).map(str::to_uppercase).collect();
        let known = names.iter().filter(|name| Privilege::from_name(name).is_some()).count();
        assert_eq!(known, all);
        assert_eq!(rows[0], ["Alter", "Tables", "To alter tables"].map(Value::string).to_vec());
    }
}
