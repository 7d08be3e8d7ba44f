//! Definitions of the grant tables, with MySQL's columns.

use crate::system_table::SYSTEM_DATABASE;
use leafline_syntax::Privilege;
use leafline_table::{ColumnDef, IndexSpec, IndexSpecKind, IndexSpecPart, TableSpec};
use leafline_types::{Collation, Members, SqlType};

pub(crate) const USER: &str = "user";
pub(crate) const UPGRADED: &str = "user_upgraded";
pub(crate) const OUTDATED: &str = "user_outdated";
pub(crate) const DATABASES: &str = "db";
pub(crate) const TABLES: &str = "tables_priv";
pub(crate) const DYNAMIC: &str = "global_grants";
pub(crate) const COLUMNS: &str = "columns_priv";
pub(crate) const HISTORY: &str = "password_history";
pub(crate) const ROUTINES: &str = "procs_priv";
pub(crate) const ROLE_EDGES: &str = "role_edges";
pub(crate) const DEFAULT_ROLES: &str = "default_roles";

/// Greatest length of a host, in characters: as in MySQL 5.7. With 255 characters keys would not fit pages of
/// 4 KiB.
pub(crate) const MAX_HOST: usize = 60;
/// Greatest length of a text of REQUIRE, in bytes.
pub(crate) const MAX_DEMAND: usize = 255;
/// Greatest length of a user name, in characters.
pub(crate) const MAX_USER: usize = 32;

/// Number of columns of `user` behind the privileges on roles: the rules for passwords.
pub(crate) const RULE_COLUMNS: usize = 4;

/// Number of columns of `user` between the privileges and the password: MySQL's columns of TLS and limits.
pub(crate) const TRANSPORT_COLUMNS: usize = 8;

/// The columns of `user` for static privileges, in MySQL's order.
pub(crate) const USER_PRIVILEGES: [(&str, Privilege); 29] = [
    ("Select_priv", Privilege::Select),
    ("Insert_priv", Privilege::Insert),
    ("Update_priv", Privilege::Update),
    ("Delete_priv", Privilege::Delete),
    ("Create_priv", Privilege::Create),
    ("Drop_priv", Privilege::Drop),
    ("Reload_priv", Privilege::Reload),
    ("Shutdown_priv", Privilege::Shutdown),
    ("Process_priv", Privilege::Process),
    ("File_priv", Privilege::File),
    ("Grant_priv", Privilege::GrantOption),
    ("References_priv", Privilege::References),
    ("Index_priv", Privilege::Index),
    ("Alter_priv", Privilege::Alter),
    ("Show_db_priv", Privilege::ShowDatabases),
    ("Super_priv", Privilege::Super),
    ("Create_tmp_table_priv", Privilege::CreateTemporaryTables),
    ("Lock_tables_priv", Privilege::LockTables),
    ("Execute_priv", Privilege::Execute),
    ("Repl_slave_priv", Privilege::ReplicationSlave),
    ("Repl_client_priv", Privilege::ReplicationClient),
    ("Create_view_priv", Privilege::CreateView),
    ("Show_view_priv", Privilege::ShowView),
    ("Create_routine_priv", Privilege::CreateRoutine),
    ("Alter_routine_priv", Privilege::AlterRoutine),
    ("Create_user_priv", Privilege::CreateUser),
    ("Event_priv", Privilege::Event),
    ("Trigger_priv", Privilege::Trigger),
    ("Create_tablespace_priv", Privilege::CreateTablespace),
];

/// The columns of `user` for privileges on roles, which follow much later in MySQL's order.
pub(crate) const ROLE_PRIVILEGES: [(&str, Privilege); 2] =
    [("Create_role_priv", Privilege::CreateRole), ("Drop_role_priv", Privilege::DropRole)];

/// The members of `user.ssl_type`, in MySQL's order.
const TRANSPORTS: [&str; 4] = ["", "ANY", "X509", "SPECIFIED"];

/// The columns of `db`, in MySQL's order.
pub(crate) const DATABASE_PRIVILEGES: [(&str, Privilege); 19] = [
    ("Select_priv", Privilege::Select),
    ("Insert_priv", Privilege::Insert),
    ("Update_priv", Privilege::Update),
    ("Delete_priv", Privilege::Delete),
    ("Create_priv", Privilege::Create),
    ("Drop_priv", Privilege::Drop),
    ("Grant_priv", Privilege::GrantOption),
    ("References_priv", Privilege::References),
    ("Index_priv", Privilege::Index),
    ("Alter_priv", Privilege::Alter),
    ("Create_tmp_table_priv", Privilege::CreateTemporaryTables),
    ("Lock_tables_priv", Privilege::LockTables),
    ("Create_view_priv", Privilege::CreateView),
    ("Show_view_priv", Privilege::ShowView),
    ("Create_routine_priv", Privilege::CreateRoutine),
    ("Alter_routine_priv", Privilege::AlterRoutine),
    ("Execute_priv", Privilege::Execute),
    ("Event_priv", Privilege::Event),
    ("Trigger_priv", Privilege::Trigger),
];

