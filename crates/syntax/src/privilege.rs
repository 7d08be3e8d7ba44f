//! Privileges: their names, the levels they can be granted at, and sets of them.
//!
//! MySQL stores each static privilege in a column of its grant tables, and the dynamic ones in rows of
//! `mysql.global_grants`. Every privilege of MySQL can be granted, so that a dump's grants can be loaded. A privilege
//! that no feature here checks allows nothing.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Not, Sub};

/// The narrowest level that a privilege can be granted at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// A table, and with it a database or everything.
    Table,
    /// A database, and with it everything.
    Database,
    /// Everything.
    Global,
    /// Everything, as a dynamic privilege.
    Dynamic,
}

macro_rules! privileges {
    ($($privilege:ident $reach:ident $name:literal;)*) => {
        /// A privilege.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Privilege {
            $(#[doc = $name] $privilege,)*
        }

        /// All privileges in the order of SHOW GRANTS, with their levels and names.
        const KNOWN: &[(Privilege, Reach, &str)] = &[$((Privilege::$privilege, Reach::$reach, $name),)*];
    };
}

privileges! {
    Select Table "SELECT";
    Insert Table "INSERT";
    Update Table "UPDATE";
    Delete Table "DELETE";
    Create Table "CREATE";
    Drop Table "DROP";
    Reload Global "RELOAD";
    Shutdown Global "SHUTDOWN";
    Process Global "PROCESS";
    File Global "FILE";
    References Table "REFERENCES";
    Index Table "INDEX";
    Alter Table "ALTER";
    ShowDatabases Global "SHOW DATABASES";
    Super Global "SUPER";
    CreateTemporaryTables Database "CREATE TEMPORARY TABLES";
    LockTables Database "LOCK TABLES";
    Execute Database "EXECUTE";
    ReplicationSlave Global "REPLICATION SLAVE";
    ReplicationClient Global "REPLICATION CLIENT";
    CreateView Table "CREATE VIEW";
    ShowView Table "SHOW VIEW";
    CreateRoutine Database "CREATE ROUTINE";
    AlterRoutine Database "ALTER ROUTINE";
    CreateUser Global "CREATE USER";
    Event Database "EVENT";
    Trigger Table "TRIGGER";
    CreateTablespace Global "CREATE TABLESPACE";
    CreateRole Global "CREATE ROLE";
    DropRole Global "DROP ROLE";
    GrantOption Table "GRANT OPTION";
    ApplicationPasswordAdmin Dynamic "APPLICATION_PASSWORD_ADMIN";
    AuditAbortExempt Dynamic "AUDIT_ABORT_EXEMPT";
    AuditAdmin Dynamic "AUDIT_ADMIN";
    AuthenticationPolicyAdmin Dynamic "AUTHENTICATION_POLICY_ADMIN";
    BackupAdmin Dynamic "BACKUP_ADMIN";
    BinlogAdmin Dynamic "BINLOG_ADMIN";
    BinlogEncryptionAdmin Dynamic "BINLOG_ENCRYPTION_ADMIN";
    CloneAdmin Dynamic "CLONE_ADMIN";
    ConnectionAdmin Dynamic "CONNECTION_ADMIN";
    EncryptionKeyAdmin Dynamic "ENCRYPTION_KEY_ADMIN";
    FirewallExempt Dynamic "FIREWALL_EXEMPT";
    FlushOptimizerCosts Dynamic "FLUSH_OPTIMIZER_COSTS";
    FlushStatus Dynamic "FLUSH_STATUS";
    FlushTables Dynamic "FLUSH_TABLES";
    FlushUserResources Dynamic "FLUSH_USER_RESOURCES";
    GroupReplicationAdmin Dynamic "GROUP_REPLICATION_ADMIN";
    GroupReplicationStream Dynamic "GROUP_REPLICATION_STREAM";
    InnodbRedoLogArchive Dynamic "INNODB_REDO_LOG_ARCHIVE";
    InnodbRedoLogEnable Dynamic "INNODB_REDO_LOG_ENABLE";
    PasswordlessUserAdmin Dynamic "PASSWORDLESS_USER_ADMIN";
    PersistRoVariablesAdmin Dynamic "PERSIST_RO_VARIABLES_ADMIN";
    ReplicationApplier Dynamic "REPLICATION_APPLIER";
    ReplicationSlaveAdmin Dynamic "REPLICATION_SLAVE_ADMIN";
    ResourceGroupAdmin Dynamic "RESOURCE_GROUP_ADMIN";
    ResourceGroupUser Dynamic "RESOURCE_GROUP_USER";
    RoleAdmin Dynamic "ROLE_ADMIN";
    SensitiveVariablesObserver Dynamic "SENSITIVE_VARIABLES_OBSERVER";
    ServiceConnectionAdmin Dynamic "SERVICE_CONNECTION_ADMIN";
    SessionVariablesAdmin Dynamic "SESSION_VARIABLES_ADMIN";
    SetUserId Dynamic "SET_USER_ID";
    ShowRoutine Dynamic "SHOW_ROUTINE";
    SystemUser Dynamic "SYSTEM_USER";
    SystemVariablesAdmin Dynamic "SYSTEM_VARIABLES_ADMIN";
    TableEncryptionAdmin Dynamic "TABLE_ENCRYPTION_ADMIN";
    TelemetryLogAdmin Dynamic "TELEMETRY_LOG_ADMIN";
    XaRecoverAdmin Dynamic "XA_RECOVER_ADMIN";
}

