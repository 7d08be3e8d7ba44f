//! In how many documents the words of a query are.

use crate::document::Found;
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
}

impl Statistics {
    /// Makes the counts of no documents.
    pub fn new(query: &Query) -> Statistics {
        Statistics { documents: 0, found: vec![0; query.program.lookups.len()] }
    }

    /// Counts a document.
    pub fn add(&mut self, found: &Found) {
        self.documents += 1;
        for (sum, words) in self.found.iter_mut().zip(&found.words) {
            *sum += u64::from(words.count);
        }
    }

    /// Returns the counts as bytes.
    pub fn encode(&self) -> Vec<u8> {
        std::iter::once(&self.documents).chain(&self.found).flat_map(|count| count.to_le_bytes()).collect()
    }

    /// Reads the bytes of counts.
    pub fn decode(bytes: &[u8]) -> Option<Statistics> {
        let (counts, rest) = bytes.as_chunks();
        let mut counts = counts.iter().map(|count| u64::from_le_bytes(*count));
        let documents = counts.next().filter(|_| rest.is_empty())?;
        Some(Statistics { documents, found: counts.collect() })
    }

    /// Returns the inverse document frequency of each token of the query.
    ///
    /// A word that is sought several times counts its documents as often, as in InnoDB. The words of a phrase behind one that no
    /// document contains are not sought.
    pub fn frequencies(&self, query: &Query) -> Vec<f64> {
        let program = &query.program;
        let mut counts = vec![0; program.tokens.len()];
        for search in &program.searches {
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
