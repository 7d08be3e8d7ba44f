//! `leafline inspect`: shows the layout of trees in the file of a database that nobody has open.
//!
//! It prints a row for each index, for each partition of a partitioned table, after reading every page of it; then
//! rows for space that belongs to no index.

use super::args::InspectOptions as Options;
use super::existing::{chosen, failed, open};
use super::failure::Failure;
use super::output::{Column, Kind, writer};
use super::progress::Progress;
use leafline_storage::SegmentInfo;
use leafline_table::{CheckOptions, Engine, IndexDef, TableDef, TableError};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

const COLUMNS: [(&str, Kind); 14] = [
    ("Table", Kind::Text),
    ("Index", Kind::Text),
    ("Levels", Kind::Number),
    ("Leaves", Kind::Number),
    ("Packed_leaves", Kind::Number),
    ("Branches", Kind::Number),
    ("Entries", Kind::Number),
    ("Ghosts", Kind::Number),
    ("Unsettled_leaves", Kind::Number),
    ("Fill_percent", Kind::Number),
    ("Breaks", Kind::Number),
    ("Extents", Kind::Number),
    ("Bytes", Kind::Number),
    ("Bytes_free", Kind::Number),
];

/// A row; columns that do not apply are NULL.
type Row = Vec<Option<String>>;

/// Runs the verb.
pub fn run(options: &Options) -> Result<(), Failure> {
    let engine = open(&options.existing, false)?;
    let tables = chosen(&engine, &options.existing.table)?;
    let segments = engine.store().segments();
    let mut rows: Vec<Row> = Vec::new();
    for table in &tables {
        let name = format!("{}.{}", table.database, table.name);
        for stored in table.stored() {
            for index in indexes(stored, options)? {
                rows.push(inspect(&engine, &name, index, &segments)?);
            }
            let outside = stored.overflow.filter(|_| options.index.is_none());
            if let Some(outside) = outside.and_then(|outside| engine.catalog().table_by_id(outside).cloned())
            {
                let name = format!("{name} (values outside rows)");
                rows.push(inspect(&engine, &name, outside.clustered(), &segments)?);
            }
        }
    }
    if options.existing.table.is_empty() && options.index.is_none() {
        rows.extend(whole_file(&engine)?);
        rows.extend(buffered(&engine, &segments));
    }
    write(options, &rows).map_err(Failure::output)?;
    engine.close().map_err(failed)
}

/// Returns rows for free and shared space, and for the file: its size, and the part that takes no space on the
/// device.
fn whole_file(engine: &Engine) -> Result<Vec<Row>, Failure> {
    let store = engine.store();
    let (usage, page) = (store.space_usage(), store.page_size() as u64);
    let (free, shared, file) =
        (usage.free_pages * page, usage.shared_free_pages * page, usage.file_pages * page);
    let allocated = store.allocated_bytes().map_err(|error| failed(TableError::from(error)))?;
    let holes = file.saturating_sub(allocated);
    let lines = [
        ("(free extents)", free, free),
        ("(free in shared extents)", shared, shared),
        ("(file)", file, free + shared),
        ("(holes of the file)", holes, holes),
    ];
    let row = |(what, bytes, free): (&str, u64, u64)| {
        let mut row = vec![Some(what.to_owned())];
        row.resize(COLUMNS.len() - 2, None);
        row.extend([bytes, free].map(|number| Some(number.to_string())));
        row
    };
    Ok(lines.map(row).into())
}

/// Returns a row for the trees of changes that are buffered until they are merged into indexes.
fn buffered(engine: &Engine, segments: &[SegmentInfo]) -> Option<Row> {
    let trees = engine.maintenance().change_buffer_segments();
    let of_them = segments.iter().filter(|segment| trees.contains(&segment.id));
    let (pages, used) =
        of_them.fold((0, 0), |sum, segment| (sum.0 + segment.allocated, sum.1 + segment.pages));
    let page = engine.store().page_size() as u64;
    let mut row = vec![Some("(buffered changes)".to_owned())];
    row.resize(COLUMNS.len() - 2, None);
    row.extend([pages, pages.saturating_sub(used)].map(|pages| Some((pages * page).to_string())));
    (!trees.is_empty()).then_some(row)
}

/// Returns the indexes that were asked for.
fn indexes<'t>(table: &'t TableDef, options: &Options) -> Result<Vec<&'t Arc<IndexDef>>, Failure> {
    let Some(name) = &options.index else { return Ok(table.indexes.iter().collect()) };
    match table.index(name) {
        Some(index) => Ok(vec![index]),
        None => Err(Failure::Message(format!("{}.{} has no index {name}", table.database, table.name))),
    }
}

/// Reads all pages of an index.
fn inspect(engine: &Engine, table: &str, index: &IndexDef, segments: &[SegmentInfo]) -> Result<Row, Failure> {
    let segment = segments.iter().find(|segment| segment.id == index.tree);
    let (pages, allocated, extents) =
        segment.map_or((0, 0, 0), |segment| (segment.pages, segment.allocated, segment.extents));
    let bar = Progress::pages(&format!("{table} {}", index.name), pages);
    let CheckOptions { threads, read_ahead, .. } = CheckOptions::default();
    let tree = engine.tree(index).map_err(failed)?;
    let looked_at = |pages| {
        bar.add(pages);
        ControlFlow::Continue(())
    };
    let (report, faults) =
        tree.examine(threads, read_ahead, &looked_at).map_err(|error| failed(TableError::from(error)))?;
    bar.finish();
    if let Some(fault) = faults.first() {
        return Err(Failure::Message(format!(
            "{table}, index {}, page {}: {}; leafline check tells all that is damaged",
            index.name, fault.page, fault.what
        )));
    }
    let page = engine.store().page_size() as u64;
    let numbers = [
        u64::from(report.levels),
        report.leaves,
        report.packed,
        report.branches,
        report.entries,
        report.ghosts,
        report.unsettled,
    ];
    let mut row = vec![Some(table.to_owned()), Some(index.name.clone())];
    row.extend(numbers.map(|number| Some(number.to_string())));
    row.push(Some(format!("{:.1}", report.fill * 100.0)));
    let rest = [report.breaks, extents, allocated * page, allocated.saturating_sub(pages) * page];
    row.extend(rest.map(|number| Some(number.to_string())));
    Ok(row)
}

fn write(options: &Options, rows: &[Row]) -> std::io::Result<()> {
    let columns = COLUMNS.map(|(name, kind)| Column { name: name.into(), kind });
    let mut out = std::io::stdout().lock();
    let mut writer = writer(options.format, true);
    writer.begin(&columns, &mut out)?;
    for row in rows {
        let cells: Vec<Option<&[u8]>> =
            row.iter().map(|cell| cell.as_ref().map(|text| text.as_bytes())).collect();
        writer.row(&cells, &mut out)?;
    }
    writer.end(&mut out)?;
    out.flush()
}
