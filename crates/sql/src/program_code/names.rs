//! The names of variables that are visible at one place of a stored program.

use leafline_planner::binder::LocalLookup;

/// Names, each with the number of the parameter that stands for it.
#[derive(Debug, Default, Clone)]
pub(crate) struct Names {
    entries: Vec<Named>,
}

/// One name.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    /// `NEW` and `OLD` for the columns of a trigger's row.
    pub(crate) row: Option<&'static str>,
    /// The name.
    pub(crate) name: String,
    /// The number of its parameter.
    pub(crate) number: usize,
}

impl Names {
    /// Adds a name, which hides an equal one that was added before.
    pub(crate) fn add(&mut self, named: Named) {
        let known = self
            .entries
            .iter_mut()
            .find(|known| known.row == named.row && known.name.eq_ignore_ascii_case(&named.name));
        match known {
            Some(known) => known.number = named.number,
            None => self.entries.push(named),
        }
    }

    /// Returns the names that a text may mention, which are numbered anew, and their old numbers in the new
    /// order.
    pub(crate) fn mentioned(&self, text: &str) -> (Names, Vec<usize>) {
        let text = text.to_lowercase();
        let mut names = Names::default();
        let mut slots = Vec::new();
        for named in &self.entries {
            // A quote in a name is written twice, so that the text does not contain the name.
            if named.name.contains(['`', '"']) || text.contains(&named.name.to_lowercase()) {
                names.entries.push(Named { number: slots.len(), ..named.clone() });
                slots.push(named.number);
            }
        }
        (names, slots)
    }

    /// Returns the number of a name.
    pub(crate) fn find(&self, row: Option<&str>, name: &str) -> Option<usize> {
        let found = self.entries.iter().find(|known| {
            let same_row = match (known.row, row) {
                (None, None) => true,
                (Some(known), Some(row)) => known.eq_ignore_ascii_case(row),
                _ => false,
            };
            same_row && is_same(&known.name, name)
        });
        found.map(|known| known.number)
    }
}

/// Compares names without case.
fn is_same(known: &str, name: &str) -> bool {
    let are_plain = known.is_ascii() && name.is_ascii();
    known.eq_ignore_ascii_case(name) || !are_plain && known.to_lowercase() == name.to_lowercase()
}

impl LocalLookup for Names {
    fn local(&self, table: Option<&str>, name: &str) -> Option<usize> {
        self.find(table, name)
    }
}