/// The members of `tables_priv.Table_priv`, in MySQL's order.
pub(crate) const TABLE_PRIVILEGES: [(&str, Privilege); 13] = [
    ("Select", Privilege::Select),
    ("Insert", Privilege::Insert),
    ("Update", Privilege::Update),
    ("Delete", Privilege::Delete),
    ("Create", Privilege::Create),
    ("Drop", Privilege::Drop),
    ("Grant", Privilege::GrantOption),
    ("References", Privilege::References),
    ("Index", Privilege::Index),
    ("Alter", Privilege::Alter),
    ("Create View", Privilege::CreateView),
    ("Show view", Privilege::ShowView),
    ("Trigger", Privilege::Trigger),
];

/// The members of `columns_priv.Column_priv`, in MySQL's order.
pub(crate) const COLUMN_PRIVILEGES: [(&str, Privilege); 4] = [
    ("Select", Privilege::Select),
    ("Insert", Privilege::Insert),
    ("Update", Privilege::Update),
    ("References", Privilege::References),
];

/// The members of `procs_priv.Proc_priv`, in MySQL's order.
pub(crate) const ROUTINE_PRIVILEGES: [(&str, Privilege); 3] = [
    ("Execute", Privilege::Execute),
    ("Alter Routine", Privilege::AlterRoutine),
    ("Grant", Privilege::GrantOption),
];

fn text(name: &str, len: u32) -> ColumnDef {
    ColumnDef::new(name, SqlType::Varchar { len }, false, Collation::Utf8mb4_0900Bin)
}

fn host(name: &str) -> ColumnDef {
    ColumnDef::new(name, SqlType::Varchar { len: MAX_HOST as u32 }, false, Collation::AsciiGeneralCi)
}

fn no_or_yes(name: &str) -> ColumnDef {
    let members = Members::new(["N", "Y"], Collation::Utf8mb3GeneralCi);
    ColumnDef::new(name, SqlType::Enum(members.into()), false, Collation::Utf8mb3GeneralCi)
}

fn nullable(column: ColumnDef) -> ColumnDef {
    ColumnDef { nullable: true, ..column }
}

fn table(name: &str, columns: Vec<ColumnDef>, key: &[&str]) -> TableSpec {
    TableSpec {
        database: SYSTEM_DATABASE.into(),
        name: name.into(),
        columns,
        indexes: match key {
            [] => Vec::new(),
            key => vec![IndexSpec {
                kind: IndexSpecKind::Primary,
                parts: key.iter().map(|column| IndexSpecPart::new(*column)).collect(),
                ..IndexSpec::default()
            }],
        },
        ..TableSpec::default()
    }
}

pub(crate) fn user_table(name: &str) -> TableSpec {
    let of = |privileges: &[(&str, Privilege)]| -> Vec<ColumnDef> {
        privileges.iter().map(|(name, _)| no_or_yes(name)).collect()
    };
    let moment = ColumnDef::new(
        "password_last_changed",
        SqlType::DateTime { fsp: 0 },
        true,
        Collation::Utf8mb3GeneralCi,
    );
    let number = |name: &str| ColumnDef::new(name, SqlType::Int { unsigned: true }, true, Collation::Binary);
    let transports = Members::new(TRANSPORTS, Collation::Utf8mb3GeneralCi);
    let transport =
        ColumnDef::new("ssl_type", SqlType::Enum(transports.into()), false, Collation::Utf8mb3GeneralCi);
    let bytes = |name: &str| {
        ColumnDef::new(name, SqlType::Varbinary { len: MAX_DEMAND as u32 }, false, Collation::Binary)
    };
    let mut columns = vec![host("Host"), text("User", MAX_USER as u32)];
    columns.extend(of(&USER_PRIVILEGES));
    columns.push(transport);
    columns.extend(["ssl_cipher", "x509_issuer", "x509_subject"].map(bytes));
    let limits = ["max_questions", "max_updates", "max_connections", "max_user_connections"];
    columns.extend(limits.map(|name| ColumnDef { nullable: false, ..number(name) }));
    columns.extend([text("plugin", 64), nullable(text("authentication_string", 255))]);
    columns.extend([no_or_yes("password_expired"), moment, number("password_lifetime")]);
    columns.push(no_or_yes("account_locked"));
    columns.extend(of(&ROLE_PRIVILEGES));
    columns.extend(["Password_reuse_history", "Password_reuse_time"].map(number));
    columns.push(nullable(no_or_yes("Password_require_current")));
    columns.push(ColumnDef::new("User_attributes", SqlType::Json, true, Collation::Utf8mb4Bin));
    table(name, columns, &["Host", "User"])
}

