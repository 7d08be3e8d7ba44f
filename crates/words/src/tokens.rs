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

/// For each ASCII character, whether it is part of a word.
const ASCII: [bool; 128] = {
    let mut ascii = [false; 128];
    let mut at = 0;
    while at < ascii.len() {
        let byte = at as u8;
        ascii[at] = byte == b'_' || byte.is_ascii_alphanumeric();
        at += 1;
    }
    ascii
};

/// Iterates over the words of a text.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, from) = rest.split_at(run(rest, false));
        let (word, behind) = from.split_at(run(from, true));
        rest = behind;
        (!word.is_empty()).then_some(word)
    })
}

/// Returns the length in bytes of the longest beginning of a text whose characters are all parts of words, or none is.
fn run(text: &str, of_words: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match ASCII.get(usize::from(*byte)) {
            Some(is_part) if *is_part == of_words => at += 1,
            Some(_) => break,
            None => {
                let character = text.get(at..).and_then(|rest| rest.chars().next());
                match character.filter(|c| is_word_character(*c) == of_words) {
                    Some(character) => at += character.len_utf8(),
                    None => break,
                }
            }
        }
    }
    at
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
