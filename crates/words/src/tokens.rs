//! Finds words and n-grams in a text.
//!
//! A **word** is a longest run of letters, digits, marks and `_`. An apostrophe ends a word: `don't` is two words.
//!
//! An **n-gram** is a sequence of n characters. It contains no space and no ASCII character that is not part of a word;
//! other characters all count, as in MySQL's parser, so that signs of other scripts are parts of n-grams.

use crate::marks::is_mark;

/// Returns whether a character is part of a word.
pub fn is_word_character(c: char) -> bool {
    match c {
        '_' => true,
        _ if c.is_ascii() => c.is_ascii_alphanumeric(),
        _ => c.is_alphanumeric() || is_mark(c),
    }
}

/// Iterates over the words of a text.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word_character(c)).filter(|word| !word.is_empty())
}

/// Iterates over the n-grams of `size` characters of a text.
pub fn ngrams(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| c.is_ascii() && !is_word_character(c));
    parts.flat_map(move |part| {
        let ends = part.char_indices().map(|(at, c)| at + c.len_utf8()).skip(size.max(1) - 1);
        part.char_indices().zip(ends).filter_map(move |((start, _), end)| part.get(start..end))
    })
}

/// Returns the number of characters.
pub(crate) fn length(token: &str) -> usize {
    token.chars().count()
}
