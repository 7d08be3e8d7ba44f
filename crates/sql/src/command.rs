//! Kinds of statements and of protocol commands, as `SHOW STATUS` counts them: MySQL's `Com_*`.
//!
//! All names of MySQL 8.4 exist; the counters of statements that Leafline lacks stay 0. The first commands
//! are frequent: sessions keep their counters in place. [`RareCommands`] counts the others, and takes memory
//! from the first of them on.

macro_rules! commands {
    (frequent { $($frequent:ident $frequent_name:literal,)* } rare { $($rare:ident $rare_name:literal,)* }) => {
        /// A kind of statement, or a command of the protocol.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Command {
            $($frequent,)*
            $($rare,)*
            /// A statement without a counter in MySQL.
            #[default]
            Other,
        }

        const NAMES: &[&str] = &[$(concat!("Com_", $frequent_name),)* $(concat!("Com_", $rare_name),)*];

        /// Number of frequent commands.
        pub(crate) const FREQUENT: usize = [$($frequent_name),*].len();
    };
}

commands! {
    frequent {
        Select "select", Insert "insert", Update "update", Delete "delete", Replace "replace", InsertSelect "insert_select",
        Begin "begin", Commit "commit", Rollback "rollback", SetOption "set_option", StmtPrepare "stmt_prepare",
        StmtExecute "stmt_execute", StmtClose "stmt_close",
    }
    rare {
        AdminCommands "admin_commands", AlterDatabase "alter_db", AlterEvent "alter_event", AlterFunction "alter_function",
        AlterInstance "alter_instance", AlterProcedure "alter_procedure", AlterResourceGroup "alter_resource_group",
        AlterServer "alter_server", AlterTable "alter_table", AlterTablespace "alter_tablespace", AlterUser "alter_user",
        AlterUserDefaultRole "alter_user_default_role", Analyze "analyze", AssignToKeyCache "assign_to_keycache", Binlog "binlog",
        CallProcedure "call_procedure", ChangeDatabase "change_db", ChangeReplicationFilter "change_repl_filter",
        ChangeReplicationSource "change_replication_source", Check "check", Checksum "checksum", Clone "clone",
        CreateDatabase "create_db", CreateEvent "create_event", CreateFunction "create_function", CreateIndex "create_index",
        CreateProcedure "create_procedure", CreateResourceGroup "create_resource_group", CreateRole "create_role",
        CreateServer "create_server", CreateSpatialReferenceSystem "create_spatial_reference_system", CreateTable "create_table",
        CreateTrigger "create_trigger", CreateUdf "create_udf", CreateUser "create_user", CreateView "create_view",
        Deallocate "dealloc_sql", DeleteMulti "delete_multi", Do "do", DropDatabase "drop_db", DropEvent "drop_event",
        DropFunction "drop_function", DropIndex "drop_index", DropProcedure "drop_procedure",
        DropResourceGroup "drop_resource_group", DropRole "drop_role", DropServer "drop_server",
        DropSpatialReferenceSystem "drop_spatial_reference_system", DropTable "drop_table", DropTrigger "drop_trigger",
        DropUser "drop_user", DropView "drop_view", EmptyQuery "empty_query", Execute "execute_sql",
        ExplainOther "explain_other", Flush "flush", GetDiagnostics "get_diagnostics", Grant "grant", GrantRoles "grant_roles",
        GroupReplicationStart "group_replication_start", GroupReplicationStop "group_replication_stop",
        HandlerClose "ha_close", HandlerOpen "ha_open", HandlerRead "ha_read", Help "help", Import "import",
        InstallComponent "install_component", InstallPlugin "install_plugin", Kill "kill", Load "load",
        LockInstance "lock_instance", LockTables "lock_tables", Optimize "optimize", PreloadKeys "preload_keys",
        Prepare "prepare_sql", Purge "purge", PurgeBeforeDate "purge_before_date", ReleaseSavepoint "release_savepoint",
        RenameTable "rename_table", RenameUser "rename_user", Repair "repair", ReplaceSelect "replace_select",
        ReplicaStart "replica_start", ReplicaStop "replica_stop", Reset "reset", Resignal "resignal", Restart "restart",
        Revoke "revoke", RevokeAll "revoke_all", RevokeRoles "revoke_roles", RollbackToSavepoint "rollback_to_savepoint",
        Savepoint "savepoint", SetPassword "set_password", SetResourceGroup "set_resource_group", SetRole "set_role",
        ShowBinaryLogStatus "show_binary_log_status", ShowBinlogEvents "show_binlog_events", ShowBinlogs "show_binlogs",
        ShowCharsets "show_charsets", ShowCollations "show_collations", ShowCreateDatabase "show_create_db",
        ShowCreateEvent "show_create_event", ShowCreateFunction "show_create_func", ShowCreateProcedure "show_create_proc",
        ShowCreateTable "show_create_table", ShowCreateTrigger "show_create_trigger", ShowCreateUser "show_create_user",
        ShowDatabases "show_databases", ShowEngineLogs "show_engine_logs", ShowEngineMutex "show_engine_mutex",
        ShowEngineStatus "show_engine_status", ShowErrors "show_errors", ShowEvents "show_events", ShowFields "show_fields",
        ShowFunctionCode "show_function_code", ShowFunctionStatus "show_function_status", ShowGrants "show_grants",
        ShowKeys "show_keys", ShowOpenTables "show_open_tables", ShowPlugins "show_plugins", ShowPrivileges "show_privileges",
        ShowProcedureCode "show_procedure_code", ShowProcedureStatus "show_procedure_status",
        ShowProcessList "show_processlist", ShowProfile "show_profile", ShowProfiles "show_profiles",
        ShowRelaylogEvents "show_relaylog_events", ShowReplicaStatus "show_replica_status", ShowReplicas "show_replicas",
        ShowStatus "show_status", ShowStorageEngines "show_storage_engines", ShowTableStatus "show_table_status",
        ShowTables "show_tables", ShowTriggers "show_triggers", ShowVariables "show_variables", ShowWarnings "show_warnings",
        Shutdown "shutdown", Signal "signal", StmtFetch "stmt_fetch", StmtReprepare "stmt_reprepare", StmtReset "stmt_reset",
        StmtSendLongData "stmt_send_long_data", Truncate "truncate", UninstallComponent "uninstall_component",
        UninstallPlugin "uninstall_plugin", UnlockInstance "unlock_instance", UnlockTables "unlock_tables",
        UpdateMulti "update_multi", XaCommit "xa_commit", XaEnd "xa_end", XaPrepare "xa_prepare", XaRecover "xa_recover",
        XaRollback "xa_rollback", XaStart "xa_start",
    }
}

