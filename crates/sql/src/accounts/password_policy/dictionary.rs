//! The dictionary of the password policy: a file with a word in each line.

use leafline_types::DateTime;
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Greatest size of the file, in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// Lengths of words that count, in characters.
const LENGTHS: std::ops::RangeInclusive<usize> = 4..=100;

/// The words, in lower case.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    words: HashSet<Vec<char>>,
    /// When the file was read, in UTC.
    read_at: Option<DateTime>,
}

impl Dictionary {
    /// Reads a file. The error says why it cannot be used.
    pub(super) fn read(path: &Path) -> Result<Dictionary, String> {
        let failed = |why: &dyn std::fmt::Display| {
            format!("validate_password.dictionary_file {}: {why}", path.display())
        };
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(|error| failed(&error))?;
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(failed(&"it is larger than 1 MiB"));
        }
        let text = String::from_utf8_lossy(&bytes);
        let words = text.lines().map(|line| line.trim().to_lowercase().chars().collect::<Vec<char>>());
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let seconds = since.and_then(|since| i64::try_from(since.as_secs()).ok());
        Ok(Dictionary {
            words: words.filter(|word| LENGTHS.contains(&word.len())).collect(),
            read_at: seconds.and_then(|seconds| DateTime::from_epoch_micros(seconds * 1_000_000)),
        })
    }

    /// Returns whether a word is part of the password's first 100 characters.
    pub(super) fn has_word_of(&self, password: &str) -> bool {
        if self.words.is_empty() {
            return false;
        }
        let lower: Vec<char> = password.to_lowercase().chars().take(*LENGTHS.end()).collect();
        LENGTHS
            .take_while(|length| *length <= lower.len())
            .any(|length| lower.windows(length).any(|part| self.words.contains(part)))
    }

    /// The number of words.
    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    /// When the file was read, in UTC; `None` without a file.
    pub(super) fn read_at(&self) -> Option<DateTime> {
        self.read_at
    }
}
