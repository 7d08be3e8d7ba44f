//! Words of statements that the parser reads and lower layers act on.

use std::fmt;

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `=`
    Eq,
    /// `<=>`: like `=`, but NULL equals NULL and nothing else.
    NullSafeEq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl CompareOp {
    /// Returns the comparison with the same meaning after the operands are exchanged.
    pub fn swapped(self) -> Self {
        match self {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
            same => same,
        }
    }

    /// Returns the comparison that is TRUE where this one is FALSE, and NULL where it is NULL; `<=>` has none.
    pub fn negated(self) -> Option<Self> {
        Some(match self {
            CompareOp::Eq => CompareOp::Ne,
            CompareOp::Ne => CompareOp::Eq,
            CompareOp::Lt => CompareOp::Ge,
            CompareOp::Le => CompareOp::Gt,
            CompareOp::Gt => CompareOp::Le,
            CompareOp::Ge => CompareOp::Lt,
            CompareOp::NullSafeEq => return None,
        })
    }

    /// Whether two values that are not NULL and compare in this order satisfy it.
    #[inline]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            CompareOp::Eq | CompareOp::NullSafeEq => order.is_eq(),
            CompareOp::Ne => order.is_ne(),
            CompareOp::Lt => order.is_lt(),
            CompareOp::Le => order.is_le(),
            CompareOp::Gt => order.is_gt(),
            CompareOp::Ge => order.is_ge(),
        }
    }
}

impl fmt::Display for CompareOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CompareOp::Eq => "=",
            CompareOp::NullSafeEq => "<=>",
            CompareOp::Ne => "<>",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
        })
    }
}

/// Which end `TRIM` cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrimSide {
    /// The beginning.
    Leading,
    /// The end.
    Trailing,
    /// Both.
    Both,
}

/// An aggregate function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    /// `COUNT(*)`
    CountAll,
    /// `COUNT([DISTINCT] x, ..)`
    Count,
    /// `SUM([DISTINCT] x)`
    Sum,
    /// `AVG([DISTINCT] x)`
    Avg,
    /// `MIN(x)`
    Min,
    /// `MAX(x)`
    Max,
    /// `STDDEV_POP(x)`, `STD(x)`, `STDDEV(x)`
    StddevPop,
    /// `STDDEV_SAMP(x)`
    StddevSamp,
    /// `VAR_POP(x)`, `VARIANCE(x)`
    VarPop,
    /// `VAR_SAMP(x)`
    VarSamp,
    /// `BIT_AND(x)`
    BitAnd,
    /// `BIT_OR(x)`
    BitOr,
    /// `BIT_XOR(x)`
    BitXor,
    /// `GROUP_CONCAT([DISTINCT] x, .. [ORDER BY ..] [SEPARATOR ..])`
    GroupConcat,
    /// `JSON_ARRAYAGG(x)`
    JsonArray,
    /// `JSON_OBJECTAGG(name, x)`
    JsonObject,
    /// Counts the documents and words that a search needs of all rows. No statement can call it.
    Matches,
}

impl AggregateFunction {
    /// Returns the function of that name, in any case (`COUNT` is [`AggregateFunction::Count`]).
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_uppercase().as_str() {
            "COUNT" => AggregateFunction::Count,
            "SUM" => AggregateFunction::Sum,
            "AVG" => AggregateFunction::Avg,
            "MIN" => AggregateFunction::Min,
            "MAX" => AggregateFunction::Max,
            _ => return None,
        })
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            AggregateFunction::CountAll | AggregateFunction::Count => "COUNT",
            AggregateFunction::Sum => "SUM",
            AggregateFunction::Avg => "AVG",
            AggregateFunction::Min => "MIN",
            AggregateFunction::Max => "MAX",
            AggregateFunction::StddevPop => "STDDEV_POP",
            AggregateFunction::StddevSamp => "STDDEV_SAMP",
            AggregateFunction::VarPop => "VAR_POP",
            AggregateFunction::VarSamp => "VAR_SAMP",
            AggregateFunction::BitAnd => "BIT_AND",
            AggregateFunction::BitOr => "BIT_OR",
            AggregateFunction::BitXor => "BIT_XOR",
            AggregateFunction::GroupConcat => "GROUP_CONCAT",
            AggregateFunction::JsonArray => "JSON_ARRAYAGG",
            AggregateFunction::JsonObject => "JSON_OBJECTAGG",
            AggregateFunction::Matches => "MATCH",
        }
    }
}

/// The action of a foreign key on referring rows when the row they refer to is deleted or its key changes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ReferentialAction {
    /// Refuses the change. MySQL's default; the same as `Restrict`.
    #[default]
    NoAction,
    /// Refuses the change.
    Restrict,
    /// Deletes the referring rows, or gives them the new key.
    Cascade,
    /// Sets their columns to NULL.
    SetNull,
}