const RARE: usize = NAMES.len() - FREQUENT;

/// Names of the frequent commands, in their order.
pub(crate) fn frequent_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied().take(FREQUENT)
}

/// Counters of the rare commands; takes no memory until one is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RareCommands(Option<Box<[u64; RARE]>>);

impl RareCommands {
    /// Counts a command if it is rare.
    pub(crate) fn count(&mut self, command: Command) {
        let Some(at) = (command as usize).checked_sub(FREQUENT).filter(|at| *at < RARE) else { return };
        if let Some(count) = self.0.get_or_insert_with(|| Box::new([0; RARE])).get_mut(at) {
            *count += 1;
        }
    }

    /// Adds the counters of another session.
    pub(crate) fn add(&mut self, other: &RareCommands) {
        let Some(counts) = &other.0 else { return };
        let all = self.0.get_or_insert_with(|| Box::new([0; RARE]));
        all.iter_mut().zip(counts.iter()).for_each(|(sum, count)| *sum += count);
    }

    /// All counters, by name.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = |at: usize| self.0.as_ref().and_then(|counts| counts.get(at)).copied();
        NAMES.iter().skip(FREQUENT).enumerate().map(move |(at, name)| (*name, counts(at).unwrap_or(0)))
    }
}

impl Command {
    /// True if sessions keep the counter in place.
    pub(crate) fn is_frequent(self) -> bool {
        (self as usize) < FREQUENT
    }
}
