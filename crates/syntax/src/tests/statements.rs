//! The contents of the nodes of other statements.

use super::super::ast::*;
use super::parsed;

fn kind(sql: &str) -> StatementKind {
    parsed(sql).kind
}

#[test]
fn create_table_keeps_columns_keys_and_options() {
    let sql = "CREATE TABLE IF NOT EXISTS d.t (
        id INT UNSIGNED NOT NULL AUTO_INCREMENT COMMENT 'the key',
        name VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'x',
        price DECIMAL(10,2) NULL DEFAULT -1.5,
        made DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE NOW(3),
        flag BOOL UNIQUE,
        PRIMARY KEY (id), UNIQUE KEY u (name DESC, price), CONSTRAINT c UNIQUE (made), KEY (price) COMMENT 'p'
      ) ENGINE = InnoDB, AUTO_INCREMENT 7 DEFAULT CHARSET utf8mb4 COLLATE = utf8mb4_bin COMMENT 'x' STATS_PERSISTENT = 0";
    let StatementKind::CreateTable(table) = kind(sql) else { panic!() };
    assert!(table.if_not_exists);
    assert_eq!(table.name.span().text(sql), "d.t");
    let columns = &table.columns;
    assert_eq!(columns.len(), 5);
    let id = &columns[0];
    assert_eq!((id.data_type.name, id.data_type.unsigned), (TypeName::Int, true));
    assert!(id.auto_increment && id.nullable == Some(false));
    assert_eq!(id.comment.as_deref(), Some("the key"));
    assert_eq!(columns[1].data_type.length, Some(20));
    assert_eq!(columns[1].data_type.collation.as_ref().map(|c| c.value.as_str()), Some("utf8mb4_bin"));
    assert_eq!((columns[2].data_type.length, columns[2].data_type.decimals), (Some(10), Some(2)));
    assert!(matches!(&columns[2].default, Some(DefaultValue::Literal(e)) if e.span.text(sql) == "-1.5"));
    assert!(matches!(columns[3].default, Some(DefaultValue::CurrentTimestamp { fsp: 3, .. })));
    assert!(columns[3].on_update.is_some());
    assert_eq!((columns[4].key, columns[4].data_type.name), (Some(KeyKind::Unique), TypeName::Bool));
    let keys: Vec<_> =
        table.keys.iter().map(|k| (k.kind, k.name.as_ref().map(|n| n.value.as_str()))).collect();
    assert_eq!(
        keys,
        [
            (KeyKind::Primary, None),
            (KeyKind::Unique, Some("u")),
            (KeyKind::Unique, Some("c")),
            (KeyKind::Index, None)
        ]
    );
    assert!(table.keys[1].parts[0].descending && !table.keys[1].parts[1].descending);
    let options = &table.options;
    assert_eq!(options.auto_increment, Some(7));
    assert_eq!(options.without_effect[0].value, "STATS_PERSISTENT");
    assert_eq!(options.comment.as_deref(), Some("x"));
}

