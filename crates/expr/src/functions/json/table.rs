//! JSON_TABLE: makes rows of the parts of a document.
//!
//! A level's path selects parts of the value it is given; each part is a row, with a value for each of the level's
//! columns. Nested levels (NESTED PATH) do the same with the part: the rows of one level follow those of another,
//! each with the values of the enclosing level, and NULLs for the other nested levels. A part without nested rows is
//! one row.

use crate::EvalContext;
use leafline_types::convert::{StoreContext, parse_json_within, stored_part};
use leafline_types::error::MysqlError;
use leafline_types::json::{Item, Json, Node, Path, View};
use leafline_types::value::{ExprType, SqlType, Value};
use std::ops::Range;

/// A level: the path that selects parts, and the columns made of each part.
#[derive(Debug, Clone)]
pub struct JsonTableLevel {
    /// The path from the part of the enclosing level, or from the document.
    pub path: Path,
    /// The columns.
    pub columns: Vec<JsonTableColumn>,
    /// The nested levels.
    pub nested: Vec<JsonTableLevel>,
}

/// A column.
#[derive(Debug, Clone)]
pub struct JsonTableColumn {
    /// Its position in the row.
    pub position: usize,
    /// Its name, for messages.
    pub name: String,
    /// Its type.
    pub ty: ExprType,
    /// The source of its value.
    pub source: JsonTableSource,
}

/// The source of a column's value.
#[derive(Debug, Clone)]
pub enum JsonTableSource {
    /// FOR ORDINALITY: the number of the part, from 1.
    Ordinality,
    /// EXISTS PATH: whether the path leads to a value.
    Exists(Path),
    /// PATH: the value that the path leads to.
    Part {
        /// The path.
        path: Path,
        /// The result if the path leads nowhere.
        on_empty: JsonTableResponse,
        /// The result if the column cannot hold the value.
        on_error: JsonTableResponse,
    },
}

/// The result in place of a value.
#[derive(Debug, Clone)]
pub enum JsonTableResponse {
    /// NULL.
    Null,
    /// An error.
    Error,
    /// The value made of a document.
    Default(Json),
}

/// A document, and the places of some of its parts.
pub type DocumentParts = (Json, Vec<Range<usize>>);

impl JsonTableLevel {
    /// Returns a document and the places of the parts that the outermost level selects; no parts for NULL.
    ///
    /// # Errors
    /// 3141 for text that is not a document, 3144 for bytes, 3146 for other types; 1317 or 3024 if the statement has
    /// to end.
    pub fn parts(
        &self,
        document: &Value,
        cx: &mut EvalContext<'_>,
    ) -> Result<Option<DocumentParts>, MysqlError> {
        let document = match document {
            Value::Null => return Ok(None),
            Value::Json(json) => json.clone(),
            Value::String(text) => parse_json_within(text, "json_table", 1, cx.memory, cx.cancel)?,
            Value::Bytes(_) => return Err(MysqlError::invalid_json_charset("binary")),
            _ => return Err(MysqlError::invalid_type_for_json(1, "json_table")),
        };
        let found = self.path.select(document.view(), cx.cancel)?;
        let places = found.into_iter().map(|part| document.place_of(part)).collect();
        Ok(Some((document, places)))
    }

    /// Passes the rows of part number `ordinal`, from 1, to `give`, each in `row`, whose other columns are NULL.
    ///
    /// # Errors
    /// 3665, 3666, 3669 and 3156 as ON EMPTY and ON ERROR ask; those of `give`.
    pub fn rows(
        &self,
        (ordinal, part): (u64, View<'_>),
        row: &mut [Value],
        cx: &mut EvalContext<'_>,
        give: &mut dyn FnMut(&[Value]) -> Result<(), MysqlError>,
    ) -> Result<(), MysqlError> {
        for column in &self.columns {
            row[column.position] = column.value(ordinal, part, cx)?;
        }
        let mut alone = true;
        for level in &self.nested {
            for (ordinal, inside) in (1..).zip(level.path.select(part, cx.cancel)?) {
                alone = false;
                level.rows((ordinal, inside), row, cx, give)?;
            }
            level.clear(row);
        }
        if alone { give(row) } else { Ok(()) }
    }

    /// Returns the name of the column at a position of the row.
    pub fn column_name(&self, position: usize) -> Option<&str> {
        let own = self.columns.iter().find(|column| column.position == position);
        own.map(|column| column.name.as_str())
            .or_else(|| self.nested.iter().find_map(|level| level.column_name(position)))
    }

    fn clear(&self, row: &mut [Value]) {
        self.columns.iter().for_each(|column| row[column.position] = Value::Null);
        self.nested.iter().for_each(|level| level.clear(row));
    }
}

impl JsonTableColumn {
    fn value(&self, ordinal: u64, part: View<'_>, cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
        let (path, on_empty, on_error) = match &self.source {
            JsonTableSource::Ordinality => return Ok(Value::UInt(ordinal)),
            JsonTableSource::Exists(path) => {
                let found = Json::new(&Node::Int(path.first(part, cx.cancel)?.is_some().into()))?;
                return self.made_of(found.view(), cx);
            }
            JsonTableSource::Part { path, on_empty, on_error } => (path, on_empty, on_error),
        };
        let several;
        let found = match path.select(part, cx.cancel)?.as_slice() {
            [] => {
                let missing = || MysqlError::missing_json_table_value(&self.name);
                return self.response(on_empty, missing, cx);
            }
            [one] => self.made_of(*one, cx),
            all => {
                let cells = all.iter().map(|part| part.to_node()).collect::<Result<_, _>>()?;
                several = Json::new(&Node::Array(cells))?;
                self.made_of(several.view(), cx)
            }
        };
        found.or_else(|error| self.response(on_error, || error, cx))
    }

    fn response(
        &self,
        response: &JsonTableResponse,
        error: impl FnOnce() -> MysqlError,
        cx: &mut EvalContext<'_>,
    ) -> Result<Value, MysqlError> {
        match response {
            JsonTableResponse::Null => Ok(Value::Null),
            JsonTableResponse::Error => Err(error()),
            JsonTableResponse::Default(json) => self.made_of(json.view(), cx),
        }
    }

    /// Returns the column's value from a part of a document: NULL for null, except in a column of documents.
    fn made_of(&self, part: View<'_>, cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
        match part.item() {
            _ if self.ty.sql == SqlType::Json => return Ok(Value::Json(Json::of_view(part))),
            Item::Null => return Ok(Value::Null),
            Item::Array(_) | Item::Object(_) => return Err(MysqlError::wrong_json_table_value(&self.name)),
            _ => {}
        }
        let mut store = StoreContext {
            column: &self.name,
            charset: self.ty.collation.charset(),
            row: 1,
            strict: true,
            dates: cx.sql_mode.dates,
            zone: cx.zone,
            max_document: cx.sql_mode.max_result,
            warnings: &mut *cx.warnings,
        };
        stored_part(part, &self.ty.sql, &mut store)
    }
}
