//! Helpers shared by the tests of this crate.

use crate::alter::{Alteration, Rebuild, RowConverter};
use crate::build::BuildControl;
use crate::catalog::{ColumnDef, IndexSpec, IndexSpecKind, IndexSpecPart, Organisation, TableDef, TableSpec};
use crate::core::Core;
use crate::ddl::Ddl;
use crate::engine::Engine;
use crate::error::TableError;
use crate::options::{ChangeBuffering, EngineOptions};
use crate::read::{EntryStep, ReadView};
use leafline_btree::Direction;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, OpenMode, PageNo, StoreOptions};
use leafline_types::{Collation, MysqlError, SqlType, Value};
use rand::{Rng, SeedableRng};
use std::sync::Arc;

/// The page size of tests in bytes.
const PAGE: u64 = 4096;

/// The seed of a random test: from `LEAFLINE_SEED`, or else drawn. It is printed, to be visible when the test fails.
pub(crate) fn seed() -> u64 {
    let seed = match std::env::var("LEAFLINE_SEED") {
        Ok(seed) => seed.parse().expect("LEAFLINE_SEED is not a number"),
        Err(_) => rand::rngs::SmallRng::from_os_rng().random(),
    };
    println!("LEAFLINE_SEED={seed}");
    seed
}

/// The factor for the length of random tests.
pub(crate) fn scale() -> u64 {
    std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

/// Options with small pages, a small pool and no threads. If `LEAFLINE_TEST_VARIABLES` forces change buffering, every
/// change that can be buffered is.
pub(crate) fn options() -> EngineOptions {
    let variables = std::env::var("LEAFLINE_TEST_VARIABLES").unwrap_or_default();
    let forced = variables.contains("change_buffering_debug=1");
    let (none, all) = (ChangeBuffering::None, ChangeBuffering::All);
    EngineOptions {
        change_buffering: if forced { all } else { none },
        change_buffer_bytes: forced.then_some(24 << 10),
        force_change_buffering: forced,
        store: StoreOptions {
            page_size: PAGE as usize,
            buffer_pool_bytes: 2 << 20,
            log_capacity_bytes: 8 << 20,
            io_threads: 1,
            background: false,
            ..StoreOptions::default()
        },
        transaction_memory_bytes: None,
        build_memory_bytes: 16 << 10,
        build_threads: 0,
        ..EngineOptions::default()
    }
}

/// Options like [`options`], but every commit is by reference and records its progress often.
pub(crate) fn by_reference_options() -> EngineOptions {
    EngineOptions { inline_commit_bytes: Some(0), progress_bytes: Some(500), ..options() }
}

/// Options like [`options`], but every change that can be buffered is. The buffer is small, so that runs are written
/// and swept all the time.
pub(crate) fn buffering_options() -> EngineOptions {
    EngineOptions {
        change_buffering: ChangeBuffering::All,
        change_buffer_bytes: Some(24 << 10),
        force_change_buffering: true,
        ..options()
    }
}

/// Flips a bit of a page, and of its copy in the doublewrite file, if there is one.
pub(crate) fn flip(env: &SimulatedEnv, page: PageNo, random: &mut rand::rngs::SmallRng) {
    let data = env.open("data", OpenMode::Existing).unwrap();
    if data.size().unwrap() < (page.0 + 1) * PAGE {
        return;
    }
    let mut change = |file: &str, at: u64| {
        let (byte, bit) = (random.random_range(0..PAGE), random.random_range(0..8));
        env.damage(file, at + byte, &mut |bytes| bytes[0] ^= 1 << bit).unwrap();
    };
    change("data", page.0 * PAGE);
    let copies = env.open("doublewrite", OpenMode::Existing).unwrap().size().unwrap() / PAGE;
    let mut header = Vec::new();
    if copies > 0 {
        env.damage("doublewrite", 0, &mut |bytes| header = bytes.to_vec()).unwrap();
    }
    for copy in 0..copies.saturating_sub(1) {
        let at = 8 + 16 * copy as usize;
        if header[at..at + 8] == page.0.to_le_bytes() {
            change("doublewrite", (copy + 1) * PAGE);
        }
    }
}

/// Opens an engine on a simulated device.
pub(crate) fn open(env: &SimulatedEnv) -> Arc<Engine> {
    Engine::open(Arc::new(env.clone()) as Arc<dyn Env>, options()).unwrap()
}

/// The number of segments without those of the change buffer.
pub(crate) fn owned_segments(engine: &Engine) -> usize {
    engine.store.segments().len() - engine.change_buffer.segments().len()
}

/// A column.
pub(crate) fn column(name: &str, ty: SqlType, nullable: bool) -> ColumnDef {
    let collation = if ty.is_character() { Collation::Utf8mb4Bin } else { Collation::Binary };
    ColumnDef::new(name, ty, nullable, collation)
}

/// `INT`.
pub(crate) fn int() -> SqlType {
    SqlType::Int { unsigned: false }
}

/// `VARCHAR(40)`.
pub(crate) fn varchar() -> SqlType {
    SqlType::Varchar { len: 40 }
}

/// An index. A part that begins with `-` is descending, and one that ends with `:2` is a prefix of two characters.
pub(crate) fn index(kind: IndexSpecKind, name: &str, parts: &[&str]) -> IndexSpec {
    let part = |part: &&str| {
        let (column, prefix) = match part.split_once(':') {
            Some((column, prefix)) => (column, Some(prefix.parse().unwrap())),
            None => (*part, None),
        };
        let descending = column.starts_with('-');
        IndexSpecPart { column: column.trim_start_matches('-').into(), descending, prefix }
    };
    let name = (!name.is_empty()).then(|| name.to_owned());
    IndexSpec { name, kind, parts: parts.iter().map(part).collect(), ..IndexSpec::default() }
}

/// A table in database `d`.
pub(crate) fn spec(name: &str, columns: Vec<ColumnDef>, indexes: Vec<IndexSpec>) -> TableSpec {
    TableSpec { database: "d".into(), name: name.into(), columns, indexes, ..TableSpec::default() }
}

/// The index, packed.
pub(crate) fn packed(index: IndexSpec) -> IndexSpec {
    IndexSpec { packed: Some(true), ..index }
}

/// `t (id INT PRIMARY KEY, a INT UNIQUE PACKED, b VARCHAR(40), c INT NOT NULL, KEY (b DESC, c) PACKED, KEY (c))`.
pub(crate) fn keyed_spec() -> TableSpec {
    let columns = vec![
        column("id", int(), false),
        column("a", int(), true),
        column("b", varchar(), true),
        column("c", int(), false),
    ];
    let indexes = vec![
        index(IndexSpecKind::Primary, "", &["id"]),
        packed(index(IndexSpecKind::Unique, "a", &["a"])),
        packed(index(IndexSpecKind::Plain, "bc", &["-b", "c"])),
        index(IndexSpecKind::Plain, "c", &["c"]),
    ];
    spec("t", columns, indexes)
}

/// A table with a packed descending two-part key that one index repeats in the other order: clustered by it, or a
/// heap with it.
pub(crate) fn other_spec(heap: bool) -> TableSpec {
    let columns = vec![column("x", int(), false), column("y", varchar(), false), column("z", int(), true)];
    let indexes = vec![
        packed(index(IndexSpecKind::Plain, "zx", &["z", "x"])),
        index(IndexSpecKind::Unique, "u", &["-z", "y"]),
        packed(index(IndexSpecKind::Primary, "", &["y", "-x"])),
    ];
    let mut spec = spec(if heap { "h" } else { "p" }, columns, indexes);
    spec.options.organisation = if heap { Organisation::Heap } else { Organisation::Clustered };
    spec
}

/// A table whose indexes, including the clustered one, contain only prefixes of strings, or a prefix and the whole of
/// one string.
pub(crate) fn prefix_spec() -> TableSpec {
    let columns =
        vec![column("x", int(), false), column("y", varchar(), false), column("z", varchar(), true)];
    let indexes = vec![
        index(IndexSpecKind::Primary, "", &["y:4", "-x"]),
        packed(index(IndexSpecKind::Unique, "u", &["-z:3", "x"])),
        index(IndexSpecKind::Plain, "y", &["y"]),
        index(IndexSpecKind::Plain, "z", &["z:2", "y:3"]),
    ];
    spec("b", columns, indexes)
}

/// Creates database `d` and a table in it.
pub(crate) fn create(engine: &Engine, spec: &TableSpec) -> Arc<TableDef> {
    engine.ddl().create_database(&spec.database, Collation::DEFAULT, true).unwrap();
    engine.ddl().create_table(spec, false).unwrap();
    engine.table(&spec.database, &spec.name).unwrap()
}

/// A row from numbers: INT columns get the number, VARCHAR columns `v<number>`, with a trailing space for odd
/// numbers. `None` is NULL.
pub(crate) fn row(table: &TableDef, numbers: &[Option<i64>]) -> Vec<Value> {
    let value = |(column, number): (&ColumnDef, &Option<i64>)| match number {
        None => Value::Null,
        Some(number) if column.ty.is_character() => {
            let tail = if number % 2 == 0 { "" } else { " " };
            Value::string(format!("v{number:03}{tail}"))
        }
        Some(number) => Value::Int(*number),
    };
    table.columns.iter().zip(numbers).map(value).collect()
}

/// Runs `work` in a transaction and commits it.
pub(crate) fn transact(
    engine: &Arc<Engine>,
    work: impl FnOnce(&mut crate::txn::Transaction) -> Result<(), TableError>,
) -> Result<(), TableError> {
    let mut transaction =
        engine.transactions().begin(crate::Isolation::RepeatableRead, crate::TxnMode::ReadWrite);
    transaction.begin_statement();
    work(&mut transaction)?;
    transaction.commit().map(drop)
}

/// A view of everything committed now.
pub(crate) fn view(engine: &Arc<Engine>) -> ReadView {
    engine.transactions().begin(crate::Isolation::RepeatableRead, crate::TxnMode::ReadOnly).view()
}

/// Key and values.
pub(crate) type Entry = (Vec<u8>, Vec<Value>);

/// Reads a whole index, with the values of `columns`.
pub(crate) fn scan(
    view: &ReadView,
    table: &Arc<TableDef>,
    index: usize,
    columns: &[usize],
    direction: Direction,
) -> Result<Vec<Entry>, TableError> {
    let index = &table.indexes[index];
    let decoder = crate::entry_decoder(index, columns)?;
    let mut cursor = view.entries(table, index)?;
    match direction {
        Direction::Forward => cursor.seek(&[]),
        Direction::Reverse => cursor.seek_before(None),
    }
    let mut found = Vec::new();
    while cursor.visit(direction, &mut |entry| {
        let mut values = Vec::new();
        decoder.decode_values(entry.key, entry.payload, &mut values).unwrap();
        found.push((entry.key.to_vec(), values));
        EntryStep::Next
    })? {}
    Ok(found)
}

/// All rows, in clustered order.
pub(crate) fn rows(view: &ReadView, table: &Arc<TableDef>) -> Vec<Vec<Value>> {
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    let found = scan(view, table, 0, &columns, Direction::Forward).unwrap();
    found.into_iter().map(|(_, values)| values).collect()
}

/// An alteration that leaves columns as they are.
pub(crate) fn unchanged<'a>(engine: &Core, table: &TableDef, spec: TableSpec) -> Alteration<'a> {
    let sources = (0..table.columns.len()).map(Some).collect();
    Alteration {
        spec,
        sources,
        older: Vec::new(),
        next_auto_increment: None,
        foreign_keys: Default::default(),
        check: None,
        rebuild: None,
        switch: None,
        control: BuildControl::of(engine),
    }
}

/// A rebuild of a table by a converter.
pub(crate) fn anew(converter: &mut dyn RowConverter) -> Rebuild<'_> {
    Rebuild { converter, order: Vec::new(), numbers: false, zero_is_number: false }
}

impl Ddl {
    /// Builds indexes on a table.
    pub(crate) fn add_indexes(
        &self,
        database: &str,
        name: &str,
        indexes: &[IndexSpec],
    ) -> Result<(), TableError> {
        let table = self.core.table(database, name)?;
        let mut spec = TableSpec::of(&table);
        spec.indexes.extend_from_slice(indexes);
        self.alter_table(&table, unchanged(&self.core, &table, spec)).map(drop)
    }

    /// Drops an index.
    pub(crate) fn drop_index(&self, database: &str, name: &str, index: &str) -> Result<(), TableError> {
        let table = self.core.table(database, name)?;
        let mut spec = TableSpec::of(&table);
        let position = spec.indexes.iter().position(|known| known.name.as_deref() == Some(index));
        let position = position.ok_or_else(|| TableError::from(MysqlError::cannot_drop(index)))?;
        spec.indexes.remove(position);
        self.alter_table(&table, unchanged(&self.core, &table, spec)).map(drop)
    }
}