impl ReferentialAction {
    /// Returns its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Restrict => "RESTRICT",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
        }
    }

    /// Whether the change is refused if referring rows exist.
    pub fn refuses(self) -> bool {
        matches!(self, ReferentialAction::NoAction | ReferentialAction::Restrict)
    }
}

/// The ALGORITHM of a view.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ViewAlgorithm {
    /// The optimizer decides.
    #[default]
    Undefined,
    /// The view is merged into the surrounding query, if possible.
    Merge,
    /// The view runs separately.
    TempTable,
}

impl ViewAlgorithm {
    /// Returns its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            ViewAlgorithm::Undefined => "UNDEFINED",
            ViewAlgorithm::Merge => "MERGE",
            ViewAlgorithm::TempTable => "TEMPTABLE",
        }
    }
}

/// WITH CHECK OPTION: the conditions that a row changed through a view has to meet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CheckOption {
    /// No condition.
    #[default]
    None,
    /// The condition of the view, and those that the views below it ask for themselves.
    Local,
    /// The conditions of the view and of all views below it.
    Cascaded,
}

impl CheckOption {
    /// Returns its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            CheckOption::None => "NONE",
            CheckOption::Local => "LOCAL",
            CheckOption::Cascaded => "CASCADED",
        }
    }
}

/// The strength of the locks on the rows that a statement reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockStrength {
    /// `FOR SHARE`: others may read and lock shared, not change.
    Share,
    /// `FOR UPDATE`, and rows that are about to be changed.
    Update,
}

/// The reaction of a statement to a lock that is not available at once, the longest wait first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum LockWait {
    /// Waits, as long as the transaction's limit allows (1205).
    #[default]
    Wait,
    /// `NOWAIT`: fails (3572).
    NoWait,
    /// `SKIP LOCKED`: goes on as if the row did not exist.
    SkipLocked,
}

/// The extent of CHECK TABLE.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum CheckDepth {
    /// Pages and the structure of the trees.
    Quick,
    /// The checks of `Quick`, and rows against entries in both directions.
    #[default]
    Medium,
    /// The checks of `Medium`, and every value of every row.
    Extended,
}

/// A kind of stored program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProgramKind {
    /// PROCEDURE.
    Procedure,
    /// FUNCTION.
    Function,
    /// TRIGGER.
    Trigger,
    /// EVENT.
    Event,
}

impl ProgramKind {
    /// Returns its word in SQL.
    pub fn name(self) -> &'static str {
        match self {
            ProgramKind::Procedure => "PROCEDURE",
            ProgramKind::Function => "FUNCTION",
            ProgramKind::Trigger => "TRIGGER",
            ProgramKind::Event => "EVENT",
        }
    }
}

/// The use of data that a routine declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DataAccess {
    /// CONTAINS SQL.
    #[default]
    ContainsSql,
    /// NO SQL.
    NoSql,
    /// READS SQL DATA.
    ReadsSqlData,
    /// MODIFIES SQL DATA.
    ModifiesSqlData,
}

impl DataAccess {
    /// Returns its words in SQL.
    pub fn name(self) -> &'static str {
        match self {
            DataAccess::ContainsSql => "CONTAINS SQL",
            DataAccess::NoSql => "NO SQL",
            DataAccess::ReadsSqlData => "READS SQL DATA",
            DataAccess::ModifiesSqlData => "MODIFIES SQL DATA",
        }
    }
}

/// SQL SECURITY: the account whose rights a program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Security {
    /// DEFINER.
    #[default]
    Definer,
    /// INVOKER.
    Invoker,
}

impl Security {
    /// Returns its word in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Security::Definer => "DEFINER",
            Security::Invoker => "INVOKER",
        }
    }
}

/// BEFORE or AFTER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TriggerTime {
    /// BEFORE.
    Before,
    /// AFTER.
    After,
}

impl TriggerTime {
    /// Returns its word in SQL.
    pub fn name(self) -> &'static str {
        match self {
            TriggerTime::Before => "BEFORE",
            TriggerTime::After => "AFTER",
        }
    }
}

/// The change that fires a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TriggerEvent {
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

impl TriggerEvent {
    /// Returns its word in SQL.
    pub fn name(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
        }
    }
}

/// Whether the scheduler runs an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EventStatus {
    /// ENABLE.
    #[default]
    Enabled,
    /// DISABLE.
    Disabled,
    /// DISABLE ON REPLICA, DISABLE ON SLAVE.
    DisabledOnReplica,
}
