//! The compiled programs and the plans of their steps that a session keeps for the next call.

use super::code::Code;
use super::triggers::TableTriggers;
use crate::accounts::Access;
use crate::plans::Planned;
use leafline_expr::Expr;
use leafline_table::{ProgramDef, TableDef, TableId};
use std::collections::HashMap;
use std::sync::Arc;

/// Limit of the programs of a session.
const CAPACITY: usize = 128;
/// Limit of the bytes of their texts, unless there is but one. The compiled form takes a multiple of the text.
const TEXT_BYTES: usize = 1 << 20;

/// The plans of a program's steps, made at their first execution.
#[derive(Default)]
pub(crate) struct StepPlans {
    /// Bound expressions, by number. An expression that reads variables of the session is bound each time.
    pub(crate) expressions: Vec<Option<Arc<Expr>>>,
    /// Plans of statements, by number.
    pub(crate) statements: Vec<Option<Arc<Planned>>>,
    /// `default_week_format` of the bound expressions.
    week_format: u8,
}

impl StepPlans {
    /// Plans for a program, none made yet.
    fn of(code: &Code) -> StepPlans {
        StepPlans {
            expressions: vec![None; code.expressions.len()],
            statements: vec![None; code.statements.len()],
            week_format: 0,
        }
    }

    /// The plans for a call under this `default_week_format`, on which nothing but bound expressions depends unnoticed.
    fn under(mut self, week_format: u8) -> StepPlans {
        if self.week_format != week_format {
            self.expressions.fill(None);
            self.week_format = week_format;
        }
        self
    }
}

/// A program that a session has compiled.
struct KeptProgram {
    def: Arc<ProgramDef>,
    code: Arc<Code>,
    /// The plans of its steps; a running call has taken them.
    plans: Option<StepPlans>,
    /// The rights of a caller, and those of the definer that were computed from them.
    definer: Option<(Arc<Access>, Arc<Access>)>,
}

/// The programs of a session.
#[derive(Default)]
pub(crate) struct KeptPrograms {
    /// By the number of the definition.
    programs: HashMap<u64, KeptProgram>,
    /// The bytes of their texts.
    text_bytes: usize,
    /// The triggers of tables.
    triggers: HashMap<TableId, KeptTriggers>,
}

/// The compiled triggers of a table.
struct KeptTriggers {
    /// The last version of the catalog in which the table is known to have these triggers.
    catalog: u64,
    triggers: Arc<TableTriggers>,
}

impl KeptPrograms {
    /// Returns the compiled form of a definition, if it was compiled before.
    pub(crate) fn find(&self, def: &Arc<ProgramDef>) -> Option<Arc<Code>> {
        let kept = self.programs.get(&def.id)?;
        Arc::ptr_eq(&kept.def, def).then(|| kept.code.clone())
    }

    /// Keeps a compiled program.
    pub(crate) fn keep(&mut self, def: &Arc<ProgramDef>, code: &Arc<Code>) {
        let bytes = code.text.len();
        if self.programs.len() >= CAPACITY || self.text_bytes + bytes > TEXT_BYTES {
            self.programs.clear();
            self.triggers.clear();
            self.text_bytes = 0;
        }
        let kept = KeptProgram { def: def.clone(), code: code.clone(), plans: None, definer: None };
        let replaced = self.programs.insert(def.id, kept);
        self.text_bytes += bytes;
        self.text_bytes -= replaced.map_or(0, |replaced| replaced.code.text.len());
    }

    /// The bytes of the texts of all programs.
    #[cfg(test)]
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Returns the triggers that a table has in a version of the catalog, if they were compiled before. `of_table` finds their
    /// definitions, in the order in which they fire.
    pub(crate) fn triggers_of(
        &mut self,
        table: &Arc<TableDef>,
        catalog: u64,
        of_table: impl FnOnce() -> Vec<Arc<ProgramDef>>,
    ) -> Option<Arc<TableTriggers>> {
        let known = self.triggers.get_mut(&table.id)?;
        if known.catalog != catalog {
            if !known.triggers.are(table, &of_table()) {
                return None;
            }
            known.catalog = catalog;
        }
        Some(known.triggers.clone())
    }

    /// Keeps the compiled triggers of a table, and makes room for the plans of their steps.
    pub(crate) fn keep_triggers(&mut self, table: TableId, catalog: u64, triggers: &Arc<TableTriggers>) {
        if self.triggers.len() >= CAPACITY {
            self.triggers.clear();
        }
        triggers.programs().for_each(|(def, code)| self.keep(def, code));
        self.triggers.insert(table, KeptTriggers { catalog, triggers: triggers.clone() });
    }

    /// Returns the rights of a program's definer, if they were computed from the same rights of a caller.
    pub(crate) fn definer_of(&self, def: &ProgramDef, caller: &Arc<Access>) -> Option<Arc<Access>> {
        let (known, definer) = self.programs.get(&def.id)?.definer.as_ref()?;
        Arc::ptr_eq(known, caller).then(|| definer.clone())
    }

    /// Keeps the rights of a program's definer.
    pub(crate) fn keep_definer(&mut self, def: &ProgramDef, caller: &Arc<Access>, definer: &Arc<Access>) {
        if let Some(kept) = self.programs.get_mut(&def.id) {
            kept.definer = Some((caller.clone(), definer.clone()));
        }
    }

    /// Takes the plans of a program's steps for a call. A call inside a call of the same program begins
    /// without.
    pub(crate) fn take_plans(
        &mut self,
        def: Option<&Arc<ProgramDef>>,
        code: &Arc<Code>,
        week_format: u8,
    ) -> StepPlans {
        let kept = def.and_then(|def| self.programs.get_mut(&def.id));
        let plans = kept.filter(|kept| Arc::ptr_eq(&kept.code, code)).and_then(|kept| kept.plans.take());
        plans.unwrap_or_else(|| StepPlans::of(code)).under(week_format)
    }

    /// Keeps the plans of a call that has ended.
    pub(crate) fn give_plans(&mut self, def: Option<&Arc<ProgramDef>>, code: &Arc<Code>, plans: StepPlans) {
        let kept = def.and_then(|def| self.programs.get_mut(&def.id));
        if let Some(kept) = kept.filter(|kept| Arc::ptr_eq(&kept.code, code)) {
            kept.plans = Some(plans);
        }
    }
}
