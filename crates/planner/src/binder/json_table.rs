//! JSON_TABLE: a query over one relation, whose rows are made of a document. The query sees earlier relations, as LATERAL does.

use leafline_expr::build;
use leafline_expr::functions::{JsonTableColumn, JsonTableLevel, JsonTableResponse, JsonTableSource};
use leafline_types::convert::parse_json;
use leafline_types::json::Path;
use leafline_types::{ExprType, MysqlError, SqlType};

use super::Binder;
use super::data_type::{TypeRules, column_type};
use super::scope::{Block, Clause, Scope};
use crate::bound::{BoundSelect, JsonTable, RelationSource};
use leafline_syntax::ast::{self, ExprKind, Literal};

impl Binder<'_> {
    /// Binds the query that delivers the rows.
    pub(super) fn json_table(&mut self, table: &ast::JsonTable) -> Result<BoundSelect, MysqlError> {
        let mut block = Block::default();
        let document = self.expression(&mut block, &Scope::default(), Clause::From, &table.document)?;
        let document = if document.ty.sql == SqlType::Json { document } else { build::plain(document) };
        let mut columns = Vec::new();
        let level = self.json_table_level(&table.level, &mut columns)?;
        self.over(RelationSource::JsonTable(Box::new(JsonTable { document, level })), columns, None)
    }

    /// Binds a level. Its columns follow the columns of the levels around and before it, as written.
    fn json_table_level(
        &self,
        written: &ast::JsonTableLevel,
        all: &mut Vec<(String, ExprType)>,
    ) -> Result<JsonTableLevel, MysqlError> {
        let path = Path::parse(&written.path)?;
        let mut level = JsonTableLevel { path, columns: Vec::new(), nested: Vec::new() };
        for column in &written.columns {
            let (name, ty, source) = match column {
                ast::JsonTableColumn::Nested(nested) => {
                    let nested = self.json_table_level(nested, all)?;
                    level.nested.push(nested);
                    continue;
                }
                ast::JsonTableColumn::Ordinality(name) => {
                    (name, ExprType::numeric(SqlType::BIGINT_UNSIGNED, true), JsonTableSource::Ordinality)
                }
                ast::JsonTableColumn::Value { name, data_type, path, source } => {
                    let found =
                        column_type(&name.value, data_type, self.context.collation, TypeRules::STRICT)?;
                    let ty = ExprType::column(found.ty, true, found.collation);
                    (name, ty, json_table_source(Path::parse(path)?, source)?)
                }
            };
            if all.iter().any(|(other, _)| other.eq_ignore_ascii_case(&name.value)) {
                return Err(MysqlError::duplicate_column(&name.value));
            }
            let (position, name) = (all.len(), name.value.clone());
            all.push((name.clone(), ty.clone()));
            level.columns.push(JsonTableColumn { position, name, ty, source });
        }
        Ok(level)
    }
}

fn json_table_source(path: Path, source: &ast::JsonTableSource) -> Result<JsonTableSource, MysqlError> {
    Ok(match source {
        ast::JsonTableSource::Exists => JsonTableSource::Exists(path),
        ast::JsonTableSource::Part { on_empty, on_error } => {
            JsonTableSource::Part { path, on_empty: response(on_empty)?, on_error: response(on_error)? }
        }
    })
}

fn response(response: &ast::JsonResponse) -> Result<JsonTableResponse, MysqlError> {
    Ok(match response {
        ast::JsonResponse::Null => JsonTableResponse::Null,
        ast::JsonResponse::Error => JsonTableResponse::Error,
        ast::JsonResponse::Default(default) => match &default.kind {
            ExprKind::Literal(Literal::String { value, .. }) => {
                JsonTableResponse::Default(parse_json(value, "json_table", 1)?)
            }
            _ => return Err(MysqlError::not_supported("a default of JSON_TABLE that is no string")),
        },
    })
}