#[test]
fn insert_set_arrives_as_columns_and_a_row() {
    let StatementKind::Insert(insert) = kind("INSERT INTO t SET a = 1, b = DEFAULT") else { panic!() };
    let columns = insert.columns.expect("columns");
    assert_eq!(columns.iter().map(|c| c.value.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let InsertSource::Values(rows) = insert.source else { panic!() };
    assert_eq!((rows.len(), rows[0].len()), (1, 2));
    assert_eq!(rows[0][1].kind, ExprKind::Default(None));
}

#[test]
fn update_and_delete_keep_order_and_limit() {
    let StatementKind::Update(update) =
        kind("UPDATE t AS x USE INDEX (i) SET x.a = 1, b = a + 1 WHERE c ORDER BY d DESC LIMIT 3")
    else {
        panic!()
    };
    assert_eq!(update.assignments.len(), 2);
    assert!(update.filter.is_some() && update.limit.is_some() && update.order_by[0].descending);
    let StatementKind::Delete(delete) = kind("DELETE FROM t WHERE a LIMIT ?") else { panic!() };
    assert_eq!(delete.limit.expect("a limit").kind, ExprKind::Parameter(0));
}

#[test]
fn set_takes_several_assignments_of_every_kind() {
    let StatementKind::Set(items) =
        kind("SET @a = 1, GLOBAL b = ON, @@session.c = DEFAULT, d = 2, @@e = 3, NAMES utf8mb4")
    else {
        panic!()
    };
    assert!(matches!(&items[0], SetItem::User { name, .. } if name == "a"));
    assert!(
        matches!(&items[1], SetItem::System { scope: Some(VariableScope::Global), name, value: Some(_), .. } if name.value == "b")
    );
    assert!(matches!(&items[2], SetItem::System { scope: Some(VariableScope::Session), value: None, .. }));
    // GLOBAL applies to the names after it; `@@` states its own scope.
    assert!(matches!(
        &items[3],
        SetItem::System { scope: Some(VariableScope::Global), is_of_next: false, .. }
    ));
    assert!(
        matches!(&items[4], SetItem::System { scope: None, is_of_next: true, name, .. } if name.value == "e")
    );
    assert!(matches!(&items[5], SetItem::Names { charset: Some(c), .. } if c.value == "utf8mb4"));
}

#[test]
fn transactions_keep_their_characteristics() {
    assert_eq!(
        kind("START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT"),
        StatementKind::Begin { read_only: Some(true), consistent_snapshot: true, from_session: None }
    );
    let StatementKind::Set(items) = kind("SET SESSION TRANSACTION READ WRITE, ISOLATION LEVEL SERIALIZABLE")
    else {
        panic!()
    };
    assert_eq!(
        items,
        [SetItem::Transaction {
            scope: Some(VariableScope::Session),
            isolation: Some(IsolationLevel::Serializable),
            read_only: Some(false)
        }]
    );
}

#[test]
fn show_keeps_database_and_filter() {
    let StatementKind::Show(show) = kind("SHOW FULL COLUMNS FROM t FROM d LIKE 'a%'") else { panic!() };
    let ShowKind::Columns { full: true, table } = show.kind else { panic!() };
    assert_eq!(table.database.map(|d| d.value).as_deref(), Some("d"));
    assert_eq!(show.filter, Some(ShowFilter::Like("a%".to_owned())));
    let StatementKind::Show(show) = kind("SHOW WARNINGS LIMIT 2, 3") else { panic!() };
    assert_eq!(show.kind, ShowKind::Warnings { limit: Some((2, 3)) });
}

#[test]
fn accounts_have_hosts_and_passwords() {
    let StatementKind::CreateUser { users, .. } = kind("CREATE USER 'a b'@'LocalHost' IDENTIFIED BY 'p', c")
    else {
        panic!()
    };
    assert_eq!((users[0].account.user.as_str(), users[0].account.host.as_str()), ("a b", "localhost"));
    assert_eq!(users[0].secret, Some(Secret::Password("p".into())));
    assert_eq!((users[1].account.host.as_str(), users[1].secret.is_none()), ("%", true));
}

#[test]
fn grants_have_privileges_and_a_level() {
    use crate::Privilege::{CreateTemporaryTables, GrantOption, ReplicationClient, Select};
    use crate::ast::{GrantLevel, NamedPrivilege, PrivilegeList};
    let whole = |privileges: [crate::Privilege; 2]| {
        let named = privileges.map(|privilege| NamedPrivilege { privilege, columns: Vec::new() });
        PrivilegeList::These(named.into())
    };
    let of = |sql: &str| match kind(sql) {
        StatementKind::Grant(grant) => *grant,
        other => panic!("{sql}: {other:?}"),
    };
    let grant =
        of("GRANT select, Create Temporary Tables, usage ON `a\\_b`.* TO x, 'y'@'h' WITH GRANT OPTION");
    assert_eq!(grant.privileges, whole([Select, CreateTemporaryTables]));
    let GrantLevel::Database(Some(name)) = &grant.level else { panic!("{:?}", grant.level) };
    assert_eq!((name.value.as_str(), grant.accounts.len(), grant.with_grant_option), ("a\\_b", 2, true));
    assert_eq!(of("GRANT ALL PRIVILEGES ON *.* TO x").level, GrantLevel::Global);
    assert_eq!(of("GRANT ALL ON * TO x").level, GrantLevel::Database(None));
    assert!(
        matches!(of("GRANT ALL ON TABLE d.t TO x").level, GrantLevel::Table(name) if name.database.is_some())
    );
    let StatementKind::Revoke(revoke) = kind("REVOKE GRANT OPTION, REPLICATION CLIENT ON t FROM x") else {
        panic!()
    };
    assert_eq!(revoke.privileges, whole([GrantOption, ReplicationClient]));
    let PrivilegeList::These(named) = of("GRANT INSERT, SELECT (a, `b c`) ON t TO x").privileges else {
        panic!()
    };
    let columns = |at: usize| named[at].columns.iter().map(|name| name.value.as_str()).collect::<Vec<_>>();
    assert_eq!((columns(0), columns(1), named[1].privilege), (vec![], vec!["a", "b c"], Select));
    for wrong in ["DELETE (a)", "ALL (a)", "USAGE (a)", "SELECT ()"] {
        assert_eq!(super::outcome(&format!("GRANT {wrong} ON t TO x")), 1064, "{wrong}");
    }
    let StatementKind::Revoke(revoke) = kind("REVOKE ALL, GRANT OPTION FROM x") else { panic!() };
    assert_eq!((revoke.level, revoke.if_exists), (None, false));
    assert!(
        matches!(kind("REVOKE ALL ON t FROM x"), StatementKind::Revoke(revoke) if revoke.level.is_some())
    );
}

#[test]
fn describe_is_of_a_table_or_of_a_statement() {
    assert!(matches!(kind("DESC t 'a%'"), StatementKind::Describe { column: Some(c), .. } if c == "a%"));
    assert!(matches!(kind("DESC SELECT 1"), StatementKind::Explain(Explain { analyze: false, .. })));
    assert!(matches!(
        kind("EXPLAIN ANALYZE SELECT 1"),
        StatementKind::Explain(Explain { analyze: true, .. })
    ));
}

#[test]
fn resource_groups_have_processors_priorities_and_members() {
    use crate::ast::{ResourceGroupOptions, ResourceGroupStatement};
    let of = |sql: &str| match kind(sql) {
        StatementKind::ResourceGroup(statement) => statement,
        other => panic!("{sql}: {other:?}"),
    };
    let options = |vcpus: &[(u64, u64)], priority, enabled| ResourceGroupOptions {
        vcpus: vcpus.to_vec(),
        priority,
        enabled,
    };
    let ResourceGroupStatement::Create { name, of_system, options: found } =
        of("CREATE RESOURCE GROUP `g 1` TYPE = SYSTEM VCPU = 0-3, 5 7-8 THREAD_PRIORITY = -20 DISABLE")
    else {
        panic!("not CREATE")
    };
    assert_eq!((name.value.as_str(), of_system), ("g 1", true));
    assert_eq!(found, options(&[(0, 3), (5, 5), (7, 8)], Some(-20), Some(false)));
    let ResourceGroupStatement::Alter { options: found, force, .. } =
        of("ALTER RESOURCE GROUP g THREAD_PRIORITY 19 ENABLE FORCE")
    else {
        panic!("not ALTER")
    };
    assert_eq!((found, force), (options(&[], Some(19), Some(true)), true));
    assert!(matches!(of("DROP RESOURCE GROUP g"), ResourceGroupStatement::Drop { force: false, .. }));
    for (sql, sessions) in [
        ("SET RESOURCE GROUP g", &[][..]),
        ("SET RESOURCE GROUP g FOR 7", &[7]),
        ("SET RESOURCE GROUP g FOR 7, 8 9", &[7, 8, 9]),
    ] {
        let ResourceGroupStatement::Set { threads, .. } = of(sql) else { panic!("{sql}") };
        assert_eq!(threads, sessions, "{sql}");
    }
}