pub(crate) fn database_table() -> TableSpec {
    let mut columns = vec![host("Host"), text("Db", 64), text("User", MAX_USER as u32)];
    columns.extend(DATABASE_PRIVILEGES.iter().map(|(name, _)| no_or_yes(name)));
    table(DATABASES, columns, &["Host", "User", "Db"])
}

pub(crate) fn tables_table() -> TableSpec {
    let members = Members::new(TABLE_PRIVILEGES.map(|(name, _)| name), Collation::Utf8mb3GeneralCi);
    let privileges =
        ColumnDef::new("Table_priv", SqlType::Set(members.into()), false, Collation::Utf8mb3GeneralCi);
    let moment = ColumnDef::new("Timestamp", SqlType::DateTime { fsp: 0 }, true, Collation::Utf8mb3GeneralCi);
    let columns = vec![
        host("Host"),
        text("Db", 64),
        text("User", MAX_USER as u32),
        text("Table_name", 64),
        text("Grantor", 288),
        moment,
        privileges,
    ];
    table(TABLES, columns, &["Host", "User", "Db", "Table_name"])
}

fn set(name: &str, members: &[&str]) -> ColumnDef {
    let members = Members::new(members.iter().copied(), Collation::Utf8mb3GeneralCi);
    ColumnDef::new(name, SqlType::Set(members.into()), false, Collation::Utf8mb3GeneralCi)
}

/// MySQL's tables of privileges on columns and on routines. Databases from before such privileges have both, empty.
pub(crate) fn column_and_routine_tables() -> [TableSpec; 2] {
    let moment =
        || ColumnDef::new("Timestamp", SqlType::DateTime { fsp: 0 }, true, Collation::Utf8mb3GeneralCi);
    let account = || vec![host("Host"), text("Db", 64), text("User", MAX_USER as u32)];
    let mut of_columns = account();
    of_columns.extend([text("Table_name", 64), text("Column_name", 64), moment()]);
    of_columns.push(set("Column_priv", &COLUMN_PRIVILEGES.map(|(name, _)| name)));
    let kinds = Members::new(["FUNCTION", "PROCEDURE"], Collation::Utf8mb3GeneralCi);
    let kind = SqlType::Enum(kinds.into());
    let mut of_routines = account();
    of_routines.push(text("Routine_name", 64));
    of_routines.push(ColumnDef::new("Routine_type", kind, false, Collation::Utf8mb3GeneralCi));
    of_routines.extend([
        text("Grantor", 288),
        set("Proc_priv", &ROUTINE_PRIVILEGES.map(|(name, _)| name)),
        moment(),
    ]);
    [
        // No key: MySQL's would not fit pages of 4 KiB.
        table(COLUMNS, of_columns, &[]),
        table(ROUTINES, of_routines, &["Host", "User", "Db", "Routine_name", "Routine_type"]),
    ]
}

/// MySQL's table of earlier passwords.
pub(crate) fn history_table() -> TableSpec {
    let moment = SqlType::DateTime { fsp: 0 };
    let columns = vec![
        host("Host"),
        text("User", MAX_USER as u32),
        ColumnDef::new("Password_timestamp", moment, false, Collation::Utf8mb3GeneralCi),
        nullable(text("Password", 255)),
    ];
    table(HISTORY, columns, &[])
}

pub(crate) fn dynamic_table() -> TableSpec {
    let columns =
        vec![text("USER", MAX_USER as u32), host("HOST"), text("PRIV", 32), no_or_yes("WITH_GRANT_OPTION")];
    table(DYNAMIC, columns, &["USER", "HOST", "PRIV"])
}

/// MySQL's tables of granted roles and of default roles. Databases from before roles have neither.
pub(crate) fn role_tables() -> [TableSpec; 2] {
    let user = |name| text(name, MAX_USER as u32);
    let edges = vec![
        host("FROM_HOST"),
        user("FROM_USER"),
        host("TO_HOST"),
        user("TO_USER"),
        no_or_yes("WITH_ADMIN_OPTION"),
    ];
    let defaults = vec![host("HOST"), user("USER"), host("DEFAULT_ROLE_HOST"), user("DEFAULT_ROLE_USER")];
    [
        table(ROLE_EDGES, edges, &["FROM_HOST", "FROM_USER", "TO_HOST", "TO_USER"]),
        table(DEFAULT_ROLES, defaults, &["HOST", "USER", "DEFAULT_ROLE_HOST", "DEFAULT_ROLE_USER"]),
    ]
}