const _: () = assert!(KNOWN.len() <= u128::BITS as usize, "a set has a bit for each");

impl Privilege {
    /// The privilege with this name, given in upper case.
    pub fn from_name(name: &str) -> Option<Privilege> {
        KNOWN.iter().find(|(_, _, known)| *known == name).map(|(privilege, ..)| *privilege)
    }

    /// The privilege's name.
    pub fn name(self) -> &'static str {
        KNOWN[self as usize].2
    }

    /// The narrowest level that the privilege can be granted at.
    pub fn reach(self) -> Reach {
        KNOWN[self as usize].1
    }
}

/// A set of privileges.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Privileges(u128);

impl Privileges {
    /// No privilege: USAGE.
    pub const NONE: Privileges = Privileges(0);
    /// The privileges that can be granted on a table, without the right to grant.
    pub const OF_TABLES: Privileges = of_reach(&[Reach::Table]);
    /// The privileges that can be granted on a column of a table.
    pub const OF_COLUMNS: Privileges = Privileges::of_both(Privilege::Select, Privilege::Insert)
        .with(Privileges::of_both(Privilege::Update, Privilege::References));
    /// The privileges that can be granted on a stored procedure or function.
    pub const OF_ROUTINES: Privileges = Privileges::of_both(Privilege::AlterRoutine, Privilege::Execute);
    /// The privileges that can be granted on a database.
    pub const OF_DATABASES: Privileges = of_reach(&[Reach::Table, Reach::Database]);
    /// All static privileges.
    pub const STATIC: Privileges = of_reach(&[Reach::Table, Reach::Database, Reach::Global]);
    /// All dynamic privileges.
    pub const DYNAMIC: Privileges = of_reach(&[Reach::Dynamic]);
    /// All privileges, and the right to grant them.
    pub const EVERYTHING: Privileges =
        Privileges(Self::STATIC.0 | Self::DYNAMIC.0 | Self::of(Privilege::GrantOption).0);

    /// The set of one privilege.
    pub const fn of(privilege: Privilege) -> Privileges {
        Privileges(1 << privilege as u8)
    }

    /// The set of two privileges.
    pub const fn of_both(first: Privilege, second: Privilege) -> Privileges {
        Self::of(first).with(Self::of(second))
    }

    /// The union of both sets.
    pub const fn with(self, others: Privileges) -> Privileges {
        Privileges(self.0 | others.0)
    }

