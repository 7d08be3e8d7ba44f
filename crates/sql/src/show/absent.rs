//! The headings of lists that are always empty: there are no triggers, events, routines and binary logs.

/// SHOW TRIGGERS.
pub(super) const TRIGGERS: [&str; 11] = [
    "Trigger",
    "Event",
    "Table",
    "Statement",
    "Timing",
    "Created",
    "sql_mode",
    "Definer",
    "character_set_client",
    "collation_connection",
    "Database Collation",
];

/// SHOW EVENTS.
pub(super) const EVENTS: [&str; 15] = [
    "Db",
    "Name",
    "Definer",
    "Time zone",
    "Type",
    "Execute at",
    "Interval value",
    "Interval field",
    "Starts",
    "Ends",
    "Status",
    "Originator",
    "character_set_client",
    "collation_connection",
    "Database Collation",
];

/// SHOW PROCEDURE STATUS, SHOW FUNCTION STATUS.
pub(super) const ROUTINES: [&str; 11] = [
    "Db",
    "Name",
    "Type",
    "Definer",
    "Modified",
    "Created",
    "Security_type",
    "Comment",
    "character_set_client",
    "collation_connection",
    "Database Collation",
];

/// SHOW MASTER STATUS, SHOW BINARY LOG STATUS.
pub(super) const BINARY_LOG_STATUS: [&str; 5] =
    ["File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set"];
