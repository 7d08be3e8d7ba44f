//! Puts the calling thread under the controls of a group, and restores it.
//!
//! Linux keeps processors and priority for each thread, and new threads inherit them: threads that read
//! pieces of a table for a statement run where the statement does. The former controls are restored at the
//! end, so that threads of an embedding program are unchanged.

use rustix::io;
use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{CapabilitySet, CpuSet, capabilities, sched_getaffinity, sched_setaffinity};

/// The controls of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Controls {
    /// The allowed processors, ascending.
    pub processors: Vec<u32>,
    /// The nice value.
    pub priority: i32,
}

/// Keeps the calling thread under controls until it is dropped, by the same thread.
#[derive(Debug)]
pub(crate) struct Controlled {
    /// The former controls, where they differ.
    processors: Option<CpuSet>,
    priority: Option<i32>,
}

impl Controlled {
    /// Puts the calling thread under controls. The priority stays unless `sets_priority`, because it could
    /// not be restored.
    ///
    /// # Errors
    /// The system's error if none of the processors exists.
    pub fn new(controls: &Controls, sets_priority: bool) -> io::Result<Controlled> {
        let mut before = Controlled { processors: None, priority: None };
        let (processors, wanted) = (sched_getaffinity(None)?, set_of(&controls.processors));
        if processors != wanted {
            sched_setaffinity(None, &wanted)?;
            before.processors = Some(processors);
        }
        let priority = getpriority_process(None)?;
        if sets_priority && priority != controls.priority {
            setpriority_process(None, controls.priority)?;
            before.priority = Some(priority);
        }
        Ok(before)
    }
}

impl Drop for Controlled {
    fn drop(&mut self) {
        // Errors are ignored: a thread that could set its controls can restore them.
        if let Some(processors) = &self.processors {
            let _ = sched_setaffinity(None, processors);
        }
        if let Some(priority) = self.priority {
            let _ = setpriority_process(None, priority);
        }
    }
}

fn set_of(processors: &[u32]) -> CpuSet {
    let mut set = CpuSet::new();
    processors.iter().map(|number| *number as usize).filter(|number| *number < CpuSet::MAX_CPU).for_each(
        |number| {
            set.set(number);
        },
    );
    set
}

/// The processors that the calling thread may run on, ascending.
pub(super) fn processors() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return vec![0] };
    (0..CpuSet::MAX_CPU as u32).filter(|number| set.is_set(*number as usize)).collect()
}

/// True if a priority can be raised again after it was lowered.
pub(super) fn can_set_priority() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_and_those_it_starts_are_under_controls_until_it_lets_go() {
        let all = processors();
        let last = *all.last().expect("a processor");
        let priority = getpriority_process(None).expect("a priority");
        let controls =
            Controls { processors: vec![last], priority: priority + 5 * i32::from(can_set_priority()) };
        let controlled = Controlled::new(&controls, can_set_priority()).expect("controls");
        let seen = || (processors(), getpriority_process(None).expect("a priority"));
        assert_eq!(seen(), (vec![last], controls.priority));
        assert_eq!(std::thread::spawn(seen).join().expect("a thread"), (vec![last], controls.priority));
        drop(controlled);
        assert_eq!(seen(), (all, priority));
    }

    #[test]
    fn controls_that_cannot_be_had_change_nothing() {
        let before = processors();
        let nowhere = Controls { processors: vec![u32::MAX], priority: 0 };
        assert!(Controlled::new(&nowhere, false).is_err());
        assert_eq!(processors(), before);
    }
}
