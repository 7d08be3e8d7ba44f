//! The catalog of databases, tables and indexes.
//!
//! On disk the catalog consists of the rows of a tree of its own, written by the same commits as the rows
//! of tables. A DDL statement is therefore as atomic and durable as any transaction. In memory it is an
//! immutable [`Catalog`], which is replaced as a whole when a commit that changed it is published.

mod altered_keys;
mod column;
mod decoding;
mod definition;
mod encoding;
mod foreign_key;
mod fulltext;
mod histogram;
mod hypothetical;
mod implicit_default;
mod index_def;
mod organisation;
mod packing;
mod partition_scheme;
mod partitioning;
mod program;
mod published;
mod remains;
mod row;
mod shortened;
mod spec;
mod stored;
mod stored_partitions;
mod stored_programs;
mod type_code;
mod unstored;
mod view;
mod words_spec;

pub use altered_keys::ForeignKeyChanges;
pub(crate) use altered_keys::{KeyAlteration, rename_in};
pub use column::{CheckDef, ColumnDef, DefaultValue, GeneratedColumn, GeneratedKind, StoredColumn};
pub(crate) use decoding::decode_catalog;
pub use definition::{
    ForeignKeyDef, HistogramBucket, HistogramDef, Organisation, Partition, Partitioning, TableDef, TableId,
    TableOptions,
};
pub(crate) use encoding::CHANGE_BUFFER;
pub use foreign_key::foreign_key_names;
pub(crate) use foreign_key::{Side, check_as_parent, keys_of, resolve_foreign_keys};
pub use fulltext::FulltextSpec;
pub use implicit_default::implicit_default;
pub use index_def::{
    HIDDEN_CLUSTERED, IndexDef, IndexKind, IndexPart, PRIMARY, Packing, PhysicalColumn, ROW_ID_BYTES,
};
pub(crate) use index_def::{IndexShape, LocatorMap, MAX_ROW_ID, key_part, row_id_part};
pub(crate) use packing::LaidOut;
pub(crate) use partition_scheme::Places;
pub use partition_scheme::{
    BoundValue, PartitionKey, PartitionMethod, PartitionScheme, PartitionSpec, SubpartitionSpec,
};
pub use partitioning::{MOST_PARTITIONS, locator_in_partition};
pub use program::{
    EventDef, EventSchedule, ProgramAttributes, ProgramContext, ProgramDef, RoutineDef, TriggerDef,
};
pub use published::{Catalog, DatabaseDef};
pub(crate) use remains::decode_remains;
pub(crate) use row::CatalogRow;
pub use spec::{ForeignKeySpec, IndexSpec, IndexSpecKind, IndexSpecPart, TableSpec};
pub(crate) use spec::{IndexDraft, TableDraft, check_name};
pub use stored::{MAX_ROW_VERSIONS, is_extended};
pub use view::{CheckOption, ViewAlgorithm, ViewDef};
pub use words_spec::WordsSpec;
