//! Tests accounts over the wire: who may connect and as which account, and which changes apply to open connections.

mod support;

use support::TestServer;
use support::client::{Answer, Client, Login};

fn text(value: &str) -> Option<String> {
    Some(value.into())
}

fn error_of(answer: std::io::Result<Answer>) -> u16 {
    match answer {
        Ok(Answer::Error(code, _)) => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn accounts_log_in_by_their_passwords_and_may_do_what_is_granted() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut root = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)",
        "INSERT INTO d.t VALUES (1, 10)",
        "CREATE TABLE d.u (a INT)",
        "CREATE USER joe IDENTIFIED BY 'secret', ann@localhost IDENTIFIED BY 'other', away@'192.0.2.1' IDENTIFIED BY 'x'",
        "CREATE USER shut IDENTIFIED BY 'x' ACCOUNT LOCK",
        "GRANT SELECT ON d.t TO joe",
    ] {
        root.run(sql);
    }
    let log_in = |user: &str, password: &str| {
        Client::log_in(server.address, &Login { user, password, ..Login::default() })
    };
    for (user, password) in [("joe", ""), ("joe", "wrong"), ("away", "x"), ("nobody", ""), ("", "")] {
        let refused = log_in(user, password).err().expect("turned away").to_string();
        assert!(refused.contains("1045"), "{user}: {refused}");
    }
    let refused = log_in("shut", "x").err().expect("turned away").to_string();
    assert!(refused.contains("3118"), "{refused}");
    let mut joe = log_in("joe", "secret").expect("let in");
    assert_eq!(joe.rows("SELECT CURRENT_USER()"), [[text("joe@%")]]);
    assert_eq!(joe.rows("SELECT * FROM d.t"), [[text("1"), text("10")]]);
    assert_eq!(error_of(joe.query("SELECT * FROM d.u")), 1142);
    assert_eq!(error_of(joe.query("KILL 1")), 1095);
    assert_eq!(joe.rows("SELECT COUNT(*) FROM information_schema.PROCESSLIST"), [[text("1")]]);
    // Privileges are granted and revoked while the user is connected.
    root.run("GRANT SELECT ON d.u TO joe");
    assert_eq!(joe.rows("SELECT * FROM d.u"), Vec::<Vec<_>>::new());
    root.run("REVOKE SELECT ON d.u FROM joe");
    assert_eq!(error_of(joe.query("SELECT * FROM d.u")), 1142);
    // Another user on the same connection.
    assert_eq!(error_of(joe.query("USE mysql")), 1044);
    joe.run("USE d");
    joe.change_user(&Login { user: "ann", password: "other", ..Login::default() }).expect("let in");
    assert_eq!(joe.rows("SELECT CURRENT_USER(), DATABASE()"), [[text("ann@localhost"), None]]);
    assert_eq!(error_of(joe.query("SELECT * FROM d.t")), 1142);
    assert_eq!(error_of(joe.query("USE d")), 1044);
    // Accounts survive a crash, too.
    server.kill();
    let server = TestServer::start(directory.path(), &[]);
    let log_in = |user: &str, password: &str| {
        Client::log_in(server.address, &Login { user, password, ..Login::default() })
    };
    assert!(log_in("joe", "").is_err());
    let mut joe = log_in("joe", "secret").expect("let in");
    assert_eq!(joe.rows("SELECT * FROM d.t"), [[text("1"), text("10")]]);
    assert_eq!(error_of(joe.query("SELECT * FROM d.u")), 1142);
    joe.run("SET PASSWORD = 'changed'");
    assert!(log_in("joe", "secret").is_err());
    log_in("joe", "changed").expect("let in").run("SELECT 1");
    let mut root = server.connect();
    root.run("DROP USER joe");
    assert_eq!(error_of(joe.query("SELECT * FROM d.t")), 1142);
    assert!(log_in("joe", "changed").is_err());
    assert!(server.terminate());
}

#[test]
fn tables_of_ones_own_and_accounts_of_before_give_no_rights() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut root = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE DATABASE mine",
        "CREATE TABLE d.t (a INT PRIMARY KEY)",
        "CREATE VIEW d.v AS SELECT 1 AS a",
        "CREATE USER joe IDENTIFIED BY 'old'",
        "GRANT CREATE TEMPORARY TABLES ON d.* TO joe",
        "GRANT ALL ON mine.* TO joe",
    ] {
        root.run(sql);
    }
    let log_in = |password: &str| {
        Client::log_in(server.address, &Login { user: "joe", password, ..Login::default() }).expect("let in")
    };
    let mut joe = log_in("old");
    joe.run("USE d");
    joe.run("CREATE TEMPORARY TABLE t (x INT)");
    joe.run("CREATE TEMPORARY TABLE v (x INT)");
    for sql in
        ["RENAME TABLE t TO mine.t", "RENAME TABLE d.t TO d.other", "DROP VIEW v", "DROP VIEW IF EXISTS d.v"]
    {
        assert_eq!(error_of(joe.query(sql)), 1142, "{sql}");
    }
    joe.run("ALTER TABLE t RENAME TO t2");
    // A new account of the same name.
    root.run("DROP USER joe");
    root.run("CREATE USER joe IDENTIFIED BY 'new'");
    root.run("GRANT ALL ON *.* TO joe");
    assert_eq!(error_of(joe.query("SELECT * FROM d.t")), 1142);
    let mut new = log_in("new");
    new.run("SELECT * FROM d.t");
    root.run("RENAME USER joe TO jim");
    root.run("CREATE USER joe IDENTIFIED BY 'third'");
    root.run("GRANT ALL ON *.* TO joe");
    assert_eq!(error_of(new.query("SELECT * FROM d.t")), 1142);
    log_in("third").run("SELECT * FROM d.t");
    assert!(server.terminate());
}

#[test]
fn the_snapshot_of_another_user_asks_for_process() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut root = server.connect();
    for sql in ["CREATE USER joe IDENTIFIED BY 'x'", "CREATE USER ann IDENTIFIED BY 'x'"] {
        root.run(sql);
    }
    let log_in = |user: &str| {
        Client::log_in(server.address, &Login { user, password: "x", ..Login::default() }).expect("let in")
    };
    let mut joe = log_in("joe");
    joe.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    let id = joe.rows("SELECT CONNECTION_ID()").concat().into_iter().flatten().collect::<String>();
    let begin = format!("START TRANSACTION WITH CONSISTENT SNAPSHOT FROM SESSION {id}");
    log_in("joe").run(&begin);
    let mut ann = log_in("ann");
    assert_eq!(error_of(ann.query(&begin)), 1227);
    root.run("GRANT PROCESS ON *.* TO ann");
    ann.run(&begin);
    assert!(server.terminate());
}
