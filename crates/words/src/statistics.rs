//! In how many documents the words of a query are.

use crate::document::Found;
use crate::program::{Step, Target};
use crate::query::Query;

/// The value for a word that all documents contain, whose logarithm would be zero (InnoDB's).
const IN_ALL: f64 = 1.0001;

/// Counts over all documents.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// The number of documents.
    documents: u64,
    /// For each lookup the number of matching words of documents.
    found: Vec<u64>,
    /// For each search the number of documents that had been found when it began, if it depends on that; otherwise 0.
    reached: Vec<u64>,
}

impl Statistics {
    /// Makes the counts of no documents.
    pub fn new(query: &Query) -> Statistics {
        let program = &query.program;
        Statistics {
            documents: 0,
            found: vec![0; program.lookups.len()],
            reached: vec![0; program.searches.len()],
        }
    }

    /// Counts a document.
    pub fn add(&mut self, query: &Query, found: &Found) {
        self.documents += 1;
        for (sum, words) in self.found.iter_mut().zip(&found.words) {
            *sum += u64::from(words.count);
        }
        let reached = &mut self.reached;
        query.evaluate(&query.program.steps, found, &mut |search| {
            if let Some(count) = reached.get_mut(search) {
                *count += 1;
            }
        });
    }

    /// Sets the number of documents.
    pub(crate) fn set_documents(&mut self, documents: u64) {
        self.documents = documents;
    }

    /// Sets how many matching words of documents each lookup has found.
    pub(crate) fn set_found(&mut self, found: impl Iterator<Item = u64>) {
        self.found.iter_mut().zip(found).for_each(|(known, found)| *known = found);
    }

    /// Returns the counts of a query whose only word `with_word` of the documents have.
    pub fn of_word(query: &Query, documents: u64, with_word: u64) -> Statistics {
        let mut statistics = Statistics::new(query);
        statistics.documents = documents;
        statistics.found.fill(with_word);
        statistics
    }

    /// Returns the counts as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let counts = std::iter::once(&self.documents).chain(&self.found).chain(&self.reached);
        counts.flat_map(|count| count.to_le_bytes()).collect()
    }

    /// Reads the bytes of counts for a query.
    pub fn decode(bytes: &[u8], query: &Query) -> Option<Statistics> {
        let (counts, rest) = bytes.as_chunks();
        let mut counts = counts.iter().map(|count| u64::from_le_bytes(*count));
        let documents = counts.next().filter(|_| rest.is_empty())?;
        let found: Vec<u64> = counts.by_ref().take(query.program.lookups.len()).collect();
        let reached: Vec<u64> = counts.collect();
        (reached.len() == query.program.searches.len()).then_some(Statistics { documents, found, reached })
    }

    /// Returns the inverse document frequency of each token of the query.
    ///
    /// A word that is sought several times counts its documents as often, as in InnoDB. Not sought are the words of a phrase
    /// behind one that no document contains, and words that must or must not be among others when nothing is found.
    pub fn frequencies(&self, query: &Query) -> Vec<f64> {
        let program = &query.program;
        let mut counts = vec![0; program.tokens.len()];
        let mut conditional = vec![false; program.searches.len()];
        note_conditional(&program.steps, &mut conditional);
        for ((search, reached), is_conditional) in program.searches.iter().zip(&self.reached).zip(conditional)
        {
            if is_conditional && *reached == 0 {
                continue;
            }
            for &lookup in search {
                let found = self.found.get(lookup).copied().unwrap_or(0);
                let token = program.lookups.get(lookup).map_or(usize::MAX, |lookup| lookup.token);
                if let Some(count) = counts.get_mut(token) {
                    *count += found;
                }
                if found == 0 {
                    break;
                }
            }
        }
        let frequency = |count: &u64| match *count {
            0 => 0.0,
            count if count == self.documents => IN_ALL.log10(),
            count => (self.documents as f64 / count as f64).log10(),
        };
        counts.iter().map(frequency).collect()
    }
}

/// Notes the searches that depend on documents being found.
fn note_conditional(steps: &[Step], conditional: &mut [bool]) {
    for step in steps {
        if let Some(noted) = step.search.and_then(|search| conditional.get_mut(search)) {
            *noted = true;
        }
        if let Target::Group(steps) = &step.target {
            note_conditional(steps, conditional);
        }
    }
}
