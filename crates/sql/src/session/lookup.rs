//! The session as the binder sees it, with tables, views and variables, and as system views see it.

use super::Session;
use crate::information_schema::{self, SystemView};
use crate::settings::Modes;
use crate::settings::variables::{Scope, Variable, find};
use leafline_planner::SystemRows;
use leafline_planner::binder::{BindContext, CatalogLookup, LocalLookup, StoredFunction, VariableLookup};
use leafline_syntax::ast::VariableScope;
use leafline_table::{ForeignKeyDef, TableDef, ViewDef};
use leafline_types::{Collation, ExprType, MysqlError, SqlType, Value};
use std::sync::Arc;

impl CatalogLookup for Session {
    fn table(&self, database: &str, name: &str) -> Result<Arc<TableDef>, MysqlError> {
        self.stored_table(database, name)
    }

    fn own_table(&self, database: &str, name: &str) -> Option<Arc<TableDef>> {
        Session::own_table(self, database, name).cloned()
    }

    fn view(&self, database: &str, name: &str) -> Option<Arc<ViewDef>> {
        self.instance.engine().catalog().view(database, name).cloned()
    }

    fn schema_table(&self, database: &str, name: &str) -> Result<Option<SystemRows>, MysqlError> {
        information_schema::table(&self.system_view(), database, name)
    }

    fn stored_function(&self, database: &str, name: &str) -> Result<Option<StoredFunction>, MysqlError> {
        Session::stored_function(self, database, name)
    }

    fn has_triggers(&self, table: &TableDef) -> bool {
        !table.is_private && self.instance.engine().catalog().has_triggers(&table.database, &table.name)
    }

    fn references(&self, database: &str, name: &str) -> Vec<(Arc<TableDef>, ForeignKeyDef)> {
        let catalog = self.instance.engine().catalog();
        catalog.references(database, name).map(|(child, key)| (child.clone(), key.clone())).collect()
    }
}

impl VariableLookup for Session {
    fn user(&self, name: &str) -> Value {
        self.user_variables.get(name).0
    }

    fn user_collation(&self, name: &str) -> Option<Collation> {
        self.user_variables.collation(name)
    }

    fn system(&self, scope: Option<VariableScope>, name: &str) -> Result<Value, MysqlError> {
        Ok(self.system_variable(scope, name)?.0)
    }
}

impl Session {
    /// The inputs of binding; `parameter_types` are the types of an execution, empty while preparing.
    pub(crate) fn bind_context<'a>(&'a self, parameter_types: &'a [ExprType]) -> BindContext<'a> {
        BindContext {
            catalog: self,
            variables: self,
            database: self.database(),
            collation: self.settings.collation,
            only_full_group_by: self.settings.sql_mode.has(Modes::ONLY_FULL_GROUP_BY),
            modes: self.settings.bind_modes(),
            dates: self.settings.evaluation_mode().dates,
            foreign_key_checks: self.settings.foreign_key_checks,
            derived_merge: self.settings.optimizer_switch.derived_merge,
            use_invisible_indexes: self.settings.optimizer_switch.use_invisible_indexes,
            default_week_format: self.settings.default_week_format,
            group_concat_max_len: self.settings.group_concat_max_len,
            assigns_variables: false,
            parameter_types,
            parameters: &[],
            locals: self.program_step.as_ref().map(|step| &*step.names as &dyn LocalLookup),
            cancel: &self.cancel,
            hints: &[],
            access: &*self.login.access,
        }
    }

    /// The parts of the session that system views and SHOW read.
    pub(crate) fn system_view(&self) -> SystemView<'_> {
        SystemView {
            instance: &self.instance,
            settings: &self.settings,
            access: &self.login.access,
            cancel: &self.cancel,
            optimizer_trace: self.optimizer_trace.as_ref(),
            binding: self.bind_context(&[]),
        }
    }

    /// Finds a system variable that is there.
    ///
    /// # Errors
    /// 1193.
    pub(crate) fn variable(&self, name: &str) -> Result<&'static Variable, MysqlError> {
        let variable = find(name)?;
        match variable.is_there(&self.instance.globals().read()) {
            true => Ok(variable),
            false => Err(MysqlError::unknown_system_variable(name)),
        }
    }

    /// The session's or the global value of a variable.
    pub(crate) fn value_of(&self, variable: &Variable, global: bool) -> Value {
        let instance = &self.instance;
        if global || variable.scope == Scope::Shared {
            return variable.get(&instance.globals().read(), instance.facts());
        }
        let value = variable.get(&self.settings, instance.facts());
        match variable.name {
            "last_insert_id" | "identity" => Value::UInt(self.facts.last_insert_id),
            "pseudo_thread_id" if value == Value::UInt(0) => Value::UInt(self.connection_id()),
            _ => value,
        }
    }

    /// The value of `@@name`, with its type.
    ///
    /// # Errors
    /// 1193 if there is no such variable, 1238 if a global value is asked for and there is none.
    pub(crate) fn system_variable(
        &self,
        scope: Option<VariableScope>,
        name: &str,
    ) -> Result<(Value, SqlType), MysqlError> {
        let variable = self.variable(name)?;
        let is_global = scope == Some(VariableScope::Global);
        if is_global && variable.scope == Scope::Session {
            return Err(MysqlError::incorrect_variable_scope(variable.name, "SESSION"));
        }
        let value = self.value_of(variable, is_global);
        // In expressions a switch is a number.
        let value = match value.as_str() {
            Some(word) if variable.is_switch => Value::Int(i64::from(word == "ON")),
            _ => value,
        };
        let ty = match &value {
            Value::Int(_) => SqlType::BIGINT,
            Value::UInt(_) => SqlType::BIGINT_UNSIGNED,
            _ => SqlType::Varchar { len: 1024 },
        };
        Ok((value, ty))
    }
}
