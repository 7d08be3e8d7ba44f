//! LOAD DATA: an INSERT whose rows are the lines of a file.

use leafline_types::{Charset, Coercibility, Collation, ExprType, MysqlError, SqlType, Value};

use super::Binder;
use super::insert_target::InsertKind;
use super::scope::Block;
use crate::bound::{BoundInsert, BoundLoad, InsertRows, LoadTarget, NewValue, OnDuplicate};
use leafline_syntax::Privilege;
use leafline_syntax::ast::{Ident, Load, LoadField};

impl Binder<'_> {
    pub(super) fn load(&mut self, load: &Load) -> Result<BoundInsert, MysqlError> {
        let charset = match &load.charset {
            Some(name) => Charset::from_name(&name.value)?,
            None => match self.context.variables.system(None, "character_set_database")? {
                Value::String(name) => Charset::from_name(&name)?,
                _ => Charset::Utf8mb4,
            },
        };
        if charset.min_bytes() > 1 {
            return Err(MysqlError::not_supported(format_args!("LOAD DATA of {}", charset.name())));
        }
        let named = load.fields.as_ref().map(|fields| named_columns(fields));
        let kind = InsertKind { replaces: load.replace, loads: true, assignments: &load.assignments };
        let target = self.insert_target((&load.table, &load.partitions), named.as_ref(), kind)?;
        let table = target.table.clone();
        let mut columns = target.columns(named.as_ref())?;
        self.check_inserted(&target, load.fields.as_ref().and(named.as_ref()), &columns)?;
        let generated =
            columns.iter().filter_map(|at| table.columns.get(*at)).find(|of| of.generated.is_some());
        if let Some(column) = generated {
            return Err(MysqlError::value_for_generated_column(&column.name, &table.name));
        }
        let mut of_fields = columns.iter().copied();
        let mut fields = Vec::new();
        match &load.fields {
            None => fields.extend(of_fields.map(LoadTarget::Column)),
            Some(listed) => {
                for field in listed {
                    fields.extend(match field {
                        LoadField::Column(_) => of_fields.next().map(LoadTarget::Column),
                        LoadField::Variable(name) => Some(LoadTarget::Variable(name.clone())),
                    });
                }
            }
        }
        let mut block = Block::default();
        let scope = target.relation(&mut block)?;
        block.in_aggregate = true;
        let (ty, collation) = match charset {
            Charset::Binary => (SqlType::Blob { max_bytes: u32::MAX }, Collation::Binary),
            _ => (SqlType::Text { max_bytes: u32::MAX }, self.context.collation),
        };
        let ty = ExprType::string(ty, true, collation, Coercibility::Implicit);
        let variables = fields.iter().filter_map(|field| match field {
            LoadTarget::Variable(name) => Some(name.clone()),
            LoadTarget::Column(_) => None,
        });
        let width = table.columns.len();
        self.row_variables = variables.enumerate().map(|(at, name)| (name, width + at, ty.clone())).collect();
        let subqueries = self.subqueries.len();
        let mut assignments = Vec::with_capacity(load.assignments.len());
        let mut reads_row = false;
        for assignment in &load.assignments {
            let column = target.columns(Some(&vec![assignment.column.column.clone()]))?;
            for column in column {
                self.check_target(&target, Privilege::Insert, column)?;
                let value = self.new_value(&mut block, &scope, &table, column, &assignment.value)?;
                reads_row |= matches!(&value, NewValue::Expr(expr) if !expr.columns().is_empty());
                assignments.push((column, value));
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
        }
        if self.subqueries.len() > subqueries {
            return Err(MysqlError::not_supported("a subquery in SET of LOAD DATA"));
        }
        self.row_variables.clear();
        let (path, format) = (load.path.clone(), load.format.clone());
        self.note_triggers(&table);
        let rules = self.row_rules(&table)?;
        let foreign = self.foreign_keys([&table])?;
        let lines = BoundLoad {
            path,
            local: load.local,
            source: load.source,
            charset,
            format,
            skip: load.skip,
            fields,
            assignments,
        };
        Ok(BoundInsert {
            // The client's file cannot be stopped in the middle, so errors are warnings.
            ignore: load.ignore || (load.local && !load.replace),
            on_duplicate: if load.replace { OnDuplicate::Replace } else { OnDuplicate::Fail },
            reads_row,
            table,
            alias: target.alias,
            view: target.view.map(|view| (view.database.clone(), view.name.clone())),
            view_checks: target.checks,
            rules,
            foreign,
            columns,
            rows: InsertRows::File(Box::new(lines)),
        })
    }
}

/// The columns that a list of fields names.
fn named_columns(fields: &[LoadField]) -> Vec<Ident> {
    let column = |field: &LoadField| match field {
        LoadField::Column(name) => Some(name.clone()),
        LoadField::Variable(_) => None,
    };
    fields.iter().filter_map(column).collect()
}
