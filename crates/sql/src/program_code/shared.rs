//! The compiled programs that the sessions of an instance share.
//!
//! A session that meets a program for the first time looks here before it compiles it. A definition that was replaced or dropped
//! is not found: the catalog has another one, or none.

use super::code::Code;
use leafline_table::ProgramDef;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Limit of the programs that are kept.
const CAPACITY: usize = 1024;
/// Limit of the bytes of their texts, unless there is but one. The compiled form takes a multiple of the text.
const TEXT_BYTES: usize = 8 << 20;

/// A definition and its compiled form.
type Compiled = (Arc<ProgramDef>, Arc<Code>);

/// The compiled programs of an instance, by the number of the definition.
#[derive(Default)]
pub(crate) struct SharedPrograms(Mutex<HashMap<u64, Compiled>>);

impl SharedPrograms {
    /// Returns the compiled form of a definition, if a session has compiled it.
    pub(crate) fn find(&self, def: &Arc<ProgramDef>) -> Option<Arc<Code>> {
        let programs = self.0.lock();
        programs.get(&def.id).filter(|(known, _)| Arc::ptr_eq(known, def)).map(|(_, code)| code.clone())
    }

    /// Keeps a compiled program.
    pub(crate) fn keep(&self, def: &Arc<ProgramDef>, code: &Arc<Code>) {
        let mut programs = self.0.lock();
        let is_full = |programs: &HashMap<u64, Compiled>| {
            let texts = programs.values().map(|(_, code)| code.text.len()).sum::<usize>();
            programs.len() >= CAPACITY || texts + code.text.len() > TEXT_BYTES
        };
        if is_full(&programs) {
            // A definition that nobody else knows was replaced or dropped.
            programs.retain(|_, (known, _)| Arc::strong_count(known) > 1);
        }
        if is_full(&programs) {
            programs.clear();
        }
        programs.insert(def.id, (def.clone(), code.clone()));
    }
}
