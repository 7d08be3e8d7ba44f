//! The calling thread under the controls of a group, and back.
//!
//! Linux keeps processors and priority of each thread by itself, and gives them to threads that it starts: those that read pieces of a
//! table for a statement run where the statement does. What a thread had before is put back when it lets go, so that threads of
//! the program that calls have what they had.

use rustix::io;
use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{CapabilitySet, CpuSet, capabilities, sched_getaffinity, sched_setaffinity};

/// What a group says of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Controls {
    /// The processors that they may run on, ascending.
    pub processors: Vec<u32>,
    /// Their nice value.
    pub priority: i32,
}

/// The calling thread is under controls, until this is dropped, by the same thread.
#[derive(Debug)]
pub(crate) struct Controlled {
    /// What the thread had before: where that was something else.
    processors: Option<CpuSet>,
    priority: Option<i32>,
}

impl Controlled {
    /// Puts the calling thread under controls; its priority stays if it could not be put back.
    ///
    /// # Errors
    /// The system's: none of the processors is there.
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
        // What the thread had it may have again, if it may set anything.
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

/// Whether threads may be made more urgent again once they were made less so.
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
