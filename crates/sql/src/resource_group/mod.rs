//! Resource groups: the processors and the priority of the threads of statements.
//!
//! A group is a row of `mysql.resource_groups`, and in memory an object that sessions refer to, so that a
//! change applies to them at once. The two default groups, `USR_default` and `SYS_default`, always exist and
//! are neither stored nor changed; a session in `USR_default` is under no control at all. A session, or the
//! hint of a statement, names a group. The group controls the statement's thread while it works ([`thread`]),
//! and new threads inherit its controls.

mod stored;
#[cfg(test)]
mod tests;
pub(crate) mod thread;

use crate::resource_group::thread::Controls;
use crate::system_table;
use leafline_table::Engine;
use leafline_types::MysqlError;
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The group of sessions without another one.
pub(crate) const USER_DEFAULT: &str = "USR_default";
/// The group of the program's own threads.
pub(crate) const SYSTEM_DEFAULT: &str = "SYS_default";

/// A resource group.
#[derive(Debug)]
pub(crate) struct ResourceGroup {
    pub name: String,
    /// True for threads of the program, false for threads of sessions.
    pub of_system: bool,
    pub state: RwLock<GroupState>,
}

/// The changeable part of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupState {
    pub controls: Controls,
    /// True if sessions may join it.
    pub enabled: bool,
}

impl ResourceGroup {
    /// Bounds of the priority: user groups can only have a lower priority than normal.
    pub fn priorities(of_system: bool) -> (i32, i32) {
        if of_system { (-20, 0) } else { (0, 19) }
    }
}

/// The resource groups of an instance.
pub(crate) struct ResourceGroups {
    engine: Arc<Engine>,
    /// Groups by name in lower case.
    groups: RwLock<BTreeMap<String, Arc<ResourceGroup>>>,
    /// Held by a statement that changes groups.
    pub changing: Mutex<()>,
    /// The processors that the program may use.
    processors: Vec<u32>,
    /// True if the program may raise priorities, so that a priority can be restored.
    pub sets_priority: bool,
    /// Why the groups could not be read.
    unread: Option<MysqlError>,
}

impl ResourceGroups {
    /// Reads the groups. On failure groups can be neither used nor changed, but the database opens.
    pub fn open(engine: &Arc<Engine>) -> ResourceGroups {
        let processors = thread::processors();
        let (groups, unread) = match stored::read(engine) {
            Ok(groups) => (groups, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let all = Controls { processors: processors.clone(), priority: 0 };
        let default = |name: &str, of_system| ResourceGroup {
            name: name.into(),
            of_system,
            state: RwLock::new(GroupState { controls: all.clone(), enabled: true }),
        };
        let groups = groups.into_iter().chain([default(USER_DEFAULT, false), default(SYSTEM_DEFAULT, true)]);
        let by_name = groups.map(|group| (group.name.to_lowercase(), Arc::new(group)));
        ResourceGroups {
            engine: engine.clone(),
            groups: RwLock::new(by_name.collect()),
            changing: Mutex::new(()),
            processors,
            sets_priority: thread::can_set_priority(),
            unread,
        }
    }

    /// Finds a group by name.
    ///
    /// # Errors
    /// 3651 if there is none; the error of reading the groups.
    pub fn find(&self, name: &str) -> Result<Arc<ResourceGroup>, MysqlError> {
        let found = self.groups.read().get(&name.to_lowercase()).cloned();
        found.ok_or_else(|| match &self.unread {
            Some(error) => error.clone(),
            None => MysqlError::no_such_resource_group(name),
        })
    }

    /// All groups, by name.
    pub fn all(&self) -> Vec<Arc<ResourceGroup>> {
        self.groups.read().values().cloned().collect()
    }

    /// True for the two default groups.
    pub fn is_default(name: &str) -> bool {
        name.eq_ignore_ascii_case(USER_DEFAULT) || name.eq_ignore_ascii_case(SYSTEM_DEFAULT)
    }

    /// Adds or changes a group, on disk and then in memory.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn put(&self, name: &str, of_system: bool, state: GroupState) -> Result<(), MysqlError> {
        let row = stored::row(name, of_system, &state);
        system_table::put(&self.engine, &stored::table(), stored::is_of(name), Some(&row))?;
        let mut groups = self.groups.write();
        match groups.get(&name.to_lowercase()) {
            Some(group) => *group.state.write() = state,
            None => {
                let group = ResourceGroup { name: name.into(), of_system, state: RwLock::new(state) };
                groups.insert(name.to_lowercase(), Arc::new(group));
            }
        }
        Ok(())
    }

    /// Removes a group.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn remove(&self, name: &str) -> Result<(), MysqlError> {
        system_table::put(&self.engine, &stored::table(), stored::is_of(name), None)?;
        self.groups.write().remove(&name.to_lowercase());
        Ok(())
    }

    /// The processors that VCPU names, ascending; all if it names none.
    ///
    /// # Errors
    /// 3652, 3653.
    pub fn processors(&self, ranges: &[(u64, u64)]) -> Result<Vec<u32>, MysqlError> {
        if ranges.is_empty() {
            return Ok(self.processors.clone());
        }
        let there_is = |number: u64| self.processors.iter().any(|known| u64::from(*known) == number);
        if let Some(missing) = ranges.iter().flat_map(|(first, last)| [first, last]).find(|n| !there_is(**n))
        {
            return Err(MysqlError::invalid_vcpu(missing));
        }
        if let Some((first, last)) = ranges.iter().find(|(first, last)| first > last) {
            return Err(MysqlError::invalid_vcpu_range(first, last));
        }
        let named =
            |known: &&u32| ranges.iter().any(|(first, last)| (*first..=*last).contains(&u64::from(**known)));
        Ok(self.processors.iter().filter(named).copied().collect())
    }
}

/// Formats processors as ranges: `0-3,5`.
pub(crate) fn ranges_text(processors: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = processors;
    while let Some((first, behind)) = rest.split_first() {
        let mut last = *first;
        rest = behind;
        while let Some((next, behind)) = rest.split_first().filter(|(next, _)| **next == last + 1) {
            (last, rest) = (*next, behind);
        }
        let comma = if text.is_empty() { "" } else { "," };
        let _ = match last == *first {
            true => write!(text, "{comma}{first}"),
            false => write!(text, "{comma}{first}-{last}"),
        };
    }
    text
}
