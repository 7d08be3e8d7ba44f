//! Roles: random graphs against a union computed naively, and what sessions see of roles.

use super::access::Access;
use super::password::{AuthPlugin, StoredPassword};
use super::roles::{Active, RoleRules};
use super::set::{Account, AccountSet, TableGrant};
use super::{AccountId, Privilege, Privileges};
use crate::session::{Outcome, Session};
use crate::{Instance, InstanceOptions};
use leafline_planner::Authority;
use leafline_storage::device::SimulatedEnv;
use leafline_types::{MysqlError, Value, value_at};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

const ACCOUNTS: usize = 7;
const DATABASES: [&str; 3] = ["d0", "d1", "d2"];

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    fn privileges(&mut self) -> Privileges {
        let some =
            [Privilege::Select, Privilege::Insert, Privilege::Update, Privilege::Delete, Privilege::Drop];
        some.into_iter().filter(|_| self.below(4) == 0).collect()
    }
}

fn name(at: usize) -> AccountId {
    AccountId::new(format!("a{at}"), "%")
}

/// A set whose roles form any graph, circles among them, and the edges: `edges[grantee][role]`.
fn random_set(random: &mut Random) -> (AccountSet, [[bool; ACCOUNTS]; ACCOUNTS]) {
    let mut set = AccountSet::default();
    let mut edges = [[false; ACCOUNTS]; ACCOUNTS];
    for (grantee, roles) in edges.iter_mut().enumerate() {
        let mut account = Account::new(StoredPassword::none(AuthPlugin::default()));
        account.global = random.privileges();
        for database in DATABASES {
            account.restrictions.add(database, account.global & random.privileges());
        }
        set.accounts.insert(name(grantee), account);
        for database in DATABASES {
            set.databases.insert((name(grantee), database.into()), random.privileges());
            let privileges = random.privileges();
            let grant = TableGrant { privileges, grantor: String::new(), granted: None };
            set.tables.insert((name(grantee), database.into(), "t".into()), grant);
        }
        for (role, is_granted) in roles.iter_mut().enumerate() {
            *is_granted = random.below(4) == 0;
            if *is_granted {
                set.roles.grant(&name(role), &name(grantee), false);
            }
        }
    }
    (set, edges)
}

#[test]
fn the_rights_of_random_graphs_are_the_union_over_all_reached_roles() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    for seed in (0..300).map(|step| now.wrapping_add(step) | 1) {
        let mut random = Random(seed);
        let (set, edges) = random_set(&mut random);
        let wanted: Vec<usize> = (1..ACCOUNTS).filter(|_| random.below(2) == 0).collect();
        let mandatory = random.below(ACCOUNTS);
        let rules = Arc::new(RoleRules {
            mandatory: vec![name(mandatory)],
            activates_all: false,
            ..RoleRules::default()
        });
        let active: Vec<usize> =
            wanted.iter().copied().filter(|&role| edges[0][role] || role == mandatory).collect();
        // The closure, by as many rounds as there are accounts.
        let mut reached: Vec<bool> = (0..ACCOUNTS).map(|at| active.contains(&at)).collect();
        for _ in 0..ACCOUNTS {
            for (grantee, roles) in edges.iter().enumerate() {
                for (role, &is_granted) in roles.iter().enumerate() {
                    reached[role] |= is_granted && reached[grantee];
                }
            }
        }
        reached[0] = true;
        let of = |find: &dyn Fn(AccountId) -> Privileges| {
            let reached = (0..ACCOUNTS).filter(|&at| reached[at]);
            reached.fold(Privileges::NONE, |all, at| all | find(name(at)))
        };
        let roles: Vec<AccountId> = wanted.iter().map(|&at| name(at)).collect();
        let set = Arc::new(set);
        let access = Access::of(1, &set, &name(0), ("localhost", 1), (Active::These(&roles), &rules));
        let global = of(&|id| set.accounts[&id].global);
        assert_eq!(access.on_everything(), global, "seed {seed}");
        assert_eq!(
            access.active_roles(),
            active.iter().map(|&at| name(at)).collect::<Vec<_>>(),
            "seed {seed}"
        );
        for database in DATABASES {
            let everywhere = of(&|id| set.accounts[&id].global - set.accounts[&id].restrictions.on(database));
            let on_database = everywhere | of(&|id| set.databases[&(id, database.to_owned())]);
            assert_eq!(access.on_database(database), on_database, "seed {seed}");
            let on_table = of(&|id| set.tables[&(id, database.to_owned(), "t".to_owned())].privileges);
            assert_eq!(access.on_table(database, "t"), on_database | on_table, "seed {seed}");
            assert_eq!(access.on_table(database, "u"), on_database, "seed {seed}");
        }
    }
}

fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, MysqlError> {
    let Outcome::Rows(mut stream) = session.execute(sql)? else { return Ok(Vec::new()) };
    let types = stream.types();
    let mut rows = Vec::new();
    while let Some(batch) = stream.next_batch(session)? {
        let value = |row: usize| {
            batch.columns.iter().zip(&types).map(|(column, ty)| value_at(column, row, ty)).collect()
        };
        rows.extend((0..batch.rows).map(value));
    }
    Ok(rows)
}

fn run(session: &mut Session, statements: &[&str]) {
    for sql in statements {
        rows(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

fn shown(session: &mut Session, sql: &str) -> Vec<String> {
    let found = rows(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    found.iter().map(|row| row[0].as_str().unwrap_or_default().to_owned()).collect()
}

fn session_of(instance: &Arc<Instance>, user: &str) -> Session {
    let (account, _) = instance.accounts().login(user, "localhost").unwrap();
    instance.new_session(instance.new_connection_id(), (user, "localhost"), Some(account)).unwrap()
}

fn code(session: &mut Session, sql: &str) -> u16 {
    rows(session, sql).err().unwrap_or_else(|| panic!("{sql}: no error")).code
}

#[test]
fn kept_plans_follow_the_active_roles_and_roles_survive_a_restart() {
    let env = SimulatedEnv::new();
    let open = || Instance::open(Arc::new(env.clone()), InstanceOptions::default()).unwrap();
    let instance = open();
    run(
        &mut instance.connect().unwrap(),
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY)",
            "CREATE ROLE reader, outer_role",
            "GRANT SELECT ON d.t TO reader",
            "GRANT reader TO outer_role",
            "CREATE USER joe",
            "GRANT outer_role TO joe WITH ADMIN OPTION",
            "SET DEFAULT ROLE outer_role TO joe",
        ],
    );
    let query = "SELECT a FROM d.t WHERE a = 1";
    {
        let mut joe = session_of(&instance, "joe");
        let prepared = "EXECUTE p";
        run(&mut joe, &["PREPARE p FROM 'SELECT a FROM d.t WHERE a = 2'"]);
        for _ in 0..3 {
            run(&mut joe, &[query, prepared, "SET ROLE NONE"]);
            assert_eq!((code(&mut joe, query), code(&mut joe, prepared)), (1142, 1142));
            run(&mut joe, &["SET ROLE ALL", query, prepared]);
        }
        run(&mut instance.connect().unwrap(), &["REVOKE reader FROM outer_role"]);
        assert_eq!((code(&mut joe, query), code(&mut joe, prepared)), (1142, 1142));
        run(&mut instance.connect().unwrap(), &["GRANT reader TO outer_role"]);
        run(&mut joe, &[query]);
    }
    instance.close().unwrap();
    drop(instance);
    let instance = open();
    let mut joe = session_of(&instance, "joe");
    run(&mut joe, &[query]);
    assert_eq!(shown(&mut joe, "SELECT CURRENT_ROLE()"), ["`outer_role`@`%`"]);
    assert_eq!(
        shown(&mut joe, "SHOW GRANTS"),
        [
            "GRANT USAGE ON *.* TO `joe`@`%`",
            "GRANT SELECT ON `d`.`t` TO `joe`@`%`",
            "GRANT `outer_role`@`%` TO `joe`@`%` WITH ADMIN OPTION"
        ]
    );
    let mut root = instance.connect().unwrap();
    run(&mut root, &["CREATE USER ann", "SET GLOBAL activate_all_roles_on_login = ON"]);
    run(&mut root, &["SET GLOBAL mandatory_roles = 'reader,nothing'"]);
    assert_eq!(code(&mut root, "DROP ROLE reader"), 3628);
    assert_eq!(shown(&mut session_of(&instance, "ann"), "SELECT CURRENT_ROLE()"), ["`reader`@`%`"]);
    run(&mut joe, &["GRANT outer_role TO ann"]);
    assert_eq!(code(&mut joe, "GRANT reader TO ann"), 1227);
    assert_eq!(
        shown(&mut session_of(&instance, "ann"), "SELECT CURRENT_ROLE()").concat().matches('@').count(),
        2
    );
}

#[test]
fn a_definer_has_its_default_roles() {
    let instance = Instance::open(Arc::new(SimulatedEnv::new()), InstanceOptions::default()).unwrap();
    let mut root = instance.connect().unwrap();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT)",
            "CREATE ROLE reader",
            "GRANT SELECT ON d.t TO reader",
            "CREATE USER maker DEFAULT ROLE reader",
            "CREATE USER joe",
            "CREATE DEFINER = maker VIEW d.v AS SELECT a FROM d.t",
            "GRANT SELECT ON d.v TO joe",
        ],
    );
    let mut joe = session_of(&instance, "joe");
    run(&mut joe, &["SELECT * FROM d.v"]);
    run(&mut root, &["SET DEFAULT ROLE NONE TO maker"]);
    assert_eq!(code(&mut joe, "SELECT * FROM d.v"), 1356);
}