    /// Returns whether the set contains `privilege`.
    pub const fn has(self, privilege: Privilege) -> bool {
        self.0 & Self::of(privilege).0 != 0
    }

    /// Returns whether the set contains all of `others`.
    pub const fn has_all(self, others: Privileges) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns whether the set contains any of `others`.
    pub const fn has_any(self, others: Privileges) -> bool {
        self.0 & others.0 != 0
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its members, in the order of SHOW GRANTS.
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        KNOWN.iter().map(|(privilege, ..)| *privilege).filter(move |privilege| self.has(*privilege))
    }

    /// The set without one privilege.
    pub fn without(self, privilege: Privilege) -> Privileges {
        self - Privileges::of(privilege)
    }
}

const fn of_reach(wanted: &[Reach]) -> Privileges {
    let (mut bits, mut at) = (0, 0);
    while at < KNOWN.len() {
        let (privilege, reach, _) = KNOWN[at];
        let mut known = 0;
        while known < wanted.len() {
            if reach as u8 == wanted[known] as u8 && !matches!(privilege, Privilege::GrantOption) {
                bits |= 1 << privilege as u8;
            }
            known += 1;
        }
        at += 1;
    }
    Privileges(bits)
}

impl From<Privilege> for Privileges {
    fn from(privilege: Privilege) -> Privileges {
        Privileges::of(privilege)
    }
}

impl FromIterator<Privilege> for Privileges {
    fn from_iter<I: IntoIterator<Item = Privilege>>(privileges: I) -> Privileges {
        privileges.into_iter().fold(Privileges::NONE, |all, one| all | Privileges::of(one))
    }
}

impl BitOr for Privileges {
    type Output = Privileges;
    fn bitor(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }
}

impl BitOr for Privilege {
    type Output = Privileges;
    fn bitor(self, other: Privilege) -> Privileges {
        Privileges::of(self) | Privileges::of(other)
    }
}

impl BitOr<Privilege> for Privileges {
    type Output = Privileges;
    fn bitor(self, other: Privilege) -> Privileges {
        self | Privileges::of(other)
    }
}

impl BitOrAssign for Privileges {
    fn bitor_assign(&mut self, other: Privileges) {
        self.0 |= other.0;
    }
}

impl BitAnd for Privileges {
    type Output = Privileges;
    fn bitand(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }
}

impl Sub for Privileges {
    type Output = Privileges;
    fn sub(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }
}

impl Not for Privileges {
    type Output = Privileges;
    fn not(self) -> Privileges {
        Privileges::EVERYTHING - self
    }
}

/// The names, as errors list them.
impl fmt::Display for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, privilege) in self.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { ", " })?;
            f.write_str(privilege.name())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_privilege_is_at_its_number_and_has_a_name_of_its_own() {
        for (at, (privilege, reach, name)) in KNOWN.iter().enumerate() {
            assert_eq!(*privilege as usize, at);
            assert_eq!(Privilege::from_name(name), Some(*privilege), "{name}");
            assert_eq!((privilege.name(), privilege.reach()), (*name, *reach));
        }
    }

    #[test]
    fn sets_are_of_what_can_be_granted_there() {
        let (tables, databases) = (Privileges::OF_TABLES, Privileges::OF_DATABASES);
        assert_eq!(
            tables.to_string(),
            "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER, CREATE VIEW, SHOW VIEW, TRIGGER"
        );
        assert_eq!(databases.iter().count(), 18);
        assert_eq!(Privileges::STATIC.iter().count(), 30);
        assert!(databases.has_all(tables) && Privileges::STATIC.has_all(databases));
        assert!(!Privileges::STATIC.has_any(Privileges::DYNAMIC));
        assert!(!Privileges::STATIC.has(Privilege::GrantOption));
        assert!((!databases).has(Privilege::GrantOption) && !(!databases).has(Privilege::Select));
        assert_eq!((Privilege::Select | Privilege::File).without(Privilege::File), Privilege::Select.into());
    }
}
