//! SHOW lists that are always empty, under MySQL's headings: binary logs, replicas, profiles; and open tables, because Leafline keeps none open between statements.

use crate::result::{RowSet, column};
use leafline_syntax::ast::NotThere;
use leafline_types::SqlType;

/// The empty list of a kind of object.
pub(super) fn list(what: NotThere) -> RowSet {
    let names: &[&str] = match what {
        NotThere::BinaryLogStatus => &BINARY_LOG_STATUS,
        NotThere::OpenTables => &["Database", "Table", "In_use", "Name_locked"],
        NotThere::Profiles => &["Query_ID", "Duration", "Query"],
        NotThere::Replicas => &["Server_Id", "Host", "Port", "Source_Id", "Replica_UUID"],
        NotThere::SlaveHosts => &["Server_id", "Host", "Port", "Master_id", "Slave_UUID"],
        NotThere::ReplicaStatus | NotThere::SlaveStatus => &REPLICA_STATUS,
    };
    let named = |name: &&str| {
        let name = if what == NotThere::SlaveStatus { of_slave(name) } else { (*name).to_owned() };
        column(name, SqlType::Varchar { len: 1024 })
    };
    RowSet { columns: names.iter().map(named).collect(), rows: Vec::new() }
}

/// Name in SHOW SLAVE STATUS of a column of SHOW REPLICA STATUS.
fn of_slave(name: &str) -> String {
    match name {
        "Source_public_key_path" => "Master_public_key_path".into(),
        "Get_Source_public_key" => "Get_master_public_key".into(),
        name => name.replace("Source", "Master").replace("Replica_", "Slave_"),
    }
}

const BINARY_LOG_STATUS: [&str; 5] =
    ["File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set"];

const REPLICA_STATUS: [&str; 60] = [
    "Replica_IO_State",
    "Source_Host",
    "Source_User",
    "Source_Port",
    "Connect_Retry",
    "Source_Log_File",
    "Read_Source_Log_Pos",
    "Relay_Log_File",
    "Relay_Log_Pos",
    "Relay_Source_Log_File",
    "Replica_IO_Running",
    "Replica_SQL_Running",
    "Replicate_Do_DB",
    "Replicate_Ignore_DB",
    "Replicate_Do_Table",
    "Replicate_Ignore_Table",
    "Replicate_Wild_Do_Table",
    "Replicate_Wild_Ignore_Table",
    "Last_Errno",
    "Last_Error",
    "Skip_Counter",
    "Exec_Source_Log_Pos",
    "Relay_Log_Space",
    "Until_Condition",
    "Until_Log_File",
    "Until_Log_Pos",
    "Source_SSL_Allowed",
    "Source_SSL_CA_File",
    "Source_SSL_CA_Path",
    "Source_SSL_Cert",
    "Source_SSL_Cipher",
    "Source_SSL_Key",
    "Seconds_Behind_Source",
    "Source_SSL_Verify_Server_Cert",
    "Last_IO_Errno",
    "Last_IO_Error",
    "Last_SQL_Errno",
    "Last_SQL_Error",
    "Replicate_Ignore_Server_Ids",
    "Source_Server_Id",
    "Source_UUID",
    "Source_Info_File",
    "SQL_Delay",
    "SQL_Remaining_Delay",
    "Replica_SQL_Running_State",
    "Source_Retry_Count",
    "Source_Bind",
    "Last_IO_Error_Timestamp",
    "Last_SQL_Error_Timestamp",
    "Source_SSL_Crl",
    "Source_SSL_Crlpath",
    "Retrieved_Gtid_Set",
    "Executed_Gtid_Set",
    "Auto_Position",
    "Replicate_Rewrite_DB",
    "Channel_Name",
    "Source_TLS_Version",
    "Source_public_key_path",
    "Get_Source_public_key",
    "Network_Namespace",
];
