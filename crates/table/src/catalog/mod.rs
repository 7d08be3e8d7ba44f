//! The catalog of databases, tables and indexes.
//!
//! On disk the catalog consists of the rows of a tree of its own, written by the same commits as the rows
//! of tables. A DDL statement is therefore as atomic and durable as any transaction. In memory it is an
//! immutable [`Catalog`], which is replaced as a whole when a commit that changed it is published.

mod altered_keys;
mod definition;
mod divided;
mod encoding;
mod foreign_key;
mod histogram;
mod hypothetical;
mod implicit_default;
mod organisation;
mod packing;
mod published;
mod remains;
mod shortened;
mod spec;
mod stored;
mod type_code;
mod unstored;
mod view;

pub use altered_keys::ForeignKeyChanges;
pub(crate) use altered_keys::{KeyAlteration, rename_in};
pub use definition::{
    CheckDef, ColumnDef, DefaultValue, GeneratedColumn, GeneratedKind, HIDDEN_CLUSTERED, IndexDef, IndexKind,
    IndexPart, PRIMARY, PhysicalColumn, ROW_ID_BYTES, TableDef, TableId, TableOptions,
};
pub(crate) use definition::{IndexShape, LocatorMap, MAX_ROW_ID, key_part, row_id_part};
pub(crate) use encoding::{CHANGE_BUFFER, CatalogRow, decode_catalog};
pub use foreign_key::{ForeignKeyDef, ForeignKeySpec, ReferentialAction, foreign_key_names};
pub(crate) use foreign_key::{Side, check_as_parent, keys_of, resolve_foreign_keys};
pub use histogram::{HistogramBucket, HistogramDef};
pub use implicit_default::implicit_default;
pub use organisation::Organisation;
pub(crate) use packing::LaidOut;
pub use packing::Packing;
pub use published::{Catalog, DatabaseDef};
pub(crate) use remains::decode_remains;
pub(crate) use spec::{IndexDraft, TableDraft, check_name};
pub use spec::{IndexSpec, IndexSpecKind, IndexSpecPart, TableSpec};
pub use stored::{MAX_ROW_VERSIONS, StoredColumn, is_extended};
pub use view::{CheckOption, ViewAlgorithm, ViewDef};
