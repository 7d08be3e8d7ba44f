//! The members of a column of type ENUM or SET.

use crate::collation::{Collation, trim_spaces};

/// The texts of an ENUM or SET, in the order of their declaration, and the collation that compares texts with
/// them. The first has number 1 in an ENUM, and the lowest bit in a SET.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Members {
    names: Box<[Box<str>]>,
    collation: Collation,
}

impl Members {
    /// Makes the members of texts that differ from each other under `collation`.
    pub fn new(names: impl IntoIterator<Item = impl Into<Box<str>>>, collation: Collation) -> Self {
        Members { names: names.into_iter().map(Into::into).collect(), collation }
    }

    /// Iterates over the texts.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// Returns the collation that compares texts with the members.
    pub fn collation(&self) -> Collation {
        self.collation
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no members; no column declares that.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the number of a text in an ENUM. Ignores trailing spaces.
    pub fn number(&self, text: &str) -> Option<u64> {
        let wanted = trim_spaces(text.as_bytes());
        let found = self.names.iter().position(|name| self.collation.equal(name.as_bytes(), wanted));
        found.map(|at| at as u64 + 1)
    }

    /// Returns the number of the ENUM's value that equals a text, with trailing spaces as the collation compares
    /// them; a number without a member if there is none.
    pub fn compared_number(&self, text: &str) -> u64 {
        let equal = |name: &str| self.collation.equal(name.as_bytes(), text.as_bytes());
        match self.names().position(equal) {
            Some(at) => at as u64 + 1,
            None if equal("") => 0,
            None => u64::MAX,
        }
    }

    /// Returns the bits of the SET's value that equals a text, or bits that no value has if there is none. `None` if
    /// several values may equal it: only for printable ASCII is it certain that no other character equals the comma.
    pub fn compared_bits(&self, text: &str) -> Option<u64> {
        let is_plain = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let has_none = self.len() < 64 && self.number("").is_none();
        if !(has_none && is_plain(text) && self.names().all(is_plain)) {
            return None;
        }
        let (bits, _) = self.bits(text);
        let is_equal = self.collation.equal(self.list(bits).as_bytes(), text.as_bytes());
        Some(if is_equal { bits } else { u64::MAX })
    }

    /// Returns the text of a number of an ENUM; empty for 0, which stands for a text that is no member.
    pub fn name(&self, number: u64) -> &str {
        let at = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
        at.and_then(|at| self.names.get(at)).map_or("", |name| name)
    }

    /// Returns the bits of a SET for a list of texts with commas between them, and whether all are members.
    pub fn bits(&self, list: &str) -> (u64, bool) {
        if list.is_empty() {
            return (0, true);
        }
        let found = list.split(',').map(|text| self.number(text));
        found.fold((0, true), |(bits, all), number| match number {
            Some(number) => (bits | 1 << (number - 1), all),
            None => (bits, false),
        })
    }

    /// Returns the texts of a SET's bits, with commas between them.
    pub fn list(&self, bits: u64) -> String {
        let chosen = self.names.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
        chosen.map(|(_, name)| &**name).collect::<Vec<_>>().join(",")
    }

    /// Returns the bits of all members of a SET.
    pub fn all_bits(&self) -> u64 {
        u64::MAX.checked_shr(64 - self.len().min(64) as u32).unwrap_or(0)
    }

    /// Returns the most characters of a text of an ENUM.
    pub fn longest(&self) -> u32 {
        self.names.iter().map(|name| name.chars().count() as u32).max().unwrap_or(0)
    }

    /// Returns the most characters of the text of a SET.
    pub fn longest_list(&self) -> u32 {
        let characters: u32 = self.names.iter().map(|name| name.chars().count() as u32).sum();
        characters + (self.len() as u32).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_numbers() {
        let members = Members::new(["a", "b", "c d"], Collation::Utf8mb4_0900Bin);
        assert_eq!((members.number("b "), members.number("B"), members.number("")), (Some(2), None, None));
        assert_eq!((members.name(3), members.name(0), members.name(4)), ("c d", "", ""));
        assert_eq!(members.bits("c d,a,a"), (5, true));
        assert_eq!(members.bits("a,x"), (1, false));
        assert_eq!((members.bits(""), members.list(6)), ((0, true), "b,c d".to_owned()));
        assert_eq!((members.all_bits(), members.longest(), members.longest_list()), (7, 3, 7));
        let spaced = Members::new(["a", "B"], Collation::Utf8mb4GeneralCi);
        assert_eq!((spaced.compared_number("A  "), spaced.compared_number(" ")), (1, 0));
        assert_eq!((members.compared_number("b "), members.compared_number("")), (u64::MAX, 0));
        assert_eq!((spaced.compared_bits("A,b "), spaced.compared_bits("b,a")), (Some(3), Some(u64::MAX)));
        assert_eq!((spaced.compared_bits("A ,b"), spaced.compared_bits("")), (Some(u64::MAX), Some(0)));
        assert_eq!(spaced.compared_bits("a，b"), None);
        let many = Members::new((0..64).map(|n| n.to_string()), Collation::Utf8mb4Bin);
        assert_eq!((many.all_bits(), many.bits("63")), (u64::MAX, (1 << 63, true)));
    }
}
